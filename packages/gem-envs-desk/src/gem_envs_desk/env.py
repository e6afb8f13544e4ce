"""The environment around a desk: :class:`DeskEnv`."""

from __future__ import annotations

import json
from abc import ABC
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

from gem.arguments import boolean, choice, integer, real, string
from gem.core import Info
from gem.numbered_tasks import NumberedTaskEnv
from gem.state_fields import StateFields
from gem.text_env import MoveResult, failure, illegal, legal, malformed, success
from gem.tools import Tool, ToolResult
from gem.tools.calls import ToolCall, native_calls, text_calls
from gem_envs_desk.checks import gold_run
from gem_envs_desk.domain import DeskDomain, DeskWorld, carried_out
from gem_envs_desk.facts import tells
from gem_envs_desk.store import Dump, differences
from gem_envs_desk.task import AGENT, USER, DeskCall, DeskTask
from gem_envs_desk.users.base import SimulatedUser
from gem_envs_desk.users.model import ModelUser
from gem_envs_desk.users.scripted import ScriptedUser
from gem_rollout.simulated_people.model import SCRIPTED, PersonModel, person_address

__all__ = ["END_TOOL", "LEVELS", "SPLITS", "DeskEnv", "DeskMove", "cached_task"]

SPLITS = ("train", "test")
LEVELS = (1, 2, 3)
END_TOOL = "end_conversation"
"""The tool with which the agent ends the episode."""

_MOST_CALLS = 100_000
"""Calls of a state."""
_LONGEST_MESSAGE = 8000
"""Characters of a message that the user reads."""
_SHOWN_DIFFERENCES = 10

_INSTRUCTIONS = """You are the {role}. {setting}

# Policy

{policy}

# How you act

In each of your {turns} turns you either {talk} or call tools, by text, as many as you like in one turn:
<tool_call>{{"name": "…", "arguments": {{…}}}}</tool_call>
{end}

# Tools

{tools}

# {heading}

{request}"""

_END_SCHEMA: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": END_TOOL,
        "description": "End the episode, because everything is settled.",
        "parameters": {"type": "object", "properties": {}, "required": []},
    },
}


class DeskMove(NamedTuple):
    """What the agent does in a turn: calls, or a message to the user."""

    calls: list[ToolCall]
    message: str


class _DeskForm:
    """Reads calls in ``<tool_call>``; any other text is a message."""

    def read(self, text: str, /) -> DeskMove | None:
        calls = text_calls(text)
        if calls:
            return DeskMove(calls, "")
        message = text.strip()
        return DeskMove([], message) if message else None

    def sample(self, rng: Any, /) -> str:
        return str(rng.choice(("What can I do for you?", "Shall I proceed?", "Is there anything else?")))


class DeskEnv(NumberedTaskEnv[DeskMove], ABC):
    """One contact at a desk per episode: the agent talks to a user, calls tools, and keeps to a policy.

    A subclass sets ``domain``. The episode ends when the user leaves or the agent calls ``end_conversation``. The
    reward is 1.0 if the whole state then equals the state that the gold calls leave, and the user has been told every
    fact of the task; else 0.0. Calls that only read change nothing, so they never count.

    The last ``info`` has ``state_matches`` and ``facts_told`` (bools), ``differences`` (a list of sentences), and
    ``user_fault`` (a str) if the user has spoiled the episode, which is then truncated with reward 0.0 and says nothing
    about the agent; trainers mask it. ``user_fault_kind`` is one of :data:`gem_rollout.simulated_people.faults.FAULTS`.

    The reset option ``task``, an int below 2⁴⁸, chooses a task.

    Args:
        level: 1 to 3.
        split: ``"train"`` or ``"test"``. No task is in both.
        max_turns: messages and rounds of calls of the agent.
        tool_instructions: whether the first observation lists the tools. Turn it off if the model gets
            ``tool_schemas`` through its chat API.
        failure_rate: share of the agent's calls that fail for no reason, change nothing and can be repeated.
        user: ``"scripted"``, or the URL of a model server, such as ``"http://localhost:8000/v1"``, whose model plays
            the user; this needs gem-eval. Episodes with a model as user are not repeatable.
        user_model: the name of the model there; None takes the only one that there is.
    """

    domain: ClassVar[DeskDomain]
    form = _DeskForm()
    saved = StateFields(
        task=int,
        calls=list[dict[str, Any]],
        told=list[bool],
        memory=dict[str, Any],
        has_left=bool,
        user_fault=str,
        user_fault_kind=str,
    )
    levels: ClassVar[tuple[int, ...]] = LEVELS
    request = ""
    closings: ClassVar[dict[str, str]] = {
        "success": "The contact is over.",
        "failure": "The contact is over.",
        "turns": "No turns are left.",
        "malformed": "The episode is over.",
        "fault": "The episode is broken off.",
    }
    role: ClassVar[str] = "agent at a service desk"
    closing_action: ClassVar[str] = f'<tool_call>{{"name": "{END_TOOL}", "arguments": {{}}}}</tool_call>'
    """What has the contact judged, for an agent that ends without saying so."""

    def __init__(
        self,
        level: int = 1,
        split: str = "train",
        max_turns: int = 30,
        tool_instructions: bool = True,
        failure_rate: float = 0.0,
        user: str = SCRIPTED,
        user_model: str | None = None,
    ) -> None:
        super().__init__(max_turns)
        self.level = choice("level", level, self.levels)
        self.split = choice("split", split, SPLITS)
        self.tool_instructions = boolean("tool_instructions", tool_instructions)
        self.failure_rate = real("failure_rate", failure_rate, minimum=0.0, maximum=1.0)
        self.user = person_address("user", user)
        self.user_model = None if user_model is None else string("user_model", user_model)
        self._model = PersonModel(self.user, self.user_model)
        self._world: DeskWorld | None = None

    @property
    def current(self) -> DeskTask:
        """The task of this episode, with its solution."""
        return self._task

    @property
    def world(self) -> DeskWorld:
        """The world of this episode, as the agent has left it."""
        if self._world is None:
            self._world = self.domain.open(self._task.state)
            for call in self.calls:
                carried_out(self._world, DeskCall(**call))
        return self._world

    @property
    def tool_schemas(self) -> list[dict[str, Any]]:
        """The agent's tools as chat APIs take them in ``tools``."""
        return [*(tool.to_openai() for tool in self.world.tools[AGENT].values()), _END_SCHEMA]

    def step(self, action: Any) -> tuple[str, float, bool, bool, Info]:
        """Send a message or call tools; an assistant message may call them natively."""
        if not isinstance(action, str) and (calls := native_calls(action)):
            action = "".join(map(_as_text, calls))
        observation, reward, terminated, truncated, info = super().step(action)
        if terminated or truncated:
            if not self._score:
                self._grade()
            info.update(self._score)
            if self.user_fault:
                reward, terminated, truncated = 0.0, False, True
            self._discard_world()
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        """Discard the world and the connection to the user's model; a later step makes them again."""
        self._discard_world()
        self._model.close()

    def _discard_world(self) -> None:
        world, self._world = self._world, None
        if world is not None:
            world.close()

    def _begin(self, task: int | None = None) -> None:
        super()._begin(task)
        self._discard_world()
        self._begin_task()

    def _begin_task(self) -> None:
        """Set the task of the episode up, of which nothing has been done or told."""
        self.calls: list[dict[str, Any]] = []
        self._set_task()
        self.told = [False] * len(self._task.facts)
        self.has_left, self.user_fault, self.user_fault_kind = False, "", ""
        self.memory = {} if self._user is None else self._user.get_state()

    def _set_task(self) -> None:
        self._task = cached_task(self.domain, self.task, self.level, self.split)
        self._user: SimulatedUser | None = None
        if self._task.script is None:
            return
        if ":" not in self.user:
            self._user = ScriptedUser(self._task.script, self._use, self._task.aims)
            return
        world = self.world
        self._user = ModelUser(
            self._task,
            ask=self._model,
            use=self._use,
            tools=list(world.tools[USER].values()),
            agent_tools=list(world.tools[AGENT]),
            told=lambda: self.told,
        )

    def _instructions(self) -> str:
        user = self._user
        tools = "\n\n".join(tool.instruction_string() for tool in self.world.tools[AGENT].values())
        return _INSTRUCTIONS.format(
            role=self.role,
            setting="You work alone." if user is None else "You talk to a customer.",
            policy=self.domain.policy.strip(),
            turns=self.max_turns,
            talk="write a message to the customer" if user is not None else "write your final report",
            end=f"The tool {END_TOOL} ends the episode.",
            tools=tools if self.tool_instructions else "Through the interface.",
            heading="Task" if user is None else "The customer",
            request=self._task.text if user is None else user.opening(),
        )

    def _play(self, move: DeskMove) -> MoveResult:
        if not move.calls:
            return self._said(move.message)
        answers = []
        all_ok = True
        for call in move.calls:
            if call.name == END_TOOL and call.error is None:
                return self._over("You end the conversation.")
            result = self._called(call)
            all_ok = all_ok and result.ok
            answers.append(f"Result of {call.name or 'an unreadable call'}: {result.text}")
        text = "\n".join(answers)
        return legal(text) if all_ok else illegal(text)

    def _said(self, message: str) -> MoveResult:
        self.told = [told or tells(message, fact.value) for told, fact in zip(self.told, self._task.facts, strict=True)]
        user = self._user
        if user is None:
            return self._over("You report.")
        reply = user.reply(message[:_LONGEST_MESSAGE])
        self.memory = user.get_state()
        if reply.fault:
            self.user_fault, self.user_fault_kind = reply.fault, reply.fault_kind
            return self._over("The customer has left.")
        if reply.ends:
            return self._over(f"Customer: {reply.text}")
        return legal(f"Customer: {reply.text}")

    def _over(self, text: str) -> MoveResult:
        self.has_left = True
        return success(text) if self._grade() else failure(text)

    def _grade(self) -> bool:
        found = differences(self.world.dump(), self._gold_end(), _SHOWN_DIFFERENCES)
        self._score = {"state_matches": not found, "facts_told": all(self.told), "differences": found}
        if self.user_fault:
            self._score |= {"user_fault": self.user_fault, "user_fault_kind": self.user_fault_kind}
        return not found and all(self.told) and self.has_left and not self.user_fault

    def _gold_end(self) -> Dump:
        """Return the state in which the gold calls end."""
        return _gold_end(self.domain, self.task, self.level, self.split)

    def _called(self, call: ToolCall) -> ToolResult:
        tools = self.world.tools[AGENT]
        if call.error is not None or call.name is None or call.name not in tools:
            known = ", ".join([*tools, END_TOOL])
            return ToolResult(call.error or f"There is no tool {call.name!r:.80}. The tools are: {known}.", ok=False)
        if self.failure_rate and self.rng.random() < self.failure_rate:
            return ToolResult("The service is temporarily unavailable; nothing was changed. Try again.", ok=False)
        arguments = call.arguments
        if call.untyped:
            from gem.tools.typed_arguments import typed_arguments

            arguments = typed_arguments(arguments, tools[call.name].parameters)
        return self._carry_out(DeskCall(call.name, arguments, AGENT))

    def _use(self, call: DeskCall) -> str:
        return self._carry_out(call).text

    def _carry_out(self, call: DeskCall) -> ToolResult:
        result = carried_out(self.world, call)
        if result.ok and len(self.calls) < _MOST_CALLS:
            # Later states replay it. A call that failed has changed nothing.
            arguments = json.loads(json.dumps(dict(call.arguments)))
            self.calls.append({"tool": call.tool, "arguments": arguments, "by": call.by})
        return result

    def _malformed(self) -> MoveResult:
        return malformed("You have neither written a message nor called a tool.", 0.0, ends=False)

    def _random_action(self) -> str:
        """Return a call with arguments that occur in the state, or a message."""
        rng, tools = self.action_rng, self.world.tools[AGENT]
        draw = rng.random()
        if draw < 0.03:
            return _as_text(ToolCall(END_TOOL, {}))
        if draw < 0.4 or not tools:
            return self.form.sample(rng)
        return _as_text(self._random_call(tools))

    def _random_call(self, tools: Mapping[str, Tool]) -> ToolCall:
        """Return a call of one of these tools with arguments that occur in the state."""
        rng = self.action_rng
        name = rng.choice(sorted(tools))
        schema = tools[name].parameters or {}
        values = [value for rows in self._task.state.values() for row in rows for value in row.values()]
        arguments = {key: _drawn(rng, kind, values) for key, kind in schema.get("properties", {}).items()}
        return ToolCall(name, arguments)

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        integer("number of calls", len(self.calls), maximum=_MOST_CALLS)
        self._set_task()
        integer("number of facts", len(self.told), minimum=len(self._task.facts), maximum=len(self._task.facts))
        for call in self.calls:
            choice("by", call["by"], (AGENT, USER))
        if self._user is not None:
            self._user.set_state(self.memory)
        self._world = None

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "_world": None}
        state.pop("_user", None)  # it has functions of this environment
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_task" in state:
            self._set_task()
            if self._user is not None:
                self._user.set_state(self.memory)


# Copies and states of one episode need its task again and again.
@lru_cache(maxsize=32)
def cached_task(domain: DeskDomain, number: int, level: int, split: str) -> DeskTask:
    """Return the task of a number, the same object as long as it is in use."""
    return domain.task(number, level, split)


@lru_cache(maxsize=32)
def _gold_end(domain: DeskDomain, number: int, level: int, split: str) -> Dump:
    task = cached_task(domain, number, level, split)
    return gold_run(domain, task, task.gold).end


def _as_text(call: ToolCall) -> str:
    if call.error is not None or call.name is None:
        return "<tool_call>unreadable</tool_call>"
    content = {"name": call.name, "arguments": dict(call.arguments)}
    return f"<tool_call>{json.dumps(content, ensure_ascii=False)}</tool_call>"


def _drawn(rng: Any, kind: Mapping[str, Any], values: list[Any]) -> Any:
    """Return a value for an argument: of its enumeration, or of its type among those of the state."""
    if "enum" in kind:
        return rng.choice(kind["enum"])
    types: dict[str, Any] = {"string": str, "integer": int, "number": (int, float)}
    if kind.get("type") == "array":
        return [_drawn(rng, kind.get("items", {}), values)]
    if kind.get("type") == "boolean":
        return rng.random() < 0.5
    fitting = [value for value in values if isinstance(value, types.get(str(kind.get("type")), str))]
    return rng.choice(fitting) if fitting else "1"
