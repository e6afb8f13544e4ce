"""JSON to and from servers: orjson, and Python's own module for what orjson refuses."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

__all__ = ["decoded", "encoded", "readable", "strictly_decoded"]

_DIGITS = bytes(b"0"[0] if chr(byte).isdigit() and byte < 128 else b" "[0] for byte in range(256))
"""Byte → 0 for a digit, a blank for another one."""

_LONG = b"0" * 19

_SURROGATE = re.compile("[\ud800-\udfff]")


def encoded(value: Any) -> bytes:
    """Return a value as JSON in UTF-8. A lone surrogate, which UTF-8 cannot hold, becomes U+FFFD.

    Raises:
        TypeError, ValueError: if the value is not JSON.
    """
    try:
        return orjson.dumps(value)
    except TypeError:  # lone surrogates, ints beyond 64 bits, keys that are no str, subclasses of str
        text = json.dumps(_clean(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode()


def decoded(data: bytes | str) -> Any:
    """Return the value of JSON text. NaN and infinities are accepted; a lone surrogate becomes U+FFFD.

    Raises:
        ValueError: if it is no JSON, or nested too deep.
    """
    try:
        return strictly_decoded(data)
    except ValueError:
        try:
            return _clean(json.loads(data))
        except RecursionError as error:
            raise ValueError("it is nested too deep") from error


def strictly_decoded(data: bytes | str) -> Any:
    """Return the value of JSON text, whole numbers of any size exactly.

    Raises:
        ValueError: if it is no JSON, NaN and infinities included, or nested too deep.
    """
    value = orjson.loads(data)  # makes floats of whole numbers beyond 64 bits
    if not _has_long_number(data):
        return value
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error


def _has_long_number(data: bytes | str) -> bool:
    """Return whether a text has as many digits in a row as the shortest number beyond 64 bits, -(2**63 + 1).

    So many have two digits among every ninth byte, which most texts have not.
    """
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    return b"00" in raw[::9].translate(_DIGITS) and _LONG in raw.translate(_DIGITS)


def readable(text: str, limit: int = 400) -> str:
    """Return a server's text for a message: one line of printable characters, at most ``limit`` of them."""
    shown = text[: 4 * limit]
    if not shown.isprintable():
        shown = "".join(character if character.isprintable() else " " for character in shown)
    shown = " ".join(shown.split())
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    return value
