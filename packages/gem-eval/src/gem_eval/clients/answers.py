"""Completions out of the bodies of answers: of chat, plain and native endpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem_eval.clients.base import Completion, Message
from gem_eval.clients.errors import ModelError
from gem_eval.clients.reasoning import ThinkTags, split_reasoning
from gem_eval.clients.server_errors import error_in_answer
from gem_eval.clients.token_data import TokenData, attach, from_content, from_lists, from_triples, ids_of
from gem_eval.clients.tool_call_repair import MARKUP, read_calls
from gem_eval.clients.weight_versions import note_versions

__all__ = ["chat_answer", "check_answer", "counted_usage", "generate_answer", "llamacpp_answer", "text_answer"]

_MOST = 2**53
"""Counts that JSON holds in every language are smaller."""

_COUNTS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens")
_DETAILS = (
    ("completion_tokens_details", "reasoning_tokens", "reasoning_tokens"),
    ("prompt_tokens_details", "cached_tokens", "cached_tokens"),
)
"""Where OpenAI's usage has the counts that SGLang has at its top."""

_FAILED = ("error", "abort")
"""Finish reasons of an answer that the server gave up."""


def chat_answer(
    answer: Any,
    headers: Mapping[str, str],
    messages: list[Message],
    think_tags: ThinkTags = "auto",
    has_tools: bool = False,
) -> Completion:
    """Return the completion in the body of a chat completion's answer.

    Args:
        answer: the decoded body.
        headers: of the answer.
        messages: the conversation that was sent.
        think_tags: whether to split reasoning off the text.
        has_tools: whether tools were offered, so that markup of calls in the text is worth a note.

    Raises:
        ModelError, ContextOverflow: if it holds an error, or nothing.
    """
    choice = _choice(answer, headers)
    received = choice.get("message")
    if not isinstance(received, dict):
        raise ModelError("bad_response", "the server's answer holds no message")
    text = _text(received.get("content"))
    if not text and isinstance(refused := received.get("refusal"), str):
        text = refused
    completion = Completion({"role": "assistant"}, text)
    metadata = completion.metadata
    own, other = received.get("reasoning"), received.get("reasoning_content")
    if own and isinstance(own, str):  # vLLM
        completion.reasoning = completion.message["reasoning"] = own
    elif other and isinstance(other, str):  # all others
        completion.reasoning = completion.message["reasoning_content"] = other
    elif text and (think_tags == "always" or own is other is None):
        completion.reasoning, completion.text = split_reasoning(text, think_tags)
        if completion.reasoning is not None:
            metadata["reasoning"] = "from the text"
    calls = received.get("tool_calls")
    if calls:
        completion.tool_calls, problems = read_calls(calls, messages)
        if problems:
            metadata["tool_calls"] = problems
    elif has_tools and any(mark in place for place in (text, completion.reasoning or "") for mark in MARKUP):
        metadata["tool_calls"] = ["the text holds the markup of a call that the server did not recognise"]
    completion.message["content"] = completion.text or (None if completion.tool_calls else "")
    if completion.tool_calls:
        completion.message["tool_calls"] = completion.tool_calls
    _common(completion, answer, choice)
    logprobs = choice.get("logprobs")
    data = from_content(logprobs.get("content")) if isinstance(logprobs, dict) else TokenData()
    meta = choice.get("meta_info")
    if meta is not None and data.logprobs is None:
        data = from_triples(meta)
    _attach(completion, data, answer, choice)
    check_answer(completion)
    note_versions(completion, meta, answer.get("sglext"), answer.get("metadata"))
    return completion


def text_answer(answer: Any, headers: Mapping[str, str], think_tags: ThinkTags = "auto") -> Completion:
    """Return the completion in the body of a plain completion's answer; arguments as in :func:`chat_answer`."""
    choice = _choice(answer, headers)
    text = choice.get("text")
    if not isinstance(text, str):
        raise ModelError("bad_response", "the server's answer holds no text")
    completion = _from_text(text, think_tags)
    _common(completion, answer, choice)
    data = from_lists(choice.get("logprobs"))
    if data.logprobs is None and (logprobs := choice.get("logprobs")) and isinstance(logprobs, dict):
        data = from_content(logprobs.get("content"))  # llama.cpp answers in the form of chat
    if data.logprobs is None and choice.get("meta_info") is not None:
        data = from_triples(choice["meta_info"])
    _attach(completion, data, answer, choice)
    check_answer(completion)
    note_versions(completion, choice.get("meta_info"), answer.get("sglext"), answer.get("metadata"))
    return completion


def generate_answer(answer: Any, headers: Mapping[str, str], think_tags: ThinkTags = "auto") -> Completion:
    """Return the completion in an answer of SGLang's ``/generate``; arguments as in :func:`chat_answer`."""
    if isinstance(answer, list) and answer:
        answer = answer[0]
    if not isinstance(answer, dict) or not isinstance(answer.get("text"), str):
        raise error_in_answer(answer, headers)
    completion = _from_text(answer["text"], think_tags)
    meta = answer.get("meta_info")
    meta = meta if isinstance(meta, dict) else {}
    completion.finish_reason = _finish(meta.get("finish_reason"))
    completion.usage = counted_usage(meta)
    completion.request_id = meta["id"] if isinstance(meta.get("id"), str) else None
    data = from_triples(meta)
    ids = ids_of(answer.get("output_ids"))
    if ids is not None:
        data.ids = ids
    attach(completion, data, None)
    check_answer(completion)
    note_versions(completion, meta)
    return completion


def llamacpp_answer(answer: Any, headers: Mapping[str, str], think_tags: ThinkTags = "auto") -> Completion:
    """Return the completion in an answer of llama.cpp's ``/completion``; arguments as in :func:`chat_answer`."""
    if not isinstance(answer, dict) or not isinstance(answer.get("content"), str):
        raise error_in_answer(answer, headers)
    completion = _from_text(answer["content"], think_tags)
    completion.finish_reason = {"limit": "length"}.get(str(answer.get("stop_type")), "stop")
    if isinstance(answer.get("model"), str):
        completion.model = answer["model"]
    counts = {"prompt_tokens": answer.get("tokens_evaluated"), "completion_tokens": answer.get("tokens_predicted")}
    completion.usage = counted_usage(counts)
    data = from_content(answer.get("completion_probabilities"))
    ids = ids_of(answer.get("tokens"))
    if ids:
        data.ids = ids
    attach(completion, data, None)
    check_answer(completion)
    return completion


def _choice(answer: Any, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the first choice of an answer; raise the error that stands in its place."""
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise error_in_answer(answer, headers)
    choice: dict[str, Any] = choices[0]
    if answer.get("error"):
        raise error_in_answer(answer, headers)
    if choice.get("error"):
        raise error_in_answer({"error": choice["error"]}, headers)
    return choice


def _from_text(text: str, think_tags: ThinkTags) -> Completion:
    reasoning, rest = split_reasoning(text, think_tags)
    completion = Completion({"role": "assistant", "content": rest}, rest, reasoning)
    if reasoning is not None:
        completion.metadata["reasoning"] = "from the text"
    return completion


def _common(completion: Completion, answer: dict[str, Any], choice: dict[str, Any]) -> None:
    completion.finish_reason = _finish(choice.get("finish_reason"))
    completion.usage = counted_usage(answer.get("usage"))
    if isinstance(model := answer.get("model"), str):
        completion.model = model
    if isinstance(identifier := answer.get("id"), str):
        completion.request_id = identifier


def _attach(completion: Completion, data: TokenData, answer: dict[str, Any], choice: dict[str, Any]) -> None:
    ids = ids_of(choice.get("token_ids"))
    if ids is not None:
        data.ids = ids
    prompt = answer.get("prompt_token_ids")
    attach(completion, data, ids_of(choice.get("prompt_token_ids") if prompt is None else prompt))


def _text(content: Any) -> str:
    """Return the text of a message's content, which is a str, a list of parts, or null."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [part.get("text") if isinstance(part, dict) else part for part in content]
    return "".join(text for text in texts if isinstance(text, str))


def _finish(reason: Any) -> str | None:
    """Return a finish reason as one word; SGLang's native one is an object, or a list of objects."""
    if isinstance(reason, str):
        return reason
    if isinstance(reason, list):
        return _finish(reason[0]) if reason and not isinstance(reason[0], list) else None
    if isinstance(reason, dict):
        kind = reason.get("type")
        return kind if isinstance(kind, str) else None
    return None


def counted_usage(usage: Any) -> dict[str, int] | None:
    """Return the counts of tokens that a server reports, those that are counts; None if there are none."""
    if not isinstance(usage, dict):
        return None
    counts: dict[str, int] = {}
    for name in _COUNTS:
        count = usage.get(name)
        if type(count) is int and 0 <= count < _MOST:
            counts[name] = count
    for details, inner, name in _DETAILS:
        if (
            isinstance(held := usage.get(details), dict)
            and type(count := held.get(inner)) is int
            and 0 <= count < _MOST
        ):
            counts[name] = count
    return counts or None


def check_answer(completion: Completion) -> None:
    """Raise the error for an answer that holds nothing.

    Nothing but a stop token, or a budget spent on reasoning, is what the model did, and no error.
    """
    if completion.text or completion.tool_calls or completion.reasoning or completion.finish_reason == "length":
        return
    reason = completion.finish_reason
    if reason == "content_filter":
        raise ModelError("content_filter", "a filter of the provider withheld the whole answer")
    if reason in _FAILED:
        raise ModelError("server_error", f"the server gave the answer up: finish_reason {reason}")
    sampled = len(completion.token_ids or ()) or (completion.usage or {}).get("completion_tokens", 0)
    if not sampled:
        raise ModelError("empty", f"the server's answer holds no token, finish_reason {reason}")
