"""What two runs differ in that can change what their episodes hold."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from gem.env_spec import EnvSpec
from gem_eval.runs.run_config import RunConfig, RunEnvironment

__all__ = ["Factor", "RunDifference", "as_change", "besides_factor", "differences", "run_differences"]

Factor = Literal["harness"]
"""What two runs may differ in when their difference is ascribed to it."""

_COMPARED = (
    "agent",
    "model",
    "served_model",
    "base_url",
    "harness",
    "harness_options",
    "players",
    "opponents",
    "system",
    "tools",
    "exact_tokens",
    "sampling",
    "limits",
    "rewards",
    "judge",
    "packages",
)
"""What must be the same when a run is resumed, besides the environments and the agent's source. Sources of gem and
gem_eval, which change in a checkout without a new version, are recorded only."""

_WITHOUT_EFFECT = (("harness_options", "journals"),)
"""Settings among the compared ones that no episode depends on, with their keys."""

_OF_FACTOR: dict[Factor, tuple[str, ...]] = {"harness": ("agent", "harness")}
"""The settings that a factor consists of; the agent of a harness is a title made of harness and model."""

_OF_PAIRING = ("environments", "episodes", "group", "seed", "base_url")
"""What a comparison of the tasks that both runs played bears: other tasks, and one model at two addresses."""


class RunDifference(NamedTuple):
    """A setting that has two values."""

    setting: str
    """A field of :class:`RunConfig` or :class:`RunEnvironment`, ``environments`` or ``entry_point``."""
    before: Any
    now: Any
    env: str | None = None
    """The label of the environment that it belongs to."""
    name: str | None = None
    """The key, where the setting is a mapping."""

    @property
    def what(self) -> str:
        """The setting in words."""
        names = {
            "digest": "the code of the environment",
            "entry_point": "its class",
            "kwargs": "argument",
            "sources": "the source of",
        }
        setting = names.get(self.setting, self.setting)
        env = "" if self.env is None else f"{self.env}: "
        return f"{env}{setting}{'' if self.name is None else f' {self.name}'}"


def run_differences(before: RunConfig, now: RunConfig) -> Iterator[RunDifference]:
    """Yield each difference between two configurations that can change what episodes hold."""
    now = RunConfig.from_dict(json.loads(now.to_json()))  # as the other one was read: with lists for tuples
    yield from _environment_differences(before, now)
    for name in _COMPARED:
        old, new = getattr(before, name), getattr(now, name)
        if isinstance(old, dict) and isinstance(new, dict):
            yield from (one for one in _changes(old, new, name) if (name, one.name) not in _WITHOUT_EFFECT)
        elif old != new:
            yield RunDifference(name, old, new)
    yield from _changes(_agents_source(before), _agents_source(now), "sources")


def differences(before: RunConfig, now: RunConfig) -> list[str]:
    """Return a sentence for each difference between a run and what it is to be resumed with."""
    return list(map(as_change, run_differences(before, now)))


def besides_factor(a: RunConfig, b: RunConfig, factor: Factor) -> list[str]:
    """Return in words what two runs differ in besides a factor, apart from which tasks they played.

    Environments of one run alone take no part in a comparison, and are no difference.
    """
    ignored = (*_OF_FACTOR[factor], *_OF_PAIRING)
    found = [item for item in run_differences(a, b) if item.setting not in ignored]
    return [f"{item.what} is {_value(item, item.before)} in A and {_value(item, item.now)} in B" for item in found]


def as_change(item: RunDifference) -> str:
    """Return a difference as a sentence: what the value was, and what it is."""
    if item.setting == "environments":
        return f"environment {_shown(item.env)} is {'new' if item.before is None else 'missing now'}"
    values = f"was {_value(item, item.before)} and is {_value(item, item.now)}"
    return (
        f"{item.what} has changed (its source digest {values})" if item.setting == "digest" else f"{item.what} {values}"
    )


def _environment_differences(before: RunConfig, now: RunConfig) -> Iterator[RunDifference]:
    for item in before.environments:
        if now.environment(item.label) is None:
            yield RunDifference("environments", item.id, None, item.label)
    for item in now.environments:
        if before.environment(item.label) is None:
            yield RunDifference("environments", None, item.id, item.label)
    for item in now.environments:
        was = before.environment(item.label)
        if was is not None:
            yield from _of_environment(was, item)


def _of_environment(was: RunEnvironment, item: RunEnvironment) -> Iterator[RunDifference]:
    for name in ("digest", "episodes", "group", "seed", "wrappers"):
        old, new = getattr(was, name), getattr(item, name)
        if old != new:
            yield RunDifference(name, old, new, item.label)
    yield from _changes(dict(was.spec.kwargs), dict(item.spec.kwargs), "kwargs", item.label)
    if _entry_point(was.spec) != _entry_point(item.spec):
        yield RunDifference("entry_point", _entry_point(was.spec), _entry_point(item.spec), item.label)


def _changes(
    old: Mapping[str, Any], new: Mapping[str, Any], setting: str, env: str | None = None
) -> Iterator[RunDifference]:
    missing = object()
    for name in sorted({*old, *new}):
        if old.get(name, missing) != new.get(name, missing):
            yield RunDifference(setting, old.get(name), new.get(name), env, name)


def _agents_source(run: RunConfig) -> dict[str, str | None]:
    return {name: digest for name, digest in run.sources.items() if name not in ("gem", "gem_eval")}


def _entry_point(spec: EnvSpec) -> str:
    return str(spec.to_dict()["entry_point"])


def _value(item: RunDifference, value: Any) -> str:
    if item.setting == "digest":
        return str(value)[:12]
    return str(value) if item.setting == "entry_point" else _shown(value)


def _shown(value: Any) -> str:
    if value is None or value in ("", (), {}):
        return "not set"
    text = ascii(value) if isinstance(value, str) else repr(value)
    return text if len(text) <= 120 else text[:117] + "..."
