"""The parts of a wheel: its file name, ``METADATA``, ``WHEEL``, ``RECORD`` and ``entry_points.txt``.

All of it is read from the bytes of the file; nothing is written to disk, imported or run. The rules are those of the
binary distribution format and of core metadata (packaging.python.org/specifications), and where installers are known
to be laxer than these, the rules win: a wheel with a wrong digest in ``RECORD`` installs, and is refused here.
"""

from __future__ import annotations

import base64
import binascii
import csv
import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from packaging.metadata import Metadata, RawMetadata, parse_email
from packaging.requirements import InvalidRequirement, Requirement
from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from gem_hub.archive import Archive, ArchiveLimits, read_archive
from gem_hub.plain_lines import AmbiguousTextError, installed_reading, plain_lines, sections
from gem_hub.plain_lines import headers as read_headers
from gem_hub.records import NAME
from gem_hub.refusal import GateFindings

__all__ = ["Wheel", "read_wheel"]

_MOST_METADATA = 2**20
_MOST_HEADERS = 2**17
"""The largest size of METADATA without its description in bytes; some parsers need quadratic time."""
_MOST_RECORD = 8 * 2**20
_MOST_TAGS = 2**12
"""The largest size of the ``WHEEL`` file in bytes; a few compressed tags stand for many."""
_WHEEL_KEYS = ("Wheel-Version", "Generator", "Root-Is-Purelib", "Build")
_FILENAME = re.compile(r"[A-Za-z0-9_.!+]+(-[A-Za-z0-9_.!+]+)+\.whl")
_ALGORITHMS = ("sha256", "sha384", "sha512")
_INSTALLERS_FILES = {
    *("installer", "requested", "direct_url.json", "provenance_url.json", "record.jws", "record.p7s"),
    *("uv_build.json", "uv_cache.json"),
}
"""Files of a ``.dist-info`` folder by which installers remember what they did, in lower case."""


@dataclass(frozen=True)
class Wheel:
    """A wheel with readable parts; :mod:`gem_hub.gate` decides whether a hub accepts it."""

    filename: str
    archive: Archive
    name: str
    """Normalised (PEP 503)."""
    version: str
    info: str
    """The name of its ``.dist-info`` folder."""
    metadata: bytes
    """The ``METADATA`` file."""
    fields: RawMetadata
    requirements: tuple[Requirement, ...]
    entry_points: Mapping[str, Mapping[str, str]]
    """Group → name → value."""

    @property
    def top_level(self) -> tuple[str, ...]:
        """The files and folders at its top level except ``.dist-info``, sorted."""
        return tuple(sorted({name.partition("/")[0] for name in self.archive.entries} - {self.info}))

    def source_digest(self, import_name: str) -> str | None:
        """Return what :func:`gem.entry_points.source_digest` returns for the installed wheel; None without files."""
        top = import_name.partition(".")[0]
        paths = sorted(path.split("/")[1:] for path in self.archive.entries if path.startswith(f"{top}/"))
        digest = hashlib.sha256()
        for parts in paths:
            content = self.archive.read("/".join([top, *parts]))
            digest.update(f"{'/'.join(parts)}\0{len(content)}\0".encode())
            digest.update(content)
        return digest.hexdigest() if paths else None


def read_wheel(
    filename: str,
    content: bytes,
    findings: GateFindings,
    limits: ArchiveLimits = ArchiveLimits(),  # noqa: B008  # frozen
) -> Wheel | None:
    """Return a wheel, or None if too little of it is readable.

    Args:
        filename: the file name without a folder.
        content: the bytes of the file.
        findings: collects the problems.
        limits: the size limits of the archive.
    """
    named = _parse_filename(filename, findings)
    archive = read_archive(content, findings, limits)
    if named is None or archive is None:
        return None
    name, version, tags = named
    info = _find_info(archive, name, version, findings)
    if info is None:
        return None
    _check_wheel_file(archive, info, tags, findings)
    _check_record(archive, info, findings)
    entry_points = _read_entry_points(archive, info, findings)
    metadata = _info_file(archive, info, "METADATA", findings)
    if metadata is None:
        return None
    fields = _check_metadata(metadata, name, version, findings)
    return Wheel(
        filename, archive, name, str(version), info, metadata, fields, _requirements(fields, findings), entry_points
    )


def _parse_filename(filename: str, findings: GateFindings) -> tuple[str, Version, frozenset[Tag]] | None:
    if not filename.endswith(".whl"):
        message = "is no wheel, and to build a source would run its code; build one: hatch build -t wheel"
        findings.refuse("file.kind", filename, message)
        return None
    if len(filename) > 200 or _FILENAME.fullmatch(filename) is None:  # which also limits the number of tags
        message = "has other than letters, digits, '_', '.' and '-', or over 200; keep the name that the build gave it"
        findings.refuse("file.name", filename, message)
        return None
    try:
        name, version, build, tags = parse_wheel_filename(filename)
    except InvalidWheelFilename as error:
        findings.refuse("file.name", filename, f"{error}; keep the name that the build gave it")
        return None
    if len(name) > 64 or NAME.fullmatch(name) is None:
        findings.refuse(
            "name.form", filename, f"names a package {name!r}; at most 64 letters, digits and '-' are allowed"
        )
    _check_version(str(version), filename.split("-")[1].replace("_", "-"), filename, findings)
    if build:
        findings.refuse(
            "file.build", filename, "has a build number; a hub holds one wheel a version: raise the version"
        )
    if {(tag.abi, tag.platform) for tag in tags} != {("none", "any")}:
        findings.refuse(
            "file.tags",
            filename,
            "is for some platforms only; a hub holds one wheel a version, so it must be 'none-any'",
        )
    return name, version, tags


def _check_version(canonical: str, written: str, where: str, findings: GateFindings) -> None:
    if Version(canonical).local is not None:
        message = f"has the local version {canonical!r}; a hub takes public ones, such as {Version(canonical).public!r}"
        findings.refuse("version.local", where, message)
    elif canonical != written:
        findings.refuse("version.form", where, f"writes the version {written!r}; write it {canonical!r} (PEP 440)")


def _find_info(archive: Archive, name: str, version: Version, findings: GateFindings) -> str | None:
    folders = sorted({entry.partition("/")[0] for entry in archive.entries if ".dist-info/" in entry.casefold()})
    infos = [folder for folder in folders if folder.endswith(".dist-info")]
    if len(infos) != 1 or folders != infos:
        message = f"has {len(folders)} .dist-info folders at its top and needs just one; rebuild the wheel"
        findings.refuse("info.folder", ", ".join(folders[:4]), message)
        return None
    told_name, _, told_version = infos[0].removesuffix(".dist-info").rpartition("-")
    try:
        agrees = canonicalize_name(told_name) == name and Version(told_version) == version
    except InvalidVersion:
        agrees = False
    if not agrees:
        message = f"is not the folder of {name} {version}, which the file is named after; rebuild the wheel"
        findings.refuse("info.folder", infos[0], message)
    for path in archive.entries:
        folder, _, file = path.partition("/")
        if folder == infos[0] and file.casefold() in _INSTALLERS_FILES:
            findings.refuse("info.file", path, "is for installers to write; leave it out")
    return infos[0]


def _info_file(
    archive: Archive, info: str, file: str, findings: GateFindings, limit: int = _MOST_METADATA
) -> bytes | None:
    path = f"{info}/{file}"
    entry = archive.entries.get(path)
    if entry is None:
        findings.refuse("info.file", path, "is missing; rebuild the wheel")
        return None
    if entry.size > limit:
        findings.refuse("info.file", path, f"has {entry.size} bytes, and {limit} are the most; shorten it")
        return None
    return archive.read(path)


def _check_wheel_file(archive: Archive, info: str, tags: frozenset[Tag], findings: GateFindings) -> None:
    content = _info_file(archive, info, "WHEEL", findings, _MOST_TAGS)
    if content is None:
        return
    path = f"{info}/WHEEL"
    try:
        told_headers = list(read_headers(content))
    except AmbiguousTextError as error:
        findings.refuse("wheel.form", path, f"{error}; rebuild the wheel")
        return
    keys = [key for key, _ in told_headers if key != "Tag"]
    unknown = sorted({key for key in keys if key not in _WHEEL_KEYS or keys.count(key) > 1})
    if unknown or any("\n" in value for _, value in told_headers):
        message = f"has unknown, repeated or continued keys ({', '.join(unknown[:3])}); rebuild the wheel"
        findings.refuse("wheel.form", path, message)
        return
    headers = dict(told_headers)
    version = headers.get("Wheel-Version", "").strip()
    if not re.fullmatch(r"1\.\d{1,3}", version):
        findings.refuse(
            "wheel.version", path, f"is of wheel version {version[:20]!r}; build the wheel with version 1.0"
        )
    if headers.get("Root-Is-Purelib", "").strip().lower() != "true":
        findings.refuse(
            "wheel.purelib", path, "does not say Root-Is-Purelib: true; a package of environments is pure Python"
        )
    told = set()
    for line in (value for key, value in told_headers if key == "Tag"):
        interpreter, _, rest = line.strip().partition("-")
        abi, _, platform = rest.partition("-")
        told |= {Tag(one, a, p) for one in interpreter.split(".") for a in abi.split(".") for p in platform.split(".")}
    if told != tags:
        findings.refuse("wheel.tags", path, "has other tags than the file name; rebuild the wheel")


def _check_record(archive: Archive, info: str, findings: GateFindings) -> None:
    """Compare ``RECORD`` with the archive: each file once, with its digest and size, and nothing else."""
    path = f"{info}/RECORD"
    content = _info_file(archive, info, "RECORD", findings, _MOST_RECORD)
    if content is None:
        return
    try:
        lines = plain_lines(content)
        rows = list(csv.reader(lines[:-1] if lines[-1:] == [""] else lines, strict=True))
    except (AmbiguousTextError, csv.Error) as error:
        findings.refuse("record.form", path, f"cannot be read: {error}; rebuild the wheel")
        return
    listed: set[str] = set()
    for row in rows:
        if len(row) != 3:
            findings.refuse(
                "record.form", path, f"has a line of {len(row)} fields instead of 3: {','.join(row)[:60]!r}"
            )
            continue
        file, digest, size = row
        if file in listed:
            findings.refuse("record.twice", file, "is listed twice in RECORD; rebuild the wheel")
        elif file == path:
            if digest or size:
                findings.refuse("record.form", file, "must have neither digest nor size in RECORD itself")
        elif file not in archive.entries:
            findings.refuse("record.missing", file, "is listed in RECORD and not in the wheel; rebuild the wheel")
        else:
            _check_row(archive, file, digest, size, findings)
        listed.add(file)
    for file in archive.entries.keys() - listed:
        findings.refuse("record.unlisted", file, "is in the wheel and not listed in RECORD; rebuild the wheel")


def _check_row(archive: Archive, file: str, digest: str, size: str, findings: GateFindings) -> None:
    algorithm, _, encoded = digest.partition("=")
    if not digest:
        findings.refuse("record.no-hash", file, "has no digest in RECORD; rebuild the wheel")
        return
    if algorithm not in _ALGORITHMS:
        findings.refuse("record.hash", file, f"has a digest of kind {algorithm[:20]!r} in RECORD; use sha256")
        return
    actual = archive.digests[file] if algorithm == "sha256" else archive.digest(file, algorithm)
    try:
        told = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
    except (binascii.Error, ValueError):
        told = b""
    if told != actual or base64.urlsafe_b64encode(told).rstrip(b"=").decode() != encoded:
        findings.refuse("record.hash", file, "is not what RECORD has the digest of; it was changed: rebuild the wheel")
    if size != str(archive.entries[file].size):
        findings.refuse(
            "record.size",
            file,
            f"has {archive.entries[file].size} bytes, and RECORD says {size[:20]!r}; rebuild the wheel",
        )


def _read_entry_points(archive: Archive, info: str, findings: GateFindings) -> Mapping[str, Mapping[str, str]]:
    path = f"{info}/entry_points.txt"
    if path not in archive.entries:
        return {}
    content = _info_file(archive, info, "entry_points.txt", findings)
    try:
        return sections(content or b"")
    except AmbiguousTextError as error:
        findings.refuse("entry.form", path, f"{error}; the build makes it from pyproject.toml")
        return {}


def _check_metadata(metadata: bytes, name: str, version: Version, findings: GateFindings) -> RawMetadata:
    headers = len(metadata.replace(b"\r\n", b"\n").partition(b"\n\n")[0])
    if headers > _MOST_HEADERS:
        message = f"has {headers} bytes of fields, and {_MOST_HEADERS} are the most; move text into the description"
        findings.refuse("metadata.field", "METADATA", message)
        return {}
    fields, unparsed = parse_email(metadata)
    try:
        differing = _differences(metadata, [key for key, _ in read_headers(metadata)], fields)
    except (AmbiguousTextError, UnicodeDecodeError) as error:
        findings.refuse("metadata.form", "METADATA", str(error))
    else:
        if differing:
            message = f"means something else to importlib.metadata in {', '.join(differing)}; correct pyproject.toml"
            findings.refuse("metadata.form", "METADATA", message)
    for key in sorted(unparsed):
        findings.refuse(
            "metadata.field", f"METADATA, {key}", "is unknown, stands there twice or is no text; correct it"
        )
    for message in _invalid(fields):
        findings.refuse("metadata.field", "METADATA", message)
    if canonicalize_name(fields.get("name", "")) != name:
        message = f"says the name is {fields.get('name')!r}, and the file says {name!r}; rebuild the wheel"
        findings.refuse("metadata.name", "METADATA", message)
    told = fields.get("version", "")
    try:
        if Version(told) != version:
            message = f"says the version is {told!r}, and the file says {str(version)!r}; rebuild the wheel"
            findings.refuse("metadata.version", "METADATA", message)
        else:
            _check_version(str(Version(told)), told, "METADATA", findings)
    except InvalidVersion:
        findings.refuse("metadata.version", "METADATA", f"has {told[:40]!r} for a version; write one of PEP 440")
    return fields


def _differences(metadata: bytes, keys: list[str], fields: RawMetadata) -> list[str]:
    """Return the keys that installers read differently from the gate."""
    read = installed_reading({"METADATA": metadata}).metadata
    ours: dict[str, list[str | None] | list[str]] = {
        "Name": [fields.get("name")],
        "Version": [fields.get("version")],
        "Requires-Python": [fields.get("requires_python")],
        "Requires-Dist": fields.get("requires_dist", []),
        "Provides-Extra": fields.get("provides_extra", []),
    }
    differing = [
        key
        for key, values in ours.items()
        if [line.strip() for line in read.get_all(key) or ()] != [value for value in values if value is not None]
    ]
    read_keys = sorted(key.lower() for key in read if key != "Description")
    other = sorted(key.lower() for key in keys if key.lower() != "description") != read_keys
    return [*differing, *(["its keys"] if other else [])]


def _invalid(fields: RawMetadata) -> Iterator[str]:
    """Yield violations of the specification of core metadata."""
    try:
        Metadata.from_raw(fields, validate=True)
    except Exception as group:  # an ExceptionGroup of packaging before Python 3.11
        for error in getattr(group, "exceptions", [group]):
            yield f"{' '.join(str(error).split())[:300]}; correct pyproject.toml"


def _requirements(fields: RawMetadata, findings: GateFindings) -> tuple[Requirement, ...]:
    found = []
    for line in fields.get("requires_dist", []):
        try:
            found.append(Requirement(line))
        except (InvalidRequirement, RecursionError):
            findings.refuse(
                "metadata.requires", f"Requires-Dist: {line[:80]}", "is no requirement (PEP 508); correct it"
            )
    return tuple(found)
