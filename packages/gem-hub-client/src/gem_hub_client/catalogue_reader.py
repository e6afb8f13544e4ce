"""Reads the lines of a catalogue file with limits and checks."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

from gem_hub_client.errors import HubError
from gem_hub_client.ids import is_id
from gem_hub_client.names import is_name
from gem_hub_client.sanitize import sanitize

__all__ = ["read_lines"]

_LONGEST_LINE = 2_000_000
"""The largest line in bytes; a usual line has 500, a package with a thousand environments 300,000."""
_RATIO = 100
"""The largest compression ratio; catalogues have 4 to 10, a bomb 1,000."""
_ALWAYS_FINE = 1_000_000
"""The unpacked size in bytes that every file may have."""
_BLOCK = 1 << 16

_TEXTS = ("version", "summary", "requires_python", "requires_gem_core", "licence", "published", "status", "reason")
_LISTS_OF_TEXT = ("tags", "requires", "variants", "modality")
_ONLY_TEXTS = frozenset((str,))


def read_lines(file: BinaryIO, size: int, name: str) -> Iterator[dict[str, Any]]:
    """Return the checked lines of a gzipped catalogue file whose digest was checked before.

    Args:
        file: the compressed file.
        size: its bytes.
        name: what to call it in messages.

    Raises:
        HubError: if it is no gzip, unpacks to more than it should, or a line is not what it must be.
    """
    for number, text in enumerate(_split(_unpack(file, max(size * _RATIO, _ALWAYS_FINE), name), name), 1):
        try:
            line = json.loads(text)
            _check(line)
        except (ValueError, TypeError, RecursionError) as error:
            raise HubError(f"{name}: line {number} cannot be used: {sanitize(str(error))[:300]}") from error
        yield line


def _unpack(file: BinaryIO, limit: int, name: str) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    total = 0
    try:
        while (block := file.read(_BLOCK)) and not unpacker.eof:
            while block:
                # Bounded, or one block of a bomb would take 64 MB.
                yield (unpacked := unpacker.decompress(block, _BLOCK))
                total += len(unpacked)
                if total > limit:
                    raise HubError(
                        f"{name}: unpacks to more than {limit:,} bytes, which no catalogue does; nothing of it was used"
                    )
                block = unpacker.unconsumed_tail
    except zlib.error as error:
        raise HubError(f"{name}: is no gzip file: {error}") from error
    if not unpacker.eof or unpacker.unused_data:
        raise HubError(f"{name}: is no single, whole gzip file")


def _split(blocks: Iterator[bytes], name: str) -> Iterator[bytes]:
    rest = b""
    for block in blocks:
        *whole, rest = (rest + block).split(b"\n")
        yield from filter(None, whole)
        if len(rest) > _LONGEST_LINE:
            raise HubError(f"{name}: a line is longer than {_LONGEST_LINE:,} bytes")
    if rest:
        yield rest


def _check(line: Any) -> None:
    """Raise ValueError or TypeError unless a line has the types that search relies on.

    What it may rely on is all that is checked; a later hub may say more. Environments whose ids this client cannot
    read are left out.
    """
    if not isinstance(line, dict) or not is_name(line.get("name")):
        raise ValueError(f"{line.get('name') if isinstance(line, dict) else line!r} is no package's name")
    if not isinstance(line.setdefault("yanked", {}), dict):
        raise TypeError("'yanked' must be an object")
    if line.get("removed"):
        return
    if not isinstance(line.get("version"), str):
        raise TypeError("'version' must be a text")
    for key in _TEXTS:
        if not isinstance(line.setdefault(key, ""), str):
            # null stands for "not said" where a package's metadata has no such field
            if line[key] is not None:
                raise TypeError(f"{key!r} must be a text")
            line[key] = ""
    environments = line.setdefault("environments", [])
    if not isinstance(environments, list) or not all(isinstance(entry, dict) for entry in environments):
        raise TypeError("'environments' must be a list of objects")
    _check_lists(line)
    for environment in environments:
        _check_lists(environment)
        for key in ("description", "turns"):
            if not isinstance(environment.setdefault(key, ""), str):
                raise TypeError(f"{key!r} must be a text")
    line["environments"] = [environment for environment in environments if is_id(environment.get("id"))]
    conformance = line.setdefault("conformance", None)
    counts = ("holds", "violated", "not_tested")
    if conformance is not None and not all(type(conformance[key]) is int for key in counts if key in conformance):
        raise TypeError("'conformance' must count what holds")


def _check_lists(entry: dict[str, Any]) -> None:
    for key in _LISTS_OF_TEXT:
        value = entry.setdefault(key, [])
        if type(value) is not list or not _ONLY_TEXTS.issuperset(map(type, value)):
            raise TypeError(f"{key!r} must be a list of texts")
