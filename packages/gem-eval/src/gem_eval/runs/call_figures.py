"""What model servers say of single calls, over one episode: the part of prompts that was cached, and first tokens.

An agent that is called once a turn has its calls in the turns. A program that owns its loop has them in the tree of
lineages, and its turns hold sums of them. Records may come from anywhere, so a value of a wrong type says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

__all__ = ["CallFigures", "call_figures"]


_LONGEST = 1e9
"""Seconds that no call takes."""


class CallFigures(TypedDict):
    """The fields of an :class:`~gem_eval.runs.episode_row.EpisodeRow` that come from its model calls."""

    calls: int
    cache_calls: int
    cached_tokens: int | None
    cache_prompt_tokens: int | None
    first_token_seconds: list[float]


def call_figures(turns: Sequence[Mapping[str, Any]], metadata: Any) -> CallFigures:
    """Return the figures of an episode's calls.

    Args:
        turns: the records of its transitions.
        metadata: of the episode.
    """
    figures = CallFigures(calls=0, cache_calls=0, cached_tokens=None, cache_prompt_tokens=None, first_token_seconds=[])
    for call in _program_calls(metadata) or turns:
        usage = call.get("usage")
        if isinstance(usage, Mapping) and usage:
            figures["calls"] += 1
            cached, prompt = usage.get("cached_tokens"), usage.get("prompt_tokens")
            # No part of a prompt is longer than the prompt.
            if type(cached) is int and type(prompt) is int and 0 <= cached <= prompt:
                figures["cache_calls"] += 1
                figures["cached_tokens"] = (figures["cached_tokens"] or 0) + cached
                figures["cache_prompt_tokens"] = (figures["cache_prompt_tokens"] or 0) + prompt
        about = call.get("metadata")
        seconds = about.get("first_token_seconds") if isinstance(about, Mapping) else None
        if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds < _LONGEST:
            figures["first_token_seconds"].append(float(seconds))
    return figures


def _program_calls(metadata: Any) -> list[Mapping[str, Any]]:
    """Return the records of a program's calls; empty if no program played behind a gateway."""
    lineages = metadata.get("lineages") if isinstance(metadata, Mapping) else None
    calls = lineages.get("calls") if isinstance(lineages, Mapping) else None
    return [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
