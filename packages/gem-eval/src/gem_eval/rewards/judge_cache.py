"""Answers of judges on disk: :class:`AnswerCache`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

__all__ = ["AnswerCache"]


class AnswerCache:
    """A folder with one file an answer, named by the digest of all that the answer depends on.

    Files are replaced in one piece, so any number of processes can share a folder. A file that cannot be read counts
    as missing, and a folder that cannot be written keeps nothing: a cache never stops a run. Without a folder, answers
    are kept in memory.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = None if folder is None else Path(folder)
        self._memory: dict[str, dict[str, Any]] = {}

    @staticmethod
    def key(question: Mapping[str, Any]) -> str:
        """Return the digest of a question: model, server, messages, schema and sampling, as JSON values."""
        text = json.dumps(question, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return sha256(text.encode("ascii")).hexdigest()

    def get(self, key: str) -> dict[str, Any] | None:
        """Return what was put under a key, or None."""
        if self.folder is None:
            return self._memory.get(key)
        try:
            value = json.loads(self._path(key).read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) and value.get("key") == key else None

    def put(self, key: str, answer: Mapping[str, Any]) -> None:
        """Keep an answer."""
        value = {"key": key, **answer}
        if self.folder is None:
            self._memory[key] = value
            return
        path = self._path(key)
        fresh = path.with_name(f"{path.stem}.{uuid4().hex}.new")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh.write_text(json.dumps(value), encoding="ascii")
            fresh.replace(path)
        except OSError:
            with suppress(OSError):
                fresh.unlink()

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / key[:2] / f"{key}.json"
