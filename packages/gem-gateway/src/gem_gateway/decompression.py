"""Decompression of request bodies, piece by piece, so that no small body becomes a large one unnoticed."""

from __future__ import annotations

import sys
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ENCODINGS", "BodyDecompressor"]


def _zstd() -> Callable[[], Any] | None:
    """Return the maker of decompressors for zstd: of Python from 3.14 on, before of an optional library."""
    try:
        if sys.version_info >= (3, 14):
            from compression.zstd import ZstdDecompressor
        else:
            from backports.zstd import ZstdDecompressor
    except ImportError:
        return None
    made: Callable[[], Any] = ZstdDecompressor
    return made


_MAKERS: dict[str, Callable[[], Any] | None] = {
    "gzip": lambda: zlib.decompressobj(wbits=31),
    "deflate": lambda: zlib.decompressobj(wbits=15),
    "zstd": _zstd(),
}

ENCODINGS = ("identity", *(name for name, maker in _MAKERS.items() if maker is not None))
"""What ``Content-Encoding`` may say."""


class BodyDecompressor:
    """Unpacks one body.

    Args:
        encoding: one of :data:`ENCODINGS`.
    """

    def __init__(self, encoding: str) -> None:
        maker = _MAKERS.get(encoding)
        self._decompressor: Any = None if maker is None else maker()

    def unpack(self, data: bytes, most: int) -> bytes:
        """Return what the next bytes of a body unpack to, or its beginning if that has more than ``most`` bytes.

        Raises:
            ValueError: if the body is not compressed so, or goes on after its end.
        """
        one = self._decompressor
        if one is None:
            return data
        if one.eof and data:
            raise ValueError("there is more after the end of the compressed data")
        try:
            unpacked: bytes = one.decompress(data, most + 1)
        except Exception as error:  # zlib.error, and zstd's own
            raise ValueError(f"it is not compressed as it says: {error}") from error
        if len(unpacked) <= most and one.eof and one.unused_data:
            raise ValueError("there is more after the end of the compressed data")
        return unpacked

    def finish(self) -> None:
        """Check that the body is whole.

        Raises:
            ValueError: if it breaks off.
        """
        if self._decompressor is not None and not self._decompressor.eof:
            raise ValueError("the compressed data breaks off")
