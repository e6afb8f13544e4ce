"""The scores of simple agents in an environment: the random, the reference and the null policy.

The null policy answers every observation with the empty text. A score is a mean over episodes with the seeds
0, 1, 2 …, bounded in number and in time.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

from gem.core import Env, Info
from gem.env_spec import EnvSpec
from gem.policies import Policy, make_policy
from gem.registry import make
from gem_rollout import summarize
from gem_rollout.trajectory import Trajectory, Transition
from gem_testing.episodes import acted_by_each, has_ended, rewards_of

__all__ = ["AGENTS", "EPISODES", "SECONDS", "AgentScore", "scores_of"]

AGENTS = ("random", "reference", "null")
EPISODES = 32
SECONDS = 1.0
"""Wall-clock seconds after which no further episode of an agent begins."""
LONGEST_SECONDS = 30.0
"""Further wall-clock seconds after which a running episode is stopped."""
_MOST_STEPS = 10_000
"""Steps after which an episode counts as endless; as :data:`gem_testing.env_under_test.HORIZON`."""


@dataclass(frozen=True)
class AgentScore:
    """The score of an agent; the mean is None if no episode ended."""

    episodes: int
    mean: float | None
    standard_error: float
    """Standard error of the mean, as :class:`gem_rollout.Summary` gives it."""
    success_rate: float | None
    mean_turns: float | None
    error: str = ""
    """The reason that no further episodes were played."""


class _SilentPolicy(Policy[Any, Any]):
    """Sends the empty text in every turn, for every agent."""

    def __init__(self, env: Env[Any, Any]) -> None:
        self.env = env

    def act(self, observation: Any, info: Info) -> Any:
        return acted_by_each(self.env, "")


def scores_of(spec: EnvSpec, episodes: int = EPISODES, seconds: float = SECONDS) -> dict[str, AgentScore]:
    """Return the score of each agent; of the reference policy only where the spec names one."""
    return {
        agent: _score(spec, agent, episodes, seconds)
        for agent in AGENTS
        if agent != "reference" or spec.reference_policy is not None
    }


def _score(spec: EnvSpec, agent: str, episodes: int, seconds: float) -> AgentScore:
    played: list[Trajectory] = []
    error = ""
    deadline = time.perf_counter() + seconds
    try:
        with make(spec) as env:
            policy = _SilentPolicy(env) if agent == "null" else make_policy(agent, env)
            for seed in range(episodes):
                if played and time.perf_counter() > deadline:
                    break
                played.append(_play(env, policy, seed, deadline + LONGEST_SECONDS))
    except Exception as raised:  # an environment or policy may raise anything; the clauses report the fault
        error = f"{type(raised).__name__}: {raised}"
    if not played:
        return AgentScore(0, None, 0.0, None, None, error)
    unusable = next((t.episode_return for t in played if not math.isfinite(t.episode_return)), None)
    if unusable is not None:
        return AgentScore(len(played), None, 0.0, None, None, f"the return of an episode is {unusable}")
    (summary,) = summarize(played)
    return AgentScore(
        summary.episodes,
        summary.mean_return,
        summary.standard_error,
        summary.success_rate,
        summary.mean_turns,
        error,
    )


class _NeverEndsError(Exception):
    """An episode was stopped."""


def _play(env: Env[Any, Any], policy: Policy[Any, Any], seed: int, deadline: float) -> Trajectory:
    """Play one episode; keep only the data for its summary.

    Raises:
        _NeverEndsError: if it is still in play after very many steps or at the deadline.
    """
    record = Trajectory(env.spec, seed)
    observation, info = env.reset(seed=seed)
    policy.reset(observation, info)
    while len(record) < _MOST_STEPS and time.perf_counter() < deadline:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
        ended = has_ended(env, terminated, truncated)
        last_info = info if ended else {}
        record.transitions.append(Transition(None, None, rewards_of(reward), ended, False, last_info))
        if ended:
            return record
    raise _NeverEndsError(f"the episode with seed {seed} was stopped after {len(record)} steps")
