"""A hub in a bucket of any S3 API.

Truth is created under the condition that the object does not exist (``If-None-Match: *``), everything else is replaced
under the condition that it is still what was read (``If-Match: ETAG``). A store that ignores these conditions is
refused by :mod:`gem_hub.storage.probe`. The service makes an object visible as a whole, so nothing is unfinished.

Whoever may read the bucket without credentials must not be able to read ``.gem-hub/``, where quarantined wheels lie.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import urlsplit

from gem_hub.errors import HubRefusal
from gem_hub.storage.lease import BucketLock, Version
from gem_hub.storage.locks import LEASE_SECONDS, HubLock
from gem_hub_client.errors import HubError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

__all__ = ["HubBucket", "is_private"]

_ATTEMPTS = 8
_AT_ONCE = 16
_CONNECT_TIMEOUT, _TIMEOUT, _RETRY_TIMEOUT = "10s", "120s", 20.0


class HubBucket:
    """A bucket, or a part of one, as a hub's storage; see :class:`gem_hub.storage.HubFiles`.

    Args:
        store: the bucket, as obstore reaches it.
        address: its address, for messages.
        lease_seconds: how long other processes wait for one that died while it changed the hub.
    """

    def __init__(self, store: ObjectStore, address: str, lease_seconds: float = LEASE_SECONDS) -> None:
        self._store = store
        self._address = address
        self._lease_seconds = lease_seconds
        self._fence = threading.local()

    @classmethod
    def open(cls, address: str, lease_seconds: float = LEASE_SECONDS) -> HubBucket:
        """Return the bucket at an address, such as ``s3://bucket/folder``; no request is made.

        The usual variables of the environment name the service and the credentials: ``AWS_ENDPOINT_URL``,
        ``AWS_REGION``, ``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY`` and others of the AWS command line.

        Raises:
            HubError: if the address names no bucket, or if obstore is missing.
        """
        parts = urlsplit(address)
        if parts.scheme != "s3" or not parts.netloc or parts.query or parts.fragment:
            raise HubError(f"{address}: is no address of a bucket; it has the form s3://BUCKET/FOLDER")
        try:
            from obstore.store import S3Store
        except ImportError as error:
            raise HubError(f"{address}: a bucket needs obstore; run: pip install 'gem-hub[s3]'") from error
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
        try:
            store = S3Store(
                parts.netloc,
                prefix=parts.path.strip("/") or None,
                client_options={
                    "allow_http": endpoint.startswith("http://"),
                    "connect_timeout": _CONNECT_TIMEOUT,
                    "timeout": _TIMEOUT,
                },
                retry_config={"max_retries": 4, "retry_timeout": timedelta(seconds=_RETRY_TIMEOUT)},
            )
        except Exception as error:
            raise HubError(f"{address}: cannot be opened: {_first_line(error)}") from error
        return cls(store, address.rstrip("/"), lease_seconds)

    @property
    def address(self) -> str:
        return self._address

    def lock(self) -> HubLock:
        return BucketLock(self, self._lease_seconds)

    def owner(self) -> str | None:
        return None

    def read(self, path: str) -> bytes | None:
        found = self.read_version(path)
        return None if found is None else found[0]

    def read_version(self, path: str) -> Version | None:
        """Return the content of an object and its ETag; None if it does not exist."""
        with self._told(path):
            try:
                result = self._store.get(path)
                return bytes(result.bytes()), str(result.meta["e_tag"])
            except FileNotFoundError:
                return None

    def open_public(self, path: str) -> BinaryIO | None:
        content = None if is_private(path) else self.read(path)
        return None if content is None else BytesIO(content)

    def is_public_folder(self, path: str) -> bool:
        return not is_private(path) and bool(self.names(path))

    def read_all(self, paths: Iterable[str]) -> list[bytes | None]:
        wanted = list(paths)
        if len(wanted) < 2:
            return [self.read(path) for path in wanted]
        with ThreadPoolExecutor(min(_AT_ONCE, len(wanted))) as pool:
            return list(pool.map(self.read, wanted))

    def exists(self, path: str) -> bool:
        return self._head(path) is not None

    def size(self, path: str) -> int | None:
        found = self._head(path)
        return None if found is None else int(found["size"])

    def age(self, path: str) -> float:
        found = self._head(path)
        return 0.0 if found is None else (datetime.now(timezone.utc) - found["last_modified"]).total_seconds()

    def create(self, path: str, content: bytes) -> bool:
        return self.put(path, content) is not None

    def put(self, path: str, content: bytes, etag: str | None = None) -> str | None:
        """Write an object that must not exist, or whose ETag must be this one.

        Returns:
            The new ETag; None if the condition does not hold, and then nothing has changed. A request whose answer got
            lost is repeated, so the condition may fail because of the object that it has written itself.
        """
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        with self._told(path):
            try:
                result = self._store.put(
                    path, content, mode="create" if etag is None else {"e_tag": etag}, use_multipart=False
                )
                return str(result["e_tag"])
            except (AlreadyExistsError, PreconditionError):
                return None
            except FileNotFoundError as error:  # with a condition on its ETag, that of an object that has gone
                if etag is None:
                    raise HubError(f"{self.address}: there is no such bucket") from error
                return None

    def copy_in(self, source: Path, path: str, sha256: str, size: int) -> bool:
        if self.size(path) == size:
            return False
        content = source.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        if digest != sha256 or len(content) != size:
            raise HubRefusal(
                f"{source}: has sha256 {digest} and {len(content)} bytes, and the record says {sha256} and {size}; "
                "has it been built anew meanwhile? Publish it again"
            )
        return self.create(path, content)

    def replace(self, path: str, content: bytes) -> bool:
        for _ in range(_ATTEMPTS):
            found = self.read_version(path)
            if found is not None and found[0] == content:
                return False
            self._check_fence()  # after the read, so that a change by the next holder of the lock gives another ETag
            if self.put(path, content, None if found is None else found[1]) is not None:
                return True
        raise HubError(f"{self.address}/{path}: others change it all the time; try again")

    def replace_all(self, contents: Mapping[str, bytes]) -> None:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            found = dict(zip(contents, pool.map(self.read_version, contents), strict=True))
            changed = [path for path, content in contents.items() if (found[path] or (None,))[0] != content]
            self._check_fence()

            def put(path: str) -> bool:
                version = found[path]
                return self.put(path, contents[path], None if version is None else version[1]) is not None

            done = list(pool.map(put, changed))
        for path in (path for path, was_put in zip(changed, done, strict=True) if not was_put):
            self.replace(path, contents[path])

    def move(self, path: str, target: str) -> None:
        if not self.exists(path):
            return
        if not self.exists(target):
            self._check_fence()
            with self._told(target):
                self._store.copy(path, target)
        self.remove(path)

    def remove(self, path: str) -> None:
        self._check_fence()
        with self._told(path):
            try:
                self._store.delete(path)
            except FileNotFoundError:
                return

    def files(self, folder: str) -> Iterator[str]:
        with self._told(folder):
            batches = list(self._store.list(folder))
        yield from (str(found["path"]) for batch in batches for found in batch)

    def names(self, folder: str) -> list[str]:
        with self._told(folder):
            found = self._store.list_with_delimiter(folder)
        paths = [*found["common_prefixes"], *(item["path"] for item in found["objects"])]
        return sorted(str(path).rpartition("/")[2] for path in paths)

    def used_names(self, folder: str) -> list[str]:
        """Return the names of the folders in a folder; a bucket has no folder without a file."""
        with self._told(folder):
            found = self._store.list_with_delimiter(folder)
        return sorted(str(path).rpartition("/")[2] for path in found["common_prefixes"])

    @contextmanager
    def fenced(self, check: Callable[[], None]) -> Iterator[None]:
        """Call a function before each replacement and removal of this thread, for the duration of a ``with`` statement.

        The function raises if the thread may not change the hub any more. Creating files needs no fence: what is
        created has been decided before, or has its digest for a name.
        """
        before = getattr(self._fence, "check", None)
        self._fence.check = check
        try:
            yield
        finally:
            self._fence.check = before

    def _check_fence(self) -> None:
        check = getattr(self._fence, "check", None)
        if check is not None:
            check()

    def _head(self, path: str) -> Any:
        with self._told(path):
            try:
                return self._store.head(path)
            except FileNotFoundError:
                return None

    @contextmanager
    def _told(self, path: str) -> Iterator[None]:
        """Say which object is concerned when the service refuses a request or does not answer."""
        from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

        try:
            yield
        except (PermissionDeniedError, UnauthenticatedError) as error:
            raise HubError(
                f"{self.address}/{path}: the service refuses the access; check the bucket's policy and the credentials "
                f"in the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY): {_first_line(error)}"
            ) from error
        except BaseError as error:
            raise HubError(
                f"{self.address}/{path}: the service does not answer as it should: {_first_line(error)}. Run the "
                "command again; what was begun is completed then"
            ) from error


def is_private(path: str) -> bool:
    """Return whether a path lies in a folder, or has a name, that begins with a dot."""
    return any(part.startswith(".") for part in path.split("/"))


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return lines[0][:300] if lines else type(error).__name__
