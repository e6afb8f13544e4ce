"""A run folder as the viewer reads it: the rows of its index, growing while the run goes on, and single records."""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Lock
from typing import Any

from gem.errors import GemError, TrajectoryError

__all__ = ["RunReadError", "ViewedRun"]

_LONGEST_RECORD = 2**30
"""Bytes of one episode's record that are read at most."""


class RunReadError(GemError, ValueError):
    """A folder, or an episode of it, cannot be shown."""


class ViewedRun:
    """The episodes of one run folder. Reads only; several threads may call it.

    Args:
        path: a run folder.

    Raises:
        RunReadError: if there is no such folder, or it holds no run.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            raise RunReadError(f"{self.path} is no folder; gem view shows the folders that gem eval --out makes")
        if not any((self.path / name).is_file() for name in ("run.json", "episodes.jsonl")):
            raise RunReadError(f"{self.path} holds no run: neither run.json nor episodes.jsonl is in it")
        self.rows: list[dict[str, Any]] = []
        """Rows of the index in the order of the file. Rows are only ever added, unless ``generation`` changes."""
        self.generation = 0
        """Counts how often the index began anew."""
        self._position = 0
        """Bytes of the index that are read."""
        self._identity: tuple[int, int] | None = None
        self._lock = Lock()

    @property
    def name(self) -> str:
        """The name of the run, else that of its folder."""
        name = self.config().get("name")
        return name[:200] if isinstance(name, str) and name else self.path.resolve().name

    def config(self) -> dict[str, Any]:
        """Return ``run.json``, or an empty dict where it is missing or broken."""
        return _json_object(self.path / "run.json")

    def live(self) -> dict[str, Any] | None:
        """Return ``live.json`` while the process that writes it is alive, else None."""
        state = _json_object(self.path / "live.json")
        return state if state and _is_alive(state.get("pid")) else None

    def refresh(self) -> None:
        """Read what the index has gained."""
        with self._lock:
            index = self.path / "index.jsonl"
            try:
                with index.open("rb") as file:
                    status = os.fstat(file.fileno())
                    identity = (status.st_dev, status.st_ino)
                    if identity != self._identity or status.st_size < self._position:
                        self._begin(identity)
                    file.seek(self._position)
                    added = file.read()
            except FileNotFoundError:
                self._begin(None)
                return
            complete = added[: added.rfind(b"\n") + 1]
            self._position += len(complete)
            self.rows.extend(row for line in complete.splitlines() if (row := _row(line)) is not None)

    def record(self, number: int) -> bytes:
        """Return the record of an episode as JSON.

        Args:
            number: the position of the episode's row.

        Raises:
            RunReadError: if there is no such episode, or its record is damaged.
        """
        if not 0 <= number < len(self.rows):
            raise RunReadError(f"{self.path} has no episode {number}; it has {len(self.rows)}")
        row = self.rows[number]
        offset, length = row["offset"], row["length"]
        if length > _LONGEST_RECORD:
            raise RunReadError(f"the record of episode {number} has {length:,} bytes, which is too much for a page")
        try:
            with (self.path / "episodes.jsonl").open("rb") as file:
                file.seek(offset)
                return _current_schema(file.read(length))
        except (OSError, TrajectoryError, ValueError, RecursionError) as error:
            raise RunReadError(f"episode {number} of {self.path} cannot be read: {error}") from error

    def _begin(self, identity: tuple[int, int] | None) -> None:
        if self.rows:
            self.generation += 1
        self.rows, self._position, self._identity = [], 0, identity


def _current_schema(line: bytes) -> bytes:
    """Return a record in the schema that the page reads."""
    record = json.loads(line)
    if not isinstance(record, dict):
        raise RunReadError("the line is no JSON object")
    return line


def _row(line: bytes) -> dict[str, Any] | None:
    """Return a row of the index, or None for a line that is none."""
    import orjson

    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    whole = isinstance(row, dict) and all(type(row.get(name)) is int and row[name] >= 0 for name in ("offset", "length"))
    return row if whole else None


def _json_object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _is_alive(pid: Any) -> bool:
    """Whether a process of this machine has this number; a signal of 0 only asks."""
    if type(pid) is not int or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True
