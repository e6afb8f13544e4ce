"""What a program is told: the first observation, and how to play: :func:`task_text`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from gem.errors import NotSupportedError
from gem_gateway.mcp_env.episode_calls import ACT, EpisodeTool, content_parts

__all__ = ["task_text"]

_BY_MCP = """
---
{where} by the tools of the MCP server "gem": {names}. Each call is one turn and returns what follows.
{answer}When a result says that the episode is over, stop."""

_BY_COMMAND = """
---
{where} by running this command in your shell. Each call is one turn and prints what follows.

{uses}

{answer}When it prints that the episode is over, stop."""

_OUTSIDE = "You act in this task only"
_INSIDE = """You run inside the container of this task: what your own tools do, they do there. Stop when the task is
done, since that ends it. You can also act"""

_ANSWERED = "Your final message is your answer to the task.\n"


def task_text(
    observation: Any,
    tools: Mapping[str, EpisodeTool],
    *,
    how: Literal["mcp", "command"],
    episode: str,
    single: bool,
    inside: bool = False,
) -> str:
    """Return the task of a program.

    Args:
        observation: the first one of the episode.
        tools: what the program can call.
        how: by MCP, or by a command in a shell.
        episode: that command.
        inside: whether the program runs where the episode's own actions are carried out.
        single: whether the environment takes one action, which a final message may be.

    Raises:
        NotSupportedError: if the observation holds pictures, which a command line cannot carry.
    """
    parts = content_parts(observation)
    if any(part.get("type") != "text" for part in parts):
        raise NotSupportedError("a harness is told its task as text, and the first observation holds a picture")
    shown = "\n".join(str(part["text"]) for part in parts)
    answer = _ANSWERED if single else ""
    where = _INSIDE if inside else _OUTSIDE
    if how == "mcp":
        return shown + _BY_MCP.format(where=where, names=", ".join(tools), answer=answer)
    uses = [f"    {episode} act 'TEXT'"] if ACT in tools else []
    for tool in tools.values():
        if tool.name != ACT:
            schema = json.dumps(tool.input_schema, ensure_ascii=False)
            uses.append(f"    {episode} call {tool.name} 'JSON'\n        {tool.description}\n        JSON: {schema}")
    return shown + _BY_COMMAND.format(where=where, uses="\n".join(uses), answer=answer)
