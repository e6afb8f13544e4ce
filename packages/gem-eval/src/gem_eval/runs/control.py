"""What is asked of a run that goes on: :class:`RunControl`, in ``control.json`` of its folder.

A command writes the file, and the process that plays the run looks at it about once a second. A run that begins or is
resumed removes it, so what is asked of one process says nothing to the next.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from gem.arguments import boolean, integer
from gem.errors import ArgumentError, ArgumentTypeError
from gem_eval.runs.errors import RunFolderError

__all__ = ["RunControl"]

_FILE = "control.json"


@dataclass(frozen=True)
class RunControl:
    """Everything that was asked so far.

    Raises:
        RunFolderError: for a value that is none.
    """

    paused: bool = False
    """Begin no more episodes; those that are being played go on."""
    stop: bool = False
    """End the run. What was being played goes on when it is resumed."""
    concurrency: int | None = None
    """Most episodes at a time, at most as many as the process began with; None for as many."""
    retries: int | None = None
    """As in :class:`EvaluationConfig`; None for its own."""
    requeue: int = 0
    """How often it was asked to play the failed episodes anew."""

    def __post_init__(self) -> None:
        try:
            boolean("paused", self.paused)
            boolean("stop", self.stop)
            integer("requeue", self.requeue, minimum=0)
            for name, least in (("concurrency", 1), ("retries", 0)):
                if getattr(self, name) is not None:
                    integer(name, getattr(self, name), minimum=least)
        except (ArgumentError, ArgumentTypeError) as error:
            raise RunFolderError(f"{_FILE}: {error}; remove it") from error

    @classmethod
    def read(cls, folder: Path) -> RunControl:
        """Return what is asked of the run in a folder; nothing where the file is missing.

        Raises:
            RunFolderError: if the file cannot be read, or holds something else.
        """
        try:
            record: Any = json.loads((folder / _FILE).read_bytes())
        except FileNotFoundError:
            return cls()
        except (OSError, ValueError) as error:
            raise RunFolderError(f"{folder / _FILE} cannot be read ({error}); remove it") from error
        unknown = set(record) - {item.name for item in fields(cls)} if isinstance(record, dict) else {"no object"}
        if unknown:
            raise RunFolderError(f"{folder / _FILE} holds {', '.join(sorted(unknown))}; remove it")
        return cls(**record)

    def write(self, folder: Path) -> None:
        """Ask it of the run in a folder, in place of what was asked before."""
        scratch = folder / f".{_FILE}.{os.getpid()}"
        scratch.write_text(json.dumps(asdict(self)) + "\n", encoding="utf-8")
        scratch.replace(folder / _FILE)

    @classmethod
    def clear(cls, folder: Path) -> None:
        """Ask nothing any more."""
        (folder / _FILE).unlink(missing_ok=True)

    def changed(self, **changes: Any) -> RunControl:
        """Return it with some values replaced."""
        return replace(self, **changes)
