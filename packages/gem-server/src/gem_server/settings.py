"""What an operator can set: :class:`ServingSettings`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from gem.arguments import integer, real

__all__ = ["ServingSettings"]

_COUNTS = {"workers": 1, "threads": 1, "max_sessions": 1, "max_connections": 1, "max_message": 1024, "max_batch": 1}


@dataclass(frozen=True)
class ServingSettings:
    """Limits of an environment server. Times are in seconds, sizes in bytes.

    Raises:
        ArgumentError, ArgumentTypeError: for values out of range.
    """

    workers: int = 2
    """Worker processes."""
    threads: int = 64
    """Steps of one worker that can wait (for tools, containers, models) at the same time."""
    max_sessions: int = 4096
    """Open sessions; more are refused."""
    max_connections: int = 4096
    """Open connections; more are closed at once."""
    max_message: int = 8 << 20
    """A WebSocket message or the body of an HTTP request."""
    max_action: int = 1 << 20
    """An action as JSON, in characters."""
    max_batch: int = 4096
    """Calls in one message."""
    max_steps: int | None = None
    """Steps of one session, over all its episodes; None for no limit."""
    step_timeout: float = 300.0
    """A step or reset, of which a client can ask for less; a call that exceeds it becomes a fault of its environment.
    Making an environment, for which it cannot."""
    idle_timeout: float = 3600.0
    """A session without a call; it is then closed."""
    reconnect_timeout: float = 120.0
    """A session whose WebSocket connection is lost; it is then closed."""
    request_timeout: float = 15.0
    """Sending a request's head or its body, and taking an answer."""
    drain_timeout: float = 30.0
    """After SIGTERM: the wait for open sessions, which may go on."""
    arguments: bool = False
    """Whether clients may pass constructor arguments, which may name files, servers and sizes."""
    wrappers: tuple[str, ...] = ()
    """Wrappers that clients may ask for beside the harmless ones of gem-core."""
    origins: tuple[str, ...] = ()
    """Origins of pages that may use the server, beside its own; ``https://host:port``."""
    hosts: tuple[str, ...] = ()
    """Names by which the server without tokens may be addressed, beside addresses and ``localhost``."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value: Any = getattr(self, field.name)
            if field.name in _COUNTS:
                integer(field.name, value, minimum=_COUNTS[field.name])
            elif field.name.endswith("_timeout"):
                real(field.name, value, minimum=0.0, maximum=1e8)
