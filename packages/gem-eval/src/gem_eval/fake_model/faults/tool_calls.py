"""Tool calls that are malformed, misplaced or not allowed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from gem_eval.fake_model.faults.bodies import AlterBody, Body, in_messages
from gem_eval.fake_model.faults.kinds import FaultKind, FaultNeed
from gem_eval.fake_model.model_request import ModelAnswer, ModelRequest, SampledCall
from gem_eval.fake_model.policies import call_tool
from gem_eval.fake_model.sampling import markup

__all__ = ["KINDS"]


def _in_calls(change: Callable[[dict[str, Any]], None]) -> AlterBody:
    """Change every tool call."""

    def alter(message: dict[str, Any]) -> None:
        for call in message.get("tool_calls") or ():
            change(call)

    return in_messages(alter)


def _called(answer: ModelAnswer, request: ModelRequest) -> None:
    """Let the answer be a tool call, if it is none."""
    if not answer.tool_calls:
        called = call_tool(request, "")
        answer.text, answer.tool_calls = called.text, called.tool_calls


def _called_twice(answer: ModelAnswer, request: ModelRequest) -> None:
    _called(answer, request)
    if answer.tool_calls:
        first = answer.tool_calls[0]
        answer.tool_calls = [first, SampledCall(first.name, first.arguments)]


def _as_text(place: str) -> Callable[[ModelAnswer, ModelRequest], None]:
    """Leave a tool call where the server's parser should have taken it from."""

    def alter(answer: ModelAnswer, request: ModelRequest) -> None:
        _called(answer, request)
        text = "".join(map(markup, answer.tool_calls))
        answer.tool_calls = []
        if place == "content":
            answer.text = text
        else:
            answer.reasoning, answer.text = text, ""

    return alter


def _set_arguments(change: Callable[[str], Any]) -> AlterBody:
    def alter(call: dict[str, Any]) -> None:
        call["function"]["arguments"] = change(call["function"]["arguments"])

    return _in_calls(alter)


def _cut_arguments(finish: str) -> AlterBody:
    cut = _set_arguments(lambda arguments: arguments[: max(len(arguments) // 2, 1)])

    def alter(body: Body, request: ModelRequest) -> Any:
        cut(body, request)
        for choice in body.get("choices", ()):
            choice["finish_reason"] = finish
        return body

    return alter


def _second_bare(message: dict[str, Any]) -> None:
    for call in (message.get("tool_calls") or [])[1:]:
        del call["function"]["arguments"]


def _same_ids(message: dict[str, Any]) -> None:
    for call in message.get("tool_calls") or ():
        call["id"] = "call_0"


def _unindexed(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for chunk in chunks:
        for choice in chunk.get("choices", ()):
            for call in choice.get("delta", {}).get("tool_calls") or ():
                call.pop("index", None)
    return chunks


def _with_raw_newline(arguments: str) -> str:
    inner = arguments.strip()[1:-1]
    return "{" + inner + (", " if inner.strip() else "") + '"note": "one\ntwo"}'


KINDS = (
    FaultKind(
        "tool-arguments-object",
        6,
        "gives arguments as an object",
        need=FaultNeed.TOOLS,
        alter_answer=_called,
        alter_body=_set_arguments(json.loads),
    ),
    FaultKind(
        "tool-arguments-empty",
        6,
        'gives "" as arguments',
        need=FaultNeed.TOOLS,
        alter_answer=_called,
        alter_body=_set_arguments(lambda arguments: ""),
    ),
    FaultKind(
        "tool-arguments-double",
        6,
        "encodes arguments twice",
        need=FaultNeed.TOOLS,
        alter_answer=_called,
        alter_body=_set_arguments(json.dumps),
    ),
    FaultKind(
        "tool-arguments-cut",
        6,
        "cuts arguments, with finish length",
        need=FaultNeed.TOOLS,
        alter_answer=_called,
        alter_body=_cut_arguments("length"),
    ),
    FaultKind(
        "tool-arguments-cut-unmarked",
        6,
        "cuts arguments, with finish tool_calls",
        need=FaultNeed.TOOLS,
        alter_answer=_called,
        alter_body=_cut_arguments("tool_calls"),
    ),
    FaultKind(
        "tool-arguments-newlines",
        6,
        "gives arguments with raw newlines in their strings",
        need=FaultNeed.TOOLS,
        alter_answer=_called,
        alter_body=_set_arguments(_with_raw_newline),
    ),
    FaultKind(
        "tool-arguments-list",
        6,
        "gives a list as arguments",
        need=FaultNeed.TOOLS,
        alter_answer=_called,
        alter_body=_set_arguments(lambda arguments: "[1, 2]"),
    ),
    FaultKind(
        "tool-id-null",
        6,
        "gives null as id",
        need=FaultNeed.TOOLS,
        alter_answer=_called,
        alter_body=_in_calls(lambda call: call.update(id=None)),
    ),
    FaultKind(
        "tool-id-empty",
        6,
        'gives "" as id',
        need=FaultNeed.TOOLS,
        alter_answer=_called,
        alter_body=_in_calls(lambda call: call.update(id="")),
    ),
    FaultKind(
        "tool-id-repeated",
        6,
        "gives two calls one id",
        need=FaultNeed.TOOLS,
        alter_answer=_called_twice,
        alter_body=in_messages(_same_ids),
    ),
    FaultKind(
        "tool-index-missing",
        6,
        "leaves the index of tool calls out of a stream",
        need=FaultNeed.TOOLS_IN_STREAM,
        alter_answer=_called,
        alter_chunks=_unindexed,
    ),
    FaultKind(
        "tool-second-bare",
        6,
        "gives the second call of a tool no arguments",
        need=FaultNeed.TOOLS,
        alter_answer=_called_twice,
        alter_body=in_messages(_second_bare),
    ),
    FaultKind(
        "tool-name-unknown",
        6,
        "calls a tool that was not offered",
        need=FaultNeed.TOOLS,
        alter_answer=_called,
        alter_body=_in_calls(lambda call: call["function"].update(name="no_such_tool")),
    ),
    FaultKind(
        "tool-markup-content",
        6,
        "leaves the call's markup in content, with finish stop",
        need=FaultNeed.TOOLS,
        alter_answer=_as_text("content"),
    ),
    FaultKind(
        "tool-markup-reasoning",
        6,
        "leaves the call's markup in the reasoning, with finish stop",
        need=FaultNeed.TOOLS,
        alter_answer=_as_text("reasoning"),
    ),
    FaultKind(
        "tool-calls-null",
        6,
        "adds tool_calls: null to a text",
        need=FaultNeed.CHAT,
        alter_body=in_messages(lambda message: message.setdefault("tool_calls", None)),
    ),
    FaultKind(
        "tool-calls-empty",
        6,
        "adds tool_calls: [] to a text",
        need=FaultNeed.CHAT,
        alter_body=in_messages(lambda message: message.setdefault("tool_calls", [])),
    ),
    FaultKind(
        "tool-calls-parallel",
        6,
        "calls twice although parallel calls are forbidden",
        need=FaultNeed.TOOLS,
        alter_answer=_called_twice,
    ),
)
