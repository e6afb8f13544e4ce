"""Tool calls that are malformed, misplaced or not allowed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from gem_eval.fake_model.faults.bodies import AlterBody, Body, in_messages
from gem_eval.fake_model.faults.kinds import FaultNeed, kinds
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


_DEFECTIVE_CALLS = {
    "tool-arguments-object": ("gives arguments as an object", _set_arguments(json.loads)),
    "tool-arguments-empty": ('gives "" as arguments', _set_arguments(lambda arguments: "")),
    "tool-arguments-double": ("encodes arguments twice", _set_arguments(json.dumps)),
    "tool-arguments-cut": ("cuts arguments, with finish length", _cut_arguments("length")),
    "tool-arguments-cut-unmarked": ("cuts arguments, with finish tool_calls", _cut_arguments("tool_calls")),
    "tool-arguments-newlines": (
        "gives arguments with raw newlines in their strings",
        _set_arguments(_with_raw_newline),
    ),
    "tool-arguments-list": ("gives a list as arguments", _set_arguments(lambda arguments: "[1, 2]")),
    "tool-id-null": ("gives null as id", _in_calls(lambda call: call.update(id=None))),
    "tool-id-empty": ('gives "" as id', _in_calls(lambda call: call.update(id=""))),
    "tool-name-unknown": (
        "calls a tool that was not offered",
        _in_calls(lambda call: call["function"].update(name="no_such_tool")),
    ),
}
_DEFECTIVE_PAIRS = {
    "tool-id-repeated": ("gives two calls one id", in_messages(_same_ids)),
    "tool-second-bare": ("gives the second call of a tool no arguments", in_messages(_second_bare)),
}
_UNINDEXED = {"tool-index-missing": ("leaves the index of tool calls out of a stream", _unindexed)}
_MISPLACED = {
    "tool-markup-content": ("leaves the call's markup in content, with finish stop", _as_text("content")),
    "tool-markup-reasoning": ("leaves the call's markup in the reasoning, with finish stop", _as_text("reasoning")),
    "tool-calls-parallel": ("calls twice although parallel calls are forbidden", _called_twice),
}
_NO_CALLS = {
    "tool-calls-null": ("adds tool_calls: null to a text", in_messages(lambda text: text.setdefault("tool_calls"))),
    "tool-calls-empty": ("adds tool_calls: [] to a text", in_messages(lambda text: text.setdefault("tool_calls", []))),
}

KINDS = (
    *kinds(6, "alter_body", _DEFECTIVE_CALLS, FaultNeed.TOOLS, alter_answer=_called),
    *kinds(6, "alter_body", _DEFECTIVE_PAIRS, FaultNeed.TOOLS, alter_answer=_called_twice),
    *kinds(6, "alter_chunks", _UNINDEXED, FaultNeed.TOOLS_IN_STREAM, alter_answer=_called),
    *kinds(6, "alter_answer", _MISPLACED, FaultNeed.TOOLS),
    *kinds(6, "alter_body", _NO_CALLS, FaultNeed.CHAT),
)
