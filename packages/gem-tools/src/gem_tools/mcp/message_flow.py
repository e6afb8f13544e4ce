"""The messages of one server as they reach the SDK: :class:`MessageFlow`."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

import anyio

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["MessageFlow"]

_HEARD = (
    "notifications/progress",
    "notifications/cancelled",
    "notifications/tools/list_changed",
    "notifications/subscriptions/acknowledged",
)
"""The notifications that something here reads; the SDK gets no others."""

_AT_ONCE = 2000.0
_PER_SECOND = 500.0
"""The number of unasked messages that pass at once, and each second after these."""

_LIGHT = 0.1
"""What an answer or a notification that nothing reads counts."""


class MessageFlow:
    """The stream of a server's messages, slowed down where they are more than any use has.

    The SDK starts a task for each message, and the sessions with all servers share a thread: a server that sends
    notifications or requests without end slows itself down, and no other one.

    Args:
        messages: the stream of a transport.
    """

    def __init__(self, messages: Any) -> None:
        self._messages = messages
        self._left = _AT_ONCE
        self._since = anyio.current_time()

    @property
    def last_context(self) -> Any:
        """What the transport says about the sender of the last message."""
        return getattr(self._messages, "last_context", None)

    async def receive(self) -> Any:
        """Return the next message for the SDK."""
        while True:
            message = await self._messages.receive()
            content = getattr(message, "message", None)
            method = getattr(content, "method", None)
            is_read = method is None or hasattr(content, "id") or (method in _HEARD and _is_sound(content))
            self._left -= 1.0 if is_read and method is not None else _LIGHT
            if self._left < 0:
                await self._refill()
            if is_read:
                return message

    async def aclose(self) -> None:
        """Close the stream."""
        await self._messages.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _refill(self) -> None:
        """Add what has become free since the last time; wait for it if that is not enough."""
        now = anyio.current_time()
        self._left = min(self._left + (now - self._since) * _PER_SECOND, _AT_ONCE)
        self._since = now
        if self._left < 0:
            await anyio.sleep(-self._left / _PER_SECOND)


def _is_sound(notification: Any) -> bool:
    """Return whether the numbers of a report fit into floats; the SDK's session ends at others."""
    params = notification.params or {}
    try:
        for name in ("progress", "total"):
            if isinstance(params.get(name), int):
                float(params[name])
    except OverflowError:
        return False
    return True
