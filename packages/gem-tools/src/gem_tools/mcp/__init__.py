"""The tools of MCP servers for agents, and environments as MCP servers.

::

    from gem.tools import ToolEnvWrapper
    from gem_tools import MCPTool

    tools = MCPTool({"mcpServers": {"time": {"command": "mcp-server-time"}}})
    env = ToolEnvWrapper(gem.make("math:GSM8K"), [tools])

Read in this order: ``config.py`` (which servers), ``names.py`` and ``results.py`` (what an agent sees of them),
``process.py``, ``stdio.py`` and ``http.py`` (how messages travel), ``session.py`` and ``connection.py`` (one session
with a server, and keeping one), ``host.py`` (the thread that all of it runs on), ``tool.py`` (what trainers use);
``episodes.py``, ``serve.py`` and ``command.py`` are the other direction. The ``mcp`` SDK loads on first use.
"""

from __future__ import annotations

from gem.lazy import loaded_on_use

__getattr__, __dir__ = loaded_on_use(globals())
