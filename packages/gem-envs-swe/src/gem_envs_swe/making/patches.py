"""Unified diffs between two trees: :func:`diff_of`."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

__all__ = ["diff_of"]


def diff_of(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """Return the diff between files by path, for ``git apply``; a file of one of them alone is new or removed."""
    parts = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        head = f"diff --git a/{path} b/{path}\n"
        if old is None:
            head += "new file mode 100644\n"
        elif new is None:
            head += "deleted file mode 100644\n"
        lines = difflib.unified_diff(
            _lines(old), _lines(new),
            "/dev/null" if old is None else f"a/{path}", "/dev/null" if new is None else f"b/{path}",
        )  # fmt: skip
        parts.append(head + "".join(map(_ended, lines)))
    return "".join(parts)


def _lines(text: str | None) -> list[str]:
    """Return the lines with their ends; only a newline ends one, as git has it."""
    if not text:
        return []
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
