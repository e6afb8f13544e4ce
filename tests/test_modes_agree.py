"""The same seeds and actions give the same episodes in every vectorization mode, byte for byte.

Games and an environment of each other package play in one vector environment of each mode.
"""

from __future__ import annotations

import json
import os
import pickle
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.entry_points import name_of
from gem.env_spec import EnvSpec
from gem.errors import NotSupportedError
from gem.vector import VectorEnv, make_vec


@contextmanager
def threads_switching_all_the_time() -> Iterator[None]:
    """Show the orders of events that a busy machine shows once a day."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


OTHERS = [
    "math:WordProblems-v0",
    "qa:Atlas-v0",
    "logic:RuleWorlds-v0",
    "rg:chain_sum",
    "code:Mini-v0",
    "bandit:LuckyArm-v0",
    "grid:Maze-v0-level3",
    "craft:Recipes-v0",
    "house:Household-v0",
    "lab:Mixtures-v0",
    "web:Form-v0",
    "kg:Graph-v0",
    "db:SQL-v0",
]
"""An environment of each other package that needs neither a container nor a download."""

BY_NIGHT = [
    "bandit:TwoArmed-v0",
    "grid:FrozenLake-v0",
    "house:Composite-v0",
    "lab:Circuits-v0",
    "lab:Heat-v0",
    "lab:Growth-v0",
    "web:Forum-v0",
    "web:Shop-v0",
    "db:SQL-v0-level3",
    "kg:Graph-v0-level3",
    "desk:Retail-v0",
    "desk:Airline-v0",
    "desk:Telecom-v0",
    "desk:Mailbox-v0",
    "desk:Calendar-v0",
    "desk:Tickets-v0",
]
"""What the nightly tests play besides."""

STEPS = 14
TOO_BUSY = 75  # the exit status of a process that could not start its Ray cluster in time
SETTINGS: list[dict[str, Any]] = [
    {"autoreset": "same_step"},
    {"autoreset": "next_step", "wrappers": ["concat_with_action", "episode_tracking"]},
    {"autoreset": "disabled", "wrappers": "messages"},
]


def playable() -> list[EnvSpec]:
    """Return the specs of all games, variants included, and of the others."""
    specs = [*gem.all_specs("game"), *(gem.spec(env_id) for env_id in (*OTHERS, *BY_NIGHT))]
    return [
        spec
        for spec in specs
        if not spec.requires and find_spec(name_of(spec.entry_point).partition(":")[0].partition(".")[0]) is not None
    ]


def selection() -> list[EnvSpec]:
    """Return the specs of one variant of each game, and of the others."""
    by_day = [spec for spec in playable() if spec.id not in BY_NIGHT]
    first = {name_of(spec.entry_point): spec for spec in reversed(by_day)}
    return list(first.values())


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


@dataclass(frozen=True)
class Run:
    """What is played: environments, settings of ``make_vec``, and an action for each environment and turn.

    Those that are made have other specs than those asked for: a constructor may get the seed.
    """

    specs: tuple[EnvSpec, ...]
    made: tuple[EnvSpec | None, ...]
    settings: dict[str, Any]
    actions: list[list[Any]]


@cache
def in_sync_mode(setting: int, selected: bool) -> tuple[list[Any], Run]:
    """Return what a run of sync mode gives, and how to repeat it."""
    specs = tuple(selection() if selected else playable())
    with make_vec(specs, seed=17, mode="sync", **SETTINGS[setting]) as envs:
        found, actions = play(envs, None)
        return found, Run(specs, envs.specs, SETTINGS[setting], actions)


def in_this_process(mode: str, run: Run, **mode_kwargs: Any) -> list[Any]:
    """Return what a run gives in a mode that needs no server."""
    vector_env = partial(make_vec, run.specs, seed=17, mode=mode, mode_kwargs=mode_kwargs, **run.settings)
    with threads_switching_all_the_time(), vector_env() as envs:
        # Those of ray mode do not name the wrappers.
        made = [spec and replace(spec, wrappers=()) for spec in run.made] if mode == "ray" else run.made
        assert list(envs.specs) == list(made)
        return play(envs, run.actions)[0]


def on_a_server(run: Run) -> list[Any]:
    """Return what a run gives through ``gem serve`` in a process of its own."""
    wrappers = run.settings.get("wrappers", [])
    allowed = [f"--allow-wrapper={name}" for name in ([wrappers] if isinstance(wrappers, str) else wrappers)]
    command = [sys.executable, "-m", "gem", "serve", *(spec.id for spec in run.specs), *allowed]
    with subprocess.Popen([*command, "--port=0", "--workers=2", "--json"], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            said = ""
            while not said.rstrip().endswith("}"):
                line = server.stdout.readline()
                assert line, f"the server has ended with {server.wait()}"
                said += line
            url = json.loads(said)["url"]
            addresses = [f"{url}/{spec.id}" for spec in run.specs]
            with make_vec(addresses, seed=17, mode="server", **run.settings) as envs:
                return play(envs, run.actions)[0]
        finally:
            server.kill()


def on_ray(runs: list[Run], folder: Path) -> list[list[Any]]:
    """Return what runs give on a Ray cluster, of a process of its own: Ray reads its settings as it is imported."""
    (folder / "runs").write_bytes(pickle.dumps([(run.specs, run.made, run.settings, run.actions) for run in runs]))
    variables = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_USAGE_STATS_ENABLED": "0"}
    ended = subprocess.run([sys.executable, __file__, folder], env={**os.environ, **variables}, check=False)
    if ended.returncode == TOO_BUSY:
        pytest.skip("the machine is too busy for a Ray node, which gives its agents no more than 15 seconds to start")
    assert ended.returncode == 0
    found: list[list[Any]] = pickle.loads((folder / "found").read_bytes())
    return found


def play_on_ray(folder: Path) -> None:
    """Play the runs that lie in a folder; the main function of the process that the function above starts."""
    import ray

    runs = [Run(*values) for values in pickle.loads((folder / "runs").read_bytes())]
    # The paths of a session's sockets must be short; and "local" is no cluster that others run on this machine.
    with tempfile.TemporaryDirectory(prefix="gem-ray-", dir="/tmp", ignore_cleanup_errors=True) as session:
        settings = {"include_dashboard": False, "log_to_driver": False, "object_store_memory": 80_000_000}
        try:
            ray.init("local", num_cpus=2, _temp_dir=session, **settings)
        except Exception as error:
            if "timed out during startup" in str(error):
                sys.exit(TOO_BUSY)
            raise
        try:
            found = [in_this_process("ray", run, envs_per_actor=1 + len(run.specs) // 2) for run in runs]
        finally:
            ray.shutdown()
    (folder / "found").write_bytes(pickle.dumps(found))


def check(found: list[Any], expected: list[Any], run: Run) -> None:
    """Fail where a mode has given another result than sync mode."""
    assert len(found) == len(expected)
    for turn, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        for part, (column, wanted) in enumerate(zip(ours, theirs, strict=True)):
            for index, (one, other) in enumerate(zip(column, wanted, strict=True)):
                assert repr(one) == repr(other), (turn, part, run.specs[index].id)


@pytest.mark.sampled(2)
@pytest.mark.slow(reason="every game plays in every mode; that is the promise")
@pytest.mark.parametrize(("mode", "setting"), [("thread", 0), ("process", 1), ("auto", 2), ("server", 0)])
def test_every_mode_gives_the_results_of_sync_mode(mode: str, setting: int) -> None:
    """Observations, rewards, flags, infos and specs of every game, with wrappers, autoreset, and send and recv.

    Ray mode plays them in the tests of gem-ray, which have a cluster.
    """
    expected, run = in_sync_mode(setting, selected=True)
    check(on_a_server(run) if mode == "server" else in_this_process(mode, run), expected, run)


@pytest.mark.nightly
@pytest.mark.parametrize("setting", range(len(SETTINGS)), ids=[str(one["autoreset"]) for one in SETTINGS])
@pytest.mark.parametrize("mode", ["thread", "process", "auto", "server"])
def test_every_variant_gives_the_results_of_sync_mode(mode: str, setting: int) -> None:
    """The same for every variant of every game, and every kind of autoreset."""
    expected, run = in_sync_mode(setting, selected=False)
    check(on_a_server(run) if mode == "server" else in_this_process(mode, run), expected, run)


@pytest.mark.nightly
def test_every_variant_gives_the_results_of_sync_mode_on_ray(tmp_path: Path) -> None:
    """The same on the actors of a Ray cluster."""
    pairs = [in_sync_mode(setting, selected=False) for setting in range(len(SETTINGS))]
    for found, (expected, run) in zip(on_ray([run for _, run in pairs], tmp_path), pairs, strict=True):
        check(found, expected, run)


def test_there_is_something_to_compare() -> None:
    """Games, and something of each other package that is installed here."""
    namespaces = {spec.namespace for spec in playable()}
    assert {env_id.partition(":")[0] for env_id in ("game:", *OTHERS, *BY_NIGHT)} <= namespaces


if __name__ == "__main__":
    play_on_ray(Path(sys.argv[1]))
