"""Heat: measure melting and boiling points with a burner, a freezing bath and a thermometer that may be off.

The skill is to measure: to know that the temperature stands still while something melts or boils, to come closer from
both sides where a step was too large, to calibrate an instrument with a known substance, and to trust no label.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from gem.errors import ArgumentError
from gem.state_fields import StateFields
from gem.tables import read_table
from gem.text_env import MoveResult, failure, illegal, legal, success
from gem_envs_lab.commands import ExperimentCommand, ExperimentGrammar
from gem_envs_lab.experiment import ExperimentEnv
from gem_envs_lab.heat.world import LEVELS, HeatLevel, HeatWorld, draw_heat

__all__ = ["HeatEnv"]

_TOLERANCE = 1.0
_MOST = 250
_PORTIONS = 3
_TABLES = read_table(__file__, "env.json")
_QUESTIONS: Mapping[str, Sequence[str]] = _TABLES["questions"]
_SHOWN: Mapping[str, str] = _TABLES["shown"]


class HeatEnv(ExperimentEnv[HeatLevel, HeatWorld]):
    """Answer a question on melting and boiling points of samples that nobody has measured.

    Args:
        level: ``"easy"``: the melting point of one sample, with a good thermometer; ``"medium"``: the melting or
            boiling point of one of two, with water, wrong labels and a thermometer off by a constant; ``"hard"``:
            the boiling point of the one of four that melts first or last, with a thermometer that has another scale.
        split: ``"train"`` or ``"test"``. No world is in both.
        max_turns: turns that the instructions announce; 20, 40 or 110 by level.
    """

    form = ExperimentGrammar(
        {
            "warm": r"(heat|cool) (?:the )?([a-z]{1,30}) by ([0-9]{1,5})(?: kj)?",
            "answer": r"answer (-?[0-9]{1,5}(?:\.[0-9]{1,5})?)(?: ?°?c)?",
            "look": r"look(?: around)?",
        }
    )
    levels = LEVELS
    saved = StateFields(_key=int, _heat=dict[str, int], _used=dict[str, int])
    _heat: dict[str, int]
    """Sample → the heat of its dish in kilojoules."""
    _used: dict[str, int]
    """Sample → portions that have turned to vapour."""

    def _draw(self, rng: random.Random) -> HeatWorld:
        return draw_heat(rng, self._level)

    def _start(self) -> None:
        world = self._world
        self._heat = {name: substance.heat_at(world.room) for name, substance in world.substances.items()}
        self._used = dict.fromkeys(world.substances, 0)

    def _check(self) -> None:
        substances = self._world.substances
        if self._heat.keys() != substances.keys() or self._used.keys() != substances.keys():
            raise ArgumentError(f"_heat and _used must have the samples {', '.join(substances)}")
        if min(self._heat.values()) < 0 or not all(0 <= used <= _PORTIONS for used in self._used.values()):
            raise ArgumentError("the heat of a sample must not be negative, nor its used portions")

    def _instructions(self) -> str:
        world, level = self._world, self._level
        thermometer = "The thermometer is right, and shows degrees Celsius."
        if level.scale:
            thermometer = (
                "The thermometer is wrong: its reading rises evenly with the temperature, but neither its zero nor the "
                "size of its degrees is right. Water melts at 0 and boils at 100 degrees Celsius."
            )
        elif level.offset:
            thermometer = (
                "The thermometer is wrong by the same number of degrees everywhere. Water melts at 0 and boils at 100 "
                "degrees Celsius."
            )
        labels = ""
        if world.labels:
            claims = ", ".join(f"{name} {claim}" for name, claim in world.labels.items())
            labels = f"Melting points on the labels, all of them wrong: {claims}.\n"
        question = _QUESTIONS[world.question][world.wording].format(name=world.subject)
        first = next(iter(world.substances))
        samples = "On the table stand samples of substances that are in no book, each in a dish of its own."
        if len(world.substances) == 1:
            samples = "On the table stands a dish with a sample of a substance that is in no book."
        return (
            f"{samples} You have a burner, a freezing bath and a thermometer. Heat raises the temperature of a dish by "
            "an amount that depends on the substance and on its state. While a substance melts or boils, its "
            f"temperature stays the same. {thermometer} What has boiled away is gone; there are {_PORTIONS} portions "
            "of each substance, of which one is in the dish.\n"
            "The commands:\n"
            f"heat {first} by 50, cool {first} by 50: give this much heat in kJ, 1 to {_MOST}, or take it away\n"
            "look: list all dishes\n"
            f"answer 47: your one chance; the temperature in degrees Celsius, within {_TOLERANCE:.0f} degree\n"
            f"{self._closing_words()}\n\n"
            f"{self._dishes()}\n"
            f"{labels}{question}"
        )

    def _dishes(self) -> str:
        return "\n".join(f"- {self._dish(name)}" for name in self._world.substances)

    def _dish(self, name: str) -> str:
        state, degrees = self._world.substances[name].condition(self._heat[name])
        if state == "gone":
            return f"The dish of {name} is empty, and no portion is left."
        reading = round(self._world.reading(degrees), 1) + 0.0  # never "-0.0"
        return f"{name.capitalize()} {_SHOWN[state]}, and the thermometer in it shows {reading:.1f}."

    def _play(self, move: ExperimentCommand) -> MoveResult:
        verb, parts = move
        if verb == "look":
            return legal(f"On the table:\n{self._dishes()}")
        if verb == "answer":
            right = self._world.answer
            message = f"You answer {parts[0]} °C, and the right answer is {right} °C."
            is_right = abs(float(parts[0]) - right) <= _TOLERANCE
            return success(message) if is_right else failure(message)
        how, name, amount = parts
        substance = self._world.substances.get(name)
        if substance is None:
            return illegal(f"There is no sample of {name} here.")
        if not 1 <= int(amount) <= _MOST:
            return illegal(f"You can give or take 1 to {_MOST} kJ at a time.")
        if self._used[name] == _PORTIONS:
            return illegal(self._dish(name))
        change = int(amount) if how == "heat" else -int(amount)
        self._heat[name] = max(0, self._heat[name] + change)
        if substance.condition(self._heat[name])[0] == "gone":
            return legal(self._boiled_away(name))
        return legal(self._dish(name))

    def _boiled_away(self, name: str) -> str:
        self._used[name] += 1
        left = _PORTIONS - self._used[name]
        if not left:
            return self._dish(name)
        self._heat[name] = self._world.substances[name].heat_at(self._world.room)
        return (
            f"All of it boils away. You fill the dish again; portions left, with this one: {left}. {self._dish(name)}"
        )

    def _random_action(self) -> str:
        rng, drawn = self.action_rng, self.action_rng.random()
        if drawn < 0.05:
            return "look"
        if drawn < 0.15:
            return f"answer {rng.randint(-50, 300)}"
        return f"{rng.choice(('heat', 'cool'))} {rng.choice(list(self._world.substances))} by {rng.randint(1, 300)}"
