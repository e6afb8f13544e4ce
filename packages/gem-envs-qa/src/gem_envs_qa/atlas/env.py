"""Atlas: questions about a generated world that only its articles answer.

All names are invented, so a model cannot have read about them. The environment measures an agent's skill at searching,
following a chain from article to article, and combining its findings. The answer stands in ``<answer>…</answer>``; the
reward is 1.0 if it is right, else 0.0. The wrapper ``search_tool`` finds the articles in ``search_corpus``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gem.arguments import boolean, choice, integer
from gem_envs_qa.atlas.atlas import SPLITS, AtlasRows, atlas_of
from gem_envs_qa.atlas.questions import QUESTION_KINDS
from gem_envs_qa.atlas.world import LARGEST, SMALLEST
from gem_envs_qa.qa_env import EXACT_MATCH, F1, ShortAnswerEnv
from gem_questions import Grade

__all__ = ["AtlasEnv"]

MIXED = "mixed"
_MOST_QUESTIONS = 1_000_000


class AtlasEnv(ShortAnswerEnv):
    """One question about a generated world per episode.

    The rows have ``id``, ``question``, ``answer`` (every accepted way of writing it), ``kind``, ``hops`` (the
    number of facts to find) and ``documents`` (the ids of the articles that state them); ``info`` has ``kind`` and
    ``hops`` as well.

    Args:
        questions: ``"1hop"`` … ``"4hop"``: chains of that number of facts; ``"comparison"``, ``"count"``,
            ``"date"``: combinations of several chains; ``"mixed"``: all of them in turn.
        split: ``"train"`` or ``"test"``. No question is in both.
        world_seed: determines the world and all its names.
        size: number of articles of the world, 100 … 200,000.
        per_kind: maximum number of questions of each kind in both splits together; a fifth belongs to the test split.
            A small world may have fewer.
        metric: metric of the reward, ``"exact_match"`` or ``"f1"``.
        seed: seed of the order, until ``reset`` gives another; None: drawn.
        shuffle: ask in a random order; otherwise from row 0 on.
    """

    def __init__(
        self,
        questions: str = MIXED,
        split: str = "train",
        world_seed: int = 0,
        size: int = 600,
        per_kind: int = 2500,
        metric: str = EXACT_MATCH,
        seed: int | None = None,
        shuffle: bool = True,
    ) -> None:
        choice("questions", questions, (MIXED, *QUESTION_KINDS))
        choice("split", split, SPLITS)
        integer("world_seed", world_seed, minimum=0, maximum=(1 << 64) - 1)
        integer("size", size, minimum=SMALLEST, maximum=LARGEST)
        integer("per_kind", per_kind, minimum=10, maximum=_MOST_QUESTIONS)
        self.metric = choice("metric", metric, (EXACT_MATCH, F1))
        kinds = QUESTION_KINDS if questions == MIXED else (questions,)
        self._atlas = atlas = atlas_of(world_seed, size)
        super().__init__(
            lambda: AtlasRows(atlas, kinds, split, per_kind), shuffle=boolean("shuffle", shuffle), seed=seed
        )

    def search_corpus(self) -> Sequence[Mapping[str, str]]:
        """Return the articles: dicts with ``id``, ``title`` and ``contents``; the same object for every environment."""
        return self._atlas.corpus

    def text_of(self, row: Mapping[str, Any]) -> str:
        return (
            "This question is about a world that nobody has heard of; what is known of it stands in a collection of "
            f"articles.\n\nQuestion: {row['question']}"
        )

    def golds(self, row: Mapping[str, Any]) -> Sequence[str]:
        golds: list[str] = row["answer"]
        return golds

    def grade(self, action: Any, row: Mapping[str, Any]) -> Grade:
        grade = super().grade(action, row)
        info = {**grade.info, "kind": row["kind"], "hops": row["hops"]}
        return replace(grade, info=info)
