"""FifteenPuzzle: its rules, its rewards, its puzzles and its policy."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused_states import assert_refused

import gem
from gem.errors import GemError, StateError
from gem_envs_games import fifteen_puzzle
from gem_envs_games.fifteen_puzzle import FifteenPuzzleEnv, FifteenPuzzlePolicy

VARIANTS = [
    "game:FifteenPuzzle-v0",
    "game:FifteenPuzzle-v0-easy",
    "game:FifteenPuzzle-v0-hard",
    "game:FifteenPuzzle-v0-random",
]
NEARLY = [1, 2, 3, 4, 5, 0, 7, 8, 6]
Step = tuple[str, float, bool, bool, dict[str, Any]]


def laid(tiles: list[int], max_turns: int = 20) -> FifteenPuzzleEnv:
    """A game that begins with these tiles, 0 for the gap."""
    env = FifteenPuzzleEnv(num_rows=int(len(tiles) ** 0.5), max_turns=max_turns)
    env.reset(seed=0)
    state = env.get_state()
    state["episode"]["tiles"] = tiles
    env.set_state(state)
    return env


def slide(env: FifteenPuzzleEnv, direction: str) -> Step:
    return env.step(f"\\boxed{{{direction}}}")


def tiles_of(env: gem.Env[Any, Any]) -> list[int]:
    tiles: list[int] = env.get_state()["episode"]["tiles"]
    return tiles


@pytest.mark.parametrize(
    ("direction", "moved", "after"),
    [
        ("up", 8, [2, 1, 3, 4, 8, 6, 7, 0, 5]),
        ("down", 1, [2, 0, 3, 4, 1, 6, 7, 8, 5]),
        ("left", 6, [2, 1, 3, 4, 6, 0, 7, 8, 5]),
        ("right", 4, [2, 1, 3, 0, 4, 6, 7, 8, 5]),
    ],
)
def test_the_word_is_the_direction_in_which_the_tile_moves(direction: str, moved: int, after: list[int]) -> None:
    """Up moves the tile below the gap, left the one to its right, and so on."""
    env = laid([2, 1, 3, 4, 0, 6, 7, 8, 5])
    observation, reward, terminated, _, info = slide(env, direction)
    assert f"Tile {moved} has moved {direction}" in observation
    assert tiles_of(env) == after
    assert (reward, terminated, info["action_status"]) == (0.0, False, "legal")


@pytest.mark.parametrize(
    ("tiles", "blocked"),
    [([1, 2, 3, 4, 5, 6, 7, 8, 0], ("up", "left")), ([0, 2, 3, 1, 5, 6, 4, 7, 8], ("down", "right"))],
)
def test_no_tile_slides_over_the_edge(tiles: list[int], blocked: tuple[str, str]) -> None:
    """With the gap in a corner, two directions are illegal: no reward, no change, and no wrapping around."""
    env = laid(tiles)
    for direction in blocked:
        _, reward, terminated, _, info = slide(env, direction)
        assert (reward, terminated, info["action_status"]) == (0.0, False, "illegal")
        assert tiles_of(env) == tiles


def test_the_ends_of_rows_are_no_neighbours() -> None:
    """The gap at the end of a row takes no tile from the next row's beginning, nor the other way round."""
    assert slide(laid([1, 2, 3, 4, 5, 0, 7, 8, 6]), "left")[4]["action_status"] == "illegal"
    assert slide(laid([1, 2, 3, 0, 4, 5, 7, 8, 6]), "right")[4]["action_status"] == "illegal"


def test_order_wins() -> None:
    """The last tile in its place earns 1.0 and ends the game, on the last turn too."""
    for max_turns in (1, 20):
        observation, reward, terminated, truncated, info = slide(laid(NEARLY, max_turns), "up")
        assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)
        assert "1 2 3\n4 5 6\n7 8 _\n" in observation


def test_the_last_turn_pays_for_the_cells_in_place() -> None:
    """The gap counts as well as the tiles; a legal and an illegal last move alike."""
    # Tiles 1, 2, 4, 5, 7 and 8 are in place; 3, 6 and the gap are not.
    for tiles, direction, in_place in ((NEARLY, "down", 6), (NEARLY, "left", 7)):
        _, reward, terminated, truncated, info = slide(laid(tiles, max_turns=1), direction)
        assert reward == pytest.approx(in_place / 9)
        assert (terminated, truncated, info["success"]) == (True, True, False)


@pytest.mark.parametrize(
    "action", ["\\boxed{Up}", "\\boxed{UP}", "\\boxed{ up}", "\\boxed{upp}", "\\boxed{rıght}", "\\boxed{1}", "up"]
)
def test_words_are_in_lower_case(action: str) -> None:
    """Anything else is malformed: -0.1 and the end, as in the original."""
    assert laid(NEARLY).step(action)[1:4] == (-0.1, True, False)


def test_the_board_lines_up() -> None:
    """Numbers are right-justified, the gap is an underscore."""
    env = laid([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0, 14, 15])
    observation = slide(env, "left")[0]
    assert " 1  2  3  4\n 5  6  7  8\n 9 10 11 12\n13 14  _ 15\n" in observation


@pytest.mark.parametrize(("num_rows", "most"), [(2, 30), (3, 60), (4, 40)])
@given(seed=st.integers(0), data=st.data())
def test_every_puzzle_can_be_solved_in_time(num_rows: int, most: int, seed: int, data: st.DataObject) -> None:
    """Whatever max_turns is, the policy, which misses no solution within the turns, solves the puzzle."""
    env = FifteenPuzzleEnv(num_rows=num_rows, max_turns=data.draw(st.integers(1, most)))
    env.reset(seed=seed)
    assert tiles_of(env) != [*range(1, num_rows**2), 0]
    assert play(env, FifteenPuzzlePolicy(), seed)[0] == 1.0


@pytest.mark.parametrize("num_rows", [2, 4, 10])
@pytest.mark.parametrize(
    ("max_turns", "lengths"), [(1, {1}), (2, {2}), (9, {5, 6, 7, 8, 9}), (10**9, set(range(51, 101)))]
)
def test_walks_are_as_long_as_the_turns_allow(
    monkeypatch: pytest.MonkeyPatch, num_rows: int, max_turns: int, lengths: set[int]
) -> None:
    """The length is drawn from the upper half of 1 … max_turns, or of 1 … 100 where there are more turns."""
    walked = []

    def walk(rows: int, length: int, rng: random.Random) -> tuple[list[str], int]:
        walked.append(length)
        return original(rows, length, rng)

    original = fifteen_puzzle._walk
    monkeypatch.setattr(fifteen_puzzle, "_walk", walk)
    env = FifteenPuzzleEnv(num_rows=num_rows, max_turns=max_turns)
    for seed in range(800):
        env.reset(seed=seed)
    assert set(walked) == lengths


def play(env: gem.Env[Any, Any], policy: FifteenPuzzlePolicy, seed: int) -> tuple[float, int]:
    """Return and turns of one episode."""
    observation, info = env.reset(seed=seed)
    policy.reset(observation, info)
    total, done = 0.0, False
    while not done:
        observation, reward, done, _, info = env.step(policy.act(observation, info))
        total += reward
    return total, info["turn"]


@pytest.mark.parametrize("moves", range(1, 30))
def test_walks_have_the_asked_length_and_never_end_solved(moves: int) -> None:
    """On two rows twelve moves lead round to the solved board: the walk then goes one move further."""
    env = FifteenPuzzleEnv(num_rows=2, max_turns=10, mc_rand_moves=moves)
    around = [moves % 12, -moves % 12] if moves % 12 else [1, 11]
    circle = [[1, 2, 3, 0]]
    gap, before = 3, -1
    while len(circle) < 12:
        neighbours = {0: (1, 2), 1: (0, 3), 2: (0, 3), 3: (1, 2)}[gap]
        following = next(cell for cell in neighbours if cell != before)
        tiles = circle[-1][:]
        tiles[gap], tiles[following] = tiles[following], 0
        circle.append(tiles)
        gap, before = following, gap
    seen = []
    for seed in range(12):
        env.reset(seed=seed)
        seen.append(circle.index(tiles_of(env)))
    assert set(seen) <= set(around)


def test_two_rows_begin_in_many_ways() -> None:
    """Nine of the eleven unsolved boards come up (the original had two)."""
    env = gem.make("game:FifteenPuzzle-v0-easy")
    seen = set()
    for seed in range(300):
        env.reset(seed=seed)
        seen.add(tuple(tiles_of(env)))
    assert len(seen) == 9


def test_shuffled_boards_are_all_that_can_be_solved() -> None:
    """pure_random on two rows gives each of the eleven unsolved boards, alike often."""
    env = FifteenPuzzleEnv(num_rows=2, max_turns=10, init_algo="pure_random")
    counts: dict[tuple[int, ...], int] = {}
    env.reset(seed=0)
    for _ in range(2200):
        env.reset()
        counts[tuple(tiles_of(env))] = counts.get(tuple(tiles_of(env)), 0) + 1
    assert len(counts) == 11
    assert (1, 2, 3, 0) not in counts
    # Five standard deviations around 200.
    assert all(abs(count - 200) < 5 * 200**0.5 for count in counts.values())


@given(seed=st.integers(0), num_rows=st.integers(2, 10))
def test_shuffled_boards_have_the_right_parity(seed: int, num_rows: int) -> None:
    """A shuffled board is accepted as a state, which one with two tiles exchanged is not."""
    env = FifteenPuzzleEnv(num_rows=num_rows, max_turns=99, init_algo="pure_random")
    env.reset(seed=seed)
    state = env.get_state()
    env.set_state(state)
    tiles = state["episode"]["tiles"]
    one, two = tiles.index(1), tiles.index(2)
    tiles[one], tiles[two] = 2, 1
    with pytest.raises(StateError, match="can be solved"):
        env.set_state(state)


def test_drawn_sizes_are_those_of_the_original() -> None:
    """2, 3 or 4 rows with 10, 20 or 50 turns (the original could not make this id)."""
    env = gem.make("game:FifteenPuzzle-v0-random")
    seen = set()
    for seed in range(60):
        env.reset(seed=seed)
        seen.add((env.unwrapped.num_rows, env.unwrapped.max_turns))  # type: ignore[attr-defined]
    assert seen == {(2, 10), (3, 20), (4, 50)}


def test_turns_alone_may_be_drawn() -> None:
    """max_turns 'random' goes with the size, and a fixed one with drawn sizes."""
    assert "Within 20 turns" in FifteenPuzzleEnv(num_rows=3, max_turns="random").reset(seed=0)[0]
    assert "Within 50 turns" in FifteenPuzzleEnv(num_rows=6, max_turns=None).reset(seed=0)[0]
    assert "Within 7 turns" in FifteenPuzzleEnv(num_rows=None, max_turns=7).reset(seed=0)[0]


@pytest.mark.parametrize(
    "kwargs",
    [
        {"num_rows": 1},
        {"num_rows": 11},
        {"num_rows": "4"},
        {"max_turns": 0},
        {"max_turns": 10**5000},
        {"mc_rand_moves": 0},
        {"mc_rand_moves": 10**9},
        {"mc_rand_moves": "random"},
        {"init_algo": "montecarlo"},
        {"init_algo": None},
    ],
)
def test_impossible_arguments_are_refused(kwargs: dict[str, Any]) -> None:
    """Each raises a GEM error that names the argument."""
    with pytest.raises(GemError, match=next(iter(kwargs))):
        FifteenPuzzleEnv(**kwargs)


@pytest.mark.parametrize("env_id", VARIANTS)
def test_the_policy_always_wins(env_id: str) -> None:
    """Over 30 seeds it solves every puzzle within the turns and earns exactly 1.0."""
    env = gem.make(env_id)
    policy = FifteenPuzzlePolicy()
    assert {play(env, policy, seed)[0] for seed in range(30)} == {1.0}


def test_the_policy_plays_on_where_there_is_no_solution_in_time() -> None:
    """A shuffled board far beyond the turns still gets legal moves to the end, and the pay for cells in place."""
    env = FifteenPuzzleEnv(num_rows=3, max_turns=8, init_algo="pure_random")
    policy = FifteenPuzzlePolicy()
    for seed in range(10):
        total, turns = play(env, policy, seed)
        assert turns == 8 or total == 1.0
        assert 0 <= total <= 1


def test_the_policy_searches_within_the_turns_that_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a plan ends before the goal, the next one gets the remaining turns as its budget."""
    budgets = []

    def solve(position: bytes, sources: Any, budget: int) -> list[str]:
        budgets.append(budget)
        return [next(iter(sources[position.index(0)]))]

    monkeypatch.setattr(fifteen_puzzle, "solve", solve)
    play(FifteenPuzzleEnv(num_rows=4, max_turns=5), FifteenPuzzlePolicy(), seed=0)
    assert budgets == [5, 4, 3, 2, 1]


def test_random_moves_are_legal() -> None:
    """A sampled action slides a tile, also after the end (the original's lacked the box)."""
    env = laid([1, 2, 3, 4, 5, 6, 7, 0, 8], max_turns=99)
    for _ in range(30):
        if slide(env, env.sample_random_action()[7:-1])[2]:
            break
    fresh = laid([1, 2, 3, 4, 5, 6, 7, 8, 0])
    assert {fresh.sample_random_action() for _ in range(50)} == {"\\boxed{down}", "\\boxed{right}"}
    env = laid(NEARLY)
    slide(env, "up")
    assert env.form.read(env.sample_random_action())


@pytest.mark.parametrize(
    "damage",
    [
        {"num_rows": 4},
        {"num_rows": 3.0},
        {"max_turns": 19},
        {"tiles": [1, 2, 3, 4, 5, 6, 8, 7, 0]},
        {"tiles": [1, 2, 3, 4, 5, 6, 7, 8, 8]},
        {"tiles": [1, 2, 3, 4, 5, 6, 7, 0]},
        {"tiles": ["1", 2, 3, 4, 5, 6, 7, 8, 0]},
        {"tiles": None},
        {"tiles": [True, 2, 3, 4, 5, 6, 7, 8, 0]},
    ],
)
def test_damaged_states_are_refused(damage: dict[str, Any]) -> None:
    """A state that no game of these arguments can be in raises StateError and changes nothing."""
    env = laid(NEARLY)
    assert_refused(env, damage)


def test_a_walk_has_the_parity_of_its_length() -> None:
    """Each move takes the gap one cell further: after n moves its distance from the corner has the parity of n."""
    for moves in range(2, 40):
        env = FifteenPuzzleEnv(num_rows=4, mc_rand_moves=moves, max_turns=50)
        env.reset(seed=moves)
        row, column = divmod(tiles_of(env).index(0), 4)
        assert (row + column) % 2 == moves % 2
