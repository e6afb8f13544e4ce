"""Reads descriptions: files in JSON or YAML, into plain JSON values of a limited size."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gem_envs_desk.synthesis.errors import DescriptionError

__all__ = ["read_document", "references"]

LARGEST_BYTES = 32 << 20
MOST_VALUES = 2_000_000
"""Values of a document with its YAML aliases followed, so that nested aliases cannot fill the memory."""
DEEPEST = 200


def read_document(path: Path) -> Any:
    """Return a JSON or YAML file as JSON values; keys that YAML reads as numbers, words or dates become strings.

    Raises:
        DescriptionError: if the file cannot be read, is neither JSON nor YAML, or is too large or too deep.
    """
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise DescriptionError(f"{path} has more than {LARGEST_BYTES >> 20} MiB; give a smaller description")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DescriptionError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DescriptionError(f"{path} is not UTF-8 text: byte {error.start} cannot be decoded") from error
    return _PlainCopy(path).of(_parsed(path, text), 0)


def references(value: Any) -> Iterator[str]:
    """Yield the texts of all ``$ref`` in a document, which may hold itself, or hold a part in several places.

    Each part is read once.
    """
    waiting, seen = [value], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, dict):
            reference = one.get("$ref")
            if isinstance(reference, str):
                yield reference
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


def _parsed(path: Path, text: str) -> Any:
    if path.suffix.lower() not in (".yaml", ".yml"):
        try:
            return json.loads(text, parse_constant=_refused_constant)
        except RecursionError as error:
            raise DescriptionError(f"{path} is nested too deeply") from error
        except ValueError as error:
            if path.suffix.lower() == ".json":
                raise DescriptionError(f"{path} is not JSON: {error}") from error
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(text, Loader=loader)  # noqa: S506  # a safe loader
    except RecursionError as error:
        raise DescriptionError(f"{path} is nested too deeply") from error
    except (yaml.YAMLError, ValueError) as error:
        # ValueError: a date such as 2026-02-31.
        raise DescriptionError(f"{path} is not YAML: {' '.join(str(error).split())[:300]}") from error


def _refused_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


class _PlainCopy:
    """Copies a parsed document, because YAML shares aliased values and has more types than JSON."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._values = 0

    def of(self, value: Any, depth: int) -> Any:
        self._values += 1
        if self._values > MOST_VALUES:
            raise DescriptionError(f"{self._path} holds more than {MOST_VALUES:,} values; give a smaller description")
        if depth > DEEPEST:
            raise DescriptionError(f"{self._path} is nested more than {DEEPEST} levels deep")
        if value is None or isinstance(value, (str, bool, int)):
            return value
        if isinstance(value, float):
            if value != value or value in (float("inf"), float("-inf")):
                raise DescriptionError(f"{self._path} holds {value}, which is no JSON number")
            return value
        if isinstance(value, dict):
            return {_key(key): self.of(one, depth + 1) for key, one in value.items()}
        if isinstance(value, list):
            return [self.of(one, depth + 1) for one in value]
        if isinstance(value, (datetime.date, datetime.datetime)):
            return value.isoformat()
        raise DescriptionError(f"{self._path} holds a {type(value).__name__}, which JSON does not have")


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return str(key).lower()
    return key if isinstance(key, str) else str(key)
