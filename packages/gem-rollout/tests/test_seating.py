"""Pools of policies in environments with several agents: who has which seat, and what the record says."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.core import Info
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, NotSupportedError
from gem.multiagent import MultiAgentEnv
from gem.multiagent.env import AgentsStepResult
from gem.policies import Policy
from gem_cli.main import cli
from gem_rollout import Seating, rollout, summarize
from gem_rollout.seating import evaluated_part, evaluated_return, make_agent_policy
from gem_rollout.trajectory import read_trajectories

SEATS = ["ann", "bob", "cyd"]


class Auction(MultiAgentEnv):
    """All bid once, in turn, which pays all but the last 0.25; the highest bid wins, and ``stop`` ends the game."""

    def __init__(self) -> None:
        super().__init__(SEATS, mode="sequential")

    def _begin(self) -> None:
        self.bids: dict[str, int] = {}

    def observe(self, agent: str) -> str:
        return f"you are {agent}"

    def _process_actions(self, actions: dict[str, Any]) -> AgentsStepResult:
        ((agent, action),) = actions.items()
        stopped = action == "stop"
        self.bids[agent] = -1 if stopped else int(action)
        over = stopped or len(self.bids) == len(SEATS)
        if not over:
            return {}, {agent: 0.25}, {}, {}, {}
        best = max(self.bids, key=self.bids.__getitem__)
        rewards = {one: (-1.0 if stopped and one == agent else float(one == best and not stopped)) for one in SEATS}
        return {}, rewards, dict.fromkeys(SEATS, True), {}, {one: {"success": one == best} for one in SEATS}


AUCTION = EnvSpec(id="test:Auction-v0", entry_point=Auction)


def bidder(bid: str) -> Any:
    """Return what makes a policy that always bids this."""

    class Bidder(Policy[Any, Any]):
        def __init__(self, env: Any, agent: str) -> None:
            self.agent = agent

        def act(self, observation: Any, info: Info) -> str:
            assert observation == f"you are {self.agent}"  # the policy of a seat is made for that seat
            return bid

    return Bidder


POOL = {"three": bidder("3"), "two": bidder("2"), "one": bidder("1"), "nil": bidder("0")}


@given(seed=st.integers(0, 2**70), seats=st.integers(2, 6), evaluated=st.sampled_from([None, "three", "nil"]))
def test_in_as_many_repetitions_as_seats_each_player_has_each_seat_once(
    seed: int, seats: int, evaluated: str | None
) -> None:
    """The same players for a seed, the evaluated one among them once as long as the pool has enough others."""
    agents = [f"seat {number}" for number in range(seats)]
    seating = Seating(POOL, evaluated)
    rounds = [seating.line_up(agents, seed, repetition) for repetition in range(seats)]
    assert len({tuple(sorted(one.values())) for one in rounds}) == 1
    for name, count in Counter(rounds[0].values()).items():
        assert {agent: [one[agent] for one in rounds].count(name) for agent in agents} == dict.fromkeys(agents, count)
    if evaluated is not None:
        assert list(rounds[0].values()).count(evaluated) == 1
    if seats <= len(POOL):
        assert len(set(rounds[0].values())) == seats


def test_seeds_draw_all_of_the_pool_and_change_the_seats() -> None:
    """Over 300 seeds each opponent is drawn about as often, and the evaluated policy has each seat as often."""
    line_ups = [Seating(POOL, "three").line_up(SEATS, seed) for seed in range(300)]
    drawn = Counter(name for one in line_ups for name in one.values())
    assert drawn["three"] == 300
    assert all(150 < drawn[name] < 250 for name in ("two", "one", "nil"))
    assert Counter(agent for one in line_ups for agent, name in one.items() if name == "three") == dict.fromkeys(
        SEATS, 100
    )


@pytest.mark.parametrize("mode", ["thread", "sync"])
def test_the_record_says_who_had_which_seat_and_earned_what(mode: str) -> None:
    """For every episode, whichever environment of the pool played it before."""
    seating = Seating(POOL, "two")
    played = list(rollout(AUCTION, seating, episodes=30, group=3, num_envs=4, mode=mode))
    assert len(played) == 30
    for record in played:
        assert record.failure is None
        seats = record.metadata["seats"]
        assert seats == seating.line_up(SEATS, record.seed or 0, record.repetition)
        bids = {agent: {"three": 3, "two": 2, "one": 1, "nil": 0}[name] for agent, name in seats.items()}
        best = max(bids, key=bids.__getitem__)
        earned = {agent: (agent == best) + 0.25 * (agent != "cyd") for agent in SEATS}
        assert record.metadata["returns"] == earned
        assert [(turn.agent, turn.action) for turn in record.transitions] == [(a, str(b)) for a, b in bids.items()]
        own = record.metadata["evaluated"]
        assert seats[own] == "two"
        assert [turn.agent for turn in evaluated_part(record).transitions] == [own]
        assert evaluated_return(record) == earned[own]
    (summary,) = summarize(played)
    won = sum("three" not in record.metadata["seats"].values() for record in played)
    assert (summary.episodes, summary.successes, summary.mean_turns) == (30, won, 1.0)
    assert summary.mean_return == pytest.approx((won + 20 * 0.25) / 30)


def test_one_who_never_acted_has_a_return_and_an_outcome() -> None:
    """Another ended the game before; what the environment said of the evaluated seat counts."""
    played = list(rollout(AUCTION, Seating({"me": bidder("3"), "quitter": bidder("stop")}, "me"), episodes=3, group=3))
    by_seat = {record.metadata["evaluated"]: record for record in played}
    assert sorted(by_seat) == SEATS
    for agent in ("bob", "cyd"):
        assert len(evaluated_part(by_seat[agent])) == 0
        assert evaluated_part(by_seat[agent]).success is False
        assert evaluated_return(by_seat[agent]) == 0.0
    assert evaluated_part(by_seat["ann"]).success is True


def test_a_fault_of_an_opponent_is_none_of_the_evaluated_policy() -> None:
    """It counts as the environment's, and that of the evaluated policy as the agent's."""

    class Broken(Policy[Any, Any]):
        def act(self, observation: Any, info: Info) -> Any:
            raise RuntimeError("out of order")

    def broken(env: Any, agent: str) -> Broken:
        return Broken()

    for evaluated, source in (("me", "environment"), ("it", "agent")):
        (record,) = rollout(AUCTION, Seating({"me": bidder("3"), "it": broken}, evaluated), episodes=1)
        assert record.failure is not None
        assert (record.failure.source, record.failure.kind) == (source, "exception")


def test_without_an_evaluated_policy_all_are_drawn() -> None:
    """A league: the figures are the sums over all agents."""
    (record,) = rollout(AUCTION, Seating(POOL), episodes=1)
    assert "evaluated" not in record.metadata
    assert evaluated_part(record) is record
    assert evaluated_return(record) == 1.5


def test_a_policy_is_made_once_for_each_seat_of_an_environment() -> None:
    """And plays there in all episodes that seat it, so that it may keep what it has learnt."""
    made = Counter[tuple[str, str]]()

    def counted(name: str, bid: str) -> Any:
        def make(env: Any, agent: str) -> Any:
            made[name, agent] += 1
            return bidder(bid)(env, agent)

        return make

    pool = {name: counted(name, bid) for name, bid in (("high", "2"), ("low", "1"))}
    list(rollout(AUCTION, Seating(pool, "high"), episodes=12, num_envs=1))
    assert made == {(name, agent): 1 for name in pool for agent in SEATS}


def test_a_pool_is_for_several_agents_and_its_names_are_known() -> None:
    """Errors say what to do."""
    with pytest.raises(ArgumentError, match="for environments with several agents"):
        list(rollout("game:GuessTheNumber-v0-easy", Seating(POOL), episodes=1))
    with pytest.raises(ArgumentError, match="did you mean 'three'"):
        Seating(POOL, "thre")
    with pytest.raises(ArgumentError, match="at least one policy"):
        Seating({})


def test_a_reference_policy_for_all_plays_one_seat_by_what_that_seat_sees() -> None:
    """One that needs the other agents' observations says so."""
    env: Any = gem.make("duel:Nim-v0")
    observations, infos = env.reset(seed=1)
    whole = gem.make_policy("reference", env).act(observations, infos)
    assert make_agent_policy("reference", env, "first").act(observations["first"], {}) == whole["first"]
    with pytest.raises(NotSupportedError, match="gives no action for 'second'"):
        make_agent_policy("reference", env, "second").act(observations["second"], {})


def test_gem_rollout_plays_against_opponents(tmp_path: Any) -> None:
    """The printed figures are those of the agent, and the file says who had which seat."""
    out = tmp_path / "games.jsonl"
    command = ["rollout", "duel:Nim-v0", "--agent", "reference", "--opponent", "random"]
    done = CliRunner().invoke(cli, [*command, "--episodes", "8", "--group", "2", "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    (figures,) = json.loads(done.stdout)["environments"]
    records = list(read_trajectories(out))
    own = [record.metadata["returns"][record.metadata["evaluated"]] for record in records]
    assert figures["mean_return"] == pytest.approx(sum(own) / 8)
    assert Counter(record.metadata["evaluated"] for record in records) == {"first": 4, "second": 4}
