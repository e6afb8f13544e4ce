r"""RuleWorlds: given facts and rules in English, do two statements hold?

In the manner of RuleTaker (Clark, Tafjord and Richardson, "Transformers as Soft Reasoners over Language", IJCAI 2020),
but generated, with twins that leave no shortcut; see :mod:`gem_envs_qa.rule_worlds.generator`. A statement that is
neither given nor implied is false. The answer says it of both, such as ``\boxed{True, False}``, so that one in four
guesses is right and not one in two; the reward is 1.0 if both words are right, else 0.0.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from gem.arguments import boolean, choice, integer
from gem.core import Observation
from gem_envs_qa.qa_env import ShortAnswerEnv
from gem_envs_qa.rule_worlds.generator import MAX_DEPTH, make_world, make_worlds
from gem_questions import GeneratedRows, Grade

__all__ = ["RuleWorldsEnv"]

_LARGEST_SIZE = 1 << 40
_SPLITS = ("train", "test")
_TEST_SHARE = 4
"""One world in this number is for testing."""


class RuleWorldsEnv(ShortAnswerEnv):
    """Two statements about one generated theory per episode; row i is the same everywhere, and nothing is stored.

    The rows have ``id``, ``theory``, ``statement`` (both, numbered), ``answer`` (``"True, False"`` …) and ``depth``,
    which ``info`` has as well.

    Args:
        depth: the number of rules that decide each statement, one upon the other, 0 … 5; ``"mixed"``: drawn for each
            row.
        split: ``"train"`` or ``"test"``. No world is in both.
        size: number of rows.
        seed: seed of the order, until ``reset`` gives another; None: drawn.
        shuffle: ask in a random order; otherwise from row 0 on.
        statements: 2, or 1 for one statement about a smaller theory, whose answer is one word and guessed half the
            time.
    """

    extract_boxed = True

    def __init__(
        self,
        depth: int | Literal["mixed"] = "mixed",
        split: str = "train",
        size: int = 100_000,
        seed: int | None = None,
        shuffle: bool = True,
        statements: int = 2,
    ) -> None:
        self.statements = integer("statements", statements, minimum=1, maximum=2)
        self.depth = depth if depth == "mixed" else integer("depth", depth, minimum=0, maximum=MAX_DEPTH)
        self.split = choice("split", split, _SPLITS)
        integer("size", size, minimum=1, maximum=_LARGEST_SIZE)
        # The seed of the set depends on the split, so that even the drawn numbers differ.
        rows = GeneratedRows(self._make_row, size, seed=_SPLITS.index(self.split))
        super().__init__(rows, shuffle=boolean("shuffle", shuffle), seed=seed)

    def question(self, row: Mapping[str, Any]) -> Observation:
        if self.statements == 1:
            asked, answered = "Is this statement true or false: {}", "with \\boxed{True} or \\boxed{False}"
        else:
            asked = "Is each of these two statements true or false?\n{}"
            answered = "for both of them in this order, such as \\boxed{True, False}"
        asked = asked.format(row["statement"])
        return (
            f"Here are facts and rules about a small world. What is neither stated nor follows from them is false.\n\n"
            f"{row['theory']}\n\n"
            f"{asked}\n\n"
            f"You may reason first. Then answer {answered}."
        )

    def golds(self, row: Mapping[str, Any]) -> Sequence[str]:
        first, comma, second = row["answer"].partition(", ")
        # Punctuation does not count, but in the second form it is all that keeps the words apart.
        return (row["answer"], f"{first},{second}", f"1. {first} 2. {second}") if comma else (first,)

    def grade(self, action: Any, row: Mapping[str, Any]) -> Grade:
        grade = super().grade(action, row)
        return replace(grade, info={"depth": row["depth"]})

    def _make_row(self, rng: random.Random, index: int) -> dict[str, Any]:
        depth = rng.randint(0, MAX_DEPTH) if self.depth == "mixed" else self.depth
        for_test = self.split == "test"

        def wanted(digest: int) -> bool:
            return (digest % _TEST_SHARE == 0) is for_test

        row = {"id": f"rule-worlds-{self.depth}-{self.split}-{index}", "depth": depth}
        if self.statements == 1:
            world = make_world(rng, depth, wanted)
            theory = " ".join(world.sentences)
            return {**row, "theory": theory, "statement": world.statement, "answer": str(world.holds)}
        worlds = make_worlds(rng, depth, wanted)
        facts = [fact for world in worlds for fact in world.facts]
        rules = [rule for world in worlds for rule in world.rules]
        rng.shuffle(facts)
        rng.shuffle(rules)
        return {
            **row,
            "theory": " ".join((*facts, *rules)),
            "statement": "\n".join(f"{number}. {world.statement}" for number, world in enumerate(worlds, start=1)),
            "answer": ", ".join(str(world.holds) for world in worlds),
        }
