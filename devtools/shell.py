"""Commands that the developer's script runs, and its messages."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[1]

# A user's settings of Python and Hatch, and the interpreter chosen for uv, must not affect the environments. Without
# bytecode each of the thousands of processes that the tests start would compile what it imports, so images of
# containers that forbid bytecode are overruled.
FOREIGN = (
    "HATCH_",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONDONTWRITEBYTECODE",
    "VIRTUAL_ENV",
    "UV_PYTHON",
    "UV_SYSTEM_PYTHON",
    "UV_PROJECT",
)
SETTINGS = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_REQUIRE_VIRTUALENV": "0", "PIP_USER": "0"}


def run(*command: str | Path, cwd: Path = ROOT, variables: Mapping[str, str] | None = None) -> None:
    """Run a command; end this program with the command's exit code if it fails."""
    code = attempt(*command, cwd=cwd, variables=variables)
    if code != 0:
        say(f"failed with exit code {code}: {' '.join(map(str, command))}")
        raise SystemExit(code)


def attempt(
    *command: str | Path, cwd: Path = ROOT, variables: Mapping[str, str] | None = None, quiet: bool = False
) -> int:
    """Run a command with some environment variables; return its exit code, 127 if there is no such program."""
    output = subprocess.DEVNULL if quiet else None
    arguments = [str(part) for part in command]
    try:
        return subprocess.run(
            arguments, cwd=cwd, env=environment(variables), stdout=output, stderr=output, check=False
        ).returncode
    except FileNotFoundError:
        return 127


def output_of(*command: str | Path, cwd: Path = ROOT) -> str | None:
    """Return the standard output of a command, None if it fails."""
    arguments = [str(part) for part in command]
    try:
        done = subprocess.run(arguments, cwd=cwd, env=environment(None), capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def environment(variables: Mapping[str, str] | None) -> dict[str, str]:
    """Return the variables for a command: this process's own without foreign settings, and those given."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    return {**own, **SETTINGS, **(variables or {})}


def text_of(path: Path) -> str | None:
    """Return the text of a file, None if there is no such file."""
    return path.read_text(encoding="utf-8") if path.is_file() else None


def say(message: str) -> None:
    """Print a message to standard error."""
    print(f"dev.py: {message}", file=sys.stderr, flush=True)


def fail(message: str) -> NoReturn:
    """End this program with a message and exit code 1."""
    raise SystemExit(f"dev.py: {message}")
