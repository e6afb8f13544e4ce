"""Compares judging of programs with the original (`gem-llm`), paired in one run, in CPU seconds and by the clock.

    python -m venv /tmp/original && /tmp/original/bin/pip install gem-llm datasets pandas pylatexenc requests
    python benchmarks/code_problems.py --original /tmp/original/bin/python

Both sides get the same data set in memory: one problem with 12 tests, the most that the original runs, and three
programs: a right one, one that is wrong on every test, and one that is right and imports numpy. A figure is the
steps per second of one process; CPU seconds include all child processes, which have ended when they are read.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys

CODE = {
    "right": "a, b = map(int, input().split())\nprint(a + b)",
    "wrong at once": "print('no')",
    "right, imports numpy": "import numpy\na, b = map(int, input().split())\nprint(a + b)",
}
TESTS = {"inputs": [f"{n} {n + 1}\n" for n in range(12)], "outputs": [f"{2 * n + 1}\n" for n in range(12)]}

WORKER = r"""
import json, resource, sys, time
task = json.load(sys.stdin)
import datasets
datasets.disable_progress_bars()
rows = datasets.Dataset.from_list([{"problem": "Print the sum.", "tests": json.dumps(task["tests"])}])
if task["original"]:
    from gem.envs.code_env import CodeEnv
else:
    from gem_envs_code import CodeEnv
env = CodeEnv(dataset_name="taco", split="train", dataset=rows)
action = "```python\n" + task["code"] + "\n```"

def used():
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime

env.reset()
env.step(action)
if hasattr(env, "close"):
    env.close()
before, begin = used(), time.perf_counter()
for _ in range(task["steps"]):
    env.reset()
    assert env.step(action)[1] == task["reward"]
seconds = time.perf_counter() - begin
if hasattr(env, "close"):
    env.close()
print(json.dumps([task["steps"] / (used() - before), task["steps"] / seconds]))
"""


def measured(python: str, original: bool, code: str, steps: int) -> list[float]:
    """Return steps per CPU second and per second."""
    reward = 0.0 if "no" in code else 1.0
    task = {"original": original, "code": code, "tests": TESTS, "steps": steps, "reward": reward}
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [python, "-c", WORKER], input=json.dumps(task), env=environment, capture_output=True, text=True, check=True
    )
    rates: list[float] = json.loads(done.stdout.splitlines()[-1])
    return rates


def main() -> None:
    """Measure in turn, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--original", required=True, help="a Python in which gem-llm is installed")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=20, help="steps of each measurement; the original makes a fourth")
    arguments = parser.parse_args()
    print("| 12 tests | steps per CPU s, ours | original | times better | by the clock | goal | met |")
    print("|---|---|---|---|---|---|---|")
    for name, code in CODE.items():
        ours, theirs = [], []
        for _ in range(arguments.rounds):
            ours.append(measured(sys.executable, False, code, arguments.steps))
            theirs.append(measured(arguments.original, True, code, max(1, arguments.steps // 4)))
        ratios = [a[0] / b[0] for a, b in zip(ours, theirs, strict=True)]
        by_clock = [a[1] / b[1] for a, b in zip(ours, theirs, strict=True)]
        print(
            f"| {name} | {statistics.median(rate for rate, _ in ours):.1f} "
            f"| {statistics.median(rate for rate, _ in theirs):.2f} "
            f"| {statistics.median(ratios):.1f} ({min(ratios):.1f} … {max(ratios):.1f}) "
            f"| {statistics.median(by_clock):.1f} | 3 | {'yes' if statistics.median(ratios) >= 3 else '**no**'} |"
        )


if __name__ == "__main__":
    main()
