"""Rewards as the functions that other trainers call: :func:`trl_reward`, :func:`verl_reward`, :func:`verifiers_reward`.

::

    from gem_questions.rewards import trl_reward

    trainer = GRPOTrainer(reward_funcs=[trl_reward("math", answer="solution")], …)

Each takes a reward in any form of :func:`~gem_questions.rewards.make_reward`, so that weights combine several by the
composite: ``{"name": "composite", "of": ["math", {"name": "my:Brevity", "weight": 0.1}]}``. An answer is scored as an
episode: the prompt is the observation, the completion the action, and the row's columns are the metadata of the
trajectory, where a reward finds the right answer. Unreadable scores pay 0.0, or ``unreadable``.

The functions can be pickled, and called from any thread. Sources of the signatures: TRL's ``GRPOTrainer``
(``docs/source/grpo_trainer.md``, July 2026), verl's reward managers (``verl/experimental/reward_loop``, January 2026),
and the ``Rubric`` of verifiers 0.3.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gem.arguments import string
from gem.errors import ArgumentError, ArgumentTypeError
from gem_questions.rewards.loop_thread import LOOP
from gem_questions.rewards.make import RewardLike, make_reward
from gem_questions.rewards.scoring import close_reward, score_episode, score_episode_async

if TYPE_CHECKING:
    from gem_questions.rewards.reward import Reward, Score
    from gem_rollout.trajectory import Trajectory

__all__ = ["TrlReward", "VerifiersReward", "VerlReward", "trl_reward", "verifiers_reward", "verl_reward"]


class _TrainerFunction:
    """A reward as a function with a name; the reward is made at its first call."""

    def __init__(self, reward: RewardLike, *, name: str | None = None, unreadable: float | None = 0.0) -> None:
        self._specified = reward
        self._unreadable = unreadable
        self._made: Reward | None = None
        self._lock = threading.Lock()
        named = reward.get("label", reward.get("name")) if isinstance(reward, Mapping) else reward
        if name is None:
            name = named if isinstance(named, str) else make_reward(reward).recorded_as
        self.__name__ = string("name", name)
        """The name under which trainers log it."""

    @property
    def reward(self) -> Reward:
        """The reward that scores."""
        with self._lock:
            if self._made is None:
                self._made = make_reward(self._specified)
            return self._made

    def close(self) -> None:
        """Release what the reward holds. A later call opens it again."""
        if self._made is not None:
            close_reward(self._made)

    def paid(self, score: Score) -> float | None:
        """Return what a score pays, times the reward's weight; the stand-in for one that could not be told."""
        return score.value * self.reward.weight if score.readable else self._unreadable

    def __reduce__(self) -> tuple[Any, ...]:
        # The lock and what the reward holds belong to one process.
        kept = {key: value for key, value in vars(self).items() if key not in ("_lock", "_made")}
        return _rebuilt, (type(self), kept)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._specified!r})"


class TrlReward(_TrainerFunction):
    """A reward function for TRL's ``GRPOTrainer`` and its relatives; see :func:`trl_reward`."""

    _answer = "answer"

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        """Return one reward for each completion.

        Args:
            prompts: texts, or lists of chat messages.
            completions: texts, or lists of chat messages, whose last text of the assistant is the answer.
            **columns: what TRL passes: a list for each column of the data set, ``completion_ids``, ``trainer_state`` …

        Raises:
            ArgumentError: if the column of right answers is missing, or a list has another length.
        """
        if len(prompts) != len(completions):
            raise ArgumentError(f"there are {len(prompts)} prompts and {len(completions)} completions")
        rows = {
            name: column
            for name, column in columns.items()
            if isinstance(column, (list, tuple)) and len(column) == len(completions) and name not in _NOT_COLUMNS
        }
        if self._answer not in rows:
            known = ", ".join(map(repr, rows)) or "none"
            raise ArgumentError(
                f"the data set has no column {self._answer!r} with the right answers; it has {known}: "
                "name one, trl_reward(…, answer='solution')"
            )
        episodes = []
        for number, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
            row = {name: column[number] for name, column in rows.items()}
            episodes.append(_episode(prompt, completion, row[self._answer], row))
        reward = self.reward
        if not reward.asynchronous:
            return [self.paid(score_episode(reward, episode)) for episode in episodes]

        async def all_of_them() -> list[Score]:
            return await asyncio.gather(*(score_episode_async(reward, episode) for episode in episodes))

        return [self.paid(score) for score in LOOP.run(all_of_them())]


class VerlReward(_TrainerFunction):
    """A ``compute_score`` for verl; see :func:`verl_reward`."""

    def __call__(
        self,
        data_source: Any = None,
        solution_str: str = "",
        ground_truth: Any = None,
        extra_info: Mapping[str, Any] | None = None,
        **ignored: Any,
    ) -> dict[str, Any]:
        """Return the reward of one answer.

        Args:
            data_source: the name of the data set, which the reward finds in the metadata.
            solution_str: the decoded answer.
            ground_truth: the right answer.
            extra_info: further columns of the row; ``question`` or ``prompt`` in it is the question.
            **ignored: whatever else a reward manager passes, such as the address of a reward model.

        Returns:
            ``score``; ``acc``, the value before the weight; and ``unreadable``, 1.0 if the reward could not tell. verl
            logs the mean of each.
        """
        row = dict(extra_info or {})
        prompt = row.get("question", row.get("prompt", ""))
        row["data_source"] = data_source
        score = score_episode(self.reward, _episode(prompt, solution_str, ground_truth, row))
        return {"score": self.paid(score), "acc": score.value, "unreadable": float(not score.readable)}


class VerifiersReward(_TrainerFunction):
    """A reward function for the ``Rubric`` of verifiers; see :func:`verifiers_reward`."""

    async def __call__(
        self, completion: Any, answer: Any = None, prompt: Any = "", info: Any = None, **fields: Any
    ) -> float:
        """Return the reward of one rollout.

        Args:
            completion: a text, or the chat messages of the rollout: dicts, or objects with ``role`` and ``content``.
            answer: the right answer.
            prompt: a text, or chat messages.
            info: further columns of the row.
            **fields: whatever else a rubric passes.
        """
        row = dict(info) if isinstance(info, Mapping) else {}
        episode = _episode(prompt, completion, answer, row)
        if self.reward.asynchronous:
            score = await score_episode_async(self.reward, episode)
        else:
            score = await asyncio.to_thread(score_episode, self.reward, episode)  # a grader may take its time
        return self.paid(score) or 0.0


def trl_reward(
    reward: RewardLike, *, answer: str = "answer", name: str | None = None, unreadable: float | None = 0.0
) -> TrlReward:
    """Return a reward as a function for the argument ``reward_funcs`` of TRL's ``GRPOTrainer``.

    Args:
        reward: a name, a specification, or a reward; see :func:`gem_questions.rewards.make_reward`.
        answer: the column of the data set with the right answers. The other columns are in the metadata of each
            trajectory, where a reward finds them by name.
        name: the name under which the trainer logs it; that of the reward unless given.
        unreadable: the reward of a completion that the reward could not read; None masks it, as TRL does.

    Raises:
        ArgumentError, ArgumentTypeError: for wrong arguments.
    """
    function = TrlReward(reward, name=name, unreadable=unreadable)
    function._answer = string("answer", answer)
    return function


def verl_reward(reward: RewardLike, *, name: str | None = None) -> VerlReward:
    """Return a reward as a ``compute_score`` for verl, whose ``custom_reward_function.path`` names a file such as::

        from gem_questions.rewards import verl_reward

        compute_score = verl_reward("math")

    Args:
        reward: as for :func:`trl_reward`, like ``name``.
        name: its name.
    """
    return VerlReward(reward, name=name)


def verifiers_reward(reward: RewardLike, *, name: str | None = None) -> VerifiersReward:
    """Return a reward as an async function for ``verifiers.Rubric(funcs=[…], weights=[…])``.

    Args:
        reward: as for :func:`trl_reward`, like ``name``.
        name: the name of its metric.
    """
    return VerifiersReward(reward, name=name)


_NOT_COLUMNS = ("completion_ids", "environments")


def _episode(prompt: Any, completion: Any, answer: Any, row: Mapping[str, Any]) -> Trajectory:
    """Return an answer as an episode: each message of the assistant is an action, and what lies between is shown."""
    from gem_rollout.trajectory import Trajectory, Transition

    shown: Any = prompt if isinstance(prompt, str) else _text_of(prompt)
    said: list[tuple[Any, str]] = []
    if isinstance(completion, str):
        said.append((shown, completion))
    elif isinstance(completion, Sequence):
        between: list[str] = [shown]
        for message in completion:
            role, text = _role_and_text(message)
            if role == "assistant":
                said.append(("\n".join(between), text))
                between = []
            else:
                between.append(text)
    else:
        raise ArgumentTypeError(f"a completion is a text or a list of chat messages, got {completion!r:.80}")
    last = len(said) - 1
    turns = [Transition(seen, text, 0.0, number == last, False) for number, (seen, text) in enumerate(said)]
    return Trajectory(None, 0, turns, metadata={**row, "answer": answer})


def _role_and_text(message: Any) -> tuple[str, str]:
    if isinstance(message, Mapping):
        role, content = message.get("role"), message.get("content")
    else:
        role, content = getattr(message, "role", None), getattr(message, "content", None)
    return str(role or "assistant"), _text_of(content)


def _text_of(content: Any) -> str:
    """Return the text of a message's content, of its parts, or of several messages."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return _text_of(content.get("text") or content.get("content"))
    if isinstance(content, Sequence):
        return "\n".join(filter(None, map(_text_of, content)))
    return _text_of(getattr(content, "content", getattr(content, "text", ""))) if content is not None else ""


def _rebuilt(cls: type[_TrainerFunction], kept: Mapping[str, Any]) -> _TrainerFunction:
    function = cls.__new__(cls)
    function._made, function._lock = None, threading.Lock()
    vars(function).update(kept)
    return function
