"""What can never work ends before a run folder exists."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from gem.core import Info
from gem.policies import Policy
from gem_cli.main import cli
from gem_eval.fake_model import FakeModel, FakeModelThread
from gem_eval.runs import evaluate_sync

GUESS = "game:GuessTheNumber-v0-easy"


class NoPolicy:
    """Makes something that cannot act."""


class ClosesLater(Policy[str, str]):
    """Answers one thing, and closes in a coroutine."""

    made = closed = 0

    def __init__(self) -> None:
        type(self).made += 1

    def act(self, observation: str, info: Info) -> str:
        return "\\boxed{1}"

    async def close(self) -> None:
        type(self).closed += 1


def test_a_policy_that_closes_in_a_coroutine_is_closed_each_time(tmp_path: Path) -> None:
    """Both the one that is made for the trial and the one that plays."""
    evaluate_sync({"environment": [GUESS], "episodes": 1, "agent": f"{__name__}:ClosesLater"}, out=tmp_path / "run")
    assert ClosesLater.made == ClosesLater.closed == 2


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
