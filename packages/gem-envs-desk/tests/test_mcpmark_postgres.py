"""MCPMark's PostgreSQL tasks from a checkout of the user: preparation, backups, verifiers, and what cannot be played.

Two nightly tests need a checkout and an interpreter with psycopg2: ``GEM_MCPMARK_PATH`` and ``GEM_MCPMARK_PYTHON``.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="NOT TESTED: psycopg is not installed; it comes with gem-tools[postgres]")

import psycopg

import gem
from gem.errors import ArgumentError
from gem_envs_desk.adapters.mcpmark_postgres_env import McpMarkPostgresEnv
from gem_tools.postgres import open_cluster
from gem_tools.postgres.confinement import can_confine
from gem_tools.postgres.programs import server_programs

pytestmark = [
    pytest.mark.slow(reason="it starts a database"),
    pytest.mark.usefixtures("server"),
    pytest.mark.skipif(not can_confine(), reason="the kernel has no Landlock"),
]
DONE = "<answer>done</answer>"

CONNECTED = """
import os
import sys

import psycopg

session = psycopg.connect(
    host=os.environ["POSTGRES_HOST"], port=int(os.environ["POSTGRES_PORT"]), user=os.environ["POSTGRES_USERNAME"],
    password=os.environ["POSTGRES_PASSWORD"], dbname=os.environ["POSTGRES_DATABASE"], autocommit=True,
)
"""
PREPARE = f"""{CONNECTED}
session.execute("CREATE SCHEMA post; CREATE TABLE post.letters (id integer PRIMARY KEY, opened boolean)")
session.execute("INSERT INTO post.letters SELECT g, false FROM generate_series(1, 5) AS g; CREATE ROLE reader LOGIN")
"""
VERIFY = f"""{CONNECTED}
print("looked at", sys.argv[1])
opened = session.execute("SELECT count(*) FROM post.letters WHERE opened").fetchone()[0]
may = session.execute("SELECT has_table_privilege('reader', 'post.letters', 'SELECT')").fetchone()[0]
sys.exit(0 if opened == 5 and may else 1)
"""
SOLUTION = (
    "UPDATE post.letters SET opened = true",
    "GRANT USAGE ON SCHEMA post TO reader",
    "GRANT SELECT ON post.letters TO reader",
)


def add_task(checkout: Path, category: str, name: str, **programs: str) -> None:
    """Write a task folder in the layout of MCPMark."""
    folder = checkout / "tasks" / "postgres" / "standard" / category / name
    folder.mkdir(parents=True)
    (folder / "description.md").write_text("Open all letters, and let `reader` read them. {No} placeholder.")
    (folder / "meta.json").write_text(json.dumps({"category_id": category, "meta_data": {"stateUrl": None}}))
    for program, text in programs.items():
        (folder / f"{program}.py").write_text(text)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A task that prepares its database, one with a backup, and those that lack something."""
    folder = tmp_path / "MCPMark ü"
    add_task(folder, "letters", "open_them", prepare_environment=PREPARE, verify=VERIFY)
    add_task(folder, "archive", "open_them", verify=VERIFY)
    add_task(folder, "vectors", "look", prepare_environment="# CREATE EXTENSION IF NOT EXISTS nowhere", verify=VERIFY)
    add_task(folder, "modules", "look", prepare_environment="", verify="import no_such_module, look_again")
    (folder / "tasks" / "postgres" / "standard" / "modules" / "look_again.py").write_text("import json")
    return folder


def call(name: str, **arguments: str) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def reward_of(env: McpMarkPostgresEnv, statements: tuple[str, ...]) -> float:
    """Return the reward of statements in the task of the last episode."""
    env.reset(options={"task": env.task})
    for statement in statements:
        env.step(call("execute", sql=statement))
    _, reward, terminated, _, info = env.step(DONE)
    assert terminated, info
    return reward


def test_a_prepared_database_is_verified_by_the_task_s_program(checkout: Path) -> None:
    """Solved by its superuser; tools find the tables of every schema."""
    with McpMarkPostgresEnv(path=str(checkout)) as env:
        observation, _ = env.reset(seed=3)
        assert "let `reader` read them. {No} placeholder." in observation
        assert env.task_names == ("letters/open_them",)
        assert "post.letters (table)" in env.step(call("list_tables"))[0]
        assert "opened boolean" in env.step(call("describe_table", table="post.letters"))[0]
        for statement in SOLUTION:
            env.step(call("execute", sql=statement))
        assert env.step(DONE)[1] == 1.0
        assert env.verification.strip() == "looked at mcpmark_letters_open_them"


@pytest.mark.nightly
def test_each_part_of_the_solution_is_necessary(checkout: Path) -> None:
    """Each episode has a server of its own: what was done in one is not there in the next."""
    with McpMarkPostgresEnv(path=str(checkout)) as env:
        env.reset(seed=3)
        assert reward_of(env, SOLUTION) == 1.0
        assert reward_of(env, ()) == 0.0
        assert reward_of(env, SOLUTION[:2]) == 0.0


def test_what_cannot_be_played_is_refused_by_name(checkout: Path) -> None:
    """A backup, an extension and a module that are not there, with what to do; a program that fails is a fault."""
    with McpMarkPostgresEnv(path=str(checkout)) as env:
        refused = env.refused_tasks
    assert sorted(refused) == ["archive/open_them", "modules/look", "vectors/look"]
    assert "archive.backup" in refused["archive/open_them"]
    assert "backups=" in refused["archive/open_them"]
    assert "extensions nowhere" in refused["vectors/look"]
    assert "modules no_such_module of" in refused["modules/look"]
    with gem.make("mcp:MCPMarkPostgres-v0") as other, pytest.raises(ArgumentError, match="clone"):
        other.reset(seed=0)
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"path": str(checkout / "tasks")}, "no checkout"),
        ({"path": str(checkout), "category": "archive"}, "archive.backup"),
        ({"path": str(checkout), "python": str(checkout / "no-python")}, "does not run"),
    )
    for values, words in wrong:
        with McpMarkPostgresEnv(**values) as env, pytest.raises(ArgumentError, match=words):
            env.reset(seed=0)


@pytest.mark.nightly
def test_a_database_begins_with_its_backup(checkout: Path, tmp_path: Path) -> None:
    """One that pg_dump has written; a file that is none breaks the episode off."""
    made = open_cluster("archive")
    try:
        made.load(
            "CREATE SCHEMA post; CREATE TABLE post.letters AS SELECT g AS id, g > 3 AS opened"
            " FROM generate_series(1, 5) AS g"
        )
        backup = tmp_path / "archive.backup"
        dump: list[str | Path] = [
            server_programs() / "pg_dump",
            "-h",
            made.sockets,
            "-p",
            str(made.port),
            "-U",
            made.user,
            "-Fc",
            "-f",
        ]
        subprocess.run([*dump, backup, "archive"], check=True)
    finally:
        made.close()
    with McpMarkPostgresEnv(path=str(checkout), category="archive", backups=str(tmp_path)) as env:
        env.reset(seed=0)
        assert reward_of(env, ()) == 0.0
        assert reward_of(env, ("CREATE ROLE reader", *SOLUTION)) == 1.0
        backup.write_text("no backup")
        env.reset(seed=0)
        *_, truncated, info = env.step(call("list_tables"))
        assert truncated
        assert "pg_restore made no table" in str(info)


@pytest.mark.nightly
def test_a_program_that_fails_breaks_the_episode_off(checkout: Path) -> None:
    """Nothing prepared is not the agent's failure; nor is an interpreter that is gone before the verdict."""
    prepare = checkout / "tasks" / "postgres" / "standard" / "letters" / "open_them" / "prepare_environment.py"
    prepare.write_text("raise SystemExit('no luck')")
    with McpMarkPostgresEnv(path=str(checkout)) as env:
        env.reset(seed=0)
        *_, truncated, info = env.step(call("list_tables"))
        assert truncated
        assert "no luck" in str(info)
        prepare.write_text(PREPARE)
        env.reset(seed=0)
        env.step(call("list_tables"))
        env.python = str(checkout / "no-python")
        *_, truncated, info = env.step(DONE)
        assert truncated
        assert "no verdict" in str(info)


@pytest.mark.nightly
def test_the_tasks_of_the_checkout_have_their_solutions() -> None:
    """Each task that the checkout itself prepares: doing nothing earns 0, and the checkout's own solution 1."""
    path, python = os.environ.get("GEM_MCPMARK_PATH"), os.environ.get("GEM_MCPMARK_PYTHON")
    if not path or not python:
        pytest.skip("GEM_MCPMARK_PATH and GEM_MCPMARK_PYTHON name no checkout of MCPMark")
    values: dict[str, Any] = {"path": path, "python": python}
    solved = 0
    with McpMarkPostgresEnv(**values) as env:
        assert {"security/rls_business_access", "security/user_permission_audit"} <= set(env.task_names)
        for place, name in enumerate(env.task_names):
            solution = Path(path, "tasks", "postgres", "standard", name, "ground_truth.sql")
            if not solution.exists():  # those with a backup
                continue
            env.reset(seed=0, options={"task": place})
            assert reward_of(env, ()) == 0.0, name
            env.reset(seed=0, options={"task": place})
            with psycopg.connect(env.workspace.database_url, autocommit=True) as session:
                session.execute(solution.read_text().encode())
            assert env.step(DONE)[1] == 1.0, env.verification
            solved += 1
    assert solved >= 2
