"""The output of OpenAI's Responses: an answer as items, and the events that stream them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gem_eval.clients import Completion
from gem_gateway.calls import ModelCall
from gem_gateway.dialects.base import arguments_object, pieces
from gem_gateway.dialects.chat import token_logprobs
from gem_gateway.dialects.response_reasoning import reasoning_items
from gem_gateway.dialects.response_runs import RUN_ITEMS, run_events, run_item

__all__ = ["item_events", "output_items"]

_CALLS = {
    "custom_tool_call": ("input", "custom_tool_call_input"),
    "function_call": ("arguments", "function_call_arguments"),
}
"""Type of an item → the field that is streamed, and the word for it in the events."""

_Event = tuple[str, dict[str, Any]]


def output_items(call: ModelCall, completion: Completion, identity: str) -> list[dict[str, Any]]:
    """Return an answer as items."""
    items: list[dict[str, Any]] = []
    for done, runs in call.answer_turns(completion):
        own = f"{identity}{len(items):02x}" if call.turns else identity
        items += _turn_items(call, done, bool(runs), own)
        at = len(items) - len(done.tool_calls)
        items[at:at] = [run_item(run, call.metadata.get("include", [])) for run in runs]
    return items


def _turn_items(call: ModelCall, completion: Completion, has_runs: bool, identity: str) -> list[dict[str, Any]]:
    encrypted = bool(call.metadata.get("encrypted_reasoning"))
    items = reasoning_items(completion.message, completion.reasoning, identity, encrypted)
    if completion.text or not (completion.tool_calls or has_runs):
        part: dict[str, Any] = {"type": "output_text", "text": completion.text, "annotations": []}
        part["logprobs"] = token_logprobs(completion) or [] if call.sampling.logprobs else []
        status = "incomplete" if completion.finish_reason in ("length", "content_filter") else "completed"
        message = {"id": f"msg_{identity}", "type": "message", "status": status, "role": "assistant"}
        items.append({**message, "content": [part]})
    forms = call.metadata.get("tool_forms", {})
    for index, made in enumerate(completion.tool_calls):
        function = made["function"]
        form = forms.get(function["name"], {})
        called = {"call_id": made["id"], "name": form.get("name", function["name"])}
        if form.get("namespace"):
            called["namespace"] = form["namespace"]
        if form.get("type") == "custom":
            free = arguments_object(function["arguments"]).get("input")
            free = free if isinstance(free, str) else function["arguments"]
            items.append({"id": f"ctc_{identity}{index:02x}", "type": "custom_tool_call", **called, "input": free})
        else:
            called |= {"arguments": function["arguments"], "status": "completed"}
            items.append({"id": f"fc_{identity}{index:02x}", "type": "function_call", **called})
    return items


def item_events(index: int, item: dict[str, Any]) -> Iterator[_Event]:
    """Yield the events that stream an item: their type, and their fields but for the number."""
    place = {"output_index": index}
    inside = {"item_id": item["id"], **place}
    kind = item["type"]
    if kind in RUN_ITEMS:
        yield from run_events(item, place, inside)
    elif kind in ("message", "reasoning"):
        opened: dict[str, Any] = {**item, "content": []}
        if kind == "message":
            opened["status"] = "in_progress"
        yield "response.output_item.added", {**place, "item": opened}
        for number, part in enumerate(item["content"]):
            yield from _part_events(part, {**inside, "content_index": number})
    else:
        field, name = (
            ("input", "custom_tool_call_input")
            if kind == "custom_tool_call"
            else ("arguments", "function_call_arguments")
        )
        opened = {**item, field: ""}
        if "status" in item:
            opened["status"] = "in_progress"
        yield "response.output_item.added", {**place, "item": opened}
        for piece in pieces(item[field]):
            yield f"response.{name}.delta", {**inside, "delta": piece}
        yield f"response.{name}.done", {**inside, field: item[field]}
    yield "response.output_item.done", {**place, "item": item}


def _part_events(part: dict[str, Any], inside: dict[str, Any]) -> Iterator[_Event]:
    name = part["type"]
    # Tokens need not end where pieces do, so that log-probabilities come once, with the whole text.
    empty: dict[str, Any] = {"logprobs": []} if name == "output_text" else {}
    yield "response.content_part.added", {**inside, "part": {**part, "text": "", **empty}}
    for piece in pieces(part["text"]):
        yield f"response.{name}.delta", {**inside, "delta": piece, **empty}
    logprobs = {"logprobs": part["logprobs"]} if name == "output_text" else {}
    yield f"response.{name}.done", {**inside, "text": part["text"], **logprobs}
    yield "response.content_part.done", {**inside, "part": part}
