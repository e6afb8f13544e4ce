"""MCP servers that others wrote, from PyPI and npm, used as any agent would use them.

They are installed once, into a folder outside the repository (``GEM_TEST_CACHE``, or else the user's cache). Where a
registry cannot be reached, the tests that need it are skipped, and say so. The main tier uses one server of each
language and one by HTTP, the nightly tier all of them.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gem.tools import ToolResult
from gem_tools.mcp import MCPTool, host

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("mcp_real_servers")]

CACHE = Path(os.environ.get("GEM_TEST_CACHE", Path.home() / ".cache" / "gem-tests")) / "mcp-servers"
INSTALL_SECONDS = 600

FROM_PYPI = ["mcp<2", "mcp-server-time", "mcp-server-git", "mcp-server-sqlite"]
"""The last works with the SDK before version 2 alone; so all of them speak the protocol of last year."""

FROM_NPM = [
    f"@modelcontextprotocol/server-{name}" for name in ("filesystem", "memory", "everything", "sequential-thinking")
]


def _install(folder: Path, *commands: list[str]) -> None:
    """Run commands that fill a folder, unless an earlier run got through them; skip if one fails."""
    done = folder / "complete"
    if done.exists():
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
    done.touch()


@pytest.fixture(scope="session")
def python_servers() -> Path:
    """The folder of the programs of the servers from PyPI."""
    folder = CACHE / "python"
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--retries=1", *FROM_PYPI]
    _install(folder, [sys.executable, "-m", "venv", str(folder)], pip)
    return folder / "bin"


@pytest.fixture(scope="session")
def npm_servers() -> Path:
    """The folder of the programs of the servers from npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("MCP servers from npm need npm, which is not here")
    folder = CACHE / "npm"
    _install(
        folder, [npm, "install", "--no-audit", "--no-fund", "--fetch-retries=1", "--prefix", str(folder), *FROM_NPM]
    )
    return folder / "node_modules" / ".bin"


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Every test ends without connections."""
    yield
    gc.collect()
    if host._host is not None:
        host._host.close()
        host._host = None


class Server:
    """A server's tools by name, called with keyword arguments."""

    def __init__(self, program: Path, *arguments: str, **kwargs: Any) -> None:
        self.tools = {tool.name: tool for tool in MCPTool({"command": str(program), "args": list(arguments)}, **kwargs)}
        for tool in self.tools.values():
            tool.check()

    def __call__(self, name: str, **arguments: Any) -> ToolResult:
        result: ToolResult = self.tools[name].execute(arguments)
        return result

    def fails(self, name: str, **arguments: Any) -> str:
        """Return the message of a call that must fail."""
        result = self(name, **arguments)
        assert not result.ok, result
        assert result.text
        return result.text


@pytest.mark.nightly
def test_the_time_server(python_servers: Path) -> None:
    """It converts, and refuses a zone that there is not."""
    server = Server(python_servers / "mcp-server-time", "--local-timezone", "UTC")
    result = server("convert_time", source_timezone="Asia/Tokyo", time="12:00", target_timezone="UTC")
    assert "03:00" in result.text
    assert "Mars" in server.fails("get_current_time", timezone="Mars/Olympus")
    assert server("get_current_time", timezone="UTC").ok


@pytest.mark.nightly
def test_the_git_server(python_servers: Path, tmp_path: Path) -> None:
    """It sees what is changed in a repository."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "a.txt").write_text("one\n")
    server = Server(python_servers / "mcp-server-git", "--repository", str(tmp_path))
    assert "a.txt" in server("git_status", repo_path=str(tmp_path)).text
    assert server("git_add", repo_path=str(tmp_path), files=["a.txt"]).ok
    assert "+one" in server("git_diff_staged", repo_path=str(tmp_path)).text
    server.fails("git_show", repo_path=str(tmp_path), revision="nothing")


@pytest.mark.nightly
def test_the_sqlite_server(python_servers: Path, tmp_path: Path) -> None:
    """It keeps a table, and reports a query that is none."""
    server = Server(python_servers / "mcp-server-sqlite", "--db-path", str(tmp_path / "a.db"))
    assert server("create_table", query="CREATE TABLE t (n INTEGER)").ok
    assert server("write_query", query="INSERT INTO t VALUES (42)").ok
    assert "42" in server("read_query", query="SELECT n FROM t").text
    assert "no such table" in server("read_query", query="SELECT n FROM absent").text


@pytest.mark.nightly
def test_the_filesystem_server(npm_servers: Path, tmp_path: Path) -> None:
    """It writes and reads inside its folder and nowhere else; pictures come back as pictures."""
    server = Server(npm_servers / "mcp-server-filesystem", str(tmp_path))
    path = str(tmp_path / "a.txt")
    assert server("write_file", path=path, content="héllo\n" * 3).ok
    assert server("read_text_file", path=path).text == "héllo\n" * 3
    assert "a.txt" in server("list_directory", path=str(tmp_path)).text
    assert "outside" in server.fails("read_text_file", path="/etc/hostname")
    (tmp_path / "a.png").write_bytes(b"picture")
    assert server("read_media_file", path=str(tmp_path / "a.png")).content[0]["type"] == "image_url"


@pytest.mark.nightly
def test_a_large_file_is_cut_and_one_beyond_all_bounds_is_an_error(npm_servers: Path, tmp_path: Path) -> None:
    """And the server goes on."""
    server = Server(npm_servers / "mcp-server-filesystem", str(tmp_path), max_chars=1000)
    (tmp_path / "large").write_text("x" * 1_000_000)
    (tmp_path / "huge").write_text("x" * 20_000_000)
    assert len(server("read_text_file", path=str(tmp_path / "large")).text) < 1100
    assert "too long" in server.fails("read_text_file", path=str(tmp_path / "huge"))
    assert server("list_allowed_directories").ok


@pytest.mark.nightly
def test_the_memory_server(npm_servers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps a graph, in the file that its environment names, and answers with data too."""
    config = {
        "command": str(npm_servers / "mcp-server-memory"),
        "env": {"MEMORY_FILE_PATH": str(tmp_path / "graph.jsonl")},
    }
    tools = {tool.name: tool for tool in MCPTool(config)}
    entity = {"name": "Ada", "entityType": "person", "observations": ["wrote programs"]}
    assert tools["create_entities"].execute({"entities": [entity]}).ok
    found = tools["search_nodes"].execute({"query": "programs"})
    assert json.loads(found.text)["entities"][0]["name"] == "Ada"
    assert found.data["entities"][0]["name"] == "Ada"
    assert "Ada" in (tmp_path / "graph.jsonl").read_text()


@pytest.mark.nightly
def test_the_sequential_thinking_server(npm_servers: Path) -> None:
    """It counts thoughts."""
    server = Server(npm_servers / "mcp-server-sequential-thinking")
    result = server("sequentialthinking", thought="Begin.", nextThoughtNeeded=False, thoughtNumber=1, totalThoughts=1)
    assert json.loads(result.text)["thoughtHistoryLength"] == 1
    server.fails("sequentialthinking", thought=5)


@pytest.mark.nightly
def test_the_server_of_everything(npm_servers: Path) -> None:
    """Text, pictures, resources, structured data, progress and what clients may be asked: all its tools answer."""
    server = Server(npm_servers / "mcp-server-everything", execution_timeout=20.0)
    assert "hello" in server("echo", message="hello").text
    assert "7" in server("get-sum", a=3, b=4).text
    assert server("get-tiny-image").content[0]["image_url"]["url"].startswith("data:image/png;base64,")
    assert set(server("get-structured-content", location="New York").data) >= {"temperature", "conditions"}
    assert "[resource " in server("get-resource-reference", resourceType="Text", resourceId=1).text
    assert "[resource " in server("get-resource-links", count=2).text
    assert server("trigger-long-running-operation", duration=1, steps=5).ok
    server.fails("echo", wrong="argument")


@pytest.mark.nightly
def test_a_long_operation_is_cancelled_and_the_next_call_works(npm_servers: Path) -> None:
    """On a server that goes on with other work meanwhile."""
    program = npm_servers / "mcp-server-everything"
    server, hasty = Server(program), Server(program, execution_timeout=1.0)  # which share the session
    message = hasty.fails("trigger-long-running-operation", duration=60, steps=60)
    assert "did not answer within 1 seconds" in message
    assert "back" in server("echo", message="back").text


@pytest.mark.nightly
def test_64_threads_share_the_server_of_everything(npm_servers: Path) -> None:
    """Each gets its own answers."""
    server = Server(npm_servers / "mcp-server-everything")
    with ThreadPoolExecutor(64) as threads:
        answers = list(threads.map(lambda n: server("echo", message=f"<{n}>").text, range(256)))
    assert all(f"<{n}>" in answer for n, answer in enumerate(answers))


def test_the_server_of_everything_by_http(npm_servers: Path) -> None:
    """A server of another SDK, with sessions."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    command = [str(npm_servers / "mcp-server-everything"), "streamableHttp"]
    environment = {**os.environ, "PORT": str(port)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            # It takes a while to listen: what is not delivered is tried again.
            tools = {
                tool.name: tool
                for tool in MCPTool(f"http://127.0.0.1:{port}/mcp", max_retries=100, delay_between_retries=0.2)
            }
            assert "hello" in tools["echo"].execute({"message": "hello"}).text
            assert tools["get-tiny-image"].execute({}).content
            for tool in tools.values():
                tool.close()
        finally:
            process.kill()


def test_several_servers_at_once(npm_servers: Path, python_servers: Path) -> None:
    """A configuration as people have it, of servers in two languages."""
    config = {
        "mcpServers": {
            "time": {"command": str(python_servers / "mcp-server-time")},
            "everything": {"command": str(npm_servers / "mcp-server-everything")},
            "thinking": {"command": str(npm_servers / "mcp-server-sequential-thinking")},
        }
    }
    tools = {tool.name: tool for tool in MCPTool(config)}
    assert {"time_convert_time", "everything_echo", "thinking_sequentialthinking"} <= set(tools)
    assert "x" in tools["everything_echo"].execute({"message": "x"}).text
