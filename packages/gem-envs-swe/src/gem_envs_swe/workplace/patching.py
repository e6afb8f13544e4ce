"""Application of unified diffs, without a program: :func:`apply_patch`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from gem_envs_swe.errors import SweError

__all__ = ["apply_patch"]

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NOWHERE = "/dev/null"
_HEAD = re.compile(r"diff --git a/(.+) b/\1\n?")
_EMPTY = re.compile(r"(new|deleted) file mode \d+\n?")


@dataclass
class _FilePatch:
    """The part of a diff that is about one file."""

    old: str = ""
    new: str = ""
    hunks: list[tuple[int, list[str], list[str]]] = field(default_factory=list)
    """The first line of the old file, counted from 1, then the old and the new lines, each with its end."""


def apply_patch(patch: str, read: Callable[[str], str | None]) -> dict[str, str | None]:
    """Return the files that a diff changes, as they are afterwards; None for a file that it removes.

    Every line must stand where the diff says. Renames count as they are written: a file goes and another one comes.

    Args:
        patch: a unified diff, with or without the lines that git adds.
        read: returns the text of a file before, None for a missing one. Lines end where its newlines are.

    Raises:
        SweError: if the diff is malformed, is about something other than text, or does not fit the files.
    """
    after: dict[str, str | None] = {}
    for part in _parts(patch):
        source, target = _name(part.old), _name(part.new)
        name = target or source
        if name is None:
            raise SweError("a part of the patch names no file")
        before = (after[source] if source in after else read(source)) if source is not None else None
        if source is not None and before is None:
            raise SweError(f"the patch changes {source}, which does not exist")
        content = _patched(before or "", part, name)
        if source is not None and source != target:
            after[source] = None
        if target is not None:
            after[target] = content
        elif content:
            raise SweError(f"the patch removes {name}, but not all of its lines")
    return after


def _parts(patch: str) -> Iterator[_FilePatch]:
    lines = _lines(patch)
    at, part = 0, _FilePatch()
    while at < len(lines):
        line = lines[at]
        if line.startswith(("Binary files ", "GIT binary patch", "rename from ", "copy from ")):
            raise SweError(f"the patch has a part that is no text: {line.strip()!r:.120}")
        if line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ "):
            if part.hunks:
                yield part
            part = _FilePatch(line[4:], lines[at + 1][4:])
            at += 2
        elif (head := _HEAD.fullmatch(line)) is not None and (made := _without_lines(lines, at, head[1])) is not None:
            if part.hunks:
                yield part
            part = _FilePatch()
            yield made
            at += 2
        elif (found := _HUNK.match(line)) is not None and part.new:
            at, hunk = _hunk(lines, at, found)
            part.hunks.append(hunk)
        else:
            at += 1
    if part.hunks:
        yield part


def _without_lines(lines: list[str], at: int, path: str) -> _FilePatch | None:
    """Return the part about a new or removed file without a line, whose head is at a line; None for another part."""
    found = _EMPTY.fullmatch(lines[at + 1]) if at + 1 < len(lines) else None
    after = next((line for line in lines[at + 2 : at + 4] if not line.startswith("index ")), "diff ")
    if found is None or not after.startswith("diff "):
        return None
    old, new = (_NOWHERE, f"b/{path}") if found[1] == "new" else (f"a/{path}", _NOWHERE)
    return _FilePatch(old, new)


def _hunk(lines: list[str], at: int, found: re.Match[str]) -> tuple[int, tuple[int, list[str], list[str]]]:
    """Read a hunk that begins at a line; return the number of the line after it, and the hunk."""
    olds, news = (int(found[group]) if found[group] is not None else 1 for group in (2, 4))
    old, new = list[str](), list[str]()
    at += 1
    while at < len(lines) and (len(old) < olds or len(new) < news or lines[at].startswith("\\")):
        kind, text = lines[at][:1], lines[at][1:]
        if kind == "\\":
            _cut_ends(old, new, lines[at - 1][:1])
        elif kind == "-":
            old.append(text)
        elif kind == "+":
            new.append(text)
        elif kind in (" ", "\n", ""):  # editors drop the blank of an empty line
            old.append(text or "\n")
            new.append(text or "\n")
        else:
            break
        at += 1
    if (len(old), len(new)) != (olds, news):
        raise SweError(f"the patch is cut off, or counts its lines wrongly: {found[0]}")
    return at, (int(found[1]), old, new)


def _cut_ends(old: list[str], new: list[str], kind: str) -> None:
    for side in [old] if kind == "-" else [new] if kind == "+" else [old, new]:
        side[-1] = side[-1].removesuffix("\n")


def _patched(text: str, part: _FilePatch, name: str) -> str:
    before, made, at = _lines(text), list[str](), 0
    for first, old, new in part.hunks:
        begin = first - 1 if old else first
        if begin < at or before[begin : begin + len(old)] != old:
            raise SweError(f"the patch does not fit {name} at line {first}")
        made += before[at:begin] + new
        at = begin + len(old)
    return "".join(made + before[at:])


def _lines(text: str) -> list[str]:
    """Return lines with their ends; only a newline ends one, as git has it."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _name(told: str) -> str | None:
    """Return the path of a file below the tree, from a line of a diff; None for no file."""
    path = told.split("\t")[0].strip()
    if path == _NOWHERE:
        return None
    path = path.strip('"')
    path = path[2:] if path[:2] in ("a/", "b/") else path
    if not path or path.startswith("/") or ".." in path.split("/"):
        raise SweError(f"the patch names a file outside the tree: {told.strip()!r:.120}")
    return path
