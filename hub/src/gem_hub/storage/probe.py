"""Whether a bucket's service keeps the conditions of writes, on which every guarantee of a hub in a bucket rests."""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from gem_hub.storage.bucket import HubBucket
from gem_hub.storage.files import PRIVATE
from gem_hub_client.errors import HubError

__all__ = ["probe"]

_FOLDER = f"{PRIVATE}/probe"
_RACERS = 8


def probe(files: HubBucket) -> None:
    """Write a few small objects, and remove them.

    An object is created twice, then by several requests at once, and replaced under a condition that does not hold.

    Raises:
        HubError: if the service accepts more than it may, or does not answer.
    """
    name = secrets.token_hex(8)
    path, raced = f"{_FOLDER}/{name}", f"{_FOLDER}/{name}-raced"
    try:
        first = files.put(path, b"first")
        if first is None or files.put(path, b"second") is not None or files.read(path) != b"first":
            raise _refused(files, "creates an object that exists already (it ignores If-None-Match)")
        second = files.put(path, b"third", first)
        if second is None or second == first or files.read(path) != b"third":
            raise _refused(files, "does not replace an object under the condition of its ETag (If-Match)")
        if files.put(path, b"fourth", first) is not None or files.read(path) != b"third":
            raise _refused(files, "replaces an object whose ETag is another one (it ignores If-Match)")
        with ThreadPoolExecutor(_RACERS) as pool:
            created = list(pool.map(lambda number: files.put(raced, b"%d" % number), range(_RACERS)))
        if sum(etag is not None for etag in created) > 1:
            raise _refused(files, "lets several requests at once create the same object")
    finally:
        with suppress(HubError):
            files.remove(path)
            files.remove(raced)


def _refused(files: HubBucket, what: str) -> HubError:
    return HubError(
        f"{files.address}: cannot hold a hub, because its service {what}, so that two publishers could overwrite each "
        "other; use a service with conditional writes"
    )
