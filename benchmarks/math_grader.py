r"""Compares the grader of gem-envs-math with the original's (`gem-llm`), paired, in CPU seconds of all processes.

    python benchmarks/math_grader.py --original /tmp/original/bin/python

Each round draws 200 labelled pairs (in the proportions of competition mathematics: most of them integers and
fractions, some radicals, expressions, collections, intervals, equations, units, words) that no other round has, and
grades them once on both sides, after both have loaded their libraries and graded some other pairs. The original runs
its full mode with its limit of one second, in its own process, which is cheaper for it than the pool that its
environment uses. Processor time of worker processes counts. The labels are those of
`packages/gem-envs-math/tests/grader_corpus`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parent.parent / "packages" / "gem-envs-math" / "tests" / "grader_corpus"
MIX = {
    "integers": 60, "fractions": 34, "radicals": 22, "expressions": 24, "collections": 14, "decimals": 8,
    "intervals": 10, "equations": 10, "units": 6, "words": 4, "matrices": 4, "functions": 4,
}  # fmt: skip
GOAL = 8.0


def pairs_of(seed: int, rounds: int) -> list[list[tuple[str, bool, str, str]]]:
    """Return disjoint rounds of pairs and the pairs in neither round: category, label, gold, answer."""
    lines = (CORPUS / "generated.tsv").read_text(encoding="utf-8").splitlines()[1:]
    by_category: dict[str, list[tuple[str, bool, str, str]]] = {}
    for line in lines:
        category, equal, gold, answer = line.split("\t")
        by_category.setdefault(category, []).append((category, equal == "1", gold, answer))
    chance = random.Random(seed)
    found: list[list[tuple[str, bool, str, str]]] = [[] for _ in range(rounds + 1)]
    for category, count in MIX.items():
        known = by_category[category]
        chance.shuffle(known)
        for number in range(rounds):
            found[number] += known[number * count : (number + 1) * count]
        found[rounds] += known[rounds * count :][:3]
    for pairs in found:
        chance.shuffle(pairs)
    return found


def processor_seconds() -> float:
    """Return the user and system time of this process and its descendants, running or ended (Linux)."""
    total, tree = time.process_time(), {os.getpid()}
    ticks = os.sysconf("SC_CLK_TCK")
    known: dict[int, tuple[int, float]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        known[int(stat.parent.name)] = int(fields[1]), sum(map(int, fields[11:15])) / ticks
    grown = True
    while grown:
        grown = False
        for process, (parent, seconds) in known.items():
            if parent in tree and process not in tree:
                tree.add(process)
                total += seconds
                grown = True
    return total


def ours() -> Callable[[str, str], bool]:
    """Return the grader of gem-envs-math."""
    from gem_envs_math.grader import is_correct

    return is_correct


def theirs(seconds: int) -> Callable[[str, str], bool]:
    """Return the original's grader as its environment calls it, which gives it a second, without a pool."""
    from gem.utils.math_grader import boxed_reward_fn, run_with_timeout_signal  # type: ignore[import-not-found]

    def correct(answer: str, gold: str) -> bool:
        call = {"model_response": f"\\boxed{{{answer}}}", "gt_answer": gold, "fast": False}
        result = run_with_timeout_signal(boxed_reward_fn, kwargs=call, timeout_seconds=seconds)
        return bool(result and result[1] == 1.0)

    return correct


def work(side: str, seconds: int) -> None:
    """Grade the pairs on standard input, as JSON; print seconds and verdicts as JSON."""
    task: dict[str, Any] = json.load(sys.stdin)
    grade = ours() if side == "ours" else theirs(seconds)
    for _, _, gold, answer in task["warm_up"]:
        grade(answer, gold)
    grade("\\sin(2x)", "2\\sin x\\cos x")
    before = processor_seconds()
    verdicts = [grade(answer, gold) for _, _, gold, answer in task["pairs"]]
    print(json.dumps({"seconds": processor_seconds() - before, "verdicts": verdicts}))


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--original", help="a Python interpreter that has gem-llm")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--mistakes", action="store_true", help="list them on stderr")
    parser.add_argument("--side", choices=["ours", "theirs"], help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=int, default=1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        work(options.side, options.seconds)
        return
    if not options.original:
        parser.error("--original is needed")
    *rounds, warm_up = pairs_of(options.seed, options.rounds)
    rates: dict[str, list[float]] = {"ours": [], "theirs": []}
    right = {"ours": 0, "theirs": 0}
    passed = {"ours": 0, "theirs": 0}
    for pairs in rounds:
        for side, python in (("ours", sys.executable), ("theirs", options.original)):
            done = subprocess.run(
                [python, __file__, "--side", side],
                input=json.dumps({"pairs": pairs, "warm_up": warm_up}),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                check=True,
            )
            result = json.loads(done.stdout.splitlines()[-1])
            rates[side].append(len(pairs) / result["seconds"])
            for (category, equal, gold, answer), verdict in zip(pairs, result["verdicts"], strict=True):
                right[side] += verdict == equal
                passed[side] += verdict and not equal
                if options.mistakes and verdict != equal:
                    print(side, category, equal, gold, answer, sep="\t", file=sys.stderr)
    ratios = [mine / other for mine, other in zip(rates["ours"], rates["theirs"], strict=True)]
    count = sum(map(len, rounds))
    met = "yes" if statistics.median(ratios) >= GOAL else "**no**"
    print("| 200 pairs a round | ours | original | times better | goal | met |\n|---|---|---|---|---|---|")
    print(
        f"| grades per CPU s | {statistics.median(rates['ours']):,.0f} | {statistics.median(rates['theirs']):,.0f} "
        f"| {statistics.median(ratios):.0f} ({min(ratios):.0f} … {max(ratios):.0f}) | {GOAL:g} | {met} |"
    )
    print(f"| right, of {count} | {right['ours']} | {right['theirs']} | | | |")
    print(f"| wrong answers passed as right | {passed['ours']} | {passed['theirs']} | | | |")


if __name__ == "__main__":
    main()
