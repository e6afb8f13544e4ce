"""Plays tasks of a set with the solution, with silence and with cheats, and prints their scores and costs.

    python benchmarks/swe_scores.py FOLDER
    python benchmarks/swe_scores.py FOLDER --tasks 20 --cheats 40 --engine docker

The tasks are the first ones of the set, the cheats the first ones of the table. The cost of a beginning is that of the
process and its containers on the namespace engine; Docker's daemon does not count as one of its children.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from gem.policies import Policy
from gem_envs_swe import SweEnv
from gem_envs_swe.policies.cheats import SweCheatPolicy, cheats
from gem_envs_swe.policies.reference import SweNullPolicy, SweReferencePolicy


def begin_cost(given: argparse.Namespace) -> float:
    """Return the CPU seconds of the beginning of an episode, with those of its container: of 21 beginnings less one."""

    def cost(count: int) -> float:
        command = [sys.executable, __file__, given.folder, "--engine", given.engine, "--begin", str(count)]
        began = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime

    cost(1)  # builds the image
    return (cost(21) - cost(1)) / 20


def played(env: SweEnv, policy: Policy[Any, Any], index: int) -> tuple[float | None, dict[str, Any]]:
    """Play a task; return the reward, None after a fault, and the last info."""
    observation, info = env.reset(options={"index": index})
    policy.reset(observation, info)
    while True:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
        if terminated or truncated:
            return None if "error" in info else reward, info


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
    parser.add_argument("--begin", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--reward", default="all")
    given = parser.parse_args()
    with SweEnv(given.folder, engine=given.engine, max_turns=10, warm=0, reward=given.reward) as env:
        if given.begin is not None:
            for seed in range(given.begin):
                env.reset(seed=seed)
            env.close()
            env.engine.close()  # its helper ends, and what its containers took counts
            return
        print(f"an episode begins in {1000 * begin_cost(given):.1f} ms CPU (mean of 20)")
        indices = range(min(given.tasks, len(env.tasks)))
        print("| policy | episodes | faults | mean reward | paid |\n|---|---|---|---|---|")
        print(row("reference", [played(env, SweReferencePolicy(env), index)[0] for index in indices]), flush=True)
        print(row("silence", [played(env, SweNullPolicy(env), index)[0] for index in indices]), flush=True)
        for name in list(cheats())[: given.cheats]:
            print(row(name, [played(env, SweCheatPolicy(env, name), index)[0] for index in indices]), flush=True)


if __name__ == "__main__":
    main()
