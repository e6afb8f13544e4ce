"""The reverse of a unified diff: :func:`reversed_diff`."""

from __future__ import annotations

import re

__all__ = ["reversed_diff"]

_HUNK = re.compile(r"@@ -(\d+(?:,\d+)?) \+(\d+(?:,\d+)?) @@(.*)", re.DOTALL)
_SWAPPED = {"new file mode ": "deleted file mode ", "deleted file mode ": "new file mode "}
_PAIRS = (("rename from ", "rename to "), ("old mode ", "new mode "))


def reversed_diff(diff: str) -> str:
    """Return the diff that undoes a unified diff of text files.

    Raises:
        ValueError: if the diff has a binary file, or a hunk with a malformed header.
    """
    done: list[str] = []
    lines = diff.splitlines(keepends=True) if "\r" not in diff else [*_lines(diff)]
    place = 0
    while place < len(lines):
        line = lines[place]
        if line.startswith(("GIT binary patch", "Binary files ")):
            raise ValueError("a diff of binary files cannot be reversed")
        if line.startswith("--- ") and place + 1 < len(lines) and lines[place + 1].startswith("+++ "):
            old, new = line[4:], lines[place + 1][4:]
            done += [f"--- {_with_prefix(new, 'a/')}", f"+++ {_with_prefix(old, 'b/')}"]
            place += 2
        elif line.startswith("@@"):
            place = _reverse_hunk(lines, place, done)
        else:
            done.append(_header(line))
            place += 1
    return "".join(_ordered_pairs(done))


def _lines(text: str) -> list[str]:
    """Return the lines of a text that end at line feeds alone, as a diff has them."""
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _with_prefix(path: str, prefix: str) -> str:
    return prefix + path[2:] if path.startswith(("a/", "b/")) else path


def _header(line: str) -> str:
    for begin, swapped in _SWAPPED.items():
        if line.startswith(begin):
            return swapped + line[len(begin) :]
    if line.startswith("index ") and ".." in line:
        hashes, blank, mode = line[6:].rstrip("\n").partition(" ")
        old, _, new = hashes.partition("..")
        return f"index {new}..{old}{blank}{mode}\n"
    for first, second in _PAIRS:
        if line.startswith(first):
            return second + line[len(first) :]
        if line.startswith(second):
            return first + line[len(second) :]
    return line


def _ordered_pairs(lines: list[str]) -> list[str]:
    """Put each pair of headers that were swapped into git's order."""
    for place in range(len(lines) - 1):
        for first, second in _PAIRS:
            if lines[place].startswith(second) and lines[place + 1].startswith(first):
                lines[place], lines[place + 1] = lines[place + 1], lines[place]
    return lines


def _reverse_hunk(lines: list[str], place: int, done: list[str]) -> int:
    """Append a reversed hunk and return the place after it."""
    header = _HUNK.match(lines[place])
    if header is None:
        raise ValueError(f"the header of a hunk is malformed: {lines[place].strip()[:80]!r}")
    left = {"-": _count(header[1]), "+": _count(header[2])}
    done.append(f"@@ -{header[2]} +{header[1]} @@{header[3]}")
    place += 1
    added: list[str] = []
    removed: list[str] = []
    while place < len(lines) and (any(left.values()) or lines[place].startswith("\\")):
        line = lines[place]
        kind = line[0] if line.strip("\n") else " "  # some tools cut the blank of an empty line
        if kind == "\\":
            {"-": removed, "+": added}.get(lines[place - 1][:1], done).append(line)
        elif kind in "+-":
            left[kind] -= 1
            (removed if kind == "-" else added).append(("+" if kind == "-" else "-") + line[1:])
        else:
            left["-"] -= 1
            left["+"] -= 1
            done += [*added, *removed, line]
            added, removed = [], []
        place += 1
    done += [*added, *removed]
    return place


def _count(span: str) -> int:
    return int(span.partition(",")[2] or 1)
