"""OpenAI's Responses: ``POST /v1/responses``, without the state that a hosted API keeps between calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gem_eval.clients import Completion
from gem_gateway.call_errors import ModelCallError
from gem_gateway.calls import ModelCall
from gem_gateway.dialects.base import AnswerHead, CallSettings, event, usage_of
from gem_gateway.dialects.chat import passed_on
from gem_gateway.dialects.fields import optional_text, sampling, text, unusable, whole
from gem_gateway.dialects.openai_errors import openai_error
from gem_gateway.dialects.response_input import read_input
from gem_gateway.dialects.response_output import item_events, output_items
from gem_gateway.dialects.response_tools import read_choice, read_tools
from gem_gateway.dialects.server_tools import ServerTools

__all__ = ["ResponsesDialect"]

_KEPT = ("client_metadata", "metadata", "prompt_cache_key", "reasoning", "safety_identifier", "service_tier", "store")
"""Fields that are recorded with the call."""

_NATIVE = ("metadata", "reasoning", "safety_identifier")
"""Fields that a server of the same interface gets as they are. The tier of service has a price, which is the run's."""

_STATE = {
    "background": "answers come while the program waits",
    "conversation": "send the whole conversation as input",
    "previous_response_id": "send the whole conversation as input",
    "prompt": "send the prompt itself as input",
}
"""Fields that need what only a hosted API keeps → what to do instead."""

_FAILED = {
    "context": "context_length_exceeded",
    "budget": "insufficient_quota",
    "ended": "insufficient_quota",
    "unusable": "invalid_prompt",
    "filtered": "invalid_prompt",
}
"""Kind of an error → the code in a stream, chosen among those after which Codex does not repeat; others are
``server_error``."""

_LOGPROBS = "message.output_text.logprobs"
_ENCRYPTED = "reasoning.encrypted_content"


class ResponsesDialect:
    """Responses. Reasoning comes as an item of its own, with its text also in ``encrypted_content`` where a program
    asks for that: some send nothing else of it back.
    """

    name = "responses"
    ping = b": keep-alive\n\n"

    def read(self, body: dict[str, Any], settings: CallSettings) -> ModelCall:
        for name, remedy in _STATE.items():
            if body.get(name):
                raise unusable(f"{name} needs state that this gateway does not keep; {remedy}", name)
        notes: list[str] = []
        served = ServerTools(settings, notes)
        tools, forms = read_tools(body.get("tools"), served)
        messages = read_input(
            body.get("input"), optional_text(body.get("instructions"), "instructions"), settings, notes
        )
        extra = passed_on(body)
        if tools:
            extra |= read_choice(body.get("tool_choice"), tools, served, settings, notes)
            if body.get("parallel_tool_calls") is False:
                extra["parallel_tool_calls"] = False
        reasoning = body.get("reasoning")
        if isinstance(reasoning, dict) and isinstance(effort := reasoning.get("effort"), str):
            extra["reasoning_effort"] = effort
        include = body.get("include")
        include = include if isinstance(include, list) else []
        metadata = {name: body[name] for name in _KEPT if body.get(name) is not None}
        if _ENCRYPTED in include:
            metadata["encrypted_reasoning"] = True
        if served.uses and include:
            metadata["include"] = include
        if forms:
            metadata["tool_forms"] = forms
        top = whole(body.get("top_logprobs"), "top_logprobs") or 0
        logprobs = _LOGPROBS in include
        return ModelCall(
            messages,
            tools or None,
            sampling(body, "max_output_tokens", extra, logprobs=logprobs, top_logprobs=top if logprobs else 0),
            _response_format(body.get("text")),
            self.name,
            optional_text(body.get("model"), "model"),
            body.get("stream") is True,
            metadata=metadata,
            native={name: body[name] for name in _NATIVE if body.get(name) is not None},
            notes=notes,
            server_tools=served.uses,
            most_tool_runs=whole(body.get("max_tool_calls"), "max_tool_calls", minimum=1),
        )

    def answer(self, call: ModelCall, completion: Completion, head: AnswerHead) -> dict[str, Any]:
        reason = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(
            completion.finish_reason or "", ""
        )
        return {
            **_shell(call, head, "incomplete" if reason else "completed"),
            "incomplete_details": {"reason": reason} if reason else None,
            "output": output_items(call, completion, head.identity),
            "usage": _usage(usage_of(call, completion)),
        }

    def stream(self, call: ModelCall, completion: Completion, head: AnswerHead) -> Iterator[bytes]:
        number = 0

        def numbered(kind: str, fields: dict[str, Any]) -> bytes:
            nonlocal number
            data = {"type": kind, "sequence_number": number, **fields}
            number += 1
            return event(data, kind)

        opening = _shell(call, head, "in_progress")
        yield numbered("response.created", {"response": opening})
        yield numbered("response.in_progress", {"response": opening})
        answer = self.answer(call, completion, head)
        for index, item in enumerate(answer["output"]):
            for kind, fields in item_events(index, item):
                yield numbered(kind, fields)
        yield numbered(f"response.{answer['status']}", {"response": answer})

    def error(self, error: ModelCallError) -> dict[str, Any]:
        return openai_error(error)

    def error_event(self, error: ModelCallError) -> bytes:
        told = {"code": _FAILED.get(error.kind, "server_error"), "message": str(error)}
        response = {"object": "response", "id": "resp_failed", "status": "failed", "error": told, "output": []}
        return event({"type": "response.failed", "sequence_number": 0, "response": response}, "response.failed")


def _shell(call: ModelCall, head: AnswerHead, status: str) -> dict[str, Any]:
    """Return a response without its output. What a program has sent is not repeated to it."""
    asked = call.sampling
    return {
        "id": f"resp_{head.identity}",
        "object": "response",
        "created_at": head.created,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": asked.max_tokens,
        "metadata": {},
        "model": head.model,
        "output": [],
        "parallel_tool_calls": asked.extra.get("parallel_tool_calls", True),
        "previous_response_id": None,
        "store": False,
        "temperature": asked.temperature,
        "tool_choice": "auto",
        "tools": [],
        "top_p": asked.top_p,
        "truncation": "disabled",
        "usage": None,
    }


def _usage(counts: dict[str, int]) -> dict[str, Any]:
    return {
        "input_tokens": counts["prompt_tokens"],
        "input_tokens_details": {"cached_tokens": counts["cached_tokens"], "cache_write_tokens": 0},
        "output_tokens": counts["completion_tokens"],
        "output_tokens_details": {"reasoning_tokens": counts["reasoning_tokens"]},
        "total_tokens": counts["prompt_tokens"] + counts["completion_tokens"],
    }


def _response_format(options: Any) -> dict[str, Any] | None:
    form = options.get("format") if isinstance(options, dict) else None
    if not isinstance(form, dict) or form.get("type") in (None, "text"):
        return None
    if form["type"] == "json_object":
        return {"type": "json_object"}
    if form["type"] != "json_schema" or not isinstance(form.get("schema"), dict):
        raise unusable("text.format must be text, json_object, or json_schema with a schema", "text.format")
    named = {"name": text(form.get("name", "answer"), "text.format.name"), "schema": form["schema"]}
    return {"type": "json_schema", "json_schema": {**named, "strict": form.get("strict") is True}}
