"""Progress rewards of FifteenPuzzle-v1 and Sokoban-v1: paid once, from the start to the goal, and for nothing else."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.errors import ArgumentError, StateError
from gem_envs_games.fifteen_puzzle import FifteenPuzzleEnv
from gem_envs_games.game import ProgressPayment
from gem_envs_games.sokoban import SokobanEnv

FIFTEEN = [f"game:FifteenPuzzle-v1{variant}" for variant in ("", "-easy", "-hard", "-random")]
SOKOBAN = [f"game:Sokoban-v1{variant}" for variant in ("", "-easy", "-hard", "-random")]
DIRECTIONS = ("up", "down", "left", "right")


def parts(observation: str) -> tuple[int, int]:
    """Read off a board how many tiles are in place or boxes on goals, and how many there are."""
    rows = [line.split() for line in observation.splitlines() if re.fullmatch(r" *(\d+|_)( +(\d+|_))+", line)]
    if rows and "_" in {cell for row in rows for cell in row} and not any("#" in row for row in rows):
        cells = [cell for row in rows[-len(rows[-1]) :] for cell in row]
        return sum(cell == str(place) for place, cell in enumerate(cells, 1)), len(cells) - 1
    room = "".join(re.findall(r"^ *\d+ +([#_OX√P+ ]+)$", observation, re.MULTILINE))
    return room.count("√"), room.count("√") + room.count("X")


def blocked(env: gem.Env[Any, Any]) -> str | None:
    """Return a direction in which nothing can move now, found by trying each on a twin."""
    for direction in DIRECTIONS:
        twin = env.spawn(same_state=True)
        if twin.step(f"\\boxed{{{direction}}}")[4]["action_status"] == "illegal":
            return direction
    return None


@pytest.mark.sampled(3)
@pytest.mark.parametrize("env_id", FIFTEEN + SOKOBAN)
@given(seed=st.integers(0, 2**32), moves=st.lists(st.sampled_from(DIRECTIONS), max_size=60))
def test_the_rewards_sum_to_the_furthest_progress_over_the_start(env_id: str, seed: int, moves: list[str]) -> None:
    """As read off the boards that the agent sees, whatever it plays, illegal moves included; no reward is negative."""
    env = gem.make(env_id)
    observation, _ = env.reset(seed=seed)
    start, whole = parts(observation)
    assert start < whole
    best, total, done = start, 0.0, False
    while not done:
        action = f"\\boxed{{{moves.pop()}}}" if moves else env.sample_random_action()
        observation, reward, done, _, info = env.step(action)
        assert reward >= 0
        total += reward
        best = max(best, parts(observation)[0])
    assert total == pytest.approx((best - start) / (whole - start), abs=1e-12)
    assert info["success"] == (best == whole) == (total == 1.0)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("env_id", FIFTEEN + SOKOBAN)
def test_standing_still_pays_nothing_at_all(env_id: str) -> None:
    """Illegal moves alone return exactly 0.0; in -v0 they are paid for what was in place at the start."""
    paid = 0.0
    for seed in range(25):
        env: Any = gem.make(env_id)
        env.reset(seed=seed)
        direction = blocked(env)
        if direction is None:
            continue
        steps = [env.step(f"\\boxed{{{direction}}}") for _ in range(env.max_turns)]
        rewards = [reward for _, reward, *_ in steps]
        assert rewards == [0.0] * len(rewards)
        assert {info["action_status"] for *_, info in steps} == {"illegal"}
        assert steps[-1][2:4] == (True, True)
        old = gem.make(env_id.replace("-v1", "-v0"))
        old.reset(seed=seed)
        paid += sum(old.step(f"\\boxed{{{direction}}}")[1] for _ in rewards)
    assert paid > 0


@pytest.mark.parametrize("env_id", FIFTEEN)
@pytest.mark.parametrize("pair", [("up", "down"), ("left", "right")])
def test_back_and_forth_pays_for_each_tile_once(env_id: str, pair: tuple[str, str]) -> None:
    """After the first round there and back, nothing more is to be had from it."""
    for seed in range(20):
        env = gem.make(env_id)
        env.reset(seed=seed)
        rewards = [env.step(f"\\boxed{{{pair[turn % 2]}}}")[1] for turn in range(10)]
        assert rewards[3:] == [0.0] * 7


def test_a_box_pushed_off_its_goal_and_back_pays_once() -> None:
    """The first time on a goal pays; leaving it costs nothing, and coming back earns nothing."""
    env = SokobanEnv(num_boxes=2, max_turns=40, progress_reward=True)
    env.reset(seed=0)
    state = env.get_state()
    rows = ["#########", "#_______#", "#P_XO___#", "#_______#", "#_____X_#", "#_____O_#", "#########"]
    state["episode"].update(rows=rows, progress={"start": 0, "best": 0})
    env.set_state(state)
    on = ["right", "right"]
    off_and_back = ["right", "up", "right", "right", "down", "left"]
    rewards = [env.step(f"\\boxed{{{move}}}")[1] for move in on + off_and_back]
    assert rewards == [0.0, 0.5] + [0.0] * 6
    assert "√" in "".join(env.get_state()["episode"]["rows"])


@pytest.mark.parametrize("env_id", FIFTEEN + SOKOBAN)
def test_the_reference_policy_earns_exactly_one(env_id: str) -> None:
    """The rewards on its way sum to 1.0 to the last bit, in any order."""
    env = gem.make(env_id)
    policy = gem.make_policy("reference", env)
    for seed in range(4):
        observation, info = env.reset(seed=seed)
        policy.reset(observation, info)
        rewards, done = [], False
        while not done:
            observation, reward, done, _, info = env.step(policy.act(observation, info))
            rewards.append(reward)
        assert info["success"] is True
        assert sum(rewards) == sum(sorted(rewards)) == sum(map(Fraction, rewards)) == 1


@given(start=st.integers(0, 30), way=st.integers(1, 30), data=st.data())
def test_a_payment_grows_with_the_best_alone(start: int, way: int, data: st.DataObject) -> None:
    """The sum depends on the furthest point only, not on how often or in which steps it was reached."""
    payment = ProgressPayment(start, start + way)
    path = data.draw(st.lists(st.integers(0, start + way), min_size=1, max_size=30))
    best = max(start, *path)
    assert sum(payment.pay(done) for done in path) == pytest.approx((best - start) / way, abs=1e-12)
    assert ProgressPayment.load(payment.save(), start + way, best).save() == {"start": start, "best": best}


@pytest.mark.parametrize(
    ("start", "whole", "best"), [(3, 3, None), (-1, 3, None), (1, 3, 0), (1, 3, 4), (True, 3, None)]
)
def test_an_impossible_payment_is_refused(start: int, whole: int, best: int | None) -> None:
    """A start at or beyond the goal, and a best outside the way."""
    with pytest.raises((ArgumentError, TypeError)):
        ProgressPayment(start, whole, best)


@pytest.mark.parametrize(
    "progress",
    [
        None,
        {},
        {"start": 5},
        {"start": 8, "best": 8},
        {"start": 5, "best": 4},
        {"start": 5, "best": 6},
        {"start": 5, "best": 8},
        {"start": 5, "best": 9},
        {"start": "5", "best": 7},
    ],
)
def test_a_state_whose_progress_contradicts_its_board_is_refused(progress: Any) -> None:
    """More tiles in place than the best says, a goal that was reached before, no progress at all."""
    env = FifteenPuzzleEnv(progress_reward=True)
    env.reset(seed=1)
    state = env.get_state()
    state["episode"].update(tiles=[1, 2, 3, 4, 5, 0, 7, 8, 6], progress={"start": 5, "best": 7})
    env.set_state(state)
    damaged = json.loads(json.dumps(state))
    damaged["episode"]["progress"] = progress
    with pytest.raises(StateError):
        env.set_state(damaged)
    assert env.get_state() == state
    assert env.step("\\boxed{up}")[1] == pytest.approx(1 / 3)
