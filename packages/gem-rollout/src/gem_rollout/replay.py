"""Playing recorded episodes again, and finding where they differ.

A recorded episode holds its environment's spec, its seed and every action. It can be played again anywhere, and must
then have the same results (see :meth:`gem.Env.reset`). A difference means that the environment has changed, or that
its episodes depend on more than the seed.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from gem import discovery
from gem.arguments import nearest
from gem.core import Env, Info
from gem.entry_points import source_digest
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError
from gem.faults import INTERRUPTS, is_fault
from gem.registry import make
from gem.vector.env_runner import describe
from gem_rollout.trajectory import Trajectory, TrajectoryBuilder
from gem_rollout.trajectory.outcome import cut_by_environment

__all__ = ["FIELDS", "Difference", "Replay", "compare", "replay", "replay_all"]

FIELDS = ("action", "observation", "reward", "terminated", "truncated", "info")
"""The compared fields of each turn, in this order; a replay takes its actions from the record."""

_WALL_CLOCK_LIMIT = "gem.wrappers.limits:WallClockLimit"
_OF_EARLIER_EPISODES = "prev_ep_"
"""Keys of info with this prefix describe the previous episode, which is not part of the record."""

_SHOWN_BEFORE, _SHOWN_AFTER = 30, 50  # characters of a text around the place where it differs


class _Missing:
    def __repr__(self) -> str:
        return "missing"


_MISSING = _Missing()


@dataclass(frozen=True)
class Difference:
    """The first place where two episodes differ. Its ``str`` is a sentence without a full stop."""

    turn: int
    """Turns taken before the difference: 0 for the result of ``reset``, 1 for that of the first ``step``."""
    field: str
    """One of :data:`FIELDS`, with the path to a value inside it: ``"info['score']"``; ``"error"`` if
    the environment raised, ``"turns"`` if only the length differs."""
    recorded: Any
    now: Any

    def __str__(self) -> str:
        where = "after reset" if self.turn == 0 else f"turn {self.turn}"
        if self.field == "error":
            if self.recorded is None:
                return f"{where}: the environment failed, and had not failed before: {self.now}"
            return f"{where}: the environment failed with {self.recorded!r} and now fails with {self.now!r}"
        if self.field == "turns":
            return f"the episode had {self.recorded} turns and now has {self.now}"
        before, after, position = _excerpts(self.recorded, self.now)
        at = "" if position is None else f" from character {position} on"
        return f"{where}: {self.field}{at} was {before} and is now {after}"

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict with the sentence in ``message``; values that are missing are None."""
        values = {"recorded": self.recorded, "now": self.now}
        shown = {name: None if value is _MISSING else value for name, value in values.items()}
        return {"turn": self.turn, "field": self.field, **shown, "message": str(self)}


@dataclass(frozen=True)
class Replay:
    """The result of playing a recorded episode again."""

    recorded: Trajectory
    now: Trajectory | None
    """The whole episode as it is now; None if it could not be played."""
    difference: Difference | None = None
    problem: str | None = None
    """The reason, in one sentence, that the episode shows nothing about the environment; None if it does."""
    notes: tuple[str, ...] = ()
    """Possible reasons for a difference, and limits of the comparison; a sentence each."""

    @property
    def result(self) -> str:
        """``"same"``, ``"differs"`` or ``"not reproducible"``."""
        return "not reproducible" if self.problem else "differs" if self.difference else "same"


def replay(trajectory: Trajectory, *, env: Env[Any, Any] | None = None, ignore: Collection[str] = ()) -> Replay:
    """Play the actions of a recorded episode again and compare the results.

    Args:
        trajectory: the recorded episode; not changed.
        env: the environment to play in, which is left open; made from the recorded spec unless given. An
            episode without a seed continues from this environment's generator.
        ignore: fields left out of the comparison: names of :data:`FIELDS`, and ``"info.KEY"`` for one key of info.

    Returns:
        The result. An episode recorded without a seed is either the same or not reproducible. An episode in which the
        environment failed is compared up to the failure.

    Raises:
        ArgumentError: if ``ignore`` has another name.
    """
    if env is not None:
        return _replay_in(env, trajectory, _checked(ignore), ())
    (only,) = replay_all([trajectory], ignore=ignore)
    return only


def replay_all(trajectories: Iterable[Trajectory], *, ignore: Collection[str] = ()) -> Iterator[Replay]:
    """Yield the replay of each episode in turn, as :func:`replay` with environments made from the specs.

    One instance plays consecutive episodes of an environment. This reproduces an episode without a seed that followed
    another one, as when a person plays on.

    Raises:
        ArgumentError: if ``ignore`` has another name than :func:`replay` allows.
    """
    left_out = _checked(ignore)
    env: Env[Any, Any] | None = None
    made_from: EnvSpec | None = None
    try:
        for trajectory in trajectories:
            if trajectory.spec is None:
                yield Replay(
                    trajectory, None, problem="the record does not say which environment it is of; replay it with env="
                )
                continue
            spec, fields, notes = _for_replay(trajectory, left_out)
            if env is None or spec != made_from:
                _close(env)
                env = None
                try:
                    env, made_from = make(spec), spec
                except Exception as error:  # a constructor may raise anything
                    yield Replay(trajectory, None, problem=_cannot_make(spec, error), notes=notes)
                    continue
            outcome = _replay_in(env, trajectory, fields, notes)
            if outcome.result != "same" or outcome.now is None or outcome.now.error is not None:
                _close(env)
                env = None
            yield outcome
    finally:
        _close(env)


def compare(recorded: Trajectory, now: Trajectory, *, ignore: Collection[str] = ()) -> Difference | None:
    """Return where two episodes first differ, or None.

    Values are compared as JSON holds them: a tuple equals a list, and 1 equals 1.0 but not true. Times, token
    ids, agents, specs and seeds do not count, nor do keys of info about the episode before, nor ``truncated`` in the
    last turn where a limit of the rollout ended the episode. The comparison ends at the turn in which the environment
    failed in ``recorded`` and not in ``now``.

    Raises:
        ArgumentError: if ``ignore`` has another name than :func:`replay` allows.
    """
    left_out = _checked(ignore)
    stopped = recorded.stop_reason not in (None, "terminated", "truncated")
    for turn in range(min(len(recorded), len(now)) + 1):
        fault, fault_now = (_fault_after(trajectory, turn) for trajectory in (recorded, now))
        if fault is not None and fault_now is None:
            return None
        if fault != fault_now and (fault is None or left_out.isdisjoint(("info", "info.error"))):
            return Difference(turn, "error", fault, fault_now)
        for name in FIELDS:
            if name == "truncated" and stopped and turn == len(recorded):
                continue
            if name not in left_out and not _is_open(name, recorded, turn):
                old, new = (_value(name, trajectory, turn, left_out) for trajectory in (recorded, now))
                try:
                    parting = _parting(name, old, new)
                except RecursionError:  # JSON of a few hundred levels, as a model may write it
                    parting = _parting(name, *(json.dumps(value, sort_keys=True) for value in (old, new)))
                if parting is not None:
                    return Difference(turn, *parting)
    return None if len(recorded) == len(now) else Difference(len(now), "turns", len(recorded), len(now))


def _replay_in(env: Env[Any, Any], recorded: Trajectory, ignore: Collection[str], notes: tuple[str, ...]) -> Replay:
    now = _play_again(env, recorded)
    difference = compare(recorded, now, ignore=ignore)
    if difference is not None and recorded.seed is None:
        problem = f"recorded without a seed, so its random choices cannot be repeated ({difference})"
        return Replay(recorded, now, problem=problem, notes=notes)
    failed = recorded.error is not None and (recorded.failure is None or recorded.failure.source == "environment")
    if difference is None and failed and now.error is None:
        notes = (*notes, f"the environment failed when it was recorded and not now: {recorded.error}")
    return Replay(recorded, now, difference, notes=notes)


def _play_again(env: Env[Any, Any], recorded: Trajectory) -> Trajectory:
    """Play the recorded actions; an exception ends the episode, as in a vector environment."""
    builder = TrajectoryBuilder(recorded.spec, recorded.seed, agent=recorded.agent)
    try:
        builder.begin(*env.reset(seed=recorded.seed))
    except INTERRUPTS:
        raise
    except BaseException as error:
        builder.begin("", {"error": describe(error)})
        builder.fail("environment", "exception", describe(error))
    if recorded.agents:
        _play_steps_again(env, recorded, builder)
    else:
        for turn in recorded.transitions:
            if builder.over:
                break
            try:
                builder.add(turn.action, *env.step(deepcopy(turn.action)))
            except INTERRUPTS:
                raise
            except BaseException as error:
                builder.fail("environment", "exception", describe(error), action=turn.action)
    return builder.finish()


def _play_steps_again(env: Env[Any, Any], recorded: Trajectory, builder: TrajectoryBuilder) -> None:
    """Play the recorded actions of several agents, all those of a step at once."""
    for _, turns in groupby(recorded.transitions, key=lambda turn: turn.step):
        if builder.over:
            break
        actions = {str(turn.agent): turn.action for turn in turns}
        try:
            result = env.step(deepcopy(actions))
            builder.add_step(actions, *result, over=not getattr(env.unwrapped, "agents", ()))  # type: ignore[arg-type]
        except INTERRUPTS:
            raise
        except BaseException as error:
            builder.fail("environment", "exception", describe(error), actions=actions)


def _for_replay(trajectory: Trajectory, ignore: frozenset[str]) -> tuple[EnvSpec, frozenset[str], tuple[str, ...]]:
    """Return the spec to make the environment from, the fields to ignore, and notes."""
    spec = trajectory.spec
    assert spec is not None
    notes = []
    recorded, digest = spec.recorded_digest, source_digest(spec.entry_point)
    if recorded is not None and digest is not None and recorded != digest:
        owner = spec.distribution or spec.id
        version = _installed_version(spec)
        if spec.version is not None and version is not None and version != spec.version:
            notes.append(f"recorded with {owner} {spec.version}; {version} is installed now")
        else:
            notes.append(f"the code of {owner} has changed since the recording")
    wrappers = tuple(applied for applied in spec.wrappers if applied.entry_point != _WALL_CLOCK_LIMIT)
    if wrappers != spec.wrappers:
        # How far an episode gets within a time depends on the machine, and on how long the agent thought.
        notes.append("played without its WallClockLimit, and 'truncated' is not compared")
        spec, ignore = replace(spec, wrappers=wrappers), ignore | {"truncated"}
    return spec, ignore, tuple(notes)


def _installed_version(spec: EnvSpec) -> str | None:
    claims = discovery.entry_points(discovery.ENVIRONMENT_GROUP)
    return next((claim.version for claim in claims if claim.distribution == spec.distribution), None)


def _cannot_make(spec: EnvSpec, error: Exception) -> str:
    origin = ""
    if spec.distribution is not None and _installed_version(spec) is None:
        exactly = f"{spec.distribution}=={spec.version}" if spec.version else spec.distribution
        origin = f"; {spec.distribution} is not installed, run: pip install {exactly}"
    return f"{spec.id} cannot be made: {describe(error)}{origin}"


def _close(env: Env[Any, Any] | None) -> None:
    if env is not None:
        with suppress(Exception):  # the comparison ended with the episode; it does not cover closing
            env.close()


def _checked(ignore: Collection[str]) -> frozenset[str]:
    names = {ignore} if isinstance(ignore, str) else set(ignore)
    for name in sorted(names):
        if name not in FIELDS and not name.startswith("info."):
            hint = nearest(name, FIELDS)
            advice = f"did you mean {hint!r}?" if hint else f"there are {', '.join(FIELDS)} and info.KEY"
            raise ArgumentError(f"nothing called {name!r} is compared; {advice}")
    return frozenset(names)


def _info_after(trajectory: Trajectory, turn: int) -> Info:
    return trajectory.transitions[turn - 1].info if turn else trajectory.reset_info


def _is_open(name: str, recorded: Trajectory, turn: int) -> bool:
    """Return whether a record lacks a field: ``reset`` has no reward, and the last observation may be missing."""
    if name == "observation":
        return turn == len(recorded) and recorded.final_observation is None
    return turn == 0 and name != "info"


def _value(name: str, trajectory: Trajectory, turn: int, ignore: frozenset[str]) -> Any:
    if name == "observation":
        shown = trajectory.transitions[turn].observation if turn < len(trajectory) else trajectory.final_observation
        return _plain(shown)
    if name == "info":
        return _compared_info(_plain(_info_after(trajectory, turn)), ignore)
    return _plain(getattr(trajectory.transitions[turn - 1], name))


def _fault_after(trajectory: Trajectory, turn: int) -> str | None:
    """Return the fault of the environment that a turn, or for 0 the reset, reports; None if it reports none."""
    terminated, truncated = False, True
    if turn:
        played = trajectory.transitions[turn - 1]
        terminated, truncated = played.terminated, cut_by_environment(played.truncated, trajectory.stop_reason)
    info = _info_after(trajectory, turn)
    return str(info["error"]) if is_fault(terminated, truncated, info) else None


def _compared_info(info: Any, ignore: frozenset[str]) -> Any:
    if not isinstance(info, dict):
        return info
    return {
        key: value
        for key, value in info.items()
        if f"info.{key}" not in ignore and not key.startswith(_OF_EARLIER_EPISODES)
    }


def _plain(value: Any) -> Any:
    """Return a value as a file would return it; a value that JSON cannot hold becomes its ``repr``."""
    if isinstance(value, (bool, float)):
        return value
    try:
        return json.loads(json.dumps(value, default=repr))
    except (TypeError, ValueError, RecursionError):  # keys that are not strings, a value that contains itself
        return repr(value)


def _parting(place: str, old: Any, new: Any) -> tuple[str, Any, Any] | None:
    """Return the place of the first difference between two JSON values and both values there; None if equal."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = [*old, *(key for key in new if key not in old)]
        inner = ((f"{place}[{key!r}]", old.get(key, _MISSING), new.get(key, _MISSING)) for key in keys)
    elif isinstance(old, list) and isinstance(new, list):
        longest = range(max(len(old), len(new)))
        inner = (
            (f"{place}[{i}]", old[i] if i < len(old) else _MISSING, new[i] if i < len(new) else _MISSING)
            for i in longest
        )
    else:
        return None if _equal(old, new) else (place, old, new)
    return next((found for item in inner if (found := _parting(*item)) is not None), None)


def _equal(old: Any, new: Any) -> bool:
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    if old is _MISSING or new is _MISSING:
        return old is new
    return bool(old == new) or (old != old and new != new)  # both are NaN


def _excerpts(old: Any, new: Any) -> tuple[str, str, int | None]:
    """Return two different values for a message; for long texts, the part around the difference and its position."""
    texts = old if isinstance(old, str) else repr(old), new if isinstance(new, str) else repr(new)
    if max(map(len, texts)) <= _SHOWN_BEFORE + _SHOWN_AFTER:
        return repr(old), repr(new), None
    shorter = min(map(len, texts))
    position = next((i for i in range(shorter) if texts[0][i] != texts[1][i]), shorter)
    start, end = max(0, position - _SHOWN_BEFORE), position + _SHOWN_AFTER
    shown = [f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}" for text in texts]
    if isinstance(old, str) and isinstance(new, str):
        return repr(shown[0]), repr(shown[1]), position
    return shown[0], shown[1], None
