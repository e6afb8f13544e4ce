"""The servers of the Model Context Protocol that a task brings: :func:`mcp_instruction`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from gem_terminal.task import McpServer

__all__ = ["mcp_instruction"]


def mcp_instruction(servers: Sequence[McpServer]) -> str:
    """Return what an agent in the container must know of the servers, as Harbor's own agents show it."""
    lines = ["MCP servers, which you can reach from the shell:"]
    for server in servers:
        where = server.url if server.url is not None else shlex.join(server.command)
        lines.append(f"- {server.name}: {server.transport}, {where}")
    return "\n".join(lines)
