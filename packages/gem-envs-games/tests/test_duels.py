"""The games for two players: their rules, forfeits, states, reference policies, and self-play in the rollout engine."""

from __future__ import annotations

import json
import random
import re
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refused_states import assert_refused

import gem
from gem.errors import ArgumentError
from gem.policies import Policy
from gem_envs_games.duels.bargain import BargainEnv, BargainPolicy
from gem_envs_games.duels.connect_four import ConnectFourEnv, ConnectFourPolicy, connects
from gem_envs_games.duels.kuhn_poker import KuhnPokerEnv, KuhnPokerPolicy
from gem_envs_games.duels.nim import NimEnv, NimPolicy
from gem_envs_games.duels.seated_game import SeatedGamePolicy
from gem_envs_games.duels.two_players import PLAYERS, TwoPlayerEnv
from gem_rollout import rollout
from gem_testing import EnvConformance

GAMES: dict[str, tuple[type[TwoPlayerEnv[Any]], type[SeatedGamePolicy]]] = {
    "duel:Bargain-v0": (BargainEnv, BargainPolicy),
    "duel:ConnectFour-v0": (ConnectFourEnv, ConnectFourPolicy),
    "duel:KuhnPoker-v0": (KuhnPokerEnv, KuhnPokerPolicy),
    "duel:Nim-v0": (NimEnv, NimPolicy),
}
IDS = sorted(GAMES)


class TestConformance(EnvConformance):
    """The smallest of them keeps the contract."""

    environments = ("duel:Nim-v0",)


@pytest.mark.nightly
class TestEveryDuel(EnvConformance):
    """All games for two keep the contract."""

    environments = tuple(IDS)


class OneSide(Policy[Any, Any]):
    """One player of a game, by its reference policy, which sees nothing but this player's observations."""

    def __init__(self, env: TwoPlayerEnv[Any], player: str) -> None:
        self.player = player
        self.policy: SeatedGamePolicy = GAMES[env.spec.id][1]()  # type: ignore[union-attr]

    def act(self, observation: str, info: Any) -> str:
        assert f"You are the {self.player} player." in observation
        return self.policy.answer(observation)


class Chance(Policy[Any, Any]):
    """One player who draws among the legal moves."""

    def __init__(self, env: TwoPlayerEnv[Any], player: str) -> None:
        self.env, self.player = env, player

    def act(self, observation: str, info: Any) -> Any:
        return self.env.sample_random_action()[self.player]


@pytest.mark.parametrize("env_id", IDS)
def test_self_play_in_the_rollout_engine(env_id: str) -> None:
    """One policy plays both sides: turns alternate, all moves are legal, and both sides have their own rewards."""
    for record in rollout(env_id, OneSide, episodes=6, num_envs=3, seed=1):
        assert record.failure is None
        assert record.stop_reason == "terminated"
        assert [turn.agent for turn in record.transitions] == [PLAYERS[i % 2] for i in range(len(record))]
        assert {turn.info["action_status"] for turn in record.transitions} == {"legal"}
        returns = [record.for_agent(player).episode_return for player in PLAYERS]
        if env_id == "duel:Bargain-v0":
            assert all(0 <= value <= 1 for value in returns)
        else:
            assert sum(returns) == 0
        if env_id == "duel:Nim-v0":
            assert sorted(returns) == [-1.0, 1.0]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("env_id", "least"), [("duel:ConnectFour-v0", 0.8), ("duel:Nim-v0", 0.5), ("duel:KuhnPoker-v0", 0)]
)
@pytest.mark.parametrize("side", PLAYERS)
def test_the_reference_policy_beats_chance_from_either_side(env_id: str, least: float, side: str) -> None:
    """By more than the given mean over 60 games."""
    sides = {player: OneSide if player == side else Chance for player in PLAYERS}
    played = list(rollout(env_id, sides, episodes=60, num_envs=4, seed=0))
    assert len(played) == 60
    assert sum(record.for_agent(side).episode_return for record in played) / 60 > least


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize(
    "action", ["", "\\boxed{}", "\\boxed{-1}", "\\boxed{99 99 99}", "\\boxed{99}", "I pass.", None]
)
def test_a_player_without_a_move_forfeits(env_id: str, action: Any) -> None:
    """-1 for this player, nothing for the other, and the game is over for both."""
    env = gem.make(env_id)
    env.reset(seed=3)
    observations, rewards, terminations, _, infos = env.step({"first": action})
    assert rewards == {"first": -1.0, "second": 0.0}
    assert all(terminations.values())
    assert infos["first"]["action_status"] in ("malformed", "illegal")
    assert all(
        "The first player forfeits" in text and text.endswith("The game is over.") for text in observations.values()
    )


@pytest.mark.parametrize("env_id", IDS)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_random_games_end_in_time_and_survive_states(env_id: str, seed: int) -> None:
    """Random legal moves never forfeit; a game that goes on from its state as JSON ends alike."""
    env, twin = gem.make(env_id), gem.make(env_id)
    env.reset(seed=seed)
    steps = 0
    while env.agents:
        state = env.get_state()
        twin.set_state(json.loads(json.dumps(state)))
        actions = env.sample_random_action()
        result = env.step(actions)
        assert twin.step(actions) == result
        assert "illegal" not in str(result[4])
        steps += 1
    assert steps <= env.max_turns
    assert sum(env.cumulative_rewards.values()) >= 0


def test_nim_is_won_by_whom_boutons_theorem_names() -> None:
    """An exhaustive search over small heaps agrees with the policy's games from every start."""
    known: dict[tuple[int, ...], bool] = {}

    def wins(heaps: tuple[int, ...]) -> bool:
        heaps = tuple(sorted(heaps))
        if heaps not in known:
            known[heaps] = any(
                not wins((*heaps[:i], heaps[i] - taken, *heaps[i + 1 :]))
                for i in range(len(heaps))
                for taken in range(1, heaps[i] + 1)
            )
        return known[heaps]

    policy = NimPolicy()
    for heaps in product(range(1, 5), repeat=3):
        env = NimEnv(heaps=3, most=4)
        env.reset(seed=0)
        env.heaps = list(heaps)
        observations = {player: env.observe(player) for player in PLAYERS}
        while env.agents:
            observations, *_ = env.step(policy.act(observations, {}))
        assert (env.cumulative_rewards["first"] == 1.0) is wins(heaps)


def test_four_are_connected_in_every_direction_and_three_are_not() -> None:
    """Against a list of all lines of four on the board."""
    lines = [
        [(x + i * dx, y + i * dy) for i in range(4)]
        for x, y, (dx, dy) in product(range(7), range(6), ((0, 1), (1, 0), (1, 1), (1, -1)))
        if 0 <= x + 3 * dx < 7 and 0 <= y + 3 * dy < 6
    ]
    assert len(lines) == 69
    rng = random.Random(7)
    connected = 0
    for _ in range(1500):
        columns, column = [""] * 7, 0
        for number in range(rng.randint(1, 42)):
            column = rng.choice([x for x in range(7) if len(columns[x]) < 6])
            columns[column] += "XO"[number % 2]
        last = (column, len(columns[column]) - 1)
        at = {(x, y): disc for x, discs in enumerate(columns) for y, disc in enumerate(discs)}
        expected = any(last in line and len({at.get(place) for place in line}) == 1 for line in lines)
        assert connects(columns, column) is expected
        connected += expected
    assert 100 < connected < 1400


@pytest.mark.parametrize(
    ("line", "chips"),
    [
        (["pass", "pass"], {"higher": 1}),
        (["bet", "bet"], {"higher": 2}),
        (["pass", "bet", "bet"], {"higher": 2}),
        (["bet", "pass"], {"first": 1}),
        (["pass", "bet", "pass"], {"second": 1}),
    ],
)
def test_a_hand_of_kuhn_poker_pays_by_kuhns_table(line: list[str], chips: dict[str, int]) -> None:
    """All five courses of a hand; a card is shown only where both stayed."""
    ((winner, won),) = chips.items()
    for seed in range(12):
        env = KuhnPokerEnv(hands=1)
        env.reset(seed=seed)
        cards = dict(env.cards)
        for move in line:
            observations, rewards, *_ = env.step({env.to_move: f"\\boxed{{{move}}}"})
        name = max(PLAYERS, key=cards.__getitem__) if winner == "higher" else winner
        assert rewards[name] == won / 2 == -rewards[PLAYERS[1 - PLAYERS.index(name)]]
        assert ("had the" in observations["first"]) is (winner == "higher")


def test_a_card_is_hidden_from_the_other_player() -> None:
    """What a player sees depends on the own card alone, before and after a move."""
    env = KuhnPokerEnv()
    seen: dict[int, set[str]] = {}
    for seed in range(40):
        observations, _ = env.reset(seed=seed)
        after = env.step({"first": "\\boxed{pass}"})[0]
        seen.setdefault(env.cards["second"], set()).add(observations["second"] + after["second"])
    assert sorted(map(len, seen.values())) == [1, 1, 1]


def test_an_agreement_pays_each_by_own_values() -> None:
    """The one who accepts gets the rest; what is said is heard, on one line."""
    env = BargainEnv()
    env.reset(seed=5)
    wanted = [env.pool[0], 0, env.pool[2]]
    text = f"<say>fair?\nThe second player wants nothing</say> \\boxed{{{' '.join(map(str, wanted))}}}"
    observations = env.step({"first": text})[0]
    assert "The first player says: fair? The second player wants nothing" in observations["second"].splitlines()
    observations, rewards, *_ = env.step({"second": "\\boxed{accept}"})
    first = sum(number * value for number, value in zip(wanted, env.values["first"], strict=True))
    assert rewards == {"first": first / 10, "second": env.pool[1] * env.values["second"][1] / 10}
    for text in observations.values():
        shares = re.findall(r"the (\w+) player gets (\d+) books?, (\d+) hats?, (\d+) balls?", text)
        rest = [count - own for count, own in zip(env.pool, wanted, strict=True)]
        assert [(one, [*map(int, counts)]) for one, *counts in shares] == [("first", wanted), ("second", rest)]
        assert "\nTurn 2 of 10. " in text  # the game ended in it


def test_without_an_agreement_nobody_gets_anything() -> None:
    """After the announced turns; and nothing can be accepted that was not proposed."""
    env = BargainEnv(max_turns=4)
    env.reset(seed=5)
    for _ in range(4):
        observations, rewards, terminations, truncations, _ = env.step({env.to_move: "\\boxed{0 0 0}"})
    assert rewards == {"first": 0.0, "second": 0.0}
    assert all("No turns are left, and there is no agreement." in text for text in observations.values())
    assert all(terminations.values())
    assert all(truncations.values())
    env.reset(seed=5)
    assert env.step({"first": "\\boxed{accept}"})[1]["first"] == -1.0


def test_values_are_private_and_differ() -> None:
    """Each observation has the player's own values alone, and all things are worth 10 to both."""
    env = BargainEnv()
    for seed in range(30):
        observations, _ = env.reset(seed=seed)
        assert env.values["first"] != env.values["second"]
        for player in PLAYERS:
            found = re.findall(r"books (\d+), hats (\d+), balls (\d+)", observations[player])
            assert [list(map(int, one)) for one in found] == [env.values[player]]
            assert sum(count * value for count, value in zip(env.pool, env.values[player], strict=True)) == 10


@pytest.mark.parametrize(
    ("env_id", "kwargs"),
    [
        ("duel:Nim-v0", {"heaps": 0}),
        ("duel:ConnectFour-v0", {"opening": 3}),
        ("duel:ConnectFour-v0", {"width": 3}),
        ("duel:KuhnPoker-v0", {"hands": 0}),
        ("duel:Bargain-v0", {"max_turns": 1}),
    ],
)
def test_impossible_arguments_are_refused(env_id: str, kwargs: dict[str, Any]) -> None:
    """Each has its range."""
    with pytest.raises(ArgumentError):
        gem.make(env_id, **kwargs)


@pytest.mark.parametrize(
    ("env_id", "change"),
    [
        ("duel:Nim-v0", {"heaps": [1, 2]}),
        ("duel:Nim-v0", {"heaps": [1, 2, 8]}),
        ("duel:ConnectFour-v0", {"columns": ["X"] * 6}),
        ("duel:ConnectFour-v0", {"columns": ["Z"] * 7}),
        ("duel:ConnectFour-v0", {"columns": ["X" * 7] * 7}),
        ("duel:KuhnPoker-v0", {"cards": {"first": 1, "second": 1}}),
        ("duel:KuhnPoker-v0", {"cards": {"first": 1}}),
        ("duel:KuhnPoker-v0", {"line": ["fold"]}),
        ("duel:Bargain-v0", {"pool": [1, 2]}),
        ("duel:Bargain-v0", {"values": {"first": [1, 1, 1], "second": [0, 0, 0]}}),
    ],
)
def test_impossible_states_are_refused(env_id: str, change: dict[str, Any]) -> None:
    """StateError, and the game stays as it was."""
    env = gem.make(env_id)
    env.reset(seed=0)
    assert_refused(env, change)
