"""Comparing installed packages with the hubs' current statements about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from packaging.version import InvalidVersion, Version

from gem_hub_client import __version__
from gem_hub_client.catalogue_cache import OpenedCatalogue, ago, current_catalogue
from gem_hub_client.config import Hub
from gem_hub_client.errors import HubError
from gem_hub_client.federated_search import query_catalogue
from gem_hub_client.installed import InstalledPackage, announcing
from gem_hub_client.pages import Page, VerifiedPage, verified_page
from gem_hub_client.releases import IndexedRelease, read_release
from gem_hub_client.sanitize import sanitize
from gem_hub_client.trust.records import check_recorded

__all__ = ["AuditFinding", "AuditReport", "AuditedPackage", "audit"]

QUARANTINED, YANKED, UNPROVED, DEPRECATED, UNKNOWN, DIFFERS, VIOLATED = (
    "quarantined",
    "yanked",
    "unproved",
    "deprecated",
    "unknown",
    "differs",
    "violated",
)
_SERIOUS = {QUARANTINED, YANKED, UNPROVED}


@dataclass(frozen=True)
class AuditFinding:
    """A remark on an installed package for the user."""

    kind: str
    """``quarantined``, ``yanked``, ``unproved`` (a hub could not say), ``deprecated``, ``unknown``, ``differs`` (it is
    another file) or ``violated``."""
    message: str


@dataclass(frozen=True)
class AuditedPackage:
    """One installed package."""

    name: str
    version: str
    hub: str
    """The hub that it was compared with; empty if none has it."""
    file: str
    """The recorded facts about its file."""
    findings: tuple[AuditFinding, ...]


@dataclass(frozen=True)
class AuditReport:
    """What an audit has found."""

    packages: tuple[AuditedPackage, ...]
    statuses: tuple[str, ...]
    """One sentence for each hub: the age of its data."""
    notes: tuple[str, ...]

    @property
    def sound(self) -> bool:
        """Whether every hub could say of each installed package that it is neither yanked nor quarantined."""
        return not any(finding.kind in _SERIOUS for package in self.packages for finding in package.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {"sound": self.sound, **asdict(self)}


@dataclass(frozen=True)
class _Known:
    """One hub's data on a package."""

    hub: Hub
    status: str
    reason: str
    yanked: dict[str, str]
    """Version → reason."""
    releases: dict[str, IndexedRelease]
    """By version."""


def audit(hubs: Sequence[Hub], *, offline: bool = False) -> AuditReport:
    """Compare every installed distribution that declares environments with the hubs.

    Args:
        hubs: the hubs. A quarantine or yank in any of them counts, so each of them must answer.
        offline: whether to use only cached data and no server.

    Raises:
        HubError: if no hub's catalogue can be read.
    """
    notes: list[str] = []
    installed = announcing()
    statuses: list[str] = []
    known: dict[str, list[_Known]] = {package.name: [] for package in installed}
    unproved: dict[str, list[str]] = {package.name: [] for package in installed}
    failures: list[HubError] = []
    for hub in hubs:
        try:
            statuses.append(_status(hub, offline, notes))
        except HubError as error:
            failures.append(error)
            for reasons in unproved.values():
                reasons.append(str(error))
            continue
        for package in installed:
            try:
                found = verified_page(hub, package.name, fresh=not (offline or hub.embedded))
                if found is not None:
                    told = _known(found, notes)
                    if not offline and (release := told.releases.get(_canonical(package.version))) is not None:
                        check_recorded([release])
                    known[package.name].append(told)
            except HubError as error:
                unproved[package.name].append(str(error))
    if len(failures) == len(hubs):
        raise failures[0]
    names = " or ".join(hub.name for hub in hubs)
    audited = tuple(_audited(package, known[package.name], unproved[package.name], names) for package in installed)
    return AuditReport(audited, tuple(statuses), tuple(dict.fromkeys(notes)))


def _status(hub: Hub, offline: bool, notes: list[str]) -> str:
    """Return the age of a hub's catalogue in a sentence."""

    def question(opened: OpenedCatalogue) -> str:
        if opened.note:
            notes.append(opened.note)
        if hub.embedded:
            return f"{hub.name}: part of gem-hub-client {__version__}"
        loaded = f"loaded {ago(opened.state.age)}"
        return f"{hub.name}: as of {opened.state.created} (serial {opened.state.serial}), {loaded}"

    if offline or hub.embedded:
        return query_catalogue(hub, question, offline=True)
    return query_catalogue(hub, question, current_catalogue, max_age=0.0)


def _known(found: VerifiedPage, notes: list[str]) -> _Known:
    record, page = found.record, found.page
    status, reason = (sanitize(str(page.get(key) or "")) for key in ("status", "reason"))
    releases = _releases(found.hub, record, page, notes)
    return _Known(found.hub, status, reason, record["yanked"], releases)


def _releases(hub: Hub, record: dict[str, Any], page: Page, notes: list[str]) -> dict[str, IndexedRelease]:
    releases = {}
    for entry in page["releases"]:
        try:
            release = read_release(hub, record["name"], entry)
        except HubError as error:
            notes.append(str(error))
            continue
        releases[str(release.version)] = release
    return releases


def _audited(package: InstalledPackage, known: Sequence[_Known], unproved: Sequence[str], hubs: str) -> AuditedPackage:
    version = _canonical(package.version)
    unsure = tuple(AuditFinding(UNPROVED, sanitize(f"could not be compared: {reason}")) for reason in unproved)
    if not known and unsure:
        return AuditedPackage(package.name, package.version, "", _file(package), unsure)
    if not known:
        message = f"no such package in {hubs}; nobody there would say if it was yanked"
        return AuditedPackage(package.name, package.version, "", _file(package), (AuditFinding(UNKNOWN, message),))
    # The hub whose file it is; otherwise the one that it would be installed from.
    own = next((k for k in known if _is_from(package, k, version)), known[0])
    findings: dict[AuditFinding, None] = dict.fromkeys(unsure)
    for one in known:
        if one.status == QUARANTINED:
            reason = one.reason or "no reason is given"
            findings[AuditFinding(QUARANTINED, f"by {one.hub.name}: {reason}; uninstall it: it may do harm")] = None
        yanked = one.yanked.get(version)
        if yanked is not None and (one is own or not _is_from(package, own, version)):
            findings[AuditFinding(YANKED, sanitize(f"by {one.hub.name}: {yanked}"))] = None
    if own.status in ("deprecated", "archived"):
        findings[AuditFinding(DEPRECATED, own.reason or own.status)] = None
    findings.update(dict.fromkeys(_about_file(package, own, version)))
    release = own.releases.get(version)
    if release is not None and release.violations:
        count = len(release.violations)
        more = f" and {count - 1} more" if count > 1 else ""
        findings[AuditFinding(VIOLATED, f"{release.violations[0]}{more}; see: gem hub info {package.name}")] = None
    return AuditedPackage(package.name, package.version, own.hub.name, _file(package), tuple(findings))


def _about_file(package: InstalledPackage, known: _Known, version: str) -> list[AuditFinding]:
    """Return the findings on the file that a package came from."""
    if package.folder:
        return [
            AuditFinding(
                DIFFERS, f"installed from a folder of sources ({sanitize(package.url)}), not from {known.hub.name}"
            )
        ]
    release = known.releases.get(version)
    if release is None:
        if version in known.yanked:
            return []
        return [AuditFinding(DIFFERS, f"{known.hub.name} has no release {version}; this file is not from there")]
    if release.source:
        return [
            AuditFinding(
                DIFFERS, f"{known.hub.name} lists no file of {version} yet, so there is nothing to compare with"
            )
        ]
    if package.is_file(release.url, release.sha256) is False:
        return [
            AuditFinding(
                DIFFERS,
                f"another file than that of {known.hub.name}: expected sha256 {release.sha256}, found {package.sha256}",
            )
        ]
    return []


def _is_from(package: InstalledPackage, known: _Known, version: str) -> bool:
    release = known.releases.get(version)
    return release is not None and package.is_file(release.url, release.sha256) is True


def _file(package: InstalledPackage) -> str:
    if package.sha256:
        return f"sha256 {package.sha256[:12]}…"
    return "installed from an address" if package.url else "installed by name; which file it was is not recorded"


def _canonical(version: str) -> str:
    try:
        return str(Version(version))
    except InvalidVersion:
        return version
