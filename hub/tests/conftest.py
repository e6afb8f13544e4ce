"""Fixtures for the tests of the registry. What they are made of is in ``toy_hub.py``, which scripts import too."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gem_hub.store import Store

if TYPE_CHECKING:
    from local_issuer import LocalIssuer

sys.path.append(str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def power(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write to disks that never lose power: bringing each file down to them takes most of a publication's time."""
    monkeypatch.setattr(os, "fsync", lambda number: None)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty hub."""
    return Store(tmp_path / "hub")


@pytest.fixture
def wheel(tmp_path: Path) -> Callable[..., Path]:
    """:func:`toy_hub.make_wheel` into a folder of this test."""

    def make(*args: object, **kwargs: object) -> Path:
        from toy_hub import make_wheel

        return make_wheel(tmp_path / "dist", *args, **kwargs)  # type: ignore[arg-type]

    return make


@pytest.fixture(scope="session")
def new_postgres() -> Iterator[Callable[[], str]]:
    """A function that makes a PostgreSQL database and returns its address; the tests are skipped without a server."""
    from registry_postgres import postgres_server, programs

    if programs() is None:
        pytest.skip("PostgreSQL could not be had: install Debian's postgresql")
    with postgres_server() as new_database:
        yield new_database


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database of either kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'registry.db'}"
    url: str = request.getfixturevalue("new_postgres")()
    return url


OTHER_DATABASE = (pytest.mark.nightly(reason="the other database"), pytest.mark.xdist_group("postgresql"))


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=OTHER_DATABASE)])
def new_database(request: pytest.FixtureRequest) -> Callable[[], str]:
    """What returns the addresses of empty databases of either kind; an empty one for the registry's own SQLite file."""
    if request.param == "sqlite":
        return lambda: ""
    made: Callable[[], str] = request.getfixturevalue("new_postgres")
    return made


@pytest.fixture
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Caches, keys and configuration of ``gem hub`` in a folder of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("GEM_HUB", "GEM_HUB_ONLINE_KEY", "GEM_HUB_PASSPHRASE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """A certificate that this process trusts, and its key."""
    from local_issuer import certificate

    paths = certificate(tmp_path_factory.mktemp("tls"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(paths[0]))
        patch.setenv("NO_PROXY", "*")
        yield paths


@pytest.fixture(scope="module")
def issuer(tls: tuple[Path, Path]) -> Iterator[LocalIssuer]:
    """A server that issues identity tokens as a forge does."""
    from cryptography.hazmat.primitives.asymmetric import rsa
    from local_issuer import local_issuer

    with local_issuer(rsa.generate_private_key(65537, 2048), *tls) as running:
        yield running


KIT = ("gem-core", "gem-cli", "gem-hub-client", "gem-processes", "gem-questions", "gem-rollout", "gem-testing")
"""What the conformance kit needs of this repository."""


@pytest.fixture(scope="session")
def links(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels of the kit and all that it needs, and of a package fresh from ``gem new``."""
    folder = tmp_path_factory.mktemp("wheels")
    project = folder / "my-puzzles"
    subprocess.run([sys.executable, "-m", "gem", "new", "my-puzzles", "--yes", "--into", str(project)], check=True)
    projects = [Path(__file__).parents[2] / "packages" / name for name in KIT]
    options = ("--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder))
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, *map(str, [*projects, project])], check=True)
    return folder
