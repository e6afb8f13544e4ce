"""Descriptions that others wrote, from npm, installed once into a folder outside the repository.

The folder is that of ``GEM_TEST_CACHE``, or else the user's cache. Where the registry cannot be reached, the tests that
need it are skipped, and say so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("GEM_TEST_CACHE", Path.home() / ".cache" / "gem-tests")) / "synthesis"
OPENAPI = "@readme/oas-examples@8.2.2"
MEMORY = "@modelcontextprotocol/server-memory@2026.8.31"


def openapi_examples() -> Path:
    """Return the folder of the documents of a published collection."""
    return _from_npm(OPENAPI) / "@readme" / "oas-examples"


def memory_server() -> Path:
    """Return the program of a published MCP server that keeps a knowledge graph."""
    return _from_npm(MEMORY) / ".bin" / "mcp-server-memory"


def _from_npm(package: str) -> Path:
    """Return the folder ``node_modules`` with a package."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("descriptions from npm need npm, which is not here")
    folder = CACHE / package.strip("@").replace("/", "-")
    done = folder / "complete"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        options = ["--no-audit", "--no-fund", "--fetch-retries=1", "--prefix", str(folder)]
        try:
            run = subprocess.run(
                [npm, "install", *options, package], capture_output=True, text=True, timeout=600, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"{package} cannot be installed: {error}")
        if run.returncode:
            pytest.skip(f"{package} cannot be installed: {run.stderr[-300:]}")
        done.touch()
    return folder / "node_modules"
