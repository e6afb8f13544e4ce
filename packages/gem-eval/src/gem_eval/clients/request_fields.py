"""The fields of requests, in the dialects of servers."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from gem_eval.clients.base import Sampling
from gem_eval.clients.session import SESSION_FIELD

__all__ = ["ID_FIELDS", "droppable", "generate_fields", "llamacpp_fields", "openai_fields"]

ID_FIELDS: dict[str | None, dict[str, Any]] = {
    "vllm": {"return_token_ids": True},
    "sglang": {"return_token_ids": True, "return_prompt_token_ids": True},
    # With log-probabilities, llama.cpp gives the ids.
    "llamacpp": {"logprobs": True, "return_tokens": True},
    None: {"return_token_ids": True},
}
"""Server → the fields that ask it for token ids."""

_DROPPABLE = (
    "return_token_ids", "return_prompt_token_ids", "return_meta_info", "return_tokens",
    "logprobs", "top_logprobs", "seed", "parallel_tool_calls", "stream_options", SESSION_FIELD, "include",
)  # fmt: skip
"""Fields without which a request still means the same."""


def openai_fields(sampling: Sampling, *, chat: bool) -> dict[str, Any]:
    """Return the fields of a chat completion, or of a plain one."""
    fields = _given(
        temperature=sampling.temperature, top_p=sampling.top_p, max_tokens=sampling.max_tokens, seed=sampling.seed
    )
    if sampling.stop:
        fields["stop"] = list(sampling.stop)
    if sampling.logprobs and chat:
        # Some versions of vLLM give nothing where top_logprobs is absent.
        fields |= {"logprobs": True, "top_logprobs": sampling.top_logprobs}
    elif sampling.logprobs:
        fields["logprobs"] = sampling.top_logprobs
    return {**fields, **sampling.extra}


def generate_fields(sampling: Sampling) -> dict[str, Any]:
    """Return the fields of SGLang's ``/generate``."""
    fields = _given(
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        max_new_tokens=sampling.max_tokens,
        sampling_seed=sampling.seed,
    )
    if sampling.stop:
        fields["stop"] = list(sampling.stop)
    asked: dict[str, Any] = {"sampling_params": {**fields, **sampling.extra}}
    if sampling.logprobs:
        asked |= {"return_logprob": True, "top_logprobs_num": sampling.top_logprobs, "return_text_in_logprobs": True}
    return asked


def llamacpp_fields(sampling: Sampling) -> dict[str, Any]:
    """Return the fields of llama.cpp's ``/completion``."""
    fields = _given(
        temperature=sampling.temperature, top_p=sampling.top_p, n_predict=sampling.max_tokens, seed=sampling.seed
    )
    if sampling.stop:
        fields["stop"] = list(sampling.stop)
    if sampling.logprobs:
        fields["n_probs"] = max(1, sampling.top_logprobs)
    return {**fields, "return_tokens": True, **sampling.extra}


def droppable(body: Collection[str], words: str) -> set[str]:
    """Return the fields of a request that a refusal names, and without which the request still means the same."""
    named = {name for name in _DROPPABLE if name in body and re.search(rf"(?<![A-Za-z_]){name}(?![A-Za-z_])", words)}
    if "logprobs" in named or "top_logprobs" in named:
        named |= {"logprobs", "top_logprobs"}.intersection(body)
    return named


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
