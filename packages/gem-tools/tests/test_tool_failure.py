"""ToolFailure: tools that fail at random."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import gem
from gem.core import Env, Info
from gem.errors import ArgumentError, ArgumentTypeError
from gem.migration_adapters import BaseTool
from gem.tools import Tool, ToolEnvWrapper, ToolResult, tool
from gem_rollout.history.chat_history import Messages
from gem_tools.tool_failure import ToolFailure

CALL = '<tool_call>{"name": "clock", "arguments": {}}</tool_call>'


class Task(Env[str, str]):
    """Shows numbers from its own generator."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        return str(self.rng.random()), {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        return str(self.rng.random()), 0.0, False, False, {}

    def get_state(self) -> dict[str, Any]:
        return self.generator_state()

    def set_state(self, state: Any) -> None:
        self.set_generator_state(state)


class Clock(Tool):
    """Says how often it was asked."""

    name = "clock"
    description = "Tells the time."
    parameters = {"type": "object", "properties": {}, "required": []}  # noqa: RUF012
    asked = 0
    closed = False

    def execute(self, arguments: Any) -> ToolResult:
        self.asked += 1
        return ToolResult(f"{self.asked} o'clock")

    def reset(self) -> None:
        self.asked = 0

    def get_state(self) -> dict[str, Any]:
        return {"asked": self.asked}

    def set_state(self, state: Any) -> None:
        self.asked = state["asked"]

    def close(self) -> None:
        self.closed = True


class OldTool(BaseTool):
    """A tool of the original's kind, which finds and carries out a call in one go."""

    tool_type = "old"

    def instruction_string(self) -> str:
        return "Write <old/>."

    def execute_action(self, action: str) -> tuple[bool, bool, str, str]:
        return ("<old/>" in action, False, "old answer", "<old/>")


def flaky(rate: float, *tools: Any) -> ToolFailure:
    return ToolFailure(ToolEnvWrapper(Task(), list(tools) or [Clock()], max_tool_uses=None), rate=rate)


def failures(env: Env[Any, Any], calls: int = 40) -> list[bool]:
    return [env.step(CALL)[4]["tool_error"] for _ in range(calls)]


def test_a_failed_call_looks_like_any_failed_call() -> None:
    """The agent reads which tool failed and why, and the tool was not asked."""
    clock = Clock()
    env = flaky(1.0, clock)
    env.reset()
    observation, reward, terminated, truncated, info = env.step(f"Let me see. {CALL} Thanks.")
    assert observation == "clock failed: TimeoutError: the tool did not answer in time"
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["use_tool"] is info["tool_error"] is True
    assert info["parsed_action"] == f"Let me see. {CALL}"
    assert (info["tool_name"], info["tool_use_counter"], info["tool_success_counter"]) == ("clock", 1, 0)
    assert clock.asked == 0
    custom = ToolFailure(ToolEnvWrapper(Task(), [Clock()]), rate=1.0, message="out of order")
    custom.reset()
    assert custom.step(CALL)[0] == "clock failed: out of order"


def test_a_call_that_is_spared_is_answered_as_ever() -> None:
    """With a rate of zero nothing changes at all."""
    env, alone = flaky(0.0), ToolEnvWrapper(Task(), [Clock()], max_tool_uses=None)
    for action in (CALL, "no call", CALL, '<tool_call>{"name": "clok"}</tool_call>', "<tool_call>{</tool_call>"):
        assert env.reset(seed=1) == alone.reset(seed=1)
        assert env.step(action) == alone.step(action)
    assert env.tool_schemas == alone.tool_schemas


def test_about_the_given_share_fails() -> None:
    """Of 1000 calls within four standard deviations."""
    env = flaky(0.3)
    env.reset(seed=0)
    assert 242 <= sum(failures(env, 1000)) <= 358


def test_the_seed_decides_which_calls_fail() -> None:
    """The same in another instance, whatever else draws numbers; another seed gives others."""
    env, twin = flaky(0.5), flaky(0.5)
    env.reset(seed=3)
    expected = failures(env)
    random.seed(99)
    twin.reset(seed=8)
    assert failures(twin) != expected
    twin.reset(seed=3)
    assert failures(twin) == expected


def test_a_reset_without_a_seed_goes_on() -> None:
    """A run of several episodes is a function of its first seed, and its episodes differ."""
    runs = []
    for _ in range(2):
        env = flaky(0.5)
        env.reset(seed=3)
        first = failures(env)
        env.reset()
        runs.append([first, failures(env)])
    assert runs[0] == runs[1]
    assert runs[0][0] != runs[0][1]


def test_unseeded_runs_differ() -> None:
    """Without any seed it is a matter of chance."""
    envs = [flaky(0.5), flaky(0.5)]
    for env in envs:
        env.reset()
    assert failures(envs[0], 100) != failures(envs[1], 100)


def test_the_environment_draws_the_same_numbers_with_and_without_failures() -> None:
    """Its generator is its own."""
    seen = []
    for rate in (0.0, 0.5, 1.0):
        env = flaky(rate)
        env.reset(seed=4)
        failures(env, 5)
        seen.append(env.step("no call")[0])
    assert len(set(seen)) == 1


def test_native_calls_fail_one_by_one() -> None:
    """Each call of a message for itself, under its own id; only calls that could be carried out are counted."""
    env = Messages(flaky(0.5))
    names = ["clock"] * 30 + ["nothing"]
    calls = [{"id": str(n), "function": {"name": name, "arguments": "{}"}} for n, name in enumerate(names)]
    calls.insert(0, {"id": "x", "function": {"name": "clock", "arguments": "{"}})
    env.reset(seed=2)
    messages = env.step({"role": "assistant", "content": None, "tool_calls": calls})[0]
    malformed, *answers = [message["content"] for message in messages[2:]]
    assert "cannot be read" in malformed
    failed = [answer.startswith("clock failed") for answer in answers]
    twin = flaky(0.5)
    twin.reset(seed=2)
    assert failed[:30] == failures(twin, 30)
    assert [a for a in answers[:30] if "o'clock" in a] == [f"{n + 1} o'clock" for n in range(30 - sum(failed))]
    assert "no tool called" in answers[30]


def test_a_tool_written_for_the_original_loses_its_answer() -> None:
    """It cannot be asked whether there is a call without carrying it out; what is no call stays none."""
    env = flaky(1.0, OldTool(), Clock())
    env.reset()
    assert env.step("<old/>")[0].startswith("old failed: ")
    assert env.step(CALL)[0].startswith("clock failed: ")
    assert env.step("nothing")[4]["use_tool"] is False


def test_state_reset_and_close_reach_the_tool() -> None:
    """Also through JSON to another instance, which goes on failing at the same calls."""
    clock, other = Clock(), Clock()
    env, twin = flaky(0.5, clock), flaky(0.5, other)
    env.reset(seed=1)
    failures(env, 10)
    assert clock.asked > 0
    twin.set_state(json.loads(json.dumps(env.get_state())))
    assert other.asked == clock.asked
    assert failures(env) == failures(twin)
    env.reset()
    assert clock.asked == 0
    env.close()
    assert clock.closed


class Diary(Clock):
    """Notes the beginnings and ends of its episodes."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def reset(self, env: Env[Any, Any], info: Any) -> None:  # type: ignore[override]  # the form that knows the episode
        self.events.append(f"begins in {type(env.unwrapped).__name__}")

    def end_episode(self) -> None:
        self.events.append("ends")


def test_a_tool_behind_deliberate_faults_knows_its_episode() -> None:
    """The wrapper passes on resets and ends."""
    diary = Diary()
    env = ToolFailure(ToolEnvWrapper(Task(), [diary]), 0.0)
    env.reset(seed=1)
    assert env.step(CALL)[0] == "1 o'clock"
    env.close()
    assert diary.events == ["ends", "begins in Task", "ends"]


def test_spawned_environments_have_tools_and_failures_of_their_own() -> None:
    """The original's tools are not asked by the twin."""
    clock = Clock()
    env = flaky(0.0, clock)
    twin = env.spawn()
    twin.reset()
    failures(twin, 3)
    assert clock.asked == 0
    assert not clock.closed


def test_wrappers_in_between_do_no_harm() -> None:
    """The nearest tool wrapper inside is found by name and by class."""

    @tool
    def clock() -> str:
        """Tell the time."""
        return "noon"

    env = gem.wrapper("tool_failure", rate=1.0)(gem.wrapper("concat")(ToolEnvWrapper(Task(), [clock])))
    env.reset()
    assert env.step(CALL)[0].endswith("clock failed: TimeoutError: the tool did not answer in time\n")


def test_arguments_are_checked() -> None:
    """The messages say what is missing."""
    with pytest.raises(ArgumentError, match="apply a ToolEnvWrapper first"):
        ToolFailure(Task(), rate=0.5)
    for rate in (-0.1, 1.1, float("nan")):
        with pytest.raises(ArgumentError, match="rate"):
            flaky(rate)
    with pytest.raises(ArgumentTypeError, match="rate"):
        flaky("often")  # type: ignore[arg-type]
