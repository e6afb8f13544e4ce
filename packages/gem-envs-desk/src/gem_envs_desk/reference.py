"""The reference policy of all desks, and a baseline that ignores the written policy."""

from __future__ import annotations

import json
from typing import Any

import gem
from gem.core import Info
from gem_envs_desk.task import USER, DeskCall, DeskTask, UserScript, Wish

__all__ = ["DeskPolicy", "ObedientPolicy", "call_text"]

_ELSE = "Is there anything else that I can do for you?"
_PROCEED = "I will do it as you say. Shall I proceed?"
_REFUSALS = ("refused request", "identity not verified", "visit a shop")
"""The categories of cases that are filed in place of what the user wants."""
_REFUSES = "I am sorry, I cannot do that."
_DONE = "That is done."


class DeskPolicy(gem.Policy[str, str]):
    """Serves the user as the written policy demands: asks, has changes confirmed, calls, tells, asks for more.

    It reads the solution from the environment, and from the script what there is to ask for. A call that fails for no
    reason is repeated.
    """

    def __init__(self, env: gem.Env[Any, Any]) -> None:
        self.env = env
        self._left: list[str] = []
        self._last = ""

    def reset(self, observation: str, info: Info) -> None:
        env: Any = self.env.unwrapped
        self._left = self._plan(env.current)[::-1]
        self._last = ""

    def act(self, observation: str, info: Info) -> str:
        if "temporarily unavailable" in observation and self._last.startswith("<tool_call>"):
            return self._last
        self._last = self._left.pop() if self._left else _ELSE
        return self._last

    def _plan(self, task: DeskTask) -> list[str]:
        """Return the actions of an episode in which nothing fails."""
        if task.script is None:
            return [*map(call_text, task.gold), _told(task, range(len(task.gold))) or "Everything is done."]
        plan = [f"What is your {slot.name}, please?" for slot in task.script.slots[:1]]
        shares, start = task.shares or (len(task.gold),), 0
        for wish, share in zip(task.script.wishes, (*shares, *[0] * len(task.script.wishes)), strict=False):
            plan += _questions(wish)
            calls = task.gold[start : start + share]
            refused = any(call.arguments.get("category") in _REFUSALS for call in calls)
            if refused:
                plan += [_REFUSES] * 2 if wish.protest else [_REFUSES]
            else:
                plan += [_PROCEED] * 2 if wish.change else [_PROCEED]
            plan += [_action(call, task.script) for call in calls]
            told = _told(task, range(start, start + share))
            plan += [" ".join(filter(None, (told, "" if refused else _DONE, _ELSE)))]
            start += share
        return plan


class ObedientPolicy(DeskPolicy):
    """Does what the user says at first, and ignores the written policy: the baseline that every desk must defeat.

    It knows the facts to tell, and fails by its calls alone.
    """

    def _plan(self, task: DeskTask) -> list[str]:
        calls = task.gold if task.naive is None else task.naive
        if task.script is None:
            return [*map(call_text, calls), _told(task, range(len(task.gold))) or "Everything is done."]
        plan = [_action(call, task.script) for call in calls]
        told = _told(task, range(len(task.gold)))
        closing = " ".join(filter(None, (told, _DONE, _ELSE)))
        return [*plan, *[closing] * len(task.script.wishes)]


def call_text(call: DeskCall) -> str:
    """Return a call as text."""
    content = {"name": call.tool, "arguments": dict(call.arguments)}
    return f"<tool_call>{json.dumps(content, ensure_ascii=False)}</tool_call>"


def _questions(wish: Wish) -> list[str]:
    """Return a question for each slot; a second one for those that the user gets wrong at first."""
    questions = []
    for slot in wish.slots:
        if slot.extra:
            continue
        questions.append(slot.question or f"What is the {slot.asks[0]}, please?")
        if slot.wrong:
            questions.append(f"I do not find that. What is the {slot.asks[0]}, please?")
    return questions


def _action(call: DeskCall, script: UserScript) -> str:
    if call.by != USER:
        return call_text(call)
    return next(hand.request for hand in script.hands if hand.call == call)


def _told(task: DeskTask, sources: range) -> str:
    return " ".join(f"{fact.about} {_shown(fact.value)}." for fact in task.facts if fact.source in sources)


def _shown(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}" if value == round(value, 2) else str(value)
