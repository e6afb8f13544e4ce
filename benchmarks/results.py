"""Keeps what a benchmark has measured, and writes the tables of the documents from it.

    python benchmarks/results.py        # after a benchmark that was run with --out

A result file holds the command, the date, the machine, the versions and the tables. A document shows a table between
the lines ``<!-- results: NAME TABLE -->`` and ``<!-- end of results -->``. ``tests/test_benchmark_results.py`` compares
both.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FOLDER = HERE / "results"
BLOCK = re.compile(r"(<!-- results: (\S+) (\S+) -->\n).*?(<!-- end of results -->)", re.DOTALL)

Table = Sequence[Sequence[str]]
"""Rows of cells, of which the first names the columns."""


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
        "machine": {"cores": os.cpu_count(), "system": platform.system(), "architecture": platform.machine()},
        "versions": {"python": platform.python_version(), **{name: version(name) for name in packages}},
        "tables": tables,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


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
            f"*`{document['command']}`, {document['date']}, {machine['cores']} cores, {machine['system']} on "
            f"{machine['architecture']}; {packages}*",
            "",
        ]
    )


def with_tables(text: str) -> str:
    """Return a document with its tables as the result files have them."""

    def replaced(match: re.Match[str]) -> str:
        document = json.loads((FOLDER / f"{match[2]}.json").read_text(encoding="utf-8"))
        return f"{match[1]}\n{rendered(document, match[3])}\n{match[4]}"

    return BLOCK.sub(replaced, text)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Write the tables of benchmarks/README.md anew."""
    readme = HERE / "README.md"
    readme.write_text(with_tables(readme.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
