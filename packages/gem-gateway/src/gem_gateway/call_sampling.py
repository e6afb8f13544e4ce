"""How a call samples: what the program asks for, and what an evaluation has decided."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from typing import Any

from gem_eval.clients import Sampling

__all__ = ["SAMPLING_FIELDS", "combined", "decisions", "known_extra"]

SAMPLING_FIELDS = ("frequency_penalty", "logit_bias", "min_p", "presence_penalty", "repetition_penalty", "top_k")
"""What :attr:`Sampling.extra` may hold for the continuation of a prompt, in the names of most servers."""


def decisions(sampling: Sampling) -> dict[str, Any]:
    """Return what an evaluation has decided: the fields of its sampling that it has set."""
    standard = Sampling()
    values = {item.name: getattr(sampling, item.name) for item in fields(Sampling)}
    return {name: value for name, value in values.items() if value != getattr(standard, name)}


def combined(asked: Sampling, decided: Mapping[str, Any]) -> Sampling:
    """Return a program's sampling with an evaluation's :func:`decisions` in its place."""
    changes = dict(decided)
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
