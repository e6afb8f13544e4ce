"""What a program repeats to the letter is not digested again, and the digests are the same as if it were."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gem_gateway.lineages import normal_form
from gem_gateway.lineages.normal_form import ConversationDigests, prefix_digests

VALUES = st.sampled_from([1, True, 1.0, "1", None, [], {}, "\ud800", 2**70, "a ", "a", {"b": [1]}, {"b": [True]}])
CALLS = st.lists(
    st.builds(
        lambda number, arguments: {"id": f"c{number}", "function": {"name": "f", "arguments": arguments}},
        st.integers(0, 2),
        st.sampled_from(["{}", '{"a": 1}', '{"a":true}', "not json"]),
    ),
    max_size=2,
)
MESSAGES = st.one_of(
    st.builds(lambda content: {"role": "user", "content": content}, VALUES),
    st.builds(lambda content, calls: {"role": "assistant", "content": content, "tool_calls": calls}, VALUES, CALLS),
    st.builds(lambda number: {"role": "tool", "tool_call_id": f"c{number}", "content": "done"}, st.integers(0, 2)),
)
EDITS = st.lists(
    st.tuples(st.sampled_from(["go on", "again", "cut", "replace", "other tools"]), st.integers(0, 8), MESSAGES),
    min_size=1,
    max_size=8,
)


CALLING = {"role": "assistant", "content": "a", "tool_calls": [{"id": "c1", "function": {"name": "f"}}]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "done"}


@given(EDITS)
@example([("go on", 0, CALLING), ("go on", 0, RESULT), ("go on", 0, CALLING), ("go on", 0, RESULT)])
@example([("go on", 0, {"role": "user", "content": [1]}), ("replace", 0, {"role": "user", "content": [True]})])
def test_remembered_conversations_change_no_digest(edits: list[tuple[str, int, dict[str, Any]]]) -> None:
    """Retries, branches, changed values of equal worth, other tools, call ids that come again, and what is no UTF-8."""
    remembered = ConversationDigests()
    talk: list[dict[str, Any]] = []
    tools: list[dict[str, Any]] | None = None
    for kind, place, message in edits:
        talk = copy.deepcopy(talk)
        if kind in ("go on", "again"):
            talk += [message] * (kind == "go on")
        elif kind == "cut":
            talk = talk[:place]
        elif kind == "replace" and talk:
            talk[place % len(talk)] = message
        else:
            tools = [{"type": "function", "function": {"name": "f", "parameters": {"x": message["content"]}}}]
        assert remembered.of(talk, tools) == prefix_digests(talk, tools)


def calling(arguments: str, content: Any = "") -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": content,
        "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": arguments}}],
    }


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "user", "content": "a"}, {"role": "usera", "content": ""}, {"role": "assistant", "content": "a"}],
        [{"role": "user", "content": "a", "name": name} for name in (None, "", "a", [], 0)],
        [{"role": "user", "content": text} for text in ("", '["user","",null]', "4:user", " ", "\ud800", "\ufffd")],
        [{"role": "user", "content": content} for content in ("a", ["a"], [["a"]], {"a": "a"}, 1, True, 1.0)],
        [{"role": "assistant", "content": "a"}, calling("{}", "a"), calling('{"a": null}', "a")],
        [calling(one) for one in ('{"a": null}', '{"a": NaN}', '{"a": 1}', '{"a": 1.0}', '{"a": true}', "a", '"a"')],
    ],
)
def test_what_says_something_else_has_another_digest(messages: list[dict[str, Any]]) -> None:
    """However near it is to another message in its JSON, or to what is digested in its place."""
    assert len({prefix_digests([message], None)[0] for message in messages}) == len(messages)


@pytest.mark.parametrize("agents", [1, 4])
def test_a_conversation_that_grows_is_digested_once(monkeypatch: pytest.MonkeyPatch, agents: int) -> None:
    """Each message of each agent is brought into normal form once, however many requests repeat it."""
    seen: Counter[str] = Counter()
    form = normal_form._form

    def counted(message: dict[str, Any], numbers: Any) -> Any:
        seen[message["content"]] += 1
        return form(message, numbers)

    monkeypatch.setattr(normal_form, "_form", counted)
    remembered = ConversationDigests()
    for turn in range(20):
        for agent in range(agents):
            remembered.of([{"role": "user", "content": f"{agent}: {number}"} for number in range(turn + 1)], None)
    assert set(seen.values()) == {1}
    assert len(seen) == 20 * agents


def test_what_is_remembered_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither many conversations nor large ones stay in memory."""
    monkeypatch.setattr(normal_form, "_REMEMBERED_BYTES", 1000)
    remembered = ConversationDigests()
    for number in range(10):
        remembered.of([{"role": "user", "content": str(number)}], None)
    assert len(remembered._known) == normal_form._REMEMBERED
    remembered.of([{"role": "user", "content": "x" * 500}], None)
    remembered.of([{"role": "user", "content": "y" * 500}], None)
    assert len(remembered._known) == 1
    remembered.of([{"role": "user", "content": "x" * 1000}], None)
    assert remembered._known == []
