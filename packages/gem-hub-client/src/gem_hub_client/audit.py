"""Comparing installed or locked packages with the hubs' current statements about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

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

__all__ = [
    "Answers",
    "AuditFinding",
    "AuditReport",
    "Audited",
    "AuditedPackage",
    "KnownPackage",
    "ask",
    "audit",
    "canonical",
    "home",
    "licence_of",
    "statements",
    "violations",
]

QUARANTINED, YANKED, UNPROVED, CHANGED, LICENCE = "quarantined", "yanked", "unproved", "changed", "licence"
DEPRECATED, UNKNOWN, DIFFERS, VIOLATED, SUPERSEDED = "deprecated", "unknown", "differs", "violated", "superseded"
_SERIOUS = {QUARANTINED, YANKED, UNPROVED, CHANGED, LICENCE}


@dataclass(frozen=True)
class AuditFinding:
    """A remark on an installed package for the user."""

    kind: str
    """``quarantined``, ``yanked``, ``unproved`` (a hub could not say), ``changed`` (a lock file pins another file),
    ``licence`` (is not among the allowed ones), ``deprecated``, ``unknown``, ``differs`` (another file is installed),
    ``violated`` or ``superseded`` (a newer release is offered than the locked one)."""
    message: str


@dataclass(frozen=True)
class AuditedPackage:
    """One installed or locked package."""

    name: str
    version: str
    hub: str
    """The hub that it was compared with; empty if none has it."""
    file: str
    """The recorded facts about its file."""
    findings: tuple[AuditFinding, ...]
    licence: str = ""
    """What the hub says of this version; empty if it says nothing, or no hub has the version."""


@dataclass(frozen=True)
class AuditReport:
    """What an audit has found."""

    packages: tuple[AuditedPackage, ...]
    statuses: tuple[str, ...]
    """One sentence for each hub: the age of its data."""
    notes: tuple[str, ...]
    elsewhere: tuple[str, ...] = ()
    """The packages of a lock file that no hub has: they come from the installer's own index."""

    @property
    def sound(self) -> bool:
        """Whether every hub could say that no package is yanked or quarantined.

        In a lock file, moreover, no package may be another file than the hub's or have a licence that is not allowed.
        """
        return not any(finding.kind in _SERIOUS for package in self.packages for finding in package.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {"sound": self.sound, **asdict(self)}


@dataclass(frozen=True)
class KnownPackage:
    """One hub's data on a package."""

    hub: Hub
    status: str
    reason: str
    offered: str
    """The version that it offers; empty if every release was yanked."""
    yanked: dict[str, str]
    """Version → reason."""
    releases: dict[str, IndexedRelease]
    """By version."""


class Audited(Protocol):
    """What an audit asks about a package that is installed or locked."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def folder(self) -> bool: ...
    def is_file(self, url: str, sha256: str) -> bool | None: ...


@dataclass
class Answers:
    """What all hubs say about some packages."""

    known: dict[str, list[KnownPackage]]
    """Package → one for each hub that has it, in the order of the hubs."""
    unproved: dict[str, list[str]]
    """Package → why a hub could not say."""
    statuses: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def audit(hubs: Sequence[Hub], *, offline: bool = False) -> AuditReport:
    """Compare every installed distribution that declares environments with the hubs.

    Args:
        hubs: the hubs. A quarantine or yank in any of them counts, so each of them must answer.
        offline: whether to use only cached data and no server.

    Raises:
        HubError: if no hub's catalogue can be read.
    """
    installed = announcing()
    answers = ask(hubs, installed, offline)
    names = " or ".join(hub.name for hub in hubs)
    audited = tuple(_installed(package, answers, names) for package in installed)
    return AuditReport(audited, tuple(answers.statuses), tuple(dict.fromkeys(answers.notes)))


def ask(hubs: Sequence[Hub], packages: Sequence[Audited], offline: bool) -> Answers:
    """Ask every hub about every package.

    Raises:
        HubError: if no hub's catalogue can be read.
    """
    answers = Answers({package.name: [] for package in packages}, {package.name: [] for package in packages})
    failures: list[HubError] = []
    for hub in hubs:
        try:
            listed = _listed(hub, [package.name for package in packages], offline, answers)
        except HubError as error:
            failures.append(error)
            for reasons in answers.unproved.values():
                reasons.append(str(error))
            continue
        for name in sorted(listed):
            try:
                found = verified_page(hub, name, fresh=not (offline or hub.embedded))
                if found is not None:
                    told = _known(found, answers.notes)
                    versions = {canonical(package.version) for package in packages if package.name == name}
                    if not offline:
                        check_recorded(told.releases[version] for version in sorted(versions & told.releases.keys()))
                    answers.known[name].append(told)
            except HubError as error:
                answers.unproved[name].append(str(error))
    if len(failures) == len(hubs):
        raise failures[0]
    return answers


def _listed(hub: Hub, names: Sequence[str], offline: bool, answers: Answers) -> set[str]:
    """Return which names a hub's catalogue lists, after bringing it up to date, and note its age in a sentence."""

    def question(opened: OpenedCatalogue) -> tuple[str, set[str]]:
        if opened.note:
            answers.notes.append(opened.note)
        listed = {name for name in names if opened.catalogue.record(name) is not None}
        if hub.embedded:
            return f"{hub.name}: part of gem-hub-client {__version__}", listed
        loaded = f"loaded {ago(opened.state.age)}"
        return f"{hub.name}: as of {opened.state.created} (serial {opened.state.serial}), {loaded}", listed

    if offline or hub.embedded:
        status, listed = query_catalogue(hub, question, offline=True)
    else:
        status, listed = query_catalogue(hub, question, current_catalogue, max_age=0.0)
    answers.statuses.append(status)
    return listed


def _known(found: VerifiedPage, notes: list[str]) -> KnownPackage:
    record, page = found.record, found.page
    status, reason = (sanitize(str(page.get(key) or "")) for key in ("status", "reason"))
    offered = "" if found.removed else str(record["version"])
    releases = _releases(found.hub, record, page, notes)
    return KnownPackage(found.hub, status, reason, offered, record["yanked"], releases)


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


def _installed(package: InstalledPackage, answers: Answers, hubs: str) -> AuditedPackage:
    known, own = answers.known[package.name], home(package, answers.known[package.name])
    findings = [
        AuditFinding(UNPROVED, sanitize(f"could not be compared: {why}")) for why in answers.unproved[package.name]
    ]
    if own is None and not findings:
        findings = [AuditFinding(UNKNOWN, f"no such package in {hubs}; nobody there would say if it was yanked")]
    if own is not None:
        findings += [*statements(package, known, own), *_about_file(package, own), *violations(package, own)]
    return AuditedPackage(
        package.name,
        package.version,
        own.hub.name if own else "",
        _file(package),
        tuple(dict.fromkeys(findings)),
        licence_of(package, own),
    )


def home(package: Audited, known: Sequence[KnownPackage]) -> KnownPackage | None:
    """Return the hub whose file a package is; otherwise the one that it would be installed from, if any has it."""
    return next((one for one in known if _is_from(package, one)), next(iter(known), None))


def statements(package: Audited, known: Sequence[KnownPackage], own: KnownPackage) -> Iterator[AuditFinding]:
    """Yield what hubs say against a package: its quarantine and yank in any hub, its deprecation in its own."""
    version = canonical(package.version)
    for one in known:
        if one.status == QUARANTINED:
            reason = one.reason or "no reason is given"
            yield AuditFinding(QUARANTINED, f"by {one.hub.name}: {reason}; uninstall it: it may do harm")
        yanked = one.yanked.get(version)
        if yanked is not None and (one is own or not _is_from(package, own)):
            yield AuditFinding(YANKED, sanitize(f"by {one.hub.name}: {yanked}"))
    if own.status in ("deprecated", "archived"):
        yield AuditFinding(DEPRECATED, own.reason or own.status)


def violations(package: Audited, own: KnownPackage) -> Iterator[AuditFinding]:
    """Yield what the conformance kit found violated in a package."""
    release = own.releases.get(canonical(package.version))
    if release is not None and release.violations:
        count = len(release.violations)
        more = f" and {count - 1} more" if count > 1 else ""
        yield AuditFinding(VIOLATED, f"{release.violations[0]}{more}; see: gem hub info {package.name}")


def licence_of(package: Audited, own: KnownPackage | None) -> str:
    """Return the licence that a hub states for a package's version; empty if it states none."""
    release = own.releases.get(canonical(package.version)) if own is not None else None
    return release.licence if release is not None else ""


def _about_file(package: InstalledPackage, known: KnownPackage) -> list[AuditFinding]:
    """Return the findings on the file that a package came from."""
    version = canonical(package.version)
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


def _is_from(package: Audited, known: KnownPackage) -> bool:
    release = known.releases.get(canonical(package.version))
    return release is not None and package.is_file(release.url, release.sha256) is True


def _file(package: InstalledPackage) -> str:
    if package.sha256:
        return f"sha256 {package.sha256[:12]}…"
    return "installed from an address" if package.url else "installed by name; which file it was is not recorded"


def canonical(version: str) -> str:
    """Return a version as hubs write it; an impossible one as it is."""
    try:
        return str(Version(version))
    except InvalidVersion:
        return version
