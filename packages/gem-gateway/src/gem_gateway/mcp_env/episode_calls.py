"""The calls of an agent program in one episode, and the engine that carries them out: :class:`EpisodeCalls`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gem.core import Env
from gem_eval.clients.policy import tool_schemas
from gem_tools.mcp.episodes import EpisodeAnswer, failure, native_call, unknown_arguments

__all__ = ["ACT", "MOST_WAITING", "EpisodeCalls", "EpisodeTool", "PendingCall", "content_parts", "tools_of"]

ACT = "act"
"""The tool that takes an action as text."""

_OVER = "The episode is over. Nothing more can be done in it: stop here."
MOST_WAITING = 64
"""Calls of one program that wait at the same time; an environment takes them one after the other."""


@dataclass(frozen=True)
class EpisodeTool:
    """A tool that a program is offered."""

    name: str
    description: str
    input_schema: Mapping[str, Any]


@dataclass
class PendingCall:
    """A call that waits for the environment."""

    action: Any
    """What the environment is stepped with: a text, or an assistant's message with the call."""
    answer: asyncio.Future[EpisodeAnswer] = field(repr=False)


class EpisodeCalls:
    """Takes calls of tools, hands each on as an action, and answers it with the observation that follows.

    All methods belong to the thread of the event loop. Calls that arrive at the same time become actions one after the
    other, in the order of their arrival. The environment's rewards are no part of an answer.
    """

    def __init__(self, tools: Mapping[str, EpisodeTool]) -> None:
        self.tools = tools
        self.taken = 0
        """Calls that became actions."""
        self.refused = 0
        """Calls that did not: of unknown tools, with unknown arguments, or after the end."""
        self.over = False
        self._waiting: asyncio.Queue[PendingCall] = asyncio.Queue()
        self._current: PendingCall | None = None

    async def call(self, name: str, arguments: Mapping[str, Any]) -> EpisodeAnswer:
        """Carry out a call of the program. Never raises but for cancellation; an error becomes an answer."""
        refusal = self._refusal(name, arguments)
        if refusal is not None:
            self.refused += 1
            return refusal
        action = str(arguments.get("action", "")) if name == ACT else native_call(name, arguments)
        pending = PendingCall(action, asyncio.get_running_loop().create_future())
        self._waiting.put_nowait(pending)
        return await pending.answer

    async def next_action(self) -> Any:
        """Wait for the next call and return it as an action; calls whose program has gone away are left out."""
        assert self._current is None  # the engine takes turns
        while True:
            pending = await self._waiting.get()
            if not pending.answer.done():
                self._current = pending
                self.taken += 1
                return pending.action

    def observe(self, observation: Any) -> None:
        """Answer the call that was taken last, if there is one, with the observation that followed."""
        current, self._current = self._current, None
        if current is not None and not current.answer.done():
            current.answer.set_result(EpisodeAnswer(tuple(content_parts(observation))))

    def end(self, observation: Any) -> None:
        """Answer the call that was taken last, and say to it and to all others that the episode is over."""
        self.over = True
        current, self._current = self._current, None
        if current is not None and not current.answer.done():
            parts = (*content_parts(observation), {"type": "text", "text": _OVER})
            current.answer.set_result(EpisodeAnswer(parts))
        while not self._waiting.empty():
            pending = self._waiting.get_nowait()
            if not pending.answer.done():
                self.refused += 1
                pending.answer.set_result(failure(_OVER))

    def _refusal(self, name: str, arguments: Mapping[str, Any]) -> EpisodeAnswer | None:
        if self.over:
            return failure(_OVER)
        if self._waiting.qsize() >= MOST_WAITING:
            return failure(f"{MOST_WAITING} calls wait already; wait for their results")
        tool = self.tools.get(name)
        if tool is None:
            return failure(f"there is no tool called {name[:64]!r}; there are {', '.join(sorted(self.tools))}")
        return unknown_arguments(name, arguments, tool.input_schema)


def tools_of(env: Env[Any, Any]) -> dict[str, EpisodeTool]:
    """Return the tools with which a program plays an environment: those of the environment, and :data:`ACT`.

    A tool of the environment that has that name takes its place.
    """
    tools = {
        ACT: EpisodeTool(
            ACT,
            "Play one turn: the action as text, exactly in the form that the task asks for. Returns what follows.",
            {
                "type": "object",
                "properties": {"action": {"type": "string", "description": "The action of this turn."}},
                "required": ["action"],
                "additionalProperties": False,
            },
        )
    }
    for schema in tool_schemas(env):
        function = schema["function"]
        tools[function["name"]] = EpisodeTool(
            function["name"],
            function.get("description", ""),
            function.get("parameters") or {"type": "object", "properties": {}},
        )
    return tools


def content_parts(observation: Any) -> list[Mapping[str, Any]]:
    """Return an observation as content parts; of a conversation, its last message."""
    if isinstance(observation, str):
        return [{"type": "text", "text": observation}]
    parts = list(observation)
    if parts and "role" in parts[-1]:
        return content_parts(parts[-1].get("content") or "")
    return parts
