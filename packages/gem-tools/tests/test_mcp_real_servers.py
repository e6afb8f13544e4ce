"""MCP servers that others wrote, from PyPI and npm, used as any agent would use them.

The main tier uses one server of each language and one by HTTP, the nightly tier all of them, each also with a state of
its own for each episode. See test_mcp_postgres.py for a database.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from mcp_packages import from_npm, from_pypi

import gem
from gem.core import Info
from gem.tools import ToolEnvWrapper, ToolResult
from gem_tools.mcp import MCPTool
from gem_tools.mcp.simulated_user import Elicitation

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("mcp_real_servers"),
    pytest.mark.usefixtures("no_connections_left"),
]


@pytest.fixture(scope="session")
def python_servers() -> Path:
    """The folder of the programs of the servers from PyPI."""
    return from_pypi("python", "mcp-server-time", "mcp-server-git")


@pytest.fixture(scope="session")
def sqlite_server() -> Path:
    """The program of a server that works with the SDK before version 2 alone, which speaks last year's protocol."""
    return from_pypi("sqlite", "mcp<2", "mcp-server-sqlite") / "mcp-server-sqlite"


@pytest.fixture(scope="session")
def npm_servers() -> Path:
    """The folder of the programs of the servers from npm."""
    return from_npm()


class Server:
    """A server's tools by name, called with keyword arguments."""

    def __init__(self, program: Path, *arguments: str, **kwargs: Any) -> None:
        self.tools = {tool.name: tool for tool in MCPTool({"command": str(program), "args": list(arguments)}, **kwargs)}
        for tool in self.tools.values():
            tool.check()

    def __call__(self, tool: str, **arguments: Any) -> ToolResult:
        result: ToolResult = self.tools[tool].execute(arguments)
        return result

    def fails(self, tool: str, **arguments: Any) -> str:
        """Return the message of a call that must fail."""
        result = self(tool, **arguments)
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
def test_the_sqlite_server(sqlite_server: Path, tmp_path: Path) -> None:
    """It keeps a table, and reports a query that is none."""
    server = Server(sqlite_server, "--db-path", str(tmp_path / "a.db"))
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
def test_tasks_questions_progress_and_prompts_of_the_server_of_everything(npm_servers: Path) -> None:
    """Its research is a task, in whose middle it asks which meaning is meant."""
    asked: list[str] = []

    def user(question: Elicitation) -> dict[str, Any] | None:
        asked.append(question.message)
        fields = {} if question.schema is None else question.schema["properties"]
        return {"interpretation": "snake"} if "interpretation" in fields else {"name": "Ada"} if fields else None

    server = Server(
        npm_servers / "mcp-server-everything", user=user, prompts=True, execution_timeout=5.0, longest_execution=60.0
    )
    assert "Clarification**: snake" in server("simulate-research-query", topic="python", ambiguous=True).text
    assert "Name: Ada" in server("trigger-elicitation-request").text
    assert "decline" in server("trigger-url-elicitation", url="https://pay.example/").text
    assert len(asked) == 3
    assert server("trigger-long-running-operation", duration=6, steps=6).ok
    assert "args-prompt: " in server("list_prompts").text
    assert "weather in Lima" in server("get_prompt", name="args-prompt", arguments={"city": "Lima"}).text


@pytest.mark.nightly
def test_the_server_of_everything_without_a_user(npm_servers: Path) -> None:
    """It does not offer what asks questions, and a task takes the usual meaning."""
    server = Server(npm_servers / "mcp-server-everything")
    assert "trigger-elicitation-request" not in server.tools
    assert "Clarification" not in server("simulate-research-query", topic="python", ambiguous=True).text.split("##")[1]
    hasty = Server(npm_servers / "mcp-server-everything", execution_timeout=1.5)
    assert "it last reported: Gathering sources" in hasty.fails("simulate-research-query", topic="python")


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


def test_the_server_of_everything_by_http(npm_servers: Path, reserve_port: Callable[[], int]) -> None:
    """A server of another SDK, with sessions."""
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.lstrip("v").partition(".")[0]) < 20:
        pytest.skip(
            f"NOT TESTED: the server's HTTP library, @hono/node-server, needs Node.js 20, and this is {version}"
        )
    port = reserve_port()
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


@pytest.mark.nightly
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


class Zone(gem.Env[Any, str]):
    """Has a time zone in each episode, and no end."""

    zone = "UTC"

    @property
    def episode_values(self) -> Mapping[str, Any]:
        return {"zone": self.zone}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.zone = "UTC" if seed == 0 else "Mars/Olympus"
        return "task", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        return "next", 0.0, False, False, {}


class Episodes:
    """Two environments with the same servers: all their episodes must begin alike."""

    def __init__(self, config: Mapping[str, Any], **kwargs: Any) -> None:
        self.envs = [ToolEnvWrapper(Zone(), [MCPTool(config, **kwargs)], max_tool_uses=None) for _ in range(2)]
        for env in self.envs:
            env.reset(seed=0)
        self.at = 0

    def __call__(self, name: str, **arguments: Any) -> str:
        """Call a tool in the present environment, and return what the agent sees."""
        action = {"tool_calls": [{"id": "1", "function": {"name": name, "arguments": arguments}}]}
        observation, *_ = self.envs[self.at].step(action)
        return observation if isinstance(observation, str) else str(observation[0]["text"])

    @property
    def folder(self) -> Path:
        """The folder of the present environment's episode."""
        return Path(self.envs[self.at].episode_values["dir"])

    def neighbour(self) -> None:
        """Go on in the other environment."""
        self.at = 1

    def next_episode(self, seed: int = 0) -> None:
        """Begin another episode of the first environment."""
        self.at = 0
        self.envs[0].reset(seed=seed)

    def close(self) -> None:
        for env in self.envs:
            env.close()


def of_memory(npm_servers: Path) -> dict[str, Any]:
    return {
        "command": str(npm_servers / "mcp-server-memory"),
        "env": {"MEMORY_FILE_PATH": "${episode.dir}/graph.jsonl"},
    }


def test_memory_and_files_of_one_episode_are_seen_in_no_other(npm_servers: Path) -> None:
    """Not in the next one, nor in the neighbour's, which go on at the same time."""
    files = {"command": str(npm_servers / "mcp-server-filesystem"), "args": ["${episode.dir}"]}
    play = Episodes({"mcpServers": {"memory": of_memory(npm_servers), "files": files}})
    entity = {"name": "Ada", "entityType": "person", "observations": ["wrote programs"]}
    assert "Ada" in play("memory_create_entities", entities=[entity])
    assert "Ada" in play("memory_read_graph")
    mine = play.folder / "a.txt"
    play("files_write_file", path=str(mine), content="mine")
    assert play("files_read_text_file", path=str(mine)) == "mine"
    play.neighbour()
    assert "Ada" not in play("memory_read_graph")
    assert "outside" in play("files_read_text_file", path=str(mine))
    play.next_episode()
    assert "Ada" not in play("memory_read_graph")
    assert "a.txt" not in play("files_list_directory", path=str(play.folder))
    assert not mine.exists()
    play.close()


@pytest.mark.nightly
def test_a_sqlite_database_for_each_episode(sqlite_server: Path) -> None:
    """Its file lies in the folder of the episode."""
    play = Episodes({"command": str(sqlite_server), "args": ["--db-path", "${episode.dir}/a.db"]})
    play("create_table", query="CREATE TABLE t (n INTEGER)")
    play("write_query", query="INSERT INTO t VALUES (42)")
    assert "42" in play("read_query", query="SELECT n FROM t")
    for other in (play.neighbour, play.next_episode):
        other()
        assert "no such table" in play("read_query", query="SELECT n FROM t")
    play.close()


@pytest.mark.nightly
def test_a_state_in_the_memory_of_a_server(npm_servers: Path) -> None:
    """``shared=False`` is enough for it: the process is the episode's."""
    play = Episodes({"command": str(npm_servers / "mcp-server-sequential-thinking")}, shared=False)
    thought = {"thought": "x", "nextThoughtNeeded": True, "thoughtNumber": 1, "totalThoughts": 3}
    lengths = [json.loads(play("sequentialthinking", **thought))["thoughtHistoryLength"] for _ in range(2)]
    play.neighbour()
    lengths.append(json.loads(play("sequentialthinking", **thought))["thoughtHistoryLength"])
    play.next_episode()
    lengths.append(json.loads(play("sequentialthinking", **thought))["thoughtHistoryLength"])
    assert lengths == [1, 2, 1, 1]
    play.close()


@pytest.mark.nightly
def test_each_episode_starts_the_server_of_everything_with_its_values(npm_servers: Path) -> None:
    """Which it shows; and resources can be listed and read."""
    program = str(npm_servers / "mcp-server-everything")
    play = Episodes({"command": program, "env": {"EPISODE": "number ${episode.seed}"}}, resources=True)
    seeds = [env.episode_values["seed"] for env in play.envs]
    assert seeds[0] == seeds[1]
    assert f"number {seeds[0]}" in play("get-env")
    play.neighbour()
    assert f"number {seeds[0]}" in play("get-env")
    play.next_episode(seed=1)
    assert play.envs[0].episode_values["seed"] != seeds[0]
    assert f"number {play.envs[0].episode_values['seed']}" in play("get-env")
    listed = play("list_resources").splitlines()
    assert len(listed) > 2
    address = next(line.partition(": ")[0] for line in listed if "(a template)" not in line)
    assert play("read_resource", uri=address)
    assert "failed" in play("read_resource", uri="demo://nothing/here")
    play.close()


@pytest.mark.nightly
def test_each_episode_has_its_own_time_zone(python_servers: Path) -> None:
    """One that the server refuses is an error of the episode that has it, and of no other."""
    play = Episodes({"command": str(python_servers / "mcp-server-time"), "args": ["--local-timezone=${episode.zone}"]})
    assert "UTC" in play("get_current_time", timezone="UTC")
    play.next_episode(seed=1)
    assert "Mars" in play("get_current_time", timezone="UTC")
    play.neighbour()
    assert "UTC" in play("get_current_time", timezone="UTC")
    play.close()
