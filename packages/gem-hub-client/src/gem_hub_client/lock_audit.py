"""``gem hub audit --lock``: comparing a lock file with the hubs' current statements, without installing anything."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from packaging.version import InvalidVersion, Version

from gem_hub_client.audit import (
    CHANGED,
    DIFFERS,
    LICENCE,
    SUPERSEDED,
    UNPROVED,
    Answers,
    AuditedPackage,
    AuditFinding,
    AuditReport,
    KnownPackage,
    ask,
    canonical,
    home,
    licence_of,
    statements,
    violations,
)
from gem_hub_client.config import Hub
from gem_hub_client.licences import permitted
from gem_hub_client.lock_file import LockedPackage
from gem_hub_client.sanitize import sanitize

__all__ = ["audit_lock"]


def audit_lock(
    locked: Sequence[LockedPackage],
    path: Path,
    hubs: Sequence[Hub],
    *,
    offline: bool = False,
    allowed: Collection[str] = (),
) -> AuditReport:
    """Compare the packages of a lock file with the hubs.

    A package that a hub has must be pinned to that hub's file, whatever address the lock file gives: who can change a
    lock file can change the address with the digest. Packages that no hub has come from the installer's own index; of
    those, nothing is said but their names.

    Args:
        locked: the packages of the lock file.
        path: where it lies, for messages.
        hubs: the hubs. A quarantine or yank in any of them counts, so each of them must answer.
        offline: whether to use only cached data and no server.
        allowed: the licences that hub packages may have, from :func:`~gem_hub_client.licences.checked_licence`; any if
            there are none.

    Raises:
        HubError: if no hub's catalogue can be read.
    """
    answers = ask(hubs, locked, offline)
    audited = [one for package in locked if (one := _audited(package, answers, hubs, allowed)) is not None]
    named = {package.name for package in audited}
    elsewhere = tuple(dict.fromkeys(package.name for package in locked if package.name not in named))
    notes = list(answers.notes)
    if allowed and elsewhere:
        notes.append(f"{path}: no hub knows the licences of {len(elsewhere)} packages of other indexes")
    return AuditReport(tuple(audited), tuple(answers.statuses), tuple(dict.fromkeys(notes)), elsewhere)


def _audited(
    package: LockedPackage, answers: Answers, hubs: Sequence[Hub], allowed: Collection[str]
) -> AuditedPackage | None:
    """Return the findings on one package; None if it comes from another index and every hub could say so."""
    known, reasons = answers.known[package.name], answers.unproved[package.name]
    findings = [AuditFinding(UNPROVED, sanitize(f"could not be compared: {reason}")) for reason in reasons]
    own = home(package, known)
    if own is None:
        source = next((hub for hub in hubs if hub.remote and package.url.startswith(hub.location)), None)
        if source is not None:
            findings.append(
                AuditFinding(CHANGED, f"{source.name} has no such package, and the lock takes it from there")
            )
        if not findings:
            return None
    else:
        findings += [*statements(package, known, own), *_about_file(package, own), *_newer(package, own)]
        findings += [*violations(package, own), *_about_licence(package, own, allowed)]
    return AuditedPackage(
        package.name,
        sanitize(package.version),
        own.hub.name if own else "",
        _pinned(package),
        tuple(dict.fromkeys(findings)),
        licence_of(package, own),
    )


def _about_file(package: LockedPackage, own: KnownPackage) -> Iterator[AuditFinding]:
    """Yield in what the pinned file differs from the hub's."""
    version = canonical(package.version)
    release = own.releases.get(version)
    if package.folder:
        yield AuditFinding(
            CHANGED, sanitize(f"is locked to sources ({package.url}), not to the file of {own.hub.name}")
        )
    elif release is None:
        if version not in own.yanked:
            where = f" from {package.url}" if package.url else ""
            yield AuditFinding(
                CHANGED, sanitize(f"{own.hub.name} has no release {version or '?'}; locked is one{where}")
            )
    elif not release.sha256:
        yield AuditFinding(
            DIFFERS, f"{own.hub.name} lists no file of {version} yet, so there is nothing to compare with"
        )
    elif not package.is_file(release.url, release.sha256):
        found = ", ".join(sorted(package.digests)) or "none"
        message = f"another file than that of {own.hub.name}: expected sha256 {release.sha256}, found {found}"
        yield AuditFinding(CHANGED, sanitize(message))


def _newer(package: LockedPackage, own: KnownPackage) -> Iterator[AuditFinding]:
    try:
        newer = bool(own.offered) and Version(own.offered) > Version(package.version)
    except InvalidVersion:
        return
    if newer:
        yield AuditFinding(SUPERSEDED, f"{own.hub.name} offers {own.offered}; to compare: gem hub diff {package.name}")


def _about_licence(package: LockedPackage, own: KnownPackage, allowed: Collection[str]) -> Iterator[AuditFinding]:
    licence = licence_of(package, own)
    if allowed and not permitted(licence, allowed):
        yield AuditFinding(LICENCE, f"{licence or 'no licence is stated'}: not among the allowed ones")


def _pinned(package: LockedPackage) -> str:
    digests = sorted(package.digests)
    more = f" and {len(digests) - 1} more" if len(digests) > 1 else ""
    return f"sha256 {digests[0][:12]}…{more}" if digests else "pinned by no digest"
