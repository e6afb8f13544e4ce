"""Compares QaEnv with that of the original (`gem-llm`), paired in one run, in CPU seconds.

    python -m venv /tmp/original && /tmp/original/bin/pip install gem-llm datasets pandas pylatexenc requests
    python benchmarks/question_answering.py --original /tmp/original/bin/python

Both sides ask the same 2,000 questions, with two right answers each, and get the same actions. Ours reads them from a
Parquet file, the original gets a `datasets.Dataset`. Each figure is measured in turn on both sides, several
rounds; the table shows the median and the range of the rounds' ratios. The last lines concern only ours: the
costs of the generated sets.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

QUESTIONS = 2000
ENVIRONMENTS = 64
REASONING = {"a short answer": 0, "4,000 characters of reasoning": 4000, "100,000 characters of reasoning": 100_000}


def rows() -> list[dict[str, Any]]:
    """Return the questions of both sides."""
    return [
        {"question": f"Who was the {n}th mayor of Lima?", "answer": [f"The Mayor {n}", f"Mayor No. {n}"]}
        for n in range(QUESTIONS)
    ]


def environments(side: str, path: str) -> list[Any]:
    """Return environments of the interpreter that runs this."""
    from gem.envs.qa_env import QaEnv

    if side == "ours":
        return [QaEnv(dataset=path) for _ in range(ENVIRONMENTS)]
    from datasets import Dataset, disable_progress_bars

    disable_progress_bars()
    return [QaEnv(dataset=Dataset.from_list(rows())) for _ in range(ENVIRONMENTS)]


def work(side: str, path: str, length: int, budget: float) -> dict[str, float]:
    """Return episodes and steps per CPU second."""
    envs = environments(side, path)
    actions = ["why " * (length // 4) + f"<answer>the mayor {n % 40}</answer>" for n in range(ENVIRONMENTS)]
    resets = steps = 0.0
    count = 0
    while resets + steps < budget:
        began = time.process_time()
        for env in envs:
            env.reset()
        middle = time.process_time()
        for env, action in zip(envs, actions, strict=True):
            env.step(action)
        resets += middle - began
        steps += time.process_time() - middle
        count += len(envs)
    return {"episodes": count / (resets + steps), "steps": count / steps}


def run(python: str, side: str, path: str, length: int, budget: float) -> dict[str, float]:
    """Measure in another process."""
    # Other files of this folder may have the names of libraries.
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    command = [python, __file__, "--worker", side, path, str(length), str(budget)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, env=environment)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def compared(original: str, rounds: int, budget: float) -> list[str]:
    """Return the table of both sides."""
    from pyarrow import Table, parquet

    lines = ["| per CPU s | ours | original | times better | goal | met |", "|---|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "questions.parquet")
        parquet.write_table(Table.from_pylist(rows()), path)
        for title, length in REASONING.items():
            pairs = [
                (run(sys.executable, "ours", path, length, budget), run(original, "theirs", path, length, budget))
                for _ in range(rounds)
            ]
            for what in ("episodes", "steps"):
                ratios = [ours[what] / theirs[what] for ours, theirs in pairs]
                ours, theirs = (statistics.median(pair[side][what] for pair in pairs) for side in (0, 1))
                median = statistics.median(ratios)
                met = "yes" if median >= 3 else "**no**"
                lines.append(
                    f"| {what}, {title} | {ours:,.0f} | {theirs:,.0f} "
                    f"| {median:.1f} ({min(ratios):.1f} … {max(ratios):.1f}) | 3 | {met} |"
                )
    return lines


def generated() -> list[str]:
    """Return a table of the generated sets' costs; each figure uses a world of its own."""
    from gem_envs_qa import RuleWorldsEnv
    from gem_envs_qa.atlas import AtlasEnv

    lines = ["| generated, CPU ms | |", "|---|---|"]
    for size in (600, 10_000):
        times: dict[str, list[float]] = {"made": [], "first reset": [], "articles": [], "episode": []}
        for seed in range(1, 6):
            marks = [time.process_time()]
            env = AtlasEnv(world_seed=seed, size=size)
            marks.append(time.process_time())
            env.reset(seed=0)
            marks.append(time.process_time())
            env.search_corpus()
            marks.append(time.process_time())
            for _ in range(200):
                env.reset()
            for name, one, other in zip(times, marks, marks[1:], strict=False):
                times[name].append(other - one)
            times["episode"].append((time.process_time() - marks[-1]) / 200)
        shown = ", ".join(f"{name} {statistics.median(values) * 1e3:.2f}" for name, values in times.items())
        lines.append(f"| Atlas, {size:,} articles | {shown} |")
    for depth in (0, 3, 5):
        rules = RuleWorldsEnv(depth=depth)
        began = time.process_time()
        for index in range(300):
            rules.reset(options={"index": index})
        lines.append(f"| RuleWorlds, depth {depth} | episode {(time.process_time() - began) / 300 * 1e3:.2f} |")
    return lines


def main() -> None:
    """Print the tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--original", help="a Python interpreter that has gem-llm")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--budget", type=float, default=1.0, help="CPU seconds per figure, side and round")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        side, path, length, budget = options.worker
        print(json.dumps(work(side, path, int(length), float(budget))))
        return
    if options.original:
        print("\n".join(compared(options.original, options.rounds, options.budget)), end="\n\n")
    print("\n".join(generated()))


if __name__ == "__main__":
    main()
