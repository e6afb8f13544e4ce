"""dev.py, the script behind the two set-up commands."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = ["README.md", "CONTRIBUTING.md", ".github/workflows/ci.yml", ".ci/run"]


@pytest.fixture
def dev() -> ModuleType:
    """The script as a module of its own, so that a test may change its settings."""
    spec = importlib.util.spec_from_file_location("dev_script", ROOT / "dev.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, ROOT / "dev.py", *arguments], capture_output=True, text=True, check=False)


def test_help_lists_the_commands_that_the_documents_use() -> None:
    """Every 'python3 dev.py NAME' that is written down somewhere is one that the script describes."""
    shown = run("--help")
    assert shown.returncode == 0
    known = set(re.findall(r"python3 dev\.py (\w+)", shown.stdout))
    assert known == {"demo", "test", "lint", "package"}
    for document in DOCUMENTS:
        assert set(re.findall(r"python3 dev\.py (\w+)", (ROOT / document).read_text(encoding="utf-8"))) <= known


def test_an_unknown_command_shows_the_usage() -> None:
    """A misspelt command, and arguments where none are taken, change nothing and fail with the usage."""
    for arguments in (["fly"], ["demo", "--fast"], ["lint", "gem-core"]):
        done = run(*arguments)
        assert done.returncode == 2
        assert "python3 dev.py test" in done.stdout


def test_an_unknown_package_is_named() -> None:
    """The message says which packages there are."""
    done = run("package", "gem-nothing")
    assert done.returncode == 1
    assert "gem-nothing" in done.stderr
    assert "gem-envs-games" in done.stderr


def test_the_packages_are_those_with_a_pyproject(dev: ModuleType) -> None:
    """Names come from pyproject.toml, folders from where it lies."""
    folders = dev.package_folders()
    assert folders["gem-core"] == ROOT / "packages" / "gem-core"
    assert set(folders.values()) == {file.parent for file in ROOT.glob("*/*/pyproject.toml")} | {
        file.parent for file in ROOT.glob("hub/pyproject.toml")
    }


def test_a_wheels_requirements_are_those_it_always_has(dev: ModuleType, tmp_path: Path) -> None:
    """Names are normalized; what only an extra needs is left out, whatever else its marker says."""
    wheel = tmp_path / "thing-1-py3-none-any.whl"
    lines = [
        "Requires-Dist: Gem_Core<0.2,>=0.1",
        "Requires-Dist: tomli>=2; python_version < '3.11'",
        "Requires-Dist: gem.tools[all]>=1 ; sys_platform == 'linux'",
        "Requires-Dist: datasets>=3; extra == 'datasets'",
        "Requires-Dist: jinja2; (python_version > '3') and extra == 'chat'",
    ]
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("thing-1.dist-info/METADATA", "Name: thing\nVersion: 1\n" + "\n".join(lines) + "\n\nText")
    assert dev.requirements(wheel) == ["gem-core", "tomli", "gem-tools"]


@pytest.fixture
def workspace(dev: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """A workspace in a temporary folder; returns the list into which the script's commands go instead of running."""
    ran: list[tuple[str, ...]] = []
    package = tmp_path / "packages" / "thing"
    package.mkdir(parents=True)
    (package / "pyproject.toml").write_text('name = "thing"\n', encoding="utf-8")
    (tmp_path / ".hatch").mkdir()
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    monkeypatch.setattr(dev, "HOME", tmp_path / ".hatch")
    monkeypatch.setattr(dev, "ENVIRONMENTS", {"default": tmp_path / ".venv"})
    monkeypatch.setattr(dev, "run", lambda *command, **_: ran.append(tuple(map(str, command[1:]))))
    return ran


REMOVE = ("-m", "hatch", "env", "remove", "default")


def test_the_environment_is_kept_while_nothing_changes(dev: ModuleType, workspace: list[tuple[str, ...]]) -> None:
    """A first and a second run remove nothing."""
    dev.discard_if_stale("default")
    dev.ENVIRONMENTS["default"].mkdir()
    dev.discard_if_stale("default")
    assert workspace == []


@pytest.mark.parametrize("change", ["entry points", "package gone", "package renamed", "Python"])
def test_the_environment_is_made_anew_when_the_packaging_changes(
    dev: ModuleType, workspace: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """What Hatch itself would not notice removes the environment, once."""
    dev.discard_if_stale("default")
    dev.ENVIRONMENTS["default"].mkdir()
    project = dev.ROOT / "packages" / "thing" / "pyproject.toml"
    if change == "entry points":
        project.write_text('name = "thing"\n[project.entry-points."gem.envs"]\nthing = "thing"\n', encoding="utf-8")
    elif change == "package gone":
        project.unlink()
    elif change == "package renamed":
        project.parent.rename(project.parent.with_name("other"))
    else:
        monkeypatch.setattr(dev, "PYTHON", "another interpreter")
    dev.discard_if_stale("default")
    assert workspace == [REMOVE]
    dev.discard_if_stale("default")
    assert workspace == [REMOVE]


def test_an_environment_of_somebody_else_is_never_removed(dev: ModuleType, workspace: list[tuple[str, ...]]) -> None:
    """A .venv that was there before the first run stays, whatever changes."""
    dev.ENVIRONMENTS["default"].mkdir()
    dev.discard_if_stale("default")
    (dev.ROOT / "packages" / "thing" / "pyproject.toml").unlink()
    dev.discard_if_stale("default")
    assert workspace == []


def test_the_environments_are_those_of_the_workspace(dev: ModuleType) -> None:
    """Each environment lies where pyproject.toml tells Hatch to put it."""
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    placed = re.findall(r'^\[tool\.hatch\.envs\.(\w+)\]\npath = "(.+)"$', settings, re.MULTILINE)
    assert {name: ROOT / path for name, path in placed} == dev.ENVIRONMENTS
