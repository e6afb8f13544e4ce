"""What the trainer needs of a model and of its tokenizer."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor

__all__ = ["ActionTokenizer", "LanguageModel", "RowCache"]


class RowCache(Protocol):
    """Keys and values of rows, one for each episode."""

    def select(self, rows: Tensor, kept: Tensor) -> None:
        """Keep these rows alone, in this order; those that are not ``kept``, ``(rows,)``, begin empty."""


class LanguageModel(Protocol):
    """A causal language model with a value head: :class:`TinyTransformer`, :class:`HuggingFaceModel`, or your own."""

    context: int
    """The largest number of tokens of a row."""

    @property
    def device(self) -> torch.device: ...

    def new_cache(self, rows: int) -> Any: ...

    def hidden(self, ids: Tensor) -> Tensor: ...

    def logits(self, states: Tensor) -> Tensor: ...

    def values(self, states: Tensor) -> Tensor: ...

    def extend(self, ids: Tensor, places: Tensor, cache: Any) -> Tensor: ...


class ActionTokenizer(Protocol):
    """Tokens of observations and actions: :class:`TinyTokenizer`, :class:`HuggingFaceTokenizer`, or your own."""

    end: int
    """The token that ends an action."""

    def prompt(self, observation: str, first: bool) -> list[int]: ...

    def encode(self, text: str) -> list[int]: ...

    def decode(self, ids: list[int]) -> str: ...
