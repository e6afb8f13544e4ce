"""Counting tokens with any kind of tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Any

from gem.errors import ArgumentTypeError
from gem.wrappers.history import Content, is_text

__all__ = ["TokenCounter"]


class TokenCounter:
    """Counts the tokens of contents.

    Args:
        tokenizer: a callable from a str to an int, or to a sized object such as a list of ids; or anything with
            ``encode``, without its special tokens (those of an empty text). None estimates a token for every
            four characters.
        picture_tokens: tokens of each part that is not text.

    Raises:
        ArgumentTypeError: if ``tokenizer`` is none of these.
    """

    def __init__(self, tokenizer: Any, picture_tokens: int) -> None:
        self._picture_tokens = picture_tokens
        self._encode: Callable[[str], Any]
        if tokenizer is None:
            self._encode = _estimate
        else:
            # encode_ordinary first: tiktoken's encode raises on a text that spells a special token.
            named = getattr(tokenizer, "encode_ordinary", None) or getattr(tokenizer, "encode", None) or tokenizer
            if not callable(named):
                raise ArgumentTypeError(
                    "tokenizer must be a callable from str to int, or have encode, "
                    f"got an object of type {type(tokenizer).__name__}"
                )
            self._encode = named
        self._special = 0
        self._special = self._measure("")

    def __call__(self, content: Content) -> int:
        """Return the number of tokens of a content."""
        if not isinstance(content, str):
            texts = [part["text"] for part in content if is_text(part)]
            return self("".join(texts)) + self._picture_tokens * (len(content) - len(texts))
        return self._measure(content) if content else 0

    def _measure(self, text: str) -> int:
        try:
            text.encode()
        except UnicodeEncodeError:  # lone surrogates, on which tokenizers raise
            text = text.encode("utf-8", "replace").decode()
        tokens = self._encode(text)
        if isinstance(tokens, int):
            count = tokens
        elif isinstance(tokens, Sized):
            count = len(tokens)
        else:
            raise ArgumentTypeError(f"the tokenizer must return an int or a list, got {type(tokens).__name__}")
        return max(0, count - self._special)


def _estimate(text: str) -> int:
    return (len(text) + 3) // 4
