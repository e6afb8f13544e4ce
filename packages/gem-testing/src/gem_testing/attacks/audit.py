"""Plays the battery of attacks against one environment: :func:`audit`.

An attack *pays* if its mean return exceeds the bound of :class:`gem_testing.attacks.estimate.RewardBounds`. All
variants of an attack play the same few seeds. The best of many means is too high by chance, so that a variant above the
bound plays further seeds, and they alone decide: it pays where the lower end of their interval exceeds the bound.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Literal

from gem.core import Env
from gem.env_spec import EnvSpec
from gem.policies import make_policy
from gem_questions.thoughtless import THOUGHTLESS_SHARE
from gem_testing.attacks.estimate import THOUGHTLESS_FAMILIES, RewardBounds, RewardEstimate, estimate
from gem_testing.attacks.families import Attack, Material, battery
from gem_testing.attacks.kind import kind_of
from gem_testing.attacks.playing import MOST_STEPS, Chooser, Player, Returns, Strategy, always
from gem_testing.episodes import one_agents_action
from gem_testing.outcomes import NotTested

__all__ = ["SECONDS", "SEEDS", "AttackAudit", "AttackOutcome", "AttackResult", "audit"]

AttackOutcome = Literal["withstood", "pays", "broke", "not played"]

SEEDS = 8
"""Episodes of each variant of an attack."""
FURTHER_SEEDS = 24
"""Episodes of a variant that seems to pay."""
SECONDS = 20.0
"""Wall-clock seconds for the battery of one environment since its first reset; a slow one plays fewer episodes, at
least one of a variant."""
FIRST_SEED, FIRST_FURTHER_SEED = 7_000, 8_000
_SAMPLES = 6
_REFERENCE_STEPS = 2_000


@dataclass(frozen=True)
class AttackResult:
    """What came of one attack."""

    name: str
    """``"family.name"``."""
    outcome: AttackOutcome
    """``"broke"``: the environment raised, or paid no finite number."""
    bound: float | None
    """The mean return up to which it does not pay."""
    variants: int
    """The number of variants that were played."""
    episodes: int
    """The number of episodes of all variants."""
    variant: str
    """The variant that earned most, or that broke the environment, in few characters."""
    earned: RewardEstimate | None
    """What that variant earned: on the further seeds where it played them."""
    further: bool
    """Whether it played the further seeds, because it seemed to pay."""
    message: str = ""
    """How it broke, or why it was not played."""
    declared: str = ""
    """The reason that the manifest declares in ``exempt`` for an attack that may pay."""


@dataclass(frozen=True)
class AttackAudit:
    """What came of all attacks that fit an environment."""

    kind: str
    """:class:`gem_testing.attacks.kind.EnvKind` in a few words."""
    seeds: tuple[int, int]
    """The first seed, and the number of seeds of a variant."""
    further_seeds: tuple[int, int]
    reference: RewardEstimate | None
    """What the reference policy earns on the seeds; None without one."""
    random: RewardEstimate | None
    """The same of random well-formed actions; in an environment of one turn, of those of other questions."""
    null: RewardEstimate | None
    """The same of empty actions."""
    results: tuple[AttackResult, ...]


def audit(spec: EnvSpec, *, seeds: int = SEEDS, further: int = FURTHER_SEEDS, seconds: float = SECONDS) -> AttackAudit:
    """Play the battery that fits an environment.

    Args:
        spec: the environment.
        seeds: episodes of each variant of an attack.
        further: episodes of a variant that seems to pay.
        seconds: of wall-clock time since the first reset, after which each remaining variant plays one episode; after
            twice that, no further attack is played, and the result says so.

    Raises:
        NotTested: if it declares no ``reward_range``, or cannot be played.
    """
    if spec.reward_range is None:
        raise NotTested("no reward_range is declared", "declare the lowest and highest return of an episode")
    with closing(_Battery(spec, seeds, further, seconds)) as run:
        return run.result()


class _Battery:
    def __init__(self, spec: EnvSpec, seeds: int, further: int, seconds: float) -> None:
        assert spec.reward_range is not None
        self._spec = spec
        self._lowest, self._highest = spec.reward_range
        self._seeds = range(FIRST_SEED, FIRST_SEED + seeds)
        self._further = range(FIRST_FURTHER_SEED, FIRST_FURTHER_SEED + further)
        self._player = Player(spec)
        # An environment may load a library of seconds at its first reset, which is no part of the battery.
        self._player.env.reset(seed=self._seeds.start)
        self._deadline = time.perf_counter() + seconds
        self._end = self._deadline + seconds

    def close(self) -> None:
        self._player.close()

    def result(self) -> AttackAudit:
        spec, share = self._spec, self._spec.thoughtless_share
        baselines = self._deadline - 0.7 * (self._deadline - time.perf_counter())
        right: list[Any] = []
        reference = self._reference(right, baselines) if spec.reference_policy is not None else None
        null = self._estimate(self._player.play_all(always(""), self._seeds, baselines))
        samples = self._samples()
        # The random actions of a question may be made from its answer, so that those of other questions are played.
        chance = _taken_from(samples) if spec.turns == "single" else _random
        random = self._estimate(self._player.play_all(chance, self._seeds, baselines)) if samples else None
        kind = kind_of(spec, self._player.env, right or samples)
        floor = self._lowest if spec.null_return is None else spec.null_return
        single = spec.turns == "single"
        bounds = RewardBounds(
            lowest=self._lowest,
            highest=self._highest,
            floor=floor,
            random=floor if random is None else random.mean,
            thoughtless_share=(THOUGHTLESS_SHARE if share is None else share) if single else None,
        )
        material = Material(kind, samples, tuple(right), has_reference=bool(right))
        attacks = battery(material)
        results = []
        for number, attack in enumerate(attacks):
            if time.perf_counter() > self._end:
                results.append(self._not_played(attack))
                continue
            left = max(0.0, self._deadline - time.perf_counter())
            results.append(self._played(attack, bounds, time.perf_counter() + left / (len(attacks) - number)))
        return AttackAudit(
            kind=str(kind),
            seeds=(self._seeds.start, len(self._seeds)),
            further_seeds=(self._further.start, len(self._further)),
            reference=reference,
            random=random,
            null=null,
            results=tuple(results),
        )

    def _reference(self, right: list[Any], deadline: float) -> RewardEstimate | None:
        """Return what the reference policy earns, and add its actions to ``right``."""
        returns = Returns()
        for seed in self._seeds:
            played = self._player.play(_reference, seed, _REFERENCE_STEPS)
            returns.add(played)
            right += [getattr(action, "action", action) for action in played.actions]
            if time.perf_counter() > deadline:
                break
        return self._estimate(returns)

    def _samples(self) -> tuple[Any, ...]:
        found: dict[str, Any] = {}
        for seed in range(FIRST_SEED - 4 * _SAMPLES, FIRST_SEED):
            try:
                self._player.env.reset(seed=seed)
                action = one_agents_action(self._player.env, self._player.env.sample_random_action())
            except Exception:  # contract.random_action reports it; some environments sample none
                return tuple(found.values())
            found.setdefault(repr(action), action)
            if len(found) == _SAMPLES:
                break
        return tuple(found.values())

    def _played(self, attack: Attack, bounds: RewardBounds, deadline: float) -> AttackResult:
        most_steps = attack.most_steps or MOST_STEPS
        bound = bounds.of(attack.family)
        if attack.chance:
            bound = bounds.above(bound, attack.chance * self._highest)
        if attack.control is not None:
            control = self._player.play_all(attack.control, self._seeds, deadline, most_steps)
            bound = bounds.above(bound, control.mean)
        played: list[tuple[str, Strategy, Returns]] = []
        for number, (label, strategy) in enumerate(attack.variants):
            share = max(0.0, deadline - time.perf_counter()) / (len(attack.variants) - number)
            returns = self._player.play_all(strategy, self._seeds, time.perf_counter() + share, most_steps)
            played.append((label, strategy, returns))
            if returns.broke:
                break
        episodes = sum(len(one.known) + one.unknown + bool(one.broke) for _, _, one in played)
        label, strategy, returns = max(played, key=lambda one: (bool(one[2].broke), one[2].mean))
        further = not returns.broke and returns.mean > bound
        if further:
            returns = self._player.play_all(strategy, self._further, self._end, most_steps)
            episodes += len(returns.known) + returns.unknown + bool(returns.broke)
            if attack.control is not None:
                control = self._player.play_all(attack.control, self._further, self._end, most_steps)
                bound = bounds.above(bound, control.mean)
        best = max((one.mean for _, _, one in played), default=-math.inf)
        if attack.family in THOUGHTLESS_FAMILIES:
            bounds.thoughtless = max(bounds.thoughtless, returns.mean if further else best)
        earned = self._estimate(returns)
        outcome: AttackOutcome = "withstood"
        if returns.broke:
            outcome = "broke"
        elif earned is None:
            outcome = "not played"
        elif further and earned.low > bound:
            outcome = "pays"
        return AttackResult(
            name=attack.name,
            outcome=outcome,
            bound=bound,
            variants=len(played),
            episodes=episodes,
            variant=label,
            earned=earned,
            further=further,
            message=returns.broke or ("every episode was spoiled by a fault" if earned is None else ""),
            declared=_declared(self._spec.exempt, attack),
        )

    def _not_played(self, attack: Attack) -> AttackResult:
        return AttackResult(
            name=attack.name,
            outcome="not played",
            bound=None,
            variants=0,
            episodes=0,
            variant="",
            earned=None,
            further=False,
            message="the time was over; allow more with --attack-seconds",
            declared=_declared(self._spec.exempt, attack),
        )

    def _estimate(self, returns: Returns) -> RewardEstimate | None:
        return estimate(returns.known, self._lowest, self._highest, returns.unknown)


def _declared(exempt: Mapping[str, str], attack: Attack) -> str:
    return exempt.get(f"attacks.{attack.family}", "")


def _random(env: Env[Any, Any], _seed: int) -> Chooser:
    return lambda _observation, _info: env.sample_random_action()


def _taken_from(samples: Sequence[Any]) -> Strategy:
    return lambda env, seed: always(samples[seed % len(samples)])(env, seed)


def _reference(env: Env[Any, Any], _seed: int) -> Chooser:
    policy, begun = make_policy("reference", env), False

    def choose(observation: Any, info: Any) -> Any:
        nonlocal begun
        if not begun:
            policy.reset(observation, info)
            begun = True
        action = policy.act(observation, info)
        return getattr(action, "action", action)

    return choose
