r"""Questions of a data set that come with pictures: ``math:Geometry3K``.

The observation is a list of content parts: the text, in which ``<image>`` marks where a picture belongs, and the
pictures as PNGs in data URLs. (The original's observation is a dict of text and PIL images, and its steps fail.)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gem.arguments import boolean, string
from gem.core import Action, Info, Observation
from gem_envs_math.math_env import ANSWER_FORMAT, MathEnv
from gem_questions.question import RowMap

if TYPE_CHECKING:
    from gem_envs_math.grader import Done

__all__ = ["MathVisualEnv"]

_MARK = re.compile(r"<image>")


class MathVisualEnv(MathEnv):
    r"""One question with pictures per episode, graded as mathematics.

    Args:
        dataset_name: as in :class:`gem_envs_math.MathEnv`, like all arguments but ``image_key``.
        split: the same.
        dataset: the same.
        image_key: the column with the picture or the list of pictures: PIL images, bytes, paths, or dicts of them.
        question_key: the same.
        answer_key: the same.
        use_format_error_reward: the same.
        seed: the same.
        use_mp: the same.
        eval: the same.
        answer_format: the same.
        streaming: the same.
        map_row: the same.
        done: the same.
    """

    def __init__(
        self,
        dataset_name: str | None = "",
        split: str | None = None,
        dataset: Any = None,
        image_key: str = "images",
        question_key: str | None = None,
        answer_key: str | None = None,
        use_format_error_reward: bool = False,
        seed: int | None = None,
        use_mp: bool = True,
        eval: bool = False,  # noqa: A002  # the published name
        answer_format: str = ANSWER_FORMAT,
        streaming: bool = False,
        map_row: RowMap | None = None,
        done: Done = "computed",
    ) -> None:
        self.image_key = string("image_key", image_key)
        super().__init__(
            dataset_name,
            split,
            dataset,
            question_key,
            answer_key,
            use_format_error_reward,
            seed,
            boolean("use_mp", use_mp),
            eval,
            answer_format,
            streaming,
            map_row,
            done=done,
        )

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, Info]:
        from gem_envs_math.pictures import in_parts

        last, reward, terminated, truncated, info = super().step(action)
        return in_parts(str(last)), reward, terminated, truncated, info

    def question(self, row: Mapping[str, Any]) -> Observation:
        from gem_envs_math.pictures import picture_part, png_of

        stored = row[self.image_key]
        pictures = stored if isinstance(stored, (list, tuple)) else [] if stored is None else [stored]
        shown = [picture_part(png_of(picture)) for picture in pictures]
        pieces = _MARK.split(self.with_format(self.text_of(row)))
        # Pictures that the text does not mark come first.
        unmarked = max(0, len(shown) - (len(pieces) - 1))
        parts, marked = shown[:unmarked], iter(shown[unmarked:])
        for place, piece in enumerate(pieces):
            if place and (part := next(marked, None)) is not None:
                parts.append(part)
            if piece.strip():
                parts.append({"type": "text", "text": piece.strip()})
        return parts
