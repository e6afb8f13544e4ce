"""Tasks on databases: their solutions, their checks, and tools of others on the same database."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError
from gem_envs_desk.mcp.answers import is_right
from gem_envs_desk.mcp.database_env import DATABASE_FAMILIES, DatabaseEnv, DatabasePolicy, database_task, made_workspace

IN_SQLITE = [name for name, family in DATABASE_FAMILIES.items() if family.in_sqlite]


def execute(env: DatabaseEnv, sql: str) -> str:
    call = {"id": "1", "function": {"name": "execute", "arguments": json.dumps({"sql": sql})}}
    return str(env.step({"tool_calls": [call]})[0])


def score_of(env: DatabaseEnv, statements: tuple[str, ...], answer: str = "done") -> float:
    """Return the reward of an episode with these statements, in the same task as the last one."""
    env.reset(options={"task": env.task})
    for statement in statements:
        execute(env, statement)
    return float(env.step(f"<answer>{answer}</answer>")[1])


def check_family(engine: str, family: str, seed: int) -> None:
    """The reference policy earns 1; doing nothing, and the solution without one of its statements, earn 0."""
    with DatabaseEnv(engine=engine, families=family) as env:
        observation, info = env.reset(seed=seed)
        policy = DatabasePolicy(env)
        policy.reset(observation, info)
        reward, over = 0.0, False
        while not over:
            observation, reward, terminated, truncated, info = env.step(policy.act(observation, info))
            over = terminated or truncated
        assert reward == 1.0, (family, seed, observation)
        task = env.current
        assert score_of(env, ()) == 0.0
        for place in range(len(task.solution)):
            rest = task.solution[:place] + task.solution[place + 1 :]
            assert score_of(env, rest) == 0.0, (family, seed, task.solution[place])
        if task.answer is None:
            # What nobody asked for is a fault as well.
            assert score_of(env, (*task.solution, "CREATE TABLE souvenir (x integer)")) == 0.0
        else:
            assert score_of(env, ("CREATE TABLE souvenir (x integer)",), "\n".join(task.answer)) == 0.0


@pytest.mark.parametrize("family", IN_SQLITE)
def test_a_task_has_one_right_end_in_sqlite(family: str) -> None:
    """Each family that SQLite can express."""
    check_family("sqlite", family, seed=5)


def test_every_number_has_a_task() -> None:
    """No draw of any family fails."""
    for family in DATABASE_FAMILIES:
        for number in range(12):
            assert database_task(number, (family,)).family == family


@pytest.mark.slow(reason="it starts a database")
@pytest.mark.parametrize("family", ["trigger", "row_updates", "check"])
def test_a_task_has_one_right_end(server: None, family: str) -> None:
    """One family with code, one with row security, one with a constraint."""
    check_family("postgresql", family, seed=5)


@pytest.mark.nightly
@pytest.mark.parametrize("family", DATABASE_FAMILIES)
def test_every_task_has_one_right_end(server: None, family: str) -> None:
    """Every family, over several seeds."""
    for seed in range(6):
        check_family("postgresql", family, seed)


@pytest.mark.nightly
@pytest.mark.parametrize("family", IN_SQLITE)
def test_every_task_has_one_right_end_in_sqlite(family: str) -> None:
    """Every family that SQLite can express, over many seeds."""
    for seed in range(40):
        check_family("sqlite", family, seed)


@pytest.mark.slow(reason="it starts a database")
def test_another_way_to_the_same_end_is_right(server: None) -> None:
    """A check in other words, and a policy in other words, are compared by their effect."""
    with DatabaseEnv(families="check") as env:
        env.reset(seed=3)
        deals = env.current.content.business.deal
        way = (f"UPDATE {deals} SET amount = abs(amount)", f"ALTER TABLE {deals} ADD CHECK (NOT (amount <= 0))")
        assert score_of(env, way) == 1.0
        weaker = (way[0], f"ALTER TABLE {deals} ADD CHECK (amount >= 0)")
        assert score_of(env, weaker) == 0.0
    with DatabaseEnv(families="row_security") as env:
        env.reset(seed=3)
        enable, regional, everything = env.current.solution
        region = regional.rpartition("(region = ")[2].removesuffix(")")
        other = regional.replace(f"(region = {region})", f"(region LIKE {region} AND id IS NOT NULL)")
        assert score_of(env, (enable, everything, other)) == 1.0
        assert score_of(env, (enable, everything, regional.replace(f"(region = {region})", "(true)"))) == 0.0


def test_the_state_of_an_episode_holds_its_changes() -> None:
    """Another environment continues where the first one was."""
    with DatabaseEnv(engine="sqlite", families="merge_duplicates") as env, DatabaseEnv(engine="sqlite") as other:
        env.reset(seed=1)
        first, second = env.current.solution
        execute(env, first)
        state = json.loads(json.dumps(env.get_state()))
        with pytest.raises(ArgumentError):
            DatabaseEnv(engine="sqlite", families="row_security")
        again = DatabaseEnv(engine="sqlite", families="merge_duplicates")
        again.set_state(state)
        execute(again, second)
        assert again.step("<answer>done</answer>")[1] == 1.0
        again.close()
        other.reset(seed=1)


def test_the_agent_cannot_leave_its_sqlite_database(tmp_path: Any) -> None:
    """Neither by ATTACH, nor by a PRAGMA, a transaction or an endless statement; query does not write."""
    with DatabaseEnv(engine="sqlite", families="index") as env:
        env.reset(seed=0)
        target = tmp_path / "x.db"
        for sql in (
            f"ATTACH '{target}' AS other",
            f"VACUUM INTO '{target}'",
            "PRAGMA writable_schema = 1",
            "BEGIN",
            "SELECT load_extension('x')",
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n",
            "SELECT 1; SELECT 2",
        ):
            assert "execute failed" in execute(env, sql), sql
        assert not target.exists()
        call = {"name": "query", "arguments": {"sql": "CREATE TABLE t (x integer)"}}
        assert "only reads" in env.step(f"<tool_call>{json.dumps(call)}</tool_call>")[0]


def test_several_calls_of_a_message_are_carried_out_in_order() -> None:
    """The answer among them ends the episode."""
    with DatabaseEnv(engine="sqlite", families="merge_duplicates") as env:
        env.reset(seed=2)
        calls = [
            {"id": str(place), "function": {"name": "execute", "arguments": {"sql": sql}}}
            for place, sql in enumerate(env.current.solution)
        ]
        end = {"id": "9", "function": {"name": "answer", "arguments": {"text": "done"}}}
        *_, terminated, _, info = env.step({"tool_calls": [*calls, end]})
        assert terminated
        assert info["correct"] is True


def test_answers_are_compared_by_their_values() -> None:
    """In any order, numbers by value, words regardless of capitals; neither more nor fewer."""
    assert is_right("b\n a", ["A", "b"])
    assert is_right("[12.5, 'x']", ["12.50", "x"])
    assert not is_right("a", ["a", "b"])
    assert not is_right("a\na\nb", ["a", "b"])
    assert not is_right("", ["0"])


@pytest.mark.slow(reason="it starts a database")
def test_a_workspace_without_a_task_of_its_own_is_left_as_it_was(server: None) -> None:
    """Two databases with one content have equal snapshots, whatever the probes did."""
    with DatabaseEnv(families="trigger") as env:
        env.reset(seed=1)
        task = env.current
        probes = task.probes
        first, second = made_workspace("postgresql", task), made_workspace("postgresql", task)
        try:
            before = first.snapshot(probes)
            assert first.snapshot(probes) == before == second.snapshot(probes)
        finally:
            first.close()
            second.close()


def test_random_play_earns_nothing() -> None:
    """Over the families of SQLite."""
    rng = Random(0)
    total = 0.0
    with gem.make("mcp:SQLite-v0") as env:
        for _ in range(30):
            env.reset(seed=rng.randrange(10**6))
            over = False
            while not over:
                _, reward, terminated, truncated, _ = env.step(env.sample_random_action())
                total += reward
                over = terminated or truncated
    assert total <= 1.0
