"""What the games of `duel:*` tell a player: what they pay, what may be copied, and what a move has led to."""

from __future__ import annotations

import re
from typing import Any

import pytest

import gem
from gem.action_forms import read_move
from gem_envs_games.duels.fireworks import FireworksEnv
from gem_envs_games.duels.fishery import FisheryEnv
from gem_envs_games.duels.liars_dice import LiarsDiceEnv
from gem_envs_games.duels.relay import RelayEnv

EVERY_ID = [spec.id for spec in gem.all_specs("duel")]
GAMES = [env_id for env_id in EVERY_ID if env_id.endswith("-v0")]


def numbers(text: str) -> list[int]:
    """Return the whole numbers in a text."""
    return [int(digits) for digits in re.findall(r"\d+", text)]


def value(text: str, listed: str) -> float:
    """Return what things are worth to the player who reads the text, as a share of what all are worth."""
    each = numbers(re.findall(r"Worth to you, each: (.+)\.", text)[0])
    return sum(a * b for a, b in zip(each, numbers(listed), strict=True)) / numbers(text.split("as a share of ")[1])[0]


def told(env_id: str, player: str, text: str) -> float:
    """Return what a player earns by the text at the end of a game, and by nothing else."""
    if env_id == "duel:Nim-v0" or env_id == "duel:ConnectFour-v0":
        assert "scores 1, and the other loses 1" in text
        winners = re.findall(r"The (\w+) player (?:wins|has 4 in a row and wins)\.", text)
        return 0.0 if not winners else 1.0 if winners == [player] else -1.0
    if env_id == "duel:KuhnPoker-v0":
        chips = re.findall(r"You are (\d+) chips? (up|down)", text)
        share = int(re.findall(r"as a share of (\d+)\.", text)[0])
        return 0.0 if not chips else int(chips[0][0]) * (1 if chips[0][1] == "up" else -1) / share
    if env_id == "duel:Bargain-v0":
        part = re.findall(rf"the {player} player gets ([^.;]+)[.;]", text)
        return value(text, part[0]) if part else 0.0
    if env_id == "duel:Negotiation-v0":
        parts = re.findall(r"^The proposal: (.+)\. Accepted", text, re.MULTILINE)[0].split(" / ")
        place = ["first", "second", "third"].index(player)
        return value(text, parts[place]) if "The proposal holds." in text else 0.0
    if env_id == "duel:LiarsDice-v0":
        lost = dict(re.findall(r"(\w+) (\d+)", re.findall(r"Rounds lost: ([^.]+)\.", text)[0]))
        own, others = int(lost.pop(player)), sum(map(int, lost.values()))
        return (others / len(lost) - own) / int(re.findall(r"your points as a share of (\d+)", text)[0])
    if env_id == "duel:Fireworks-v0":
        laid = sum(numbers(re.findall(r"^Piles: (.+)\. Gone", text, re.MULTILINE)[0]))
        cards, players = re.findall(r"share of (\d+) cards .* at most 1/(\d)\.", text)[0]
        return 0.0 if " 0 lives" in text else laid / int(cards) / int(players)
    assert env_id == "duel:Relay-v0"
    less, players = re.findall(r"first and ([\d.]+) less in each further one; .* in the first 1/(\d)\.", text)[0]
    attempt = int(re.findall(r"^Attempt (\d)", text, re.MULTILINE)[0])
    return (1 - float(less) * (attempt - 1)) / int(players) if "has reached the goal." in text else 0.0


@pytest.mark.parametrize("env_id", [env_id for env_id in GAMES if "Fishery" not in env_id])
def test_the_rules_say_what_a_game_pays(env_id: str) -> None:
    """A reader of the last observation alone reckons the rewards, after games by chance and by the reference policy."""
    env: Any = gem.make(env_id)
    policy: Any = gem.make_policy("reference", env)
    paid = 0
    for seed in range(12):
        observations, _ = env.reset(seed=seed)
        while env.agents:
            actions = policy.act(observations, {}) if seed % 2 else env.sample_random_action()
            observations, *_ = env.step(actions)
        for player, text in observations.items():
            assert told(env_id, player, text) == pytest.approx(env.cumulative_rewards[player])
        paid += any(env.cumulative_rewards.values())
    assert paid >= 4


def test_in_a_fishery_the_fish_that_a_player_reads_of_are_paid_alike() -> None:
    """Each fish is worth the same to everyone; the whole of an equal part of the best total is 1."""
    env: Any = gem.make("duel:Fishery-v0")
    policy: Any = gem.make_policy("reference", env)
    observations, _ = env.reset(seed=4)
    while env.agents:
        observations, *_ = env.step(policy.act(observations, {}))
    fish = {one: int(re.findall(r"Your fish: (\d+)\.", text)[0]) for one, text in observations.items()}
    assert sum(env.cumulative_rewards.values()) == pytest.approx(len(fish))
    assert {one: len(fish) * own / sum(fish.values()) for one, own in fish.items()} == pytest.approx(
        env.cumulative_rewards
    )


@pytest.mark.parametrize("env_id", EVERY_ID)
def test_every_example_in_the_rules_can_be_copied(env_id: str) -> None:
    """Each box is read as a move, and one that names a player names another player of this game."""
    env: Any = gem.make(env_id)
    observations, _ = env.reset(seed=0)
    for player, text in observations.items():
        examples = re.findall(r"\\boxed\{[^}]*\}", text)
        assert examples
        for example in examples:
            assert read_move(env.form, example) is not None, example
            for named in re.findall(r"tell (\w+)", example):
                assert named in env.possible_agents
                assert named != player


@pytest.mark.parametrize("env_id", GAMES)
def test_the_rules_say_what_a_forfeit_costs_and_leaves(env_id: str) -> None:
    """It costs 1; the others score nothing, in a fishery what they keep from the seasons before."""
    env: Any = gem.make(env_id)
    observations, _ = env.reset(seed=1)
    moves = {} if "Fishery" not in env_id else dict.fromkeys(env.agents, "\\boxed{2 0}")
    if moves:
        observations, *_ = env.step(moves)
    offender = env.active_agents[0]
    text = observations[offender]
    said = re.findall(
        r"against the rules, ends the game: it costs (\d), and (?:the|every) other player (.+)\.$", text, re.M
    )
    ((cost, left),) = said
    rewards = env.step({**moves, offender: "I pass."})[1]
    assert rewards.pop(offender) == -int(cost)
    assert (set(rewards.values()) == {0.0}) is (left == "scores nothing")
    if moves:
        assert left == "scores the fish that they keep, for that season is not fished"
        assert env.fish == dict.fromkeys(env.possible_agents, 2)


@pytest.mark.parametrize("env_id", [env_id for env_id in GAMES if "Fishery" not in env_id])
def test_a_player_to_move_reads_what_the_own_last_move_has_led_to(env_id: str) -> None:
    """What all heard of a move stands in the next observation in which its player must act."""
    env: Any = gem.make(env_id)
    seen = 0
    for seed in range(4):
        observations, _ = env.reset(seed=seed)
        own: dict[str, str] = {}
        while env.agents:
            player = env.to_move
            if player in own:
                assert own[player] in observations[player]
                seen += 1
            observations, *_ = env.step(env.sample_random_action())
            own[player] = env.event
    assert seen


def test_a_walker_who_has_failed_reads_how_before_the_next_walk() -> None:
    """The guides have written in the meantime."""
    env = RelayEnv(seats=3, attempts=2)
    env.reset(seed=0)
    env.step({"first": "\\boxed{a}"})
    env.step({"second": "\\boxed{b}"})
    env.step({"third": "\\boxed{n n n n n n n n}"})
    how = env.event
    env.step({"first": "\\boxed{c}"})
    text = env.step({"second": "\\boxed{d}"})[0]["third"]
    assert how in text
    assert re.search(r"left the map|stepped into a pit", how)


def test_an_empty_message_is_not_one_that_is_still_to_come() -> None:
    """The reader knows which of the two it is; a guide who forfeits has written none."""
    env = RelayEnv(seats=3)
    observations, _ = env.reset(seed=0)
    assert "The first player wrote to you: nothing yet" in observations["second"]
    observations = env.step({"first": "\\boxed{}"})[0]
    assert "The first player wrote to you: an empty message" in observations["second"]
    assert "The second player wrote to you: nothing yet" in observations["third"]
    observations = env.step({"second": "no box"})[0]
    assert "The second player wrote to you: nothing yet" in observations["third"]
    assert "The second player forfeits: no box holds a move." in observations["third"]


@pytest.mark.parametrize(
    ("catches", "told"),
    [
        (("1 1", "0 0", "0 0"), "1 was caught, and of these 1 was given."),
        (("1 0", "1 0", "0 0"), "2 were caught, and of these 0 were given."),
    ],
)
def test_a_fishery_counts_in_grammar(catches: tuple[str, ...], told: str) -> None:
    """One fish was caught, two were."""
    env = FisheryEnv(seats=3)
    env.reset(seed=0)
    observations, *_ = env.step({one: f"\\boxed{{{catch}}}" for one, catch in zip(env.agents, catches, strict=True)})
    assert told in observations["first"]


def test_liars_dice_names_the_bids_that_there_are() -> None:
    """The highest bid of the text is legal, one more die or face is against the rules."""
    for bid, status in (((0, 0), "legal"), ((1, 0), "illegal"), ((0, 1), "illegal")):
        env = LiarsDiceEnv()
        text = env.reset(seed=0)[0]["first"]
        ((dice, face),) = re.findall(r"A bid is from 1 to (\d+) dice of a face from 1 to (\d)", text)
        action = f"\\boxed{{{int(dice) + bid[0]} {int(face) + bid[1]}}}"
        assert env.step({"first": action})[4]["first"]["action_status"] == status


def test_who_has_no_cards_left_reads_what_can_be_written() -> None:
    """A player without cards in Fireworks must move all the same, and may have no hint to give."""
    env = FireworksEnv()
    env.reset(seed=0)
    env.deck, env.hands["first"], env.told["first"] = [], [], []
    text = env.observe("first")
    (passes,) = re.findall(r"^Your cards: none; (\\boxed\{.+\}) passes the turn$", text, re.MULTILINE)
    assert env.step({"first": passes})[4]["first"]["action_status"] == "legal"
    assert env.agents
