"""A pool of items that are slow to make: made ahead and discarded in the background. :class:`WarmPool`."""

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

__all__ = ["WarmPool"]

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

_STALE = 4
"""A client is stale when the other clients have come this many times the pool's size since its last visit."""

_LAST_WAIT = 10.0
"""Seconds that the last client, and ``close``, wait for items in the making."""


class _Account(Generic[K, T]):
    """The items that a client holds, and the kinds that it will take next."""

    def __init__(self, client: object) -> None:
        self.client = weakref.ref(client)
        self.held: list[T] = []
        self.ahead: tuple[K, ...] = ()
        self.visit = 0


class WarmPool(Generic[K, T]):
    """Hands out fresh items of several kinds, and keeps ready the items that its clients will take next.

    The pool hands out each item once and never takes it back. A client that finds no item ready makes one in its own
    thread, without waiting, and gets the error if that fails. If an item cannot be made ahead, the next client that
    takes this kind makes it; after a success the pool makes this kind ahead again.

    Background workers discard items first, then make new ones, and end when there is nothing to do. They discard the
    items that no client expects any more, and those of clients that were garbage-collected.

    If the clients expect more items than the pool may hold, the clients that came first are served first, because
    they return first. Stale clients are served last.

    Args:
        make: makes an item of a kind. Several threads call it at once.
        discard: discards an item; the pool ignores its errors.
        is_sound: returns at once whether a waiting item is still usable; the pool discards unusable items.
        most: the number of items made ahead, over all kinds. When more items than this wait to be discarded, clients
            help to discard them.
        workers: threads in the background.
        on_start: called once, in the background, before any other work.
        on_idle: called when neither clients nor items are left.
    """

    def __init__(
        self,
        make: Callable[[K], T],
        discard: Callable[[T], None],
        is_sound: Callable[[T], bool] = lambda _: True,
        *,
        most: int = 32,
        workers: int = 4,
        on_start: Callable[[], object] = lambda: None,
        on_idle: Callable[[], None] = lambda: None,
    ) -> None:
        self._make = make
        self._discard = discard
        self._is_sound = is_sound
        self._most = most
        self._most_workers = workers
        self._on_start: Callable[[], object] | None = on_start
        self._on_idle = on_idle
        self._changed = Condition()
        self._accounts: dict[int, _Account[K, T]] = {}  # in the order in which they came last
        self._visits = 0
        self._ready: dict[K, deque[T]] = {}
        self._making: Counter[K] = Counter()  # in the background
        self._taking = 0  # made by clients at this moment
        self._failed: set[K] = set()
        self._discarded: deque[T] = deque()
        self._workers = 0
        self._closed = False

    def take(self, client: object, kind: K, ahead: Sequence[K] = ()) -> T:
        """Return a fresh item, which the client holds until it releases it.

        Args:
            client: the caller. The pool knows it by identity, through a weak reference.
            kind: the kind of the item.
            ahead: the kinds that this client will take next, in place of those that it named before.

        Raises:
            EngineError: if the pool is closed.
            Exception: any error of ``make``.
        """
        with self._changed:
            self._check_open()
            account = self._account(client)
            item = self._sound_one(kind)
            if item is not None:
                account.held.append(item)
                account.ahead = tuple(ahead)
                self._start_worker()
                return item
            if not self._making[kind]:  # or else the item in the making would be discarded before its time
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
                    self._discarded.extend(made)
                elif made:
                    self._accounts.setdefault(id(client), account)  # it may have left meanwhile
                    account.held += made
                    account.ahead = tuple(ahead)
                    self._failed.discard(kind)
                self._start_worker()
                self._changed.notify_all()

    def release(self, client: object) -> None:
        """Discard the items of the client, in the background."""
        with self._changed:
            account = self._accounts.get(id(client))
            if account is not None:
                self._discarded.extend(account.held)
                account.held.clear()
            self._start_worker()
        while (item := self._one_too_many()) is not None:
            self._let_go(item)

    def leave(self, client: object) -> None:
        """Discard the items of the client and those made ahead for it. The last client waits until no item is left."""
        self.release(client)
        with self._changed:
            self._accounts.pop(id(client), None)
            self._start_worker()
            is_last = not self._accounts
        if is_last:
            self._drain()

    def close(self) -> None:
        """Discard all items, including those that clients hold, and make no more. A second call does nothing."""
        with self._changed:
            self._closed = True
            for account in self._accounts.values():
                self._discarded.extend(account.held)
            self._accounts.clear()
            self._start_worker()
        self._drain()

    def forget(self, let_go: Callable[[T], None]) -> None:
        """Drop all items without discarding them: a forked child only has copies of its parent's items.

        The pool is unusable afterwards. The method takes no lock, because the thread that holds it may not exist in
        the child.
        """
        for item in chain(self._discarded, *self._ready.values(), *(each.held for each in self._accounts.values())):
            let_go(item)

    def _check_open(self) -> None:
        if self._closed:
            raise EngineError("no episode can begin because this process is ending")

    def _account(self, client: object) -> _Account[K, T]:
        """Return the account of a client and note its visit."""
        account = self._accounts.pop(id(client), None)
        if account is None or account.client() is not client:
            if account is not None:  # an earlier client with the same id() is gone
                self._discarded.extend(account.held)
            account = _Account(client)
        self._accounts[id(client)] = account
        self._visits += 1
        account.visit = self._visits
        return account

    def _sound_one(self, kind: K) -> T | None:
        while ready := self._ready.get(kind):
            item = ready.popleft()
            if self._is_sound(item):
                return item
            self._discarded.append(item)
        return None

    def _one_too_many(self) -> T | None:
        with self._changed:
            return self._discarded.popleft() if len(self._discarded) > self._most else None

    def _expected(self) -> Counter[K]:
        """Return the number of items that should be ready, by kind. Drops the clients that are gone."""
        for key, account in list(self._accounts.items()):
            if account.client() is None:
                self._discarded.extend(account.held)
                del self._accounts[key]
        accounts = list(self._accounts.values())
        stale = sum(account.visit + _STALE * self._most < self._visits for account in accounts)
        kinds = [kind for account in accounts[stale:] + accounts[:stale][::-1] for kind in account.ahead]
        return Counter(kinds[: self._most])

    def _next(self) -> K | None:
        """Return the kind to make next. Queues the ready items that no client expects for discarding."""
        expected = self._expected()
        for kind, ready in list(self._ready.items()):
            while len(ready) > expected[kind]:
                self._discarded.append(ready.popleft())
            if not ready:
                del self._ready[kind]
        for kind, number in expected.items():
            if kind not in self._failed and len(self._ready.get(kind, ())) + self._making[kind] < number:
                return kind
        return None

    def _start_worker(self) -> None:
        """Start a background worker if there is work for another one."""
        kind = self._next()
        if (kind is None and not self._discarded and self._on_start is None) or self._workers >= self._most_workers:
            return
        self._workers += 1
        try:
            Thread(target=self._work, name="gem-terminal pool", daemon=True).start()
        except RuntimeError:  # the interpreter is ending; close() does the work
            self._workers -= 1

    def _work(self) -> None:
        while True:
            with self._changed:
                on_start, self._on_start = self._on_start, None
            if on_start is not None:
                with suppress(Exception):  # a broken engine is reported by the call that needs it
                    on_start()
            with self._changed:
                kind = self._next()
                discarded = self._discarded.popleft() if self._discarded else None
                if discarded is None and kind is None:
                    self._workers -= 1
                    self._changed.notify_all()
                    return
                if discarded is None and kind is not None:
                    self._making[kind] += 1
                self._start_worker()
            if discarded is not None:
                self._let_go(discarded)
            elif kind is not None:
                self._make_ahead(kind)

    def _make_ahead(self, kind: K) -> None:
        made: list[T] = []
        try:
            made.append(self._make(kind))
        except BaseException:  # the next client that takes this kind makes the item and gets the error
            self._failed.add(kind)
        finally:
            with self._changed:
                self._making -= Counter((kind,))
                self._ready.setdefault(kind, deque()).extend(made)

    def _let_go(self, item: T) -> None:
        with suppress(Exception):  # the reaper tries again
            self._discard(item)

    def _drain(self) -> None:
        """Discard items until none is left, a client comes, or the time is up."""
        deadline = time.monotonic() + _LAST_WAIT
        while True:
            with self._changed:
                self._next()
                while not self._discarded and not self._accounts and (self._workers or (self._closed and self._taking)):
                    if not self._changed.wait(deadline - time.monotonic()):
                        return
                if self._accounts:
                    return
                if not self._discarded:
                    if not self._taking:
                        self._on_idle()
                    return
                item = self._discarded.popleft()
            self._let_go(item)
