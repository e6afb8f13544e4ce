"""Errors of MCP servers."""

from __future__ import annotations

from gem.errors import GemError

__all__ = ["MCPServerError", "NotDeliveredError", "RequestRefusedError"]


class MCPServerError(GemError, ConnectionError):
    """An MCP server cannot be started or reached, is late, or sends an invalid answer."""


class NotDeliveredError(MCPServerError):
    """The server has not received the request, so it is safe to send it again."""


class RequestRefusedError(MCPServerError):
    """The server answered a request with an error of the protocol, and goes on.

    Args:
        message: what happened, with the server's name.
        reason: what the server said.
    """

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(message)
        self.reason = reason
