"""What single calls of a model say, over one episode: cached parts of prompts, first tokens, and exact token ids.

An agent that is called once a turn has its calls in the turns. A program that owns its loop has them in the tree of
lineages, and its turns hold sums of them. Records may come from anywhere, so a value of a wrong type says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, TypeGuard

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
    token_calls: int
    exact_calls: int


def call_figures(turns: Sequence[Mapping[str, Any]], metadata: Any) -> CallFigures:
    """Return the figures of an episode's calls.

    Args:
        turns: the records of its transitions.
        metadata: of the episode.
    """
    program = _program_calls(metadata)
    known, exact = _exact_calls(program) if program else _exact_turns(turns)
    figures = CallFigures(
        calls=0,
        cache_calls=0,
        cached_tokens=None,
        cache_prompt_tokens=None,
        first_token_seconds=[],
        token_calls=known,
        exact_calls=exact,
    )
    for call in program or turns:
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


def _exact_calls(calls: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Return how many calls of a program have known ids, and how many of these continue the ids of an earlier one."""
    known = [call for call in calls if _are_ids(call.get("added_ids")) and _are_ids(call.get("token_ids"))]
    return len(known), sum(call.get("exact") is True for call in known)


def _exact_turns(turns: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Return the same of an agent's turns, whose prompts are recorded as edits of the ones before."""
    known = exact = 0
    before: dict[Any, tuple[int, int]] = {}
    for turn in turns:
        edit, sampled = turn.get("prompt_token_ids_edit"), turn.get("token_ids")
        pieces = edit.get("list") if isinstance(edit, Mapping) else None
        prompt, agent = turn.get("prompt_token_ids"), turn.get("agent")
        length = len(prompt) if _are_ids(prompt) else _edited_length(edit)
        if length is None or not _are_ids(sampled):
            before.pop(agent, None)
            continue
        known += 1
        if agent in before and isinstance(pieces, list):
            old, answered = before[agent]
            exact += pieces[:2] == [[0, old], ["action", 0, answered]]
        before[agent] = length, len(sampled)
    return known, exact


def _edited_length(edit: Any) -> int | None:
    """Return how many ids a prompt has that is recorded as an edit; None where that is not known."""
    if not isinstance(edit, Mapping):
        return None
    if _are_ids(edit.get("value")):
        return len(edit["value"])
    length, pieces = 0, edit.get("list")
    for piece in pieces if isinstance(pieces, list) else ():
        if isinstance(piece, Mapping) and _are_ids(piece.get("items")):
            length += len(piece["items"])
        elif isinstance(piece, list) and len(piece) >= 2 and all(type(end) is int for end in piece[-2:]):
            length += piece[-1] - piece[-2]
        else:
            return None
    return length or None


def _are_ids(value: Any) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(one) is int for one in value)
