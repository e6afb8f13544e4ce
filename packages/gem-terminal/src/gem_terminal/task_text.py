"""What an agent reads at the beginning of a task, and of a step: :func:`opening_text`, :func:`instruction_text`."""

from __future__ import annotations

from gem_terminal.episodes.task_session import TaskSession
from gem_terminal.network.mcp_servers import mcp_instruction
from gem_terminal.task import Task

__all__ = ["instruction_text", "opening_text"]

_SYNTAX = """\
Write one action a turn: a command between <bash> and </bash>, which runs in a shell that lives through the whole task \
(it reads from /dev/null and may take {seconds:g} seconds), or <finish/> when you are done. You have {turns} turns."""

_STEPS = "The task has {count} steps. You get the next one when you have finished this one."


def opening_text(task: Task, session: TaskSession, command_seconds: float, max_turns: int) -> str:
    """Return the instruction of a task, with text actions and the turn limit explained."""
    parts = [instruction_text(task, session), _SYNTAX.format(seconds=command_seconds, turns=max_turns)]
    if task.steps:
        parts.append(_STEPS.format(count=len(task.steps)))
    return "\n\n".join(parts)


def instruction_text(task: Task, session: TaskSession) -> str:
    """Return the instruction of a task or step, with the tools of its MCP servers."""
    if not task.mcp_servers:
        return task.instruction
    tools = "" if session.mcp is None else session.mcp.description()
    return f"{task.instruction}\n\n{mcp_instruction(task.mcp_servers, tools)}"
