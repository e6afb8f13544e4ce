"""The games of three to six players: rules, hidden information, states, and what policies earn."""

from __future__ import annotations

import json
import random
import re
from itertools import product
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refused_states import assert_refused

import gem
from gem.errors import ArgumentError
from gem_envs_games.duels.fireworks import FireworksEnv, FireworksPolicy
from gem_envs_games.duels.fishery import FisheryEnv, most_fish
from gem_envs_games.duels.liars_dice import LiarsDiceEnv
from gem_envs_games.duels.negotiation import NegotiationEnv
from gem_envs_games.duels.relay import RelayEnv, shortest_route
from gem_testing import EnvConformance

GAMES = {
    "duel:Fireworks-v0": FireworksEnv,
    "duel:Fishery-v0": FisheryEnv,
    "duel:LiarsDice-v0": LiarsDiceEnv,
    "duel:Negotiation-v0": NegotiationEnv,
    "duel:Relay-v0": RelayEnv,
}
IDS = sorted(GAMES)
EVERY_ID = [spec.id for spec in gem.all_specs("duel") if re.sub(r"-(easy|hard|pair)$", "", spec.id) in GAMES]


@pytest.mark.nightly
class TestEverySeatedGame(EnvConformance):
    """All of them keep the contract, at every level."""

    environments = tuple(EVERY_ID)


def play(env: Any, policies: dict[str, Any], seed: int) -> dict[str, float]:
    """Play a game, the players without a policy at random, and return what each earned."""
    observations, _ = env.reset(seed=seed)
    while env.agents:
        actions = env.sample_random_action()
        for player in actions:
            if player in policies:
                actions[player] = policies[player](observations[player])
        observations, *_ = env.step(actions)
    return dict(env.cumulative_rewards)


def mean_of_all(env_id: str, policy: Any, games: int) -> float:
    """Return the mean sum of rewards where one policy plays every seat, None at random."""
    env: Any = gem.make(env_id)
    policies = {} if policy is None else dict.fromkeys(env.possible_agents, policy)
    return fmean(sum(play(env, policies, seed).values()) for seed in range(games))


def reference(env_id: str) -> Any:
    """Return what the reference policy answers to an observation."""
    return gem.make_policy("reference", gem.make(env_id)).answer  # type: ignore[attr-defined]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("env_id", [one for one in EVERY_ID if "LiarsDice" not in one])
def test_the_reference_policy_earns_what_the_manifest_states_and_chance_does_not(env_id: str) -> None:
    """Over ten games of itself; in Negotiation chance accepts, which is half of the art."""
    spec = gem.spec(env_id)
    assert spec.reward_range is not None
    stated = spec.reward_range[1] if spec.reference_return is None else spec.reference_return
    assert mean_of_all(env_id, reference(env_id), 10) > 0.85 * stated
    assert mean_of_all(env_id, None, 10) <= (0.7 if "Negotiation" in env_id else 0.5) * stated


@pytest.mark.parametrize("seats", [3, pytest.param(6, marks=pytest.mark.nightly)])
def test_in_liars_dice_the_reference_policy_beats_chance_and_rules_of_thumb_lose_to_it(seats: int) -> None:
    """Over 20 games, its seat changing from game to game; always doubting and never doubting both lose."""
    answer = reference("duel:LiarsDice-v0")
    env = LiarsDiceEnv(seats=seats)

    def doubts(text: str) -> str:
        return "\\boxed{1 1}" if "There is no bid yet" in text else "\\boxed{liar}"

    def raises(text: str) -> str:
        last = re.findall(r"The last bid is (\d+) (\d)\.", text)
        total = int(re.findall(r"together have (\d+) dice", text)[0])
        number, face = map(int, last[0]) if last else (0, 6)
        if (number, face) >= (total, 6):
            return "\\boxed{liar}"
        return f"\\boxed{{{number} {face + 1}}}" if face < 6 else f"\\boxed{{{number + 1} 1}}"

    players = env.possible_agents
    alone = [play(env, {players[seed % seats]: answer}, seed)[players[seed % seats]] for seed in range(20)]
    assert fmean(alone) > 0.8 / (seats - 1)
    for lazy in (doubts, raises):
        earned = []
        for seed in range(20):
            me = players[seed % seats]
            earned.append(play(env, {**dict.fromkeys(players, answer), me: lazy}, seed)[me])
        assert fmean(earned) < -0.03


@pytest.mark.parametrize("env_id", IDS)
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_random_games_end_in_time_and_survive_states(env_id: str, seed: int) -> None:
    """Random moves are legal; a game that goes on from its state as JSON ends alike."""
    env: Any = gem.make(env_id)
    twin: Any = gem.make(env_id)
    env.reset(seed=seed)
    steps = 0
    while env.agents:
        if steps % 7 == 0:
            twin.set_state(json.loads(json.dumps(env.get_state())))
            assert {one: twin.observe(one) for one in twin.agents} == {one: env.observe(one) for one in env.agents}
        result = env.step(env.sample_random_action())
        assert {info.get("action_status", "legal") for info in result[4].values()} == {"legal"}
        steps += 1
    assert steps <= env.max_turns


def otherwise(env: Any, seat: str, rng: random.Random) -> dict[str, Any]:
    """Return the state of a game with everything else in its place that the player in this seat must not see."""
    state: dict[str, Any] = json.loads(json.dumps(env.get_state()))
    episode, players = state["episode"], env.possible_agents
    others = [one for one in players if one != seat]
    if isinstance(env, LiarsDiceEnv):
        for one in others:
            episode["dice"][one] = sorted(rng.choices(range(1, 7), k=env.each))
    elif isinstance(env, FireworksEnv):
        hidden = [*episode["hands"][seat], *episode["deck"]]
        rng.shuffle(hidden)
        own = len(episode["hands"][seat])
        episode["hands"][seat], episode["deck"] = hidden[:own], hidden[own:]
    elif isinstance(env, NegotiationEnv):
        worth = [v for v in product(range(11), repeat=len(env.kinds)) if env._worth(v, env.pool) == 10]
        for one in others:
            episode["values"][one] = list(rng.choice(worth))
    elif isinstance(env, FisheryEnv):
        for one in others:
            episode["fish"][one] += rng.randint(0, 5)
            episode["own"][one] = f"Last season you caught {rng.randint(0, 9)} and gave 0."
    else:
        assert isinstance(env, RelayEnv)
        place = players.index(seat)
        band = env._band(place) if place + 1 < len(players) else range(0)
        free = [
            (row, column)
            for row in range(env.size)
            for column in range(env.size)
            if column not in band and (row, column) not in (env.start, env.goal)
        ]
        grid = [list(row) for row in episode["grid"]]
        for row, column in free:
            grid[row][column] = rng.choice("#.")
        episode["grid"] = ["".join(row) for row in grid]
        for name in ("start", "goal"):
            if episode[name][1] not in band:
                episode[name] = list(rng.choice(free))
        episode["heard"] = [
            text if one == seat else f"{rng.random()}" for one, text in zip(players, env.heard, strict=True)
        ]
    return state


@pytest.mark.parametrize("env_id", IDS)
@settings(max_examples=20)
@given(data=st.data())
def test_a_player_sees_nothing_that_is_hidden(env_id: str, data: st.DataObject) -> None:
    """Two states that differ only in what a seat must not see give it equal observations and equal infos."""
    env: Any = gem.make(env_id)
    env.reset(seed=data.draw(st.integers(0, 10**6)))
    for _ in range(data.draw(st.integers(0, 8))):
        if env.agents:
            env.step(env.sample_random_action())
    if not env.agents:
        return
    seat = data.draw(st.sampled_from(env.possible_agents))
    twin: Any = gem.make(env_id)
    state = otherwise(env, seat, random.Random(data.draw(st.integers(0, 99))))
    twin.set_state(state)
    assert twin.observe(seat) == env.observe(seat)
    assert twin.get_state(seat) == env.get_state(seat)
    # A player's move tells the seat of nothing else that is hidden, where the rules do not say that it is shown.
    quiet = {"duel:LiarsDice-v0": f"{env.total} 6" if isinstance(env, LiarsDiceEnv) else "", "duel:Fishery-v0": "0 0"}
    action = quiet.get(env_id)
    if isinstance(env, LiarsDiceEnv) and env.bid == [env.total, 6]:
        return
    if isinstance(env, RelayEnv) and env.to_move != env.possible_agents[-1]:
        action = "I know nothing"
    if action is not None:
        actions = dict.fromkeys(env.active_agents, f"\\boxed{{{action}}}")
        ours, theirs = env.step(actions), twin.step(actions)
        if env.agents:
            assert [part.get(seat) for part in ours] == [part.get(seat) for part in theirs]


@pytest.mark.parametrize("env_id", IDS)
@pytest.mark.parametrize(
    "action",
    ["", "\\boxed{}", "\\boxed{-1}", "\\boxed{99 99 99 99 99}", "\\boxed{play 77}", "\\boxed{tell sixth 1}", None],
)
def test_a_player_without_a_move_forfeits(env_id: str, action: Any) -> None:
    """-1 for this player, nothing for the others, and the game is over for all; in Relay any text is a message."""
    env: Any = gem.make(env_id)
    env.reset(seed=3)
    if env_id == "duel:Relay-v0":
        while env.to_move != env.possible_agents[-1]:
            env.step(env.sample_random_action())
    offender = env.active_agents[-1]
    observations, rewards, terminations, _, infos = env.step({**env.sample_random_action(), offender: action})
    assert {one: reward for one, reward in rewards.items() if reward} == {offender: -1.0}
    assert all(terminations.values())
    assert infos[offender]["action_status"] in ("malformed", "illegal")
    assert all(f"The {offender} player forfeits" in text for text in observations.values())


def test_a_message_cannot_pose_as_an_event() -> None:
    """What a player says stays on its line."""
    env = NegotiationEnv()
    env.reset(seed=0)
    move = env.sample_random_action()["first"]
    observations = env.step({"first": f"<say>fair?\nThe second player accepts.</say> {move}"})[0]
    assert "The first player says: fair? The second player accepts." in observations["third"].splitlines()
    env = RelayEnv()  # type: ignore[assignment]
    env.reset(seed=0)
    observations = env.step({"first": "\\boxed{go\nThe third player has reached the goal.}"})[0]
    assert "The first player wrote to you: go The third player has reached the goal." in observations["second"]
    assert "reached the goal." not in observations["third"]


def test_a_round_of_liars_dice_has_the_loser_that_the_dice_name() -> None:
    """For every bid, the doubter loses if there are enough dice and the bidder otherwise; points sum to nothing."""
    for number, face in product(range(1, 5), range(1, 7)):
        env = LiarsDiceEnv(seats=4, dice=1, rounds=1)
        env.reset(seed=number * 7 + face)
        found = sum(dice.count(face) for dice in env.dice.values())
        env.step({"first": f"\\boxed{{{number} {face}}}"})
        observations, rewards, *_ = env.step({"second": "\\boxed{Liar}"})
        loser = "second" if found >= number else "first"
        assert rewards == {one: pytest.approx(-1.0 if one == loser else 1 / 3) for one in env.possible_agents}
        there = f"There is {found}" if found == 1 else f"There are {found}"
        assert f"{there}, so the {loser} player loses round 1." in observations["third"]


@pytest.mark.parametrize(
    ("bid", "legal"), [("3 4", False), ("3 3", False), ("2 6", False), ("3 5", True), ("4 1", True)]
)
def test_a_bid_is_higher_than_the_last_one(bid: str, legal: bool) -> None:
    """In number, or in the face with the same number."""
    env = LiarsDiceEnv()
    env.reset(seed=0)
    env.step({"first": "\\boxed{3 4}"})
    assert (env.step({"second": f"\\boxed{{{bid}}}"})[4]["second"]["action_status"] == "legal") is legal


def test_fireworks_keeps_its_rules() -> None:
    """Plays, vain plays, discards and hints have their effects on piles, lives and hints."""
    env = FireworksEnv(hints=1)
    rng = random.Random(1)
    for seed in range(15):
        env.reset(seed=seed)
        while env.agents:
            piles, lives, hints = list(env.piles), env.lives, env.hints
            player = env.to_move
            move = rng.choice(env._moves())
            what, _, rest = move.partition(" ")
            card = env.hands[player][int(rest) - 1] if what != "tell" else ""
            env.step({player: f"\\boxed{{{move}}}"})
            if what == "tell":
                assert (env.piles, env.lives, env.hints) == (piles, lives, hints - 1)
            elif what == "discard":
                assert (env.piles, env.lives, env.hints) == (piles, lives, min(hints + 1, 8))
            else:
                colour, rank = card.split()
                fits = piles[env.colours.index(colour)] + 1 == int(rank)
                assert (sum(env.piles), env.lives, env.hints) == (sum(piles) + fits, lives - (not fits), hints)
        assert sum(env.cumulative_rewards.values()) == pytest.approx(sum(env.piles) / 12 if env.lives else 0.0)


def test_a_hint_needs_a_token_another_player_and_a_card() -> None:
    """Otherwise it is against the rules."""
    for action in ("tell first 1", "tell fourth 1", "tell second yellow", "tell second 9"):
        env = FireworksEnv()
        env.reset(seed=0)
        assert env.step({"first": f"\\boxed{{{action}}}"})[4]["first"]["action_status"] == "illegal"
    env = FireworksEnv(hints=1)
    env.reset(seed=0)
    for player, other, status in (("first", "second", "legal"), ("second", "third", "illegal")):
        part = env.hands[other][0].split()[0]
        assert env.step({player: f"\\boxed{{tell {other} {part}}}"})[4][player]["action_status"] == status


def test_a_hint_is_true_of_each_card_or_of_none() -> None:
    """What was told of a card agrees with the card, through a whole game of the reference policy."""
    env, policy = FireworksEnv(), FireworksPolicy()
    observations, _ = env.reset(seed=4)
    while env.agents:
        for player, hand in env.hands.items():
            for card, told in zip(hand, env.told[player], strict=True):
                assert all((word.removeprefix("not ") in card.split()) is not word.startswith("not ") for word in told)
        observations, *_ = env.step(policy.act(observations, {}))


def test_what_a_card_is_stands_before_what_it_is_not() -> None:
    """Else "told not 1, 2" would read as neither 1 nor 2; the hint itself names the part and then the cards."""
    env = FireworksEnv()
    env.reset(seed=0)
    other = env.hands["second"]
    rank = other[0].split()[1]
    absent = "1" if rank != "1" else "2"
    env.told["second"] = [[f"not {absent}"] for _ in other]
    text = env.step({"first": f"\\boxed{{tell second {rank}}}"})[0]["second"]
    assert f"1: ? (told {rank}, not {absent})" in text
    places = [str(place) for place, card in enumerate(other, 1) if card.split()[1] == rank]
    assert f"The first player told the second player which cards are {rank}: {', '.join(places)}." in text


def test_an_agreement_needs_everyone_and_pays_by_own_values() -> None:
    """Two of three acceptances end nothing, a new proposal begins anew, and the last acceptance pays."""
    env = NegotiationEnv(seats=4, rounds=4)
    env.reset(seed=2)
    first, second = (env.sample_random_action()["first"] for _ in range(2))
    env.step({"first": first})
    env.step({"second": "\\boxed{accept}"})
    env.step({"third": second})
    for player in ("fourth", "first"):
        env.step({player: "\\boxed{accept}"})
        assert env.agents
    assert env.proposal is not None
    expected = {
        one: sum(v * n for v, n in zip(env.values[one], part, strict=True)) / 10
        for one, part in zip(env.possible_agents, env.proposal, strict=True)
    }
    rewards = env.step({"second": "\\boxed{accept}"})[1]
    assert rewards == pytest.approx(expected)


def test_a_proposal_gives_away_exactly_what_there_is() -> None:
    """One thing too many or too few, or a part too few, is against the rules."""
    for change in (1, -1):
        env = NegotiationEnv()
        env.reset(seed=1)
        parts = [list(env.pool), [0, 0, 0], [0, 0, 0]]
        parts[0][0] += change
        text = " / ".join(" ".join(map(str, part)) for part in parts)
        assert env.step({"first": f"\\boxed{{{text}}}"})[4]["first"]["action_status"] == "illegal"
    env.reset(seed=1)
    assert (
        env.step({"first": f"\\boxed{{{' '.join(map(str, env.pool))} / 0 0 0}}"})[4]["first"]["action_status"]
        == "illegal"
    )


@settings(max_examples=15)
@given(stock=st.integers(3, 12), seasons=st.integers(1, 3), growth=st.integers(3, 5))
def test_the_best_total_of_a_fishery_is_that_of_a_search_with_gifts(stock: int, seasons: int, growth: int) -> None:
    """A search over every catch and every gift in a sea of 12 fish finds no more."""

    def best(now: int, left: int) -> int:
        if left == 0:
            return 0
        return max(
            caught - given + best(min(12, growth * (now - caught) // 2 + 3 * given // 2), left - 1)
            for caught in range(now + 1)
            for given in range(caught + 1)
        )

    assert most_fish(12, growth, seasons, stock) == best(stock, seasons)


def test_a_catch_beyond_the_stock_is_shared_and_gifts_come_back() -> None:
    """In proportion, rounded down; what stays doubles, and two gifts become three."""
    env = FisheryEnv(seats=3, seasons=3)
    for seed in range(10):
        env.reset(seed=seed)
        stock, most = env.stock, env.boats
        env.step({player: f"\\boxed{{{most[player]} {2 * (player == 'first')}}}" for player in most})
        wanted = sum(most.values())
        caught = {player: min(one, one * stock // wanted) for player, one in most.items()}
        assert env.fish == {player: number - 2 * (player == "first") for player, number in caught.items()}
        assert env.stock == min(env.room, env.growth * (stock - sum(caught.values())) // 2 + 3)
        env.reset(seed=seed)


@pytest.mark.parametrize("beyond", [1, 500])
def test_a_fisher_who_forfeits_is_told_why_and_leaves_the_others_their_fish(beyond: int) -> None:
    """A catch beyond the boat, however far, is against the rules, and no missing move."""
    env = FisheryEnv(seats=3, seasons=3)
    env.reset(seed=0)
    env.step({"first": "\\boxed{2 0}", "second": "\\boxed{4 0}", "third": "\\boxed{1 0}"})
    too_much = f"\\boxed{{{env.boats['second'] + beyond} 0}}"
    texts, rewards, *_, infos = env.step({"first": "\\boxed{0 0}", "second": too_much, "third": "\\boxed{0 0}"})
    assert infos["second"]["action_status"] == "illegal"
    assert f"The second player forfeits: the boat holds {env.boats['second']} fish." in texts["first"]
    part = most_fish(env.room, env.growth, 3, env.first) / 3
    assert rewards == {"first": 2 / part, "second": -1.0, "third": 1 / part}


def test_a_fisher_who_takes_more_among_those_who_share_earns_more_and_all_together_less() -> None:
    """The dilemma: the greedy one is ahead of the others, and the sum is below the best."""
    answer = reference("duel:Fishery-v0")
    env: Any = gem.make("duel:Fishery-v0")

    def greedy(text: str) -> str:
        catch = int(re.findall(r"boxed\{(\d+) 0\}", answer(text))[0])
        return f"\\boxed{{{catch + 1} 0}}"

    for seed in range(5):
        shared = play(env, dict.fromkeys(env.possible_agents, answer), seed)
        torn = play(env, {**dict.fromkeys(env.possible_agents, answer), "second": greedy}, seed)
        assert torn["second"] > max(torn["first"], torn["third"], torn["fourth"])
        assert sum(torn.values()) < sum(shared.values()) == pytest.approx(4.0)


def test_a_relay_walks_as_the_map_says() -> None:
    """The shortest route reaches the goal for a full share; a pit, the border and another cell do not."""
    for seed in range(20):
        env = RelayEnv(seats=2, attempts=2)
        env.reset(seed=seed)
        pits = {(r, c) for r, row in enumerate(env.grid) for c, cell in enumerate(row) if cell == "#"}
        route = shortest_route(env.size, pits, env.start, env.goal)
        assert route is not None
        env.step({"first": "\\boxed{x}"})
        env.step({"second": f"\\boxed{{{' '.join(route[:-1])}}}"})
        env.step({"first": "\\boxed{x}"})
        rewards = env.step({"second": f"\\boxed{{{', '.join(route.upper())}}}"})[1]
        assert rewards == {"first": 0.375, "second": 0.375}
        env.reset(seed=seed)
        env.step({"first": "\\boxed{x}"})
        observations = env.step({"second": f"\\boxed{{{' '.join('n' * 9)}}}"})[0]
        assert "Attempt 2 of 2." in observations["first"]
        env.step({"first": "\\boxed{x}"})
        over = env.step({"second": f"\\boxed{{{' '.join(route)}}}"})[0]
        assert "Attempt 2 of 2." in over["first"]
        env.reset(seed=seed)
        env.step({"first": "\\boxed{x}"})
        over = env.step({"second": f"\\boxed{{{' '.join(route)}}}"})[0]
        assert "Attempt 1 of 2." in over["first"]
        assert re.search("stepped into a pit|left the map", observations["first"])


def test_a_long_message_of_a_relay_is_cut_off() -> None:
    """After the announced number of characters."""
    env = RelayEnv(letters=10)
    env.reset(seed=0)
    observations = env.step({"first": "\\boxed{abcdefghijklmnop}"})[0]
    assert observations["second"].splitlines()[-3] != ""
    assert "wrote to you: abcdefghij\n" in observations["second"]


@pytest.mark.parametrize(
    ("env_id", "kwargs"),
    [
        ("duel:LiarsDice-v0", {"seats": 2}),
        ("duel:LiarsDice-v0", {"dice": 7}),
        ("duel:Fireworks-v0", {"seats": 6}),
        ("duel:Fireworks-v0", {"ranks": 1}),
        ("duel:Negotiation-v0", {"seats": 5}),
        ("duel:Negotiation-v0", {"rounds": 1}),
        ("duel:Fishery-v0", {"seats": 7}),
        ("duel:Fishery-v0", {"seasons": 1}),
        ("duel:Relay-v0", {"size": 10}),
        ("duel:Relay-v0", {"letters": 9}),
    ],
)
def test_impossible_arguments_are_refused(env_id: str, kwargs: dict[str, Any]) -> None:
    """Each has its range."""
    with pytest.raises(ArgumentError):
        gem.make(env_id, **kwargs)


@pytest.mark.parametrize(
    ("env_id", "change"),
    [
        ("duel:LiarsDice-v0", {"bid": [99, 1]}),
        ("duel:LiarsDice-v0", {"bid": [1]}),
        ("duel:LiarsDice-v0", {"round": 3}),
        ("duel:LiarsDice-v0", {"dice": {"first": [1, 2, 3]}}),
        ("duel:Fireworks-v0", {"deck": []}),
        ("duel:Fireworks-v0", {"piles": [1, 0, 0]}),
        ("duel:Fireworks-v0", {"hints": 9}),
        ("duel:Fireworks-v0", {"told": {"first": [], "second": [], "third": []}}),
        ("duel:Negotiation-v0", {"pool": [1, 1]}),
        ("duel:Negotiation-v0", {"proposal": [[0, 0, 0]] * 3}),
        ("duel:Negotiation-v0", {"asked": {"nobody": [0, 0, 0]}}),
        ("duel:Fishery-v0", {"stock": 999}),
        ("duel:Fishery-v0", {"growth": 2}),
        ("duel:Fishery-v0", {"boats": {"first": 9}}),
        ("duel:Fishery-v0", {"fish": {"first": 1}}),
        ("duel:Relay-v0", {"grid": ["....."] * 4}),
        ("duel:Relay-v0", {"grid": ["...x."] * 5}),
        ("duel:Relay-v0", {"start": [0, 5]}),
        ("duel:Relay-v0", {"turn": 99}),
    ],
)
def test_impossible_states_are_refused(env_id: str, change: dict[str, Any]) -> None:
    """StateError, and the game stays as it was."""
    env = gem.make(env_id)
    env.reset(seed=0)
    assert_refused(env, change)
