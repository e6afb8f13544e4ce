"""Canonical JSON and gzip: equal content gives equal bytes."""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from typing import Any

__all__ = ["compact_json", "pack", "unpack"]


def compact_json(value: Any) -> bytes:
    """Return JSON with sorted keys on one line, with a newline."""
    return (
        json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False) + "\n"
    ).encode()


def pack(content: bytes) -> bytes:
    """Return content as gzip (RFC 1952) without name, time or system.

    The header is written here because :func:`gzip.compress` names the operating system on some versions of Python
    and not on others.
    """
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = deflate.compress(content) + deflate.flush()
    return b"\x1f\x8b\x08\0\0\0\0\0\x02\xff" + body + struct.pack("<II", zlib.crc32(content), len(content) & 0xFFFFFFFF)


def unpack(packed: bytes) -> bytes:
    """Undo :func:`pack`.

    Raises:
        OSError, EOFError, zlib.error: if the data is not gzip, is truncated or damaged.
    """
    return gzip.decompress(packed)
