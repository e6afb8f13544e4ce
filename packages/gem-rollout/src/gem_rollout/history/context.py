"""Histories that fit a model's context: :class:`SlidingWindow`, :class:`Summarize` and :class:`TokenBudget`.

All three keep the instructions, which are the first observation, and the latest observation. A turn is an action
and the observation that answers it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gem.arguments import integer
from gem.core import Env, Info
from gem.errors import ArgumentTypeError
from gem.wrappers.history import Content, Message, affixes, join, latest_turns, piece
from gem_rollout.history.shortened_history import HistoryForm, OlderTurns, ShortenedHistory
from gem_rollout.history.token_count import TokenCounter

__all__ = ["SlidingWindow", "Summarize", "TokenBudget"]


class SlidingWindow(ShortenedHistory):
    """Shows the first observation and the latest turns.

    The first observation stays, because it holds the instructions; ``max_history_length`` of the original's wrappers
    drops it.

    Args:
        env: the environment.
        turns: number of latest turns to show.
        form: ``"text"``, as :class:`gem.wrappers.text_history.ConcatWithAction` shows it, or ``"messages"``, as
            :class:`gem_rollout.history.chat_history.Messages` does.
        announce: say in the first observation which earlier turns will be shown.
    """

    def __init__(self, env: Env[Any, Any], turns: int = 10, form: HistoryForm = "text", announce: bool = False) -> None:
        super().__init__(env, form, announce)
        self._kept = integer("turns", turns, minimum=1)

    def _announcement(self) -> str:
        return latest_turns(self._kept)

    def _shorten(self, info: Info) -> None:
        del self._turns[: -self._kept]


class TokenBudget(ShortenedHistory):
    """Shows the first observation and as many of the latest turns as a token budget allows.

    The oldest turns go first. If not even the latest turn fits, its action goes; the first and the latest
    observation always stay, so that only they can exceed the budget.

    Every piece is counted once, when it arrives; the budget applies to the sum over pieces.
    A tokenizer may join characters across the end of a piece, which ends in a newline, so the whole can differ by
    a token or two at each joint.

    Args:
        env: the environment.
        max_tokens: the budget.
        tokenizer: counts tokens: a callable from a str to an int, or anything with ``encode`` (Hugging Face
            ``transformers`` and ``tokenizers``, ``tiktoken``). None estimates a token for every four characters,
            which is about right for English and too low for most other languages and for code.
        form: as for :class:`SlidingWindow`.
        message_tokens: tokens that a chat template or a chat API adds to each message; for ``"messages"`` only.
        picture_tokens: tokens of each part that is not text.
        announce: as for :class:`SlidingWindow`.
    """

    def __init__(
        self,
        env: Env[Any, Any],
        max_tokens: int,
        tokenizer: Any = None,
        form: HistoryForm = "text",
        message_tokens: int = 4,
        picture_tokens: int = 1024,
        announce: bool = False,
    ) -> None:
        super().__init__(env, form, announce)
        self._budget = integer("max_tokens", max_tokens, minimum=1)
        self._message_tokens = integer("message_tokens", message_tokens, minimum=0) if form == "messages" else 0
        self._count = TokenCounter(tokenizer, integer("picture_tokens", picture_tokens, minimum=0))
        self._first_tokens = 0

    def _announcement(self) -> str:
        return "As many of the latest turns are shown to you as your context has room for."

    def _cost(self, messages: list[Message], text: Content) -> int:
        return self._count(text) + self._message_tokens * len(messages)

    def _begin(self, observation: Content) -> None:
        super()._begin(observation)
        self._first_tokens = self._count(piece(observation)) + self._message_tokens

    def _shorten(self, info: Info) -> None:
        left = self._budget - self._first_tokens - sum(map(self._count, affixes(info)))
        used = sum(turn.tokens for turn in self._turns)
        dropped = 0
        while used > left and dropped < len(self._turns) - 1:
            used -= self._turns[dropped].tokens
            dropped += 1
        del self._turns[:dropped]
        if used > left and self._turns and self._turns[0].messages[0]["role"] == "assistant":
            # Without the call, a tool's answer can only be a message of the user.
            answers = join(message["content"] for message in self._turns[0].messages[1:])
            self._turns[0] = self._turn([{"role": "user", "content": answers}])

    def _set_own_state(self, state: Info) -> None:
        super()._set_own_state(state)
        self._first_tokens = self._count(piece(self._first)) + self._message_tokens


class Summarize(ShortenedHistory):
    """Shows the first observation, a summary of older turns, and the latest turns as they were.

    Once there are more turns than ``after_turns``, or they cost more tokens than ``after_tokens``, the summarizer gets
    all but the latest ``keep_turns``, together with the first observation and the summary so far. Its text takes
    their place.

    ``step`` passes on exceptions of the summarizer; the turn is then in the history, and the next step tries again.

    Args:
        env: the environment.
        summarizer: a callable from a list of chat messages to a str; a function, or a model behind one. It must
            be deterministic for episodes to be reproducible.
        after_turns: turns above which older ones are summarized; None for no such limit.
        after_tokens: tokens of the turns above which older ones are summarized; None for no such limit.
        keep_turns: number of latest turns that stay unchanged.
        tokenizer: counts tokens; see :class:`TokenBudget`.
        form: as for :class:`SlidingWindow`.
        picture_tokens: tokens of each part that is not text.
        announce: as for :class:`SlidingWindow`.
    """

    def __init__(
        self,
        env: Env[Any, Any],
        summarizer: Callable[[list[Message]], str],
        after_turns: int | None = 20,
        after_tokens: int | None = None,
        keep_turns: int = 5,
        tokenizer: Any = None,
        form: HistoryForm = "text",
        picture_tokens: int = 1024,
        announce: bool = False,
    ) -> None:
        super().__init__(env, form, announce)
        if not callable(summarizer):
            raise ArgumentTypeError(f"summarizer must be callable, got an object of type {type(summarizer).__name__}")
        self._summarizer = summarizer
        self._older = OlderTurns(after_turns, after_tokens, keep_turns)
        self._count = TokenCounter(tokenizer, integer("picture_tokens", picture_tokens, minimum=0))
        self._summary = ""

    def _announcement(self) -> str:
        return "Earlier turns are shown to you, the oldest of them in a summary."

    def _cost(self, messages: list[Message], text: Content) -> int:
        return 0 if self._older.after_tokens is None else self._count(text)

    def _opening(self) -> Content:
        if not self._summary:
            return self._first
        return join((piece(self._first), f"Summary of the turns so far:\n{self._summary}"))

    def _begin(self, observation: Content) -> None:
        super()._begin(observation)
        self._summary = ""

    def _shorten(self, info: Info) -> None:
        older = self._turns[: self._older(self._turns)]
        if not older:
            return
        messages: list[Message] = [{"role": "user", "content": self._opening()}]
        for turn in older:
            messages += turn.messages
        summary = self._summarizer(messages)
        if not isinstance(summary, str):
            raise ArgumentTypeError(f"the summarizer must return a str, got {type(summary).__name__}")
        self._summary, self._turns = summary, self._turns[len(older) :]

    def _own_state(self) -> Info:
        return {**super()._own_state(), "summary": self._summary}

    def _set_own_state(self, state: Info) -> None:
        if not isinstance(state["summary"], str):
            raise TypeError("summary must be a str")
        super()._set_own_state(state)
        self._summary = state["summary"]
