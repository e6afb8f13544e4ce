"""gem rescore: scores beside recorded episodes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gem.errors import ArgumentError
from gem_eval.cli.rescore import rescore_command
from gem_eval.fake_model import FakeModel, FakeModelThread
from gem_eval.rewards.episode_source import open_episodes
from gem_eval.rewards.rescoring import rescore
from gem_eval.runs import RunConfig, RunFolder
from gem_eval.runs.score_files import score_path
from gem_eval.viewer.viewed_run import ViewedRun
from gem_questions.rewards import Reward, Score, make_reward
from gem_rollout.trajectory import Failure, Trajectory, TrajectoryWriter, Transition


def episode(seed: int, text: Any = "4", *, repetition: int = 0, failed: bool = False) -> Trajectory:
    """Return an episode whose right answer is 4."""
    turn = Transition("2 + 2?", text, 0.0, True, False, {"answer": "4"})
    failure = Failure("endpoint", "timeout", "late", 1) if failed else None
    return Trajectory(None, seed, [turn], repetition=repetition, failure=failure, metadata={"label": "math:X"})


def write_file(path: Path, *episodes: Trajectory) -> Path:
    """Write a file of episodes."""
    with TrajectoryWriter(path) as writer:
        for item in episodes:
            writer.write(item)
    return path


def write_run(path: Path, *episodes: Trajectory) -> Path:
    """Write a run folder."""
    with RunFolder.create(path, RunConfig(environments=(), agent="test")) as folder:
        for item in episodes:
            folder.append(item)
    return path


def run(*arguments: Any) -> Result:
    """Run the command, which must not end with a traceback."""
    result = CliRunner().invoke(rescore_command, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit | ValueError | LookupError | TypeError)
    return result


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file of scores that are JSON."""
    return [json.loads(line) for line in path.read_text().splitlines() if line.startswith("{")]


class Counting(Reward):
    """Counts its calls, and may end the command after some."""

    calls = 0
    stop_after = 10**9

    def score(self, trajectory: Trajectory) -> Score:
        if Counting.calls >= Counting.stop_after:
            raise KeyboardInterrupt
        Counting.calls += 1
        return Score(1.0)


class Unsure(Reward):
    """Cannot tell, for a reason that may pass or not."""

    kind = "timeout"

    def score(self, trajectory: Trajectory) -> Score:
        return Score.unreadable("no idea", Unsure.kind)


def test_a_run_gets_scores_beside_its_episodes(tmp_path: Path) -> None:
    """The episodes stay byte for byte; rows and episodes of the folder have the scores."""
    path = write_run(tmp_path / "run", episode(0), episode(1, "5"), episode(2, failed=True))
    before = (path / "episodes.jsonl").read_bytes()
    result = run(path, "--reward", "exact", "--reward", "numeric", "--json")
    assert result.exit_code == 0, result.output
    report = {item["label"]: item for item in json.loads(result.stdout)["rewards"]}
    assert report["exact"] == {
        "label": "exact", "reward": {"name": "exact"}, "path": str(path / "scores" / "exact.jsonl"), "episodes": 2,
        "new": 2, "unreadable": {}, "readable": 2, "mean": 0.5,
    }  # fmt: skip
    assert (path / "episodes.jsonl").read_bytes() == before
    folder = RunFolder(path)
    assert [row.scores for row in folder.rows()] == [{"exact": 1.0, "numeric": 1.0}, {"exact": 0.0, "numeric": 0.0}, {}]
    scores = folder.episode(folder.rows()[1]).scores
    assert scores["exact"]["reasons"] == ["the answer '5' is not right"]
    assert lines(path / "scores" / "exact.jsonl")[0] == {"schema": 1, "label": "exact", "reward": {"name": "exact"}}


def test_a_file_gets_a_folder_of_scores(tmp_path: Path) -> None:
    """Beside it, under its own name; the table has a row a reward."""
    path = write_file(tmp_path / "a.jsonl", episode(0), episode(1, "5"))
    result = run(path, "--reward", "exact")
    assert result.exit_code == 0
    assert "0.500" in result.output
    assert [line.get("value") for line in lines(tmp_path / "a.scores" / "exact.jsonl")] == [None, 1.0, 0.0]


def test_an_interrupted_command_goes_on(tmp_path: Path) -> None:
    """Each score is written at once, and no episode is scored twice."""
    path = write_file(tmp_path / "a.jsonl", *map(episode, range(10)))
    Counting.calls, Counting.stop_after = 0, 4
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(_rescore(path, f"{__name__}:Counting"))
    label = make_reward(f"{__name__}:Counting").recorded_as
    file = score_path(tmp_path / "a.scores", label)
    assert len(lines(file)) == 1 + 4
    with file.open("ab") as cut:
        cut.write(b'{"offset": 12, "env": "math')  # what a crash leaves
    Counting.stop_after = 10**9
    (summary,) = asyncio.run(_rescore(path, f"{__name__}:Counting"))
    assert (summary.episodes, summary.new, Counting.calls) == (10, 6, 10)
    assert RunScoresOf(path) == 10


async def _rescore(path: Path, *names: str, **options: Any) -> Any:
    source, folder = open_episodes(path)
    return await rescore(source, [make_reward(name) for name in names], folder, concurrency=1, **options)


def RunScoresOf(path: Path) -> int:
    """Count the episodes of a file with a score."""
    from gem_eval.runs.score_files import RunScores

    source, folder = open_episodes(path)
    return sum(bool(row.scores) for row in RunScores(folder).attach(source.rows()))


def test_scores_of_another_configuration_are_not_mixed(tmp_path: Path) -> None:
    """The message says what differs; --anew keeps the old file aside; another label keeps both."""
    path = write_file(tmp_path / "a.jsonl", episode(0, "\\boxed{4}"), episode(1, "4"))
    assert run(path, "--reward", "exact").exit_code == 0
    refused = run(path, "--reward", "exact", "--set", "extract=boxed")
    assert refused.exit_code != 0
    assert "extract was None and is 'boxed'" in str(refused.exception) + refused.output
    assert run(path, "--reward", "exact", "--set", "extract=boxed", "--anew").exit_code == 0
    assert [line.get("value") for line in lines(tmp_path / "a.scores" / "exact.jsonl")] == [None, 1.0, 0.0]
    assert len(list((tmp_path / "a.scores" / "replaced").iterdir())) == 1
    assert run(path, "--reward", "exact", "--set", "label=whole").exit_code == 0
    assert (tmp_path / "a.scores" / "whole.jsonl").exists()


@pytest.mark.parametrize(("kind", "again"), [("timeout", 3), ("exception", 3), ("no_answer_known", 0)])
def test_an_unreadable_score_is_tried_again_where_that_may_help(tmp_path: Path, kind: str, again: int) -> None:
    """A fault of the endpoint may have passed; one of the episode has not."""
    path = write_file(tmp_path / "a.jsonl", *map(episode, range(3)))
    Unsure.kind = kind
    for expected in (3, again):
        (summary,) = asyncio.run(_rescore(path, f"{__name__}:Unsure"))
        assert (summary.new, summary.unreadable, summary.mean) == (expected, {kind: 3}, None)


def test_an_open_folder_sees_new_scores(tmp_path: Path) -> None:
    """As a viewer does while a command goes on; one that could not tell has no value."""
    path = write_run(tmp_path / "run", episode(0), episode(1))
    folder = RunFolder(path)
    assert [row.scores for row in folder.rows()] == [{}, {}]
    run(path, "--reward", "exact", "--limit", 1)
    assert [row.scores for row in folder.rows()] == [{"exact": 1.0}, {}]
    run(path, "--reward", "exact")
    assert [row.scores for row in folder.rows()] == [{"exact": 1.0}] * 2
    run(path, "--reward", f"{__name__}:Unsure", "--set", "label=unsure")
    assert folder.rows()[0].scores == {"exact": 1.0, "unsure": None}


def test_a_viewer_sees_scores_with_their_reasons(tmp_path: Path) -> None:
    """In the record of an episode; the rows are sent anew once, and then stay the same objects."""
    path = write_run(tmp_path / "run", episode(0, "\ud800"), episode(1))
    viewed = ViewedRun(path)
    viewed.refresh()
    run(path, "--reward", "exact", "--limit", 1)
    for _ in range(3):
        viewed.refresh()
    assert viewed.generation == 1
    run(path, "--reward", "exact")
    viewed.refresh()
    assert [row.scores for row in viewed.rows] == [{"exact": 0.0}, {"exact": 1.0}]
    assert json.loads(viewed.record(1))["scores"]["exact"]["reasons"] == ["the answer '4' is right"]
    assert "scores" in json.loads(viewed.record(0))
    with RunFolder.open(path, write=True) as writer:
        writer.append(episode(2))
    viewed.refresh()
    assert (viewed.generation, len(viewed.rows)) == (2, 3)


def test_nothing_readable_is_a_failure(tmp_path: Path) -> None:
    """The exit code says so, as does a run without episodes."""
    path = write_file(tmp_path / "a.jsonl", episode(0))
    Unsure.kind = "timeout"
    result = run(path, "--reward", f"{__name__}:Unsure")
    assert result.exit_code == 1
    assert "1 timeout" in result.output
    assert "no reward could tell" in result.output
    empty = run(write_file(tmp_path / "b.jsonl", episode(0, failed=True)), "--reward", "exact")
    assert (empty.exit_code, "nothing to score" in empty.output) == (1, True)


def test_of_several_lines_the_last_counts(tmp_path: Path) -> None:
    """A failed episode that was played anew is scored once, at its new place."""
    path = write_run(tmp_path / "run", episode(0, failed=True), episode(1), episode(0, "5"))
    (summary,) = json.loads(run(path, "--reward", "exact", "--json").stdout)["rewards"]
    assert (summary["episodes"], summary["mean"]) == (2, 0.5)
    assert {row.seed: row.scores for row in RunFolder(path).rows()} == {0: {"exact": 0.0}, 1: {"exact": 1.0}}


def test_a_damaged_file_of_scores_hurts_nothing(tmp_path: Path) -> None:
    """Lines that are no scores are left out; a file without its first line is put aside and begun anew."""
    path = write_run(tmp_path / "run", episode(0), episode(1))
    run(path, "--reward", "exact")
    file = path / "scores" / "exact.jsonl"
    junk = ['{"offset": []}', "[1]", "\x00", '{"offset": 0, "env": "x", "seed": 0, "repetition": 0, "value": "NaN"}']
    file.write_text(file.read_text() + "\n".join(junk) + "\n")
    assert [row.scores for row in RunFolder(path).rows()] == [{"exact": 1.0}] * 2
    file.write_text("\n".join(junk))
    (path / "scores" / "other.jsonl").write_bytes(b"\xff\xfe\x00")
    assert [row.scores for row in RunFolder(path).rows()] == [{}, {}]
    assert json.loads(run(path, "--reward", "exact", "--json").stdout)["rewards"][0]["new"] == 2


@pytest.mark.parametrize("label", ["a/b", "../../x", "é" * 300, ".hidden", "CON:1", "\ud800", "a b", "x" * 500])
def test_a_label_never_leaves_the_folder(tmp_path: Path, label: str) -> None:
    """Whatever a reward is called, its file lies in the folder of scores, and no two labels share one."""
    path = score_path(tmp_path, label)
    assert path.parent == tmp_path
    assert not path.name.startswith(".")
    assert len(path.name) < 120
    assert path != score_path(tmp_path, f"{label}!")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "composite, environment"),
        (["--reward", "exakt"], "did you mean 'exact'"),
        (["--reward", "exact", "--set", "extract"], "KEY=VALUE"),
        (["--reward", "exact", "--set", "other.extract=boxed"], "no reward is called 'other'"),
        (["--reward", "exact", "--set", "extrakt=boxed"], "did you mean 'extract'"),
        (["--reward", "exact", "--reward", "exact"], "label 'exact'"),
        (["--reward", "rubric", "--set", 'criteria=["a"]'], "--base-url"),
    ],
)
def test_wrong_arguments_are_named(tmp_path: Path, arguments: list[str], message: str) -> None:
    """Before anything is written."""
    path = write_file(tmp_path / "a.jsonl", episode(0))
    result = run(path, *arguments)
    assert result.exit_code != 0
    assert message in result.output + str(result.exception)
    assert not (tmp_path / "a.scores").exists()


@pytest.mark.parametrize("content", ["{", "3", '[{"label": "x"}]', "[[]]"])
def test_a_wrong_file_of_rewards_is_named(tmp_path: Path, content: str) -> None:
    """It must hold names, or objects with one."""
    path = write_file(tmp_path / "a.jsonl", episode(0))
    (tmp_path / "rewards.json").write_text(content)
    result = run(path, "--rewards", tmp_path / "rewards.json")
    assert (result.exit_code, "rewards.json" in result.output) == (2, True)


def test_several_rewards_from_a_file(tmp_path: Path) -> None:
    """Names and objects; settings reach the one that they name."""
    path = write_file(tmp_path / "a.jsonl", episode(0, "\\boxed{4}"))
    rewards = [
        "numeric",
        {"name": "composite", "label": "both", "of": ["exact", {"name": "environment", "weight": 3}]},
    ]
    (tmp_path / "rewards.json").write_text(json.dumps(rewards))
    result = run(path, "--rewards", tmp_path / "rewards.json", "--set", "both.combine=min", "--json")
    assert {item["label"]: item["mean"] for item in json.loads(result.stdout)["rewards"]} == {
        "numeric": 1.0,
        "both": 0.0,
    }


def test_a_judge_scores_a_run_and_is_asked_once(tmp_path: Path) -> None:
    """Over a real socket; its answers are kept in the run folder, also for another label."""
    path = write_run(tmp_path / "run", *map(episode, range(5)))
    arguments = [path, "--reward", "rubric", "--set", 'criteria=["style"]', "--json"]
    server = FakeModel("judge:4")
    with FakeModelThread(server) as model:
        judge = ["--model", "fake-model", "--base-url", model.url]
        (summary,) = json.loads(run(*arguments, *judge).stdout)["rewards"]
        assert (summary["mean"], summary["reward"]["judge"]["model"]) == (0.75, "fake-model")
        asked = server.counts.requests
        run(*arguments, *judge, "--anew")
        run(*arguments, *judge, "--set", "label=again")
        assert server.counts.requests == asked
    assert len(list((path / "judge-cache").rglob("*.json"))) == 1  # five episodes of one text are one question
    assert [row.scores["again"] for row in RunFolder(path).rows()] == [0.75] * 5


def test_labels_say_how_far_a_reward_agrees(tmp_path: Path) -> None:
    """A table with kappa and the disagreements; the same as JSON."""
    texts = ["4", "4", "5", "5", "four"]
    path = write_run(tmp_path / "run", *(episode(seed, text) for seed, text in enumerate(texts)))
    (tmp_path / "labels.csv").write_text("seed,label\n0,pass\n1,pass\n2,fail\n3,fail\n4,pass\n99,pass\n")
    arguments = [path, "--reward", "exact", "--labels", tmp_path / "labels.csv"]
    shown = run(*arguments).output
    assert "80.0%" in shown
    assert "'four' is not right" in shown
    found = json.loads(run(*arguments, "--json").stdout)["calibration"]["exact"]
    assert (found["labelled"], found["false_negative"], found["kappa"]) == (5, 1, pytest.approx(0.615, abs=0.001))
    assert [item["seed"] for item in found["disagreements"]] == [4]
    (tmp_path / "labels.csv").write_text("seed,label\n77,1\n")
    assert "no label belongs" in run(*arguments).output


def test_hostile_answers_reach_no_terminal(tmp_path: Path) -> None:
    """What a model wrote is shown without control characters."""
    path = write_run(tmp_path / "run", episode(0, "\x1b]0;owned\x07\x1b[2J\u202e"), episode(1))
    (tmp_path / "labels.jsonl").write_text('{"seed": 0, "label": 1}\n{"seed": 1, "label": 1}\n')
    result = run(path, "--reward", "exact", "--labels", tmp_path / "labels.jsonl")
    assert result.exit_code == 0
    assert not {"\x1b", "\x07", "\u202e"} & set(result.output)


def test_two_rewards_with_one_label_are_refused(tmp_path: Path) -> None:
    """Also from Python."""
    path = write_file(tmp_path / "a.jsonl", episode(0))
    with pytest.raises(ArgumentError, match="2 rewards have the label 'exact'"):
        asyncio.run(_rescore(path, "exact", "exact"))


def test_only_the_first_episodes(tmp_path: Path) -> None:
    """--limit leaves the others for later."""
    path = write_file(tmp_path / "a.jsonl", *map(episode, range(5)))
    assert json.loads(run(path, "--reward", "exact", "--limit", 2, "--json").stdout)["rewards"][0]["new"] == 2
    assert json.loads(run(path, "--reward", "exact", "--json").stdout)["rewards"][0]["new"] == 3
