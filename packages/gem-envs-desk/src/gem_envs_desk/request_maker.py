"""What makes the requests of a desk's customers: :class:`RequestMaker`, and a desk of them: :class:`RequestDomain`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, ClassVar, Generic, TypeVar

from gem_envs_desk.content import DeskContent, about_customer
from gem_envs_desk.domain import StoreDomain
from gem_envs_desk.phrases import Phrases
from gem_envs_desk.requests import CANNOT_HELP, DeskRequest, Words, called, composed, misread
from gem_envs_desk.store import Row
from gem_envs_desk.task import CASE, DeskCall, DeskTask, Hand, Slot, ToldFact, Wish

__all__ = ["Kinds", "RequestDomain", "RequestMaker"]

_STRANGER, _REFUSED = "identity not verified", "refused request"
"""The categories of cases that every desk has."""

_INSISTS = (
    "That cannot be true. Surely you can make an exception for me?",
    "I have been a customer for years. Please do it all the same.",
    "Your colleague told me that it would be no problem. Please just do it.",
)
"""What a user says who does not accept a refusal."""

_Content = TypeVar("_Content", bound=DeskContent)
Kinds = Mapping[str, Callable[[Any], DeskRequest]]
"""Kind of request → what makes it, a method of the desk's maker."""


class RequestMaker(Generic[_Content]):
    """Makes the requests of one customer, each about a record of its own.

    A subclass has a method for each kind of request.

    Args:
        rng: draws everything.
        content: the tables, which the requests add to.
        customer: the row of the customer.
        level: from 2 on, customers name wrong records at first, and insist.
    """

    table: ClassVar[str]
    """The table of the records that customers name, whose key is one column."""
    slot: ClassVar[str]
    """The name of the slot that has the record's key."""
    asks: ClassVar[tuple[str, ...]]
    """The words that ask for it."""
    names: ClassVar[str]
    """The sentence with which a customer names it, with ``{}`` for the key."""
    why: ClassVar[tuple[str, ...]] = ("reason", "why")
    """The words that ask for a reason."""
    kinds: ClassVar[Kinds] = {}
    makes_last: ClassVar[str] = ""
    """A kind that is made after the others of a task, because their rows decide about it; the order of the wishes is
    drawn then."""

    def __init__(self, rng: Random, content: _Content, customer: Row, level: int) -> None:
        self.rng, self.content, self.customer, self.level = rng, content, customer, level
        self.customer_id: str = customer["customer_id"]

    def drawn(self, wishes: int, phrases: Phrases | None) -> DeskTask:
        """Return a task of so many requests, at most as many as there are kinds, in the customer's words."""
        names = self.rng.sample(list(self.kinds), wishes)
        if self.makes_last:
            names.sort(key=lambda name: name == self.makes_last)
        requests = [self.kinds[name](self) for name in names]
        if self.makes_last:
            requests = self.rng.sample(requests, wishes)
        return self.task(requests, phrases, self.about())

    def about(self) -> tuple[Slot, ...]:
        """Return what the customers of the desk know about themselves, beside what all customers do."""
        return ()

    def others(self) -> list[Row]:
        """Return the other customers."""
        return [one for one in self.content.tables["customers"] if one is not self.customer]

    def record_slot(self, code: str) -> Slot:
        """Return what the customer says of a record's key, at first perhaps a wrong one."""
        wrong = ""
        if self.level > 1 and self.rng.random() < 0.3:
            (key,) = self.content.schema[self.table].key
            known = {row[key] for row in self.content.tables[self.table]}
            wrong = self.names.format(misread(self.rng, code, known))
        return self.known_slot(code, wrong)

    def known_slot(self, code: str, wrong: str = "") -> Slot:
        """Return what the customer says of a record's key, after the sentence ``wrong`` if there is one."""
        return Slot(self.slot, self.asks, self.names.format(code), wrong)

    def reason(self, says: str) -> Slot:
        """Return why the customer has a wish, where that decides nothing."""
        return Slot("reason", self.why, says, extra=True)

    def protest(self, is_refused: bool) -> str:
        """Return what the customer says to a refusal; empty if they accept it."""
        return self.rng.choice(_INSISTS) if is_refused and self.level > 1 else ""

    @staticmethod
    def case(code: str, category: str = _REFUSED) -> tuple[DeskCall, ...]:
        """Return the call that files a case about a record."""
        return (called(CASE, subject=code, category=category),)

    def decided(
        self,
        kind: str,
        wish: Wish,
        reasons: Mapping[str, bool],
        gold: tuple[DeskCall, ...],
        *,
        naive: tuple[DeskCall, ...],
        facts: tuple[ToldFact, ...] = (),
        subject: str,
        words: Words,
    ) -> DeskRequest:
        """Return a request that is carried out, or refused, with a case, for those of the reasons that hold."""
        grounds = tuple(ground for ground, holds in reasons.items() if holds)
        wish = replace(wish, protest=self.protest(bool(grounds)))
        if grounds:
            # The customer agrees to what they ask for, as it would be if the policy allowed it.
            return DeskRequest(f"{kind} refused", wish, self.case(subject), naive=gold, grounds=grounds, words=words)
        return DeskRequest(kind, wish, gold, facts, None if naive == gold else naive, words=words)

    def of_somebody_else(self, kind: str, wish: Wish, code: str, naive: DeskCall, words: Words) -> DeskRequest:
        """Return a request about a record that belongs to another customer; ``naive`` carries it out."""
        gold = self.case(code, _STRANGER)
        return DeskRequest(kind, wish, gold, naive=(naive,), grounds=(CANNOT_HELP,), words=words)

    def task(
        self,
        requests: Sequence[DeskRequest],
        phrases: Phrases | None,
        slots: tuple[Slot, ...] = (),
        hands: tuple[Hand, ...] = (),
    ) -> DeskTask:
        """Return the task of requests, one after the other; see :func:`composed`."""
        return composed(
            self.rng,
            requests,
            self.content.tables,
            level=self.level,
            slots=(*about_customer(self.customer), *slots),
            hands=hands,
            customer=self.customer_id,
            phrases=phrases,
        )


class RequestDomain(StoreDomain):
    """A desk whose tasks are requests of one customer: as many as the level, one more where the words vary."""

    content: Callable[[Random, str], DeskContent]
    """Makes the tables of a task; the split decides the family names."""
    maker: Callable[[Random, Any, Row, int], RequestMaker[Any]]
    """The class of the desk's requests."""
    phrases: Phrases | None = None
    """The customers' words; with them, customers have a history."""

    def drawn(self, rng: Random, level: int, split: str) -> DeskTask:
        content = self.content(rng, split)
        if self.phrases is not None:
            content.add_histories()
        customer = rng.choice(content.tables["customers"])
        return self.maker(rng, content, customer, level).drawn(level + (self.phrases is not None), self.phrases)
