"""The servers that the fake model imitates, and what each of them says differently."""

from __future__ import annotations

from dataclasses import dataclass

from gem.errors import ArgumentError

__all__ = ["DIALECTS", "Dialect", "dialect"]


@dataclass(frozen=True)
class Dialect:
    """What distinguishes one kind of server."""

    name: str
    reasoning_field: str = "reasoning_content"
    """Name of the field of an answer's message that holds the reasoning."""
    logprobs: bool = True
    """Whether ``logprobs`` is honoured; else it is ignored without a word."""
    ids_on_request: bool = False
    """Whether ``return_token_ids`` brings ids."""
    ids_in_logprobs: bool = False
    """Whether every entry of the log-probabilities holds its id."""
    prompt_ids_per_choice: bool = False
    """Whether a chat's prompt ids are in the choice rather than at the top."""
    known_fields: frozenset[str] | None = None
    """The fields of a chat request; others are refused with 422. None if all are accepted."""
    several_choices: bool = True
    """Whether ``n`` is honoured."""
    structured: bool = True
    """Whether ``response_format`` and ``tool_choice`` are honoured."""
    usage_in_stream: bool = False
    """Whether a stream ends with the usage, asked for or not."""
    tells_cached: bool = True
    """Whether the usage says how many tokens of the prompt were cached, which vLLM and SGLang do if started so."""
    gauges: tuple[str, str] | None = None
    """The names under which its metrics show the requests that it works at, and those that wait."""
    flat_errors: bool = False
    """Whether the body of an error is flat: ``{"object": "error", "message": …}``."""


_OPENAI_FIELDS = (
    "messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens "
    "max_tokens metadata modalities n parallel_tool_calls prediction presence_penalty prompt_cache_key "
    "reasoning_effort response_format safety_identifier seed service_tier stop store stream stream_options "
    "temperature tool_choice tools top_logprobs top_p user verbosity web_search_options"
)

DIALECTS = {
    item.name: item
    for item in (
        Dialect("openai"),
        Dialect(
            "vllm",
            reasoning_field="reasoning",
            ids_on_request=True,
            gauges=("vllm:num_requests_running", "vllm:num_requests_waiting"),
        ),
        Dialect(
            "sglang",
            ids_on_request=True,
            prompt_ids_per_choice=True,
            gauges=("sglang:num_running_reqs", "sglang:num_queue_reqs"),
            flat_errors=True,
        ),
        Dialect(
            "llamacpp", ids_in_logprobs=True, gauges=("llamacpp:requests_processing", "llamacpp:requests_deferred")
        ),
        Dialect(
            "transformers",
            logprobs=False,
            known_fields=frozenset([*_OPENAI_FIELDS.split(), "generation_config", "adapter", "top_k", "request_id"]),
            several_choices=False,
            structured=False,
            usage_in_stream=True,
            tells_cached=False,
        ),
    )
}
"""Name → dialect."""


def dialect(name: str) -> Dialect:
    """Return a dialect by its name.

    Raises:
        ArgumentError: if there is none of that name.
    """
    if name not in DIALECTS:
        raise ArgumentError(f"dialect must be one of {', '.join(DIALECTS)}, got {name!r}")
    return DIALECTS[name]
