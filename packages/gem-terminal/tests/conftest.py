"""Engines for the tests, and the markers that follow from the engines that a test uses.

Each worker makes an engine once and shares it among its tests. A test that uses an engine has the marker
``containers``. A test of every engine runs on the namespace engine, whose containers start in milliseconds; it also
runs on the other engines if it has the marker ``every_engine``, because what it tests is the engine's own code. The
other cells of the matrix are nightly. A worker, which passes everything on to the usual engine, has those of
``every_engine`` alone, all of them nightly. A test that concerns some engines alone has the marker ``only_engine``.
"""

from __future__ import annotations

import gc
import os
import secrets
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import NoReturn
from weakref import finalize

import pytest

from gem_terminal.engines import Engine
from gem_terminal.engines.docker import DockerEngine
from gem_terminal.engines.namespace import NamespaceEngine
from gem_terminal.errors import EngineError
from gem_terminal.task import Image

BASE = "debian:bookworm-slim"
ROOT_FILES = "GEM_TERMINAL_TEST_ROOT"
"""The environment variable that names a folder with a root file system of Debian, in place of a registry."""
REQUIRED = "GEM_REQUIRE_ENGINES"
"""The environment variable that names engines, separated by commas, whose tests fail where the engine does not work."""

SMALL = Image(name=BASE)
IMAGES = pytest.StashKey[Path]()
ENGINE_FIXTURES = frozenset(("working_engine", "missing_engine"))
"""A test that uses none of them, directly or through a fixture, gets no engine; see :func:`_no_forgotten_engine`."""
USUAL = "namespace"
"""The engine of the tests that are about no engine in particular."""
NIGHTLY_CLAUSES = frozenset(("hostile.actions", "hostile.long_text"))
"""Clauses of the conformance kit that play dozens of episodes; the tests of actions and shells try the same by day."""


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


def _worker(cache: Path) -> Engine:
    """The usual engine behind a socket, with its worker in this process."""
    pytest.importorskip("gem_terminal_remote")
    from gem_terminal_remote.workers import EngineWorker, WorkerEngine

    token = secrets.token_urlsafe(24)
    worker = EngineWorker(
        _namespace(cache), [token], capacity=1000, lease=600.0, host_network=True, scratch=cache / "scratch"
    )
    engine = WorkerEngine(f"ws://127.0.0.1:{worker.start()}", token)
    finalize(engine, worker.close)
    engine.check()
    return engine


ENGINES: dict[str, Callable[[Path], Engine]] = {"namespace": _namespace, "docker": _docker, "worker": _worker}


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers of this package, and choose the folder of unpacked images.

    Pytest's cache keeps the images from one run to the next, for all workers. Without that cache they are temporary.
    """
    config.addinivalue_line("markers", "every_engine: tests an engine's own code, so main runs it on every engine")
    config.addinivalue_line("markers", "only_engine(name, …): concerns these engines alone")
    # On a machine without slirp4netns the images of tests are built all the same.
    config.addinivalue_line("filterwarnings", "ignore:images are built with the network of this machine")
    if folder := os.environ.get("GEM_TERMINAL_IMAGES"):
        config.stash[IMAGES] = Path(folder)
    elif (kept := getattr(config, "cache", None)) is not None:
        config.stash[IMAGES] = kept.mkdir("gem-terminal")
    else:
        images = config.stash[IMAGES] = Path(tempfile.mkdtemp(prefix="gem-terminal-images-"))
        config.add_cleanup(lambda: shutil.rmtree(images, ignore_errors=True))


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Iterator[None]:
    """Let the conformance kit see the variables of these tests: it notes the environment when it collects."""
    with _variables(metafunc.config):
        return (yield)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark a test by the engine that it uses."""
    if not isinstance(item, pytest.Function) or not ENGINE_FIXTURES & set(item.fixturenames):
        return
    item.add_marker("containers")
    engine = _engine_of(item)
    clause = item.callspec.params.get("clause") if hasattr(item, "callspec") else None
    by_day = engine == USUAL or (engine == "docker" and item.get_closest_marker("every_engine") is not None)
    if clause in NIGHTLY_CLAUSES or not by_day:
        item.add_marker("nightly")
    # With pytest-xdist's `--dist loadgroup` one worker has the tests of a file that share a container.
    if item.get_closest_marker("xdist_group") is None:
        item.add_marker(pytest.mark.xdist_group(f"{item.path.name} {engine}"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out the cells in which a test has nothing to say about the engine."""
    items[:] = [item for item in items if _concerns(item)]


def _engine_of(item: pytest.Function) -> str:
    """The engine of the matrix that a test uses. Tests that a file takes from another one are of that file's engine."""
    if hasattr(item, "callspec") and "engine" in item.callspec.params:
        return str(item.callspec.params["engine"])
    source = Path(item.function.__code__.co_filename)
    folders = (item.path.parent, Path(__file__).parent)  # gem-terminal-remote has this file and its tests too
    return item.path.stem if source.parent in folders and source != item.path else USUAL


def _concerns(item: pytest.Item) -> bool:
    if not isinstance(item, pytest.Function) or not ENGINE_FIXTURES & set(item.fixturenames):
        return True
    only, engine = item.get_closest_marker("only_engine"), _engine_of(item)
    if engine == "worker" and item.get_closest_marker("every_engine") is None:
        return False
    return only is None or engine in only.args


@contextmanager
def _variables(config: pytest.Config) -> Iterator[None]:
    """Set the environment variables by which environments, and the processes of tests, find engine and images."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEM_TERMINAL_IMAGES", str(config.stash[IMAGES]))
        patch.setenv("GEM_TERMINAL_ENGINE", USUAL)
        yield


@pytest.fixture(scope="session")
def cache(pytestconfig: pytest.Config) -> Path:
    """The folder of unpacked images."""
    return pytestconfig.stash[IMAGES]


@pytest.fixture(scope="class")
def engine_variables(pytestconfig: pytest.Config, working_engine: Callable[[str], Engine]) -> Iterator[None]:
    """The usual engine, as an environment without arguments finds it."""
    working_engine(USUAL)
    with _variables(pytestconfig):
        yield


@pytest.fixture(scope="session")
def working_engine(cache: Path) -> Iterator[Callable[[str], Engine]]:
    """Returns the engine of a name that the tests share.

    Where it does not work, the test fails if ``GEM_REQUIRE_ENGINES`` names it, and is skipped otherwise.
    """
    made: dict[str, Engine | str] = {}

    def get(name: str) -> Engine:
        if name not in made:
            # The client of Docker leaves a socket open that cannot connect; the error would keep it to the end.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)
                try:
                    made[name] = ENGINES[name](cache)
                except EngineError as error:
                    made[name] = str(error)
                gc.collect()
        found = made[name]
        return without_engine(name, found) if isinstance(found, str) else found

    yield get
    for engine in made.values():
        if isinstance(engine, Engine):
            engine.close()


@pytest.fixture(autouse=True)
def _no_forgotten_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail a test that starts an engine without having asked whether it works, on every machine, not only where not."""
    if ENGINE_FIXTURES.isdisjoint(request.fixturenames):

        def prepare(self: Engine, *_: object) -> NoReturn:
            pytest.fail(f"this test uses {self!r}; take the fixture new_engine, engine or working_engine")

        monkeypatch.setattr(NamespaceEngine, "prepare", prepare)


@pytest.fixture(scope="session")
def new_engine(cache: Path, working_engine: Callable[[str], Engine]) -> Iterator[Callable[[], NamespaceEngine]]:
    """Makes engines of the usual kind that only the caller has; each test that makes one needs a working engine."""
    with ExitStack() as made:

        def make() -> NamespaceEngine:
            working_engine(USUAL)
            return made.enter_context(closing(NamespaceEngine(cache)))

        yield make


def without_engine(name: str, why: object) -> NoReturn:
    """Fail or skip a test for want of an engine; the reason says whether an engine was looked for."""
    if name in os.environ.get(REQUIRED, "").split(","):
        pytest.fail(f"{REQUIRED} names the {name} engine, and it cannot be had because {why}", pytrace=False)
    if REQUIRED in os.environ or ROOT_FILES in os.environ:
        pytest.skip(f"the {name} engine cannot be had because {why}")
    pytest.skip(f"no {name} engine was looked for (.ci/machine does that), and here {why}")


@pytest.fixture(scope="session", params=list(ENGINES))
def engine(request: pytest.FixtureRequest, working_engine: Callable[[str], Engine]) -> Engine:
    """Every engine in turn."""
    return working_engine(request.param)


@pytest.fixture(scope="session")
def missing_engine() -> Callable[[str, object], NoReturn]:
    """Fails or skips a test for want of an engine that the test starts itself."""
    return without_engine


@pytest.fixture(scope="session")
def small() -> Image:
    """The smallest image at hand."""
    return SMALL


@pytest.fixture(scope="session")
def step_tasks() -> ModuleType:
    """The writer and the player of a task with several steps; test modules cannot import each other."""
    path = Path(__file__).with_name("step_tasks.py")
    spec = spec_from_file_location("gem_terminal_step_tasks", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
