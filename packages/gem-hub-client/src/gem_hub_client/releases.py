"""One release of a package as a hub's page lists it, with every value checked before anything is made of it.

A hub's words end up in an installer's requirements file, so a file name, an address or a digest that could mean
anything else there is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import sys_tags
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from gem_hub_client.config import Hub
from gem_hub_client.errors import HubError
from gem_hub_client.installed import CORE
from gem_hub_client.pages import Page
from gem_hub_client.sanitize import sanitize

__all__ = ["IndexedRelease", "file_path", "host_url", "read_release", "release_at", "releases_of"]

_SHA256 = re.compile(r"[0-9a-f]{64}")
# No white space, quote, '#', ';' or '$': in a requirements file they would end the address or be expanded.
_ADDRESS = re.compile(r"(https?|file)://[A-Za-z0-9._~:/%+!@,=()\[\]-]+")
_EXTRA = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")


@dataclass(frozen=True)
class IndexedRelease:
    """One version of a package in one hub."""

    hub: Hub
    name: str
    version: Version
    filename: str
    """Of the wheel; empty in mode ``source``."""
    url: str
    """Absolute; empty where there is nothing to load: in mode ``source``, and where the package is quarantined."""
    sha256: str
    size: int
    """Bytes of the wheel."""
    source: str
    """In mode ``source``: the folder of GEM's repository that holds the package."""
    requires_python: SpecifierSet
    requires_core: SpecifierSet
    requires: tuple[Requirement, ...]
    hub_requires: frozenset[str]
    """The names of those that come from the same hub; all others come from the installer's own index."""
    extras: frozenset[str]
    licence: str
    """The SPDX expression, or whatever line its metadata has; empty if it says nothing."""
    yanked: str | None
    """Why it was taken back; None if it was not."""
    environments: tuple[str, ...]
    """Ids, with those of the variants."""
    violations: tuple[str, ...]
    """``ID: clause`` for what the newest run of the conformance kit found violated."""

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    def misfit(self, python: str, core: str) -> str:
        """Return why it cannot be installed beside this Python and this gem-core; empty if it can."""
        if not self.requires_python.contains(python, prereleases=True):
            return f"needs Python {self.requires_python}, and this is {python}"
        needs = [self.requires_core, *(r.specifier for r in self.requires if _is_core(r))]
        for specifier in needs:
            if not specifier.contains(core, prereleases=True):
                return f"needs gem-core {specifier}, and this is {core}"
        if self.filename and not parse_wheel_filename(self.filename)[3] & set(sys_tags()):
            return f"is built for another system or Python ({self.filename})"
        return ""


def releases_of(hub: Hub, page: Page) -> list[IndexedRelease]:
    """Return the releases of a page, newest first.

    Raises:
        HubError: if one of them is not what it must be.
    """
    read = [read_release(hub, page["name"], entry) for entry in page["releases"]]
    return sorted(read, key=lambda release: release.version, reverse=True)


def release_at(releases: Sequence[IndexedRelease], version: str) -> IndexedRelease:
    """Return the release of a version, in any spelling of it.

    Args:
        releases: all of a package; at least one.
        version: what a user has written.

    Raises:
        HubError: if there is no such release.
    """
    with suppress(InvalidVersion):
        wanted = Version(version)
        for release in releases:
            if release.version == wanted:
                return release
    known = ", ".join(str(release.version) for release in releases[:10])
    raise HubError(f"there is no {releases[0].name} {version}; there are {known}")


def read_release(hub: Hub, name: str, entry: dict[str, Any]) -> IndexedRelease:
    """Return an entry of ``releases`` in ``envs/NAME.json``, checked.

    Raises:
        HubError: if a value is missing, of the wrong type, or could lead an installer elsewhere.
    """
    try:
        return _read(hub, name, entry)
    except (KeyError, TypeError, AttributeError) as error:
        what = f"{error!r} is missing or of the wrong type"
    except (ValueError, InvalidRequirement, InvalidSpecifier, InvalidVersion, InvalidWheelFilename) as error:
        what = str(error)
    version = entry.get("version") if isinstance(entry, dict) else None
    about = f"{name} {sanitize(str(version))}"
    raise HubError(f"{hub.name}: what it says about {about} cannot be used: {sanitize(what)[:300]}")


def host_url(sha256: str, filename: str) -> str:
    """Return the address of a file that a hub keeps itself, relative to a page in ``simple/NAME/``."""
    return f"../../{file_path(sha256, filename)}"


def file_path(sha256: str, filename: str) -> str:
    """Return where a hub keeps a file, relative to ``root.json``."""
    return f"files/{sha256[:2]}/{sha256}/{filename}"


def _read(hub: Hub, name: str, entry: dict[str, Any]) -> IndexedRelease:
    version = Version(entry["version"])
    if str(version) != entry["version"]:
        raise ValueError(f"the version must be written {str(version)!r}")
    mode, filename = entry["mode"], entry["filename"]
    if mode not in ("host", "link", "source"):
        raise ValueError(f"its mode is {mode!r}, which this gem-hub-client does not know")
    if mode != "source":
        _check_file(name, version, entry)
    yanked = entry.get("yanked")
    requires = tuple(Requirement(line) for line in entry.get("requires_dist") or ())
    for requirement in requires:
        if requirement.url is not None:
            raise ValueError(f"it requires {requirement}, and what comes from an address of its own is not installed")
    return IndexedRelease(
        hub=hub,
        name=name,
        version=version,
        filename="" if mode == "source" else filename,
        url=_absolute(hub, entry) if mode != "source" and entry["url"] else "",
        sha256="" if mode == "source" else entry["sha256"],
        size=entry["size"],
        source=sanitize(entry.get("source") or "") if mode == "source" else "",
        requires_python=SpecifierSet(entry.get("requires_python") or ""),
        requires_core=SpecifierSet(entry.get("requires_gem_core") or ""),
        requires=requires,
        hub_requires=frozenset(canonicalize_name(str(name)) for name in entry.get("hub_requires") or ()),
        extras=frozenset(
            canonicalize_name(extra) for extra in entry.get("provides_extra") or () if _EXTRA.match(extra)
        ),
        licence=sanitize(str(entry.get("licence") or "")),
        yanked=None if yanked is None else sanitize(str(yanked)),
        environments=tuple(sanitize(environment["id"]) for environment in entry.get("environments") or ()),
        violations=_violations(entry.get("conformance") or [], entry.get("conformance_sources") or []),
    )


def _check_file(name: str, version: Version, entry: dict[str, Any]) -> None:
    filename, sha256 = entry["filename"], entry["sha256"]
    # pip installs whatever version a file's name says, also where the page says another.
    file_name, file_version, _, _ = parse_wheel_filename(filename)
    if file_name != name or file_version != version or not re.fullmatch(r"[A-Za-z0-9_.!+-]+", filename):
        raise ValueError(f"{filename!r} is no wheel of {name} {version}")
    if _SHA256.fullmatch(sha256) is None:
        raise ValueError(f"{sha256!r} is no sha256")
    if type(entry["size"]) is not int or entry["size"] <= 0:
        raise ValueError(f"{entry['size']!r} is no size in bytes")


def _absolute(hub: Hub, entry: dict[str, Any]) -> str:
    url, sha256, filename = entry["url"], entry["sha256"], entry["filename"]
    if entry["mode"] == "host":
        if url != host_url(sha256, filename):
            raise ValueError(f"its url is {url!r}, and must be {host_url(sha256, filename)!r}")
        path = file_path(sha256, filename)
        url = f"{hub.location}{path}" if hub.remote else (Path(hub.location) / path).as_uri()
    if _ADDRESS.fullmatch(url) is None or (hub.remote and url.startswith("file:")):
        raise ValueError(f"{url!r} is no address that a file can safely be loaded from")
    return str(url)


def _violations(records: list[dict[str, Any]], sources: list[str]) -> tuple[str, ...]:
    """Return the violations in the newest run by the hub, or else in the newest record of the author."""
    by_hub = [record for record, source in zip(records, sources, strict=False) if source == "hub"]
    if not records:
        return ()
    return tuple(
        sanitize(f"{environment['id']}: {clause['clause']}")
        for package in (by_hub or records)[-1].get("packages", ())
        for environment in package["environments"]
        for clause in environment["clauses"]
        if clause["outcome"] == "violated" and not clause.get("exempt")
    )


def _is_core(requirement: Requirement) -> bool:
    applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    return canonicalize_name(requirement.name) == CORE and applies
