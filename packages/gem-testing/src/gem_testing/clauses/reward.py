"""Rewards mean what the manifest says: the range is kept, the reference policy reaches it, nothing else is paid."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

from gem_testing.episodes import acted_by_each, freeze, play, rewards_of, shorten
from gem_testing.outcome import NotTested, Violation, clauses_of
from gem_testing.subject import Played, Subject

__all__ = ["CLAUSES"]

SIGMAS = 4.0
CLOSE_ENOUGH = 1e-6
"""Rewards that are added up in floating point need not meet a bound exactly."""

GARBAGE = (
    "¤¤¤¤",
    "qzxw vkjj qqzx",
    "\\boxed{¤¤¤¤}",
    "<answer>¤¤¤¤</answer>",
    "I would rather talk about the weather.",
    "\\boxed{}",
    "%PDF-1.7 " + "\x00\x01\x02" * 20,
)
"""Texts that are no answer to anything."""


def range_(subject: Subject) -> None:
    """The return of every episode lies within the declared reward_range."""
    lowest, highest = _range(subject)
    for played in _all_episodes(subject):
        if not lowest - CLOSE_ENOUGH <= played.total <= highest + CLOSE_ENOUGH:
            raise Violation(
                f"an episode of {played.script.source} (seed {played.script.seed}, {len(played)} steps) returned "
                f"{played.total:g}, and reward_range is [{lowest:g}, {highest:g}]; correct one of them"
            )


def reference(subject: Subject) -> None:
    """The reference policy reaches the declared maximum, or the mean reference_return that the manifest declares.

    Returns lie in [a, b] and have mean m, so their variance is at most (b - m)(m - a) (Bhatia and Davis, 2000); the
    observed mean may be off by four standard errors of that. Where m is b, every episode has to reach it.
    """
    lowest, highest = _range(subject)
    declared = subject.spec.reference_return
    wanted = highest if declared is None else declared
    episodes = _reference_episodes(subject)
    returns = [played.total for played in episodes]
    mean = math.fsum(returns) / len(returns)
    variance = max(0.0, (highest - wanted) * (wanted - lowest))
    tolerance = SIGMAS * math.sqrt(variance / len(returns)) + CLOSE_ENOUGH
    if abs(mean - wanted) > tolerance:
        worst = min(episodes, key=lambda played: played.total)
        raise Violation(
            f"the reference policy's mean return over {len(returns)} episodes is {mean:.4g} (lowest {worst.total:g} "
            "with seed "
            f"{worst.script.seed}), and {wanted:g} is declared; correct the policy, or declare reference_return"
        )


def reference_sees(subject: Subject) -> None:
    """A reference policy that is declared to see the observation needs nothing else.

    In a process without the environment, and without info, it chooses the same actions for the same observations.
    """
    from gem_testing.processes import actions_elsewhere

    if subject.spec.reference_sees != "observation":
        return
    episodes = _reference_episodes(subject)[:8]
    observations = [[json.loads(shown.observation) for shown in played.shown[:-1]] for played in episodes]
    try:
        elsewhere = actions_elsewhere(subject, observations)
    except Violation as violation:
        raise Violation(
            f"the reference policy cannot play from observations alone: {violation}; declare reference_sees = "
            '"state", or '
            "let it read the observation"
        ) from violation
    for played, actions in zip(episodes, elsewhere, strict=True):
        for turn, (here, there) in enumerate(zip(played.script.actions, actions, strict=True), start=1):
            if freeze(here) != there:
                raise Violation(
                    f"at step {turn} (seed {played.script.seed}) the reference policy chose {shorten(here)}, and from "
                    "the same "
                    f"observations in a process without the environment {there}; it reads something else: declare "
                    'reference_sees = "state", or let it read the observation (and draw from a generator with a fixed '
                    "seed)"
                )


def null(subject: Subject) -> None:
    """An agent that says nothing gets the floor: null_return, or the lower end of reward_range."""
    lowest, highest = _range(subject)
    floor = lowest if subject.spec.null_return is None else subject.spec.null_return
    for played in subject.null_episodes:
        if abs(played.total - floor) > CLOSE_ENOUGH:
            raise Violation(
                f"an agent that says nothing (seed {played.script.seed}, {len(played)} steps) got {played.total:g}, "
                "and the "
                f"floor is {floor:g}; correct the reward, or declare null_return = {played.total:g}"
            )
    if floor >= highest > lowest:
        raise Violation(f"null_return is {floor:g}, the highest return there is; silence must not be what is asked for")


def garbage(subject: Subject) -> None:
    """Garbage never scores: no text that answers nothing earns more than nothing, or than silence does."""
    lowest, _ = subject.spec.reward_range or (0.0, 0.0)
    floor = lowest if subject.spec.null_return is None else subject.spec.null_return
    for text in GARBAGE:
        played = subject.play_always(text, 3, most_steps=1000)
        if played.total > max(0.0, floor) + CLOSE_ENOUGH:
            raise Violation(
                f"an agent that always says {shorten(text)} got {played.total:g} in {len(played)} steps (seed 3); pay "
                "for "
                "right answers only"
            )


def after_end(subject: Subject) -> None:
    """Nothing is paid after the end of an episode."""
    for played in subject.recorded:
        if not played.ended:
            continue
        with subject.make() as env:
            if play(env, played.script.actions, played.script.seed) != played.shown:
                raise NotTested("an episode does not repeat", "see determinism.instances")
            for action in (played.script.actions[-1], acted_by_each(env, subject.sampled_action)):
                try:
                    _, paid, *_ = env.step(action)
                except Exception:  # noqa: S112  # contract.after_end says which one it must be
                    continue
                if rewards_of(paid) != 0:
                    raise Violation(
                        f"a step after the end (seed {played.script.seed}, after step {len(played)}) was rewarded with "
                        f"{shorten(paid)}; raise EpisodeFinishedError there"
                    )


def _range(subject: Subject) -> tuple[float, float]:
    if subject.spec.reward_range is None:
        raise NotTested("no reward_range is declared", "declare the lowest and highest return of an episode")
    return subject.spec.reward_range


def _reference_episodes(subject: Subject) -> list[Played]:
    if subject.spec.reference_policy is None:
        raise NotTested("no reference_policy is declared", "declare one: it proves that the task can be solved")
    return subject.reference_episodes


def _all_episodes(subject: Subject) -> Iterable[Played]:
    yield from (played for played in subject.recorded if played.ended)
    yield from (played for played in subject.null_episodes if played.ended)
    for text in (subject.sampled_action, *GARBAGE):
        played = subject.play_always(text, 3, most_steps=1000)
        if played.ended:
            yield played


CLAUSES = (
    *clauses_of("reward", range_, reference),
    *clauses_of("reward", reference_sees, processes=True),
    *clauses_of("reward", null, garbage, after_end),
)
