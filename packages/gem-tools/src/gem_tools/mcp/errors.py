"""Errors of MCP servers."""

from __future__ import annotations

from gem.errors import GemError

__all__ = ["MCPServerError", "NotDeliveredError"]


class MCPServerError(GemError, ConnectionError):
    """An MCP server cannot be started or reached, is late, or sends an invalid answer."""


class NotDeliveredError(MCPServerError):
    """The server has not received the request, so it is safe to send it again."""
