"""Tools that a gateway carries out in place of a hosted API's own: :class:`SessionTools`, for one session.

A program asks for a web search or a code interpreter; the model calls it as a function, the gateway runs it, and the
program gets one answer with all turns of the model in it. Each turn is a call of the model as any other: within the
budget, recorded, continued with exact tokens. What the program echoes of a run names the recorded turn and says nothing
about it, so that it cannot change what a tool has returned.
"""

from __future__ import annotations

import asyncio
import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from gem.tools.base import Tool, ToolResult
from gem.tools.calls import ToolCall
from gem_eval.clients import Completion
from gem_eval.clients.base import Message
from gem_gateway.call_errors import ModelCallError
from gem_gateway.calls import ModelCall
from gem_gateway.dialects.base import arguments_object
from gem_gateway.tool_turns import ECHO, ToolRun, ToolTurn

__all__ = ["MOST_TURNS", "SessionTools"]

MOST_TURNS = 10
"""Turns of the model with tools of the gateway in one answer. The answer ends there; a program may continue it."""


class SessionTools:
    """Runs the tools of one session, one at a time and in a thread of its own, and knows what each has returned.

    Args:
        tools: kind → tool; a session has copies of its own, made with the first run.
        identity: of the session; begins the names of runs.
    """

    def __init__(self, tools: Mapping[str, Tool], identity: str) -> None:
        self._given = tools
        self._own: dict[str, Tool] = {}
        self._identity = identity
        self._worker: ThreadPoolExecutor | None = None
        self._turns: dict[str, ToolTurn] = {}
        self._runs = 0

    def wants(self, call: ModelCall, completion: Completion) -> bool:
        """Return whether the model called a tool of the gateway."""
        return any(made["function"]["name"] in call.server_tools for made in completion.tool_calls)

    async def turn(self, call: ModelCall, completion: Completion) -> ToolTurn:
        """Carry out the calls of an answer that are the gateway's."""
        used = Counter(run.kind for turn in call.turns for run in turn.runs)
        runs: list[ToolRun] = []
        messages: list[Message] = [completion.message]
        for made in completion.tool_calls:
            function = made["function"]
            if (kind := function["name"]) not in call.server_tools:
                continue
            arguments = arguments_object(function["arguments"])
            most = call.server_tools[kind]
            if (most is not None and used[kind] >= most) or used.total() >= (call.most_tool_runs or 2**31):
                result = ToolResult(f"[{kind} has been used as often as this request allows.]", ok=False)
            else:
                result = await self._run(kind, arguments)
            used[kind] += 1
            self._runs += 1
            name = f"{self._identity}{self._runs:08x}"
            runs.append(ToolRun(name, kind, _argument(kind, arguments), result))
            messages.append({"role": "tool", "tool_call_id": made["id"], "content": result.text.strip()})
        own = [made for made in completion.tool_calls if made["function"]["name"] not in call.server_tools]
        turn = ToolTurn(replace(completion, tool_calls=own), runs, messages)
        for run in runs:
            self._turns[run.id] = turn
        return turn

    def restored(self, messages: Sequence[Message], notes: list[str]) -> list[Message]:
        """Return a conversation in which recorded turns stand for the runs that a program echoes.

        Args:
            messages: as a dialect has read them, with :func:`echo` for each run.
            notes: of the call; a run that this session has not made is left out with a note.

        Raises:
            ModelCallError: if nothing is left to answer.
        """
        found: list[Message] = []
        placed: ToolTurn | None = None  # the turn that the conversation ends with so far
        for message in messages:
            if message["role"] == ECHO:
                turn = self._turns.get(message["id"])
                if turn is None:
                    notes.append("left out a run of a tool that this session has not made")
                elif turn is not placed:
                    if found and found[-1]["role"] == "assistant" and not found[-1].get("tool_calls"):
                        found.pop()  # what the program echoes of this turn's text
                    found += turn.messages
                    placed = turn
                continue
            own = message.get("tool_calls") if message["role"] == "assistant" else None
            if placed is not None and own and (whole := placed.with_calls(own)) is not None:
                found[-len(placed.messages)] = whole
            else:
                found.append(message)
            placed = None
        if not found or found[-1]["role"] == "assistant":
            raise ModelCallError("unusable", "the conversation ends with the model's own answer; add a message")
        return found

    async def close(self) -> None:
        """Close the tools after the run that is under way. Calling it twice is fine."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await asyncio.get_running_loop().run_in_executor(worker, self._close_tools)
            worker.shutdown(wait=False)

    async def _run(self, kind: str, arguments: dict[str, Any]) -> ToolResult:
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, thread_name_prefix="gem-gateway-tool")
        return await asyncio.get_running_loop().run_in_executor(self._worker, self._call, kind, arguments)

    def _call(self, kind: str, arguments: dict[str, Any]) -> ToolResult:
        tool = self._own.get(kind)
        if tool is None:
            tool = self._own[kind] = copy.deepcopy(self._given[kind])
            tool.reset()
        return tool.call(ToolCall(tool.name, arguments))

    def _close_tools(self) -> None:
        while self._own:
            _, tool = self._own.popitem()
            tool.end_episode()
            tool.close()


def _argument(kind: str, arguments: Mapping[str, Any]) -> str:
    value = arguments.get("code" if kind == "code_interpreter" else "query")
    return value if isinstance(value, str) else ""
