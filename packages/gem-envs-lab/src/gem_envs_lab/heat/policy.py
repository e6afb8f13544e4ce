"""The reference policy of Heat, which closes in on the point at which a temperature stands still."""

from __future__ import annotations

import re
from collections.abc import Generator

from gem.core import Info
from gem.policies import Policy

__all__ = ["HeatPolicy"]

_DISH = re.compile(r"(\w+) (is solid|is partly solid|is liquid|boils),[^.]*shows (-?[\d.]+?)\.?$", re.MULTILINE)
_FIRST_STEP = 200
_States = Generator[str, str, float]
_ORDER = ("is solid", "is partly solid", "is liquid", "boils")


class HeatPolicy(Policy[str, str]):
    """Warms and cools by steps that it halves at each turn back, until the sample melts or boils.

    With a thermometer that is off it also measures water.
    """

    def reset(self, observation: str, info: Info) -> None:
        self._states = {name.lower(): (state, float(shown)) for name, state, shown in _DISH.findall(observation)}
        self._given = dict.fromkeys(self._states, 0)
        self._offset = "is wrong by the same" in observation
        self._scale = "the size of its degrees" in observation
        self._question = observation.strip().splitlines()[-3]
        self._experiments: Generator[str, str, None] | None = None

    def act(self, observation: str, info: Info) -> str:
        """Return the next step of a measurement, or the answer."""
        if self._experiments is None:
            self._experiments = self._plan()
            return next(self._experiments)
        return self._experiments.send(observation)

    def _plan(self) -> Generator[str, str, None]:
        samples = [name for name in self._states if name != "water"]
        wanted = "boils" if "boil" in self._question else "is partly solid"
        named = [name for name in samples if name in re.findall(r"\w+", self._question)]
        if named:
            subject = named[0]
        elif len(samples) == 1:
            subject = samples[0]
        else:
            melting = {}
            for name in samples:
                melting[name] = yield from self._point(name, "is partly solid")
            last = "highest" in self._question or "last" in self._question
            subject = (max if last else min)(melting, key=lambda name: melting[name])
        degrees = yield from self._point(subject, wanted)
        if self._offset or self._scale:
            zero = yield from self._point("water", "is partly solid")
            degrees -= zero
            if self._scale:
                degrees *= 100 / ((yield from self._point("water", "boils")) - zero)
        while True:
            yield f"answer {degrees:.1f}"

    def _point(self, name: str, wanted: str) -> _States:
        """Return the reading while a sample melts or boils."""
        step, before = _FIRST_STEP, 0
        while self._states[name][0] != wanted:
            way = 1 if _ORDER.index(self._states[name][0]) < _ORDER.index(wanted) else -1
            if before and way != before:
                step = max(step // 2, 1)
            before = way
            if (yield from self._warm(name, way * step)):
                # A fresh portion starts at the room's temperature; the last amount but one did not boil it away.
                given, self._given[name] = self._given[name] - way * step, 0
                for part in (_FIRST_STEP,) * (given // _FIRST_STEP) + (given % _FIRST_STEP,):
                    if part:
                        yield from self._warm(name, part)
                step = max(step // 6, 1)
        return self._states[name][1]

    def _warm(self, name: str, amount: int) -> Generator[str, str, bool]:
        """Heat or cool a sample; return whether it boiled away."""
        self._given[name] += amount
        shown = yield f"{'heat' if amount > 0 else 'cool'} {name} by {abs(amount)}"
        self._states |= {one.lower(): (state, float(read)) for one, state, read in _DISH.findall(shown)}
        return "boils away" in shown
