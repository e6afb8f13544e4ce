"""Text that a data set holds as base64 of a compressed pickle, as LiveCodeBench holds its private tests.

A pickle can run any code when it is loaded. Here none is: the opcodes are read one by one, and only those of a single
str are accepted.
"""

from __future__ import annotations

import base64
import binascii
import pickletools
import re
import zlib

from gem.errors import DatasetError

__all__ = ["LARGEST", "is_packed", "unpacked"]

LARGEST = 1 << 30
"""Maximum size of an unpacked text in bytes; a small file can claim to hold far more."""

_BASE64 = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}", re.ASCII)
_TEXT = frozenset(("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"))
_HARMLESS = frozenset(("PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"))


def is_packed(value: object) -> bool:
    """Return whether a value looks like base64 of something: no JSON begins like that."""
    return isinstance(value, str) and _BASE64.fullmatch(value.strip()) is not None


def unpacked(value: str, name: str) -> str:
    """Return the text in base64 of a compressed pickle of a str.

    Args:
        value: the base64 text.
        name: what it is, for messages.

    Raises:
        DatasetError: if it is anything else, or larger than :data:`LARGEST`.
    """
    try:
        packed = base64.b64decode(value.strip(), validate=True)
        reader = zlib.decompressobj()
        pickled = reader.decompress(packed, LARGEST)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise DatasetError(f"{name} is neither JSON nor base64 of compressed text: {error}") from error
    if reader.unconsumed_tail:
        raise DatasetError(f"{name} unpacks to more than {LARGEST:,} bytes")
    if not reader.eof:
        raise DatasetError(f"{name} is cut off: its compressed text has no end")
    text: str | None = None
    try:
        for opcode, argument, _ in pickletools.genops(pickled):
            if opcode.name in _TEXT and text is None:
                text = argument
            elif opcode.name not in _HARMLESS:
                raise DatasetError(f"{name} holds a pickle of something else than one str ({opcode.name}); not loaded")
    except (ValueError, UnicodeDecodeError) as error:
        raise DatasetError(f"{name} is compressed, and no pickle of a str: {error}") from error
    if text is None:
        raise DatasetError(f"{name} holds a pickle without a str")
    return text
