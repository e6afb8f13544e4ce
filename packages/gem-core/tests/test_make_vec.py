"""``make_vec``: from ids to a vector environment."""

from __future__ import annotations

import inspect
import json
import pickle
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import gem
from gem import plugins
from gem.core import Env, Wrapper
from gem.env_spec import EnvSpec
from gem.errors import (
    ArgumentError,
    ArgumentTypeError,
    MissingPluginError,
    UnknownArgumentError,
    UnknownEnvironmentError,
)
from gem.vector import EnvMaker, VectorEnv, make_vec
from gem.vector.sync import SyncVectorEnv
from gem.vector.thread import ThreadVectorEnv


class Board(Env[str, str]):
    """Draws a board at every reset."""

    def __init__(self, size: int = 3, name: str = "board") -> None:
        self.size, self.name = size, name

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:  # type: ignore[override]  # as in the original
        super().reset(seed=seed)
        return f"{self.name} {self.rng.random()}", {"seed": seed}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return action, 0.0, False, False, {}


class Questions(Board):
    """An environment whose constructor takes a seed."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.shuffle_seed = seed


class Louder(Wrapper[str, str]):
    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return super().step(action.upper())


class Closing(Board):
    """Counts, in a list that it is given, how often it is closed."""

    def __init__(self, closed: list[int], fails: bool = False) -> None:
        super().__init__()
        if fails:
            raise ArgumentError("fails as it was told")
        self.closed = closed

    def close(self) -> None:
        self.closed.append(1)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """The environments above, by id."""
    ids = {"test:Board-v0": Board, "test:Questions-v0": Questions, "test:Closing-v0": Closing}
    for env_id, entry_point in ids.items():
        gem.register(env_id, entry_point)
    yield
    for env_id in ids:
        gem.unregister(env_id)


def ids_of(envs: VectorEnv) -> list[str]:
    return [spec.id for spec in envs.specs if spec is not None]


def test_one_id_is_repeated() -> None:
    """An id or a spec gives num_envs environments of it, or one."""
    assert ids_of(make_vec("test:Board-v0", num_envs=3)) == ["test:Board-v0"] * 3
    assert ids_of(make_vec(gem.spec("test:Board-v0"), num_envs=2)) == ["test:Board-v0"] * 2
    assert ids_of(make_vec("test:Board-v0")) == ["test:Board-v0"]


def test_a_list_gives_one_each_or_is_gone_through_again_and_again() -> None:
    """Environment i is env_ids[i % len(env_ids)]."""
    both: list[str | EnvSpec] = ["test:Board-v0", gem.spec("test:Questions-v0")]
    assert ids_of(make_vec(both)) == ["test:Board-v0", "test:Questions-v0"]
    names = ids_of(make_vec(both, num_envs=5))
    assert names == ["test:Board-v0", "test:Questions-v0"] * 2 + ["test:Board-v0"]


def test_numbers_of_numpy_are_ints() -> None:
    """Seeds from np.arange, one or all of them, and a number of environments; records and specs hold plain ints."""
    numpy: Any = pytest.importorskip("numpy")
    seeds = numpy.arange(3, 5)
    with make_vec("test:Board-v0", num_envs=seeds[0] - 1, seed=seeds[1]) as envs:
        plain, _ = envs.reset(seed=[3, 4])
        assert envs.reset(seed=seeds)[0] == envs.reset(seed=list(seeds))[0] == envs.reset(seed=seeds[0])[0] == plain
        assert envs.reset(seed=numpy.array(3))[0] == plain
        with pytest.raises(ArgumentError, match="3 entries for 2"):
            envs.reset(seed=numpy.arange(3))
        wrongs: list[Any] = [numpy.array([0.5, 1.5]), numpy.bool_(True), seeds - 4, {3, 4}]
        for wrong in wrongs:
            with pytest.raises((ArgumentError, ArgumentTypeError), match="seed must be a non-negative int"):
                envs.reset(seed=wrong)
    env = gem.make("test:Board-v0", seed=seeds[0])
    assert env.reset()[0] == env.reset(seed=seeds[0])[0] == plain[0]
    assert env.spec is not None
    json.dumps(env.spec.to_dict())


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"env_ids": []}, ArgumentError, "at least one"),
        ({"env_ids": [3]}, ArgumentTypeError, "got \\[3\\]"),
        ({"env_ids": 3}, ArgumentTypeError, "a list of them, got 3"),
        ({"env_ids": ["test:Board-v0"] * 3, "num_envs": 2}, ArgumentError, "leaves out some of the 3"),
        ({"num_envs": 0}, ArgumentError, "num_envs"),
        ({"num_envs": 10**12}, ArgumentError, "num_envs must be at most"),
        ({"num_envs": "4"}, ArgumentTypeError, "num_envs"),
        ({"seed": -1}, ArgumentError, "seed"),
        ({"seed": "1"}, ArgumentTypeError, "seed"),
        ({"vec_kwargs": [{}, {}]}, ArgumentError, "2 entries for 1"),
        ({"vec_kwargs": {"size": 2}}, ArgumentTypeError, "list of dicts"),
        ({"vec_kwargs": [7]}, ArgumentTypeError, "list of dicts"),
        ({"vec_kwargs": [{"seed": -1}]}, ArgumentError, "seed"),
        ({"mode": 7}, ArgumentTypeError, "mode"),
        ({"autoreset": "never"}, ArgumentError, "autoreset"),
        ({"step_timeout": float("nan")}, ArgumentError, "step_timeout"),
        ({"step_timeout": "1"}, ArgumentTypeError, "step_timeout"),
        ({"async_mode": 1}, ArgumentTypeError, "async_mode"),
        ({"async_mode": False, "mode": "thread"}, ArgumentError, "means mode='sync', but mode is 'thread'"),
        ({"mode": "threads"}, MissingPluginError, "did you mean 'thread'"),
        ({"env_ids": "test:Bord-v0"}, UnknownEnvironmentError, "did you mean 'test:Board-v0'"),
        ({"sise": 3}, UnknownArgumentError, "did you mean 'size'"),
        ({"wrappers": [3]}, ArgumentTypeError, "wrapper"),
        ({"wrappers": 3}, ArgumentTypeError, "wrapper"),
    ],
)
def test_arguments_that_cannot_be_are_refused(arguments: dict[str, Any], error: type[Exception], says: str) -> None:
    """Each raises an error of GEM that says what is wrong."""
    with pytest.raises(error, match=says):
        make_vec(**{"env_ids": "test:Board-v0", **arguments})


def test_wrappers_may_be_passed_by_position() -> None:
    """As in the original; Gymnasium's second argument is the number, so the error for a number names num_envs."""
    with make_vec("test:Board-v0", [Louder]) as envs:
        envs.reset()
        assert envs.step(["a"])[0] == ["A"]
    with pytest.raises(ArgumentTypeError, match="num_envs="):
        make_vec("test:Board-v0", 3)  # type: ignore[arg-type]


def test_wrappers_are_a_name_a_callable_a_list_or_none() -> None:
    """They are applied to every environment, also after a fault."""
    for wrappers in (Louder, [Louder], (Louder,), "", None, ()):
        with make_vec("test:Board-v0", num_envs=2, wrappers=wrappers) as envs:
            envs.reset()
            assert envs.step(["a", "b"])[0] == (["A", "B"] if wrappers and wrappers != "" else ["a", "b"])


def test_vec_kwargs_are_per_environment_and_yield_to_the_common_ones() -> None:
    """Common constructor arguments win, as in the original, and no dict of the caller's is changed."""
    shared: dict[str, Any] = {"size": 5, "name": "own"}
    with make_vec("test:Board-v0", num_envs=3, vec_kwargs=[shared] * 3, name="common", seed=4) as envs:
        made: Any = envs.envs
        assert [(env.size, env.name) for env in made] == [(5, "common")] * 3
    assert shared == {"size": 5, "name": "own"}


@pytest.mark.parametrize("mode", ["sync", "thread"])
def test_the_seed_decides_the_first_episodes(mode: str) -> None:
    """Environment i is seeded with seed + i at its first reset, so runs repeat and environments differ."""
    runs = []
    for _ in range(2):
        with make_vec("test:Board-v0", num_envs=3, seed=40, mode=mode) as envs:
            observations, infos = envs.reset()
            assert [info["seed"] for info in infos] == [40, 41, 42]
            runs.append([observations, envs.reset()[0]])
    assert runs[0] == runs[1]
    assert len({*runs[0][0], *runs[0][1]}) == 6


def test_a_seed_in_vec_kwargs_is_that_environments_seed() -> None:
    """Trainers of the original pass it to environments that take none; it then seeds the first reset."""
    own: list[Mapping[str, Any]] = [{"seed": 233}, {}, {"seed": None}]
    with make_vec("test:Board-v0", num_envs=3, vec_kwargs=own, seed=7) as envs:
        assert [info["seed"] for info in envs.reset()[1]] == [233, 8, None]
    assert own == [{"seed": 233}, {}, {"seed": None}]


def test_constructors_that_take_a_seed_get_it() -> None:
    """So that environments with one data set do not all ask its questions in one order."""
    with make_vec("test:Questions-v0", num_envs=3, vec_kwargs=[{"seed": 233}, {}, {}], seed=7) as envs:
        made: Any = envs.envs
        assert [env.shuffle_seed for env in made] == [233, 8, 9]
    with make_vec("test:Questions-v0", num_envs=2) as envs:
        made = envs.envs
        assert [env.shuffle_seed for env in made] == [0, 0]


def test_modes() -> None:
    """Sync unless asked otherwise; async_mode is the original's word for thread mode."""
    expected: list[tuple[dict[str, Any], type[VectorEnv]]] = [
        ({}, SyncVectorEnv),
        ({"mode": "thread"}, ThreadVectorEnv),
        ({"async_mode": True}, ThreadVectorEnv),
        ({"async_mode": True, "mode": "thread"}, ThreadVectorEnv),
        ({"async_mode": False}, SyncVectorEnv),
    ]
    for arguments, cls in expected:
        with make_vec("test:Board-v0", **arguments) as envs:
            assert type(envs) is cls


def test_a_plugin_brings_a_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modes are found by name; mode_kwargs go to the class, which gets makers that can be pickled."""
    given: dict[str, Any] = {}

    class Other(SyncVectorEnv):
        def __init__(self, makers: Any, *, workers: int, **kwargs: Any) -> None:
            given.update(kwargs, makers=makers, workers=workers)
            super().__init__(makers, **kwargs)

    monkeypatch.setattr(plugins, "names", lambda hook: {"gem_vector_backends": {"other": Other}}[hook])
    with make_vec("test:Board-v0", num_envs=2, mode="other", mode_kwargs={"workers": 3}, step_timeout=5.0) as envs:
        assert type(envs) is Other
    assert (given["workers"], given["step_timeout"]) == (3, 5.0)
    again: EnvMaker = pickle.loads(pickle.dumps(given["makers"][0]))
    assert again == given["makers"][0]
    assert again().spec == gem.spec("test:Board-v0")


def test_it_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """Neither making nor closing says anything."""
    with make_vec("test:Board-v0", num_envs=3, mode="thread") as envs:
        envs.reset()
    assert capfd.readouterr() == ("", "")


def test_the_specs_tell_how_each_was_made() -> None:
    """Arguments and wrappers are in them."""
    with make_vec("test:Board-v0", vec_kwargs=[{"size": 4}], wrappers=Louder) as envs:
        spec = envs.specs[0]
    assert spec is not None
    assert spec.kwargs == {"size": 4}
    assert [applied.entry_point.rpartition(":")[2] for applied in spec.wrappers] == ["Louder"]


def test_if_one_cannot_be_made_the_others_are_closed() -> None:
    """The error is the constructor's own."""
    closed: list[int] = []
    with pytest.raises(ArgumentError, match="fails as it was told"):
        make_vec("test:Closing-v0", num_envs=3, vec_kwargs=[{}, {}, {"fails": True}], closed=closed)
    assert closed == [1, 1]


def test_numpy_loads_with_the_first_result() -> None:
    """Importing and making load it not; a process that never steps a vector environment never pays for it."""
    code = """
import sys, gem
from gem.core import Env
class Empty(Env):
    def reset(self, seed=None): return "", {}
    def step(self, action): return "", 0.0, True, False, {}
gem.register("test:Empty-v0", Empty)
envs = gem.make_vec("test:Empty-v0", mode="thread")
envs.reset()
envs.close()
print("numpy" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_the_signature_has_no_positional_surprise() -> None:
    """Only env_ids and wrappers are positional."""
    kinds = [parameter.kind for parameter in inspect.signature(make_vec).parameters.values()]
    assert set(kinds[:2]) == {inspect.Parameter.POSITIONAL_OR_KEYWORD}
    assert set(kinds[2:]) == {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD}


@pytest.mark.parametrize("mode", ["sync", "thread"])
def test_an_environment_of_several_agents_is_refused_by_name(mode: str) -> None:
    """A vector environment steps one agent each, so it says at once that this one has several."""

    class Party(gem.MultiAgentEnv):
        def __init__(self) -> None:
            super().__init__(["ann", "bob"])

    spec = EnvSpec(id="test:Party-v0", entry_point=Party)
    with pytest.raises(ArgumentError, match=r"Party-v0.* is for several agents"):
        make_vec(spec, num_envs=2, mode=mode)
