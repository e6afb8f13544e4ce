"""What all environments of other frameworks have in common: turns, seeds, and faults as truncated episodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gem.arguments import integer
from gem.core import Action, Env, Info, Observation
from gem.phases import EpisodePhase, out_of_order
from gem_bridges.errors import BridgeError

__all__ = ["LONGEST_ACTION", "ForeignEnv", "ForeignTurn", "MalformedActionError", "text_of_action"]

LONGEST_ACTION = 2**20
"""Characters; a longer action is malformed and is not sent."""


class MalformedActionError(ValueError):
    """An action that cannot be sent; the message tells the agent the form that can."""


@dataclass
class ForeignTurn:
    """The other side's answer to a reset or to an action."""

    observation: Observation
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    extra: Info = field(default_factory=dict)
    """Everything else in the answer; it becomes ``info["server"]``."""
    status: str = "legal"
    """``info["action_status"]``."""
    info: Info = field(default_factory=dict)
    """Further keys of ``info``."""


class ForeignEnv(Env[Observation, Action], ABC):
    """An environment of another framework.

    A malformed action is not sent, costs a turn, pays 0.0, and is answered with the form of actions. A fault of the
    other side ends the episode: truncated, with ``info["error"]``, and the last observation. The next reset begins
    anew.
    """

    def __init__(self, max_turns: int) -> None:
        """Check the argument that all bridges have.

        Args:
            max_turns: turns after which an episode is truncated.
        """
        self.max_turns = integer("max_turns", max_turns, minimum=1)
        self._phase = EpisodePhase.NOT_BEGUN
        self._turn = 0
        self._observation: Observation = ""

    @abstractmethod
    def _begin(self, options: Mapping[str, Any], seed: int | None) -> ForeignTurn:
        """Begin an episode.

        Args:
            options: the options of ``reset``.
            seed: the caller's seed, with which ``self.rng`` has just been seeded.

        Raises:
            BridgeError: if the other side fails.
            ArgumentError, ArgumentTypeError: for unknown options.
        """

    @abstractmethod
    def _play(self, action: Action) -> ForeignTurn:
        """Send an action.

        Raises:
            MalformedActionError: if it cannot be sent, or if the other side refuses its form.
            BridgeError: if the other side fails.
        """

    @abstractmethod
    def _drop(self) -> None:
        """Give up the episode after a fault; raises nothing."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observation, Info]:
        """Begin an episode.

        Raises:
            BridgeError: if the other side is out of reach, or answers with an error or outside its protocol.
        """
        super().reset(seed=seed)
        self._phase, self._turn, self._observation = EpisodePhase.NOT_BEGUN, 0, ""
        try:
            begun = self._begin(options or {}, seed)
            if begun.terminated or begun.truncated:
                raise BridgeError(f"{self!r}: the first observation says that the episode is over")
        except BridgeError:
            self._drop()
            raise
        self._phase, self._observation = EpisodePhase.PLAYING, begun.observation
        return begun.observation, {"turn": 0, **_further(begun)}

    def step(self, action: Action) -> tuple[Observation, float, bool, bool, Info]:
        if self._phase is not EpisodePhase.PLAYING:
            raise out_of_order(self, self._phase)
        self._turn += 1
        try:
            turn = self._play(action)
        except MalformedActionError as error:
            turn = ForeignTurn(f"The action was not understood: {error}", status="malformed")
        except BridgeError as error:
            self._drop()
            self._phase = EpisodePhase.OVER
            info: Info = {"turn": self._turn, "error": f"{type(error).__name__}: {error}"}
            return self._observation, 0.0, False, True, info
        truncated = turn.truncated or (self._turn >= self.max_turns and not turn.terminated)
        if turn.terminated or truncated:
            self._phase = EpisodePhase.OVER
        self._observation = turn.observation
        info = {"turn": self._turn, "action_status": turn.status, **_further(turn)}
        return turn.observation, turn.reward, turn.terminated, truncated, info


def text_of_action(action: object) -> str:
    """Return an action's text: the str itself, or the content of an assistant message.

    Raises:
        MalformedActionError: if there is none, if it is too long, or has characters that UTF-8 cannot hold.
    """
    text = action.get("content") if isinstance(action, Mapping) else action
    if not isinstance(text, str):
        raise MalformedActionError("it must be text")
    if len(text) > LONGEST_ACTION:
        raise MalformedActionError(f"it has {len(text)} characters, and {LONGEST_ACTION} are the most")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise MalformedActionError("it has half of a surrogate pair, which is no character") from None
    return text


def _further(turn: ForeignTurn) -> Info:
    return {**turn.info, "server": turn.extra} if turn.extra else turn.info
