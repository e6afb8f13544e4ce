"""The Sokoban generator: its rooms are sound, solvable in time, varied, and made with a bounded effort."""

from __future__ import annotations

import random
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_envs_games import sokoban_generator
from gem_envs_games.sokoban_generator import draw_room
from gem_envs_games.sokoban_room import Room, from_rows, most_boxes, single_cells, to_rows
from gem_envs_games.sokoban_solver import solve

VARIANTS = {"easy": (6, 6, 2, 20), "hard": (8, 8, 4, 50), "random": (8, 8, 5, 50), "default": (7, 7, 3, 30)}

sizes = st.tuples(st.integers(5, 20), st.integers(5, 20))


def assert_sound(room: Room, rows: int, columns: int, num_boxes: int) -> None:
    assert (room.rows, room.columns) == (rows, columns)
    assert from_rows(to_rows(room)) == room  # which checks the wall around, the player and the boxes
    assert room.goals.bit_count() == room.boxes.bit_count() == num_boxes
    assert room.boxes & ~room.goals


@given(size=sizes, data=st.data(), max_moves=st.sampled_from([1, 2, 5, 20, 50, 10**9]), seed=st.integers(0, 10**6))
def test_rooms_of_any_size_are_sound(size: tuple[int, int], data: st.DataObject, max_moves: int, seed: int) -> None:
    """Any allowed size and number of boxes gives a room of that size with a box off its goal."""
    num_boxes = data.draw(st.integers(1, most_boxes(*size)))
    assert_sound(draw_room(random.Random(seed), *size, num_boxes, max_moves), *size, num_boxes)


def test_the_smallest_rooms_hold_the_most_boxes() -> None:
    """Where a carved floor may be too small for all boxes and goals, another one is carved."""
    for seed in range(60):
        assert_sound(draw_room(random.Random(seed), 5, 5, most_boxes(5, 5), 20), 5, 5, most_boxes(5, 5))


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_rooms_can_be_solved_in_time(variant: str, pytestconfig: pytest.Config) -> None:
    """Every room has a solution of at most ``max_moves`` moves, and is not solved at its start."""
    rows, columns, num_boxes, max_moves = VARIANTS[variant]
    for seed in range(40 if pytestconfig.getoption("--tier") == "all" else 15):
        room = draw_room(random.Random(seed), rows, columns, num_boxes, max_moves)
        solution = solve(room, max_moves)
        assert solution is not None
        assert 0 < len(solution) <= max_moves


@pytest.mark.parametrize("max_moves", range(1, 8))
def test_small_budgets_are_kept(max_moves: int) -> None:
    """However few moves are allowed, they suffice."""
    for seed in range(20):
        solution = solve(draw_room(random.Random(seed), 7, 6, 2, max_moves), 100)
        assert solution is not None
        assert 1 <= len(solution) <= max_moves


def test_rooms_vary_in_difficulty() -> None:
    """The shortest solutions of easy rooms spread over the range from 5 to 20 moves."""
    lengths = []
    for seed in range(200):
        solution = solve(draw_room(random.Random(seed), 6, 6, 2, 20), 20)
        assert solution is not None
        lengths.append(len(solution))
    lengths.sort()
    assert lengths[20] <= 7
    assert lengths[-20] >= 15
    assert len(set(lengths)) >= 12


def test_rooms_vary() -> None:
    """200 seeds give 200 rooms."""
    assert len({draw_room(random.Random(seed), 6, 6, 2, 20) for seed in range(200)}) == 200


@pytest.mark.parametrize("size", [(5, 5), (5, 20), (20, 5), (6, 7), (20, 20)])
def test_an_open_room_serves_where_nothing_else_is_found(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a single attempt there still is a sound room, one push from solved, for any number of boxes."""
    monkeypatch.setattr(sokoban_generator, "_ATTEMPTS", 0)
    for num_boxes in range(1, most_boxes(*size) + 1):
        room = draw_room(random.Random(num_boxes), *size, num_boxes, 1)
        assert_sound(room, *size, num_boxes)
        solution = solve(room, 1)
        assert solution is not None
        assert len(solution) == 1


@pytest.mark.parametrize("args", [(20, 20, 81, 10**9), (20, 20, 1, 10**9), (8, 8, 5, 50), (6, 6, 2, 20)])
def test_the_effort_is_bounded(args: tuple[int, int, int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """However large the room and the number of moves, nothing is looked at once the effort is spent."""
    one_move_back = sokoban_generator._one_move_back
    looked_at: list[int] = []

    def counted(columns: int, floor: int, layer: dict[int, int], seen: dict[int, int]) -> dict[int, int]:
        before = one_move_back(columns, floor, layer, seen)
        looked_at.append(len(layer) + len(before))
        return before

    monkeypatch.setattr(sokoban_generator, "_one_move_back", counted)
    for seed in range(12):
        looked_at.clear()
        draw_room(random.Random(seed), *args)
        assert sum(looked_at[:-1]) < sokoban_generator._EFFORT


def test_a_solved_position_is_never_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no attempt gets a single move back, the open room is taken, and not a solved one."""

    def got_nowhere(
        rng: random.Random, columns: int, floor: int, goals: int, wanted: int, effort: int
    ) -> tuple[int, dict[int, int], int]:
        return 0, {goals: floor & ~goals}, effort

    monkeypatch.setattr(sokoban_generator, "_play_backwards", got_nowhere)
    assert_sound(draw_room(random.Random(0), 6, 6, 2, 20), 6, 6, 2)


def test_floor_is_connected() -> None:
    """All floor belongs together."""
    for seed in range(100):
        room = draw_room(random.Random(seed), 8, 8, 4, 50)
        floor = {cell.bit_length() - 1 for cell in single_cells(room.floor)}
        reached = [min(floor)]
        for cell in reached:
            steps = (1, -1, room.columns, -room.columns)
            reached += [cell + step for step in steps if cell + step in floor and cell + step not in reached]
        assert set(reached) == floor


def test_threads_do_not_disturb_each_other() -> None:
    """Eight threads at once give the rooms that one gives; the original kept its search in module globals."""
    interval = sys.getswitchinterval()
    serial = [draw_room(random.Random(seed), 6, 6, 2, 20) for seed in range(80)]
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            parallel = list(pool.map(lambda seed: draw_room(random.Random(seed), 6, 6, 2, 20), range(80)))
    finally:
        sys.setswitchinterval(interval)
    assert parallel == serial


@pytest.mark.parametrize("seed", range(8))
def test_small_rooms_need_exactly_the_moves_gone_back(seed: int) -> None:
    """In a 6 x 6 room every position found so many moves back has a shortest solution of so many moves."""
    rng = random.Random(seed)
    floor = sokoban_generator._carve(rng, 6, 6)
    goals = sum(rng.sample(list(single_cells(floor)), 2))
    moves, layer, _ = sokoban_generator._play_backwards(rng, 6, floor, goals, 5 + seed, 10**6)
    assert moves <= 5 + seed
    for boxes, players in layer.items():
        for player in single_cells(players):
            solution = solve(Room(6, 6, floor, goals, boxes, player), 100)
            assert solution is not None
            assert len(solution) == moves
