"""The base of the environments whose problems are generated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from gem.arguments import boolean, integer
from gem_envs_math.math_env import ANSWER_FORMAT, BoxedMathEnv
from gem_envs_math.problem import MIXED, SIZE, Kinds, row_maker
from gem_questions import GeneratedRows, Grade

if TYPE_CHECKING:
    from gem_envs_math.grader import Done

__all__ = ["GeneratedEnv"]

_LARGEST_SIZE = 1 << 40


class GeneratedEnv(BoxedMathEnv):
    r"""One generated problem per episode; row i is the same everywhere, and nothing is stored.

    The rows have ``id``, ``problem``, ``answer``, ``kind`` (the name of its generator) and ``level``; ``info["kind"]``
    and ``info["level"]`` come with the grade.

    Args:
        level: ``"easy"``, ``"medium"``, ``"hard"``, or ``"mixed"``: a level drawn for each problem.
        split: ``"train"`` or ``"test"``. No problem is in both, nor the same problem with other names.
        size: number of rows.
        seed: seed of the order, until ``reset`` gives another; None: drawn.
        shuffle: ask in a random order; otherwise from row 0 on.
        use_format_error_reward: reward -0.1 instead of 0.0 for an action without ``\boxed{…}``.
    """

    name: ClassVar[str]
    kinds: ClassVar[Kinds]

    question_key = "problem"
    answer_key = "answer"
    answer_format = ANSWER_FORMAT

    def __init__(
        self,
        level: str = MIXED,
        split: str = "train",
        size: int = SIZE,
        seed: int | None = None,
        shuffle: bool = True,
        use_format_error_reward: bool = False,
    ) -> None:
        self.use_format_error_reward = boolean("use_format_error_reward", use_format_error_reward)
        integer("size", size, minimum=1, maximum=_LARGEST_SIZE)
        rows = GeneratedRows(row_maker(self.name, self.kinds, level, split), size)
        super().__init__(rows, shuffle=shuffle, seed=seed)

    def grade(self, action: Any, row: Mapping[str, Any]) -> Grade:
        grade = super().grade(action, row)
        return replace(grade, info={**grade.info, "kind": row["kind"], "level": row["level"]})

    def done_of(self, row: Mapping[str, Any]) -> Done:
        return "computed" if row["plain"] else "equal"
