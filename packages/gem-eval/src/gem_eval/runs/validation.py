"""Whether environments tell agents apart, without a model: :func:`validate`.

The reference policy must reach the return that the manifest declares, an agent that says nothing the floor, and a
random one less than the reference. An environment in which one of these fails measures nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from gem.env_spec import EnvSpec
from gem.policies import make_policy
from gem.rollout import EpisodeLimits, rollout
from gem.trajectory import Trajectory

__all__ = ["AGENTS", "AgentReturns", "EnvironmentValidation", "validate"]

AGENTS = ("reference", "random", "null")

_CLOSE = 1e-6
"""Tolerance for sums of rewards, which floating point rounds."""
_SIGMAS = 4.0
_SHOWN_ERRORS = 3


@dataclass(frozen=True)
class AgentReturns:
    """What an agent earned in an environment."""

    episodes: int
    """Finished ones."""
    failed: int
    mean: float | None
    lowest: float | None
    highest: float | None
    errors: tuple[str, ...] = ()
    """The first messages of failed episodes."""


@dataclass(frozen=True)
class EnvironmentValidation:
    """The verdict on one environment."""

    env: str
    agents: Mapping[str, AgentReturns] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    """What is wrong, a sentence each; empty if nothing is."""
    notes: tuple[str, ...] = ()
    """What could not be checked."""
    seconds: float = 0.0

    @property
    def valid(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {**asdict(self), "valid": self.valid}


def validate(
    spec: EnvSpec, *, episodes: int = 16, step_timeout: float = 30.0, seconds: float = 120.0
) -> EnvironmentValidation:
    """Play an environment with agents that need no model, and check what they earn.

    Args:
        spec: the environment.
        episodes: of each agent.
        step_timeout: seconds that a step may take.
        seconds: that an episode may take.
    """
    begin = time.perf_counter()
    limits = EpisodeLimits(step_timeout=step_timeout, max_seconds=seconds, max_turns=_MOST_TURNS)
    agents = AGENTS if spec.reference_policy is not None else AGENTS[1:]
    returns: dict[str, AgentReturns] = {}
    lists: dict[str, list[float]] = {}
    for agent in agents:
        played = list(
            rollout(
                spec,
                partial(make_policy, agent),
                num_envs=min(8, episodes),
                episodes=episodes,
                agent=agent,
                limits=limits,
            )
        )
        lists[agent] = [t.episode_return for t in played if t.error is None]
        returns[agent] = _returns(played, lists[agent])
    problems, notes = _verdict(spec, returns, lists)
    return EnvironmentValidation(spec.id, returns, tuple(problems), tuple(notes), seconds=time.perf_counter() - begin)


_MOST_TURNS = 10_000
"""Turns after which an episode counts as endless."""


def _returns(played: Sequence[Trajectory], returns: Sequence[float]) -> AgentReturns:
    errors = dict.fromkeys(t.error for t in played if t.error is not None)
    return AgentReturns(
        episodes=len(returns),
        failed=len(played) - len(returns),
        mean=math.fsum(returns) / len(returns) if returns else None,
        lowest=min(returns, default=None),
        highest=max(returns, default=None),
        errors=tuple(list(errors)[:_SHOWN_ERRORS]),
    )


def _verdict(
    spec: EnvSpec, agents: Mapping[str, AgentReturns], returns: Mapping[str, Sequence[float]]
) -> tuple[list[str], list[str]]:
    problems = [
        f"{item.failed} of {item.failed + item.episodes} episodes of the {agent} policy failed: {item.errors[0]}"
        for agent, item in agents.items()
        if item.failed
    ]
    notes = []
    problems += _outside(spec, agents)
    reference = agents.get("reference")
    if reference is None:
        notes.append("no reference policy is declared, so nothing shows that the task can be solved")
    elif reference.mean is not None:
        problems += _reference(spec, reference, len(returns["reference"]))
        problems += _thoughtless(spec, agents, reference.mean)
    if spec.reward_range is None:
        notes.append("no reward_range is declared, so returns are only compared with each other")
    else:
        problems += _null(spec, agents["null"])
    return problems, notes


def _outside(spec: EnvSpec, agents: Mapping[str, AgentReturns]) -> Iterable[str]:
    """Yield a sentence for each agent with a return outside the declared range."""
    if spec.reward_range is None:
        return
    low, high = spec.reward_range
    for agent, item in agents.items():
        for value in (item.lowest, item.highest):
            if value is not None and not low - _CLOSE <= value <= high + _CLOSE:
                yield f"the {agent} policy got a return of {value:g}, and reward_range is [{low:g}, {high:g}]"
                break


def _reference(spec: EnvSpec, reference: AgentReturns, count: int) -> Iterable[str]:
    """Yield what is wrong with the reference policy's mean return.

    Returns lie in [a, b] and have mean m, so their variance is at most (b - m)(m - a) (Bhatia and Davis, 2000); the
    observed mean may be off by four standard errors of that. Where m is b, every episode has to reach it.
    """
    if spec.reward_range is None or reference.mean is None:
        return
    low, high = spec.reward_range
    wanted = high if spec.reference_return is None else spec.reference_return
    tolerance = _SIGMAS * math.sqrt(max(0.0, (high - wanted) * (wanted - low)) / count) + _CLOSE
    if abs(reference.mean - wanted) > tolerance:
        yield f"the reference policy's mean return is {reference.mean:.4g}, and {wanted:g} is declared"


def _null(spec: EnvSpec, null: AgentReturns) -> Iterable[str]:
    """Yield what is wrong with the return of an agent that says nothing."""
    assert spec.reward_range is not None
    floor = spec.reward_range[0] if spec.null_return is None else spec.null_return
    if null.lowest is not None and null.highest is not None:
        worst = max((null.lowest, null.highest), key=lambda value: abs(value - floor))
        if abs(worst - floor) > _CLOSE:
            yield f"an agent that says nothing got a return of {worst:g}, and {floor:g} is declared"


def _thoughtless(spec: EnvSpec, agents: Mapping[str, AgentReturns], best: float) -> Iterable[str]:
    """Yield the agents that do as well as the reference policy without looking."""
    share = getattr(spec, "thoughtless_share", None)
    for agent in ("random", "null"):
        mean = agents[agent].mean
        if mean is None:
            continue
        if mean >= best - _CLOSE:
            yield f"the {agent} policy earns as much as the reference policy: {mean:.4g} and {best:.4g}"
        elif share is not None and best > 0 and mean > share * best + _CLOSE:
            yield f"the {agent} policy earns {mean / best:.0%} of the reference policy, and {share:.0%} is declared"
