"""Episodes of the office: observations, rewards, states, and the company that goes on."""

from __future__ import annotations

import json
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError
from gem_envs_office.env import OfficeEnv, call_text
from gem_envs_office.reference import OfficePolicy
from gem_envs_office.week import OfficeWeekEnv

_FINISH = call_text("finish", {})


def _played(env: gem.Env[Any, Any], calls: int = 10**6) -> tuple[float, dict[str, Any]]:
    """Play the golden plan from the first observation on, so many calls of it, and finish."""
    policy = OfficePolicy(env)
    policy.reset("", {})
    observation, done, reward, info = "", False, 0.0, {}
    while not done:
        action = policy.act(observation, {}) if calls > 0 else _FINISH
        observation, reward, terminated, truncated, info = env.step(action)
        done, calls = terminated or truncated, calls - 1
    return reward, info


def test_observation_says_all_that_is_needed() -> None:
    """Who one is, the task, the rules, the departments and every tool stand in the first observation."""
    env = OfficeEnv(family="Refund")
    observation, _ = env.reset(seed=1)
    agent = env.current.agent
    for told in (agent["name"], agent["email"], "support agent", "Refunds", "get_policy", "issue_refund(", "100 turns"):
        assert told in observation
    assert len(observation) < 16_000
    assert "issue_refund(" not in OfficeEnv(family="Refund", tool_instructions=False).reset(seed=1)[0]


def test_native_calls_do_what_text_does() -> None:
    """An assistant message with tool calls and a text with them have one result, several calls in one turn too."""
    answers = []
    calls = [("list_queues", {}), ("get_policy", {"policy_id": "PO103"})]
    for native in (False, True):
        env = OfficeEnv(family="Refund")
        env.reset(seed=2)
        action: Any = "".join(call_text(name, arguments) for name, arguments in calls)
        if native:
            listed = [{"function": {"name": name, "arguments": json.dumps(arguments)}} for name, arguments in calls]
            action = {"role": "assistant", "content": "", "tool_calls": listed}
        answers.append(env.step(action)[0])
    assert answers[0] == answers[1]


def test_share_pays_for_goals_unless_something_is_broken() -> None:
    """With reward="share", half of the work earns some, and nothing beside a forbidden deed."""
    env = OfficeEnv(family="MonthEnd", reward="share")
    env.reset(seed=3)
    reward, info = _played(env, 12)
    assert 0.0 < reward < 1.0
    assert reward == info["goals_met"]
    env.reset(seed=3)
    env.step(call_text("delete_file", {"file_id": "F101"}))
    reward, info = _played(env)
    assert reward == 0.0
    assert info["predicates"]["goals"]
    assert info["side_effects"] == ["files F101 is gone"]


def test_text_without_a_call_costs_a_turn_alone() -> None:
    """A message reaches nobody, and unreadable calls are answered; the episode goes on."""
    env = OfficeEnv(family="Refund")
    env.reset(seed=1)
    for action in ("Hello!", "<tool_call>{", "<tool_call>[]</tool_call>", call_text("fly", {}), None, b"x"):
        observation, reward, terminated, truncated, _ = env.step(action)
        assert (reward, terminated, truncated) == (0.0, False, False), observation


def test_descriptions_show_types_and_values() -> None:
    """describe_tools shows the schema of an argument; a wrong name is named."""
    env = OfficeEnv(family="Refund")
    env.reset(seed=1)
    observation = env.step(call_text("describe_tools", {"names": ["issue_refund"]}))[0]
    assert "not_delivered" in observation
    assert "no tool 'nothing'" in env.step(call_text("describe_tools", {"names": ["nothing"]}))[0]
    assert "needs names" in env.step(call_text("describe_tools", {}))[0]


def test_unknown_family_is_refused_with_those_that_exist() -> None:
    """The error names the families."""
    with pytest.raises(ArgumentError, match="there is no family 'Lunch'; there are Refund"):
        OfficeEnv(family="Lunch")


def test_week_goes_on_with_what_was_done() -> None:
    """The next day finds what was done and what was not; a snapshot brings a day back."""
    env = OfficeWeekEnv()
    env.reset(seed=5)
    monday = env.current.today
    assert _played(env)[0] == 1.0
    done = env.snapshot()
    _, info = env.reset()
    assert info["day"] == 2
    assert env.current.today > monday
    known = {row["message_id"] for row in env.current.tables["mail_messages"]}
    assert {row["message_id"] for row in done["tables"]["mail_messages"]} <= known
    assert _played(env, 6)[0] == 0.0
    assert _played_day(env, {"new_company": True}) == 1
    first = env.reset(options={"snapshot": json.loads(json.dumps(done)), "task": 7})
    assert env.reset(options={"snapshot": done, "task": 7}) == first
    assert _played(env)[0] == 1.0


def _played_day(env: OfficeWeekEnv, options: dict[str, Any]) -> int:
    return int(env.reset(options=options)[1]["day"])


@pytest.mark.parametrize("wrong", [{}, 5, {"day": 1}, None])
def test_wrong_snapshot_is_refused(wrong: Any) -> None:
    """What is no snapshot, or a snapshot with another table, is an error that says so."""
    env = OfficeWeekEnv()
    env.reset(seed=1)
    if wrong is None:
        wrong = env.snapshot()
        wrong["tables"]["kitchen"] = []
    with pytest.raises(ArgumentError, match="snapshot must be one of this environment"):
        env.reset(options={"snapshot": wrong})


@pytest.mark.nightly
@pytest.mark.parametrize("level", [1, 2, 3])
def test_reference_lives_through_weeks(level: int) -> None:
    """Whatever half of the days left undone, the next ones can be won."""
    env = OfficeWeekEnv(level=level)
    for seed in range(4):
        for day in range(6):
            env.reset(seed=seed if day == 0 else None)
            left_undone = day % 2 == 1
            assert _played(env, 12 if left_undone else 10**6)[0] == float(not left_undone)
