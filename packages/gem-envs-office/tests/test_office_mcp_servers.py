"""Servers of departments share one state, and what is done through them is judged as in an episode."""

from __future__ import annotations

import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import pytest

from gem_envs_office.declarations import company
from gem_envs_office.families.registry import office_task
from gem_envs_office.mcp_server import main
from gem_envs_office.reference import bound_arguments, returned_key
from gem_envs_office.tools import office_tools

_TASK = ("--family", "Onboarding", "--task", "4")


@pytest.mark.nightly
def test_two_servers_work_on_one_state(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A plan carried out through two processes of different departments earns the reward."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    state = str(tmp_path / "office state ü.sqlite")
    task = office_task("Onboarding", 4, 1, "train", "none")
    first = ["people", "files", "tickets", "mail"]
    groups = (first, [name for name in company().departments if name not in first])

    async def play() -> None:
        sessions = {}
        async with AsyncExitStack() as servers:
            errors = servers.enter_context((tmp_path / "errors").open("w"))
            for group in groups:
                arguments = ["-m", "gem_envs_office.mcp_server", *group, "--state", state, *_TASK]
                started = StdioServerParameters(command=sys.executable, args=arguments)
                streams = await servers.enter_async_context(stdio_client(started, errlog=errors))
                session = await servers.enter_async_context(ClientSession(*streams))
                await session.initialize()
                listed = await session.list_tools()
                assert {tool.name for tool in listed.tools} == {
                    tool.name for tool in office_tools().values() if tool.department in group
                }
                sessions.update(dict.fromkeys(group, session))
            bound: dict[str, str] = {}
            for call in task.gold:
                session = sessions[office_tools()[call.tool].department]
                answer = await session.call_tool(call.tool, bound_arguments(call.arguments, bound))
                assert not answer.is_error, answer
                if call.binds:
                    bound[f"${call.binds}"] = returned_key(json.loads(answer.content[0].text))
            refused = await sessions["mail"].call_tool("list_assets", {})
            assert refused.is_error

    anyio.run(play)
    assert main(["--state", state, *_TASK, "--verdict"]) == 0
    assert json.loads(capsys.readouterr().out)["reward"] == 1.0


def test_untouched_state_earns_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The verdict on a new state file names what is not done; the task is told without a server."""
    state = str(tmp_path / "state")
    assert main(["--state", state, *_TASK, "--verdict"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["reward"] == 0.0
    assert verdict["unmet"]
    assert main(["--state", state, *_TASK, "--text"]) == 0
    assert "Onboarding" in json.loads(capsys.readouterr().out)["task"]


def test_error_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is no database, and a department that is none, end with a message and no traceback."""
    state = tmp_path / "notes.txt"
    state.write_text("no database\n" * 100)
    assert main(["--state", str(state), *_TASK, "--verdict"]) == 1
    assert "not a database" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["kitchen", "--state", str(tmp_path / "s")])
    assert "no department 'kitchen'; there are billing" in capsys.readouterr().err
