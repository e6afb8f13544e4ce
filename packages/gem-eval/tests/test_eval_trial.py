"""What can never work ends before a run folder exists."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from gem_cli.main import cli

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
