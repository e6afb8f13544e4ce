"""Observations that grow cross the border of a process as what was added."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem_processes.process_mode.text_deltas import TextJoiner, TextShortener

texts = st.one_of(
    st.text(max_size=8),
    st.integers(0, 600).map(lambda count: "é" * count),
    st.integers(0, 600).map(lambda count: "é" * count + "\ud800"),
    st.lists(st.just({"type": "text", "text": "a"}), max_size=2),
    st.none(),
)
sendings = st.lists(st.tuples(st.integers(0, 2), texts, st.booleans()), max_size=30)


@given(sendings=sendings)
def test_joined_results_equal_those_that_were_shortened(sendings: list[tuple[int, Any, bool]]) -> None:
    """Texts, pictures, exceptions and lost results in any order arrive as they were, also where one is read twice."""
    shortener, joiner = TextShortener(), TextJoiner()
    for number, text, lost in sendings:
        result = KeyError("x") if text is None else (text, 0.5, False, False, {"turn": 1})
        sent = shortener.shorten([number], [result])
        if lost:
            shortener.forget(number)
            continue
        arrived = pickle.loads(pickle.dumps(sent))
        for _ in range(2):
            (joined,) = joiner.join([number], arrived)
            assert repr(joined) == repr(result)


def test_a_turn_of_a_long_history_sends_what_it_added() -> None:
    """The bytes of a result do not grow with the history before it."""
    shortener = TextShortener()
    history = "turn\n" * 1000
    shortener.shorten([3], [(history, 0.0, False, False, {})])
    (sent,) = shortener.shorten([3], [(history + "next\n", 0.0, False, False, {})])
    assert sent == ("next\n", 0.0, False, False, {}, len(history))


@pytest.mark.parametrize("autoreset", ["same_step", "next_step"])
@pytest.mark.parametrize("wrappers", ["concat", "concat_with_action", "messages"])
def test_histories_of_process_mode_equal_those_of_sync_mode(wrappers: str, autoreset: str) -> None:
    """Observations, infos, seeds and states are those of sync mode, over autoresets, resets and a state set midway."""
    played = []
    for mode in ("sync", "process"):
        seen: list[Any] = []
        with gem.make_vec(
            "game:GuessTheNumber-v0", num_envs=3, mode=mode, seed=4, wrappers=wrappers, autoreset=autoreset
        ) as envs:
            seen.append(envs.reset())
            for turn in range(14):
                *arrays, infos = envs.step([f"\\boxed{{{(7 * turn + number) % 50}}}" for number in range(3)])
                seen.append(([list(array) for array in arrays], infos))
                if turn == 5:
                    state = envs.envs[0].get_state()
                if turn == 8:
                    envs.envs[0].set_state(state)
                    seen.append(envs.envs[0].get_state())
                if turn == 10:
                    seen.append(envs.reset_at([1]))
        played.append(seen)
    assert played[0] == played[1]
