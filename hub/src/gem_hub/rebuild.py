"""Derives a whole hub again, compares it with the existing files, and removes remains of killed processes."""

from __future__ import annotations

import hashlib
import io
import math
import zipfile
from collections.abc import Callable, Iterator
from datetime import datetime, timezone

from gem_hub.admission import admitted_in_order
from gem_hub.derive import derived_files, derived_root, issued_root
from gem_hub.events import Conformance
from gem_hub.package import WheelPackage
from gem_hub.policy import HubPolicy
from gem_hub.records import Release, file_path
from gem_hub.results.state import episodes_path, results_of
from gem_hub.storage import PRIVATE, TEMPORARY, HubFiles
from gem_hub.truth import Truth
from gem_hub_client.errors import HubError

__all__ = ["QUARANTINED", "REBUILDING", "place_files", "rebuild", "unobserved"]

QUARANTINED = f"{PRIVATE}/quarantined"
"""The folder of the wheels of quarantined packages."""

REBUILDING = "rebuild"
"""In place of a path in the intent: derive all files again."""

_HOUR = 3600.0
_DAY = 24 * _HOUR
KEPT = {"temporary": _HOUR, "unreferenced": _DAY, "superseded": 30 * _DAY}
"""How old (seconds) something must be before it is swept: an unfinished file, a wheel that no record names, a file of
the catalogue that ``root.json`` names no more (clients may just be reading it)."""


def unobserved(done: int, total: int) -> None:
    """Report no progress."""


def rebuild(truth: Truth, check: bool = False, report: Callable[[int, int], None] = unobserved) -> list[str]:
    """Derive all files again; the caller must hold the lock, unless ``check`` is true.

    Records whose serial is 0, as a pull request adds them, are numbered first.

    Args:
        truth: the records and events.
        check: only compare, and write nothing.
        report: receives the number of packages done and the total.

    Returns:
        The paths that differed, sorted.

    Raises:
        HubError: if a record, event or hosted file is damaged or missing, or if unnumbered changes contradict each
            other or the rules of the hub.
    """
    files = truth.files
    differing = [path for path, serial in truth.serials().items() if serial == 0]
    if differing and check:
        return sorted(differing)
    _number(truth)
    derived: set[str] = set()
    digests: set[str] = set()
    recorded: set[str] = set()
    missing: list[str] = []

    def watched() -> Iterator[WheelPackage]:
        names = truth.names()
        for number, package in enumerate(truth.packages()):
            report(number, len(names))
            digests.update(record.sha256 for record in package.records)
            recorded.update(episodes_path(str(one.predicate["raw_sha256"])) for one in results_of(package))
            if check:
                hosted = (record for record in package.records if record.mode == "host")
                paths = [file_path(record.sha256, record.filename) for record in hosted]
                differing.extend(path for path in paths if package.status == "quarantined" and files.exists(path))
            else:
                place_files(files, package)
            for record in package.records if package.status != "quarantined" else ():
                missing.extend(_check_file(files, record, differing, check))
            yield package

    settings = truth.settings()
    for path, content in derived_files(watched(), settings, files.read):
        derived.add(path)
        if path == "root.json" and derived_root(files.read(path)) == content:
            if settings.valid_days and not check:
                files.replace(path, issued_root(content, settings.valid_days, datetime.now(timezone.utc)))
        elif path == "root.json":
            differing.append(path)
            if not check:
                files.replace(path, issued_root(content, settings.valid_days, datetime.now(timezone.utc)))
        elif files.read(path) != content:
            differing.append(path)
            if not check:
                files.replace(path, content)
    kept = {path for folder in ("badges", "envs", "provenance", "simple") for path in files.files(folder)}
    for path in sorted(kept - derived):
        differing.append(path)
        if not check:
            files.remove(path)
    if not check:
        _sweep(files, derived, digests, recorded)
    if missing:
        raise HubError("; ".join(missing))
    return sorted(differing)


def place_files(files: HubFiles, package: WheelPackage) -> None:
    """Move the wheels of a quarantined package to where no server offers them, and back after its end."""
    for record in package.records:
        if record.mode == "host":
            path = file_path(record.sha256, record.filename)
            for name in (path, f"{path}.metadata"):
                hidden = f"{QUARANTINED}/{name}"
                if package.status == "quarantined":
                    files.move(name, hidden)
                else:
                    files.move(hidden, name)


def _number(truth: Truth) -> None:
    """Assign a serial to each record and event without one, in an order in which the hub's rules admit them.

    Raises:
        HubError: if the rules do not admit all of them; then none is numbered.
    """
    serials = truth.serials()
    unnumbered = sorted(path for path, given in serials.items() if given == 0)
    if not unnumbered:
        return
    changes = [truth.release(path) for path in unnumbered if path.startswith("releases/")]
    events = [truth.event(path) for path in unnumbered if not path.startswith("releases/")]
    numbered = (package.at(math.inf, 1) for package in truth.packages())
    before = [package for package in numbered if package.records]
    admitted, refused = admitted_in_order(before, [*changes, *events], HubPolicy.of(truth.files))
    if refused:
        raise HubError(
            f"{'; '.join(refused)}. Changes that were merged together contradict each other or what was there before; "
            "nothing was numbered: remove those that are wrong, and run: gem hub rebuild"
        )
    for serial, change in enumerate(admitted, max(serials.values()) + 1):
        # Only the hub makes statements, and whoever merges a request may not have its key.
        own = {"statement": None} if isinstance(change, Conformance) else {}
        numbered_change = change.model_copy(update={"serial": serial, **own})
        truth.files.replace(numbered_change.path, numbered_change.to_bytes())
        if numbered_change.path != change.path:
            truth.files.remove(change.path)


def _check_file(files: HubFiles, record: Release, differing: list[str], check: bool) -> Iterator[str]:
    """Yield the problems of a hosted file; write its metadata beside it if that is missing or wrong."""
    if record.mode != "host":
        return
    path = file_path(record.sha256, record.filename)
    if files.size(path) != record.size:
        yield f"{path}: missing, or not of {record.size} bytes, and {record.path} promises it; put it back from a copy"
        return
    beside = files.read(f"{path}.metadata")
    if beside is not None and hashlib.sha256(beside).hexdigest() == record.metadata_sha256:
        return
    differing.append(f"{path}.metadata")
    if check:
        return
    try:
        with zipfile.ZipFile(io.BytesIO(files.read(path) or b"")) as archive:
            (name,) = (entry for entry in archive.namelist() if entry.endswith(".dist-info/METADATA"))
            metadata = archive.read(name)
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        yield f"{path}: its metadata cannot be read: {error}"
        return
    if hashlib.sha256(metadata).hexdigest() != record.metadata_sha256:
        yield f"{path}: its metadata is not what {record.path} says"
        return
    files.replace(f"{path}.metadata", metadata)


def _sweep(files: HubFiles, derived: set[str], digests: set[str], recorded: set[str]) -> None:
    """Remove old files that no record needs and that no reader can still be using."""
    for path in files.files(TEMPORARY):
        if files.age(path) > KEPT["temporary"]:
            files.remove(path)
    for path in files.files("catalog"):
        if path not in derived and files.age(path) > KEPT["superseded"]:
            files.remove(path)
    for path in files.files("files"):
        if path.split("/")[2:3] and path.split("/")[2] not in digests and files.age(path) > KEPT["unreferenced"]:
            files.remove(path)
    for path in files.files("episodes"):
        if path not in recorded and files.age(path) > KEPT["unreferenced"]:
            files.remove(path)
