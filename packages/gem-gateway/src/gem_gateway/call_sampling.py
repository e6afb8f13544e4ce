"""How a call samples: what the program asks for, and what an evaluation has decided."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields, replace

from gem_eval.clients import Sampling

__all__ = ["SAMPLING_FIELDS", "combined", "known_extra"]

SAMPLING_FIELDS = ("frequency_penalty", "logit_bias", "min_p", "presence_penalty", "repetition_penalty", "top_k")
"""What :attr:`Sampling.extra` may hold for the continuation of a prompt, in the names of most servers."""


def combined(asked: Sampling, decided: Sampling | None) -> Sampling:
    """Return a program's sampling with what an evaluation has decided in its place."""
    if decided is None:
        return asked
    standard = Sampling()
    changes = {
        item.name: getattr(decided, item.name)
        for item in fields(Sampling)
        if getattr(decided, item.name) != getattr(standard, item.name)
    }
    if "extra" in changes:
        changes["extra"] = {**asked.extra, **changes["extra"]}
    if asked.max_tokens is not None and "max_tokens" in changes:
        changes["max_tokens"] = min(asked.max_tokens, changes["max_tokens"])
    return replace(asked, **changes)


def known_extra(sampling: Sampling, takes: Collection[str] | None, notes: list[str]) -> Sampling:
    """Return a sampling without the further fields that a model's client does not take, each of them noted.

    Args:
        sampling: of a call.
        takes: names of the fields; None for a client that takes all.
        notes: of the call.
    """
    surplus = [] if takes is None else sorted(set(sampling.extra) - set(takes))
    if not surplus:
        return sampling
    notes.append(f"left out {', '.join(surplus)}: the model's client takes no such fields")
    return replace(sampling, extra={name: value for name, value in sampling.extra.items() if name not in surplus})
