"""Anthropic's Messages: ``POST /v1/messages`` and ``/v1/messages/count_tokens``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gem_eval.clients import Completion
from gem_eval.clients.json_text import encoded
from gem_gateway.call_errors import ModelCallError
from gem_gateway.calls import ModelCall
from gem_gateway.dialects.base import AnswerHead, CallSettings, arguments_object, event, pieces, usage_of
from gem_gateway.dialects.chat import stop_texts
from gem_gateway.dialects.fields import function_tool, objects, optional_text, sampling, unusable
from gem_gateway.dialects.message_blocks import read_messages, system_text
from gem_gateway.dialects.server_blocks import run_blocks, server_usage
from gem_gateway.dialects.server_tools import ServerTools, leave_out
from gem_gateway.dialects.thinking import thinking_blocks

__all__ = ["MessagesDialect"]

_NATIVE = ("metadata", "output_config", "thinking")
"""Fields that a server of the same interface gets as they are. The tier of service has a price, which is the run's."""

_KEPT = (*_NATIVE, "context_management", "service_tier")
"""Fields that are recorded with the call."""

_SERVER_FIELDS = ("mcp_servers", "container", "compaction")

_EDITS = "context_management"
"""The field by which a server shows its model another conversation than it was sent: without old results of tools, or
with a summary that the model writes first, at a price beside that of the answer."""

_EMPTY: dict[str, dict[str, Any]] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "tool_use": {"input": {}},
    "server_tool_use": {"input": {}},
}
"""Type of a block → its fields as a stream opens it; others come whole."""

_ERRORS = {
    "authentication": "authentication_error",
    "ended": "authentication_error",
    "not_found": "not_found_error",
    "busy": "rate_limit_error",
    "slow": "timeout_error",
    "too_large": "request_too_large",
    "budget": "billing_error",
    "model": "api_error",
    "internal": "api_error",
}
"""Kind of an error → its ``type``; all others are invalid requests."""


class MessagesDialect:
    """Messages. Reasoning comes as a thinking block where the program asks for thinking, and is left out elsewhere."""

    name = "messages"
    ping = b'event: ping\ndata: {"type":"ping"}\n\n'

    def read(self, body: dict[str, Any], settings: CallSettings) -> ModelCall:
        notes: list[str] = []
        messages = read_messages(objects(body.get("messages"), "messages"), settings, notes)
        if not messages:
            raise unusable("messages must hold at least one message", "messages")
        if messages[-1]["role"] == "assistant":
            raise unusable("the last message must not be the assistant's: answers cannot be begun for the model")
        if system := system_text(body.get("system")):
            messages.insert(0, {"role": "system", "content": system})
        for name in _SERVER_FIELDS:
            if body.get(name):
                leave_out(name, name, settings, notes)
        if body.get(_EDITS):
            notes.append(f"left out {_EDITS}: the model is shown the conversation as it was sent")
        served = ServerTools(settings, notes)
        tools = _tools(body.get("tools"), served)
        extra: dict[str, Any] = {}
        if body.get("top_k") is not None:
            extra["top_k"] = body["top_k"]
        if tools:
            extra |= _choice(body.get("tool_choice"), tools, served)
        return ModelCall(
            messages,
            tools or None,
            sampling(body, "max_tokens", extra, stop=stop_texts(body.get("stop_sequences"), "stop_sequences")),
            _response_format(body),
            self.name,
            optional_text(body.get("model"), "model"),
            body.get("stream") is True,
            metadata={name: body[name] for name in _KEPT if body.get(name) is not None},
            native={name: body[name] for name in _NATIVE if body.get(name) is not None},
            notes=notes,
            server_tools=served.uses,
        )

    def answer(self, call: ModelCall, completion: Completion, head: AnswerHead) -> dict[str, Any]:
        return {
            **_opening(call, completion, head),
            "content": _blocks(call, completion),
            "stop_reason": _stop_reason(call, completion),
        }

    def stream(self, call: ModelCall, completion: Completion, head: AnswerHead) -> Iterator[bytes]:
        opening = _opening(call, completion, head)
        yield event({"type": "message_start", "message": opening}, "message_start")
        for index, block in enumerate(_blocks(call, completion)):
            yield from _block_events(index, block)
        ending = {"stop_reason": _stop_reason(call, completion), "stop_sequence": None}
        yield event({"type": "message_delta", "delta": ending, "usage": opening["usage"]}, "message_delta")
        yield event({"type": "message_stop"}, "message_stop")

    def error(self, error: ModelCallError) -> dict[str, Any]:
        message = str(error)
        if error.kind == "context":
            message = f"prompt is too long: {message}"  # the words by which programs know that they must compact
        return {
            "type": "error",
            "error": {"type": _ERRORS.get(error.kind, "invalid_request_error"), "message": message},
            "request_id": None,
        }

    def error_event(self, error: ModelCallError) -> bytes:
        return event(self.error(error), "error")


def _opening(call: ModelCall, completion: Completion, head: AnswerHead) -> dict[str, Any]:
    """Return a message without its content. Some programs read its usage where a stream opens, some where it ends."""
    counts = usage_of(call, completion)
    return {
        "id": f"msg_{head.identity}",
        "type": "message",
        "role": "assistant",
        "model": head.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": max(0, counts["prompt_tokens"] - counts["cached_tokens"]),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": counts["cached_tokens"],
            "output_tokens": counts["completion_tokens"],
            **server_usage(call),
        },
    }


def _blocks(call: ModelCall, completion: Completion) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    thinking = call.metadata.get("thinking")
    thinks = isinstance(thinking, dict) and thinking.get("type") != "disabled"
    for done, runs in call.answer_turns(completion):
        if thinks:
            blocks += thinking_blocks(done.message, done.reasoning)
        if done.text or not (runs or done.tool_calls):
            blocks.append({"type": "text", "text": done.text})
        for run in runs:
            blocks += run_blocks(run)
        for made in done.tool_calls:
            given = arguments_object(made["function"]["arguments"])
            blocks.append({"type": "tool_use", "id": made["id"], "name": made["function"]["name"], "input": given})
    return blocks


def _block_events(index: int, block: dict[str, Any]) -> Iterator[bytes]:
    def delta(**fields: str) -> bytes:
        return event({"type": "content_block_delta", "index": index, "delta": fields}, "content_block_delta")

    start = {"type": "content_block_start", "index": index, "content_block": {**block, **_EMPTY.get(block["type"], {})}}
    yield event(start, "content_block_start")
    if block["type"] in ("tool_use", "server_tool_use"):
        for piece in pieces(encoded(block["input"]).decode()):
            yield delta(type="input_json_delta", partial_json=piece)
    elif block["type"] == "thinking":
        for piece in pieces(block["thinking"]):
            yield delta(type="thinking_delta", thinking=piece)
        yield delta(type="signature_delta", signature=block["signature"])
    elif block["type"] == "text":
        for piece in pieces(block["text"]):
            yield delta(type="text_delta", text=piece)
    yield event({"type": "content_block_stop", "index": index}, "content_block_stop")


def _stop_reason(call: ModelCall, completion: Completion) -> str:
    if call.ends_with_tools and not completion.tool_calls:
        return "pause_turn"
    if completion.finish_reason == "length":
        return "max_tokens"
    if completion.finish_reason == "content_filter":
        return "refusal"
    return "tool_use" if completion.tool_calls else "end_turn"


def _tools(value: Any, served: ServerTools) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = []
    for index, tool in enumerate(objects(value or [], "tools")):
        param = f"tools[{index}]"
        if tool.get("type", "custom") == "custom":
            tools.append(function_tool(tool.get("name"), tool.get("description"), tool.get("input_schema"), param))
        else:
            served.ask(str(tool.get("type")), tool, param)
    served.offer(tools)
    return tools


def _choice(choice: Any, tools: list[dict[str, Any]], served: ServerTools) -> dict[str, Any]:
    if choice is None:
        return {}
    kind = choice.get("type") if isinstance(choice, dict) else None
    name = choice.get("name") if isinstance(choice, dict) else None
    fields: dict[str, Any] = {}
    if isinstance(name, str) and served.kind_of(name) in served.uses:
        name = served.kind_of(name)
    if kind == "tool" and any(tool["function"]["name"] == name for tool in tools):
        fields["tool_choice"] = {"type": "function", "function": {"name": name}}
    elif kind in ("any", "none"):
        fields["tool_choice"] = {"any": "required", "none": "none"}[kind]
    elif kind != "auto":
        raise unusable("tool_choice.type must be auto, any, none, or tool with the name of a declared one")
    if choice.get("disable_parallel_tool_use") is True:
        fields["parallel_tool_calls"] = False
    return fields


def _response_format(body: dict[str, Any]) -> dict[str, Any] | None:
    config = body.get("output_config")
    form = config.get("format") if isinstance(config, dict) else body.get("output_format")
    if not isinstance(form, dict) or form.get("type") != "json_schema":
        return None
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": form.get("schema"), "strict": True}}
