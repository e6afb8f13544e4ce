"""Stand-ins for models that play a user: one that keeps to its script, and those that break it in a known way each.

A stand-in speaks through the door of a model: it gets chat messages and returns an assistant's message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gem_envs_desk.acts.env import ActDeskEnv
from gem_envs_desk.acts.language import ASK, PROPOSE, SAY, TELL, SpeechAct
from gem_envs_desk.acts.user import ActReply, ActUser
from gem_envs_desk.env import DeskEnv
from gem_envs_desk.reference import call_text
from gem_envs_desk.task import DeskCall
from gem_envs_desk.users.chat import STOP
from gem_envs_desk.users.scripted import ScriptedUser

__all__ = ["HonestActUser", "HonestUser", "connected"]

Messages = list[dict[str, Any]]
_ENDLESS = 1000


class HonestUser:
    """The scripted user behind a model's door, tool calls included.

    Args:
        env: the environment in play; each of its episodes has a user of its own.
        stays: whether it bears an agent who wastes its time, as the prompt of a model demands.
    """

    def __init__(self, env: DeskEnv, *, stays: bool = False) -> None:
        self.env, self._stays = env, stays
        self._user: ScriptedUser | None = None
        self._left: list[DeskCall] = []
        self._shown: list[str] = []
        self._message = ""

    def __call__(self, messages: Messages) -> str:
        if len(messages) == 4:  # the prompt, the opening and the first message of the agent
            task = self.env.current
            assert task.script is not None
            patience = _ENDLESS if self._stays else task.script.patience
            self._user = ScriptedUser(replace(task.script, patience=patience), self._use, task.aims)
        assert self._user is not None
        if self._left:
            # What the last call showed stands in brackets.
            self._shown.append(str(messages[-1]["content"]).partition(": ")[2].removesuffix(")"))
            self._left.pop(0)
        else:
            self._message = str(messages[-1]["content"])
            self._shown = []
        before = self._user.get_state()
        self._asked: list[DeskCall] = []
        reply = self._user.reply(self._message)
        if len(self._asked) > len(self._shown):
            self._user.set_state(before)
            self._left = self._asked[len(self._shown) :][:1]
            return call_text(replace(self._left[0], by="agent"))
        return f"{reply.text} {STOP}" if reply.ends else reply.text

    def _use(self, call: DeskCall) -> str:
        self._asked.append(call)
        shown = len(self._asked) <= len(self._shown)
        return self._shown[len(self._asked) - 1] if shown else "signal and data"


class HonestActUser:
    """The scripted customer of typed speech acts behind a model's door, who reads the acts in the messages alone.

    Args:
        env: the environment in play; each of its episodes has a user of its own.
    """

    def __init__(self, env: ActDeskEnv) -> None:
        self.env = env
        self._seen: list[str] = []

    def __call__(self, messages: Messages) -> str:
        return self.spoken(self.reply(messages))

    def reply(self, messages: Messages) -> ActReply:
        """Return the script's answer to the last of the messages."""
        task = self.env.current
        assert task.script is not None
        user = ActUser(task.script, task.aims, self.env.domain.acts, task.state, lambda call: self._seen.pop(0))
        for message in messages[3:]:
            if message["role"] == "user":
                act, self._seen = _read(str(message["content"]))
                reply = user.answer(act)
        return reply

    @staticmethod
    def spoken(reply: ActReply) -> str:
        """Return an answer as a model writes it."""
        return f"{reply.text} {STOP}" if reply.ends else reply.text


def _read(message: str) -> tuple[SpeechAct, list[str]]:
    """Return the act of a message, and what the customer sees."""
    line, *seen = message.split("\n(What you see, which the agent does not: ")
    words, _, content = line.partition(": ")
    kind = {"asks you for": ASK, "proposes": PROPOSE, "tells you": TELL, "says": SAY}[words.removeprefix("The agent ")]
    if kind == SAY:
        return SpeechAct(SAY, value=json.loads(content)), []
    name, value = content, "null"
    if kind != ASK:
        name, value = re.split(r" (?=\{)|: ", content, maxsplit=1)
    return SpeechAct(kind, name, json.loads(value)), [one.removesuffix(")") for one in seen]


def connected(env: DeskEnv, answers: Callable[[Messages], Any]) -> None:
    """Let a stand-in play the user of an environment that was made with ``user="scripted:…"``."""
    from gem_eval.clients import ScriptedClient

    env._model.client = ScriptedClient(answers)
