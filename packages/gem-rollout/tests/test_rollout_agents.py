"""Episodes with several agents in the rollout engine."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import gem
from gem.core import Info
from gem.env_spec import EnvSpec
from gem.errors import EpisodeLimitError
from gem.multiagent import MultiAgentEnv
from gem.multiagent.env import AgentsStepResult
from gem.policies import Act, Policy, RandomAgentPolicy
from gem_rollout import EpisodeLimits, RolloutEngine, plan_episodes, rollout

ROUNDS = 3


class Market(MultiAgentEnv):
    """Sellers name prices, all in a round at once or in turns; the lowest price earns a reward."""

    def __init__(self, mode: Any = "parallel", fault: str = "") -> None:
        super().__init__(["ann", "bob"], mode=mode)
        self.fault = fault

    def _begin(self) -> None:
        self.rounds = 0
        self.demand = self.rng.randrange(1000)

    def observe(self, agent: str) -> str:
        return f"{agent}, round {self.rounds}, demand {self.demand}"

    def _process_actions(self, actions: dict[str, Any]) -> AgentsStepResult:
        self.rounds += 1
        if self.fault and self.rounds == 2:
            raise RuntimeError("the market is closed")
        cheapest = min(actions, key=lambda agent: str(actions[agent]))
        over = dict.fromkeys(self.agents, self.rounds >= ROUNDS)
        return {}, {cheapest: 1.0}, over, {}, {agent: {"offers": len(actions)} for agent in actions}

    def _random_action(self, agent: str) -> str:
        return f"{agent} asks {self.action_rng.randrange(1000)}"


def market(**kwargs: Any) -> EnvSpec:
    return EnvSpec(id="test:Market-v0", entry_point=Market, kwargs=kwargs)


class Seller(Policy[Any, Any]):
    """Repeats what it saw, as a model with a name."""

    def __init__(self, env: Market, agent: str = "?") -> None:
        self.agent = agent
        self.begun = 0

    def reset(self, observation: Any, info: Info) -> None:
        assert observation.startswith(self.agent)
        assert "round 0" in observation or self.agent == "bob"  # who may act first in round 1
        self.begun += 1

    def act(self, observation: Any, info: Info) -> Any:
        assert self.begun
        return Act(f"{observation} by {self.agent}", model=f"model of {self.agent}", token_ids=[1, 2])


class AsyncSeller(Seller):
    """The same on the event loop."""

    async def act(self, observation: Any, info: Info) -> Any:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().act(observation, info)


@pytest.mark.parametrize("make_policy", [Seller, {"ann": lambda env: Seller(env, "ann"), "bob": AsyncSeller}])
@pytest.mark.parametrize("vectorization", ["thread", "sync"])
def test_agents_act_at_once_with_policies_of_their_own(make_policy: Any, vectorization: str) -> None:
    """Each turn names its agent, step and model; agents of one step see the same round."""
    for trajectory in rollout(market(), make_policy, episodes=5, num_envs=2, mode=vectorization):
        assert trajectory.failure is None
        assert trajectory.stop_reason == "terminated"
        assert [(turn.agent, turn.step) for turn in trajectory.transitions] == [
            (agent, step) for step in range(ROUNDS) for agent in ("ann", "bob")
        ]
        for turn in trajectory.transitions:
            assert turn.observation.startswith(f"{turn.agent}, round {turn.step}")
            assert (turn.action, turn.model) == (f"{turn.observation} by {turn.agent}", f"model of {turn.agent}")
            assert turn.info == {"offers": 2}
        assert trajectory.for_agent("ann").episode_return == ROUNDS
        assert trajectory.for_agent("bob").episode_return == 0.0
        assert gem.Trajectory.from_dict(trajectory.to_dict()).key == trajectory.key


def test_agents_that_take_turns_are_asked_in_turn() -> None:
    """One agent acts in each step, and one of them may well play the user."""
    (trajectory,) = rollout(market(mode="sequential"), Seller, episodes=1)
    assert [(turn.agent, turn.step) for turn in trajectory.transitions] == [("ann", 0), ("bob", 1), ("ann", 2)]
    assert trajectory.failure is None


def test_agents_of_one_step_are_asked_side_by_side() -> None:
    """Neither can answer before the other is asked."""
    asked: set[str] = set()
    both = asyncio.Event()

    class Waiting(Seller):
        async def act(self, observation: Any, info: Info) -> Any:  # type: ignore[override]
            asked.add(self.agent)
            if len(asked) == 2:
                both.set()
            await both.wait()
            return "now"

    async def run() -> list[gem.Trajectory]:
        async with RolloutEngine(plan_episodes(market(), 1), Waiting) as engine:
            return [trajectory async for trajectory in engine]

    (trajectory,) = asyncio.run(asyncio.wait_for(run(), 60))
    assert len(trajectory) == 2 * ROUNDS


def test_random_agents_are_reproducible() -> None:
    """Random actions of each agent follow from the key of the episode, at any concurrency."""

    def essence(**arguments: Any) -> dict[Any, list[Any]]:
        played = rollout(market(), RandomAgentPolicy, episodes=8, group=2, **arguments)
        return {t.key: [(turn.agent, turn.action) for turn in t.transitions] for t in played}

    found = essence(num_envs=1)
    assert found == essence(num_envs=8)
    assert len({str(turns) for turns in found.values()}) == 8
    assert all(action.startswith(agent) for turns in found.values() for agent, action in turns)


def test_a_fault_of_one_agent_fails_the_episode_by_name() -> None:
    """The other agent is not blamed, and the other agent's call does not go on."""

    class Failing(Seller):
        async def act(self, observation: Any, info: Info) -> Any:  # type: ignore[override]
            raise RuntimeError("no idea")

    makers = {"ann": lambda env: Seller(env, "ann"), "bob": lambda env: Failing(env, "bob")}
    for trajectory in rollout(market(), makers, episodes=3):
        assert trajectory.failure is not None
        assert (trajectory.failure.source, trajectory.failure.kind) == ("agent", "exception")
        assert trajectory.failure.message == "bob: RuntimeError: no idea"


def test_a_fault_of_the_environment_fails_the_episode() -> None:
    """The rounds before it stay in the record."""
    for trajectory in rollout(market(fault="closed"), Seller, episodes=3):
        assert trajectory.failure is not None
        assert (trajectory.failure.source, trajectory.failure.turn) == ("environment", 2)
        assert len(trajectory) == 2


@pytest.mark.parametrize(
    ("limits", "reason", "turns"),
    [(EpisodeLimits(max_turns=1), "turns", 2), (EpisodeLimits(max_tokens=7), "tokens", 4)],
)
def test_a_limit_ends_the_episode_of_every_agent(limits: EpisodeLimits, reason: str, turns: int) -> None:
    """The last turn of each agent is truncated; tokens of all agents count together."""
    for trajectory in rollout(market(), Seller, episodes=2, limits=limits):
        assert (trajectory.stop_reason, len(trajectory), trajectory.failure) == (reason, turns, None)
        assert [turn.truncated for turn in trajectory.transitions[-2:]] == [True, True]


def test_a_limit_of_one_agent_ends_the_episode() -> None:
    """A full context truncates the episode for all, and it is scored."""

    class Full(Seller):
        def act(self, observation: Any, info: Info) -> Any:
            if "round 1" in observation:
                raise EpisodeLimitError("context")
            return super().act(observation, info)

    makers = {"ann": lambda env: Full(env, "ann"), "bob": lambda env: Seller(env, "bob")}
    for trajectory in rollout(market(), makers, episodes=2):
        assert (trajectory.stop_reason, len(trajectory), trajectory.failure) == ("context", 2, None)


def test_an_agent_without_a_policy_is_named() -> None:
    """The message names the agent and those that have a policy; policies by agent need several agents."""
    with pytest.raises(gem.GemError, match=r"no policy is given for the agent 'bob'; there are ann"):
        list(rollout(market(), {"ann": Seller}, episodes=1))
