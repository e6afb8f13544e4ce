"""Notes of turns: one line that keeps every reference, and the passages that a reference leads back to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from gem.text import action_text, spoken_text
from gem.wrappers.history import Message, text_with_calls
from gem_rollout.history.references import ReferenceReader

__all__ = ["NoteLimits", "NotedTurn", "TurnNotes", "shortened"]

_LONGEST_PASSAGE = 2_000
_MOST_PASSAGES = 5


class NoteLimits(NamedTuple):
    """Characters in the note of a turn."""

    action: int
    """Of its action, without reasoning."""
    label: int
    """Of what follows a reference where it appears first; of an observation without references."""
    references: int
    """Of references that the action's part does not show; further ones are counted."""


class NotedTurn(NamedTuple):
    """What is known of a turn for its note."""

    said: str
    """The agent's action as text."""
    answered: str
    """The text of the observation."""
    references: Mapping[str, tuple[str, str]]
    """Name → how it is shown, and what follows it."""


class TurnNotes:
    """Notes of the turns of an episode, and where each reference stands.

    Args:
        reader: finds references.
        limits: of a note.
    """

    def __init__(self, reader: ReferenceReader, limits: NoteLimits) -> None:
        self._reader = reader
        self._limits = limits
        self._turns: list[NotedTurn] = []
        self._places: dict[str, list[int]] = {}

    def add(self, messages: Sequence[Message]) -> None:
        """Add a turn: its action and what answered it."""
        said = text_with_calls(messages[0])
        answered = "\n".join(action_text(message) or "" for message in messages[1:])
        references: dict[str, tuple[str, str]] = {}
        for text in (answered, said):
            found = self._reader(text)
            for one, following in zip_longest(found, found[1:]):
                stop = len(text) if following is None else max(following.start, one.end)
                label = text[one.end : stop].partition("\n")[0] if text is answered else ""
                references.setdefault(one.name, (one.shown, shortened(label.lstrip(": "), self._limits.label)))
        for name in references:
            self._places.setdefault(name, []).append(len(self._turns))
        self._turns.append(NotedTurn(said, answered, references))

    def note(self, number: int) -> str:
        """Return the note of a turn, which is counted from 1."""
        turn = self._turns[number - 1]
        action = shortened(spoken_text(turn.said), self._limits.action)
        shown = {one.name for one in self._reader(action)}
        left = [name for name in turn.references if name not in shown]
        if left:
            told = self._listed(left, turn, number)
        else:
            told = "" if turn.references else shortened(turn.answered, self._limits.label)
        return f"{number}. {action}" + (f" → {told}" if told else "")

    def bare(self, last: int) -> str:
        """Return what is kept of the turns up to one: references, and the agent's own lines that name some."""
        turns = self._turns[:last]
        own = dict.fromkeys(line for turn in turns for line in self._own_lines(turn))
        there = {one.name for line in own for one in self._reader(line)}
        shown = dict.fromkeys(
            turn.references[name][0]
            for turn in turns
            for name in self._fitting(turn, turn.references)
            if name not in there
        )
        more = [
            str(number)
            for number, turn in enumerate(self._turns[:last], 1)
            if len(self._fitting(turn, turn.references)) < len(turn.references)
        ]
        listed = " ".join(shown) + (f" and more in the turns {', '.join(more)}" if more else "")
        return "\n".join([f"1 to {last}. {listed}", *own])

    def _own_lines(self, turn: NotedTurn) -> list[str]:
        lines = spoken_text(turn.said[: _LONGEST_PASSAGE * 10]).splitlines() if turn.references else ()
        own = (line.partition("<unfold>")[0] for line in lines)
        return [shortened(line, self._limits.action) for line in own if self._reader(line)]

    def missing(self, text: str, first: int, last: int) -> str:
        """Return the references of some turns that a text on them lacks, as a line for its end; or nothing."""
        there = {one.name for one in self._reader(text)}
        lines = []
        for number in range(first, last + 1):
            turn = self._turns[number - 1]
            left = [name for name in turn.references if name not in there]
            there.update(left)
            if left:
                lines.append(self._listed(left, turn, number))
        return f"\nReferences: {'; '.join(lines)}" if lines else ""

    def passages(self, name: str) -> str | None:
        """Return the lines that name a reference, the latest turn's first; None if nothing does."""
        places = self._places.get(name)
        if places is None:
            return None
        found: dict[str, int] = {}
        others: list[str] = []
        for place in reversed(places):
            turn = self._turns[place]
            for line in self._lines(name, turn.answered) or self._lines(name, turn.said):
                if line in found:
                    continue
                if len(found) < _MOST_PASSAGES:
                    found[line] = place + 1
                elif str(place + 1) not in others:
                    others.append(str(place + 1))
        told = "\n".join(f"From turn {number}:\n{line}" for line, number in found.items())
        return f"{told}\nAlso in the turns {', '.join(others)}." if others else told

    def _lines(self, name: str, text: str) -> list[str]:
        """Return the lines of a text that name a reference, of long ones the part around it."""
        lines = []
        for one in self._reader(text):
            if one.name == name:
                begin = max(text.rfind("\n", 0, one.start) + 1, one.start - _LONGEST_PASSAGE // 2)
                end = text.find("\n", one.end)
                lines.append(text[begin : min(len(text) if end < 0 else end, begin + _LONGEST_PASSAGE)])
        return lines

    def _listed(self, names: Iterable[str], turn: NotedTurn, number: int) -> str:
        """Return references of a turn, new ones with what follows them, and the number of those left out."""
        names = list(names)
        fitting = self._fitting(turn, names)
        told = []
        for name in fitting:
            shown, label = turn.references[name]
            new = self._places[name][0] == number - 1
            told.append(f"{shown} {label}" if new and label else shown)
        left = len(names) - len(fitting)
        return "; ".join(told) + (f" and {left} more" if left else "")

    def _fitting(self, turn: NotedTurn, names: Iterable[str]) -> list[str]:
        """Return as many references as a note has room for."""
        fitting, used = [], 0
        for name in names:
            shown, label = turn.references[name]
            used += len(shown) + len(label)
            if used > self._limits.references:
                break
            fitting.append(name)
        return fitting


def shortened(text: str, most: int) -> str:
    """Return a text in one line, with an ellipsis for what is beyond a number of characters."""
    # A megabyte is not worth a look: blanks can take at most the length again.
    line = " ".join(text[: 4 * most + 4].split())
    if len(line) <= most and len(text) <= 4 * most + 4:
        return line
    return line[:most].rstrip() + "…"
