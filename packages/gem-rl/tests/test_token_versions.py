"""Each token knows which version of the weights sampled it, from the server's answer to the rows of a trainer."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError, TrajectoryError
from gem.policies import Act
from gem_rl import TurnBatch, rl_rows, token_rows
from gem_rl.adapters import trainer_rows
from gem_rollout.lineages import LineageTree, RecordedCall
from gem_rollout.lineages.tree import recorded_lineages
from gem_rollout.trajectory import Trajectory, TrajectoryBuilder
from gem_rollout.trajectory.transition import Transition

ANSWER = {"role": "assistant"}

spans = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 3)), min_size=1, max_size=4)
turns = st.lists(st.tuples(st.integers(0, 2), spans, st.booleans()), min_size=1, max_size=5)


def expanded(pieces: list[tuple[int, int]]) -> list[int]:
    return [version for version, count in pieces for _ in range(count)]


def built(steps: list[tuple[int, list[tuple[int, int]], bool]]) -> tuple[Trajectory, dict[int, int]]:
    """Return an episode in which each sampled token has an id of its own, and the version of each id."""
    builder, truth, history, next_id = TrajectoryBuilder(), {}, [1], 100
    builder.begin("seen", {})
    for added, pieces, rewrites in steps:
        versions = expanded(pieces)
        prompt = [2] if rewrites else history + [1] * added
        ids = list(range(next_id, next_id + len(versions)))
        next_id += len(ids)
        truth.update(zip(ids, versions, strict=True))
        act = Act("said", prompt, ids, version=pieces[0][0], version_spans=pieces)
        builder.add(act, "seen", 0.0, False, False, {})
        history = prompt + ids
    return builder.finish("limit"), truth


@given(turns)
def test_every_row_has_the_version_of_every_token(steps: list[tuple[int, list[tuple[int, int]], bool]]) -> None:
    """Whatever changed in the middle of an answer, and after the episode was written and read again."""
    episode, truth = built(steps)
    again = Trajectory.from_dict(json.loads(episode.to_json()))
    for trajectory in (episode, again):
        rows, exported, made = token_rows(trajectory), list(rl_rows([trajectory])), trainer_rows(trajectory)
        for row, line in zip(rows, exported, strict=True):
            assert row.versions is not None
            assert row.versions[row.sampled].tolist() == [truth[token] for token in row.token_ids[row.sampled].tolist()]
            assert set(row.versions[~row.sampled].tolist()) <= {-1}
            assert line["versions"] == row.versions.tolist()
        for one in made:
            assert one.versions is not None
            assert [version for version in one.versions if version >= 0] == [
                truth[token] for token, mask in zip(one.response_ids, one.response_mask, strict=True) if mask
            ]
    oldest = [min(versions) if (versions := expanded(pieces)) else None for _, pieces, _ in steps]
    batch = TurnBatch.from_trajectories([again])
    assert (None if None in oldest else oldest) == (None if batch.versions is None else batch.versions.tolist())


def test_a_version_that_is_unknown_or_no_number_leaves_a_row_without() -> None:
    """Half-known versions would be trained on as if they were old or new."""
    for version in (None, "step-4", -1):
        turn = Transition("seen", "done", 0.0, False, False, token_ids=[3], version=version)
        turn.prompt_token_ids = [1]
        (row,) = token_rows(Trajectory(None, 0, [turn]))
        assert row.versions is None
        assert TurnBatch.from_trajectories([Trajectory(None, 0, [turn])]).versions is None or version == -1
    with pytest.raises(ArgumentError, match="versions must be 1 integers"):
        TurnBatch.of([0.0], [1], versions=["new"])


@pytest.mark.parametrize(
    "wrong",
    [[(1, 1)], [(1, 3)], [(1, 1), (2, 2)], [(None, 2)], [("a",)], [(1, -1), (1, 3)], [(1, 2.0)], [(True, 2)]],
    ids=repr,
)
def test_spans_that_do_not_fit_the_tokens_are_refused(wrong: Any) -> None:
    """A policy that returns such an act ends its episode; a record with them makes no rows."""
    builder = TrajectoryBuilder()
    builder.begin("seen", {})
    builder.add(Act("said", [1], [3, 4], version=1, version_spans=wrong), "seen", 0.0, False, False, {})
    failure = builder.trajectory.failure
    assert failure is not None
    assert (failure.source, failure.kind) == ("agent", "invalid_result")
    turn = Transition("seen", "done", 0.0, False, False, token_ids=[3, 4], version=1, version_spans=wrong)
    turn.prompt_token_ids = [1]
    with pytest.raises(TrajectoryError, match="version_spans"):
        token_rows(Trajectory(None, 0, [turn]))


def test_calls_of_a_program_know_their_versions() -> None:
    """Of calls that two leaves share, the row that trains on them has their versions, the other has none."""
    tree = LineageTree()
    tree.add(RecordedCall([], ANSWER, added_ids=[1], token_ids=[10, 11], version=4, version_spans=[(4, 1), (5, 1)]))
    tree.add(RecordedCall([], ANSWER, parent=0, exact=True, added_ids=[2], token_ids=[12], version=5))
    tree.add(RecordedCall([], ANSWER, parent=0, exact=True, added_ids=[3], token_ids=[13], version=6))
    record = json.loads(json.dumps(tree.to_dict()))
    for read in (tree, LineageTree.from_dict(record)):
        trajectory = Trajectory(None, 0, [Transition("seen", "done", 0.0, True, False)])
        trajectory.metadata.update(recorded_lineages(read))
        first, second = token_rows(trajectory)
        assert first.versions is not None
        assert second.versions is not None
        np.testing.assert_array_equal(first.versions, [-1, 4, 5, -1, 5])
        np.testing.assert_array_equal(second.versions, [-1, -1, -1, -1, 6])


def test_tokens_that_are_too_old_are_sampled_and_not_trained_on() -> None:
    """With ``stale="mask"``, the mask of a trainer leaves them out; rewards and log-probabilities stay."""
    episode, truth = built([(0, [(3, 2), (4, 1)], False), (1, [(5, 2)], False)])
    episode.metadata["oldest_trained_version"] = 4
    (row,) = token_rows(episode)
    assert row.versions is not None
    assert row.sampled.sum() == len(truth) == 5
    assert row.trained.tolist() == [version >= 4 for version in row.versions.tolist()]
    (line,), (made,) = rl_rows([episode]), trainer_rows(episode)
    assert sum(line["action_mask"]) == sum(made.response_mask) == 3
