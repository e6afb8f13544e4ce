"""Deliberate faults: :class:`ToolFailure`."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from gem.arguments import integer, real, seed_value, string
from gem.core import Env, Info, Wrapper
from gem.errors import ArgumentError
from gem.tools.base import Tool, ToolResult
from gem.tools.calls import ToolCall
from gem.tools.episode import begin_episode
from gem.tools.wrapper import ToolEnvWrapper

__all__ = ["ToolFailure"]


class ToolFailure(Wrapper[Any, Any]):
    """Makes tool calls fail at random, so that an agent learns to cope with faulty tools.

    Wraps a :class:`gem.tools.ToolEnvWrapper`, with any wrappers in between. A call chosen to fail does not reach
    the tool. Tools written for the original find and carry out a call in one operation; their answer is discarded
    instead. The agent sees an ordinary failed call, and ``info["tool_error"]`` is true.

    The last seed given to ``reset`` and the number of calls since then determine the calls that fail; the
    environment's own generator stays unused. Without a seed the choice is random.

    Args:
        env: an environment with tools.
        rate: share of the calls that fail, from 0.0 to 1.0.
        message: the text that follows the name of the tool.

    Raises:
        ArgumentError: if no wrapper inside answers tool calls.
    """

    def __init__(
        self, env: Env[Any, Any], rate: float, message: str = "TimeoutError: the tool did not answer in time"
    ) -> None:
        super().__init__(env)
        self.rate = real("rate", rate, minimum=0.0, maximum=1.0)
        self._message = string("message", message)
        self._seed = random.SystemRandom().getrandbits(64)
        self._calls = 0
        tool_wrapper = _tool_wrapper(env)
        tool_wrapper.replace_tools([_UnreliableTool(tool, self._failure) for tool in tool_wrapper.tools])

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        observation, info = super().reset(seed=seed, options=options)
        if seed is not None:
            self._seed, self._calls = seed_value(seed), 0
        return observation, info

    def _failure(self, name: str) -> ToolResult | None:
        """Decide about one call: return its failed result, or None if the tool should run."""
        self._calls += 1
        # A str seeds differently from any int, so this stream never coincides with the environment's.
        if random.Random(f"failure {self._calls} of {self._seed}").random() >= self.rate:
            return None
        return ToolResult(f"{name} failed: {self._message}", ok=False)

    def _own_state(self) -> Info:
        return {"seed": self._seed, "calls": self._calls}

    def _set_own_state(self, state: Info) -> None:
        seed, calls = seed_value(state["seed"]), integer("calls", state["calls"], minimum=0)
        self._seed, self._calls = seed, calls


class _UnreliableTool(Tool):
    """A tool around a tool that lets only some calls pass."""

    def __init__(self, tool: Tool, failure: Callable[[str], ToolResult | None]) -> None:
        self.tool = tool
        self.name, self.description = tool.name, tool.description
        self.parameters, self.tag, self.aliases = tool.parameters, tool.tag, tool.aliases
        self._failure = failure

    def to_openai(self) -> dict[str, Any]:
        return self.tool.to_openai()

    def instruction_string(self) -> str:
        return self.tool.instruction_string()

    def parse(self, text: str) -> ToolCall | None:
        return self.tool.parse(text)

    def call(self, call: ToolCall) -> ToolResult:
        if call.error is not None:
            return self.tool.call(call)
        return self._failure(self.name) or self.tool.call(call)

    def respond(self, text: str) -> tuple[str, ToolResult] | None:
        if type(self.tool).respond is Tool.respond:
            return super().respond(text)
        answered = self.tool.respond(text)
        if answered is None:
            return None
        parsed_action, result = answered
        return parsed_action, self._failure(self.name) or result

    def reset(self, env: Env[Any, Any], info: Mapping[str, Any]) -> None:
        begin_episode(self.tool, env, info)

    def end_episode(self) -> None:
        self.tool.end_episode()

    def get_state(self) -> dict[str, Any]:
        return self.tool.get_state()

    def set_state(self, state: Mapping[str, Any]) -> None:
        self.tool.set_state(state)

    def close(self) -> None:
        self.tool.close()


def _tool_wrapper(env: Env[Any, Any]) -> ToolEnvWrapper:
    while isinstance(env, Wrapper):
        if isinstance(env, ToolEnvWrapper):
            return env
        env = env.env
    raise ArgumentError("tool_failure wraps an environment with tools; apply a ToolEnvWrapper first")
