"""The reference policy of Mixtures, which knows what the observations say and nothing else."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from gem.core import Info
from gem.policies import Policy

__all__ = ["MixturesPolicy"]

_SHELF = re.compile(r"^On the shelf: ([^.]*)\.$", re.MULTILINE)
_GOAL = re.compile(r"(?:[Aa] flask of|that holds) ([a-z]+ [a-z]+)(?: is missing|[,.])")
_DEPTH = re.compile(r"It takes (\w+) reactions")
_NUMBERS = {"two": 2, "three": 3}
_NOTE = re.compile(r'^- "(\w+ \w+) with (\w+ \w+)( over the flame)? gives', re.MULTILINE)
_STRIP = re.compile(r"turns (\w+)\.")
_MADE = re.compile(r"Flask (\d+) holds ([^.]*)\.")
_HOT = " over the flame"


class MixturesPolicy(Policy[str, str]):
    """Sorts the bottles by strip, tries the claims of the notes, then one mixture of each sort, products first.

    A mixture over the flame shows whether two substances react at all; only those that do are mixed cold as well.
    """

    def reset(self, observation: str, info: Info) -> None:
        shelf = _SHELF.search(observation)
        goal = _GOAL.search(observation, shelf.end() if shelf else 0)
        assert shelf is not None
        assert goal is not None, observation
        self._bottles = shelf[1].split(", ")
        self._goal = goal[1]
        self._shared = "may share a colour" in observation
        self._overridden = "another product" in observation
        self._depth = _NUMBERS[depth[1]] if (depth := _DEPTH.search(observation)) else 1
        self._notes = deque((one.lower(), other, hot) for one, other, hot in _NOTE.findall(observation))
        self._colours: dict[str, str] = {}
        self._flasks: dict[str, str] = {}
        self._steps: dict[str, int] = {}
        self._tried: dict[tuple[str, str, str], str] = {}
        self._last: tuple[str, str, str] | None = None

    def act(self, observation: str, info: Info) -> str:
        """Return the next experiment, or the flask that holds the goal."""
        if self._last is not None:
            self._note_result(self._last, observation.partition("\n")[0])
        if self._goal in self._flasks:
            return f"hand in {self._flasks[self._goal]}"
        self._last = next(self._open(), None)
        if self._last is None:
            return "look"
        first, second, how = self._last
        return f"dip strip into {first}" if how == "dip" else f"mix {first} with {second}{how}"

    def _note_result(self, experiment: tuple[str, str, str], message: str) -> None:
        first, second, how = experiment
        if how == "dip":
            colour = _STRIP.search(message)
            self._colours[first] = colour[1] if colour else ""
            return
        made = _MADE.search(message)
        self._tried[experiment] = made[2] if made else ""
        if made and made[2] not in self._flasks:
            flask = f"flask {made[1]}"
            self._flasks[made[2]] = flask
            self._steps[flask] = 1 + max(self._steps.get(first, 0), self._steps.get(second, 0))

    def _open(self) -> Iterator[tuple[str, str, str]]:
        """Yield the experiments that are still worth a turn, the best first."""
        for bottle in self._bottles:
            if bottle not in self._colours:
                yield bottle, "", "dip"
        sorts: dict[str, list[str]] = {}
        for bottle in self._bottles:
            sorts.setdefault(self._colours[bottle], []).append(bottle)
        samples = [bottles[0] for bottles in sorts.values()]
        for one, other, hot in self._notes:
            yield from self._untried(one, other, (hot,))
        yield from self._rounds(samples)
        if self._shared:
            yield from self._rounds(self._bottles)

    def _rounds(self, bottles: list[str]) -> Iterator[tuple[str, str, str]]:
        """Yield mixtures of the newest products with bottles, then of bottles with each other."""
        for flask in reversed(self._flasks.values()):
            if self._steps[flask] < self._depth:
                for bottle in bottles:
                    yield from self._both_ways(flask, bottle)
        for number, one in enumerate(bottles):
            for other in bottles[number + 1 :]:
                yield from self._both_ways(one, other)

    def _both_ways(self, one: str, other: str) -> Iterator[tuple[str, str, str]]:
        yield from self._untried(one, other, (_HOT,))
        if self._overridden and self._tried[one, other, _HOT]:
            yield from self._untried(one, other, ("",))

    def _untried(self, one: str, other: str, ways: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
        for how in ways:
            if (one, other, how) not in self._tried:
                yield one, other, how
