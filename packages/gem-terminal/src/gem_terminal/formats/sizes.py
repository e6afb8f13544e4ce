"""Sizes as task files write them."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator

__all__ = ["Bytes", "Mebibytes"]

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def _bytes(value: object) -> object:
    if not isinstance(value, str):
        return value
    match = _SIZE.fullmatch(value.strip())
    if match is None:
        raise ValueError("a size is a number with K, M, G or T")
    return int(float(match[1]) * _FACTORS[match[2].lower()])


def _mebibytes(value: object) -> object:
    return value * (1 << 20) if isinstance(value, int) and not isinstance(value, bool) else value


Bytes = Annotated[int | None, BeforeValidator(_bytes)]
"""``"2G"``, or a number of bytes."""

Mebibytes = Annotated[int | None, BeforeValidator(_mebibytes)]
"""A number of mebibytes in the file, of bytes in the model."""
