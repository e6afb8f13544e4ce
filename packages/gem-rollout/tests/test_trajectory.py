"""Recorded episodes and their files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.env_spec import EnvSpec
from gem.errors import MissingPluginError, TrajectoryError
from gem_rollout.trajectory import Failure, Trajectory, TrajectoryWriter, Transition, read_trajectories, to_dataset

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
any_text = st.text(st.characters(exclude_categories=[]), max_size=30)  # lone surrogates included
transitions = st.builds(
    Transition,
    observation=any_text | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": any_text}), max_size=2),
    action=any_text | st.fixed_dictionaries({"role": st.just("assistant"), "content": any_text}),
    reward=st.floats(-10, 10),
    terminated=st.booleans(),
    truncated=st.booleans(),
    info=st.dictionaries(st.text(max_size=5), json_values, max_size=3),
    token_ids=st.none() | st.lists(st.integers(0, 200_000), max_size=5),
    logprobs=st.none() | st.lists(st.floats(-50, 0), max_size=5),
    act_seconds=st.none() | st.floats(0, 10),
)
trajectories = st.builds(
    Trajectory,
    spec=st.none()
    | st.builds(EnvSpec, id=st.just("a:B-v0"), entry_point=st.just("nowhere:B"), kwargs=st.just({"n": 3})),
    seed=st.none() | st.integers(min_value=0),
    transitions=st.lists(transitions, max_size=4),
    final_observation=any_text,
    agent=st.text(max_size=8),
    metadata=st.dictionaries(st.text(max_size=5), json_values, max_size=2),
)


def simple(reward: float = 1.0) -> Trajectory:
    return Trajectory(
        spec=EnvSpec(id="a:B-v0", entry_point="nowhere:B"),
        seed=7,
        transitions=[Transition("look", "go", reward, True, False, {"success": True})],
        final_observation="done",
        agent="script",
    )


@given(trajectories)
def test_a_trajectory_survives_json(trajectory: Trajectory) -> None:
    """One line of ASCII holds everything, lone surrogates and all."""
    line = trajectory.to_json()
    assert "\n" not in line
    assert line.isascii()
    assert Trajectory.from_dict(json.loads(line)) == trajectory


@given(st.lists(trajectories, max_size=3))
def test_files_give_back_what_was_written(tmp_path_factory: pytest.TempPathFactory, written: list[Trajectory]) -> None:
    """Reading yields the written trajectories in order; appending later adds to them."""
    path = tmp_path_factory.mktemp("runs") / "new" / "episodes.jsonl"
    for half in (written[:1], written[1:]):
        with TrajectoryWriter(path) as writer:
            for trajectory in half:
                writer.write(trajectory)
    assert list(read_trajectories(path)) == written


def test_a_file_cut_off_at_any_byte_loses_at_most_its_last_line(tmp_path: Path) -> None:
    """Whatever the cut, the complete lines are read, and appending afterwards is safe."""
    path = tmp_path / "whole.jsonl"
    with TrajectoryWriter(path) as writer:
        writer.write(simple(0.25))
        writer.write(simple(0.5))
    content = path.read_bytes()
    first_line = content.index(b"\n") + 1
    for cut in range(first_line, len(content) + 1):
        torn = tmp_path / "torn.jsonl"
        torn.write_bytes(content[:cut])
        with TrajectoryWriter(torn) as writer:
            writer.write(simple(0.75))
        read = [trajectory.episode_return for trajectory in read_trajectories(torn)]
        assert read in ([0.25, 0.75], [0.25, 0.5, 0.75])


def test_a_file_cut_before_its_first_newline_is_empty(tmp_path: Path) -> None:
    """A cut inside the first line leaves no episode, wherever it is; a missing newline alone loses none."""
    line = simple().to_json().encode()
    torn = tmp_path / "torn.jsonl"
    for cut in range(len(line) + 1):
        torn.write_bytes(line[:cut])
        assert list(read_trajectories(torn)) == ([simple()] if cut == len(line) else [])


def test_episodes_of_schema_1_are_read_and_written_as_schema_2(tmp_path: Path) -> None:
    """A line of gem-core 0.1, which held whole observations and no failures."""
    path = tmp_path / "old.jsonl"
    path.write_text(
        '{"schema":1,"spec":{"id":"a:B-v0","entry_point":"nowhere:B","kwargs":{"n":3},"tags":[],"wrappers":[]},"seed":7,'
        '"transitions":[{"observation":"look","action":"go \\ud800","reward":0.5,"terminated":false,"truncated":false,'
        '"info":{"a":1},"token_ids":[1,2],"logprobs":[-0.5,-1.0],"act_seconds":0.25},{"observation":[{"type":"text",'
        '"text":"look go"}],"action":{"role":"assistant","content":"stop"},"reward":0.0,"terminated":false,"truncated":'
        'true,"info":{"error":"ValueError: broke"}}],"reset_info":{"r":1},"final_observation":"done","agent":"script",'
        '"metadata":{"m":[1]}}\n'
    )
    (old,) = read_trajectories(path, strict=True)
    assert old == Trajectory(
        EnvSpec(id="a:B-v0", entry_point="nowhere:B", kwargs={"n": 3}),
        7,
        [
            Transition(
                "look", "go \ud800", 0.5, False, False, {"a": 1}, [1, 2], logprobs=[-0.5, -1.0], act_seconds=0.25
            ),
            Transition(
                [{"type": "text", "text": "look go"}],
                {"role": "assistant", "content": "stop"},
                0.0,
                False,
                True,
                {"error": "ValueError: broke"},
            ),
        ],
        {"r": 1},
        "done",
        "script",
        {"m": [1]},
    )
    assert (old.error, old.failure, old.key) == ("ValueError: broke", None, ("a:B-v0", 7, 0))
    assert Trajectory.from_dict(json.loads(old.to_json())) == old
    assert json.loads(old.to_json())["schema"] == 2


@pytest.mark.parametrize("library", ["orjson", "json"])
def test_files_are_the_same_to_readers_whichever_library_wrote_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    """Orjson writes where it is installed; it would refuse lone surrogates and turn large integers into floats."""
    if library == "json":
        monkeypatch.setattr("gem_rollout.trajectory.encoding._fast_encoder", lambda: None)
    else:
        pytest.importorskip("orjson")
    path = tmp_path / "runs.jsonl"
    written = [simple(), simple(), simple()]
    written[1].seed = 2**70
    written[2].transitions[0].action = "\udfff ü 日 \x00 \u2028"
    with TrajectoryWriter(path) as writer:
        for trajectory in written:
            writer.write(trajectory)
    assert list(read_trajectories(path, strict=True)) == written
    assert path.read_bytes().count(b"\n") == 3


def test_strict_reading_names_the_torn_line(tmp_path: Path) -> None:
    """A caller who wants to know is told the file and the line."""
    path = tmp_path / "torn.jsonl"
    path.write_text('{"schema": 1, "spe')
    assert list(read_trajectories(path)) == []
    with pytest.raises(TrajectoryError, match=r"torn\.jsonl, line 1"):
        list(read_trajectories(path, strict=True))


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ([], "a JSON object with a 'schema' is needed"),
        ({"schema": 99}, "schema 99 is not known"),
        ({"schema": 1}, "not a trajectory of schema 1"),
        ({"schema": 1, "spec": None, "seed": None, "transitions": [{"unknown": 1}]}, "unknown"),
        ({"schema": 1, "spec": {"id": 3}, "seed": None, "transitions": []}, "not an environment spec"),
        ({"schema": 1, "spec": None, "seed": 1, "transitions": [], "surplus": 1}, "surplus"),
    ],
)
def test_other_json_is_refused_with_the_reason(tmp_path: Path, record: Any, reason: str) -> None:
    """A line that is JSON but no trajectory is an error, never a guess."""
    path = tmp_path / "other.jsonl"
    path.write_text(json.dumps(record) + "\n")
    with pytest.raises(TrajectoryError, match=reason):
        list(read_trajectories(path))


def test_what_json_cannot_hold_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    """A trajectory with an object in it raises, and the file stays as it was."""
    path = tmp_path / "runs.jsonl"
    bad = simple()
    bad.transitions[0].info["object"] = object()
    with TrajectoryWriter(path) as writer:
        writer.write(simple())
        with pytest.raises(TrajectoryError, match="cannot be written as JSON"):
            writer.write(bad)
        bad.transitions[0].info = {}
        bad.transitions[0].reward = float("nan")
        with pytest.raises(TrajectoryError, match="cannot be written as JSON"):
            writer.write(bad)
        writer.close()
        writer.close()
    assert len(list(read_trajectories(path))) == 1


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """The error says which file could not be read."""
    with pytest.raises(TrajectoryError, match=r"missing\.jsonl: cannot be read"):
        list(read_trajectories(tmp_path / "missing.jsonl"))


def test_return_length_and_error_come_from_the_transitions() -> None:
    """The episode's sums are derived, never stored."""
    trajectory = simple(0.25)
    trajectory.transitions.append(Transition("a", "b", 0.5, False, True, {"error": "ValueError: broke"}))
    assert (trajectory.episode_return, len(trajectory), trajectory.error) == (0.75, 2, "ValueError: broke")
    assert simple().error is None
    assert (simple().success, trajectory.success) == (True, None)
    trajectory.transitions[-1].info = {"correct": False}
    assert trajectory.success is False


@pytest.mark.slow(reason="imports datasets")
def test_to_dataset_has_one_row_a_turn(tmp_path: Path) -> None:
    """Trajectories become a datasets.Dataset that survives Parquet; without the library, the line to install it."""
    try:
        import datasets
    except ModuleNotFoundError:
        with pytest.raises(MissingPluginError, match=r"pip install 'gem-core\[datasets\]'"):
            to_dataset([simple()])
        return
    episodes = [simple(0.25), simple(0.5)]
    episodes[1].transitions[0].action = "lone \ud800 surrogate"
    episodes[1].transitions[0].prompt_token_ids = [1, 2]
    episodes[1].transitions[0].version = 7
    episodes[1].failure = Failure("agent", "timeout", "slow", 1)
    path = tmp_path / "episodes.parquet"
    to_dataset(episodes).to_parquet(path)
    read = datasets.Dataset.from_parquet(str(path), cache_dir=str(tmp_path))
    assert read["reward"][:] == [0.25, 0.5]
    assert read["episode"][:] == [0, 1]
    assert EnvSpec.from_json(read[0]["spec"]).id == "a:B-v0"
    assert (read[1]["prompt_token_ids"], read[1]["version"], read[1]["logprobs"]) == ([1, 2], "7", None)
    assert json.loads(read[1]["failure"])["kind"] == "timeout"
    assert to_dataset([]).column_names == read.column_names
