"""Carries out the actions of an agent in a session, and records them: :func:`carry_out`, :func:`repeat`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gem_terminal.actions import (
    Bash,
    CallMcpTool,
    CarriedAction,
    Finish,
    OtherAction,
    ReadFile,
    SendKeys,
)
from gem_terminal.episodes.task_session import ActionResult, TaskSession

__all__ = ["CarryOther", "carry_out", "repeat"]

CarryOther = Callable[[Any, TaskSession], ActionResult]
"""Carries out an action that only its own environment knows."""


def carry_out(action: CarriedAction, session: TaskSession, other: CarryOther | None = None) -> ActionResult:
    """Carry out an action.

    Args:
        action: the action.
        session: the session.
        other: carries out an :class:`~gem_terminal.actions.OtherAction`.

    Raises:
        EngineError: if the container or the engine died.
    """
    recording = session.recording
    if recording is None:
        return _carried_out(action, session, other)
    recording.begin(action)
    done = _carried_out(action, session, other)
    recording.end(_remark(action, done))
    return done


def repeat(
    actions: Iterable[CarriedAction | Finish],
    session: TaskSession,
    *,
    restarts_clock: bool,
    other: CarryOther | None = None,
) -> None:
    """Carry out recorded actions again.

    Args:
        actions: the actions.
        session: a fresh session.
        restarts_clock: whether a step of the task has a time limit of its own.
        other: see :func:`carry_out`.

    Raises:
        EngineError: if the container or the engine died.
    """
    for action in actions:
        if isinstance(action, Finish):  # the tests of a step may have left something
            session.verify()
            session.next_step(restarts_clock=restarts_clock)
        else:
            carry_out(action, session, other)


def _carried_out(action: CarriedAction, session: TaskSession, other: CarryOther | None) -> ActionResult:
    if isinstance(action, OtherAction):
        assert other is not None
        return other(action, session)
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
