"""Publication of wheels: the gate, the conformance kit, then the store. All wheels pass, or none is published."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from packaging.version import Version

import gem
from gem.errors import ArgumentError
from gem.ids import parse_id
from gem_hub.archive import ArchiveLimits
from gem_hub.conformance import Checked
from gem_hub.errors import HubRefusal
from gem_hub.gate import GateResult, HubView, examine
from gem_hub.policy import HubPolicy
from gem_hub.public_names import PublicNames
from gem_hub.records import Release
from gem_hub.refusal import Refusal
from gem_hub.storage import HubFolder
from gem_hub.store import Store, StoreResult

__all__ = ["Attempt", "Destination", "add_record", "examine_all", "publish", "read_file"]

Stage = Literal["published", "already published", "passed", "refused", "recorded"]


@dataclass(frozen=True)
class Destination:
    """The target hub of wheels, their publisher, and the mode."""

    store: Store
    publisher: str
    policy: HubPolicy
    url: str = ""
    """The wheel's address on another index (mode ``link``); empty for a wheel in the hub (mode ``host``)."""
    public_index: str = ""
    """The address of the public index's ``simple/`` folder, to look up new names; empty for none."""
    unreleased: Path | None = None
    """A snapshot that lists packages without a release; see :meth:`gem_hub.gate.HubView.with_unreleased`."""


@dataclass(frozen=True)
class Attempt:
    """The progress of a wheel."""

    content: bytes
    verdict: GateResult
    path: Path | None = None
    """Its path on this machine."""
    checked: Checked | None = None
    """The kit's result; None if the kit was not run."""
    stage: Stage = "passed"
    unchecked: bool = True
    """Whether the hub lacks a run of the kit on it with this gem-core, and the publisher may add one."""

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        return (*self.verdict.refusals, *(self.checked.refusals if self.checked is not None else ()))

    @property
    def warnings(self) -> tuple[Refusal, ...]:
        return (*self.verdict.warnings, *(self.checked.warnings if self.checked is not None else ()))

    @property
    def wants_check(self) -> bool:
        """Whether it has environments that the kit could check."""
        return self.stage in ("passed", "already published") and self.unchecked and bool(self.verdict.specs)

    def after(self, checked: Checked) -> Attempt:
        """Return this attempt with the kit's result."""
        return replace(self, checked=checked, stage=self.stage if checked.passed else "refused")

    def to_dict(self) -> dict[str, Any]:
        """Return the attempt as JSON values."""
        wheel, checked = self.verdict.wheel, self.checked
        conformance = None
        if checked is not None and checked.record is not None and wheel is not None:
            conformance = {**checked.event(self.verdict, "-").counts(), "isolation": checked.isolation}
        return {
            "filename": self.verdict.filename,
            "name": wheel.name if wheel is not None else None,
            "version": wheel.version if wheel is not None else None,
            "sha256": self.verdict.sha256,
            "size": self.verdict.size,
            "stage": self.stage,
            "environments": [spec.id for spec in self.verdict.specs],
            "refusals": [refusal.to_dict() for refusal in self.refusals],
            "warnings": [warning.to_dict() for warning in self.warnings],
            "conformance": conformance,
        }


def read_file(path: Path, limits: ArchiveLimits = ArchiveLimits()) -> bytes:  # noqa: B008  # frozen
    """Return the bytes of a file to publish.

    Raises:
        ArgumentError: if it is unreadable, not a regular file, or too large.
    """
    try:
        if not path.is_file():
            raise ArgumentError(f"{path}: is no file; build a wheel: hatch build -t wheel")
        with path.open("rb") as file:
            return file.read(limits.file_bytes + 1)
    except OSError as error:
        raise ArgumentError(f"{path}: cannot be read: {error.strerror or error}") from error


def examine_all(files: Iterable[tuple[str, bytes, Path | None]], destination: Destination) -> list[Attempt]:
    """Run the gate on several wheels, each as if the earlier ones were already published.

    Args:
        files: for each its name, bytes, and optional path on this machine.
        destination: their destination.
    """
    public = PublicNames.of(destination.store, destination.policy.guarded, destination.public_index)
    view = HubView.of(destination.store, public)
    if destination.unreleased is not None:
        view = view.with_unreleased(destination.unreleased)
    attempts: list[Attempt] = []
    given = list(files)
    for filename, content, path in given:
        verdict = examine(filename, content, destination.publisher, view, destination.policy)
        attempt = _admitted(Attempt(content, verdict, path), destination)
        attempts.append(attempt)
        if verdict.wheel is not None and attempt.stage != "refused" and len(attempts) < len(given):
            ids = {parse_id(spec.id)._replace(variant=None).unowned for spec in verdict.specs}
            view = view.with_package(verdict.wheel.name, ids)
    return attempts


def _admitted(attempt: Attempt, destination: Destination) -> Attempt:
    """Report the store's later objections before any code runs."""
    wheel = attempt.verdict.wheel
    package = destination.store.package(wheel.name) if wheel is not None else None
    if wheel is None or package is None:
        return replace(attempt, stage="passed" if attempt.verdict.passed else "refused")
    refusals: list[Refusal] = []
    taken = [one for one in package.records if one.parsed_version == Version(wheel.version)]
    if any(one.sha256 == attempt.verdict.sha256 for one in taken):
        runs = package.conformance(wheel.version)
        known = any(run.source == "hub" and run.counts()["gem_core"] == gem.__version__ for run in runs)
        unchecked = not known and destination.publisher in (*package.owners, *destination.store.operators())
        verdict = replace(attempt.verdict, refusals=())
        return replace(attempt, stage="already published", verdict=verdict, unchecked=unchecked)
    if taken:
        message = f"is published with other bytes ({taken[0].sha256[:12]}…), and never changes; raise the version"
        refusals.append(Refusal("version.taken", f"{wheel.name} {wheel.version}", message))
    if destination.publisher not in package.owners:
        message = (
            f"belongs to {', '.join(package.owners)}, and {destination.publisher!r} is none of them; one of them can "
            f"run: gem hub owner add {wheel.name} {destination.publisher}"
        )
        refusals.append(Refusal("name.owner", wheel.name, message))
    if package.status == "quarantined":
        message = f"is quarantined ({package.reason}), so nothing is published for it; ask who runs the hub"
        refusals.append(Refusal("name.quarantined", wheel.name, message))
    refusals = [*attempt.verdict.refusals, *refusals]
    verdict = replace(attempt.verdict, refusals=tuple(refusals))
    return replace(attempt, verdict=verdict, stage="refused" if refusals else "passed")


def publish(attempts: Sequence[Attempt], destination: Destination, report: Callable[[str], None]) -> list[Attempt]:
    """Publish wheels that have passed, each with what the kit said of it.

    Raises:
        HubRefusal: if one of them was rejected; then none is published.
        HubError: if the hub is damaged.
    """
    done = []
    for attempt in attempts:
        if attempt.stage == "refused":
            raise HubRefusal(f"{attempt.verdict.filename}: was refused, so nothing is published")
    if any(attempt.stage == "already published" for attempt in attempts):
        destination.store.complete()
    for attempt in attempts:
        if attempt.verdict.wheel is None or (attempt.stage != "passed" and attempt.checked is None):
            done.append(attempt)
            continue
        release = _release(attempt, destination)
        report(f"publishing {release.name} {release.version}")
        wheel = None if destination.url else attempt.path
        outcome = destination.store.publish(release, wheel, attempt.verdict.wheel.metadata)
        if attempt.checked is not None and attempt.checked.record is not None:
            destination.store.add_event(attempt.checked.event(attempt.verdict, destination.publisher))
        stage: Stage = "published" if outcome is StoreResult.PUBLISHED else "already published"
        done.append(replace(attempt, stage=stage))
    return done


def add_record(attempt: Attempt, destination: Destination) -> tuple[Attempt, Path]:
    """Write the record of one release into a checkout of an index for a pull request, and nothing else.

    Its serial is 0; ``gem hub rebuild`` numbers it after the merge. So two pull requests never touch the same file.

    Returns:
        The attempt, and the written file.

    Raises:
        HubRefusal: if the wheel was rejected, or a different record exists.
    """
    if attempt.stage == "refused":
        raise HubRefusal(f"{attempt.verdict.filename}: was refused, so no record is written")
    release = _release(attempt, destination)
    folder = destination.store.folder
    path = folder / release.path
    if attempt.stage == "already published":
        return attempt, path
    if not HubFolder(folder).create(release.path, release.to_bytes()):
        raise HubRefusal(f"{path}: lies there already; remove it to write it anew")
    return replace(attempt, stage="recorded"), path


def _release(attempt: Attempt, destination: Destination) -> Release:
    mode: Literal["host", "link"] = "link" if destination.url else "host"
    return attempt.verdict.release(destination.publisher, mode, destination.url)
