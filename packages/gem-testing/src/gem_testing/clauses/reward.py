"""Rewards mean what the manifest says: the range holds, the reference policy reaches it, garbage earns nothing."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable

from gem.errors import NotSupportedError
from gem_questions.thoughtless import THOUGHTLESS_SHARE, thoughtless_shares
from gem_testing.clause import REFERENCE_POLICY, REWARD_RANGE, clauses_of
from gem_testing.env_under_test import EnvUnderTest, Episode
from gem_testing.episodes import acted_by_each, play, rewards_of
from gem_testing.messages import freeze, shorten
from gem_testing.outcomes import NotTested, Violation
from gem_testing.processes import actions_elsewhere

__all__ = ["CLAUSES"]

SIGMAS = 4.0
CLOSE_ENOUGH = 1e-6
"""Tolerance for sums of rewards, which floating point rounds."""

THOUGHTLESS_SECONDS = 0.1
"""Wall-clock seconds for questions that are answered without thought; an environment that is slow asks fewer."""

GARBAGE = (
    "¤¤¤¤",
    "qzxw vkjj qqzx",
    "\\boxed{¤¤¤¤}",
    "<answer>¤¤¤¤</answer>",
    "I would rather talk about the weather.",
    "\\boxed{}",
    "%PDF-1.7 " + "\x00\x01\x02" * 20,
)
"""Texts that answer no question."""


def range_(under_test: EnvUnderTest) -> None:
    """The return of every episode lies within the declared reward_range."""
    lowest, highest = _range(under_test)
    for episode in _all_episodes(under_test):
        if not lowest - CLOSE_ENOUGH <= episode.total <= highest + CLOSE_ENOUGH:
            raise Violation(
                f"an episode of {episode.script.source} (seed {episode.script.seed}, {len(episode)} steps) returned "
                f"{episode.total:g}, and reward_range is [{lowest:g}, {highest:g}]; correct one of them"
            )


def reference(under_test: EnvUnderTest) -> None:
    """The reference policy reaches the declared maximum, or the mean reference_return that the manifest declares.

    Returns lie in [a, b] and have mean m, so their variance is at most (b - m)(m - a) (Bhatia and Davis, 2000); the
    observed mean may be off by four standard errors of that. Where m is b, every episode has to reach it.
    """
    lowest, highest = _range(under_test)
    declared = under_test.spec.reference_return
    wanted = highest if declared is None else declared
    episodes = under_test.reference_episodes
    returns = [episode.total for episode in episodes]
    mean = math.fsum(returns) / len(returns)
    variance = max(0.0, (highest - wanted) * (wanted - lowest))
    tolerance = SIGMAS * math.sqrt(variance / len(returns)) + CLOSE_ENOUGH
    if abs(mean - wanted) > tolerance:
        worst = min(episodes, key=lambda episode: episode.total)
        raise Violation(
            f"the reference policy's mean return over {len(returns)} episodes is {mean:.4g} (lowest {worst.total:g} "
            f"with seed {worst.script.seed}), and {wanted:g} is declared; correct the policy, or declare "
            "reference_return"
        )


def reference_sees(under_test: EnvUnderTest) -> None:
    """A reference policy that is declared to see the observation needs nothing else.

    In a process without the environment, and without info, it chooses the same actions for the same observations.
    """
    policy = under_test.spec.reference_policy
    if under_test.spec.reference_sees != "observation" or policy is None:
        return
    episodes = under_test.reference_episodes[:8]
    observations = [[json.loads(record.observation) for record in episode.records[:-1]] for episode in episodes]
    try:
        elsewhere = actions_elsewhere(policy, observations, under_test.process_state)
    except Violation as violation:
        raise Violation(
            f"the reference policy cannot play from observations alone: {violation}; "
            'declare reference_sees = "state", or let it read the observation'
        ) from violation
    for episode, actions in zip(episodes, elsewhere, strict=True):
        for turn, (here, there) in enumerate(zip(episode.script.actions, actions, strict=True), start=1):
            if freeze(here) != there:
                raise Violation(
                    f"at step {turn} (seed {episode.script.seed}) the reference policy chose {shorten(here)}, and from "
                    "the same "
                    f"observations in a process without the environment {there}; it reads something else: declare "
                    'reference_sees = "state", or let it read the observation (and draw from a generator with a fixed '
                    "seed)"
                )


def null(under_test: EnvUnderTest) -> None:
    """An agent that says nothing gets the floor: null_return, or the lower end of reward_range."""
    lowest, highest = _range(under_test)
    floor = lowest if under_test.spec.null_return is None else under_test.spec.null_return
    for episode in under_test.null_episodes:
        if abs(episode.total - floor) > CLOSE_ENOUGH:
            raise Violation(
                f"an agent that says nothing (seed {episode.script.seed}, {len(episode)} steps) got {episode.total:g}, "
                f"and the floor is {floor:g}; correct the reward, or declare null_return = {episode.total:g}"
            )
    if floor >= highest > lowest:
        raise Violation(f"null_return is {floor:g}, the highest return there is; silence must not be what is asked for")


def garbage(under_test: EnvUnderTest) -> None:
    """Garbage never scores: a text that answers nothing earns no more than nothing, or than silence."""
    lowest, _ = under_test.spec.reward_range or (0.0, 0.0)
    floor = lowest if under_test.spec.null_return is None else under_test.spec.null_return
    for text in GARBAGE:
        episode = under_test.play_always(text, 3, most_steps=1000)
        if episode.total > max(0.0, floor) + CLOSE_ENOUGH:
            raise Violation(
                f"an agent that always says {shorten(text)} got {episode.total:g} in {len(episode)} steps (seed 3); "
                "pay for right answers only"
            )


def thoughtless(under_test: EnvUnderTest) -> None:
    """In an environment of one turn, no rule without thought earns the declared thoughtless_share (0.4 where none is).

    The rules of ``gem.thoughtless`` answer with a constant, a copy of the question, or its numbers. Where 1.0 is
    declared, they may earn everything.
    """
    declared = under_test.spec.thoughtless_share
    limit = THOUGHTLESS_SHARE if declared is None else declared
    if under_test.spec.turns != "single":
        return
    try:
        with under_test.make() as env:
            found = thoughtless_shares(env, seconds=THOUGHTLESS_SECONDS)
    except NotSupportedError as error:
        raise NotTested(str(error), "let the reference policy answer with texts") from error
    except Exception as error:
        raise NotTested(f"no question can be answered: {type(error).__name__}: {error}", "see contract.step") from error
    if found.reaches(limit):
        raise Violation(
            f"the rule {found.rule!r} earns {found.share:.3g} of the highest reward in {found.questions} questions, "
            f"without thought, and thoughtless_share is {limit:g}; ask for more than it can guess, or declare a larger "
            "thoughtless_share"
        )


def after_end(under_test: EnvUnderTest) -> None:
    """Nothing is paid after the end of an episode."""
    for episode in under_test.recorded:
        if not episode.ended:
            continue
        with under_test.make() as env:
            if play(env, episode.script.actions, episode.script.seed) != episode.records:
                raise NotTested("an episode does not repeat", "see determinism.instances")
            for action in (episode.script.actions[-1], acted_by_each(env, under_test.sampled_action)):
                try:
                    _, paid, *_ = env.step(action)
                except Exception:  # noqa: S112  # contract.after_end says which one it must be
                    continue
                if rewards_of(paid) != 0:
                    raise Violation(
                        f"a step after the end (seed {episode.script.seed}, after step {len(episode)}) was rewarded "
                        f"with {shorten(paid)}; raise EpisodeFinishedError there"
                    )


def _range(under_test: EnvUnderTest) -> tuple[float, float]:
    assert under_test.spec.reward_range is not None  # the clauses need it
    return under_test.spec.reward_range


def _all_episodes(under_test: EnvUnderTest) -> Iterable[Episode]:
    yield from (episode for episode in under_test.recorded if episode.ended)
    yield from (episode for episode in under_test.null_episodes if episode.ended)
    for text in (under_test.sampled_action, *GARBAGE):
        episode = under_test.play_always(text, 3, most_steps=1000)
        if episode.ended:
            yield episode


CLAUSES = (
    *clauses_of("reward", range_, by_arguments=True, needs=(REWARD_RANGE,)),
    *clauses_of("reward", reference, by_arguments=True, needs=(REWARD_RANGE, REFERENCE_POLICY)),
    *clauses_of("reward", reference_sees, processes=True, needs=(REFERENCE_POLICY,)),
    *clauses_of("reward", null, by_arguments=True, needs=(REWARD_RANGE,)),
    *clauses_of("reward", garbage, by_arguments=True),
    *clauses_of("reward", thoughtless, by_arguments=True, needs=(REFERENCE_POLICY,)),
    *clauses_of("reward", after_end),
)
