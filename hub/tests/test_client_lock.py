"""``gem hub lock`` with real hubs, pip and uv."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
from client_machine import Machine, served
from packaging.version import Version
from toy_hub import make_wheel, publish_wheel

from gem_hub.events import Yank
from gem_hub.store import Store

if sys.version_info >= (3, 11):
    from tomllib import loads
else:
    from tomli import loads

pytestmark = pytest.mark.slow(reason="real installers resolve and download")

MakeWheel = Callable[..., Path]


def _pip_version() -> Version:
    try:
        return Version(version("pip"))
    except PackageNotFoundError:
        return Version("0")


@pytest.fixture(
    params=[
        pytest.param(
            (), id="pip", marks=pytest.mark.skipif(_pip_version() < Version("25.1"), reason="needs pip 25.1 or newer")
        ),
        pytest.param(
            ("--without-pip",), id="uv", marks=pytest.mark.skipif(shutil.which("uv") is None, reason="needs uv")
        ),
    ]
)
def options(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The installer to use, each in turn."""
    chosen: tuple[str, ...] = request.param
    return chosen


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """An empty environment, whose installer finds ``elsewhere`` 3.0 on its own index."""
    machine = Machine(tmp_path / "machine")
    make_wheel(machine.index, "elsewhere", "3.0", ids=("elsewhere:Thing-v0",), metadata=())
    return machine


@pytest.fixture
def hub(store: Store, wheel: MakeWheel) -> Path:
    """A hub with toy-envs, which needs toy-base of the hub and elsewhere of no hub."""
    publish_wheel(store, wheel("toy-base", ids=("base:Thing-v0",), metadata=()))
    publish_wheel(store, wheel(metadata=("Requires-Dist: toy-base", "Requires-Dist: elsewhere")))
    return store.folder


def packages(path: Path) -> dict[str, dict[str, Any]]:
    document = loads(path.read_text(encoding="utf-8"))
    assert document["lock-version"] == "1.0"
    return {package["name"]: package for package in document["packages"]}


@pytest.mark.sampled(1)
def test_a_lock_file_pins_everything(machine: Machine, hub: Path, store: Store, options: tuple[str, ...]) -> None:
    """Hub packages are pinned by address and digest, the others by digest; what was locked can be installed."""
    with served(hub) as url:
        report = json.loads(machine.gem("hub", "lock", "toy-envs", "--json", *options, hubs=(url,)))
        assert report["packages"] == 3
        locked = packages(machine.folder / "pylock.toml")
        assert set(locked) == {"toy-envs", "toy-base", "elsewhere"}
        for item in report["from_hubs"]:
            archive = locked[item["name"]]["archive"]
            package = store.package(item["name"])
            assert package is not None
            assert archive["hashes"]["sha256"] == item["sha256"] == package.records[0].sha256
            assert archive["url"].startswith(url)
        if options:
            command = ["uv", "pip", "install", "--python", str(machine.python), "-r", "pylock.toml"]
        else:
            command = [str(machine.python), "-m", "pip", "install", "-r", "pylock.toml"]
        done = subprocess.run(command, cwd=machine.folder, env=machine.environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert set(machine.installed()) == {"toy-envs", "toy-base", "elsewhere"}


@pytest.mark.sampled(1)
def test_a_hub_package_is_never_locked_from_an_index(machine: Machine, hub: Path, options: tuple[str, ...]) -> None:
    """A higher version on the installer's own index does not come into the lock file."""
    make_wheel(machine.index, "toy-base", "99.0", ids=("base:Thing-v0",), metadata=())
    machine.gem("hub", "lock", "toy-envs", "-o", "pylock.toys.toml", *options, hubs=(hub,))
    assert packages(machine.folder / "pylock.toys.toml")["toy-base"].get("version", "0.1.0") == "0.1.0"


@pytest.mark.sampled(1)
def test_a_failure_leaves_the_old_lock_file(
    machine: Machine, store: Store, wheel: MakeWheel, options: tuple[str, ...]
) -> None:
    """Where a dependency cannot be found, the file that is there stays, and nothing lies beside it."""
    publish_wheel(store, wheel(metadata=("Requires-Dist: nowhere-at-all",)))
    kept = machine.folder / "pylock.toml"
    kept.write_text("as it was", encoding="utf-8")
    said = machine.refused("hub", "lock", "toy-envs", *options, hubs=(store.folder,))
    assert "failed" in said
    assert kept.read_text(encoding="utf-8") == "as it was"
    assert [path.name for path in machine.folder.glob("pylock*")] == ["pylock.toml"]


def test_a_yanked_release_is_not_locked(machine: Machine, hub: Path, store: Store) -> None:
    """The rule is that of install; a file name that installers do not take is refused beforehand."""
    store.add_event(Yank(name="toy-envs", by="someone", version="0.1.0", reason="broken"))
    assert "was yanked" in machine.refused("hub", "lock", "toy-envs", hubs=(hub,))
    assert "pylock.NAME.toml" in machine.refused("hub", "lock", "toy-envs", "-o", "lock.toml", hubs=(hub,))
