"""Engines for the tests. Where one cannot run, its tests are skipped and say why."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
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


def _docker(cache: Path) -> Engine:
    engine = DockerEngine()
    engine.check()
    try:
        engine.prepare(SMALL)
    except EngineError:
        if not os.environ.get(ROOT_FILES):
            raise
        pack = ["tar", "-C", os.environ[ROOT_FILES], "-c", "."]
        with subprocess.Popen(pack, stdout=subprocess.PIPE) as packing:
            subprocess.run(["docker", "import", "-", BASE], stdin=packing.stdout, check=True, capture_output=True)
    return engine


def _namespace(cache: Path) -> Engine:
    engine = NamespaceEngine(cache)
    engine.check()
    base = cache / "bases" / BASE.replace(":", "_")
    if os.environ.get(ROOT_FILES) and not base.exists():
        base.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):  # another worker was quicker
            base.symlink_to(os.environ[ROOT_FILES])
    engine.prepare(SMALL)
    return engine


ENGINES = {"docker": _docker, "namespace": _namespace}


def pytest_configure(config: pytest.Config) -> None:
    """Tell also the processes that tests start where unpacked images lie, and which engine is the usual one.

    Images are kept from one run to the next and shared by all workers. The conformance kit notes the environment
    variables when tests are collected, which is before any fixture.
    """
    assert config.cache is not None
    os.environ.setdefault("GEM_TERMINAL_IMAGES", str(config.cache.mkdir("gem-terminal")))
    os.environ.setdefault("GEM_TERMINAL_ENGINE", "namespace")


@pytest.fixture(scope="session")
def cache() -> Path:
    """Where unpacked images lie."""
    return Path(os.environ["GEM_TERMINAL_IMAGES"])


@pytest.fixture(scope="session")
def engine_or_skip(cache: Path) -> Callable[[str], Engine]:
    """Makes an engine that works; the test is skipped, loudly, where it does not."""

    def make(name: str) -> Engine:
        try:
            return ENGINES[name](cache)
        except EngineError as error:
            pytest.skip(f"LOUDLY: the {name} engine does not work here, so nothing about it is tested: {error}")

    return make


# With pytest-xdist's `--dist loadgroup` one worker has all tests of an engine, so that no image is built twice.
@pytest.fixture(
    scope="session", params=[pytest.param(name, marks=pytest.mark.xdist_group(f"engine {name}")) for name in ENGINES]
)
def engine(request: pytest.FixtureRequest, engine_or_skip: Callable[[str], Engine]) -> Iterator[Engine]:
    """Every engine in turn."""
    made = engine_or_skip(request.param)
    yield made
    made.close()


@pytest.fixture(scope="session")
def small() -> Image:
    """The smallest image that is at hand."""
    return SMALL
