"""Checks one package of a hub: its page, its installers' pages, its wheels and their metadata."""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
from email.parser import HeaderParser
from typing import TYPE_CHECKING, Any, BinaryIO

from packaging.version import Version

from gem_hub_client.config import Hub
from gem_hub_client.errors import HubError
from gem_hub_client.names import page_path
from gem_hub_client.pages import PAGE_LIMIT, VerifiedPage, page_contradictions
from gem_hub_client.releases import IndexedRelease, file_path, read_release
from gem_hub_client.results.listed import EVENT_LIMIT, read_results
from gem_hub_client.sanitize import sanitize
from gem_hub_client.simple import JSON_TYPE, UNSAID_IN_HTML, Link, SimplePage, kind_of, read_html, read_json
from gem_hub_client.transport import WebSource
from gem_hub_client.trust.statements import contradiction, counts_of, read_statement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gem_hub_client.trust.records import RecordLog

__all__ = ["ServedHub", "check_package"]

_METADATA_LIMIT = 4_000_000
"""The largest size of a wheel's ``METADATA`` in bytes."""
_ACCEPT = f"{JSON_TYPE}, application/vnd.pypi.simple.v1+html;q=0.1, text/html;q=0.01"
"""pip's Accept header."""


class ServedHub:
    """The files that a hub serves, read one by one, and the problems found in them."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.source = hub.source
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.files = 0
        self.size = 0
        self.keys: Mapping[str, bytes] | None = None
        """The keys that sign the hub's changes: key id → public key; None for a hub that is not signed."""

    def name(self, path: str) -> str:
        """Return the name of a file in messages."""
        return f"{self.hub.location.rstrip('/')}/{path}"

    def problem(self, path: str, message: str) -> None:
        self.problems.append(sanitize(f"{self.name(path)}: {message}"))

    def read(self, path: str, limit: int) -> bytes | None:
        """Return a file of at most ``limit`` bytes; None, and a problem, if it cannot be read."""
        try:
            content = self.source.read(path, limit).content or b""
        except HubError as error:
            self.problems.append(sanitize(str(error)))
            return None
        self._count(len(content))
        return content

    def copy(self, path: str, target: BinaryIO, size: int) -> bool:
        """Write a file into ``target``; False, and a problem, if it cannot be read."""
        try:
            self.source.copy(path, target, size, lambda length: None)
        except HubError as error:
            self.problems.append(sanitize(str(error)))
            return False
        self._count(target.tell())
        return True

    def negotiated(self, path: str) -> tuple[str, bytes] | None:
        """Return the Content-Type and content that an installer gets; None, and a problem, if it gets none."""
        try:
            return WebSource(self.hub.location).negotiate(path, _ACCEPT, PAGE_LIMIT)
        except HubError as error:
            self.problems.append(sanitize(f"{error}; installers get no answer"))
            return None

    def content_type(self, path: str) -> str:
        """Return the Content-Type of a file; empty if it cannot be had."""
        try:
            return WebSource(self.hub.location).content_type(path)
        except HubError:
            return ""

    def _count(self, size: int) -> None:
        self.files += 1
        self.size += size


def check_package(served: ServedHub, line: dict[str, Any], serial: int, log: RecordLog | None) -> set[str]:
    """Check everything about one package.

    Args:
        served: the hub; the function adds to its problems.
        line: the catalogue's on the package.
        serial: of the hub.
        log: that of a signed hub, in which the record of each release must stand.

    Returns:
        The paths of its files in the hub, relative to it.
    """
    path = page_path(line["name"])
    content = served.read(path, PAGE_LIMIT)
    if content is None:
        return set()
    found, promised = hashlib.sha256(content).hexdigest(), line.get("page_sha256")
    if found != promised:
        served.problem(path, f"has sha256 {found}, and the catalogue promises {promised!r}")
    try:
        return _check(served, path, json.loads(content), line, serial, log)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        served.problem(path, f"cannot be used: {error!r}")
        return set()


def _check(
    served: ServedHub, path: str, page: dict[str, Any], line: dict[str, Any], serial: int, log: RecordLog | None
) -> set[str]:
    for difference in page_contradictions(page, line):
        served.problem(path, difference)
    if not 0 < page["serial"] <= serial:
        served.problem(path, f"has serial {page['serial']}, and the hub {serial}")
    versions = [entry["version"] for entry in page["releases"]]
    if versions != sorted(versions, key=Version, reverse=True):
        served.problem(path, "does not list the newest release first")
    _check_statements(served, path, page)
    _check_results(served, VerifiedPage(served.hub, line, page, ""), log)
    quarantined = page["status"] == "quarantined"
    releases: list[tuple[IndexedRelease, dict[str, Any]]] = []
    for entry in page["releases"]:
        try:
            releases.append((read_release(served.hub, page["name"], entry), entry))
        except HubError as error:
            served.problem(path, str(error))
    released = [(release, entry) for release, entry in releases if not release.source]
    if not served.hub.embedded:
        _check_simple(served, page, [entry for _, entry in released], quarantined)
    paths: set[str] = set()
    for release, entry in released:
        if quarantined and entry["url"]:
            served.problem(path, f"gives an address for {release}, and the package is quarantined")
        if log is not None:
            try:
                log.check(release.name, entry["version"], release.sha256)
            except HubError as error:
                served.problems.append(sanitize(str(error)))
        stem = file_path(release.sha256, release.filename)
        if quarantined:
            continue  # its files must be gone
        paths |= {stem, f"{stem}.metadata"} if entry["mode"] == "host" else {f"{stem}.metadata"}
        if not served.hub.embedded:
            _check_file(served, path, release, entry, stem)
    return paths


def _check_statements(served: ServedHub, path: str, page: dict[str, Any]) -> None:
    """Check what the hub has signed about its runs of the conformance kit."""
    replaced = 0
    for entry in page["releases"]:
        statements = entry.get("conformance_statements") or []
        for envelope, record in zip(statements, entry["conformance"], strict=True) if statements else ():
            if envelope is None:
                continue
            if served.keys is None:
                served.problem(path, f"has a signed statement on {entry['version']}, and the hub has no keys")
                continue
            if not {one.get("keyid") for one in envelope["signatures"]} & set(served.keys):
                replaced += 1
                continue
            try:
                problem = contradiction(read_statement(envelope, served.keys), entry["sha256"], counts_of(record))
            except HubError as error:
                problem = str(error)
            if problem:
                served.problem(path, f"{entry['version']}: the statement on conformance: {problem}")
    if replaced:
        served.notes.append(
            f"{page['name']}: {replaced} statements on conformance are signed with a key that the hub has replaced "
            "since; its operator can run: gem hub check --outdated"
        )


def _check_results(served: ServedHub, found: VerifiedPage, log: RecordLog | None) -> None:
    """Check that each result is the one that the page promises, signed by its publisher, and in the log."""
    try:
        for _ in read_results(found):
            pass
        for path in (entry["path"] for entry in found.page.get("results", ())):
            content = served.read(path, EVENT_LIMIT)
            # A package without a release has its results beside its page, and no events.
            if log is not None and content is not None and path.startswith("events/"):
                log.check_event(path, content)
    except HubError as error:
        served.problems.append(sanitize(str(error)))


def _check_simple(served: ServedHub, page: dict[str, Any], entries: list[dict[str, Any]], quarantined: bool) -> None:
    """Compare the installers' pages with the page in ``envs/``."""
    folder = f"simple/{page['name']}/"
    for file, read in (("index.html", read_html), ("index.json", read_json)):
        content = served.read(folder + file, PAGE_LIMIT)
        if content is not None:
            _compare(served, folder + file, _parsed(served, folder + file, content, read), page, entries, quarantined)
    if not served.hub.remote:
        return
    # Installers ask for the folder, and take what they get by its type alone.
    answer = served.negotiated(folder)
    if answer is not None:
        kind = kind_of(answer[0])
        if not kind:
            served.problem(folder, f"is sent as {answer[0] or 'nothing'!r}, which installers refuse")
        else:
            parsed = _parsed(served, folder, answer[1], read_html if kind == "html" else read_json)
            _compare(served, folder, parsed, page, entries, quarantined)
    if not served.notes:
        own_type = served.content_type(f"{folder}index.json")
        if own_type and kind_of(own_type) != "json":
            served.notes.append(
                f"the server sends simple/*/index.json as {own_type.partition(';')[0]!r}, which installers refuse; "
                "they get on with HTML, without upload times"
            )


def _parsed(served: ServedHub, path: str, content: bytes, read: Any) -> SimplePage | None:
    try:
        page: SimplePage = read(content)
    except ValueError as error:
        served.problem(path, f"cannot be read as installers read it: {error}")
        return None
    return page


def _compare(
    served: ServedHub,
    path: str,
    simple: SimplePage | None,
    page: dict[str, Any],
    entries: list[dict[str, Any]],
    quarantined: bool,
) -> None:
    if simple is None:
        return
    if simple.status != page["status"]:
        served.problem(path, f"has the status {simple.status!r}, and envs/ has {page['status']!r}")
    if simple.name and simple.name != page["name"]:
        served.problem(path, f"is about {simple.name!r}")
    expected = {} if quarantined else {entry["filename"]: _expected(entry) for entry in entries}
    if len(simple.links) != len({link.filename for link in simple.links}):
        served.problem(path, "lists one file twice")
    for link in simple.links:
        if quarantined:
            served.problem(path, f"lists {link.filename!r}, and the package is quarantined: installers would take it")
        elif link.filename not in expected:
            served.problem(path, f"lists {link.filename!r}, which envs/ does not have")
        else:
            for key, value in vars(expected.pop(link.filename)).items():
                found = getattr(link, key)
                unsaid = found is None and key in UNSAID_IN_HTML
                if found != value and not unsaid:
                    served.problem(path, f"has for {link.filename} {key} {found!r}, and envs/ has {value!r}")
    for filename in expected:
        served.problem(path, f"lacks {filename!r}, which envs/ has")


def _expected(entry: dict[str, Any]) -> Link:
    return Link(
        filename=entry["filename"],
        url=entry["url"],
        sha256=entry["sha256"],
        requires_python=entry.get("requires_python") or "",
        yanked=entry.get("yanked"),
        metadata_sha256=entry["metadata_sha256"] if entry["mode"] == "host" else "",
        size=entry["size"],
        published=entry["published"],
    )


def _check_file(served: ServedHub, path: str, release: IndexedRelease, entry: dict[str, Any], stem: str) -> None:
    """Check a wheel that lies in the hub, and the metadata beside it; a linked one has neither here."""
    if entry["mode"] != "host":
        return
    beside = served.read(f"{stem}.metadata", _METADATA_LIMIT)
    if beside is not None and hashlib.sha256(beside).hexdigest() != entry["metadata_sha256"]:
        served.problem(f"{stem}.metadata", f"has not the sha256 that {path} says: {entry['metadata_sha256']}")
    if beside is not None:
        _check_headers(served, f"{stem}.metadata", beside, release, entry)
    with tempfile.TemporaryFile() as file:
        if not served.copy(stem, file, release.size):
            return
        size = file.tell()
        file.seek(0)
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
        if size != release.size or digest.hexdigest() != release.sha256:
            served.problem(
                stem,
                f"is not what {path} promises: expected {release.size:,} bytes with sha256 {release.sha256}, found "
                f"{'more' if size > release.size else f'{size:,}'} bytes with sha256 {digest.hexdigest()}",
            )
            return
        try:
            inside = _metadata_of(file, release)
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, RuntimeError) as error:
            served.problem(stem, f"its metadata cannot be read: {error}")
            return
    if beside is not None and inside != beside:
        served.problem(f"{stem}.metadata", "is not the METADATA inside the wheel, and installers would believe it")


def _metadata_of(file: Any, release: IndexedRelease) -> bytes:
    with zipfile.ZipFile(file) as archive:
        found = [item for item in archive.infolist() if item.filename.count("/") == 1]
        found = [item for item in found if item.filename.endswith(".dist-info/METADATA")]
        if len(found) != 1 or found[0].file_size > _METADATA_LIMIT:
            raise ValueError(f"the wheel of {release} has {len(found)} METADATA, or it is too large")
        with archive.open(found[0]) as entry:
            return entry.read(_METADATA_LIMIT)


def _check_headers(
    served: ServedHub, path: str, metadata: bytes, release: IndexedRelease, entry: dict[str, Any]
) -> None:
    """Compare what installers decide by with what the page says."""
    headers = HeaderParser().parsestr(metadata.decode("utf-8", "replace"))
    said = {
        "version": [entry["version"]],
        "requires_dist": sorted(entry.get("requires_dist") or []),
        "requires_python": [entry["requires_python"]] if entry.get("requires_python") else [],
    }
    found = {
        "version": [str(Version(value)) for value in headers.get_all("Version", [])],
        "requires_dist": sorted(headers.get_all("Requires-Dist", [])),
        "requires_python": headers.get_all("Requires-Python", []),
    }
    for key, value in said.items():
        if found[key] != value:
            served.problem(path, f"has {key} {found[key]}, and envs/ has {value}")
