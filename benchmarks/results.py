"""Keeps what a benchmark has measured, and writes the tables of the documents from it.

    python benchmarks/results.py run NAME [--versions PACKAGE,…] -- benchmarks/SCRIPT.py [ARGUMENT …]
    python benchmarks/results.py        # writes the tables anew

``run`` runs a script and keeps the tables that it prints, as ``1``, ``2`` and so on, in ``results/NAME.json``, with the
command, the date, the machine and its load, and the versions. A document shows a table between the lines
``<!-- results: NAME TABLE -->`` and ``<!-- end of results -->``. A single figure, the first number of a cell, stands
between ``<!-- figure: NAME TABLE ROW/COLUMN -->`` and ``<!-- end of figure -->``: ROW begins the first cell of the row,
COLUMN is the head of the column. The date of a file stands between ``<!-- date: NAME -->`` and
``<!-- end of date -->``.

A table above which ``<!-- kept by hand: DATE; replaced by: COMMAND -->`` stands is of a run before there were result
files, of that date or earlier; the next run of its command replaces it. ``tests/test_benchmark_results.py`` compares
documents and files.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FOLDER = HERE / "results"
HAND_KEPT = re.compile(r"<!-- kept by hand: (\d{4}-\d\d-\d\d)(?:; replaced by: .+)? -->")
FIGURE = re.compile(r"(<!-- figure: (\S+) (\S+) ([^/\n]+)/(.+?) -->).*?(<!-- end of figure -->)")
DATED = re.compile(r"(<!-- date: (\S+) -->).*?(<!-- end of date -->)")
DOCUMENTS = (
    HERE / "README.md",
    *(HERE.parent / "docs" / name for name in ("compared.md", "chat-templates.md")),
    *(
        HERE.parent / "docs" / "guides" / name
        for name in ("attacks.md", "harnesses.md", "pretrained-models.md", "scale.md")
    ),
    *(
        HERE.parent / "packages" / name / "README.md"
        for name in (
            "gem-envs-math",
            "gem-envs-desk",
            "gem-envs-games",
            "gem-envs-office",
            "gem-envs-qa",
            "gem-envs-visual",
            "gem-envs-web",
        )
    ),
)
BLOCK = re.compile(r"(<!-- results: (\S+) (\S+) -->\n).*?(<!-- end of results -->)", re.DOTALL)

Table = Sequence[Sequence[str]]
"""Rows of cells, of which the first names the columns."""


def run(name: str, packages: Sequence[str], command: Sequence[str]) -> None:
    """Run a script of this folder, show its output, and keep the tables in it.

    Raises:
        SystemExit: if the script fails or prints no table.
    """
    lines = []
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
    if process.returncode:
        raise SystemExit(f"{command[0]} ended with exit code {process.returncode}; {name}.json is as it was")
    tables = {str(number): table for number, table in enumerate(tables_of(lines), 1)}
    if not tables:
        raise SystemExit(f"{command[0]} printed no table; {name}.json is as it was")
    write_results(FOLDER / f"{name}.json", f"python {' '.join(command)}", packages, tables)


def tables_of(lines: Sequence[str]) -> Sequence[Table]:
    """Return the tables of a Markdown text; a cell may hold an escaped bar."""
    found: list[list[list[str]]] = []
    for number, line in enumerate(lines):
        if not line.startswith("|"):
            continue
        if re.fullmatch(r"\|(?: *:?-+:? *\|)+", line):
            continue
        if number == 0 or not lines[number - 1].startswith("|"):
            found.append([])
        found[-1].append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return found


def unmarked_tables(text: str) -> list[str]:
    """Return the first line of each table of a document that neither a result file nor a date stands behind."""
    lines = BLOCK.sub("", text).splitlines()
    heads = [
        n for n, line in enumerate(lines) if re.match(r"\|[ :-]*-", line) and n > 0 and lines[n - 1].startswith("|")
    ]
    above = {n: next((line for line in reversed(lines[: n - 1]) if line), "") for n in heads}
    return [lines[n - 1] for n in heads if not HAND_KEPT.fullmatch(above[n])]


def write_results(path: Path, command: str, packages: Sequence[str], tables: Mapping[str, Table]) -> None:
    """Write a result file.

    Args:
        path: the file.
        command: the command that measured.
        packages: the distributions whose versions count.
        tables: name → table.
    """
    document = {
        "command": command,
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "machine": {
            "cores": os.cpu_count(),
            "system": platform.system(),
            "architecture": platform.machine(),
            "load": round(os.getloadavg()[0]),
        },
        "versions": {"python": platform.python_version(), **{name: version(name) for name in packages}},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(_text(document, tables), encoding="utf-8")


def _text(document: Mapping[str, Any], tables: Mapping[str, Table]) -> str:
    """Return the JSON of a result file, with a row of a table in each line."""
    rows = {
        name: ",\n".join(f"   {json.dumps(row, ensure_ascii=False)}" for row in table) for name, table in tables.items()
    }
    texts = ",\n".join(f"  {json.dumps(name)}: [\n{text}\n  ]" for name, text in rows.items())
    return f'{json.dumps(document, indent=1, ensure_ascii=False)[:-2]},\n "tables": {{\n{texts}\n }}\n}}\n'


def rendered(document: Mapping[str, Any], table: str) -> str:
    """Return a table of a result file as Markdown, with a line on where it comes from."""
    head, *rows = document["tables"][table]
    lines = [_line(head), "|---" * len(head) + "|", *map(_line, rows)]
    machine, versions = document["machine"], document["versions"]
    packages = ", ".join(f"{name} {number}" for name, number in versions.items())
    return "\n".join(
        [
            *lines,
            "",
            f"*`{document['command']}`, {document['date']}, {machine['cores']} cores{_load(machine)}, "
            f"{machine['system']} on {machine['architecture']}; {packages}*",
            "",
        ]
    )


def _load(machine: Mapping[str, Any]) -> str:
    return f" at a load of {machine['load']}" if "load" in machine else ""


def with_tables(text: str) -> str:
    """Return a document with its tables, figures and dates as the result files have them."""

    def replaced(match: re.Match[str]) -> str:
        return f"{match[1]}\n{rendered(read(match[2]), match[3])}\n{match[4]}"

    def replaced_figure(match: re.Match[str]) -> str:
        return f"{match[1]}{figure(read(match[2]), match[3], match[4], match[5])}{match[6]}"

    text = BLOCK.sub(replaced, text)
    text = FIGURE.sub(replaced_figure, text)
    return DATED.sub(lambda match: f"{match[1]}{read(match[2])['date']}{match[3]}", text)


def figure(document: Mapping[str, Any], table: str, row: str, column: str) -> str:
    """Return the first number of a cell of a result file.

    Raises:
        SystemExit: if there is no such column, no cell in it with a number, or not exactly one such row.
    """
    head, *rows = document["tables"][table]
    found = [cells for cells in rows if cells[0].startswith(row)]
    exact = [cells for cells in found if cells[0] == row]
    if len(exact or found) != 1 or column not in head:
        raise SystemExit(f"table {table} of {document['command']!r} has no one row {row!r} with a column {column!r}")
    number = re.search(r"\d[\d,]*(?:\.\d+)?", (exact or found)[0][head.index(column)])
    if number is None:
        raise SystemExit(f"{row!r} has no number under {column!r} in table {table} of {document['command']!r}")
    return number[0]


def read(name: str) -> dict[str, Any]:
    """Return a result file."""
    document: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return document


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a script if one is named, and write the tables and figures of the documents anew."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    subparsers = parser.add_subparsers(dest="action")
    running = subparsers.add_parser("run", help="run a script and keep its tables")
    running.add_argument("name", help="of the result file")
    running.add_argument("--versions", default="gem-core", help="packages whose versions count, with commas between")
    running.add_argument("command", nargs="+", help="after --: the script and its arguments")
    asked = parser.parse_args(arguments)
    if asked.action == "run":
        run(asked.name, asked.versions.split(","), asked.command)
    for document in DOCUMENTS:
        document.write_text(with_tables(document.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
