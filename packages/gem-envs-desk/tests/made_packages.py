"""Packages that ``gem new --from`` has made: written by the command, installed, and put to their own tests."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from gem_cli.main import cli


def written(folder: Path, source: str, *options: str) -> dict[str, Any]:
    """Make a package by the command alone, and return its report."""
    arguments = ["new", folder.name, "--from", source, "--into", str(folder), "--json", *options]
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    report: dict[str, Any] = json.loads(result.stdout)
    return report


def check_installed(folder: Path, home: Path) -> None:
    """Install a package into an environment of its own; run its tests, ``gem check`` and a reference episode."""
    python = _environment(home)
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", str(folder)]
    _run(pip, home)
    _run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder / "tests" / "test_tasks.py")], home)
    # A clause that starts a server again and again takes minutes where the machine is busy.
    _run([python, "-m", "gem", "check", folder.name, "--timeout", "1200"], home)
    played = _run([python, "-m", "gem", "rollout", _first_id(folder), "--agent", "reference", "--episodes", "1"], home)
    assert "1.0" in played


def _environment(home: Path) -> Path:
    """Return the Python of an environment that sees what this one has."""
    venv.create(home / "env", with_pip=False)
    python = home / "env" / "bin" / "python"
    packages = next((home / "env" / "lib").glob("python*/site-packages"))
    here = sysconfig.get_path("purelib")
    (packages / "outer.pth").write_text(f"import site; site.addsitedir({here!r})\n", encoding="utf-8")
    return python


def _run(command: list[Any], home: Path) -> str:
    done = subprocess.run(list(map(str, command)), cwd=home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _first_id(folder: Path) -> str:
    manifest = next(folder.glob("src/*/environments.toml")).read_text(encoding="utf-8")
    return next(line.split('"')[1] for line in manifest.splitlines() if line.startswith("id = "))
