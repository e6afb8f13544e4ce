"""Answers with status 200 that are defective: errors in disguise, emptiness, reasoning, log-probabilities, usage."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from gem_eval.fake_model.connection import HttpReply
from gem_eval.fake_model.dialects import DIALECTS
from gem_eval.fake_model.errors import error_reply
from gem_eval.fake_model.faults.bodies import AlterBody, Body, in_messages
from gem_eval.fake_model.faults.kinds import FaultNeed, FaultSettings, kinds
from gem_eval.fake_model.model_request import ModelAnswer, ModelRequest
from gem_eval.fake_model.sampling import END_THINK, THINK

__all__ = ["KINDS"]

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


def _replaced(value: Any) -> AlterBody:
    return lambda body, request: value


def _with(**fields: Any) -> AlterBody:
    return lambda body, request: {**body, **deepcopy(fields)}


def _without(field: str) -> AlterBody:
    return lambda body, request: {name: value for name, value in body.items() if name != field}


def _empty(text: str | None, reasoning: str, finish: str) -> Callable[[ModelAnswer, ModelRequest], None]:
    def alter(answer: ModelAnswer, request: ModelRequest) -> None:
        answer.text, answer.tool_calls, answer.finish_reason = text, [], finish
        answer.reasoning = reasoning or None
        answer.unfilled = True

    return alter


def _no_tokens(body: Body, request: ModelRequest) -> Body:
    usage = body.get("usage")
    if isinstance(usage, dict):
        usage.update(completion_tokens=0, total_tokens=usage["prompt_tokens"])
    for choice in body.get("choices", ()):
        if "token_ids" in choice:
            choice["token_ids"] = []
        if isinstance(choice.get("logprobs"), dict) and "content" in choice["logprobs"]:
            choice["logprobs"]["content"] = []
    return body


def _leaked(form: str) -> Callable[[ModelAnswer, ModelRequest], None]:
    def alter(answer: ModelAnswer, request: ModelRequest) -> None:
        answer.text = form.format(thought=answer.reasoning or "Let me see.", text=answer.text or "")
        answer.reasoning = None

    return alter


def _reasoned(answer: ModelAnswer, request: ModelRequest) -> None:
    answer.reasoning = answer.reasoning or "Let me see."


def _both_fields(message: dict[str, Any]) -> None:
    reasoning = message.get("reasoning") or message.get("reasoning_content")
    message.update(reasoning=reasoning, reasoning_content=reasoning)


def _logprobs(value: float | None) -> AlterBody:
    """Set the log-probability of every second token, in the form of each endpoint."""

    def alter(body: Body, request: ModelRequest) -> Body:
        for entries in _lists(body):
            for index, entry in enumerate(entries):
                if index % 2:
                    continue
                if isinstance(entry, dict):
                    entry["logprob"] = value
                elif isinstance(entry, list):
                    entry[0] = value
                else:
                    entries[index] = value
        return body

    return alter


def _fewer(body: Body, request: ModelRequest) -> Body:
    for entries in _lists(body):
        del entries[-1:]
    return body


def _lists(body: Body) -> list[list[Any]]:
    """Return the lists of log-probabilities of a body."""
    found: list[list[Any]] = []
    holders = [body, *body.get("choices", ())]
    for holder in holders:
        logprobs = holder.get("logprobs")
        if isinstance(logprobs, dict):
            found += [logprobs[name] for name in ("content", "token_logprobs") if logprobs.get(name)]
        meta = holder.get("meta_info")
        if isinstance(meta, dict) and meta.get("output_token_logprobs"):
            found.append(meta["output_token_logprobs"])
        if holder.get("completion_probabilities"):
            found.append(holder["completion_probabilities"])
    return found


def _no_logprobs(body: Body, request: ModelRequest) -> Body:
    for holder in (body, *body.get("choices", ())):
        if "logprobs" in holder:
            holder["logprobs"] = None
        if isinstance(holder.get("meta_info"), dict):
            holder["meta_info"].pop("output_token_logprobs", None)
        holder.pop("completion_probabilities", None)
    return body


def _not_serializable(request: ModelRequest, settings: FaultSettings) -> HttpReply:
    return error_reply(DIALECTS["openai"], "Out of range float values are not JSON compliant: nan", 500)


_ANY_BODY = {
    "ok-error": (
        "answers 200 with {error: {code, message}}",
        _replaced({"error": {"code": 502, "message": "Provider returned error"}}),
    ),
    "ok-code": ("answers 200 with {code, message}", _replaced({"code": 1302, "message": "The service is busy."})),
    "ok-empty-object": ("answers 200 with {}", _replaced({})),
}
_WHOLE_BODY = {
    "ok-choices-null": ("answers 200 with choices null", _with(choices=None)),
    "ok-choices-missing": ("answers 200 without choices", _without("choices")),
    "ok-choices-empty": ("answers 200 with no choice", _with(choices=[])),
}
_NO_MESSAGE = {
    "ok-message-null": (
        "answers 200 with a choice whose message is null",
        _with(choices=[{"index": 0, "message": None, "finish_reason": "stop"}]),
    ),
}
_ONLY_REASONING = {
    "empty-reasoning-null": (
        "spends the budget on reasoning; content null, finish length",
        _empty(None, "Let me see. " * 20, "length"),
    ),
    "empty-reasoning-text": (
        'spends the budget on reasoning; content "", finish length',
        _empty("", "Let me see. " * 20, "length"),
    ),
}
_SILENT = {"empty-silent": ("answers nothing, with 0 tokens and finish stop", _no_tokens)}
_THOUGHTS = {
    "think-in-content": (
        "leaves the reasoning in content, in tags",
        _leaked(f"{THINK}{{thought}}{END_THINK}{{text}}"),
    ),
    "think-unopened": (
        "leaves the reasoning in content, closed and never opened",
        _leaked(f"{{thought}}{END_THINK}{{text}}"),
    ),
    "think-unclosed": (
        "leaves the reasoning in content, opened and never closed",
        _leaked(f"{THINK}{{thought}} {{text}}"),
    ),
}
_BOTH = {"reasoning-both": ("gives the reasoning under both names", in_messages(_both_fields))}
_LOGPROBS = {
    "logprobs-nan": ("gives a bare NaN, which is no JSON", _logprobs(float("nan"))),
    "logprobs-infinite": ("gives a bare -Infinity, which is no JSON", _logprobs(float("-inf"))),
    "logprobs-null-values": ("gives null for log-probabilities", _logprobs(None)),
    "logprobs-null": ("gives no log-probabilities", _no_logprobs),
    "logprobs-9999": ("gives -9999.0 for log-probabilities", _logprobs(-9999.0)),
    "logprobs-fewer": ("gives fewer log-probabilities than tokens", _fewer),
}
_NAN = {"logprobs-nan-500": ("answers 500 because of a NaN", _not_serializable)}
_USAGE = {
    "usage-missing": ("gives no usage", _without("usage")),
    "usage-null": ("gives null as usage", _with(usage=None)),
    "usage-zero": ("gives zeros as usage", _with(usage=dict.fromkeys(_COUNTS, 0))),
    "usage-without-completion": (
        "gives usage without completion_tokens",
        lambda body, request: {**body, "usage": {"prompt_tokens": len(request.prompt_ids)}},
    ),
}

KINDS = (
    *kinds(3, "alter_body", _ANY_BODY),
    *kinds(3, "alter_body", _WHOLE_BODY, FaultNeed.WHOLE),
    *kinds(3, "alter_body", _NO_MESSAGE, FaultNeed.CHAT),
    *kinds(5, "alter_answer", _ONLY_REASONING, FaultNeed.CHAT),
    *kinds(5, "alter_body", _SILENT, alter_answer=_empty("", "", "stop")),
    *kinds(7, "alter_answer", _THOUGHTS),
    *kinds(7, "alter_body", _BOTH, FaultNeed.CHAT, alter_answer=_reasoned),
    *kinds(8, "alter_body", _LOGPROBS, FaultNeed.LOGPROBS),
    *kinds(8, "refuse", _NAN, FaultNeed.LOGPROBS),
    *kinds(11, "alter_body", _USAGE),
)
