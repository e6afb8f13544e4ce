"""Lets the tests of this folder import the modules beside them, and share a PostgreSQL server that ends with them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gem_tools.postgres import PostgresError, stop_server
from gem_tools.postgres.programs import server_programs

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session", autouse=True)
def own_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Processes that the tests start find the server by this variable, too; it starts when a test needs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEM_POSTGRES_DIR", str(tmp_path_factory.mktemp("cluster ü")))
        try:
            yield
        finally:
            stop_server()


@pytest.fixture(scope="session")
def server() -> None:
    """Skip a test where PostgreSQL is not installed."""
    try:
        server_programs()
    except PostgresError as error:
        pytest.skip(str(error))
