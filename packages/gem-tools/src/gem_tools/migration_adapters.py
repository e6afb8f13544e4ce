"""The tools with the original GEM's names, arguments and protocol; only :mod:`gem.migration` refers to this module."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gem.tools.base import Tool
from gem_tools import mcp, python_tool, search

__all__ = ["MCPTool", "PythonCodeTool", "SearchTool"]

_SANDBOXES = {"none": "auto", "bwrap": "required"}


class _ExecutesActions(Tool):
    def execute_action(self, action: str) -> tuple[bool, bool, str, str]:
        """See :func:`run_call`."""
        return run_call([self], action)


class PythonCodeTool(_ExecutesActions, python_tool.PythonTool):
    """The original's Python tool.

    Args:
        timeout: the time limit in seconds; this tool enforces it.
        sandbox_type: ``"bwrap"`` requires a jail. ``"none"``, the original's default, uses a jail if one is
            available, so that a model's program never runs unconfined by default.
        keep_error_last_line: see :class:`gem_tools.PythonTool`.
    """

    tool_type = "python_code"

    def __init__(self, timeout: float = 5, sandbox_type: str = "none", keep_error_last_line: bool = False) -> None:
        super().__init__(timeout, _SANDBOXES.get(sandbox_type, sandbox_type), keep_error_last_line)
        self.sandbox_type = sandbox_type

    def __deepcopy__(self, memo: dict[int, Any]) -> PythonCodeTool:
        return PythonCodeTool(self.timeout, self.sandbox_type, self.keep_error_last_line)


class SearchTool(_ExecutesActions, search.SearchTool):
    """The original's search tool."""

    tool_type = "search"


class MCPTool(mcp.MCPTool):
    """The original's tool of MCP servers."""

    tool_type = "mcp"

    def execute_action(self, action: str) -> tuple[bool, bool, str, str]:
        """See :func:`run_call`."""
        return run_call(self, action)


def run_call(tools: Iterable[Tool], action: str) -> tuple[bool, bool, str, str]:
    """Carry out the call in a text, in the way of the original's wrappers.

    Returns:
        Whether the text has a call, whether the call failed, the result for the agent, and the part of the text with
        the call. A text without a call returns ``(False, True, "", action)``.
    """
    for tool in tools:
        answered = tool.respond(action)
        if answered is not None:
            parsed_action, result = answered
            return True, not result.ok, result.text, parsed_action
    return False, True, "", action
