"""The lock of a hub in a bucket: one object that names its holder, changed only under the condition of its ETag.

A holder renews the object all the time. Another process takes the lock over once it has itself seen the object
unchanged for the length of a lease, so no two clocks are compared. What the holder decides on (the next record or
event, as a whole) stands in the same object: deciding and holding are one conditional write. A process that stalled
and lost the lock therefore decides nothing, and what it decided before is completed by the next holder.

Derived files lie in other objects. A holder reads such an object, asks whether it still holds the lock, and writes
under the condition that the object is what was read. So a stalled write changes an object only if later holders have
brought it back to the very content from before; ``gem hub rebuild`` repairs that.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Protocol

from gem_hub.canonical import compact_json
from gem_hub.storage.files import PRIVATE
from gem_hub.storage.locks import PATIENCE, HeldLock, refused_by_lock
from gem_hub_client.errors import HubError

__all__ = ["LEASE", "BucketLock", "ConditionalFiles", "LostLockError", "Version", "elapsed_seconds"]

Version = tuple[bytes, str]
"""The content of an object and its ETag."""

LEASE = f"{PRIVATE}/lock.json"
"""The path of the object."""

_FREE: dict[str, Any] = {"epoch": 0, "holder": "", "seconds": 0.0, "intent": None}
_LONGEST_PAUSE = 0.5


class ConditionalFiles(Protocol):
    """What the lock needs of a bucket; see :class:`gem_hub.storage.bucket.HubBucket`."""

    @property
    def address(self) -> str: ...

    def read_version(self, path: str) -> Version | None: ...

    def put(self, path: str, content: bytes, etag: str | None = None) -> str | None: ...

    def fenced(self, check: Callable[[], None]) -> AbstractContextManager[None]: ...


class LostLockError(HubError):
    """The lock was lost: another process changes the hub now."""


def elapsed_seconds() -> float:
    """Return a time in seconds that also goes on while the machine sleeps."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)  # Linux; its monotonic clock stands still in a sleep
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class BucketLock:
    """A lease in a bucket.

    Args:
        files: the bucket.
        seconds: the length of a lease.
        clock: the time in seconds, from any moment on.
    """

    outlives_holders = True

    def __init__(self, files: ConditionalFiles, seconds: float, clock: Callable[[], float] = elapsed_seconds) -> None:
        self._files = files
        self._seconds = seconds
        self._clock = clock

    @contextmanager
    def held(self) -> Iterator[HeldLock]:
        lease = self._acquired()
        renewed = threading.Event()
        renewal = threading.Thread(target=lease.keep, args=(renewed,), name="gem-hub-lease", daemon=True)
        renewal.start()
        try:
            with self._files.fenced(lease.check):
                yield lease
        finally:
            renewed.set()
            renewal.join()
            lease.release()

    def _acquired(self) -> _Lease:
        began = self._clock()
        seen, since = "", began
        pause = 0.01
        while True:
            asked = self._clock()
            found = self._files.read_version(LEASE)
            state = _FREE if found is None else _parsed(found, self._files.address)
            etag = None if found is None else found[1]
            if etag is not None and etag != seen:
                seen, since = etag, asked
            is_over = bool(state["holder"]) and self._clock() - since > state["seconds"]
            if not state["holder"] or is_over:
                lease = _Lease(self._files, state["epoch"] + 1, state["intent"], self._seconds, self._clock)
                if lease.take(etag):
                    return lease
            if self._clock() - began > PATIENCE:
                raise refused_by_lock(self._files.address)
            time.sleep(pause * random.uniform(0.5, 1))  # spreads requests, protects nothing
            pause = min(2 * pause, _LONGEST_PAUSE)


class _Lease:
    """The lease of this thread; see :class:`gem_hub.storage.HeldLock`."""

    def __init__(
        self, files: ConditionalFiles, epoch: int, intent: str | None, seconds: float, clock: Callable[[], float]
    ) -> None:
        self._files = files
        self._state: dict[str, Any] = {
            "epoch": epoch,
            "beat": 0,
            "holder": f"{socket.gethostname()} {os.getpid()} {secrets.token_hex(8)}",
            "seconds": seconds,
            "intent": intent,
        }
        self._seconds = seconds
        self._clock = clock
        self._etag: str | None = None
        self._valid_until = 0.0
        self._lost = False
        self._mutex = threading.Lock()

    @property
    def intent(self) -> bytes | None:
        text = self._state["intent"]
        return None if text is None else str(text).encode()

    def take(self, etag: str | None) -> bool:
        """Take the lock in the place of a state with this ETag; return whether that was possible."""
        self._etag = etag
        try:
            self._write()
        except LostLockError:
            return False
        return True

    def check(self) -> None:
        """Ask the service whether the lease still holds.

        Raises:
            LostLockError: if it does not.
        """
        found = self._files.read_version(LEASE)
        if found is None or _parsed(found, self._files.address)["holder"] != self._state["holder"]:
            self._lost = True
        self._check_clock()

    def _check_clock(self) -> None:
        if self._lost or self._clock() > self._valid_until:
            self._lost = True
            raise self._loss()

    def decide(self, intent: bytes) -> None:
        with self._mutex:
            self._check_clock()
            self._state["intent"] = intent.decode()
            self._write()

    def complete(self) -> None:
        self._state["intent"] = None  # on its way with the next write, at the latest with the release

    def keep(self, is_over: threading.Event) -> None:
        """Renew the lease until it is over or lost."""
        while not is_over.wait(self._seconds / 4):
            with suppress(HubError), self._mutex:
                if self._lost:
                    return
                self._write()

    def release(self) -> None:
        """Free the lock; what was decided and not completed stays for the next holder."""
        with suppress(HubError), self._mutex:
            if not self._lost:
                self._state["holder"] = ""
                self._write()

    def _write(self) -> None:
        """Write the state in the place of the last one.

        Raises:
            LostLockError: if another process has taken the lock.
        """
        asked = self._clock()
        self._state["beat"] += 1
        content = compact_json(self._state)
        etag = self._files.put(LEASE, content, self._etag)
        if etag is None:  # also when this very write got through and only its answer was lost
            found = self._files.read_version(LEASE)
            if found is None or found[0] != content:
                self._lost = True
                raise self._loss()
            etag = found[1]
        self._etag = etag
        self._valid_until = asked + 2 / 3 * self._seconds

    def _loss(self) -> LostLockError:
        return LostLockError(
            f"{self._files.address}: this process stalled for over {2 / 3 * self._seconds:.0f} seconds, and another "
            "one may be changing the hub now; run the command again"
        )


def _parsed(found: Version, address: str) -> dict[str, Any]:
    try:
        state: dict[str, Any] = json.loads(found[0])
        if not isinstance(state["holder"], str) or type(state["epoch"]) is not int:
            raise ValueError("its fields have other types")
        return {**state, "seconds": float(state["seconds"]), "intent": state["intent"]}
    except (ValueError, KeyError, TypeError) as error:
        raise HubError(f"{address}/{LEASE}: is damaged ({error!r}); remove it and run: gem hub rebuild") from error
