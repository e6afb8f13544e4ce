"""OpenAI's Responses, as a client speaks them: :func:`responses_request` and :func:`responses_answer`.

Nothing is kept on the server (``store`` is false). Reasoning items come back to it as they were, with what they hold
encrypted: an assistant's message has them as ``reasoning_details``, in the form that several routers of models share.

Source: the types of the package ``openai``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gem_eval.clients.answers import check_answer, counted_usage
from gem_eval.clients.base import Completion, Message, Sampling
from gem_eval.clients.content_parts import content_parts, text_in
from gem_eval.clients.server_errors import error_in_answer
from gem_eval.clients.token_data import attach, from_content
from gem_eval.clients.tool_call_repair import read_calls, sendable

__all__ = ["responses_answer", "responses_request"]

_ENCRYPTED = "reasoning.encrypted_content"
_LOGPROBS = "message.output_text.logprobs"
_CUT = {"max_output_tokens": "length", "content_filter": "content_filter"}
_TRANSLATED = ("tool_choice", "reasoning_effort")


def responses_request(
    model: str,
    messages: list[Message],
    tools: list[dict[str, Any]] | None,
    sampling: Sampling,
    response_format: dict[str, Any] | None,
) -> dict[str, Any]:
    """Return the body of a request. Stop sequences and seeds, which the interface does not have, are left out."""
    include = [_ENCRYPTED, *([_LOGPROBS] if sampling.logprobs else [])]
    body: dict[str, Any] = {"model": model, "input": list(_items(sendable(messages))), "store": False}
    body["include"] = include
    given = {
        "max_output_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_logprobs": sampling.top_logprobs if sampling.logprobs else None,
    }
    body |= {name: value for name, value in given.items() if value is not None}
    if tools:
        body["tools"] = [{"type": "function", "strict": False, **tool["function"]} for tool in tools]
        chosen = sampling.extra.get("tool_choice")
        if isinstance(chosen, Mapping):
            body["tool_choice"] = {"type": "function", "name": chosen.get("function", {}).get("name")}
        elif chosen is not None:
            body["tool_choice"] = chosen
    if effort := sampling.extra.get("reasoning_effort"):
        body["reasoning"] = {"effort": effort}
    schema = (response_format or {}).get("json_schema")
    if isinstance(schema, Mapping):
        body["text"] = {"format": {"type": "json_schema", **schema}}
    elif response_format is not None:
        body["text"] = {"format": dict(response_format)}
    return {**body, **{name: value for name, value in sampling.extra.items() if name not in _TRANSLATED}}


def responses_answer(answer: Any, headers: Mapping[str, str], messages: list[Message]) -> Completion:
    """Return the completion in the body of an answer.

    Args:
        answer: the decoded body.
        headers: of the answer.
        messages: the conversation that was sent, whose call ids are taken.

    Raises:
        ModelError, ContextOverflow: if it holds no answer.
    """
    items = answer.get("output") if isinstance(answer, dict) else None
    if not isinstance(items, list) or answer.get("error"):
        raise error_in_answer(answer, headers)
    texts: list[str] = []
    thoughts: list[str] = []
    details: list[dict[str, Any]] = []
    called: list[dict[str, Any]] = []
    logprobs: list[Any] = []
    for item in (item for item in items if isinstance(item, dict)):
        kind = item.get("type")
        if kind == "message":
            for part in _parts(item.get("content")):
                texts.append(_said(part.get("text", part.get("refusal"))))
                logprobs += part["logprobs"] if isinstance(part.get("logprobs"), list) else []
        elif kind == "reasoning":
            said = [_said(part.get("text")) for name in ("summary", "content") for part in _parts(item.get(name))]
            thoughts += said
            details.append(_detail(item, "\n\n".join(filter(None, said))))
        elif kind == "function_call":
            function = {"name": item.get("name"), "arguments": item.get("arguments")}
            called.append({"id": item.get("call_id"), "function": function})
    calls, problems = read_calls(called, messages)
    text, reasoning = "".join(texts), "\n\n".join(filter(None, thoughts)) or None
    message: Message = {"role": "assistant", "content": text or (None if calls else "")}
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    if details:
        message["reasoning_details"] = details
    if calls:
        message["tool_calls"] = calls
    completion = Completion(message, text, reasoning, calls)
    if problems:
        completion.metadata["tool_calls"] = problems
    completion.finish_reason = _finish(answer, bool(calls))
    completion.usage = _usage(answer.get("usage"))
    completion.model = answer["model"] if isinstance(answer.get("model"), str) else None
    completion.request_id = answer["id"] if isinstance(answer.get("id"), str) else None
    attach(completion, from_content(logprobs), None)
    check_answer(completion)
    return completion


def _finish(answer: Mapping[str, Any], has_calls: bool) -> str | None:
    status, why = answer.get("status"), answer.get("incomplete_details")
    if status == "incomplete":
        reason = why.get("reason") if isinstance(why, Mapping) else None
        return _CUT.get(str(reason), str(reason or "incomplete"))
    if status in ("failed", "cancelled"):
        return "error"
    return "tool_calls" if has_calls else "stop"


def _usage(usage: Any) -> dict[str, int] | None:
    if not isinstance(usage, Mapping):
        return None
    return counted_usage(
        {
            "prompt_tokens": usage.get("input_tokens"),
            "completion_tokens": usage.get("output_tokens"),
            "prompt_tokens_details": usage.get("input_tokens_details"),
            "completion_tokens_details": usage.get("output_tokens_details"),
        }
    )


def _detail(item: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return a reasoning item in the form of messages."""
    secret = item.get("encrypted_content")
    if isinstance(secret, str):
        return {"type": "reasoning.encrypted", "id": item.get("id"), "data": secret, "summary": item.get("summary", [])}
    return {"type": "reasoning.summary", "summary": text}


def _items(messages: list[Message]) -> Iterator[dict[str, Any]]:
    for message in messages:
        role, content = message.get("role"), message.get("content")
        if role == "tool":
            identifier = message.get("tool_call_id")
            yield {"type": "function_call_output", "call_id": identifier, "output": text_in(content)}
            # The output of a call is text; pictures follow it.
            pictures = [part for part in _shown(content) if part["type"] != "input_text"]
            if pictures:
                yield {"type": "message", "role": "user", "content": pictures}
        elif role == "assistant":
            yield from _assistant(message)
        else:
            yield {"type": "message", "role": role, "content": list(_shown(content))}


def _assistant(message: Message) -> Iterator[dict[str, Any]]:
    for detail in message.get("reasoning_details") or ():
        if isinstance(detail, Mapping) and detail.get("type") == "reasoning.encrypted" and "id" in detail:
            yield {
                "type": "reasoning",
                "id": detail["id"],
                "summary": detail.get("summary") or [],
                "encrypted_content": detail.get("data"),
            }
    if text := text_in(message.get("content")):
        yield {"type": "message", "role": "assistant", "content": text}
    for call in message.get("tool_calls") or ():
        function = call["function"]
        made = {"name": function["name"], "arguments": function["arguments"]}
        yield {"type": "function_call", "call_id": call["id"], **made}


def _shown(content: Any) -> Iterator[dict[str, Any]]:
    for part in content_parts(content):
        if part["type"] == "text":
            yield {"type": "input_text", "text": part["text"]}
        else:
            given = part["image_url"]
            yield {"type": "input_image", "image_url": given["url"], "detail": given.get("detail") or "auto"}


def _parts(value: Any) -> list[dict[str, Any]]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def _said(value: Any) -> str:
    return value if isinstance(value, str) else ""
