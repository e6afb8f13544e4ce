"""Agents who serve a customer in the end and on the way ask, propose and tell what leads nowhere: :func:`clumsy`."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from desk_served import Served, propose, tell

from gem_envs_desk.acts.language import ANYTHING_ELSE, ASK, PROPOSE, REFUSED, DeskActs
from gem_envs_desk.task import DeskCall

__all__ = ["clumsy"]

_GUESSES = (12.5, "2026-06-01", "10:30", "Medium")


def clumsy(own: Served, acts: DeskActs, rng: Random) -> list[DeskCall]:
    """Return the calls of a plan with detours between them."""
    return [one for call in own.plan for one in (*_detours(own, acts, rng, call), call)]


def _detours(own: Served, acts: DeskActs, rng: Random, call: DeskCall) -> Iterator[DeskCall]:
    if rng.random() < 0.4:
        yield DeskCall(ASK, {"what": rng.choice([*acts.topics, ANYTHING_ELSE, "the weather"])})
    if own.is_proposal(call) and rng.random() < 0.6:
        yield _other(own, rng, call)
    if rng.random() < 0.15:
        yield tell(rng.choice([*acts.facts]), rng.choice(_GUESSES))
    if rng.random() < 0.1:
        yield tell(REFUSED, rng.choice(own.grounds))
    if rng.random() < 0.1 and call.tool in (ASK, PROPOSE):
        yield call


def _other(own: Served, rng: Random, call: DeskCall) -> DeskCall:
    """Return a proposal with another value, or of another action."""
    arguments = dict(call.arguments["arguments"])
    if rng.random() < 0.4:
        return propose(DeskCall(rng.choice(sorted(own.writes)), arguments))
    name = rng.choice([*arguments])
    value = arguments[name]
    arguments[name] = value + 1 if isinstance(value, (int, float)) else f"{value[:-1]}7"
    return propose(DeskCall(call.arguments["action"], arguments))
