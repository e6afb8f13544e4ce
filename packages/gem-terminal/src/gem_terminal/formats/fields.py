"""Field types and errors of all readers: times, sizes, and messages for malformed files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from gem_terminal.errors import TaskError

__all__ = ["SEVERAL", "UNSET", "Bytes", "Mebibytes", "Pause", "Seconds", "bytes_of_size", "compose_file", "validated"]

M = TypeVar("M", bound=BaseModel)

SEVERAL = "several containers"
"""The need of a task whose compose file or verifier describes more than one service."""

UNSET = "a variable that is not set"
"""The need of a task that takes a value from the environment of this process."""

_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)\s*([kmgt]?)i?b?", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_LARGEST = 1 << 50
_LONGEST = 10_000_000.0
"""Seconds; about four months."""


def bytes_of_size(text: str) -> int:
    """Return the bytes of a size such as ``"2G"``; raises ValueError for other text."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError("a size is a number with K, M, G or T")
    return int(float(match[1]) * _FACTORS[match[2].lower()])


def _bytes(value: object) -> object:
    return bytes_of_size(value) if isinstance(value, str) else value


def _mebibytes(value: object) -> object:
    return value * (1 << 20) if isinstance(value, int) and not isinstance(value, bool) else value


Bytes = Annotated[int | None, BeforeValidator(_bytes), Field(gt=0, le=_LARGEST)]
"""``"2G"``, or a number of bytes."""

Mebibytes = Annotated[int | None, BeforeValidator(_mebibytes), Field(gt=0, le=_LARGEST)]
"""Mebibytes in the file, bytes in the model."""

Seconds = Annotated[float, Field(gt=0.0, le=_LONGEST, allow_inf_nan=False)]
Pause = Annotated[float, Field(ge=0.0, le=_LONGEST, allow_inf_nan=False)]
"""Seconds, possibly 0.0."""


def compose_file(folder: Path) -> Path | None:
    """Return a folder's Docker Compose file.

    Harbor and Terminal-Bench look for this name alone. ``docker-compose.yml`` is material of the task.
    """
    path = folder / "docker-compose.yaml"
    return path if path.is_file() else None


def validated(model: type[M], content: Any, path: Path) -> M:
    """Return the content of a file as a model.

    Raises:
        TaskError: if the content is malformed; the message names the file, the key and the value.
    """
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise TaskError(f"{path}: {key}: {first['msg']}, got {str(first['input'])[:80]!r}") from error
    except RecursionError as error:
        raise TaskError(f"{path} is nested too deeply") from error
