"""What is proved of an unfinished set, so that a making that was cut off can go on: :class:`ProofJournal`."""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem_envs_swe.errors import SweError
from gem_envs_swe.row import SweRow
from gem_envs_swe.task_set import SweSet, withdraw_set, write_set

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["ProofJournal", "is_free", "is_unfinished"]

_NAME = "proved.jsonl"


def is_unfinished(folder: Path) -> bool:
    """Return whether a folder holds what a making has proved that can go on."""
    return (folder / _NAME).is_file()


def is_free(folder: Path) -> bool:
    """Return whether a set can be made in a folder: there is none, it is empty, or its making can go on."""
    return not folder.exists() or is_unfinished(folder) or (folder.is_dir() and not any(folder.iterdir()))


class ProofJournal:
    """The verdict on each candidate, written before the next one is looked at. The folder of the set is made.

    The first line is what the making is of. A line that was cut off in the middle is taken away.

    Args:
        folder: that of the set.
        making: what decides which candidates there are, and what becomes of them.

    Raises:
        SweError: if another process makes the set, or the folder holds the journal of another making or a damaged one.
    """

    def __init__(self, folder: Path, making: dict[str, Any]) -> None:
        self._path = folder / _NAME
        self.verdicts: dict[str, SweRow | str] = {}
        """Digest of a candidate → its task, or why it was rejected."""
        folder.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open("a+b")
        try:
            self._begin(making)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None and not any(isinstance(verdict, SweRow) for verdict in self.verdicts.values()):
            shutil.rmtree(self._path.parent, ignore_errors=True)  # nothing is lost, and the folder is free for another
        self._file.close()

    def add(self, digest: str, verdict: SweRow | str) -> None:
        """Write a verdict."""
        self.verdicts[digest] = verdict
        value = verdict if isinstance(verdict, str) else verdict.model_dump(mode="json", exclude_defaults=True)
        self._append([digest, value])

    def finish(self, described: SweSet, rows: Sequence[SweRow], *, goes_on: bool = False) -> None:
        """Write the set, and take the journal away, unless a later making is to go on with it."""
        write_set(self._path.parent, described, rows)
        if not goes_on:
            self._path.unlink()

    def _begin(self, making: dict[str, Any]) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise SweError(f"another process makes the set in {self._path.parent}; name a new folder") from error
        self._file.seek(0)
        text = self._file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._file.truncate(len(whole))
        if whole:
            self._read(whole.splitlines(), making)
            withdraw_set(self._path.parent)
        else:
            self._append(making)

    def _append(self, value: object) -> None:
        self._file.write(json.dumps(value).encode() + b"\n")
        self._file.flush()

    def _read(self, lines: list[bytes], making: dict[str, Any]) -> None:
        try:
            begun = json.loads(lines[0])
            for line in lines[1:]:
                digest, value = json.loads(line)
                self.verdicts[digest] = value if isinstance(value, str) else SweRow.model_validate(value)
        except (ValueError, TypeError, RecursionError) as error:
            raise SweError(f"{self._path} is damaged ({error}); remove its folder, or name a new one") from error
        if begun != making:
            raise SweError(
                f"{self._path.parent} holds the unfinished set of another making, {json.dumps(begun)}, "
                f"and not of {json.dumps(making)}; name a new folder"
            )
