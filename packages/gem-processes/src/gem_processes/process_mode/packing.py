"""Values as bytes between processes of one user: pickle, with batches in a form that isolates faults.

Pickle keeps every type exactly: a tuple, a NumPy scalar, a subclass of str, a lone surrogate. marshal is hardly faster
(0.37 against 0.44 microseconds for the result of a game), and silently writes whatever has a buffer, such as a NumPy
scalar, as bytes. Never read packed values from an untrusted sender: a server on a network needs JSON instead.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from gem.errors import VectorError
from gem.vector.env_runner import describe

__all__ = ["pack", "pack_batch", "portable", "unpack", "unpack_batch"]

_PROTOCOL = 5


class _Pickler(pickle.Pickler):
    """Notes whether it met anything else than builtins."""

    only_builtins = True

    def reducer_override(self, value: Any) -> Any:  # the pickler calls it for everything that has no fast path in C
        self.only_builtins = False
        return NotImplemented


def pack(value: Any) -> bytes:
    """Return a value as bytes; exceptions of pickle and of the value's own methods are passed on."""
    return pickle.dumps(value, _PROTOCOL)


def unpack(data: Any) -> Any:
    """Undo :func:`pack`; any bytes-like object will do."""
    return pickle.loads(data)  # noqa: S301  # both ends belong to one user


def pack_batch(head: Any, items: Sequence[Any], replacement: Callable[[int, Exception], Any]) -> bytes:
    """Return a batch as bytes that :func:`unpack_batch` reads: results, actions or arguments.

    Items made of builtins alone are packed together. Otherwise each is packed alone, so that one that cannot be packed,
    or cannot be unpacked at the other end, harms no other.

    Args:
        head: goes along; made of builtins.
        items: exceptions may be among them.
        replacement: called with the position of an item that cannot be packed, and the exception; returns another.
    """
    buffer = io.BytesIO()
    pickler = _Pickler(buffer, _PROTOCOL)
    try:
        pickler.dump((head, items, True))
        if pickler.only_builtins:
            return buffer.getvalue()
    except Exception:  # which item it was, and why, turns out below
        buffer.close()
    return pack((head, [_packed(position, item, replacement) for position, item in enumerate(items)], False))


def unpack_batch(data: Any) -> tuple[Any, list[Any], dict[int, Exception]]:
    """Undo :func:`pack_batch`; return the head, the items, and by position what went wrong in unpacking."""
    head, items, together = unpack(data)
    errors: dict[int, Exception] = {}
    if not together:
        for position, alone in enumerate(items):
            try:
                items[position] = unpack(alone)
            except Exception as error:  # a class that exists only at the other end, for example
                errors[position] = error
    return head, items, errors


def portable(error: BaseException) -> BaseException:
    """Return an exception that survives packing: itself, or a VectorError with its type and message."""
    with suppress(Exception):  # its class may define anything
        copy = unpack(pack(error))
        if type(copy) is type(error) and str(copy) == str(error):
            return error
    return VectorError(describe(error))


def _packed(position: int, item: Any, replacement: Callable[[int, Exception], Any]) -> bytes:
    try:
        return pack(portable(item) if isinstance(item, BaseException) else item)
    except Exception as error:
        return pack(replacement(position, error))
