"""The plugin of this package, which adds wrappers and commands to GEM by name."""

from __future__ import annotations

from gem.plugins import Named, hookimpl

__all__ = ["gem_commands", "gem_wrappers"]


@hookimpl
def gem_wrappers() -> Named:
    """Return the tools as wrappers."""
    return {
        "python_tool": "gem_tools.wrappers:python_tool",
        "python_tool_no_int_reward": "gem_tools.wrappers:python_tool_no_int_reward",
        "python_tool_no_int_reward_last_line_error": "gem_tools.wrappers:python_tool_no_int_reward_last_line_error",
        "search_tool": "gem_tools.wrappers:search_tool",
        "search_tool_no_int_reward": "gem_tools.wrappers:search_tool_no_int_reward",
        "mcp_tool": "gem_tools.wrappers:mcp_tool",
        "tool_failure": "gem_tools.tool_failure:ToolFailure",
    }


@hookimpl
def gem_commands() -> Named:
    """Return the commands ``gem mcp-serve``, ``gem search-server`` and ``gem skill serve``."""
    return {
        "mcp-serve": "gem_tools.mcp.command:mcp_serve_command",
        "search-server": "gem_tools.search.command:search_server_command",
        "skill serve": "gem_tools.author_server.command:serve_command",
    }
