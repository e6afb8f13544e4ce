"""How far an evaluation is: :class:`EvaluationProgress`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from gem.counts import counted
from gem_eval.runs.episode_row import EpisodeRow
from gem_rollout.trajectory import Outcome
from gem_rollout.trajectory.outcome import count_outcomes, success_text

__all__ = ["EvaluationProgress"]


@dataclass
class EvaluationProgress:
    """Counts and running means. Episodes that were finished before a resume count from the beginning."""

    folder: Path
    """Of the run."""
    total: int
    """Episodes of the run."""
    finished: int = 0
    failed: int = 0
    returns: float = 0.0
    """The sum over the finished episodes."""
    outcomes: dict[str, Counter[tuple[Outcome, str | None]]] = field(default_factory=dict)
    """Environment → outcome and stop reason → its episodes."""
    failures: Counter[str] = field(default_factory=Counter)
    """Failed episodes by ``source/kind``."""
    messages: dict[str, str] = field(default_factory=dict)
    """The first message of each of ``failures``."""
    in_flight: int = 0
    """Episodes that are being played."""
    paused: bool = False
    """Whether no more begin until somebody says so."""
    stopped: bool = False
    """Whether somebody ended the run before its last episode."""
    tokens: int = 0
    """Sampled by the model."""
    continued: int = 0
    """Episodes that an interruption left unfinished, and that go on after their last turn."""
    begun_again: list[str] = field(default_factory=list)
    """Why some of these had to begin again after all; a sentence each."""
    lost_workers: list[str] = field(default_factory=list)
    """How each worker ended that died and was replaced: ``"was killed by SIGKILL"``."""
    waiting: Counter[str] = field(default_factory=Counter)
    """What requests to the model failed with that wait for their next attempt."""

    def add(self, row: EpisodeRow, message: str = "") -> None:
        """Take in an episode; ``message`` says why it failed."""
        self.tokens += row.completion_tokens or 0
        if row.failure is not None:
            kind = f"{row.failure['source']}/{row.failure['kind']}"
            self.failures[kind] += 1
            self.messages.setdefault(kind, message)
            self.failed += 1
        else:
            self.finished += 1
            self.returns += row.episode_return
        self.outcomes.setdefault(row.env, Counter())[row.outcome, row.stop_reason] += 1

    def take_back(self, row: EpisodeRow) -> None:
        """Forget a failed episode, which is played anew."""
        if row.failure is not None:
            self.failures[f"{row.failure['source']}/{row.failure['kind']}"] -= 1
            self.failed -= 1
            self.outcomes[row.env] -= Counter([(row.outcome, row.stop_reason)])

    @property
    def mean_return(self) -> float | None:
        """The mean return of the finished episodes."""
        return self.returns / self.finished if self.finished else None

    def success_line(self) -> str:
        """Return the share of successes with its counts; empty where no outcome is known."""
        counts = [count_outcomes(outcomes) for outcomes in self.outcomes.values()]
        solved, judged, unknown = map(sum, zip(*counts, strict=True)) if counts else (0, 0, 0)
        share = success_text(solved, judged, unknown)
        return share and f"success {share}"

    def line(self) -> str:
        """Return the figures in a line."""
        parts = []
        if self.mean_return is not None:
            parts.append(f"return {self.mean_return:.3f}")
        if success := self.success_line():
            parts.append(success)
        if self.in_flight:
            parts.append(f"{self.in_flight} playing")
        if self.paused:
            parts.append("paused")
        if self.continued:
            parts.append(f"{self.continued} continued")
        if lost := len(self.lost_workers):
            parts.append(f"{counted(lost, 'worker')} replaced")
        parts += _errors(self.failures.most_common(3))
        if self.waiting:
            parts.append(self.waiting_line())
        return ", ".join(parts)

    def waiting_line(self) -> str:
        """Return what requests to the model wait for, in a sentence without a stop."""
        reason, _ = self.waiting.most_common(1)[0]
        count = self.waiting.total()
        return f"{count} request{'s' * (count != 1)} to be repeated after {reason}"


def _errors(counted: Iterable[tuple[str, int]]) -> list[str]:
    return [f"{count} {kind}" for kind, count in counted]
