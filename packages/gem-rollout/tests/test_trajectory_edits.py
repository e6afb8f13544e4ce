"""Edits of texts, lists and prompts: exact for all values, and small for those that repeat."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import TrajectoryError
from gem_rollout.trajectory.edit_chain import EditChain, TrackRecorder
from gem_rollout.trajectory.edits import action_text, apply_edit, same_json
from gem_rollout.trajectory.list_edits import Items, list_edit, value_edit
from gem_rollout.trajectory.text_edits import apply_text_edit, text_edit
from gem_rollout.trajectory.token_edits import continues, token_edit

# Texts made of few fragments repeat themselves and each other, as the observations of an episode do.
fragments = st.sampled_from(
    [
        "",
        "a",
        "ab" * 40,
        "the quick brown fox jumps over the lazy dog, ",
        "Turn 1: wrong.\n" * 9,
        "日本" * 50,
        "\ud800x",
    ]
)
texts = st.lists(fragments, max_size=12).map("".join)
scalars = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, -0.0, 1.0, 0.5]) | texts
contents = texts | st.lists(
    st.builds(lambda text: {"type": "text", "text": text}, texts)
    | st.builds(lambda url: {"type": "image_url", "image_url": {"url": url}}, texts),
    max_size=3,
)
messages = st.builds(
    lambda role, content, more: {"role": role, "content": content, **more},
    st.sampled_from(["user", "assistant", "tool"]),
    contents,
    st.dictionaries(st.sampled_from(["id", "tool_calls", "reasoning_content"]), scalars, max_size=2),
)
actions = texts | messages
observations = texts | st.lists(messages, max_size=8) | contents | st.dictionaries(st.text(max_size=2), scalars)
ids = st.lists(st.sampled_from([0, 1, 7, 50_000, 1_200_000]) | st.integers(0, 60), max_size=80)


def through_file(value: Any) -> Any:
    """Return a value as a file returns it."""
    return json.loads(json.dumps(value))


@given(texts, texts, texts)
def test_an_edit_of_a_text_gives_that_text(old: str, new: str, action: str) -> None:
    """Whatever the three texts have in common."""
    edit = text_edit(old, new, action)
    assert edit is None or apply_text_edit(through_file(edit), old, action) == new


@given(texts, texts, texts, st.integers(0, 400), st.booleans())
def test_a_window_that_moves_on_gives_its_text(old: str, action: str, end: str, dropped: int, keep: bool) -> None:
    """Text is dropped in front, and the action and more are added at the end."""
    new = (old[:50] if keep else "") + old[dropped:] + action + end
    edit = text_edit(old, new, action)
    assert edit is None or apply_text_edit(through_file(edit), old, action) == new


@given(st.lists(messages, max_size=8), st.lists(messages, max_size=8), actions, st.data())
def test_an_edit_of_a_list_gives_that_list(old: list[Any], added: list[Any], action: Any, data: st.DataObject) -> None:
    """Items may stay, be copied by another process, go, be changed a little, or repeat the action."""
    new: list[Any] = []
    for item in old:
        fate = data.draw(st.sampled_from(["same", "copy", "go", "content", "number"]))
        if fate == "same":
            new.append(item)
        elif fate == "copy":
            new.append(through_file(item))
        elif fate == "content" and isinstance(item["content"], str):
            new.append({**item, "content": item["content"] + data.draw(texts)})
        elif fate == "number":
            new.append({**item, "id": data.draw(scalars)})
    new += [*added, action]
    edit = value_edit(new, old, action)
    assert same_json(apply_edit(through_file(edit), old, action), new)


@given(ids, ids, ids, st.booleans())
def test_an_edit_of_a_prompt_gives_that_prompt(old: list[int], sampled: list[int], more: list[int], cut: bool) -> None:
    """A prompt that continues the one before is kept as its new ids alone."""
    new = (old[2:] if cut else old) + sampled + more
    edit = token_edit(new, old, sampled)
    assert apply_edit(through_file(edit), old, sampled) == new
    if old and not cut:
        assert continues(new, old, sampled)
        assert edit == {"list": [[0, len(old)], ["action", 0, len(sampled)], *([{"items": more}] if more else [])]}


def test_numbers_that_are_equal_and_not_the_same_stay_apart() -> None:
    """Python equates 1, 1.0 and True, and 0.0 and -0.0; JSON does not."""
    old = [{"role": "user", "content": "x" * 99, "n": value} for value in (1, True, 0.0)]
    new = [{"role": "user", "content": "x" * 99, "n": value} for value in (True, 1.0, -0.0)]
    edit, _ = list_edit(new, Items(old, old, [0, 1, 2]), "", "the observation")
    assert json.dumps(apply_edit(edit, old, "")) == json.dumps(new)


def test_numbers_stay_apart_in_a_window_that_moves_on() -> None:
    """Also where messages come from another process, in the middle of a list, and at another place than before."""
    recorder, expected = TrackRecorder(), []
    for turn in range(12):
        window = [{"role": "user", "content": f"message {number} " * 9, "n": 1} for number in range(turn, turn + 9)]
        if turn % 4 == 3:
            window[4]["n"] = True
        expected.append(window)
        recorder.observe(through_file(window))
        recorder.act("go")
    chain = recorder.track.observations
    assert all("list" in edit for edit in chain.edits[1:])
    assert json.dumps([chain.value(turn) for turn in range(12)]) == json.dumps(expected)


def test_a_range_before_the_action_ends_where_the_action_begins() -> None:
    """Also if the earlier text goes on with the beginning of the action."""
    shared, action = "".join(map(str, range(100))), "the action that is shown after all of this text " * 3
    old, new = "p" * 40 + shared + action[:50], "q" * 40 + shared + action
    edit = text_edit(old, new, action)
    assert edit == ["q" * 40, [40, 40 + len(shared)], ["action", 0, len(action)]]
    assert apply_text_edit(edit, old, action) == new


def test_a_prompt_holds_only_ints() -> None:
    """In whichever part of it."""
    for old, new in (([], [1, 2.0, 3]), ([1], [1, None]), ([1], ["2"])):
        with pytest.raises(TrajectoryError, match="something else than ints"):
            token_edit(new, old, [])  # type: ignore[arg-type]


def test_a_growing_text_is_kept_as_two_numbers_and_the_action_as_a_reference() -> None:
    """The edit of a history holds neither the history nor the action."""
    old, action = "instructions " * 100, "an action of some length " * 80
    assert text_edit(old, old + action + "\nok", action) == [[0, 1300], ["action", 0, 2000], "\nok"]


def test_a_growing_conversation_is_kept_as_two_numbers_and_the_action_as_a_reference() -> None:
    """So is the edit of a list of messages, native tool calls included."""
    old = [{"role": "user", "content": "look " * 50}]
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}" * 99}}
    action = {"role": "assistant", "content": None, "tool_calls": [call]}
    answer = {"role": "tool", "tool_call_id": "a", "content": "4"}
    assert value_edit([*old, action, answer], old, action) == {"list": [[0, 1], ["action"], {"items": [answer]}]}
    assert value_edit([*old, {"role": "assistant", "content": "go " * 50}], old, "go " * 50) == {
        "list": [[0, 1], ["action"]]
    }


def test_the_text_of_a_message_is_its_reasoning_content_and_arguments() -> None:
    """These are the texts that history wrappers show; readers of files rely on the order."""
    call = {"function": {"arguments": '{"a":1}'}}
    parsed = {"function": {"arguments": {"b": "ü"}}}
    parts = [{"type": "text", "text": "one "}, {"type": "image_url"}, {"type": "text", "text": "two "}]
    message = {"reasoning_content": "because ", "content": parts, "tool_calls": [call, parsed, "odd"]}
    assert action_text(message) == 'because one two {"a":1}{"b": "ü"}'
    assert action_text(None) == ""


@given(st.lists(st.tuples(observations, actions), max_size=6), observations, st.randoms())
def test_a_chain_returns_every_value_in_any_order(turns: list[tuple[Any, Any]], last: Any, order: Any) -> None:
    """Values are rebuilt from edits alone, forwards, backwards and at random."""
    recorder = TrackRecorder()
    for observation, action in turns:
        recorder.observe(observation)
        recorder.act(action)
    recorder.observe(last)
    values = [*(observation for observation, _ in turns), last]
    chain = recorder.track.observations
    copy = EditChain()
    for edit, action in zip(through_file(chain.edits), chain.actions, strict=True):
        copy.append(edit, action)
    for one in (chain, copy):
        indices = list(range(len(values)))
        for _ in range(2):
            assert all(same_json(one.value(index), values[index]) for index in indices)
            order.shuffle(indices)
        one.forget()


def test_a_list_that_its_environment_changes_in_place_is_recorded_as_it_was() -> None:
    """Environments may hand out their own list, and write into its last message."""
    recorder, shown = TrackRecorder(), []
    expected = []
    for turn in range(5):
        shown.append({"role": "user", "content": f"turn {turn}"})
        if turn == 3:
            shown[2]["content"] = "rewritten"
        recorder.observe(shown)
        expected.append(through_file(shown))
        recorder.act("go")
    assert [recorder.track.observations.value(turn) for turn in range(5)] == expected


def test_reading_a_list_hands_out_a_list_of_its_own() -> None:
    """A reader who appends to an observation changes no other one."""
    recorder = TrackRecorder()
    recorder.observe([{"role": "user", "content": "a"}])
    recorder.act("b")
    recorder.observe([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
    chain = recorder.track.observations
    chain.value(0).append("surplus")
    chain.value(1).append("surplus")
    assert [len(chain.value(0)), len(chain.value(1))] == [1, 2]


@pytest.mark.parametrize(
    "edit",
    [
        None,
        [],
        {},
        {"text": 3},
        {"text": [[0, 99]]},
        {"text": [[-1, 2]]},
        {"text": [["action", 0, 1]]},
        {"text": [["a", 0, 1, 2]]},
        {"text": [["a", "b"]]},
        {"list": [[0, 9]]},
        {"list": [{"fields": 1}]},
        {"list": [{"of": 7, "fields": {}}]},
        {"list": "ab"},
        {"more": 1, "value": 2},
        {"unknown": 1},
    ],
)
def test_a_broken_edit_is_an_error(edit: Any) -> None:
    """A file that was changed by hand gives a TrajectoryError, never a guess."""
    with pytest.raises(TrajectoryError):
        apply_edit(edit, "abc", None)


def test_a_file_of_edits_cannot_fill_the_memory() -> None:
    """An edit that repeats the text before too often is an error, before there is a text of that length."""
    text = "x" * 1_000_000
    with pytest.raises(TrajectoryError, match="more than"):
        apply_edit({"text": [[0, len(text)]] * 300}, text, None)
