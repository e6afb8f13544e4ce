"""What an engine has played of episodes that have not ended: :class:`TurnJournal`.

An episode is continued by playing its turns again without asking the policy: the environment is reset with the seed and
stepped with the recorded actions, and must answer as it did. So wrappers, tools and environments in other processes
come to where they were, and nothing has to know how to save its state. Where an answer differs, since it depends on
more than the seed, the episode begins again.

The file is JSON lines. The first line of an attempt names the episode, each further one holds a turn as a trajectory
holds it and the observation after it, and the last one says that the attempt is over::

    {"attempt":7,"key":["game:Wordle-v0",3,0],"then":{"value":"Guess a word."}}
    {"attempt":7,"index":0,"turn":{"action":"crane","token_ids":[…],…},"then":{"text":[…]},"seconds":1.25}
    {"attempt":7,"over":true}

Each line is handed to the operating system in one write before the next turn begins, so a ``kill -9`` costs the turn
that was being played. The last turn of an episode is not written: whoever takes the episode keeps all of it. One
process at a time may write a file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem.errors import TrajectoryError
from gem.policies import Act
from gem_rollout.replay import Difference, compare
from gem_rollout.trajectory.encoding import encoded
from gem_rollout.trajectory.record import SCHEMA, Trajectory
from gem_rollout.trajectory.transition import EpisodeKey, Transition
from gem_rollout.trajectory.turns import edited_turn

if TYPE_CHECKING:
    from typing_extensions import Self

    from gem_rollout.trajectory.edit_chain import Track

__all__ = ["EpisodeJournal", "TurnJournal", "act_of"]

_SMALLEST = 16 << 20
"""Bytes below which a file is not rewritten without the episodes that are over."""
_NUMBER = re.compile(rb'\{"attempt":(\d{1,18}),')


class TurnJournal:
    """Keeps the turns of running episodes in a file, and knows those that were running when a process ended.

    Whoever takes finished episodes from the engine calls :meth:`settle` once an episode is kept elsewhere.

    Args:
        path: the file; its folder is there.

    Raises:
        OSError: if it cannot be read or written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        attempts = {number: attempt for number, attempt in _read(self.path).items() if attempt.turns}
        self._numbers = {attempt.key: number for number, attempt in attempts.items()}
        self._earlier = {number: attempts[number] for number in self._numbers.values()}
        self._sizes = {number: attempt.size for number, attempt in self._earlier.items()}
        self._next = max(attempts, default=0) + 1
        self._file = self._rewritten()
        self._torn = False
        """Whether the last line is cut off."""

    @property
    def unfinished(self) -> dict[EpisodeKey, int]:
        """The episodes of an earlier process that can be continued, and how many turns of each were played."""
        earlier = self._earlier
        return {key: len(earlier[number].turns) for key, number in self._numbers.items() if number in earlier}

    def played(self, key: EpisodeKey) -> Trajectory | None:
        """Return what an earlier process played of an episode; None if there is nothing to continue."""
        attempt = self._earlier.get(self._numbers.get(key, 0))
        return None if attempt is None else attempt.trajectory()

    def open(self, key: EpisodeKey) -> EpisodeJournal:
        """Return the journal of the coming attempt at an episode, which takes the place of one of this process."""
        number = self._numbers.get(key)
        if number in self._earlier and (played := self._earlier.pop(number).trajectory()) is not None:
            return EpisodeJournal(self, key, number, played)
        self.settle(key)
        number = self._numbers[key] = self._next
        self._next += 1
        return EpisodeJournal(self, key, number, None)

    def adopt(self, path: str | os.PathLike[str], keys: Collection[EpisodeKey] | None = None) -> None:
        """Take over episodes from the journal of a process that has ended, in place of what is known of them here.

        Args:
            path: the other journal, which stays as it is; a missing one holds nothing.
            keys: of the episodes; None for all that can be continued.

        Raises:
            OSError: if it cannot be read.
        """
        path = Path(path)
        attempts = {
            number: attempt
            for number, attempt in _read(path).items()
            if attempt.turns and (keys is None or attempt.key in keys)
        }
        lines: dict[int, list[bytes]] = {number: [] for number in attempts}
        for number, line in _lines(path) if attempts else ():
            if number in lines:
                lines[number].append(line)
        for number, attempt in attempts.items():
            self.settle(attempt.key)
            fresh = self._numbers[attempt.key] = self._next
            self._next += 1
            self._earlier[fresh] = attempt
            prefixes = len(_prefix(number)), _prefix(fresh)
            self.write(fresh, b"".join(prefixes[1] + line[prefixes[0] :] for line in lines[number]))

    def settle(self, key: EpisodeKey) -> None:
        """Write that an episode needs not be continued: it is kept elsewhere, dropped, or begins again."""
        number = self._numbers.pop(key, None)
        self._earlier.pop(number or 0, None)
        if number is not None and self._sizes.pop(number, 0):
            self._append(_line(number, {"over": True}))

    def write(self, number: int, line: bytes) -> None:
        """Append a line of an attempt. One for which there is no room is the end of what can be continued."""
        self._sizes[number] = self._sizes.get(number, 0) + len(line)
        self._append(line)

    def close(self) -> None:
        """Close the file, and remove it where no episode is left in it; calling it again does nothing."""
        if not self._file.closed:
            self._file.close()
            if not self._sizes:
                self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append(self, line: bytes) -> None:
        with suppress(OSError, ValueError):  # a full disk; a closed file
            if self._torn:
                line = b"\n" + line
            written = self._file.write(line)
            self._torn = written < len(line)
            self._size += written
            if self._size > _SMALLEST + 4 * sum(self._sizes.values()):
                fresh = self._rewritten()
                self._file.close()
                self._file, self._torn = fresh, False

    def _rewritten(self) -> FileIO:
        """Leave out what is over, and lines that were cut off; return the file."""
        kept = [line for number, line in _lines(self.path) if number in self._sizes]
        fresh = self.path.with_name(f"{self.path.name}.new")
        fresh.write_bytes(b"".join(kept))
        fresh.replace(self.path)
        self._size = sum(map(len, kept))
        # Unbuffered and in append mode: every write reaches the end of the file in one piece.
        return self.path.open("ab", buffering=0)


class EpisodeJournal:
    """The journal of one attempt at an episode.

    Attributes:
        earlier: the episode as far as it was played before; None if it is new.
    """

    def __init__(self, journal: TurnJournal, key: EpisodeKey, number: int, earlier: Trajectory | None) -> None:
        self.earlier = earlier
        self._journal = journal
        self._key = key
        self._number = number
        self._turns = 0 if earlier is None else len(earlier)

    def add(self, turn: Transition, track: Track, seconds: float) -> None:
        """Write down the latest turn of the record, before the first one also what was seen at the reset.

        Args:
            turn: the turn.
            track: of the agent, with the observation after the turn.
            seconds: from the reset to the end of the turn.
        """
        edits, index, self._turns = track.observations.edits, self._turns, self._turns + 1
        record = {"turn": edited_turn(turn, track, index), "then": edits[index + 1], "seconds": seconds}
        line = _line(self._number, {"index": index, **record})
        if index == 0:
            line = _line(self._number, {"key": list(self._key), "then": edits[0]}) + line
        self._journal.write(self._number, line)

    def difference(self, now: Trajectory) -> Difference | None:
        """Return where the episode, played again so far, differs from what was written down; None if nowhere."""
        return None if self.earlier is None else compare(self.earlier, now, ignore=("info",))


def act_of(turn: Transition) -> Act:
    """Return what the policy answered in a turn."""
    return Act(
        turn.action,
        prompt_token_ids=turn.prompt_token_ids,
        token_ids=turn.token_ids,
        logprobs=turn.logprobs,
        tokens=turn.tokens,
        top_logprobs=turn.top_logprobs,
        usage=turn.usage,
        finish_reason=turn.finish_reason,
        reasoning=turn.reasoning,
        model=turn.model,
        version=turn.version,
        version_spans=turn.version_spans,
        metadata=turn.metadata,
    )


@dataclass
class _Attempt:
    key: EpisodeKey
    observations: list[dict[str, Any]]
    """Edits, one more than turns."""
    turns: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    size: int = 0
    """Bytes of its lines."""

    def add(self, turn: dict[str, Any], observation: dict[str, Any], seconds: float) -> None:
        """Take in a turn, and how many seconds were played at its end."""
        self.turns.append(turn)
        self.observations.append(observation)
        self.seconds = seconds

    def trajectory(self) -> Trajectory | None:
        """Return what was played; None if it cannot be read."""
        env, seed, repetition = self.key
        first = {"spec": None, "seed": seed, "repetition": repetition, "metadata": {"label": env}}
        last = {"final_observation_edit": self.observations[-1], "seconds": self.seconds}
        try:
            return Trajectory.from_dict({"schema": SCHEMA, **first, "transitions": self.turns, **last})
        except TrajectoryError:
            return None


def _prefix(number: int) -> bytes:
    return b'{"attempt":%d,' % number


def _line(number: int, record: dict[str, Any]) -> bytes:
    return encoded({"attempt": number, **record}) + b"\n"


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the whole lines of a file with the numbers of their attempts."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        for line in file:
            number = _NUMBER.match(line)
            if number is not None and line.endswith(b"}\n"):
                yield int(number[1]), line


def _read(path: Path) -> dict[int, _Attempt]:
    """Return the attempts that are not over, by number, the latest last.

    A turn that cannot be read is the end of what was played, since those after it have another index.
    """
    attempts: dict[int, _Attempt] = {}
    for number, line in _lines(path):
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            record = json.loads(line)
            if "key" in record:
                key = EpisodeKey(*record["key"])
                hash(key)
                attempts[number] = _Attempt(key, [record["then"]])
            elif "over" in record:
                attempts.pop(number, None)
            elif number in attempts and record["index"] == len(attempts[number].turns):
                attempts[number].add(record["turn"], record["then"], float(record["seconds"]))
        if number in attempts:
            attempts[number].size += len(line)
    return attempts
