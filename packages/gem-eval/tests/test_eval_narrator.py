"""What gem eval says while it runs: rate, expected end, the first failure of each kind in words."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

from gem_eval.cli.narrator import EvaluationNarrator, expectation
from gem_eval.fake_model import FakeModel, FakeModelThread, Latency
from gem_eval.runs import EpisodeRow
from gem_eval.runs.progress import EvaluationProgress
from gem_rollout.trajectory import Failure, Trajectory

NOON = time.mktime((2026, 11, 30, 12, 0, 0, 0, 0, -1))


@pytest.mark.parametrize(
    ("done", "left", "seconds", "said"),
    [
        (2, 98, 60.0, ""),
        (30, 0, 60.0, "30.0/min"),
        (30, 60, 60.0, "30.0/min, until about 12:02"),
        (3, 3000, 3600.0, "0.05/min, until about 2027-01-11 04:00"),
        (5, 5, 0.0, ""),
    ],
)
def test_the_rate_and_the_end_are_those_of_what_was_played(done: int, left: int, seconds: float, said: str) -> None:
    """From three episodes on; a run that lasts until another day names the day."""
    assert expectation(done, left, seconds, NOON) == said


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


def told(
    terminal: bool, make_trajectory: Callable[..., Trajectory], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> str:
    """Let an evaluation of 40 episodes go on for 10 minutes, half of it played before it was resumed."""
    screen, clock = StringIO(), Clock()
    console = Console(file=screen, force_terminal=True, width=200, no_color=True)
    with Progress(TextColumn("{task.fields[below]}", markup=False), console=console, disable=not terminal) as bar:
        narrator = EvaluationNarrator(bar, clock, lambda: NOON)
        current = EvaluationProgress(tmp_path, total=40, finished=20)
        narrator(current)
        for number in range(10):
            clock.seconds += 60
            failure = Failure("endpoint", f"kind{number % 5}", f"no \x1b[2J[bold]answer\nat {number}", 1)
            row = EpisodeRow.of_trajectory(make_trajectory(seed=number, failure=failure if number >= 4 else None))
            current.add(row, "" if row.failure is None else failure.message)
            narrator(current)
        assert narrator.last is current
    return screen.getvalue() if terminal else capsys.readouterr().err


@pytest.mark.parametrize("terminal", [True, False])
def test_failures_are_told_as_they_happen(
    terminal: bool, make_trajectory: Callable[..., Trajectory], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first of each of three kinds, once, on one line, controls and markup as text; the rate is of this part."""
    said = told(terminal, make_trajectory, tmp_path, capsys)
    lines = re.findall(r"first failure of .*", said)
    assert [line.strip() for line in lines] == [
        f"first failure of endpoint/kind{kind}: no ␛[2J[bold]answer at {number}"
        for kind, number in ((4, 4), (0, 5), (1, 6))
    ]
    assert "1.00/min, until about 12:1" in said
    minutes = re.findall(r"^\d+ of 40 episodes; return", said, re.MULTILINE)
    assert len(minutes) == (0 if terminal else 7)  # a line was said in each of the other three


@pytest.mark.nightly
def test_a_terminal_shows_the_bar_and_the_first_failure(tmp_path: Path) -> None:
    """A real evaluation behind a pseudo-terminal, whose server fails now and then."""
    pty = pytest.importorskip("pty")
    shown, slave = pty.openpty()
    model = FakeModel("random", faults=["bad-request:0.3"], latency=Latency(0.05))
    with FakeModelThread(model) as server, (tmp_path / "out").open("w") as out:
        command = [
            "-m",
            "gem",
            "eval",
            "game:GuessTheNumber-v0-easy",
            "-u",
            server.url,
            "-n",
            "40",
            "-c",
            "4",
            "--retries",
            "0",
        ]
        with subprocess.Popen(
            [sys.executable, *command], stderr=slave, stdout=out, cwd=tmp_path, env={**os.environ, "TERM": "xterm"}
        ) as process:
            os.close(slave)
            screen = b""
            while chunk := _read(shown):
                screen += chunk
        os.close(shown)
    text = screen.decode()
    assert process.returncode == 0, text
    assert len(re.findall("first failure of endpoint/", text)) >= 1
    assert "/40" in text
    assert "/min" in text


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux, once the other end is closed
        return b""
