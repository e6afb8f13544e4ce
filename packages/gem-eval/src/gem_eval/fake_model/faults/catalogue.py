"""All kinds of faults by name, and the choice of which request meets which."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gem.arguments import nearest
from gem.errors import ArgumentError
from gem_eval.fake_model.conversation import text_of
from gem_eval.fake_model.faults import answers, refusals, streams, tool_calls, transport
from gem_eval.fake_model.faults.kinds import FaultKind
from gem_eval.fake_model.model_request import ModelRequest

__all__ = ["FAULTS", "GROUPS", "PlannedFault", "choose", "planned"]

GROUPS = {
    1: "rate limits and overload",
    2: "bodies of errors",
    3: "errors with status 200",
    4: "streams",
    5: "empty answers",
    6: "tool calls",
    7: "reasoning",
    8: "log-probabilities",
    9: "context overflow",
    10: "transport",
    11: "usage",
}

_MODULES = (refusals, answers, tool_calls, streams, transport)
FAULTS: dict[str, FaultKind] = {
    kind.name: kind for group in GROUPS for module in _MODULES for kind in module.KINDS if kind.group == group
}
"""Name → kind, by groups."""

_PLAN = re.compile(
    r"(?P<name>[a-z0-9-]+)(?::(?P<rate>[0-9.]+))?(?:@(?P<at>[0-9]+))?(?:\*(?P<times>[0-9]+))?(?:~(?P<text>.+))?",
    re.DOTALL,
)


@dataclass(frozen=True)
class PlannedFault:
    """A kind of fault and the requests that meet it."""

    kind: FaultKind
    rate: float = 1.0
    """Share of the requests, drawn by the seed and the request's content."""
    at: int | None = None
    """Only the request of this number, counted from 1."""
    times: int | None = None
    """Only the first so many requests with the same body: the retries after them are answered well."""
    text: str = ""
    """Only requests in whose messages this text stands."""


def planned(text: str | PlannedFault) -> PlannedFault:
    """Return the plan that is written ``KIND[:RATE][@NUMBER][*TIMES][~TEXT]``, as in ``reset-in-body:0.1*1``.

    Raises:
        ArgumentError: if there is no such kind, or the rate does not lie between 0 and 1.
    """
    if isinstance(text, PlannedFault):
        return text
    match = _PLAN.fullmatch(text)
    if match is None:
        raise ArgumentError(f"a fault is written KIND[:RATE][@NUMBER][*TIMES][~TEXT], got {text!r}")
    kind = FAULTS.get(match["name"])
    if kind is None:
        hint = nearest(match["name"], FAULTS)
        meant = f"; did you mean {hint!r}?" if hint else ""
        raise ArgumentError(f"there is no fault {match['name']!r}{meant} (gem fake-model --list-faults shows all)")
    try:
        rate = float(match["rate"] or 1)
    except ValueError:
        rate = -1.0
    if not 0 <= rate <= 1:
        raise ArgumentError(f"the rate of a fault must lie between 0 and 1, got {match['rate']}")
    at, times = (None if match[name] is None else int(match[name]) for name in ("at", "times"))
    return PlannedFault(kind, rate, at, times, match["text"] or "")


def choose(plans: Sequence[PlannedFault], request: ModelRequest, number: int, repeat: int) -> Iterable[FaultKind]:
    """Yield the kind that a request meets, if any, and after it those that take its place where it is not possible.

    The rates of several plans are shares of all requests, so they exclude each other as long as they sum to at most 1.

    Args:
        plans: what was planned.
        request: the choice depends on its key and its messages.
        number: of the request, from 1.
        repeat: how many requests with the same body came before.
    """
    drawn = int.from_bytes(hashlib.blake2b(request.key, digest_size=8, person=b"fault").digest(), "big") / 2**64
    below = 0.0
    for plan in plans:
        if (plan.at is not None and plan.at != number) or (plan.times is not None and repeat >= plan.times):
            continue
        if plan.text and not any(plan.text in text_of(message.get("content")) for message in request.messages):
            continue
        if below <= drawn < below + plan.rate:
            yield plan.kind
        if plan.rate < 1:
            below += plan.rate
