r"""Crafting: make a goal item by recipes, in the manner of TextCraft.

TextCraft (Prasad et al., "ADaPT: As-Needed Decomposition and Planning with Language Models", NAACL Findings 2024) plays
Minecraft's recipes. Grammar, texts and the single reward at the goal are its own; the items of :class:`RecipesEnv` are
invented, and the same in any process. :mod:`gem_envs_craft.folder_env` plays a folder of recipes.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from gem.arguments import boolean, choice, integer
from gem.counts import counted
from gem.errors import ArgumentError
from gem.state_fields import StateFields
from gem.text_env import MAX_TURNS, MoveResult, TextEnv, illegal, legal, malformed, success
from gem_envs_craft.commands import Command, CommandLine, CraftCommand, GetCommand
from gem_envs_craft.generator import LEVELS, MAX_DEPTH, make_world
from gem_envs_craft.recipes import CraftingRecipe, RecipeBook

__all__ = ["CraftingEnv", "RecipesEnv"]

_SPLITS = ("train", "test")
_TEST_SHARE = 4
"""One way to a goal in this number is for testing."""
_SPARE_TURNS = 2
"""Turns beyond the shortest plan where ``max_turns`` is ``"tight"``."""
_MOST = 10**6


class CraftingEnv(TextEnv[Command], ABC):
    """The rules of crafting; a subclass sets ``_book``, ``_shown`` and ``goal`` in ``_begin``.

    Every command costs a turn, also one that cannot be carried out and a text without a command. Reward: 1.0 for the
    command that crafts the goal, 0.0 for everything else.
    """

    form = CommandLine()
    request = "What is your next command?"
    closings: ClassVar[Mapping[str, str]] = {**TextEnv.closings, "success": "You have crafted the goal."}
    goal: str
    most_per_get: int = _MOST
    any_count: bool = False
    note: ClassVar[str] = ""
    """A further sentence of the instructions, with a blank at its end."""
    _book: RecipeBook
    _inventory: dict[str, int]
    _shown: list[CraftingRecipe]
    """The recipes in the order of the first observation."""

    def _instructions(self) -> str:
        limit = f", at most {self.most_per_get} at a time" if self.most_per_get < _MOST else ""
        return (
            f"Craft the goal at the end of this text. You have {counted(self.max_turns, 'turn')}, and each command "
            f"takes one. The commands are:\n"
            f"get 3 pine log: collect pieces of an item that no crafting command makes{limit}\n"
            f"craft 4 pine board using 1 pine log: one of the crafting commands below, exactly as it stands there; it "
            f"uses up what it names\n"
            f"inventory: list what you carry\n"
            f"You may think first. The last line of your answer that is a command is carried out; write nothing else "
            f"into that line. {self.note}Nothing but the goal is rewarded.\n\n"
            f"Crafting commands:\n" + "\n".join(recipe.command for recipe in self._shown) + "\n\n"
            f"Goal: craft {self.goal}."
        )

    def _play(self, move: Command) -> MoveResult:
        if isinstance(move, GetCommand):
            return self._get(move)
        if isinstance(move, CraftCommand):
            return self._craft(move)
        carried = " ".join(f"[{item}] ({count})" for item, count in sorted(self._inventory.items()))
        return legal(f"Inventory: {carried or 'You are not carrying anything.'}")

    def _get(self, move: GetCommand) -> MoveResult:
        if move.item not in self._book.base:
            return illegal(f"Could not find {_short(move.item)}.")
        if move.pieces > self.most_per_get:
            return illegal(f"Could not get {move.pieces} at a time; the most is {self.most_per_get}.")
        self._inventory[move.item] = self._inventory.get(move.item, 0) + move.pieces
        return legal(f"Got {move.pieces} {move.item}.")

    def _craft(self, move: CraftCommand) -> MoveResult:
        recipe = self._book.find(move.output, move.used)
        if recipe is None or not (self.any_count or move.pieces in (None, recipe.pieces)):
            return illegal(f"Could not find a valid recipe for {_short(move.output)}.")
        inventory = self._inventory
        if any(inventory.get(item, 0) < count for item, count in move.used.items()):
            return illegal(f"Could not find enough items to craft {recipe.output}.")
        for item, count in move.used.items():
            inventory[item] -= count
            if not inventory[item]:
                del inventory[item]
        inventory[recipe.output] = inventory.get(recipe.output, 0) + recipe.pieces
        message = f"Crafted {recipe.pieces} {recipe.output}."
        return success(message) if recipe.output == self.goal else legal(message)

    def _malformed(self) -> MoveResult:
        return malformed("No line of your answer is a command.", 0.0, ends=False)

    def _random_action(self) -> str:
        """Return a listed crafting command or, as often, one that gets an item of the list; seldom ``inventory``."""
        rng, drawn = self.action_rng, self.action_rng.random()
        if drawn < 0.05:
            return "inventory"
        if drawn < 0.5:
            return rng.choice(self._shown).command
        base = [
            (count, name) for recipe in self._shown for count, name in recipe.ingredients if name in self._book.base
        ]
        if not base:
            return rng.choice(self._shown).command
        count, name = rng.choice(base)
        return f"get {count} {name}"

    def _open_book(self) -> None:
        """Set ``_book`` where it follows from the state of an episode."""

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        self._open_book()
        items = self._book.items
        if self.goal not in self._book.by_output:
            raise ArgumentError(f"the goal must be crafted by a recipe, got {self.goal!r}")
        for item, count in self._inventory.items():
            if item not in items:
                raise ArgumentError(f"the inventory holds only items of the recipes, got {item!r}")
            integer(item, count, minimum=1)


class RecipesEnv(CraftingEnv):
    r"""Craft an item by recipes of invented items, none of which says what it is good for.

    Args:
        depth: the largest number of recipes that build on each other on the way to the goal, 1 … 6; ``"mixed"``: drawn
            for each episode.
        distractors: number of recipes that use the same items and lead elsewhere, 0 … 100; None: by the depth
            (:data:`gem_envs_craft.generator.LEVELS`).
        loops: number of loops, which make an item of the way from what is made of it, 0 … 10; None: by the depth.
        max_turns: turns that the instructions announce; None: by the depth; ``"tight"``: those of the shortest plan
            and two more.
        split: ``"train"`` or ``"test"``. No way to a goal is in both, whatever its items are called.
        most_per_get: pieces that one command gets at most, 60 … 10⁶.
        any_count: ignore the number of pieces that a crafting command says it makes, as TextCraft does.
    """

    saved = StateFields(_shown=list[CraftingRecipe], goal=str, _inventory=dict[str, int], max_turns=int)

    def __init__(
        self,
        depth: int | Literal["mixed"] = 3,
        distractors: int | None = None,
        loops: int | None = None,
        max_turns: int | Literal["tight"] | None = None,
        split: str = "train",
        most_per_get: int = 64,
        any_count: bool = False,
    ) -> None:
        self.depth = depth if depth == "mixed" else integer("depth", depth, minimum=1, maximum=MAX_DEPTH)
        self.distractors = distractors
        if distractors is not None:
            integer("distractors", distractors, minimum=0, maximum=100)
        self.loops = loops
        if loops is not None:
            integer("loops", loops, minimum=0, maximum=10)
        self._turns = max_turns
        if max_turns is not None and max_turns != "tight":
            self.max_turns = integer("max_turns", max_turns, minimum=1, maximum=MAX_TURNS)
        self.split = choice("split", split, _SPLITS)
        self.most_per_get = integer("most_per_get", most_per_get, minimum=60, maximum=_MOST)
        self.any_count = boolean("any_count", any_count)

    def _begin(self) -> None:
        rng = self.rng
        depth = rng.randint(1, MAX_DEPTH) if self.depth == "mixed" else self.depth
        level = LEVELS[depth]
        world = make_world(
            rng,
            depth,
            level.distractors if self.distractors is None else self.distractors,
            level.loops if self.loops is None else self.loops,
            self._is_wanted,
        )
        self._book, self.goal = world.book, world.goal
        self._shown = list(world.book.recipes)
        self._inventory = {}
        if self._turns is None:
            self.max_turns = level.max_turns
        elif self._turns == "tight":
            self.max_turns = world.plan.length(self.most_per_get) + _SPARE_TURNS

    def _is_wanted(self, digest: int) -> bool:
        return (digest % _TEST_SHARE == 0) is (self.split == "test")

    def _open_book(self) -> None:
        self._book = RecipeBook(self._shown)


def _short(name: str) -> str:
    """Return a name that the agent wrote, cut off where it is no name."""
    return name if len(name) <= 60 else f"{name[:60]}…"
