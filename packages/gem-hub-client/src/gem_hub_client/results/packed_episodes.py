"""The recorded episodes of a result as a hub keeps them: lines, gzipped."""

from __future__ import annotations

import gzip
import io
import zlib

__all__ = ["MOST_EPISODE_BYTES", "MOST_PACKED_BYTES", "unpacked"]

MOST_PACKED_BYTES = 4 * 2**20
MOST_EPISODE_BYTES = 64 * 2**20


def unpacked(packed: bytes) -> bytes:
    """Return the lines, at most one byte more than :data:`MOST_EPISODE_BYTES`.

    Raises:
        ValueError: if they are damaged.
    """
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
            return file.read(MOST_EPISODE_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(str(error)) from error
