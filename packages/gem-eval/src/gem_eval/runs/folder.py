"""A run as a folder of files.

::

    run.json         configuration, code and seeds (RunConfig); replaced in one piece
    episodes.jsonl   one trajectory a line, appended
    index.jsonl      one row an episode (EpisodeRow), appended after the episode's line; may be deleted
    scores/          what ``gem rescore`` adds: one file a reward; see score_files.py
    unfinished.jsonl the turns of episodes that have not ended (TurnJournal); gone with the last of them
    unfinished-RESUME-NUMBER.jsonl  the same of one worker; what is left of it ends in the first
    live.json        while the run goes on: process, progress; replaced in one piece

Durability: an episode is handed to the operating system, in one write, before :meth:`RunFolder.append` returns, so a
``kill -9`` loses nothing but a line that is being written. :meth:`RunFolder.sync` asks the disk as well; an
evaluation calls it every few seconds, so a power failure loses no more than these.

One process at a time can write. It holds a lock (``flock``) on ``episodes.jsonl``, which ends with the process.
"""

from __future__ import annotations

import json
import os
import shlex
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem_eval.runs.episode_line import EpisodeLine
from gem_eval.runs.episode_row import EpisodeRow, settle
from gem_eval.runs.errors import RunFolderError, RunInUseError
from gem_eval.runs.index import EpisodeIndex, encode
from gem_eval.runs.lines import end_of_lines, parse_line
from gem_eval.runs.run_config import RunConfig
from gem_eval.runs.score_files import SCORES_FOLDER, RunScores
from gem_rollout.trajectory import EpisodeKey, Trajectory
from gem_rollout.trajectory.encoder import TrajectoryEncoder

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["RunFolder"]

_LOCK_ATTEMPTS = 20  # 50 ms apart; a reader that asks whether a run goes on holds the lock for an instant


class RunFolder:
    """A run on disk. Readers open it at any time, also while it goes on; a writer is a context manager."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open a run for reading.

        Raises:
            RunFolderError: if the folder holds no run, or one that cannot be read.
        """
        self.path = Path(path)
        self.episodes_path = self.path / "episodes.jsonl"
        self.live_path = self.path / "live.json"
        self.unfinished_path = self.path / "unfinished.jsonl"
        self.config = self._read_config()
        self._index = EpisodeIndex(self.path, self.config.prices)
        self._scores = RunScores(self.path / SCORES_FOLDER)
        self._episodes: int | None = None  # descriptors of the writer
        self._rows: int | None = None
        self._size = 0
        self._encoder = TrajectoryEncoder()

    @classmethod
    def create(cls, path: str | os.PathLike[str], config: RunConfig) -> Self:
        """Begin a run in a new or empty folder, and open it for writing.

        Raises:
            RunFolderError: if the folder holds a run or anything else, or cannot be made.
        """
        folder = Path(path)
        if (folder / "run.json").exists():
            raise RunFolderError(
                f"{str(folder)!r} holds a run; continue it with: gem eval --resume {shlex.quote(str(folder))}"
            )
        if folder.exists() and not (folder.is_dir() and all(map(_was_begun, folder.iterdir()))):
            raise RunFolderError(f"{str(folder)!r} is not an empty folder; choose another one")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Configuration last: only a folder with a run.json is a run.
            (folder / "episodes.jsonl").touch()
            _replace(folder / "run.json", config.to_json())
        except OSError as error:
            raise RunFolderError(f"{str(folder)!r} cannot be written: {error.strerror or error}") from error
        return cls.open(folder, write=True)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, write: bool = False) -> Self:
        """Open an existing run.

        Args:
            path: the folder.
            write: lock the run and prepare it for :meth:`append`: a last line that a crash cut off is dropped.

        Raises:
            RunFolderError: if the folder holds no run.
            RunInUseError: if another process writes to it.
        """
        self = cls(path)
        if write:
            self._open_for_writing()
        return self

    def worker_journal(self, number: int) -> Path:
        """Return the path of the journal of a worker process.

        Args:
            number: of the worker among those of the process that writes the run; each resume has names of its own,
                since workers of a killed process may still be ending.
        """
        return self.unfinished_path.with_name(f"unfinished-{len(self.config.resumed)}-{number}.jsonl")

    def worker_journals(self) -> list[Path]:
        """Return the journals that workers have left."""
        return sorted(self.path.glob("unfinished-*.jsonl"))

    @property
    def name(self) -> str:
        """The title of the run: its own, or the name of its folder."""
        return self.config.name or self.path.resolve().name

    @property
    def running(self) -> bool:
        """Whether a process on this machine is writing to the run."""
        if self._episodes is not None:
            return True
        try:
            descriptor = os.open(self.episodes_path, os.O_RDONLY)
        except OSError:
            return False
        try:
            return not _lock(descriptor, shared=True)
        finally:
            os.close(descriptor)

    @property
    def live(self) -> dict[str, Any] | None:
        """What the process that writes the run last said of its progress; None if there is none."""
        try:
            record = json.loads(self.live_path.read_bytes())
        except (OSError, ValueError):
            return None
        return record if isinstance(record, dict) and self.running else None

    def rows(self, *, attempts: bool = False) -> list[EpisodeRow]:
        """Return the rows of the episodes, in the order of their lines.

        Each call takes in what was appended in the meantime. Where an episode has several lines, since a failed
        episode is played anew when the run is resumed, the last one counts.

        Args:
            attempts: all lines instead.
        """
        if self._index.refresh() and self._index.scanned:
            self._store_index()
        rows = self._index.rows
        if not attempts:
            latest = {row.key: row for row in rows}
            if len(latest) < len(rows):
                rows = sorted(latest.values(), key=lambda row: row.offset)
        return settle(self._scores.attach(rows))

    def raw(self, row: EpisodeRow) -> bytes:
        """Return the line of an episode as it is in the file, with its newline."""
        try:
            with self.episodes_path.open("rb") as file:
                file.seek(row.offset)
                return file.read(row.length)
        except OSError as error:
            raise RunFolderError(f"{self.episodes_path}: cannot be read: {error.strerror or error}") from error

    @property
    def scores_version(self) -> int:
        """Changes whenever ``gem rescore`` has changed the scores of rows that :meth:`rows` returned."""
        return self._scores.version

    def record(self, row: EpisodeRow) -> bytes:
        """Return the line of an episode, with the scores that ``gem rescore`` has added.

        Raises:
            RunFolderError: if it cannot be read.
        """
        line, added = self.raw(row), self._scores.scores_of(row)
        if not added:
            return line
        try:
            record = parse_line(line)
            record["scores"] = {**record.get("scores", {}), **{name: score.to_dict() for name, score in added.items()}}
        except (ValueError, TypeError, AttributeError, RecursionError):
            return line  # for the caller to report
        return json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"

    def episode(self, row: EpisodeRow) -> Trajectory:
        """Return the episode of a row.

        Raises:
            RunFolderError: if there is none at this place.
            TrajectoryError: if it is of a schema that this version does not read.
        """
        line = self.raw(row)
        try:
            record = parse_line(line)
        except (ValueError, RecursionError) as error:
            raise RunFolderError(f"{self.episodes_path}: there is no episode at byte {row.offset}: {error}") from error
        trajectory = Trajectory.from_dict(record)
        trajectory.scores.update({label: score.to_dict() for label, score in self._scores.scores_of(row).items()})
        return trajectory

    def finished_keys(self) -> set[EpisodeKey]:
        """Return the keys of the episodes that need not be played again: those that did not fail."""
        return {row.key for row in self.rows() if not row.failed}

    def append(self, trajectory: Trajectory) -> EpisodeRow:
        """Write an episode and its row.

        Raises:
            TrajectoryError: if the episode cannot be written as JSON; nothing is written then.
            RunFolderError: if the folder is not open for writing, or the disk is full or gone; the files are then as
                before.
        """
        return self.append_line(EpisodeLine.of(trajectory, self._encoder, self.config.prices, self._size))

    def append_line(self, episode: EpisodeLine) -> EpisodeRow:
        """Write an episode that is encoded, and its row.

        Raises:
            RunFolderError: as :meth:`append`.
        """
        if self._episodes is None or self._rows is None:
            raise RunFolderError(f"{str(self.path)!r} is not open for writing")
        line, row = episode.line, episode.row
        if row.offset != self._size:
            row = replace(row, offset=self._size)
        try:
            _write(self._episodes, line, self._size)
        except OSError as error:
            raise RunFolderError(
                f"{self.episodes_path}: cannot be written: {error.strerror or error}; what was written is kept. "
                f"Go on with: gem eval --resume {shlex.quote(str(self.path))}"
            ) from error
        self._size += len(line)
        with suppress(OSError):  # derived: whoever reads the run does without it
            _write(self._rows, encode(row))
        return row

    def replace_config(self, config: RunConfig) -> None:
        """Replace ``run.json``. Only the process that writes the run may do this."""
        _replace(self.path / "run.json", config.to_json())
        self.config = config
        self._index = EpisodeIndex(self.path, config.prices)

    def write_live(self, progress: dict[str, Any]) -> None:
        """Publish the progress of the run, for whoever looks on; a full disk is no reason to stop."""
        with suppress(OSError):
            _replace(self.live_path, json.dumps({"pid": os.getpid(), **progress}), durable=False)

    def sync(self) -> None:
        """Wait until the episodes are on the disk. May be called from another thread."""
        if self._episodes is not None:
            with suppress(OSError):  # closed in the meantime, or a file system that cannot
                os.fsync(self._episodes)

    def close(self) -> None:
        """End writing. Calling it again does nothing; a folder that is open for reading needs no call."""
        if self._episodes is None or self._rows is None:
            return
        self.sync()
        with suppress(OSError):
            self.live_path.unlink()
        os.close(self._rows)
        os.close(self._episodes)  # ends the lock
        self._episodes = self._rows = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read_config(self) -> RunConfig:
        path = self.path / "run.json"
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise RunFolderError(f"{str(self.path)!r} holds no run: it has no run.json") from None
        except OSError as error:
            raise RunFolderError(f"{path}: cannot be read: {error.strerror or error}") from error
        try:
            record = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise RunFolderError(f"{path}: is not JSON: {error}") from error
        try:
            return RunConfig.from_dict(record)
        except RunFolderError as error:
            raise RunFolderError(f"{path}: {error}") from error

    def _open_for_writing(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)  # as Windows needs it
        episodes = os.open(self.episodes_path, flags, 0o666)
        try:
            if not _lock_soon(episodes):
                raise self._in_use()
            end = end_of_lines(self.episodes_path)
            os.ftruncate(episodes, end)
            self.rows()
            self._store_index(locked=True)
            rows = os.open(self._index.path, flags, 0o666)
        except BaseException:
            os.close(episodes)
            raise
        self._episodes, self._rows, self._size = episodes, rows, end
        self.write_live({})

    def _in_use(self) -> RunInUseError:
        try:
            pid = json.loads(self.live_path.read_bytes())["pid"]
        except (OSError, ValueError, LookupError, TypeError):
            pid = None
        process = f"process {pid}" if isinstance(pid, int) else "another process"
        return RunInUseError(
            f"{process} is writing to {str(self.path)!r}; wait until it ends, or end it, and try again",
            pid=pid if isinstance(pid, int) else None,
        )

    def _store_index(self, *, locked: bool = False) -> None:
        """Write the index anew, so that the next reader need not read the episodes.

        A reader leaves it to the writer where there is one. If a writer starts at this very moment, its rows go to
        the file that is replaced here, and the next reader finds them missing: the index is derived.
        """
        if not locked and self.running:
            return
        with suppress(OSError):
            _replace(self._index.path, self._index.encoded(), durable=False)
            self._index.scanned = 0


def _was_begun(path: Path) -> bool:
    """Return whether a file is one that a process leaves which is killed before it has written ``run.json``."""
    if path.name == "episodes.jsonl":
        return path.is_file() and not path.stat().st_size
    return path.name.startswith("run.json.") and path.name.endswith(".new")


def _lock(descriptor: int, *, shared: bool = False) -> bool:
    """Lock a file, and return whether that was possible."""
    try:
        import fcntl
    except ImportError:  # Windows: one writer at a time is then the user's affair
        return True
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _lock_soon(descriptor: int) -> bool:
    for attempt in range(_LOCK_ATTEMPTS):
        if attempt:
            time.sleep(0.05)
        if _lock(descriptor):
            return True
    return False


def _write(descriptor: int, content: bytes, size: int | None = None) -> None:
    """Append all of ``content``, or, where the size before is known, nothing of it."""
    view = memoryview(content)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except BaseException:
        if size is not None:
            with suppress(OSError):
                os.ftruncate(descriptor, size)
        raise


def _replace(path: Path, content: str | bytes, *, durable: bool = True) -> None:
    """Give a file its content in one piece: readers see all of it, or what was there before."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        with fresh.open("wb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        with suppress(OSError):
            fresh.unlink()
        raise
