"""A hub: all writes go through :class:`Store`.

A change is a record or event with the next serial, under one lock for the whole hub. In this order::

    wheel and metadata        named by their digest; no page names them yet
    the intent                the record or event, kept beside the lock; the change is decided
    the record or event
    pages of the package, files of the catalogue, root.json
    the signatures of a hub that has keys
    the intent is removed

The next process that takes the lock and finds an intent completes that change first. So each change costs as much as
deriving its own package, however many packages there are, and the remains of a kill are completed or swept. Only the
holder of the lock can write the intent: a process that stalled and lost the lock decides nothing any more.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from gem.arguments import nearest
from gem_hub.admission import check_event, check_release
from gem_hub.canonical import compact_json
from gem_hub.catalogue import claims, line, next_feed, read_feed
from gem_hub.derive import issued_root, list_pages, package_pages, root_bytes
from gem_hub.errors import HubRefusal
from gem_hub.events import Conformance, Event, Lift, Quarantine, Result
from gem_hub.package import WheelPackage
from gem_hub.policy import HubPolicy
from gem_hub.rebuild import REBUILDING, place_files, rebuild, unobserved
from gem_hub.records import Release, Strict, file_path
from gem_hub.results.admission import check_result
from gem_hub.results.state import episodes_path, results_of
from gem_hub.simple_pages import LISTS, extended_lists
from gem_hub.statements import signed_statement
from gem_hub.storage import HeldLock, HubFiles, HubFolder, HubLock, files_of
from gem_hub.taken_names import TakenNames
from gem_hub.truth import Truth
from gem_hub_client.errors import HubError

__all__ = ["Store", "StoreResult"]

Change = TypeVar("Change", bound=Strict)

SIGNED = "trust"
"""The folder of a hub's signed metadata; a hub without it is not signed."""
_REBUILDING = compact_json({"path": REBUILDING})


class StoreResult(str, Enum):
    """The result of publishing."""

    PUBLISHED = "published"
    ALREADY_PUBLISHED = "already published"


class Store:
    """A hub in a folder or a bucket.

    Any number of threads and processes may use one hub at once. The remains of a process that was killed at any moment
    are invisible to readers, are completed by the next change of the same hub, and are swept once they are old.

    Args:
        hub: its folder, which the first change creates if necessary, or its files.
        lock: the lock for its changes. Default: the one that its storage has.
    """

    def __init__(self, hub: Path | HubFiles, lock: HubLock | None = None) -> None:
        self.files = files_of(hub)
        self.truth = Truth(self.files)
        self._lock = lock if lock is not None else self.files.lock()
        self._taken = TakenNames()
        self._taken_serial = 0
        self._taken_lock = Lock()

    def publish(self, release: Release, wheel: Path | None, metadata: bytes) -> StoreResult:
        """Add a release in mode ``host`` or ``link``.

        Args:
            release: its record; the store gives the serial. In mode ``host`` its url is ``host_url(sha256, filename)``.
            wheel: the file, needed in mode ``host``; the store checks its copy against the record.
            metadata: the bytes of the wheel's ``METADATA``.

        Returns:
            PUBLISHED, or ALREADY_PUBLISHED if exactly these bytes are there.

        Raises:
            HubRefusal: if other bytes are there for this version, if the publisher is none of the owners, if another
                package has one of the environment ids, if the package is quarantined, or if file or metadata are not
                what the record says.
            HubError: if the hub is damaged.
        """
        if release.mode == "source":
            raise HubRefusal(f"{release.name} {release.version}: mode 'source' has no file to publish")
        if hashlib.sha256(metadata).hexdigest() != release.metadata_sha256:
            raise HubRefusal(f"{release.filename}: the metadata is not what the record's metadata_sha256 stands for")
        if self._admitted(release) is None:
            self.complete()
            return StoreResult.ALREADY_PUBLISHED
        self.taken()  # work that grows with the hub happens before the lock
        try:
            if release.mode == "host":
                self._copy_in(release, wheel, metadata)
            with self._locked() as held:
                package = self._admitted(release)
                if package is None:
                    return StoreResult.ALREADY_PUBLISHED
                self._refuse_foreign_ids(release)
                if release.mode == "host":  # another publisher of the same file, or a rebuild, may have removed it
                    self._copy_in(release, wheel, metadata)
                self._commit(held, package, release)
        except (HubError, HubRefusal, OSError):
            self._remove_orphans(release)
            raise
        return StoreResult.PUBLISHED

    def complete(self) -> None:
        """Complete the change that a killed process decided on, if there is one.

        Each change does this first. Whoever tells a user that something is in the hub without changing it calls this
        too: a killed process may have written the record, and not yet what readers find it by.

        Raises:
            HubRefusal: if others hold the lock for too long, or if the key of a signed hub is not on this machine.
            HubError: if the hub is damaged.
        """
        with self._locked():
            pass

    def _copy_in(self, release: Release, wheel: Path | None, metadata: bytes) -> None:
        if wheel is None:
            raise HubRefusal(f"{release.filename}: mode 'host' needs the file itself")
        path = file_path(release.sha256, release.filename)
        self.files.copy_in(wheel, path, release.sha256, release.size)
        self.files.create(f"{path}.metadata", metadata)

    def _remove_orphans(self, release: Release) -> None:
        """Remove the files of a release that was not published; another process may be publishing the same ones."""
        if self._lock.outlives_holders:  # a late removal could hit a file that was published since; rebuild sweeps
            return
        with suppress(HubError, HubRefusal, OSError), self._locked():
            package = self.truth.package(release.name)
            if package is None or all(record.sha256 != release.sha256 for record in package.records):
                path = file_path(release.sha256, release.filename)
                self.files.remove(f"{path}.metadata")
                self.files.remove(path)

    def admits(self, release: Release) -> bool:
        """Return whether a release may be published now; False if exactly this file is already published.

        :meth:`publish` makes the same check; this method serves reviews before the publication.

        Raises:
            HubRefusal: if it may not be published.
        """
        if self._admitted(release) is None:
            return False
        self._refuse_foreign_ids(release)
        return True

    def add_event(self, event: Event) -> bool:
        """Add an event; the store gives the serial.

        Returns:
            False if it would change nothing, for example a second yank for the same reason; then nothing is written.

        Raises:
            HubRefusal: if the package or version does not exist (with the nearest name), if the account may not request
                it, or if the last owner would go.
            HubError: if the hub is damaged.
        """
        self.existing(event.name)
        with self._locked() as held:
            package = self.existing(event.name)
            check_event(event, package, self.operators())
            event = self._stated(event, package)
            after = package.after(self._numbered(event))
            if _state(after) == _state(package):
                return False
            self._commit(held, package, event)
        return True

    def add_result(self, event: Result, packed: bytes | None) -> None:
        """Add a signed result, with the recorded lines of its episodes if its publisher sends them.

        Args:
            event: the result; the store says whether it has the lines.
            packed: the lines, gzipped; None if they lie elsewhere.

        Raises:
            HubRefusal: with the reason; see :mod:`gem_hub.results.admission`.
            HubError: if the hub is damaged.
        """
        event = event.model_copy(update={"hosted": packed is not None})
        check_result(event, self.existing(event.name), packed)  # reads every episode, and happens before the lock
        if packed is not None:
            self.files.create(episodes_path(str(event.predicate["raw_sha256"])), packed)
        self.add_event(event)

    def check_event(self, event: Event) -> None:
        """Check that an event may be added now; :meth:`add_event` makes the same check.

        Raises:
            HubRefusal: see :meth:`add_event`.
        """
        check_event(event, self.existing(event.name), self.operators())

    def packages(self) -> list[str]:
        """Return the names of all packages, sorted."""
        return list(self.taken().sorted)

    def package(self, name: str) -> WheelPackage | None:
        """Return a package with all its records and events; None if it does not exist."""
        return self.truth.package(name)

    def existing(self, name: str) -> WheelPackage:
        """Return a package with all its records and events.

        Raises:
            HubRefusal: if it does not exist; the message holds the nearest name.
        """
        package = self.truth.package(name)
        if package is None:
            hint = nearest(name, self.packages())
            advice = f"; did you mean {hint!r}?" if hint else ""
            raise HubRefusal(f"there is no package {name!r} in {self.files.address}{advice}")
        return package

    def owners(self, name: str) -> list[str]:
        """Return the accounts that may publish a package, sorted; empty if it does not exist."""
        package = self.truth.package(name)
        return package.owners if package is not None else []

    def environment_ids(self) -> dict[str, str]:
        """Return every environment id (without variant) that a release ever claimed, with its package.

        Raises:
            HubError: if a file of the catalogue is damaged.
        """
        return dict(self.taken().ids)

    def taken(self) -> TakenNames:
        """Return the names and ids that are given away; what has changed since the last call is read, and no more.

        Raises:
            HubError: if a file of the catalogue is damaged.
        """
        root = self._read_root()
        if root is None:  # a checkout of an index, which holds only records and events
            lines = [line(package) for package in self.truth.packages()]
            return TakenNames([str(item["name"]) for item in lines], claims(lines))
        with self._taken_lock:
            if root["serial"] != self._taken_serial:
                if root["serial"] < self._taken_serial:  # the hub was set back
                    self._taken, self._taken_serial = TakenNames(), 0
                for item in read_feed(root, self.files.read, self._taken_serial):
                    self._taken.add(item["name"], claims([item]))
                self._taken_serial = root["serial"]
            return self._taken

    def operators(self) -> list[str]:
        """Return the accounts that operate the hub: those of its policy, or else the account that owns its folder."""
        owner = self.files.owner()
        return HubPolicy.of(self.files).operators or ([] if owner is None else [owner])

    def rebuild(self, check: bool = False, report: Callable[[int, int], None] = unobserved) -> list[str]:
        """Derive all files again.

        Args:
            check: only compare, and write nothing.
            report: receives the number of packages done and the total.

        Returns:
            The paths that differed, sorted.

        Raises:
            HubError: if a record, event or hosted file is damaged or missing.
        """
        if check:
            return rebuild(self.truth, check=True, report=report)
        with self._lock.held() as held:
            self._make_decided(held)
            held.decide(_REBUILDING)
            differing = rebuild(self.truth, report=report)
            self._sign()
            held.complete()
        return differing

    @property
    def is_signed(self) -> bool:
        """Whether the hub has keys, so that each change of it must be signed."""
        return bool(self.files.names(SIGNED))

    def sign(self, now: float | None = None) -> bool:
        """Sign the hub anew with its online key; return False if it has no keys.

        Args:
            now: the time, in seconds since the epoch; that of this machine's clock if None.

        Raises:
            HubRefusal: if the online key is not on this machine.
        """
        with self._locked():
            return self._sign(renew=True, now=now)

    def install_root(self, version: int, content: bytes) -> None:
        """Put a root into the hub, and sign everything as it demands.

        Raises:
            HubRefusal: if a root of this version is there.
        """
        with self._locked():
            if not self.files.create(f"{SIGNED}/{version}.root.json", content):
                raise HubRefusal(f"{self.files.address}: has a root {version} already; make the next one from it")
            self._sign(renew=True)

    def _sign(self, renew: bool = False, newest: bytes | None = None, now: float | None = None) -> bool:
        if not self.is_signed:
            return False
        from gem_hub.signing.online import sign_changes  # heavy, and nothing without keys needs it

        return sign_changes(self.files, renew=renew, newest=newest, now=now)

    @property
    def folder(self) -> Path:
        """The hub's folder.

        Raises:
            HubRefusal: if the hub lies in a bucket.
        """
        if not isinstance(self.files, HubFolder):
            raise HubRefusal(f"{self.files.address}: is no folder, and this takes a hub in a folder of this machine")
        return self.files.path

    @contextmanager
    def _locked(self) -> Iterator[HeldLock]:
        """Hold the lock of a hub, after completing an unfinished change."""
        with self._lock.held() as held:
            self._complete(held)
            yield held

    def _complete(self, held: HeldLock) -> None:
        """Complete the change that an earlier holder of the lock decided on, if there is one."""
        path = self._make_decided(held)
        if path == REBUILDING or self._read_root() is None:
            held.decide(_REBUILDING)
            rebuild(self.truth)
        elif path is not None:
            kind, name, _ = path.split("/")
            change = self.truth.release(path) if kind == "releases" else self.truth.event(path)
            package = self.existing(name)
            if change.serial > self._root()["serial"]:
                self._derive(package)
            self._hide(package)
        else:
            return
        self._sign()
        held.complete()

    def _make_decided(self, held: HeldLock) -> str | None:
        """Write the record or event that an earlier holder decided on; return its path."""
        if held.intent is None:
            return None
        intent = json.loads(held.intent)
        if intent["path"] != REBUILDING:
            self.files.create(intent["path"], intent["content"].encode())
        return str(intent["path"])

    def _commit(self, held: HeldLock, package: WheelPackage, change: Release | Event) -> None:
        """Make the next change of the hub, which concerns this package, and update the derived files."""
        numbered = self._numbered(change)
        content = numbered.to_bytes()
        if self.files.exists(numbered.path):
            raise HubError(f"{numbered.path}: lies there already; run: gem hub rebuild")
        self._sign()  # refuses here where the key of a signed hub is missing, before anything has happened
        held.decide(compact_json({"path": numbered.path, "content": content.decode()}))
        self.files.create(numbered.path, content)
        changed = package.after(numbered)
        self._derive(changed)
        self._hide(changed)
        self._sign(newest=content)
        held.complete()

    def _stated(self, event: Event, package: WheelPackage) -> Event:
        """Return a run of the kit with the hub's own statement on it; other events as they are."""
        if not isinstance(event, Conformance):
            return event
        (release,) = (release for release in package.releases if release.version == event.version)
        return event.model_copy(update={"statement": signed_statement(event, release, self.files)})

    def _numbered(self, change: Change) -> Change:
        numbered: Change = change.model_copy(update={"serial": self._root()["serial"] + 1})
        return numbered

    def _derive(self, package: WheelPackage) -> None:
        """Write the files derived from the newest change, which concerns this package; ``root.json`` last."""
        if isinstance(package.last, Lift):  # pages name no file that is not there
            place_files(self.files, package)
        if len(package.serials) == 1:
            pages = {**package_pages(package), **self._lists_with(package.name)}
        else:
            pages = package_pages(package)
        last = package.last
        feed = next_feed(self._root(), package.name, compact_json(line(package)), last.created, self.files.read)
        if feed is None or feed.root["serial"] != last.serial:
            rebuild(self.truth)
            return
        root = issued_root(root_bytes(feed.root), self.truth.settings().valid_days, datetime.now(timezone.utc))
        self.files.replace_all({**pages, **feed.files})
        self.files.replace("root.json", root)

    def _lists_with(self, name: str) -> dict[str, bytes]:
        """Return the pages that list all packages, with a new one."""
        known = self.taken().sorted
        successor = next(iter(known[bisect_right(known, name) : bisect_right(known, name) + 1]), "")
        pages = {path: self.files.read(path) for path in LISTS}
        return extended_lists(pages, name, successor) or list_pages(self.truth.names())

    def _hide(self, package: WheelPackage) -> None:
        """Hide the files of a package that was just quarantined, once no page names them."""
        if isinstance(package.last, Quarantine):
            place_files(self.files, package)

    def _read_root(self) -> dict[str, Any] | None:
        """Return the content of ``root.json``; None if it is missing or invalid."""
        content = self.files.read("root.json")
        try:
            root = json.loads(content or b"")
        except ValueError:
            return None
        return root if isinstance(root, dict) and type(root.get("serial")) is int else None

    def _root(self) -> dict[str, Any]:
        root = self._read_root()
        if root is None:
            raise HubError("root.json: missing or damaged; run: gem hub rebuild")
        return root

    def _admitted(self, release: Release) -> WheelPackage | None:
        """Return the package of a release, or None if exactly this file is published.

        Raises:
            HubRefusal: if it may not be published.
        """
        package = self.truth.package(release.name)
        if package is None:
            return WheelPackage.of(release.name, (), ())
        return package if check_release(release, package) else None

    def _refuse_foreign_ids(self, release: Release) -> None:
        taken = self.taken().ids
        for environment in release.environments:
            owner = taken.get(environment.base_id, release.name)
            if owner != release.name:
                raise HubRefusal(
                    f"{release.name} {release.version}: the environment id {environment.base_id!r} belongs to {owner}; "
                    "choose another one"
                )


def _state(package: WheelPackage) -> Mapping[str, Any]:
    """Return the mutable state of a package; equal states lead to equal pages."""
    checks = {release.version: package.conformance(release.version) for release in package.releases}
    return {
        "yanked": package.yanked,
        "flags": package.flags,
        "owners": package.owners,
        "provenance": {release.version: package.provenance(release.version) for release in package.releases},
        "results": [(one.id, one.state) for one in results_of(package)],
        "conformance": {
            version: (done[-1].record, done[-1].examples, done[-1].source, done[-1].statement)
            for version, done in checks.items()
            if done
        },
    }
