"""Answers with status 200 that are defective: errors in disguise, emptiness, reasoning, log-probabilities, usage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gem_eval.fake_model.connection import HttpReply
from gem_eval.fake_model.dialects import DIALECTS
from gem_eval.fake_model.errors import error_reply
from gem_eval.fake_model.faults.bodies import AlterBody, Body, in_messages
from gem_eval.fake_model.faults.kinds import FaultKind, FaultNeed, FaultSettings
from gem_eval.fake_model.model_request import ModelAnswer, ModelRequest
from gem_eval.fake_model.sampling import END_THINK, THINK

__all__ = ["KINDS"]


def _replaced(value: Any) -> AlterBody:
    return lambda body, request: value


def _with(**fields: Any) -> AlterBody:
    return lambda body, request: {**body, **fields}


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


def _logprobs(change: Callable[[float, int], Any]) -> AlterBody:
    """Change the log-probability of every second token, in the form of each endpoint."""

    def alter(body: Body, request: ModelRequest) -> Body:
        for entries in _lists(body):
            for index, entry in enumerate(entries):
                if index % 2:
                    continue
                if isinstance(entry, dict):
                    entry["logprob"] = change(entry["logprob"], index)
                elif isinstance(entry, list):
                    entry[0] = change(entry[0], index)
                else:
                    entries[index] = change(entry, index)
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


KINDS = (
    FaultKind(
        "ok-error",
        3,
        "answers 200 with {error: {code, message}}",
        alter_body=_replaced({"error": {"code": 502, "message": "Provider returned error"}}),
    ),
    FaultKind(
        "ok-code",
        3,
        "answers 200 with {code, message}",
        alter_body=_replaced({"code": 1302, "message": "The service is busy."}),
    ),
    FaultKind(
        "ok-choices-null", 3, "answers 200 with choices null", alter_body=_with(choices=None), need=FaultNeed.WHOLE
    ),
    FaultKind(
        "ok-choices-missing", 3, "answers 200 without choices", alter_body=_without("choices"), need=FaultNeed.WHOLE
    ),
    FaultKind("ok-choices-empty", 3, "answers 200 with no choice", alter_body=_with(choices=[]), need=FaultNeed.WHOLE),
    FaultKind("ok-empty-object", 3, "answers 200 with {}", alter_body=_replaced({})),
    FaultKind(
        "ok-message-null",
        3,
        "answers 200 with a choice whose message is null",
        need=FaultNeed.CHAT,
        alter_body=lambda body, request: {**body, "choices": [{"index": 0, "message": None, "finish_reason": "stop"}]},
    ),
    FaultKind(
        "empty-reasoning-null",
        5,
        "spends the budget on reasoning; content null, finish length",
        need=FaultNeed.CHAT,
        alter_answer=_empty(None, "Let me see. " * 20, "length"),
    ),
    FaultKind(
        "empty-reasoning-text",
        5,
        'spends the budget on reasoning; content "", finish length',
        need=FaultNeed.CHAT,
        alter_answer=_empty("", "Let me see. " * 20, "length"),
    ),
    FaultKind(
        "empty-silent",
        5,
        "answers nothing, with 0 tokens and finish stop",
        alter_answer=_empty("", "", "stop"),
        alter_body=_no_tokens,
    ),
    FaultKind(
        "think-in-content",
        7,
        "leaves the reasoning in content, in tags",
        alter_answer=_leaked(f"{THINK}{{thought}}{END_THINK}{{text}}"),
    ),
    FaultKind(
        "think-unopened",
        7,
        "leaves the reasoning in content, closed and never opened",
        alter_answer=_leaked(f"{{thought}}{END_THINK}{{text}}"),
    ),
    FaultKind(
        "think-unclosed",
        7,
        "leaves the reasoning in content, opened and never closed",
        alter_answer=_leaked(f"{THINK}{{thought}} {{text}}"),
    ),
    FaultKind(
        "reasoning-both",
        7,
        "gives the reasoning under both names",
        need=FaultNeed.CHAT,
        alter_answer=_reasoned,
        alter_body=in_messages(_both_fields),
    ),
    FaultKind(
        "logprobs-nan",
        8,
        "gives a bare NaN, which is no JSON",
        need=FaultNeed.LOGPROBS,
        alter_body=_logprobs(lambda value, index: float("nan")),
    ),
    FaultKind("logprobs-nan-500", 8, "answers 500 because of a NaN", need=FaultNeed.LOGPROBS, refuse=_not_serializable),
    FaultKind(
        "logprobs-infinite",
        8,
        "gives a bare -Infinity, which is no JSON",
        need=FaultNeed.LOGPROBS,
        alter_body=_logprobs(lambda value, index: float("-inf")),
    ),
    FaultKind(
        "logprobs-null-values",
        8,
        "gives null for log-probabilities",
        need=FaultNeed.LOGPROBS,
        alter_body=_logprobs(lambda value, index: None),
    ),
    FaultKind("logprobs-null", 8, "gives no log-probabilities", need=FaultNeed.LOGPROBS, alter_body=_no_logprobs),
    FaultKind(
        "logprobs-9999",
        8,
        "gives -9999.0 for log-probabilities",
        need=FaultNeed.LOGPROBS,
        alter_body=_logprobs(lambda value, index: -9999.0),
    ),
    FaultKind(
        "logprobs-fewer", 8, "gives fewer log-probabilities than tokens", need=FaultNeed.LOGPROBS, alter_body=_fewer
    ),
    FaultKind("usage-missing", 11, "gives no usage", alter_body=_without("usage")),
    FaultKind("usage-null", 11, "gives null as usage", alter_body=_with(usage=None)),
    FaultKind(
        "usage-zero",
        11,
        "gives zeros as usage",
        alter_body=_with(usage={"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}),
    ),
    FaultKind(
        "usage-without-completion",
        11,
        "gives usage without completion_tokens",
        alter_body=lambda body, request: {**body, "usage": {"prompt_tokens": len(request.prompt_ids)}},
    ),
)
