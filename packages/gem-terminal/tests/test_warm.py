"""Which containers are started ahead, for whom, and that an episode begins in them."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from gem_terminal import TerminalEnv
from gem_terminal.engines import Engine
from gem_terminal.episodes.task_session import TaskSession

FILES = {
    "task.toml": "[environment]\nnetwork_mode = 'no-network'\nmemory_mb = 64\n",
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


def waiting(env: TerminalEnv) -> list[TaskSession]:
    """What was made ahead, once everything is."""
    while workers := [thread for thread in threading.enumerate() if thread.name == "gem-terminal pool"]:
        workers[0].join(60)  # which may have started another one meanwhile
        assert not workers[0].is_alive()
    pool = env._sessions.pool
    assert pool is not None
    return [session for ready in pool._ready.values() for session in ready]


def test_nothing_is_made_before_an_environment_comes_back(engine: Engine, tasks: Path) -> None:
    """One episode takes one container; from the second on the next one is made ahead, and used."""
    with TerminalEnv(path=tasks / "one", engine=engine) as env:
        env.reset(seed=0)
        assert waiting(env) == []
        env.reset(seed=1)
        (ready,) = waiting(env)
        env.reset(seed=2)
        assert env._session is ready
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
            coming = {session.task.name for session in waiting(env)}
            twin.reset()
            assert env.task.name == twin.task.name
            ahead = twin.spawn(same_state=True)
            for _ in range(2):
                coming -= {ahead.tasks[ahead.rng.randrange(3)].name}
            assert not coming
        before = waiting(env)
        env.reset()
        assert env._session in before


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
            assert different._session is not ready
        other.reset()
        assert other._session is ready
        assert len(waiting(env)) == 1, "another is made for the first one"


def test_a_container_that_died_while_it_waited_is_replaced(engine: Engine, tasks: Path) -> None:
    """The episode begins in one that lives."""
    with TerminalEnv(path=tasks / "one", engine=engine) as env:
        env.reset()
        env.reset()
        (ready,) = waiting(env)
        ready._container.remove()
        env.reset()
        assert env._session is not ready
        assert env.step("<bash>echo here</bash>")[0] == "here\n[exit code 0]"
