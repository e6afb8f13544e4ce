"""Descriptions that others wrote, from npm and PyPI, installed once into a folder outside the repository.

The folder is that of ``GEM_TEST_CACHE``, or else the user's cache. Where the registry cannot be reached, the tests that
need it are skipped, and say so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("GEM_TEST_CACHE", Path.home() / ".cache" / "gem-tests")) / "synthesis"
OPENAPI = "@readme/oas-examples@8.2.2"
KANBAN = "kanban-mcp==0.2.0"
MEMORY = "@modelcontextprotocol/server-memory@2026.8.31"


def openapi_examples() -> Path:
    """Return the folder of the documents of a published collection."""
    return _from_npm(OPENAPI) / "@readme" / "oas-examples"


def memory_server() -> Path:
    """Return the program of a published MCP server that keeps a knowledge graph."""
    return _from_npm(MEMORY) / ".bin" / "mcp-server-memory"


def kanban_server() -> Path:
    """Return the program of a published MCP server that keeps a board of tasks."""
    return _from_pypi(KANBAN) / "bin" / "kanban-mcp"


def _from_npm(package: str) -> Path:
    """Return the folder ``node_modules`` with a package."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("descriptions from npm need npm, which is not here")
    options = ["--no-audit", "--no-fund", "--fetch-retries=1"]
    return (
        _installed(package, lambda folder: [[npm, "install", *options, "--prefix", folder, package]]) / "node_modules"
    )


def _from_pypi(package: str) -> Path:
    """Return a virtual environment with a package."""

    def commands(folder: str) -> list[list[str]]:
        python = [sys.executable, "-m"]
        pip = [*python, "pip", "--python", f"{folder}/bin/python", "install", "--quiet", "--retries", "1", package]
        return [[*python, "venv", "--without-pip", folder], pip]

    return _installed(package, commands)


def _installed(package: str, commands: Callable[[str], list[list[str]]]) -> Path:
    """Return the folder into which commands install a package, unless they have done so before."""
    folder = CACHE / package.strip("@").replace("/", "-")
    done = folder / "complete"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for command in commands(str(folder)):
            try:
                run = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
            except (OSError, subprocess.TimeoutExpired) as error:
                pytest.skip(f"{package} cannot be installed: {error}")
            if run.returncode:
                pytest.skip(f"{package} cannot be installed: {run.stderr[-300:]}")
        done.touch()
    return folder
