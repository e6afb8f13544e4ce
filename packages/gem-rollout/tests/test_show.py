"""``gem show``: recorded episodes in a terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gem.policies import Act
from gem_cli.main import cli
from gem_rollout.trajectory import Trajectory, TrajectoryBuilder, TrajectoryWriter, Transition


def show(*arguments: Any) -> str:
    result = CliRunner().invoke(cli, ["show", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of a failed episode with everything that a model may emit, and one that a limit ended."""
    failed = TrajectoryBuilder(None, 7, repetition=2, agent="mo\x1b[31mdel")
    rules = "The rules of the game are these. " * 10
    failed.begin(rules, {})
    act = Act(
        "[red]go\x1b[0m",
        prompt_token_ids=[1, 2, 3],
        token_ids=[4, 5],
        reasoning="because [bold]\x07",
        model="m",
        version=3,
        finish_reason="stop",
    )
    failed.add(act, rules + "Go on.", 0.5, False, False, {}, tool_calls=[{"name": "search"}], act_seconds=0.25)
    failed.add("again", [{"role": "[red]user", "content": "x\x1b"}], 0.5, False, False, {})
    failed.fail("endpoint", "rate_limited", "too many\x1b requests")
    limited = Trajectory(None, 8, [Transition("a", "b", 0.0, False, True)], stop_reason="tokens")
    path = tmp_path / "runs.jsonl"
    with TrajectoryWriter(path) as writer:
        writer.write(failed.finish())
        writer.write(limited)
    return path


def test_the_table_names_failures_and_limits(file: Path) -> None:
    """The last column says why each episode ended."""
    shown = show(file)
    assert "7 #2" in shown
    assert "failed: endpoint rate_limited" in shown
    assert "limit of tokens" in shown
    first = json.loads(show(file, "--json"))[0]
    assert (first["repetition"], first["failure"]["kind"], first["error"]) == (
        2,
        "rate_limited",
        "too many\x1b requests",
    )


def test_an_episode_has_reasoning_tokens_and_only_what_is_new(file: Path) -> None:
    """A history is not repeated at every turn; one turn by itself is shown whole."""
    shown = show(file, 0)
    assert "because [bold]" in shown
    assert "m, version 3, 3 tokens in, 2 out, stop, 0.25 s" in shown
    assert "search" in shown
    assert shown.count("The rules of the game") == 10
    assert "… 330 characters as before\nGo on." in shown
    assert "too many␛ requests" in shown
    assert show(file, 0, "--turn", 2).count("The rules of the game") == 10


def test_nothing_that_was_recorded_reaches_the_terminal_as_a_control_sequence(file: Path) -> None:
    """Neither escapes nor markup of rich take effect."""
    for shown in (show(file), show(file, 0)):
        assert "\x1b" not in shown
        assert "\x07" not in shown
    assert "[red]go" in show(file, 0)
    assert "[red]user" in show(file, 0)


def test_messages_that_were_shown_before_are_counted(tmp_path: Path) -> None:
    """Under a wrapper that shows messages, each turn shows its own."""
    messages = [{"role": "user", "content": f"message {number}"} for number in range(4)]
    turns = [Transition(messages[: n + 1], "go", 0.0, False, False) for n in range(3)]
    path = tmp_path / "messages.jsonl"
    with TrajectoryWriter(path) as writer:
        writer.write(Trajectory(None, 1, turns, final_observation=messages))
    shown = show(path)
    assert shown.count("message 0") == 2
    assert shown.count("message 3") == 1
    assert "… 3 messages as before" in shown


def test_a_file_that_holds_no_episodes_is_an_error(tmp_path: Path) -> None:
    """A text file is not an empty recording; an empty file is."""
    path = tmp_path / "notes.md"
    path.write_text("# Notes\n")
    result = CliRunner().invoke(cli, ["show", str(path)])
    assert result.exit_code == 1
    assert "holds no recorded episodes" in str(result.exception or result.output)
    path.write_text("")
    assert json.loads(show(path, "--json")) == []


def test_the_json_of_an_episode_has_whole_observations(file: Path) -> None:
    """Programs that read it need to know nothing of edits."""
    turns = json.loads(show(file, 0, "--json"))["transitions"]
    assert turns[1]["observation"].endswith("Go on.")
