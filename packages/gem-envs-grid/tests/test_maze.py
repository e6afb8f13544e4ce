"""Mazes: a search of its own confirms that each can be solved, needs its keys, and is shown as it is."""

from __future__ import annotations

import random
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.errors import StateError
from gem_envs_grid.maze.env import MazeEnv
from gem_envs_grid.maze.generator import Maze, draw_maze
from gem_envs_grid.maze.picture import VisualMazeEnv, maze_picture, read_maze_picture

SIGHT = "@*#.abcdefABCDEF~"
SIZES = st.integers(2, 9)


def fewest_moves(maze: Maze, most_steps: int = 9, without: str = "") -> int | None:
    """Moves to the goal by breadth-first search over symbols, keys as a set; None if it cannot be reached.

    Args:
        maze: rows and start.
        most_steps: steps of a move.
        without: keys that are never picked up.
    """
    width = len(maze.rows[0])
    grid = "".join(maze.rows)
    queue = deque([(maze.start, frozenset[str](), 0)])
    seen = {(maze.start, frozenset[str]())}
    while queue:
        place, keys, moves = queue.popleft()
        if grid[place] == "*":
            return moves
        for way in (1, -1, width, -width):
            at, held = place, keys
            for _ in range(most_steps):
                wall = grid[at + way]
                if wall == "#" or (wall.isalpha() and wall.lower() not in held):
                    break
                at += 2 * way
                if grid[at].islower() and grid[at] not in without:
                    held = held | {grid[at]}
                if (at, held) not in seen:
                    seen.add((at, held))
                    queue.append((at, held, moves + 1))
                if grid[at] == "*":
                    break
    return None


@given(
    seed=st.integers(0, 2**64),
    height=SIZES,
    width=SIZES,
    doors=st.integers(0, 4),
    decoys=st.integers(0, 2),
    loops=st.floats(0, 1),
)
def test_every_maze_can_be_solved_and_needs_each_of_its_keys(
    seed: int, height: int, width: int, doors: int, decoys: int, loops: float
) -> None:
    """Without the key of any one door the goal is out of reach; keys without doors make no difference."""
    maze = draw_maze(random.Random(seed), height, width, doors, decoys, loops)
    grid = "".join(maze.rows)
    assert fewest_moves(maze) is not None
    closed = [symbol for symbol in grid if symbol.isupper()]
    assert len(closed) <= doors
    for door in closed:
        assert fewest_moves(maze, without=door.lower()) is None
    assert grid.count("*") == 1


@pytest.mark.parametrize("variant", ["level1", "level2", pytest.param("level3", marks=pytest.mark.nightly)])
def test_the_reference_policy_wins(variant: str) -> None:
    """With the whole maze in view in the fewest moves; with a part in view within the turns, by replay of its moves."""
    env = gem.make(f"grid:Maze-v0-{variant}")
    assert isinstance(env, MazeEnv)
    policy = gem.make_policy("reference", env)
    for seed in range(15):
        observation, info = env.reset(seed=seed)
        fewest = fewest_moves(Maze(env.rows, env.place))
        policy.reset(observation, info)
        over, reward = False, 0.0
        while not over:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            over = terminated or truncated
        assert reward == 1.0
        assert fewest is not None
        assert info["turn"] == fewest if not env.view else info["turn"] >= fewest


def walk(env: MazeEnv, actions: int, seed: int) -> list[str]:
    """Return the observations of an episode of random moves."""
    shown = [env.reset(seed=seed)[0]]
    for _ in range(actions):
        observation, _, terminated, truncated, _ = env.step(env.sample_random_action())
        shown.append(observation)
        if terminated or truncated:
            break
    return shown


def picture_in(observation: str) -> list[str]:
    lines = observation.split("\n")
    return [line for line in lines if line and set(line) <= set(SIGHT)]


@pytest.mark.parametrize("env_class", [MazeEnv, VisualMazeEnv])
@pytest.mark.parametrize("decoys", [0, 1])
def test_the_rules_speak_of_keys_without_a_door_where_there_can_be_one(env_class: type[MazeEnv], decoys: int) -> None:
    """Else a key looks like the announcement of a door; each move takes a turn, as the rules say."""
    rules = str(env_class(doors=1, decoys=decoys, max_turns=1).reset(seed=0)[0])
    assert ("There may be keys that open no door." in rules) is bool(decoys)
    assert "within 1 move, one a turn. " in rules


@given(seed=st.integers(0, 2**32), view=st.integers(1, 4))
def test_a_part_in_view_is_that_part_of_the_whole(seed: int, view: int) -> None:
    """The same walk in both: each symbol in the field of view is the whole maze's at that place, or beyond it."""
    whole = MazeEnv(height=5, width=6, doors=1, max_turns=8)
    part = MazeEnv(height=5, width=6, doors=1, max_turns=8, view=view)
    for all_of_it, some in zip(walk(whole, 6, seed), walk(part, 6, seed), strict=True):
        rows, window = picture_in(all_of_it), picture_in(some)
        row, column = next((r, line.index("@")) for r, line in enumerate(rows) if "@" in line)
        reach = 2 * view + 1
        assert len(window) == 2 * reach + 1
        for down, line in enumerate(window):
            for right, symbol in enumerate(line):
                r, c = row + down - reach, column + right - reach
                inside = 0 <= r < len(rows) and 0 <= c < len(rows[0])
                assert symbol == (rows[r][c] if inside else "~")
        assert f"row {row // 2 + 1}, column {column // 2 + 1}" in some


@given(seed=st.integers(0, 2**32), view=st.integers(0, 3))
def test_a_picture_shows_what_the_text_does(seed: int, view: int) -> None:
    """Read back from its pixels, symbol by symbol."""
    env = MazeEnv(height=4, width=5, doors=2, decoys=1, view=view)
    visual = VisualMazeEnv(height=4, width=5, doors=2, decoys=1, view=view)
    text, _ = env.reset(seed=seed)
    parts, _ = visual.reset(seed=seed)
    assert isinstance(parts, list)
    assert read_maze_picture(parts[0]["image_url"]["url"]) == picture_in(text)
    assert not picture_in(parts[1]["text"])


def test_pillow_reads_the_picture() -> None:
    """As a decoder of its own: the colours stand where the symbols do."""
    image_module = pytest.importorskip("PIL.Image")
    import base64
    import io

    symbols = "#####\n#@.a#\n###B#\n#*..#\n#####"
    url = maze_picture(symbols)["image_url"]["url"]
    image = image_module.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))).convert("RGB")
    assert image.size == (50, 50)
    colours = {"#": (40, 40, 40), ".": (255, 255, 255), "@": (31, 119, 180), "*": (44, 160, 44)}
    colours |= {"a": (214, 39, 40), "B": (255, 127, 14)}
    for row, line in enumerate(symbols.split("\n")):
        for column, symbol in enumerate(line):
            assert image.getpixel((10 * column + 5, 10 * row + 5)) == colours[symbol]
    assert image.getpixel((30, 10)) == (255, 255, 255)  # floor around a key
    assert image.getpixel((30, 20)) == (255, 127, 14)  # a door fills its place


def state_of(env: MazeEnv, rows: list[str], place: int, keys: str = "") -> dict[str, object]:
    env.reset(seed=0)
    return {**env.get_state(), "episode": {"rows": rows, "place": place, "keys": keys}}


def test_moves_end_at_walls_doors_and_the_goal() -> None:
    """And keys are picked up on the way."""
    env = MazeEnv(height=2, width=3)
    rows = ["#######", "#..a..#", "#.#####", "#.A..*#", "#######"]
    env.set_state(state_of(env, rows, 8))
    assert "there is a wall" in env.step("\\boxed{left}")[0]
    assert env.step("\\boxed{left}")[4]["action_status"] == "illegal"
    assert "1 step down and stop at a wall" in env.step("\\boxed{DOWN 4}")[0]
    assert "there is door A" in env.step("\\boxed{right}")[0]
    env.step("\\boxed{up}")
    observation, *_ = env.step("\\boxed{right}")
    assert "You pick up key a." in observation
    assert "Keys: a." in observation
    assert "#.@...#" not in observation
    env.step("\\boxed{left 1}")
    env.step("\\boxed{down}")
    observation, reward, terminated, _, info = env.step("so I walk \\boxed{right 9}")
    assert (reward, terminated, info["success"]) == (1.0, True, True)
    assert "2 steps right." in observation


@pytest.mark.parametrize(
    ("rows", "place", "keys"),
    [
        (["#####", "#.*.#", "#.#.#", "#...#", "####."], 6, ""),
        (["#####", "#*#.#", "#.#.#", "#...#", "#####"], 7, ""),
        (["#####", "#*#.#", "#.#.#", "#...#", "#####"], 16, "ba"),
        (["#####", "#.#.#", "#.#.#", "#...#", "#####"], 16, ""),
        (["#####", "#*#.#"], 6, ""),
    ],
)
def test_a_state_with_another_maze_is_refused(rows: list[str], place: int, keys: str) -> None:
    """One that is open, or without a goal, or with the agent in a wall."""
    env = MazeEnv(height=2, width=2)
    state = state_of(env, rows, place, keys)
    before = env.get_state()
    with pytest.raises(StateError):
        env.set_state(state)
    assert env.get_state() == before
