"""Objects of git, which are named by the digest of what they hold."""

from __future__ import annotations

import hashlib
import tarfile
import zlib

__all__ = ["is_object"]

_LARGEST_OBJECT, _PORTION = 256 << 20, 1 << 20
"""Bytes of an object, and of it at once."""


def is_object(name: str | None, member: tarfile.TarInfo, content: bytes | memoryview) -> bool:
    """Return whether a file of one object of git has the digest that its name says; git takes it as it is."""
    if name is None or member.isdir():
        return name is None
    digest = hashlib.sha1(usedforsecurity=False) if len(name) == 40 else hashlib.sha256()
    inflate, left = zlib.decompressobj(), memoryview(content)
    try:
        for size in range(0, _LARGEST_OBJECT, _PORTION):
            digest.update(inflate.decompress(left, _PORTION))
            left = memoryview(inflate.unconsumed_tail)
            if inflate.eof or not left:
                return size < _LARGEST_OBJECT and inflate.eof and digest.hexdigest() == name
    except zlib.error:
        pass
    return False
