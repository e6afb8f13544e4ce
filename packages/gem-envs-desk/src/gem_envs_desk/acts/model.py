"""A model as the customer who answers typed speech acts: :class:`ActModelUser`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from gem.text import spoken_text
from gem_envs_desk.acts.checker import ActChecker
from gem_envs_desk.acts.language import ASK, PROPOSE, SAY, TELL, DeskActs, SpeechAct
from gem_envs_desk.acts.user import ActReply, ActUser
from gem_envs_desk.task import Aim, DeskCall, DeskTask, Wish
from gem_envs_desk.users.chat import MANNERS, STOP, Ask, ModelChat, about_slot
from gem_rollout.simulated_people.faults import UserFault

__all__ = ["ActModelUser", "act_prompt"]

_SEEN = "(What you see, which the agent does not: "
_MESSAGES = {
    ASK: "The agent asks you for: ",
    PROPOSE: "The agent proposes: ",
    TELL: "The agent tells you: ",
    SAY: "The agent says: ",
}
_LONGEST_NAME = 200
"""Characters of the name of a topic, an action or a fact."""
_WANTS = {"deed": "that it is done", "amount": "the amount", "time": "the time", "answer": "the answer"}

_PROMPT = """You play a customer who writes to a service desk. You are not the agent, and you do not help the agent.

How you behave: {manner}
What you want, one thing after the other:
{wishes}

What you know; say it only when the agent asks for it:
{slots}

Each message names one thing that the agent does. Write one short message in answer, as the customer, and nothing else:
- The agent asks you for something: say it, and nothing beyond it. If you do not know it, say so.
- The agent proposes a call: begin with YES if it is one to which you agree, and with NO if it is not. Amounts and codes
  that you cannot know you believe. A case that the agent files is none of your business.
- The agent tells you something: take note of it.
- The agent asks whether there is anything else: if you have not been told what you must be told, say what is missing.
  Otherwise raise the next wish in your words, with all that it names. After the last one say goodbye and write {stop}.
Use only what stands here. Invent no numbers or names, and name no tool.
"""


class ActModelUser(ModelChat):
    """Lets a model play a script for typed speech acts, beside the scripted customer, whose answers it is held to.

    What only has to be heard, and what the customer does with their own hands, needs no words of a model: the script
    answers it. So it does where the customer has lost their patience.

    Args:
        task: the task, with the script.
        acts: the names of the desk.
        ask: see :data:`gem_envs_desk.users.chat.Ask`.
        use: carries out a call of a tool of the customer's and returns what they see.
        agent_tools: the names of the agent's tools, which the customer cannot know.
        told: returns whether the agent has told each fact of the task.
    """

    def __init__(
        self,
        task: DeskTask,
        acts: DeskActs,
        *,
        ask: Ask,
        use: Callable[[DeskCall], str],
        agent_tools: Sequence[str],
        told: Callable[[], Sequence[bool]],
    ) -> None:
        assert task.script is not None
        super().__init__(act_prompt(task, acts), task.script, ask)
        self._own_use, self._told = use, told
        self._scripted = ActUser(task.script, task.aims, acts, task.state, self._uses)
        self._checker = ActChecker(task, agent_tools)
        self._seen: list[str] = []

    @property
    def wish(self) -> int:
        """Index of the wish that is being discussed."""
        return self._scripted.wish

    def answer(self, act: SpeechAct) -> ActReply:
        """Return the model's answer to an act; one that breaks the script has a ``fault`` and ends the conversation."""
        self._seen = []
        before = self.wish
        reply = self._scripted.answer(act)
        self.messages.append({"role": "user", "content": _shown(act, self._seen)})
        goes_on = reply.is_content or self.wish != before
        if act.kind == SAY or (reply.ends and not reply.is_content) or (self._seen and not goes_on):
            self.messages.append({"role": "assistant", "content": reply.text})
            return reply
        answer = self.answered()
        if isinstance(answer, UserFault):
            return _spoiled(reply, answer, "")
        text = spoken_text(str(answer.get("content") or ""))
        ends = STOP in text
        text = text.replace(STOP, "").strip()
        said = [str(one["content"]) for one in self.messages[2:] if one["role"] == "assistant"]
        heard = [str(one["content"]) for one in self.messages[3:] if one["role"] == "user"]
        fault = self._checker.fault(
            text, act, reply, ends=ends, wish=self.wish, said=said, heard=heard, told=self._told()
        )
        self.messages.append({"role": "assistant", "content": text})
        return reply._replace(text=text or "Goodbye.") if fault is None else _spoiled(reply, fault, text)

    def get_state(self) -> dict[str, Any]:
        """Return the conversation, and what the script remembers of it, JSON values."""
        return {**super().get_state(), "script": self._scripted.get_state()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Remember what ``get_state`` returned.

        Raises:
            ValueError, KeyError, TypeError: for anything else.
        """
        self._scripted.set_state(state["script"])
        super().set_state(state)

    def _uses(self, call: DeskCall) -> str:
        seen = self._own_use(call)
        self._seen.append(seen)
        return seen


def _spoiled(reply: ActReply, fault: UserFault, text: str) -> ActReply:
    return reply._replace(text=text or "Goodbye.", agrees=False, ends=True, is_content=False, fault=fault)


def _shown(act: SpeechAct, seen: Sequence[str]) -> str:
    """Return the message in which a model reads an act, a line, and what the customer sees, a line for each deed."""
    name = " ".join(act.name.split())[:_LONGEST_NAME]
    value = json.dumps(act.value, ensure_ascii=False)
    content = {ASK: name, PROPOSE: f"{name} {value}", TELL: f"{name}: {value}", SAY: value}[act.kind]
    return "\n".join([f"{_MESSAGES[act.kind]}{content}", *(f"{_SEEN}{one})" for one in seen)])


def act_prompt(task: DeskTask, acts: DeskActs) -> str:
    """Return the system prompt of a model that plays the script of a task."""
    script = task.script
    assert script is not None
    wishes = [
        line
        for number, (wish, aim) in enumerate(zip(script.wishes, task.aims, strict=True), 1)
        for line in _about_wish(number, wish, aim, acts)
    ]
    slots = "\n".join(f"- {about_slot(slot)}" for slot in script.slots)
    return _PROMPT.format(manner=MANNERS[script.manner], wishes="\n".join(wishes), slots=slots, stop=STOP)


def _about_wish(number: int, wish: Wish, aim: Aim, acts: DeskActs) -> list[str]:
    lines = [" ".join(filter(None, (f"{number}.", wish.lead, wish.says)))]
    if wish.change:
        lines += [f"   You agree to {_terms(call, acts)} at first." for call in aim.first]
        lines.append(f"   When the agent proposes it, say no: you change your mind. {wish.change}")
    lines += [f"   You agree to {_terms(call, acts)}." for call in aim.agrees if call.tool in acts.writes]
    if wish.protests:
        times = "once" if len(wish.protests) == 1 else f"{len(wish.protests)} times"
        lines.append(f"   When the agent refuses it, you insist {times}, and then accept it:")
        lines += [f"   - {words}" for words in wish.protests]
    wants = [_WANTS[want] for want in wish.wants]
    if wants:
        lines.append(f"   You must be told {' and '.join(wants)}, or that it is refused.")
    return [*lines, *(f"   {about_slot(slot)}" for slot in wish.slots)]


def _terms(call: DeskCall, acts: DeskActs) -> str:
    """Return a call in which the customer believes some arguments."""
    believed = {*acts.unknown.get(call.tool, ()), *acts.lookups}
    arguments = {name: "…" if name in believed else value for name, value in call.arguments.items()}
    return f"{call.tool} {json.dumps(arguments, ensure_ascii=False)}"
