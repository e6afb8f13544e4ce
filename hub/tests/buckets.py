"""Buckets for the tests of the registry.

The bucket of memory is the one of the library ``object_store``, which others wrote: it keeps conditional writes, but
speaks no HTTP. At night the same tests meet S3 servers of others; see ``s3_servers.py``.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from gem_hub.storage import HubFiles
from gem_hub.storage.bucket import HubBucket
from gem_hub.storage.lease import LEASE


def memory_store() -> Any:
    """Return an empty store of memory."""
    store = pytest.importorskip("obstore.store", reason="NOT TESTED: obstore is not installed; gem-hub[s3] brings it")

    return store.MemoryStore()


def memory_bucket(store: Any = None) -> HubBucket:
    """Return a bucket of memory, or one in a given store."""
    return HubBucket(memory_store() if store is None else store, "memory://bucket")


def expire(files: HubBucket) -> None:
    """Make the lock of a process that died free at once; without this, the others wait for the end of its lease."""
    found = files.read_version(LEASE)
    if found is not None:
        files.put(LEASE, json.dumps({**json.loads(found[0]), "seconds": 0}).encode(), found[1])


class WatchedStore:
    """A store that calls a function before each request of another one."""

    def __init__(self, store: Any, watch: Callable[[str, str], None]) -> None:
        self._store = store
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        original = getattr(self._store, name)

        def call(path: str, *args: Any, **kwargs: Any) -> Any:
            self._watch(name, path)
            return original(path, *args, **kwargs)

        return call


class CountedRequests:
    """Counts the requests of a bucket by kind and path."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self._mutex = threading.Lock()

    def __call__(self, name: str, path: str) -> None:
        with self._mutex:
            self.counts[name, path] += 1

    def total(self) -> int:
        """Return how many there were."""
        return sum(self.counts.values())


class KilledError(BaseException):
    """The process was killed: nothing in it runs any more."""


class FatalRequest:
    """Kills the process, as far as the bucket can see, before its nth request that writes."""

    def __init__(self, number: int) -> None:
        self._left = number
        self._mutex = threading.Lock()
        self.killed = False

    def __call__(self, name: str, path: str) -> None:
        with self._mutex:
            if name in ("put", "copy", "delete"):
                self._left -= 1
            self.killed |= self._left == 0
            if self.killed:
                raise KilledError


def copied(files: HubFiles, target: HubBucket) -> HubBucket:
    """Copy everything in a hub into an empty bucket, and return that."""
    for path in files.files(""):
        target.create(path, files.read(path) or b"")
    return target
