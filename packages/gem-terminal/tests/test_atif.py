"""Trajectories in ATIF, which the published models of the format read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError
from gem.policies import Act
from gem_rollout.trajectory import Trajectory, TrajectoryBuilder, Transition
from gem_terminal import TerminalEnv
from gem_terminal.actions import TOOL_SCHEMAS
from gem_terminal.atif import atif_document

atif = pytest.importorskip("atif", reason="the published models of the format need Python 3.12")


def valid(document: dict[str, Any]) -> dict[str, Any]:
    """The document, after the published models have accepted it in JSON."""
    text = json.dumps(document, allow_nan=False)
    atif.Trajectory.model_validate_json(text)
    return json.loads(text)


def call(identity: Any, name: str, arguments: Any) -> dict[str, Any]:
    """A native tool call."""
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_an_episode_of_a_terminal_becomes_steps_with_calls_results_and_metrics(
    engine_variables: None, working_engine: Any
) -> None:
    """The task is a step of the user; each turn a step of the agent, with what each call returned."""
    with TerminalEnv("ledger", engine=working_engine("namespace"), instructions=False) as env:
        builder = TrajectoryBuilder(env.spec, 0, agent="scripted")
        builder.begin(*env.reset(seed=0))
        calls = [
            call("a", "bash", json.dumps({"command": "echo $((6 * 7))"})),
            call("b", "read_file", '{"path": "/etc/hostname'),
        ]
        act = Act(
            {"role": "assistant", "content": "I count.", "tool_calls": calls},
            prompt_token_ids=[1, 2, 3], token_ids=[4, 5], logprobs=[-0.5, -0.25], reasoning="hm", model="tiny",
            usage={"prompt_tokens": 3, "completion_tokens": 2, "cached_tokens": 1},
        )  # fmt: skip
        builder.add(act, *env.step(act.action))
        builder.add("<finish/>", *env.step("<finish/>"))
    document = valid(atif_document(builder.finish(), tools=TOOL_SCHEMAS))
    user, first, last = document["steps"]
    assert (user["source"], user["message"]) == ("user", env.task.instruction)
    assert (first["source"], first["message"], first["reasoning_content"]) == ("agent", "I count.", "hm")
    assert [each["function_name"] for each in first["tool_calls"]] == ["bash", "read_file"]
    assert first["tool_calls"][0]["arguments"] == {"command": "echo $((6 * 7))"}
    assert first["tool_calls"][1]["extra"] == {"malformed_arguments": '{"path": "/etc/hostname'}
    assert first["observation"]["results"][0] == {"source_call_id": "a", "content": "42\n[exit code 0]"}
    assert first["metrics"] == {
        "prompt_tokens": 3, "completion_tokens": 2, "cached_tokens": 1, "prompt_token_ids": [1, 2, 3],
        "completion_token_ids": [4, 5], "logprobs": [-0.5, -0.25],
    }  # fmt: skip
    assert last["message"] == "<finish/>"
    assert last["extra"]["terminated"] is True
    assert document["agent"]["model_name"] == "tiny"
    assert len(document["agent"]["tool_definitions"]) == len(TOOL_SCHEMAS)
    assert document["final_metrics"]["total_prompt_tokens"] == 3
    assert document["final_metrics"]["extra"]["return"] == 0.0
    assert user["timestamp"] <= first["timestamp"] <= last["timestamp"]


def test_of_a_history_of_messages_each_step_holds_what_its_turn_added() -> None:
    """A wrapper that shows all earlier messages does not repeat them in the document."""
    opening = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "task"}]
    said = {"role": "assistant", "content": "ls"}
    later = [*opening, said, {"role": "tool", "tool_call_id": "x", "content": "files"}]
    trajectory = Trajectory(
        None, 1, [Transition(opening, said, 0.0, False, False), Transition(later, "end", 1.0, True, False)],
        final_observation="over",
    )  # fmt: skip
    steps = valid(atif_document(trajectory))["steps"]
    assert [(step["source"], step["message"]) for step in steps] == [
        ("system", "Be brief."), ("user", "task"), ("agent", "ls"), ("agent", "end"),
    ]  # fmt: skip
    assert [step["observation"]["results"][0]["content"] for step in steps[2:]] == ["files", "over"]


def test_an_episode_of_several_agents_is_one_document_each() -> None:
    """The format has one agent; the error names the way to choose one."""
    turns = [Transition("o", "a", 0.0, False, False, agent=name) for name in ("alice", "bob")]
    trajectory = Trajectory(None, 0, turns, reset_info={"alice": {}, "bob": {}})
    with pytest.raises(ArgumentError, match="for_agent"):
        atif_document(trajectory)
    assert len(valid(atif_document(trajectory.for_agent("bob")))["steps"]) == 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
CALLS = st.lists(st.builds(call, JSON, st.text(max_size=5), JSON | st.just('{"a": 1}')) | JSON, max_size=4)


@given(
    st.lists(
        st.tuples(
            JSON | st.builds(lambda calls: {"role": "assistant", "content": None, "tool_calls": calls}, CALLS),
            JSON,
            st.none() | st.lists(st.floats(), max_size=3),
            JSON,
        ),
        max_size=3,
    ),
    JSON,
)
def test_whatever_was_recorded_becomes_a_valid_document(turns: list[tuple[Any, Any, Any, Any]], last: Any) -> None:
    """Actions, observations and tool results of any shape; calls with equal or missing ids; values that JSON lacks."""
    trajectory = Trajectory(
        None, 0,
        [Transition(seen, action, 0.0, False, False, {"tool_results": results}, logprobs=probabilities)
         for action, seen, probabilities, results in turns],
        final_observation=last,
    )  # fmt: skip
    assert len(valid(atif_document(trajectory))["steps"]) >= 1 + len(turns)
