"""A policy that traces the wires of a circuit in the picture."""

from __future__ import annotations

from gem.core import Info, Observation
from gem.policies import Policy
from gem_envs_visual.circuits import (
    BOX,
    HEIGHT,
    MARGIN,
    SWITCH,
    WIDTH,
    Circuit,
    Parallel,
    Part,
    Resistor,
    Series,
    Switch,
)
from gem_envs_visual.reading import Picture, look
from gem_questions.pictures.canvas import colour

__all__ = ["CircuitPlansPolicy"]

_TERMINAL = 6
"""Pixels from the middle of a terminal to the first that is free of it."""
_CONTACT = 4
"""Pixels of the radius of a contact."""
_ASIDE = 5
"""Pixels beside a rail at which its branches are told from its thickness and its dot."""


class CircuitPlansPolicy(Policy[Observation, str]):
    """Follows the wires from A to B, branch by branch, and works the resistance out."""

    def act(self, observation: Observation, info: Info) -> str:
        picture, _ = look(observation)
        part, _ = _Tracing(picture).follow(MARGIN + _TERMINAL, HEIGHT // 2)
        return f"\\boxed{{{Circuit(part).answer}}}"


class _Tracing:
    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        self._boxes = {(one.x - BOX // 2, one.y): int(one.text) for one in picture.texts() if one.text.isdecimal()}

    def follow(self, x: int, y: int) -> tuple[Part, int]:
        """Return what lies on a wire to the right of a point, and how far it goes: to the rail that ends its branch."""
        parts: list[Part] = []
        while x < WIDTH - MARGIN - _TERMINAL:
            if box := next((left for left in (x - 1, x) if (left, y) in self._boxes), None):
                parts.append(Resistor(self._boxes[box, y]))
                x += BOX
            elif self._ink(x, y - _CONTACT - 4) or self._ink(x, y + _CONTACT + 4):
                if len(self._wires(x, y, 1 - _ASIDE)) > 1:
                    break
                branches = self._wires(x, y, _ASIDE)
                found = [self.follow(x + _ASIDE, row) for row in branches]
                parts.append(Parallel(tuple(part for part, _ in found)))
                x = found[0][1]
                (y,) = self._wires(x, branches[0], _ASIDE)
                x += _ASIDE
            elif self._ink(x, y - _CONTACT) and self._ink(x, y + _CONTACT):
                parts.append(Switch(closed=self._ink(x + SWITCH // 2, y)))
                x += SWITCH + 2 * _CONTACT
            else:
                x += 1
        return (parts[0] if len(parts) == 1 else Series(tuple(parts))), x

    def _ink(self, x: int, y: int) -> bool:
        return 0 <= y < HEIGHT and self._picture.at(x, y) == colour("ink")

    def _wires(self, x: int, y: int, aside: int) -> list[int]:
        """Return the lower rows of the wires that meet the vertical wire through a point on one side of it."""
        top = bottom = y
        while self._ink(x, top - 1):
            top -= 1
        while self._ink(x, bottom + 1):
            bottom += 1
        rows = [row for row in range(top, bottom + 1) if self._ink(x + aside, row)]
        return [row for row in rows if row + 1 not in rows]
