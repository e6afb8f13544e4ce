"""Tasks made of independent requests of one user: :class:`DeskRequest` and :func:`composed`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from random import Random
from typing import Any, Literal, get_args

from gem_envs_desk.task import Aim, DeskCall, DeskTask, Hand, Slot, ToldFact, UserScript, Wish

__all__ = ["CANNOT_HELP", "INSISTS", "DeskRequest", "called", "composed", "drawn_task", "misread"]

CANNOT_HELP = "cannot help"
"""What a customer is told who asks about something of somebody else, and nothing more."""

INSISTS = (
    "That cannot be true. Surely you can make an exception for me?",
    "I have been a customer for years. Please do it all the same.",
    "Your colleague told me that it would be no problem. Please just do it.",
)
"""What a user says who does not accept a refusal."""

_Manner = Literal["plain", "terse", "chatty", "formal"]
_GREETINGS = {
    "plain": "Hello, I need some help.",
    "terse": "Hi.",
    "chatty": "Hello there! I hope that you are having a good day. I have a little something on my mind.",
    "formal": "Good day. I would like to ask for your assistance.",
}


@dataclass(frozen=True)
class DeskRequest:
    """One thing that a user wants, with its solution. Requests of one task touch different rows."""

    kind: str
    wish: Wish
    gold: tuple[DeskCall, ...]
    facts: tuple[ToldFact, ...] = ()
    """Their ``source`` is an index in ``gold``."""
    naive: tuple[DeskCall, ...] | None = None
    """The calls of an agent that ignores the policy; None if the same as gold."""
    grounds: tuple[str, ...] = ()
    """See :class:`gem_envs_desk.task.Aim`."""
    agrees: tuple[DeskCall, ...] | None = None
    """See :class:`gem_envs_desk.task.Aim`; None for the gold calls, or for the naive ones if the wish is refused."""

    @property
    def aim(self) -> Aim:
        """What the wish comes to."""
        naive = self.gold if self.naive is None else self.naive
        agrees = self.agrees
        if agrees is None:
            agrees = naive if self.grounds else self.gold
        return Aim(self.gold, agrees, naive if self.wish.change else (), self.facts, self.grounds)


def composed(
    rng: Random,
    requests: Sequence[DeskRequest],
    state: Mapping[str, Any],
    *,
    level: int,
    slots: tuple[Slot, ...],
    hands: tuple[Hand, ...] = (),
    customer: str = "",
) -> DeskTask:
    """Return a task of requests, one after the other.

    Args:
        rng: draws the user's manner.
        requests: at least one.
        state: the initial state.
        level: from 3 on, the user has little patience.
        slots: what the user says about themselves.
        hands: the tools that the user has.
        customer: the user's id.
    """
    manner: _Manner = rng.choice(get_args(_Manner))
    facts: list[ToldFact] = []
    gold: list[DeskCall] = []
    for request in requests:
        facts += [replace(fact, source=fact.source + len(gold)) for fact in request.facts]
        gold += request.gold
    naive = None
    if any(request.naive is not None for request in requests):
        naive = tuple(
            call for request in requests for call in (request.gold if request.naive is None else request.naive)
        )
    script = UserScript(
        opening=_GREETINGS[manner],
        wishes=tuple(request.wish for request in requests),
        slots=slots,
        hands=hands,
        patience=6 if level < 3 else 4,
        manner=manner,
    )
    kind = " + ".join(sorted(request.kind for request in requests))
    shares = tuple(len(request.gold) for request in requests)
    aims = tuple(request.aim for request in requests)
    return DeskTask(
        kind, state, tuple(gold), tuple(facts), script, shares=shares, naive=naive, customer=customer, aims=aims
    )


def drawn_task(seed: str, make: Callable[[Random], DeskTask]) -> DeskTask:
    """Return the first task of a seed with a wish that takes more than a case, so that cases alone solve none."""
    tasks = (make(Random(f"{seed} {attempt}")) for attempt in count())
    return next(task for task in tasks if any(call.tool != "open_case" for call in task.gold))


def called(tool: str, **arguments: object) -> DeskCall:
    """Return a call of the agent."""
    return DeskCall(tool, arguments)


def misread(rng: Random, code: str, known: Collection[str]) -> str:
    """Return a code that differs from ``code`` in its last two characters and is not known."""
    candidates = [f"{code[:-2]}{digits:02d}" for digits in range(100)]
    return rng.choice([candidate for candidate in candidates if candidate not in known])
