"""Run folders: what is appended is read back, whatever happened to the files in between."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gem_eval.runs import EpisodeRow, Prices, RunConfig, RunFolder, RunFolderError, RunInUseError
from gem_eval.runs.lines import end_of_lines, scan
from gem_rollout.trajectory import EpisodeKey, Failure, Trajectory

MakeRun = Callable[..., RunFolder]
MakeConfig = Callable[..., RunConfig]
MakeTrajectory = Callable[..., Trajectory]


def test_what_is_appended_is_read_back(
    tmp_path: Path, make_config: MakeConfig, make_trajectory: MakeTrajectory
) -> None:
    """Rows and episodes of a folder are those that were appended, in that order."""
    written = [make_trajectory(seed=seed // 2, repetition=seed % 2) for seed in range(6)]
    with RunFolder.create(tmp_path / "run", make_config(episodes=6, group=2)) as folder:
        appended = [folder.append(trajectory) for trajectory in written]
    reader = RunFolder(tmp_path / "run")
    assert reader.rows() == appended
    assert [reader.episode(row).to_json() for row in reader.rows()] == [t.to_json() for t in written]
    assert [row.key for row in appended] == [t.key for t in written]


def test_a_row_has_the_figures_of_its_episode(make_trajectory: MakeTrajectory) -> None:
    """Return, success, turns, tokens and times are sums over the turns; the price follows from the tokens."""
    trajectory = make_trajectory(seed=3, turns=4, tokens=10)
    trajectory.scores["judge"] = {"value": 0.25, "parts": {}}
    row = EpisodeRow.of_trajectory(trajectory, prices=Prices(input=1.0, output=2.0))
    assert row.episode_return == trajectory.episode_return
    assert (row.success, row.turns) == (trajectory.success, 4)
    assert (row.prompt_tokens, row.completion_tokens) == (20 * 4 + 30 * 6, 40)
    assert row.act_seconds == pytest.approx(sum(t.act_seconds or 0 for t in trajectory.transitions))
    assert row.cost == pytest.approx((260 * 1.0 + 40 * 2.0) / 1e6)
    assert row.scores == {"judge": 0.25}
    assert not row.failed
    assert EpisodeRow.of_trajectory(make_trajectory(turns=0), prices=Prices(1.0, 1.0)).cost is None


def test_a_row_survives_json(make_trajectory: MakeTrajectory) -> None:
    """The index holds each row unchanged, a return that is no number as null."""
    row = EpisodeRow.of_trajectory(make_trajectory(failure=Failure("agent", "timeout", "slow", 2)), 7, 11)
    assert row.failure == {"source": "agent", "kind": "timeout"}
    values = json.loads(json.dumps(row.to_values()))
    assert EpisodeRow.from_values(values) == row
    assert values[6] == row.episode_return
    values[6] = None
    assert math.isnan(EpisodeRow.from_values(values).episode_return)
    with pytest.raises(TypeError):
        EpisodeRow.from_values(values[:-1])
    with pytest.raises(TypeError):
        EpisodeRow.from_values(["another version", *values[1:]])


def test_the_index_keeps_every_digit_of_a_seed(
    make_trajectory: MakeTrajectory, make_config: Callable[..., RunConfig], tmp_path: Path
) -> None:
    """Also of one that no integer of 64 bits holds, between others."""
    seeds = [1, 2**70 + 1, 3, 4, 5]
    with RunFolder.create(tmp_path / "run", make_config(episodes=5)) as folder:
        for seed in seeds:
            folder.append(make_trajectory(seed=seed, turns=1))
    assert [row.seed for row in RunFolder(tmp_path / "run").rows()] == seeds


DAMAGES = ["missing", "cut", "older", "a gap", "foreign", "garbage", "another version", "too long"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_made_anew(make_run: MakeRun, make_trajectory: MakeTrajectory, damage: str) -> None:
    """Whatever happened to the index, the rows are those of the episodes, and the next reader finds it repaired."""
    run = make_run(episodes=9)
    expected, index = run.rows(), run.path / "index.jsonl"
    lines = index.read_bytes().splitlines(keepends=True)
    contents = {
        "cut": index.read_bytes()[:-17],
        "older": b"".join(lines[:4]),
        "a gap": b"".join(lines[:4] + lines[6:]),
        "foreign": make_run("other", episodes=9, salt=1).path.joinpath("index.jsonl").read_bytes(),
        "garbage": b"\0" * 500 + b"\n" + b"".join(lines),
        "another version": b"".join(line.replace(b'["', b'["0') for line in lines),
        "too long": b"".join(lines) + lines[-1].replace(b'",', b'",9', 1),
    }

    def spoil() -> None:
        if damage == "missing":
            index.unlink()
        else:
            index.write_bytes(contents[damage])

    spoil()
    assert RunFolder(run.path).rows() == expected
    assert damage == "too long" or index.read_bytes() == b"".join(lines)
    spoil()
    with RunFolder.open(run.path, write=True) as writer:
        expected.append(writer.append(make_trajectory(seed=99)))
    assert index.read_bytes().startswith(b"".join(lines))
    assert index.read_bytes().count(b"\n") == len(expected)
    assert RunFolder(run.path).rows() == expected


def test_the_index_and_a_scan_agree(make_run: MakeRun) -> None:
    """Rows that are made from the lines equal those that were made from the episodes in memory."""
    run = make_run(episodes=20, failures=3, prices=Prices(3.0, 15.0))
    end = end_of_lines(run.episodes_path)
    assert list(scan(run.episodes_path, 0, end, run.config.prices)) == run.rows()


@settings(max_examples=60, deadline=None)
@given(cut=st.floats(0, 1))
def test_a_file_cut_off_anywhere_loses_only_its_last_line(
    cut: float, tmp_path_factory: pytest.TempPathFactory, make_config: MakeConfig, make_trajectory: MakeTrajectory
) -> None:
    """After a cut at any byte, the whole lines are there, the rest is dropped, and writing goes on behind them."""
    folder = tmp_path_factory.mktemp("cut") / "run"
    with RunFolder.create(folder, make_config()) as run:
        for seed in range(4):
            run.append(make_trajectory(seed=seed))
    size = round(cut * (folder / "episodes.jsonl").stat().st_size)
    os.truncate(folder / "episodes.jsonl", size)
    whole = (folder / "episodes.jsonl").read_bytes().count(b"\n")
    assert [row.seed for row in RunFolder(folder).rows()] == list(range(whole))
    with RunFolder.open(folder, write=True) as run:
        for seed in range(whole, 5):
            run.append(make_trajectory(seed=seed))
    assert (folder / "index.jsonl").read_bytes().count(b"\n") == 5
    reader = RunFolder(folder)
    assert [reader.episode(row).seed for row in reader.rows()] == list(range(5))


def test_lines_that_are_no_episodes_are_skipped(make_run: MakeRun) -> None:
    """Zeros, broken JSON and JSON of another kind in the middle of the file hide no other episode."""
    run = make_run(episodes=4)
    lines = run.episodes_path.read_bytes().splitlines(keepends=True)
    junk = [b"\0" * 40 + b"\n", b'{"schema": 2, "transi\n', b"[1, 2]\n", b'{"transitions": 7}\n', b"\n", b"\xff\xfe\n"]
    run.episodes_path.write_bytes(b"".join([*junk, *lines[:2], *junk, *lines[2:], *junk]))
    reader = RunFolder(run.path)
    assert [reader.episode(row).seed for row in reader.rows()] == [0, 1, 2, 3]
    assert [row.seed for row in RunFolder(run.path).rows()] == [0, 1, 2, 3]


def test_the_latest_line_of_a_key_counts(make_run: MakeRun, make_trajectory: MakeTrajectory) -> None:
    """An episode that failed and was played anew has one row; both attempts stay in the file."""
    run = make_run(episodes=3, failures=1)
    assert run.finished_keys() == {EpisodeKey("game:GuessTheNumber-v0-easy", seed, 0) for seed in (1, 2)}
    with RunFolder.open(run.path, write=True) as writer:
        writer.append(make_trajectory(seed=0))
    assert [(row.seed, row.failed) for row in run.rows()] == [(1, False), (2, False), (0, False)]
    assert [row.failed for row in run.rows(attempts=True)] == [True, False, False, False]
    assert len(run.finished_keys()) == 3


def test_a_reader_follows_a_running_run(
    tmp_path: Path, make_config: MakeConfig, make_trajectory: MakeTrajectory
) -> None:
    """A reader that is open while episodes are appended sees each of them at its next call, once."""
    with RunFolder.create(tmp_path / "run", make_config()) as writer:
        reader = RunFolder(tmp_path / "run")
        assert reader.rows() == []
        assert reader.running
        for seed in range(5):
            writer.append(make_trajectory(seed=seed))
            assert [row.seed for row in reader.rows()] == list(range(seed + 1))
        writer.write_live({"total": 8, "done": 5, "running": []})
        assert reader.live == {"pid": os.getpid(), "total": 8, "done": 5, "running": []}
    assert not reader.running
    assert reader.live is None


def test_a_line_without_its_row_is_seen(
    tmp_path: Path, make_config: MakeConfig, make_trajectory: MakeTrajectory
) -> None:
    """A crash between an episode and its row of the index loses nothing, and the row appears once later."""
    with RunFolder.create(tmp_path / "run", make_config()) as writer:
        writer.append(make_trajectory(seed=0))
        index = (tmp_path / "run" / "index.jsonl").read_bytes()
        writer.append(make_trajectory(seed=1))
        (tmp_path / "run" / "index.jsonl").write_bytes(index)
        reader = RunFolder(tmp_path / "run")
        assert [row.seed for row in reader.rows()] == [0, 1]
        writer.append(make_trajectory(seed=2))
        assert [row.seed for row in reader.rows()] == [0, 1, 2]


def test_a_row_that_comes_late_is_no_second_episode(
    tmp_path: Path, make_config: MakeConfig, make_trajectory: MakeTrajectory
) -> None:
    """A reader that finds an episode before its row of the index takes the row for what it is."""
    index = tmp_path / "run" / "index.jsonl"
    with RunFolder.create(tmp_path / "run", make_config()) as writer:
        reader = RunFolder(tmp_path / "run")
        for seed in range(3):
            writer.append(make_trajectory(seed=seed))
        whole = index.read_bytes()
        index.write_bytes(b"".join(whole.splitlines(keepends=True)[:1]))
        assert [row.seed for row in reader.rows()] == [0, 1, 2]
        index.write_bytes(whole)
        writer.append(make_trajectory(seed=3))
        assert [row.seed for row in reader.rows(attempts=True)] == [0, 1, 2, 3]


def test_a_reader_notices_that_the_folder_holds_another_run(make_run: MakeRun) -> None:
    """Where a shorter run has taken the place of the one that was read, its rows are returned."""
    run, other = make_run(episodes=6), make_run("other", episodes=2, salt=1)
    assert len(run.rows()) == 6
    shutil.rmtree(run.path)
    other.path.rename(run.path)
    assert run.rows() == RunFolder(run.path).rows()
    assert len(run.rows()) == 2


def test_a_second_writer_is_refused_with_the_process(tmp_path: Path, make_config: MakeConfig) -> None:
    """While one process writes, another one is told which; when it is killed, the folder is free at once."""
    folder = tmp_path / "run"
    with RunFolder.create(folder, make_config()):
        pass
    code = (
        "from gem_eval.runs import RunFolder\n"
        f"run = RunFolder.open({str(folder)!r}, write=True)\nprint('open', flush=True)\ninput()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(RunInUseError, match=f"process {process.pid} is writing") as refused:
            RunFolder.open(folder, write=True)
        assert refused.value.pid == process.pid
        process.kill()
        process.wait()
    assert RunFolder(folder).live is None
    RunFolder.open(folder, write=True).close()


def test_a_run_that_was_killed_as_it_began_may_begin_again(tmp_path: Path, make_config: MakeConfig) -> None:
    """What it had left is no reason to choose another folder; episodes without a run.json are."""
    begun = tmp_path / "begun"
    begun.mkdir()
    (begun / "episodes.jsonl").touch()
    (begun / "run.json.7.new").write_text("{")
    RunFolder.create(begun, make_config()).close()
    lost = tmp_path / "lost"
    lost.mkdir()
    (lost / "episodes.jsonl").write_text("{}\n")
    with pytest.raises(RunFolderError, match="not an empty folder"):
        RunFolder.create(lost, make_config())


def test_folders_that_are_no_runs(tmp_path: Path, make_run: MakeRun, make_config: MakeConfig) -> None:
    """Missing folders, other folders, and a run.json of another kind are refused with the reason."""
    with pytest.raises(RunFolderError, match=r"has no run\.json"):
        RunFolder(tmp_path / "missing")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(RunFolderError, match="not an empty folder"):
        RunFolder.create(tmp_path / "full", make_config())
    run = make_run()
    with pytest.raises(RunFolderError, match="gem eval --resume"):
        RunFolder.create(run.path, make_config())
    for content, message in [
        ("", "is not JSON"),
        ("[]", "a JSON object"),
        ('{"schema": 99}', "schema 99"),
        ('{"schema": 1, "environments": [{}]}', "not the configuration"),
        ('{"schema": 1, "environments": [{"spec": 3}]}', "not the configuration"),
        ("[" * 100_000, "is not JSON"),
    ]:
        (run.path / "run.json").write_text(content)
        with pytest.raises(RunFolderError, match=message):
            RunFolder(run.path)


def test_a_run_can_be_copied(make_run: MakeRun, tmp_path: Path) -> None:
    """A copy of the folder under another name is the same run."""
    run = make_run(episodes=5)
    copy = RunFolder(shutil.copytree(run.path, tmp_path / "copy of the run"))
    assert copy.rows() == run.rows()
    assert copy.config == run.config
    assert copy.name == "copy of the run"


def test_the_configuration_survives_and_has_no_credentials(make_run: MakeRun, make_config: MakeConfig) -> None:
    """run.json gives back the configuration; an address loses user, password and query on the way."""
    run = make_run(prices=Prices(1.5, 6.0))
    config = make_config(base_url="https://me:secret@host:8443/v1?key=secret#secret", prices=Prices(1.5, 6.0))
    with RunFolder.create(run.path.parent / "secret", config):
        pass
    text = (run.path.parent / "secret" / "run.json").read_text()
    assert "secret" not in text
    assert RunFolder(run.path.parent / "secret").config.base_url == "https://host:8443/v1"
    assert run.config.prices == Prices(1.5, 6.0)


def test_a_full_disk_leaves_the_file_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_config: MakeConfig, make_trajectory: MakeTrajectory
) -> None:
    """A write that fails half-way is taken back, and the same folder accepts the episode later."""
    with RunFolder.create(tmp_path / "run", make_config()) as run:
        run.append(make_trajectory(seed=0))
        real, calls = os.write, []

        def half(descriptor: int, content: bytes) -> int:
            calls.append(len(content))
            if len(calls) == 1:
                return real(descriptor, bytes(content)[: len(content) // 2])
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "write", half)
        with pytest.raises(RunFolderError, match=r"No space .* gem eval --resume"):
            run.append(make_trajectory(seed=1))
        monkeypatch.undo()
        assert run.episodes_path.read_bytes().endswith(b"\n")
        run.append(make_trajectory(seed=2))
    assert [row.seed for row in RunFolder(run.path).rows()] == [0, 2]


def test_integers_keep_every_digit(tmp_path: Path, make_config: MakeConfig, make_trajectory: MakeTrajectory) -> None:
    """Seeds and other integers beyond 64 bits, which fast parsers round, are read as they were written."""
    seeds = [2**63, 2**64, 2**70 + 1, 10**30]
    with RunFolder.create(tmp_path / "run", make_config()) as run:
        for seed in seeds:
            trajectory = make_trajectory(seed=seed)
            trajectory.transitions[0].info["hash"] = [-seed, seed]
            run.append(trajectory)
    (tmp_path / "run" / "index.jsonl").unlink()
    for _ in range(2):
        reader = RunFolder(tmp_path / "run")
        assert [row.seed for row in reader.rows()] == seeds
        assert [reader.episode(row).transitions[0].info["hash"] for row in reader.rows()] == [[-s, s] for s in seeds]


HOSTILE = "\ud800 \x1b[31m <script> ../../etc \u2028 \x00"


def test_hostile_names_are_only_text(tmp_path: Path, make_config: MakeConfig, make_trajectory: MakeTrajectory) -> None:
    """Names with separators, control characters and lone surrogates are kept, and name no file."""
    with RunFolder.create(tmp_path / "run", make_config([HOSTILE], agent=HOSTILE, model=HOSTILE)) as run:
        run.append(make_trajectory(HOSTILE, seed=2**80, agent=HOSTILE))
    reader = RunFolder(tmp_path / "run")
    assert [(row.env, row.agent, row.seed) for row in reader.rows()] == [(HOSTILE, HOSTILE, 2**80)]
    assert reader.config.agent == HOSTILE
    assert {path.name for path in tmp_path.rglob("*")} == {"run", "run.json", "episodes.jsonl", "index.jsonl"}
