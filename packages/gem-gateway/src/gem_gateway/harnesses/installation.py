"""Installing agent programs, once for each version, into the user's cache: :func:`installed`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from filelock import FileLock

from gem_gateway.harnesses.errors import HarnessError
from gem_gateway.harnesses.harness import Harness

__all__ = ["COMPLETE", "folder_of", "install", "installed", "is_installed"]

COMPLETE = "installed.json"
"""Written last: a folder without it holds an installation that did not end."""
_INSTALL_SECONDS = 1800.0
_SHOWN = 600


def folder_of(harness: Harness) -> Path:
    """Return the folder of a harness's program, in ``gem/harnesses`` below the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    name = f"{harness.name}-{harness.version or 'newest'}"
    if harness.installer == "pip":
        name += f"-py{sys.version_info.major}.{sys.version_info.minor}"
    return cache / "gem" / "harnesses" / name


def is_installed(harness: Harness) -> bool:
    """Return whether a harness can be started: its program is installed, or it needs none."""
    return harness.installer is None or _matches(folder_of(harness), harness)


def installed(harness: Harness) -> Path:
    """Return the folder of a harness's program.

    Raises:
        HarnessError: if it is not installed, with the command that installs it.
    """
    folder = folder_of(harness)
    if not is_installed(harness):
        version = f":{harness.version}" if harness.version else ""
        raise HarnessError(
            f"the agent program {harness.name} is not installed; run: gem harness install {harness.name}{version}"
        )
    return folder


def install(harness: Harness, *, with_uv: bool = False) -> Path:
    """Install a harness's program with the user's own npm or pip, unless it is there; return its folder.

    Several processes may do so at the same time: one installs, and the others wait.

    Args:
        harness: whose program it is.
        with_uv: use uv in place of pip, whose settings it does not read.

    Raises:
        HarnessError: if npm or uv is missing, or the installation fails.
    """
    folder = folder_of(harness)
    if harness.installer is None:
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not _matches(folder, harness):
            shutil.rmtree(folder, ignore_errors=True)
            if harness.installer == "npm":
                _install_from_npm(harness, folder)
            elif with_uv:
                _install_with_uv(harness, folder)
            else:
                _install_with_pip(harness, folder)
            (folder / COMPLETE).write_text(json.dumps(list(harness.requirements)), encoding="utf-8")
    return folder


def _matches(folder: Path, harness: Harness) -> bool:
    try:
        return bool(json.loads((folder / COMPLETE).read_text(encoding="utf-8")) == list(harness.requirements))
    except (OSError, ValueError):
        return False


def _install_from_npm(harness: Harness, folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise HarnessError(f"{harness.name} comes with npm, which is not installed; install Node.js")
    folder.mkdir()
    quiet = ("--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
    _run(harness, [npm, "install", "--prefix", str(folder), *quiet, *harness.requirements])


def _install_with_pip(harness: Harness, folder: Path) -> None:
    _run(harness, [sys.executable, "-m", "venv", str(folder)])
    pip = [_python_of(folder), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run(harness, [*pip, *harness.requirements])


def _install_with_uv(harness: Harness, folder: Path) -> None:
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv is None:
        raise HarnessError(f"uv is not installed; without it, {harness.name} is installed with pip")
    _run(harness, [uv, "venv", "--quiet", "--python", sys.executable, str(folder)])
    # Programs run without writing bytecode, which each run would make anew.
    pip = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", _python_of(folder)]
    _run(harness, [*pip, *harness.requirements])


def _python_of(folder: Path) -> str:
    return str(folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"))


def _run(harness: Harness, command: list[str]) -> None:
    try:
        done = subprocess.run(  # noqa: S603  # the user's own npm and Python
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_INSTALL_SECONDS, check=False, umask=0o022
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HarnessError(f"{harness.name} cannot be installed: {error}") from error
    if done.returncode:
        said = (done.stderr or done.stdout).decode(errors="replace").strip()[-_SHOWN:]
        raise HarnessError(f"{harness.name} cannot be installed: {' '.join(command[:4])} … says:\n{said}")
