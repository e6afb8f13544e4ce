"""A model as the user of free text: :class:`ModelUser`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from gem.text import spoken_text
from gem.tools import Tool
from gem.tools.calls import ToolCall, native_calls, text_calls
from gem_envs_desk.task import DeskCall, DeskTask, UserScript
from gem_envs_desk.users.base import UserReply
from gem_envs_desk.users.chat import MANNERS, STOP, ModelChat, about_slot
from gem_envs_desk.users.checker import ScriptChecker
from gem_rollout.simulated_people.faults import UserFault

__all__ = ["ModelUser", "prompt_of"]

_SEEN = "(What you see, which the agent does not: "
_MOST_ROUNDS = 6
"""Rounds of calls of one reply."""

_PROMPT = """You play a customer who writes to a service desk. You are not the agent, and you do not help the agent.

How you behave: {manner}
What you want, one thing after the other; raise the next when the agent has settled the last:
{wishes}

What you know; say it only when the agent asks for it:
{slots}

Rules:
- Write one short message at a time, as the customer, and nothing else.
- Use only what stands here. If the agent asks for something else, say that you do not know. Invent no numbers or names.
- If the agent asks whether to go ahead, say yes, unless it is said above that you change your mind then.
- If the agent asks whether there is anything else and all is settled, or refuses your wish for good, write {stop}.
{hands}"""

_HANDS = """- You hold the phone, and the agent does not. When the agent asks you to look at it or to change it, do so
  with these tools, and then tell the agent the result. To use one, write
  <tool_call>{{"name": "…", "arguments": {{…}}}}</tool_call> and nothing else. Use them only when asked to.
{tools}"""


class ModelUser(ModelChat):
    """Lets a model play the user.

    The first message is that of the script, so that every episode of a task begins alike.

    Args:
        task: the task, with the script.
        ask: returns the model's next message to chat messages; raises if there is none.
        use: carries out a call of a tool of the user's and returns what the user sees.
        tools: the user's tools.
        agent_tools: the names of the agent's tools, which the user cannot know.
        told: returns whether the agent has told each fact of the task.
    """

    def __init__(
        self,
        task: DeskTask,
        *,
        ask: Callable[[list[dict[str, Any]]], dict[str, Any]],
        use: Callable[[DeskCall], str],
        tools: Sequence[Tool],
        agent_tools: Sequence[str],
        told: Callable[[], Sequence[bool]],
    ) -> None:
        assert task.script is not None
        super().__init__(prompt_of(task.script, tools), task.script, ask)
        self._use, self._told = use, told
        self._tools = {tool.name: tool for tool in tools}
        self._checker = ScriptChecker(task, agent_tools)
        self._agent_tools = list(agent_tools)

    def reply(self, message: str) -> UserReply:
        """Return the model's answer; what makes it no user has a ``fault``."""
        turns = [*self._turns(), (message, "")]
        # A message of the agent may hold anything; what it said is known to the user from then on.
        self.messages.append({"role": "user", "content": message})
        seen: list[tuple[DeskCall, str]] = []
        for _ in range(_MOST_ROUNDS):
            answer = self.answered()
            if isinstance(answer, UserFault):
                return _spoiled(answer)
            text = spoken_text(str(answer.get("content") or ""))
            calls = native_calls(answer) or text_calls(text)
            if not calls:
                break
            foreign = next((call.name for call in calls if call.name in self._agent_tools), None)
            if foreign is not None:
                return _spoiled(UserFault("agent's tool", f"the user calls the agent's tool {foreign}"))
            self.messages.append({"role": "assistant", "content": text or json.dumps([call.name for call in calls])})
            results = [self._called(call, seen) for call in calls]
            shown = "\n".join(results)
            self.messages.append({"role": "user", "content": f"{_SEEN}{shown})"})
        else:
            return _spoiled(UserFault("endless calls", "the user does not stop calling tools"))
        ends = STOP in text
        text = text.replace(STOP, "").strip()
        fault = self._checker.fault(text, ends=ends, turns=turns, seen=seen, told=self._told())
        self.messages.append({"role": "assistant", "content": text})
        return UserReply(text or "Goodbye.", ends) if fault is None else _spoiled(fault, text)

    def _turns(self) -> list[tuple[str, str]]:
        """Return the agent's message and the user's reply of each turn, without calls and what they showed."""
        turns: list[tuple[str, str]] = []
        for message in self.messages[3:]:
            text = str(message["content"])
            if message["role"] == "user" and not text.startswith(_SEEN):
                turns.append((text, ""))
            elif message["role"] == "assistant" and turns:
                turns[-1] = (turns[-1][0], text)
        return turns

    def _called(self, call: ToolCall, seen: list[tuple[DeskCall, str]]) -> str:
        if call.error is not None or call.name is None or call.name not in self._tools:
            return call.error or f"There is no tool {call.name!r:.80}."
        own = DeskCall(call.name, dict(call.arguments), "user")
        shown = self._use(own)
        seen.append((own, shown))
        return shown


def _spoiled(fault: UserFault, text: str = "") -> UserReply:
    return UserReply(text or "Goodbye.", ends=True, fault=fault.reason, fault_kind=fault.kind)


def prompt_of(script: UserScript, tools: Sequence[Tool] = ()) -> str:
    """Return the system prompt of a model that plays a script."""
    wishes = []
    for number, wish in enumerate(script.wishes, 1):
        wishes.append(f"{number}. {wish.says}")
        if wish.change:
            wishes.append(f"   When the agent asks whether to go ahead, you change your mind once: {wish.change}")
        if wish.protest:
            wishes.append(f"   When the agent refuses it, you insist once: {wish.protest}")
        wishes += [f"   {about_slot(slot)}" for slot in wish.slots if slot.asks]
    hands = ""
    if tools:
        hands = _HANDS.format(tools="\n".join(f"  {tool.instruction_string()}" for tool in tools))
    return _PROMPT.format(
        manner=MANNERS[script.manner],
        wishes="\n".join(wishes),
        slots="\n".join(f"- {about_slot(slot)}" for slot in script.slots),
        stop=STOP,
        hands=hands,
    )
