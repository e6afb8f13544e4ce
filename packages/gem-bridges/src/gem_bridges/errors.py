"""The error of every bridge."""

from __future__ import annotations

from gem.errors import GemError

__all__ = ["BridgeError"]


class BridgeError(GemError, RuntimeError):
    """A server of another framework is out of reach, too slow, or answers outside its protocol.

    ``reset`` raises it. In ``step`` it ends the episode: truncated, with ``info["error"]``.
    """
