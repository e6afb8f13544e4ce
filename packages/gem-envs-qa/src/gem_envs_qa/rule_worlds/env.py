r"""RuleWorlds: given facts and rules in English, does a statement hold?

In the manner of RuleTaker (Clark, Tafjord and Richardson, "Transformers as Soft Reasoners over Language", IJCAI 2020),
but generated, with twins that leave no shortcut; see :mod:`gem_envs_qa.rule_worlds.generator`. A statement that is
neither given nor implied is false. The answer is ``\boxed{True}`` or ``\boxed{False}``; the reward is 1.0 if it is
right, else 0.0.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from gem.arguments import boolean, choice, integer
from gem.core import Observation
from gem.data import GeneratedRows, Grade
from gem_envs_qa.qa_env import ShortAnswerEnv
from gem_envs_qa.rule_worlds.generator import MAX_DEPTH, make_world

__all__ = ["RuleWorldsEnv"]

_LARGEST_SIZE = 1 << 40
_SPLITS = ("train", "test")
_TEST_SHARE = 4
"""One world in this number is for testing."""


class RuleWorldsEnv(ShortAnswerEnv):
    """One statement about one generated world per episode; row i is the same everywhere, and nothing is stored.

    The rows have ``id``, ``theory``, ``statement``, ``answer`` (``"True"`` or ``"False"``) and ``depth``, which
    ``info`` has as well.

    Args:
        depth: the number of rules that decide the statement, one upon the other, 0 … 5; ``"mixed"``: drawn for each.
        split: ``"train"`` or ``"test"``. No world is in both.
        size: number of rows.
        seed: seed of the order, until ``reset`` gives another; None: drawn.
        shuffle: ask in a random order; otherwise from row 0 on.
    """

    extract_boxed = True

    def __init__(
        self,
        depth: int | Literal["mixed"] = "mixed",
        split: str = "train",
        size: int = 100_000,
        seed: int | None = None,
        shuffle: bool = True,
    ) -> None:
        self.depth = depth if depth == "mixed" else integer("depth", depth, minimum=0, maximum=MAX_DEPTH)
        self.split = choice("split", split, _SPLITS)
        integer("size", size, minimum=1, maximum=_LARGEST_SIZE)
        # The seed of the set depends on the split, so that even the drawn numbers differ.
        rows = GeneratedRows(self._make_row, size, seed=_SPLITS.index(self.split))
        super().__init__(rows, shuffle=boolean("shuffle", shuffle), seed=seed)

    def question(self, row: Mapping[str, Any]) -> Observation:
        return (
            f"Here are facts and rules about a small world. What is neither stated nor follows from them is false.\n\n"
            f"{row['theory']}\n\n"
            f"Is this statement true or false: {row['statement']}\n\n"
            "You may reason first. Then answer with \\boxed{True} or \\boxed{False}."
        )

    def golds(self, row: Mapping[str, Any]) -> Sequence[str]:
        return (row["answer"],)

    def grade(self, action: Any, row: Mapping[str, Any]) -> Grade:
        grade = super().grade(action, row)
        return Grade(grade.reward, grade.correct, grade.well_formed, {"depth": row["depth"]})

    def _make_row(self, rng: random.Random, index: int) -> dict[str, Any]:
        depth = rng.randint(0, MAX_DEPTH) if self.depth == "mixed" else self.depth
        for_test = self.split == "test"
        world = make_world(rng, depth, lambda digest: (digest % _TEST_SHARE == 0) is for_test)
        return {
            "id": f"rule-worlds-{self.depth}-{self.split}-{index}",
            "theory": " ".join(world.sentences),
            "statement": world.statement,
            "answer": str(world.holds),
            "depth": depth,
        }
