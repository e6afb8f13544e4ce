r"""Mixtures: find out by experiment which substances react, and make one of a given look.

The skill is to experiment economically: to tell kinds by a cheap test, so that one trial stands for many, to vary one
thing at a time, to remember what came out, and to go on from products. Names mean nothing.
"""

from __future__ import annotations

import random

from gem.errors import ArgumentError
from gem.state_fields import StateFields
from gem.text_env import MoveResult, failure, illegal, legal, success
from gem_envs_lab.commands import ExperimentCommand, ExperimentGrammar
from gem_envs_lab.experiment import ExperimentEnv
from gem_envs_lab.mixtures.world import LEVELS, MixtureLevel, MixtureWorld, draw_mixtures

__all__ = ["MixturesEnv"]

_NAME = r"(?:the )?([a-z]{1,20} [a-z0-9]{1,20})"
_NUMBERS = {2: "two", 3: "three"}
_GOALS = (
    "Make a flask of {look}, and hand it in.",
    "Your teacher wants a flask of {look}.",
    "A flask of {look} is missing from the collection. Make one.",
    "Hand in one flask that holds {look}.",
)


class MixturesEnv(ExperimentEnv[MixtureLevel, MixtureWorld]):
    """Make a product of a given look from substances that react by hidden rules.

    Args:
        level: ``"easy"``: one reaction among five, five kinds in six bottles; ``"medium"``: two reactions that build on
            each other, seven bottles; ``"hard"``: three, eight bottles, two kinds with the same test
            strip, other products above the flame, and notes of which two in three are wrong.
        split: ``"train"`` or ``"test"``. No world is in both.
        max_turns: turns that the instructions announce; 25, 45 or 100 by level.
    """

    form = ExperimentGrammar(
        {
            "mix": rf"(?:mix|heat) {_NAME} (?:with|and) {_NAME}( over the flame)?",
            "dip": rf"dip (?:a )?strip (?:into|in) {_NAME}",
            "hand in": r"hand in flask ([0-9]{1,9})",
            "look": r"look(?: around)?",
        }
    )
    levels = LEVELS
    saved = StateFields(_key=int, _flasks=list[int])
    _flasks: list[int]

    def _draw(self, rng: random.Random) -> MixtureWorld:
        return draw_mixtures(rng, self._level)

    def _start(self) -> None:
        self._flasks = []

    def _check(self) -> None:
        made = {*self._world.cold.values(), *self._world.hot.values()}
        if not made.issuperset(self._flasks):
            raise ArgumentError(f"_flasks must hold kinds of products, got {self._flasks}")

    def _instructions(self) -> str:
        world, level = self._world, self._level
        notes = "".join(
            f'- "{note.first.capitalize()} with {note.second}'
            f'{" over the flame" if note.heated else ""} gives {note.look}."\n'
            for note in world.notes
        )
        if notes:
            notes = f"Notes of earlier students hang on the wall, most of them wrong:\n{notes}"
        strips = (
            "The strip always turns the same colour for one kind, but two kinds may share a colour."
            if level.shared_strips
            else "The strip turns a different colour for each kind."
        )
        flame = (
            "Some mixtures react only over the flame, and some give another product there than at room temperature; "
            "all others that react give the same product in both ways."
            if level.overridden
            else "Some mixtures react only over the flame; all others that react give the same product in both ways."
        )
        goal = _GOALS[world.wording].format(look=world.look(world.goal))
        steps = "one reaction" if level.depth == 1 else f"{_NUMBERS[level.depth]} reactions that build on each other"
        first = world.bottles[0]
        return (
            "You are in a laboratory whose substances react by rules that nobody has written down. Substances of one "
            "kind behave alike; the names say nothing about the kind. Two substances of one kind do not react, nor do "
            f"two products. {flame} There is enough of everything, and mixing uses nothing up.\n"
            "The commands:\n"
            f"mix {first} with flask 1: mix two substances, from bottles or flasks, at room temperature\n"
            f"mix {first} with flask 1 over the flame: the same, but heated\n"
            f"dip strip into {first}: test a bottle. {strips}\n"
            "look: list what stands on the bench\n"
            "hand in flask 1: your one chance, which ends the experiment\n"
            f"{self._closing_words()}\n\n"
            f"On the shelf: {', '.join(world.bottles)}.\n"
            f"{notes}"
            f"{goal} It takes {steps}."
        )

    def _play(self, move: ExperimentCommand) -> MoveResult:
        verb, parts = move
        if verb == "mix":
            return self._mix(*parts)
        if verb == "dip":
            return self._dip(parts[0])
        if verb == "look":
            return legal(f"On the shelf: {', '.join(self._world.bottles)}. {self._bench()}")
        number = int(parts[0])
        if not 1 <= number <= len(self._flasks):
            return illegal(f"There is no flask {number}.")
        kind = self._flasks[number - 1]
        message = f"You hand in flask {number} with {self._world.look(kind)}."
        return success(message) if kind == self._world.goal else failure(f"{message} That is wrong.")

    def _bench(self) -> str:
        if not self._flasks:
            return "No flask is filled."
        shown = (f"flask {number}: {self._world.look(kind)}" for number, kind in enumerate(self._flasks, 1))
        return f"On the bench: {', '.join(shown)}."

    def _kind(self, name: str) -> int | None:
        """Return the kind of a bottle or flask; None if there is none of that name."""
        world = self._world
        if name in world.bottles:
            return world.kinds[world.bottles.index(name)]
        vessel, _, number = name.partition(" ")
        if vessel == "flask" and number.isdigit() and 1 <= int(number) <= len(self._flasks):
            return self._flasks[int(number) - 1]
        return None

    def _mix(self, first: str, second: str, flame: str) -> MoveResult:
        kinds = self._kind(first), self._kind(second)
        for name, kind in zip((first, second), kinds, strict=True):
            if kind is None:
                return illegal(f"There is no {name} here.")
        one, other = kinds
        assert one is not None
        assert other is not None
        made = self._world.product(one, other, bool(flame))
        where = " over the flame" if flame else ""
        if made is None:
            return legal(f"You mix {first} with {second}{where}. Nothing happens.")
        self._flasks.append(made)
        return legal(f"You mix {first} with {second}{where}. Flask {len(self._flasks)} holds {self._world.look(made)}.")

    def _dip(self, name: str) -> MoveResult:
        kind = self._kind(name)
        if kind is None:
            return illegal(f"There is no {name} here.")
        if kind >= len(self._world.strips):
            return legal(f"The strip dissolves in {name}: it can only test the bottles on the shelf.")
        return legal(f"The strip in {name} turns {self._world.strips[kind]}.")

    def _random_action(self) -> str:
        rng, bottles = self.action_rng, self._world.bottles
        drawn = rng.random()
        if drawn < 0.1:
            return f"dip strip into {rng.choice(bottles)}"
        if drawn < 0.15 and self._flasks:
            return f"hand in flask {rng.randint(1, len(self._flasks))}"
        flasks = [f"flask {number}" for number in range(1, len(self._flasks) + 1)]
        first, second = rng.choice([*bottles, *flasks]), rng.choice(bottles)
        return f"mix {first} with {second}{rng.choice(('', ' over the flame'))}"
