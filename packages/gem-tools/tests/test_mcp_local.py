"""MCP servers that are started here: what they do well and badly, sharing them, and losing them."""

from __future__ import annotations

import asyncio
import copy
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.errors import UnknownArgumentError
from gem.tools import ToolEnvWrapper, ToolResult
from gem_tools.mcp import MCPServerError, MCPTool, host, process
from gem_tools.mcp import session as session_module
from gem_tools.wrappers import mcp_tool

# Sessions that tests abandon on purpose are collected at any later moment, in whichever test that falls.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.usefixtures("no_connections_left"),
]

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")

SERVER = Path(__file__).with_name("mcp_hostile_server.py")


class Hostile:
    """The server of ``mcp_hostile_server.py`` and the diary that it keeps."""

    def __init__(self, folder: Path) -> None:
        self._diary = folder / "diary"

    def config(self, *start: str) -> dict[str, Any]:
        return {"command": sys.executable, "args": [str(SERVER), str(self._diary), *start]}

    def release(self) -> None:
        """Let the tool "busy" come to its end."""
        self._diary.with_name("released").touch()

    @property
    def diary(self) -> list[str]:
        return self._diary.read_text().splitlines() if self._diary.exists() else []

    @property
    def starts(self) -> int:
        return sum(line.startswith("start") for line in self.diary)

    @property
    def is_running(self) -> bool:
        pids = [int(line.split()[1]) for line in self.diary if line.startswith("start")]
        return any(map(_exists, pids))


@pytest.fixture
def hostile(tmp_path: Path) -> Hostile:
    return Hostile(tmp_path)


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers have all the time that they need to end by themselves, however busy the machine is."""
    monkeypatch.setattr(process, "_GRACE_SECONDS", 60.0)
    monkeypatch.setattr(host, "_AT_EXIT_SECONDS", 60.0)


class Echo(gem.Env[str, str]):
    """Answers every action with itself."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        return "begin", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return f"env got {action}", 0.0, False, False, {}


def tools_of(hostile: Hostile, *start: str, **kwargs: Any) -> dict[str, Any]:
    return {tool.name: tool for tool in MCPTool(hostile.config(*start), **kwargs)}


def called(tool: Any, **arguments: Any) -> ToolResult:
    result: ToolResult = tool.execute(arguments)
    return result


@pytest.mark.slow
def test_all_pages_of_tools_are_found_and_any_schema_survives(hostile: Hostile) -> None:
    """Names longer than 64 characters or with others than chat APIs allow are mapped, and the calls arrive."""
    tools = tools_of(hostile)
    assert len(tools) == 21
    for tool in tools.values():
        tool.check()
        assert tool.to_openai()["function"]["parameters"]["type"] == "object"
    (long,) = (tool for name, tool in tools.items() if name.startswith("xxx"))
    assert len(long.name) == 64
    assert long.parameters["$defs"]["a"]["anyOf"][0] is True
    assert called(long).text == "x" * 100
    assert called(tools["dotted_name_with_spaces"]).text == "dotted.name/with spaces"


@pytest.mark.slow
def test_an_agent_calls_tools_by_every_syntax(hostile: Hostile) -> None:
    """The original's tags, JSON in tags and native calls; an unknown tool is answered with the nearest name."""
    with ToolEnvWrapper(Echo(), [MCPTool(hostile.config())]) as env:
        observation, _ = env.reset(seed=0)
        assert "echo: Return the text." in observation
        published = '<tool_call><tool_name>echo</tool_name><arguments>{"text": "hi"}</arguments></tool_call>'
        observation, _, _, _, info = env.step(f"thinking {published} and more")
        assert observation == "hi"
        assert info["parsed_action"] == f"thinking {published}"
        observation, *_ = env.step('<tool_call>{"name": "echo", "arguments": {"text": "again"}}</tool_call>')
        assert observation == "again"
        call = {"id": "1", "type": "function", "function": {"name": "data", "arguments": "{}"}}
        observation, _, _, _, info = env.step({"role": "assistant", "content": "", "tool_calls": [call]})
        assert observation == '{"n": 5}'
        assert info["tool_results"][0]["data"] == {"n": 5}
        observation, *_ = env.step("<tool_call><tool_name>dotted.name/with spaces</tool_name></tool_call>")
        assert observation == "dotted.name/with spaces"
        observation, _, _, _, info = env.step('<tool_call>{"name": "ecko", "arguments": {}}</tool_call>')
        assert "Did you mean 'echo'?" in observation
        assert info["tool_error"]


def test_several_servers_put_their_names_before_those_of_their_tools(hostile: Hostile) -> None:
    """Two servers, two processes, no clash of names."""
    servers = {"one": hostile.config(), "two": {**hostile.config(), "env": {"OTHER": "1"}}}
    tools = {tool.name: tool for tool in MCPTool.from_multi_server(servers)}
    assert called(tools["one_echo"], text="1").text == "1"
    assert called(tools["two_echo"], text="2").text == "2"
    assert hostile.starts == 2


def test_pictures_sounds_and_resources_become_content_parts(hostile: Hostile) -> None:
    """What no chat API takes is named in the text."""
    result = called(tools_of(hostile)["media"])
    assert [part["type"] for part in result.content] == ["image_url", "input_audio", "image_url"]
    assert result.content[0]["image_url"]["url"].startswith("data:image/png;base64,")
    assert result.content[1]["input_audio"]["format"] == "wav"
    for expected in ("look", "audio/ogg", "inside", "file:///a.bin: application/octet-stream", "[resource b at"):
        assert expected in result.text


def test_a_failure_that_a_server_reports_is_a_failed_call_with_its_words(hostile: Hostile) -> None:
    """Both the tool's own kind and the protocol's."""
    tools = tools_of(hostile)
    assert called(tools["fail"]) == ToolResult("that cannot be done", ok=False)
    refused = called(tools["refuse"])
    assert not refused.ok
    assert "not with me" in refused.text


@pytest.mark.slow
def test_a_call_that_takes_too_long_is_cancelled_at_the_server_and_the_next_one_works(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server gets the cancellation, and nothing is started anew."""
    monkeypatch.setattr(session_module, "PATIENCE", 60.0)  # a busy machine is no reason to start it anew
    tools, hasty = tools_of(hostile), tools_of(hostile, execution_timeout=1.0)  # which share the session
    result = called(hasty["hang"])
    assert result == ToolResult("hang failed: MCP server default did not answer within 1 seconds.", ok=False)
    assert called(tools["echo"], text="next").text == "next"
    _until(lambda: any(line.startswith("cancelled") for line in hostile.diary))  # nobody waits for its note
    assert sorted(line.split()[0] for line in hostile.diary) == ["call", "call", "cancelled", "start"]


@pytest.mark.slow
def test_a_server_that_answers_nothing_any_more_is_started_anew(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was blocked in a way that no cancellation reaches."""
    monkeypatch.setattr(session_module, "PATIENCE", 0.3)
    tools, hasty = tools_of(hostile), tools_of(hostile, execution_timeout=1.0)
    assert "did not answer within" in called(hasty["block"]).text
    assert called(tools["echo"], text="next") == ToolResult("next")
    assert hostile.starts == 2


@pytest.mark.slow
def test_a_blocked_server_of_the_newest_protocol_is_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """That protocol has no ping."""
    monkeypatch.setattr(session_module, "PATIENCE", 0.3)
    program = (
        "import time\n"
        "from mcp.server import MCPServer\n"
        "server = MCPServer('toy')\n"
        "@server.tool()\n"
        "async def nap(seconds: float) -> str:\n"
        "    time.sleep(seconds)\n"
        "    return 'rested'\n"
        "server.run()\n"
    )
    config = {"command": sys.executable, "args": ["-c", program]}
    (nap,), (hasty,) = MCPTool(config), MCPTool(config, execution_timeout=1.0)
    assert "did not answer within" in called(hasty, seconds=1000).text
    assert called(nap, seconds=0).text == "rested"


def test_a_server_that_is_at_work_for_another_is_not_started_anew(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as that other call has time left."""
    monkeypatch.setattr(session_module, "PATIENCE", 0.0)  # without the other call it would be started anew at once
    patient, hasty = tools_of(hostile, execution_timeout=300.0), tools_of(hostile, execution_timeout=0.1)
    results: list[ToolResult] = []
    other = threading.Thread(target=lambda: results.append(called(patient["busy"])))
    other.start()
    _until(lambda: "call busy" in hostile.diary)
    assert "did not answer within" in called(hasty["echo"]).text
    hostile.release()
    assert called(patient["echo"], text="next").text == "next"
    other.join()
    assert results == [ToolResult("done")]
    assert hostile.starts == 1


def test_all_who_lost_a_server_at_once_start_it_once(hostile: Hostile) -> None:
    """The first opens the session for the others."""
    tools = tools_of(hostile)
    called(tools["die"])
    with ThreadPoolExecutor(32) as threads:
        answers = list(threads.map(lambda n: called(tools["echo"], text=n).text, range(32)))
    assert answers == [str(n) for n in range(32)]
    assert hostile.starts == 2


def test_a_server_that_dies_in_the_middle_of_a_call_fails_it_with_its_last_words_and_comes_back(
    hostile: Hostile,
) -> None:
    """The agent reads the exit code and the end of the error output."""
    tools = tools_of(hostile)
    result = called(tools["die"])
    assert not result.ok
    assert "ended before it answered (exit code 7)" in result.text
    assert "about to fall over" in result.text
    assert called(tools["count"]).text == "1"
    assert hostile.starts == 2


def test_a_server_that_was_killed_between_calls_is_not_noticed(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next call starts it, and does not fail."""
    tools = tools_of(hostile)
    called(tools["echo"])
    submit, submitted = asyncio.run_coroutine_threadsafe, threading.Event()

    def submit_and_say(*arguments: Any) -> Any:
        future = submit(*arguments)
        submitted.set()
        return future

    def kill() -> None:
        pid = int(hostile.diary[0].split()[1])
        os.kill(pid, signal.SIGKILL)
        _until(lambda: not _exists(pid) or _is_zombie(pid))
        submitted.wait()

    # On the loop itself, so that the call is there before the loop can have noticed.
    host.host()._loop.call_soon_threadsafe(kill)
    monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", submit_and_say)
    assert called(tools["echo"], text="back").text == "back"


def test_a_result_beyond_the_cap_loses_its_middle(hostile: Hostile) -> None:
    """Beginning and end stay, and a note says how much is missing."""
    result = called(tools_of(hostile, max_chars=300)["flood"], size=1_000_000)
    assert result.ok
    assert len(result.text) < 400
    assert result.text.startswith("aaa")
    assert result.text.endswith("z")
    assert "characters left out" in result.text


def test_a_message_beyond_all_bounds_is_an_error_at_once_and_the_session_goes_on(hostile: Hostile) -> None:
    """The same process answers the next call."""
    tools = tools_of(hostile)
    result = called(tools["flood"], size=20 << 20)
    assert not result.ok
    assert "too long" in result.text
    assert called(tools["count"]).text == "2"


def test_output_without_end_ends_the_server_and_the_next_call_works(hostile: Hostile) -> None:
    """Memory stays bounded, and the process is replaced."""
    tools = tools_of(hostile)
    result = called(tools["endless"])
    assert not result.ok
    assert "without an end of line" in result.text
    assert called(tools["echo"], text="next").text == "next"


@pytest.mark.nightly
def test_lines_that_are_no_messages_do_not_disturb(hostile: Hostile, capfd: pytest.CaptureFixture[str]) -> None:
    """Nor do 20,000 notifications, nor megabytes of error output; nothing of it is printed."""
    tools = tools_of(hostile, "garbage", execution_timeout=300.0)  # reading it all takes a busy machine long
    assert called(tools["garbage"]).text == "fine all the same"
    assert called(tools["chatter"]).text == "done"
    assert called(tools["complain"]).text == "done"
    (connection,) = host.host()._connections
    assert len(connection._session._link.process._kept) <= 8192
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["unreadable", "half"])
def test_a_response_that_cannot_be_read_is_an_error_at_once(hostile: Hostile, name: str) -> None:
    """The call does not wait for its time limit."""
    tools = tools_of(hostile)
    result = called(tools[name])
    assert not result.ok
    assert "cannot be read" in result.text
    assert called(tools["echo"], text="next").text == "next"


def test_a_result_that_breaks_the_tools_own_schema_is_an_error(hostile: Hostile) -> None:
    """One that keeps to it arrives as data."""
    tools = tools_of(hostile)
    result = called(tools["wrong_data"])
    assert not result.ok
    assert "does not fit its output schema: at ['n']: 'word' is not of type 'integer'" in result.text
    assert called(tools["data"]).data == {"n": 5}


def test_data_that_is_nested_too_deeply_is_left_out(hostile: Hostile) -> None:
    """The text of such a result arrives all the same."""
    tools = tools_of(hostile)
    assert called(tools["nested"], depth=10).data is not None
    deep = called(tools["nested"], depth=150)
    assert deep.data is None


@pytest.mark.parametrize(
    ("start", "seconds", "message"),
    [
        ("die", 60.0, "no licence found"),
        ("bad tools", 60.0, "cannot be used"),
        pytest.param("silence", 3.0, "could not be used within 3 seconds", marks=pytest.mark.slow),
    ],
)
def test_a_server_that_does_not_come_up_says_why_and_is_tried_again(
    hostile: Hostile, start: str, seconds: float, message: str
) -> None:
    """A failed discovery is not remembered."""
    config = hostile.config(start)
    tool = MCPTool(config, validate_on_init=False, connect_timeout=seconds)
    for _ in range(2):
        with pytest.raises(MCPServerError, match=message):
            list(tool)
    assert hostile.starts == 2
    config["args"][2] = ""
    tool._policy = replace(tool._policy, connect=60.0)
    tool.reconfigure(config)
    assert len(list(tool)) == 21


def test_a_program_that_does_not_exist_is_named() -> None:
    """Before anything is started."""
    with pytest.raises(MCPServerError, match="there is no program 'no-such-program'"):
        MCPTool("no-such-program --port 1")


@pytest.mark.usefixtures("unhurried")
@pytest.mark.slow
def test_environments_share_a_server_and_the_last_one_to_close_ends_it(hostile: Hostile) -> None:
    """Made anew, spawned or copied; and a closed one can be used again."""
    envs = [ToolEnvWrapper(Echo(), [MCPTool(hostile.config())]) for _ in range(3)]
    envs += [envs[0].spawn(), copy.deepcopy(envs[1])]
    for number, env in enumerate(envs):
        env.reset(seed=0)
        observation, *_ = env.step('<tool_call>{"name": "count"}</tool_call>')
        assert observation == str(number + 1)
    for env in envs[:-1]:
        env.close()
        env.close()
    assert hostile.is_running
    envs[-1].close()
    assert not hostile.is_running
    assert hostile.diary[-1] == "end"
    envs[0].reset(seed=0)
    assert envs[0].step('<tool_call>{"name": "count"}</tool_call>')[0] == "1"
    envs[0].close()


def test_the_wrapper_by_name_takes_the_arguments_of_tool_and_wrapper(hostile: Hostile) -> None:
    """And closing the environment ends the server."""
    env = mcp_tool(Echo(), config=hostile.config(), max_chars=300, max_tool_uses=1)
    env.reset(seed=0)
    observation, *_ = env.step('<tool_call>{"name": "flood", "arguments": {"size": 5000}}</tool_call>')
    assert "characters left out" in observation
    assert "Reached the maximum number of tool use" in observation
    assert "diary" not in repr(env.spec)
    env.close()
    assert not hostile.is_running
    with pytest.raises(UnknownArgumentError, match="did you mean 'config'"):
        mcp_tool(Echo(), confg={})


def test_what_is_garbage_uses_no_server(hostile: Hostile) -> None:
    """Tools that nobody closed end their use with themselves."""
    tools = tools_of(hostile)
    called(tools["echo"])
    tools.clear()
    gc.collect()
    running = host.host()
    closing: Callable[[], bool] = lambda: not running._connections  # noqa: E731
    _until(closing)
    _until(lambda: not hostile.is_running)


def test_a_block_keeps_a_server_whatever_comes_and_goes(hostile: Hostile) -> None:
    """So that environments one after the other need not start it again."""
    with MCPTool(hostile.config()) as tool:
        for number in range(3):
            with ToolEnvWrapper(Echo(), [tool]) as env:
                env.reset(seed=0)
                assert env.step('<tool_call>{"name": "count"}</tool_call>')[0] == str(number + 1)
    assert not hostile.is_running


@pytest.mark.slow
def test_a_server_of_its_own_for_each_episode(hostile: Hostile) -> None:
    """With shared=False, also for a spawned environment; a reset begins with a server that knows nothing."""
    tool = MCPTool(hostile.config(), shared=False)
    first = ToolEnvWrapper(Echo(), [tool])
    second = first.spawn()
    others = [ToolEnvWrapper(Echo(), [tool]), ToolEnvWrapper(Echo(), [tool]), copy.deepcopy(first)]
    for env in (first, second, *others):
        env.reset(seed=0)
    counts = [env.step('<tool_call>{"name": "count"}</tool_call>')[0] for env in (first, second, first)]
    assert counts == ["1", "1", "2"]
    assert hostile.starts == 2
    for env in others:
        assert env.step('<tool_call>{"name": "count"}</tool_call>')[0] == "1"
        env.close()
    first.reset(seed=1)
    assert first.step('<tool_call>{"name": "count"}</tool_call>')[0] == "1"
    assert second.step('<tool_call>{"name": "count"}</tool_call>')[0] == "2"
    first.close()
    second.close()
    assert not hostile.is_running


@pytest.mark.slow
def test_64_environments_call_one_server_from_threads(hostile: Hostile) -> None:
    """Each gets its own answers, from one process."""
    with MCPTool(hostile.config()) as tool:
        envs = [ToolEnvWrapper(Echo(), [tool], max_tool_uses=None) for _ in range(64)]

        def play(number: int) -> bool:
            env = envs[number]
            env.reset(seed=number)
            for turn in range(5):
                word = f"{number}-{turn}"
                call = f'<tool_call>{{"name": "echo", "arguments": {{"text": "{word}"}}}}</tool_call>'
                if env.step(call)[0] != word:
                    return False
            return True

        with ThreadPoolExecutor(64) as threads:
            assert all(threads.map(play, range(64)))
        assert hostile.starts == 1
        for env in envs:
            env.close()


def test_one_slow_call_does_not_hold_up_the_others(hostile: Hostile) -> None:
    """They go through while it waits."""
    tools = tools_of(hostile, execution_timeout=300.0)
    slow = threading.Thread(target=lambda: called(tools["hang"]))
    slow.start()
    _until(lambda: "call hang" in hostile.diary)
    for number in range(20):
        assert called(tools["echo"], text=number).text == str(number)
    assert slow.is_alive()
    called(tools["die"])  # which ends the slow call, too
    slow.join()


def test_a_call_that_may_have_arrived_is_never_sent_twice(hostile: Hostile) -> None:
    """Whatever max_retries says: the server may have done it."""
    tools = tools_of(hostile, max_retries=5)
    called(tools["die"])
    called(tools["echo"])
    assert hostile.diary.count("call die") == 1


@needs_fork
@pytest.mark.slow
def test_a_forked_process_has_a_session_of_its_own(hostile: Hostile) -> None:
    """The parent's goes on, untouched."""
    tools = tools_of(hostile)
    assert called(tools["count"]).text == "1"
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if called(tools["count"]).text == "1" and called(tools["count"]).text == "2" else 2
            for tool in tools.values():
                tool.close()
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert called(tools["count"]).text == "2"
    assert hostile.starts == 2


@needs_fork
@pytest.mark.usefixtures("unhurried")
@pytest.mark.slow
def test_a_forked_process_does_not_keep_the_parents_server_alive(hostile: Hostile) -> None:
    """It sees the end of its input although a child had inherited the other end."""
    tools = tools_of(hostile)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    for tool in tools.values():
        tool.close()
    # The server saw the end of its input, although the child, which had inherited it, still lives.
    assert hostile.diary[-1] == "end"
    os.close(writing)
    os.close(reading)
    os.waitpid(child, 0)


def test_tools_can_be_pickled_and_copied(hostile: Hostile) -> None:
    """Copies use the same session."""
    tool = MCPTool(hostile.config(), execution_timeout=7.0)
    for again in (copy.deepcopy(tool), pickle.loads(pickle.dumps(tool))):
        (echo,) = (one for one in again if one.name == "echo")
        assert called(echo, text="x").text == "x"
    (echo,) = (one for one in tool if one.name == "echo")
    assert called(pickle.loads(pickle.dumps(echo)), text="y").text == "y"
    assert hostile.starts == 1


@pytest.mark.slow
def test_the_end_of_the_process_ends_the_servers_in_order(hostile: Hostile) -> None:
    """Nothing is printed and nothing is left."""
    program = (
        "import sys\n"
        "from gem_tools.mcp import MCPTool, host, process\n"
        "process._GRACE_SECONDS = host._AT_EXIT_SECONDS = 60.0\n"  # however busy the machine is
        "tool = MCPTool({'command': sys.executable, 'args': sys.argv[1:]})\n"
        "print(next(iter(tool)).execute({'text': 'x'}).text)\n"
    )
    command = [sys.executable, "-W", "error", "-c", program, *hostile.config()["args"]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "x\n", "")
    assert hostile.diary[-1] == "end"


def test_importing_loads_no_sdk_and_starts_nothing() -> None:
    """The SDK costs a second; it waits for the first use."""
    program = (
        "import sys, threading\n"
        "import gem_tools, gem_tools.mcp, gem_tools.mcp.tool, gem_tools.mcp.serve, gem_tools.mcp.command\n"
        "heavy = {'mcp', 'anyio', 'pydantic', 'httpx2', 'starlette', 'uvicorn'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert threading.active_count() == 1\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _is_zombie(pid: int) -> bool:
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
    except ChildProcessError:
        return True


def _until(condition: Callable[[], bool]) -> None:
    """Wait for what another thread is about to bring about; the test's own time limit is the end of patience."""
    while not condition():
        threading.Event().wait(0.01)
