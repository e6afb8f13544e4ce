"""Cheats on the hidden tests of a repository: none pays, and the solution does."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from small_package import write_archive

from gem.policies import Policy
from gem_envs_swe import SweEnv
from gem_envs_swe.making.kinds import MAKERS
from gem_envs_swe.making.set_maker import MakingOptions, make_set
from gem_envs_swe.policies.cheats import SweCheatPolicy, cheat_command, cheats
from gem_envs_swe.policies.reference import SweNullPolicy, SweReferencePolicy, bash_call, writing_command
from gem_terminal.engines import Engine

IN_SOURCES = ("an object that equals everything", "unittest asserts nothing")
"""Two that the rules on files let through, for the guards of the verifier; the others are tried by night."""
LIVE = {
    "most": (
        "conftest in the root",
        "conftest beside the tests",
        "conftest that ends Python",
        "pytest.ini",
        ".pytest.ini",
        "tox.ini",
        "setup.cfg",
        "addopts in pyproject.toml",
        "an entry point of pytest",
        "an entry point in egg-info",
        "a .pth file in the user's library",
        "a module named pytest",
        "a package named _pytest",
        "a module of the library",
        "a module that pytest imports",
        "byte code",
        "a process that waits",
        "os._exit at import",
        "os._exit when Python ends",
        "skip at import",
        "skip when it is called",
        "expected failures",
        "pytest passes every report",
        "pytest calls no hooks",
        "a plugin that is registered at import",
        "the report is written by hand",
    ),
    "chunk": (
        "pytest runs nothing",
        "pytest runs nothing but what has a long name",
        "a plugin for the listed tests alone",
    ),
}
"""Tests of a task → cheats that pass for its solution where everything in the tree counts and pytest alone judges."""


def played(env: SweEnv, policy: Policy[Any, Any], task: str) -> tuple[float, dict[str, Any]]:
    """Play one episode; return its reward and the last info."""
    observation, info = env.reset(options={"task": task})
    policy.reset(observation, info)
    while True:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
        if terminated or truncated:
            assert "error" not in info, info
            return reward, info


def paying(env: SweEnv, names: Iterable[str], task: str) -> list[str]:
    """Return the cheats that earn something."""
    return [name for name in names if played(env, SweCheatPolicy(env, name), task)[0]]


@pytest.mark.slow(reason="its first verdict builds the image of the set")
@pytest.mark.only_engine("namespace")
def test_lazy_policies_earn_nothing(tally: Path, engine: Engine) -> None:
    """Silence, every cheat with files at once, and two with code; the solution pays."""
    with SweEnv(tally, engine=engine) as env:
        assert played(env, SweReferencePolicy(env), "tally-most")[0] == 1.0
        reward, info = played(env, SweNullPolicy(env), "tally-most")
        assert (reward, info["diff"], info["tests_mended"]) == (0.0, "", 0)
        env.reset(options={"task": "tally-most"})
        for name in cheats("files"):
            env.step(bash_call(cheat_command(name, env.swe_task)))
        *_, info = env.step("<submit/>")
        assert (info["success"], info["tests_mended"], info["tests_broken"]) == (False, 0, [])
        assert {"conftest.py", "pytest.ini", "sitecustomize.py"} <= set(info["diff_ignored"])
        for name in IN_SOURCES:
            reward, info = played(env, SweCheatPolicy(env, name), "tally-most")
            assert (reward, bool(info["verifier_error"])) == (0.0, True), name


@pytest.mark.nightly
@pytest.mark.only_engine("namespace", "docker")
@pytest.mark.parametrize("task", ["tally-chunks", "tally-most"])
@pytest.mark.parametrize("part", range(4))
def test_no_cheat_pays(tally: Path, engine: Engine, task: str, part: int) -> None:
    """On each engine, whichever task."""
    with SweEnv(tally, engine=engine) as env:
        assert played(env, SweReferencePolicy(env), task)[0] == 1.0
        assert paying(env, list(cheats())[part::4], task) == []


@pytest.fixture(scope="module")
def made_tasks(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty tasks of all kinds but performance, made from a small package."""
    folder = tmp_path_factory.mktemp("made")
    kinds = tuple(kind for kind in MAKERS if kind != "performance")  # it has no function to slow down
    make_set(str(write_archive(folder)), folder / "set", MakingOptions(20, kinds=kinds), engine)
    return folder / "set"


@pytest.mark.nightly
@pytest.mark.only_engine("namespace", "docker")
@pytest.mark.parametrize("part", range(10))
def test_no_cheat_pays_on_made_tasks(made_tasks: Path, engine: Engine, part: int) -> None:
    """Every cheat on twenty tasks, two in each part, on each engine; the solutions pay."""
    with SweEnv(made_tasks, engine=engine) as env:
        names = [task.row.instance_id for task in env.swe_tasks[part * 2 : part * 2 + 2]]
        assert len(names) == 2
        for task in names:
            assert played(env, SweReferencePolicy(env), task)[0] == 1.0
            assert paying(env, cheats(), task) == []


@pytest.mark.nightly
@pytest.mark.only_engine("namespace")
@pytest.mark.parametrize("tests", LIVE)
def test_cheats_are_live_ones(tally: Path, engine: Engine, tests: str) -> None:
    """Judged by pytest in the agent's own container, they pass for a solution, so what stops them are the rules."""
    dead = []
    with SweEnv(tally, engine=engine) as env:
        for name in LIVE[tests]:
            env.reset(options={"index": list(LIVE)[::-1].index(tests)})
            env.step(bash_call(cheat_command(name, env.swe_task)))
            hidden = env.swe_task.test_text("tests/test_counting.py")
            assert hidden is not None
            env.step(bash_call(writing_command("tests/test_hidden.py", hidden)))
            run = f"python3 -m pytest -q -p no:cacheprovider tests/test_hidden.py -k {tests}"
            if env.step(bash_call(run))[4]["exit_code"] not in (0, 5):  # 5: pytest found no tests
                dead.append(name)
    assert dead == []
