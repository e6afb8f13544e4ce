"""Which containers are started ahead, for whom, and that an episode begins in them."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from gem_terminal import TerminalEnv
from gem_terminal.engines import Engine
from gem_terminal.workplace import Workplace

FILES = {
    "task.toml": "[environment]\nmemory_mb = 64\n",
    "environment/Dockerfile": "FROM debian:bookworm-slim\n",
    "tests/test.sh": "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n",
}


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """A folder of three tasks."""
    for name in ("one", "two", "three"):
        for file, content in {**FILES, "instruction.md": f"This is task {name}."}.items():
            (tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / file).write_text(content)
    return tmp_path


def waiting(env: TerminalEnv) -> list[Workplace]:
    """What was made ahead, once everything is."""
    while hands := [thread for thread in threading.enumerate() if thread.name == "gem-terminal pool"]:
        hands[0].join(60)  # which may have called another one meanwhile
        assert not hands[0].is_alive()
    pool = env._pool
    assert pool is not None
    return [workplace for ready in pool._ready.values() for workplace in ready]


def test_nothing_is_made_before_an_environment_comes_back(engine: Engine, tasks: Path) -> None:
    """One episode takes one container; from the second on the next one is made ahead, and used."""
    with TerminalEnv(path=tasks / "one", engine=engine) as env:
        env.reset(seed=0)
        assert waiting(env) == []
        env.reset(seed=1)
        (ready,) = waiting(env)
        env.reset(seed=2)
        assert env._workplace is ready
        assert env.step("<bash>echo here</bash>")[0] == "here\n[exit code 0]"
    assert not any(thread.name == "gem-terminal pool" for thread in threading.enumerate())
    with TerminalEnv(path=tasks / "one", engine=engine, warm=0) as env:
        for _ in range(3):
            env.reset()
            assert waiting(env) == []


def test_of_several_tasks_the_next_is_known(engine: Engine, tasks: Path) -> None:
    """It follows from the generator, which is looked at and not moved."""
    with TerminalEnv(path=tasks, engine=engine, warm=2) as env, TerminalEnv(path=tasks, engine=engine, warm=0) as twin:
        env.reset(seed=5)
        twin.reset(seed=5)
        for _ in range(4):
            env.reset()
            coming = {workplace.task.name for workplace in waiting(env)}
            twin.reset()
            assert env.task.name == twin.task.name
            ahead = twin.spawn(same_state=True)
            for _ in range(2):
                coming -= {ahead.tasks[ahead.rng.randrange(3)].name}
            assert not coming
        before = waiting(env)
        env.reset()
        assert env._workplace in before


def test_what_the_caller_chooses_is_not_guessed(engine: Engine, tasks: Path) -> None:
    """Where each reset says which task it is, none is made ahead for nothing."""
    with TerminalEnv(path=tasks, engine=engine) as env:
        for seed in range(3):
            env.reset(seed=seed)
            assert waiting(env) == []
        for index in range(3):
            env.reset(options={"index": index})
            assert waiting(env) == []


def test_environments_share_what_is_equal(engine: Engine, tasks: Path) -> None:
    """What was made for one may be taken by another with the same arguments, and by none with others."""
    with TerminalEnv(path=tasks / "one", engine=engine) as env, TerminalEnv(path=tasks / "one", engine=engine) as other:
        env.reset()
        env.reset()
        (ready,) = waiting(env)
        with TerminalEnv(path=tasks / "one", engine=engine, output=500) as different:
            different.reset()
            assert different._workplace is not ready
        other.reset()
        assert other._workplace is ready
        assert len(waiting(env)) == 1, "another is made for the first one"


def test_a_container_that_died_while_it_waited_is_replaced(engine: Engine, tasks: Path) -> None:
    """The episode begins in one that lives."""
    with TerminalEnv(path=tasks / "one", engine=engine) as env:
        env.reset()
        env.reset()
        (ready,) = waiting(env)
        ready._container.remove()
        env.reset()
        assert env._workplace is not ready
        assert env.step("<bash>echo here</bash>")[0] == "here\n[exit code 0]"
