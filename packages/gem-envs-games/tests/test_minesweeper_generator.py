"""Minesweeper boards that need no guess, against a player who counts every layout."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gem
from gem.errors import ArgumentError
from gem_envs_games import minesweeper_generator
from gem_envs_games.minesweeper import MinesweeperEnv, MinesweeperPolicy
from gem_envs_games.minesweeper_generator import draw_mines, is_deducible, packed_mines

VARIANTS = [f"game:Minesweeper-v1{variant}" for variant in ("", "-easy", "-hard", "-random")]


def around_cells(rows: int, cols: int) -> list[list[int]]:
    cells = [(row, column) for row in range(rows) for column in range(cols)]
    return [[i for i, (r, c) in enumerate(cells) if max(abs(r - row), abs(c - column)) == 1] for row, column in cells]


def won_by_counting(around: Sequence[Sequence[int]], first: int, mines: frozenset[int]) -> bool:
    """Whether a player wins who keeps the set of all layouts, and reveals what holds a mine in none of them."""
    number = [len(mines.intersection(cells)) for cells in around]
    layouts = [frozenset(layout) for layout in combinations(range(len(around)), len(mines))]
    revealed: set[int] = set()
    waiting = [first]
    while waiting:
        while waiting:
            cell = waiting.pop()
            if cell in revealed:
                continue
            revealed.add(cell)
            layouts = [it for it in layouts if cell not in it and len(it.intersection(around[cell])) == number[cell]]
            if not number[cell]:
                waiting += around[cell]
        possible = frozenset().union(*layouts)
        waiting = [cell for cell in range(len(around)) if cell not in revealed and cell not in possible]
    return len(revealed) == len(around) - len(mines)


@given(rows=st.integers(1, 4), cols=st.integers(1, 5), data=st.data())
def test_the_proof_agrees_with_a_player_who_counts_every_layout(rows: int, cols: int, data: st.DataObject) -> None:
    """On boards of up to 4x5 cells, for any first reveal and any layout that leaves it free."""
    around = around_cells(rows, cols)
    first = data.draw(st.integers(0, rows * cols - 1))
    others = [cell for cell in range(rows * cols) if cell != first]
    if not others:
        return
    mines = frozenset(data.draw(st.sets(st.sampled_from(others), min_size=1, max_size=4)))
    assert is_deducible(around, first, mines) == won_by_counting(around, first, mines)


def test_neither_answer_of_the_proof_is_rare() -> None:
    """Of 60 layouts of 4x5 with 4 mines, several pass and many do not, as by counting."""
    around, rng = around_cells(4, 5), random.Random(5)
    passed = 0
    for _ in range(60):
        mines = frozenset(rng.sample(range(1, 20), 4))
        proved = is_deducible(around, 0, mines)
        assert proved == won_by_counting(around, 0, mines)
        passed += proved
    assert 5 < passed < 55


@pytest.mark.parametrize("size", [(1, 2, 1), (2, 3, 1), (4, 4, 3), (5, 5, 5), (16, 16, 51), (4, 16, 12)])
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32))
def test_packed_mines_need_no_guess(size: tuple[int, int, int], seed: int) -> None:
    """They are the cells farthest from the first reveal, whatever it is; only the smallest boards are an exception."""
    rows, cols, num_mines = size
    around = around_cells(rows, cols)
    first = random.Random(seed).randrange(rows * cols)
    mines = packed_mines(around, first, num_mines)
    assert len(set(mines)) == num_mines
    assert first not in mines
    if rows >= 4:
        assert not set(mines).intersection(around[first])
        assert is_deducible(around, first, mines)


def test_all_layouts_without_a_guess_are_drawn_alike() -> None:
    """On 4x4 with three mines, draws from a corner reach each such layout equally often, and no other."""
    around, rng = around_cells(4, 4), random.Random(1)
    outside = [cell for cell in range(16) if cell not in (0, 1, 4, 5)]
    expected = {mines for mines in map(frozenset, combinations(outside, 3)) if won_by_counting(around, 0, mines)}
    counts = dict.fromkeys(expected, 0)
    draws = 20 * len(expected)
    for _ in range(draws):
        counts[frozenset(draw_mines(rng, around, 0, 3, no_guess=True))] += 1
    assert 150 < len(expected) < 220  # of twelve cells with three mines
    # Five standard deviations of a count with the expected value 20.
    assert all(abs(count - 20) < 5 * 20**0.5 for count in counts.values())


def test_an_unlucky_draw_ends_with_packed_mines(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a fixed number of attempts there is a board all the same, and it is won."""
    monkeypatch.setattr(minesweeper_generator, "_ATTEMPTS", 0)
    around = around_cells(8, 8)
    mines = draw_mines(random.Random(1), around, 0, 12, no_guess=True)
    assert sorted(mines) == sorted(packed_mines(around, 0, 12))
    assert win(MinesweeperEnv(rows=9, cols=7, num_mines=12, no_guess=True), 1, first=10) == 1.0


def win(env: gem.Env[Any, Any], seed: int, first: int | None = None) -> float:
    """Return what the reference policy earns, after a first reveal in any cell and a needless flag."""
    policy = MinesweeperPolicy()
    observation, info = env.reset(seed=seed)
    policy.reset(observation, info)
    total, done = 0.0, False
    if first is not None:
        board: Any = env.unwrapped
        row, column = divmod(first % (board.rows * board.cols), board.cols)
        observation, total, done, *_ = env.step(f"\\boxed{{reveal {row} {column}}}")
    while not done:
        observation, reward, done, _, info = env.step(policy.act(observation, info))
        total += reward
    return round(total, 9)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("env_id", VARIANTS)
def test_the_reference_policy_wins_every_game(env_id: str, pytestconfig: pytest.Config) -> None:
    """At night of 500: half of them after a first reveal anywhere, and half after its own in the middle."""
    env = gem.make(env_id)
    games = 500 if pytestconfig.getoption("--tier") == "all" else 120
    assert {win(env, seed, first=seed if seed % 2 else None) for seed in range(games)} == {1.0}


@pytest.mark.parametrize("env_id", VARIANTS)
def test_a_first_reveal_tries_few_boards(env_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two or three on average, each proved by a few passes over the board: about a millisecond."""
    tried = []

    def counted(*arguments: Any) -> bool:
        tried.append(arguments)
        return is_deducible(*arguments)

    monkeypatch.setattr(minesweeper_generator, "is_deducible", counted)
    env = gem.make(env_id)
    games = 60
    for seed in range(games):
        env.reset(seed=seed)
        assert len(tried) <= 4 * (seed + 10)  # a reset draws no board
        env.step("\\boxed{reveal 2 2}")
    assert games <= len(tried) < 4 * games


@pytest.mark.parametrize(
    "kwargs",
    [
        {"rows": 3, "num_mines": 2},
        {"rows": 17},
        {"cols": 3, "num_mines": 2},
        {"cols": 50},
        {"rows": 5, "cols": 5, "num_mines": 6},
        {"rows": 16, "cols": 16, "num_mines": 52},
    ],
)
def test_boards_that_mostly_need_a_guess_are_refused(kwargs: dict[str, Any]) -> None:
    """Few rows or columns, very many, and more than a mine for five cells; without no_guess all are allowed."""
    MinesweeperEnv(**kwargs)
    with pytest.raises(ArgumentError, match="no_guess"):
        MinesweeperEnv(**kwargs, no_guess=True)


def test_the_instructions_promise_it_where_it_holds() -> None:
    """The promise stands in -v1 alone, and is all that its instructions differ in."""
    plain, without = (gem.make(f"game:Minesweeper-{version}").reset(seed=0)[0] for version in ("v0", "v1"))
    promise = "From there on, deduction alone finds every safe cell; you never have to guess. "
    assert without.replace(promise, "") == plain
    assert promise in without
