"""Recording an episode turn by turn."""

from __future__ import annotations

import copy
import json
import pickle
import random
from collections.abc import Callable, Mapping
from copy import deepcopy
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gem
from gem.core import Env, Wrapper
from gem.policies import Act
from gem.wrappers import apply_wrappers
from gem_rollout.trajectory import (
    Failure,
    Trajectory,
    TrajectoryBuilder,
    TrajectoryWriter,
    Transition,
    read_trajectories,
)


class ChatTokenizer:
    """A chat template whose prompts extend each other, unless ``forgetful``, when earlier reasoning is dropped."""

    def __init__(self, forgetful: bool) -> None:
        self.forgetful = forgetful

    def apply_chat_template(self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool) -> str:
        texts = [f"<|{message['role']}|>{self._content(message)}" for message in conversation]
        return "\n".join(texts) + "\n<|assistant|>" + "<think>" * self.forgetful

    def _content(self, message: Mapping[str, Any]) -> str:
        text = str(message["content"])
        return text.rpartition("</think>")[2] if self.forgetful and message["role"] == "assistant" else text


class Scripted(Env[Any, Any]):
    """Returns the given results one after the other; the last one ends the episode."""

    def __init__(self, results: list[tuple[Any, dict[str, Any]]]) -> None:
        self.results = results
        self._next = 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._next = 1
        return self.results[0]

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, info = self.results[self._next]
        self._next += 1
        return observation, 0.25, False, self._next == len(self.results), info


class Separately(Wrapper[Any, Any]):
    """Sends results through JSON, so that no two share an object; as from another process."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        result: tuple[Any, dict[str, Any]] = tuple(json.loads(json.dumps(self.env.reset(seed=seed))))
        return result

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        result: tuple[Any, float, bool, bool, dict[str, Any]] = tuple(json.loads(json.dumps(self.env.step(action))))
        return result


WRAPPERS: dict[str, Callable[[Env[Any, Any]], Env[Any, Any]]] = {
    "none": lambda env: env,
    "concat": gem.wrapper("concat"),
    "concat, 2 turns": gem.wrapper("concat", max_history_length=2),
    "concat_with_action": gem.wrapper("concat_with_action"),
    "concat_with_action, 2 turns": gem.wrapper("concat_with_action", max_history_length=2),
    "concat_chat": gem.wrapper("concat_chat", tokenizer=ChatTokenizer(False)),
    "concat_chat, forgetful": gem.wrapper("concat_chat", tokenizer=ChatTokenizer(True)),
    "concat_chat_on_reset": gem.wrapper("concat_chat_on_reset", tokenizer=ChatTokenizer(False)),
    "messages": gem.wrapper("messages"),
    "sliding_window, text": gem.wrapper("sliding_window", turns=2),
    "sliding_window, messages": gem.wrapper("sliding_window", turns=2, form="messages"),
    "token_budget, text": gem.wrapper("token_budget", max_tokens=200),
    "token_budget, messages": gem.wrapper("token_budget", max_tokens=200, form="messages"),
    "summarize, text": gem.wrapper("summarize", summarizer=lambda m: f"{len(m)} messages", after_turns=3, keep_turns=2),
    "summarize, messages": gem.wrapper(
        "summarize", summarizer=lambda m: f"{len(m)} messages", after_turns=3, keep_turns=2, form="messages"
    ),
}

texts = st.text(max_size=9).map(lambda text: text * 20) | st.sampled_from(["", "ok\n", "wrong. " * 30, "lone \ud800"])
pictures = st.sampled_from(["data:image/png;base64," + "A" * 99, "https://example.org/a.png"]).map(
    lambda url: {"type": "image_url", "image_url": {"url": url}}
)
contents = texts | st.lists(texts.map(lambda text: {"type": "text", "text": text}) | pictures, min_size=1, max_size=3)
infos = st.fixed_dictionaries({}, optional={"suffix": texts, "prefix": texts, "score": st.integers(0, 9)})
calls = texts.map(
    lambda text: {"id": "1", "type": "function", "function": {"name": "run", "arguments": json.dumps({"code": text})}}
)
actions = (
    texts
    | texts.map(lambda text: f"<think>{text}</think>{text}")
    | st.builds(
        lambda content, called: {"role": "assistant", "content": content, "tool_calls": called},
        contents,
        st.lists(calls, max_size=2),
    )
)


def played(env: Env[Any, Any], script: list[Any]) -> tuple[TrajectoryBuilder, list[Any]]:
    """Record an episode; return its builder and what the environment returned, copied at once."""
    builder = TrajectoryBuilder(None, 3)
    observation, info = env.reset(seed=3)
    builder.begin(observation, info)
    seen = [deepcopy(observation)]
    for action in script:
        observation, reward, terminated, truncated, info = env.step(action)
        builder.add(action, observation, reward, terminated, truncated, info)
        seen.append(deepcopy(observation))
    return builder, seen


def shown(trajectory: Trajectory) -> list[Any]:
    """Return all observations of an episode."""
    return [*(turn.observation for turn in trajectory.transitions), trajectory.final_observation]


def through_file(trajectory: Trajectory, folder: Path) -> Trajectory:
    """Write and read an episode."""
    path = folder / "episode.jsonl"
    path.unlink(missing_ok=True)
    with TrajectoryWriter(path) as writer:
        writer.write(trajectory)
    (read,) = read_trajectories(path, strict=True)
    return read


@settings(deadline=None)
@given(
    st.lists(st.tuples(contents, infos), min_size=2, max_size=8),
    st.lists(actions, min_size=7, max_size=7),
    st.sampled_from(sorted(WRAPPERS)),
    st.booleans(),
)
def test_every_observation_is_read_back_as_the_agent_saw_it(
    tmp_path_factory: pytest.TempPathFactory,
    results: list[tuple[Any, dict[str, Any]]],
    script: list[Any],
    wrapper: str,
    separately: bool,
) -> None:
    """Under every history wrapper, while the episode runs, after it, and from its file."""
    env = apply_wrappers(Scripted(deepcopy(results)), WRAPPERS[wrapper])
    if separately:
        env = Separately(env)
    builder, seen = played(env, script[: len(results) - 1])
    assert shown(builder.trajectory) == seen
    trajectory = builder.finish()
    assert shown(trajectory) == seen
    assert [turn.action for turn in trajectory.transitions] == script[: len(results) - 1]
    read = through_file(trajectory, tmp_path_factory.mktemp("files"))
    assert shown(read) == seen
    assert read == trajectory
    assert (read.reset_info, read.stop_reason, read.failure) == (results[0][1], "truncated", None)
    again = through_file(read, tmp_path_factory.mktemp("files"))
    assert again.to_json() == read.to_json() == trajectory.to_json()
    assert Trajectory.from_dict(json.loads(json.dumps(trajectory.to_dict(whole=True)))) == trajectory


def long_episode(wrapper: str, turns: int) -> Trajectory:
    """Record turns of 2 kB each under a wrapper."""
    rng = random.Random(5)
    script = [f"<think>{rng.randbytes(950).hex()}</think>\\boxed{{{turn}}}" for turn in range(turns)]
    results: list[tuple[Any, dict[str, Any]]] = [(f"Turn {turn}: try again.", {}) for turn in range(turns + 1)]
    env = apply_wrappers(Scripted(results), WRAPPERS[wrapper])
    builder, seen = played(env, script)
    trajectory = builder.finish()
    assert shown(trajectory) == seen
    return trajectory


@pytest.mark.parametrize("wrapper", sorted(WRAPPERS))
def test_an_episode_grows_with_what_each_turn_adds(wrapper: str) -> None:
    """Under every history wrapper, four times as many turns take four times the bytes, not sixteen times."""
    short, long = (len(long_episode(wrapper, turns).to_json()) for turns in (10, 40))
    assert long < 4.2 * short
    assert long < 1.2 * 40 * 2000


def test_a_running_episode_keeps_one_observation_in_memory() -> None:
    """The builder pickles to little more than its edits and the latest observation."""
    trajectory = long_episode("concat_with_action", 40)
    assert len(pickle.dumps(trajectory)) < 40 * 2000 + 2 * 80_000
    assert shown(pickle.loads(pickle.dumps(trajectory))) == shown(trajectory)
    assert deepcopy(trajectory) == trajectory


def test_numpy_values_become_json_values() -> None:
    """Environments return them without meaning to."""
    builder = TrajectoryBuilder()
    builder.begin("look", {"board": np.eye(2), "seed": np.int64(3), 7: (1, 2)})
    info = {"score": np.float32(0.5), "done": np.bool_(True), "nested": [np.arange(2)], "name": np.str_("a")}
    builder.add("go", "seen", np.float32(0.25), np.bool_(False), np.bool_(True), info)
    trajectory = builder.finish()
    assert trajectory.failure is None
    assert trajectory.reset_info == {"board": [[1.0, 0.0], [0.0, 1.0]], "seed": 3, "7": [1, 2]}
    (turn,) = trajectory.transitions
    assert (turn.reward, turn.terminated, turn.truncated) == (0.25, False, True)
    assert turn.info == {"score": 0.5, "done": True, "nested": [[0, 1]], "name": "a"}
    assert Trajectory.from_dict(json.loads(trajectory.to_json())) == trajectory


circular: dict[str, Any] = {}
circular["again"] = circular
deep: Any = 0
for _ in range(5000):
    deep = [deep]


class Hostile(Mapping[str, Any]):
    """A mapping that cannot be read."""

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("no")

    def __iter__(self) -> Any:
        raise RuntimeError("no")

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reward": float("nan")}, "the reward is nan"),
        ({"reward": float("-inf")}, "the reward is -inf"),
        ({"reward": "1.0"}, "the reward is of type str, not a number"),
        ({"reward": None}, "the reward is of type NoneType, not a number"),
        ({"reward": Decimal(1)}, "the reward is of type Decimal"),
        ({"reward": 10**400}, "the reward is too large for a float"),
        ({"reward": np.ones(2)}, "the reward is of type ndarray, not a number"),
        ({"info": None}, "info is of type NoneType, not a dict"),
        ({"info": {"a": {1, 2}}}, r"info['a'] is of type set, which JSON cannot hold"),
        ({"info": {"a": [0, {"b": float("nan")}]}}, r"info['a'][1]['b'] is nan, which JSON cannot hold"),
        ({"info": {"a": b"bytes"}}, "info['a'] is of type bytes"),
        ({"info": {(1, 2): 3}}, "under a key of type tuple"),
        ({"info": circular}, "nested more than 300 levels deep, or contains itself"),
        ({"info": {"a": deep}}, "nested more than 300 levels deep, or contains itself"),
        ({"info": Hostile()}, "info cannot be read: RuntimeError: no"),
        ({"observation": object()}, "the observation is of type object"),
        ({"observation": [{"role": "user", "content": object()}]}, "the observation[0]['content'] is of type object"),
        ({"terminated": np.ones(2)}, "terminated is no boolean"),
    ],
)
def test_a_result_that_cannot_be_recorded_is_a_failure_of_the_environment(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    """The builder raises nothing; the turn stays with its action, and what came before it."""
    builder = TrajectoryBuilder(None, 1)
    builder.begin("first", {})
    result = {"observation": "second", "reward": 0.5, "terminated": False, "truncated": False, "info": {}}
    builder.add("one", **result)
    builder.add("two", **result | change)
    builder.add("three", **result)
    trajectory = builder.finish("turns")
    assert trajectory.failure is not None
    assert message in trajectory.failure.message
    assert (trajectory.failure.source, trajectory.failure.kind, trajectory.failure.turn) == (
        "environment",
        "invalid_result",
        1,
    )
    assert trajectory.error == trajectory.failure.message
    assert trajectory.stop_reason is None
    assert [turn.action for turn in trajectory.transitions] == ["one", "two"]
    assert trajectory.transitions[-1].info == {"error": trajectory.failure.message}
    assert shown(trajectory) == ["first", "second", "second"]
    assert through_file(trajectory, tmp_path) == trajectory


@pytest.mark.parametrize(
    "act",
    [
        {"role": "assistant", "content": object()},
        Act("a", token_ids=object()),
        Act("a", logprobs=["?"]),
        Act("a", top_logprobs=[[3]]),
        Act("a", prompt_token_ids=["a"]),
        Act("a", metadata={"a": {1}}),
        Act(float("nan")),
    ],
)
def test_an_action_that_cannot_be_recorded_is_a_failure_of_the_agent(act: Any) -> None:
    """The environment is not to blame for it."""
    builder = TrajectoryBuilder()
    builder.begin("first", {})
    builder.add(act, "second", 0.0, False, False, {})
    trajectory = builder.finish()
    assert trajectory.failure is not None
    assert (trajectory.failure.source, trajectory.failure.kind, trajectory.failure.turn) == (
        "agent",
        "invalid_result",
        0,
    )
    assert Trajectory.from_dict(json.loads(trajectory.to_json())) == trajectory


def test_a_reset_that_cannot_be_recorded_is_a_failure() -> None:
    """Also before the first turn."""
    builder = TrajectoryBuilder(None, 1)
    builder.begin(object(), {})
    assert builder.over
    trajectory = builder.finish()
    assert trajectory.failure == Failure(
        "environment", "invalid_result", "the observation is of type object, which JSON cannot hold", 0
    )
    assert Trajectory.from_dict(json.loads(trajectory.to_json())) == trajectory


def test_everything_of_an_act_is_recorded(tmp_path: Path) -> None:
    """Log-probabilities that JSON has no numbers for survive as well."""
    inf = float("inf")
    builder = TrajectoryBuilder(None, 2, repetition=3, label="mine", agent="model", metadata={"run": 1})
    builder.begin("look", {})
    act = Act(
        "go",
        prompt_token_ids=[1, 2],
        token_ids=[3, 4],
        logprobs=[-0.5, -inf],
        tokens=["g", "o\ud800"],
        top_logprobs=[[("g", -0.5), ("h", -inf)], []],
        usage={"prompt_tokens": 2},
        finish_reason="stop",
        reasoning="because",
        model="m",
        metadata={"request": "r"},
    )
    builder.add(act, "x", 1, True, False, {}, tool_calls=[{"name": "t"}], act_seconds=0.5, step_seconds=0.25, version=7)
    trajectory = builder.finish(seconds=2.0)
    (turn,) = trajectory.transitions
    assert {name: getattr(turn, name) for name in Act.__slots__ if name != "version"} == {
        name: getattr(act, name) for name in Act.__slots__ if name != "version"
    }
    assert (turn.version, turn.tool_calls, turn.act_seconds, turn.step_seconds) == (7, [{"name": "t"}], 0.5, 0.25)
    read = through_file(trajectory, tmp_path)
    assert read == trajectory
    assert read.key == ("mine", 2, 3)
    assert (read.agent, read.metadata, read.seconds, read.stop_reason) == (
        "model",
        {"run": 1, "label": "mine"},
        2.0,
        "terminated",
    )
    turn.logprobs = [float("nan"), inf, None]  # type: ignore[list-item]  # as servers give them
    probabilities = through_file(trajectory, tmp_path).transitions[0].logprobs
    assert str(probabilities) == "[nan, inf, None]"
    assert '"logprobs":["NaN","Infinity",null]' in trajectory.to_json()


def test_a_prompt_that_continues_is_kept_as_its_new_ids(tmp_path: Path) -> None:
    """The record proves that no prompt was tokenized anew, and says where one was."""
    builder = TrajectoryBuilder()
    builder.begin("look", {})
    prompts = [[1, 2, 3], [1, 2, 3, 10, 11, 4], [1, 2, 3, 10, 11, 4, 12], [9, 9], None, [1]]
    for prompt, sampled in zip(prompts, ([10, 11], [12], [13], [14], None, [15]), strict=True):
        builder.add(Act("go", prompt_token_ids=prompt, token_ids=sampled), "x", 0.0, False, False, {})
    trajectory = builder.finish("turns")
    for episode in (trajectory, through_file(trajectory, tmp_path)):
        assert [turn.prompt_token_ids for turn in episode.transitions] == prompts
        assert episode.prompt_continuations() == [None, True, True, False, None, None]
    turns = trajectory.to_dict()["transitions"]
    assert turns[1]["prompt_token_ids_edit"] == {"list": [[0, 3], ["action", 0, 2], {"items": [4]}]}
    assert turns[2]["prompt_token_ids_edit"] == {"list": [[0, 6], ["action", 0, 1]]}


def test_what_is_changed_by_hand_is_written_as_it_is_now(tmp_path: Path) -> None:
    """A record can be corrected: actions, observations, and the list of turns."""
    for change in (
        lambda t: setattr(t.transitions[1], "action", "other"),
        lambda t: setattr(t.transitions[2], "observation", "other"),
        lambda t: setattr(t, "final_observation", "other"),
        lambda t: t.transitions.pop(1),
        lambda t: t.transitions.pop(),
        lambda t: t.transitions.reverse(),
        lambda t: t.transitions.append(Transition("a", "b", 1.0, True, False)),
        lambda t: setattr(t.transitions[0], "prompt_token_ids", [1, 2]),
        lambda t: setattr(t.transitions[0], "token_ids", [1, 2]),
    ):
        trajectory = long_episode("concat_with_action", 4)
        change(trajectory)
        assert through_file(trajectory, tmp_path) == trajectory


def test_a_failure_keeps_the_action_that_the_environment_failed_at() -> None:
    """Only the first failure counts."""
    builder = TrajectoryBuilder()
    builder.begin("look", {})
    builder.fail("environment", "timeout", "took too long", action=Act("go", token_ids=[1]), step_seconds=9.0)
    builder.fail("agent", "exception", "later")
    trajectory = builder.finish()
    assert trajectory.failure == Failure("environment", "timeout", "took too long", 0)
    assert trajectory.transitions == [
        Transition("look", "go", 0.0, False, True, {"error": "took too long"}, token_ids=[1], step_seconds=9.0)
    ]
    assert trajectory.final_observation == "look"


def test_the_record_can_be_read_while_it_grows() -> None:
    """A live view needs the turns so far."""
    builder = TrajectoryBuilder()
    assert builder.trajectory.final_observation is None
    builder.begin("look", {})
    builder.add("go", "seen", 0.5, False, False, {})
    assert (builder.turns, builder.over, builder.failure) == (1, False, None)
    assert builder.trajectory.episode_return == 0.5
    assert shown(builder.trajectory) == ["look", "seen"]
    json.loads(builder.trajectory.to_json())


def test_the_turns_of_several_agents_are_told_apart(tmp_path: Path) -> None:
    """Each agent has its own observations; rewards that arrive later belong to its last turn."""
    builder = TrajectoryBuilder(None, 1)
    board = "the board of the game, which everyone sees, and which is long enough to be an edit. " * 3
    builder.begin({"ann": board, "bob": board, "eve": "watches"}, {"ann": {"side": 1}, "bob": {}, "eve": {}})
    move = "the first move of the game, with much thought about what might come of it"
    builder.add_step(
        {"ann": move},
        {"ann": board + move, "bob": board + move, "eve": "watches"},
        {"ann": 0.5, "bob": 0, "eve": 1},
        {},
        {},
        {"bob": {"hint": 1}},
        act_seconds={"ann": 0.5},
    )
    builder.add_step(
        {"bob": Act("wins", token_ids=[5])},
        {"ann": board + move + "wins", "bob": board + move + "wins", "eve": "watches on"},
        {"ann": -1.0, "bob": np.float64(1.0), "eve": 1},
        {"ann": True, "bob": True},
        {},
        {"ann": {"success": False}, "bob": {"success": True}},
        over=True,
    )
    assert builder.over
    trajectory = builder.finish()
    for episode in (trajectory, through_file(trajectory, tmp_path)):
        assert episode == trajectory
        assert episode.agents == ["ann", "bob"]
        assert [(turn.agent, turn.step, turn.reward) for turn in episode.transitions] == [
            ("ann", 0, -0.5),
            ("bob", 1, 1.0),
        ]
        ann, bob = episode.for_agent("ann"), episode.for_agent("bob")
        assert (ann.reset_info, ann.success, ann.episode_return) == ({"side": 1}, False, -0.5)
        assert shown(ann) == [board, board + move + "wins"]
        assert shown(bob) == [board + move, board + move + "wins"]
        assert episode.final_observation == {
            "ann": board + move + "wins",
            "bob": board + move + "wins",
            "eve": "watches on",
        }
        assert episode.metadata["before_acting"]["eve"]["reward"] == 2.0
        assert episode.stop_reason == "terminated"
        with pytest.raises(gem.errors.ArgumentError, match="no agent 'eve' acted"):
            episode.for_agent("eve")
    assert "observation_edit" not in trajectory.to_dict()["transitions"][1]
    ranges = [[0, len(board)], ["action", 0, len(move)], "wins"]
    assert trajectory.to_dict()["final_observations"]["ann"] == {"text": ranges}


def test_a_failed_step_of_several_agents_keeps_their_actions() -> None:
    """Whether the environment raised or returned something that cannot be recorded."""
    for fail in (
        lambda b: b.fail("environment", "exception", "broke", actions={"ann": "a", "bob": "b"}),
        lambda b: b.add_step({"ann": "a", "bob": "b"}, {"ann": "x"}, {"ann": float("nan")}, {}, {}, {}),
    ):
        builder = TrajectoryBuilder()
        builder.begin({"ann": "look", "bob": "see"}, {"ann": {}, "bob": {}})
        fail(builder)
        trajectory = builder.finish()
        assert trajectory.failure is not None
        assert trajectory.failure.turn == 0
        assert [(turn.agent, turn.action, turn.step) for turn in trajectory.transitions] == [
            ("ann", "a", 0),
            ("bob", "b", 0),
        ]
        assert Trajectory.from_dict(json.loads(trajectory.to_json())) == trajectory


def test_an_action_that_is_changed_in_place_changes_no_observation(tmp_path: Path) -> None:
    """Edits refer to the action as it was; the record holds it as it is now."""
    rules = "rules of the game " * 9
    action: dict[str, Any] = {"role": "assistant", "content": "a long thought " * 9}
    builder = TrajectoryBuilder()
    builder.begin(rules, {})
    builder.add(Act(action, prompt_token_ids=[1], token_ids=[2, 3]), rules + action["content"], 0.0, False, False, {})
    builder.add(Act("go", prompt_token_ids=[1, 2, 3, 4]), "end", 0.0, True, False, {})
    expected = [rules, rules + action["content"], "end"]
    trajectory = builder.finish()
    read = through_file(trajectory, tmp_path)
    action["content"] = "mutated by the environment"
    for episode in (trajectory, read):
        episode.transitions[0].action["content"] = "masked"
        assert episode.transitions[0].token_ids is not None
        episode.transitions[0].token_ids[0] = 7
        for each in (episode, through_file(episode, tmp_path)):
            assert shown(each) == expected
            assert each.transitions[0].action["content"] == "masked"
            assert [turn.prompt_token_ids for turn in each.transitions] == [[1], [1, 2, 3, 4]]
            assert each.prompt_continuations() == [None, False]


def test_a_prompt_may_be_an_array() -> None:
    """Local models have their ids in arrays."""
    builder = TrajectoryBuilder()
    builder.begin("look", {})
    act = Act("go", prompt_token_ids=np.arange(3), token_ids=np.arange(2), logprobs=np.zeros(2, "float32"))  # type: ignore[arg-type]
    builder.add(act, "end", 0.0, True, False, {})
    (turn,) = builder.finish().transitions
    assert (turn.prompt_token_ids, turn.token_ids, turn.logprobs) == ([0, 1, 2], [0, 1], [0.0, 0.0])


def test_a_spec_that_no_record_can_hold_is_a_trajectory_error() -> None:
    """A constructor argument that JSON would change, for one."""
    spec = gem.env_spec.EnvSpec(id="a:B-v0", entry_point="nowhere:B", kwargs={"sizes": (1, 2)})
    with pytest.raises(gem.errors.TrajectoryError, match="the argument 'sizes' is"):
        Trajectory(spec, 1).to_json()


def test_deep_values_survive() -> None:
    """A model may write JSON of hundreds of levels."""
    deep_value: Any = "x" * 99
    for _ in range(290):
        deep_value = [deep_value]
    action = {"role": "assistant", "content": "", "tool_calls": deep_value}
    builder = TrajectoryBuilder()
    builder.begin([{"role": "user", "content": "look"}], {})
    messages = [{"role": "user", "content": "look"}, action, {"role": "user", "content": deep_value}]
    builder.add(action, messages, 0.0, False, False, {"deep": deep_value})
    builder.add("go", [*messages, {"role": "user", "content": "end"}], 0.0, True, False, {})
    trajectory = builder.finish()
    assert trajectory.failure is None
    assert Trajectory.from_dict(json.loads(trajectory.to_json())) == trajectory


def places_in(value: Any) -> list[tuple[Any, Any]]:
    """Return every place in a JSON value, as a container and a key."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in items for place in [(value, key), *places_in(item)]]


@settings(deadline=None)
@given(
    st.integers(0),
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=5) | st.just([]) | st.just({}) | st.just([0, 1]),
    st.sampled_from(["concat_with_action", "messages", "sliding_window, messages"]),
)
def test_a_damaged_record_is_an_error_or_another_record(number: int, damage: Any, wrapper: str) -> None:
    """Whatever a file holds, reading it raises nothing but TrajectoryError."""
    record = json.loads(long_episode(wrapper, 4).to_json())
    places = [
        place
        for name in ("transitions", "final_observation_edit", "metadata")
        for place in places_in({name: record.get(name)})
    ]
    container, key = places[number % len(places)]
    container[key] = damage
    try:
        trajectory = Trajectory.from_dict(record)
        shown(trajectory)
    except gem.errors.TrajectoryError:
        return
    assert isinstance(trajectory.episode_return, float)
    assert trajectory.success in (None, True, False)


def test_a_seed_of_numpy_is_recorded_as_an_int() -> None:
    """Files hold the seed as JSON does."""
    numpy: Any = pytest.importorskip("numpy")
    assert type(TrajectoryBuilder(seed=numpy.int64(7)).trajectory.seed) is int


def test_empty_containers_of_a_turn_are_its_own() -> None:
    """They are made once somebody asks for them, and keep what is put into them."""
    builder = TrajectoryBuilder()
    builder.begin("x", {})
    for _ in range(2):
        builder.add("a", "x", 0, False, False, {})
    first, second = builder.finish().transitions
    first.tool_calls.append({"name": "t"})
    first.metadata["k"] = 1
    assert (first.tool_calls, first.metadata) == ([{"name": "t"}], {"k": 1})
    assert (second.tool_calls, second.metadata) == ([], {})
    assert copy.deepcopy(second) == second
