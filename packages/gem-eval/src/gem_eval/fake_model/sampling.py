"""From a scripted answer to what a model would have sampled: token ids, log-probabilities, limits, stop strings."""

from __future__ import annotations

import json

from gem_eval.fake_model.byte_tokens import END, decode, encode, split
from gem_eval.fake_model.model_request import ModelAnswer, ModelRequest, SampledCall

__all__ = ["END_THINK", "THINK", "alternatives", "markup", "sample"]

_FILLER = "Let me think about this step by step. "
THINK, END_THINK = "<think>", "</think>"


def sample(answer: ModelAnswer, request: ModelRequest, *, least_tokens: int = 0, recode: bool = False) -> ModelAnswer:
    """Give an answer its tokens, and cut it at the request's limits.

    Args:
        answer: what the policy returned; changed in place.
        request: for the limit of tokens and the stop strings.
        least_tokens: text goes before the answer until it has this many tokens.
        recode: sample another tokenization than the canonical one.
    """
    _stop(answer, request.stop)
    reasoning = encode(f"{THINK}{answer.reasoning}{END_THINK}") if answer.reasoning else []
    calls = encode("".join(map(markup, answer.tool_calls))) if answer.tool_calls else []
    content = encode(answer.text) if answer.text else []
    lacking = 0 if answer.unfilled else least_tokens - 1 - len(reasoning) - len(calls) - len(content)
    if lacking > 0:
        filler = (_FILLER * (2 * lacking // len(_FILLER) + 1))[: 2 * lacking]
        answer.text = filler + (answer.text or "")
        content = encode(answer.text)
    ids = [*reasoning, *content, *calls]
    if recode:
        index = next((index for index, token in enumerate(ids) if token > 256), None)
        ids = ids if index is None else split(ids, index)
    if answer.matched_stop is None:
        ids.append(END)
    limit = request.max_tokens
    if limit is not None and len(ids) > limit:
        _cut(answer, ids[:limit], len(reasoning))
    else:
        answer.token_ids = ids
        if not answer.finish_reason:
            answer.finish_reason = "tool_calls" if answer.tool_calls else "stop"
        if answer.matched_stop is None:
            answer.matched_stop = END
    if request.logprobs:
        answer.logprobs = [_logprob(token, index) for index, token in enumerate(answer.token_ids)]
    return answer


def alternatives(token: int, logprob: float, count: int) -> list[tuple[int, float]]:
    """Return the most probable tokens at a place, the sampled one first, with their log-probabilities."""
    return [(token, logprob), *(((token + rank) % 256, logprob - rank) for rank in range(1, count))][:count]


def _logprob(token: int, index: int) -> float:
    # A hash, so that a client that mixes positions up gets other numbers.
    return -((token * 2654435761 + index * 40503) % 4096) / 1024


def _stop(answer: ModelAnswer, strings: tuple[str, ...]) -> None:
    text = answer.text
    if not text or not strings:
        return
    found = [(place, string) for string in strings if string and (place := text.find(string)) >= 0]
    if found:
        place, answer.matched_stop = min(found)
        answer.text, answer.tool_calls = text[:place], []


def _cut(answer: ModelAnswer, ids: list[int], reasoning_tokens: int) -> None:
    answer.token_ids, answer.finish_reason, answer.matched_stop = ids, "length", None
    answer.tool_calls = []
    if reasoning_tokens > len(ids):
        answer.reasoning, answer.text = decode(ids).removeprefix(THINK), None
    else:
        answer.text = decode(ids[reasoning_tokens:])


def markup(call: SampledCall) -> str:
    """Return a tool call as the model writes it, which servers parse."""
    return f'<tool_call>{{"name": {json.dumps(call.name)}, "arguments": {call.arguments}}}</tool_call>'
