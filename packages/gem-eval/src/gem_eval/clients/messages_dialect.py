"""Anthropic's Messages, as a client speaks them: :func:`messages_request` and :func:`messages_answer`.

Thinking blocks come back to the server as they were, with their signatures: an assistant's message has them as
``reasoning_details``, in the form that several routers of models share.

Source: the types of the package ``anthropic``, and the interface's reference, version 2023-06-01.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gem_eval.clients.answers import check_answer, counted_usage
from gem_eval.clients.base import Completion, Message, Sampling
from gem_eval.clients.content_parts import content_parts, picture_data, text_in
from gem_eval.clients.json_text import decoded, encoded
from gem_eval.clients.server_errors import error_in_answer
from gem_eval.clients.tool_call_repair import read_calls, sendable

__all__ = ["MESSAGES_VERSION", "MOST_TOKENS", "messages_answer", "messages_request"]

MESSAGES_VERSION = "2023-06-01"
"""Of the header ``anthropic-version``, which every request must have."""
MOST_TOKENS = 8192
"""``max_tokens``, which the interface demands, where the sampling names none."""

_FINISHED = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
_CHOICES = {"auto": "auto", "required": "any", "none": "none"}
_TRANSLATED = ("tool_choice", "parallel_tool_calls")


def messages_request(
    model: str,
    messages: list[Message],
    tools: list[dict[str, Any]] | None,
    sampling: Sampling,
    response_format: dict[str, Any] | None,
) -> dict[str, Any]:
    """Return the body of a request. What the interface has no field for, seeds and log-probabilities, is left out."""
    system, turns = _turns(sendable(messages))
    body: dict[str, Any] = {"model": model, "max_tokens": sampling.max_tokens or MOST_TOKENS, "messages": turns}
    if system:
        body["system"] = system
    given = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "stop_sequences": list(sampling.stop) or None,
    }
    body |= {name: value for name, value in given.items() if value is not None}
    if tools:
        body["tools"] = [_tool(tool) for tool in tools]
        body |= _tool_choice(sampling.extra)
    schema = (response_format or {}).get("json_schema")
    if isinstance(schema, Mapping):
        body["output_config"] = {"format": {"type": "json_schema", "schema": schema.get("schema")}}
    return {**body, **{name: value for name, value in sampling.extra.items() if name not in _TRANSLATED}}


def messages_answer(answer: Any, headers: Mapping[str, str], messages: list[Message]) -> Completion:
    """Return the completion in the body of an answer.

    Args:
        answer: the decoded body.
        headers: of the answer.
        messages: the conversation that was sent, whose call ids are taken.

    Raises:
        ModelError, ContextOverflow: if it holds no answer.
    """
    blocks = answer.get("content") if isinstance(answer, dict) else None
    if not isinstance(blocks, list) or answer.get("type") == "error" or answer.get("error"):
        raise error_in_answer(answer, headers)
    texts: list[str] = []
    thoughts: list[str] = []
    details: list[dict[str, Any]] = []
    called: list[dict[str, Any]] = []
    for block in (block for block in blocks if isinstance(block, dict)):
        kind = block.get("type")
        if kind == "text":
            texts.append(text_in(block.get("text")))
        elif kind == "thinking":
            thoughts.append(text_in(block.get("thinking")))
            details.append({"type": "reasoning.text", "text": thoughts[-1], "signature": block.get("signature")})
        elif kind == "redacted_thinking":
            details.append({"type": "reasoning.encrypted", "data": block.get("data")})
        elif kind == "tool_use":
            made = encoded(block.get("input", {})).decode()
            called.append({"id": block.get("id"), "function": {"name": block.get("name"), "arguments": made}})
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
    stopped = answer.get("stop_reason")
    completion.finish_reason = _FINISHED.get(stopped, stopped) if isinstance(stopped, str) else None
    completion.usage = _usage(answer.get("usage"))
    completion.model = answer["model"] if isinstance(answer.get("model"), str) else None
    completion.request_id = answer["id"] if isinstance(answer.get("id"), str) else None
    check_answer(completion)
    return completion


def _usage(usage: Any) -> dict[str, int] | None:
    """Return the counts; those of the prompt are given in three parts that exclude each other.

    What a server has sampled before the answer, for a summary in place of the conversation, is in no count but its own.
    """
    if not isinstance(usage, Mapping):
        return None
    iterations = usage.get("iterations")
    compacted = [one for one in iterations if _is_compaction(one)] if isinstance(iterations, list) else []
    fresh, written, cached, sampled = (
        _sum([count.get(name) for count in (usage, *compacted)])
        for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    )
    return counted_usage(
        {
            "prompt_tokens": _sum([fresh, written, cached]),
            "completion_tokens": sampled,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
    )


def _is_compaction(iteration: Any) -> bool:
    return isinstance(iteration, Mapping) and iteration.get("type") == "compaction"


def _sum(counts: list[Any]) -> int | None:
    """Return the sum of those that are numbers; None if none is."""
    known = [count for count in counts if type(count) is int]
    return sum(known) if known else None


def _turns(messages: list[Message]) -> tuple[str, list[dict[str, Any]]]:
    """Return the system prompt, and the turns of user and assistant, neither of which comes twice in a row."""
    opening = 0
    while opening < len(messages) and messages[opening].get("role") in ("system", "developer"):
        opening += 1
    system = "\n\n".join(text_in(message.get("content")) for message in messages[:opening])
    turns: list[dict[str, Any]] = []
    for message in messages[opening:]:
        role = "assistant" if message.get("role") == "assistant" else "user"
        blocks = list(_assistant(message) if role == "assistant" else _user(message))
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    for turn in turns:
        if not turn["content"]:  # the interface takes no empty turn, and no empty text
            turn["content"] = [{"type": "text", "text": "(nothing)"}]
    return system, turns


def _assistant(message: Message) -> Iterator[dict[str, Any]]:
    for detail in message.get("reasoning_details") or ():
        if not isinstance(detail, Mapping):
            continue
        if detail.get("type") == "reasoning.text" and isinstance(detail.get("signature"), str):
            yield {"type": "thinking", "thinking": text_in(detail.get("text")), "signature": detail["signature"]}
        elif detail.get("type") == "reasoning.encrypted" and "id" not in detail:
            yield {"type": "redacted_thinking", "data": text_in(detail.get("data"))}
    if text := text_in(message.get("content")):
        yield {"type": "text", "text": text}
    for call in message.get("tool_calls") or ():
        function = call["function"]
        given = decoded(function["arguments"].encode())
        yield {"type": "tool_use", "id": call["id"], "name": function["name"], "input": given}


def _user(message: Message) -> Iterator[dict[str, Any]]:
    blocks = list(_shown(message.get("content")))
    if message.get("role") == "tool":
        result = {"type": "tool_result", "tool_use_id": message.get("tool_call_id")}
        yield {**result, "content": blocks} if blocks else result
    else:
        yield from blocks


def _shown(content: Any) -> Iterator[dict[str, Any]]:
    for part in content_parts(content):
        if part["type"] == "text":
            if part["text"]:
                yield {"type": "text", "text": part["text"]}
        else:
            media, data = picture_data(part["image_url"]["url"])
            inline = {"type": "base64", "media_type": media, "data": data}
            yield {"type": "image", "source": inline if media else {"type": "url", "url": data}}


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    function = tool["function"]
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    described = {"description": function["description"]} if function.get("description") else {}
    return {"name": function["name"], **described, "input_schema": schema}


def _tool_choice(extra: Mapping[str, Any]) -> dict[str, Any]:
    chosen, alone = extra.get("tool_choice"), extra.get("parallel_tool_calls") is False
    if chosen is None and not alone:
        return {}
    if isinstance(chosen, Mapping):
        choice: dict[str, Any] = {"type": "tool", "name": chosen.get("function", {}).get("name")}
    else:
        choice = {"type": _CHOICES.get(str(chosen), "auto")}
    if alone and choice["type"] != "none":
        choice["disable_parallel_tool_use"] = True
    return {"tool_choice": choice}
