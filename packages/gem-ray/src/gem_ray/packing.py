"""Values between driver and actors as bytes: pickle, and Ray's cloudpickle for what only that can hold."""

from __future__ import annotations

import pickle
from typing import Any

__all__ = ["pack", "unpack"]


def pack(value: Any) -> bytes:
    """Return a value as bytes.

    Raises:
        Exception: whatever the value's own methods raise, if it cannot be pickled.
    """
    try:
        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception:
        # Functions and classes of __main__ and of notebooks: makers of the caller's own.
        from ray import cloudpickle

        packed: bytes = cloudpickle.dumps(value)
        return packed


def unpack(packed: bytes) -> Any:
    """Undo :func:`pack`."""
    return pickle.loads(packed)  # noqa: S301  # only a driver and its own actors exchange these bytes
