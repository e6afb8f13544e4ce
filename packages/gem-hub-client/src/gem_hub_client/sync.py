"""Updates a client's catalogue from a hub.

One request where nothing has changed (``304``). Otherwise the files that are missing are loaded into the cache folder,
and each is checked against its size and sha256 in ``root.json`` before a byte of it is used; then they are applied in
one transaction, or, for a snapshot, to a new database that takes the old one's place when it is complete. Whatever goes
wrong, and wherever a process is killed, the catalogue is as it was before or as it is after.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from gem_hub_client.catalogue import Catalogue
from gem_hub_client.catalogue_reader import read_lines
from gem_hub_client.config import Hub
from gem_hub_client.errors import HubError
from gem_hub_client.locking import exclusive
from gem_hub_client.names import ROOT_PATH
from gem_hub_client.private_folder import is_private, make_private
from gem_hub_client.root import ROOT_LIMIT, File, Root, parse_root
from gem_hub_client.seen_digests import forget_digests
from gem_hub_client.state import DATABASE_PREFIX, State, utc
from gem_hub_client.transport import TIMEOUT, HubSource, Validators
from gem_hub_client.trust.access import forget_history, is_pinned, trusted_hub
from gem_hub_client.trust.refresh import TrustedHub, read_target

__all__ = ["CacheError", "Progress", "SyncBusyError", "SyncResult", "expired", "load_into_memory", "silent", "update"]

_MOST_AT_ONCE = 1_000_000
"""Changes between two updates of a client."""
_CLOCKS_DIFFER = 3600.0

LOCK_WAIT = 600.0
"""The time limit in seconds for waiting on another process that loads the same catalogue."""

Progress = Callable[[str, int, int], None]
"""Receives the kind of work (``"loading"``, ``"indexing"``), the amount done, and the total amount."""


@dataclass(frozen=True)
class SyncResult:
    """The result of an update."""

    serial: int
    changed: int
    """The number of applied lines."""
    transferred: int
    """The bytes of the loaded files, including ``root.json``."""
    packages: int
    """Packages in the catalogue now."""


class SyncBusyError(HubError):
    """Another process is updating the same catalogue."""


class CacheError(HubError):
    """The cache folder cannot be used; the hub may be sound."""


def silent(what: str, done: int, total: int) -> None:
    """Report no progress."""


def update(
    hub: Hub, progress: Progress = silent, *, timeout: float = TIMEOUT, wait: float = LOCK_WAIT, reset: bool = False
) -> SyncResult:
    """Bring the catalogue of a hub up to date.

    Args:
        hub: which one.
        progress: receives reports on long work.
        timeout: seconds that the server may be silent before it answers.
        wait: seconds to wait for another process that does the same; what that one has done is not done again.
        reset: forget everything that is known of the hub first, also how new it has been; its keys stay trusted.

    Raises:
        HubError: if the hub cannot be reached or a file of it is not what it must be. The catalogue is then as it
            was, and the message is remembered in the hub's :class:`State`.
    """
    began = time.time()
    folder = hub.cache
    try:
        known = is_private(folder)
        make_private(folder)
        with _locked(folder, wait), ExitStack() as opened_files:
            state = State.read(folder) if known and not reset else State()
            if reset:
                forget_digests(hub)
                forget_history(hub)
            catalogue = state.opened(folder)
            if catalogue is not None:
                opened_files.callback(catalogue.close)
                if state.checked >= began and not state.problem:
                    return SyncResult(state.serial, 0, 0, len(catalogue))
            _sweep(folder, state.database)
            try:
                state, outcome = _updated(hub, folder, state, catalogue, progress, timeout)
            except HubError as error:
                replace(state, tried=time.time(), problem=str(error)).write(folder)
                raise
            state.write(folder)
            _sweep(folder, state.database)
    except OSError as error:
        reason = error.strerror or error
        raise CacheError(f"{folder}: cannot be written: {reason}; set XDG_CACHE_HOME to another folder") from error
    except sqlite3.Error as error:
        raise CacheError(f"{folder}: the catalogue of {hub.name} cannot be written: {error}") from error
    return outcome


def load_into_memory(hub: Hub) -> tuple[Catalogue, State]:
    """Return a hub's catalogue in memory, for a machine without a writable disk.

    Raises:
        HubError: as for :func:`update`.
    """
    from io import BytesIO

    source = hub.source
    now = time.time()
    trusted = trusted_hub(hub, source, now, remember=False)
    if trusted is None:
        content = source.read(ROOT_PATH, ROOT_LIMIT).content
        assert content is not None  # nothing was said to be known
        root = parse_root(content, _name_of(hub, ROOT_PATH))
    else:
        root = replace(_signed_root(hub, source, trusted)[1], expires=trusted.expires)
    catalogue = Catalogue.create(None)
    for file in root.files_after(-1):
        buffer = BytesIO()
        _load(hub, source, file, buffer, lambda length: None)
        catalogue.apply(read_lines(buffer, file.size, _name_of(hub, file.path)), file.to)
    state = State(serial=root.serial, created=root.created, issued=root.issued, expires=root.expires)
    return catalogue, replace(state, checked=now, tried=now)


def _updated(
    hub: Hub, folder: Path, state: State, catalogue: Catalogue | None, progress: Progress, timeout: float
) -> tuple[State, SyncResult]:
    source = hub.source
    now = time.time()
    reply = None
    if not is_pinned(hub):
        known = None if catalogue is None else Validators(state.etag, state.modified)
        reply = source.read(ROOT_PATH, ROOT_LIMIT, known, timeout)
        if reply.content is None:
            assert catalogue is not None  # or nothing would have been said to be known
            if state.expired:
                raise HubError(expired(hub, state.expires))
            return _unchanged(state, catalogue, now)
    trusted = trusted_hub(hub, source, now, timeout)
    if trusted is not None:
        problem = expired(hub, trusted.expires) if trusted.expired else ""
        if problem and catalogue is not None:
            raise HubError(problem)
        digest = trusted.promised(ROOT_PATH).sha256
        signed = State(
            signed=trusted.pin.timestamp, digest=digest, restarts=trusted.root.restarts, expires=trusted.expires
        )
        if catalogue is not None and (digest, signed.restarts) == (state.digest, state.restarts):
            return _unchanged(replace(state, signed=signed.signed, expires=signed.expires), catalogue, now)
        text, root = _signed_root(hub, source, trusted)
        if not state.digest or signed.restarts != state.restarts:
            catalogue = None  # what was applied was not signed, or may be of a stolen key
        fresh = replace(signed, issued=root.issued)
    else:
        assert reply is not None  # a pinned hub is trusted or refused
        assert reply.content is not None  # see above
        text = reply.content.decode("utf-8", "replace")
        root = parse_root(reply.content, _name_of(hub, ROOT_PATH))
        problem = _check_time(hub, state, root, now)
        if problem and catalogue is not None:
            raise HubError(problem)
        if _is_too_new(hub, state, root, -1 if catalogue is None else catalogue.serial):
            catalogue = None
        etag, modified = reply.validators
        fresh = State(issued=root.issued, expires=root.expires, etag=etag, modified=modified)
    files = root.files_after(-1 if catalogue is None or _rewritten(state, root) else catalogue.serial)
    database = state.database if catalogue is not None else ""
    database, changed, packages = _apply(hub, source, folder, database, catalogue, files, root, progress)
    transferred = len(text.encode()) + sum(file.size for file in files)
    state = replace(
        fresh,
        root=text,
        serial=root.serial,
        created=root.created,
        problem=problem,
        database=database,
        checked=now,
        tried=now,
    )
    return state, SyncResult(root.serial, changed, transferred, packages)


def _unchanged(state: State, catalogue: Catalogue, now: float) -> tuple[State, SyncResult]:
    return replace(state, checked=now, tried=now, problem=""), SyncResult(state.serial, 0, 0, len(catalogue))


def _signed_root(hub: Hub, source: HubSource, trusted: TrustedHub) -> tuple[str, Root]:
    """Return the ``root.json`` that was signed, as text and read."""
    content = read_target(hub, source, trusted, ROOT_PATH, ROOT_LIMIT)
    return content.decode("utf-8", "replace"), parse_root(content, _name_of(hub, ROOT_PATH))


def _is_too_new(hub: Hub, state: State, root: Root, applied: int) -> bool:
    """Tell whether what was applied before is too new, because a newer root of an unsigned hub has a lower serial.

    Raises:
        HubError: if the serial shows that the root is an old one, or that it was made up.
    """
    # A process that was killed may have applied what it had no time to note.
    seen = max(state.serial, applied)
    if root.serial < seen and state.issued and root.issued > state.issued:
        return True  # not an older one that somebody kept
    if root.serial > seen + _MOST_AT_ONCE and seen >= 0:
        raise HubError(
            f"{_name_of(hub, ROOT_PATH)}: is {root.serial - seen:,} changes ahead of what was seen before, which "
            "no hub is; it was not used. If the hub was really made anew, run: gem hub update --reset"
        )
    if root.serial < seen:
        raise HubError(
            f"{_name_of(hub, ROOT_PATH)}: is older (serial {root.serial}) than the one seen before (serial "
            f"{seen}), so changes such as yanks would be undone; if the hub was really set back, run: "
            "gem hub update --reset"
        )
    return False


def _check_time(hub: Hub, state: State, root: Root, now: float) -> str:
    """Return the problem of a root that has expired, which may still be searched.

    Raises:
        HubError: if its times show that it was kept back or forged.
    """
    name = _name_of(hub, ROOT_PATH)
    if state.expires and not root.expires:
        raise HubError(
            f"{name}: no longer says until when it is valid, as it did before, so an old one could be kept for ever; "
            "it was not used. If its operator gave that up, run: gem hub update --reset"
        )
    if root.issued > utc(now + _CLOCKS_DIFFER):
        raise HubError(f"{name}: was issued in the future ({root.issued}); is the clock of this machine right?")
    if state.issued and root.issued < state.issued:
        raise HubError(
            f"{name}: is older (issued {root.issued}) than the one seen before (issued {state.issued}), so changes "
            "such as yanks would be undone; if the hub was really set back, run: gem hub update --reset"
        )
    return expired(hub, root.expires) if root.expires and root.expires < utc(now) else ""


def expired(hub: Hub, expires: str) -> str:
    """Return the refusal of a hub that was valid until a time (UTC)."""
    return (
        f"{_name_of(hub, ROOT_PATH)}: was valid until {expires}, so that changes such as yanks may be missing; it can "
        "be searched, and nothing is installed from it"
    )


def _apply(
    hub: Hub,
    source: HubSource,
    folder: Path,
    database: str,
    catalogue: Catalogue | None,
    files: tuple[File, ...],
    root: Root,
    progress: Progress,
) -> tuple[str, int, int]:
    """Load, check and apply files; return the database's name and how many lines and packages."""
    with ExitStack() as parts:
        loaded = _load_all(hub, source, folder, files, parts, progress)
        total = sum(file.size for file in files)
        lines = chain.from_iterable(
            _reporting(part, read_lines(part, file.size, _name_of(hub, file.path)), done, total, progress)
            for part, file, done in loaded
        )
        if catalogue is not None and (not files or files[0].after >= 0):
            return database, catalogue.apply(lines, root.serial) if files else 0, len(catalogue)
        target = folder / f"{DATABASE_PREFIX}{root.serial}-{os.urandom(6).hex()}.sqlite"
        try:
            with Catalogue.create(target) as fresh:
                changed, packages = fresh.apply(lines, root.serial), len(fresh)
            with target.open("rb+") as file:
                os.fsync(file.fileno())
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        return target.name, changed, packages


def _load_all(
    hub: Hub, source: HubSource, folder: Path, files: tuple[File, ...], parts: ExitStack, progress: Progress
) -> list[tuple[BinaryIO, File, int]]:
    """Return each file, loaded and checked, with the compressed bytes before it. ``parts`` closes and removes them."""
    total, done = sum(file.size for file in files), 0

    def report(length: int) -> None:
        nonlocal done
        done += length
        progress("loading", done, total)

    loaded: list[tuple[BinaryIO, File, int]] = []
    for file in files:
        before = sum(other.size for _, other, _ in loaded)
        path = folder / f"{os.urandom(6).hex()}.part"
        parts.callback(path.unlink, missing_ok=True)
        part = parts.enter_context(path.open("xb+"))
        _load(hub, source, file, part, report)
        loaded.append((part, file, before))
    return loaded


def _load(hub: Hub, source: HubSource, file: File, target: BinaryIO, report: Callable[[int], None]) -> None:
    """Copy a file and check it; ``target`` is then at its beginning."""
    name = _name_of(hub, file.path)
    source.copy(file.path, target, file.size, report)
    size = target.tell()
    target.seek(0)
    digest = hashlib.sha256()
    while block := target.read(1 << 20):
        digest.update(block)
    target.seek(0)
    found = f"{size:,} bytes with sha256 {digest.hexdigest()}"
    if size > file.size:  # the rest was not asked for, so the digest of the whole is not known
        found = f"more than {file.size:,} bytes"
    if size != file.size or digest.hexdigest() != file.sha256:
        raise HubError(
            f"{name}: is not what {ROOT_PATH} promises: expected {file.size:,} bytes with sha256 {file.sha256}, found "
            f"{found}; nothing of it was used; try again later, and tell the hub's operator if it stays so"
        )


def _reporting(
    part: BinaryIO, lines: Iterator[dict[str, object]], before: int, total: int, progress: Progress
) -> Iterator[dict[str, object]]:
    for number, line in enumerate(lines):
        if number % 500 == 0:
            progress("indexing", before + part.tell(), total)
        yield line


def _rewritten(state: State, root: Root) -> bool:
    """Tell whether files that stood in the ``root.json`` before this one have other contents now.

    A hub does so when it is derived anew by another version of its software; what was applied then no longer counts.
    """
    try:
        before = parse_root(state.root.encode(), "")
    except HubError:
        return True
    digests = {(file.after, file.to): file.sha256 for file in (before.snapshot, *before.segments)}
    return any(digests.get((f.after, f.to), f.sha256) != f.sha256 for f in (root.snapshot, *root.segments))


@contextmanager
def _locked(folder: Path, wait: float) -> Iterator[None]:
    with ExitStack() as held:
        try:
            held.enter_context(exclusive(folder / "lock", wait))
        except TimeoutError as error:
            raise SyncBusyError(f"{folder}: another process is updating this catalogue; try again later") from error
        yield


def _sweep(folder: Path, database: str) -> None:
    """Remove the remains of killed processes and earlier catalogues."""
    for pattern in ("index-*.sqlite*", "*.part"):
        for path in folder.glob(pattern):
            if not database or not path.name.startswith(database):
                try:
                    path.unlink()
                except OSError:
                    continue  # Windows keeps what another process has open; the next update tries again


def _name_of(hub: Hub, path: str) -> str:
    return f"{hub.location}{path}" if hub.remote else str(Path(hub.location) / path)
