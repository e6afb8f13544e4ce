"""Environments that fail inside a vector environment, alike in every mode."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from gem.core import Env
from gem.errors import ArgumentError, EpisodeFinishedError, VectorError
from gem.vector import VectorEnv
from gem.vector.sync import SyncVectorEnv
from gem.vector.thread import ThreadVectorEnv
from gem_processes.auto_mode.auto import AutoVectorEnv
from gem_processes.auto_mode.mode_choice import ModeChoice


class Walk(Env[str, str]):
    """A random walk; the action "raise" makes it fail, and it takes an option ``fail``."""

    def __init__(self) -> None:
        self.closed = 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        if options is not None:
            raise ArgumentError(f"no such option: {options}")
        return f"begin {self.rng.random()}", {"seed": seed}

    def step(self, action: str) -> Any:
        if action == "raise":
            raise KeyError("the engine is on fire")
        return f"{action} {self.rng.random()}", 1.0, False, False, {}

    def close(self) -> None:
        self.closed += 1


Build = Callable[..., VectorEnv]


AUTO = partial(AutoVectorEnv, choice=ModeChoice("sync", ""))


@pytest.fixture(params=[SyncVectorEnv, ThreadVectorEnv, AUTO])
def build(request: pytest.FixtureRequest) -> Build:
    """Builds a vector environment of a mode, to be closed by the test."""
    return request.param  # type: ignore[no-any-return]


def test_a_fault_in_the_same_step_mode_begins_the_next_episode(build: Build) -> None:
    """The failed episode is truncated with reward 0.0 and ends on its last observation, and a new one begins."""
    with build([Walk]) as envs:
        envs.reset(seed=3)
        before = envs.step(["left"])[0][0]
        observations, rewards, terminations, truncations, infos = envs.step(["raise"])
        assert (rewards.tolist(), terminations.tolist(), truncations.tolist()) == ([0.0], [False], [True])
        assert infos[0]["error"] == "KeyError: 'the engine is on fire'"
        assert infos[0]["final_info"] == {"error": "KeyError: 'the engine is on fire'", "seed": 3}
        assert infos[0]["final_observation"] == before
        assert observations[0].startswith("begin ")
        assert envs.step(["right"])[1].tolist() == [1.0]


@pytest.mark.parametrize("autoreset", ["next_step", "disabled"])
def test_a_fault_without_same_step_reset_ends_the_episode(build: Build, autoreset: str) -> None:
    """The last observation comes back, and the environment is built when the next episode is asked for."""
    made: list[Walk] = []

    def maker() -> Walk:
        made.append(Walk())
        return made[-1]

    with build([maker], autoreset=autoreset) as envs:
        begin = envs.reset(seed=3)[0][0]
        observations, rewards, terminations, truncations, infos = envs.step(["raise"])
        seed = {"seed": 3} if autoreset == "next_step" else {}
        assert (observations, infos) == ([begin], [{"error": "KeyError: 'the engine is on fire'", **seed}])
        assert (rewards.tolist(), terminations.tolist(), truncations.tolist()) == ([0.0], [False], [True])
        assert (len(made), made[0].closed) == (1, 1)
        if autoreset == "disabled":
            observations, infos = envs.reset_at([0])
        else:
            observations, rewards, terminations, truncations, infos = envs.step(["ignored"])
            assert (rewards.tolist(), terminations.tolist(), truncations.tolist()) == ([0.0], [False], [False])
        assert observations[0].startswith("begin ")
        assert "error" not in infos[0]
        assert len(made) == 2


def test_other_environments_never_notice(build: Build) -> None:
    """Their results are the same whether a neighbour fails or not."""

    def run(*, fails: bool) -> list[Any]:
        results: list[Any] = []
        with build([Walk] * 3) as envs:
            results.append(envs.reset(seed=0)[0][::2])
            for turn in range(6):
                observations, rewards, *_ = envs.step(["a", "raise" if fails and turn % 2 else "a", "b"])
                results.append((observations[::2], rewards.tolist()[::2]))
        return results

    assert run(fails=True) == run(fails=False)


def test_runs_with_faults_repeat(build: Build) -> None:
    """The seed after a fault follows from the last seed and the number of faults, in every mode alike."""

    def run(make: Build) -> list[Any]:
        with make([Walk] * 2) as envs:
            results: list[Any] = [envs.reset(seed=11)]
            results += [envs.step([action, action]) for action in ("a", "raise", "b", "raise", "c")]
            results.append(envs.reset(seed=[7, 11]))
            results.append(envs.step(["raise", "raise"]))
        return [(result[0], result[-1]) for result in results]

    first = run(build)
    assert first == run(SyncVectorEnv)
    seeds = [info["seed"] for _, infos in first for info in infos if info.get("seed") is not None]
    # Seed 11 is given twice, and the seed after its first fault is the same both times; all others differ.
    assert len(set(seeds)) == len(seeds) - 2
    assert all(seed >= 0 for seed in seeds)


def test_without_a_seed_a_rebuilt_environment_is_seeded_by_nobody(build: Build) -> None:
    """No seed is made up where none was given."""
    with build([Walk]) as envs:
        envs.reset()
        assert envs.step(["raise"])[4][0]["seed"] is None


def test_the_failed_environment_is_closed_even_if_that_fails(build: Build) -> None:
    """A close that raises too does not hide the fault."""
    closed = []

    class Stuck(Walk):
        def close(self) -> None:
            closed.append(self)
            raise OSError("cannot close")

    made: list[Any] = [Walk, Stuck]  # popped from the end: the first one is stuck
    with build([lambda: made.pop()()]) as envs:
        envs.reset()
        assert envs.step(["raise"])[4][0]["error"].startswith("KeyError")
        assert len(closed) == 1


@pytest.mark.parametrize(
    "result",
    [
        None,
        ("o", 0.0, False, False),
        ("o", None, False, False, {}),
        ("o", "many", False, False, {}),
        ("o", float("nan"), False, False, {}),
        ("o", float("inf"), True, False, {}),
        ("o", 0.0, False, False, 7),
        ("o", 0.0, False, False, None),
    ],
)
def test_a_malformed_result_is_a_fault(build: Build, result: Any) -> None:
    """What breaks the contract of step ends that environment's episode and nobody else's."""

    class Malformed(Walk):
        def step(self, action: str) -> Any:
            return result

    with build([Malformed, Walk], autoreset="next_step") as envs:
        envs.reset()
        _, rewards, _, truncations, infos = envs.step(["a", "a"])
    assert rewards.tolist() == [0.0, 1.0]
    assert truncations.tolist() == [True, False]
    assert "error" in infos[0]


def test_an_environment_that_never_resets_is_an_error_each_time(build: Build) -> None:
    """Every call builds it at most once more, so nothing loops, and its neighbour plays on."""
    made = []

    class Broken(Walk):
        def __init__(self) -> None:
            made.append(self)

        def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
            raise RuntimeError("no server")

        def close(self) -> None: ...

    with build([Broken, Walk]) as envs:
        observations, infos = envs.reset(seed=1)
        assert (observations[0], infos[0]) == ("", {"error": "RuntimeError: no server"})
        assert "error" not in infos[1]
        for count in range(2, 6):
            observations, rewards, _, truncations, infos = envs.step(["a", "a"])
            assert (observations[0], rewards.tolist(), truncations.tolist()) == ("", [0.0, 1.0], [True, False])
            assert infos[0]["error"] == "RuntimeError: no server"
            assert infos[0]["final_info"] == {"error": "RuntimeError: no server"}
            assert len(made) == count


def test_if_no_environment_can_be_reset_that_is_an_error(build: Build) -> None:
    """A wrong setup shows at once, and a later reset may succeed."""
    works = [False]

    class Depends(Walk):
        needs = "server"

        def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
            if not works[0]:
                raise RuntimeError(f"no {self.needs}")
            return super().reset(seed)

    class DependsOnMore(Depends):
        needs = "disk"

    with build([Depends, DependsOnMore]) as envs:
        with pytest.raises(VectorError, match=r"no environment could be reset; the first failed with .*no server"):
            envs.reset()
        with pytest.raises(VectorError, match=r"call reset\(\)"):
            envs.step(["a", "a"])
        with pytest.raises(VectorError, match=r"environment 0 has failed and is not built again yet: .*no server"):
            _ = envs.envs
        works[0] = True
        envs.reset()
        assert envs.step(["a", "a"])[1].tolist() == [1.0, 1.0]


def test_an_environment_that_recovers_plays_on(build: Build) -> None:
    """A server that was away for a while costs the episodes of that while and no more."""
    away = [False]

    class Depends(Walk):
        def __init__(self) -> None:
            if away[0]:
                raise ConnectionError("away")

        def close(self) -> None: ...

    with build([Depends]) as envs:
        envs.reset(seed=1)
        away[0] = True
        observations, _, _, truncations, infos = envs.step(["raise"])
        assert (observations, truncations.tolist()) == ([""], [True])
        assert infos[0]["final_info"]["error"].startswith("KeyError")
        assert infos[0]["error"] == "ConnectionError: away"
        assert envs.step(["a"])[4][0]["final_info"] == {"error": "ConnectionError: away"}
        away[0] = False
        observations, _, _, truncations, _ = envs.step(["a"])
        assert (observations[0][:5], truncations.tolist()) == ("begin", [True])
        assert envs.step(["a"])[1].tolist() == [1.0]


def test_a_finished_episode_stays_sound_when_the_next_cannot_begin(build: Build) -> None:
    """Its reward, flags and final info are kept; the error stands beside them."""

    class Once(Walk):
        begun = False

        def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
            if self.begun:
                raise RuntimeError("worn out")
            self.begun = True
            return super().reset(seed)

        def step(self, action: str) -> Any:
            return "won", 1.0, True, False, {"correct": True}

    with build([Once]) as envs:
        envs.reset()
        observations, rewards, terminations, truncations, infos = envs.step(["a"])
    assert (observations, rewards.tolist()) == ([""], [1.0])
    assert (terminations.tolist(), truncations.tolist()) == ([True], [False])
    assert infos[0] == {
        "error": "RuntimeError: worn out",
        "final_observation": "won",
        "final_info": {"correct": True},
    }


def test_messages_are_short_and_cannot_raise(build: Build) -> None:
    """A huge message is cut, and one that cannot be shown is replaced."""

    class Hostile(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    class Loud(Walk):
        def step(self, action: str) -> Any:
            raise ValueError("x" * 10**6) if action == "long" else Hostile

    with build([Loud] * 2) as envs:
        envs.reset()
        infos = envs.step(["long", "hostile"])[4]
    assert len(infos[0]["error"]) == 2000
    assert infos[1]["error"].startswith("Hostile: ")


def test_wrong_reset_options_are_the_callers_error(build: Build) -> None:
    """What an environment says about options that it was given is raised, and a correct reset goes on."""
    with build([Walk] * 2) as envs:
        envs.reset()
        with pytest.raises(ArgumentError, match="no such option"):
            envs.reset(options={"level": 3})
        with pytest.raises(TypeError, match="index"):
            envs.reset(env1_kwargs={"index": 3})
        envs.reset(seed=0)
        assert envs.step(["a", "a"])[1].tolist() == [1.0, 1.0]


def test_an_episode_that_someone_else_finished_is_not_hidden(build: Build) -> None:
    """EpisodeFinishedError out of an environment is raised, and the results of the others come with recv."""

    class Finished(Walk):
        def step(self, action: str) -> Any:
            raise EpisodeFinishedError("played to its end by hand")

    with build([Finished, Walk]) as envs:
        envs.reset()
        with pytest.raises(EpisodeFinishedError, match="by hand"):
            envs.step(["a", "a"])
        envs.reset()
        envs.send(["a", "a"])
        raised, results = 0, []
        while envs.num_pending:
            try:
                results += envs.recv().indices
            except EpisodeFinishedError:
                raised += 1
        assert (raised, results) == (1, [1])


def test_every_environment_that_failed_to_close_is_counted(build: Build) -> None:
    """All are closed, and the error says how many of them failed and how the first did."""
    closed = []

    class Stuck(Walk):
        def close(self) -> None:
            closed.append(self)
            raise OSError("cannot close")

    envs = build([Stuck, Walk, Stuck])
    with pytest.raises(RuntimeError, match="2 environments could not be closed; the first: OSError: cannot close"):
        envs.close()
    envs.close()
    assert len(closed) == 2


def test_if_one_cannot_be_built_the_others_are_closed(build: Build) -> None:
    """The constructor's error is raised as it is, and nothing stays open."""
    made: list[Walk] = []

    def maker() -> Walk:
        if len(made) == 2:
            raise ArgumentError("no third")
        made.append(Walk())
        return made[-1]

    with pytest.raises(ArgumentError, match="no third"):
        build([maker] * 3)
    assert [env.closed for env in made] == [1, 1]
