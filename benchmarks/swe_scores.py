"""Plays tasks of a set with the solution, with silence and with cheats, and prints their scores and costs.

    python benchmarks/swe_scores.py FOLDER
    python benchmarks/swe_scores.py FOLDER --tasks 20 --cheats 40 --engine docker

The tasks are the first ones of the set, the cheats the first ones of the table. CPU seconds are those of this process
and of the children that it has waited for.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
from collections.abc import Sequence
from typing import Any

from gem.policies import Policy
from gem_envs_swe import SweEnv
from gem_envs_swe.policies.cheats import SweCheatPolicy, cheats
from gem_envs_swe.policies.reference import SweNullPolicy, SweReferencePolicy


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and its children so far."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def played(env: SweEnv, policy: Policy[Any, Any], index: int) -> tuple[float | None, dict[str, Any]]:
    """Play a task; return the reward, None after a fault, and the last info."""
    observation, info = env.reset(options={"index": index})
    policy.reset(observation, info)
    while True:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
        if terminated or truncated:
            return None if "error" in info else reward, info


def starts(env: SweEnv, count: int) -> list[float]:
    """Return the CPU seconds of beginnings of episodes, without the first one, which builds the image."""
    env.reset(seed=0)
    found = []
    for seed in range(count):
        begun = cpu_seconds()
        env.reset(seed=seed)
        found.append(cpu_seconds() - begun)
    return found


def row(name: str, rewards: Sequence[float | None]) -> str:
    """Return a line of the table; faults are counted and not averaged."""
    known = [reward for reward in rewards if reward is not None]
    mean = statistics.fmean(known) if known else float("nan")
    paid = sum(reward > 0 for reward in known)
    return f"| {name} | {len(known)} | {len(rewards) - len(known)} | {mean:.3f} | {paid} |"


def main() -> None:
    """Play, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--cheats", type=int, default=len(cheats()))
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--reward", default="all")
    given = parser.parse_args()
    with SweEnv(given.folder, engine=given.engine, max_turns=10, warm=0, reward=given.reward) as env:
        costs = starts(env, given.starts)
        print(f"an episode begins in {1000 * statistics.median(costs):.1f} ms CPU (median of {len(costs)})")
        indices = range(min(given.tasks, len(env.tasks)))
        print("| policy | episodes | faults | mean reward | paid |\n|---|---|---|---|---|")
        print(row("reference", [played(env, SweReferencePolicy(env), index)[0] for index in indices]), flush=True)
        print(row("silence", [played(env, SweNullPolicy(env), index)[0] for index in indices]), flush=True)
        for name in list(cheats())[: given.cheats]:
            print(row(name, [played(env, SweCheatPolicy(env, name), index)[0] for index in indices]), flush=True)


if __name__ == "__main__":
    main()
