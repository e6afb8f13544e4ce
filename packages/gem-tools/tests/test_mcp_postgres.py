"""The environment of the guide over a real PostgreSQL, with the MCP server that others wrote for it."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_packages import from_npm
from postgres_server import postgres_server, programs

from gem.tools import ToolEnvWrapper

pytestmark = [
    pytest.mark.slow(reason="it starts a database"),
    pytest.mark.xdist_group("mcp_real_servers"),
    pytest.mark.usefixtures("no_connections_left"),
]

GUIDE = Path(__file__).parents[3] / "docs/guides/tools.md"


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory, reserve_port: Callable[[], int]) -> Iterator[Any]:
    """The module of the guide, with the servers that it needs."""
    folder = programs()
    if folder is None:
        pytest.skip("PostgreSQL's programs are not here")
    servers = from_npm()
    block = re.search(r"<!-- file: orders.py -->\n```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert block is not None
    path = tmp_path_factory.mktemp("guide") / "orders.py"
    path.write_text(block[1])
    before = dict(os.environ)
    with postgres_server(folder, reserve_port()) as settings:
        os.environ.update(settings, PATH=os.pathsep.join([str(servers), settings["PATH"]]))
        try:
            subprocess.run(["createdb", "shop"], check=True)
            create = re.search(r'^psql shop --command "(.*)"$', GUIDE.read_text(), re.MULTILINE)
            assert create is not None
            subprocess.run(["psql", "--quiet", "shop", "--command", create[1]], check=True)
            spec = importlib.util.spec_from_file_location("orders", path)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules["orders"] = module
            spec.loader.exec_module(module)
            yield module
        finally:
            sys.modules.pop("orders", None)
            os.environ.clear()
            os.environ.update(before)


def query(env: ToolEnvWrapper, sql: str) -> Any:
    """Return the rows that the agent sees, or the text of an error."""
    call = {"id": "1", "function": {"name": "query", "arguments": {"sql": sql}}}
    text = env.step({"tool_calls": [call]})[0]
    return json.loads(text) if text.startswith("[") else text


def databases() -> set[str]:
    listed = subprocess.run(
        ["psql", "--tuples-only", "--no-align", "postgres", "--command", "SELECT datname FROM pg_database"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {name for name in listed.stdout.split() if name.startswith("shop")}


@pytest.mark.nightly
def test_each_episode_has_a_database_of_its_own(orders: Any) -> None:
    """Two environments at once, two episodes each; all databases are gone in the end, and the template is as it was."""
    count = "SELECT count(*)::int AS n FROM orders WHERE open"
    envs = [orders.orders_with_server() for _ in range(2)]
    for seed, env in enumerate(envs):
        env.reset(seed=seed)
    for env in (*envs, *envs):
        assert query(env, "SELECT current_database() AS d") == [{"d": env.database}]
        assert query(env, count) == [{"n": env.open}]
        _, reward, terminated, *_ = env.step(f"\\boxed{{{env.open}}}")
        assert (reward, terminated) == (1.0, True)
        env.reset()
    assert len(databases()) == 3
    for env in envs:
        env.close()
    assert databases() == {"shop"}


def test_an_episode_is_a_function_of_its_seed(orders: Any) -> None:
    """Although its database is another one each time, which ends with it."""
    answers, names = [], set()
    with orders.orders_with_server() as env:
        for _ in range(2):
            env.reset(seed=5)
            (row,) = query(env, "SELECT current_database() AS name, count(*)::int AS n FROM orders WHERE open")
            answers.append(row["n"])
            names.add(row["name"])
        assert databases() == {"shop", env.database}
    assert answers == [env.open] * 2
    assert len(names) == 2
    assert databases() == {"shop"}


@pytest.mark.nightly
def test_the_agent_can_neither_write_nor_reach_another_episode(orders: Any) -> None:
    """The server answers each with an error, and goes on."""
    with orders.orders_with_server() as one, orders.orders_with_server() as two:
        one.reset(seed=1)
        two.reset(seed=2)
        assert "read-only" in query(one, "DELETE FROM orders")
        assert "cross-database" in query(one, f"SELECT * FROM {two.database}.public.orders")
        assert query(one, "SELECT count(*)::int AS n FROM orders") == [{"n": 1000}]
