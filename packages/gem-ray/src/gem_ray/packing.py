"""Values between driver and actors as bytes: as in process mode, and Ray's cloudpickle for what pickle cannot hold."""

from __future__ import annotations

from typing import Any

from gem.vector import packing

__all__ = ["pack", "unpack"]

unpack = packing.unpack


def pack(value: Any) -> bytes:
    """Return a value as bytes.

    Raises:
        Exception: whatever the value's own methods raise, if it cannot be pickled.
    """
    try:
        return packing.pack(value)
    except Exception:
        # Functions and classes of __main__ and of notebooks: makers of the caller's own.
        from ray import cloudpickle

        packed: bytes = cloudpickle.dumps(value)
        return packed
