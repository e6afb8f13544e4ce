"""Plays tasks of sets with the solution, with silence, cheats and agent programs; prints scores and costs.

    python benchmarks/swe_scores.py FOLDER [FOLDER ...] --out scores.jsonl
    python benchmarks/swe_scores.py FOLDER --tasks 20 --cheats 40 --engine docker
    python benchmarks/swe_scores.py FOLDER --tasks 20 --cheats 0 --harness mini-swe-agent --harness pi

The tasks are the first ones of each set, the cheats the first ones of the table. An agent program plays with a model
that answers with the calls of the reference policy: its score is that of the way through the program. ``--out`` gets
a line for each episode, and what has one there is not played again, so that a run that was cut off goes on.

The cost of a beginning is that of the process and its containers on the namespace engine; Docker's daemon does not
count as one of its children.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from gem.policies import Policy
from gem_envs_swe import SweEnv
from gem_envs_swe.policies.cheats import SweCheatPolicy, cheats
from gem_envs_swe.policies.reference import SweNullPolicy, SweReferencePolicy


def begin_cost(folder: str, engine: str) -> float:
    """Return the CPU seconds of the beginning of an episode, with those of its container: of 21 beginnings less one."""

    def cost(count: int) -> float:
        command = [sys.executable, __file__, folder, "--engine", engine, "--begin", str(count)]
        began = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime

    cost(1)  # builds the image
    return (cost(21) - cost(1)) / 20


def played(env: SweEnv, policy: Policy[Any, Any], task: str) -> float | None:
    """Play a task; return the reward, None after a fault."""
    observation, info = env.reset(options={"task": task})
    policy.reset(observation, info)
    while True:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
        if terminated or truncated:
            return None if "error" in info else reward


def played_by(harness: str, folder: str, task: str, given: argparse.Namespace) -> float | None:
    """Have an agent program play a task; return the reward, None after a fault."""
    from gem_gateway.harnesses.trial import try_out

    arguments = {"path": folder, "tasks": [task], "engine": given.engine, "reward": given.reward}
    trial = asyncio.run(try_out(harness, "swe:Folder-v0", kwargs=arguments, box="never"))
    return None if trial.record.outcome == "unknown" else sum(turn.reward for turn in trial.record.transitions)


def policies(given: argparse.Namespace) -> dict[str, Callable[[SweEnv], Policy[Any, Any]]]:
    """Return the policies by name."""
    made: dict[str, Callable[[SweEnv], Policy[Any, Any]]] = {"reference": SweReferencePolicy, "silence": SweNullPolicy}
    for name in list(cheats())[: given.cheats]:
        made[name] = lambda env, name=name: SweCheatPolicy(env, name)  # type: ignore[misc]
    return made


def episodes(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a record of each episode: those that ``--out`` holds, and then the others as they are played."""
    known = (
        [json.loads(line) for line in given.out.read_text().splitlines()] if given.out and given.out.exists() else []
    )
    yield from known
    done = {(record["engine"], record["task"], record["policy"]) for record in known}
    for folder in given.folders:
        with SweEnv(folder, engine=given.engine, max_turns=10, warm=0, reward=given.reward) as env:
            for task in [each.row.instance_id for each in env.swe_tasks[: given.tasks]]:
                for name, make in (policies(given) | dict.fromkeys(given.harness)).items():
                    if (given.engine, task, name) in done:
                        continue
                    reward = played(env, make(env), task) if make else played_by(name, folder, task, given)
                    record = {"engine": given.engine, "task": task, "policy": name, "reward": reward}
                    if given.out:
                        with given.out.open("a", encoding="utf-8") as file:
                            file.write(json.dumps(record) + "\n")
                    yield record


def main() -> None:
    """Play, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--tasks", type=int, default=20, help="of each set")
    parser.add_argument("--cheats", type=int, default=len(cheats()))
    parser.add_argument("--harness", action="append", default=[], help="an installed agent program, such as pi")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--begin", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--reward", default="all")
    given = parser.parse_args()
    if given.begin is not None:
        with SweEnv(given.folders[0], engine=given.engine, warm=0) as env:
            for seed in range(given.begin):
                env.reset(seed=seed)
            env.close()
            env.engine.close()  # its helper ends, and what its containers took counts
            return
    rewards: dict[tuple[str, str], list[float | None]] = {}
    for record in episodes(given):
        rewards.setdefault((record["engine"], record["policy"]), []).append(record["reward"])
    print(f"an episode begins in {1000 * begin_cost(given.folders[0], given.engine):.1f} ms CPU (mean of 20)")
    print("| policy | engine | episodes | faults | mean reward | paid |\n|---|---|---|---|---|---|")
    for (engine, name), each in rewards.items():
        real = [reward for reward in each if reward is not None]  # faults are counted and not averaged
        mean = statistics.fmean(real) if real else float("nan")
        paid = sum(reward > 0 for reward in real)
        print(f"| {name} | {engine} | {len(real)} | {len(each) - len(real)} | {mean:.3f} | {paid} |")


if __name__ == "__main__":
    main()
