"""What one request, and the requests of one session together, may take: :class:`ExchangeLimits`, :class:`CallPlace`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gem_gateway.call_errors import ModelCallError

if TYPE_CHECKING:
    from gem_gateway.sessions import CallCounts

__all__ = ["CallPlace", "ExchangeLimits"]


@dataclass(frozen=True)
class ExchangeLimits:
    """Limits of one request and its answer, and of those of one session at the same time."""

    max_body: int = 64 * 2**20
    """Bytes of a request's body, after decompression."""
    max_values: int = 250_000
    """Objects, lists, texts and numbers in a body. Each is worth some microseconds in which nobody else is served."""
    body_seconds: float = 60.0
    """In which the whole body must have come."""
    ping_seconds: float = 15.0
    """A streamed call without an answer by then gets its headers and a sign of life, and another one each time as long
    has passed. An error after that comes as an event of the stream, no longer as a status."""
    write_seconds: float = 60.0
    """A program that reads nothing of a stream for as long has gone."""
    head_seconds: float = 30.0
    """In which a new connection must have sent its first request's head."""
    connections: int = 8192
    """Open connections of a gateway; further ones are closed at once."""
    parallel_calls: int = 256
    """Requests of one session that are read, answered or written at the same time; further ones are refused."""
    parallel_bytes: int = 256 * 2**20
    """Bytes of the bodies of these requests together."""


class CallPlace:
    """The place of one request among those of its session that are under way. It is left with :meth:`leave`.

    Args:
        counts: of the session.
        limits: of how many there are, and of the bytes of their bodies.
    """

    __slots__ = ("_counts", "_limits", "_size")

    def __init__(self, counts: CallCounts, limits: ExchangeLimits) -> None:
        self._counts = counts
        self._limits = limits
        self._size = 0
        counts.under_way += 1

    def check(self) -> None:
        """Refuse a request that is one too many.

        Raises:
            ModelCallError: of the kind ``busy``.
        """
        if self._counts.under_way > self._limits.parallel_calls:
            raise ModelCallError(
                "busy", f"{self._limits.parallel_calls} calls of this session are under way; wait for them"
            )

    def hold(self, size: int) -> None:
        """Note that so many more bytes of the body are here.

        Raises:
            ModelCallError: of the kind ``busy``, if the bodies of the session are too large together.
        """
        self._size += size
        self._counts.held_bytes += size
        if self._counts.held_bytes > self._limits.parallel_bytes:
            raise ModelCallError(
                "busy",
                f"the calls of this session that are under way have more than {self._limits.parallel_bytes:,} bytes; "
                "wait for them",
            )

    def leave(self) -> None:
        """Give the place to another request."""
        self._counts.under_way -= 1
        self._counts.held_bytes -= self._size
