"""GEM's commands as tools for a coding agent: what a call may run, its limits, and a session of a real client."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError
from gem_cli.main import cli
from gem_tools.author_server.command_run import KEPT_BYTES, run_gem
from gem_tools.author_server.command_tools import (
    LONGEST_SECONDS,
    MOST_EPISODES,
    TOOLS,
    CommandTool,
    LimitedCommand,
    ModelAddress,
    command_line,
)

NAMES = {tool.name: tool for tool in TOOLS}
MODEL = ModelAddress("http://localhost:8000/v1", "some-model")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A working folder with a run, beside a secret that a link leads to."""
    folder = tmp_path.resolve() / "project"
    (folder / "runs" / "a").mkdir(parents=True)
    (folder / "runs" / "a" / "episodes.jsonl").write_text("", encoding="utf-8")
    (folder / "envs").mkdir()
    (folder.parent / "secret").write_text("secret", encoding="utf-8")
    (folder / "way-out").symlink_to(folder.parent)
    (folder / "envs" / "a:b.toml").symlink_to(folder.parent / "secret")
    (folder / "runs" / "linked").mkdir()
    (folder / "runs" / "linked" / "episodes.jsonl").symlink_to(folder.parent / "secret")
    return folder


def parsed(line: LimitedCommand) -> dict[str, Any]:
    """Return what the real command understands of a line."""
    name, *rest = line.arguments
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return command.make_context(name, list(rest)).params


@pytest.mark.parametrize(
    ("tool", "arguments", "meaning"),
    [
        ("list", {}, {"namespace": None, "tags": ()}),
        ("list", {"namespace": "game", "tag": "domain:games"}, {"namespace": "game", "tags": ("domain:games",)}),
        ("list", {"tag": "--ids"}, {"tags": ("--ids",), "ids": False}),
        ("info", {"id": "game:Sudoku-v0", "seed": 3}, {"env_id": "game:Sudoku-v0", "seed": 3}),
        ("check", {"clauses": ["state"], "attacks": True}, {"clauses": ("state",), "attacks": True}),
        ("check", {"target": "my-envs"}, {"targets": ("my-envs",)}),
        ("check", {"target": "owner/game:Sudoku-v0"}, {"targets": ("owner/game:Sudoku-v0",)}),
        ("eval", {"id": "game:Sudoku-v0"}, {"env_ids": ("game:Sudoku-v0",), "agent": "reference", "episodes": 16}),
        ("eval", {"id": "game:Sudoku-v0", "agent": "model"}, {"base_url": MODEL.base_url, "model": MODEL.name}),
        ("show", {"run": "runs/a", "episode": 2, "turn": 1}, {"episode": 2, "turn": 1}),
    ],
)
def test_a_call_is_a_command_line(tool: str, arguments: Any, meaning: dict[str, Any], project: Path) -> None:
    """The real command reads from the line what the call said."""
    read = parsed(command_line(NAMES[tool], arguments, project, MODEL))
    assert {name: read[name] for name in meaning} == meaning


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("list", {"namespace": "--help"}, "'--help' is no namespace"),
        ("list", {"namespace": "game; rm -rf ."}, "is no namespace"),
        ("list", {"tag": "a\x1b[2J"}, "cannot be printed"),
        ("list", {"shell": "true"}, "list has no argument 'shell'; it takes namespace, tag"),
        ("info", {}, "id"),
        ("info", {"id": 7}, "7"),
        ("info", {"id": "--json"}, "is not an environment id"),
        ("info", {"id": "http://169.254.169.254/latest:x"}, "is not an environment id"),
        ("info", {"id": "openenv:http://localhost:1"}, "is not an environment id"),
        ("info", {"id": "game:Sudoku-v0", "seed": -1}, "-1"),
        ("info", {"id": "game:Sudoku-v0", "seed": True}, "True"),
        ("check", {"target": "/etc"}, "leads out of the working folder"),
        ("check", {"target": "../"}, "leads out of the working folder"),
        ("check", {"target": "way-out"}, "leads out of the working folder"),
        ("check", {"target": "envs/a:b.toml"}, "leads out of the working folder"),
        ("check", {"target": "envs/../../secret"}, "leads out of the working folder"),
        ("check", {"target": "~/x"}, "no file or folder of the working folder"),
        ("check", {"target": "--report=x"}, "no file or folder of the working folder"),
        ("check", {"target": "a\0b"}, "cannot be printed"),
        ("check", {"clauses": ["--report=x"]}, "is not the name of a clause"),
        ("check", {"clauses": "state"}, "state"),
        ("check", {"seconds": LONGEST_SECONDS + 1}, str(LONGEST_SECONDS)),
        ("eval", {"id": "game:Sudoku-v0", "episodes": MOST_EPISODES + 1}, str(MOST_EPISODES)),
        ("eval", {"id": "game:Sudoku-v0", "agent": "os:system"}, "os:system"),
        ("eval", {"id": "game:Sudoku-v0", "out": "../runs"}, "leads out of the working folder"),
        ("eval", {"id": "game:Sudoku-v0", "out": "way-out/runs"}, "leads out of the working folder"),
        ("show", {"run": "../secret"}, "leads out of the working folder"),
        ("show", {"run": "runs/linked"}, "leads out of the working folder"),
        ("show", {"run": "envs"}, "is neither the folder of a run nor a file"),
        ("show", {"run": "runs/a", "turn": 1}, "a turn belongs to an episode"),
    ],
)
def test_a_call_that_is_not_allowed_says_why(tool: str, arguments: Any, sentence: str, project: Path) -> None:
    """Options in values, other types, large numbers, addresses, and paths out of the working folder."""
    with pytest.raises(ArgumentError, match=re.escape(sentence)):
        command_line(NAMES[tool], arguments, project, MODEL)


def test_a_server_without_a_model_evaluates_none(project: Path) -> None:
    """The sentence has the option that names one."""
    with pytest.raises(ArgumentError, match="gem skill serve --base-url"):
        command_line(NAMES["eval"], {"id": "game:Sudoku-v0", "agent": "model"}, project, None)


VALUES = st.one_of(
    st.sampled_from(
        ["game:Sudoku-v0", "game", "--out=/x", "-o/x", "../x", "/etc/passwd", "~", ".", "runs/a", "envs", "model"]
    ),
    st.text(max_size=20),
    st.integers(),
    st.booleans(),
    st.none(),
    st.lists(st.sampled_from(["state", "--strict", "determinism.instances", ""]) | st.integers(), max_size=3),
)


@given(st.data())
def test_no_call_says_more_than_its_arguments(data: st.DataObject) -> None:
    """Whatever a call holds: it is refused, or the real command reads it, with its paths in the working folder."""
    tool: CommandTool = data.draw(st.sampled_from(TOOLS))
    known = dict.fromkeys(tool.properties, VALUES)
    arguments = data.draw(st.fixed_dictionaries({}, optional={**known, "id": st.just("game:Sudoku-v0") | VALUES}))
    folder = Path(__file__).resolve().parent
    try:
        line = command_line(tool, arguments, folder, None)
    except ArgumentError:
        return
    read = parsed(line)
    given_names = {
        "id": "env_id" if tool.name == "info" else "env_ids",
        "tag": "tags",
        "target": "targets",
        "run": "file",
    }
    changed = {given_names.get(name, name) for name in arguments} - {"seconds"}
    defaults = parsed(LimitedCommand((tool.name, "--", *line.arguments[line.arguments.index("--") + 1 :]), 1))
    always = {"agent", "episodes", "seed", "concurrency", "targets"}
    assert {name for name in read if read[name] != defaults[name]} <= changed | always
    for path in (read.get("out"), read.get("file"), *(t for t in read.get("targets", ()) if "/" in t and ":" not in t)):
        assert path is None or Path(path).is_relative_to(folder)
    assert line.seconds <= LONGEST_SECONDS


@pytest.mark.nightly
def test_a_command_is_ended_at_its_limit(tmp_path: Path) -> None:
    """One that would run for ever is interrupted, and has no exit code."""
    result = anyio.run(run_gem, ("fake-model", "--port", "0"), tmp_path, 0.1)
    assert result.exit_code is None
    assert len(result.output.encode()) <= KEPT_BYTES + 100


def messages(*calls: tuple[str, dict[str, Any]]) -> bytes:
    """Return what a client writes: the handshake, the question for the tools as number 1, and calls from 2."""
    start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
    sent: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": start},
        {"method": "notifications/initialized"},
        {"id": 1, "method": "tools/list"},
        *(
            {"id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
            for number, (name, arguments) in enumerate(calls, start=2)
        ),
    ]
    return b"".join(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n" for message in sent)


def serving(folder: Path, **variables: str) -> subprocess.Popen[bytes]:
    """Start the server in a folder."""
    command = [sys.executable, "-m", "gem", "skill", "serve", "--dir", str(folder)]
    environment = {**os.environ, **variables}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)


def answers_to(folder: Path, *calls: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the server's answers in a folder: the tools, then that to each call."""
    answers: dict[int, dict[str, Any]] = {}
    with serving(folder) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(messages(*calls))
        server.stdin.flush()
        while len(answers) < len(calls) + 2:
            answer = json.loads(server.stdout.readline())
            answers[answer["id"]] = answer["result"]
        server.stdin.close()
        assert server.wait(60) == 0
    return [answers[number] for number in range(1, len(calls) + 2)]


def test_a_client_is_offered_the_tools(tmp_path: Path) -> None:
    """With the schemas of their arguments; a tool that is not there is answered with those that are."""
    offered, missing = answers_to(tmp_path, ("shell", {}))
    tools = {tool["name"]: tool for tool in offered["tools"]}
    assert tools.keys() == NAMES.keys()
    assert tools["eval"]["inputSchema"]["properties"]["episodes"]["maximum"] == MOST_EPISODES
    known = ", ".join(NAMES)
    assert missing["content"][0]["text"] == f"Error: there is no tool called 'shell'; there are {known}"


@pytest.mark.nightly
def test_a_call_is_answered_with_the_command_and_its_output(tmp_path: Path) -> None:
    """And with its exit code; a wrong call with a sentence, and without a command. No file is left."""
    _, ran, refused = answers_to(tmp_path, ("list", {"namespace": "nothing-here"}), ("show", {"run": "/etc/passwd"}))
    assert ran["isError"]
    assert ran["structuredContent"] == {"command": "gem list -- nothing-here", "exit_code": 2, "truncated": False}
    assert ran["content"][0]["text"].startswith("$ gem list -- nothing-here\nUsage: ")
    assert refused["content"][0]["text"].startswith("Error: the path '/etc/passwd' leads out")
    assert list(tmp_path.iterdir()) == []


STUBBORN = """
import os, pathlib, signal, subprocess, time
import gem

signal.signal(signal.SIGINT, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "1000"])
pathlib.Path("pids").write_text(f"{os.getpid()} {child.pid}")
print("x" * 1_000_000, flush=True)
time.sleep(1000)
"""


@pytest.mark.nightly
@pytest.mark.parametrize("number", [signal.SIGTERM, None], ids=["terminated", "input-ended"])
def test_no_command_outlives_the_server(number: signal.Signals | None, site: Any, tmp_path: Path) -> None:
    """A command that ignores interrupts, and what it started, are gone when the server has ended."""
    manifest = (
        'schema = 1\n[[environment]]\nid = "odd:Env-v0"\nentry_point = "odd_envs.env:Env"\ndescription = "Odd."\n'
    )
    files = {"odd_envs/__init__.py": "", "odd_envs/env.py": STUBBORN, "odd_envs/environments.toml": manifest}
    site.add("odd-envs", {"odd": "odd_envs"}, files)
    with serving(tmp_path, PYTHONPATH=str(site.folder)) as server:
        assert server.stdin is not None
        server.stdin.write(messages(("info", {"id": "odd:Env-v0"})))
        server.stdin.flush()
        wait_for(lambda: (tmp_path / "pids").exists() and " " in (tmp_path / "pids").read_text(encoding="utf-8"))
        pids = [int(pid) for pid in (tmp_path / "pids").read_text(encoding="utf-8").split()]
        if number is None:
            server.stdin.close()
        else:
            server.send_signal(number)
        server.wait(60)
    wait_for(lambda: not any(is_running(pid) for pid in pids))


def wait_for(condition: Any) -> None:
    """Wait up to a minute for a condition."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    """Return whether a process is there that is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
