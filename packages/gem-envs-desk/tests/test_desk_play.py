"""Episodes at the desks: who talks and calls as the policy demands earns 1, who does otherwise does not."""

from __future__ import annotations

import json
from typing import Any

import pytest

import gem
from gem_envs_desk.env import DeskEnv
from gem_envs_desk.reference import DeskPolicy, ObedientPolicy, call_text
from gem_envs_desk.task import AGENT, USER, DeskCall

DESKS = ("desk:Retail-v0", "desk:Airline-v0", "desk:Telecom-v0")


def desk(name: str, **arguments: Any) -> DeskEnv:
    """Return the environment of a name."""
    env = gem.make(name, **arguments)
    assert isinstance(env, DeskEnv)
    return env


def episode(env: DeskEnv, policy: Any, seed: int) -> tuple[float, dict[str, Any], list[str]]:
    """Return the reward, the last info and the observations of an episode."""
    observation, info = env.reset(seed=seed)
    policy.reset(observation, info)
    seen, over, reward = [observation], False, 0.0
    while not over:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
        seen.append(observation)
        over = terminated or truncated
    return reward, info, seen


def mean(name: str, policy: type[DeskPolicy], episodes: int, **arguments: Any) -> float:
    """Return the mean return of a policy over the first seeds."""
    env = desk(name, **arguments)
    return sum(episode(env, policy(env), seed)[0] for seed in range(episodes)) / episodes


@pytest.mark.parametrize("name", DESKS)
@pytest.mark.parametrize("level", [1, 3])
def test_the_oracle_succeeds(name: str, level: int) -> None:
    """The reference policy solves every task together with the scripted user."""
    assert mean(name, DeskPolicy, 3, level=level) == 1.0


@pytest.mark.parametrize("name", DESKS)
def test_who_ignores_the_policy_earns_less(name: str) -> None:
    """Doing what the user says at first solves few tasks of level 3."""
    assert mean(name, ObedientPolicy, 6, level=3) < 0.5


@pytest.mark.nightly
@pytest.mark.parametrize("name", DESKS)
@pytest.mark.parametrize("level", [1, 2, 3])
def test_the_oracle_succeeds_in_300_episodes(name: str, level: int) -> None:
    """Above 0.98, and the policy that ignores the rules at least 0.2 below it."""
    oracle = mean(name, DeskPolicy, 300, level=level)
    assert oracle > 0.98
    assert mean(name, ObedientPolicy, 300, level=level) < oracle - 0.2


@pytest.mark.parametrize("name", DESKS)
def test_doing_nothing_earns_nothing(name: str) -> None:
    """An agent that ends the contact at once earns 0."""
    env = desk(name)
    for seed in range(5):
        env.reset(seed=seed)
        _, reward, terminated, _, info = env.step(call_text(DeskCall("end_conversation")))
        assert (reward, terminated, info["success"]) == (0.0, True, False)
        assert not (info["state_matches"] and info["facts_told"])


def test_reading_never_counts() -> None:
    """Calls that only read leave the end as it is."""
    env = desk("desk:Retail-v0")
    observation, _ = env.reset(seed=3)
    for product in ("tablet", "keyboard", "no such thing"):
        env.step(call_text(DeskCall("list_items", {"product": product})))
    policy = DeskPolicy(env)
    policy.reset(observation, {})
    over, reward = False, 0.0
    while not over:
        _, reward, terminated, truncated, _ = env.step(policy.act("", {}))
        over = terminated or truncated
    assert reward == 1.0


def test_a_call_too_many_costs_the_reward() -> None:
    """A change that nobody asked for is found in the whole state, and named."""
    env = desk("desk:Retail-v0")
    observation, _ = env.reset(seed=3)
    stranger = next(
        order for order in env.current.state["orders"]
        if order["status"] == "pending" and not any(order["order_id"] in str(call) for call in env.current.gold)
    )  # fmt: skip
    env.step(call_text(DeskCall("cancel_order", {"order_id": stranger["order_id"], "reason": "other"})))
    policy = DeskPolicy(env)
    policy.reset(observation, {})
    over, info = False, {}
    while not over:
        _, reward, terminated, truncated, info = env.step(policy.act("", {}))
        over = terminated or truncated
        assert reward == 0.0
    assert any(stranger["order_id"] in line and "cancelled" in line for line in info["differences"])


def test_a_fact_must_be_told() -> None:
    """The right calls without the answer earn 0; with the answer in another notation, 1."""
    env = desk("desk:Airline-v0")
    seed = next(seed for seed in range(100) if env.reset(seed=seed) and env.current.kind == "upgrade")
    for says, wanted in (("It is done.", 0.0), ("It is done and costs €{:,.2f}.", 1.0)):
        env.reset(seed=seed)
        for call in env.current.gold:
            env.step(call_text(call))
        env.step(says.format(env.current.facts[0].value))
        assert env.step("Is there anything else?")[1] == wanted


@pytest.mark.parametrize("name", DESKS)
def test_calls_can_be_native(name: str) -> None:
    """Native calls of an assistant message do the same as calls by text, several in one message too."""
    env = desk(name)
    env.reset(seed=5)
    tools = [schema["function"]["name"] for schema in env.tool_schemas]
    assert tools == [*env.world.tools[AGENT], "end_conversation"]
    call = {"function": {"name": "find_customer", "arguments": json.dumps({"email": "nobody@mail.example"})}}
    observation, _, _, _, info = env.step({"role": "assistant", "content": None, "tool_calls": [call, call]})
    assert observation.count("No customer has these data.") == 2
    assert info["action_status"] == "illegal"


def test_failing_tools_are_seeded_and_harmless() -> None:
    """With a failure rate, some calls fail, the same ones each time, and the oracle still succeeds."""
    env = desk("desk:Retail-v0", level=3, failure_rate=0.3)
    first = [episode(env, DeskPolicy(env), seed) for seed in range(4)]
    assert [episode(env, DeskPolicy(env), seed) for seed in range(4)] == first
    assert all(reward == 1.0 for reward, _, _ in first)
    failed = sum("temporarily unavailable" in text for _, _, seen in first for text in seen)
    assert failed > 0


@pytest.mark.parametrize("name", DESKS)
def test_splits_share_no_customer(name: str) -> None:
    """No family name of a training task is in a test task."""
    names: dict[str, set[str]] = {}
    for split in ("train", "test"):
        domain = desk(name).domain
        tasks = [domain.task(number, 1, split) for number in range(12)]
        names[split] = {row["last_name"] for task in tasks for row in task.state["customers"]}
    assert not names["train"] & names["test"]


def test_the_customer_alone_uses_the_phone() -> None:
    """In dual control the agent has no tool for the phone, and what it asks for happens on it."""
    env = desk("desk:Telecom-v0")
    seed = next(seed for seed in range(100) if env.reset(seed=seed) and env.current.kind == "airplane mode")
    env.reset(seed=seed)
    number = env.current.gold[0].arguments["phone_number"]
    assert "set_switch" in env.world.tools[USER]
    observation, *_ = env.step(call_text(DeskCall("set_switch", {"phone_number": number})))
    assert "There is no tool 'set_switch'" in observation
    assert "airplane mode" in env.step("What does the status bar say?")[0]
    assert "I have turned airplane mode off." in env.step("Please turn airplane mode off.")[0]
    assert env.step("Is there anything else?")[1] == 1.0
