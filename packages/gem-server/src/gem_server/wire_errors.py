"""Errors as they cross the wire: their class by name, and their message."""

from __future__ import annotations

import json
from typing import Any

from gem import errors as core_errors
from gem.errors import GemError
from gem_server import errors as own_errors
from gem_server.errors import ServiceError
from gem_server.operations import REFUSED, RESET, STEP

__all__ = ["decoded", "error_of", "refused_text"]


def refused_text(error: Exception) -> bytes:
    """Return an error as a result: ``"error",KIND,MESSAGE]``."""
    return json.dumps(["error", type(error).__name__, str(error)])[1:].encode()


def decoded(operation: int, kind: int, text: bytes) -> Any:
    """Return a result as Python values; raises the error that it names."""
    values = json.loads(b"[" + text)
    if kind == REFUSED:
        raise error_of(values[1], values[2])
    return tuple(values) if operation in (STEP, RESET) else values[0]


def error_of(kind: str, message: str) -> GemError:
    """Return the error that a server named: of the same class where the class is known here."""
    found = getattr(core_errors, kind, None) or getattr(own_errors, kind, None)
    if isinstance(found, type) and issubclass(found, GemError):
        try:
            return found(message)
        except TypeError:  # a class whose constructor takes more than a message
            pass
    return ServiceError(message)
