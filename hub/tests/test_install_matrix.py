"""What pip and uv make of a hub, over every way in which one is served: real installers, on this machine alone.

docs/guides/hub.md has the results as a table.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import threading
import venv
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from toy_hub import make_wheel, publish_wheel

from gem_hub.events import Quarantine, Unyank, Yank
from gem_hub.serve import HubServer
from gem_hub.store import Store

pytestmark = [
    pytest.mark.slow(reason="real pip and uv, which download themselves and install"),
    pytest.mark.xdist_group("install matrix"),
]

INSTALLERS = ("pip==22.1.2", "pip==23.2.1", "pip", "uv")
OLDEST_UNFIT_PYTHON = {"pip==22.1.2": (3, 12), "pip==23.2.1": (3, 13)}
WAYS = ("file", "http.server", "gem hub serve")
# The newest of each installer on whatever it reads in another way: pip a folder and JSON, uv both and HTML.
EVERY_DAY = {("pip", "gem hub serve"), ("uv", "file"), ("uv", "gem hub serve")}
CELLS = [
    pytest.param(name, way, marks=() if (name, way) in EVERY_DAY else pytest.mark.nightly)
    for name in INSTALLERS
    for way in WAYS
]

IGNORES_METADATA = {*(("pip==22.1.2", way) for way in WAYS), ("uv", "file")}
"""Where an installer takes the wheel's own metadata, and never looks at what lies beside it."""


@dataclass(frozen=True)
class Result:
    """What an installer said, and what it left behind: name → version."""

    code: int
    said: str
    installed: dict[str, str]


@dataclass(frozen=True)
class Installer:
    """pip or uv in an environment of its own, without any settings."""

    name: str
    python: Path
    scratch: Path

    @property
    def is_uv(self) -> bool:
        return self.name == "uv"

    def install(self, index: str, *requirements: str, cache: Path | None = None) -> Result:
        """Install from one index into a new folder."""
        target = self.scratch / f"target-{sum(1 for _ in self.scratch.glob('target-*'))}"
        target.mkdir()
        if self.is_uv:
            command = [self.python.with_name("uv"), "pip", "install", "--python", self.python, "--default-index", index]
            command += ["--cache-dir", cache] if cache else ["--no-cache"]
        else:
            command = [self.python, "-m", "pip", "install", "--no-compile", "--index-url", index]
            command += ["--cache-dir", cache] if cache else ["--no-cache-dir"]
        done = subprocess.run(
            [*map(str, command), "--target", str(target), *requirements],
            env=_plain_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=120,
        )
        found = dict(folder.name.removesuffix(".dist-info").split("-") for folder in target.glob("*.dist-info"))
        return Result(done.returncode, " ".join(done.stdout.split()), found)


def _plain_environment() -> dict[str, str]:
    foreign = ("PIP_", "UV_", "PYTHON", "VIRTUAL_ENV", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
    plain = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return {**plain, "PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "UV_NO_CONFIG": "1"}


@pytest.fixture(scope="module")
def installers(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Installer]:
    """A function that gives an installer, made on first use from this machine's package index."""
    made: dict[str, Installer] = {}

    def get(name: str) -> Installer:
        if sys.version_info >= OLDEST_UNFIT_PYTHON.get(name, (4,)):
            pytest.skip(f"{name} does not run on this Python")
        if name not in made:
            made[name] = _make_installer(name, tmp_path_factory.mktemp("installer"))
        return made[name]

    return get


def _make_installer(name: str, folder: Path) -> Installer:
    home = folder / "venv"
    venv.create(home, symlinks=os.name != "nt")
    paths = sysconfig.get_paths("nt" if os.name == "nt" else "posix_prefix", {"base": home, "platbase": home})
    wheels = folder / "wheels"
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "-d", wheels, name],
        check=True,
    )
    (wheel,) = wheels.iterdir()
    scripts = Path(paths["scripts"])
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(paths["purelib"])
        for entry in archive.namelist():
            if ".data/scripts/" in entry and not entry.endswith("/"):
                program = scripts / Path(entry).name
                program.write_bytes(archive.read(entry))
                program.chmod(0o755)
    return Installer(name, scripts / ("python.exe" if os.name == "nt" else "python"), folder)


@pytest.fixture
def installer(name: str, installers: Callable[[str], Installer]) -> Installer:
    """The installer that a test is parametrised with."""
    return installers(name)


@dataclass(frozen=True)
class Hub:
    """A hub and where it is served: way → address of its simple index."""

    store: Store
    indexes: dict[str, str]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """A hub with one package for each case, served in every way; unknown names lead to a second index."""
    folder = tmp_path_factory.mktemp("hubs")
    store, other = Store(folder / "hub"), Store(folder / "other")
    wheels = folder / "dist"
    for name, version, needs in (
        ("plain-envs", "0.1.0", ()),
        ("plain-envs", "0.10.0", ()),
        ("outer-envs", "1.0", ("Requires-Dist: plain-envs>=0.1",)),
        ("yanked-envs", "0.1.0", ()),
        ("yanked-envs", "0.2.0", ()),
        ("lively-envs", "0.1.0", ()),
        ("lively-envs", "0.2.0", ()),
        ("altered-envs", "0.1.0", ()),
        ("mislabelled-envs", "0.1.0", ()),
        ("quarantined-envs", "0.1.0", ()),
        ("mixed-envs", "0.1.0", ("Requires-Dist: stranger",)),
    ):
        publish_wheel(store, _wheel(wheels, name, version, needs))
    for name, version in (("stranger", "3.0"), ("plain-envs", "99.0")):
        publish_wheel(other, _wheel(wheels, name, version))
    store.add_event(Yank(name="yanked-envs", version="0.2.0", reason="rewards were doubled", by="someone"))
    store.add_event(Quarantine(name="quarantined-envs", reason="malware", by="someone"))
    _alter(store, "altered_envs-*.whl", lambda content: content[:-2] + b"\1\0 ")  # a comment, in a sound archive
    _alter(store, "mislabelled_envs-*.metadata", lambda content: content.replace(b"Toys", b"TOYS"))
    with ExitStack() as stack:
        fallback = stack.enter_context(_http_server(other.folder))
        server = stack.enter_context(HubServer(store.folder, fallback=fallback))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        stack.callback(thread.join)
        stack.callback(server.shutdown)
        yield Hub(
            store,
            {
                "file": f"{store.folder.as_uri()}/simple/",
                "http.server": stack.enter_context(_http_server(store.folder)),
                "gem hub serve": f"http://127.0.0.1:{server.port}/simple/",
            },
        )


def _wheel(folder: Path, name: str, version: str, needs: tuple[str, ...] = ()) -> Path:
    return make_wheel(folder, name, version, [f"{name.replace('-', '')}:Thing-v0"], metadata=needs)


def _alter(store: Store, pattern: str, change: Callable[[bytes], bytes]) -> None:
    (path,) = store.folder.glob(f"files/*/*/{pattern}")
    path.write_bytes(change(path.read_bytes()))


@contextmanager
def _http_server(folder: Path) -> Iterator[str]:
    """``python -m http.server``, as a person would type it."""
    command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            port = re.search(r"port (\d+)", process.stdout.readline())
            assert port is not None
            yield f"http://127.0.0.1:{port[1]}/simple/"
        finally:
            process.terminate()


@pytest.mark.parametrize(("name", "way"), CELLS)
class TestEveryWay:
    """Each installer on each way in which a hub is served."""

    def test_a_package_comes_with_what_it_needs(self, installer: Installer, hub: Hub, way: str) -> None:
        """A package is found under any spelling, and brings the newest release of the hub's package that it needs."""
        done = installer.install(hub.indexes[way], "Outer_Envs")
        assert done.code == 0, done.said
        assert done.installed == {"outer_envs": "1.0", "plain_envs": "0.10.0"}

    def test_a_yanked_release_is_not_chosen(self, installer: Installer, hub: Hub, way: str) -> None:
        """Without an exact version the newest release that is not yanked is installed."""
        done = installer.install(hub.indexes[way], "yanked-envs")
        assert done.code == 0, done.said
        assert done.installed == {"yanked_envs": "0.1.0"}

    def test_a_yanked_release_is_to_be_had_exactly(self, installer: Installer, hub: Hub, way: str) -> None:
        """Whoever names a yanked release gets it, and reads the reason."""
        done = installer.install(hub.indexes[way], "yanked-envs==0.2.0")
        assert done.code == 0, done.said
        assert done.installed == {"yanked_envs": "0.2.0"}
        assert "rewards were doubled" in done.said

    def test_an_altered_wheel_is_refused(self, installer: Installer, hub: Hub, way: str) -> None:
        """A wheel that is not what the page's digest stands for is not installed."""
        done = installer.install(hub.indexes[way], "altered-envs")
        assert done.code != 0
        assert "hash" in done.said.lower()
        assert done.installed == {}

    def test_altered_metadata_is_refused(self, installer: Installer, hub: Hub, way: str) -> None:
        """Metadata that is not what the page's digest stands for ends the installation wherever it is read at all."""
        done = installer.install(hub.indexes[way], "mislabelled-envs")
        if (installer.name, way) in IGNORES_METADATA:
            assert done.installed == {"mislabelled_envs": "0.1.0"}, done.said
        else:
            assert done.code != 0
            assert "hash" in done.said.lower()
            assert done.installed == {}

    def test_a_quarantined_package_is_not_to_be_had(self, installer: Installer, hub: Hub, way: str) -> None:
        """A package in quarantine cannot be installed, not even by its exact version."""
        done = installer.install(hub.indexes[way], "quarantined-envs==0.1.0")
        assert done.code != 0
        assert done.installed == {}

    def test_other_names_are_found_through_the_fallback(self, installer: Installer, hub: Hub, way: str) -> None:
        """What the hub lacks comes from the other index where there is one, and what it has never does."""
        done = installer.install(hub.indexes[way], "mixed-envs", "plain-envs")
        if way == "gem hub serve":
            assert done.code == 0, done.said
            assert done.installed == {"mixed_envs": "0.1.0", "stranger": "3.0", "plain_envs": "0.10.0"}
        else:
            assert done.code != 0
            assert "stranger" in done.said
            assert done.installed == {}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["pip", "uv"])
def test_a_yank_is_seen_at_once(name: str, installers: Callable[[str], Installer], hub: Hub, tmp_path: Path) -> None:
    """An installer with a cache asks again for pages from 'gem hub serve', and so notices a yank between two runs."""
    event = {"name": "lively-envs", "version": "0.2.0", "by": "someone"}
    hub.store.add_event(Unyank.model_validate(event))
    versions = []
    for _ in range(2):
        done = installers(name).install(hub.indexes["gem hub serve"], "lively-envs", cache=tmp_path / "cache")
        versions.append(done.installed["lively_envs"])
        hub.store.add_event(Yank.model_validate({**event, "reason": "bad"}))
    assert versions == ["0.2.0", "0.1.0"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("name", "option"), [("pip", "--uploaded-prior-to=2026-02-01"), ("uv", "--exclude-newer=2026-02-01T00:00:00Z")]
)
def test_releases_have_times(name: str, option: str, installers: Callable[[str], Installer], hub: Hub) -> None:
    """Limits on the time of upload work with 'gem hub serve': its JSON has times, which HTML cannot have."""
    done = installers(name).install(hub.indexes["gem hub serve"], "plain-envs", option)
    assert done.installed == {"plain_envs": "0.10.0"}, done.said
    assert installers(name).install(hub.indexes["http.server"], "plain-envs", option).code != 0
    local = installers(name).install(hub.indexes["file"], "plain-envs", option)
    assert (local.code == 0) == (name == "pip"), "pip applies no limit to local files"
