"""Circuits: measure parts whose values nobody knows, and install a loop with exactly the wanted current.

The skill is to isolate: to choose loops that differ in one thing, so that their currents tell a hidden value, a hidden
direction or a break, and to compute from these values the one loop that is wanted, before the fuses are spent.
"""

from __future__ import annotations

import random

from gem.arguments import integer
from gem.state_fields import StateFields
from gem.text_env import MoveResult, failure, illegal, legal, success
from gem_envs_lab.circuits.world import BELL, FUSE, LAMP, LEVELS, Branch, CircuitLevel, CircuitWorld, draw_circuits
from gem_envs_lab.commands import ExperimentCommand, ExperimentGrammar
from gem_envs_lab.experiment import ExperimentEnv

__all__ = ["CircuitsEnv"]

_GOALS = (
    "Install a loop with the {needed} in which {wanted} mA flow.",
    "The {needed} must work at {wanted} mA. Install such a loop.",
    "Wanted: one loop with the {needed}, and a current of {wanted} mA.",
    "Let {wanted} mA flow through the {needed}, and install that loop.",
)


class CircuitsEnv(ExperimentEnv[CircuitLevel, CircuitWorld]):
    """Install a loop of cells and parts with a given current; all values must be found out with an ammeter.

    Args:
        level: ``"easy"``: one cell, five parts; ``"medium"``: two cells whose plus is not marked, six parts and a
            broken one; ``"hard"``: three cells, seven parts and two broken ones, half of the labels wrong, a bell that
            conducts one way, and a loop in which two parts stand beside each other.
        split: ``"train"`` or ``"test"``. No world is in both.
        max_turns: turns that the instructions announce; 15, 25 or 40 by level.
    """

    form = ExperimentGrammar({"loop": r"(connect|install) ([a-z0-9, ]{1,250})", "look": r"(look)(?: around)?"})
    levels = LEVELS
    saved = StateFields(_key=int, _fuses=int)
    _fuses: int

    def _draw(self, rng: random.Random) -> CircuitWorld:
        return draw_circuits(rng, self._level)

    def _start(self) -> None:
        self._fuses = self._level.fuses

    def _check(self) -> None:
        integer("_fuses", self._fuses, minimum=0, maximum=self._level.fuses)

    def _instructions(self) -> str:
        world, level = self._world, self._level
        first = next(iter(world.parts))
        second = list(world.parts)[1]
        broken = " Some parts are broken and let nothing pass." if level.broken else ""
        plus = " The plus of a cell is not marked: two cells may add up or work against each other." * (level.cells > 1)
        bell = " The bell lets the current pass one way only." if level.bell else ""
        beside = (
            f"connect cell 1, {first} beside {second}, lamp: two parts beside each other (in parallel) share the "
            "current\n"
            if level.beside
            else ""
        )
        ends = "a cell or the bell" if level.bell else "a cell"
        turned = f"connect cell 1 turned, lamp: turn {ends} round\n" if level.cells > 1 else ""
        cells, direction = ("cells", ", but not its direction") if level.cells > 1 else ("a cell", "")
        labels = " Labels claim values in ohms; about half of them are wrong." if level.labels else ""
        needed = f"{LAMP}, {BELL}" if level.bell else LAMP
        goal = _GOALS[world.wording].format(needed=self._needed(), wanted=f"{world.wanted:.1f}")
        return (
            f"You stand at a bench with {cells} and parts whose values nobody knows.{labels}{broken}{plus}{bell} You "
            "can connect some of them in a closed loop, one after the other; the ammeter shows the current in mA, "
            f"which is the sum of the voltages divided by the sum of the resistances{direction}. Neither a cell nor "
            "the ammeter has a resistance. "
            f"A current above {FUSE:.0f} mA blows a fuse; when the last fuse is blown, the experiment has failed.\n"
            "The commands:\n"
            f"connect cell 1, {first}, lamp: close this loop, read the ammeter, and take it apart again\n"
            f"{turned}{beside}"
            "look: list what lies on the bench\n"
            f"install cell 1, {first}, {needed}: your one chance; the current must be within 1 % of the wanted one\n"
            f"{self._closing_words()}\n\n"
            f"{self._bench()}\n"
            f"{goal}"
        )

    def _needed(self) -> str:
        return "lamp and the bell" if self._level.bell else "lamp"

    def _bench(self) -> str:
        world = self._world
        parts = (
            f"{name} (label: {world.labels[name]} ohms)" if name in world.labels else name
            for name in world.parts
            if name not in (LAMP, BELL)
        )
        return (
            f"On the bench: {', '.join(world.cells)}; the {self._needed()}; {', '.join(parts)}. "
            f"Fuses left: {self._fuses}."
        )

    def _play(self, move: ExperimentCommand) -> MoveResult:
        verb, named = move.parts if move.verb == "loop" else ("look", "")
        if verb == "look":
            return legal(self._bench())
        loop = self._loop(named)
        if isinstance(loop, str):
            return illegal(loop)
        if verb == "install":
            return self._install(loop)
        current = self._world.current(loop)
        if current > FUSE:
            self._fuses -= 1
            if not self._fuses:
                return failure("The last fuse blows.")
            return legal(f"A fuse blows. Fuses left: {self._fuses}.")
        return legal(f"The ammeter shows {current:.2f} mA.")

    def _install(self, loop: list[Branch]) -> MoveResult:
        missing = [name for name in (LAMP, BELL) if name in self._world.parts and all(name != one.name for one in loop)]
        if missing:
            return illegal(f"The {missing[0]} is not in that loop; nothing is installed.")
        current = self._world.current(loop)
        if current > FUSE:
            return failure("You install the loop, and the fuse blows.")
        message = f"You install the loop, and {current:.2f} mA flow."
        return success(message) if self._world.is_wanted(current) else failure(f"{message} That is wrong.")

    def _loop(self, named: str) -> list[Branch] | str:
        """Return the places of a loop, or a sentence on why it is none."""
        world = self._world
        loop, seen = [], set()
        for place in named.split(","):
            name, _, beside = place.strip().removeprefix("the ").partition(" beside ")
            turned = not beside and name.endswith(" turned")
            name = name.removesuffix(" turned") if turned else name
            for one in (name, beside) if beside else (name,):
                if one not in world.cells and one not in world.parts:
                    return f"There is no {one or 'part without a name'} here."
                if one in seen:
                    return f"There is one {one} only."
                if beside and (one in world.cells or one in (LAMP, BELL)):
                    return f"Only parts can stand beside each other, and {one} is none of them."
                seen.add(one)
            if turned and name not in world.cells and name != BELL:
                return f"Turning makes no difference to {name}: only cells and the bell have two ends that differ."
            loop.append(Branch(name, beside, turned))
        return loop

    def _random_action(self) -> str:
        rng, world = self.action_rng, self._world
        if rng.random() < 0.05:
            return "look"
        turned = ("", " turned") if self._level.cells > 1 else ("",)
        cells = [name + rng.choice(turned) for name in rng.sample(list(world.cells), rng.randint(1, len(world.cells)))]
        parts = [name for name in world.parts if name not in (LAMP, BELL)]
        places = rng.sample(parts, rng.randint(1, len(parts)))
        needed = [LAMP, BELL + rng.choice(turned)] if self._level.bell else [LAMP]
        verb = "install" if rng.random() < 0.1 else "connect"
        return f"{verb} {', '.join([*cells, *places, *needed])}"
