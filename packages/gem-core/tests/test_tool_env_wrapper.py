"""Tools around an environment: dispatch, rewards, limits, state, and tools written for the original."""

from __future__ import annotations

import json
import logging
import pickle
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.core import Env, Info
from gem.errors import (
    ArgumentError,
    ArgumentTypeError,
    EpisodeFinishedError,
    NotSupportedError,
    ResetNeededError,
    StateError,
    ToolError,
)
from gem.migration_adapters import BaseTool
from gem.tools import Tool, ToolEnvWrapper, ToolResult, tool
from gem.tools.wrapper import LIMIT_REACHED

SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


class Recorder(Env[Any, Any]):
    """Remembers the actions it gets, and ends at ``"end"``."""

    def __init__(self, observation: Any = "task", label: str = "") -> None:
        self.observation, self.label = observation, label
        self.actions: list[Any] = []

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        super().reset(seed=seed)
        self.actions = []
        return self.observation, {"suffix": "S", "options": options}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        self.actions.append(action)
        return f"turn {len(self.actions)}", 0.5, action == "end", action == "cut", {"turn": len(self.actions)}

    def sample_random_action(self) -> str:
        return "sampled"

    def get_state(self) -> dict[str, Any]:
        return {"turns": len(self.actions)}

    def set_state(self, state: Mapping[str, Any]) -> None:
        self.actions = ["?"] * state["turns"]


class Counter(Tool):
    """Counts its own calls; ``bad`` in the text is an error."""

    parameters = SCHEMA
    reset_count = closed = 0

    def __init__(self, name: str = "count") -> None:
        self.name = self.tag = name
        self.calls = 0

    def execute(self, arguments: Mapping[str, Any]) -> ToolResult:
        self.calls += 1
        if "bad" in arguments["text"]:
            raise ValueError("bad text")
        return ToolResult(f"{self.name} {self.calls}")

    def reset(self) -> None:
        self.reset_count += 1
        self.calls = 0

    def get_state(self) -> dict[str, Any]:
        return {"calls": self.calls}

    def set_state(self, state: Mapping[str, Any]) -> None:
        calls = state["calls"]
        if not isinstance(calls, int):
            raise TypeError("calls must be an int")
        self.calls = calls

    def close(self) -> None:
        self.closed += 1


class Marked(BaseTool):
    """A tool as it was written for the original."""

    tool_type = "marked"

    def __init__(self, mark: str = "<m>") -> None:
        self.mark = mark  # without super().__init__(), as some do

    def instruction_string(self) -> str:
        return f"Write {self.mark}."

    def execute_action(self, action: str) -> tuple[bool, bool, str, str]:
        if self.mark not in action:
            return False, True, "", ""
        if "raise" in action:
            raise RuntimeError("it broke")
        end = action.index(self.mark) + len(self.mark)
        return True, "bad" in action, "marked!", action[:end]


@tool
def add(a: int, b: int) -> int:
    """Add two whole numbers."""
    return a + b


class Shop:
    def __init__(self) -> None:
        self.sold = 0

    def sell(self) -> int:
        self.sold += 1
        return self.sold

    def count(self) -> int:
        return self.sold


def wrapped(*tools: Any, **arguments: Any) -> ToolEnvWrapper:
    env = ToolEnvWrapper(Recorder(), list(tools), **arguments)
    env.reset(seed=1)
    return env


def block(name: str, **arguments: Any) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def message(*calls: tuple[str, Any], content: str | None = None) -> dict[str, Any]:
    native = [
        {"id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for index, (name, arguments) in enumerate(calls)
    ]
    return {"role": "assistant", "content": content, "tool_calls": native}


def seen(env: ToolEnvWrapper) -> list[Any]:
    """The actions that reached the environment."""
    actions: list[Any] = env.actions
    return actions


def test_a_call_is_answered_in_place_of_the_environment() -> None:
    """The answer is the observation, the episode goes on, and the environment notices nothing."""
    env = wrapped(Counter(), tool_reward=0.1, tool_success_reward=0.2)
    observation, reward, terminated, truncated, info = env.step("I call <count>x</count> now")
    assert (observation, terminated, truncated) == ("count 1", False, False)
    assert reward == pytest.approx(0.3)
    assert info == {
        "parsed_action": "I call <count>x</count>",
        "tool_name": "count",
        "tool_type": "count",
        "tool_error": False,
        "tool_results": [{"tool_call_id": None, "name": "count", "text": "count 1", "ok": True}],
        "tool_use_counter": 1,
        "tool_success_counter": 1,
        "use_tool": True,
    }
    assert seen(env) == []


def test_other_actions_go_on_to_the_environment() -> None:
    """With the environment's reward and info, and the counters on top."""
    env = wrapped(Counter())
    env.step("<count>x</count>")
    assert env.step("<count>x") == (
        "turn 1",
        0.5,
        False,
        False,
        {"turn": 1, "tool_use_counter": 1, "tool_success_counter": 1, "use_tool": False},
    )
    assert seen(env) == ["<count>x"]


@pytest.mark.parametrize(
    ("rewards", "ok", "failed", "nowhere"),
    [
        ({}, 0.0, 0.0, 0.0),
        ({"tool_reward": 0.5}, 0.5, 0.5, 0.0),
        ({"tool_success_reward": 0.25}, 0.25, 0.0, 0.0),
        ({"tool_reward": 0.5, "tool_success_reward": 0.25}, 0.75, 0.5, 0.0),
        ({"tool_execute_error_reward": -0.125}, 0.0, -0.125, -0.125),
    ],
)
def test_rewards_of_calls(rewards: dict[str, float], ok: float, failed: float, nowhere: float) -> None:
    """What a success, a failure and a call of nothing earn, as text and natively, and summed over a message."""
    env = wrapped(Counter(), max_tool_uses=None, **rewards)
    assert env.step("<count>x</count>")[1] == ok
    assert env.step("<count>bad</count>")[1] == failed
    assert env.step(block("nothing"))[1] == nowhere
    assert env.step("<tool_call>?</tool_call>")[1] == nowhere
    calls = [("count", {"text": "x"}), ("count", {"text": "bad"}), ("nothing", {}), ("count", {"text": "y"})]
    assert env.step(message(*calls))[1] == ok + failed + nowhere + ok


def test_the_last_use_says_so_and_further_calls_are_actions() -> None:
    """After ``max_tool_uses`` calls the environment gets whatever the agent writes."""
    env = wrapped(Counter(), max_tool_uses=2)
    assert env.step("<count>x</count>")[0] == "count 1"
    assert env.step("<count>bad</count>")[0] == "count failed: ValueError: bad text" + LIMIT_REACHED
    for action in ("<count>x</count>", block("nothing"), message(("count", {"text": "x"}))):
        assert env.step(action)[4]["use_tool"] is False
        assert seen(env)[-1] is action


def test_no_limit() -> None:
    """None allows any number of uses."""
    env = wrapped(Counter(), max_tool_uses=None)
    observations = [env.step("<count>x</count>")[0] for _ in range(30)]
    assert observations[-1] == "count 30"


def test_no_uses_are_not_announced() -> None:
    """With 0 uses the wrapper is as good as not there."""
    env = ToolEnvWrapper(Recorder(), [Counter()], max_tool_uses=0)
    assert env.reset()[0] == "task"
    assert env.step("<count>x</count>")[0] == "turn 1"


def test_reset_announces_the_tools_and_reports_the_episode_before() -> None:
    """The first observation ends with the instructions; info has the counters, new and previous."""
    env = ToolEnvWrapper(Recorder(), [Counter()])
    observation, _ = env.reset()
    assert observation == f"task\n{Counter().instruction_string()}"
    env.step("<count>x</count>")
    env.step("<count>bad</count>")
    assert env.reset()[1] == {
        "suffix": "S",
        "options": None,
        "tool_use_counter": 0,
        "tool_success_counter": 0,
        "prev_ep_tool_use_counter": 2,
        "prev_ep_tool_success_counter": 1,
        "use_tool": False,
    }
    assert env.reset(options={"level": 3})[1]["options"] == {"level": 3}
    assert env.tools[0].reset_count == 3  # type: ignore[attr-defined]


def test_several_tools_get_a_heading() -> None:
    """Each tool's instructions follow, in order."""
    env = ToolEnvWrapper(Recorder(), [Counter("one"), Counter("two")])
    heading = "You can use these tools:"
    instructions = [env.tools[0].instruction_string(), env.tools[1].instruction_string()]
    assert env.reset()[0] == "\n".join(["task", heading, *instructions])


def test_instructions_can_be_left_out() -> None:
    """Where a chat API gets the schemas, the text need not repeat them."""
    env = ToolEnvWrapper(Recorder(), [add], instructions=False)
    assert env.reset()[0] == "task"
    assert env.tool_schemas == [add.to_openai()]


def test_observations_of_parts_stay_parts() -> None:
    """Instructions and the notice become text parts, and the environment's own list is left alone."""
    picture = {"type": "image_url", "image_url": {"url": "data:,"}}

    def draw() -> ToolResult:
        """Draw."""
        return ToolResult("a picture", content=(picture,))

    env = ToolEnvWrapper(Recorder([picture]), [draw], max_tool_uses=1)
    observation, _ = env.reset()
    assert observation[0] == picture
    assert observation[1]["text"].startswith("\ndraw: Draw.")
    assert env.observation == [picture]
    observation, *_, info = env.step(block("draw"))
    assert observation == [{"type": "text", "text": "a picture"}, picture, {"type": "text", "text": LIMIT_REACHED}]
    assert info["tool_results"][0]["content"] == [picture]


def test_other_observations_are_refused() -> None:
    """Instructions that cannot be shown are an error, not a silence."""
    with pytest.raises(NotSupportedError, match="got dict"):
        ToolEnvWrapper(Recorder({"agent": "task"}), [Counter()]).reset()


def test_the_first_tool_that_parses_wins() -> None:
    """Order in the list decides, not order in the text."""
    text = "<two>x</two> <one>x</one>"
    assert wrapped(Counter("one"), Counter("two")).step(text)[4]["tool_name"] == "one"
    assert wrapped(Counter("two"), Counter("one")).step(text)[4]["tool_name"] == "two"


@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")])
def test_a_failed_call_is_reported_in_any_order_of_tools(order: tuple[str, str]) -> None:
    """The error is not lost when another tool does not parse, and the action never reaches the task."""
    env = wrapped(*map(Counter, order))
    observation, _, terminated, truncated, info = env.step("<one>bad</one>")
    assert observation == "one failed: ValueError: bad text"
    assert (terminated, truncated, info["tool_error"], info["tool_name"]) == (False, False, True, "one")
    assert seen(env) == []


def test_a_call_of_an_unknown_tool_is_answered_with_those_that_exist() -> None:
    """The nearest name is offered; it counts as a use, so an episode cannot go on like this for ever."""
    env = wrapped(add, Counter())
    observation, *_, info = env.step(block("addd", a=1, b=2) + " and so on")
    assert observation == "There is no tool called 'addd'. Did you mean 'add'? The tools are: add, count."
    assert info["parsed_action"] == block("addd", a=1, b=2)
    assert (info["tool_error"], info["tool_use_counter"], info["tool_success_counter"]) == (True, 1, 0)
    assert "tool_name" not in info
    assert seen(env) == []


def test_a_malformed_block_is_answered() -> None:
    """The agent learns what is wrong with its JSON."""
    env = wrapped(add)
    observation, *_, info = env.step("<tool_call>{'name': 'add'}</tool_call>")
    assert "invalid JSON" in observation
    assert "The tools are: add." in observation
    assert info["tool_results"][0]["name"] is None
    assert seen(env) == []


def test_a_name_in_json_escapes_is_understood() -> None:
    """The quick look for the name does not decide."""
    assert wrapped(add).step('<tool_call>{"name": "\\u0061dd", "arguments": {"a": 1, "b": 2}}</tool_call>')[0] == "3"


def test_bad_arguments_are_reported() -> None:
    """With the library's message."""
    observation, *_, info = wrapped(add).step(block("add", a="x"))
    assert "a: Input should be a valid integer" in observation
    assert info["tool_error"] is True


def test_native_calls_are_all_carried_out_in_order() -> None:
    """The observation has all results, and info tells them apart by id."""
    env = wrapped(add, Counter())
    calls = [
        ("count", {"text": "x"}),
        ("add", {"a": 1, "b": 2}),
        ("nope", {}),
        ("add", {"a": 1}),
        ("count", {"text": ""}),
    ]
    observation, *_, info = env.step(message(*calls))
    assert observation.startswith("Result of count:\ncount 1\n\nResult of add:\n3\n\nResult of the call of 'nope':\n")
    assert observation.endswith("\n\nResult of count:\ncount 2")
    assert [result["tool_call_id"] for result in info["tool_results"]] == [f"call_{index}" for index in range(5)]
    assert [result["name"] for result in info["tool_results"]] == ["count", "add", "nope", "add", "count"]
    assert [result["ok"] for result in info["tool_results"]] == [True, True, False, False, True]
    assert info["tool_results"][1]["data"] == 3
    assert (info["tool_use_counter"], info["tool_success_counter"], info["tool_error"]) == (5, 3, True)
    assert "parsed_action" not in info


def test_a_single_native_result_has_no_heading() -> None:
    """The observation is the result alone."""
    assert wrapped(add).step(message(("add", {"a": 1, "b": 2})))[0] == "3"


def test_native_calls_beyond_the_limit_are_answered_but_not_carried_out() -> None:
    """Every id gets its answer; only carried-out calls count and earn."""
    env = wrapped(Counter(), max_tool_uses=2, tool_success_reward=1.0)
    observation, reward, *_, info = env.step(message(*[("count", {"text": "x"})] * 3))
    assert observation.endswith(LIMIT_REACHED)
    assert [result["ok"] for result in info["tool_results"]] == [True, True, False]
    assert "not carried out" in info["tool_results"][2]["text"]
    assert (reward, info["tool_use_counter"], env.tools[0].calls) == (2.0, 2, 2)  # type: ignore[attr-defined]


def test_the_content_of_a_message_is_read_where_it_has_no_native_calls() -> None:
    """Text calls work in messages, too."""
    env = wrapped(Counter())
    assert env.step({"role": "assistant", "content": "<count>x</count>", "tool_calls": []})[0] == "count 1"
    assert env.step({"role": "assistant", "content": [{"type": "text", "text": "<count>x</count>"}]})[0] == "count 2"


def test_without_tools_everything_goes_on() -> None:
    """An environment that handles native calls itself gets them."""
    env = wrapped()
    action = message(("add", {}))
    env.step(action)
    assert seen(env) == [action]


def test_text_only_tools_leave_blocks_alone() -> None:
    """Where no tool can be called by name, ``<tool_call>`` means nothing to the wrapper."""
    env = wrapped(Marked())
    env.step(block("add"))
    assert seen(env) == [block("add")]


def test_calls_need_an_episode() -> None:
    """Before the first reset and after the end no tool is called either."""
    env = ToolEnvWrapper(Recorder(), [Counter()])
    with pytest.raises(ResetNeededError, match="reset"):
        env.step("<count>x</count>")
    for last in ("end", "cut"):
        env.reset()
        env.step(last)
        with pytest.raises(EpisodeFinishedError, match="reset"):
            env.step("<count>x</count>")
    assert env.tools[0].calls == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "action", [None, b"<count>x</count>", 3, 1.5, [], {}, {"content": None}, object(), {"tool_calls": 3}]
)
def test_what_is_no_call_is_left_to_the_environment(action: object) -> None:
    """Whatever a careless caller passes arrives as it is."""
    env = wrapped(Counter(), add)
    env.step(action)
    assert seen(env) == [action]


@given(
    st.recursive(
        st.none()
        | st.integers()
        | st.binary()
        | st.text()
        | st.sampled_from(["add", "\ud800", "<tool_call>", block("add", a=1)]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["content", "tool_calls", "function", "name", "arguments", "id", "type", "text"]),
                inner,
                max_size=5,
            )
        ),
        max_leaves=12,
    )
)
def test_no_action_raises(action: Any) -> None:
    """Whatever arrives, the step returns five things, and its info can be written as JSON."""
    env = wrapped(add, Counter(), Marked())
    observation, reward, terminated, truncated, info = env.step(action)
    assert isinstance(observation, str)
    assert isinstance(reward, float)
    assert (terminated, truncated) == (action == "end", action == "cut")
    json.dumps(info, allow_nan=False)


@pytest.mark.parametrize("depth", [60, 70, 300, 480, 900, 5000, 100_000])
def test_deep_json_does_no_harm(depth: int) -> None:
    """Neither in arguments nor in what a tool reads out of a text, at whatever depth a library gives up."""
    deep = "[" * depth + "]" * depth
    env = wrapped(tool(lambda value: value, name="same"), tool(lambda text: json.loads(text), name="load"))
    calls = [
        f'{{"name": "same", "arguments": {{"value": {deep}}}}}',
        json.dumps({"name": "load", "arguments": {"text": deep}}),
    ]
    for call in calls:
        observation, *_, info = env.step(f"<tool_call>{call}</tool_call>")
        assert isinstance(observation, str)
        json.dumps(info)


def test_info_belongs_to_the_caller() -> None:
    """What a step returned is not changed by what comes after, nor does changing it change anything."""
    result = ToolResult("items", content=({"type": "text", "text": "x"},), data={"items": [1]})
    env = wrapped(tool(lambda: result, name="items"))
    info = env.step(block("items"))[4]
    info["tool_results"][0]["data"]["items"].append(2)
    info["tool_results"][0]["content"][0]["text"] = "y"
    before = json.dumps(info)
    again = env.step(block("items"))[4]["tool_results"][0]
    assert (again["data"], again["content"]) == ({"items": [1]}, [{"type": "text", "text": "x"}])
    assert json.dumps(info) == before


def test_state_continues_counters_limits_and_tools() -> None:
    """After a trip through JSON another instance goes on as if it were the first."""
    env, other = (ToolEnvWrapper(Recorder(), [Counter(), add], max_tool_uses=3) for _ in range(2))
    env.reset(seed=1)
    env.step("<count>x</count>")
    env.step("<count>bad</count>")
    other.set_state(json.loads(json.dumps(env.get_state())))
    for action in ("<count>x</count>", "<count>x</count>", "end"):
        assert other.step(action) == env.step(action)
    assert other.get_state() == env.get_state()
    with pytest.raises(EpisodeFinishedError):
        other.step("x")
    assert other.reset()[1] == env.reset()[1]


@pytest.mark.parametrize(
    "change",
    [
        {"phase": 3},
        {"phase": None},
        {"tool_use_counter": -1},
        {"tool_use_counter": 4},
        {"tool_success_counter": 3},
        {"tools": []},
        {"tools": [{"calls": "x"}, {}]},
        {"tools": [{"calls": 7}, None, None]},
        {"tools": None},
    ],
)
def test_a_wrong_state_changes_nothing(change: dict[str, Any]) -> None:
    """Neither the environment nor the counters nor any tool."""
    env = ToolEnvWrapper(Recorder(), [Counter(), add], max_tool_uses=3)
    env.reset()
    env.step("<count>x</count>")
    env.step("x")
    before = env.get_state()
    with pytest.raises(StateError):
        env.set_state({"env": {"turns": 9}, "wrapper": {**before["wrapper"], "tool_use_counter": 2, **change}})
    assert env.get_state() == before


def test_spawn_has_tools_of_its_own() -> None:
    """The twin's calls, resets and close do not touch the tools of the first."""
    env = wrapped(Counter())
    env.step("<count>x</count>")
    twin = env.spawn(label="twin")
    assert (twin.label, twin.tools[0] is env.tools[0]) == ("twin", False)
    twin.reset()
    assert twin.step("<count>x</count>")[0] == "count 1"
    twin.close()
    assert env.step("<count>x</count>")[0] == "count 2"
    assert env.tools[0].closed == 0  # type: ignore[attr-defined]


def test_spawn_with_the_same_state_goes_on_independently() -> None:
    """Both are at the same point, and then go their own ways."""
    env = wrapped(Counter())
    env.step("<count>x</count>")
    twin = env.spawn(same_state=True)
    assert twin.get_state() == env.get_state()
    assert twin.step("<count>x</count>") == env.step("<count>x</count>")


def test_spawn_copies_the_object_behind_methods_once() -> None:
    """Two methods of one object go on being two methods of one object."""
    shop = Shop()
    twin = wrapped(shop.sell, shop.count).spawn()
    twin.reset()
    twin.step(block("sell"))
    assert twin.step(block("count"))[0] == "1"
    assert shop.sold == 0


def test_classes_and_partials_make_a_tool_for_each_wrapper() -> None:
    """So one list of tools serves many environments without sharing."""
    recipes: list[Any] = [Counter, partial(Counter, "second"), add]
    one, two = (ToolEnvWrapper(Recorder(), recipes) for _ in range(2))
    assert [made.name for made in one.tools] == ["count", "second", "add"]
    assert one.tools[0] is not two.tools[0]
    assert one.tools[2] is two.tools[2]
    assert one.spawn().tools[0] is not one.tools[0]


def test_lists_in_the_list_are_opened() -> None:
    """A server's tools can be given as the list that they are."""
    assert [made.name for made in wrapped(add, [Counter("a"), Counter("b")]).tools] == ["add", "a", "b"]


def test_a_wrapped_environment_can_be_pickled_in_mid_episode() -> None:
    """Process workers need that."""
    env = wrapped(add, Counter())
    env.step("<count>x</count>")
    again = pickle.loads(pickle.dumps(env))
    assert again.step("<count>x</count>") == env.step("<count>x</count>")


def test_close_closes_the_tools_even_if_the_environment_fails() -> None:
    """And may be called twice."""

    class Stubborn(Recorder):
        def close(self) -> None:
            raise RuntimeError("no")

    counter = Counter()
    with pytest.raises(RuntimeError, match="no"):
        ToolEnvWrapper(Stubborn(), [counter]).close()
    assert counter.closed == 1


def test_random_actions_are_those_of_the_environment() -> None:
    """The wrapper forwards what it does not change."""
    assert wrapped(add).sample_random_action() == "sampled"


def test_verbose_logs_the_answer(caplog: pytest.LogCaptureFixture) -> None:
    """The original's argument works; nothing is printed."""
    env = wrapped(add)
    with caplog.at_level(logging.INFO, logger="gem.tools"):
        env.step(block("add", a=1, b=2), verbose=True)
        env.step("x", verbose=True)
    assert [record.message for record in caplog.records] == ["3"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"tools": None}, ArgumentTypeError),
        ({"tools": add}, ArgumentTypeError),
        ({"tools": "add"}, ArgumentTypeError),
        ({"tools": {"add": add}}, ArgumentTypeError),
        ({"tools": (item for item in [add])}, ArgumentTypeError),
        ({"tools": [3]}, ArgumentTypeError),
        ({"tools": ["add"]}, ArgumentTypeError),
        ({"tools": [int]}, ArgumentTypeError),
        ({"tools": [[[add]]]}, ArgumentTypeError),
        ({"tools": [add, add]}, ToolError),
        ({"tools": [Tool]}, ToolError),
        ({"tools": [lambda: 1]}, ToolError),
        ({"tools": [add], "max_tool_uses": -1}, ArgumentError),
        ({"tools": [add], "max_tool_uses": 1.5}, ArgumentTypeError),
        ({"tools": [add], "max_tool_uses": True}, ArgumentTypeError),
        ({"tools": [add], "tool_reward": "x"}, ArgumentTypeError),
        ({"tools": [add], "tool_success_reward": float("inf")}, ArgumentError),
        ({"tools": [add], "tool_execute_error_reward": 0.1}, ArgumentError),
        ({"tools": [add], "tool_execute_error_reward": -0.1, "tool_reward": 0.1}, ArgumentError),
        ({"tools": [add], "tool_execute_error_reward": -0.1, "tool_success_reward": 0.1}, ArgumentError),
        ({"tools": [add], "instructions": 1}, ArgumentTypeError),
        ({"tools": [add], "max_tool_use": 3}, ArgumentTypeError),
    ],
)
def test_bad_arguments_of_the_wrapper_are_refused(arguments: dict[str, Any], error: type[Exception]) -> None:
    """With an error of GEM's own."""
    with pytest.raises(error):
        ToolEnvWrapper(Recorder(), **arguments)


class TestToolsOfTheOriginal:
    """Subclasses of ``gem.tools.base_tool.BaseTool``."""

    def test_old_paths_lead_here(self) -> None:
        """Code written for the original imports the same classes."""
        from gem.tools.base_tool import BaseTool as OldBaseTool  # type: ignore[import-not-found]
        from gem.tools.tool_env_wrapper import ToolEnvWrapper as OldWrapper  # type: ignore[import-not-found]

        assert OldBaseTool is BaseTool
        assert OldWrapper is ToolEnvWrapper

    def test_it_works_unchanged(self) -> None:
        """Instructions, results, errors and the acted-on text come from the subclass."""
        env = ToolEnvWrapper(Recorder(), [Marked()], tool_reward=0.5, tool_success_reward=0.25)
        assert env.reset()[0] == "task\nWrite <m>."
        observation, reward, *_, info = env.step("so <m> it is")
        assert (observation, reward, info["parsed_action"], info["tool_type"]) == ("marked!", 0.75, "so <m>", "marked")
        observation, reward, *_, info = env.step("<m> bad")
        assert (observation, reward, info["tool_error"]) == ("marked!", 0.5, True)
        assert env.step("nothing")[0] == "turn 1"

    def test_what_it_raises_is_a_failed_call(self) -> None:
        """The exception does not escape, and the action does not reach the task."""
        env = wrapped(Marked())
        observation, *_, info = env.step("raise <m>")
        assert observation == "marked failed: RuntimeError: it broke"
        assert info["tool_error"] is True
        assert seen(env) == []

    @pytest.mark.parametrize("answer", [None, (True, False), (True, False, None, "x"), 3])
    def test_a_malformed_answer_is_a_failed_call(self, answer: Any) -> None:
        """A tool that breaks the protocol is reported."""

        class Malformed(Marked):
            def execute_action(self, action: str) -> Any:
                return answer

        assert wrapped(Malformed()).step("x")[4]["tool_error"] is True

    def test_not_a_call_may_come_with_anything(self) -> None:
        """Only the first member counts then."""

        class Careless(Marked):
            def execute_action(self, action: str) -> Any:
                return False, None, None, None

        assert wrapped(Careless()).step("x")[0] == "turn 1"

    def test_several_of_one_type_are_fine(self) -> None:
        """Names matter only where tools are called by name; the default type occurs often."""

        class Second(Marked):
            def __init__(self) -> None:
                super().__init__("<n>")
                self.name = "mine"

        env = wrapped(Marked(), Marked("<k>"), Second(), add)
        assert [env.step(text)[4]["tool_name"] for text in ("<k>", "<n>", block("add", a=1, b=1))] == [
            "marked",
            "mine",
            "add",
        ]

    def test_the_base_class_says_what_is_missing(self) -> None:
        """An unfinished tool fails by name when the episode begins."""
        with pytest.raises(NotImplementedError, match="instruction_string"):
            ToolEnvWrapper(Recorder(), [BaseTool(num_workers=2)]).reset()
