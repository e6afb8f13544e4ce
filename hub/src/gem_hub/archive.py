"""Strict reading of zip files, so that every reader sees the same files.

Installers disagree on unusual archives: on which of two equal names counts, on whether the local header of a file
or the central directory is right, on data between the files. An attacker shows one content to the reviewer and
another to the installer (as in CVE-2025-54368). So this reader accepts an archive only if it leaves nothing to
disagree on: its files fill the space up to the central directory without gaps, the directory ends with the end
record at the last byte, and each local header says what the directory says. The layout is that of the zip
specification (APPNOTE 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16).
"""

from __future__ import annotations

import hashlib
import stat
import struct
import unicodedata
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from gem_hub.refusal import GateFindings

__all__ = ["Archive", "ArchiveLimits", "Entry", "read_archive"]

_END = struct.Struct("<4s4H2LH")
_DIRECTORY = struct.Struct("<4s4B4HL2L5H2L")
_LOCAL = struct.Struct("<4s2B4HL2L2H")

_STORED, _DEFLATED = 0, 8
_FLAGS = {
    0x0001: "is encrypted",
    0x0008: "has its sizes behind its content (a data descriptor)",
    0x0020: "is a patch of another file",
    0x0040: "is encrypted",
    0x2000: "has a masked header",
}
_ALLOWED_FLAGS = 0x0806
"""Names in UTF-8, and the compression level."""

_HARMLESS_EXTRAS = {0x000A, 0x5455, 0x5855, 0x7855, 0x7875}
"""Times and owners. Other fields change a file's name or sizes."""

_WINDOWS_DEVICES = {
    "con",
    "prn",
    "aux",
    "nul",
    "conin$",
    "conout$",
    "clock$",
    *(f"{port}{n}" for port in ("com", "lpt") for n in range(10)),
}
_CHUNK = 1 << 20
_PACKED_CHUNK = 1 << 16


@dataclass(frozen=True)
class ArchiveLimits:
    """The size limits of an archive."""

    file_bytes: int = 100 * 2**20
    content_bytes: int = 400 * 2**20
    """The total unpacked size in bytes."""
    entries: int = 20_000
    ratio: int = 200
    """The largest compression ratio of files over a megabyte."""
    name_bytes: int = 240
    """The longest path; Windows stops at 260 characters, including the parent folder."""


@dataclass(frozen=True)
class Entry:
    """A file in an archive, described consistently by both headers."""

    name: str
    size: int
    packed_size: int
    crc: int
    method: int
    mode: int
    """The Unix mode; 0 if the archive was not created on Unix."""
    offset: int
    """Of its content."""

    @property
    def is_folder(self) -> bool:
        return self.name.endswith("/")

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.name.rstrip("/").split("/"))


@dataclass(frozen=True)
class Archive:
    """An archive that all readers interpret alike."""

    content: bytes
    entries: dict[str, Entry]
    """Path → file, without folders."""

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 (hex) of the archive itself."""
        return hashlib.sha256(self.content).hexdigest()

    @cached_property
    def digests(self) -> dict[str, bytes]:
        """Path → SHA-256. :func:`read_archive` has verified sizes and checksums."""
        return {name: self.digest(name, "sha256") for name in self.entries}

    def digest(self, name: str, algorithm: str) -> bytes:
        """Return the digest of a file's content."""
        digest = hashlib.new(algorithm)
        for chunk in _unpacked(self.content, self.entries[name]):
            digest.update(chunk)
        return digest.digest()

    def read(self, name: str, limit: int = 2**62) -> bytes:
        """Return the content of a file, or its first ``limit`` bytes."""
        parts, length = [], 0
        for chunk in _unpacked(self.content, self.entries[name]):
            parts.append(chunk[: limit - length])
            length += len(parts[-1])
            if length == limit:
                break
        return b"".join(parts)


class _BrokenError(Exception):
    """The archive cannot be parsed any further."""

    def __init__(self, code: str, where: str, message: str) -> None:
        super().__init__(message)
        self.reason = (code, where, message)


def read_archive(
    content: bytes, findings: GateFindings, limits: ArchiveLimits = ArchiveLimits()
) -> Archive | None:  # frozen
    """Return an archive if every file in it can be read in only one way. Writes nothing.

    Args:
        content: the bytes of the zip file.
        findings: collects the problems.
        limits: the size limits.

    Returns:
        The archive, or None if it has a problem.
    """
    before = len(findings.refusals)
    try:
        entries = _entries(content, findings, limits)
        _check_names(entries, findings, limits)
        _check_sizes(entries, findings, limits)
        if len(findings.refusals) == before:
            _check_contents(content, entries, findings)
    except _BrokenError as broken:
        findings.refuse(*broken.reason)
    if len(findings.refusals) > before:
        return None
    return Archive(content, {entry.name: entry for entry in entries if not entry.is_folder})


def _entries(content: bytes, findings: GateFindings, limits: ArchiveLimits) -> list[Entry]:
    count, size, start = _end_record(content)
    if count > limits.entries:
        raise _BrokenError(
            "zip.count", "", f"has {count} files, and {limits.entries} are the most; pack data into fewer files"
        )
    directory_end = len(content) - _END.size
    if start + size != directory_end:
        raise _BrokenError(
            "zip.layout", "", "its directory does not end where its end record begins; rebuild the wheel"
        )
    entries, spans, position = [], [], start
    for _ in range(count):
        entry, header_offset, position = _entry(content, position, directory_end, findings)
        entries.append(entry)
        spans.append((header_offset, entry.offset + entry.packed_size, entry.name))
    if position != directory_end:
        raise _BrokenError("zip.layout", "", "its directory has more in it than it counts; rebuild the wheel")
    spans.sort()
    for (_, end, _), (begin, _, name) in pairwise([(0, 0, ""), *spans, (start, start, "the directory")]):
        if begin != end:
            what = "overlaps what stands before it" if begin < end else "has unlisted bytes before it"
            raise _BrokenError("zip.layout", name, f"{what}, at byte {begin}; rebuild the wheel")
    return entries


def _end_record(content: bytes) -> tuple[int, int, int]:
    """Return the number of files, and the size and the offset of the directory."""
    if len(content) < _END.size:
        raise _BrokenError("zip.broken", "", f"is no zip file: it has {len(content)} bytes; rebuild the wheel")
    signature, disk, first_disk, here, count, size, start, comment = _END.unpack(content[-_END.size :])
    if signature != b"PK\5\6" or comment:
        raise _BrokenError(
            "zip.broken", "", "does not end with the end record of a zip file: it is cut off, or something follows it"
        )
    if (
        content[-_END.size - 20 : -_END.size].startswith(b"PK\6\7")
        or 0xFFFF in (here, count)
        or 0xFFFFFFFF in (size, start)
    ):
        raise _BrokenError(
            "zip.zip64", "", "is a zip64 archive, which no wheel of allowed size needs; build it without"
        )
    if disk or first_disk or here != count:
        raise _BrokenError("zip.broken", "", "is one part of a divided archive; rebuild the wheel")
    return count, size, start


def _entry(content: bytes, position: int, end: int, findings: GateFindings) -> tuple[Entry, int, int]:
    """Return the directory entry at ``position``, the offset of its local header, and the next position."""
    if position + _DIRECTORY.size > end:
        raise _BrokenError("zip.broken", "", "its directory is cut off; rebuild the wheel")
    (signature, _, _, needed, _, flags, method, _, _, crc, packed, size, name_length, extra_length, comment_length,
     disk, _, attributes, header) = _DIRECTORY.unpack_from(content, position)  # fmt: skip
    names = position + _DIRECTORY.size
    following = names + name_length + extra_length + comment_length
    if signature != b"PK\1\2" or following > end:
        raise _BrokenError("zip.broken", "", f"its directory is damaged at byte {position}; rebuild the wheel")
    raw_name = content[names : names + name_length]
    name = _decoded(raw_name, flags, findings)
    extra = content[names + name_length : names + name_length + extra_length]
    if disk or comment_length:
        findings.refuse("zip.layout", name, "has a comment, or lies on another disk; rebuild the wheel")
    for bit, meaning in _FLAGS.items():
        if flags & bit:
            findings.refuse("zip.flags", name, f"{meaning}, which installers read differently; rebuild the wheel")
    if flags & ~(_ALLOWED_FLAGS | sum(set(_FLAGS))):
        findings.refuse("zip.flags", name, f"has unknown flags (0x{flags:04x}); rebuild the wheel")
    if method not in (_STORED, _DEFLATED) or needed > 20:
        findings.refuse(
            "zip.method", name, f"is packed by method {method} of zip {needed / 10}; wheels are stored or deflated"
        )
    if 0xFFFFFFFF in (packed, size, header):
        raise _BrokenError("zip.zip64", name, "has zip64 sizes, which no wheel of allowed size needs; build it without")
    if method == _STORED and packed != size:
        findings.refuse("zip.sizes", name, f"is stored, but has {packed} bytes for {size}; rebuild the wheel")
    if header + _LOCAL.size > end:
        raise _BrokenError("zip.broken", name, "has its header outside the archive; rebuild the wheel")
    (local_signature, local_needed, _, local_flags, local_method, _, _, local_crc, local_packed, local_size,
     local_name_length, local_extra_length) = _LOCAL.unpack_from(content, header)  # fmt: skip
    if local_signature != b"PK\3\4":
        raise _BrokenError("zip.broken", name, "has no header where the directory says; rebuild the wheel")
    local_names = header + _LOCAL.size
    offset = local_names + local_name_length + local_extra_length
    local_name = content[local_names : local_names + local_name_length]
    local = (local_needed, local_flags, local_method, local_crc, local_packed, local_size, local_name)
    if local != (needed, flags, method, crc, packed, size, raw_name):
        findings.refuse(
            "zip.confusion",
            name,
            "is described differently by its own header and by the directory; rebuild the wheel",
        )
    for part in (extra, content[local_names + local_name_length : offset]):
        _check_extra(part, name, findings)
    entry = Entry(name, size, packed, crc, method, attributes >> 16, offset)
    return entry, header, following


def _decoded(raw: bytes, flags: int, findings: GateFindings) -> str:
    try:
        name = raw.decode("utf-8" if flags & 0x0800 else "ascii")
    except UnicodeDecodeError:
        name = raw.decode("utf-8", "backslashreplace")
        findings.refuse("zip.name", name, "has a name that is neither ASCII nor marked as UTF-8; rename the file")
    return name


def _check_extra(extra: bytes, name: str, findings: GateFindings) -> None:
    position = 0
    while position < len(extra):
        if position + 4 > len(extra):
            break
        kind, length = struct.unpack_from("<HH", extra, position)
        position += 4 + length
        if kind not in _HARMLESS_EXTRAS:
            findings.refuse(
                "zip.extra", name, f"has an extra field (0x{kind:04x}) that changes what readers see; drop it"
            )
    if position != len(extra):
        findings.refuse("zip.extra", name, "has a damaged extra field; rebuild the wheel")


def _check_names(entries: list[Entry], findings: GateFindings, limits: ArchiveLimits) -> None:
    seen: dict[str, str] = {}
    for entry in entries:
        problem = _name_problem(entry, limits)
        if problem:
            findings.refuse("zip.path", entry.name, problem)
            continue
        key = entry.name.rstrip("/").casefold()
        if key in seen:
            equal = "is there twice" if seen[key] == entry.name else f"differs from {seen[key]} only in case"
            findings.refuse("zip.duplicate", entry.name, f"{equal}; installers keep either; leave one out")
        seen.setdefault(key, entry.name)
    files = {entry.name.casefold() for entry in entries if not entry.is_folder}
    for entry in entries:
        parents = ("/".join(entry.parts[:depth]) for depth in range(1, len(entry.parts)))
        above = next((parent for parent in parents if parent.casefold() in files), None)
        if above is not None:
            findings.refuse("zip.path", entry.name, f"lies in {above}, which is a file; leave one of them out")
        kind = stat.S_IFMT(entry.mode)
        if kind not in (0, stat.S_IFDIR if entry.is_folder else stat.S_IFREG):
            what = "a symbolic link" if kind == stat.S_IFLNK else f"no plain file (mode {entry.mode:o})"
            findings.refuse("zip.link", entry.name, f"is {what}; put the file itself into the wheel")
        elif entry.mode & (stat.S_ISUID | stat.S_ISGID):
            findings.refuse(
                "zip.mode", entry.name, f"would run as its owner (mode {entry.mode & 0o7777:o}); clear the bit"
            )
        if entry.is_folder and (entry.size or entry.packed_size):
            findings.refuse("zip.path", entry.name, "is a folder with content; rebuild the wheel")


def _name_problem(entry: Entry, limits: ArchiveLimits) -> str:
    """Return the problem of a path; empty if it has none."""
    name = entry.name
    if not name or name.startswith(("/", "\\")) or name[1:2] == ":":
        return "is an absolute path, or none; wheels hold relative ones"
    if "\\" in name or ":" in name or not name.isprintable() or set(name) & set('<>"|?*'):
        return "has a character in its name that Windows forbids or that cannot be shown; rename the file"
    if any(part in ("", ".", "..") for part in entry.parts):
        return "leads out of its folder, or has an empty part; write the path without '.' and '..'"
    if any(part != part.strip() or part.endswith(".") for part in entry.parts):
        return "has a part that begins or ends with a space or ends with a dot, which Windows drops; rename the file"
    stems = (unicodedata.normalize("NFKC", part.partition(".")[0]) for part in entry.parts)  # COM\u00b9 is COM1
    if any(stem.strip().casefold() in _WINDOWS_DEVICES for stem in stems):
        return "has the name of a device of Windows; rename the file"
    if name != unicodedata.normalize("NFC", name):
        return "has letters and accents apart, which systems join differently; rename the file"
    if len(name.encode()) > limits.name_bytes:
        return f"has a path of {len(name.encode())} bytes, and {limits.name_bytes} are the most; shorten it"
    return ""


def _check_sizes(entries: list[Entry], findings: GateFindings, limits: ArchiveLimits) -> None:
    total = sum(entry.size for entry in entries)
    if total > limits.content_bytes:
        findings.refuse(
            "zip.bomb",
            "",
            f"unpacks to {total / 2**20:,.0f} MiB, and {limits.content_bytes / 2**20:,.0f} are the most; "
            'let the environment fetch its data, and declare requires = ["dataset"]',
        )
    for entry in entries:
        if entry.size > 2**20 and entry.size > limits.ratio * max(1, entry.packed_size):
            findings.refuse(
                "zip.bomb",
                entry.name,
                f"unpacks {entry.packed_size} bytes to {entry.size}, more than {limits.ratio} times as many; "
                "make the data when it is needed instead",
            )


def _check_contents(content: bytes, entries: list[Entry], findings: GateFindings) -> None:
    for entry in entries:
        crc, size = 0, 0
        try:
            for chunk in _unpacked(content, entry):
                crc = zlib.crc32(chunk, crc)
                size += len(chunk)
        except zlib.error:
            size = -1
        if size != entry.size or crc != entry.crc:
            findings.refuse("zip.content", entry.name, "is damaged: size or checksum is wrong; rebuild the wheel")


def _unpacked(content: bytes, entry: Entry) -> Iterator[bytes]:
    """Yield the content of a file in pieces, at most one byte beyond its declared size.

    Raises:
        zlib.error: if the data is not a deflate stream of exactly the declared length.
    """
    view = memoryview(content)[entry.offset : entry.offset + entry.packed_size]
    if entry.method == _STORED:
        for begin in range(0, len(view), _CHUNK):
            yield bytes(view[begin : begin + _CHUNK])
        return
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    left = entry.size + 1
    for begin in range(0, len(view), _PACKED_CHUNK):
        if inflate.eof:
            raise zlib.error("ends before its place does")
        pending: memoryview | bytes = view[begin : begin + _PACKED_CHUNK]
        more = True
        while more and not inflate.eof:
            wanted = min(_CHUNK, left)
            chunk = inflate.decompress(pending, wanted)
            pending = inflate.unconsumed_tail
            more = bool(pending) or len(chunk) == wanted  # output may remain after all input was consumed
            left -= len(chunk)
            yield chunk
            if not left:
                raise zlib.error("is longer than it claims")
    if not inflate.eof or inflate.unused_data:
        raise zlib.error("is cut off, or ends before its place does")
