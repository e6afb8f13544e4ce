"""Sudoku: its rules, its rewards, its board and its policy."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import fsum
from typing import Any

import pytest
from refused_states import assert_refused

import gem
from gem.errors import ArgumentError, StateError
from gem_envs_games.sudoku import SudokuEnv, SudokuPolicy

SOLUTION = [1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1]
VARIANTS = ["game:Sudoku-v0", "game:Sudoku-v0-easy", "game:Sudoku-v0-hard", "game:Sudoku-v0-random"]


def laid(blanks: Iterable[int] = (0, 5, 10), max_turns: int = 9) -> SudokuEnv:
    """A 4x4 game with a known solution and known blanks."""
    env = SudokuEnv(scale=4, clues=3, max_turns=max_turns)
    env.reset(seed=0)
    state = env.get_state()
    state["episode"].update(solution=SOLUTION, blanks=list(blanks), filled=[])
    env.set_state(state)
    return env


def put(env: SudokuEnv, row: int | str, column: int | str, number: int | str) -> tuple[str, float, bool, bool, Any]:
    return env.step(f"\\boxed{{{row} {column} {number}}}")


def blanks_of(env: gem.Env[Any, Any]) -> list[int]:
    blanks: list[int] = env.get_state()["episode"]["blanks"]
    return blanks


def test_right_numbers_fill_the_grid_and_win() -> None:
    """Each of n blanks earns 1/n; the last one ends the game, and not as truncated."""
    env = laid()
    results = [put(env, 1, 1, 1), put(env, 3, 3, 4), put(env, 2, 2, 4)]
    assert [result[1] for result in results] == pytest.approx([1 / 3] * 3)
    assert [result[2:4] for result in results] == [(False, False), (False, False), (True, False)]
    assert results[-1][4]["success"] is True


@pytest.mark.parametrize("count", range(1, 17))
def test_the_rewards_of_a_win_sum_to_exactly_one(count: int) -> None:
    """The sum is 1.0 to the last bit, added up in whatever way, for each number of blanks."""
    env = laid(range(count), max_turns=99)
    rewards = [put(env, cell // 4 + 1, cell % 4 + 1, SOLUTION[cell])[1] for cell in range(count)]
    assert sum(rewards) == fsum(rewards) == sum(map(Fraction, rewards)) == 1


@pytest.mark.parametrize(("blanks", "unit"), [((0, 12, 5), "row"), ((0, 3, 5), "column"), ((0, 3, 12), "box")])
def test_a_number_that_its_row_column_or_box_holds_is_illegal(blanks: tuple[int, ...], unit: str) -> None:
    """It earns nothing, is not entered, and the message names where the number stands."""
    env = laid(blanks)
    observation, reward, terminated, _, info = put(env, 1, 1, 4)
    assert f"The {unit} of that cell holds a 4 already." in observation
    assert (reward, terminated, info["action_status"]) == (0.0, False, "illegal")
    assert env.get_state()["episode"]["filled"] == []


def test_a_wrong_number_that_breaks_no_rule_is_legal_and_worth_nothing() -> None:
    """It is refused, since the solution is unique, and costs a turn."""
    env = laid(blanks=range(16))
    observation, reward, terminated, _, info = put(env, 1, 1, 2)
    assert "is not 2" in observation
    assert (reward, terminated, info["action_status"]) == (0.0, False, "legal")
    assert env.get_state()["episode"]["filled"] == []


@pytest.mark.parametrize("move", [(1, 2, 2), (1, 2, 1)])
def test_a_filled_cell_stays_as_it_is(move: tuple[int, int, int]) -> None:
    """Neither a given nor what the agent filled can be overwritten, not even with the same number."""
    env = laid()
    observation, reward, _, _, info = put(env, *move)
    assert "filled already" in observation
    assert (reward, info["action_status"]) == (0.0, "illegal")
    put(env, 1, 1, 1)
    assert put(env, 1, 1, 1)[1] == 0.0


@pytest.mark.parametrize("bad", [0, 5, "9" * 5000, "0" * 5000])
def test_numbers_outside_the_grid_are_illegal(bad: int | str) -> None:
    """Rows, columns and numbers go from 1 to the scale; nothing else crashes or counts."""
    env = laid()
    for move in ((bad, 1, 1), (1, bad, 1), (1, 1, bad)):
        observation, reward, terminated, _, info = put(env, *move)
        assert "must each be from 1 to 4" in observation
        assert (reward, terminated, info["action_status"]) == (0.0, False, "illegal")


@pytest.mark.parametrize("action", ["\\boxed{1 1}", "\\boxed{1  1 1}", "\\boxed{1,1,1}", "\\boxed{-1 1 1}", "1 1 1"])
def test_the_grammar_is_three_numbers_with_one_blank_between(action: str) -> None:
    """Anything else is malformed: -0.1 and the end, as in the original."""
    assert laid().step(action)[1:4] == (-0.1, True, False)


def test_the_last_turn_keeps_its_reward() -> None:
    """When the turns run out, a right number on the last turn still pays."""
    env = laid(max_turns=2)
    put(env, 1, 1, 2)
    _, reward, terminated, truncated, info = put(env, 1, 1, 1)
    assert reward == pytest.approx(1 / 3)
    assert (terminated, truncated, info["success"]) == (True, True, False)


def test_the_board_shows_headers_boxes_and_blanks() -> None:
    """A dot for a blank; what is filled appears in its place."""
    env = laid()
    put(env, 1, 1, 1)
    observation = put(env, 3, 3, 1)[0]
    assert observation.split("\n")[1:-1] == [
        "    1 2   3 4",
        "  +-----+-----+",
        "1 | 1 2 | 3 4 |",
        "2 | 3 . | 1 2 |",
        "  +-----+-----+",
        "3 | 2 1 | . 3 |",
        "4 | 4 3 | 2 1 |",
        "  +-----+-----+",
    ]


def test_columns_of_large_grids_line_up() -> None:
    """With two-digit numbers, each column's numbers end below the column's header."""
    env = SudokuEnv(scale=16, clues=100)
    lines = env.reset(seed=0)[0].split("\n\n")[1].split("\n")
    ends = [
        index for index, sign in enumerate(lines[0]) if sign != " " and lines[0][index + 1 : index + 2] in ("", " ")
    ]
    rows = [line for line in lines if line.endswith("|")]
    assert len(ends) == len(rows) == 16
    for row in rows:
        cells = [row[end - 1 : end + 1].strip() for end in ends]
        assert cells == row.replace("|", " ").split()[1:]


@pytest.mark.parametrize(("scale", "clues"), [(4, 1), (4, 16), (9, 50), (9, 81), (16, 120), (25, 300)])
def test_clues_are_the_blanks_that_the_generator_tries(scale: int, clues: int) -> None:
    """There is at least one blank and never more than ``clues``, on grids of every scale."""
    env = SudokuEnv(scale=scale, clues=clues, max_turns=1000)
    for seed in range(5):
        observation, _ = env.reset(seed=seed)
        assert 1 <= len(blanks_of(env)) <= clues
        assert f"Fill all {len(blanks_of(env))} blank" in observation


def test_no_more_cells_are_blank_than_there_are_turns() -> None:
    """A grid can always be filled in time."""
    env = SudokuEnv(scale=9, clues=50, max_turns=7)
    env.reset(seed=0)
    assert len(blanks_of(env)) == 7


def test_drawn_settings_are_the_two_of_the_original() -> None:
    """4 rows with 10 clues in 15 turns, or 9 rows with 50 in 50, both of them."""
    env = gem.make("game:Sudoku-v0-random")
    seen = set()
    for seed in range(30):
        env.reset(seed=seed)
        seen.add((env.unwrapped.scale, env.unwrapped.clues, env.unwrapped.max_turns))  # type: ignore[attr-defined]
    assert seen == {(4, 10, 15), (9, 50, 50)}


def test_turns_alone_may_be_drawn() -> None:
    """max_turns 'random' gives a turn for each cell that may be blank, and a fixed one goes with drawn settings."""
    assert "within 12 turns" in SudokuEnv(scale=9, clues=12, max_turns="random").reset(seed=0)[0]
    assert "within 8 turns" in SudokuEnv(scale=None, clues="random", max_turns=8).reset(seed=0)[0]


@pytest.mark.parametrize(
    "kwargs",
    [
        {"scale": 5},
        {"scale": 36},
        {"scale": 1},
        {"scale": True},
        {"scale": "4"},
        {"clues": 0},
        {"clues": 82},
        {"max_turns": 0},
        {"scale": "random"},
        {"clues": None},
    ],
)
def test_impossible_arguments_are_refused(kwargs: dict[str, Any]) -> None:
    """Scales other than 4, 9, 16, 25, more clues than cells, and half-drawn settings raise GEM errors."""
    with pytest.raises(gem.errors.GemError, match=next(iter(kwargs))):
        SudokuEnv(**kwargs)


@pytest.mark.parametrize("env_id", VARIANTS)
def test_the_policy_always_wins_without_a_mistake(env_id: str) -> None:
    """Over 30 seeds it fills each blank at the first try, and earns exactly 1.0."""
    env = gem.make(env_id)
    policy = SudokuPolicy()
    for seed in range(30):
        observation, info = env.reset(seed=seed)
        policy.reset(observation, info)
        total, done = 0.0, False
        while not done:
            observation, reward, done, truncated, info = env.step(policy.act(observation, info))
            total += reward
        assert (total, truncated, info["success"]) == (1.0, False, True)
        assert info["turn"] == len(blanks_of(env))


def test_the_policy_solves_large_grids() -> None:
    """It reads two-digit numbers too."""
    env = SudokuEnv(scale=16, clues=200, max_turns=200)
    observation, info = env.reset(seed=0)
    policy = SudokuPolicy()
    policy.reset(observation, info)
    while not env.step(policy.act(observation, info))[2]:
        pass
    assert env.get_state()["episode"]["filled"] == blanks_of(env)


def test_random_moves_aim_at_blank_cells() -> None:
    """A sampled action names a blank cell and a number of the grid, also after the end."""
    env = laid()
    for _ in range(50):
        row, column, number = map(int, env.sample_random_action()[7:-1].split())
        assert (row - 1) * 4 + column - 1 in (0, 5, 10)
        assert 1 <= number <= 4
    for move in ((1, 1, 1), (2, 2, 4), (3, 3, 4)):
        put(env, *move)
    assert env.form.read(env.sample_random_action())


@pytest.mark.parametrize(
    "damage",
    [
        {"scale": 9},
        {"scale": 4.0},
        {"clues": 5},
        {"max_turns": 10},
        {"max_turns": "9"},
        {"solution": [1] * 16},
        {"solution": SOLUTION[:15]},
        {"solution": [*SOLUTION[:15], 17]},
        {"solution": None},
        {"blanks": []},
        {"blanks": [0, 0]},
        {"blanks": [16]},
        {"blanks": [-1]},
        {"blanks": [0.0]},
        {"filled": [1]},
        {"filled": [0, 0]},
        {"filled": "0"},
    ],
)
def test_damaged_states_are_refused(damage: dict[str, Any]) -> None:
    """A state that no game of these arguments can be in raises StateError and changes nothing."""
    env = laid()
    put(env, 1, 1, 1)
    assert_refused(env, damage)


def test_a_game_with_other_arguments_is_refused() -> None:
    """The error says which arguments differ; drawn ones may."""
    state = laid().get_state()
    with pytest.raises(StateError, match="scale=4"):
        SudokuEnv(scale=9, clues=3, max_turns=9).set_state(state)
    drawn = SudokuEnv(scale="random", clues="random", max_turns="random")
    drawn.set_state(state)
    assert put(drawn, 1, 1, 1)[1] == pytest.approx(1 / 3)


def test_half_drawn_settings_say_so() -> None:
    """The message names the parameters that belong together."""
    with pytest.raises(ArgumentError, match="scale, clues are drawn together"):
        SudokuEnv(scale="random", clues=10)
