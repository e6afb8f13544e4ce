"""OpenAI's completions: ``POST /v1/completions``, the continuation of a text or of token ids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gem_eval.clients import Completion
from gem_gateway.call_errors import ModelCallError
from gem_gateway.calls import ModelCall
from gem_gateway.dialects.base import AnswerHead, CallSettings, event, pieces, usage_of
from gem_gateway.dialects.chat import chat_usage, passed_on, stop_texts
from gem_gateway.dialects.fields import optional_text, sampling, unusable, whole
from gem_gateway.dialects.openai_errors import openai_error

__all__ = ["CompletionsDialect"]

_UNSUPPORTED = ("suffix", "echo")
_LARGEST_ID = 2**31


class CompletionsDialect:
    """Completions of one prompt, without a chat template."""

    name = "completions"
    ping = b": keep-alive\n\n"

    def read(self, body: dict[str, Any], settings: CallSettings) -> ModelCall:
        prompt = _prompt(body.get("prompt"))
        for name in ("n", "best_of"):
            if (whole(body.get(name), name, minimum=1) or 1) != 1:
                raise unusable(f"{name} must be 1: one answer for each call", name)
        for name in _UNSUPPORTED:
            if body.get(name):
                raise unusable(f"{name} is not supported; a prompt is continued at its end, and not repeated", name)
        top = whole(body.get("logprobs"), "logprobs")
        options = body.get("stream_options")
        usage = isinstance(options, dict) and options.get("include_usage") is True
        shown = prompt if isinstance(prompt, str) else ""
        return ModelCall(
            [{"role": "user", "content": shown}],
            sampling=sampling(
                body,
                "max_tokens",
                passed_on(body),
                stop=stop_texts(body.get("stop")),
                logprobs=top is not None,
                top_logprobs=top or 0,
            ),
            dialect=self.name,
            model=optional_text(body.get("model"), "model"),
            stream=body.get("stream") is True,
            prompt=prompt,
            metadata={"include_usage": True} if usage else {},
        )

    def answer(self, call: ModelCall, completion: Completion, head: AnswerHead) -> dict[str, Any]:
        choice = {"index": 0, "text": completion.text, "finish_reason": _finish(completion), "logprobs": None}
        if call.sampling.logprobs:
            choice["logprobs"] = _logprobs(completion)
        return {**_head(head), "choices": [choice], "usage": chat_usage(usage_of(call, completion))}

    def stream(self, call: ModelCall, completion: Completion, head: AnswerHead) -> Iterator[bytes]:
        common = _head(head)

        def chunk(text: str, finish: str | None = None, logprobs: Any = None) -> bytes:
            choice = {"index": 0, "text": text, "finish_reason": finish, "logprobs": logprobs}
            return event({**common, "choices": [choice]})

        if call.sampling.logprobs:
            yield chunk(completion.text, logprobs=_logprobs(completion))
        else:
            for piece in pieces(completion.text):
                yield chunk(piece)
        yield chunk("", _finish(completion))
        if call.metadata.get("include_usage"):
            yield event({**common, "choices": [], "usage": chat_usage(usage_of(call, completion))})
        yield b"data: [DONE]\n\n"

    def error(self, error: ModelCallError) -> dict[str, Any]:
        return openai_error(error)

    def error_event(self, error: ModelCallError) -> bytes:
        return event(openai_error(error))


def _head(head: AnswerHead) -> dict[str, Any]:
    return {
        "id": f"cmpl-{head.identity}",
        "object": "text_completion",
        "created": head.created,
        "model": head.model,
    }


def _finish(completion: Completion) -> str:
    return completion.finish_reason if completion.finish_reason in ("length", "content_filter") else "stop"


def _prompt(prompt: Any) -> str | list[int]:
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], (str, list)):
        prompt = prompt[0]  # a list of one prompt
    if isinstance(prompt, str):
        return prompt
    if isinstance(prompt, list) and prompt and all(type(token) is int and 0 <= token < _LARGEST_ID for token in prompt):
        return prompt
    raise unusable("prompt must be one text, or one list of token ids", "prompt")


def _logprobs(completion: Completion) -> dict[str, Any] | None:
    if completion.logprobs is None or completion.tokens is None:
        return None
    offsets, offset = [], 0
    for token in completion.tokens:
        offsets.append(offset)
        offset += len(token)
    top = [dict(alternatives) for alternatives in completion.top_logprobs] if completion.top_logprobs else None
    return {
        "tokens": completion.tokens,
        "token_logprobs": completion.logprobs,
        "top_logprobs": top,
        "text_offset": offsets,
    }
