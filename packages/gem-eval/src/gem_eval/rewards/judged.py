"""The base of rewards that ask a judge: :class:`JudgedReward`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from gem.arguments import integer
from gem_eval.rewards.episode_text import DATA_RULE, episode_text
from gem_eval.rewards.judge import Judge, JudgeAnswer, JudgeError
from gem_questions.rewards import Reward, RewardContext, Score
from gem_rollout.trajectory import Trajectory

__all__ = ["JUDGE_CACHE", "JudgedReward", "all_answers", "judged_by", "unreadable"]

T = TypeVar("T")

JUDGE_CACHE = "judge-cache"
"""The folder of answers within a run folder."""
_SHRINK = (1, 2, 4)
"""By what the text of an episode is divided where a judge's context is too short for it."""


async def all_answers(*questions: Awaitable[T]) -> list[T]:
    """Return the answers to questions that are asked at once, when all have ended.

    Only then is the first error raised: a score without an answer leaves no request behind that a judge goes on with.
    """
    ended = await asyncio.gather(*questions, return_exceptions=True)
    answers: list[T] = []
    for answer in ended:
        if isinstance(answer, BaseException):
            raise answer
        answers.append(answer)
    return answers


class JudgedReward(Reward):
    """Asks a judge. A score that a judge did not give is unreadable, and says why.

    The judge sees observations and actions as text: of a picture only that there was one, and neither rewards nor info.

    Args:
        judge: settings of a :class:`gem_eval.rewards.judge.Judge`, such as ``{"model": …, "base_url": …}``; a Judge; or
            a model client. None for the judge of the run (``--model`` and ``--base-url``).
        max_chars: length of an episode's text; longer ones are cut in the middle.
    """

    def __init__(self, *, judge: Any = None, max_chars: int = 24_000) -> None:
        self._judge = None if judge is None else Judge.of(judge)
        self.max_chars = integer("max_chars", max_chars, minimum=200)

    @property
    def judge(self) -> Judge:
        """The judge; one without a model to ask where none is named."""
        if self._judge is None:
            self._judge = Judge()
        return self._judge

    @property
    def asks(self) -> bool:
        """Whether it asks a judge at all, which may depend on its arguments."""
        return True

    def begin(self, context: RewardContext) -> None:
        if not self.asks:
            return
        if self._judge is None:
            self._judge = Judge.of(context.judge)
        self.judge.check()
        if context.folder is not None:
            self.judge.use_cache(context.folder / JUDGE_CACHE)

    @property
    def config(self) -> dict[str, Any]:
        config = super().config
        if self._judge is None or not self.asks:
            return config
        return {**config, "judge": self._judge.config}

    async def close(self) -> None:
        if self._judge is not None:
            await self._judge.close()

    async def ask(
        self,
        trajectory: Trajectory,
        task: str,
        schema: Mapping[str, Any],
        read: Callable[[Mapping[str, Any]], T],
        *,
        render: Callable[[int], str] | None = None,
    ) -> JudgeAnswer[T]:
        """Ask the judge about an episode.

        Args:
            trajectory: the episode.
            task: what to judge, trusted.
            schema: JSON schema of the answer.
            read: makes a value of the answer.
            render: returns the fenced text for a number of characters; the whole episode by default.

        Raises:
            JudgeError: if there is no answer.
        """
        self.judge.check()
        render = render or (lambda limit: episode_text(trajectory, limit))
        for shrink in _SHRINK:
            question = (
                f"{render(self.max_chars // shrink)}\n\nThat was the record. Judge it as you were told: {DATA_RULE}"
            )
            try:
                return await self.judge.ask(f"{task}\n\n{DATA_RULE}", question, schema, read)
            except JudgeError as error:
                if error.kind != "context" or shrink == _SHRINK[-1]:
                    raise
        raise AssertionError("unreachable")


def unreadable(error: JudgeError) -> Score:
    """Return the score for a judge that gave none."""
    return Score.unreadable(str(error), error.kind)


def judged_by(answer: JudgeAnswer[Any]) -> dict[str, Any]:
    """Return what a score's metadata says about the judge."""
    return {"judge": answer.model, "cached": answer.cached, "attempts": answer.attempts}
