"""Packages tested from their wheels, each in an empty environment, away from the working tree."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from devtools.environments import BIN, TOOL, ensure_hatch, python_of, uv_variables
from devtools.shell import ROOT, attempt, fail, run, say
from devtools.workspace import package_folders, requirements

TESTING = "gem-testing"
"""The package that the tests of every other may use, independent of their wheels' requirements."""

PLAYED = {"gem-eval": ("gem-envs-games", "gem-envs-math", "gem-tools")}
"""Package → packages of environments and tools that its tests evaluate, which no wheel of it requires."""

PROMISED = {"gem-terminal-remote": ("gem-terminal",)}
"""Package → packages whose tests hold for it as well, and so lie beside its own."""


def run_tests(names: list[str]) -> int:
    """Test packages (none named: all) from their wheels; return the first exit code that is not 0."""
    folders = package_folders()
    unknown = sorted(set(names) - set(folders))
    if unknown:
        fail(f"no package is called {', '.join(unknown)}; there are {', '.join(folders)}")
    ensure_hatch()
    codes = {}
    for name in names or folders:
        with tempfile.TemporaryDirectory(prefix=f"{name}-") as scratch:
            codes[name] = _test_wheel(name, folders, Path(scratch))
    for name, code in codes.items():
        say(f"{name}: {'passed' if code == 0 else f'failed with exit code {code}'}")
    return next((code for code in codes.values() if code), 0)


def _test_wheel(name: str, folders: dict[str, Path], scratch: Path) -> int:
    """Install the wheel of a package into an empty environment and run the package's tests there."""
    required = requirements(extras=False)
    needed = closure([name], required)
    for_tests = closure([TESTING, *PLAYED.get(name, ())], required)
    for_tests = [project for project in for_tests if project in folders and project not in needed]
    say(f"{name}: building the wheels of {', '.join([*needed, *for_tests])}")
    wheels = {project: _build(folders[project], scratch / "wheels" / project) for project in [*needed, *for_tests]}
    say(f"{name}: installing {', '.join(needed)} into an empty environment")
    venv = scratch / "venv"
    _uv("venv", "--quiet", "--python", sys.executable, venv)
    python = python_of(venv)
    _uv("pip", "install", "--quiet", "--python", python, *(wheels[project] for project in needed))
    _uv("pip", "check", "--python", python)
    _uv("pip", "list", "--python", python)
    group = f"{ROOT / 'pyproject.toml'}:test"
    _uv("pip", "install", "--quiet", "--python", python, "--group", group, *(wheels[project] for project in for_tests))
    # Away from the working tree, so that only the contents of the wheel can be imported.
    work = scratch / name
    for tested in (name, *PROMISED.get(name, ())):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(folders[tested] / "tests", scratch / tested / "tests", ignore=ignore)
    for shared in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / shared, work)
    say(f"{name}: running its tests")
    return attempt(python, "-m", "pytest", "-n", "auto", "--dist", "loadgroup", "tests", cwd=work)


def closure(names: Iterable[str], required: dict[str, frozenset[str]]) -> list[str]:
    """Return packages and those that they require, directly or through others, each once and the named ones first."""
    found = list(names)
    for name in found:
        found += sorted(required.get(name, frozenset()) - set(found))
    return found


def _build(folder: Path, target: Path) -> Path:
    """Build the wheel of the package in a folder; return its path."""
    # Not `hatch build`, whose environment for the build ignores the settings of pip and uv.
    _uv("build", "--quiet", "--wheel", "--out-dir", target, folder)
    (wheel,) = target.glob("*.whl")
    return wheel


def _uv(*arguments: str | Path) -> None:
    run(TOOL / BIN / "uv", *arguments, variables=uv_variables())
