"""The observation and the info of a turn, from the results of its actions or of the tests: :func:`observation_of`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gem.core import Info
from gem_terminal.actions import RequestedAction
from gem_terminal.episodes.task_session import ActionResult
from gem_terminal.verdicts.verifier_result import VerifierResult

__all__ = ["observation_of", "tool_results_of", "verdict_info"]


def observation_of(actions: Sequence[RequestedAction], action_results: Sequence[ActionResult]) -> str:
    """Return what the agent sees of the results of its actions."""
    if len(action_results) == 1:
        return action_results[0].text
    names = [asked.call.name if asked.call is not None else None for asked in actions]
    return "\n\n".join(
        f"Result of {str(name)[:64]}:\n{action_result.text}"
        for name, action_result in zip(names, action_results, strict=True)
    )


def tool_results_of(actions: Sequence[RequestedAction], action_results: Sequence[ActionResult]) -> list[dict[str, Any]]:
    """Return the result of each native call, in the form of :class:`gem.tools.ToolEnvWrapper`."""
    return [
        {"tool_call_id": asked.call.id, "name": asked.call.name, "text": action_result.text, "ok": action_result.ok}
        for asked, action_result in zip(actions, action_results, strict=True)
        if asked.call is not None and asked.call.id is not None
    ]


def verdict_info(result: VerifierResult) -> Info:
    """Return the info of the last turn."""
    said: Info = {
        "success": result.success,
        "rewards": result.rewards,
        "verifier_log": result.log,
        "verifier_error": result.error,
        "verifier_hint": result.hint,
        "verdict": result.worth,
        "verdict_doubts": list(result.doubts) or None,
        "tests_passed": result.passed,
        "tests_total": result.total,
    }
    return {key: value for key, value in said.items() if value is not None}
