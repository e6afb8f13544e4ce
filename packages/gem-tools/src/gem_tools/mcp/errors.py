"""What can go wrong with an MCP server."""

from __future__ import annotations

from gem.errors import GemError

__all__ = ["MCPServerError", "NotDeliveredError"]


class MCPServerError(GemError, ConnectionError):
    """An MCP server cannot be started or reached, does not answer in time, or answers what is no answer."""


class NotDeliveredError(MCPServerError):
    """The server has not seen the request, so that it may be sent again."""
