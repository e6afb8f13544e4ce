"""BabyAI: words and ways agree with minigrid's own grid, and minigrid stays out of the way until it is needed."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from math import sqrt
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError, StateError
from gem_testing import EnvConformance

pytest.importorskip("minigrid", reason="gem-envs-grid[babyai] brings it, on Python 3.11 and newer")
BABYAI = "grid:BabyAI-v0"
README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
CHANCE = {
    int(match[1]): float(match[2])
    for match in re.finditer(r"^\| `grid:BabyAI-v0-level(\d)` \| ([\d.]+)", README, re.MULTILINE)
}
"""Level -> the mean return of random moves over 200 seeds, as documented."""
LEVELS = ("GoToRedBall", "PutNextLocal", "UnlockPickup", "MiniBossLevel")


@pytest.mark.nightly
class TestConformance(EnvConformance):
    """Two levels keep every clause of the contract."""

    environments = (gem.spec(BABYAI), gem.spec(f"{BABYAI}-level2"))


def begun(level: str, seed: int, **kwargs: Any) -> Any:
    env = gem.make(BABYAI, level=level, **kwargs).unwrapped
    env.reset(seed=seed)
    return env


def absolute(level: Any, place: tuple[int, int]) -> tuple[int, int]:
    """Return where on minigrid's grid a place relative to the agent is."""
    ahead, right = place
    x, y = level.agent_pos + ahead * level.dir_vec + right * level.right_vec
    return int(x), int(y)


def minigrid_object(kind: str, color: str) -> Any:
    """Return a thing of minigrid's, which is imported no earlier than by the environment."""
    return getattr(import_module("minigrid.core.world_object"), kind)(color)


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_in_sight_is_there(level: str) -> None:
    """Each object stands on minigrid's grid at the place that the words give, with its colour and state."""
    for seed in range(3):
        env = begun(level, seed)
        for _ in range(10):
            for thing in env._sight.things:
                cell = env.level.grid.get(*absolute(env.level, thing.place))
                assert (cell.type, cell.color) == (thing.kind, thing.color)
                if thing.kind == "door":
                    assert (thing.state == "open", thing.state == "locked") == (cell.is_open, cell.is_locked)
                assert thing.name in env._board()
            *_, terminated, truncated, _ = env.step(env.sample_random_action())
            if terminated or truncated:
                break


@pytest.mark.parametrize("level", LEVELS)
def test_going_to_a_thing_ends_in_front_of_it(level: str) -> None:
    """By minigrid's own position and direction, in every direction that the agent faced before."""
    went = 0
    for seed in range(6):
        env = begun(level, seed)
        for name in [name for name in env._ways if name.startswith("go to ")]:
            env = begun(level, seed)
            thing = next(thing for thing in env._sight.things if name == f"go to {thing.name}")
            target = absolute(env.level, thing.place)
            *_, terminated, _, info = env.step(f"\\boxed{{{name}}}")
            assert info["action_status"] == "legal"
            if not terminated:
                assert tuple(map(int, env.level.front_pos)) == target
                went += 1
    assert went > 3


def test_an_action_that_is_not_listed_is_refused() -> None:
    """It costs a turn; upper case and the spelling of AgentGym make no difference."""
    env = begun("PickupLoc", 3)
    assert env.step("\\boxed{open the window}")[4]["action_status"] == "illegal"
    assert env.step("\\boxed{Turn  LEFT}")[4]["action_status"] == "legal"
    env = begun("PickupLoc", 3)
    listed = next(name for name in env._ways if name.startswith("pick up "))
    before = env.level.carrying
    env.step(f"\\boxed{{{listed.replace('pick up', 'pickup')}}}")
    assert before is None
    assert env.level.carrying is not None


def test_a_mission_with_places_says_whence_they_are_seen() -> None:
    """And no other mission does, such as one that only tells the agent what to do "after you go to the key"."""
    env = gem.make(BABYAI, level="BossLevel").unwrapped
    counts = {True: 0, False: 0}
    for seed in range(40):
        observation, _ = env.reset(seed=seed)
        mission: str = env.level.mission  # type: ignore[attr-defined]
        has_place = any(
            place in mission for place in ("behind you", "in front of you", "on your left", "on your right")
        )
        assert ("Its places are as seen" in observation) == has_place, mission
        counts[has_place] += "after you" in mission
    assert counts[True] > 1
    assert counts[False] > 1


def test_a_locked_door_opens_to_its_key_alone() -> None:
    """Without the key no listed action opens it, and an attempt is answered with the reason; with it, it opens."""
    env = begun("UnlockPickup", 0)
    door = next(thing for thing in env._sight.things if thing.state == "locked")
    env.step(f"\\boxed{{go to {door.name}}}")
    door = next(thing for thing in env._sight.things if thing.state == "locked")
    reason = f"The {door.color} door is locked, and you do not carry a {door.color} key."
    assert door.place == (1, 0)
    for action in ("toggle", f"toggle and go through {door.name}"):
        assert action not in env._ways
        observation, *_, info = env.step(f"\\boxed{{{action}}}")
        assert info["action_status"] == "illegal"
        assert reason in observation
    env.level.carrying = minigrid_object("Key", door.color)
    env._look()
    observation, *_, info = env.step("\\boxed{toggle}")
    assert "Done: toggle." in observation
    assert next(thing for thing in env._sight.things if thing.place == (1, 0)).state == "open"


def test_an_action_that_ends_early_says_so() -> None:
    """A door with a thing behind it is opened and entered, and not passed."""
    env = begun("UnlockPickup", 0)
    door = next(thing for thing in env._sight.things if thing.state == "locked")
    env.level.carrying = minigrid_object("Key", door.color)
    env._look()
    steps = len(env._ways[f"toggle and go through {door.name}"])
    x, y = absolute(env.level, door.place)
    env.level.grid.set(x + 1, y, minigrid_object("Ball", "green"))
    observation, *_ = env.step(f"\\boxed{{toggle and go through {door.name}}}")
    assert f"Of the {steps} steps of" in observation
    assert f"{steps - 1} could be done: the way was blocked." in observation


def test_primitive_actions_are_all_there_is_on_request() -> None:
    """None of the listed actions stands for several steps."""
    env = begun("MiniBossLevel", 3, actions="primitive")
    for _ in range(20):
        assert all(len(way) == 1 for way in env._ways.values())
        env.step(env.sample_random_action())


@pytest.mark.parametrize("level", LEVELS)
def test_the_reference_policy_wins(level: str) -> None:
    """The native reward counts its steps as minigrid does."""
    env = gem.make(BABYAI, level=level, max_turns=300, native_reward=True)
    policy = gem.make_policy("reference", env)
    for seed in range(3):
        observation, info = env.reset(seed=seed)
        policy.reset(observation, info)
        over, reward = False, 0.0
        while not over:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            over = terminated or truncated
        level_env = env.unwrapped.level  # type: ignore[attr-defined]
        assert info["success"]
        assert reward == pytest.approx(1 - 0.9 * info["turn"] / level_env.max_steps)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("level", "episodes"), [(1, 40), (2, 12), (3, 20), (4, 2)])
def test_chance_hardly_ever_wins(level: int, episodes: int) -> None:
    """The documented share is at most 0.11 at every level, and fresh episodes agree with it; a win pays 1."""
    assert sorted(CHANCE) == [1, 2, 3, 4]
    assert CHANCE[level] <= 0.11
    env = gem.make(f"{BABYAI}-level{level}")
    total = 0.0
    for seed in range(episodes):
        env.reset(seed=seed)
        over = False
        while not over:
            _, reward, terminated, truncated, _ = env.step(env.sample_random_action())
            assert reward in (0.0, 1.0)
            total, over = total + reward, terminated or truncated
    share = max(CHANCE[level], 0.005)
    assert total / episodes <= share + 2 * sqrt(share * (1 - share) / episodes)


def test_a_level_seed_is_minigrids() -> None:
    """The mission and the grid are those of gymnasium.make with this seed."""
    import gymnasium

    env = gem.make(BABYAI, level="BossLevel")
    theirs = gymnasium.make("BabyAI-BossLevel-v0")
    for seed in (1, 17):
        env.reset(options={"level_seed": seed})
        observation, _ = theirs.reset(seed=seed)
        ours = env.unwrapped.level  # type: ignore[attr-defined]
        assert ours.mission == observation["mission"]
        assert str(ours.grid.encode()) == str(theirs.unwrapped.grid.encode())  # type: ignore[attr-defined]


def test_splits_have_seeds_of_their_own() -> None:
    """Multiples of four are for testing, all others for training."""
    for split, remainders in (("train", {1, 2, 3}), ("test", {0})):
        env = gem.make(BABYAI, split=split)
        seeds = set()
        for seed in range(30):
            env.reset(seed=seed)
            seeds.add(env.get_state()["episode"]["level_seed"] % 4)
        assert seeds == remainders


def test_making_a_level_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """Minigrid reports rejected samples on standard output, and pygame greets; neither is heard."""
    for seed in range(12):
        begun("PutNextLocal", seed)
        begun("MiniBossLevel", seed)
    assert capfd.readouterr() == ("", "")


def test_a_state_holds_the_way_that_was_taken() -> None:
    """Another instance goes on as the first does; an impossible primitive action is refused."""
    env = begun("MiniBossLevel", 5)
    for _ in range(6):
        env.step(env.sample_random_action())
    twin = gem.make(BABYAI, level="MiniBossLevel").unwrapped
    twin.set_state(env.get_state())
    for _ in range(6):
        action = env.sample_random_action()
        assert env.step(action) == twin.step(action)
    state = env.get_state()
    with pytest.raises(StateError):
        twin.set_state({**state, "episode": {**state["episode"], "primitives": [9]}})


def test_an_unknown_level_is_refused_with_those_that_exist() -> None:
    """The message has the name and the list."""
    with pytest.raises(ArgumentError, match=r"GoToSeq.*got 'GoToMoon'"):
        gem.make(BABYAI, level="GoToMoon")


def test_minigrid_is_not_imported_before_an_environment_is_made() -> None:
    """The spec, and importing the module, do without it; nothing is printed at the import either."""
    script = (
        "import sys, os, gem\nbefore = dict(os.environ)\ngem.spec('grid:BabyAI-v0')\nimport gem_envs_grid.babyai.env\n"
        "assert not {'minigrid', 'pygame', 'gymnasium', 'numpy'} & set(sys.modules)\n"
        "gem.make('grid:BabyAI-v0')\nassert 'minigrid' in sys.modules\nassert before == dict(os.environ)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
