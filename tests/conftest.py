"""What the tests of whole packages share: the wheels of the workspace, and environments that uv makes."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from devtools.linked_environment import link_environment
from devtools.wheels import build_wheels

ROOT = Path(__file__).parents[1]

# The uv of the tests' environment, not one on the path.
UV = (sys.executable, "-m", "uv")

Install = Callable[..., Path]
Link = Callable[..., Path]
Build = Callable[[Path, Path], Path]


def succeed(*command: str | Path, cwd: Path) -> None:
    """Run a command in a folder; fail with its output."""
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


@pytest.fixture(scope="session")
def package_folders() -> dict[str, Path]:
    """The folder of every package of the workspace, by distribution name."""
    projects = sorted([*ROOT.glob("packages/*/pyproject.toml"), *ROOT.glob("hub/pyproject.toml")])
    found = [re.search(r'^name = "(.+)"$', path.read_text(encoding="utf-8"), re.MULTILINE) for path in projects]
    return {name[1]: path.parent for name, path in zip(found, projects, strict=True) if name is not None}


@pytest.fixture(scope="session")
def build_wheel() -> Build:
    """A function that builds the wheel of a project into a folder, and returns the wheel's path."""

    def build(project: Path, folder: Path) -> Path:
        # The build backend itself: an isolated build would install it from the index each time.
        before = {*folder.glob("*.whl")}
        succeed(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=project)
        (wheel,) = {*folder.glob("*.whl")} - before
        return wheel

    return build


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory, package_folders: dict[str, Path]) -> dict[str, Path]:
    """The wheel of every package of the workspace, by distribution name."""
    folder = tmp_path_factory.mktemp("wheels")
    return dict(zip(package_folders, build_wheels(folder, package_folders.values()), strict=True))


@pytest.fixture(scope="session")
def make_environment() -> Install:
    """A function that makes an empty environment, installs into it, and returns its folder."""

    def make(venv: Path, *what: str | Path) -> Path:
        venv.parent.mkdir(parents=True, exist_ok=True)
        succeed(*UV, "venv", "--quiet", "--python", sys.executable, venv, cwd=venv.parent)
        if what:
            python = venv / "bin" / "python"
            succeed(*UV, "pip", "install", "--quiet", "--python", python, *what, cwd=venv.parent)
            succeed(*UV, "pip", "check", "--quiet", "--python", python, cwd=venv.parent)
        return venv

    return make


@pytest.fixture(scope="session")
def make_linked_environment(tmp_path_factory: pytest.TempPathFactory, wheels: dict[str, Path]) -> Link:
    """A function that makes an environment with some distributions and what they declare, and returns its folder.

    It holds links, to the unpacked wheels of the workspace and of the test, and to what is installed here. It takes a
    tenth of the time of an installation, and lacks the same things.
    """
    unpacked = tmp_path_factory.mktemp("unpacked")
    folders = [unpack(wheel, unpacked / name) for name, wheel in wheels.items()]

    def make(venv: Path, *names: str, wheels: tuple[Path, ...] = ()) -> Path:
        more = [unpack(wheel, venv.with_name(f"{venv.name}-{wheel.stem}")) for wheel in wheels]
        link_environment(venv, names, [*folders, *more])
        return venv

    return make


def unpack(wheel: Path, folder: Path) -> Path:
    """Unpack a wheel into a folder."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder
