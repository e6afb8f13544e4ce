"""Rows of tokens: each sampled token once, after exactly what it was sampled after."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import TrajectoryError
from gem_rl import TurnBatch, as_tokens, paid_at_tokens, token_rows
from gem_rollout.lineages import LineageTree, RecordedCall
from gem_rollout.lineages.tree import recorded_lineages
from gem_rollout.trajectory import Trajectory
from gem_rollout.trajectory.transition import Transition


def turn(prompt: list[int] | None, ids: list[int] | None, **fields: Any) -> Transition:
    made = Transition("seen", "done", 0.0, False, False, token_ids=ids, **fields)
    made.prompt_token_ids = prompt
    return made


def episode(*turns: Transition) -> Trajectory:
    return Trajectory(None, 0, list(turns))


def test_prompts_that_continue_share_a_row() -> None:
    """The tokens of the environment in between are observed, those of the first prompt are not."""
    (row,) = token_rows(episode(turn([1, 2], [3, 4], logprobs=[-0.5, -1.0]), turn([1, 2, 3, 4, 5], [6])))
    np.testing.assert_array_equal(row.token_ids, [1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(row.turns, [-1, -1, 0, 0, -1, 1])
    np.testing.assert_array_equal(row.sampled, [False, False, True, True, False, True])
    np.testing.assert_array_equal(row.observed, [False, False, False, False, True, False])
    np.testing.assert_array_equal(row.logprobs, [np.nan, np.nan, -0.5, -1.0, np.nan, np.nan])


def test_a_rewritten_history_begins_a_row() -> None:
    """As where a template removes earlier reasoning: token 3 is gone from the second prompt."""
    first, second = token_rows(episode(turn([1, 2], [3, 4]), turn([1, 2, 4, 5], [6])))
    np.testing.assert_array_equal(first.token_ids, [1, 2, 3, 4])
    np.testing.assert_array_equal(second.token_ids, [1, 2, 4, 5, 6])
    np.testing.assert_array_equal(second.turns, [-1, -1, -1, -1, 1])
    assert not second.observed.any()


tokens = st.lists(st.integers(0, 3), max_size=4)


@given(st.lists(st.tuples(st.booleans(), tokens, tokens), max_size=6))
def test_each_sampled_token_is_trained_on_once(steps: list[tuple[bool, list[int], list[int]]]) -> None:
    """Whatever prompts a server got: joined masks give each turn's tokens, and its prompt precedes them."""
    turns: list[Transition] = []
    so_far: list[int] = []
    for continued, added, ids in steps:
        prompt = so_far + added if continued else added
        turns.append(turn(prompt, ids))
        so_far = prompt + ids
    rows = token_rows(episode(*turns))
    for index, one in enumerate(turns):
        assert [int(token) for row in rows for token in row.token_ids[row.turns == index]] == one.token_ids
        for row in rows:
            places = np.flatnonzero(row.turns == index)
            if places.size:
                assert row.token_ids[: places[0]].tolist() == one.prompt_token_ids
                assert (np.diff(places) == 1).all()
    for row in rows:
        assert not (row.sampled & row.observed).any()


@given(st.lists(st.tuples(st.booleans(), tokens, tokens, st.integers(-3, 3)), max_size=6))
def test_rows_add_up_to_the_return(steps: list[tuple[bool, list[int], list[int], int]]) -> None:
    """Turns without tokens included; what follows a token is paid at it or later, and nothing before it."""
    turns: list[Transition] = []
    so_far: list[int] = []
    for continued, added, ids, reward in steps:
        one = turn(so_far + added if continued else added, ids)
        one.reward = float(reward)
        turns.append(one)
        so_far = (one.prompt_token_ids or []) + ids
    lived = episode(*turns)
    rows = token_rows(lived)
    paid = paid_at_tokens(lived, rows)
    pairs = [pair for row, pay in zip(rows, paid, strict=True) for pair in zip(row.turns.tolist(), pay, strict=True)]
    assert all(pay == 0 for index, pay in pairs if index < 0)
    sampled = [(index, pay) for index, pay in pairs if index >= 0]
    first = min((index for index, _ in sampled), default=0)
    for place, (index, _) in enumerate(sampled):
        begins = 0 if index == first and place == 0 else index
        if place and sampled[place - 1][0] == index:
            continue  # not the first token of its turn
        assert sum(pay for _, pay in sampled[place:]) == sum(one.reward for one in turns[begins:])
    batch = TurnBatch.of([one.reward for one in turns], [len(turns)])
    views = as_tokens(batch, np.array([len(one.token_ids or []) for one in turns], dtype=np.int64))
    np.testing.assert_array_equal(views.rewards, [pay for _, pay in sampled])


@pytest.mark.parametrize(
    ("turns", "message"),
    [
        ([turn(None, [1])], "turn 0 .* has no prompt_token_ids"),
        ([turn([1], None)], "turn 0 .* has no token_ids"),
        ([turn([1], [2, 3], logprobs=[0.0])], "2 token_ids and 1 logprobs"),
        ([turn([1], [2], agent="a"), turn([1], [2], agent="b")], "a, b acted"),
    ],
)
def test_what_cannot_be_trained_on_is_refused(turns: list[Transition], message: str) -> None:
    """Text is never tokenized afterwards."""
    with pytest.raises(TrajectoryError, match=message):
        token_rows(episode(*turns))


def programs_episode(*calls: RecordedCall, turns: int = 2) -> Trajectory:
    """Return an episode whose agent was a program behind a gateway, through a file and back."""
    tree = LineageTree()
    for call in calls:
        tree.add(call)
    trajectory = episode(*(turn(None, None) for _ in range(turns)))
    trajectory.metadata.update(recorded_lineages(tree))
    return Trajectory.from_dict(json.loads(trajectory.to_json()))


def a_call(added: list[int] | None, ids: list[int] | None, parent: int | None = None, turn: int = 0) -> RecordedCall:
    return RecordedCall(
        [], {"role": "assistant"}, parent=parent, exact=parent is not None, added_ids=added, token_ids=ids, turn=turn
    )


def test_each_leaf_of_a_programs_calls_is_a_row() -> None:
    """A branch shares the first call's tokens, of which one row has the sampled ones; a second lineage has its own."""
    played = programs_episode(
        a_call([1, 2], [3]), a_call([4], [5], 0, 1), a_call([6], [7, 8], 0, 1), a_call([9], [9], turn=5)
    )
    rows = token_rows(played)
    assert [row.token_ids.tolist() for row in rows] == [[1, 2, 3, 4, 5], [1, 2, 3, 6, 7, 8], [9, 9]]
    assert [row.turns.tolist() for row in rows] == [[-1, -1, 0, -1, 1], [-1, -1, -1, -1, 1, 1], [-1, 1]]
    assert [row.observed.tolist() for row in rows] == [
        [False, False, False, True, False],
        [False, False, False, True, False, False],
        [False, False],
    ]
    played.transitions[1].reward = 1.0
    assert paid_at_tokens(played, rows) == [[0.0] * 5, [0.0] * 6, [0.0, 1.0]]


def test_a_call_without_ids_cannot_be_trained_on() -> None:
    """The error names it and says what to record."""
    with pytest.raises(TrajectoryError, match=r"1 of 2 calls .* have no token ids, the first is call 1"):
        token_rows(programs_episode(a_call([1], [2]), a_call(None, None)))
