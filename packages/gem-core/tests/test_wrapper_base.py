"""What every wrapper owes to the environment that it wraps."""

from __future__ import annotations

import copy
import json
import os
import pickle
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import gem
from gem import built_in
from gem.core import Env, Info, Wrapper
from gem.discovery.official import WRAPPERS
from gem.env_spec import EnvSpec
from gem.errors import ArgumentTypeError, MissingPluginError, StateError, UnknownArgumentError
from gem.wrappers import WrapperLike, apply_wrappers
from gem_questions import plugin as questions
from gem_questions.rewards import Reward, Score
from gem_rollout import plugin as rollout

BUILT_IN = {**built_in.WRAPPERS, **rollout.gem_wrappers(), **questions.gem_wrappers()}
"""The wrappers of gem-core and of the libraries on it."""

WrapperFunction = Callable[[Env[Any, Any]], Env[Any, Any]]


class Numbers(Env[str, str]):
    """Shows numbers from its own generator, and remembers how it was reset and whether it was closed."""

    mood = "calm"

    def __init__(self, highest: int = 9) -> None:
        self.highest = highest
        self.turn = 0
        self.resets: list[tuple[int | None, dict[str, Any] | None]] = []
        self.closed = 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.resets.append((seed, options))
        self.turn = 0
        return self._number(), {"turn": 0}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        self.turn += 1
        return self._number(), 0.5, False, False, {"turn": self.turn, "suffix": f"turn {self.turn}\n"}

    def sample_random_action(self) -> str:
        return str(self.action_rng.randint(0, self.highest))

    def get_state(self) -> dict[str, Any]:
        return {"turn": self.turn, **self.generator_state()}

    def set_state(self, state: Any) -> None:
        self.set_generator_state(state)
        self.turn = state["turn"]

    def close(self) -> None:
        self.closed += 1

    def _number(self) -> str:
        return str(self.rng.randint(0, self.highest))


class Plain(Wrapper[str, str]):
    """A wrapper with an argument and nothing else."""

    def __init__(self, env: Env[Any, Any], label: str = "") -> None:
        super().__init__(env)
        self.label = label


class OldStyle(Env[str, str]):
    """As published environments are: no options."""

    def reset(self, seed=None):  # type: ignore[no-untyped-def, override]
        return "begin", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        return "", 0.0, True, False, {}


class Tokenizer:
    """Marks messages by their roles."""

    def apply_chat_template(self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool) -> str:
        return "".join(f"<{message['role']}>{message['content']}" for message in conversation) + "<assistant>"


class Turns(Reward):
    """Pays a tenth for each turn."""

    def score(self, trajectory: gem.Trajectory) -> Score:
        return Score(len(trajectory) / 10)


def summary(messages: list[dict[str, Any]]) -> str:
    return f"{len(messages)} messages"


def still_clock() -> float:
    return 0.0


APPLIED: dict[str, WrapperFunction] = {
    "concat": gem.wrapper("concat"),
    "concat_with_action": gem.wrapper("concat_with_action", max_history_length=3),
    "concat_chat": gem.wrapper("concat_chat", tokenizer=Tokenizer()),
    "concat_chat_on_reset": gem.wrapper("concat_chat_on_reset", tokenizer=Tokenizer(), max_history_length=4),
    "fold": gem.wrapper("fold", after_turns=3, keep_turns=2, note_tokens=20, form="messages"),
    "messages": gem.wrapper("messages"),
    "sliding_window": gem.wrapper("sliding_window", turns=2),
    "summarize": gem.wrapper("summarize", summarizer=summary, after_turns=4, keep_turns=2),
    "token_budget": gem.wrapper("token_budget", max_tokens=15, form="messages"),
    "episode_tracking": gem.wrapper("episode_tracking"),
    "record": gem.wrapper("record", path=os.devnull),
    "time_limit": gem.wrapper("time_limit", max_episode_steps=7),
    "wall_clock_limit": gem.wrapper("wall_clock_limit", seconds=5, clock=still_clock),
    "attempts": gem.wrapper("attempts", max_attempts=2),
    "transform_reward": gem.wrapper("transform_reward", reward=Turns(), mode="add"),
}


def play(env: Env[Any, Any], turns: int) -> list[Any]:
    """Play on, resetting where an episode ends, and return everything that was returned."""
    seen: list[Any] = []
    for turn in range(turns):
        action = '<tool_call>{"name": "dice", "arguments": {}}</tool_call>' if turn % 2 else f"action {turn}"
        result = env.step(action)
        seen.append(result)
        if result[2] or result[3]:
            seen.append(env.reset())
    return seen


def test_every_built_in_wrapper_is_tested_here() -> None:
    """A wrapper that is added without being listed above fails this test."""
    assert APPLIED.keys() == BUILT_IN.keys()


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("turns", [0, 3, 6])
def test_a_state_from_mid_episode_survives_json_and_continues_identically(name: str, turns: int) -> None:
    """An instance with the state of another plays on like it, this episode and the next ones."""
    env, twin = APPLIED[name](Numbers()), APPLIED[name](Numbers(99))
    env.reset(seed=1)
    play(env, turns)
    twin.reset(seed=2)
    play(twin, 4)
    twin.unwrapped.highest = 9  # type: ignore[attr-defined]
    state = env.get_state()
    text = json.dumps(state)
    expected = [*play(env, 10), env.reset(), *play(env, 10)]
    assert json.dumps(state) == text, "playing on changed the state that was taken"
    twin.set_state(json.loads(text))
    assert [*play(twin, 10), twin.reset(), *play(twin, 10)] == expected


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_state_can_be_taken_before_the_first_reset(name: str) -> None:
    """It says that nothing has begun, and can be set."""
    env, twin = APPLIED[name](Numbers()), APPLIED[name](Numbers())
    twin.reset(seed=3)
    play(twin, 2)
    twin.set_state(json.loads(json.dumps(env.get_state())))
    assert twin.reset(seed=5) == APPLIED[name](Numbers()).reset(seed=5)


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("damage", [None, [], {}, {"unknown": 1}])
def test_a_damaged_state_raises_and_changes_nothing(name: str, damage: Any) -> None:
    """StateError, and both wrapper and environment play on as if nothing had been tried."""
    env, twin = APPLIED[name](Numbers()), APPLIED[name](Numbers())
    for each in (env, twin):
        each.reset(seed=1)
        play(each, 3)
    if env.get_state()["wrapper"] or damage is None:
        elsewhere = env.spawn()
        elsewhere.reset(seed=2)
        state = elsewhere.get_state()
        with pytest.raises(StateError):
            env.set_state({"env": state["env"], "wrapper": damage} if damage is not None else {"turn": 1})
    assert play(env, 6) == play(twin, 6)


@pytest.mark.parametrize("name", BUILT_IN)
def test_spawn_makes_an_independent_twin(name: str) -> None:
    """With the state it plays on like the original; without, it begins like a new one."""
    env = APPLIED[name](Numbers())
    env.reset(seed=1)
    play(env, 3)
    fresh, twin = env.spawn(), env.spawn(same_state=True)
    assert type(twin) is type(env)
    assert play(twin, 6) == play(env, 6)
    assert fresh.reset(seed=8) == APPLIED[name](Numbers()).reset(seed=8)


@pytest.mark.parametrize("name", BUILT_IN)
def test_pickling_and_copying_keep_the_episode(name: str) -> None:
    """A wrapped environment can be sent to another process in mid-episode."""
    env = APPLIED[name](Numbers())
    env.reset(seed=1)
    play(env, 3)
    twins = [pickle.loads(pickle.dumps(env)), copy.deepcopy(env)]
    expected = play(env, 6)
    for twin in twins:
        assert play(twin, 6) == expected


@pytest.mark.parametrize("name", BUILT_IN)
def test_reset_passes_the_seed_and_only_given_options(name: str) -> None:
    """Published environments, whose reset takes a seed alone, can be wrapped by everything."""
    inner = Numbers()
    env = APPLIED[name](inner)
    env.reset()
    env.reset(seed=4)
    env.reset(seed=5, options={"level": 2})
    env.reset(options={})
    assert inner.resets == [(None, None), (4, None), (5, {"level": 2}), (None, {})]
    assert "begin" in str(APPLIED[name](OldStyle()).reset(seed=4)[0])


@pytest.mark.parametrize("name", BUILT_IN)
def test_info_is_never_changed_after_it_was_returned(name: str) -> None:
    """Neither the caller's infos nor those of the environment inside change later."""
    env = APPLIED[name](Numbers())
    returned = [env.reset(seed=1)[1]]
    before = [json.dumps(returned[0])]
    for result in play(env, 8):
        returned.append(result[-1])
        before.append(json.dumps(result[-1]))
    assert [json.dumps(info) for info in returned] == before


@pytest.mark.parametrize("name", BUILT_IN)
def test_threads_do_not_disturb_each_other(name: str) -> None:
    """Instances share nothing: played in threads they show what they show alone."""

    def episode(seed: int) -> list[Any]:
        env = APPLIED[name](Numbers())
        return [env.reset(seed=seed), *play(env, 12)]

    expected = [episode(seed) for seed in range(4)]
    found: dict[int, list[Any]] = {}
    threads = [threading.Thread(target=lambda n=n: found.update({n: episode(n)})) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[n] for n in range(4)] == expected


def test_attributes_are_forwarded_live() -> None:
    """A wrapper shows an attribute's value of this moment, not of the moment of wrapping."""
    inner = Numbers()
    env = Plain(Plain(inner))
    assert env.turn == 0
    env.reset()
    env.step("")
    assert env.turn == inner.turn == 1
    inner.mood = "stormy"
    assert env.mood == "stormy"
    inner.added_later = 1  # type: ignore[attr-defined]
    assert env.added_later == 1
    assert env.unwrapped is inner
    assert env.rng is inner.rng
    assert env.action_rng is inner.action_rng


def test_a_missing_attribute_is_an_attribute_error() -> None:
    """Private names are not forwarded, since each layer has its own."""
    env = Plain(Numbers())
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = env.nothing_like_it
    with pytest.raises(AttributeError, match="_number"):
        _ = env._number


def test_random_actions_come_from_the_environment() -> None:
    """The same as those of the environment alone with the same seed."""
    env, alone = Plain(Plain(Numbers(99))), Numbers(99)
    env.reset(seed=6)
    alone.reset(seed=6)
    assert [env.sample_random_action() for _ in range(5)] == [alone.sample_random_action() for _ in range(5)]


def test_close_and_context_manager_reach_the_environment() -> None:
    """Leaving the with block closes what is inside."""
    inner = Numbers()
    with Plain(inner) as env:
        assert isinstance(env, Plain)
    assert inner.closed == 1
    env.close()
    assert inner.closed == 2


def test_only_environments_can_be_wrapped_and_arguments_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The messages name what was given."""
    monkeypatch.setitem(WRAPPERS, "moon_tool", "gem-moon")
    with pytest.raises(ArgumentTypeError, match="str"):
        Plain("game:Sudoku-v0")  # type: ignore[arg-type]
    with pytest.raises(UnknownArgumentError, match="did you mean 'label'"):
        Plain(Numbers(), lable="x")  # type: ignore[call-arg]
    with pytest.raises(MissingPluginError, match="did you mean 'concat'"):
        gem.wrapper("concta")
    with pytest.raises(MissingPluginError, match="pip install gem-moon"):
        gem.wrapper("moon_tool")


@pytest.fixture
def registered() -> Any:
    gem.register("wrapped:Numbers-v0", Numbers)
    yield "wrapped:Numbers-v0"
    gem.unregister("wrapped:Numbers-v0")


def test_a_spec_records_the_wrappers_and_makes_them_again(registered: str) -> None:
    """Also after a trip through JSON, with all arguments however they were passed."""
    wrappers: list[WrapperLike] = [
        "concat_with_action, episode_tracking",
        gem.wrapper("time_limit", max_episode_steps=2),
    ]
    env = gem.make(registered, highest=5, wrappers=wrappers)
    assert isinstance(env.spec, EnvSpec)
    applied = [(w.entry_point.partition(":")[2], w.args, dict(w.kwargs)) for w in env.spec.wrappers]
    assert applied == [
        ("ConcatWithAction", (), {}),
        ("EpisodeTracking", (), {}),
        ("TimeLimit", (), {"max_episode_steps": 2}),
    ]
    recorded = EnvSpec.from_json(env.spec.to_json())
    # The module of a test has no name that an import would find.
    recorded = replace(recorded, entry_point=Numbers)
    expected = [env.reset(seed=2), *play(env, 3)]
    for spec in (env.spec, recorded):
        again: Any = gem.make(spec)
        assert repr(again) == repr(env)
        assert again.highest == 5
        assert [again.reset(seed=2), *play(again, 3)] == expected


def test_a_spec_holds_no_environment_however_it_was_passed(registered: str) -> None:
    """``env`` as a keyword argument is not taken for an argument of the wrapper."""
    inner = gem.make(registered)
    for env in (Plain(inner, "x"), Plain(inner, label="x"), Plain(env=inner, label="x")):
        assert env.spec is not None
        assert [*env.spec.wrappers[0].args, *env.spec.wrappers[0].kwargs.values()] == ["x"]
        assert isinstance(env.spawn(), Plain)
        assert env.spawn().label == "x"
    assert inner.spec is not None
    assert inner.spec.wrappers == ()


def test_a_spec_describes_arguments_that_json_cannot_hold(registered: str) -> None:
    """They are neither copied nor lost silently: making the environment again says what to do."""

    class Summarizer:
        def __init__(self) -> None:
            self.lock = threading.Lock()  # cannot be copied

        def __call__(self, messages: list[dict[str, Any]]) -> str:
            return ""

    env = gem.make(registered, wrappers=gem.wrapper("summarize", summarizer=Summarizer()))
    assert env.spec is not None
    spec = EnvSpec.from_json(env.spec.to_json())
    with pytest.raises(StateError, match="by hand"):
        gem.make(replace(spec, entry_point=Numbers))
    assert "1 messages" not in str(gem.make(env.spec).reset())


def test_wrappers_are_names_or_callables() -> None:
    """Names may be joined by commas; anything else is refused."""
    env = apply_wrappers(Numbers(), ["concat,,episode_tracking", Plain])
    assert repr(env) == "Plain(EpisodeTracking(Concat(Numbers())))"
    assert apply_wrappers(Numbers(), "concat").env.turn == 0  # type: ignore[attr-defined]
    with pytest.raises(ArgumentTypeError, match="name or a callable"):
        apply_wrappers(Numbers(), [3])  # type: ignore[list-item]
    with pytest.raises(ArgumentTypeError, match="wrappers must be a list"):
        apply_wrappers(Numbers(), {"concat": {}})


def test_a_wrapper_around_an_environment_without_a_spec_has_none() -> None:
    """So it is for environments that are constructed by hand."""
    assert Plain(Numbers()).spec is None
