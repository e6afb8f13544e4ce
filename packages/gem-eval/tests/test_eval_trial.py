"""What can never work ends before a run folder exists."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from gem_cli.main import cli
from gem_eval.fake_model import FakeModel, FakeModelThread

GUESS = "game:GuessTheNumber-v0-easy"


class NoPolicy:
    """Makes something that cannot act."""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([GUESS, "--agent", "random", "--arg", "min_numbr=2"], "has no argument 'min_numbr'"),
        ([GUESS, "--agent", "os:path"], "not a module"),
        ([GUESS, "--agent", f"{__name__}:NoPolicy"], "no method act"),
        (["math:GSM8K", "--agent", "random", "--arg", "dataset=/no/such/file.jsonl"], "/no/such/file.jsonl"),
        ([GUESS, "--base-url", "scripted:os:getcwd", "--protocol", "completions"], "concat_chat"),
    ],
    ids=["argument", "module", "no policy", "data set", "protocol"],
)
def test_a_mistake_leaves_no_folder(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the mistake, and nothing is left that could be resumed."""
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["eval", *arguments, "-n", "2", "--out", "run"])
    assert result.exit_code != 0
    assert said in " ".join((result.output + str(result.exception)).split()), result.output
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_log_says_what_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal, and so without a bar, each reason for repeating requests is a line on stderr, once."""
    monkeypatch.chdir(tmp_path)
    with FakeModelThread(FakeModel("random", faults=["queue-full*1"])) as server:
        Path("run.toml").write_text(f'base_url = "{server.url}"\nclient = {{ first_delay = 2.0 }}\n')
        result = CliRunner().invoke(
            cli, ["eval", GUESS, "--config", "run.toml", "-n", "1", "--max-turns", "1", "--out", "run"]
        )
    assert result.exit_code == 0, result.output
    assert result.stderr.count("to be repeated after rate_limited") == 1, result.stderr
