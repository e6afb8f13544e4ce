"""Which paths a server of each dialect answers, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gem_eval.fake_model import completion_endpoints as completion
from gem_eval.fake_model.chat_endpoint import chat_answer, chat_chunks, read_chat
from gem_eval.fake_model.dialects import Dialect
from gem_eval.fake_model.model_request import ModelAnswer, ModelRequest
from gem_eval.fake_model.token_endpoints import apply_template, detokenize, tokenize

__all__ = ["MODEL_PATHS", "TOKEN_PATHS", "ModelEndpoint"]


@dataclass(frozen=True)
class ModelEndpoint:
    """A path at which the model answers."""

    read: Callable[[Mapping[str, Any], Dialect], ModelRequest]
    write: Callable[[ModelRequest, list[ModelAnswer], Dialect, str], dict[str, Any]]
    """The body of an answer, from the request, the answers, the dialect and the model's name."""
    chunks: Callable[[Mapping[str, Any], ModelRequest], Iterator[dict[str, Any]]]
    """The chunks of a stream, from that body."""
    done: bool = True
    """Whether a stream ends with ``[DONE]``."""


_CHAT = ModelEndpoint(read_chat, chat_answer, chat_chunks)
_COMPLETION = ModelEndpoint(completion.read_completion, completion.completion_answer, completion.completion_chunks)
_SGLANG = ModelEndpoint(completion.read_sglang, completion.sglang_answer, completion.one_chunk)
_INFERENCE = ModelEndpoint(completion.read_inference, completion.inference_answer, completion.one_chunk)
_LLAMACPP = ModelEndpoint(completion.read_llamacpp, completion.llamacpp_answer, completion.llamacpp_chunks, done=False)
_OPENAI = {"/v1/chat/completions": _CHAT, "/v1/completions": _COMPLETION}

MODEL_PATHS: dict[str, dict[str, ModelEndpoint]] = {
    "openai": _OPENAI,
    "vllm": {**_OPENAI, "/inference/v1/generate": _INFERENCE},
    "sglang": {**_OPENAI, "/generate": _SGLANG},
    "llamacpp": {**_OPENAI, "/completion": _LLAMACPP, "/completions": _LLAMACPP},
    "transformers": {"/v1/chat/completions": _CHAT},
}
"""Dialect → path → endpoint."""

TokenEndpoint = Callable[[Mapping[str, Any], Dialect], dict[str, Any]]
_TOKENS: dict[str, TokenEndpoint] = {"/tokenize": tokenize, "/detokenize": detokenize}
TOKEN_PATHS: dict[str, dict[str, TokenEndpoint]] = {
    "vllm": _TOKENS,
    "sglang": _TOKENS,
    "llamacpp": {**_TOKENS, "/apply-template": apply_template},
}
"""Dialect → path → endpoint that needs no model."""
