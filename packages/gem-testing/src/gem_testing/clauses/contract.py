"""The arguments, results and errors of every environment's methods."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

from gem.core import Env
from gem.errors import EpisodeFinishedError, ResetNeededError
from gem_testing.clause import clauses_of
from gem_testing.env_under_test import HORIZON, EnvUnderTest, Episode
from gem_testing.episodes import acted_by_each, begin, difference, has_ended, play, play_on, take, values_of
from gem_testing.messages import freeze, shorten
from gem_testing.outcomes import NotTested, Violation

__all__ = ["CLAUSES", "check_observation"]

BAD_SEEDS: tuple[Any, ...] = (-1, 1.5, "1", True, [1])
SECONDS = 10.0
"""Wall-clock seconds after which an episode counts as endless."""


def construction(under_test: EnvUnderTest) -> None:
    """It can be made from its spec, is a gem.Env that knows its spec, and refuses unknown arguments."""
    try:
        env = under_test.make()
    except Exception as error:
        _not_available(under_test, error)
        raise Violation(f"gem.make({under_test.spec.id!r}) raised {type(error).__name__}: {error}") from error
    env.close()
    if env.unwrapped.spec is None:
        raise Violation("the instance has no spec although gem.make made it; do not assign self.spec")
    try:
        under_test.make(no_such_argument=1).close()
    except TypeError:
        return
    except Exception as error:
        raise Violation(
            f"an unknown argument raised {type(error).__name__}: {error}; let gem.Env refuse it with a TypeError"
        ) from error
    raise Violation(
        "an unknown argument (no_such_argument=1) was accepted; name the arguments instead of **kwargs, "
        "so that a misspelt one is refused"
    )


def reset(under_test: EnvUnderTest) -> None:
    """Reset begins an episode and returns a pair (observation, info), again and again, in mid-episode too."""
    try:
        env = under_test.make()
    except Exception as error:
        raise NotTested("it cannot be made", "see contract.construction") from error
    with env:
        try:
            begin(env, 0)
        except Violation as violation:
            _not_available(under_test, violation)
            raise
        for seed in (None, 1, None):
            _, info = begin(env, seed)
            if not isinstance(info, dict):
                raise Violation(f"reset(seed={seed}) returned the info {shorten(info)}; return a dict")
        action = under_test.random_chooser(env, *begin(env, 2))
        take(env, action, "step 1 (seed 2)")
        begin(env, 3)


def seeds(under_test: EnvUnderTest) -> None:
    """Any non-negative int is a seed; anything else raises a TypeError or ValueError that names the seed."""
    with under_test.make() as env:
        for seed in (0, 2**32, 2**64 + 1, 10**40):
            begin(env, seed)
        for bad in BAD_SEEDS:
            try:
                env.reset(seed=bad)
            except (TypeError, ValueError) as error:
                if "seed" in str(error):
                    continue
                raise Violation(
                    f"reset(seed={bad!r}) raised {type(error).__name__}: {error}, which does not say that the seed is "
                    "wrong; call super().reset(seed=seed) first"
                ) from error
            except Exception as error:
                raise Violation(
                    f"reset(seed={bad!r}) raised {type(error).__name__}; call super().reset(seed=seed) first, which "
                    "raises a TypeError or ValueError"
                ) from error
            raise Violation(f"reset(seed={bad!r}) was accepted; call super().reset(seed=seed) first, which refuses it")


def observation(under_test: EnvUnderTest) -> None:
    """Every observation is text or a list of content parts, of one kind throughout, not empty, and valid Unicode."""
    kinds: set[str] = set()
    for script in under_test.scripts:
        turn = 0

        def look(observed: Any, _info: Any, seed: int = script.seed) -> None:
            nonlocal turn
            where = "reset" if turn == 0 else f"step {turn}"
            kinds.update(check_observation(value, f"{where} (seed {seed})") for value in values_of(observed))
            turn += 1

        with under_test.make() as env:
            play(env, script.actions, script.seed, after=look)
    if len(kinds) > 1:
        raise Violation(
            f"observations are of several kinds ({' and '.join(sorted(kinds))}); return one kind throughout"
        )


def step(under_test: EnvUnderTest) -> None:
    """Step returns (observation, reward, terminated, truncated, info) for every action of an episode, info a dict."""
    if under_test.recording_problem is not None:
        raise under_test.recording_problem
    for script in under_test.scripts:
        with under_test.make() as env:
            begin(env, script.seed)
            for turn, action in enumerate(script.actions, start=1):
                where = f"step {turn} (seed {script.seed})"
                *_, terminated, truncated, info = take(env, action, where)
                if not isinstance(info, dict):
                    raise Violation(f"{where} returned the info {shorten(info)}; return a dict")
                if has_ended(env, terminated, truncated):
                    break


def reward(under_test: EnvUnderTest) -> None:
    """Every reward is a finite float."""
    for where, rewards, _, _ in _steps(under_test):
        for value in values_of(rewards):
            if not isinstance(value, float):
                raise Violation(
                    f"{where} returned the reward {shorten(value)}, of type {type(value).__name__}; return a float"
                )
            if not math.isfinite(value):
                raise Violation(f"{where} returned the reward {value}; return a finite float")


def flags(under_test: EnvUnderTest) -> None:
    """Both flags, terminated and truncated, are bools."""
    for where, _, terminated, truncated in _steps(under_test):
        for name, flag in (("terminated", terminated), ("truncated", truncated)):
            for value in values_of(flag):
                if not isinstance(value, bool):
                    raise Violation(
                        f"{where} returned {name}={shorten(value)}, of type {type(value).__name__}; return True or "
                        "False"
                    )


def before_reset(under_test: EnvUnderTest) -> None:
    """A step before the first reset raises ResetNeededError, which names reset."""
    with under_test.make() as env:
        _refused(env, acted_by_each(env, under_test.sampled_action), "a step before the first reset", ResetNeededError)


def after_end(under_test: EnvUnderTest) -> None:
    """A step after the end of an episode raises EpisodeFinishedError, which names reset; a reset begins another."""
    seen = False
    for episode in under_test.recorded:
        if not episode.ended:
            continue
        seen = True
        with under_test.make() as env:
            if play(env, episode.script.actions, episode.script.seed) != episode.records:
                raise NotTested("an episode does not repeat", "see determinism.instances")
            for _ in range(2):
                where = f"a step after the end at step {len(episode)} (seed {episode.script.seed})"
                _refused(env, episode.script.actions[-1], where, EpisodeFinishedError)
            begin(env, None)
    if not seen:
        raise NotTested("no episode came to its end", "see contract.ends")


def ends(under_test: EnvUnderTest) -> None:
    """Every episode ends within the announced turns, for any behaviour of the agent."""
    limit = under_test.max_turns
    most_steps = HORIZON if limit is None else min(HORIZON, limit + 1)
    for agent, play_one in _agents(under_test, most_steps).items():
        for episode in under_test.episodes_within(play_one, (0, 1), 2 * SECONDS):
            if episode.ended:
                continue
            where = f"the episode of {agent} (seed {episode.script.seed})"
            if limit is not None and len(episode) > limit:
                raise Violation(
                    f"{where} goes on after step {len(episode)}, and {limit} turns are announced; end it there"
                )
            raise Violation(
                f"{where} had not ended after {len(episode)} steps; limit its turns, and say how many in an attribute "
                "max_turns"
            )


def turn_limit(under_test: EnvUnderTest) -> None:
    """Running out of the announced turns is terminated, and truncated as well.

    A limit that the agent was not told of is truncated alone; see the module :mod:`gem.core`.
    """
    limit = under_test.max_turns
    if limit is None:
        raise NotTested("it has no attribute max_turns", "give it one, if it limits the turns of an episode")
    if limit > HORIZON:
        raise NotTested(f"it has {limit} turns", f"check a variant with at most {HORIZON}")
    if under_test.spec.turns == "single":
        return
    full = [
        episode
        for play_one in _agents(under_test, limit + 1).values()
        for episode in under_test.episodes_within(play_one, range(4), SECONDS)
        if episode.ended and len(episode) == limit
    ]
    if not full:
        raise NotTested(f"no episode used all of its {limit} turns", "check a variant with fewer turns")
    truncated_alone = [p for p in full if not all(values_of(p.flags[0]))]
    if truncated_alone:
        raise Violation(
            f"step {limit} of {limit} (seed {truncated_alone[0].script.seed}) was truncated and not terminated; the "
            "agent knew of its limit, so the task is decided: return terminated=True as well"
        )
    lost = [episode for episode in full if '"success": true' not in episode.records[-1].info]
    if len(lost) > 2 and not any(all(values_of(episode.flags[1])) for episode in lost):
        raise Violation(
            f"step {limit} of {limit} (seed {lost[0].script.seed}) ran out of turns and was not truncated; return "
            "truncated=True as well"
        )


def random_action(under_test: EnvUnderTest) -> None:
    """sample_random_action gives well-formed actions, and the same ones again after the same reset(seed)."""
    if not under_test.samples_actions:
        raise NotTested("it samples no actions", "implement sample_random_action with self.action_rng")
    sampled = []
    for _ in range(2):
        with under_test.make() as env:
            begin(env, 4)
            sampled.append(freeze([env.sample_random_action() for _ in range(20)]))
    if sampled[0] != sampled[1]:
        raise Violation(
            f"after reset(seed=4) one instance sampled {shorten(sampled[0])} and another {shorten(sampled[1])}; draw "
            "from self.action_rng only"
        )
    for episode in under_test.recorded:
        if episode.script.source != "random actions":
            continue
        for turn, record in enumerate(episode.records[1:], start=1):
            if '"action_status": "malformed"' in record.info:
                raise Violation(
                    f"step {turn} (seed {episode.script.seed}) called the sampled action "
                    f"{shorten(episode.script.actions[turn - 1])} malformed; sample well-formed actions"
                )


def close(under_test: EnvUnderTest) -> None:
    """Close may be called at any time, and twice; the environment is also a context manager."""
    for when in ("before the first reset", "in mid-episode"):
        env = under_test.make()
        if when == "in mid-episode":
            begin(env, 0)
        for which in ("first", "second"):
            try:
                env.close()
            except Exception as error:
                raise Violation(
                    f"the {which} close() {when} raised {type(error).__name__}: {error}; closing what is closed does "
                    "nothing"
                ) from error
    with under_test.make() as env:
        if env is None:
            raise Violation("__enter__ returned None; return self")


def spawn(under_test: EnvUnderTest) -> None:
    """Spawn makes an instance with the same arguments and its own generator, which shares nothing with the first."""
    # The last script is that of the reference policy, if there is one; it needs what an instance remembers.
    script, expected = under_test.baselines[-1]
    half = len(script.actions) // 2
    with under_test.make() as env:
        records = play(env, script.actions[:half], script.seed)
        with _spawned(env) as twin:
            if twin.unwrapped.rng is env.unwrapped.rng:
                raise Violation("spawn() returned an instance with the same generator; each needs its own self.rng")
            if twin.spec != env.spec:
                raise Violation(
                    f"spawn() returned an instance made with {_arguments(twin)} instead of {_arguments(env)}; give it "
                    "the same arguments"
                )
            if (what := difference(expected, play(twin, script.actions, script.seed))) is not None:
                raise Violation(
                    f"an instance that spawn() returned showed something else at {what}; give it the same arguments"
                )
            play(twin, under_test.scripts[0].actions, under_test.scripts[0].seed)
        records += play_on(env, script.actions[half:], script.seed, half)
    if (what := difference(expected, records)) is not None:
        raise Violation(f"playing an instance that spawn() returned changed the first one at {what}; share nothing")


def _spawned(env: Env[Any, Any]) -> Env[Any, Any]:
    try:
        twin: Env[Any, Any] = env.spawn()
    except Exception as error:
        raise Violation(
            f"spawn() raised {type(error).__name__}: {error}; it makes an instance with the same arguments"
        ) from error
    if type(twin) is not type(env) or twin is env:
        raise Violation(f"spawn() returned {shorten(twin)}; return a new {type(env).__name__}")
    return twin


def _arguments(env: Env[Any, Any]) -> str:
    return "nothing known" if env.spec is None else shorten(dict(env.spec.kwargs))


def _agents(under_test: EnvUnderTest, most_steps: int) -> dict[str, Callable[[int], Episode]]:
    """Agents that play in ways in which an episode might not end."""
    usual = under_test.sampled_action

    def randomly(seed: int) -> Episode:
        return under_test.record(under_test.random_chooser, seed, "random actions", _soon(), most_steps)

    return {
        "random actions": randomly,
        "an agent that says nothing": lambda seed: under_test.play_always("", seed, _soon(), most_steps),
        f"an agent that repeats {shorten(usual)}": lambda seed: under_test.play_always(
            usual, seed, _soon(), most_steps
        ),
    }


def _soon() -> float:
    return time.perf_counter() + SECONDS


def _steps(under_test: EnvUnderTest) -> Iterator[tuple[str, Any, Any, Any]]:
    """Yield (where, reward, terminated, truncated) of every step of every script, as the environment returned them."""
    for script in under_test.scripts:
        with under_test.make() as env:
            begin(env, script.seed)
            for turn, action in enumerate(script.actions, start=1):
                where = f"step {turn} (seed {script.seed})"
                _, reward, terminated, truncated, _ = take(env, action, where)
                yield where, reward, terminated, truncated
                if has_ended(env, terminated, truncated):
                    break


def _refused(env: Env[Any, Any], action: Any, where: str, wanted: type[Exception]) -> None:
    advice = f"raise gem.errors.{wanted.__name__} with a message that names reset"
    try:
        result = env.step(action)
    except wanted as error:
        if "reset" in str(error):
            return
        raise Violation(
            f"{where} raised {wanted.__name__}: {error}, which does not name the remedy; {advice}"
        ) from error
    except Exception as error:
        raise Violation(f"{where} raised {type(error).__name__}: {error}; {advice}") from error
    raise Violation(f"{where} returned {shorten(result)}; {advice}")


def _not_available(under_test: EnvUnderTest, error: Exception) -> None:
    """Raise NotTested if the environment cannot be made for lack of a declared requirement."""
    if under_test.spec.requires:
        needs = ", ".join(under_test.spec.requires)
        raise NotTested(f"it needs {needs} and cannot be made here: {error}", f"check it where {needs} is available")


def check_observation(observed: Any, where: str) -> str:
    """Return the kind of an observation; Violation if it is not an observation."""
    if isinstance(observed, str):
        if not observed:
            raise Violation(f"{where} returned an empty observation; tell the agent what it must know")
        _encodable(observed, where)
        return "str"
    if not isinstance(observed, list) or not observed:
        raise Violation(
            f"{where} returned the observation {shorten(observed)}; return a str or a list of content parts"
        )
    for part in observed:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text" and isinstance(part.get("text"), str):
            _encodable(part["text"], where)
        elif not (isinstance(kind, str) and kind != "text" and kind in part):
            raise Violation(
                f"{where} returned the content part {shorten(part)}; a part is {{'type': 'text', 'text': …}} or "
                "{'type': 'image_url', 'image_url': {'url': …}}"
            )
    return "content parts"


def _encodable(text: str, where: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Violation(
            f"{where} returned an observation that is not valid Unicode ({error.reason} at {error.start}); replace "
            "lone surrogates before showing an action again"
        ) from error


CLAUSES = (
    *clauses_of("contract", construction, reset, plays=False, by_arguments=True),
    *clauses_of("contract", seeds),
    *clauses_of("contract", observation, step, by_arguments=True),
    *clauses_of("contract", reward, flags, before_reset, after_end),
    *clauses_of("contract", ends, turn_limit, random_action, by_arguments=True),
    *clauses_of("contract", close),
    *clauses_of("contract", spawn, by_arguments=True),
)
