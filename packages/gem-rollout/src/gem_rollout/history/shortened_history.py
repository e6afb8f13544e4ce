"""Histories that show the first observation and the latest turns: their base, and when older turns go.

A turn is an action and the observation that answers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from gem.arguments import choice, integer
from gem.core import Action, Env, Info
from gem.errors import ArgumentError
from gem.wrappers.history import (
    Content,
    HistoryWrapper,
    Message,
    affixes,
    assistant_message,
    content_of,
    copied,
    join,
    piece,
)
from gem_rollout.history.messages import extended, message_piece, messages_from_state, reply_messages

__all__ = ["HistoryForm", "HistoryTurn", "OlderTurns", "ShortenedHistory"]

HistoryForm = Literal["text", "messages"]


class HistoryTurn(NamedTuple):
    """An action and what answered it."""

    messages: list[Message]
    text: Content
    """The same, as :class:`gem.wrappers.text_history.ConcatWithAction` would show it."""
    tokens: int
    """The number of its tokens, if they are counted."""


class ShortenedHistory(HistoryWrapper):
    """A history that drops older turns; a subclass decides in ``_shorten`` which ones."""

    def __init__(self, env: Env[Any, Any], form: HistoryForm, announce: bool) -> None:
        super().__init__(env, announce)
        self._form = choice("form", form, ("text", "messages"))
        self._first: Content = ""
        self._turns: list[HistoryTurn] = []

    def _shorten(self, info: Info) -> None:
        """Drop turns."""
        raise NotImplementedError

    def _cost(self, messages: list[Message], text: Content) -> int:
        """Return the tokens of messages, which are ``text`` when written out."""
        return 0

    def _opening(self) -> Content:
        """Return the part before the turns."""
        return self._first

    def _begin(self, observation: Content) -> None:
        self._first, self._turns = observation, []

    def _extend(self, action: Action, observation: Content, info: Info) -> None:
        message = assistant_message(action, info)
        self._turns.append(self._turn([message, *reply_messages(message, observation, info, "user")]))

    def _turn(self, messages: list[Message]) -> HistoryTurn:
        text = join(map(message_piece, messages))
        return HistoryTurn(messages, text, self._cost(messages, text))

    def _shown(self, info: Info) -> Any:
        self._shorten(info)
        prefix, suffix = affixes(info)
        if self._form == "text":
            return join((prefix, piece(self._opening()), *(turn.text for turn in self._turns), suffix))
        messages: list[Message] = [{"role": "user", "content": self._opening()}]
        for turn in self._turns:
            messages += turn.messages
        if len(messages) > 1 and messages[1]["role"] == "user":
            # Its action was dropped, and chat templates and APIs want roles to alternate.
            answer = messages.pop(1)
            messages[0] = {"role": "user", "content": join((piece(self._opening()), answer["content"]))}
        messages[0] = extended(messages[0], prefix, "")
        messages[-1] = extended(messages[-1], "", suffix)
        return messages

    def _own_state(self) -> Info:
        return {"first": copied(self._first), "turns": copied([turn.messages for turn in self._turns])}

    def _set_own_state(self, state: Info) -> None:
        first = content_of(copied(state["first"]))
        turns = [self._turn(messages_from_state(messages)) for messages in state["turns"]]
        self._first, self._turns = first, turns


class OlderTurns:
    """Says which turns are old: all but the latest ``keep_turns``, once there are too many or they cost too much.

    Args:
        after_turns: turns above which older ones go; None for no such limit.
        after_tokens: tokens of the turns above which older ones go; None for no such limit.
        keep_turns: number of latest turns that stay.

    Raises:
        ArgumentError: if neither limit is given, or one is too small.
    """

    def __init__(self, after_turns: int | None, after_tokens: int | None, keep_turns: int) -> None:
        if after_turns is None and after_tokens is None:
            raise ArgumentError("after_turns or after_tokens must be given")
        self._kept = integer("keep_turns", keep_turns, minimum=1)
        self._after_turns = None
        if after_turns is not None:
            self._after_turns = integer("after_turns", after_turns, minimum=self._kept)
        self.after_tokens = None
        if after_tokens is not None:
            self.after_tokens = integer("after_tokens", after_tokens, minimum=1)

    def __call__(self, turns: Sequence[HistoryTurn]) -> int:
        """Return how many of the turns, the oldest ones, go."""
        many = self._after_turns is not None and len(turns) > self._after_turns
        long = self.after_tokens is not None and sum(turn.tokens for turn in turns) > self.after_tokens
        return max(len(turns) - self._kept, 0) if many or long else 0
