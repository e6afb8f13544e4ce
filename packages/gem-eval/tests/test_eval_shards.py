"""An evaluation in shards on machines that share nothing, and the run that joins them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gem_cli.main import cli
from gem_eval import EvaluationConfig, EvaluationConfigError, EvaluationEnvironment, RunFolder, RunFolderError
from gem_eval.cli.results import summary_of
from gem_eval.runs import canonical_lines, evaluate_sync
from gem_eval.runs.shards import join_runs, shard

GUESS = EvaluationEnvironment("game:GuessTheNumber-v0-easy")
WORDLE = EvaluationEnvironment("game:Wordle-v0-easy", episodes=9, group=3, seed=100)


def config(**settings: Any) -> EvaluationConfig:
    """Return an evaluation of the reference policy on two environments, of 4 and of 3 seeds."""
    return EvaluationConfig(environments=(GUESS, WORDLE), agent="reference", **{"episodes": 4, **settings})


def played(path: Path, evaluation: EvaluationConfig) -> RunFolder:
    """Play an evaluation into a folder."""
    return evaluate_sync(evaluation, out=path)


@given(st.integers(1, 60), st.integers(1, 5), st.integers(1, 60), st.integers(0, 2**31))
def test_shards_divide_the_seeds_without_gap_or_overlap(seeds: int, group: int, shards: int, first: int) -> None:
    """Their sizes differ by one seed at most, and a group stays whole."""
    whole = EvaluationConfig(environments=(GUESS,), agent="null", episodes=seeds * group, group=group, seed=first)
    if shards > seeds:
        with pytest.raises(EvaluationConfigError, match=f"too few for {shards} shards"):
            shard(whole, 1, shards)
        return
    parts = [shard(whole, number + 1, shards).environments[0] for number in range(shards)]
    found = [seed for part in parts for seed in range(part.seed or 0, (part.seed or 0) + (part.episodes or 0) // group)]
    assert found == list(range(first, first + seeds))
    assert {part.group for part in parts} == {group}
    sizes = {part.episodes for part in parts}
    assert max(sizes) - min(sizes) <= group  # type: ignore[type-var, operator]  # a shard names its episodes


@pytest.mark.parametrize(("number", "shards"), [(0, 3), (4, 3), (-1, 3), (1, 0)])
def test_a_shard_that_does_not_exist_is_refused(number: int, shards: int) -> None:
    """They are numbered from one."""
    with pytest.raises(EvaluationConfigError, match="shards are numbered from 1"):
        shard(config(), number, shards)


def test_the_joined_run_equals_the_run_of_one_process(tmp_path: Path) -> None:
    """Every episode byte for byte, but times; the same figures; and shards may come in any order."""
    whole = played(tmp_path / "whole", config())
    shards = [played(tmp_path / str(number), shard(config(), number, 3)) for number in (3, 1, 2)]
    joined = join_runs([run.path for run in shards], tmp_path / "joined")
    assert list(canonical_lines(joined)) == list(canonical_lines(whole))
    for one, other in zip(summary_of(joined).environments, summary_of(whole).environments, strict=True):
        assert (one.success, one.mean_return, one.planned) == (other.success, other.mean_return, other.planned)
    assert [item.to_dict() for item in joined.config.environments] == [
        item.to_dict() for item in whole.config.environments
    ]
    assert all((run.path / "run.json").exists() for run in shards)


def test_what_a_shard_has_not_played_is_played_in_the_joined_run(tmp_path: Path) -> None:
    """A task of the array may have been lost: its episodes are missing, and a resume plays them alone."""
    runs = [played(tmp_path / str(number), shard(config(), number, 2)) for number in (1, 2)]
    lines = runs[1].episodes_path.read_bytes().splitlines(keepends=True)
    runs[1].episodes_path.write_bytes(b"".join(lines[:-4]))
    joined = join_runs([run.path for run in runs], tmp_path / "joined")
    assert summary_of(joined).missing == 4
    result = CliRunner().invoke(cli, ["eval", "--resume", str(joined.path), "--json"])
    assert result.exit_code == 0, result.output
    again = RunFolder(joined.path)
    assert summary_of(again).missing == 0
    assert len(again.rows(attempts=True)) == 13


def small(**settings: Any) -> EvaluationConfig:
    """Return an evaluation of three seeds."""
    return EvaluationConfig(**{"environments": (GUESS,), "agent": "reference", "episodes": 3, **settings})


@pytest.mark.parametrize(
    ("second", "sentence"),
    [
        (small(seed=3), None),
        (small(seed=3, retries=3, concurrency=2), None),
        (small(seed=4), "neither has game:GuessTheNumber-v0-easy with seed 3"),
        (small(seed=2), "both have game:GuessTheNumber-v0-easy with seed 2"),
        (small(seed=3, agent="null"), "agent was 'reference' and is 'null'"),
        (small(seed=3, group=3), "group was 1 and is 3"),
        (small(seed=3, limits={"max_turns": 2}), "limits max_turns was not set and is 2"),
        (small(seed=3, environments=(WORDLE,)), "environment 'game:GuessTheNumber-v0-easy' is missing"),
    ],
)
def test_only_parts_of_one_evaluation_are_joined(
    second: EvaluationConfig, sentence: str | None, tmp_path: Path
) -> None:
    """Seeds must follow each other, and everything that an episode depends on must be the same."""
    paths = [played(tmp_path / "a", small()).path, played(tmp_path / "b", second).path]
    if sentence is None:
        assert summary_of(join_runs(paths, tmp_path / "joined")).episodes == 6
        return
    with pytest.raises(RunFolderError, match=sentence):
        join_runs(paths, tmp_path / "joined")
    assert not (tmp_path / "joined").exists()


def test_a_run_is_joined_neither_twice_nor_while_it_is_played_nor_into_another(tmp_path: Path) -> None:
    """And what is there stays as it was."""
    run = played(tmp_path / "a", small())
    with pytest.raises(RunFolderError, match="both have"):
        join_runs([run.path, run.path], tmp_path / "joined")
    with pytest.raises(RunFolderError, match="holds a run"):
        join_runs([run.path], run.path)
    with RunFolder.open(run.path, write=True), pytest.raises(RunFolderError, match="is being played"):
        join_runs([run.path], tmp_path / "joined")
    assert len(RunFolder(run.path).rows()) == 3


def test_a_failure_in_the_middle_leaves_no_half_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk, for example."""
    run = played(tmp_path / "a", small())
    before = RunFolder.append_line

    def append(folder: RunFolder, line: Any) -> Any:
        if len(folder.rows()) == 2:
            raise RunFolderError("No space left on device")
        return before(folder, line)

    monkeypatch.setattr(RunFolder, "append_line", append)
    with pytest.raises(RunFolderError, match="No space left"):
        join_runs([run.path], tmp_path / "joined")
    assert not (tmp_path / "joined").exists()


def test_the_commands(tmp_path: Path) -> None:
    """``gem eval --shard`` for each task of an array, then ``gem run join``."""
    runner, paths = CliRunner(), [str(tmp_path / str(number)) for number in (1, 2)]
    for number, path in enumerate(paths, 1):
        arguments = [GUESS.id, "--agent", "reference", "-n", "5", "--shard", f"{number}/2", "--out", path]
        assert runner.invoke(cli, ["eval", *arguments]).exit_code == 0
    joined = tmp_path / "all"
    result = runner.invoke(cli, ["run", "join", str(joined), *paths])
    assert result.output == f"2 runs with 5 episodes joined in {joined}\n"
    assert json.loads((joined / "run.json").read_text())["environments"][0]["episodes"] == 5


@pytest.mark.parametrize("text", ["2", "/", "2/", "a/b", "2/8/1", "²/8", "-1/8", "9999999999999/1"])
def test_a_malformed_shard_is_one_sentence(text: str) -> None:
    """No traceback."""
    result = CliRunner().invoke(cli, ["eval", GUESS.id, "--agent", "null", f"--shard={text}"])
    assert result.exit_code == 2
    assert "must look like 2/8" in result.output


@pytest.mark.parametrize("text", ["0/3", "4/3"])
def test_an_impossible_shard_is_one_sentence(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command prints the error's sentence, and makes no folder of a run."""
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["eval", GUESS.id, "--agent", "null", "--shard", text])
    assert isinstance(result.exception, EvaluationConfigError)
    assert "shards are numbered from 1 to 3" in str(result.exception)
    assert not Path("runs").exists()
