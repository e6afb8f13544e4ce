"""Growth: cross plants whose genes are hidden, and breed one that has given looks and breeds true.

The skill is inference over generations: which form of a gene hides the other, which plants carry a hidden form, which
trait is mere weather; and the plan that brings several genes together, with the crosses that prove it.
"""

from __future__ import annotations

import random

from gem.arguments import integer
from gem.errors import ArgumentError
from gem.state_fields import StateFields
from gem.text_env import MoveResult, failure, illegal, legal, success
from gem_envs_lab.commands import ExperimentCommand, ExperimentGrammar
from gem_envs_lab.experiment import ExperimentEnv
from gem_envs_lab.growth.world import LEVELS, Genes, GrowthLevel, GrowthWorld, draw_growth, offspring

__all__ = ["GrowthEnv"]

_BEDS = 60
"""The last plants that are listed by ``look``."""
_GOALS = (
    "Breed a {plant} that breeds true and has {looks}.",
    "A {plant} with {looks} is wanted, and it must breed true.",
    "Hand in a true-breeding {plant} with {looks}.",
)


class GrowthEnv(ExperimentEnv[GrowthLevel, GrowthWorld]):
    """Breed a plant with given looks of which both copies of each gene are alike.

    Args:
        level: ``"easy"``: two traits, three plants that breed true; ``"medium"``: three traits, one with a look between
            the others, fewer seeds; ``"hard"``: four traits and one that is mere weather, and first plants that are
            hybrids, with still fewer seeds.
        split: ``"train"`` or ``"test"``. No world is in both.
        max_turns: turns that the instructions announce; 30, 40 or 80 by level.
    """

    form = ExperimentGrammar(
        {
            "cross": r"cross (?:plant )?([0-9]{1,6}) (?:with|and) (?:plant )?([0-9]{1,6})",
            "hand in": r"hand in (?:plant )?([0-9]{1,6})",
            "look": r"look(?: around)?",
        }
    )
    levels = LEVELS
    saved = StateFields(_key=int, _plants=list[tuple[int, ...]], _crosses=int)
    _plants: list[Genes]
    _crosses: int

    def _draw(self, rng: random.Random) -> GrowthWorld:
        return draw_growth(rng, self._level)

    def _start(self) -> None:
        self._plants = list(self._world.first)
        self._crosses = 0

    def _check(self) -> None:
        integer("_crosses", self._crosses, minimum=0)
        if len(self._plants) != len(self._world.first) + self._crosses * self._level.seeds or any(
            len(genes) != len(self._world.traits) or not {0, 1, 2}.issuperset(genes) for genes in self._plants
        ):
            raise ArgumentError("_plants must have the first plants and those of each cross, with 0 … 2 for each trait")

    def _instructions(self) -> str:
        world, level = self._world, self._level
        pure = "The first plants breed true." if level.pure else "The first plants may be hybrids."
        hidden = (
            "For some traits one form hides the other, which only shows in plants with two copies of it; for others a "
            "plant with both forms looks different from either."
            if level.between
            else "One form of each trait hides the other, which only shows in plants with two copies of it."
        )
        weather = " One trait is not inherited: the weather decides." if level.chance_traits else ""
        wants = [trait.looks[want] for trait, want in zip(world.traits, world.wanted, strict=True) if want != -1]
        looks = f"{', '.join(wants[:-1])} and {wants[-1]}"
        goal = _GOALS[world.wording].format(plant=world.plant, looks=looks)
        return (
            "You have a garden and some plants of one kind. For each trait there is a gene with two forms. Each plant "
            "has two copies of each gene, and passes one of them, drawn by chance for each trait, on to each of its "
            f"offspring. {hidden} Nobody knows which.{weather} {pure} A plant breeds true if its two copies are "
            "alike for each trait that is asked for. Plants stay as they are, and can be used again.\n"
            "The commands:\n"
            f"cross 1 with 2: grow {level.seeds} plants from two parents\n"
            f"cross 1 with 1: grow {level.seeds} plants from one plant alone\n"
            f"look: list the last {_BEDS} plants\n"
            "hand in 1: your one chance, which ends the experiment\n"
            f"{self._closing_words()}\n\n"
            f"{self._listed(1)}\n"
            f"{goal}"
        )

    def _listed(self, first: int) -> str:
        """Return the looks of the plants from a number on."""
        traits = [trait.looks for trait in self._world.traits]
        return "\n".join(
            f"{number}: {', '.join([looks[has] for looks, has in zip(traits, genes, strict=True)])}"
            for number, genes in enumerate(self._plants[first - 1 :], first)
        )

    def _play(self, move: ExperimentCommand) -> MoveResult:
        verb, parts = move
        if verb == "look":
            return legal(f"In the garden:\n{self._listed(max(1, len(self._plants) - _BEDS + 1))}")
        numbers = [int(part) for part in parts]
        for number in numbers:
            if not 1 <= number <= len(self._plants):
                return illegal(f"There is no plant {number}.")
        if verb == "cross":
            return self._cross(*numbers)
        message = f"You hand in plant {numbers[0]}."
        genes = self._plants[numbers[0] - 1]
        if self._world.is_wanted(genes):
            return success(f"{message} It has the wanted looks and breeds true.")
        looks = all(
            want == -1 or trait.looks[has] == trait.looks[want]
            for trait, has, want in zip(self._world.traits, genes, self._world.wanted, strict=True)
        )
        return failure(f"{message} It {'does not breed true' if looks else 'looks different from what is asked for'}.")

    def _cross(self, mother: int, father: int) -> MoveResult:
        plants, seeds = self._plants, self._level.seeds
        self._crosses += 1
        plants += offspring(self._world, plants[mother - 1], plants[father - 1], self._crosses, seeds)
        parents = f"plants {mother} and {father}" if mother != father else f"plant {mother} alone"
        return legal(f"From {parents} grow:\n{self._listed(len(plants) - seeds + 1)}")

    def _random_action(self) -> str:
        rng, count = self.action_rng, len(self._plants)
        drawn = rng.random()
        if drawn < 0.05:
            return "look"
        if drawn < 0.15:
            return f"hand in {rng.randint(1, count)}"
        return f"cross {rng.randint(1, count)} with {rng.randint(1, count)}"
