"""TowerofHanoi: its rules, its rewards, its action grammar and its policy."""

from __future__ import annotations

import json
import re
import timeit
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError, StateError
from gem_envs_games.tower_of_hanoi import TowerofHanoiEnv, TowerofHanoiPolicy

VARIANTS: dict[str, dict[str, Any]] = {
    "default": {},
    "easy": {"num_disks": 3, "max_turns": 10},
    "hard": {"num_disks": 5, "max_turns": 35},
    "random": {"num_disks": "random", "max_turns": "random"},
}

PUBLISHED_INNER = r"([ABCabc])\s*,?\s*([ABCabc])"


def begun(num_disks: int = 3, max_turns: int = 10, pegs: list[list[int]] | None = None) -> TowerofHanoiEnv:
    """A game in progress, with the given disks on each peg from the bottom up."""
    env = TowerofHanoiEnv(num_disks=num_disks, max_turns=max_turns)
    env.reset(seed=0)
    if pegs is not None:
        state = env.get_state()
        state["episode"]["pegs"] = pegs
        env.set_state(state)
    return env


def pegs_of(env: TowerofHanoiEnv) -> list[list[int]]:
    pegs: list[list[int]] = env.get_state()["episode"]["pegs"]
    return pegs


positions = st.integers(1, 7).flatmap(lambda n: st.lists(st.integers(0, 2), min_size=n, max_size=n))


def stacks(position: list[int]) -> list[list[int]]:
    """The pegs when disk k lies on peg ``position[k - 1]``."""
    return [[disk for disk in range(len(position), 0, -1) if position[disk - 1] == peg] for peg in range(3)]


def distance_to_goal(position: list[int]) -> int:
    """Moves of the shortest solution, by breadth-first search from the goal."""
    start, goal = tuple(position), (2,) * len(position)
    distances = {goal: 0}
    queue = [goal]
    for here in queue:
        for disk, peg in enumerate(here):
            for other in range(3):
                there = (*here[:disk], other, *here[disk + 1 :])
                blocked = peg in here[:disk] or other in here[:disk]
                if other != peg and not blocked and there not in distances:
                    distances[there] = distances[here] + 1
                    queue.append(there)
    return distances[start]


def test_all_disks_begin_on_peg_a() -> None:
    """A game begins with the whole tower on A, whatever the seed."""
    env = TowerofHanoiEnv()
    first, _ = env.reset(seed=1)
    assert pegs_of(env) == [[4, 3, 2, 1], [], []]
    assert env.reset(seed=2)[0] == first


def test_board_shows_the_disks_on_each_peg() -> None:
    """The drawing and the lists below it show the same position, with no space at the ends of lines."""
    env = begun(pegs=[[3], [], [2, 1]])
    observation = env.step("\\boxed{c a}")[0]
    assert observation.splitlines()[1:] == [
        "    |        |        |",
        "    |        |        |",
        "   [1]       |        |",
        " [==3==]     |      [=2=]",
        "----A--------B--------C----",
        "The disks on each peg, from bottom to top:",
        "A [3 1]",
        "B []",
        "C [2]",
        "What is your next move?",
    ]


def test_instructions_hold_every_parameter() -> None:
    """The first observation names the number of disks, the turn limit and the action format."""
    observation, info = TowerofHanoiEnv(num_disks=7, max_turns=333).reset()
    assert "7 disks" in observation
    assert "within 333 turns" in observation
    assert "\\boxed{A B}" in observation
    assert info == {"turn": 0}


def test_a_legal_move_carries_the_top_disk() -> None:
    """A legal move earns 0.0, moves the top disk and says which."""
    env = begun()
    observation, reward, terminated, truncated, info = env.step("I take \\boxed{A,C}")
    assert "Disk 1 has moved from peg A to peg C." in observation
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["action_status"] == "legal"
    assert pegs_of(env) == [[3, 2], [], [1]]


@pytest.mark.parametrize(
    ("move", "reason"),
    [
        ("B A", "Peg B is empty."),
        ("A C", "Disk 2 must not lie on disk 1, the top of peg C."),
        ("C C", "A move needs two different pegs."),
        ("b B", "A move needs two different pegs."),
    ],
)
def test_an_illegal_move_changes_nothing(move: str, reason: str) -> None:
    """An illegal move earns 0.0, counts as a turn, says why, and leaves the pegs as they are."""
    env = begun(pegs=[[3, 2], [], [1]])
    observation, reward, terminated, _, info = env.step(f"\\boxed{{{move}}}")
    assert observation.startswith(f"Turn 1 of 10. {reason}")
    assert (reward, terminated, info["action_status"]) == (0.0, False, "illegal")
    assert pegs_of(env) == [[3, 2], [], [1]]


def test_the_whole_tower_on_c_wins() -> None:
    """The move that completes the tower on C earns 1.0 and terminates, also on the last turn."""
    env = begun(max_turns=1, pegs=[[1], [], [3, 2]])
    observation, reward, terminated, truncated, info = env.step("\\boxed{A C}")
    assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)
    assert observation.endswith("You have won.")


def test_the_whole_tower_on_b_does_not_win() -> None:
    """Only peg C counts."""
    env = begun(pegs=[[1], [3, 2], []])
    assert env.step("\\boxed{A B}")[1:4] == (0.0, False, False)


@pytest.mark.parametrize(
    ("pegs", "move", "reward"),
    [
        ([[3], [1], [2]], "B C", 2 / 3),
        ([[3], [1], [2]], "A C", 1 / 3),  # illegal
        ([[2], [1], [3]], "C C", 1 / 3),  # illegal
        ([[3, 2, 1], [], []], "A B", 0.0),
    ],
)
def test_the_last_turn_earns_the_fraction_of_disks_on_c(pegs: list[list[int]], move: str, reward: float) -> None:
    """Out of turns, the reward is disks on C / disks, after a legal and after an illegal move."""
    env = begun(max_turns=1, pegs=pegs)
    assert env.step(f"\\boxed{{{move}}}")[1:4] == (reward, True, True)


def test_a_malformed_last_turn_earns_no_fraction() -> None:
    """A malformed action costs 0.1 even when disks lie on C."""
    env = begun(max_turns=1, pegs=[[3], [], [2, 1]])
    assert env.step("\\boxed{A D}")[1:4] == (-0.1, True, True)


@given(st.text("ABCabcDKk ,\t\n\u00a0\u3000{}\\", max_size=12))
def test_same_moves_as_published_are_accepted(inner: str) -> None:
    """The linear pattern accepts exactly what the published quadratic one does, with the same pegs."""
    text = f"\\boxed{{{inner}}}"
    ours = TowerofHanoiEnv.form.read(text)
    published = re.search(r"\\boxed\{" + PUBLISHED_INNER + r"\}", text)
    assert (ours and ours.groups()) == (published and published.groups())


def test_a_run_of_spaces_is_read_in_linear_time() -> None:
    """Ten times the spaces take some ten times as long; the original took a hundred times as long."""

    def seconds(spaces: int) -> float:
        text = "\\boxed{a" + " " * spaces
        return min(timeit.repeat(lambda: TowerofHanoiEnv.form.read(text), number=1, repeat=5))

    assert seconds(20_000) < 40 * seconds(2_000)


def test_the_last_box_counts() -> None:
    """Of several moves in one action the last is played."""
    env = begun()
    env.step("\\boxed{A B} no, \\boxed{A C} \\boxed{nothing}")
    assert pegs_of(env) == [[3, 2], [], [1]]


@given(position=positions)
def test_policy_plays_a_shortest_solution_from_any_position(position: list[int]) -> None:
    """From any legal position the policy wins in exactly as many moves as a shortest solution has."""
    shortest = distance_to_goal(position)
    if shortest == 0:
        return
    env = begun(num_disks=len(position), max_turns=shortest, pegs=stacks(position))
    policy = TowerofHanoiPolicy()
    observation, info = env._board(), {"turn": 0}
    for _ in range(shortest):
        observation, reward, terminated, _, info = env.step(policy.act(observation, info))
    assert (reward, terminated) == (1.0, True)


@pytest.mark.parametrize("variant", VARIANTS)
def test_policy_wins_every_variant(variant: str) -> None:
    """The reference policy's return is 1.0 on each of 40 episodes of every variant."""
    env = TowerofHanoiEnv(**VARIANTS[variant])
    policy = TowerofHanoiPolicy()
    for seed in range(40):
        observation, info = env.reset(seed=seed)
        policy.reset(observation, info)
        done, total = False, 0.0
        while not done:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            done, total = terminated or truncated, total + reward
        assert total == 1.0


def test_drawn_games_are_those_of_the_table() -> None:
    """The random variant draws 3, 4 or 5 disks with 10, 20 or 35 turns, all of them."""
    env = TowerofHanoiEnv(num_disks="random", max_turns="random")
    drawn = set()
    for seed in range(60):
        env.reset(seed=seed)
        drawn.add((env.num_disks, env.max_turns))
    assert drawn == {(3, 10), (4, 20), (5, 35)}


@pytest.mark.parametrize("num_disks", range(1, 13))
def test_drawn_turns_suffice(num_disks: int) -> None:
    """With ``max_turns="random"`` alone, any tower can be moved within the turns."""
    env = TowerofHanoiEnv(num_disks=num_disks, max_turns="random")
    env.reset(seed=0)
    assert env.max_turns >= 2**num_disks - 1


def test_random_moves_are_legal_and_varied() -> None:
    """Sampled actions are legal, and from the start both legal moves occur."""
    env = begun(max_turns=300)
    assert {env.sample_random_action() for _ in range(40)} == {"\\boxed{A B}", "\\boxed{A C}"}
    for _ in range(100):
        *_, terminated, _, info = env.step(env.sample_random_action())
        assert info["action_status"] == "legal"
        if terminated:
            break


@pytest.mark.parametrize("num_disks", [0, -1, 13, 10**30])
def test_impossible_numbers_of_disks_are_refused(num_disks: int) -> None:
    """A tower has 1 to 12 disks."""
    with pytest.raises(ArgumentError, match="num_disks"):
        TowerofHanoiEnv(num_disks=num_disks)


@pytest.mark.parametrize(
    "pegs",
    [
        [[3, 2], [], []],
        [[3, 2, 1], [1], []],
        [[3, 2, 2], [], [1]],
        [[3, 2, 1], []],
        [[3, 2, 1], [], [], []],
        [[3, 2, "1"], [], []],
        [[3, 2, -1], [], []],
        [[10**30], [2], [1]],
        ["321", [], []],
        None,
        5,
    ],
)
def test_states_with_wrong_pegs_are_refused(pegs: Any) -> None:
    """Pegs that do not hold each disk once are a StateError, and the game is unchanged."""
    env = begun()
    before = env.get_state()
    state = json.loads(json.dumps(before))
    state["episode"]["pegs"] = pegs
    with pytest.raises(StateError):
        env.set_state(state)
    assert env.get_state() == before
