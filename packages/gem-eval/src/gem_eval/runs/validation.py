"""Whether environments tell agents apart, without a model: :func:`validate`.

The reference policy must reach the return that the manifest declares, an agent that says nothing the floor, and a
random agent less than the reference policy; where an episode is one turn, the random agent answers another question,
and no rule without thought, such as a constant answer, earns the declared share. An environment for which one of these
does not hold measures nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from gem.arguments import nearest
from gem.core import Env, Info
from gem.entry_points import load
from gem.env_spec import EnvSpec
from gem.errors import UnknownEnvironmentError
from gem.ids import normalized_distribution
from gem.multiagent import MultiAgentEnv
from gem.policies import Policy, make_policy
from gem.registry import all_specs, make
from gem.registry import spec as find_spec
from gem_questions.thoughtless import THOUGHTLESS_SHARE, ThoughtlessShares, thoughtless_shares
from gem_rollout import EpisodeLimits, rollout
from gem_rollout.trajectory import Trajectory

__all__ = ["AgentReturns", "EnvironmentValidation", "environments_of", "validate"]

_AGENTS = ("reference", "random", "null")
_CLOSE = 1e-6
"""Tolerance for sums of rewards, which floating point rounds."""
_SIGMAS = 4.0
_MOST_TURNS = 10_000
"""Turns after which an episode counts as endless."""
_AT_A_TIME = 8
_OTHER_SEEDS = 1_000_000
"""The seed before those of the episodes whose random actions :class:`OtherQuestionPolicy` plays."""
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
    """The first different messages of failed episodes."""


@dataclass(frozen=True)
class EnvironmentValidation:
    """The verdict on one environment."""

    env: str
    agents: Mapping[str, AgentReturns] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    """What is wrong, a sentence each; empty if nothing is."""
    notes: tuple[str, ...] = ()
    """What could not be checked."""
    thoughtless: ThoughtlessShares | None = None
    """What rules without thought earn of the highest reward, where an episode is one turn."""
    seconds: float = 0.0

    @property
    def valid(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {**asdict(self), "valid": self.valid}


def environments_of(targets: Iterable[str]) -> tuple[list[EnvSpec], list[EnvSpec]]:
    """Return the environments that ids, namespaces and distributions name, each once.

    Returns:
        Those to validate; and those that a namespace or distribution has and that need something that this machine may
        lack (``requires``: docker, network, dataset …), or several agents. An id stands for its environment whatever it
        needs.

    Raises:
        UnknownEnvironmentError: if a target is none of these.
    """
    chosen: dict[str, EnvSpec] = {}
    left_out: dict[str, EnvSpec] = {}
    every: list[EnvSpec] | None = None
    for target in targets:
        if ":" in target:
            chosen[target] = find_spec(target)
            continue
        every = all_specs() if every is None else every
        name = normalized_distribution(target)
        found = [s for s in every if target == s.namespace or name == normalized_distribution(s.distribution or "")]
        if not found:
            known = {s.namespace for s in every} | {s.distribution for s in every if s.distribution}
            hint = nearest(target, sorted(known))
            advice = f"did you mean {hint!r}?" if hint else "'gem list' shows what there is"
            raise UnknownEnvironmentError(f"{target!r} is no id, namespace or package of environments; {advice}")
        for spec in found:
            (left_out if spec.requires or _has_several_agents(spec) else chosen)[f"{spec.distribution}/{spec.id}"] = (
                spec
            )
    return list(chosen.values()), list(left_out.values())


def _has_several_agents(spec: EnvSpec) -> bool:
    made = load(spec.entry_point)
    return isinstance(made, type) and issubclass(made, MultiAgentEnv)


def validate(
    spec: EnvSpec, *, episodes: int = 16, seconds: float = 20.0, step_timeout: float | None = 60.0
) -> EnvironmentValidation:
    """Play an environment with agents that need no model, and check what they earn.

    Args:
        spec: the environment.
        episodes: of each agent, at most.
        seconds: no agent begins a further episode after so many seconds of wall-clock time.
        step_timeout: seconds that a step may take; None for no limit.
    """
    begin = time.perf_counter()
    agents = _AGENTS if spec.reference_policy is not None else _AGENTS[1:]
    played = {agent: list(_play(spec, agent, episodes, seconds, step_timeout)) for agent in agents}
    returns = {agent: [t.episode_return for t in some if t.error is None] for agent, some in played.items()}
    figures = {agent: _figures(played[agent], returns[agent]) for agent in agents}
    thoughtless = _thoughtless(spec, seconds)
    problems = (*_problems(spec, figures), *_reached(spec, thoughtless))
    took = time.perf_counter() - begin
    return EnvironmentValidation(spec.id, figures, problems, tuple(_notes(spec)), thoughtless, took)


class OtherQuestionPolicy(Policy[Any, Any]):
    """Acts at random as in another episode of the same environment.

    What an environment of one turn samples as a random action may be the right answer to its own question.
    """

    def __init__(self, env: Env[Any, Any]) -> None:
        self._other = env.unwrapped.spawn()
        self._seed = _OTHER_SEEDS

    def act(self, observation: Any, info: Info) -> Any:
        self._seed += 1
        self._other.reset(seed=self._seed)
        return self._other.sample_random_action()

    def close(self) -> None:
        self._other.close()


def _play(spec: EnvSpec, agent: str, episodes: int, seconds: float, step_timeout: float | None) -> Iterator[Trajectory]:
    end = time.monotonic() + seconds
    limits = EpisodeLimits(step_timeout=step_timeout, max_turns=_MOST_TURNS)
    single = spec.turns == "single"
    maker = OtherQuestionPolicy if single and agent == "random" else partial(make_policy, agent)
    # A question takes less time than another copy of the set that it is from.
    num_envs = 1 if single else min(_AT_A_TIME, episodes)
    stream = rollout(spec, maker, num_envs=num_envs, episodes=episodes, agent=agent, limits=limits)
    for trajectory in stream:
        yield trajectory
        if time.monotonic() > end:
            stream.close()


def _thoughtless(spec: EnvSpec, seconds: float) -> ThoughtlessShares | None:
    """Return what rules without thought earn; None where they cannot be tried."""
    if spec.turns != "single" or spec.reference_policy is None:
        return None
    try:
        with make(spec) as env:
            return thoughtless_shares(env, seconds=seconds)
    except Exception:  # an environment may raise anything, and the episodes that fail are a problem of their own
        return None


def _reached(spec: EnvSpec, found: ThoughtlessShares | None) -> Iterator[str]:
    limit = THOUGHTLESS_SHARE if spec.thoughtless_share is None else spec.thoughtless_share
    if found is not None and found.reaches(limit):
        yield (
            f"the rule {found.rule!r} earns {found.share:.3g} of the highest reward without thought, and "
            f"thoughtless_share is {limit:g}"
        )


def _figures(played: Sequence[Trajectory], returns: Sequence[float]) -> AgentReturns:
    errors = dict.fromkeys(t.error for t in played if t.error is not None)
    return AgentReturns(
        episodes=len(returns),
        failed=len(played) - len(returns),
        mean=math.fsum(returns) / len(returns) if returns else None,
        lowest=min(returns, default=None),
        highest=max(returns, default=None),
        errors=tuple(errors)[:_SHOWN_ERRORS],
    )


def _notes(spec: EnvSpec) -> Iterator[str]:
    if spec.reference_policy is None:
        yield "no reference policy is declared, so nothing shows that the task can be solved"
    if spec.reward_range is None:
        yield "no reward_range is declared, so returns are only compared with each other"


def _problems(spec: EnvSpec, agents: Mapping[str, AgentReturns]) -> Iterator[str]:
    for agent, item in agents.items():
        if item.failed:
            total = item.failed + item.episodes
            yield f"{item.failed} of {total} episodes of the {agent} policy failed: {item.errors[0]}"
    reference = agents.get("reference")
    if spec.reward_range is not None:
        low, high = spec.reward_range
        for agent, item in agents.items():
            yield from _outside(agent, item, low, high)
        if reference is not None:
            yield from _reference(spec, reference, low, high)
        yield from _null(spec, agents["null"], low)
    if reference is not None and reference.mean is not None:
        for agent in ("random", "null"):
            mean = agents[agent].mean
            if mean is not None and mean >= reference.mean - _CLOSE:
                yield f"the {agent} policy earns as much as the reference policy: {mean:.4g} and {reference.mean:.4g}"


def _outside(agent: str, item: AgentReturns, low: float, high: float) -> Iterator[str]:
    """Yield a sentence if a return of an agent lies outside the declared range."""
    for value in (item.lowest, item.highest):
        if value is not None and not low - _CLOSE <= value <= high + _CLOSE:
            yield f"the {agent} policy got a return of {value:g}, and reward_range is [{low:g}, {high:g}]"
            return


def _reference(spec: EnvSpec, reference: AgentReturns, low: float, high: float) -> Iterator[str]:
    """Yield a sentence if the reference policy's mean return is not the declared one.

    Returns lie in [a, b] and have mean m, so their variance is at most (b - m)(m - a) (Bhatia and Davis, 2000); the
    observed mean may be off by four standard errors of that. Where m is b, every episode has to reach it.
    """
    if reference.mean is None:
        return
    wanted = high if spec.reference_return is None else spec.reference_return
    variance = max(0.0, (high - wanted) * (wanted - low))
    if abs(reference.mean - wanted) > _SIGMAS * math.sqrt(variance / reference.episodes) + _CLOSE:
        yield f"the reference policy's mean return is {reference.mean:.4g}, and {wanted:g} is declared"


def _null(spec: EnvSpec, null: AgentReturns, low: float) -> Iterator[str]:
    """Yield a sentence if an agent that says nothing gets another return than the declared one."""
    floor = low if spec.null_return is None else spec.null_return
    for value in (null.lowest, null.highest):
        if value is not None and abs(value - floor) > _CLOSE:
            yield f"an agent that says nothing got a return of {value:g}, and {floor:g} is declared"
            return
