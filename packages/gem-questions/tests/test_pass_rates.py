"""The log of pass rates, and the weights made of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError, ArgumentTypeError
from gem_questions import PassRate, PassRateLog, learnability
from gem_rollout.trajectory import Trajectory, Transition

WRITER = """
import sys
from gem_questions import PassRateLog
log = PassRateLog(sys.argv[1])
for number in range(300):
    log.record("x" * 500, number % 7, float(sys.argv[2]))
"""


def test_several_processes_append_without_loss(tmp_path: Path) -> None:
    """Every attempt of every process is there, and whole."""
    path = tmp_path / "rates.jsonl"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), passed]) for passed in ("0", "1", "1")]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert sum(1 for line in path.read_bytes().splitlines() if json.loads(line)) == 900
    assert PassRateLog(path).env_rates() == {"x" * 500: PassRate(600.0, 900)}


@given(attempts=st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 2), st.floats(0, 1)), max_size=20))
def test_reading_again_counts_what_is_new(
    tmp_path_factory: pytest.TempPathFactory, attempts: list[tuple[str, int, float]]
) -> None:
    """A reader that looks after each attempt sees the same as one that comes at the end."""
    path = tmp_path_factory.mktemp("log") / "deep" / "rates.jsonl"
    writer, follower = PassRateLog(path), PassRateLog(path)
    assert follower.rates() == {}
    for attempt in attempts:
        writer.record(*attempt)
        follower.rates()
    assert follower.rates() == PassRateLog(path).rates() == writer.rates()
    for env in ("a", "b"):
        mine = [passed for name, _, passed in attempts if name == env]
        assert sum(rate.attempts for rate in follower.row_rates(env).values()) == len(mine)


def test_broken_lines_are_left_out(tmp_path: Path) -> None:
    """A line that was cut off by a killed process hides neither the one before nor the one after it."""
    path = tmp_path / "rates.jsonl"
    log = PassRateLog(path)
    log.record("a", 1, True)
    with path.open("ab") as file:
        file.write(
            b'[]\n{"env": 3, "row": 1, "passed": 1}\n{"env": "a", "row": 1, "passed": 7}\n\xff\n{"env": "a", "ro'
        )
    log.record("a", 1, False)
    assert log.rates() == PassRateLog(path).rates() == {("a", 1): PassRate(1.0, 2)}


def test_only_the_window_counts(tmp_path: Path) -> None:
    """Old attempts are forgotten."""
    log = PassRateLog(tmp_path / "rates.jsonl", window=3)
    for passed in (1, 1, 1, 0, 0):
        log.record("a", "row", passed)
    assert log.rates() == {("a", "row"): PassRate(1.0, 3)}
    assert log.row_rates("a")["row"].rate == pytest.approx(1 / 3)


def episode(info: dict[str, Any], reset: dict[str, Any], **more: Any) -> Trajectory:
    """Return an episode of one turn."""
    return Trajectory(None, 4, [Transition("o", "a", 1.0, True, False, info)], reset, metadata={"label": "set"}, **more)


@pytest.mark.parametrize(
    ("info", "reset", "recorded"),
    [
        ({"correct": True, "index": 7}, {}, {("set", 7): PassRate(1.0, 1)}),
        ({"correct": False}, {"index": 8}, {("set", 8): PassRate(0.0, 1)}),
        ({"success": True}, {}, {("set", "seed 4"): PassRate(1.0, 1)}),
        ({"correct": False, "grade": "unreadable"}, {"index": 8}, {("set", 8): PassRate(0.0, 1)}),
        ({"correct": False, "grader_fault": "no gold"}, {"index": 8}, {}),
        ({"correct": False, "user_fault": "nonsense"}, {"index": 8}, {}),
        ({"correct": False, "error": "a note"}, {"index": 8}, {("set", 8): PassRate(0.0, 1)}),
        ({}, {"index": 8}, {}),
    ],
)
def test_an_episode_is_recorded_by_its_row(
    tmp_path: Path, info: dict[str, Any], reset: dict[str, Any], recorded: dict[Any, PassRate]
) -> None:
    """An answer that cannot be read is wrong; what grader or user spoiled says nothing about the agent."""
    log = PassRateLog(tmp_path / "rates.jsonl")
    assert log.record_episode(episode(info, reset)) is bool(recorded)
    assert log.rates() == recorded


@given(passed=st.integers(0, 50), failed=st.integers(0, 50))
def test_what_is_passed_half_the_time_weighs_most(passed: int, failed: int) -> None:
    """The weight is symmetric, at least the floor, and no more than a quarter."""
    rates = {"it": PassRate(passed, passed + failed), "mirrored": PassRate(failed, passed + failed)}
    weights = learnability({**rates, "even": PassRate(5, 10), "untried": PassRate(0, 0)})
    assert weights["it"] == pytest.approx(weights["mirrored"])
    assert 0.01 <= weights["it"] <= weights["even"] == weights["untried"] == 0.25


def test_wrong_values_are_refused(tmp_path: Path) -> None:
    """When they are recorded, and not when the log is read."""
    log = PassRateLog(tmp_path / "rates.jsonl")
    for attempt in (("a", 1, 1.5), ("a", 1, float("nan")), ("", 1, 1.0)):
        with pytest.raises(ArgumentError):
            log.record(*attempt)
    for other in (("a", True, 1.0), ("a", 1.5, 1.0), ("a", 1, "1"), (3, 1, 1.0)):
        with pytest.raises(ArgumentTypeError):
            log.record(*other)  # type: ignore[arg-type]
    assert not log.path.exists()
    with pytest.raises(ArgumentError, match="nobody has tried 'x'"):
        learnability({"x": PassRate(0, 0)}, unknown=0)
