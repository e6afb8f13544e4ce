"""A text as an edit of an earlier text: copied ranges, ranges of the action, and what is new.

History wrappers show the agent almost the same text at every turn, with its last action inside. An edit is a list of
pieces, which together are the new text:

- ``"…"``: new text;
- ``[start, end]``: these characters of the earlier text;
- ``["action", start, end]``: these characters of the action.

The search for ranges is fast, not exhaustive: an edit may be longer than the shortest one, but is never wrong, as a
range counts only if its characters are compared. Comparisons and searches are those of CPython's ``str``, so that
their speed is that of memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gem.errors import TrajectoryError
from gem_rollout.trajectory.common_ranges import common_length, common_length_before

__all__ = ["MAX_LENGTH", "MIN_LENGTH", "Piece", "apply_text_edit", "text_edit"]

Piece = str | list[Any]

SEED = 32
"""Characters by which a range is found; shorter ranges are not worth their numbers."""

MIN_LENGTH = 8 * SEED
"""Shorter texts are kept as they are: the search costs more than the bytes that it saves."""

MAX_LENGTH = 2**28
"""The longest value that an edit may produce, so that a small file cannot fill the memory of its reader."""

_AHEAD = 1 << 18
"""Characters of the earlier text in which its next range is looked for."""

_LATE = 1 << 16
"""A whole action is looked for where it can be followed by this many characters."""


def text_edit(old: str, new: str, action: str) -> list[Piece] | None:
    """Return ``new`` as an edit of ``old``; None if that saves nothing."""
    if len(new) < MIN_LENGTH:
        return None
    shared = len(old) if new.startswith(old) else common_length(old, 0, new, 0)
    if shared < SEED:
        shared = 0
    edit = _Edit(old, new, action)
    edit.copy(0, shared)
    if shared < len(old):
        edit.copy_end(shared)
    edit.rest(shared)
    return edit.pieces if edit.saves else None


def apply_text_edit(pieces: Sequence[Any], old: str, action: str) -> str:
    """Return the text that an edit describes.

    Raises:
        TrajectoryError: if it is no edit of ``old``.
    """
    texts: list[str] = []
    length = 0
    for piece in pieces:
        if isinstance(piece, str):
            text = piece
        else:
            source, start, end = (action, *piece[1:]) if piece[0] == "action" else (old, *piece)
            if not 0 <= start <= end <= len(source):
                raise TrajectoryError(f"{piece} is no range of a text of {len(source)} characters")
            text = source[start:end]
        texts.append(text)
        length += len(text)
        if length > MAX_LENGTH:
            raise TrajectoryError(f"an edit produces more than {MAX_LENGTH} characters")
    return "".join(texts)


class _Edit:
    """The edit of one text while its pieces are found, from left to right."""

    def __init__(self, old: str, new: str, action: str) -> None:
        self.old, self.new, self.action = old, new, action
        self.pieces: list[Piece] = []
        self.saves = False
        self._done = 0
        """Characters of ``new`` that the pieces cover."""
        self._old_from = 0
        """The end of the last range of ``old``; ranges are looked for after it."""

    def copy(self, start: int, end: int) -> None:
        """Add a range of ``old``."""
        if end > start:
            self.pieces.append([start, end])
            self._done += end - start
            self.saves = True
        self._old_from = end

    def copy_end(self, start: int) -> None:
        """Add the end of ``old``, if ``new`` continues with it: a window has dropped the text in between."""
        old, new, done = self.old, self.new, self._done
        end = new.rfind(old[-SEED:], done)
        length = min(end + SEED - done, len(old) - start)
        if end >= 0 and length >= SEED and new.startswith(old[len(old) - length :], done):
            self.copy(len(old) - length, len(old))

    def rest(self, old_from: int) -> None:
        """Cover the rest of ``new``."""
        self._old_from = max(self._old_from, old_from)
        if len(self.action) >= SEED:
            place = self.new.find(self.action, max(self._done, len(self.new) - len(self.action) - _LATE))
            if place >= 0:
                self._search(place, "")
                self._add_action(0, len(self.action))
                self._search(len(self.new), "")
                return
        self._search(len(self.new), self.action)

    def _search(self, end: int, action: str) -> None:
        """Cover ``new`` up to ``end`` with ranges of ``old`` and ``action``, and new text."""
        old, new = self.old, self.new
        place, step = self._done, SEED
        while place + SEED <= end and (action or self._old_from < len(old)):
            seed = new[place : place + SEED]
            found, source = action.find(seed) if action else -1, action
            if found < 0:
                found, source = old.find(seed, self._old_from, self._old_from + _AHEAD), old
            if found < 0:
                place += step
                step += step // 2
                continue
            length = min(common_length(new, place, source, found), end - place)
            before = common_length_before(new, place, source, found, place - self._done)
            place, found, length = place - before, found - before, length + before
            self._add_text(place)
            if source is old:
                self.copy(found, found + length)
            else:
                self._add_action(found, found + length)
            place, step = self._done, SEED
        self._add_text(end)

    def _add_action(self, start: int, end: int) -> None:
        self.pieces.append(["action", start, end])
        self._done += end - start
        self.saves = True

    def _add_text(self, end: int) -> None:
        if end > self._done:
            self.pieces.append(self.new[self._done : end])
            self._done = end
