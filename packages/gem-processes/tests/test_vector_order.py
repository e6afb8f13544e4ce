"""Who may be called when, with what, and what comes back in which order; alike in every mode."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from gem.core import Env
from gem.errors import ArgumentError, ArgumentTypeError, UnknownArgumentError, VectorError
from gem.vector import VectorEnv
from gem.vector.sync import SyncVectorEnv
from gem.vector.thread import ThreadVectorEnv
from gem_processes.auto_mode.auto import AutoVectorEnv
from gem_processes.auto_mode.mode_choice import ModeChoice

MODES = [SyncVectorEnv, ThreadVectorEnv, partial(AutoVectorEnv, choice=ModeChoice("sync", ""))]
Build = Callable[..., VectorEnv]


class Walk(Env[str, str]):
    """A random walk that ends after four turns."""

    def __init__(self, length: int = 4) -> None:
        self.length = length
        self.turn = 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.turn = 0
        return f"begin {self.rng.random()}", {"seed": seed, "options": options}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.turn += 1
        return f"{action} {self.rng.random()}", self.rng.random(), self.turn >= self.length, False, {"turn": self.turn}


@pytest.fixture(params=MODES)
def build(request: pytest.FixtureRequest) -> Build:
    """Builds a vector environment of a mode, to be closed by the test."""
    return request.param  # type: ignore[no-any-return]


def test_an_int_seed_is_counted_up_and_a_list_is_taken_as_it_is(build: Build) -> None:
    """Environment i gets seed + i, or seed[i], and None leaves it alone."""
    with build([Walk] * 3) as envs:
        assert [info["seed"] for info in envs.reset(seed=5)[1]] == [5, 6, 7]
        assert [info["seed"] for info in envs.reset(seed=[9, None, 3])[1]] == [9, None, 3]
        assert [info["seed"] for info in envs.reset()[1]] == [None, None, None]


def test_the_seeds_it_was_made_with_serve_the_first_reset_alone(build: Build) -> None:
    """They count only if that reset brings no seed of its own."""
    with build([Walk] * 2, seeds=[7, 8]) as envs:
        assert [info["seed"] for info in envs.reset()[1]] == [7, 8]
        assert [info["seed"] for info in envs.reset()[1]] == [None, None]
    with build([Walk] * 2, seeds=[7, 8]) as envs:
        assert [info["seed"] for info in envs.reset(seed=1)[1]] == [1, 2]
        assert [info["seed"] for info in envs.reset()[1]] == [None, None]


def test_reset_arguments_reach_the_environments_they_are_for(build: Build) -> None:
    """Options go to all, in a dict of its own each; env{i}_kwargs to one, over what the others get."""
    options = {"level": 1}
    with build([Walk] * 2) as envs:
        _, infos = envs.reset(seed=0, options=options, env1_kwargs={"seed": 50, "options": {"level": 2}})
    assert infos == [{"seed": 0, "options": {"level": 1}}, {"seed": 50, "options": {"level": 2}}]
    assert infos[0]["options"] is not options


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"seed": -1}, ArgumentError),
        ({"seed": [1]}, ArgumentError),
        ({"seed": [1, -1]}, ArgumentError),
        ({"seed": "12"}, ArgumentTypeError),
        ({"seed": 1.0}, ArgumentTypeError),
        ({"seed": True}, ArgumentTypeError),
        ({"env2_kwargs": {}}, UnknownArgumentError),
        ({"level": 3}, UnknownArgumentError),
        ({"options": 3}, ArgumentTypeError),
        ({"env1_kwargs": 3}, ArgumentTypeError),
        ({"env1_kwargs": {"seed": -1}}, ArgumentError),
    ],
)
def test_impossible_reset_arguments_are_refused(build: Build, arguments: Any, error: type[Exception]) -> None:
    """Bad seeds and unknown names raise before any environment is touched."""
    with build([Walk] * 2) as envs:
        first = envs.reset(seed=1)[0]
        with pytest.raises(error):
            envs.reset(**arguments)
        assert envs.reset(seed=1)[0] == first


def test_a_mapping_steps_some_and_answers_in_its_order(build: Build) -> None:
    """Only the named environments move; results come in the order of the mapping."""
    with build([Walk] * 4) as envs:
        envs.reset(seed=0)
        observations, rewards, terminations, truncations, infos = envs.step({2: "c", np.int64(0): "a"})
        assert [observation[0] for observation in observations] == ["c", "a"]
        assert (len(rewards), len(terminations), len(truncations), len(infos)) == (2, 2, 2, 2)
        assert [info["turn"] for info in envs.step(["x"] * 4)[4]] == [2, 1, 2, 1]
        assert envs.step({})[0] == []


@pytest.mark.parametrize(
    ("actions", "error", "says"),
    [
        (["a"], ArgumentError, "1 actions for 2 environments"),
        (["a"] * 3, ArgumentError, "3 actions for 2 environments"),
        ("ab", ArgumentTypeError, "got str"),
        (7, ArgumentTypeError, "got int"),
        (iter(["a", "b"]), ArgumentTypeError, "a list with one action for each environment"),
        ({2: "a"}, ArgumentError, "no environment 2; they are 0 to 1"),
        ({-1: "a"}, ArgumentError, "no environment -1"),
        ({"0": "a"}, ArgumentTypeError, "an int"),
    ],
)
def test_actions_must_fit_the_environments(build: Build, actions: Any, error: type[Exception], says: str) -> None:
    """A wrong number or kind of actions is refused by step and send alike."""
    with build([Walk] * 2) as envs:
        envs.reset()
        with pytest.raises(error, match=says):
            envs.step(actions)
        with pytest.raises(error, match=says):
            envs.send(actions)
        assert envs.num_pending == 0


def test_calls_out_of_order_say_what_to_do(build: Build) -> None:
    """Each of them raises VectorError and changes nothing."""
    envs = build([Walk] * 2)
    with pytest.raises(VectorError, match=r"environment 0 has no episode.*call reset\(\)"):
        envs.step(["a", "a"])
    with pytest.raises(VectorError, match=r"0 are pending; send\(\)"):
        envs.recv()
    envs.reset(seed=0)
    envs.send({1: "a"})
    assert envs.num_pending == 1
    with pytest.raises(VectorError, match=r"step\(\) while 1 results are pending; recv\(\) them first"):
        envs.step(["a", "a"])
    with pytest.raises(VectorError, match="reset_at"):
        envs.reset_at([0])
    with pytest.raises(VectorError, match="environment 1 has not finished"):
        envs.send(["a", "a"])
    with pytest.raises(VectorError, match="environment 1 has not finished"):
        envs.send_reset([1])
    with pytest.raises(VectorError, match="2 results are wanted and 1 are pending"):
        envs.recv(min_ready=2)
    with pytest.raises(ArgumentError, match="min_ready"):
        envs.recv(min_ready=0)
    with pytest.raises(ArgumentError, match="timeout"):
        envs.recv(timeout=-1.0)
    with pytest.raises(ArgumentError, match="twice"):
        envs.send_reset([0, 0])
    assert envs.recv().infos == [{"turn": 1}]
    assert [info["turn"] for info in envs.step(["a", "a"])[4]] == [1, 2]
    envs.close()
    envs.close()
    for call in (
        envs.reset,
        envs.recv,
        lambda: envs.step(["a", "a"]),
        lambda: envs.send({}),
        lambda: envs.reset_at([]),
    ):
        with pytest.raises(VectorError, match="closed"):
            call()


def test_send_reset_takes_seeds_as_they_are(build: Build) -> None:
    """A mapping names the seed of each; a list leaves them to their generators. Options go along."""
    with build([Walk] * 3) as envs:
        envs.send_reset({2: 40, 0: None}, options={"level": 1})
        ready = envs.recv(min_ready=2)
        assert dict(zip(ready.indices, (info["seed"] for info in ready.infos), strict=True)) == {2: 40, 0: None}
        assert ready.infos[0]["options"] == {"level": 1}
        assert (ready.rewards.tolist(), ready.terminations.tolist()) == ([0.0, 0.0], [False, False])
        with pytest.raises(VectorError, match="environment 1 has no episode"):
            envs.send(["a"] * 3)
        envs.send_reset([1])
        assert envs.recv().indices == [1]
        envs.step(["a"] * 3)
        with pytest.raises(ArgumentError, match="seed"):
            envs.send_reset({0: -1})


def test_reset_drops_what_is_pending(build: Build) -> None:
    """Results of the episodes that it abandons never come back."""
    with build([Walk] * 3) as envs:
        first = envs.reset(seed=1)[0]
        envs.send(["a"] * 3)
        envs.recv()
        envs.send_reset([])
        assert envs.reset(seed=1)[0] == first
        assert envs.num_pending == 0
        assert [info["turn"] for info in envs.step(["a"] * 3)[4]] == [1, 1, 1]


def test_recv_without_time_makes_progress(build: Build) -> None:
    """Polling with timeout 0 gets everything in the end."""
    with build([Walk] * 3) as envs:
        envs.reset()
        envs.send(["a"] * 3)
        indices: list[int] = []
        while envs.num_pending:
            indices += envs.recv(timeout=0).indices
        assert sorted(indices) == [0, 1, 2]


def test_it_shows_what_it_holds(build: Build) -> None:
    """num_envs, envs, specs and repr."""
    with build([Walk, lambda: Walk(9)]) as envs:
        assert envs.num_envs == 2
        assert [env.length for env in envs.envs] == [4, 9]  # type: ignore[attr-defined]
        assert envs.specs == (None, None)
        assert repr(envs) == f"{type(envs).__name__}(num_envs=2, autoreset='same_step')"
    with pytest.raises(VectorError, match="closed"):
        _ = envs.envs
    with pytest.raises(ArgumentError, match="num_envs"):
        build([])
    with pytest.raises(ArgumentError, match="seeds has 1 entries for 2"):
        build([Walk] * 2, seeds=[1])
    with pytest.raises(ArgumentError, match="step_timeout"):
        build([Walk], step_timeout=0)


@pytest.mark.parametrize("autoreset", ["same_step", "next_step", "disabled"])
@pytest.mark.parametrize("draw", range(6))
def test_any_order_of_sends_gives_each_environment_its_own_episode(build: Build, autoreset: str, draw: int) -> None:
    """However sends, resets and receives interleave, each environment answers as if it were alone."""
    chance = random.Random(draw)
    count = 4
    alone = [SyncVectorEnv([Walk], autoreset=autoreset) for _ in range(count)]
    expected: dict[int, tuple[Any, ...]] = {}
    finished: set[int] = set()
    with build([Walk] * count, autoreset=autoreset) as envs:
        for index, observation in enumerate(envs.reset(seed=3)[0]):
            assert alone[index].reset(seed=3 + index)[0] == [observation]
        for turn in range(40):
            chosen = [index for index in range(count) if index not in expected and chance.random() < 0.6]
            chance.shuffle(chosen)
            playable = {index: f"{turn}" for index in chosen if index not in finished}
            restarted = {index: chance.choice([None, 5, 6]) for index in chosen if index in finished}
            envs.send(playable)
            envs.send_reset(restarted)
            for index, action in playable.items():
                expected[index] = alone[index].step([action])
            for index, seed in restarted.items():
                observations, infos = alone[index].reset_at({0: seed})
                expected[index] = (observations, np.zeros(1), np.zeros(1, bool), np.zeros(1, bool), infos)
            if not expected:
                continue
            ready = envs.recv(min_ready=chance.randint(1, len(expected)))
            assert len(ready.indices) == len(set(ready.indices))
            for position, index in enumerate(ready.indices):
                wanted = expected.pop(index)
                assert [column[position] for column in ready[1:]] == [column[0] for column in wanted]
                over = bool(ready.terminations[position]) and autoreset == "disabled"
                (finished.add if over else finished.discard)(index)
            assert envs.num_pending == len(expected)
