"""Tasks made of independent requests of one user: :class:`DeskRequest`, :func:`composed`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from random import Random
from typing import Any, Literal, NamedTuple, get_args

from gem.tables import read_table
from gem_envs_desk.phrases import Phrases
from gem_envs_desk.task import CASE, Aim, DeskCall, DeskTask, Hand, Slot, ToldFact, UserScript, Wish

__all__ = [
    "CANNOT_HELP",
    "NO_WORDS",
    "DeskRequest",
    "Words",
    "called",
    "composed",
    "desk_phrases",
    "drawn_task",
    "misread",
]

CANNOT_HELP = "cannot help"
"""What a customer is told who asks about something of somebody else, and nothing more."""

_Manner = Literal["plain", "terse", "chatty", "formal"]
_GREETINGS = {
    "plain": "Hello, I need some help.",
    "terse": "Hi.",
    "chatty": "Hello there! I hope that you are having a good day. I have a little something on my mind.",
    "formal": "Good day. I would like to ask for your assistance.",
}


_OPENINGS = read_table(__file__, "openings.json")
"""Rows for the first words of customers, of every manner, and parts of sentences for all desks."""
_MOST_DRAWS = 50
_NAMES_AT_ONCE = 0.3
"""Share of the customers who say at once which record a wish is about."""


def desk_phrases(table: Mapping[str, Sequence[str]]) -> Phrases:
    """Return the words of a desk's customers: its own rows beside those of all desks."""
    return Phrases(_OPENINGS, table)


class Words(NamedTuple):
    """How a wish is raised where words vary: a row of phrases, and what it names."""

    row: str = ""
    values: Mapping[str, str] = {}
    slots: tuple[Slot, ...] = ()
    """What the customer says of it when asked, in place of slots of the same names."""
    reasons: tuple[str, ...] = ()
    """Rows of reasons; the customer who raises the wish with one of them has no other."""


NO_WORDS = Words()


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

    ways: tuple[tuple[DeskCall, ...], ...] = ()
    """See :class:`gem_envs_desk.task.Aim`."""
    order: tuple[str, ...] = ()
    """See :class:`gem_envs_desk.task.Aim`."""
    words: Words = NO_WORDS
    """How the wish is raised where the words of customers vary."""

    @property
    def aim(self) -> Aim:
        """What the wish comes to."""
        naive = self.gold if self.naive is None else self.naive
        agrees = self.agrees
        if agrees is None:
            steps = [call for way in (self.gold, *self.ways) for call in way]
            agrees = naive if self.grounds else tuple(call for n, call in enumerate(steps) if call not in steps[:n])
        first = naive if self.wish.change else ()
        return Aim(self.gold, agrees, first, self.facts, self.grounds, self.ways, self.order)


def composed(
    rng: Random,
    requests: Sequence[DeskRequest],
    state: Mapping[str, Any],
    *,
    level: int,
    slots: tuple[Slot, ...],
    hands: tuple[Hand, ...] = (),
    customer: str = "",
    phrases: Phrases | None = None,
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
        phrases: the words of users, with a row ``opening MANNER`` and the rows of all requests; None for those of the
            wishes.
    """
    manner: _Manner = rng.choice(get_args(_Manner))
    opening = _GREETINGS[manner]
    if phrases is not None:
        opening, requests = phrases.drawn(rng, f"opening_{manner}", {}), _worded(rng, requests, phrases)
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
        opening=opening,
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


def _worded(rng: Random, requests: Sequence[DeskRequest], phrases: Phrases) -> list[DeskRequest]:
    """Return the requests in drawn words, no two in the same."""
    worded: list[DeskRequest] = []
    said: set[str] = set()
    rows: set[str] = set()
    for request in requests:
        row, first = request.words.row, next(iter(request.wish.slots), None)
        # Some customers name the record at once, unless they will be wrong about it.
        record = first.says if first is not None and not first.wrong and rng.random() < _NAMES_AT_ONCE else ""
        values = {"record": record, **request.words.values}
        draws = (phrases.drawn(rng, row, values) for _ in range(_MOST_DRAWS))
        says = next(text for text in draws if text not in said)
        said.add(says)
        # Who says nearly the same again means something else.
        lead = f"Now to another {first.name}." if row in rows and first is not None else ""
        rows.add(row)
        wish, own = request.wish, [*request.words.slots]
        given = next((one for row in request.words.reasons for one in phrases.row(row) if one and one in says), "")
        own += [replace(slot, says=given) for slot in wish.slots if given and slot.name == "reason"]
        slots = (*(slot for slot in wish.slots if slot.name not in {one.name for one in own}), *own)
        # What the customer answers to an agent who asks for the wish itself is the wish.
        slots = tuple(replace(slot, says=says) if slot.says == wish.says else slot for slot in slots)
        change = wish.change
        if change and f"{row}_change" in phrases:
            change = phrases.drawn(rng, f"{row}_change", values)
        wish = replace(wish, says=says, change=change, slots=slots, again="", lead=lead)
        worded.append(replace(request, wish=wish))
    return worded


def drawn_task(seed: str, make: Callable[[Random], DeskTask]) -> DeskTask:
    """Return the first task of a seed with a wish that takes more than a case, so that cases alone solve none."""
    tasks = (make(Random(f"{seed} {attempt}")) for attempt in count())
    return next(task for task in tasks if any(call.tool != CASE for call in task.gold))


def called(tool: str, **arguments: object) -> DeskCall:
    """Return a call of the agent."""
    return DeskCall(tool, arguments)


def misread(rng: Random, code: str, known: Collection[str]) -> str:
    """Return a code that differs from ``code`` in its last two characters and is not known."""
    candidates = [f"{code[:-2]}{digits:02d}" for digits in range(100)]
    return rng.choice([candidate for candidate in candidates if candidate not in known])
