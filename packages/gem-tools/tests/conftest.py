"""The folder of the tests holds modules that several of them use."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))


@pytest.fixture
def no_connections_left() -> Iterator[None]:
    """The test ends without connections to MCP servers."""
    yield
    from gem_tools.mcp import host

    gc.collect()
    if host._host is not None:
        host._host.close()
        host._host = None
