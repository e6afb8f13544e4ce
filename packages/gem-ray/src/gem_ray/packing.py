"""Values between driver and actors as bytes: as in process mode, and Ray's cloudpickle for what pickle cannot hold."""

from __future__ import annotations

from typing import Any

from gem_processes.process_mode import packing

__all__ = ["pack", "pack_code", "unpack"]

unpack = packing.unpack


def pack(value: Any) -> bytes:
    """Return a value as bytes.

    Raises:
        Exception: whatever the value's own methods raise, if it cannot be pickled.
    """
    try:
        return packing.pack(value)
    except Exception:
        return pack_code(value)


def pack_code(value: Any) -> bytes:
    """Return a value as bytes that hold the functions and classes of scripts and notebooks, which nobody can import.

    Raises:
        Exception: whatever the value's own methods raise, if it cannot be pickled.
    """
    from ray import cloudpickle

    packed: bytes = cloudpickle.dumps(value)
    return packed
