"""The base of environments in which an agent works with typed tools until it gives an answer: :class:`WorkspaceEnv`.

The tools are those that ``gem mcp-serve`` offers to MCP clients. Any server of the user works on the same database or
folder, through ``episode_values`` and the wrapper ``mcp_tool``.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import gem
from gem.arguments import integer
from gem.core import Info
from gem.errors import GemError
from gem.numbered_tasks import NumberedTaskEnv
from gem.state_fields import StateFields
from gem.text_env import MoveResult, fault, illegal, legal, malformed
from gem.tools.calls import ToolCall, native_calls, tagged, text_calls
from gem_envs_desk.mcp.answers import is_right

__all__ = ["ANSWER", "WorkspaceEnv", "WorkspaceFaultError", "WorkspaceMove"]

ANSWER = "answer"
"""The tag and the tool that end an episode."""
_MOST_CALLS = 16
"""Calls of one message that are carried out."""
_MOST_WRITES = 100_000
_LONGEST_RESULT = 8_000
"""Characters of a result that the agent sees."""


class WorkspaceFaultError(Exception):
    """The workspace broke, which is not the agent's fault: its server is gone, or its disk is full."""


class WorkspaceMove(NamedTuple):
    """Calls of tools, or an answer."""

    calls: tuple[ToolCall, ...]
    answer: str | None
    """None where the message holds calls alone."""


class _CallForm:
    """Reads ``<tool_call>…</tool_call>`` and ``<answer>…</answer>``."""

    def read(self, text: str, /) -> WorkspaceMove | None:
        answer = tagged(text, ANSWER)
        calls = tuple(text_calls(text)[:_MOST_CALLS])
        if calls:
            return _with_answer_tool(calls)
        return None if answer is None else WorkspaceMove((), answer[0].strip())

    def sample(self, rng: Any, /) -> str:
        return f"<answer>{rng.randrange(40)}</answer>"


class WorkspaceEnv(NumberedTaskEnv[WorkspaceMove], ABC):
    """One task on a workspace of its own per episode: read it for an answer, or change it as the task demands.

    A subclass has ``families``, makes a workspace and grades it. The end decides: whatever calls led there, the reward
    is 1.0 if the workspace is as the task wants it, nothing else in it has changed, and the answer to a question is
    right; else 0.0. ``info["correct"]`` says so on the last step of an answered episode.

    The reset option ``task``, an int below 2⁴⁸, chooses a task.

    Args:
        max_turns: turns of an episode; a message with calls, up to sixteen, takes one.
        own_tools: whether the agent has the tools of this environment. Without them, it works through the wrapper
            ``mcp_tool`` with servers whose configuration names values of the episode.
    """

    form = _CallForm()
    saved = StateFields(task=int, writes=list[Any])
    request = ""

    def __init__(self, max_turns: int = 30, own_tools: bool = True) -> None:
        super().__init__(max_turns)
        self.own_tools = gem.arguments.boolean("own_tools", own_tools)
        self._workspace: Any = None
        self._bound: dict[str, Any] | None = None

    @abstractmethod
    def _draw(self, number: int) -> Any:
        """Return the task of a number; a pure function of it and of the constructor's arguments."""

    @abstractmethod
    def _make_workspace(self, task: Any) -> Any:
        """Return a workspace as the task begins; it has a method ``close``."""

    @abstractmethod
    def _is_achieved(self, task: Any, workspace: Any) -> bool:
        """Return whether the workspace is as the task wants it."""

    @abstractmethod
    def _tool_functions(self) -> tuple[Any, ...]:
        """Return the tools, of which those in ``_writing`` change the workspace."""

    _writing: ClassVar[frozenset[str]] = frozenset()
    workspace_values: ClassVar[tuple[str, ...]] = ()
    """Attributes of the workspace that servers of the user get as values of the episode."""

    @property
    def current(self) -> Any:
        """The task of this episode, with its solution."""
        return self._task

    @property
    def workspace(self) -> Any:
        """The workspace of this episode, which opens on first use."""
        if self._workspace is None:
            self._workspace = self._reopened()
        return self._workspace

    @property
    def episode_values(self) -> Mapping[str, Any]:
        """The workspace for tools; a subclass adds what servers need. Values are read when they are used."""
        return _LazyValues(self)

    @property
    def tool_schemas(self) -> list[dict[str, Any]]:
        """The tools in the format of the ``tools`` argument of chat APIs."""
        own = [tool.to_openai() for tool in self._tool_functions()] if self.own_tools else []
        return [*own, copy.deepcopy(_ANSWER_TOOL)]

    def step(self, action: Any) -> tuple[str, float, bool, bool, Info]:
        """Carry out calls, or take an answer; an assistant message may call tools natively."""
        self._native = None
        if type(action) is not str and (calls := native_calls(action)):
            self._native = _with_answer_tool(tuple(calls[:_MOST_CALLS]))
            action = "<answer></answer>"  # a move of the right form, which the native one replaces
        observation, reward, terminated, truncated, info = super().step(action)
        if terminated or truncated:
            self.close()
        return observation, reward, terminated, truncated, info

    def close(self) -> None:
        """Discard the workspace; a later step makes it again."""
        workspace, self._workspace = self._workspace, None
        if workspace is not None:
            workspace.close()

    def _begin(self, task: int | None = None) -> None:
        super()._begin(task)
        self.writes: list[Any] = []
        self.close()
        self._task = self._draw(self.task)

    def _reopened(self) -> Any:
        """Return the workspace with all that the agent has written through tools of this environment."""
        workspace = self._make_workspace(self._task)
        self._workspace = workspace
        for name, arguments in self.writes:
            self._call(name, arguments)
        return workspace

    def _play(self, move: WorkspaceMove) -> MoveResult:
        move = self._native or move
        try:
            shown = []
            is_legal = True
            for call in move.calls:
                text, ok = self._called(call)
                is_legal &= ok
                shown.append(text if len(move.calls) == 1 else f"[{call.name}] {text}")
            if move.answer is None:
                result = "\n".join(["Result:", *shown])
                return legal(result) if is_legal else illegal(result)
            correct = self._is_right(move.answer)
        except (WorkspaceFaultError, GemError) as error:  # such as the server that gives no database
            return fault("The workspace is broken.", str(error))
        return self._answered(correct)

    def _is_right(self, answer: str) -> bool:
        task = self._task
        return (task.answer is None or is_right(answer, task.answer)) and self._is_achieved(task, self.workspace)

    def _called(self, call: ToolCall) -> tuple[str, bool]:
        """Return what the agent reads of a call, and whether it was carried out."""
        if call.error is not None:
            return call.error, False
        assert call.name is not None
        text, ok = self._call(call.name, call.arguments, untyped=call.untyped)
        if call.name in self._writing and self.own_tools:
            # One that failed may have failed half way, and fails again when the state is restored.
            self.writes.append([call.name, dict(call.arguments)])
        if len(text) > _LONGEST_RESULT:
            text = f"{text[:_LONGEST_RESULT]}\n… ({len(text) - _LONGEST_RESULT:,} more characters)"
        return text, ok

    def _call(self, name: str, arguments: Mapping[str, Any], *, untyped: bool = False) -> tuple[str, bool]:
        tools = self._tools()
        if name not in tools:
            return f"There is no tool called {name[:64]!r}. The tools are: {', '.join([*tools, ANSWER])}.", False
        _ = self.workspace  # a fault is none of the tool's
        result = tools[name].call(ToolCall(name, arguments, untyped=untyped))
        if (broken := getattr(self._workspace, "fault", None)) is not None:
            raise WorkspaceFaultError(broken)
        return result.text, result.ok

    def _tools(self) -> dict[str, Any]:
        if not self.own_tools:
            return {}
        if self._bound is None:
            self._bound = {tool.name: tool.for_wrapper() for tool in self._tool_functions()}
            for tool in self._bound.values():
                tool.reset(self, {})
        return self._bound

    def _malformed(self) -> MoveResult:
        return malformed("Neither a call of a tool nor <answer>…</answer> was found.", 0.0, ends=False)

    def _load(self, episode: dict[str, Any]) -> None:
        super()._load(episode)
        integer("number of writes", len(self.writes), maximum=_MOST_WRITES)
        for write in self.writes:
            name, arguments = write
            if name not in self._writing or not isinstance(arguments, dict):
                raise gem.errors.ArgumentError(f"a write is a tool and its arguments, got {write!r:.80}")
        self._task = self._draw(self.task)
        self._workspace = None

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Continue from a state; see :meth:`gem.Env.set_state`. The workspace is made anew when it is needed."""
        before = self._workspace
        super().set_state(state)
        if before is not None:
            before.close()

    def _tool_instructions(self) -> str:
        """Return how to call the tools; where a model calls natively, it is the schemas that count."""
        if not self.own_tools:
            return "Work with the tools that you have."
        lines = [
            f"- {tool.name}({', '.join(tool.parameters['properties'])}): {tool.description}"
            for tool in self._tool_functions()
        ]
        example = '<tool_call>{"name": "…", "arguments": {…}}</tool_call>'
        return "\n".join([f"Call tools natively, or by {example}:", *lines])

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_workspace": None, "_bound": None}


class _LazyValues(Mapping[str, Any]):
    """The values of an episode; the workspace opens when one is read."""

    def __init__(self, env: WorkspaceEnv) -> None:
        self._env = env

    def __getitem__(self, name: str) -> Any:
        if name == "workspace":
            return self._env.workspace
        if name in self._env.workspace_values:
            return getattr(self._env.workspace, name)
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return name == "workspace" or name in self._env.workspace_values

    def __iter__(self) -> Any:
        return iter(("workspace", *self._env.workspace_values))

    def __len__(self) -> int:
        return 1 + len(self._env.workspace_values)


_ANSWER_TOOL = {
    "type": "function",
    "function": {
        "name": ANSWER,
        "description": "End the task: with the answer to a question, one value a line, or with done.",
        "parameters": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "The values, one a line, or done."}},
            "required": ["text"],
        },
    },
}


def _with_answer_tool(calls: tuple[ToolCall, ...]) -> WorkspaceMove:
    """Return the calls up to one of the answer."""
    for place, call in enumerate(calls):
        if call.name == ANSWER and call.error is None:
            text = next((str(value) for value in call.arguments.values() if isinstance(value, (str, int, float))), "")
            return WorkspaceMove(calls[:place], text.strip())
    return WorkspaceMove(calls, None)
