"""What the trainer needs of a model and of its tokenizer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

__all__ = ["ActionTokenizer", "Conversation", "LanguageModel", "RowCache"]


class RowCache(Protocol):
    """Keys and values of rows, one for each episode."""

    def select(self, rows: Tensor, kept: Tensor) -> None:
        """Keep these rows alone, in this order; those that are not ``kept``, ``(rows,)``, begin empty.

        A row may come several times.
        """


class LanguageModel(Protocol):
    """A causal language model with a value head: :class:`TinyTransformer`, :class:`HuggingFaceModel`, or your own."""

    context: int
    """The largest number of tokens of a row."""
    shares_prompts: bool
    """Whether :meth:`hidden` computes equal prompts of neighbours once, so that it pays to have them together."""

    @property
    def device(self) -> torch.device: ...

    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Return the parameters by name; those that require a gradient learn."""

    def new_cache(self, rows: int) -> Any: ...

    def hidden(self, ids: Tensor, prompts: Sequence[int] | None = None) -> Tensor:
        """Return the last hidden states of whole rows, ``(rows, length, width)``.

        Args:
            ids: ``(rows, length)``; what follows a row's end may be anything.
            prompts: how many tokens each row has before its first response, for a model that shares prompts.
        """

    def logits(self, states: Tensor) -> Tensor: ...

    def values(self, states: Tensor) -> Tensor: ...

    def extend(self, ids: Tensor, places: Tensor, cache: Any) -> Tensor: ...


class Conversation(Protocol):
    """The exact tokens of one episode: what was sampled is kept as it was."""

    def prompt(self, observation: str) -> list[int]:
        """Return all tokens up to where the action begins: those so far, and the observation's."""

    def note(self, sampled: Sequence[int]) -> None:
        """Receive the tokens of the action, its end included."""


class ActionTokenizer(Protocol):
    """Tokens of observations and actions: :class:`TinyTokenizer`, :class:`HuggingFaceTokenizer`, or your own."""

    end: int
    """The token that ends an action."""

    def conversation(self) -> Conversation:
        """Return the token book of a new episode."""

    def encode(self, text: str) -> list[int]: ...

    def decode(self, ids: list[int]) -> str: ...
