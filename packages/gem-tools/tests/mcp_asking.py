"""The server of ``mcp_asking_server.py`` for tests, in both versions of the protocol."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from gem.tools import ToolResult
from gem_tools.mcp import MCPTool

SERVER = Path(__file__).with_name("mcp_asking_server.py")
VERSIONS = ("2025-11-25", "2026-07-28")

every_version = pytest.mark.parametrize("version", VERSIONS)
every_version_at_night = pytest.mark.parametrize(
    "version", [VERSIONS[1], pytest.param(VERSIONS[0], marks=pytest.mark.nightly)]
)


class Asking:
    """A server, its tools by name, and what it has noted."""

    def __init__(self, version: str, folder: Path, **kwargs: Any) -> None:
        self._diary = folder / "diary"
        self.config = {"command": sys.executable, "args": [str(SERVER), version, str(self._diary)]}
        self.source = MCPTool(self.config, **kwargs)
        self.tools = {tool.name: tool for tool in self.source}

    def __call__(self, tool: str, **arguments: Any) -> ToolResult:
        result: ToolResult = self.tools[tool].execute(arguments)
        return result

    def fails(self, tool: str, **arguments: Any) -> str:
        """Return the message of a call that must fail."""
        result = self(tool, **arguments)
        assert not result.ok, result
        return result.text

    @property
    def diary(self) -> list[str]:
        return self._diary.read_text().splitlines() if self._diary.exists() else []
