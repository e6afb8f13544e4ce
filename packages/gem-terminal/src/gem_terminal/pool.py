"""Things that take long to make, made ahead and let go of in the background: :class:`Pool`."""

from __future__ import annotations

import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from itertools import chain
from threading import Condition, Thread
from typing import Generic, TypeVar

from gem_terminal.errors import EngineError

__all__ = ["Pool"]

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

_STALE = 4
"""A customer who has not come back while others came so many times as often as the pool is large has lost interest."""

_LAST_WAIT = 10.0
"""Seconds that the last customer, and closing, wait for what is being made at that moment."""


class _Account(Generic[K, T]):
    """What a customer holds, and what it said that it will take next."""

    def __init__(self, customer: object) -> None:
        self.customer = weakref.ref(customer)
        self.held: list[T] = []
        self.ahead: tuple[K, ...] = ()
        self.visit = 0


class Pool(Generic[K, T]):
    """Hands out fresh things of several kinds, and keeps ready what its customers said that they will take next.

    Each thing is handed out once and never comes back. A customer that finds nothing ready makes one itself, in its own
    thread, and waits for nobody; what it raises is its own. What cannot be made ahead is left to the next customer that
    asks for this kind, and is made ahead again once that has worked.

    Threads in the background make and discard, and discard first; they end when there is nothing to do. What nobody
    waits for any more is discarded, also what a customer held that was collected as garbage.

    Where more is expected than the pool may hold, those who asked first have what they asked for, since their turn
    comes first; whoever has not come back for long gives way.

    Args:
        make: makes one of a kind. It is called in any thread, several at once.
        discard: lets go of one; what it raises is nobody's.
        is_sound: tells, at once, whether one that has waited is still good; one that is not is discarded.
        most: how many are made ahead, of all kinds together; as many may wait to be discarded before customers have to
            help with it.
        hands: threads in the background.
        first: what is done once, in the background, before anything else is.
        rest: called when no customer and nothing else is left.
    """

    def __init__(
        self,
        make: Callable[[K], T],
        discard: Callable[[T], None],
        is_sound: Callable[[T], bool] = lambda _: True,
        *,
        most: int = 32,
        hands: int = 4,
        first: Callable[[], object] = lambda: None,
        rest: Callable[[], None] = lambda: None,
    ) -> None:
        self._make = make
        self._discard = discard
        self._is_sound = is_sound
        self._most = most
        self._most_hands = hands
        self._first: Callable[[], object] | None = first
        self._rest = rest
        self._changed = Condition()
        self._accounts: dict[int, _Account[K, T]] = {}  # in the order in which they came last
        self._visits = 0
        self._ready: dict[K, deque[T]] = {}
        self._making: Counter[K] = Counter()  # in the background
        self._taking = 0  # made by customers at this moment
        self._failed: set[K] = set()
        self._refused: deque[T] = deque()
        self._hands = 0
        self._closed = False

    def take(self, customer: object, kind: K, ahead: Sequence[K] = ()) -> T:
        """Return a fresh one, which the customer holds until it releases it.

        Args:
            customer: who asks; known by its identity, and only weakly.
            kind: what is wanted.
            ahead: what this customer will take next; replaces what it said before.

        Raises:
            EngineError: if the pool is closed.
            Exception: what making one raises.
        """
        with self._changed:
            self._check_open()
            account = self._account(customer)
            item = self._sound_one(kind)
            if item is not None:
                account.held.append(item)
                account.ahead = tuple(ahead)
                self._call_a_hand()
                return item
            if not self._making[kind]:  # or else what is on its way would be refused before this one is served
                account.ahead = ()
            self._taking += 1
        made: list[T] = []
        try:
            made.append(self._make(kind))
            return made[0]
        finally:
            with self._changed:
                self._taking -= 1
                if self._closed:
                    self._refused.extend(made)
                elif made:
                    self._accounts.setdefault(id(customer), account)  # it may have left meanwhile
                    account.held += made
                    account.ahead = tuple(ahead)
                    self._failed.discard(kind)
                self._call_a_hand()
                self._changed.notify_all()

    def release(self, customer: object) -> None:
        """Discard what the customer holds, in the background."""
        with self._changed:
            account = self._accounts.get(id(customer))
            if account is not None:
                self._refused.extend(account.held)
                account.held.clear()
            self._call_a_hand()
        while (item := self._one_too_many()) is not None:
            self._let_go(item)

    def leave(self, customer: object) -> None:
        """Discard what the customer holds and what was made ahead for it. The last one waits until nothing is left."""
        self.release(customer)
        with self._changed:
            self._accounts.pop(id(customer), None)
            self._call_a_hand()
            is_last = not self._accounts
        if is_last:
            self._settle()

    def close(self) -> None:
        """Discard everything, also what customers hold, and make nothing more; calling it again does nothing."""
        with self._changed:
            self._closed = True
            for account in self._accounts.values():
                self._refused.extend(account.held)
            self._accounts.clear()
            self._call_a_hand()
        self._settle()

    def forget(self, let_go: Callable[[T], None]) -> None:
        """Drop everything without discarding it: a forked child has only copies of what is its parent's.

        The pool is of no more use. Nothing is locked, since no other thread lives on that would let go of the lock.
        """
        for item in chain(self._refused, *self._ready.values(), *(each.held for each in self._accounts.values())):
            let_go(item)

    def _check_open(self) -> None:
        if self._closed:
            raise EngineError("nothing is begun any more, since this process is ending")

    def _account(self, customer: object) -> _Account[K, T]:
        """The account of a customer, as the one that came last."""
        account = self._accounts.pop(id(customer), None)
        if account is None or account.customer() is not customer:
            if account is not None:  # another, which has gone, had the same place in memory
                self._refused.extend(account.held)
            account = _Account(customer)
        self._accounts[id(customer)] = account
        self._visits += 1
        account.visit = self._visits
        return account

    def _sound_one(self, kind: K) -> T | None:
        while ready := self._ready.get(kind):
            item = ready.popleft()
            if self._is_sound(item):
                return item
            self._refused.append(item)
        return None

    def _one_too_many(self) -> T | None:
        with self._changed:
            return self._refused.popleft() if len(self._refused) > self._most else None

    def _expected(self) -> Counter[K]:
        """How many of each kind are to be ready; also finds the customers that have gone."""
        for key, account in list(self._accounts.items()):
            if account.customer() is None:
                self._refused.extend(account.held)
                del self._accounts[key]
        accounts = list(self._accounts.values())
        stale = sum(account.visit + _STALE * self._most < self._visits for account in accounts)
        kinds = [kind for account in accounts[stale:] + accounts[:stale][::-1] for kind in account.ahead]
        return Counter(kinds[: self._most])

    def _next(self) -> K | None:
        """The kind that is to be made next. What is ready and not expected any more is refused."""
        expected = self._expected()
        for kind, ready in list(self._ready.items()):
            while len(ready) > expected[kind]:
                self._refused.append(ready.popleft())
            if not ready:
                del self._ready[kind]
        for kind, number in expected.items():
            if kind not in self._failed and len(self._ready.get(kind, ())) + self._making[kind] < number:
                return kind
        return None

    def _call_a_hand(self) -> None:
        """Start a thread if there is work for one more."""
        kind = self._next()
        if (kind is None and not self._refused and self._first is None) or self._hands >= self._most_hands:
            return
        self._hands += 1
        try:
            Thread(target=self._work, name="gem-terminal pool", daemon=True).start()
        except RuntimeError:  # the interpreter is ending; whoever closes the pool does it all
            self._hands -= 1

    def _work(self) -> None:
        while True:
            with self._changed:
                first, self._first = self._first, None
            if first is not None:
                with suppress(Exception):  # what is wrong with the engine is said where something is wanted of it
                    first()
            with self._changed:
                kind = self._next()
                refused = self._refused.popleft() if self._refused else None
                if refused is None and kind is None:
                    self._hands -= 1
                    self._changed.notify_all()
                    return
                if refused is None and kind is not None:
                    self._making[kind] += 1
                self._call_a_hand()
            if refused is not None:
                self._let_go(refused)
            elif kind is not None:
                self._make_ahead(kind)

    def _make_ahead(self, kind: K) -> None:
        made: list[T] = []
        try:
            made.append(self._make(kind))
        except BaseException:  # whoever takes one of this kind makes it, and then learns why it fails
            self._failed.add(kind)
        finally:
            with self._changed:
                self._making -= Counter((kind,))
                self._ready.setdefault(kind, deque()).extend(made)

    def _let_go(self, item: T) -> None:
        with suppress(Exception):  # its reaper looks again; nobody here could do more
            self._discard(item)

    def _settle(self) -> None:
        """Help until nothing is left, or customers have come, or the time is up."""
        deadline = time.monotonic() + _LAST_WAIT
        while True:
            with self._changed:
                self._next()
                while not self._refused and not self._accounts and (self._hands or (self._closed and self._taking)):
                    if not self._changed.wait(deadline - time.monotonic()):
                        return
                if self._accounts:
                    return
                if not self._refused:
                    if not self._taking:
                        self._rest()
                    return
                item = self._refused.popleft()
            self._let_go(item)
