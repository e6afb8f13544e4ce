"""Batched sampling from a causal language model of ``transformers``, with the log-probability of each sampled token.

A loop of our own rather than ``generate``: each row of a batch has its own temperature, seed, limit and stop texts, and
no step keeps the scores of the whole vocabulary.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from gem_eval.clients.structured_output import SchemaConstraint

__all__ = ["GeneratedTokens", "GenerationJob", "generate"]


@dataclass(frozen=True)
class GenerationJob:
    """One prompt, and how to continue it."""

    ids: list[int]
    max_tokens: int
    temperature: float = 0.0
    """0.0 takes the most probable token."""
    top_p: float = 1.0
    top_k: int = 0
    """0 for no limit."""
    stop: tuple[str, ...] = ()
    seed: int | None = None
    top_logprobs: int = 0
    constraint: SchemaConstraint | None = None
    """Its state moves on with the tokens; a job is generated once."""


@dataclass
class GeneratedTokens:
    """The continuation of one prompt."""

    ids: list[int] = field(default_factory=list)
    """A stop token included."""
    logprobs: list[float] = field(default_factory=list)
    """Natural logarithms, before temperature and limits on the choice (a schema's included), as vLLM gives them."""
    top: list[list[tuple[int, float]]] = field(default_factory=list)
    finish_reason: str = ""
    text: str = ""


def generate(
    network: Any,
    jobs: list[GenerationJob],
    end_ids: Collection[int],
    decode: Callable[[list[int]], str],
) -> list[GeneratedTokens]:
    """Continue all prompts side by side until each has ended.

    Args:
        network: a causal language model of ``transformers``.
        jobs: at least one; no prompt is empty.
        end_ids: tokens that end a text.
        decode: returns the text of ids, special tokens left out.
    """
    import torch

    width = max(len(job.ids) for job in jobs)
    device = network.device
    # Left of each prompt are as many zeros as it is shorter than the longest; the mask hides them.
    rows = torch.tensor([[0] * (width - len(job.ids)) + job.ids for job in jobs], device=device)
    mask = torch.tensor([[0] * (width - len(job.ids)) + [1] * len(job.ids) for job in jobs], device=device)
    accepted = inspect.signature(network.forward).parameters
    options: dict[str, Any] = {"logits_to_keep": 1} if "logits_to_keep" in accepted else {}
    generators = [_generator(torch, device, job.seed) for job in jobs]
    results = [GeneratedTokens() for _ in jobs]
    cache_name = "cache" if "cache" in accepted else "past_key_values"  # the older name, gone from transformers 5.40 on
    cache = None
    with torch.inference_mode():
        while any(not result.finish_reason for result in results):
            positions = (mask.cumsum(-1) - 1).clamp(min=0)[:, -rows.shape[1] :]
            if "position_ids" in accepted:
                options["position_ids"] = positions
            options[cache_name] = cache
            output = network(input_ids=rows, attention_mask=mask, use_cache=True, **options)
            cache = getattr(output, cache_name)
            scores = output.logits[:, -1].float()
            logprobs = torch.log_softmax(scores, dim=-1)
            chosen = [0] * len(jobs)
            for index, (job, result) in enumerate(zip(jobs, results, strict=True)):
                if not result.finish_reason:
                    chosen[index] = _choose(torch, _limited(torch, scores[index], job), job, generators[index])
                    if job.constraint is not None:
                        job.constraint.accept(chosen[index])
                    _add(torch, result, job, chosen[index], logprobs[index], end_ids, decode)
            rows = torch.tensor(chosen, device=device)[:, None]
            mask = torch.cat([mask, torch.ones_like(rows)], dim=1)
    return results


def _generator(torch: Any, device: Any, seed: int | None) -> Any:
    generator = torch.Generator(device=device)
    if seed is None:
        generator.seed()
    else:
        generator.manual_seed(seed % 2**63)
    return generator


def _limited(torch: Any, scores: Any, job: GenerationJob) -> Any:
    """Return the scores of one row, −∞ for the tokens that its schema does not allow next."""
    if job.constraint is None:
        return scores
    octets = torch.frombuffer(bytearray(job.constraint.allowed()), dtype=torch.uint8)
    bits = (octets[:, None] >> torch.arange(8, dtype=torch.uint8)) & 1
    allowed = bits.flatten()[: len(scores)].bool().to(scores.device)
    return scores.masked_fill(~allowed, float("-inf"))


def _choose(torch: Any, scores: Any, job: GenerationJob, generator: Any) -> int:
    """Return a token drawn from the scores of one row."""
    if job.temperature == 0.0:
        return int(scores.argmax())
    ordered, ids = (scores / job.temperature).sort(descending=True)
    if job.top_k:
        ordered, ids = ordered[: job.top_k], ids[: job.top_k]
    chances = ordered.softmax(-1)
    if job.top_p < 1.0:
        # The fewest tokens that have the share together; the first is always among them.
        before = chances.cumsum(-1) - chances
        chances = chances.where(before < job.top_p, torch.zeros_like(chances))
        chances[0] = max(float(chances[0]), 1e-9)
    return int(ids[torch.multinomial(chances, 1, generator=generator)])


def _add(
    torch: Any,
    result: GeneratedTokens,
    job: GenerationJob,
    token: int,
    logprobs: Any,
    end_ids: Collection[int],
    decode: Callable[[list[int]], str],
) -> None:
    """Add a sampled token to the continuation of its prompt, and note whether it is the last."""
    result.ids.append(token)
    result.logprobs.append(float(logprobs[token]))
    if job.top_logprobs:
        values, ids = torch.topk(logprobs, min(job.top_logprobs, logprobs.shape[-1]))
        result.top.append(list(zip(ids.tolist(), values.tolist(), strict=True)))
    if token in end_ids:
        result.finish_reason = "stop"
        result.text = decode(result.ids[:-1])
        return
    if job.stop:
        text = decode(result.ids)
        places = [place for place in map(text.find, job.stop) if place >= 0]
        if places:
            result.finish_reason, result.text = "stop", text[: min(places)]
            return
    if len(result.ids) >= job.max_tokens:
        result.finish_reason, result.text = "length", decode(result.ids)
