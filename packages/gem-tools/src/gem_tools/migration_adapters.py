"""The tools under the names, arguments and protocol of the original GEM; only :mod:`gem.migration` leads here."""

from __future__ import annotations

from typing import Any

from gem.tools.base import Tool
from gem_tools.mcp.tool import MCPTool as _MCPTool
from gem_tools.python_tool import PythonTool
from gem_tools.search.tool import SearchTool as _SearchTool

__all__ = ["MCPTool", "PythonCodeTool", "SearchTool"]


class _ExecutesActions(Tool):
    """A tool that can also be asked as the original's wrappers asked theirs."""

    @property
    def tool_type(self) -> str:
        """What the original called a tool's name."""
        return self.name

    def execute_action(self, action: str) -> tuple[bool, bool, str, str]:
        """Carry out the call in a text.

        Returns:
            Whether there was a call, whether it failed, what the agent is told, and the part of the text that
            was acted on. A text without a call comes back whole, as ``(False, True, "", action)``.
        """
        answered = self.respond(action)
        if answered is None:
            return False, True, "", action
        parsed_action, result = answered
        return True, not result.ok, result.text, parsed_action


class PythonCodeTool(_ExecutesActions, PythonTool):
    """The original's Python tool.

    Args:
        timeout: seconds; here they are kept.
        sandbox_type: ``"bwrap"`` insists on a jail. ``"none"``, the original's default, takes the jail where one
            can be had: no program of a model runs unconfined because nothing was said.
        keep_error_last_line: see :class:`gem_tools.PythonTool`.
    """

    def __init__(
        self, timeout: float = 5, sandbox_type: str = "none", keep_error_last_line: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(
            timeout,
            {"none": "auto", "bwrap": "required"}.get(sandbox_type, sandbox_type),
            keep_error_last_line,
            **kwargs,
        )


class SearchTool(_ExecutesActions, _SearchTool):
    """The original's search tool."""


class MCPTool(_ExecutesActions, _MCPTool):
    """The original's tool of MCP servers."""
