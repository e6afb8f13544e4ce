"""Environments served to MCP clients: ours, the SDK's own, and ones that misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import gem
from gem.policies import make_policy
from gem.tools import ToolEnvWrapper, tool
from gem_tools.mcp import MCPTool
from gem_tools.mcp.command import mcp_serve_command
from gem_tools.mcp.episodes import Episodes, tool_schemas, unknown_arguments
from gem_tools.mcp.serve import http_app

pytestmark = pytest.mark.usefixtures("no_connections_left")

PACKAGE = """
import gem

PIXEL = "data:image/png;base64,AAAA"


class Countdown(gem.Env):
    '''Say the number that is shown, until it is zero.'''

    alive = 0

    def __init__(self, first: int = 3, pictures: bool = False) -> None:
        self.first, self.pictures = first, pictures
        self.number = None
        Countdown.alive += 1

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.number = self.first + self.rng.randrange(1000)
        self.left = 3
        print("this must not reach the client")
        return self.shown(), {"turn": 0}

    def step(self, action):
        if self.number is None:
            raise gem.errors.ResetNeededError("call reset()")
        if self.left == 0:
            raise gem.errors.EpisodeFinishedError("call reset()")
        if action == "crash":
            raise RuntimeError("out of paper")
        right = action == str(self.number)
        self.left -= 1
        self.number -= 1
        over = self.left == 0
        info = {"turn": 3 - self.left, **({"success": right} if over else {})}
        return self.shown(), 0.5 if right else 0.0, over, False, info

    def shown(self):
        text = f"The number is {self.number}"
        if not self.pictures:
            return text
        return [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": PIXEL}}]

    def close(self):
        Countdown.alive -= 1
"""

MANIFEST = """
schema = 1
[[environment]]
id = "served:Countdown-v0"
entry_point = "served_envs:Countdown"
description = "Say the number that is shown."
[environment.variants]
pictures = { pictures = true }
"""


@pytest.fixture
def served(site: Any) -> Any:
    """A package with an environment to serve, found by other processes too."""
    files = {"served_envs/__init__.py": PACKAGE, "served_envs/environments.toml": MANIFEST}
    site.add("served-envs", {"served": "served_envs"}, files)
    return site


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "gem", "mcp-serve", *arguments]


def path(served: Any) -> str:
    return os.pathsep.join(filter(None, [str(served.folder), os.environ.get("PYTHONPATH", "")]))


def configured(served: Any, *arguments: str) -> dict[str, Any]:
    """The server by standard input and output, as a client's configuration has it."""
    program, *rest = command(*arguments)
    return {"command": program, "args": rest, "env": {"PYTHONPATH": path(served)}}


@contextlib.contextmanager
def listening(served: Any, *arguments: str) -> Iterator[str]:
    """The server by HTTP, and its address."""
    environment = {**os.environ, "PYTHONPATH": path(served)}
    full = command(*arguments, "--transport", "http", "--port", "0", "--json")
    with subprocess.Popen(full, stdout=subprocess.PIPE, env=environment, text=True) as server:
        assert server.stdout is not None
        try:
            announced = ""
            while not announced.endswith("}\n"):
                line = server.stdout.readline()
                assert line, "the server has ended"
                announced += line
            yield json.loads(announced)["url"]
        finally:
            server.send_signal(signal.SIGINT)
            server.stdout.read()
            assert server.wait() in (0, 130, -signal.SIGINT)


def numbers(observation: str) -> str:
    return observation.rsplit(" ", 1)[1]


def local_episode(seed: int) -> list[tuple[str, float, bool, bool, Any]]:
    env = gem.make("served:Countdown-v0")
    observation, info = env.reset(seed=seed)
    episode = [(observation, 0.0, False, False, info)]
    while not episode[-1][2]:
        episode.append(env.step(numbers(episode[-1][0])))
    return episode


def played(call: Callable[[str, dict[str, Any]], Any], **reset: Any) -> list[tuple[str, float, bool, bool, Any]]:
    """Play an episode with a function that calls a tool and returns the structured result."""
    keys = ("observation", "reward", "terminated", "truncated", "info")
    answer = call("reset", reset)
    episode = [tuple(answer[key] for key in keys)]
    while not episode[-1][2]:
        answer = call("step", {"action": numbers(episode[-1][0])})
        episode.append(tuple(answer[key] for key in keys))
    return episode


def caller(tool: MCPTool) -> Callable[[str, dict[str, Any]], Any]:
    tools = {one.name: one for one in tool}
    return lambda name, arguments: tools[name].execute(arguments).data


@pytest.mark.slow
def test_an_episode_through_stdio_is_the_one_that_is_played_at_home(served: Any) -> None:
    """By MCPTool, whose first reset needs no seed, and whose later ones go on from it."""
    call = caller(MCPTool(configured(served, "served:Countdown-v0", "--seed", "7")))
    assert played(call) == local_episode(7)
    assert played(call) != local_episode(7)
    assert played(call, seed=7) == local_episode(7)
    assert played(call, seed=8) == local_episode(8)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "env_id", ["game:GuessTheNumber-v0-easy", pytest.param("game:Minesweeper-v0-easy", marks=pytest.mark.nightly)]
)
def test_a_whole_game_is_the_same_through_a_client(env_id: str) -> None:
    """Every observation, reward, flag and info, with the actions of the reference policy."""
    pytest.importorskip("gem_envs_games")
    program, *rest = command(env_id, "--seed", "11")
    config = {"command": program, "args": rest, "env": {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}}
    call = caller(MCPTool(config))
    env = gem.make(env_id)
    policy = make_policy("reference", env)
    observation, info = env.reset(seed=11)
    policy.reset(observation, info)
    answer = call("reset", {})
    assert (answer["observation"], answer["info"]) == (observation, info)
    is_over = False
    while not is_over:
        action = policy.act(observation, info)
        observation, reward, terminated, truncated, info = env.step(action)
        is_over = terminated or truncated
        answer = call("step", {"action": action})
        assert answer == {
            "observation": observation,
            "reward": reward,
            "terminated": terminated,
            "truncated": truncated,
            "info": info,
        }


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_sdks_own_client_plays_the_same_episode(served: Any, mode: str) -> None:
    """By the newest protocol and by the one before it; what the environment prints does not disturb."""
    from mcp import Client, StdioServerParameters

    async def play() -> list[Any]:
        server = StdioServerParameters(**configured(served, "served:Countdown-v0", "--seed", "7"))
        keys = ("observation", "reward", "terminated", "truncated", "info")
        async with Client(server, mode=mode) as client:
            assert [one.name for one in (await client.list_tools()).tools] == ["reset", "step"]
            episode = []
            name, arguments = "reset", {}
            while not episode or not episode[-1][2]:
                answer = (await client.call_tool(name, arguments)).structured_content
                episode.append(tuple(answer[key] for key in keys))
                name, arguments = "step", {"action": numbers(episode[-1][0])}
            return episode

    assert asyncio.run(play()) == local_episode(7)


@pytest.mark.slow
def test_over_http_each_session_has_its_own_episodes(served: Any) -> None:
    """Two clients that take turns play as if they were alone; so does the SDK's client."""
    from mcp import Client

    with listening(served, "served:Countdown-v0", "--seed", "7") as url:
        first, second = (caller(MCPTool(url, shared=False)) for _ in range(2))
        shown = [first("reset", {})["observation"], second("reset", {"seed": 8})["observation"]]
        assert shown == [local_episode(7)[0][0], local_episode(8)[0][0]]
        for call, observation in ((first, shown[0]), (second, shown[1])):
            assert call("step", {"action": numbers(observation)})["reward"] == 0.5
        assert played(first, seed=3) == local_episode(3)

        async def once() -> Any:
            async with Client(url) as client:
                return (await client.call_tool("reset", {})).structured_content

        assert asyncio.run(once())["observation"] == local_episode(7)[0][0]
        del first, second, call


@pytest.mark.slow
def test_sessions_are_bounded_and_a_client_that_goes_makes_room(served: Any) -> None:
    """A third client is refused while two play."""
    with listening(served, "served:Countdown-v0", "--max-sessions", "2") as url:
        tools = [list(MCPTool(url, shared=False)) for _ in range(2)]
        with pytest.raises(gem.errors.GemError, match="Too many open sessions"):
            MCPTool(url, shared=False, max_retries=0)
        for one in tools[0]:
            one.close()
        assert caller(MCPTool(url, shared=False))("reset", {})["reward"] == 0.0


def test_an_environment_is_closed_with_its_session(served: Any) -> None:
    """Over HTTP when the client says farewell."""
    import uvicorn

    from gem_tools.mcp.serve import http_app

    gem.make("served:Countdown-v0")
    environment = sys.modules["served_envs"].Countdown
    before = environment.alive
    app = http_app(lambda: gem.make("served:Countdown-v0"))
    assert environment.alive == before
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        tools = {one.name: one for one in MCPTool(url)}
        tools["reset"].execute({})
        assert environment.alive == before + 1
        for one in tools.values():
            one.close()
        while environment.alive != before:
            threading.Event().wait(0.01)
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@pytest.mark.nightly
def test_http_without_a_session_is_told_to_open_one(served: Any) -> None:
    """A client of the newest protocol that does not ask first gets an error, not another's episode."""
    from mcp import Client, MCPError

    async def call(url: str) -> None:
        async with Client(url, mode="2026-07-28") as client:
            with pytest.raises(MCPError, match="begin with initialize"):
                await client.call_tool("reset", {})

    with listening(served, "served:Countdown-v0") as url:
        asyncio.run(call(url))


def test_the_tools_of_the_environment_are_offered_too(served: Any) -> None:
    """Calling one is a step of the environment."""

    @tool
    def double(number: int) -> int:
        """Double a number."""
        return 2 * number

    with ToolEnvWrapper(gem.make("served:Countdown-v0"), [double]) as env:
        assert [one["name"] for one in tool_schemas(env)] == ["reset", "step", "double"]
        episodes = Episodes(lambda: env)
        episodes.call("reset", {"seed": 1})
        answer = episodes.call("double", {"number": 4})
        assert answer.data is not None
        assert answer.data["observation"] == "8"
        assert answer.data["info"]["use_tool"]


@pytest.mark.nightly
def test_an_argument_that_a_tool_does_not_take_is_refused(served: Any) -> None:
    """As its schema says; the call is not carried out, and a tool that takes anything still does."""
    reset, step = MCPTool(configured(served, "served:Countdown-v0", "--seed", "7"))
    assert reset.execute({"seed": 7, "foo": 1}).text == "Error: reset has no argument 'foo'; it takes seed"
    assert step.execute({"action": "1"}).text == "Error: no episode is in progress; call reset to begin one"
    assert reset.execute({"seed": 7}).ok
    assert not step.execute({"action": "1", "x" * 1000: 1}).ok
    assert unknown_arguments("any", {"x": 1}, {"type": "object"}) is None
    assert unknown_arguments("none", {}, {"additionalProperties": False}) is None


def test_calls_out_of_order_and_failures_are_errors_and_the_server_goes_on(served: Any) -> None:
    """Nothing that a client sends, and nothing that an environment does, ends the session."""
    episodes = Episodes(lambda: gem.make("served:Countdown-v0"))
    for name, arguments, message in [
        ("step", {"action": "1"}, "call reset"),
        ("reset", {"seed": -1}, "non-negative"),
        ("reset", {"seed": "x"}, "non-negative"),
        ("reset", {}, None),
        ("step", {}, None),
        ("step", {"action": 5}, None),
        ("step", {"action": "crash"}, "out of paper"),
        ("step", {"action": "1"}, "call reset"),
        ("reset", {}, None),
        ("step", {"action": "1"}, None),
        ("step", {"action": "1"}, None),
        ("step", {"action": "1"}, None),
        ("step", {"action": "1"}, "call reset"),
    ]:
        answer = episodes.call(name, arguments)
        assert answer.ok == (message is None), (name, arguments, answer)
        assert message is None or message in answer.content[0]["text"]
    episodes.close()
    episodes.close()


@pytest.mark.slow
def test_pictures_and_the_verdict_reach_a_client_that_reads_content_alone(served: Any) -> None:
    """Reward and end are in the text, where a chat client looks."""
    tools = {one.name: one for one in MCPTool(configured(served, "served:Countdown-v0-pictures"))}
    result = tools["reset"].execute({"seed": 1})
    assert result.content == ({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},)
    result = tools["step"].execute({"action": numbers(result.text)})
    assert result.text.endswith("[reward 0.5]")
    tools["step"].execute({"action": "wrong"})
    result = tools["step"].execute({"action": "wrong"})
    assert result.text.endswith("[reward 0; not solved; the episode has ended, call reset for another one]")


@pytest.mark.slow
def test_the_server_ends_when_its_input_does(served: Any) -> None:
    """With exit code 0, and with nothing on its output that is no message."""
    environment = {**os.environ, "PYTHONPATH": path(served)}
    done = subprocess.run(command("served:Countdown-v0"), input=b"", capture_output=True, env=environment, check=False)
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.slow
@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.nightly), signal.SIGTERM])
def test_a_signal_ends_the_server_and_closes_the_environment(served: Any, tmp_path: Path, number: int) -> None:
    """Even while it waits for input."""
    with (served.folder / "served_envs" / "__init__.py").open("a") as module:
        module.write(f"\nCountdown.close = lambda self: open({str(tmp_path / 'closed')!r}, 'a').write('x')\n")
    environment = {**os.environ, "PYTHONPATH": path(served)}
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
    with subprocess.Popen(command("served:Countdown-v0"), env=environment, text=True, **pipes) as server:
        about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        for identifier, method, parameters in [
            (1, "initialize", about),
            (2, "tools/call", {"name": "reset", "arguments": {}}),
        ]:
            message = {"jsonrpc": "2.0", "id": identifier, "method": method, "params": parameters}
            server.stdin.write(json.dumps(message) + "\n")
            server.stdin.flush()
            assert json.loads(server.stdout.readline())["id"] == identifier
        server.send_signal(number)
        assert server.wait() == 128 + number
    # One that was made for its schemas, one that was played.
    assert (tmp_path / "closed").read_text() == "xx"


@pytest.mark.slow
def test_an_unknown_environment_is_one_line_and_exit_code_1() -> None:
    """Before anything is served."""
    done = subprocess.run(command("served:Nothing-v0"), input=b"", capture_output=True, check=False)
    assert done.returncode == 1
    assert done.stdout == b""
    assert done.stderr.count(b"\n") == 1


def test_a_port_that_is_taken_is_one_line(served: Any) -> None:
    """And the address is in it."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = CliRunner().invoke(mcp_serve_command, ["served:Countdown-v0", "--transport", "http", "--port", port])
    assert done.exit_code == 1
    assert f"cannot listen on 127.0.0.1 port {port}" in done.output


def test_the_command_has_the_defaults_of_the_app() -> None:
    """A server started from the shell has the limits of one started from Python."""
    ours = {option.name: option.default for option in mcp_serve_command.params}
    for name in ("host", "max_sessions", "idle_seconds"):
        assert ours[name] == inspect.signature(http_app).parameters[name].default


def test_the_help_has_examples() -> None:
    """As every command's has."""
    assert "gem mcp-serve game:" in CliRunner().invoke(mcp_serve_command, ["--help"]).output
