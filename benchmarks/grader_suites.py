r"""Measures the mathematics grader on published pairs, machine rewrites and data sets, beside math-verify.

    python benchmarks/grader_suites.py
    python benchmarks/grader_suites.py --data MATH=math/test.jsonl --data Minerva=minerva_math/test.jsonl

The pairs are those of `packages/gem-envs-math/tests/grader_corpus/suites.json` (verdicts of ten public test suites; the
column "raw" counts every label, "judged" leaves out the labels that have a reason against them) and the rewrites of
`rewrites.py` beside it. math-verify gets each side between dollar signs, which reads more than the bare text, and its
own time limits. Speeds are CPU seconds of this process and its workers, in rounds that alternate between the two, on
rewrites and suites mixed, after both have loaded their libraries.

With `--data NAME=PATH`, for each set in a published shape: the share of gold answers that the grader cannot read, the
share right of its gold answers in other dresses, the false positives among its gold answers shuffled, and the problems
that pay for boxing a formula of the question, without those whose gold answer stands verbatim in the question.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import re
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from math_grader import processor_seconds

CORPUS = Path(__file__).parent.parent / "packages" / "gem-envs-math" / "tests" / "grader_corpus"
sys.path.insert(0, str(CORPUS))
from rewrites import DRESSINGS, REWRITINGS, dressed, rewrites  # type: ignore[import-not-found]  # noqa: E402

GOAL = 10.0
ROUNDS = 3
SPANS = re.compile(r"\$\$(.+?)\$\$|\$(.+?)(?<!\\)\$|\\\[(.+?)\\\]|\\\((.+?)\\\)", re.DOTALL)

Correct = Callable[[str, str], bool]


def theirs() -> Correct:
    """Return math-verify."""
    from math_verify import parse, verify

    logging.disable(logging.CRITICAL)

    def read(text: str) -> Any:
        return parse(text if "$" in text else f"${text}$")

    return lambda answer, gold: bool(verify(read(gold), read(answer)))


def ours() -> Correct:
    """Return the grader of gem-envs-math."""
    from gem_envs_math.grader import is_correct

    return lambda answer, gold: is_correct(answer, gold, seconds=5.0)


def print_suites(graders: dict[str, Correct]) -> None:
    """Print the agreement with the labels of the public suites."""
    suites = json.loads((CORPUS / "suites.json").read_text(encoding="utf-8"))
    print("| suite | pairs | judged | ours raw | math-verify raw | ours judged | math-verify judged |")
    print("|---|---|---|---|---|---|---|")
    total: dict[str, list[bool]] = {}
    for suite, content in suites.items():
        columns: dict[str, list[bool]] = {}
        for label, gold, answer, *reason in content["pairs"]:
            for name, grade in graders.items():
                right = grade(answer, gold) == bool(label)
                for key in (f"{name} raw", f"{name} judged")[: 1 if reason else 2]:
                    columns.setdefault(key, []).append(right)
                    total.setdefault(key, []).append(right)
        print_row(suite, columns)
    print_row("all", total)


def print_row(name: str, columns: dict[str, list[bool]]) -> None:
    """Print a row of percentages."""
    order = [f"{side} {kind}" for kind in ("raw", "judged") for side in ("ours", "mv")]
    shares = [100 * statistics.mean(columns[key]) for key in order]
    sizes = len(columns["ours raw"]), len(columns["ours judged"])
    print(f"| {name} | {sizes[0]} | {sizes[1]} | {' | '.join(f'{share:.1f}' for share in shares)} |")


def print_rewrites(graders: dict[str, Correct], each: int) -> None:
    """Print the share of rewrites that are graded right, by kind and in all."""
    print(
        f"\n| {len(DRESSINGS) + len(REWRITINGS)} kinds of rewrites | pairs | right | mean of the kinds "
        "| accepted wrongly |"
    )
    print("|---|---|---|---|---|")
    pairs = list(rewrites(1, each))
    for name, grade in graders.items():
        right: Counter[str] = Counter()
        count: Counter[str] = Counter()
        accepted = 0
        for kind, label, gold, answer in pairs:
            told = grade(answer, gold)
            count[kind] += 1
            right[kind] += told == label
            accepted += told and not label
        mean = statistics.mean(right[kind] / count[kind] for kind in count)
        print(f"| {name} | {len(pairs)} | {100 * right.total() / len(pairs):.2f} % | {100 * mean:.2f} % | {accepted} |")


def print_speeds(graders: dict[str, Correct]) -> None:
    """Print grades per CPU second, each round of pairs on both sides."""
    suites = json.loads((CORPUS / "suites.json").read_text(encoding="utf-8"))
    mixed = [(answer, gold) for content in suites.values() for _, gold, answer, *_ in content["pairs"]]
    mixed += [(answer, gold) for _, _, gold, answer in rewrites(7, 4)]
    random.Random(0).shuffle(mixed)
    size = len(mixed) // ROUNDS
    rates: dict[str, list[float]] = {name: [] for name in graders}
    for number in range(ROUNDS):
        part = mixed[number * size : (number + 1) * size]
        for name, grade in graders.items():
            before = processor_seconds()
            for answer, gold in part:
                grade(answer, gold)
            rates[name].append(size / (processor_seconds() - before))
    ratios = [a / b for a, b in zip(rates["ours"], rates["mv"], strict=True)]
    met = "yes" if min(ratios) >= GOAL else "**no**"
    print(f"\n| {size} pairs a round | ours | math-verify | times better | goal | met |\n|---|---|---|---|---|---|")
    print(
        f"| grades per CPU s | {statistics.median(rates['ours']):,.0f} | {statistics.median(rates['mv']):,.0f} "
        f"| {statistics.median(ratios):.0f} ({min(ratios):.0f} … {max(ratios):.0f}) | {GOAL:g} | {met} |"
    )


def rows_of(path: str) -> Iterator[tuple[str, Any]]:
    """Yield questions and gold answers of a file in a published shape."""
    from gem.errors import DatasetError
    from gem_questions import open_rows
    from gem_questions.schemas import read_row

    rows = open_rows(path)
    for index in range(len(rows)):
        try:
            content = read_row(rows[index], "math", None, None)
        except DatasetError:
            continue
        yield content.question, content.gold[0] if isinstance(content.gold, list) else content.gold


def print_data(sets: list[str], most: int) -> None:
    """Print what the grader does with the gold answers of data sets."""
    from gem_envs_math.grader import grade, read_gold

    print(
        "\n| data set | gold answers | unreadable | dressed right | shuffled accepted | copies paid | verbatim golds |"
    )
    print("|---|---|---|---|---|---|---|")
    for entry in sets:
        name, _, path = entry.partition("=")
        chance = random.Random(0)
        rows = [(question, str(gold).strip()) for question, gold in rows_of(path)]
        unread = sum(not read_gold(gold, question).readable for question, gold in rows)
        dress: list[bool] = []
        paid = verbatim = accepted = tried = 0
        for question, gold in chance.sample(rows, min(most, len(rows))):
            dress += [grade(answer, gold, question=question).correct for _, answer in dressed(gold)]
            spans = {next(filter(None, found)).strip() for found in SPANS.findall(question)}
            hits = [span for span in spans if grade(span, gold, question=question).correct]
            stands = any(_bare(hit) == _bare(gold) for hit in hits)
            verbatim += stands
            paid += bool(hits) and not stands
            other = chance.choice(rows)[1]
            if _bare(other) != _bare(gold):
                tried += 1
                accepted += grade(other, gold, question=question).correct
        print(
            f"| {name} | {len(rows)} | {100 * unread / len(rows):.2f} % | {100 * statistics.mean(dress):.2f} % of "
            f"{len(dress)} | {accepted} of {tried} | {paid} of {min(most, len(rows))} | {verbatim} |"
        )


def _bare(text: str) -> str:
    """Return a formula without spaces, sizes, units and dollars."""
    text = re.sub(r"\\text\{[^}]*\}|\\mbox\{[^}]*\}|\^\{?\\circ\}?", "", text)
    return re.sub(r"\\left|\\right|\\[!,;]|\\d(?=frac)|\s|\$|\\\$|[.,]$|\\%", "", text).replace("\\frac", "frac")


def main() -> None:
    """Print the tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", action="append", default=[], metavar="NAME=PATH", help="a data set; may be repeated")
    parser.add_argument("--each", type=int, default=10, help="pairs of each rewriting (default: 10)")
    parser.add_argument("--most", type=int, default=5000, help="problems of a data set to attack (default: 5000)")
    parser.add_argument("--only-data", action="store_true", help="leave out the pairs")
    options = parser.parse_args()
    if not options.only_data:
        graders = {"ours": ours(), "mv": theirs()}
        for grade in graders.values():
            grade("\\sin(2x)", "2\\sin x\\cos x")
        print_suites(graders)
        print_rewrites(graders, options.each)
        print_speeds(graders)
    if options.data:
        print_data(options.data, options.most)


if __name__ == "__main__":
    main()
