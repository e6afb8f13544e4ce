"""What a vector environment returns at the end of an episode, alike in every mode."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.core import Env
from gem.errors import ArgumentError, VectorError
from gem.vector import AutoresetMode, VectorEnv
from gem.vector.sync import SyncVectorEnv
from gem.vector.thread import ThreadVectorEnv
from gem_processes.auto_mode.auto import AutoVectorEnv
from gem_processes.auto_mode.mode_choice import ModeChoice
from gem_questions import Grade, QuestionEnv


class Count(Env[str, str]):
    """Episodes of a fixed length, in which everything can be told apart."""

    def __init__(self, length: int = 2) -> None:
        self.length = length
        self.episode = 0
        self.turn = 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.episode, self.turn = self.episode + 1, 0
        return f"episode {self.episode}", {"turn": 0, "draw": self.rng.random()}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.turn += 1
        over = self.turn == self.length
        return f"turn {self.turn}: {action}", 0.5 * self.turn, over, False, {"turn": self.turn, "correct": over}


AUTO = partial(AutoVectorEnv, choice=ModeChoice("sync", ""))


@pytest.fixture(params=[SyncVectorEnv, ThreadVectorEnv, AUTO])
def build(request: pytest.FixtureRequest) -> Callable[..., VectorEnv]:
    """Builds a vector environment of a mode, to be closed by the test."""
    return request.param  # type: ignore[no-any-return]


def test_same_step_returns_the_next_episode_and_keeps_the_finished_one(build: Callable[..., VectorEnv]) -> None:
    """Observation and info are the new episode's, final_* and reward and flags the old one's."""
    with build([lambda: Count(1), lambda: Count(2)]) as envs:
        envs.reset()
        observations, rewards, terminations, truncations, infos = envs.step(["a", "b"])
    assert observations == ["episode 2", "turn 1: b"]
    assert infos[0]["turn"] == 0
    assert infos[0]["final_observation"] == "turn 1: a"
    assert infos[0]["final_info"] == {"turn": 1, "correct": True}
    assert "final_info" not in infos[1]
    assert rewards.tolist() == [0.5, 0.5]
    assert rewards.dtype == np.float64
    assert terminations.tolist() == [True, False]
    assert terminations.dtype == np.bool_
    assert truncations.tolist() == [False, False]
    assert truncations.dtype == np.bool_


def test_next_step_resets_in_the_step_after_the_last(build: Callable[..., VectorEnv]) -> None:
    """The last step returns its own observation; the next ignores its action and pays nothing."""
    with build([lambda: Count(1)], autoreset="next_step") as envs:
        envs.reset()
        observations, rewards, terminations, _, infos = envs.step(["a"])
        assert (observations, rewards.tolist(), terminations.tolist()) == (["turn 1: a"], [0.5], [True])
        assert infos == [{"turn": 1, "correct": True}]
        observations, rewards, terminations, truncations, infos = envs.step(["ignored"])
        assert (observations, infos[0]["turn"]) == (["episode 2"], 0)
        assert (rewards.tolist(), terminations.tolist(), truncations.tolist()) == ([0.0], [False], [False])
        assert envs.step(["b"])[0] == ["turn 1: b"]


def test_disabled_refuses_a_finished_environment_before_touching_any(build: Callable[..., VectorEnv]) -> None:
    """The error names the environment, no other was stepped, and reset_at lets it go on."""
    with build([lambda: Count(9), lambda: Count(1)], autoreset=AutoresetMode.DISABLED) as envs:
        envs.reset()
        assert envs.step(["a", "b"])[0] == ["turn 1: a", "turn 1: b"]
        with pytest.raises(VectorError, match=r"episode of environment 1 is over.*reset_at\(\[1\]\)"):
            envs.step(["c", "d"])
        with pytest.raises(VectorError, match="episode of environment 1 is over"):
            envs.send({1: "d"})
        assert envs.reset_at([1])[0] == ["episode 2"]
        assert envs.step(["c", "d"])[0] == ["turn 2: c", "turn 1: d"]


def test_a_reset_of_all_also_ends_the_wait_of_a_finished_environment(build: Callable[..., VectorEnv]) -> None:
    """With autoreset disabled, reset() makes every environment steppable."""
    with build([lambda: Count(1)], autoreset="disabled") as envs:
        envs.reset()
        envs.step(["a"])
        envs.reset()
        assert envs.step(["b"])[0] == ["turn 1: b"]


def test_a_whole_run_is_a_function_of_its_first_seed(build: Callable[..., VectorEnv]) -> None:
    """Autoresets go on from the generator, so runs with one seed draw alike and episodes differ."""
    runs = []
    for _ in range(2):
        with build([lambda: Count(1)] * 3) as envs:
            infos = [envs.reset(seed=5)[1], *(envs.step(["a"] * 3)[4] for _ in range(4))]
        runs.append([info["draw"] for batch in infos for info in batch])
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 15


def test_final_info_is_not_changed_by_an_environment_that_reuses_its_dict(build: Callable[..., VectorEnv]) -> None:
    """final_info is a copy taken before the reset."""

    class Reuses(Count):
        def __init__(self) -> None:
            super().__init__(1)
            self.info: dict[str, Any] = {}

        def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
            observation, info = super().reset(seed)
            self.info.clear()
            self.info.update(info)
            return observation, self.info

        def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
            *result, info = super().step(action)
            self.info.clear()
            self.info.update(info)
            return *result, self.info  # type: ignore[return-value]

    with build([Reuses]) as envs:
        envs.reset()
        info = envs.step(["a"])[4][0]
    assert info["final_info"] == {"turn": 1, "correct": True}
    assert info["turn"] == 0


def test_unusual_but_clear_types_are_brought_into_shape(build: Callable[..., VectorEnv]) -> None:
    """An int reward, NumPy flags and a mapping that is no dict are accepted."""
    from types import MappingProxyType

    class Unusual(Count):
        def step(self, action: str) -> Any:
            return "o", 1, np.bool_(False), np.bool_(True), MappingProxyType({"a": 1})

    with build([Unusual], autoreset="next_step") as envs:
        envs.reset()
        observations, rewards, _, truncations, infos = envs.step(["a"])
    assert (observations, rewards.tolist(), truncations.tolist(), infos) == (["o"], [1.0], [True], [{"a": 1}])


def test_an_unknown_autoreset_mode_is_refused(build: Callable[..., VectorEnv]) -> None:
    """The error lists the modes."""
    with pytest.raises(ArgumentError, match="'same_step', 'next_step', 'disabled'"):
        build([Count], autoreset="same")


class Drawn(Env[str, str]):
    """Draws at every reset and step, as often as the actions say: an episode depends on the generator."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.left = self.rng.randint(1, 3)
        return f"{self.left} {self.rng.random()}", {"turn": 0}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if action == "raise":
            raise KeyError("broken")
        self.left -= 1
        draws = [self.rng.random() for _ in action]
        return f"{draws}", 1.0, self.left == 0, False, {"left": self.left}


def episodes_of(envs: VectorEnv, batches: list[list[str]]) -> list[tuple[int, list[str], list[str]]]:
    """Play batches of actions; return the seed, actions and observations of every episode, from its infos alone."""
    observations, infos = envs.reset(seed=40)
    playing = [(info["seed"], [], [o]) for o, info in zip(observations, infos, strict=True)]
    finished: list[tuple[int, list[str], list[str]]] = []
    resting: set[int] = set()  # where the next step begins an episode
    for batch in batches:
        observations, _, terminations, truncations, infos = envs.step(batch)
        for index, info in enumerate(infos):
            seed, actions, seen = playing[index]
            if index in resting:
                resting.discard(index)
                playing[index] = (info["seed"], [], [observations[index]])
                continue
            over = terminations[index] or truncations[index]
            last = info.get("final_info", info)
            actions.append(batch[index])
            seen.append(info.get("final_observation", observations[index]))
            if over:
                assert last["seed"] == seed
                finished.append((seed, actions, seen))
                if envs.autoreset is AutoresetMode.SAME_STEP:
                    playing[index] = (info["seed"], [], [observations[index]])
                else:
                    resting.add(index)
            else:
                assert "seed" not in last
    return [*finished, *(playing[index] for index in range(envs.num_envs) if index not in resting)]


@pytest.mark.parametrize("mode", [SyncVectorEnv, ThreadVectorEnv])
@pytest.mark.parametrize("autoreset", ["same_step", "next_step"])
@given(st.lists(st.lists(st.sampled_from(["", "a", "bb", "raise"]), min_size=3, max_size=3), min_size=1, max_size=12))
def test_the_seed_in_the_info_plays_an_episode_again_alone(
    mode: type[VectorEnv], autoreset: str, batches: list[list[str]]
) -> None:
    """Also after faults; no two episodes of a run share a seed, and every mode names the same ones."""
    with mode([Drawn] * 3, autoreset=autoreset) as envs:
        found = episodes_of(envs, batches)
    assert len({seed for seed, _, _ in found}) == len(found)
    for seed, actions, seen in found:
        env = Drawn()
        again = [env.reset(seed=seed)[0], *(env.step(action)[0] for action in actions if action != "raise")]
        assert seen == (again if "raise" not in actions else [*again, again[-1]])
    with SyncVectorEnv([Drawn] * 3, autoreset=autoreset) as envs:
        assert episodes_of(envs, batches) == found


class Capital(QuestionEnv):
    """Ten questions, of which an epoch asks each once."""

    def __init__(self) -> None:
        super().__init__([{"question": f"question {number}"} for number in range(10)])

    def question(self, row: Any) -> str:
        return str(row["question"])

    def grade(self, action: Any, row: Any) -> Grade:
        return Grade(0.0, False)

    def reference_answer(self, row: Any) -> str:
        return ""


def test_autoreset_keeps_the_order_of_a_question_set(build: Callable[..., VectorEnv]) -> None:
    """An epoch asks every question once; seed and index in the info ask the same one again."""
    with build([Capital]) as envs:
        observations, infos = envs.reset(seed=4)
        asked = [(observations[0], infos[0])]
        for _ in range(9):
            observations, _, _, _, infos = envs.step(["x"])
            asked.append((observations[0], infos[0]))
    assert len({question for question, _ in asked}) == 10
    for question, info in asked:
        env = Capital()
        assert env.reset(seed=info["seed"], options={"index": info["index"]})[0] == question


def test_no_seed_is_named_where_none_is_known(build: Callable[..., VectorEnv]) -> None:
    """Neither before a seed was given, nor after reset() without one, which goes on from the generator's state."""
    with build([lambda: Count(1)]) as envs:
        assert "seed" not in envs.reset()[1][0]
        info = envs.step(["a"])[4][0]
        assert "seed" not in info
        assert "seed" not in info["final_info"]
        assert envs.reset(seed=6)[1][0]["seed"] == 6
        info = envs.step(["a"])[4][0]
        assert info["final_info"]["seed"] == 6
        assert info["seed"] not in (6, 7)
        assert "seed" not in envs.reset()[1][0]
        assert "seed" not in envs.step(["a"])[4][0]["final_info"]
