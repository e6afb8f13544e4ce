"""gem_questions.rewards: the protocol, rewards by name, scoring that survives faults, rewards in an environment."""

from __future__ import annotations

import asyncio
import copy
import json
import math
import os
import pickle
import threading
from typing import Any

import pytest

import gem
from gem.errors import (
    ArgumentError,
    ArgumentTypeError,
    EntryPointError,
    MissingPluginError,
    NotSupportedError,
    UnknownArgumentError,
)
from gem.policies import ScriptedPolicy
from gem_questions.rewards import (
    Reward,
    RewardContext,
    Score,
    close_reward,
    make_reward,
    score_episode,
    score_episode_async,
)
from gem_questions.rewards.scoring import score_turns
from gem_questions.rewards.transform import TransformReward
from gem_rollout import play_episode
from gem_rollout.trajectory import Trajectory, Transition

HERE = __name__


class Brevity(Reward):
    """Prefers short episodes."""

    def __init__(self, *, scale: float = 1.0, of: Any = None) -> None:
        self.scale = scale
        self.closed = 0

    def score(self, trajectory: Trajectory) -> Score:
        return Score(self.scale / max(1, len(trajectory)), reasons=["it is short"])

    def per_turn(self, trajectory: Trajectory, start: int = 0) -> list[float]:
        return [float(turn) for turn in range(start, len(trajectory))]

    def close(self) -> None:
        self.closed += 1


class SlowBrevity(Reward):
    """The same by an event loop."""

    def __init__(self) -> None:
        self.threads: set[int] = set()

    async def score(self, trajectory: Trajectory) -> Score:
        await asyncio.sleep(0)
        self.threads.add(threading.get_ident())
        return Score(1.0 / max(1, len(trajectory)))

    async def per_turn(self, trajectory: Trajectory, start: int = 0) -> list[float]:
        await asyncio.sleep(0)
        return [0.25] * (len(trajectory) - start)

    async def close(self) -> None:
        await asyncio.sleep(0)


class Faulty(Reward):
    """Misbehaves as told."""

    def __init__(self, *, how: str = "raise") -> None:
        self.how = how

    def score(self, trajectory: Trajectory) -> Any:
        if self.how == "raise":
            raise RuntimeError("broken " + "x" * 10_000)
        return {"nan": math.nan, "float": 1.0, "none": None}[self.how]

    def per_turn(self, trajectory: Trajectory, start: int = 0) -> Any:
        return {"raise": [], "nan": [math.nan], "float": 1.0, "none": None}[self.how]


class Silent(Reward):
    """Implements nothing."""


class Counting(gem.Env[str, str]):
    """Ends after three steps, with the reward 0.5 each."""

    def __init__(self, length: int = 3) -> None:
        self.length = length
        self.turn = 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.turn = 0
        return "turn 0", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.turn += 1
        return f"turn {self.turn}", 0.5, self.turn == self.length, False, {"turn": self.turn}

    def get_state(self) -> dict[str, Any]:
        return {"turn": self.turn, **self.generator_state()}

    def set_state(self, state: Any) -> None:
        self.turn = state["turn"]
        self.set_generator_state(state)


def episode(turns: int = 2) -> Trajectory:
    """Return an episode of some turns."""
    return Trajectory(None, 0, [Transition(f"o{i}", f"a{i}", 0.5, i == turns - 1, False) for i in range(turns)])


def play(env: gem.Env[Any, Any], seed: int = 0) -> tuple[list[float], dict[str, Any]]:
    """Play an episode; return the rewards and the last info."""
    env.reset(seed=seed)
    rewards = []
    while True:
        _, reward, terminated, truncated, info = env.step("go")
        rewards.append(reward)
        if terminated or truncated:
            return rewards, info


def test_a_score_survives_json() -> None:
    """A score that was written and read again is the same."""
    score = Score(0.5, {"style": 1.0}, ["because"], {"model": "m", "n": 3})
    assert Score.from_dict(json.loads(json.dumps(score.to_dict()))) == score
    assert score.readable


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "1.0x", None, [1]])
def test_a_score_is_a_finite_number(value: Any) -> None:
    """Nothing else becomes a score or a part of one."""
    with pytest.raises(ArgumentError, match="must be"):
        Score(value)
    with pytest.raises(ArgumentError, match="part 'p'"):
        Score(1.0, {"p": value})


@pytest.mark.parametrize(
    "record", [None, [], {}, {"value": "x"}, {"value": 1.0, "parts": 3}, {"value": 1, "metadata": 5}]
)
def test_what_is_no_score_is_refused(record: Any) -> None:
    """A damaged record raises an error of ours, not any other."""
    with pytest.raises(ArgumentError, match="not a score"):
        Score.from_dict(record)


def test_an_unreadable_score_pays_nothing_and_says_why() -> None:
    """It pays 0.0, and its metadata has the grade and a word for tables."""
    score = Score.unreadable("the judge is silent", "timeout", attempts=3)
    assert (score.value, score.readable, score.reasons) == (0.0, False, ["the judge is silent"])
    assert score.metadata == {"grade": "unreadable", "unreadable": "timeout", "attempts": 3}


def test_a_reward_is_made_from_a_path_and_from_its_configuration() -> None:
    """The configuration of a reward is JSON and makes an equal one."""
    reward = make_reward(f"{HERE}:Brevity", scale=2.0, weight=0.5, label="short")
    assert reward.config == {"name": f"{HERE}:Brevity", "label": "short", "weight": 0.5, "scale": 2.0}
    twin = make_reward(json.loads(json.dumps(reward.config)))
    assert twin.config == reward.config
    assert (twin.weight, twin.recorded_as) == (0.5, "short")
    assert make_reward(reward) is reward


def test_a_configuration_describes_what_json_cannot_hold() -> None:
    """Rewards inside become their configurations, functions their paths, other objects their repr."""
    config = Brevity(of=[Brevity(scale=3.0), json.dumps, {1, 2}, ("a", 1)]).config
    assert config["of"] == [
        {"name": f"{HERE}:Brevity", "scale": 3.0},
        "json:dumps",
        {"repr": "{1, 2}"},
        ["a", 1],
    ]


def test_private_arguments_are_not_recorded() -> None:
    """A subclass keeps a key out of its configuration by naming the argument."""

    class Keyed(Brevity):
        private = frozenset({"of"})

    reward = Keyed(of="secret", scale=1.5)
    assert "secret" not in repr(reward) + json.dumps(reward.config)


@pytest.mark.parametrize(
    ("reward", "error", "message"),
    [
        ("exakt", MissingPluginError, "no reward is called 'exakt'"),
        ({"scale": 1.0}, ArgumentError, "needs a name"),
        ({"name": 3}, ArgumentTypeError, "name must be a str"),
        ({"name": f"{HERE}:Brevity", "scalee": 1.0}, UnknownArgumentError, "did you mean 'scale'"),
        ({"name": f"{HERE}:Silent", "scale": 1.0}, UnknownArgumentError, "it takes none"),
        ({"name": f"{HERE}:Brevity", "weight": "much"}, ArgumentTypeError, "weight must be a number"),
        ({"name": f"{HERE}:Brevity", "label": ""}, ArgumentError, "label must not be empty"),
        ({"name": f"{HERE}:Brevity", 3: 4}, ArgumentTypeError, "must have names"),
        (f"{HERE}:Nothing", EntryPointError, "Nothing"),
        ("json:dumps", ArgumentTypeError, "the reward 'json:dumps'"),
        (3.0, ArgumentTypeError, "a reward is a name"),
        (f"{HERE}:dict_maker", ArgumentTypeError, "made an object of type dict"),
    ],
)
def test_a_wrong_reward_is_named(reward: Any, error: type[Exception], message: str) -> None:
    """The error says what was wrong, and with which value."""
    with pytest.raises(error, match=message):
        make_reward(reward)


def dict_maker() -> dict[str, int]:
    """Return what is no reward."""
    return {}


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of a reward of another package leads to the line that installs it."""
    monkeypatch.setattr("gem.plugins.entry_points", lambda group: ())
    with pytest.raises(MissingPluginError, match="pip install gem-envs-math"):
        make_reward("math")


def test_sync_and_async_rewards_score_alike() -> None:
    """Either kind can be scored from plain code and from a coroutine."""
    for reward in (Brevity(), SlowBrevity()):
        assert score_episode(reward, episode(4)).value == 0.25
        assert asyncio.run(score_episode_async(reward, episode(4))).value == 0.25
        close_reward(reward)
    assert (Brevity().asynchronous, SlowBrevity().asynchronous) == (False, True)


def test_plain_code_within_a_running_loop_can_wait_for_an_async_reward() -> None:
    """As in a notebook; the reward runs in another thread than the caller's loop."""
    reward = SlowBrevity()

    async def main() -> float:
        return score_episode(reward, episode(2)).value

    assert asyncio.run(main()) == 0.5
    assert threading.get_ident() not in reward.threads


def test_all_plain_calls_share_one_loop() -> None:
    """A client that an async reward keeps stays on its loop from one score to the next."""
    reward = SlowBrevity()
    threads = [threading.Thread(target=score_episode, args=(reward, episode())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reward.threads) == 1


class Nested(Reward):
    """Waits in plain code for an async reward, on the loop on which it runs itself."""

    async def score(self, trajectory: Trajectory) -> Score:
        return score_episode(SlowBrevity(), trajectory)


def test_a_wait_that_would_never_end_is_refused() -> None:
    """An async reward that waits for another one in plain code gets an error instead of a deadlock."""
    score = score_episode(Nested(), episode())
    assert not score.readable
    assert "await it instead" in score.reasons[0]


@pytest.mark.parametrize("how", ["raise", "nan", "float", "none"])
def test_a_faulty_reward_is_unreadable(how: str) -> None:
    """Whatever it raises or returns, the score says that the reward could not tell, in bounded length."""
    for score in (
        score_episode(Faulty(how=how), episode()),
        asyncio.run(score_episode_async(Faulty(how=how), episode())),
        score_turns(Faulty(how=how), episode(1), 0),
    ):
        assert isinstance(score, Score)
        assert (score.value, score.metadata["unreadable"]) == (0.0, "exception")
        assert len(score.reasons[0]) < 700


def test_a_reward_that_implements_nothing_says_so() -> None:
    """Its score names the method, and it rewards no turns."""
    assert "does not implement score" in score_episode(Silent(), episode()).reasons[0]
    assert not Silent().rewards_turns
    assert Silent().per_turn(episode()) is None
    assert Silent().close() is None
    Silent().begin(RewardContext())


def test_a_reward_pickles_as_its_arguments() -> None:
    """With name, label and weight; what it holds stays behind."""
    reward = make_reward({"name": f"{HERE}:Brevity", "scale": 2.0, "label": "short", "weight": 3.0})
    assert isinstance(reward, Brevity)
    reward.closed = 7
    for twin in (pickle.loads(pickle.dumps(reward)), copy.deepcopy(reward)):
        assert (twin.config, twin.weight, twin.closed) == (reward.config, 3.0, 0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_an_async_reward_works_in_a_forked_child() -> None:
    """The child has no thread of the parent's loop, and starts its own."""
    score_episode(SlowBrevity(), episode())
    child = os.fork()
    if child == 0:
        value = score_episode(SlowBrevity(), episode(4)).value
        os._exit(0 if value == 0.25 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_the_reward_of_the_episode_replaces_the_environments() -> None:
    """All turns but the last pay 0.0; the last pays the value times the weight, and info has the score."""
    env = TransformReward(Counting(), {"name": f"{HERE}:Brevity", "weight": 6.0, "label": "short"})
    rewards, info = play(env)
    assert rewards == [0.0, 0.0, 2.0]
    assert info["env_reward"] == 0.5
    assert Score.from_dict(info["scores"]["short"]).value == pytest.approx(1 / 3)
    assert "grade" not in info
    assert play(env)[0] == rewards


def test_the_reward_is_added() -> None:
    """With mode='add' every turn pays what the environment pays, and the last pays the reward as well."""
    rewards, _ = play(TransformReward(Counting(), Brevity(scale=3.0), mode="add"))
    assert rewards == [0.5, 0.5, 1.5]


def test_a_reward_of_turns_pays_each_turn() -> None:
    """With when='turn' each step pays for the newest turn, whether the reward is async or not."""
    assert play(TransformReward(Counting(), Brevity(), when="turn"))[0] == [0.0, 1.0, 2.0]
    assert play(TransformReward(Counting(), SlowBrevity(), when="turn", mode="add"))[0] == [0.75] * 3


def test_a_reward_that_rewards_no_turns_is_refused() -> None:
    """The error comes when the environment is made."""
    with pytest.raises(NotSupportedError, match="per_turn"):
        TransformReward(Counting(), Silent(), when="turn")


@pytest.mark.parametrize("when", ["end", "turn"])
def test_a_faulty_reward_ends_no_episode(when: str) -> None:
    """The step pays 0.0, or the environment's own reward beside it, and info says that the grade is unreadable."""
    rewards, info = play(TransformReward(Counting(), Faulty(), mode="add", when=when))
    assert rewards == [0.5, 0.5, 0.5]
    assert info["grade"] == "unreadable"


def test_the_reward_sees_the_episode_as_a_trajectory() -> None:
    """It has every observation, action, reward of the environment, flag and info, and the seed."""
    seen: list[Trajectory] = []

    class Curious(Reward):
        def score(self, trajectory: Trajectory) -> Score:
            seen.append(trajectory)
            return Score(0.0)

    recorded = play_episode(TransformReward(Counting(), Curious()), ScriptedPolicy(["x", "y", "z"]), seed=7)
    assert [t.action for t in seen[0].transitions] == ["x", "y", "z"]
    assert [t.observation for t in seen[0].transitions] == ["turn 0", "turn 1", "turn 2"]
    assert (seen[0].final_observation, seen[0].seed, seen[0].episode_return) == ("turn 3", 7, 1.5)
    assert recorded.episode_return == 0.0


def test_a_failed_episode_is_not_scored() -> None:
    """A step with info['error'] says nothing about the agent."""

    class Failing(Counting):
        def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
            return "", 0.0, False, True, {"error": "it broke"}

    rewards, info = play(TransformReward(Failing(), Brevity()))
    assert rewards == [0.0]
    assert "scores" not in info


@pytest.mark.parametrize("action", [b"bytes", object(), {1, 2}, "\ud800", None, 3])
def test_no_action_ends_in_an_exception(action: Any) -> None:
    """An action that no record can hold makes the score unreadable."""
    env = TransformReward(Counting(length=1), Brevity())
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step(action)
    readable = action is None or isinstance(action, (str, int))
    assert (reward, terminated, "grade" not in info) == (float(readable), True, readable)


def test_an_episode_goes_on_from_a_state() -> None:
    """A copy that was set to the state in mid-episode, through JSON, pays the same at the end."""
    env, twin = (TransformReward(Counting(), Brevity()) for _ in range(2))
    env.reset(seed=3)
    env.step("go")
    twin.set_state(json.loads(json.dumps(env.get_state())))
    for _ in range(2):
        assert env.step("go") == twin.step("go")
        assert env.get_state() == twin.get_state()
    fresh = TransformReward(Counting(), Brevity())
    fresh.set_state(TransformReward(Counting(), Brevity()).get_state())


def test_the_spec_records_the_reward_so_that_it_can_be_made_again() -> None:
    """A record of the environment makes it with the same reward."""
    gem.register("rewards:Counting", Counting)
    try:
        wrapper = gem.wrapper("transform_reward", reward={"name": f"{HERE}:Brevity", "scale": 3.0}, mode="add")
        env = gem.make("rewards:Counting", wrappers=wrapper)
        given = gem.make("rewards:Counting", wrappers=[lambda e: TransformReward(e, Brevity(scale=3.0), mode="add")])
        for made in (env, given):
            assert made.spec is not None
            again = gem.make(type(made.spec).from_json(made.spec.to_json()))
            assert play(again)[0] == [0.5, 0.5, 1.5]
            assert play(made.spawn())[0] == [0.5, 0.5, 1.5]
    finally:
        gem.unregister("rewards:Counting")


def test_the_environment_closes_the_reward_that_it_made() -> None:
    """A reward that the caller made stays open."""
    own = TransformReward(Counting(), f"{HERE}:Brevity")
    given = Brevity()
    TransformReward(Counting(), given).close()
    own.close()
    assert isinstance(own.reward, Brevity)
    assert (own.reward.closed, given.closed) == (1, 0)
