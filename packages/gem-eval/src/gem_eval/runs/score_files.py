"""Scores beside a run: one file a reward, ``scores/LABEL.jsonl``, derived from the episodes, which stay as they are.

The first line of a file names the reward by its configuration, every other line scores an episode::

    {"schema": 1, "label": "style", "reward": {"name": "rubric", "criteria": [...], ...}}
    {"offset": 0, "env": "game:Wordle-v0", "seed": 0, "repetition": 0, "value": 0.5, "parts": {}, "reasons": [], ...}

Lines are only appended, each in one write; of several lines for one episode the last counts. A file may be cut off at
any byte, and may be deleted.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem_eval.runs.episode_row import EpisodeRow
from gem_eval.runs.errors import RunFolderError
from gem_eval.runs.lines import end_of_lines, parse_line
from gem_questions.rewards import Score

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["SCORES_FOLDER", "RunScores", "ScoreEntry", "ScoreWriter", "read_score_file", "score_path"]

SCORES_FOLDER = "scores"
_SCHEMA = 1
_REPLACED = "replaced"
"""The folder within the folder of scores for files that another configuration has replaced."""


@dataclass(frozen=True, slots=True)
class ScoreEntry:
    """The value of a score, and where the whole of it lies in its file: reasons may be long, and episodes many."""

    value: float
    unreadable: str | None
    """The word for the reason of an unreadable score; None for a readable one."""
    offset: int
    """Bytes before the score's line."""
    length: int
    """Bytes of the line."""

    @property
    def readable(self) -> bool:
        """Whether the reward could tell."""
        return self.unreadable is None

    @classmethod
    def of(cls, score: Score, offset: int, length: int) -> ScoreEntry:
        """Return the entry of a score."""
        kind = None if score.readable else str(score.metadata.get("unreadable", "unreadable"))
        return cls(score.value, kind, offset, length)


_ByEpisode = dict[tuple[int, str, int, int], ScoreEntry]
"""Offset, environment, seed and repetition of an episode → its score."""


def score_path(folder: Path, label: str) -> Path:
    """Return the file of a reward's scores. A label that no file name can hold gets a digest in its place."""
    plain = re.sub(r"[^\w.-]", "_", label, flags=re.ASCII)[:80]
    if plain != label or plain.startswith("."):
        plain = f"{plain.lstrip('.')}-{sha256(label.encode('utf-8', 'replace')).hexdigest()[:8]}"
    return folder / f"{plain}.jsonl"


def read_score_file(path: Path) -> tuple[dict[str, Any] | None, _ByEpisode]:
    """Return the first line of a file of scores, and the scores by episode; None and none if it has no such line.

    Lines that are no scores are left out.
    """
    header: dict[str, Any] | None = None
    scores: _ByEpisode = {}
    if not end_of_lines(path):
        return None, scores
    offset = 0
    with path.open("rb") as file:
        for number, line in enumerate(file):
            begin, offset = offset, offset + len(line)
            try:
                record = parse_line(line)
                if number == 0:
                    header = record if record["schema"] == _SCHEMA and isinstance(record["label"], str) else None
                    if header is None:
                        return None, {}
                else:
                    key = (record["offset"], record["env"], record["seed"], record["repetition"])
                    scores[key] = ScoreEntry.of(Score.from_dict(record), begin, len(line))
            except (ValueError, KeyError, TypeError, RecursionError):
                if number == 0:
                    return None, {}
    return header, scores


class ScoreWriter:
    """Appends the scores of one reward to its file; a context manager.

    Args:
        folder: the folder of scores; made if it is missing.
        label: the name of the scores.
        reward: the configuration of the reward.
        anew: put aside scores of an earlier run, whatever gave them.

    Raises:
        RunFolderError: if the file has scores of another configuration, or cannot be written.
    """

    def __init__(self, folder: Path, label: str, reward: Mapping[str, Any], *, anew: bool = False) -> None:
        self.path = score_path(folder, label)
        header = {"schema": _SCHEMA, "label": label, "reward": json.loads(json.dumps(reward))}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            found, scores = read_score_file(self.path)
            if found is not None and not anew and found["reward"] != header["reward"]:
                raise RunFolderError(
                    f"{self.path} has scores of another configuration: "
                    f"{_differences(found['reward'], header['reward'])}; "
                    "give this reward another label, or replace them with --anew"
                )
            if self.path.exists() and (anew or found is None):
                aside = folder / _REPLACED
                aside.mkdir(exist_ok=True)
                self.path.replace(aside / f"{self.path.stem}-{time.time_ns()}.jsonl")
                found, scores = None, {}
            self._file = self.path.open("ab", buffering=0)
            if found is None:
                self._write(header)
            elif end_of_lines(self.path) < self.path.stat().st_size:
                self._file.write(b"\n")  # closes a line that was cut off; readers skip it
        except OSError as error:
            raise RunFolderError(f"{self.path}: cannot be written: {error.strerror or error}") from error
        self.scores = scores

    def score_of(self, row: EpisodeRow) -> ScoreEntry | None:
        """Return the score that an episode has; None if it has none."""
        return self.scores.get(_key(row))

    def write(self, row: EpisodeRow, score: Score) -> None:
        """Append the score of an episode."""
        key = {"offset": row.offset, "env": row.env, "seed": row.seed, "repetition": row.repetition}
        length = self._write({**key, **score.to_dict()})
        self.scores[_key(row)] = ScoreEntry.of(score, self._file.tell() - length, length)

    def close(self) -> None:
        """Close the file. Calling it again does nothing."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, record: Mapping[str, Any]) -> int:
        # ASCII, so that lone surrogates survive.
        return self._file.write(json.dumps(record, separators=(",", ":"), default=repr).encode("ascii") + b"\n")


class RunScores:
    """The scores in a folder beside episodes, kept current while a process appends to them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.version = 0
        """Changes whenever the files have changed."""
        self._read: dict[Path, tuple[tuple[int, int], str, _ByEpisode]] = {}
        self._attached: dict[int, tuple[EpisodeRow, EpisodeRow]] = {}

    def attach(self, rows: Iterable[EpisodeRow]) -> list[EpisodeRow]:
        """Return rows with the values of all rewards; None for one that could not tell.

        As long as the files do not change, the same row gives the same object.
        """
        by_label = self._current()
        if not by_label:
            return list(rows)
        return [self._attach(row, by_label) for row in rows]

    def scores_of(self, row: EpisodeRow) -> dict[str, Score]:
        """Return the whole scores of an episode by label."""
        self._current()
        found = ((path, label, scores.get(_key(row))) for path, (_, label, scores) in self._read.items())
        read = {label: _read_score(path, entry) for path, label, entry in found if entry is not None}
        return {label: score for label, score in read.items() if score is not None}

    def _attach(self, row: EpisodeRow, by_label: Mapping[str, _ByEpisode]) -> EpisodeRow:
        known = self._attached.get(row.offset)
        if known is not None and known[0] is row:
            return known[1]
        made = _with_values(row, by_label)
        if made is not row:
            self._attached[row.offset] = row, made
        return made

    def _current(self) -> dict[str, _ByEpisode]:
        """Return label → scores, from files that have changed since the last call, or from memory."""
        read = {}
        with suppress(OSError):
            for path in sorted(self.folder.glob("*.jsonl")):
                status = path.stat()
                stamp = (status.st_size, status.st_mtime_ns)
                known = self._read.get(path)
                if known is None or known[0] != stamp:
                    header, scores = read_score_file(path)
                    known = stamp, "" if header is None else header["label"], scores
                read[path] = known
        if {path: item[0] for path, item in read.items()} != {path: item[0] for path, item in self._read.items()}:
            self.version += 1
            self._attached = {}
        self._read = read
        return {label: scores for _, label, scores in read.values() if scores}


def _key(row: EpisodeRow) -> tuple[int, str, int, int]:
    return row.offset, row.env, row.seed, row.repetition


def _with_values(row: EpisodeRow, by_label: Mapping[str, _ByEpisode]) -> EpisodeRow:
    key = _key(row)
    found = {label: score for label, scores in by_label.items() if (score := scores.get(key)) is not None}
    values = {label: score.value if score.readable else None for label, score in found.items()}
    return replace(row, scores={**row.scores, **values}) if values else row


def _read_score(path: Path, entry: ScoreEntry) -> Score | None:
    """Return the whole of a score; None if the file has been replaced in the meantime."""
    try:
        with path.open("rb") as file:
            file.seek(entry.offset)
            return Score.from_dict(parse_line(file.read(entry.length)))
    except (OSError, ValueError, RecursionError):
        return None


def _differences(old: Any, new: Any) -> str:
    if not isinstance(old, dict):
        return "the file names no reward"
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return ", ".join(f"{name} was {old.get(name)!r:.60} and is {new.get(name)!r:.60}" for name in names)
