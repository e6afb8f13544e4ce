"""Tools for language-model agents: a sandboxed Python interpreter, a search engine, MCP servers.

::

    import gem

    env = gem.make("math:WordProblems-v0", wrappers="python_tool")

Everything loads on first use.
"""

from __future__ import annotations

from gem.lazy import loaded_on_use

__version__ = "0.1.0"

__getattr__, __dir__ = loaded_on_use(globals())
