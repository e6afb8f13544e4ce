"""``mode="auto"`` beside the other modes, for every installed game.

Run with gem-core and gem-envs-games installed, on Linux::

    python benchmarks/auto_mode.py [--num-envs 64] [--rounds 9] [--ids ID…]

All modes play the same actions in lock-step, in turns. Figures are CPU microseconds of a step, median and range of the
rounds, so that other work on the machine hardly matters: of this process, and in process mode also those of all
workers. On a free machine a batch takes this process's CPU time, and half of the workers' time if there are
two (their messages overlap in part, which is not counted in their favour). "Auto / best"
compares the means of these times.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import gem
from gem.env_spec import EnvSpec
from gem.vector import VectorEnv, make_vec

MODES = ("sync", "thread", "process", "auto")
WORKERS = 2
BATCHES = 20  # of one round


def main() -> None:
    """Print a row for each game."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--ids", nargs="*")
    given = parser.parse_args()
    specs = [gem.spec(env_id) for env_id in given.ids] if given.ids else gem.all_specs("game")
    print("| game | sync | thread | process: caller + workers | auto | auto chooses | auto / best |")
    print("|---|---|---|---|---|---|---|")
    shares = []
    for spec in specs:
        row, share = compare(spec, given.num_envs, given.rounds)
        shares.append(share)
        print(row, flush=True)
    print(f"\nauto / best: worst {min(shares):.2f}, median {statistics.median(shares):.2f}, {len(shares)} games")


def compare(spec: EnvSpec, num_envs: int, rounds: int) -> tuple[str, float]:
    """Return the row of a game, and the time of the best mode over that of auto mode."""
    env = gem.make(spec)
    env.reset(seed=0)
    batch = [env.sample_random_action() for _ in range(num_envs)]
    costs: dict[str, list[tuple[float, float]]] = {mode: [] for mode in MODES}
    with ExitStack() as stack:
        modes = {mode: stack.enter_context(make_vec(spec, num_envs=num_envs, mode=mode, seed=0)) for mode in MODES}
        for envs in modes.values():
            envs.reset()
            envs.step(batch)
        for _ in range(rounds):
            for mode, envs in modes.items():
                costs[mode].append(cost(envs, batch))
        choice = modes["auto"].mode_choice
    assert choice is not None
    # The mean, as a few rounds have the resets, in all modes the same ones.
    ideal = {mode: statistics.mean(caller + workers / WORKERS for caller, workers in costs[mode]) for mode in MODES}
    share = min(ideal[mode] for mode in MODES if mode != "auto") / ideal["auto"]
    cells = [
        shown(costs["sync"]),
        shown(costs["thread"]),
        f"{shown(costs['process'])} + {shown([pair[::-1] for pair in costs['process']])}",
        shown([(caller + workers / WORKERS, 0.0) for caller, workers in costs["auto"]]),
    ]
    return f"| {spec.id} | " + " | ".join(cells) + f" | {choice.mode} | {share:.2f} |", share


def cost(envs: VectorEnv, batch: list[Any]) -> tuple[float, float]:
    """Return the CPU microseconds of a step in this process and in those below it."""
    workers = cpu_below()
    caller = time.process_time()
    for _ in range(BATCHES):
        envs.step(batch)
    caller = time.process_time() - caller
    unit = 1e6 / BATCHES / len(batch)
    return caller * unit, (cpu_below() - workers) * unit


def cpu_below() -> float:
    """Return the CPU seconds of all living descendants of this process."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it has ended
                continue
    total = 0.0
    for process in parents:
        above = parents[process]
        while above not in (0, 1, os.getpid()):
            above = parents.get(above, 0)
        if above == os.getpid():
            total += sum(
                int(path.read_text().split()[0]) / 1e9 for path in Path(f"/proc/{process}/task").glob("*/schedstat")
            )
    return total


def shown(values: list[tuple[float, float]]) -> str:
    """Return the median and the range of the first figures."""
    first = [value for value, _ in values]
    return f"{statistics.median(first):.1f} ({min(first):.1f} … {max(first):.1f})"


if __name__ == "__main__":
    main()
