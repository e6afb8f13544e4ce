"""MCP servers that others wrote, installed once, into a folder outside the repository.

The folder is that of ``GEM_TEST_CACHE``, or else the user's cache. Where a registry cannot be reached, the tests that
need it are skipped, and say so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("GEM_TEST_CACHE", Path.home() / ".cache" / "gem-tests")) / "mcp-servers"
INSTALL_SECONDS = 600

NPM = [
    f"@modelcontextprotocol/server-{name}"
    for name in ("filesystem", "memory", "everything", "sequential-thinking", "postgres")
]


def from_pypi(name: str, *requirements: str) -> Path:
    """Return the folder of the programs of an environment with these distributions."""
    folder = CACHE / name
    python = str(folder / "bin" / "python")
    make = [sys.executable, "-m", "venv", str(folder)]
    install = [python, "-m", "pip", "install", "--quiet", "--retries=1", *requirements]
    if find_spec("uv") is not None:  # it compiles nothing, and needs no pip there: a third of the CPU seconds
        make.insert(3, "--without-pip")
        install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", python, *requirements]
    _install(folder, " ".join(requirements), make, install)
    return folder / "bin"


def from_npm() -> Path:
    """Return the folder of the programs of the servers from npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("MCP servers from npm need npm, which is not here")
    folder = CACHE / "npm"
    options = ["--no-audit", "--no-fund", "--fetch-retries=1", "--prefix", str(folder)]
    _install(folder, " ".join(NPM), [npm, "install", *options, *NPM])
    return folder / "node_modules" / ".bin"


def _install(folder: Path, wanted: str, *commands: list[str]) -> None:
    """Run commands that fill a folder, unless an earlier run did the same and got through; skip if one fails."""
    done = folder / "complete"
    if done.exists() and done.read_text() == wanted:
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for command in commands:
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"MCP servers cannot be installed: {error}")
        if run.returncode:
            pytest.skip(f"MCP servers cannot be installed: {' '.join(command[:4])} …: {run.stderr[-300:]}")
    done.write_text(wanted)
