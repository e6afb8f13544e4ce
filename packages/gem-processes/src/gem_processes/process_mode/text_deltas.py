"""Observations that grow, such as histories, as what was added since the last one.

The sender compares each text with the last one that it has sent of the same environment. It needs no help from the
environment, whose wrappers stay whole where it is: state, spec and faults are the same as without this.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["TextJoiner", "TextShortener"]

_FIELDS = 5
"""Of a result: observation, reward, terminated, truncated, info."""
_SHORTEST = 256
"""Characters of a text that is worth a comparison: copying fewer costs less than the bookkeeping."""


class TextShortener:
    """The sender's side: replaces a result whose observation begins with the last one.

    The short form has a field more: the result with only the added text as its observation, and the number of
    characters that come before it. Built-in types alone, because batches of these are packed fastest.
    """

    def __init__(self) -> None:
        self._last: dict[int, str] = {}

    def shorten(self, numbers: Iterable[int], results: Sequence[Any]) -> list[Any]:
        """Return the results of environments in the form in which they are sent.

        Args:
            numbers: of the environments, each at most once.
            results: their results; exceptions may be among them.
        """
        last = self._last
        sent: list[Any] = []
        for number, result in zip(numbers, results, strict=True):
            text = result[0] if type(result) is tuple else None
            if type(text) is not str or len(text) < _SHORTEST:
                if last:
                    last.pop(number, None)
                sent.append(result)
                continue
            known = last.get(number)
            last[number] = text
            if known is not None and text.startswith(known):
                sent.append((text[len(known) :], *result[1:], len(known)))
            else:
                sent.append(result)
        return sent

    def forget(self, number: int) -> None:
        """Send the next text of an environment whole: the receiver has not got its last one."""
        self._last.pop(number, None)


class TextJoiner:
    """The receiver's side: undoes :class:`TextShortener`, for messages in their order.

    The same message may be joined twice in a row, as after an interrupt. A sender that was not told of a lost result
    is a fault of this package, and raises AssertionError.
    """

    def __init__(self) -> None:
        self._last: dict[int, str] = {}

    def join(self, numbers: Iterable[int], results: Sequence[Any]) -> list[Any]:
        """Return the results of environments as they were before they were sent."""
        last = self._last
        joined: list[Any] = []
        for number, result in zip(numbers, results, strict=True):
            if type(result) is tuple and len(result) > _FIELDS:
                added, *rest, before = result
                known = last[number]
                assert len(known) >= before
                result = (known[:before] + added, *rest)
            text = result[0] if type(result) is tuple else None
            if type(text) is str and len(text) >= _SHORTEST:
                last[number] = text
            joined.append(result)
        return joined
