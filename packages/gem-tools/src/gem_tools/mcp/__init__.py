"""The tools of MCP servers for agents, and environments as MCP servers.

::

    from gem.tools import ToolEnvWrapper
    from gem_tools import MCPTool

    tools = MCPTool({"mcpServers": {"time": {"command": "mcp-server-time"}}})
    env = ToolEnvWrapper(gem.make("math:GSM8K"), [tools])

Read in this order: ``config.py`` and ``placeholders.py`` (the servers, and what differs from episode to episode),
``names.py`` and ``results.py`` (the agent's view of them), ``process.py``, ``stdio.py``, ``http.py``, ``oauth.py`` and
``message_flow.py`` (the transports), ``pending.py``, ``tool_calls.py``, ``schema_check.py``, ``server_requests.py``,
``simulated_user.py`` and ``sampled_model.py`` (requests, their progress, tasks, questions and completions),
``session.py`` and ``connection.py`` (a session with a server, and its renewal), ``host.py`` and ``users.py`` (the
thread of all sessions, and who uses them), ``listing.py``, ``server_tool.py`` and ``tool_set.py`` (the tools of
servers), ``tool.py`` (the interface for trainers);
``episodes.py``, ``serve.py`` and ``command.py`` serve environments. The ``mcp`` SDK loads on first use.
"""

from __future__ import annotations

from gem.lazy import loaded_on_use

__getattr__, __dir__ = loaded_on_use(globals())
