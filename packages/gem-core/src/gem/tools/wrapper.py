"""The wrapper that lets an agent use tools: :class:`ToolEnvWrapper`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import groupby
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from gem.arguments import boolean, integer, nearest, real, seed_value
from gem.core import Env, Info, Wrapper
from gem.errors import ArgumentError, ArgumentTypeError, StateError, ToolError
from gem.phases import EpisodePhase, out_of_order
from gem.text import action_text
from gem.tools.answers import LONGEST_NAME, CallAnswer, observed, recorded, with_text
from gem.tools.base import Tool, ToolResult
from gem.tools.calls import ToolCall, native_calls, text_calls
from gem.tools.episode import EpisodeValues, begin_episode, knows_episode

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["LIMIT_REACHED", "ToolEnvWrapper", "ToolLike"]

ToolLike = Tool | Callable[..., Any]

LIMIT_REACHED = "\n\nReached the maximum number of tool use. Please output final answer directly."
"""Ends the observation of the last tool call that is allowed; as published."""

_NOT_CARRIED_OUT = "The call was not carried out: the maximum number of tool uses is reached."
_MOST_THREADS = 16
"""Maximum number of calls of one message that run at the same time."""


class ToolEnvWrapper(Wrapper[Any, Any]):
    """Answer tool calls in place of the environment; all other actions reach the environment.

    A text is offered to the tools in their order, and the first that finds a call of its own answers it, this one
    alone; tools with a schema look only before the first call that names its tool. Otherwise all calls that name their
    tools are dispatched. What a text only thinks or quotes is no call. ``info["parsed_action"]`` ends with the last
    call that was read. The native calls of an assistant message are dispatched by name, all of them. The calls of one
    message are carried out one after the other, but neighbours whose tools are ``parallel`` at the same time; their
    results keep the order of the calls. A call that fails for any reason is reported to the agent and never reaches the
    environment; so is a call of a tool that does not exist, and a ``<tool_call>`` that cannot be read.

    A step that tools answer ends no episode and uses none of the environment's turns. Its reward is the sum
    over its calls, where one call earns

    * ``tool_reward``, and ``tool_success_reward`` on top if it succeeds;
    * ``tool_execute_error_reward`` alone if it fails and that is not 0.0;
    * ``tool_execute_error_reward`` alone if it reached no tool, so that random calls earn nothing.

    Every call counts as a use. Calls beyond ``max_tool_uses`` in the message that reaches it are answered,
    but not carried out; after that, calls go to the environment like any other action.

    Tools know their episode: after its own reset, the environment is passed to the tools that ask for it, and
    ``episode_values`` has what differs from episode to episode; see :class:`gem.tools.EpisodeValues`. Before the
    next reset, and before the environment is closed, tools release what belongs to the episode.

    ``info["tool_results"]`` is a list with a dict for every call: ``tool_call_id`` (str or None), ``name`` (str or
    None), ``text``, ``ok``, and ``content`` and ``data`` where the tool gave any.

    Args:
        env: its observations are text or content parts.
        tools: a list of tools, of functions (which become tools as with :func:`gem.tools.tool`), of tool classes
            and partials of them (from which this wrapper makes an instance of its own), and of lists of these.
            Several wrappers may share an instance; ``spawn`` copies it.
        tool_reward: reward for a call of a tool.
        tool_success_reward: reward added if the call succeeds.
        tool_execute_error_reward: at most 0.0; if not 0.0, the other two must be.
        max_tool_uses: maximum number of uses in one episode; None for no limit. With 0 the instructions omit the tools.
        instructions: whether the first observation of an episode ends with instructions for calling the tools by
            text. Turn it off if the model gets ``tool_schemas`` through its chat API.

    Raises:
        ToolError: if a tool is declared wrongly, or two have one name.
    """

    def __init__(
        self,
        env: Env[Any, Any],
        tools: Iterable[ToolLike | Iterable[Any]],
        tool_reward: float = 0.0,
        tool_success_reward: float = 0.0,
        tool_execute_error_reward: float = 0.0,
        max_tool_uses: int | None = 10,
        instructions: bool = True,
    ) -> None:
        super().__init__(env)
        self.episode_values = EpisodeValues(env)
        made, self._own = _made(tools, self)
        self.replace_tools(made)
        self.tool_reward = real("tool_reward", tool_reward)
        self.tool_success_reward = real("tool_success_reward", tool_success_reward)
        self.tool_execute_error_reward = real("tool_execute_error_reward", tool_execute_error_reward, maximum=0.0)
        if self.tool_execute_error_reward and (self.tool_reward or self.tool_success_reward):
            raise ArgumentError(
                "tool_execute_error_reward excludes tool_reward and tool_success_reward: "
                f"got {tool_execute_error_reward}, {tool_reward} and {tool_success_reward}"
            )
        self.max_tool_uses = None if max_tool_uses is None else integer("max_tool_uses", max_tool_uses, minimum=0)
        self.instructions = boolean("instructions", instructions)
        self._phase = EpisodePhase.NOT_BEGUN
        self._uses = self._successes = 0

    def replace_tools(self, tools: Iterable[Tool]) -> None:
        """Replace the tools, for example with tools that wrap them.

        Raises:
            ToolError: if two of them have the same name.
        """
        self.tools = tuple(tools)
        self._by_name = _named(self.tools)
        self._by_alias = {alias: tool for tool in reversed(self.tools) for alias in tool.aliases}

    @property
    def tool_schemas(self) -> list[dict[str, Any]]:
        """The tools as chat APIs take them in ``tools``."""
        return [tool.to_openai() for tool in self._by_name.values()]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        if seed is not None:
            seed_value(seed)  # a wrong seed must end nothing
        self._end_episode()
        observation, info = super().reset(seed=seed, options=options)
        if self.instructions and self.tools and self.max_tool_uses != 0:
            observation = with_text(observation, f"\n{_instructions(self.tools)}")
        for tool in self.tools:
            begin_episode(tool, self, info)
        previous = {"prev_ep_tool_use_counter": self._uses, "prev_ep_tool_success_counter": self._successes}
        self._phase, self._uses, self._successes = EpisodePhase.PLAYING, 0, 0
        return observation, {**info, **self._counters(), **previous, "use_tool": False}

    def step(self, action: Any, verbose: bool = False) -> tuple[Any, float, bool, bool, Info]:
        """Play one turn, or use tools.

        Args:
            action: any action; the class describes which ones are calls.
            verbose: also log the tools' answers, at level INFO as ``gem.tools``.

        Raises:
            ResetNeededError, EpisodeFinishedError: outside an episode.
        """
        if self._phase is not EpisodePhase.PLAYING:
            raise out_of_order(self, self._phase)
        if self.tools and self._uses != self.max_tool_uses:
            if not isinstance(action, str) and (calls := native_calls(action)):
                return self._tool_step(self._answers(calls), {}, verbose)
            text = action_text(action)
            if text is not None and (answered := self._answer_text(text)) is not None:
                parsed_action, answers = answered
                return self._tool_step(answers, {"parsed_action": parsed_action}, verbose)
        observation, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            self._phase = EpisodePhase.OVER
        return observation, reward, terminated, truncated, {**info, **self._counters(), "use_tool": False}

    def spawn(self, same_state: bool = False, **kwargs: Any) -> Self:
        """Return a new environment with tools of its own; see :meth:`gem.Env.spawn`."""
        twin = super().spawn(**kwargs)
        # In one call, so that two methods of one object stay methods of one object.
        shared = copy.deepcopy([tool for tool in twin.tools if id(tool) not in twin._own])
        remaining = iter(shared)
        twin.replace_tools(tool if id(tool) in twin._own else next(remaining) for tool in twin.tools)
        if same_state:
            twin.set_state(self.get_state())
        return twin

    def close(self) -> None:
        """End the episode of the tools, close the environment, then close the tools."""
        try:
            self._end_episode()
        finally:
            try:
                super().close()
            finally:
                for tool in self.tools:
                    tool.close()

    def _end_episode(self) -> None:
        for tool in self.tools:
            tool.end_episode()
        self.episode_values.end()

    def _answer_text(self, text: str) -> tuple[str, list[CallAnswer]] | None:
        calls = text_calls(text) if self._by_name else []
        before = text[: calls[0].start] if calls else text
        for tool in self.tools:
            response = tool.respond(text if tool.parameters is None else before)
            if response is not None:
                parsed_action, result = response
                return parsed_action, [CallAnswer(result, tool)]
        return (text[: calls[-1].end], self._answers(calls)) if calls else None

    def _answers(self, calls: list[ToolCall]) -> list[CallAnswer]:
        left = len(calls) if self.max_tool_uses is None else self.max_tool_uses - self._uses
        answers: list[CallAnswer] = []
        for is_parallel, group in groupby(calls[:left], self._is_parallel):
            batch = list(group)
            if is_parallel and len(batch) > 1:
                from concurrent.futures import ThreadPoolExecutor

                with ThreadPoolExecutor(min(len(batch), _MOST_THREADS), "gem-tool-calls") as threads:
                    answers += threads.map(self._dispatch, batch)
            else:
                answers += map(self._dispatch, batch)
        refused = ToolResult(_NOT_CARRIED_OUT, ok=False)
        return [*answers, *(CallAnswer(refused, self._find(call), call, used=False) for call in calls[left:])]

    def _is_parallel(self, call: ToolCall) -> bool:
        tool = self._find(call)
        return tool is None or tool.parallel

    def _dispatch(self, call: ToolCall) -> CallAnswer:
        tool = self._find(call)
        if tool is not None:
            return CallAnswer(tool.call(call), tool, call)
        problem = call.error if call.name is None else f"There is no tool called {call.name[:LONGEST_NAME]!r}."
        near = None if call.name is None else nearest(call.name[:LONGEST_NAME], self._by_name)
        hint = f" Did you mean {near!r}?" if near else ""
        known = ", ".join(self._by_name) or "none that can be called by name"
        return CallAnswer(ToolResult(f"{problem}{hint} The tools are: {known}.", ok=False), call=call)

    def _find(self, call: ToolCall) -> Tool | None:
        if call.name is None:
            return None
        return self._by_name.get(call.name) or self._by_alias.get(call.name)

    def _tool_step(self, answers: list[CallAnswer], info: Info, verbose: bool) -> tuple[Any, float, bool, bool, Info]:
        self._uses += sum(answer.used for answer in answers)
        self._successes += sum(answer.result.ok for answer in answers)
        observation = observed(answers)
        if self._uses == self.max_tool_uses:
            observation = with_text(observation, LIMIT_REACHED)
        if verbose:
            from logging import getLogger

            getLogger("gem.tools").info("%s", observation)
        reward = sum(self._reward(answer) for answer in answers)
        first = answers[0].tool
        if first is not None:
            info["tool_name"] = info["tool_type"] = first.name
        info["tool_error"] = not all(answer.result.ok for answer in answers)
        info["tool_results"] = [recorded(answer) for answer in answers]
        return observation, reward, False, False, {**info, **self._counters(), "use_tool": True}

    def _reward(self, answer: CallAnswer) -> float:
        if not answer.used:
            return 0.0
        if answer.result.ok:
            return self.tool_reward + self.tool_success_reward
        return self.tool_execute_error_reward or (0.0 if answer.tool is None else self.tool_reward)

    def _counters(self) -> Info:
        return {"tool_use_counter": self._uses, "tool_success_counter": self._successes}

    def _own_state(self) -> Info:
        return {
            "phase": self._phase.value,
            **self._counters(),
            "tools": [tool.get_state() for tool in self.tools],
        }

    def _set_own_state(self, state: Info) -> None:
        phase = EpisodePhase(state["phase"])
        uses = integer("tool_use_counter", state["tool_use_counter"], minimum=0, maximum=self.max_tool_uses)
        successes = integer("tool_success_counter", state["tool_success_counter"], minimum=0, maximum=uses)
        before = [tool.get_state() for tool in self.tools]
        try:
            self._set_tool_states(state["tools"])
        except Exception as error:
            self._set_tool_states(before)
            raise StateError(f"the state of a tool does not fit: {error!r}") from error
        self._phase, self._uses, self._successes = phase, uses, successes

    def _set_tool_states(self, states: Iterable[Any]) -> None:
        for tool, state in zip(self.tools, states, strict=True):
            if knows_episode(tool):
                tool.reset(self, {})
            tool.set_state(state)


def _made(tools: object, env: Env[Any, Any]) -> tuple[tuple[Tool, ...], frozenset[int]]:
    """Return the tools, and the ``id`` of those made here for this wrapper alone."""
    made: list[Tool] = []
    own: set[int] = set()
    for item in _flat(tools, env):
        if isinstance(item, Tool):
            tool = item.for_wrapper()
        elif isinstance(item, (FunctionType, MethodType, BuiltinFunctionType)):
            from gem.tools.function import FunctionTool

            tool = FunctionTool(item)
        else:
            tool = item() if isinstance(item, (type, partial)) else item
            own.add(id(tool))
        if not isinstance(tool, Tool):
            raise ArgumentTypeError(
                f"tools must hold gem.tools.Tool objects, functions or tool classes, got {item!r:.80}"
            )
        tool.check()
        made.append(tool)
    return tuple(made), frozenset(own)


def _flat(tools: object, env: Env[Any, Any]) -> Iterator[Any]:
    if not _is_list(tools):
        raise ArgumentTypeError(f"tools must be a list of tools, got {type(tools).__name__}")
    assert isinstance(tools, Iterable)
    for item in tools:
        if _is_list(item):
            # Tools that depend on the environment are made for it.
            tools_for = getattr(item, "tools_for", None)
            yield from item if tools_for is None else tools_for(env)
        else:
            yield item


def _is_list(value: object) -> bool:
    # An iterator would be empty the second time, when the environment is spawned.
    return isinstance(value, Iterable) and not isinstance(value, (Iterator, str, bytes, Mapping, Tool, type))


def _named(tools: Iterable[Tool]) -> dict[str, Tool]:
    by_name: dict[str, Tool] = {}
    for tool in tools:
        if tool.parameters is None:
            continue
        if tool.name in by_name:
            raise ToolError(f"two tools are called {tool.name!r}; give one of them another name")
        by_name[tool.name] = tool
    return by_name


def _instructions(tools: tuple[Tool, ...]) -> str:
    each = [tool.instruction_string() for tool in tools]
    return each[0] if len(each) == 1 else "\n".join(["You can use these tools:", *each])
