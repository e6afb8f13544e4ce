"""Fixtures and options for the tests of several packages; `dev.py package` copies this file along."""

from __future__ import annotations

import gc
import random
import shutil
import signal
import socket
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import settings

# The tests inside terminal tasks run in the tasks' containers.
collect_ignore_glob = ["packages/*/src/*"]

# The duration of an example depends on the machine's other work, so no example fails for being slow.
EXAMPLES = {"quick": 10, "main": 20, "all": 300}
for tier, examples in EXAMPLES.items():
    settings.register_profile(tier, deadline=None, max_examples=examples)

LEFT_OUT = {"quick": ("slow", "containers", "nightly"), "main": ("nightly",), "all": ()}
"""Tier → the markers of the tests that it leaves out."""

LONG = 5.0
"""Seconds above which a test of the main tier needs a written reason."""

BATCH = 24
"""The number of quick tests of a file that one worker takes together; a slow one counts as four."""

REASON = "reason to be slow"
"""The property of a report that holds the reason."""

THING = """
import gem

class Thing(gem.Env):
    def __init__(self, size: int = 1) -> None:
        self.size = size

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        return f"size {self.size}", {}

    def step(self, action):
        return "", 0.0, True, False, {}
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the choice of the tier."""
    parser.addoption("--tier", choices=tuple(LEFT_OUT), default="main", help="which tests to run (default: main)")
    parser.addoption(
        "--one-variant",
        action="append",
        default=[],
        metavar="FOLDER",
        help="of each test below this folder run one variant",
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Use two workers more than there are processors: tests wait for containers, servers and limits of time.

    Of 3,400 seconds that three workers spent on two processors, processes used 1,800.
    """
    from gem.cpus import usable_cpus

    return usable_cpus() + 2


def pytest_configure(config: pytest.Config) -> None:
    """Give property-based tests the tier's number of examples, and the whole matrix of the conformance kit to all.

    A shell without job control lets what it runs in the background ignore SIGINT, and so do all processes that tests
    start there; tests interrupt some of these.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    settings.load_profile(config.getoption("--tier"))
    if config.getoption("--tier") == "all":
        config.option.gem_every_variant = True


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from searching, over and over, what the collected tests keep to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> list[pytest.Item] | None:
    """Make no tests of a function or class that the tier leaves out as a whole: 14,000, by each worker."""
    marks = getattr(obj, "pytestmark", ())
    left_out = LEFT_OUT[collector.config.getoption("--tier")]
    return [] if isinstance(marks, list) and any(mark.name in left_out for mark in marks) else None


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests that the tier leaves out, note the reasons of those that are long, and make batches."""
    markers = LEFT_OUT[config.getoption("--tier")]
    left_out = [item for item in items if any(item.get_closest_marker(marker) for marker in markers)]
    if markers:
        gone = set(left_out)
        single = [config.rootpath / folder for folder in config.getoption("--one-variant")]
        left_out += _beyond_the_sample((item for item in items if item not in gone), single)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
    for item in items:
        if (marker := item.get_closest_marker("slow")) is not None and "reason" in marker.kwargs:
            item.user_properties.append((REASON, marker.kwargs["reason"]))
    if config.getoption("loadgroup", False):
        _make_batches(items)


def _beyond_the_sample(items: Iterable[pytest.Item], single: Sequence[Path]) -> list[pytest.Item]:
    """Return the variants of sampled tests but the first, the last and what lies evenly between, as many as told.

    Args:
        items: tests.
        single: folders below which every test is sampled, with one variant.
    """
    variants: defaultdict[tuple[pytest.Item | pytest.Collector | None, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled") is not None or _is_below(item, single):
            variants[item.parent, getattr(item, "originalname", item.name)].append(item)
    beyond = []
    for tests in variants.values():
        marker = None if _is_below(tests[0], single) else tests[0].get_closest_marker("sampled")
        most = marker.args[0] if marker else 1
        taken = {round(n * (len(tests) - 1) / max(most - 1, 1)) for n in range(min(most, len(tests)))}
        beyond += [test for n, test in enumerate(tests) if n not in taken]
    return beyond


def _is_below(item: pytest.Item, folders: Sequence[Path]) -> bool:
    return bool(folders) and any(item.path.is_relative_to(folder) for folder in folders)


def _make_batches(items: list[pytest.Item]) -> None:
    """Let workers of pytest-xdist take the tests of a file in batches, where they have no groups of their own.

    The time that its scheduler needs grows with the square of the number of groups, and a test without a group is one:
    20,000 of them cost 20 seconds. The fixtures of a module are also made by fewer workers. Long tests stay alone, and
    as the scheduler gives out the largest groups first, they fill the workers evenly at the end.
    """
    sizes: Counter[str] = Counter()
    for item in items:
        if item.get_closest_marker("xdist_group") is not None or REASON in dict(item.user_properties):
            continue
        file = item.nodeid.partition("::")[0]
        item.add_marker(pytest.mark.xdist_group(f"{file} {sizes[file] // BATCH}"))
        sizes[file] += 1 if item.get_closest_marker("slow") is None else 4


def pytest_collection_finish() -> None:
    """Keep the collected tests, which live to the end, out of the garbage collections that tests ask for."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """List the long tests of the main tier without a written reason."""
    if config.getoption("--tier") != "main":
        return
    reports = [report for found in terminalreporter.stats.values() for report in found]
    unexplained = [
        f"{report.duration:6.1f} s  {report.nodeid}"
        for report in reports
        if getattr(report, "when", None) == "call"
        and report.duration > LONG
        and REASON not in dict(report.user_properties)
    ]
    if unexplained:
        terminalreporter.section(f"more than {LONG:.0f} s, without a reason in pytest.mark.slow(reason=...)")
        for line in sorted(unexplained, reverse=True):
            terminalreporter.line(line)


def _reserve_port() -> int:
    """Return a port of 127.0.0.1 that a server binds which cannot be given a socket, nor say which port it got.

    Whoever asks the system for any port does not get it, since it lies outside the range of those where there is an
    outside. Whoever else asks for this number gets an error for a minute, for which the kernel remembers a closed
    connection (TIME_WAIT of RFC 9293). A server binds it all the same: it sets SO_REUSEADDR, so that it can restart.
    """
    try:
        first, last = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    except OSError:  # not on Linux
        first, last = 1024, 65535
    outside = [*range(1024, first), *range(last + 1, 65536)] or [0]
    while True:
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", random.SystemRandom().choice(outside)))
            except OSError:  # another has it
                continue
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # not before, so that others keep theirs
            listener.listen(1)
            port = int(listener.getsockname()[1])
            with socket.create_connection(("127.0.0.1", port)) as client:
                listener.accept()[0].close()  # whoever closes first, here the server, has the connection remembered
                client.recv(1)
        return port


@pytest.fixture(scope="session")
def with_git() -> None:
    """Skip a test that makes git repositories where the program is missing."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")


@pytest.fixture(scope="session")
def reserve_port() -> Callable[[], int]:
    """Reserves ports of 127.0.0.1 for servers that must be told a number; see :func:`_reserve_port`."""
    return _reserve_port


class PluginSite:
    """A folder on ``sys.path`` with distributions laid out as pip does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(
        self,
        distribution: str,
        entry_points: str | Mapping[str, str],
        files: Mapping[str, str],
        metadata: str | None = "Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
    ) -> Path:
        """Lay out one distribution.

        Args:
            distribution: its name.
            entry_points: namespace → import name, or the text of ``entry_points.txt``.
            files: path → text.
            metadata: the text of ``METADATA``; None for a distribution without one.

        Returns:
            The ``.dist-info`` folder.
        """
        from gem import discovery

        if not isinstance(entry_points, str):
            entry_points = "[gem.envs]\n" + "".join(f"{name} = {value}\n" for name, value in entry_points.items())
        info = self.folder / f"{distribution.replace('-', '_')}-1.0.dist-info"
        texts = {info / "entry_points.txt": entry_points, **{self.folder / path: text for path, text in files.items()}}
        if metadata is not None:
            texts[info / "METADATA"] = metadata.format(name=distribution)
        for path, text in texts.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        discovery.clear_caches()
        return info

    def add_thing(self, distribution: str, package: str, namespace: str, extra: str = "") -> None:
        """Lay out a healthy distribution whose package offers ``NAMESPACE:Thing-v0`` and its variant ``big``."""
        manifest = (
            f'schema = 1\n[[environment]]\nid = "{namespace}:Thing-v0"\nentry_point = "{package}:Thing"\n'
            f'description = "A thing."\n{extra}\n[environment.variants]\nbig = {{ size = 9 }}\n'
        )
        self.add(
            distribution,
            {namespace: package},
            {f"{package}/__init__.py": THING, f"{package}/environments.toml": manifest},
        )


@pytest.fixture(autouse=True, scope="module")
def _registrations() -> Iterator[None]:
    """End the registrations of a module's tests with the module, so that no other module's tests see them."""
    from gem import registry

    before = dict(registry._registered)
    yield
    registry._registered.clear()
    registry._registered.update(before)


@pytest.fixture(autouse=True, scope="module")
def _small_heap() -> Iterator[None]:
    """Keep what a module leaves behind out of later garbage collections.

    Libraries that some tests import (torch, pandas) would otherwise be searched in each collection that others ask
    for, hundreds of times.
    """
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PluginSite]:
    """An empty folder for distributions, first on ``sys.path``."""
    from gem import discovery, plugins

    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    modules = set(sys.modules)
    yield PluginSite(folder)
    for name in set(sys.modules) - modules:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]
    monkeypatch.undo()
    discovery.clear_caches()
    plugins._load_plugins.cache_clear()
    plugins._loaded.cache_clear()
