"""Concat and ConcatWithAction: the history as one text."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.core import Env, Info
from gem.errors import ArgumentError, ArgumentTypeError
from gem.wrappers.text_history import Concat, ConcatWithAction

Line = tuple[Any, Info]

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


class Script(Env[Any, Any]):
    """Says the given observations and infos, the last one for ever."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = list(lines)
        self.said = 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        self.said = 0
        return self.lines[0]

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        self.said = min(self.said + 1, len(self.lines) - 1)
        observation, info = self.lines[self.said]
        return observation, 0.0, False, False, info


def shown(env: Env[Any, Any], actions: Sequence[Any]) -> list[Any]:
    """Everything that the agent sees in an episode with these actions."""
    return [env.reset()[0], *(env.step(action)[0] for action in actions)]


def says(*observations: Any) -> Script:
    return Script([(observation, {}) for observation in observations])


def test_concat_shows_observations_alone() -> None:
    """Each ends with a newline."""
    assert shown(Concat(says("rules", "one", "two\n")), ["a", "b"]) == [
        "rules\n",
        "rules\none\n",
        "rules\none\ntwo\n",
    ]


def test_concat_with_action_shows_both_in_order() -> None:
    """First observation, first action, second observation, and so on."""
    assert shown(ConcatWithAction(says("rules", "one", "two")), ["a", "b\n"]) == [
        "rules\n",
        "rules\na\none\n",
        "rules\na\none\nb\ntwo\n",
    ]


def test_what_is_empty_gets_no_newline() -> None:
    """Nothing is added for an empty observation or action."""
    assert shown(ConcatWithAction(says("", "", "two")), ["", "b"]) == ["", "", "b\ntwo\n"]


@pytest.mark.parametrize("limit", [None, 2])
def test_a_new_episode_begins_an_empty_history(limit: int | None) -> None:
    """Nothing of the last episode is left."""
    env = ConcatWithAction(says("rules", "one"), max_history_length=limit)
    first = shown(env, ["a"])
    assert shown(env, ["a"]) == first


@pytest.mark.parametrize(
    ("wrapper", "expected"),
    [
        (Concat, ["0\n", "0\n1\n", "0\n1\n2\n", "1\n2\n3\n"]),
        (ConcatWithAction, ["0\n", "0\na\n1\n", "0\na\n1\nb\n2\n", "1\nb\n2\nc\n3\n"]),
    ],
)
def test_max_history_length_keeps_the_latest_turns(wrapper: type[Concat], expected: list[str]) -> None:
    """Of two turns there are three observations; the first observation falls out, as published."""
    assert shown(wrapper(says("0", "1", "2", "3"), max_history_length=2), ["a", "b", "c"]) == expected


@pytest.mark.parametrize(("length", "error"), [(0, ArgumentError), (-1, ArgumentError), ("2", ArgumentTypeError)])
def test_max_history_length_is_a_positive_int(length: Any, error: type[Exception]) -> None:
    """Anything else is refused when the wrapper is made."""
    with pytest.raises(error, match="max_history_length"):
        Concat(says("0"), max_history_length=length)


def test_the_latest_prefix_and_suffix_stand_around_the_history() -> None:
    """Those of earlier infos are gone, and no newline is added."""
    lines = [("rules", {"suffix": "?"}), ("one", {"prefix": "Task. ", "suffix": "!"}), ("two", {})]
    assert shown(ConcatWithAction(Script(lines)), ["a", "b"]) == [
        "rules\n?",
        "Task. rules\na\none\n!",
        "rules\na\none\nb\ntwo\n",
    ]


def test_the_parsed_action_takes_the_place_of_the_action() -> None:
    """Only the part of an action that was acted on stays in the history."""
    env = ConcatWithAction(Script([("rules", {}), ("one", {"parsed_action": "a"}), ("two", {"parsed_action": None})]))
    assert shown(env, ["a and more", "b"])[-1] == "rules\na\none\nb\ntwo\n"


def test_native_calls_are_written_out() -> None:
    """An assistant message is shown as its text and its calls; malformed calls are not shown."""
    call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    as_text = {"role": "assistant", "content": "Let me see.", "tool_calls": [call]}
    as_dict = {"tool_calls": [{"function": {"name": "add", "arguments": {"ä": 2}}}]}
    env = ConcatWithAction(says("rules", "one"))
    assert shown(env, [as_text, as_dict, {"content": "b", "tool_calls": [{"id": 3}]}])[-1] == (
        'rules\nLet me see.\n<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>\none\n'
        '<tool_call>{"name": "add", "arguments": {"ä": 2}}</tool_call>\none\nb\none\n'
    )


cyclic: dict[str, Any] = {"content": "x"}
cyclic["self"] = cyclic
deep: Any = []
for _ in range(100_000):
    deep = [deep]


@pytest.mark.parametrize(
    ("action", "piece"),
    [
        (None, ""),
        (7, ""),
        (b"bytes", ""),
        (["list"], ""),
        ("\ud800", "\ud800\n"),
        ({}, ""),
        ({"content": None}, ""),
        ({"content": 5, "tool_calls": 5}, ""),
        ({"content": [text("x"), PICTURE, {"type": "text"}, 3]}, "x\n"),
        ({"content": "x", "tool_calls": [{"function": {"name": b"f"}}]}, "x\n"),
        (cyclic, "x\n"),
        ({"content": "x", "tool_calls": deep}, "x\n"),
        ({"content": "x", "other": object()}, "x\n"),
    ],
)
def test_no_action_raises(action: Any, piece: str) -> None:
    """What has no text leaves nothing in the history."""
    assert shown(ConcatWithAction(says("rules", "one")), [action])[-1] == f"rules\n{piece}one\n"


def test_pictures_stay_parts_and_texts_between_them_are_joined() -> None:
    """The history is then a list of content parts with as few text parts as possible."""
    env = ConcatWithAction(says([text("Look:"), PICTURE], "one", [PICTURE, text("two")]))
    assert shown(env, ["a", "b"]) == [
        [text("Look:"), PICTURE],
        [text("Look:"), PICTURE, text("a\none\n")],
        [text("Look:"), PICTURE, text("a\none\nb\n"), PICTURE, text("two\n")],
    ]


def test_changing_what_was_shown_changes_no_history() -> None:
    """A list of parts is a new list each time, apart from the environment's own."""
    own = [PICTURE, text("rules")]
    env = Concat(says(own, "one"))
    first = env.reset()[0]
    first.append(text("forged"))
    own.append(text("forged too"))
    assert env.step("")[0] == [PICTURE, text("rules\none\n")]


@pytest.mark.parametrize("observation", [None, 3, {"problem": "x"}, ["x"], ("x",), b"x"])
def test_other_observations_are_refused(observation: Any) -> None:
    """They can stand in no text; the message names the type."""
    with pytest.raises(ArgumentTypeError, match=type(observation).__name__):
        Concat(says(observation)).reset()


pieces = st.text("ab\n", max_size=3)


@given(st.lists(st.tuples(pieces, pieces), max_size=8), pieces, st.none() | st.integers(1, 4), st.booleans())
def test_any_history_is_the_join_of_its_pieces(
    turns: list[tuple[str, str]], first: str, limit: int | None, with_action: bool
) -> None:
    """However long the episode and the limit, and wherever newlines and empty pieces are."""
    wrapper = ConcatWithAction if with_action else Concat
    env = wrapper(says(first, *(answer for _, answer in turns)), max_history_length=limit)
    last = shown(env, [action for action, _ in turns])[-1]
    kept = turns if limit is None else turns[-limit:]
    begin = first if len(kept) == len(turns) else turns[-len(kept) - 1][1]
    expected = [begin, *(piece for turn in kept for piece in (turn if with_action else turn[1:]))]
    assert last == "".join(piece if not piece or piece.endswith("\n") else piece + "\n" for piece in expected)


def episode_cost(env: Env[Any, Any], action: str, turns: int) -> float:
    """CPU seconds of the fastest of five episodes whose observations nobody keeps."""
    best = float("inf")
    for _ in range(5):
        env.reset()
        begun = time.process_time()
        for _ in range(turns):
            env.step(action)
        best = min(best, time.process_time() - begun)
    return best


@pytest.mark.parametrize("wrapper", [Concat, ConcatWithAction])
def test_an_episode_costs_time_in_proportion_to_its_turns(wrapper: type[Concat]) -> None:
    """Eight times the turns cost about eight times as much, where a join of all pieces would cost sixty-four."""
    env = wrapper(says("rules", "one"))
    assert episode_cost(env, "a" * 20, 2000) < 24 * episode_cost(env, "a" * 20, 250)


def test_a_megabyte_of_text_costs_a_turn_little() -> None:
    """About what copying it costs, many times."""
    huge = "x" * 1_000_000
    copies = 0.0
    for _ in range(200):
        begun = time.process_time()
        _ = huge + "y"
        copies += time.process_time() - begun
    assert episode_cost(ConcatWithAction(says("rules", "one")), huge, 1) < copies
