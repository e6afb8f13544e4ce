"""The tools of this package as wrappers by name, with the published rewards and limits.

Each accepts an environment, the arguments of :class:`gem.tools.ToolEnvWrapper` (which override the published values),
and the arguments of its tool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from typing import Any

from gem.arguments import check_names
from gem.core import Env
from gem.tools import Tool, ToolEnvWrapper

__all__ = [
    "mcp_tool",
    "python_tool",
    "python_tool_no_int_reward",
    "python_tool_no_int_reward_last_line_error",
    "search_tool",
    "search_tool_no_int_reward",
]

_PUBLISHED_USES = 5
"""The published number of calls in one episode."""

_OF_THE_WRAPPER = frozenset(
    ("tool_reward", "tool_success_reward", "tool_execute_error_reward", "max_tool_uses", "instructions")
)


def python_tool(env: Env[Any, Any], **kwargs: Any) -> ToolEnvWrapper:
    """Let the agent run Python: 0.05 for every run, 0.25 more if it succeeds, five runs an episode."""
    return _python(env, {"tool_reward": 0.05, "tool_success_reward": 0.25, **kwargs})


def python_tool_no_int_reward(env: Env[Any, Any], **kwargs: Any) -> ToolEnvWrapper:
    """Let the agent run Python, five times an episode; a run earns nothing."""
    return _python(env, kwargs)


def python_tool_no_int_reward_last_line_error(env: Env[Any, Any], **kwargs: Any) -> ToolEnvWrapper:
    """Let the agent run Python, five times an episode; of an error it sees only the last line."""
    return _python(env, {"keep_error_last_line": True, **kwargs})


def search_tool(env: Env[Any, Any], **kwargs: Any) -> ToolEnvWrapper:
    """Let the agent search: 0.3 for every search, five searches an episode, three results each."""
    return _search(env, {"tool_reward": 0.3, **kwargs})


def search_tool_no_int_reward(env: Env[Any, Any], **kwargs: Any) -> ToolEnvWrapper:
    """Let the agent search, five times an episode, three results each; a search earns nothing."""
    return _search(env, kwargs)


def mcp_tool(env: Env[Any, Any], **kwargs: Any) -> ToolEnvWrapper:
    """Let the agent call the tools of MCP servers; the argument ``config`` is that of :class:`gem_tools.MCPTool`."""
    from gem_tools.mcp.tool import MCPTool

    of_the_tool, of_the_wrapper = _split(MCPTool, kwargs)
    # The tool represents a list of tools, created here so that an invalid configuration is an early error.
    return ToolEnvWrapper(env, [MCPTool(**of_the_tool)], **of_the_wrapper)


def _python(env: Env[Any, Any], kwargs: Mapping[str, Any]) -> ToolEnvWrapper:
    from gem_tools.python_tool import PythonTool

    return _with(env, PythonTool, {"max_tool_uses": _PUBLISHED_USES, **kwargs})


def _search(env: Env[Any, Any], kwargs: Mapping[str, Any]) -> ToolEnvWrapper:
    from gem_tools.search.tool import SearchTool

    own = {"search_url", "corpus", "engine"} & kwargs.keys()
    offered = getattr(env.unwrapped, "search_corpus", None)
    given = kwargs if own or offered is None else {"corpus": offered, **kwargs}
    return _with(env, SearchTool, {"max_tool_uses": _PUBLISHED_USES, "topk": 3, **given})


def _with(env: Env[Any, Any], tool: type[Tool], kwargs: Mapping[str, Any]) -> ToolEnvWrapper:
    of_the_tool, of_the_wrapper = _split(tool, kwargs)
    return ToolEnvWrapper(env, [partial(tool, **of_the_tool)], **of_the_wrapper)


def _split(tool: Callable[..., object], kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split arguments into those of a tool and those of the wrapper.

    Raises:
        UnknownArgumentError: for an argument that neither accepts.
    """
    known = signature(tool).parameters
    check_names(getattr(tool, "__name__", "the tool"), kwargs, [*known, *sorted(_OF_THE_WRAPPER)])
    of_the_wrapper = {name: value for name, value in kwargs.items() if name in _OF_THE_WRAPPER}
    return {name: value for name, value in kwargs.items() if name not in of_the_wrapper}, of_the_wrapper
