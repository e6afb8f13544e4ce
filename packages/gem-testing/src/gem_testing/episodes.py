"""Playing episodes for the conformance kit, and comparing their records.

Each returned value is frozen to text at once, so that an environment that changes it later cannot change the
evidence. The functions accept environments with one agent and with several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from gem.core import Env
from gem.errors import ResetNeededError
from gem_testing.messages import differing_parts, freeze, shorten
from gem_testing.outcomes import Violation

__all__ = [
    "Script",
    "StepRecord",
    "acted_by_each",
    "begin",
    "difference",
    "has_ended",
    "mutate",
    "one_agents_action",
    "play",
    "play_on",
    "rewards_of",
    "steps",
    "take",
    "values_of",
]

FIELDS = ("observation", "reward", "terminated", "truncated", "info")


@dataclass(frozen=True)
class Script:
    """The input of one episode: a seed, and actions that are played until it ends."""

    seed: int
    actions: tuple[Any, ...]
    source: str
    """Name of the agent that chose the actions, for messages: ``"random actions"``, ``"the reference policy"``."""


class StepRecord(NamedTuple):
    """The result of one ``reset`` or ``step``, each part frozen; the first of an episode has no reward and flags."""

    observation: str
    info: str
    reward: str = "0.0"
    terminated: str = "false"
    truncated: str = "false"

    @classmethod
    def of(
        cls, observation: Any, info: Any, reward: Any = 0.0, terminated: Any = False, truncated: Any = False
    ) -> StepRecord:
        """Freeze the result of a call, without the keys of info that describe the previous episode."""
        if isinstance(info, dict):
            info = {key: value for key, value in info.items() if not str(key).startswith("prev_ep_")}
        return cls(*map(freeze, (observation, info, reward, terminated, truncated)))


def begin(env: Env[Any, Any], seed: int | None) -> tuple[Any, Any]:
    """Return the result of ``reset``; Violation if it raises or returns anything but a pair."""
    called = f"reset(seed={seed})"
    try:
        result: Any = env.reset(seed=seed) if seed is not None else env.reset()
    except (Exception, SystemExit) as error:
        raise Violation(f"{called} raised {_named(error)}; a valid seed must begin an episode") from error
    if not isinstance(result, tuple) or len(result) != 2:
        raise Violation(f"{called} returned {shorten(result)}; return a pair (observation, info)")
    return result


def take(env: Env[Any, Any], action: Any, where: str) -> tuple[Any, Any, Any, Any, Any]:
    """Return the result of ``step``; Violation if it raises or does not return five values.

    Args:
        env: the environment.
        action: any object.
        where: for the message, such as ``"step 3 (seed 7)"``.
    """
    try:
        result: Any = env.step(action)
    except (Exception, SystemExit) as error:
        advice = (
            "the episode had not ended, so the step must be played"
            if isinstance(error, ResetNeededError)
            else "no action may raise; answer it as a malformed one"
        )
        raise Violation(f"{where} raised {_named(error)} for the action {shorten(action)}; {advice}") from error
    if not isinstance(result, tuple) or len(result) != 5:
        raise Violation(
            f"{where} returned {shorten(result)}; return (observation, reward, terminated, truncated, info)"
        )
    return result


def has_ended(env: Env[Any, Any], terminated: Any, truncated: Any) -> bool:
    """Return whether the episode is over; with several agents, when none is left in it."""
    if isinstance(terminated, dict):
        return not env.unwrapped.agents  # type: ignore[attr-defined]
    return bool(terminated) or bool(truncated)


def play(
    env: Env[Any, Any],
    actions: Iterable[Any],
    seed: int | None,
    before: Callable[[], None] | None = None,
    after: Callable[[Any, Any], None] | None = None,
) -> list[StepRecord]:
    """Play one episode until it ends or the actions do; return all records, the reset first.

    Args:
        env: the environment.
        actions: the actions.
        seed: seed of the reset; None continues from the generator's state.
        before: called before ``reset`` and before every step.
        after: called with every observation and info after they were frozen.
    """
    if before is not None:
        before()
    observation, info = begin(env, seed)
    first = StepRecord.of(observation, info)
    if after is not None:
        after(observation, info)
    return [first, *play_on(env, actions, seed, before=before, after=after)]


def play_on(
    env: Env[Any, Any],
    actions: Iterable[Any],
    seed: int | None,
    done: int = 0,
    before: Callable[[], None] | None = None,
    after: Callable[[Any, Any], None] | None = None,
) -> list[StepRecord]:
    """Continue an episode after ``done`` steps; otherwise as :func:`play`, without the reset."""
    return list(steps(env, actions, seed, done, before, after))


def steps(
    env: Env[Any, Any],
    actions: Iterable[Any],
    seed: int | None,
    done: int = 0,
    before: Callable[[], None] | None = None,
    after: Callable[[Any, Any], None] | None = None,
) -> Iterator[StepRecord]:
    """Yield the record of each step at once; otherwise as :func:`play_on`."""
    for turn, action in enumerate(actions, start=done + 1):
        if before is not None:
            before()
        observation, reward, terminated, truncated, info = take(env, action, f"step {turn} (seed {seed})")
        ended = has_ended(env, terminated, truncated)
        record = StepRecord.of(observation, info, reward, terminated, truncated)
        if after is not None:
            after(observation, info)
        yield record
        if ended:
            return


def difference(expected: list[StepRecord], found: list[StepRecord]) -> str | None:
    """Return where two episodes first differ, such as ``"step 3: the reward was 0.0 and is 1.0"``; None if nowhere."""
    for turn, (old_step, new_step) in enumerate(zip(expected, found, strict=False)):
        for name in FIELDS:
            old, new = getattr(old_step, name), getattr(new_step, name)
            if old != new:
                where = "reset" if turn == 0 else f"step {turn}"
                was, now = differing_parts(old, new)
                return f"{where}: the {name} was {was} and is {now}"
    if len(expected) != len(found):
        return f"the episode had {len(expected) - 1} steps and has {len(found) - 1}"
    return None


def values_of(value: Any) -> list[Any]:
    """Return a value, or the values of all agents where it is a dict by agent."""
    return list(value.values()) if isinstance(value, dict) else [value]


def rewards_of(reward: Any) -> float:
    """Return a step's reward; with several agents, the sum of theirs."""
    return float(sum(values_of(reward)))


def acted_by_each(env: Env[Any, Any], action: Any) -> Any:
    """Return ``action`` as a step accepts it; with several agents, one copy for each that must act."""
    active = getattr(env.unwrapped, "active_agents", None)
    return action if active is None else dict.fromkeys(active, action)


def one_agents_action(env: Env[Any, Any], action: Any) -> Any:
    """Return a sampled action of one agent; of several agents, the first."""
    return action if getattr(env.unwrapped, "active_agents", None) is None else next(iter(action.values()))


def mutate(value: Any) -> None:
    """Change every mutable part of a value, as a careless caller might."""
    if isinstance(value, dict):
        for item in list(value.values()):
            mutate(item)
        value.clear()
    elif isinstance(value, (list, tuple)):
        for item in value:
            mutate(item)
        if isinstance(value, list):
            value[:] = ["changed by the caller"]


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {shorten(str(error))[1:-1]}" if str(error) else type(error).__name__
