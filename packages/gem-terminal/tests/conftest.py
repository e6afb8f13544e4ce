"""Engines for the tests. Where one cannot run, its tests are skipped and say why."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gem_terminal.engines import Engine
from gem_terminal.engines.docker import DockerEngine
from gem_terminal.engines.namespace import NamespaceEngine
from gem_terminal.errors import EngineError
from gem_terminal.task import Image

BASE = "debian:bookworm-slim"
ROOT_FILES = "GEM_TERMINAL_TEST_ROOT"
"""The environment variable that names a folder with a root file system of Debian, for want of a registry."""

SMALL = Image(name=BASE)


def _docker() -> Engine:
    engine = DockerEngine()
    engine.check()
    try:
        engine.prepare(SMALL)
    except EngineError:
        if ROOT_FILES not in os.environ:
            raise
        pack = ["tar", "-C", os.environ[ROOT_FILES], "-c", "."]
        with subprocess.Popen(pack, stdout=subprocess.PIPE) as packing:
            subprocess.run(["docker", "import", "-", BASE], stdin=packing.stdout, check=True, capture_output=True)
    return engine


def _namespace(folder: Path) -> Engine:
    engine = NamespaceEngine(folder)
    engine.check()
    if ROOT_FILES in os.environ:
        base = folder / "bases" / BASE.replace(":", "_")
        if not base.exists():
            base.parent.mkdir(parents=True, exist_ok=True)
            base.symlink_to(os.environ[ROOT_FILES])
    engine.prepare(SMALL)
    return engine


@pytest.fixture(scope="session", params=["docker", "namespace"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Every engine in turn."""
    try:
        made = _docker() if request.param == "docker" else _namespace(tmp_path_factory.mktemp("images"))
    except EngineError as error:
        pytest.skip(f"LOUDLY: the {request.param} engine does not work here, so nothing about it is tested: {error}")
    yield made
    made.close()


@pytest.fixture(scope="session")
def small() -> Image:
    """The smallest image that is at hand."""
    return SMALL
