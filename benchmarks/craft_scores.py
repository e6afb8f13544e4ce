"""Plays every depth of craft:Recipes-v0 with five simple agents, and writes the table in the package's README.

    python benchmarks/craft_scores.py
    python benchmarks/craft_scores.py --episodes 1000 craft:Recipes-v0-crowded

With ids, prints only their rows. Episode n has the seed n, and agents draw only from seeded generators, so the table is
the same on any machine.
"""

from __future__ import annotations

import random
from typing import Any

import score_tables
from score_tables import ScoreTable, line, write_or_print

import gem
from gem.env_spec import EnvSpec
from gem.policies import NullPolicy, Policy, RandomPolicy
from gem_envs_craft.planner import CraftingPlan, Planner
from gem_envs_craft.policy import CraftingPolicy, read_world

EPISODES = 200
FIXED_TURNS = 12
LEVELS = tuple(f"craft:Recipes-v0-d{depth}" for depth in range(1, 7))
OTHERS = tuple(f"craft:Recipes-v0-{variant}" for variant in ("mixed", "bare", "crowded", "tight", "test"))
TABLE = ScoreTable(
    "packages/gem-envs-craft/README.md",
    "craft_scores.py",
    "| variant | silence | random | without a goal | without counting | reference | its turns "
    f"| random in {FIXED_TURNS} turns | reference in {FIXED_TURNS} turns |\n"
    "|---|---|---|---|---|---|---|---|---|\n",
)


class EagerPolicy(Policy[str, str]):
    """Understands the rules and has no goal: uses any recipe for which it has the items, else gets some of a recipe."""

    def reset(self, observation: str, info: dict[str, Any]) -> None:
        self._book, _, _ = read_world(observation)
        self._rng = random.Random(observation)
        self._carried: dict[str, int] = {}

    def act(self, observation: str, info: dict[str, Any]) -> str:
        carried = self._carried
        possible = [
            recipe
            for recipe in self._book.recipes
            if all(carried.get(name, 0) >= count for count, name in recipe.ingredients)
        ]
        if possible and self._rng.random() < 0.5:
            recipe = self._rng.choice(possible)
            for count, name in recipe.ingredients:
                carried[name] -= count
            carried[recipe.output] = carried.get(recipe.output, 0) + recipe.pieces
            return recipe.command
        base = [pair for recipe in self._book.recipes for pair in recipe.ingredients if pair[1] in self._book.base]
        count, name = self._rng.choice(base)
        carried[name] = carried.get(name, 0) + count
        return f"get {count} {name}"


class UncountingPolicy(Policy[str, str]):
    """Finds the recipes of the way in their order, and uses each of them once, whatever the numbers say."""

    def reset(self, observation: str, info: dict[str, Any]) -> None:
        book, goal, most = read_world(observation)
        plan = Planner(book).plan(goal)
        assert plan is not None
        once = CraftingPlan(
            tuple((most, item) for _, item in plan.gets), tuple((1, recipe, items) for _, recipe, items in plan.crafts)
        )
        self._commands = once.commands(most)[::-1]

    def act(self, observation: str, info: dict[str, Any]) -> str:
        return self._commands.pop() if self._commands else "inventory"


def mean_and_turns(spec: EnvSpec, policy: str, episodes: int) -> tuple[float, float]:
    """Return the share of the goals that a policy reaches, which is its mean return, and its mean number of turns."""
    env = gem.make(spec)
    players = {"null": NullPolicy, "eager": EagerPolicy, "uncounting": UncountingPolicy, "reference": CraftingPolicy}
    player: Policy[Any, Any] = RandomPolicy(env) if policy == "random" else players[policy]()
    return score_tables.mean_and_turns(env, player, episodes)


def row(spec: EnvSpec, episodes: int = EPISODES) -> str:
    """Return a line of the table."""
    own = [mean_and_turns(spec, policy, episodes)[0] for policy in ("null", "random", "eager", "uncounting")]
    reference, turns = mean_and_turns(spec, "reference", episodes)
    fixed = spec.with_kwargs({"max_turns": FIXED_TURNS})
    few = (f"{mean_and_turns(fixed, policy, episodes)[0]:.3f}" for policy in ("random", "reference"))
    return line(spec, *(f"{mean:.3f}" for mean in (*own, reference)), f"{turns:.1f}", *few)


if __name__ == "__main__":
    write_or_print(TABLE, (*LEVELS, *OTHERS), row, __doc__, EPISODES)
