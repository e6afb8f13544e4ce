"""What an agent says and what is understood, without a container."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_terminal.actions import (
    TOOL_SCHEMAS,
    Bash,
    Finish,
    MalformedAction,
    ReadFile,
    SendKeys,
    WriteFile,
    dump_action,
    load_action,
    parse_actions,
)


def native(*calls: tuple[Any, Any]) -> dict[str, Any]:
    """Return an assistant message with native calls."""
    return {
        "role": "assistant",
        "content": "so:",
        "tool_calls": [
            {"id": f"call-{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for index, (name, arguments) in enumerate(calls)
        ],
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<bash>ls</bash>", Bash("ls")),
        ("I look.\n<bash>\nls -la\ncd /tmp\n</bash> and then", Bash("ls -la\ncd /tmp")),
        ("<bash>echo '<finish/>'</bash>", Bash("echo '<finish/>'")),
        ("<bash>cmd: make all\ntimeout_secs: 120</bash>", Bash("make all", 120.0)),
        ("<bash>\ncmd: |\n  cat <<END\n  a: b\n  END\n</bash>", Bash("cat <<END\na: b\nEND\n")),
        ("<bash>cmd: [1, 2]</bash>", MalformedAction("")),
        ("<bash>cmd: : :</bash>", Bash("cmd: : :")),
        ("<finish/>", Finish()),
        ("done <finish />", Finish()),
        ("<finish></finish>", Finish()),
        ("<finish/> <bash>rm -rf /</bash>", Finish()),
        ("<bash>ls", MalformedAction("")),
        ("ls", MalformedAction("")),
        ('<tool_call>{"name": "read_file", "arguments": {"path": "/a"}}</tool_call>', ReadFile("/a")),
        ('<tool_call>{"name": "fly", "arguments": {}}</tool_call>', MalformedAction("")),
    ],
)
def test_the_first_complete_tag_counts(text: str, expected: Any) -> None:
    """A command, the reference's YAML form of it, the end of the task, and tool calls written as text are read."""
    (asked,) = parse_actions(text)
    assert (
        isinstance(asked.action, MalformedAction) if isinstance(expected, MalformedAction) else asked.action == expected
    )
    assert asked.call is None


def test_native_calls_are_read_in_order() -> None:
    """Arguments are JSON text or objects; each move keeps the call that its result has to name."""
    asked = parse_actions(
        native(
            ("bash", '{"command": "make", "timeout_secs": 90}'),
            ("send_keys", {"keys": ["q", "Enter"]}),
            ("send_keys", {"keys": "C-c"}),
            ("read_file", '{"path": "/etc/hosts"}'),
            ("write_file", {"path": "a", "content": "b"}),
            ("finish", "{}"),
        )
    )
    assert [one.action for one in asked] == [
        Bash("make", 90.0),
        SendKeys(("q", "Enter")),
        SendKeys(("C-c",)),
        ReadFile("/etc/hosts"),
        WriteFile("a", "b"),
        Finish(),
    ]
    assert [one.call and one.call.id for one in asked] == [f"call-{index}" for index in range(6)]


@pytest.mark.parametrize(
    ("name", "arguments", "why"),
    [
        ("bash", "{}", "command must be a string"),
        ("bash", {"command": 7}, "command must be a string"),
        ("bash", "{", "cannot be read"),
        ("send_keys", {"keys": [1]}, "list of strings"),
        ("write_file", {"path": "a"}, "content must be a string"),
        ("launch", {}, "bash, send_keys, read_file, write_file, finish"),
        (None, {}, "names no function"),
    ],
)
def test_a_wrong_call_is_answered_with_what_is_wrong(name: Any, arguments: Any, why: str) -> None:
    """The agent can mend it: the sentence says which argument, or which tools there are."""
    (asked,) = parse_actions(native((name, arguments)))
    assert isinstance(asked.action, MalformedAction)
    assert why in asked.action.why


def test_more_calls_than_one_message_may_have_are_refused_each() -> None:
    """Every call gets an answer, since chat APIs demand one."""
    asked = parse_actions(native(*[("bash", {"command": "ls"})] * 40))
    assert len(asked) == 40
    assert [isinstance(one.action, Bash) for one in asked].count(True) == 16


@pytest.mark.parametrize("seconds", [0, -1, True, "5", None, "nan", 1e300])
def test_a_time_that_is_none_is_left_out(seconds: Any) -> None:
    """The environment's own limit then holds."""
    (asked,) = parse_actions(native(("bash", {"command": "ls", "timeout_secs": seconds})))
    assert asked.action == Bash("ls", None)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from([schema["function"]["name"] for schema in TOOL_SCHEMAS]) | JSON


PIECES = [
    "<bash>",
    "</bash>",
    "<finish/>",
    "<tool_call>",
    "cmd:",
    "timeout_secs: 5",
    "\n",
    " ",
    "&a",
    "*a",
    "{",
    "!!int",
]


@given(
    st.one_of(
        JSON,
        st.binary(),
        st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
        st.builds(lambda calls: native(*calls), st.lists(st.tuples(NAMES, JSON | JSON.map(json.dumps)), max_size=3)),
    )
)
def test_anything_is_understood_or_malformed(action: Any) -> None:
    """Nothing raises, there is always a move, and what is carried out can be recorded in JSON and read again."""
    asked = parse_actions(action)
    assert asked
    for one in asked:
        if not isinstance(one.action, (Finish, MalformedAction)):
            assert load_action(json.loads(json.dumps(dump_action(one.action)))) == one.action


TAGS = [f"!!{name}" for name in ("bool", "int", "float", "null", "binary", "timestamp", "set", "omap", "pairs", "map")]
SCALARS = [
    "foo",
    "yes",
    "0x",
    "1:",
    "-",
    "1e999",
    ".",
    "0001-01-01T00:00:00+23:00",
    "2001-13-41",
    "{a: b}",
    "[a]",
    "? a",
    "",
]
NODES = st.builds(" ".join, st.lists(st.sampled_from([*TAGS, *SCALARS, "&a", "*a", "<<:", "!x"]), max_size=4))


@given(st.lists(st.tuples(st.sampled_from(["cmd", "timeout_secs", "x", "<<"]), NODES | st.text()), min_size=1))
def test_whatever_looks_like_yaml_is_a_command_or_malformed(lines: list[tuple[str, str]]) -> None:
    """Tags on what is not of their type, dates that are none, and aliases of nothing raise nothing."""
    body = "\n".join(f"{key}: {node}" for key, node in [("cmd", lines[0][1]), *lines[1:]])
    (asked,) = parse_actions(f"<bash>{body}</bash>")
    assert isinstance(asked.action, (Bash, Finish, MalformedAction))


@pytest.mark.parametrize(
    "node",
    ["!!bool foo", "!!timestamp x", "!!int", "!!float", "!!int 0b", "!!set [a]", "2001-13-41", "1:" * 200 + "1.5"],
)
def test_a_tag_on_what_is_not_of_its_type_makes_a_command(node: str) -> None:
    """What cannot be read as YAML is run as it stands."""
    assert parse_actions(f"<bash>cmd: {node}</bash>")[0].action == Bash(f"cmd: {node}")


HOSTILE = [
    "<bash>",
    "</bash>",
    "<finish",
    "<tool_call>",
    "cmd: ",
    "x: &a [*a, ",
    "{a: ",
    "? ",
    "a\n",
    "k: v\n",
    "[",
    "- - ",
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("piece", HOSTILE)
def test_reading_is_linear(piece: str) -> None:
    """Eight times the text costs far less than 64 times as much; in processor time, the best of five."""

    def seconds(text: str) -> float:
        best = float("inf")
        for _ in range(5):
            began = time.process_time()
            parse_actions(text)
            best = min(best, time.process_time() - began)
        return best

    small, large = (seconds(f"<bash>cmd: a\n{piece * count}</bash>") for count in (4_000, 32_000))
    assert large < 32 * max(small, 1e-4)


@pytest.mark.parametrize("piece", HOSTILE)
def test_yaml_without_measure_is_read_in_bounded_time(piece: str) -> None:
    """Where a body is short enough to be read as YAML, no nesting or repetition of it crashes the parser."""
    (asked,) = parse_actions(f"<bash>cmd: a\n{piece * (16_000 // len(piece))}</bash>")
    assert isinstance(asked.action, (Bash, MalformedAction))
