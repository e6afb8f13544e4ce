"""Bills of materials in CycloneDX: of one release, or of all packages in a lock file.

A release names what it requires, and not which versions a user will get: its bill lists requirements as components
without a version. A lock file names each file: its bill lists versions, digests and, for packages of a hub, licences;
it does not say which package needs which. ``cyclonedx-python-lib`` writes the document; it comes with
``gem-hub-client[sbom]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, uuid5

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gem_hub_client import __version__
from gem_hub_client.audit import KnownPackage, ask, canonical, home
from gem_hub_client.config import OFFICIAL, Hub
from gem_hub_client.errors import HubError
from gem_hub_client.lock_file import LockedPackage
from gem_hub_client.releases import IndexedRelease

if TYPE_CHECKING:
    from cyclonedx.model import ExternalReference
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component
    from packageurl import PackageURL

__all__ = ["lock_bill", "release_bill"]

_WEB = re.compile(r"https?://[A-Za-z0-9._~:/?#@!&'()*+,;=%-]+")


def release_bill(release: IndexedRelease, entry: Mapping[str, Any]) -> str:
    """Return the bill of a release as JSON. The same release gives the same bytes with the same library.

    Args:
        release: the release.
        entry: what its package's page says of it, sanitized.

    Raises:
        HubError: if the library is missing, or the page is not as it must be.
    """
    _load_library()
    from cyclonedx.model import Property

    hub, version = release.hub, str(release.version)
    try:
        root = _component(
            release.name,
            version,
            _purl(release.name, version, hub),
            digests=[release.sha256] if release.sha256 else [],
            licence=release.licence,
            description=str(entry["summary"]),
            author=str(entry["author"]),
            references=_references(release, entry),
        )
        needed = [requirement for requirement in release.requires if "extra ==" not in str(requirement.marker or "")]
        parts: dict[str, Component] = {}
        for requirement in needed:
            name = canonicalize_name(requirement.name)
            part = parts.setdefault(name, _component(name, None, _purl(name, None, _origin(requirement, release))))
            part.properties.add(Property(name="gem:requirement", value=str(requirement)))
        moment = datetime.fromisoformat(str(entry["published"]).replace("Z", "+00:00"))
    except (KeyError, TypeError, ValueError) as error:
        raise HubError(f"{release}: its page cannot be used for a bill of materials: {error!r}") from error
    return _written(root, parts.values(), f"{root.purl} {release.sha256}", moment)


def lock_bill(path: Path, locked: Sequence[LockedPackage], hubs: Sequence[Hub], *, offline: bool = False) -> str:
    """Return the bill of a lock file as JSON.

    Args:
        path: of the lock file.
        locked: its packages.
        hubs: where the licences of their packages are looked up.
        offline: whether to use only cached data and no server.

    Raises:
        HubError: if the library is missing, or a hub cannot say what it knows.
    """
    _load_library()
    from cyclonedx.model.component import ComponentType

    answers = ask(hubs, locked, offline)
    for name, reasons in answers.unproved.items():
        if reasons:
            raise HubError(f"{name}: its licence cannot be looked up: {reasons[0]}")
    parts: dict[str, Component] = {}
    for package in locked:
        release = _hub_release(package, home(package, answers.known[package.name]))
        purl = _purl(package.name, canonical(package.version) or None, release.hub if release is not None else None)
        licence = release.licence if release is not None else ""
        parts.setdefault(str(purl), _component(package.name, purl.version, purl, sorted(package.digests), licence))
    root = _component(path.name, None, None, kind=ComponentType.APPLICATION)
    return _written(root, parts.values(), sha256(path.read_bytes()).hexdigest(), None)


def _hub_release(package: LockedPackage, own: KnownPackage | None) -> IndexedRelease | None:
    """Return the release that a locked package is; None if it is another file, of which the hub knows no licence."""
    release = own.releases.get(canonical(package.version)) if own is not None else None
    return release if release is not None and package.is_file(release.url, release.sha256) else None


def _load_library() -> None:
    try:
        import cyclonedx.model  # noqa: F401
    except ImportError as error:
        raise HubError(
            "a bill of materials needs cyclonedx-python-lib; run: pip install 'gem-hub-client[sbom]'"
        ) from error


def _component(
    name: str,
    version: str | None,
    purl: PackageURL | None,
    digests: Sequence[str] = (),
    licence: str = "",
    *,
    description: str = "",
    author: str = "",
    references: Iterable[ExternalReference] = (),
    kind: Any = None,
) -> Component:
    from cyclonedx.contrib.license.factories import LicenseFactory
    from cyclonedx.model import HashAlgorithm, HashType, Property
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.contact import OrganizationalContact

    # A component has one content; where any of several files may be installed, none of them is its hash.
    hashes = [HashType(alg=HashAlgorithm.SHA_256, content=digests[0])] if len(digests) == 1 else []
    return Component(
        name=name,
        version=version,
        type=kind or ComponentType.LIBRARY,
        bom_ref=str(purl) if purl is not None else name,
        purl=purl,
        hashes=hashes,
        licenses=[LicenseFactory().make_from_string(licence)] if licence else [],
        description=description or None,
        authors=[OrganizationalContact(name=author)] if author else [],
        external_references=references,
        properties=[Property(name="gem:sha256", value=digest) for digest in digests] if len(digests) > 1 else [],
    )


def _purl(name: str, version: str | None, hub: Hub | None) -> PackageURL:
    """Return the package URL; packages of a hub of one's own have its address in it, because names differ by index."""
    from packageurl import PackageURL

    own = hub is not None and hub.remote and hub.name != OFFICIAL
    qualifiers = {"repository_url": f"{hub.location}simple/"} if own and hub is not None else None
    return PackageURL("pypi", None, name, version, qualifiers)


def _origin(requirement: Requirement, release: IndexedRelease) -> Hub | None:
    return release.hub if canonicalize_name(requirement.name) in release.hub_requires else None


def _references(release: IndexedRelease, entry: Mapping[str, Any]) -> list[ExternalReference]:
    from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri

    found = [
        ExternalReference(type=ExternalReferenceType.WEBSITE, url=XsUri(address), comment=label)
        for label, address in sorted(entry["project_urls"].items())
        if _WEB.fullmatch(address)
    ]
    if _WEB.fullmatch(release.url):
        hashes = [HashType(alg=HashAlgorithm.SHA_256, content=release.sha256)]
        found.append(ExternalReference(type=ExternalReferenceType.DISTRIBUTION, url=XsUri(release.url), hashes=hashes))
    return found


def _written(root: Component, parts: Iterable[Component], seed: str, moment: datetime | None) -> str:
    from cyclonedx.model.bom import Bom, BomMetaData
    from cyclonedx.model.tool import ToolRepository
    from cyclonedx.output.json import JsonV1Dot6

    tool = _component("gem-hub-client", __version__, _purl("gem-hub-client", __version__, None))
    metadata = BomMetaData(component=root, tools=ToolRepository(components=[tool]), timestamp=moment)
    bom: Bom = Bom(components=parts, metadata=metadata, serial_number=uuid5(NAMESPACE_URL, seed))
    bom.register_dependency(root, bom.components)
    return JsonV1Dot6(bom).output_as_string(indent=2)
