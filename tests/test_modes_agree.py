"""The same seeds and actions give the same episodes in every vectorization mode, byte for byte.

All games and an environment of each other package play in one vector environment of each mode. A package that brings a
mode adds it to ``MODES``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import Any

import pytest

import gem
from gem.entry_points import name_of
from gem.env_spec import EnvSpec
from gem.errors import NotSupportedError
from gem.vector import VectorEnv, make_vec


@contextmanager
def nothing() -> Iterator[dict[str, Any]]:
    """Start nothing: the mode needs no more than its name."""
    yield {}


@contextmanager
def threads_switching_all_the_time() -> Iterator[None]:
    """Show the orders of events that a busy machine shows once a day."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


MODES: dict[str, Any] = {"thread": nothing, "process": nothing, "auto": nothing}
"""Mode → a context manager that starts what the mode needs, such as a server, and yields its ``mode_kwargs``."""

OTHERS = ["math:WordProblems-v0", "qa:Atlas-v0", "logic:RuleWorlds-v0", "rg:chain_sum", "code:Mini-v0"]
"""An environment of each other package that needs neither a container nor a download."""

STEPS = 14
SETTINGS: list[dict[str, Any]] = [
    {"autoreset": "same_step"},
    {"autoreset": "next_step", "wrappers": ["concat_with_action", "episode_tracking"]},
    {"autoreset": "disabled", "wrappers": "messages"},
]


def playable() -> list[EnvSpec]:
    """Return the specs of all games, variants included, and of the others."""
    specs = [*gem.all_specs("game"), *(gem.spec(env_id) for env_id in OTHERS)]
    return [
        spec
        for spec in specs
        if not spec.requires and find_spec(name_of(spec.entry_point).partition(":")[0].partition(".")[0]) is not None
    ]


def play(envs: VectorEnv, actions: list[list[Any]] | None) -> tuple[list[Any], list[list[Any]]]:
    """Play a run; return everything that came back, and the actions, sampled if none are given."""
    seen: list[Any] = [envs.reset()]
    played: list[list[Any]] = []
    over: set[int] = set()
    for turn in range(STEPS):
        if over:
            seen.append(envs.reset_at({index: 1000 * turn + index for index in sorted(over)}))
        if turn == 5:  # a seed in the middle of a run, and a reset without any
            seen.append(envs.reset_at({0: 99, 1: None}))
        chosen = [_sampled(env) for env in envs.envs] if actions is None else actions[turn]
        played.append(chosen)
        if turn % 3 == 2:  # some ahead of the others
            early = dict(list(enumerate(chosen))[::2])
            envs.send(early)
            envs.send({index: action for index, action in enumerate(chosen) if index not in early})
            ready = envs.recv(min_ready=envs.num_envs)
            order = sorted(range(envs.num_envs), key=lambda position: ready.indices[position])
            result = tuple([column[position] for position in order] for column in ready[1:])
        else:
            result = envs.step(chosen)
        observations, _, terminations, truncations, infos = result
        seen.append((observations, *([value.item() for value in column] for column in result[1:4]), infos))
        if envs.autoreset.value == "disabled":
            over = {index for index in range(envs.num_envs) if terminations[index] or truncations[index]}
    return seen, played


def _sampled(env: Any) -> Any:
    try:
        return env.sample_random_action()
    except NotSupportedError:
        return "\\boxed{1 1 1}"


@cache
def in_sync_mode(setting: int) -> tuple[list[Any], list[list[Any]], Any]:
    """Return what a run of sync mode gives: all results, the actions, the specs."""
    with make_vec(playable(), seed=17, mode="sync", **SETTINGS[setting]) as envs:
        return (*play(envs, None), envs.specs)


@pytest.mark.slow(reason="every game plays in every mode; that is the promise")
@pytest.mark.parametrize("setting", range(len(SETTINGS)), ids=[str(one["autoreset"]) for one in SETTINGS])
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_gives_the_results_of_sync_mode(mode: str, setting: int) -> None:
    """Observations, rewards, flags, infos and specs, with wrappers, autoreset of each kind, and send and recv."""
    expected, actions, specs = in_sync_mode(setting)
    with MODES[mode]() as mode_kwargs, threads_switching_all_the_time():
        envs = make_vec(playable(), seed=17, mode=mode, mode_kwargs=mode_kwargs, **SETTINGS[setting])
        with envs:
            assert envs.specs == specs
            found, _ = play(envs, actions)
    for turn, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        for part, (column, wanted) in enumerate(zip(ours, theirs, strict=True)):
            for index, (one, other) in enumerate(zip(column, wanted, strict=True)):
                assert repr(one) == repr(other), (mode, turn, part, index)


def test_there_is_something_to_compare() -> None:
    """Games, and something of each other package that is installed here."""
    namespaces = {spec.namespace for spec in playable()}
    assert {"game", "math", "qa", "logic", "rg", "code"} <= namespaces
