"""``mode="server"`` and ``gem.make("http://…")``: the same episodes as in this process."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

import gem
from gem.errors import ArgumentError, EpisodeFinishedError, ResetNeededError, UnknownEnvironmentError
from gem.vector.engine_access import EngineAccess

if TYPE_CHECKING:
    from conftest import RunningServer

pytestmark = pytest.mark.xdist_group("environment server")
GAMES = sorted(spec.id for spec in gem.all_specs("game") if spec.id.endswith("-v0"))


def same(one: Any, two: Any) -> bool:
    """Whether two results of ``step`` are equal, types and all."""
    return repr([list(part) for part in one]) == repr([list(part) for part in two])


@pytest.mark.parametrize(("game", "autoreset"), [*((game, "same_step") for game in GAMES), (GAMES[0], "next_step")])
def test_a_game_is_played_as_in_sync_mode(server: RunningServer, game: str, autoreset: str) -> None:
    """Observations, rewards, flags and infos are equal over several episodes, malformed actions included."""
    with (
        gem.make_vec(game, num_envs=3, seed=11, autoreset=autoreset) as here,
        gem.make_vec(server.env(game), num_envs=3, seed=11, autoreset=autoreset, mode="server") as there,
    ):
        assert here.reset() == there.reset()
        for turn in range(25):
            actions = [env.sample_random_action() if turn % 9 else "\ud800 no move" for env in here.envs]
            assert same(here.step(actions), there.step(actions))


def test_one_environment_is_an_ordinary_env(server: RunningServer) -> None:
    """reset, step, random actions, states and errors of order are those of an environment of this process."""
    here, there = gem.make("game:GuessTheNumber-v0"), gem.make(server.env("game:GuessTheNumber-v0"))
    with here, there:
        with pytest.raises(ResetNeededError):
            there.step("x")
        assert here.reset(seed=2**70) == there.reset(seed=2**70)
        assert here.sample_random_action() == there.sample_random_action()
        state = there.get_state()
        assert state == here.get_state()
        first = there.step("\\boxed{1}")
        assert first == here.step("\\boxed{1}")
        there.set_state(state)
        assert there.step("\\boxed{1}") == first
        assert there.step("nonsense")[2]
        with pytest.raises(EpisodeFinishedError):
            there.step("x")
        with pytest.raises(gem.errors.StateError):
            there.set_state({"no": "state"})


def test_the_rollout_engine_plays_through_a_server(server: RunningServer) -> None:
    """A recorded rollout over a server has the episodes of one in this process."""
    from gem.policies import RandomPolicy
    from gem_rollout import rollout

    game = "game:GuessTheNumber-v0-easy"
    here = list(rollout(game, RandomPolicy, num_envs=2, episodes=6, seed=1))
    there = list(rollout(server.env(game), RandomPolicy, num_envs=2, episodes=6, seed=1))
    assert sorted(e.seed for e in here) == sorted(e.seed for e in there)


def test_results_are_announced(server: RunningServer) -> None:
    """``notify`` calls back when results can be taken, so that an event loop need not wait in ``recv``."""
    ready = threading.Event()
    with gem.make_vec(server.env("game:Sudoku-v0-easy"), num_envs=5, mode="server") as there:
        EngineAccess.of(there).notify(ready.set)
        there.send_reset(range(5))
        results: list[Any] = []
        while len(results) < 5:
            assert ready.wait(60)
            ready.clear()
            results += EngineAccess.of(there).take_ready()
        assert sorted(index for index, _ in results) == list(range(5))


def test_two_servers_share_the_environments(server: RunningServer, serve: Any) -> None:
    """Environments of several addresses are one vector environment."""
    with serve("game:Sudoku-v0", "--workers", "1") as other:
        urls = [server.env("game:Sudoku-v0"), other.env("game:Sudoku-v0")]
        with (
            gem.make_vec(urls, num_envs=6, seed=3, mode="server") as there,
            gem.make_vec("game:Sudoku-v0", num_envs=6, seed=3) as here,
        ):
            assert here.reset() == there.reset()
            actions = ["\\boxed{1 1 1}"] * 6
            assert same(here.step(actions), there.step(actions))


def test_wrong_addresses_say_what_is_wrong(server: RunningServer) -> None:
    """An unknown id gets the nearest one, an address without an id the form, a dead port the command."""
    with pytest.raises(UnknownEnvironmentError, match="did you mean 'game:Sudoku-v0'"):
        gem.make(server.env("game:Sudoko-v0"))
    with pytest.raises(ArgumentError, match="such as http://localhost:8080"):
        gem.make(server.url + "/nothing")
    with pytest.raises(gem.errors.GemError, match="gem serve game:Sudoku-v0"):
        gem.make("http://127.0.0.1:1/game:Sudoku-v0")
    with pytest.raises(gem.errors.NotSupportedError, match="--allow-arguments"):
        gem.make(server.env("game:Sudoku-v0"), max_turns=3)
    with pytest.raises(gem.errors.NotSupportedError, match="--allow-wrapper record"):
        gem.make_vec(server.env("game:Sudoku-v0"), wrappers="record", mode="server")


def test_wrappers_run_on_the_server(server: RunningServer) -> None:
    """A wrapper by name gives the observations of the same wrapper here."""
    with (
        gem.make_vec("game:Sudoku-v0", wrappers="concat_with_action", seed=1) as here,
        gem.make_vec(server.env("game:Sudoku-v0"), wrappers="concat_with_action", seed=1, mode="server") as there,
    ):
        assert here.reset() == there.reset()
        assert same(here.step(["\\boxed{1 1 1}"]), there.step(["\\boxed{1 1 1}"]))


def test_a_maker_of_an_engine_is_told_another_mode(faulty: RunningServer) -> None:
    """A rollout engine makes its environments itself, also those that are played on a server."""

    class EngineMaker:
        spec = gem.spec(faulty.env("faulty:Counting-v0"))

        def __call__(self) -> Any:
            return gem.make(self.spec)

    with (
        gem.make_vec(faulty.env("faulty:Counting-v0"), num_envs=1, mode="server") as envs,
        pytest.raises(ArgumentError, match="faulty:Counting-v0' on its server in every other mode, such as 'thread'"),
    ):
        envs.send_make(0, EngineMaker())
