"""Tools for language-model agents: a sandboxed Python interpreter, a search engine, MCP servers.

::

    import gem

    env = gem.make("math:WordProblems-v0", wrappers="python_tool")

Everything loads on first use.
"""

from __future__ import annotations

from gem.lazy import loaded_on_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gem_tools.mcp.tool import MCPTool
    from gem_tools.python_tool import PythonTool
    from gem_tools.search.tool import SearchTool

__all__ = ["MCPTool", "PythonTool", "SearchTool"]

__version__ = "0.1.0"

_HOMES = {
    "MCPTool": "gem_tools.mcp.tool",
    "PythonTool": "gem_tools.python_tool",
    "SearchTool": "gem_tools.search.tool",
}

__getattr__, __dir__ = loaded_on_use(globals(), _HOMES)
