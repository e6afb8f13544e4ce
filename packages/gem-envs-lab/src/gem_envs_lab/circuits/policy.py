"""The reference policy of Circuits: measures one unknown at a time, then searches for the loop on paper."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from itertools import combinations, product

from gem.core import Info
from gem.policies import Policy

__all__ = ["CircuitsPolicy"]

_BENCH = re.compile(r"^On the bench: ([^;]*); the [^;]*; (.*)\. Fuses left", re.MULTILINE)
_LABEL = re.compile(r" \(label: \d+ ohms\)")
_WANTED = re.compile(r"([\d.]+) mA(?: flow|\. Install|\.$)", re.MULTILINE)
_READING = re.compile(r"shows ([\d.]+) mA")
_Experiments = Generator[str, str, None]


class CircuitsPolicy(Policy[str, str]):
    """Finds everything relative to the first cell and the lamp, which is all that currents can tell.

    With the lamp alone the first cell drives a current; each further part lowers it, and tells its resistance in lamps;
    each further cell adds or takes away. Then the loop that comes closest is measured, and installed.
    """

    def reset(self, observation: str, info: Info) -> None:
        bench = _BENCH.search(observation)
        assert bench is not None, observation
        wanted = _WANTED.search(observation, bench.end())
        assert wanted is not None, observation
        self._cells = bench[1].split(", ")
        self._parts = _LABEL.sub("", bench[2]).split(", ")
        self._bell = "the lamp and the bell;" in bench[0]
        self._beside = " beside " in observation
        self._wanted = float(wanted[1])
        self._experiments: _Experiments | None = None

    def act(self, observation: str, info: Info) -> str:
        """Return the next measurement, or the loop to install."""
        if self._experiments is None:
            self._experiments = self._plan()
            return next(self._experiments)
        return self._experiments.send(observation)

    def _measure(self, *loop: str) -> Generator[str, str, float]:
        """Return the current of a loop in mA."""
        reading = _READING.search((yield f"connect {', '.join(loop)}"))
        return float(reading[1]) if reading else 0.0

    def _plan(self) -> _Experiments:
        first = self._cells[0]
        alone = yield from self._measure(first, "lamp")
        ohms: dict[str, float] = {}
        for part in self._parts:
            current = yield from self._measure(first, part, "lamp")
            if current:
                ohms[part] = alone / current - 1
        volts = {first: 1.0}
        # A cell next to the first one, with the largest part against a blown fuse.
        dull = max(ohms, key=lambda name: ohms[name])
        scale = (1 + ohms[dull]) / alone
        for cell in self._cells[1:]:
            added = yield from self._measure(first, cell, dull, "lamp")
            turned = yield from self._measure(first, f"{cell} turned", dull, "lamp")
            # In units of the first cell these are |1 + v| and |1 - v|, whose squares differ by 4 v.
            volts[cell] = ((added * scale) ** 2 - (turned * scale) ** 2) / 4
        forward, bell = True, 0.0
        if self._bell:
            current = yield from self._measure(first, "bell", "lamp")
            if not current:
                forward = False
                current = yield from self._measure(first, "bell turned", "lamp")
            bell = alone / current - 1
        for loop in self._candidates(ohms, volts, alone, forward, bell):
            current = yield from self._measure(*loop)
            if abs(current - self._wanted) < 0.009 * self._wanted:
                yield f"install {', '.join(loop)}"
        while True:
            yield "look"

    def _candidates(
        self, ohms: dict[str, float], volts: dict[str, float], alone: float, forward: bool, bell: float
    ) -> Iterator[list[str]]:
        """Yield loops in the order of their distance from the wanted current."""
        drives = []
        for signs in product((0, 1, -1), repeat=len(volts)):
            total = sum(sign * size for sign, size in zip(signs, volts.values(), strict=True))
            if total > 0:
                cells = [
                    f"{cell} turned" if sign < 0 else cell for cell, sign in zip(volts, signs, strict=True) if sign
                ]
                drives.append((total, cells))
        last = ["lamp", "bell" if forward else "bell turned"] if self._bell else ["lamp"]
        found = []
        for lamps, places in self._chains(ohms):
            for total, cells in drives:
                off = abs(alone * total / (1 + bell + lamps) - self._wanted)
                if off < 0.01 * self._wanted:
                    found.append((off, [*cells, *places, *last]))
        found.sort(key=lambda pair: pair[0])
        yield from (loop for _, loop in found)

    def _chains(self, ohms: dict[str, float]) -> Iterator[tuple[float, list[str]]]:
        """Yield the resistance, in lamps, and the places of every chain of parts, with at most one pair in parallel."""
        for count in range(len(ohms) + 1):
            for chain in combinations(ohms, count):
                yield sum(ohms[part] for part in chain), list(chain)
                for one, other in combinations(chain, 2) if self._beside else ():
                    rest = [part for part in chain if part not in (one, other)]
                    pair = ohms[one] * ohms[other] / (ohms[one] + ohms[other])
                    yield pair + sum(ohms[part] for part in rest), [f"{one} beside {other}", *rest]
