"""Sokoban: its rules, its rewards, its arguments and its policy."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError, ArgumentTypeError, GemError, StateError
from gem_envs_games.sokoban import SokobanEnv, SokobanPolicy
from gem_envs_games.sokoban_room import SYMBOLS, from_rows, to_rows

VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "easy": {"dim_room": [6, 6], "num_boxes": 2, "max_turns": 20},
    "hard": {"dim_room": [8, 8], "num_boxes": 4, "max_turns": 50},
    "random": {"dim_room": "random", "num_boxes": "random", "max_turns": "random"},
}

ROOM = ["#######", "#_O___#", "#_XPX_#", "#__O__#", "#######"]


def begun(rows: list[str], max_turns: int = 20) -> SokobanEnv:
    """A game in progress in the given room."""
    env = SokobanEnv(max_turns=max_turns)
    env.reset(seed=0)
    state = env.get_state()
    state["episode"]["rows"] = rows
    env.set_state(state)
    return env


def rows_of(env: SokobanEnv) -> list[str]:
    rows: list[str] = env.get_state()["episode"]["rows"]
    return rows


def test_board_shows_the_room_with_numbered_rows_and_columns() -> None:
    """The board is the room, a number before each row and above each column."""
    observation = begun(ROOM).step("\\boxed{down}")[0]
    assert observation.splitlines() == [
        "Turn 1 of 20. You have moved down.",
        "   0 1 2 3 4 5 6",
        " 0 # # # # # # #",
        " 1 # _ O _ _ _ #",
        " 2 # _ X _ X _ #",
        " 3 # _ _ + _ _ #",
        " 4 # # # # # # #",
        "What is your next move?",
    ]


def test_columns_stay_aligned_in_wide_rooms() -> None:
    """With two-digit numbers every cell still stands under the last digit of its column."""
    observation = SokobanEnv(dim_room=(12, 11), num_boxes=2).reset(seed=0)[0]
    header, *rows = observation.splitlines()[-14:-1]
    places = [match.end() - 1 for match in re.finditer(r"\d+", header)]
    assert len(places) == 11
    for number, row in enumerate(rows):
        assert row.startswith(f"{number:>2} ")
        assert [place for place in range(3, len(row)) if row[place] != " "] == places


def test_instructions_hold_every_parameter_and_symbol() -> None:
    """The first observation names the size, the boxes, the turns and every symbol."""
    observation, info = SokobanEnv(dim_room=[6, 9], num_boxes=3, max_turns=77).reset(seed=1)
    assert "6 rows and 9 columns" in observation
    assert "3 boxes and as many goals" in observation
    assert "within 77 turns" in observation
    assert all(f"'{symbol}'" in observation for symbol in SYMBOLS)
    assert info == {"turn": 0}


@pytest.mark.parametrize(
    ("move", "row_1", "row_2", "row_3", "message"),
    [
        ("up", "#_OP__#", "#_X_X_#", "#__O__#", "You have moved up."),
        ("DOWN", "#_O___#", "#_X_X_#", "#__+__#", "You have moved down."),
        ("left", "#_O___#", "#XP_X_#", "#__O__#", "You have pushed a box left."),
        ("Right", "#_O___#", "#_X_PX#", "#__O__#", "You have pushed a box right."),
    ],
)
def test_possible_moves(move: str, row_1: str, row_2: str, row_3: str, message: str) -> None:
    """A step or a push moves one cell, earns 0.0 and is legal, in capital letters too."""
    env = begun(ROOM)
    observation, reward, terminated, truncated, info = env.step(f"\\boxed{{{move}}}")
    assert observation.startswith(f"Turn 1 of 20. {message}\n")
    assert (reward, terminated, truncated, info["action_status"]) == (0.0, False, False, "legal")
    assert rows_of(env)[1:4] == [row_1, row_2, row_3]


@pytest.mark.parametrize(
    ("row", "other", "move", "message"),
    [
        ("#P_XO_#", "#_____#", "left", "A wall stops you from moving left."),
        ("#X√P__#", "#_O___#", "left", "The box cannot be pushed left."),
        ("#_O_PX#", "#_____#", "right", "The box cannot be pushed right."),
        ("#___P√#", "#__XO_#", "right", "The box cannot be pushed right."),
    ],
)
def test_impossible_moves_change_nothing(row: str, other: str, move: str, message: str) -> None:
    """Walking into a wall and pushing against a wall or a box earn 0.0, are illegal and change nothing."""
    rows = ["#######", row, other, "#_____#", "#######"]
    env = begun(rows)
    observation, reward, terminated, _, info = env.step(f"\\boxed{{{move}}}")
    assert observation.startswith(f"Turn 1 of 20. {message}\n")
    assert (reward, terminated, info["action_status"]) == (0.0, False, "illegal")
    assert rows_of(env) == rows


@pytest.mark.parametrize(
    ("before", "other", "move", "after"),
    [
        ("#_PO__#", "#__X__#", "right", "#__+__#"),
        ("#_+___#", "#__X__#", "right", "#_OP__#"),
        ("#_+O__#", "#_X_X_#", "right", "#_O+__#"),
        ("#PX_O_#", "#_____#", "right", "#_PXO_#"),
        ("#_PXO_#", "#X_O__#", "right", "#__P√_#"),
        ("#_P√_O#", "#_X___#", "right", "#__+XO#"),
        ("#_P√O_#", "#_X___#", "right", "#__+√_#"),
        ("#_+X__#", "#_____#", "right", "#_OPX_#"),
    ],
)
def test_symbols_follow_player_and_boxes(before: str, other: str, move: str, after: str) -> None:
    """A goal shows who stands on it, and shows again when they leave."""
    env = begun(["#######", before, other, "#_____#", "#######"])
    env.step(f"\\boxed{{{move}}}")
    assert rows_of(env)[1] == after


def test_all_boxes_on_goals_win() -> None:
    """The last box on a goal earns 1.0 and terminates, on the last turn too."""
    env = begun(["#######", "#_PXO_#", "#_√___#", "#_____#", "#######"], max_turns=1)
    observation, reward, terminated, truncated, info = env.step("\\boxed{right}")
    assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)
    assert observation.endswith("You have won.")


@pytest.mark.parametrize(("move", "fraction"), [("right", 2 / 3), ("left", 1 / 3), ("up", 1 / 3)])
def test_the_last_turn_earns_the_fraction_of_boxes_on_goals(move: str, fraction: float) -> None:
    """Out of turns, the reward is boxes on goals / boxes, after any move; up is impossible here."""
    env = begun(["#######", "#_PXO_#", "#_√_X_#", "#___O_#", "#######"], max_turns=1)
    assert env.step(f"\\boxed{{{move}}}")[1:4] == (fraction, True, True)


@pytest.mark.parametrize("word", ["rıght", "rİght", "ＵＰ", " up", "upp", ""])
def test_other_words_are_malformed(word: str) -> None:
    """Only the four words in ASCII letters are moves; the original raised on the first two."""
    env = begun(ROOM)
    assert env.step(f"\\boxed{{{word}}}")[1:3] == (-0.1, True)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_policy_wins_every_variant(variant: str, pytestconfig: pytest.Config) -> None:
    """The reference policy's return is 1.0 on each of 40 episodes of every variant; by day on 15."""
    env = SokobanEnv(**VARIANTS[variant])
    policy = SokobanPolicy()
    for seed in range(40 if pytestconfig.getoption("--tier") == "all" else 15):
        observation, info = env.reset(seed=seed)
        policy.reset(observation, info)
        done, total = False, 0.0
        while not done:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            done, total = terminated or truncated, total + reward
        assert total == 1.0


def test_policy_plays_on_where_nothing_can_be_won() -> None:
    """In a room without a solution the policy still gives well-formed moves until the end."""
    env = begun(["#######", "#X_P__#", "#___O_#", "#_____#", "#######"], max_turns=5)
    policy = SokobanPolicy()
    policy.reset("within 5 turns", {})
    observation, done = env._board(), False
    while not done:
        observation, reward, done, truncated, info = env.step(policy.act(observation, {}))
        assert info["action_status"] != "malformed"
    assert (reward, truncated) == (0.0, True)


def test_drawn_games_are_those_of_the_table() -> None:
    """The random variant draws 6 x 6 with 2 boxes and 20 turns or 8 x 8 with 5 boxes and 50 turns."""
    env = SokobanEnv(dim_room="random", num_boxes="random", max_turns="random")
    drawn = set()
    for seed in range(20):
        env.reset(seed=seed)
        rows = rows_of(env)
        assert (len(rows), len(rows[0])) == env.dim_room
        drawn.add((env.dim_room, env.num_boxes, env.max_turns))
    assert drawn == {((6, 6), 2, 20), ((8, 8), 5, 50)}


def test_resets_without_seed_follow_from_the_first_seed() -> None:
    """Later episodes are reproducible as well; the original drew them from the system's entropy."""
    boards = []
    for _ in range(2):
        env = SokobanEnv(dim_room=(6, 6), num_boxes=2)
        env.reset(seed=3)
        boards.append([env.reset()[0] for _ in range(5)])
    assert boards[0] == boards[1]
    assert len(set(boards[0])) == 5


@pytest.mark.parametrize(
    "kwargs",
    [
        {"dim_room": (4, 6)},
        {"dim_room": (6, 21)},
        {"dim_room": (6,)},
        {"dim_room": (6, 6, 6)},
        {"dim_room": "6x6"},
        {"dim_room": 6},
        {"dim_room": {6: 6, 7: 7}},
        {"dim_room": [6, 6.0]},
        {"dim_room": [6, True]},
        {"dim_room": [10**5000]},
        {"dim_room": [10**5000, 6]},
        {"dim_room": (6, 6), "num_boxes": 5},
        {"dim_room": (5, 5), "num_boxes": 3},
        {"num_boxes": 0},
        {"num_boxes": "random"},
        {"dim_room": None},
        {"max_turns": 0},
        {"max_turns": 10**5000},
    ],
    ids=lambda kwargs: "-".join(kwargs),
)
def test_impossible_arguments_are_refused(kwargs: dict[str, Any]) -> None:
    """Sizes out of range, more boxes than fit, and half-drawn parameters are GEM errors."""
    with pytest.raises((ArgumentError, ArgumentTypeError)) as caught:
        SokobanEnv(**kwargs)
    assert isinstance(caught.value, GemError)


def test_random_moves_are_possible_moves() -> None:
    """Sampled actions are possible moves, all of them occur, and a player without any still gets a word."""
    env = begun(["######", "#PX_O#", "#X__##", "#_O###", "######"])
    assert {env.sample_random_action() for _ in range(40)} == {"\\boxed{right}", "\\boxed{down}"}
    enclosed = begun(["######", "#P#XO#", "###__#", "######", "######"])
    assert enclosed.sample_random_action() in [f"\\boxed{{{word}}}" for word in ("up", "down", "left", "right")]


BAD_ROOMS: list[Any] = [
    [],
    None,
    7,
    "#######",
    [1, 2, 3, 4, 5],
    ["####"] * 4,
    ["#" * 21] * 21,
    ["#######", "#_O___#", "#_XPX_#", "#__O__#", "######"],
    ["#######", "#_O___#", "#_XPX_#", "#__?__#", "#######"],
    ["#######", "#_O___#", "#_XPX__", "#__O__#", "#######"],
    ["#######", "__O___#", "#_XPX_#", "#__O__#", "#######"],
    ["###_###", "#_O___#", "#_XPX_#", "#__O__#", "#######"],
    ["#######", "#_O___#", "#_XPX_#", "#__O__#", "#####_#"],
    ["#######", "#_O_P_#", "#_XPX_#", "#__O__#", "#######"],
    ["#######", "#_O___#", "#_X_X_#", "#__O__#", "#######"],
    ["#######", "#_O___#", "#_XP__#", "#__O__#", "#######"],
    ["#######", "#_____#", "#__P__#", "#_____#", "#######"],
]


@pytest.mark.parametrize("rows", BAD_ROOMS, ids=repr)
def test_states_that_are_no_room_are_refused(rows: Any) -> None:
    """A room with gaps, uneven rows, unknown symbols, or the wrong players and boxes is a StateError."""
    env = begun(ROOM)
    before = env.get_state()
    state = json.loads(json.dumps(before))
    state["episode"]["rows"] = rows
    with pytest.raises(StateError):
        env.set_state(state)
    assert env.get_state() == before


@given(data=st.data())
def test_rows_and_bits_say_the_same(data: st.DataObject) -> None:
    """Any rows that make a room come back from its bit sets unchanged."""
    height, width = data.draw(st.integers(3, 6)), data.draw(st.integers(3, 6))
    inner = data.draw(st.lists(st.sampled_from("#_"), min_size=height * width, max_size=height * width))
    places = data.draw(st.permutations(range(height * width)))
    pairs = data.draw(st.integers(1, (len(places) - 1) // 2))
    for place in places[:pairs]:
        inner[place] = "X"
    for place in places[pairs : 2 * pairs]:
        inner[place] = "O"
    inner[places[2 * pairs]] = "P"
    rows = ["".join(inner[start : start + width]) for start in range(0, height * width, width)]
    walled = ["#" * (width + 2), *(f"#{row}#" for row in rows), "#" * (width + 2)]
    assert to_rows(from_rows(walled)) == walled
