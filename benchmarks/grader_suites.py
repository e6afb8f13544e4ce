r"""Measures the mathematics grader on published pairs, machine rewrites and data sets, beside math-verify.

    python benchmarks/grader_suites.py
    python benchmarks/grader_suites.py --only-speed
    python benchmarks/grader_suites.py --only-errors
    python benchmarks/grader_suites.py --only-data --data MATH=math/test.jsonl --data Minerva=minerva_math/test.jsonl

The pairs are those of `packages/gem-envs-math/tests/grader_corpus`: `suites.json` (verdicts of ten public test suites)
and `foreign.json` (of thirteen more, which the grader saw last; "judged" leaves out labels that have a reason against
them), the rewrites of `rewrites.py`, and pairs of the lines of `notations.txt`, of which no two mean
the same. math-verify gets each side between dollar signs, which reads more than the bare text, and its own time limits.
Speeds are CPU seconds of this process and its workers, in rounds that alternate between the two, on rewrites and suites
mixed, after both have loaded their libraries.

With `--only-data` and `--data NAME=PATH`, for each set in a published shape: the share of gold answers that the grader
cannot read, the share right of its gold answers in other dresses, the false positives among its gold answers shuffled,
and the problems that pay for something without work, as an environment grades it. That is a constant that answers
nothing; a formula or number of the question, as it stands or in a frill such as `-(-c)`, where the gold answer does not
stand verbatim in the question, and without the options that it lists and their letters; and a whole number as a
calculation (`9 \cdot 2`), of GSM8K the last of its solution.
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
from collections.abc import Callable
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from math_grader import processor_seconds

from gem_eval.statistics.estimates import wilson_bounds

CORPUS = Path(__file__).parent.parent / "packages" / "gem-envs-math" / "tests" / "grader_corpus"
sys.path.insert(0, str(CORPUS))
from rewrites import DRESSINGS, REWRITINGS, dressed, rewrites  # type: ignore[import-not-found]  # noqa: E402

GOAL = 10.0
ROUNDS = 3
ROUND = 400
"""Pairs of a round."""
SPANS = re.compile(r"\$\$(.+?)\$\$|\$(.+?)(?<!\\)\$|\\\[(.+?)\\\]|\\\((.+?)\\\)", re.DOTALL)
NUMBERS = re.compile(r"(?<![\w.])[-−]?\d+(?:[.,]\d+)*(?:/\d+)?")
NAMES = {"ours": "ours", "mv": "math-verify"}

NOTATIONS = 5000
"""Pairs of notations; the tests that run by night grade half of all."""

Correct = Callable[[str, str], bool]


def theirs(patience: int = 1) -> Correct:
    """Return math-verify, with so many times its own limits of seconds."""
    from math_verify import parse, verify

    logging.disable(logging.CRITICAL)

    def read(text: str) -> Any:
        return parse(text if "$" in text else f"${text}$", parsing_timeout=5 * patience)

    return lambda answer, gold: bool(verify(read(gold), read(answer), timeout_seconds=5 * patience))


def ours() -> Correct:
    """Return the grader of gem-envs-math."""
    from gem_envs_math.grader import is_correct

    return lambda answer, gold: is_correct(answer, gold, seconds=5.0)


def pairs_of(name: str) -> dict[str, Any]:
    """Return the suites of a file of the corpus."""
    suites: dict[str, Any] = json.loads((CORPUS / f"{name}.json").read_text(encoding="utf-8"))
    return suites


def print_suites(graders: dict[str, Correct], suites: dict[str, Any]) -> None:
    """Print the agreement with the labels of public suites."""
    print("\n| suite | pairs | judged | ours raw | math-verify raw | ours judged | math-verify judged |")
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


def rate(wrong: int, count: int) -> str:
    """Return a share in per cent with its interval of 95 per cent by Wilson (1927)."""
    if not count:
        return ""
    share = wrong / count
    low, high = map(float, wilson_bounds(np.array(share), count, statistics.NormalDist().inv_cdf(0.975)))
    return f"{100 * share:.2f} % ({100 * max(0.0, low):.2f} … {100 * high:.2f})"


def print_errors(graders: dict[str, Correct], each: int) -> None:
    """Print how often right answers are refused and wrong ones accepted, on labelled material of others and our own."""
    notations = (CORPUS / "notations.txt").read_text(encoding="utf-8").splitlines()
    foreign = pairs_of("foreign")
    material = {
        "public suites": [pair for content in pairs_of("suites").values() for pair in content["pairs"]],
        "foreign suites": [pair for content in foreign.values() for pair in content["pairs"]],
        "machine rewrites": [[label, gold, answer] for _, label, gold, answer in rewrites(1, each)],
        "pairs of notations": [
            [0, *pair] for pair in random.Random(0).sample(list(combinations(notations, 2)), NOTATIONS)
        ],
    }
    print("\n| material | grader | right answers | refused | wrong answers | accepted |\n|---|---|---|---|---|---|")
    for name, pairs in material.items():
        judged = [pair for pair in pairs if len(pair) == 3]
        right = [(gold, answer) for label, gold, answer in judged if label]
        wrong = [(gold, answer) for label, gold, answer in judged if not label]
        for side, grade in graders.items():
            if side == "mv" and name == "pairs of notations":  # an hour, with its limits of time
                wrong = wrong[:200]
            refused = sum(not grade(answer, gold) for gold, answer in right)
            accepted = sum(grade(answer, gold) for gold, answer in wrong)
            print(
                f"| {name} | {NAMES[side]} | {len(right):,} | {rate(refused, len(right))} "
                f"| {len(wrong):,} | {rate(accepted, len(wrong))} |",
                flush=True,
            )
        if name == "foreign suites":
            first = len(judged) - sum(content["first_run"] for content in foreign.values())
            print(
                f"| {name}, at first sight | ours | {len(right):,} | {rate(first, len(right))} "
                f"| {len(wrong):,} | {rate(0, len(wrong))} |"
            )


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
        share = 100 * right.total() / len(pairs)
        print(f"| {NAMES[name]} | {len(pairs)} | {share:.2f} % | {100 * mean:.2f} % | {accepted} |")


def print_speeds(graders: dict[str, Correct]) -> None:
    """Print grades per CPU second, each round of pairs on both sides."""
    suites = pairs_of("suites")
    mixed = [(answer, gold) for content in suites.values() for _, gold, answer, *_ in content["pairs"]]
    mixed += [(answer, gold) for _, _, gold, answer in rewrites(7, 4)]
    random.Random(0).shuffle(mixed)
    size = ROUND
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


NOTHING = (
    r"0 \checkmark", r"\therefore 1", r"1, 2, \ldots, n", r"1+x+x^2+\cdots", r"\frac{\partial f}{\partial x}",
    r"a\notin 5", r"\{1,2,\ldots\}", "f(0)", r"\text{the answer}", "?", "ABCD", "A, B, C, D", "A or B",
)  # fmt: skip
FRILLS = (
    "{}", "({})^1", "-(-({}))", r"\frac{{{}}}{{1}}", "({})+0", r"1\cdot({})", r"\frac{{2({})}}{{2}}", "({})+1-1",
)  # fmt: skip


def calculations(gold: str, row: Any) -> list[str]:
    """Return a whole number as calculations that are not done; of GSM8K the last of the published solution."""
    noted = re.findall(r"<<([^=>]*)=[^>]*>>", str(row.get("answer", "")))
    found = [step for step in noted[-1:] if not re.fullmatch(r"[\d.]+", step)]
    number = gold.replace(",", "")
    if re.fullmatch(r"-?\d{1,15}", number):
        value = int(number)
        found += [f"{value - 1}+1", f"\\frac{{{2 * value}}}{{2}}", f"{value}\\cdot 1", f"\\sum_{{k=1}}^{{1}} {value}"]
    return found


def print_data(sets: list[str], most: int) -> None:
    """Print what the grader does with the gold answers of data sets."""
    from gem.errors import DatasetError
    from gem_envs_math import MathEnv
    from gem_envs_math.grader import grade, read_gold
    from gem_questions import open_rows

    print(
        "\n| data set | gold answers | unreadable | dressed right | shuffled accepted | constants paid | copies paid "
        "| calculations paid | verbatim golds |\n|---|---|---|---|---|---|---|---|---|"
    )
    for entry in sets:
        name, _, path = entry.partition("=")
        chance = random.Random(0)
        opened = open_rows(path)
        env = MathEnv(dataset=path)
        rows = []
        for index in range(len(opened)):
            try:
                gold = env.gold_of(opened[index])
                rows.append((opened[index], str(gold[0] if isinstance(gold, list) else gold).strip()))
            except DatasetError:
                continue
        unread = sum(not read_gold(gold).readable for _, gold in rows)
        dress: list[bool] = []
        constants = paid = verbatim = accepted = tried = undone = 0
        for row, gold in chance.sample(rows, min(most, len(rows))):
            question = env.text_of(row)
            dress += [grade(answer, gold, question=question).correct for _, answer in dressed(gold)]
            constants += any(env.compare(text, row).correct for text in NOTHING if _bare(text) != _bare(gold))
            spans = {next(filter(None, found)).strip() for found in SPANS.findall(question)}
            spans |= set(NUMBERS.findall(question))
            listed = env.options_of(row) or {}  # one of them is the answer, and so is its letter
            options = {_bare(text) for letter, option in listed.items() for text in (option, letter, letter.lower())}
            spans = {span for span in spans if _bare(span) not in options}
            stands = any(_bare(span) == _bare(gold) for span in spans)
            verbatim += stands
            paid += not stands and any(
                env.compare(frill.format(span), row).correct for span in spans if len(span) < 300 for frill in FRILLS
            )
            undone += any(env.compare(text, row).correct for text in calculations(gold, row))
            other = chance.choice(rows)[1]
            if _bare(other) != _bare(gold):
                tried += 1
                accepted += grade(other, gold, question=question).correct
        env.close()
        count = min(most, len(rows))
        right = 100 * statistics.mean(dress or [True])
        print(
            f"| {name} | {len(rows):,} | {100 * unread / len(rows):.2f} % | {right:.2f} % of {len(dress):,} "
            f"| {accepted} of {tried:,} | {constants} of {count:,} | {paid} of {count - verbatim:,} "
            f"| {undone} of {count:,} | {verbatim} |",
            flush=True,
        )


def _bare(text: str) -> str:
    """Return a formula without spaces, sizes, units and dollars."""
    text = re.sub(r"\\text\{[^}]*\}|\\mbox\{[^}]*\}|\^\{?\\circ\}?|(?<=\d),(?=\d{3})|\.0+$", "", text)
    return re.sub(r"\\left|\\right|\\[!,;]|\\d(?=frac)|\s|\$|\\\$|[.,]$|\\%", "", text).replace("\\frac", "frac")


def main() -> None:
    """Print the tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", action="append", default=[], metavar="NAME=PATH", help="a data set; may be repeated")
    parser.add_argument("--each", type=int, default=10, help="pairs of each rewriting (default: 10)")
    parser.add_argument("--most", type=int, default=5000, help="problems of a data set to attack (default: 5000)")
    parser.add_argument("--only-data", action="store_true", help="leave out the pairs")
    parser.add_argument("--only-speed", action="store_true", help="measure speeds alone")
    parser.add_argument("--only-errors", action="store_true", help="print the error rates of this grader alone")
    options = parser.parse_args()
    if options.only_errors:
        print_errors({"ours": cache(ours())}, options.each)
    elif not options.only_data:
        graders = {"ours": ours(), "mv": theirs()}
        for grade in graders.values():
            grade("\\sin(2x)", "2\\sin x\\cos x")
        if options.only_speed:
            print_speeds(graders)
            return
        known: dict[str, Correct] = {name: cache(grade) for name, grade in graders.items()}
        print_suites(known, pairs_of("suites"))
        print_suites(known, pairs_of("foreign"))
        print_rewrites(known, options.each)
        print_errors(known, options.each)
    if options.data:
        print_data(options.data, options.most)


if __name__ == "__main__":
    main()
