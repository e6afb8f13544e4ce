"""rg:* against the original, in CPU milliseconds for making, resetting, stepping and whole episodes.

    python benchmarks/reasoning_environments.py --original /path/to/original/bin/python

Both run in processes of their own, in turns; each figure is the median of the rounds, with the lowest and the highest.
``make`` includes the first reset, which loads the data only on our side. An episode is a reset and a step; each step
gets a wrong answer in a box. Our figures exclude worker processes; the column ``worker`` shows where there is one.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys

PROGRAM = """
import json, sys, time
import gem
name, steps = sys.argv[1], int(sys.argv[2])
gem.make("rg:" + name).reset(seed=0)
start = time.process_time()
env = gem.make("rg:" + name)
env.reset()
made = time.process_time()
reset = step = 0.0
for number in range(steps):
    before = time.process_time()
    env.reset()
    between = time.process_time()
    env.step("So it is \\\\boxed{12}.")
    after = time.process_time()
    reset, step = reset + between - before, step + after - between
print(json.dumps([1e3 * (made - start), 1e3 * reset / steps, 1e3 * step / steps, 1e3 * (reset + step) / steps]))
"""
NAMES = [
    "leg_counting",
    "letter_counting",
    "basic_arithmetic",
    "arc_1d",
    "sudoku",
    "countdown",
    "chain_sum",
    "knights_knaves",
    "mini_sudoku",
    "propositional_logic",
]
PARTS = ("make", "reset", "step", "episode")


def measure(python: str, name: str, steps: int) -> list[float]:
    """Return the CPU milliseconds of make, reset and step in one process."""
    command = [python, "-W", "ignore", "-c", PROGRAM, name, str(steps)]
    shown = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    figures: list[float] = json.loads(shown.strip().splitlines()[-1])
    return figures


def shown(values: list[float]) -> str:
    """Return median, lowest and highest value as text."""
    return f"{statistics.median(values):.4f} ({min(values):.4f} to {max(values):.4f})"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--original", required=True, help="the Python in which the original is installed")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("names", nargs="*", default=NAMES)
    arguments = parser.parse_args()
    from gem_envs_reasoning.scoring import IN_PROCESS

    print("| data set | part | ours, CPU ms | the original, CPU ms | ratio | worker |\n|---|---|---|---|---|---|")
    for name in arguments.names or NAMES:
        rounds = [
            (measure(sys.executable, name, arguments.steps), measure(arguments.original, name, arguments.steps))
            for _ in range(arguments.rounds)
        ]
        for place, part in enumerate(PARTS):
            ours, theirs = ([pair[side][place] for pair in rounds] for side in (0, 1))
            ratio = statistics.median(theirs) / max(statistics.median(ours), 1e-9)
            worker = "yes" if part in ("step", "episode") and name not in IN_PROCESS else ""
            print(f"| {name} | {part} | {shown(ours)} | {shown(theirs)} | {ratio:.1f} | {worker} |", flush=True)


if __name__ == "__main__":
    main()
