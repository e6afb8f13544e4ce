"""Minesweeper: its rules, its rewards, its board and its policy."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from math import fsum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused_states import assert_refused

import gem
from gem.errors import GemError
from gem_envs_games.minesweeper import MinesweeperEnv, MinesweeperPolicy

VARIANTS = ["game:Minesweeper-v0", "game:Minesweeper-v0-easy", "game:Minesweeper-v0-hard", "game:Minesweeper-v0-random"]
Step = tuple[str, float, bool, bool, dict[str, Any]]


def laid(mines: Collection[int], rows: int = 4, cols: int = 5, max_turns: int = 40, shown: str = "") -> MinesweeperEnv:
    """A game whose mines are known; nothing is revealed yet."""
    env = MinesweeperEnv(rows=rows, cols=cols, num_mines=len(mines), max_turns=max_turns)
    env.reset(seed=0)
    state = env.get_state()
    state["episode"].update(mines=sorted(mines), shown=shown or "." * (rows * cols))
    env.set_state(state)
    return env


def reveal(env: gem.Env[Any, Any], cell: int, cols: int = 5) -> Step:
    return env.step(f"\\boxed{{reveal {cell // cols} {cell % cols}}}")


def flag(env: gem.Env[Any, Any], cell: int, cols: int = 5) -> Step:
    return env.step(f"\\boxed{{flag {cell // cols} {cell % cols}}}")


def episode(env: gem.Env[Any, Any]) -> dict[str, Any]:
    saved: dict[str, Any] = env.get_state()["episode"]
    return saved


def board(observation: str) -> list[str]:
    return observation.split("\n")[1:-1]


def test_a_reveal_earns_the_cells_that_it_uncovers() -> None:
    """A number uncovers one cell, a 0 its whole surroundings up to the numbers; each pays 1 / (cells - mines)."""
    env = laid({0, 2})
    _, reward, terminated, _, info = reveal(env, 1)
    assert reward == pytest.approx(1 / 18)
    assert (terminated, info["action_status"]) == (False, "legal")
    observation, reward, terminated, _, _ = reveal(env, 19)
    assert board(observation) == ["  0 1 2 3 4", "0 . 2 . 1 0", "1 1 2 1 1 0", "2 0 0 0 0 0", "3 0 0 0 0 0"]
    assert reward == pytest.approx(17 / 18)
    assert terminated


@pytest.mark.parametrize("flags", [(), (0,), (0, 2)])
def test_revealing_all_safe_cells_wins_whatever_the_flags(flags: tuple[int, ...]) -> None:
    """The original wanted each mine flagged as well, and ended no game that was flagged later."""
    env = laid({0, 2})
    for cell in flags:
        flag(env, cell)
    total = reveal(env, 1)[1]
    _, reward, terminated, truncated, info = reveal(env, 19)
    assert (total + reward, terminated, truncated, info["success"]) == (1.0, True, False, True)


def test_a_flag_does_not_stop_a_win_elsewhere() -> None:
    """A safe cell under a flag is not uncovered from its neighbours: the flag comes off, then the cell is revealed."""
    env = laid({0})
    flag(env, 13)
    reveal(env, 19)
    assert "flagged" in reveal(env, 13)[0]
    flag(env, 13)
    assert reveal(env, 13)[2:4] == (True, False)


@given(seed=st.integers(0), order=st.randoms(use_true_random=False))
def test_the_rewards_of_a_win_sum_to_exactly_one(seed: int, order: Any) -> None:
    """The sum is 1.0 to the last bit, added up in whatever way, in whatever order the cells are revealed."""
    env = MinesweeperEnv(rows=7, cols=6, num_mines=9, max_turns=999)
    env.reset(seed=seed)
    rewards = [reveal(env, 20, cols=6)[1]]
    cells = sorted(set(range(42)) - set(episode(env)["mines"]))
    order.shuffle(cells)
    for cell in cells:
        *_, terminated, _, info = (step := reveal(env, cell, cols=6))
        rewards.append(step[1])
        if terminated:
            break
    assert info["success"] is True
    assert sum(rewards) == fsum(rewards) == sum(map(Fraction, rewards)) == 1


def test_a_mine_loses() -> None:
    """It earns nothing, ends the game, and shows all mines."""
    env = laid({0, 2})
    observation, reward, terminated, truncated, info = reveal(env, 2)
    assert (reward, terminated, truncated, info["success"]) == (0.0, True, False, False)
    assert info["action_status"] == "legal"
    assert board(observation)[1] == "0 * . * . ."


def test_a_flagged_mine_loses_all_the_same() -> None:
    """A flag is a note, as in the original."""
    env = laid({0, 2})
    flag(env, 2)
    assert reveal(env, 2)[1:4] == (0.0, True, False)


def test_flags_come_and_go() -> None:
    """A flag earns nothing and shows as F; a second one takes it away."""
    env = laid({0, 2})
    observation, reward, terminated, _, info = flag(env, 7)
    assert (reward, terminated, info["action_status"]) == (0.0, False, "legal")
    assert board(observation)[2] == "1 . . F . ."
    assert board(flag(env, 7)[0])[2] == "1 . . . . ."


def test_a_revealed_cell_takes_neither_reveal_nor_flag() -> None:
    """Both are illegal, earn nothing and change nothing."""
    env = laid({0, 2})
    reveal(env, 1)
    before = episode(env)
    for act in (reveal, flag):
        _, reward, terminated, _, info = act(env, 1)
        assert (reward, terminated, info["action_status"]) == (0.0, False, "illegal")
        assert episode(env) == before


@pytest.mark.parametrize("verb", ["dig", "revea", "x" * 100_000])
def test_other_commands_are_illegal(verb: str) -> None:
    """They earn nothing and are not echoed at length."""
    observation, reward, terminated, _, info = laid({0}).step(f"\\boxed{{{verb} 0 0}}")
    assert (reward, terminated, info["action_status"]) == (0.0, False, "illegal")
    assert len(observation) < 1000


@pytest.mark.parametrize("verb", ["reveal", "REVEAL", "Reveal"])
def test_commands_are_read_in_any_case(verb: str) -> None:
    """As in the original."""
    assert laid({0}).step(f"\\boxed{{{verb} 0 1}}")[4]["action_status"] == "legal"


@pytest.mark.parametrize("cell", ["4 0", "0 5", "9 9", "0 " + "9" * 5000])
def test_cells_outside_the_board_are_illegal(cell: str) -> None:
    """Rows and columns count from 0."""
    _, reward, terminated, _, info = laid({0}).step(f"\\boxed{{reveal {cell}}}")
    assert (reward, terminated, info["action_status"]) == (0.0, False, "illegal")


@pytest.mark.parametrize(
    "action", ["\\boxed{reveal 1}", "\\boxed{reveal  1 1}", "\\boxed{1 1}", "\\boxed{ſ 1 1}", "no"]
)
def test_the_grammar_is_a_command_and_two_numbers(action: str) -> None:
    """Anything else is malformed: -0.1 and the end."""
    assert laid({0}).step(action)[1:4] == (-0.1, True, False)


def test_running_out_of_turns_ends_the_game() -> None:
    """The last turn keeps its own reward, and both flags are set."""
    env = laid({0, 2}, max_turns=2)
    flag(env, 0)
    _, reward, terminated, truncated, info = reveal(env, 1)
    assert reward == pytest.approx(1 / 18)
    assert (terminated, truncated, info["success"]) == (True, True, False)


@given(seed=st.integers(0), size=st.tuples(st.integers(1, 8), st.integers(1, 8)), data=st.data())
def test_the_first_reveal_opens_its_surroundings(seed: int, size: tuple[int, int], data: st.DataObject) -> None:
    """With as many mines as fit, wherever it is made: no mine lies in the 3x3 block, and the cell shows a 0."""
    rows, cols = size
    room = rows * cols - min(rows, 3) * min(cols, 3)
    if room < 1:
        return
    env = MinesweeperEnv(rows=rows, cols=cols, num_mines=data.draw(st.integers(1, room)), max_turns=99)
    env.reset(seed=seed)
    row, column = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, cols - 1))
    env.step(f"\\boxed{{reveal {row} {column}}}")
    saved = episode(env)
    assert len(set(saved["mines"])) == env.num_mines
    assert all(max(abs(mine // cols - row), abs(mine % cols - column)) > 1 for mine in saved["mines"])
    assert saved["shown"][row * cols + column] == "0"


def test_mines_lie_everywhere_else_alike() -> None:
    """Over many games each cell outside the block holds a mine equally often."""
    env = MinesweeperEnv(rows=5, cols=5, num_mines=4)
    counts, games = [0] * 25, 4000
    for seed in range(games):
        env.reset(seed=seed)
        reveal(env, 12)
        for mine in episode(env)["mines"]:
            counts[mine] += 1
    expected = games * 4 / 16
    outside = [count for cell, count in enumerate(counts) if cell // 5 in (0, 4) or cell % 5 in (0, 4)]
    assert sum(outside) == 4 * games
    # Five standard deviations of a binomial count with probability 1/4.
    assert all(abs(count - expected) < 5 * (games * 3 / 16) ** 0.5 for count in outside)


def test_a_flag_before_the_first_reveal_is_respected() -> None:
    """There are no mines yet: a flagged first cell is illegal to reveal, and stays hidden."""
    env = MinesweeperEnv(rows=5, cols=5, num_mines=4)
    env.reset(seed=0)
    flag(env, 12)
    assert reveal(env, 12)[4]["action_status"] == "illegal"
    assert episode(env)["mines"] == []
    flag(env, 12)
    assert reveal(env, 12)[1] > 0


@pytest.mark.parametrize(
    "kwargs",
    [
        {"num_mines": 1, "rows": 3, "cols": 3},
        {"num_mines": 17, "rows": 5, "cols": 5},
        {"num_mines": 0},
        {"num_mines": 10**5000},
        {"num_mines": -1},
        {"rows": 0},
        {"rows": 51},
        {"cols": 10**9},
        {"cols": 8.0},
        {"rows": "random"},
        {"max_turns": 0},
        {"max_turns": 10**5000},
    ],
)
def test_impossible_arguments_are_refused(kwargs: dict[str, Any]) -> None:
    """Mines that do not fit outside the first block raise at once (the original hung), and so does the rest."""
    with pytest.raises(GemError, match=next(iter(kwargs))):
        MinesweeperEnv(**kwargs)


def test_drawn_boards_are_those_of_the_original() -> None:
    """A square of 5 to 8 rows with n² // 5 mines and n² turns."""
    env = MinesweeperEnv(rows="random", cols=None, num_mines="random", max_turns="random")
    seen = set()
    for seed in range(60):
        env.reset(seed=seed)
        seen.add((env.rows, env.cols, env.num_mines, env.max_turns))
    assert seen == {(n, n, n * n // 5, n * n) for n in range(5, 9)}


def test_turns_alone_may_be_drawn() -> None:
    """max_turns 'random' gives a turn for each cell, and a fixed one goes with drawn boards."""
    assert "within 30 turns" in MinesweeperEnv(rows=5, cols=6, num_mines=3, max_turns="random").reset(seed=0)[0]
    drawn = MinesweeperEnv(rows=None, cols=None, num_mines=None, max_turns=9)
    assert "within 9 turns" in drawn.reset(seed=0)[0]


def test_wide_boards_line_up() -> None:
    """With two-digit columns, each cell stands below the last digit of its column's number."""
    env = MinesweeperEnv(rows=11, cols=12, num_mines=3)
    header, *rows = env.reset(seed=0)[0].split("\n\n")[1].split("\n")[:-1]
    columns = [index for index, sign in enumerate(rows[0]) if sign == "."]
    assert [header[max(index - 1, 0) : index + 1].strip() for index in columns] == [str(n) for n in range(12)]
    assert [row.split()[0] for row in rows] == [str(n) for n in range(11)]


def test_random_moves_mostly_reveal_hidden_cells() -> None:
    """Nine in ten reveal; all aim at cells that are not revealed yet, also after the end."""
    env = laid({0, 2})
    reveal(env, 1)
    moves = [env.sample_random_action()[7:-1].split() for _ in range(500)]
    assert 0.8 < sum(verb == "reveal" for verb, _, _ in moves) / len(moves) < 0.97
    assert all((row, column) != ("0", "1") for _, row, column in moves)
    reveal(env, 19)
    assert env.form.read(env.sample_random_action())


@pytest.mark.parametrize("env_id", VARIANTS)
def test_the_policy_never_takes_a_needless_risk(env_id: str) -> None:
    """Over 30 seeds it does not flag, repeats nothing, and on average reveals over nine tenths of the safe cells."""
    env = gem.make(env_id)
    policy = MinesweeperPolicy()
    returns = []
    for seed in range(30):
        observation, info = env.reset(seed=seed)
        policy.reset(observation, info)
        total, done = 0.0, False
        while not done:
            observation, reward, done, _, info = env.step(policy.act(observation, info))
            assert info["action_status"] == "legal"
            total += reward
        assert total == 1.0 or not info["success"]
        returns.append(total)
    assert sum(returns) / len(returns) > 0.9


def test_the_policy_prefers_what_is_safe() -> None:
    """On a board that logic alone solves, with many cells of the same low risk, it never touches the mine."""
    env = laid({1}, rows=4, cols=3, shown="1..1..0..0..")
    policy = MinesweeperPolicy()
    policy.reset(MinesweeperEnv(rows=4, cols=3, num_mines=1).reset(seed=0)[0], {})
    observation, done = flag(env, 0, cols=3)[0], False  # illegal, but it shows the board
    while not done:
        observation, reward, done, _, info = env.step(policy.act(observation, {}))
        assert reward > 0
    assert info["success"] is True


def test_the_policy_guesses_where_the_risk_is_least() -> None:
    """Beside the 1 a mine has the probability 1/2, far from it 1/5, though no neighbour there is known."""
    env = laid({0, 7}, rows=1, cols=8, shown=".1......")
    policy = MinesweeperPolicy()
    policy.reset(MinesweeperEnv(rows=1, cols=8, num_mines=2).reset(seed=0)[0], {})
    action = policy.act(flag(env, 1, cols=8)[0], {})
    assert int(action[-2]) >= 3


@pytest.mark.parametrize(
    "damage",
    [
        {"rows": 5},
        {"cols": 0},
        {"num_mines": 3},
        {"max_turns": 41},
        {"mines": [0]},
        {"mines": [0, 0]},
        {"mines": [0, 20]},
        {"mines": [0, -1]},
        {"mines": None},
        {"mines": []},
        {"mines": [], "shown": "0" + "." * 19},
        {"shown": "." * 19},
        {"shown": ["."] * 20},
        {"shown": "." * 19 + "1"},
        {"shown": "." * 19 + "*"},
        {"shown": "0" + "." * 19},
        {"shown": "x" * 20},
        {"shown": ""},
    ],
)
def test_damaged_states_are_refused(damage: dict[str, Any]) -> None:
    """A state that no game of these arguments can be in raises StateError and changes nothing."""
    env = laid({0, 2})
    reveal(env, 1)
    assert_refused(env, damage)


def test_drawn_games_take_each_others_states() -> None:
    """A state of a drawn board brings its size along."""
    first, second = (MinesweeperEnv(rows=None, cols=None, num_mines=None, max_turns=None) for _ in range(2))
    first.reset(seed=0)
    size = first.rows
    seed = next(seed for seed in range(99) if second.reset(seed=seed) and second.rows != size)
    second.reset(seed=seed)
    second.set_state(first.get_state())
    assert second.rows == size
    assert reveal(second, 6) == reveal(first, 6)
