r"""Compares environments that ask one question an episode with the original's, paired in one run, in CPU seconds.

    python -m venv /tmp/original && /tmp/original/bin/pip install gem-llm datasets pylatexenc
    python benchmarks/question_environments.py --original /tmp/original/bin/python

Both sides read the same rows from memory and get the same answers, half of them right. An episode is a reset and a
step. The script measures the CPU time of the whole process tree, so that worker processes count. One row of
:data:`ROWS` adds a package. The table shows medians over rounds and the range of the rounds' ratios; below it stand the
costs of importing each package and of making the environments that only this side has.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

GOAL = 3.0
"""The goal: episodes per CPU second as a multiple of the original's."""

COUNT = 400
"""Rows of a data set."""


@dataclass(frozen=True)
class Row:
    """One comparison: the class on both sides, its arguments, and its questions and answers."""

    name: str
    entry_point: str
    theirs: str
    question_key: str
    answer: Callable[[int], str]
    wrong: Callable[[int], str]
    action: str
    """With ``%s`` in place of the answer."""
    arguments: tuple[tuple[str, Any], ...] = ()
    """For both sides."""


def _fraction(index: int) -> str:
    return f"\\frac{{{2 * index + 1}}}{{{4 * (index % 9) + 4}}}"


MATHS = "gem_envs_math:MathEnv", "gem.envs.math_env:MathEnv", "problem"
WORDS = "gem_envs_qa:QaEnv", "gem.envs.qa_env:QaEnv", "question"
BOX, TAG = "So it is \\boxed{%s}.", "<think>So.</think><answer>%s</answer>"
ROWS = (
    Row(
        "MathEnv, whole numbers", *MATHS, lambda i: str(7 * i + 1), lambda i: str(7 * i + 2), BOX, (("use_mp", False),)
    ),
    Row("MathEnv, fractions", *MATHS, _fraction, lambda i: str(i), BOX, (("use_mp", False),)),
    Row(
        "MathEnv, formulas",
        *MATHS,
        lambda i: f"{i + 2}\\sqrt{{{i % 7 + 2}}} + {i}",
        lambda i: f"{i + 3}\\sqrt{{{i % 7 + 2}}} + {i}",
        BOX,
        (("use_mp", False),),
    ),
    Row("QaEnv, names", *WORDS, lambda i: f"The Duke of Number {i}", lambda i: f"the Earl {i}", TAG),
)
IMPORTS = ("gem_envs_math", "gem_envs_qa", "gem_envs_reasoning", "gem_envs_code")
BUNDLED = (
    "math:Arithmetic-v0",
    "math:WordProblems-v0",
    "math:Algebra-v0",
    "math:GeometryText-v0",
    "math:Geometry-v0",
)


def work(side: str, index: int, budget: float) -> dict[str, float]:
    """Return episodes per CPU second of one row in this interpreter; the first batch is not timed."""
    import importlib

    row = ROWS[index]
    module, _, name = (row.entry_point if side == "ours" else row.theirs).partition(":")
    rows = [{row.question_key: f"Question {i}?", "answer": row.answer(i)} for i in range(COUNT)]
    data: Any = rows
    if side == "theirs":
        import datasets

        data = datasets.Dataset.from_list(rows)
    arguments = dict(row.arguments)
    env = getattr(importlib.import_module(module), name)(
        dataset=data, question_key=row.question_key, answer_key="answer", **arguments
    )
    answers = {f"Question {i}?": (row.answer(i), row.wrong(i)) for i in range(COUNT)}

    def episodes() -> tuple[float, int]:
        """Return the CPU seconds of one pass through the data, and the number of correctly graded answers."""
        spent, good = 0.0, 0
        for turn in range(COUNT):
            started = time.process_time()
            observation, _ = env.reset()
            spent += time.process_time() - started
            question = next(part for part in observation.split("Question ")[1:])
            right, wrong = answers[f"Question {question.split('?')[0]}?"]
            said = row.action % (right if turn % 2 else wrong)
            started = time.process_time()
            reward = env.step(said)[1]
            spent += time.process_time() - started
            good += (reward == 1) == bool(turn % 2)
        return spent, good

    env.reset(seed=0)
    episodes()
    spent, count, good = 0.0, 0, 0
    children = os.times()
    while spent < budget:
        seconds, right = episodes()
        spent, count, good = spent + seconds, count + COUNT, good + right
    after = os.times()
    spent += after.children_user + after.children_system - children.children_user - children.children_system
    result = {"per_second": count / spent, "right": good / count}
    env.close() if hasattr(env, "close") and side == "ours" else None
    return result


def bundled(env_id: str, budget: float) -> dict[str, float]:
    """Return episodes per CPU second of a generated set, and the CPU seconds of its first make."""
    import gem

    started = time.process_time()
    env = gem.make(env_id)
    made = time.process_time() - started
    env.reset(seed=0)
    count, started = 0, time.process_time()
    while time.process_time() - started < budget:
        env.reset()
        env.step(env.unwrapped.reference_answer(env.unwrapped.row))
        count += 1
    return {"make": made, "per_second": count / (time.process_time() - started)}


def _run(python: str, *arguments: object) -> dict[str, float]:
    command = [python, __file__, *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def _cpu_seconds(*arguments: str) -> float:
    child = subprocess.Popen([sys.executable, *arguments], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime if child.returncode == 0 else float("nan")


def main() -> None:
    """Print the tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--original", help="a Python interpreter that has gem-llm")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=1.0, help="CPU seconds per figure, side and round")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        sys.path.pop(0)  # this folder's scripts have the names of their subjects
        kind, what, budget = options.work
        found = bundled(what, float(budget)) if kind == "bundled" else work(kind, int(what), float(budget))
        print(json.dumps(found), flush=True)
        os._exit(0)  # the original leaves a pool behind that keeps the process from ending
    if options.original:
        print("| episodes per CPU s | ours | original | times better | right, ours / original | goal | met |")
        print("|---|---|---|---|---|---|---|")
        for index, row in enumerate(ROWS):
            pairs = [
                tuple(
                    _run(python, "--work", side, index, options.budget)
                    for side, python in (("ours", sys.executable), ("theirs", options.original))
                )
                for _ in range(options.rounds)
            ]
            ratios = [ours["per_second"] / theirs["per_second"] for ours, theirs in pairs]
            middle = statistics.median(ratios)
            rates = [statistics.median(pair[side]["per_second"] for pair in pairs) for side in (0, 1)]
            print(
                f"| {row.name} | {rates[0]:,.0f} | {rates[1]:,.0f} "
                f"| {middle:.1f} ({min(ratios):.1f} … {max(ratios):.1f}) "
                f"| {pairs[0][0]['right']:.0%} / {pairs[0][1]['right']:.0%} | {GOAL:g} "
                f"| {'yes' if middle >= GOAL else '**no**'} |",
                flush=True,
            )
    print("\n| bundled | make, CPU ms | episodes per CPU s |\n|---|---|---|")
    for env_id in BUNDLED:
        rounds = [_run(sys.executable, "--work", "bundled", env_id, options.budget) for _ in range(options.rounds)]
        make, rate = (statistics.median(found[key] for found in rounds) for key in ("make", "per_second"))
        print(f"| {env_id} | {make * 1e3:.1f} | {rate:,.0f} |", flush=True)
    print("\n| import | CPU ms over bare Python |\n|---|---|")
    bare = statistics.median(_cpu_seconds("-c", "pass") for _ in range(7))
    for package in IMPORTS:
        code = f"import {package} as package; [getattr(package, name) for name in package.__all__]"
        spent = statistics.median(_cpu_seconds("-c", code) for _ in range(7))
        print(f"| {package}, with all that it exports | {(spent - bare) * 1e3:.0f} |", flush=True)


if __name__ == "__main__":
    main()
