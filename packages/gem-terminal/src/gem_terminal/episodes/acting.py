"""Carries out the actions of an agent in a session, and records them: :func:`carry_out`, :func:`repeat`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gem_terminal.actions import Bash, CallMcpTool, CarriedAction, Finish, ReadFile, SendKeys, load_action
from gem_terminal.episodes.task_session import ActionResult, TaskSession

__all__ = ["carry_out", "repeat"]


def carry_out(action: CarriedAction, session: TaskSession) -> ActionResult:
    """Carry out an action.

    Raises:
        EngineError: if the container or the engine died.
    """
    recording = session.recording
    if recording is None:
        return _carried_out(action, session)
    recording.begin(action)
    done = _carried_out(action, session)
    recording.end(_remark(action, done))
    return done


def repeat(actions: Iterable[Mapping[str, Any]], session: TaskSession, *, restarts_clock: bool) -> None:
    """Carry out recorded actions again.

    Args:
        actions: the records, of :func:`~gem_terminal.actions.dump_action`.
        session: a fresh session.
        restarts_clock: whether a step of the task has a time limit of its own.

    Raises:
        EngineError: if the container or the engine died.
    """
    for recorded in actions:
        action = load_action(recorded)
        if isinstance(action, Finish):  # the tests of a step may have left something
            session.verify()
            session.next_step(restarts_clock=restarts_clock)
        else:
            carry_out(action, session)


def _carried_out(action: CarriedAction, session: TaskSession) -> ActionResult:
    if isinstance(action, Bash):
        return session.bash(action)
    if isinstance(action, SendKeys):
        return session.send_keys(action)
    if isinstance(action, ReadFile):
        return session.read_file(action)
    if isinstance(action, CallMcpTool):
        return session.call_mcp_tool(action)
    return session.write_file(action)


def _remark(action: CarriedAction, done: ActionResult) -> str:
    """Return what a recording shows of a result, beside the output that it has heard."""
    if isinstance(action, SendKeys):
        return ""
    if isinstance(action, Bash):
        last = done.text.rpartition("\n")[2]
        return last if last.startswith("[") else ""
    return done.text
