"""The endpoints that take a prompt, as text or as token ids: OpenAI's and those of vLLM, SGLang and llama.cpp alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gem_eval.fake_model.byte_tokens import END, decode, encode_special, piece
from gem_eval.fake_model.chat_endpoint import (
    CREATED,
    MOST_ALTERNATIVES,
    MOST_CHOICES,
    stops,
    token_entries,
    triples,
    usage,
    whole,
)
from gem_eval.fake_model.conversation import is_token_ids, messages_of
from gem_eval.fake_model.dialects import Dialect
from gem_eval.fake_model.model_request import ModelAnswer, ModelRequest, UnusableRequest
from gem_eval.fake_model.sampling import alternatives

__all__ = [
    "completion_answer",
    "completion_chunks",
    "inference_answer",
    "llamacpp_answer",
    "llamacpp_chunks",
    "one_chunk",
    "read_completion",
    "read_inference",
    "read_llamacpp",
    "read_sglang",
    "sglang_answer",
]


def read_completion(body: Mapping[str, Any], dialect: Dialect) -> ModelRequest:
    """Return what a request of ``/v1/completions`` asks for.

    Raises:
        UnusableRequest: if it cannot be answered.
    """
    request = _read(body, body.get("prompt"), "prompt")
    options = body.get("stream_options") or {}
    request.max_tokens = whole(body, "max_tokens")
    request.stop = stops(body.get("stop"))
    request.choices = whole(body, "n", maximum=MOST_CHOICES) or 1
    request.usage_in_stream = isinstance(options, dict) and options.get("include_usage") is True
    logprobs = body.get("logprobs")
    request.logprobs = dialect.logprobs and logprobs is not None and logprobs is not False
    request.top_logprobs = 0 if isinstance(logprobs, bool) else whole(body, "logprobs", maximum=MOST_ALTERNATIVES) or 0
    request.token_ids = dialect.ids_on_request and body.get("return_token_ids") is True
    return request


def completion_answer(
    request: ModelRequest, answers: list[ModelAnswer], dialect: Dialect, model: str
) -> dict[str, Any]:
    """Return the answer of ``/v1/completions``."""
    choices = []
    for index, answer in enumerate(answers):
        choice: dict[str, Any] = {
            "index": index,
            "text": _text(answer),
            "logprobs": _completion_logprobs(answer, request, dialect) if request.logprobs else None,
            "finish_reason": _finish(answer),
        }
        if request.token_ids:
            choice.update(prompt_token_ids=request.prompt_ids, token_ids=answer.token_ids)
        choices.append(choice)
    return {
        "id": f"cmpl-{request.identity}",
        "object": "text_completion",
        "created": CREATED,
        "model": model,
        "choices": choices,
        "usage": usage(request, answers, dialect),
    }


def completion_chunks(body: Mapping[str, Any], request: ModelRequest) -> Iterator[dict[str, Any]]:
    """Yield the chunks of a stream: the text in pieces, then the rest of each choice in one."""
    if "choices" not in body:
        yield dict(body)
        return
    head = {key: value for key, value in body.items() if key not in ("choices", "usage")}
    for choice in body["choices"] or ():
        text = choice.get("text") or ""
        for start in range(0, len(text), 4):
            piece_of = {"index": choice["index"], "text": text[start : start + 4], "finish_reason": None}
            yield {**head, "choices": [piece_of]}
        yield {**head, "choices": [{**choice, "text": ""}]}
    if request.usage_in_stream and "usage" in body:
        yield {**head, "choices": [], "usage": body["usage"]}


def read_sglang(body: Mapping[str, Any], dialect: Dialect) -> ModelRequest:
    """Return what a request of SGLang's ``/generate`` asks for.

    Raises:
        UnusableRequest: if it cannot be answered.
    """
    name = "input_ids" if body.get("input_ids") is not None else "text"
    request = _read(body, body.get(name), name)
    _take_sampling(request, body.get("sampling_params"), "max_new_tokens")
    request.logprobs = body.get("return_logprob") is True
    request.top_logprobs = whole(body, "top_logprobs_num", maximum=MOST_ALTERNATIVES) or 0
    return request


def sglang_answer(request: ModelRequest, answers: list[ModelAnswer], dialect: Dialect, model: str) -> dict[str, Any]:
    """Return the answer of ``/generate``; of several choices, the first."""
    answer = answers[0]
    finish = _finish(answer)
    matched = {"length": len(answer.token_ids)} if finish == "length" else {"matched": answer.matched_stop}
    meta: dict[str, Any] = {
        "id": request.identity,
        "finish_reason": {"type": finish, **matched},
        "prompt_tokens": len(request.prompt_ids),
        "completion_tokens": len(answer.token_ids),
        "cached_tokens": request.cached_tokens,
    }
    if request.logprobs:
        meta["output_token_logprobs"] = triples(answer)
        if request.top_logprobs:
            meta["output_top_logprobs"] = [
                [[p, other, None] for other, p in alternatives(token, logprob, request.top_logprobs)]
                for token, logprob in zip(answer.token_ids, answer.logprobs, strict=True)
            ]
    return {"text": _text(answer), "output_ids": answer.token_ids, "meta_info": meta}


def one_chunk(body: Mapping[str, Any], request: ModelRequest) -> Iterator[dict[str, Any]]:
    """Yield the whole as a stream of one chunk: SGLang's chunks are cumulative."""
    yield dict(body)


def read_inference(body: Mapping[str, Any], dialect: Dialect) -> ModelRequest:
    """Return what a request of vLLM's ``/inference/v1/generate`` asks for.

    Raises:
        UnusableRequest: if it cannot be answered.
    """
    if not isinstance(body.get("token_ids"), list):
        raise UnusableRequest("token_ids must be a list of whole numbers", 422, "token_ids")
    request = _read(body, body["token_ids"], "token_ids")
    parameters = body.get("sampling_params")
    _take_sampling(request, parameters, "max_tokens")
    if isinstance(parameters, Mapping) and parameters.get("logprobs") is not None:
        request.logprobs, request.top_logprobs = True, whole(parameters, "logprobs", maximum=MOST_ALTERNATIVES) or 0
    return request


def inference_answer(request: ModelRequest, answers: list[ModelAnswer], dialect: Dialect, model: str) -> dict[str, Any]:
    """Return the answer of ``/inference/v1/generate``: token ids and no text."""
    choices = [
        {
            "index": index,
            "token_ids": answer.token_ids,
            "logprobs": {"content": token_entries(answer, request, dialect)} if request.logprobs else None,
            "finish_reason": _finish(answer),
        }
        for index, answer in enumerate(answers)
    ]
    return {"request_id": request.identity, "choices": choices, "prompt_logprobs": None}


def read_llamacpp(body: Mapping[str, Any], dialect: Dialect) -> ModelRequest:
    """Return what a request of llama.cpp's ``/completion`` asks for.

    Raises:
        UnusableRequest: if it cannot be answered.
    """
    request = _read(body, body.get("prompt"), "prompt")
    limit = body.get("n_predict")
    request.max_tokens = None if limit == -1 else whole(body, "n_predict", "max_tokens")
    request.stop = stops(body.get("stop"))
    request.top_logprobs = whole(body, "n_probs", maximum=MOST_ALTERNATIVES) or 0
    request.logprobs = request.top_logprobs > 0
    request.token_ids = body.get("return_tokens") is True
    return request


def llamacpp_answer(request: ModelRequest, answers: list[ModelAnswer], dialect: Dialect, model: str) -> dict[str, Any]:
    """Return the answer of ``/completion``."""
    answer = answers[0]
    word = answer.matched_stop if isinstance(answer.matched_stop, str) else ""
    body: dict[str, Any] = {
        "index": 0,
        "content": _text(answer),
        "tokens": answer.token_ids if request.token_ids else [],
        "stop": True,
        "model": model,
        "tokens_predicted": len(answer.token_ids),
        "tokens_evaluated": len(request.prompt_ids),
        "truncated": False,
        "stop_type": "limit" if answer.finish_reason == "length" else "word" if word else "eos",
        "stopping_word": word,
    }
    if request.logprobs:
        body["completion_probabilities"] = token_entries(answer, request, dialect)
    return body


def llamacpp_chunks(body: Mapping[str, Any], request: ModelRequest) -> Iterator[dict[str, Any]]:
    """Yield the chunks of a stream: the text in one, then the rest."""
    if "content" in body:
        yield {"index": 0, "content": body["content"], "tokens": body.get("tokens", []), "stop": False}
        yield {**body, "content": "", "tokens": []}
    else:
        yield dict(body)


def _read(body: Mapping[str, Any], prompt: object, name: str) -> ModelRequest:
    if isinstance(prompt, str):
        ids = encode_special(prompt)
    elif is_token_ids(prompt):
        ids = prompt
    else:
        raise UnusableRequest(f"{name} must be a text or a list of token ids", param=name)
    return ModelRequest(
        body, messages_of(ids), ids, ids_given=isinstance(prompt, list), stream=body.get("stream") is True
    )


def _take_sampling(request: ModelRequest, parameters: object, limit: str) -> None:
    if isinstance(parameters, Mapping):
        request.max_tokens = whole(parameters, limit)
        request.stop = stops(parameters.get("stop"))


def _text(answer: ModelAnswer) -> str:
    return decode(token for token in answer.token_ids if token != END)


def _finish(answer: ModelAnswer) -> str:
    return "length" if answer.finish_reason == "length" else "stop"


def _completion_logprobs(answer: ModelAnswer, request: ModelRequest, dialect: Dialect) -> dict[str, Any]:
    if dialect.ids_in_logprobs:
        return {"content": token_entries(answer, request, dialect)}
    as_id = dialect.name == "vllm" and request.body.get("return_tokens_as_token_ids") is True
    tokens = [f"token_id:{token}" if as_id else piece(token) for token in answer.token_ids]
    offsets, place = [], 0
    for token in tokens:
        offsets.append(place)
        place += len(token)
    tops = None
    if request.top_logprobs:
        tops = [
            {piece(other): p for other, p in alternatives(token, logprob, request.top_logprobs)}
            for token, logprob in zip(answer.token_ids, answer.logprobs, strict=True)
        ]
    return {"tokens": tokens, "token_logprobs": answer.logprobs, "top_logprobs": tops, "text_offset": offsets}
