"""An episode whose turns a trainer plays itself: :class:`TextEpisode`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import gem
from gem.arguments import integer
from gem.core import Action
from gem.errors import NotSupportedError, ResetNeededError
from gem.faults import INTERRUPTS
from gem.policies import Act
from gem.wrappers import WrapperLike
from gem_rl.turn_batch import is_gradable
from gem_rollout.history.messages import as_messages, other_parts
from gem_rollout.trajectory import Trajectory, TrajectoryBuilder

__all__ = ["TextEpisode", "TextTurn"]

Message = dict[str, Any]


@dataclass(frozen=True)
class TextTurn:
    """What follows an action."""

    messages: list[Message]
    """The conversation as the agent now sees it."""
    added: list[Message] | None
    """What stands in it after the action; None if a wrapper has rewritten what stood before."""
    reward: float
    done: bool
    truncated: bool
    """Whether the episode ended at a limit, undecided."""

    @property
    def text(self) -> str:
        """The text of what was added, or of the last message.

        Raises:
            NotSupportedError: if a picture or another part that is no text stands there.
        """
        return "\n".join(_text(message) for message in (self.added if self.added is not None else self.messages[-1:]))


class TextEpisode:
    """One episode after another of an environment, for trainers that own the loop and sample text.

    A fault of the environment ends the episode with a reward of 0.0, and ``gradable`` is False.

    Args:
        env_id: the environment, as in ``gem.make``.
        wrappers: as in ``gem.make``; they decide what the agent sees of earlier turns.
        max_turns: end an episode here, truncated; None for the environment's own end alone.
        agent: written into the records.

    Raises:
        ArgumentError: for a number out of range. Errors of ``gem.make`` are passed on.
    """

    def __init__(
        self,
        env_id: str,
        *,
        wrappers: WrapperLike | Iterable[WrapperLike] = "messages",
        max_turns: int | None = None,
        agent: str = "",
    ) -> None:
        self._max_turns = None if max_turns is None else integer("max_turns", max_turns, minimum=1)
        self._agent = agent
        self._builder: TrajectoryBuilder | None = None
        self._messages: list[Message] = []
        self._record: Trajectory | None = None
        self.env = gem.make(env_id, wrappers=wrappers)
        """The environment with its wrappers."""

    def begin(self, seed: int | None = None, repetition: int = 0) -> list[Message]:
        """Begin an episode and return the conversation that the agent sees; errors of the environment are passed on."""
        observation, info = self.env.reset(seed=seed)
        self._builder = TrajectoryBuilder(self.env.spec, seed, repetition=repetition, agent=self._agent)
        self._builder.begin(observation, info)
        self._messages, self._record = as_messages(observation), None
        return list(self._messages)

    def step(self, action: Action | Act) -> TextTurn:
        """Play a turn.

        Raises:
            ResetNeededError: before the first ``begin``, and after the end.
        """
        builder = self._builder
        if builder is None or self._record is not None:
            raise ResetNeededError("the episode has not begun or is over; call begin()")
        try:
            observation, reward, terminated, truncated, info = self.env.step(
                action.action if isinstance(action, Act) else action
            )
        except INTERRUPTS:
            raise
        except BaseException as error:
            builder.fail("environment", "exception", f"{type(error).__name__}: {error}", action=action)
            self._record = builder.finish()
            return TextTurn(list(self._messages), [], 0.0, True, True)
        builder.add(action, observation, reward, terminated, truncated, info)
        before, self._messages = self._messages, as_messages(observation)
        limited = not builder.over and self._max_turns is not None and builder.turns >= self._max_turns
        if builder.over or limited:
            self._record = builder.finish("turns" if limited else None)
        return TextTurn(
            list(self._messages),
            _added(before, self._messages),
            float(reward),
            self._record is not None,
            self._record is not None and not terminated,
        )

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self._record is not None

    @property
    def trajectory(self) -> Trajectory:
        """The record of the episode, which ends here if it is not over.

        Raises:
            ResetNeededError: before the first ``begin``.
        """
        if self._builder is None:
            raise ResetNeededError("no episode has begun; call begin()")
        if self._record is None:
            self._record = self._builder.finish("turns")
        return self._record

    @property
    def gradable(self) -> bool:
        """Whether the episode, which is over, says something about the agent; see :func:`gem_rl.is_gradable`."""
        return is_gradable(self.trajectory)

    def metrics(self) -> dict[str, float]:
        """Return figures of the episode for a trainer's log, where they are known."""
        record = self.trajectory
        turns = record.transitions
        found = {
            "return": record.episode_return,
            "turns": float(len(turns)),
            "malformed": sum(turn.info.get("action_status") == "malformed" for turn in turns) / max(1, len(turns)),
            "failed": float(record.error is not None),
        }
        return found if record.success is None else {**found, "success": float(record.success)}

    def close(self) -> None:
        """Close the environment."""
        self.env.close()


def _added(before: list[Message], after: list[Message]) -> list[Message] | None:
    count = len(before)
    if len(after) <= count or after[:count] != before or after[count]["role"] != "assistant":
        return None
    return after[count + 1 :]


def _text(message: Message) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    if others := other_parts(content):
        raise NotSupportedError(
            f"text alone does not carry the part of type {others[0].get('type')!r} in a message of the role "
            f"{message['role']!r}, so the model would never see it; take the messages, or an environment of text"
        )
    return "\n".join(part["text"] for part in content)
