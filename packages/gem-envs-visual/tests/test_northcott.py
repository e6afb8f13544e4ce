"""The rules of Northcott's game, the opponent, and what is earned without the picture."""

from __future__ import annotations

import random
from functools import cache
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.errors import StateError
from gem_envs_visual.northcott import NorthcottEnv, NorthcottPolicy, winning_slide

Play = tuple[str, float, bool]


@cache
def wins(gaps: tuple[int, ...]) -> bool:
    """Return whether the player to move can win, by trying everything."""
    return any(
        not wins(tuple(sorted((*gaps[:row], gap - squares, *gaps[row + 1 :]))))
        for row, gap in enumerate(gaps)
        for squares in range(1, gap + 1)
    )


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4))
def test_a_winning_move_is_known_exactly_where_there_is_one(gaps: list[int]) -> None:
    """The rule agrees with a search of the whole game, and its move leaves the other side a lost game."""
    slide = winning_slide(gaps)
    assert (slide is not None) is wins(tuple(sorted(gaps)))
    if slide is not None:
        row, squares = slide
        assert 1 <= squares <= gaps[row]
        assert not wins(tuple(sorted((*gaps[:row], gaps[row] - squares, *gaps[row + 1 :]))))


def env_at(mine: list[int], theirs: list[int], level: str = "easy") -> NorthcottEnv:
    """Return a game at a position."""
    env = NorthcottEnv(level=level)
    env.reset(seed=0)
    state = env.get_state()
    state["episode"].update(mine=mine, theirs=theirs)
    env.set_state(state)
    return env


def test_discs_slide_towards_each_other() -> None:
    """A move goes up to the other disc from either side, and the opponent answers with the move that wins."""
    env = env_at([0, 6, 0], [4, 3, 1])  # gaps 3, 2, 0
    _, reward, over, _, info = env.step("\\boxed{2 1}")  # gaps 3, 1, 0: the opponent makes 1, 1, 0
    assert (reward, over, info["action_status"]) == (0.0, False, "legal")
    assert (env.mine, env.theirs) == ((0, 5, 0), (2, 3, 1))


def test_the_last_move_wins() -> None:
    """The agent wins as soon as the opponent has no move, and loses when it has none itself."""
    won = env_at([0, 1, 0], [2, 2, 1]).step("\\boxed{1 1}")
    assert won[1:4] == (1.0, True, False)
    lost = env_at([0, 4, 0], [2, 2, 1]).step("\\boxed{1 1}")
    assert lost[1:4] == (0.0, True, False)


@pytest.mark.parametrize("move", ["3 1", "1 4"])
def test_a_forbidden_move_loses(move: str) -> None:
    """A disc can neither move where there is no free square nor over the other one, and tries tell nothing."""
    observation, reward, over, _, info = env_at([0, 6, 0], [4, 3, 1]).step(f"\\boxed{{{move}}}")
    assert (reward, over, info["success"], info["action_status"]) == (0.0, True, False, "illegal")
    assert "forbidden" in cast("Any", observation)[0]["text"]


@pytest.mark.parametrize("action", ["", "2 1", "\\boxed{0 1}", "\\boxed{7 1}", "\\boxed{1 -1}", "\\boxed{1}", None])
def test_no_move_costs_a_turn(action: Any) -> None:
    """What is no move in a box leaves the board as it is."""
    env = env_at([0, 6, 0], [4, 3, 1])
    assert env.step(action)[1:3] == (0.0, False)
    assert (env.mine, env.theirs) == ((0, 6, 0), (4, 3, 1))


@pytest.mark.parametrize(
    "change",
    [{"mine": [0, 1]}, {"mine": [0, 1, 7]}, {"mine": [0, -1, 2]}, {"mine": [4, 6, 0]}, {"theirs": [0, 0, "a"]}],
)
def test_an_impossible_board_is_no_state(change: dict[str, Any]) -> None:
    """Too few rows, squares beside the board, and two discs on one square are refused."""
    env = env_at([0, 6, 0], [4, 3, 1])
    state = env.get_state()
    state["episode"].update(change)
    with pytest.raises(StateError):
        env.set_state(state)


def returns_of(level: str, agent: Any, seeds: int) -> float:
    """Return the mean return of ``agent(rng, turn, environment)``."""
    total = 0.0
    with gem.make(f"visual:Northcott-v0{level}") as env:
        for seed in range(seeds):
            observation, info = env.reset(seed=seed)
            rng, over, turn = random.Random(f"agent {seed}"), False, 0
            while not over:
                observation, reward, terminated, truncated, info = env.step(agent(rng, turn, observation, info))
                total, over, turn = total + reward, terminated or truncated, turn + 1
    return total / seeds


def blind_agents(rows: int) -> dict[str, Any]:
    """Return agents that look at no picture."""
    return {
        "one square in the first row": lambda rng, turn, *_: "\\boxed{1 1}",
        "one square in turn": lambda rng, turn, *_: f"\\boxed{{{turn % rows + 1} 1}}",
        "one square anywhere": lambda rng, *_: f"\\boxed{{{rng.randint(1, rows)} 1}}",
        "one or two squares anywhere": lambda rng, *_: f"\\boxed{{{rng.randint(1, rows)} {rng.randint(1, 2)}}}",
        "any move": lambda rng, *_: f"\\boxed{{{rng.randint(1, rows)} {rng.randint(1, 6)}}}",
    }


@pytest.mark.nightly
@pytest.mark.parametrize("level", ["-easy", "", "-hard"])
def test_who_does_not_look_does_not_win(level: str) -> None:
    """Without the picture, moves win at most the share of 200 games that the manifest states; who looks wins all."""
    rows = NorthcottEnv.levels[{"-easy": "easy", "": "medium", "-hard": "hard"}[level]].rows
    earned = {name: returns_of(level, agent, 200) for name, agent in blind_agents(rows).items()}
    stated = gem.spec(f"visual:Northcott-v0{level}").thoughtless_share
    assert stated == 0.02
    assert max(earned.values()) <= stated, earned
    reader = NorthcottPolicy()
    assert returns_of(level, lambda rng, turn, observation, info: reader.act(observation, info), 50) == 1.0
