"""MCP servers that know their episode: values in their configuration, state that ends with it, and resources."""

from __future__ import annotations

import contextlib
import copy
import gc
import json
import os
import pickle
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.core import Info
from gem.errors import ToolError
from gem.tools import ToolEnvWrapper
from gem_tools.mcp import MCPTool, host, listing
from gem_tools.mcp.config import read_config
from gem_tools.mcp.placeholders import for_episode, has_values
from gem_tools.sandbox.inside.restricted_processes import descendants

SERVER = str(Path(__file__).with_name("mcp_notes_server.py"))
NOTES = {"command": sys.executable, "args": [SERVER, "${episode.dir}/notes", "${episode.name:-nobody}"]}


class Named(gem.Env[Any, str]):
    """Has a name in each episode, and no end."""

    name: str | None = None

    @property
    def episode_values(self) -> Mapping[str, Any]:
        return {} if self.name is None else {"name": self.name}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.name = f"n{self.rng.randrange(10**6)}"
        return "task", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        return "next", 0.0, False, False, {}


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Every test ends without connections."""
    listing._listed.clear()
    yield
    gc.collect()
    if host._host is not None:
        assert not host._host._shared or host._host._connections == set()
        host._host.close()
        host._host = None


def call(env: ToolEnvWrapper, name: str, **arguments: Any) -> str:
    """Return what a tool answers, without the id of its process."""
    action = f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"
    observation: str = env.step(action)[0]
    return observation


def seen(env: ToolEnvWrapper) -> tuple[str, list[str]]:
    """Return the name that the server of an episode knows, and its notes."""
    name, _, *notes = call(env, "read").split()
    return name, notes


def test_a_servers_state_is_that_of_one_episode() -> None:
    """Neither the next episode nor the neighbour's sees what a server keeps in a file; each knows its own values."""
    envs = [ToolEnvWrapper(Named(), [MCPTool(NOTES)], max_tool_uses=None) for _ in range(2)]
    for seed, env in enumerate(envs):
        env.reset(seed=seed)
        call(env, "write", text=f"by{seed}")
    assert [seen(env) for env in envs] == [(env.name, [f"by{seed}"]) for seed, env in enumerate(envs)]
    envs[0].reset()
    assert seen(envs[0]) == (envs[0].name, [])
    assert seen(envs[1]) == (envs[1].name, ["by1"])
    folders = [Path(env.episode_values["dir"]) for env in envs]
    for env in envs:
        env.close()
    assert not any(folder.exists() for folder in folders)


def test_the_tools_of_an_episode_share_its_server_and_copies_do_not() -> None:
    """One process for an episode, however many tools; spawned, copied and pickled environments begin their own."""
    env = ToolEnvWrapper(Named(), [MCPTool(NOTES)], max_tool_uses=None)
    env.reset(seed=1)
    assert call(env, "write", text="x").split()[1] == call(env, "read").split()[1]
    for twin in (env.spawn(), copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        twin.reset(seed=1)
        assert seen(twin) == (env.name, [])
        twin.close()
    assert seen(env) == (env.name, ["x"])
    env.close()


def test_a_server_ends_with_its_episode_and_before_the_environment_changes() -> None:
    """So a database that a server has open can be dropped by the reset that ends the episode."""
    at_reset: list[bool] = []

    class Watching(Named):
        def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
            at_reset.append(host._host is not None and bool(host._host._connections))
            return super().reset(seed=seed, options=options)

        def close(self) -> None:
            at_reset.append(host._host is not None and bool(host._host._connections))

    env = ToolEnvWrapper(Watching(), [MCPTool(NOTES)], max_tool_uses=None)
    env.reset(seed=1)
    seen(env)
    env.reset()
    seen(env)
    env.close()
    assert at_reset == [False, False, False]


def test_an_episode_without_calls_starts_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """And many environments start one process to list the tools."""
    started: list[str] = []
    start = listing.for_episode
    monkeypatch.setattr(listing, "for_episode", lambda server, values: started.append("x") or start(server, values))
    envs = [ToolEnvWrapper(Named(), [MCPTool(NOTES)]) for _ in range(3)]
    for env in envs:
        env.reset(seed=1)
    assert started == ["x"]
    assert host._host is not None
    assert host._host._connections == set()
    for env in envs:
        env.close()


def servers() -> list[int]:
    """Return the servers of this process that run."""
    found = []
    for process in descendants([os.getpid()]):
        with contextlib.suppress(OSError):
            if SERVER.encode() in Path(f"/proc/{process}/cmdline").read_bytes():
                found.append(process)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
def test_servers_have_ended_when_what_ends_them_returns() -> None:
    """The one of the listing, and those of episodes, also of a tool that is reset outside an environment."""
    envs = [ToolEnvWrapper(Named(), [MCPTool(NOTES)]) for _ in range(2)]
    assert servers() == []
    _, read, _ = MCPTool(NOTES)
    for env in envs:
        env.reset(seed=1)
        read.reset(env, {})
        assert read.execute({}).ok
        assert len(servers()) == 1
    read.end_episode()
    read.end_episode()
    assert servers() == []
    for env in envs:
        call(env, "write", text="x")
    assert len(servers()) == 2
    for env in envs:
        env.close()
    assert servers() == []


def test_without_an_episode_a_call_says_so() -> None:
    """A tool outside an environment can be listed, and begins with ``reset``."""
    write, read, meet = MCPTool(NOTES)
    assert (write.parallel, read.parallel, meet.parallel) == (False, True, True)
    assert read.execute({}).text == "read failed: no episode has begun."
    assert all(tool.parallel for tool in MCPTool(NOTES, parallel=True))


def test_reading_tools_of_one_message_run_at_the_same_time() -> None:
    """Two that wait for each other, which the server marks as reading only."""
    env = ToolEnvWrapper(Named(), [MCPTool(NOTES, execution_timeout=25)])
    env.reset(seed=1)
    calls = [{"id": str(n), "function": {"name": "meet", "arguments": "{}"}} for n in range(2)]
    info = env.step({"role": "assistant", "content": None, "tool_calls": calls})[4]
    assert [result["ok"] for result in info["tool_results"]] == [True, True]
    env.close()


def test_resources_are_listed_and_read() -> None:
    """Only where asked for; a resource that is not there is an error of the call."""
    assert {tool.name for tool in MCPTool(NOTES)} == {"write", "read", "meet"}
    env = ToolEnvWrapper(Named(), [MCPTool(NOTES, resources=True)], max_tool_uses=None)
    env.reset(seed=1)
    call(env, "write", text="hello")
    assert call(env, "list_resources") == "note:///0: note 0\nnote:///{n} (a template): a note; text/plain"
    assert call(env, "read_resource", uri="note:///0") == "hello"
    assert "IndexError" in call(env, "read_resource", uri="note:///7")
    assert "uri must be a str" in call(env, "read_resource")
    env.close()


def test_a_missing_value_is_an_error_with_the_remedy() -> None:
    """When the wrapper is made, if the tools cannot be listed without it; the environment may offer it by then."""
    config = {"command": sys.executable, "args": [SERVER, "${episode.file}", "x"]}
    with pytest.raises(ToolError, match=r"needs the value 'file' of an episode.*episode_values.*\$\{episode.file:-…\}"):
        ToolEnvWrapper(Named(), [MCPTool(config)])


@pytest.mark.parametrize("value", [None, True, ["x"], {"a": 1}, b"x", "a\0b"])
def test_a_value_that_is_no_text_is_refused(value: Any) -> None:
    """A server's configuration holds texts; numbers and paths are written as such."""
    (server,) = read_config({"command": "x", "args": ["${episode.a}"]})
    with pytest.raises(ToolError, match="the value 'a' of an episode must"):
        for_episode(server, {"a": value})
    assert for_episode(server, {"a": 7}).command[1] == "7"
    assert for_episode(server, {"a": Path("/x")}).command[1] == "/x"


def test_values_stand_in_every_part_of_a_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside environment variables, which are read at once."""
    monkeypatch.setenv("TOKEN", "secret")
    local, remote, plain = read_config(
        {
            "mcpServers": {
                "local": {
                    "command": "${episode.program}",
                    "args": ["-d", "x${episode.n}y${episode.n}", "${TOKEN}"],
                    "env": {"HOME": "${episode.dir}"},
                    "cwd": "${episode.dir}/work",
                },
                "remote": {"url": "${episode.url}/mcp", "headers": {"X-Episode": "${episode.n}"}},
                "plain": {"command": "x", "args": ["$episode.n", "${ episode.n}", "{episode.n}"]},
            }
        }
    )
    values = {"program": "p", "n": 3, "dir": "/d", "url": "http://h"}
    filled = for_episode(local, values)
    assert (filled.command, filled.environment) == (("p", "-d", "x3y3", "secret"), (("HOME", "/d"),))
    assert filled.folder == "/d/work"
    assert (for_episode(remote, values).url, for_episode(remote, values).headers) == (
        "http://h/mcp",
        (("X-Episode", "3"),),
    )
    assert [has_values(server) for server in (local, remote, plain)] == [True, True, False]
    assert for_episode(plain, {}) == plain


@given(st.text(), st.text(alphabet=st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_a_value_is_taken_as_it_is(around: str, value: str) -> None:
    """It is not read again, whatever it looks like."""
    text = around.replace("\0", "").replace("${", "")
    (server,) = read_config({"command": "x", "args": [text + "${episode.a}" + text]})
    assert for_episode(server, {"a": value}).command[1] == text + value + text
    assert for_episode(server, {"a": "${episode.a}"}).command[1] == text + "${episode.a}" + text
