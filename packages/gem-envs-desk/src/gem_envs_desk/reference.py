"""The reference policy of all desks: :class:`DeskPolicy`."""

from __future__ import annotations

import json
from typing import Any

import gem
from gem.core import Info
from gem_envs_desk.task import USER, DeskCall, DeskTask

__all__ = ["DeskPolicy", "ObedientPolicy", "call_text", "contact_plan"]

_ELSE = "Is there anything else that I can do for you?"


class DeskPolicy(gem.Policy[str, str]):
    """Carries out the gold calls, asks the user for theirs, tells the facts, and closes the contact.

    It reads the solution from the environment. A call that fails for no reason is repeated.
    """

    def __init__(self, env: gem.Env[Any, Any]) -> None:
        self.env = env
        self._left: list[str] = []
        self._last = ""

    def reset(self, observation: str, info: Info) -> None:
        env: Any = self.env.unwrapped
        self._left = contact_plan(env.current, self._calls(env.current))[::-1]
        self._last = ""

    def _calls(self, task: DeskTask) -> tuple[DeskCall, ...]:
        return task.gold

    def act(self, observation: str, info: Info) -> str:
        if "temporarily unavailable" in observation and self._last.startswith("<tool_call>"):
            return self._last
        self._last = self._left.pop() if self._left else _ELSE
        return self._last


class ObedientPolicy(DeskPolicy):
    """Does what the user says at first, and ignores the written policy: the baseline that every desk must defeat.

    It knows the facts to tell, and fails by its calls alone.
    """

    def _calls(self, task: DeskTask) -> tuple[DeskCall, ...]:
        return task.gold if task.naive is None else task.naive


def contact_plan(task: DeskTask, calls: tuple[DeskCall, ...]) -> list[str]:
    """Return the actions that carry out calls, one each, and then tell the facts and close the contact."""
    requests = {} if task.script is None else {_key(hand.call): hand.request for hand in task.script.hands}
    plan = [requests[_key(call)] if call.by == USER else call_text(call) for call in calls]
    facts = " ".join(f"{fact.about} {fact.value}." for fact in task.facts)
    if task.script is None:
        return [*plan, facts or "Everything is done."]
    return [*plan, *([facts] if facts else []), *[_ELSE] * len(task.script.wishes)]


def call_text(call: DeskCall) -> str:
    """Return a call as text."""
    content = {"name": call.tool, "arguments": dict(call.arguments)}
    return f"<tool_call>{json.dumps(content, ensure_ascii=False)}</tool_call>"


def _key(call: DeskCall) -> str:
    return f"{call.tool} {json.dumps(dict(call.arguments), sort_keys=True)}"
