"""Pictures as content parts of a message."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem.errors import DatasetError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["in_parts", "picture_part", "png_of"]

_PNG = b"\x89PNG\r\n\x1a\n"


def in_parts(text: str) -> list[dict[str, Any]]:
    """Return a text as content parts, for environments with that kind of observation."""
    return [{"type": "text", "text": text}]


def picture_part(png: bytes) -> dict[str, Any]:
    """Return the content part that shows a PNG."""
    return {"type": "image_url", "image_url": {"url": "data:image/png;base64," + b64encode(png).decode("ascii")}}


def png_of(picture: Any) -> bytes:
    """Return a picture of a data set as a PNG.

    Args:
        picture: a PIL image, the bytes or the path of a file in a format that Pillow reads, or a dict with ``bytes`` or
            ``path``, as the library ``datasets`` stores it.

    Raises:
        DatasetError: if it is none of these or cannot be read.
    """
    if isinstance(picture, Mapping):
        data = picture.get("bytes")
        picture = data if data is not None else picture.get("path")
    if isinstance(picture, (bytearray, memoryview)):
        picture = bytes(picture)
    try:
        if isinstance(picture, (str, Path)):
            picture = Path(picture).read_bytes()
        if isinstance(picture, bytes):
            if picture.startswith(_PNG):
                return picture
            from PIL import Image

            picture = Image.open(io.BytesIO(picture))
        if hasattr(picture, "save") and hasattr(picture, "mode"):
            return _encoded(picture)
    except (OSError, ValueError, SyntaxError) as error:
        raise DatasetError(f"a picture of the data set cannot be read: {error}") from error
    raise DatasetError(
        f"a picture must be a PIL image, bytes, a path, or a dict with 'bytes' or 'path', got {type(picture).__name__}"
    )


def _encoded(image: Image) -> bytes:
    if image.mode not in ("1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16"):
        image = image.convert("RGB")
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()
