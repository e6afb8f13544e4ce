"""Google's Gemini, as a client speaks it: :func:`gemini_request` and :func:`gemini_answer`.

Thought signatures come back to the server as they were, each on the part that had it: an assistant's message has them
as ``reasoning_details`` of the type :data:`SIGNATURE`, with the id of the call that they belong to, or without one.

Source: the types of the package ``google-genai``, and https://ai.google.dev/api/generate-content.
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

__all__ = ["SIGNATURE", "gemini_answer", "gemini_request"]

SIGNATURE = "gemini.signature"
"""Type of a reasoning detail with a thought signature: ``data``, and ``id`` where it belongs to a call."""

_FINISHED = {"STOP": "stop", "MAX_TOKENS": "length"}
_FILTERED = (
    *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"),
    *("IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR"),
)
_MODES = {"auto": "AUTO", "required": "ANY", "none": "NONE"}
_CONFIG = {"top_k": "topK", "frequency_penalty": "frequencyPenalty", "presence_penalty": "presencePenalty"}
"""Names of chat completions → fields of the generation config."""
_TRANSLATED = (*_CONFIG, "tool_choice", "parallel_tool_calls", "reasoning_effort", "generationConfig")


def gemini_request(
    model: str,
    messages: list[Message],
    tools: list[dict[str, Any]] | None,
    sampling: Sampling,
    response_format: dict[str, Any] | None,
) -> dict[str, Any]:
    """Return the body of a request; the model is in its path."""
    system, contents = _contents(sendable(messages))
    body: dict[str, Any] = {"contents": contents}
    if system:
        body["systemInstruction"] = {"parts": [{"text": system}]}
    if tools:
        body["tools"] = [{"functionDeclarations": [_declaration(tool["function"]) for tool in tools]}]
        if (chosen := sampling.extra.get("tool_choice")) is not None:
            body["toolConfig"] = {"functionCallingConfig": _choice(chosen)}
    if config := _config(sampling, response_format):
        body["generationConfig"] = config
    return {**body, **{name: value for name, value in sampling.extra.items() if name not in _TRANSLATED}}


def gemini_answer(answer: Any, headers: Mapping[str, str], messages: list[Message]) -> Completion:
    """Return the completion in the body of an answer.

    Args:
        answer: the decoded body.
        headers: of the answer.
        messages: the conversation that was sent, whose call ids are taken.

    Raises:
        ModelError, ContextOverflow: if it holds no answer.
    """
    candidate, feedback = _first_candidate(answer)
    if candidate is None and not feedback:
        raise error_in_answer(answer, headers)
    candidate = candidate or {"finishReason": "SAFETY"}  # of a prompt that was blocked, there is none
    content = candidate.get("content")
    parts = content.get("parts") if isinstance(content, Mapping) else None
    texts: list[str] = []
    thoughts: list[str] = []
    called: list[dict[str, Any]] = []
    signatures: list[tuple[int | None, str]] = []
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, Mapping):
            continue
        function = part.get("functionCall")
        if isinstance(function, Mapping):
            made = encoded(function.get("args") or {}).decode()
            called.append({"id": function.get("id"), "function": {"name": function.get("name"), "arguments": made}})
        else:
            (thoughts if part.get("thought") is True else texts).append(text_in(part.get("text")))
        if isinstance(signature := part.get("thoughtSignature"), str):
            signatures.append((len(called) - 1 if isinstance(function, Mapping) else None, signature))
    calls, problems = read_calls(called, messages)
    text, reasoning = "".join(texts), "".join(thoughts) or None
    message: Message = {"role": "assistant", "content": text or (None if calls else "")}
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    details = [
        _detail(signature, calls, index) for index, signature in signatures if index is None or len(calls) > index
    ]
    if details:
        message["reasoning_details"] = details
    if calls:
        message["tool_calls"] = calls
    completion = Completion(message, text, reasoning, calls)
    if problems:
        completion.metadata["tool_calls"] = problems
    completion.finish_reason = _finish_reason(candidate.get("finishReason"), bool(calls))
    completion.usage = _usage(answer.get("usageMetadata"))
    completion.model = answer["modelVersion"] if isinstance(answer.get("modelVersion"), str) else None
    completion.request_id = answer["responseId"] if isinstance(answer.get("responseId"), str) else None
    _read_logprobs(completion, candidate.get("logprobsResult"))
    check_answer(completion)
    return completion


def _first_candidate(answer: Any) -> tuple[Mapping[str, Any] | None, bool]:
    """Return the first candidate, or None, and whether the prompt was blocked."""
    if not isinstance(answer, Mapping):
        return None, False
    listed = answer.get("candidates")
    first = listed[0] if isinstance(listed, list) and listed else None
    feedback = answer.get("promptFeedback")
    blocked = isinstance(feedback, Mapping) and bool(feedback.get("blockReason"))
    return (first if isinstance(first, Mapping) else None), blocked


def _detail(signature: str, calls: list[dict[str, Any]], index: int | None) -> dict[str, Any]:
    detail = {"type": SIGNATURE, "data": signature}
    return detail if index is None else {**detail, "id": calls[index]["id"]}


def _finish_reason(reason: Any, has_calls: bool) -> str | None:
    if not isinstance(reason, str):
        return None
    if reason in _FILTERED:
        return "content_filter"
    return "tool_calls" if has_calls and reason == "STOP" else _FINISHED.get(reason, reason.lower())


def _usage(usage: Any) -> dict[str, int] | None:
    """Return the counts; those of thoughts are not among those of the candidates."""
    if not isinstance(usage, Mapping):
        return None
    parts = [usage.get(name) for name in ("candidatesTokenCount", "thoughtsTokenCount")]
    known = [part for part in parts if type(part) is int]
    return counted_usage(
        {
            "prompt_tokens": usage.get("promptTokenCount"),
            "completion_tokens": sum(known) if known else None,
            "prompt_tokens_details": {"cached_tokens": usage.get("cachedContentTokenCount")},
            "completion_tokens_details": {"reasoning_tokens": parts[1]},
        }
    )


def _read_logprobs(completion: Completion, result: Any) -> None:
    chosen = result.get("chosenCandidates") if isinstance(result, Mapping) else None
    if isinstance(chosen, list) and all(
        isinstance(one, Mapping) and isinstance(one.get("token"), str) and isinstance(one.get("logProbability"), float)
        for one in chosen
    ):
        completion.tokens = [one["token"] for one in chosen]
        completion.logprobs = [one["logProbability"] for one in chosen]


def _contents(messages: list[Message]) -> tuple[str, list[dict[str, Any]]]:
    """Return the system prompt, and the contents of user and model, neither of which comes twice in a row."""
    opening = 0
    while opening < len(messages) and messages[opening].get("role") in ("system", "developer"):
        opening += 1
    system = "\n\n".join(text_in(message.get("content")) for message in messages[:opening])
    names: dict[str, str] = {}
    contents: list[dict[str, Any]] = []
    for message in messages[opening:]:
        role = "model" if message.get("role") == "assistant" else "user"
        parts = list(_model(message, names) if role == "model" else _user(message, names))
        if contents and contents[-1]["role"] == role:
            contents[-1]["parts"] += parts
        else:
            contents.append({"role": role, "parts": parts})
    for content in contents:
        content["parts"] = content["parts"] or [{"text": "(nothing)"}]  # no content may be empty
    return system, contents


def _model(message: Message, names: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the parts of an answer, and note the names of its calls by their ids."""
    details = [one for one in message.get("reasoning_details") or () if isinstance(one, Mapping)]
    signed = {one.get("id"): text_in(one.get("data")) for one in details if one.get("type") == SIGNATURE}
    text = text_in(message.get("content"))
    if text or None in signed:
        yield {"text": text, **({"thoughtSignature": signed[None]} if None in signed else {})}
    for call in message.get("tool_calls") or ():
        function = call["function"]
        names[call["id"]] = function["name"]
        made = {"id": call["id"], "name": function["name"], "args": decoded(function["arguments"].encode())}
        signature = {"thoughtSignature": signed[call["id"]]} if call["id"] in signed else {}
        yield {"functionCall": made, **signature}


def _user(message: Message, names: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    content = message.get("content")
    if message.get("role") != "tool":
        yield from _shown(content)
        return
    identifier = str(message.get("tool_call_id"))
    result = {"output": text_in(content)}
    yield {"functionResponse": {"id": identifier, "name": names.get(identifier, "unnamed"), "response": result}}
    yield from (part for part in _shown(content) if "text" not in part)


def _shown(content: Any) -> Iterator[dict[str, Any]]:
    for part in content_parts(content):
        if part["type"] == "text":
            if part["text"]:
                yield {"text": part["text"]}
        else:
            media, data = picture_data(part["image_url"]["url"])
            yield {"inlineData": {"mimeType": media, "data": data}} if media else {"fileData": {"fileUri": data}}


def _declaration(function: Mapping[str, Any]) -> dict[str, Any]:
    described = {"description": function["description"]} if function.get("description") else {}
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    return {"name": function["name"], **described, "parametersJsonSchema": schema}


def _choice(chosen: Any) -> dict[str, Any]:
    if isinstance(chosen, Mapping):
        return {"mode": "ANY", "allowedFunctionNames": [chosen.get("function", {}).get("name")]}
    return {"mode": _MODES.get(str(chosen), "AUTO")}


def _config(sampling: Sampling, response_format: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the generation config: what the caller gives in the interface's own words, and the sampling."""
    own = sampling.extra.get("generationConfig")
    config: dict[str, Any] = dict(own) if isinstance(own, Mapping) else {}
    if (effort := sampling.extra.get("reasoning_effort")) is not None and "thinkingConfig" not in config:
        config["thinkingConfig"] = {"thinkingLevel": str(effort).upper()}
    given = {
        "temperature": sampling.temperature,
        "topP": sampling.top_p,
        "maxOutputTokens": sampling.max_tokens,
        "stopSequences": list(sampling.stop) or None,
        "seed": sampling.seed,
        "responseLogprobs": sampling.logprobs or None,
        "logprobs": sampling.top_logprobs or None,
        **{theirs: sampling.extra.get(ours) for ours, theirs in _CONFIG.items()},
    }
    if response_format is not None and response_format.get("type") in ("json_schema", "json_object"):
        given["responseMimeType"] = "application/json"
        schema = response_format.get("json_schema")
        given["responseJsonSchema"] = schema.get("schema") if isinstance(schema, Mapping) else None
    return {**config, **{name: value for name, value in given.items() if value is not None}}
