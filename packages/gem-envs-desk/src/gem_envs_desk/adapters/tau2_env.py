"""The tasks of tau2-bench, from a checkout of the user: :class:`Tau2Env`."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Mapping
from functools import cache
from itertools import count, groupby
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import gem
from gem.arguments import boolean, choice, integer, string
from gem.core import Info
from gem.errors import ArgumentError, GemError, LineWorkerError
from gem.state_fields import StateFields
from gem.text_env import MoveResult, failure, fault, illegal, legal, malformed, success
from gem.tools.calls import ToolCall, native_calls, text_calls
from gem_processes import LineWorker, ResourceHandle, SharedResource, after_fork_in_child

__all__ = ["Tau2Env", "Tau2Move", "Tau2Policy"]

_WORKER = Path(__file__).with_name("tau2_worker.py")
_GOLD = "gold"
_USERS = ("scripted", "model", _GOLD, "none")
_STOP = "done"
_MOST_CALLS = 16
_SECONDS, _MOST_BYTES = 900.0, 2**26
"""For an answer of the process, in which a model may play the user, and its longest answer."""
_sessions = count(1)

_INSTRUCTIONS = """{policy}

{ticket}You may call tools natively, or by <tool_call>{{"name": "…", "arguments": {{…}}}}</tool_call>; any other text \
goes to the user. A message holds either. When all is done, call {stop}. You have {turns} turns.

Tools:
{tools}

{said}"""


@cache
def _shared(command: tuple[str, ...]) -> SharedResource[LineWorker]:
    """Return the process of a checkout, which starts with its first use and ends after its last user."""
    # Libraries of the checkout find the keys of models in the environment.
    return SharedResource(lambda: LineWorker(command, _SECONDS, _MOST_BYTES, os.environ), LineWorker.close)


after_fork_in_child(_shared.cache_clear)


class Tau2Move(NamedTuple):
    """A message to the user, or calls of tools."""

    text: str
    calls: tuple[ToolCall, ...]


class _MessageForm:
    """Reads calls in ``<tool_call>``, or else the text as a message."""

    def read(self, text: str, /) -> Tau2Move | None:
        calls = tuple(text_calls(text)[:_MOST_CALLS])
        if calls:
            return Tau2Move("", calls)
        return Tau2Move(text.strip(), ()) if text.strip() else None

    def sample(self, rng: Any, /) -> str:
        return str(rng.choice(("How can I help you?", '<tool_call>{"name": "done", "arguments": {}}</tool_call>')))


class Tau2Env(gem.TextEnv[Tau2Move]):
    """One task of tau2-bench per episode, played by tau2 itself in a process of its own.

    The domain, its tools and its policy, the tasks, the reward and its bases are those of the checkout; nothing of it
    is part of this package. The reward is that of tau2's own evaluator at the end of the conversation: the product of
    the bases of the task. ``info["bases"]`` has each, and ``info["unjudged"]`` the number of assertions that only
    a model can judge and that were left out.

    The reset option ``task`` chooses a task by its place in the split.

    Args:
        path: the folder of the checkout of https://github.com/sierra-research/tau2-bench, version 1.
        domain: ``"retail"``, ``"airline"``, ``"telecom"`` or another one of the checkout.
        split: a split of the domain's tasks, such as ``"base"``, ``"train"`` or ``"test"``; None for all tasks.
        user: ``"model"`` for tau2's simulated user; ``"scripted"`` for one that says the whole scenario at once and
            agrees to everything, which needs no model; ``"gold"`` for one that makes the user's actions of the solution
            as well, those up to the agent's next one whenever the agent speaks to it; ``"none"`` for tau2's solo mode,
            where the domain has it.
        user_model: the user's model, as litellm names it.
        user_model_args: further arguments of its calls, such as ``{"api_base": "http://…/v1"}``.
        retrieval: how the agent finds documents in the domain banking_knowledge, as tau2 names it: ``"bm25_grep"``,
            ``"grep_only"``, ``"golden_retrieval"`` …; None for tau2's default, which asks an embedding service.
        judge: whether tau2 asks its model about assertions in words. Otherwise they are no base of the reward.
        python: an interpreter that has what tau2 needs, such as the one of its virtual environment.
        max_turns: turns of the agent.

    Raises:
        ArgumentError: at the first reset, if there is no checkout at ``path``.
    """

    form = _MessageForm()
    saved = StateFields(task_id=str, world_seed=int, moves=list[Any])
    request = ""
    closings: ClassVar[dict[str, str]] = {
        "success": "The conversation is over.",
        "failure": "The conversation is over.",
        "turns": "No turns are left.",
        "malformed": "The episode is over.",
        "fault": "The episode is broken off.",
    }

    def __init__(
        self,
        path: str | None = None,
        domain: str = "retail",
        split: str | None = "base",
        user: str = "scripted",
        user_model: str | None = None,
        user_model_args: Mapping[str, Any] | None = None,
        retrieval: str | None = None,
        judge: bool = False,
        python: str = sys.executable,
        max_turns: int = 100,
    ) -> None:
        super().__init__(max_turns)
        self.path, self.domain, self.split, self.python = path, domain, split, python
        self.user = choice("user", user, _USERS)
        if (user == "model") != (user_model is not None):
            raise ArgumentError("user='model' needs user_model, and only it; for example user_model='openai/gpt-4.1'")
        self.user_model, self.user_model_args = user_model, dict(user_model_args or {})
        self.retrieval = None if retrieval is None else string("retrieval", retrieval)
        self.judge = boolean("judge", judge)
        self._worker: ResourceHandle[LineWorker] | None = None
        self._session: int | None = None
        self._opened: dict[str, Any] = {}
        self._ids: list[str] = []
        self._score: Info = {}

    @property
    def task_ids(self) -> list[str]:
        """The names of the tasks of the split, in its order; none before the first reset."""
        return list(self._ids)

    @property
    def gold(self) -> list[list[Any]]:
        """The actions of the task's solution: name, arguments, and who makes them."""
        return list(self._opened["gold"])

    @property
    def facts(self) -> list[str]:
        """What the agent must tell the user."""
        return list(self._opened["facts"])

    @property
    def tool_schemas(self) -> list[dict[str, Any]]:
        """The tools in the format of the ``tools`` argument of chat APIs; none before the first reset."""
        if not self._opened:
            return []
        empty = {"type": "object", "properties": {}}
        stop = {"name": _STOP, "description": "End the conversation.", "parameters": empty}
        return [*json.loads(json.dumps(self._opened["tools"])), {"type": "function", "function": stop}]

    def step(self, action: Any) -> tuple[str, float, bool, bool, Info]:
        """Send a message or call tools; an assistant message may call them natively."""
        self._native = None
        if type(action) is not str and (calls := native_calls(action)):
            self._native = Tau2Move("", tuple(calls[:_MOST_CALLS]))
            action = "(calls)"
        self._score = {}
        observation, reward, terminated, truncated, info = super().step(action)
        info.update(self._score)
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        """End the session, and the process if no other environment uses it."""
        self._end_session()
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()

    def _begin(self, task: int | None = None) -> None:
        if not self._ids:
            self._ids = self._ask({"request": "tasks", "domain": self.domain, "split": self.split})["tasks"]
        last = len(self._ids) - 1
        place = self.rng.randint(0, last) if task is None else integer("task", task, minimum=0, maximum=last)
        self.task_id = self._ids[place]
        self.world_seed = self.rng.getrandbits(31)
        self.moves: list[Any] = []
        self._opened = self._new_session()

    def _new_session(self) -> dict[str, Any]:
        self._end_session()
        number = next(_sessions)
        opened = self._ask(
            {
                "request": "begin",
                "session": number,
                "domain": self.domain,
                "split": self.split,
                "task": self.task_id,
                "user": self.user,
                "user_model": self.user_model,
                "user_model_args": self.user_model_args,
                "retrieval": self.retrieval,
                "judge": self.judge,
                "seed": self.world_seed,
                "max_steps": 4 * self.max_turns,
            }
        )
        self._session = number
        return opened

    def _end_session(self) -> None:
        session, self._session = self._session, None
        if session is not None and self._worker is not None:
            with contextlib.suppress(LineWorkerError):  # it ended with its process
                self._ask({"request": "end", "session": session})

    def _handle(self) -> ResourceHandle[LineWorker]:
        if self._worker is None:
            if self.path is None:
                raise ArgumentError(
                    "desk:Tau2-v0 plays a checkout of tau2-bench of your own: clone "
                    "https://github.com/sierra-research/tau2-bench and give path= its folder"
                )
            folder = Path(self.path).expanduser().absolute()
            if not (folder / "src" / "tau2" / "orchestrator").is_dir():
                raise ArgumentError(f"path={self.path!r} is no checkout of tau2-bench: it has no src/tau2/orchestrator")
            self._worker = _shared((self.python, str(_WORKER), str(folder))).handle()
        return self._worker

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        handle = self._handle()
        worker = handle.value
        try:
            return worker.request(request)
        except LineWorkerError:
            if not worker.is_alive:  # another reset starts another one
                self._worker = None
                _shared.cache_clear()
                handle.close()
            raise

    def _instructions(self) -> str:
        opened = self._opened
        tools = "\n".join(
            f"- {tool['function']['name']}: {json.dumps(tool['function']['parameters'].get('properties', {}))} "
            f"{tool['function'].get('description', '')}"
            for tool in self.tool_schemas
        )
        ticket = f"Ticket: {opened['ticket']}\n\n" if opened["ticket"] else ""
        return _INSTRUCTIONS.format(
            policy=opened["policy"], ticket=ticket, stop=_STOP, turns=self.max_turns, tools=tools, said=_said(opened)
        )

    def _play(self, move: Tau2Move) -> MoveResult:
        move = self._native or move
        broken = next((call.error for call in move.calls if call.error is not None), None)
        if broken is not None:
            return illegal(broken)
        try:
            if self._session is None:
                self._new_session()
                for text, calls in self.moves:
                    self._send(text, calls)
            calls = [[call.name, dict(call.arguments)] for call in move.calls]
            news = self._send(move.text, calls)
        except GemError as error:
            return fault("tau2 has failed.", str(error))
        self.moves.append([move.text, calls])
        said = _said(news) or "(nothing was said)"
        if not news["done"]:
            return legal(said)
        self._score = {"bases": news["bases"], "unjudged": news["unjudged"], "ended_by": news["ended_by"],
                       "correct": news["reward"] == 1.0}  # fmt: skip
        return success(said, news["reward"]) if news["reward"] == 1.0 else failure(said, news["reward"])

    def _send(self, text: str, calls: list[Any]) -> dict[str, Any]:
        return self._ask({"request": "act", "session": self._session, "text": text, "calls": calls})

    def _malformed(self) -> MoveResult:
        return malformed("The message is empty.", 0.0, ends=False)

    def _load(self, episode: dict[str, Any]) -> None:
        if self.user == "model":
            raise gem.errors.NotSupportedError("a conversation with a model as its user cannot be restored")
        super()._load(episode)
        self._session = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_worker": None, "_session": None}


def _said(news: Mapping[str, Any]) -> str:
    names = {"user": "User", "tool": "Result", "assistant": "You"}
    return "\n".join(f"{names[role]}: {text}" for role, text in news["said"])


class Tau2Policy(gem.Policy[str, str]):
    """Makes the gold actions of the agent, tells the user what must be told, and ends the conversation.

    A user who makes their own gold actions, ``user="gold"``, is asked for them in their place.
    """

    def __init__(self, env: gem.Env[Any, Any]) -> None:
        self.env = env
        self._left: list[str] = []

    def reset(self, observation: str, info: Info) -> None:
        env: Tau2Env = self.env.unwrapped  # type: ignore[assignment]  # a policy of this environment
        self._left = []
        for who, block in groupby(env.gold, lambda action: action[2]):
            if who == "assistant":
                calls = [{"name": name, "arguments": arguments} for name, arguments, _ in block]
                self._left += [f"<tool_call>{json.dumps(call)}</tool_call>" for call in calls]
            elif env.user == _GOLD:
                self._left.append("Please do that now.")
        if env.facts:
            self._left.append("; ".join(env.facts))
        self._left.append(f'<tool_call>{{"name": "{_STOP}", "arguments": {{}}}}</tool_call>')
        self._left.reverse()

    def act(self, observation: str, info: Info) -> str:
        return self._left.pop()
