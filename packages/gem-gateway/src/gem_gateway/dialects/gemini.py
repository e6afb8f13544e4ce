"""Google's Gemini: ``POST /v1beta/models/MODEL:generateContent``, ``:streamGenerateContent`` and ``:countTokens``.

The interface is described at https://ai.google.dev/api/generate-content.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote

from gem_eval.clients import Completion
from gem_eval.clients.json_text import encoded
from gem_gateway.call_errors import ModelCallError
from gem_gateway.calls import ModelCall
from gem_gateway.dialects.base import AnswerHead, CallSettings, arguments_object, event, pieces, usage_of
from gem_gateway.dialects.chat import stop_texts
from gem_gateway.dialects.fields import objects, sampling, unusable, whole
from gem_gateway.dialects.gemini_contents import read_contents, signature, signatures_of, system_instruction
from gem_gateway.dialects.gemini_runs import grounding, run_parts
from gem_gateway.dialects.gemini_schemas import json_schema, proto_field
from gem_gateway.dialects.gemini_tools import read_choice, read_tools
from gem_gateway.dialects.server_tools import ServerTools

__all__ = ["GeminiDialect", "gemini_call", "gemini_model"]

_PATH = re.compile(r"(?:/v1(?:alpha|beta\d*))?/models/(.+):(generateContent|streamGenerateContent|countTokens)")
_COUNT, _STREAM = "countTokens", "streamGenerateContent"

_PENALTIES = {"frequencyPenalty": "frequency_penalty", "presencePenalty": "presence_penalty", "topK": "top_k"}
"""Fields of a generation config → names of chat completions."""

_KEPT = ("labels", "safetySettings")
_KEPT_CONFIG = ("mediaResolution", "thinkingConfig")

_STATUSES = {
    "authentication": "UNAUTHENTICATED",
    "ended": "UNAUTHENTICATED",
    "not_found": "NOT_FOUND",
    "method": "UNIMPLEMENTED",
    "slow": "DEADLINE_EXCEEDED",
    "busy": "RESOURCE_EXHAUSTED",
    "budget": "FAILED_PRECONDITION",
    "model": "UNAVAILABLE",
    "internal": "INTERNAL",
}
"""Kind of an error → its ``status``; all others are invalid arguments."""

_SEPARATORS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"))
"""Line breaks to a regular expression of JavaScript, with which Google's client cuts a stream into its events."""


def gemini_call(endpoint: str, query: str) -> GeminiDialect | None:
    """Return the dialect of a request's path; None if the path is none of Gemini's.

    Args:
        endpoint: the path behind the session's.
        query: of the address.
    """
    found = _PATH.fullmatch(endpoint)
    if found is None:
        return None
    return GeminiDialect(unquote(found[1], errors="replace"), found[2], parse_qs(query).get("alt") == ["sse"])


def gemini_model(model: str) -> dict[str, Any]:
    """Return the fields by which Google's clients know a model."""
    methods = ["generateContent", _STREAM, _COUNT]
    return {"name": f"models/{model}", "displayName": model, "supportedGenerationMethods": methods}


@dataclass(frozen=True)
class GeminiDialect:
    """One call in Gemini's interface, whose path holds what others have in the body.

    Reasoning comes as a part that is a thought, where the program asks for thoughts, and is left out elsewhere.
    """

    model: str = ""
    method: str = "generateContent"
    sse: bool = True
    """Whether a stream is asked for as server-sent events, which is the one form that there is here."""

    name = "gemini"
    # Google's clients take no comments: the one for Python for JSON, the one for JavaScript for the end of the stream.
    ping = b"\n\n"

    @property
    def counts(self) -> bool:
        """Whether the call asks for the tokens of a prompt alone."""
        return self.method == _COUNT

    def read(self, body: dict[str, Any], settings: CallSettings) -> ModelCall:
        if self.method == _STREAM and not self.sse:
            raise unusable("a stream comes as server-sent events: ask for :streamGenerateContent?alt=sse", "alt")
        if self.counts and isinstance(whole_request := proto_field(body, "generateContentRequest"), dict):
            body = whole_request
        if proto_field(body, "cachedContent"):
            raise unusable(
                "cachedContent needs state that this gateway does not keep; send all contents", "cachedContent"
            )
        notes: list[str] = []
        contents = objects(body.get("contents"), "contents")
        messages = read_contents(contents, settings, notes, may_end_with_model=self.counts)
        if not messages:
            raise unusable("contents must hold at least one content", "contents")
        if system := system_instruction(proto_field(body, "systemInstruction")):
            messages.insert(0, {"role": "system", "content": system})
        served = ServerTools(settings, notes)
        tools = read_tools(body.get("tools"), served)
        config = proto_field(body, "generationConfig")
        if not isinstance(config, (dict, type(None))):
            raise unusable("generationConfig must be an object", "generationConfig")
        config = config or {}
        if (whole(proto_field(config, "candidateCount"), "generationConfig.candidateCount", minimum=1) or 1) != 1:
            raise unusable("candidateCount must be 1: one answer for each call", "generationConfig.candidateCount")
        extra = {
            theirs: value for ours, theirs in _PENALTIES.items() if (value := proto_field(config, ours)) is not None
        }
        if isinstance(top := extra.get("top_k"), float) and top.is_integer():
            extra["top_k"] = int(top)
        if tools:
            extra |= read_choice(proto_field(body, "toolConfig"), tools, notes)
        metadata: dict[str, Any] = {"labels": body["labels"]} if body.get("labels") else {}
        thinking = proto_field(config, "thinkingConfig")
        if isinstance(thinking, dict):
            metadata["thinkingConfig"] = thinking
            level = proto_field(thinking, "thinkingLevel")
            if isinstance(level, str) and level != "THINKING_LEVEL_UNSPECIFIED":
                extra["reasoning_effort"] = level.lower()
        return ModelCall(
            messages,
            tools or None,
            _sampling(config, extra),
            _response_format(config, notes),
            self.name,
            self.model,
            self.method == _STREAM,
            metadata=metadata,
            native=_native(body, config),
            notes=notes,
            server_tools=served.uses,
        )

    def answer(self, call: ModelCall, completion: Completion, head: AnswerHead) -> dict[str, Any]:
        return _response(head, _parts(call, completion), _ending(call, completion))

    def stream(self, call: ModelCall, completion: Completion, head: AnswerHead) -> Iterator[bytes]:
        *before, last = [piece for part in _parts(call, completion) for piece in _pieces(part)]
        for piece in before:
            yield _event(_response(head, [piece], {}))
        yield _event(_response(head, [last], _ending(call, completion)))

    def error(self, error: ModelCallError) -> dict[str, Any]:
        message = str(error)
        if error.kind == "context":  # the words by which programs know that they must compact
            message = f"The input token count exceeds the maximum number of tokens allowed: {message}"
        status = _STATUSES.get(error.kind, "INVALID_ARGUMENT")
        return {"error": {"code": error.status(self.name), "message": message, "status": status}}

    def error_event(self, error: ModelCallError) -> bytes:
        # Not as an event: Google's clients look for an error in a stream as JSON on a line of its own.
        return encoded(self.error(error)) + b"\n\n"


def _native(body: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a server of the same interface gets as it is."""
    kept = {name: value for name in _KEPT_CONFIG if (value := proto_field(config, name)) is not None}
    native = {name: value for name in _KEPT if (value := proto_field(body, name)) is not None}
    return {**native, "generationConfig": kept} if kept else native


def _sampling(config: Mapping[str, Any], extra: dict[str, Any]) -> Any:
    logprobs = proto_field(config, "responseLogprobs") is True
    top = whole(config.get("logprobs"), "generationConfig.logprobs") or 0
    most = "generationConfig.maxOutputTokens"
    asked = {
        "temperature": config.get("temperature"),
        "top_p": proto_field(config, "topP"),
        "seed": config.get("seed"),
        most: proto_field(config, "maxOutputTokens"),
    }
    stop = stop_texts(proto_field(config, "stopSequences"), "generationConfig.stopSequences")
    return sampling(asked, most, extra, stop=stop, logprobs=logprobs, top_logprobs=top if logprobs else 0)


def _response_format(config: Mapping[str, Any], notes: list[str]) -> dict[str, Any] | None:
    schema = proto_field(config, "responseJsonSchema")
    if schema is None and (given := proto_field(config, "responseSchema")) is not None:
        schema = json_schema(given, "generationConfig.responseSchema")
    media = proto_field(config, "responseMimeType")
    if media not in (None, "text/plain", "application/json"):
        notes.append(f"left out responseMimeType {media!r:.80}: answers are text or JSON")
        return None
    if isinstance(schema, dict):
        return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}
    return {"type": "json_object"} if media == "application/json" else None


def _response(head: AnswerHead, parts: list[dict[str, Any]], ending: dict[str, Any]) -> dict[str, Any]:
    """Return an answer, or a piece of one: its parts, and what only its end has."""
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **ending.get("candidate", {})}
    usage = {"usageMetadata": ending["usage"]} if ending else {}
    return {"candidates": [candidate], **usage, "modelVersion": head.model, "responseId": head.identity}


def _ending(call: ModelCall, completion: Completion) -> dict[str, Any]:
    counts = usage_of(call, completion)
    usage = {
        "promptTokenCount": counts["prompt_tokens"],
        "candidatesTokenCount": max(0, counts["completion_tokens"] - counts["reasoning_tokens"]),
        "totalTokenCount": counts["prompt_tokens"] + counts["completion_tokens"],
        "thoughtsTokenCount": counts["reasoning_tokens"],
        "cachedContentTokenCount": counts["cached_tokens"],
    }
    reason = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}.get(completion.finish_reason or "", "STOP")
    candidate: dict[str, Any] = {"finishReason": reason, **grounding(call)}
    if call.sampling.logprobs and completion.logprobs is not None and completion.tokens is not None:
        chosen = [_logprob(*pair) for pair in zip(completion.tokens, completion.logprobs, strict=False)]
        top = [{"candidates": [_logprob(*pair) for pair in pairs]} for pairs in completion.top_logprobs or ()]
        candidate["logprobsResult"] = {"chosenCandidates": chosen, "topCandidates": top}
        if chosen:
            candidate["avgLogprobs"] = sum(completion.logprobs) / len(completion.logprobs)
    return {"candidate": candidate, "usage": usage}


def _logprob(token: str, logprob: float) -> dict[str, Any]:
    return {"token": token, "logProbability": logprob}


def _parts(call: ModelCall, completion: Completion) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    thinks = proto_field(call.metadata.get("thinkingConfig", {}), "includeThoughts") is True
    for done, runs in call.answer_turns(completion):
        signed = signatures_of(done.message)
        if done.reasoning and thinks:
            parts.append({"text": done.reasoning, "thought": True})
        if done.text or not (runs or done.tool_calls) or None in signed:
            parts.append({"text": done.text, **signature(signed, None)})
        for run in runs:
            parts += run_parts(run)
        for made in done.tool_calls:
            function = made["function"]
            called = {"id": made["id"], "name": function["name"], "args": arguments_object(function["arguments"])}
            parts.append({"functionCall": called, **signature(signed, made["id"])})
    return parts


def _pieces(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a part as a stream has it: a text in pieces, a call whole."""
    if part.get("text"):
        *before, last = pieces(part["text"])
        for piece in before:
            yield {"text": piece, **({"thought": True} if part.get("thought") else {})}
        yield {**part, "text": last}
    else:
        yield part


def _event(data: dict[str, Any]) -> bytes:
    line = event(data)
    for separator, escaped in _SEPARATORS:
        line = line.replace(separator, escaped)
    return line
