"""Observations that grow, such as histories, as what was added since the last one: the subprotocol with additions.

Both sides speak of the last result on a channel of one connection, whose messages arrive in their order. So a new
connection begins with whole texts, whoever has lost what. The sender compares JSON, which it never decodes.
"""

from __future__ import annotations

from collections.abc import Collection, MutableMapping
from typing import Any

from gem_server.errors import ServiceError

__all__ = ["RESULT_FIELDS", "SUBPROTOCOL", "WITH_ADDITIONS", "TextAdditions", "chosen_subprotocol", "note_observation"]

SUBPROTOCOL, WITH_ADDITIONS = "gem.v1", "gem.v1.additions"
RESULT_FIELDS = 7
"""Of the answer to ``step`` and ``reset``; of one that is an addition there is one more."""

_SHORTEST = 256
"""Bytes of a result that is worth a comparison."""
_LOW_SURROGATES = (b"\\udc", b"\\udd", b"\\ude", b"\\udf")
"""Escapes that may be the second half of a character whose first half is the end of the text before."""


def chosen_subprotocol(offered: Collection[str]) -> str | None:
    """Return the best subprotocol that a client offers; None if it offers none of ours."""
    return next((known for known in (WITH_ADDITIONS, SUBPROTOCOL) if known in offered), None)


class TextAdditions:
    """The server's side of one connection: replaces a result whose observation begins with the channel's last one."""

    def __init__(self) -> None:
        self._sent: dict[int, tuple[bytes, int]] = {}  # the last result, and where its observation ends

    def shorten(self, channel: int, text: bytes) -> bytes:
        """Return a result as it is sent.

        Args:
            channel: the channel on which it goes out next.
            text: its JSON, an array without its first bracket; no refusal, which is no result for either side.

        Returns:
            The same, or the array with only the added text as its observation and ``true`` as a sixth value.
        """
        last = self._sent.pop(channel, None)
        if len(text) < _SHORTEST or not text.startswith(b'"'):
            return text
        known = 1
        if last is not None and text.startswith(memoryview(last[0])[: last[1]]):
            known = last[1]
        end = _end_of_string(text, known)
        if text[end + 1 : end + 2] != b",":  # the only value, so no observation
            return text
        self._sent[channel] = text, end
        if known == 1 or text.startswith(_LOW_SURROGATES, known):
            return text
        return b'"%b,true]' % text[known:-1]

    def forget(self, channel: int) -> None:
        """Send the next result on a channel whole, and keep nothing of the last one."""
        self._sent.pop(channel, None)


def _end_of_string(text: bytes, start: int) -> int:
    """Return where the quote stands that ends a JSON string; ``start`` is a place within it and within no escape."""
    end = text.index(b'"', start)
    while True:
        before = end
        while text[before - 1] == ord("\\"):
            before -= 1
        if (end - before) % 2 == 0:
            return end
        end = text.index(b'"', end + 1)


def note_observation(answer: list[Any], last: MutableMapping[int, Any]) -> None:
    """Make the observation of an answer whole, on the client's side, and note it for the next one.

    Args:
        answer: the channel, the step id, and the at least five fields of a result.
        last: the last observation on each channel of the connection.

    Raises:
        ServiceError: if the server adds to a text that it has not sent.
    """
    channel = answer[0]
    if len(answer) > RESULT_FIELDS:
        known = last.get(channel)
        if not isinstance(known, str) or not isinstance(answer[2], str):
            raise ServiceError(f"the server added to a text on channel {channel} that it has not sent")
        answer[2] = known + answer[2]
        del answer[RESULT_FIELDS:]
    last[channel] = answer[2]
