"""``/v1/chat/completions``: requests, answers and streams, in every dialect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gem_eval.fake_model.byte_tokens import piece, token_bytes
from gem_eval.fake_model.conversation import is_token_ids, prompt_ids
from gem_eval.fake_model.dialects import Dialect
from gem_eval.fake_model.model_request import ModelAnswer, ModelRequest, UnusableRequest
from gem_eval.fake_model.sampling import alternatives

__all__ = ["CREATED", "chat_answer", "chat_chunks", "read_chat", "stops", "token_entries", "triples", "usage", "whole"]

CREATED = 1_750_000_000
"""Unix seconds of every answer: replies do not depend on the clock."""
MOST_CHOICES = 128
MOST_ALTERNATIVES = 100


def read_chat(body: Mapping[str, Any], dialect: Dialect) -> ModelRequest:
    """Return what a chat request asks for.

    Raises:
        UnusableRequest: if a server of this dialect would refuse it.
    """
    if dialect.known_fields is not None and (unknown := sorted(set(body) - dialect.known_fields)):
        raise UnusableRequest(f"Unexpected keys in the request: {set(unknown)}", 422, unknown[0])
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(item, dict) for item in messages):
        raise UnusableRequest("messages must be a list of objects and hold at least one", param="messages")
    for message in messages:
        if not isinstance(message.get("role"), str):
            raise UnusableRequest("every message needs a role", param="messages")
        if not isinstance(message.get("content"), (str, list)) and message["role"] != "assistant":
            raise UnusableRequest(f"the content of a message of the {message['role']} is missing", param="messages")
    tools = body.get("tools") or []
    if not isinstance(tools, list):
        raise UnusableRequest("tools must be a list", param="tools")
    if body.get("tool_choice") == "none":
        tools = []
    given = body.get("input_ids") if dialect.name == "sglang" else None
    if given is not None and not is_token_ids(given):
        raise UnusableRequest("input_ids must be a list of token ids and hold at least one", param="input_ids")
    options = body.get("stream_options") or {}
    return ModelRequest(
        body,
        messages,
        prompt_ids(messages, tools) if given is None else given,
        ids_given=given is not None,
        tools=tools,
        schema=_schema(body.get("response_format")) if dialect.structured else None,
        max_tokens=whole(body, "max_completion_tokens", "max_tokens"),
        stop=stops(body.get("stop")),
        choices=(whole(body, "n", maximum=MOST_CHOICES) or 1) if dialect.several_choices else 1,
        stream=body.get("stream") is True,
        usage_in_stream=dialect.usage_in_stream or (isinstance(options, dict) and options.get("include_usage") is True),
        logprobs=dialect.logprobs and body.get("logprobs") is True,
        top_logprobs=whole(body, "top_logprobs", maximum=MOST_ALTERNATIVES) or 0,
        token_ids=dialect.ids_on_request and body.get("return_token_ids") is True,
    )


def chat_answer(request: ModelRequest, answers: list[ModelAnswer], dialect: Dialect, model: str) -> dict[str, Any]:
    """Return the body of an answer that is not streamed."""
    body: dict[str, Any] = {
        "id": f"chatcmpl-{request.identity}",
        "object": "chat.completion",
        "created": CREATED,
        "model": model,
        "choices": [_choice(index, answer, request, dialect) for index, answer in enumerate(answers)],
        "usage": usage(request, answers, dialect),
    }
    if request.token_ids:
        if dialect.prompt_ids_per_choice:
            for choice in body["choices"]:
                choice["prompt_token_ids"] = request.prompt_ids
        else:
            body["prompt_token_ids"] = request.prompt_ids
    return body


def _choice(index: int, answer: ModelAnswer, request: ModelRequest, dialect: Dialect) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.reasoning is not None:
        message[dialect.reasoning_field] = answer.reasoning
    if answer.tool_calls:
        message["tool_calls"] = [
            {
                "id": call.id or f"call_{index}_{place}_{len(request.prompt_ids)}",
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for place, call in enumerate(answer.tool_calls)
        ]
    choice: dict[str, Any] = {
        "index": index,
        "message": message,
        "logprobs": {"content": token_entries(answer, request, dialect)} if request.logprobs else None,
        "finish_reason": answer.finish_reason,
    }
    if dialect.name == "vllm":
        choice["stop_reason"] = answer.matched_stop if isinstance(answer.matched_stop, str) else None
    elif dialect.name == "sglang":
        choice["matched_stop"] = answer.matched_stop
    if request.token_ids:
        choice["token_ids"] = answer.token_ids
    if dialect.name == "sglang" and request.body.get("return_meta_info") is True:
        choice["meta_info"] = {"output_token_logprobs": triples(answer)}
    return choice


def token_entries(answer: ModelAnswer, request: ModelRequest, dialect: Dialect) -> list[dict[str, Any]]:
    """Return the entries of ``logprobs.content``."""
    as_id = dialect.name == "vllm" and request.body.get("return_tokens_as_token_ids") is True
    entries = []
    for token, logprob in zip(answer.token_ids, answer.logprobs, strict=True):
        entry = _entry(token, logprob, dialect, as_id)
        entry["top_logprobs"] = [
            _entry(other, probability, dialect, as_id)
            for other, probability in alternatives(token, logprob, request.top_logprobs)
        ]
        entries.append(entry)
    return entries


def _entry(token: int, logprob: float, dialect: Dialect, as_id: bool = False) -> dict[str, Any]:
    text = f"token_id:{token}" if as_id else piece(token)
    entry: dict[str, Any] = {"token": text, "logprob": logprob, "bytes": list(token_bytes(token))}
    if dialect.ids_in_logprobs:
        entry["id"] = token
    return entry


def triples(answer: ModelAnswer) -> list[list[Any]]:
    """Return log-probabilities as SGLang lists them: ``[logprob, id, None]``."""
    return [[logprob, token, None] for token, logprob in zip(answer.token_ids, answer.logprobs, strict=True)]


def usage(request: ModelRequest, answers: list[ModelAnswer], dialect: Dialect) -> dict[str, Any]:
    """Return the counts of tokens."""
    sampled = sum(len(answer.token_ids) for answer in answers)
    details = {"prompt_tokens_details": {"cached_tokens": request.cached_tokens}} if dialect.tells_cached else {}
    return {
        "prompt_tokens": len(request.prompt_ids),
        "completion_tokens": sampled,
        "total_tokens": len(request.prompt_ids) + sampled,
        **details,
    }


def chat_chunks(body: Mapping[str, Any], request: ModelRequest) -> Iterator[dict[str, Any]]:
    """Yield the chunks of a stream that add up to an answer.

    The answer may be a defective one: what is no text, list or object goes into one chunk as it is, and a body that is
    no completion is the only event.
    """
    if "choices" not in body:
        yield dict(body)
        return
    head = {key: body[key] for key in ("id", "created", "model") if key in body}
    head["object"] = "chat.completion.chunk"
    choices = body.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        index = choice.get("index", 0)
        message = choice.get("message")
        message = message if isinstance(message, dict) else {}
        first: dict[str, Any] = {**head, "choices": [{"index": index, "delta": {"role": "assistant", "content": ""}}]}
        for holder, where in ((body, first), (choice, first["choices"][0])):
            if "prompt_token_ids" in holder:
                where["prompt_token_ids"] = holder["prompt_token_ids"]
        yield first
        for delta, tokens in _deltas(message, choice):
            yield {**head, "choices": [{"index": index, "delta": delta, "finish_reason": None, **tokens}]}
        ending = {key: choice[key] for key in ("finish_reason", "stop_reason", "matched_stop") if key in choice}
        yield {**head, "choices": [{"index": index, "delta": {}, **ending}]}
    if request.usage_in_stream and "usage" in body:
        yield {**head, "choices": [], "usage": body["usage"]}


def _deltas(message: dict[str, Any], choice: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each delta with the token ids and log-probabilities that go with it."""
    deltas: list[dict[str, Any]] = []
    for name in ("reasoning", "reasoning_content", "content"):
        text = message.get(name)
        if isinstance(text, str):
            deltas += [{name: text[start : start + 4]} for start in range(0, len(text), 4)]
        elif text is not None:
            deltas.append({name: text})
    calls = message.get("tool_calls")
    for place, call in enumerate(calls if isinstance(calls, list) else ()):
        deltas += _call_deltas(call, place)
    ids = choice.get("token_ids")
    logprobs = choice.get("logprobs")
    entries = logprobs.get("content") if isinstance(logprobs, dict) else None
    lists = {"token_ids": ids, "logprobs": entries}
    count = max(len(deltas), 1)
    for place, delta in enumerate(deltas or [{}]):
        tokens: dict[str, Any] = {}
        for name, values in lists.items():
            if not isinstance(values, list):
                continue
            # As evenly as the deltas allow; together they are the whole.
            part = values[place * len(values) // count : (place + 1) * len(values) // count]
            tokens[name] = {"content": part} if name == "logprobs" else part
        yield delta, tokens


def _call_deltas(call: dict[str, Any], place: int) -> list[dict[str, Any]]:
    function = call.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("arguments"), str):
        return [{"tool_calls": [{"index": place, **call}]}]
    arguments = function["arguments"]
    opening = {"index": place, **call, "function": {**function, "arguments": ""}}
    return [{"tool_calls": [opening]}] + [
        {"tool_calls": [{"index": place, "function": {"arguments": arguments[start : start + 8]}}]}
        for start in range(0, len(arguments), 8)
    ]


def whole(body: Mapping[str, Any], *names: str, maximum: int | None = None) -> int | None:
    """Return the first of these parameters that is set.

    Raises:
        UnusableRequest: if it is no whole number from 0 to the maximum.
    """
    for name in names:
        value = body.get(name)
        if value is not None:
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise UnusableRequest(f"{name} must be a whole number from 0, got {value!r}", param=name)
            if maximum is not None and value > maximum:
                raise UnusableRequest(f"{name} must be at most {maximum}, got {value}", param=name)
            return value
    return None


def stops(value: object) -> tuple[str, ...]:
    """Return stop strings, given as one or as a list."""
    if isinstance(value, str):
        return (value,)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _schema(response_format: object) -> Mapping[str, Any] | None:
    if not isinstance(response_format, Mapping) or response_format.get("type") in (None, "text"):
        return None
    described = response_format.get("json_schema")
    schema = described.get("schema") if isinstance(described, Mapping) else None
    return schema if isinstance(schema, Mapping) else {}
