"""Whether published terminal tasks work: ``python benchmarks/published_tasks.py FOLDER... --engine ENGINE``.

Plays the solution of each task, and an episode without any action, one task after another, with the tasks as they are.
Each result is written as soon as it is there, and a task that has one is not played again: the command can be
interrupted and repeated. ``python benchmarks/results.py`` then writes the tables of ``benchmarks/README.md``.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from results import FOLDER, write_results

from gem_terminal.cli.proof import Proof, Prover
from gem_terminal.engines import engine_by_name
from gem_terminal.plain_text import plain_text
from gem_terminal.task_set import TaskFolder, load_task_set

FILE = FOLDER / "published_tasks.json"
ENGINES = ("namespace", "docker")
GOOD = "1 / 0"
REASONS = {
    r"[Cc]ould not resolve host:? '?([\w.-]+\w)|resolve '?([\w.-]+\w)'?|host='([\w.-]+\w)'": "needs {}, out of reach",
    r"Unable to locate package (\S+)|no installation candidate.*?(\S+)": "the base has no package {}",
    r"(several stages)": "has {}, which only Docker builds",
    r"the option of .*?(--\w+)": "builds with {}",
    r"(took too long|in the \S+ seconds)": "{}",
    r"the base image (\S+) is not here": "no base {}",
    r"(No such file or directory)[^\n]*?COPY|COPY failed: (\S.*)": "an incomplete copy of the task: {}",
}
"""Pattern of a problem → its explanation; what is not known stands as it is, in short."""
_ERROR = re.compile(r"^(?:E {2,}|FAILED |ERROR:? |Error: )(.+)", re.MULTILINE)


def main() -> None:
    """Play the tasks that have no result yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--engine", choices=ENGINES, required=True)
    parser.add_argument("--set", dest="name", required=True, help="The name of the task set in the table.")
    parser.add_argument("--tasks", nargs="*", default=[], help="Patterns of names; all tasks without it.")
    parser.add_argument("--most", type=int, default=1000, help="Tasks at most.")
    parser.add_argument("--again", action="store_true", help="Play those again that did not work.")
    parser.add_argument("--out", type=Path, default=FILE, help="The result file, which is read first.")
    chosen = parser.parse_args()
    rows = known_rows(chosen.out)
    prover = Prover(engine_by_name(chosen.engine), attempts=1)
    left = chosen.most
    for folder in chosen.folders:
        loaded = load_task_set(folder)
        usable = [TaskFolder(task.folder, task) for task in loaded.tasks]
        for found in sorted((*usable, *loaded.skipped), key=lambda one: one.name):
            if chosen.tasks and not any(re.search(pattern, found.name) for pattern in chosen.tasks):
                continue
            row = rows.setdefault((chosen.name, found.name), dict.fromkeys(ENGINES, ""))
            if left == 0 or (row[chosen.engine] and (row[chosen.engine] == GOOD or not chosen.again)):
                continue
            left -= 1
            row[chosen.engine] = cell(prover.prove(found))
            print(f"{chosen.name}, {found.name}, {chosen.engine}: {row[chosen.engine]}", flush=True)
            keep(rows, chosen.out)


def cell(proof: Proof) -> str:
    """Return a result: the rewards of the solution and of doing nothing, or why there are none."""
    if not proof.oracle:
        return f"not played: {explained(' '.join(proof.problems))}"
    why = explained(" ".join(proof.problems), proof.log)
    rewards = f"{proof.oracle[0]:g} / {proof.nothing[0] if proof.nothing else float('nan'):g}"
    return rewards if proof.ok else f"{rewards}: {why}"


def explained(problem: str, log: str = "") -> str:
    """Return a problem in a few words: the last error in the log of the tests, if there is one."""
    if errors := _ERROR.findall(plain_text(log)):
        return str(errors[-1]).replace("|", " ").strip()[:160]
    for pattern, words in REASONS.items():
        if (found := re.search(pattern, problem, re.DOTALL)) is not None:
            return words.format(next(filter(None, found.groups()), ""))
    lines = plain_text(problem).replace("|", " ").split()
    return " ".join(lines)[-160:]


def known_rows(file: Path) -> dict[tuple[str, str], dict[str, str]]:
    """Return set and task → engine → result, from the result file."""
    if not file.is_file():
        return {}
    _, *rows = json.loads(file.read_text(encoding="utf-8"))["tables"]["tasks"]
    return {(name, task): dict(zip(ENGINES, cells, strict=True)) for name, task, *cells in rows}


def keep(rows: dict[tuple[str, str], dict[str, str]], file: Path) -> None:
    """Write the result file."""
    tasks = [["task set", "task", "namespace", "Docker"]]
    tasks += [[*key, *(row[engine] for engine in ENGINES)] for key, row in sorted(rows.items()) if any(row.values())]
    summary = [["task set", "namespace: work", "of", "Docker: work", "of"]]
    for name in [*dict.fromkeys(row[0] for row in tasks[1:]), "all"]:
        of_set = [row for key, row in rows.items() if name in (key[0], "all")]
        summary.append([name, *(figure for engine in ENGINES for figure in counted(row[engine] for row in of_set))])
    command = "python benchmarks/published_tasks.py FOLDER --set NAME --engine ENGINE"
    write_results(file, command, ["gem-terminal"], {"summary": summary, "tasks": tasks})


def counted(cells: Iterable[str]) -> tuple[str, str]:
    """Return how many tasks work, and how many were tried."""
    kinds = Counter(cell == GOOD for cell in cells if cell)
    return str(kinds[True]), str(kinds.total())


if __name__ == "__main__":
    main()
