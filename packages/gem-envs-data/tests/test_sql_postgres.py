"""db:SQL-v0 on a real PostgreSQL: the same tasks have the same answers and ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import gem
from gem_envs_data.sql.env import SqlEnv, SqlPolicy
from gem_tools.postgres import PostgresError, stop_server
from gem_tools.postgres.lease import require_postgres


@pytest.fixture(scope="module", autouse=True)
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A server of these tests alone."""
    try:
        require_postgres()
    except PostgresError as error:
        pytest.skip(str(error))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEM_POSTGRES_DIR", str(tmp_path_factory.mktemp("cluster")))
        try:
            yield
        finally:
            stop_server()


def play(env: gem.Env[Any, Any], seed: int) -> float:
    """Return the return of the reference policy."""
    observation, info = env.reset(seed=seed)
    policy = SqlPolicy(env)
    policy.reset(observation, info)
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
        total += reward
        over = terminated or truncated
    return total


@pytest.mark.slow(reason="it starts a database")
def test_the_gold_statements_have_the_same_results() -> None:
    """A question and a change of each level; another change, or none, earns nothing."""
    for level in (1, 2, 3):
        for tasks in ("questions", "changes"):
            with SqlEnv(level=level, tasks=tasks, engine="postgresql") as env:
                assert play(env, 0) == 1.0
                env.reset(seed=0)
                assert env.step("<answer>done</answer>")[1] == 0.0
    with SqlEnv(tasks="changes", engine="postgresql") as env:
        env.reset(seed=0)
        for statement in (*env.current.statements, "CREATE TABLE more (x INTEGER)"):
            env.step(f"<sql>{statement}</sql>")
        state = env.get_state()
        assert env.step("<answer>done</answer>")[1] == 0.0
        env.set_state(state)
        env.step("<sql>DROP TABLE more</sql>")
        assert env.step("<answer>done</answer>")[1] == 1.0


@pytest.mark.nightly
@pytest.mark.parametrize("level", [1, 2, 3])
def test_all_kinds_of_tasks_have_the_same_results(level: int) -> None:
    """Over a hundred seeds of each level."""
    with SqlEnv(level=level, engine="postgresql") as env:
        for seed in range(100):
            assert play(env, seed) == 1.0, env.current.text
