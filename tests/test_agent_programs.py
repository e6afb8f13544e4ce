"""Real agent programs, installed from their registries, play real tasks with a model that knows the answers.

By night, each program that can be installed here solves a task in a terminal, one at a desk and a game.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import pytest

from gem.registry import spec as find_spec
from gem_eval.clients import Completion, Sampling, ScriptedClient
from gem_gateway.harnesses import HarnessError, harness_policy, harnesses
from gem_gateway.harnesses.installation import install
from gem_gateway.harnesses.trial import try_out
from gem_rollout import EpisodeRequest, RolloutEngine
from gem_rollout.trajectory import EpisodeKey, Trajectory

pytestmark = pytest.mark.nightly

PROGRAMS = list(harnesses())
GAME, DESK, TERMINAL = "game:GuessTheNumber-v0-easy", "desk:Retail-v0", "terminal:Ledger-v0"


def installed(name: str) -> None:
    """Install a program; where its registry cannot be reached the test is skipped, but not in CI."""
    try:
        install(harnesses()[name])
    except HarnessError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"NOT TESTED: {error}")


@pytest.mark.parametrize("env_id", [GAME, DESK])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_solves_a_task(name: str, env_id: str) -> None:
    """The program makes every call of the solution, and the environment says that the task is solved."""
    installed(name)
    trial = asyncio.run(try_out(name, env_id, seed=3))
    assert trial.verdict == "solved", trial.record.failure
    assert trial.model_calls > len(trial.record.transitions)  # the last one is told that the episode is over


@pytest.mark.containers
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_solves_a_task_in_a_terminal(name: str) -> None:
    """The program plays in the task's container through the episode's tools, and the task's tests pass."""
    if shutil.which("bwrap") is None:
        pytest.skip("NOT TESTED: the namespace engine needs bubblewrap")
    installed(name)
    arguments: dict[str, Any] = {"engine": "namespace"}
    trial = asyncio.run(try_out(name, TERMINAL, seed=3, kwargs=arguments))
    assert (trial.verdict, trial.box) == ("solved", "task"), trial.record.failure


class OwnShell(ScriptedClient):
    """A model that has a program run a script in its own shell, and then end."""

    def __init__(self, tool: str, arguments: Mapping[str, Any], script: str, last: str) -> None:
        super().__init__([])
        self._tool, self._arguments = tool, arguments
        self._commands = [script, last]

    async def chat(
        self,
        messages: list[dict[str, Any]],
        *,
        tools: list[dict[str, Any]] | None = None,
        sampling: Sampling | None = None,
        response_format: dict[str, Any] | None = None,
    ) -> Completion:
        offered = any(tool["function"]["name"] == self._tool for tool in tools or ())
        command = self._commands.pop(0) if offered and self._commands else ""
        if not command:
            return await ScriptedClient(["Done."]).chat(messages)
        arguments = json.dumps({**self._arguments, "command": command})
        call = {"id": "call", "type": "function", "function": {"name": self._tool, "arguments": arguments}}
        answer = {"role": "assistant", "content": None, "tool_calls": [call]}
        return await ScriptedClient([answer]).chat(messages)


@pytest.mark.containers
@pytest.mark.parametrize(
    ("name", "tool", "arguments", "last"),
    [
        ("mini-swe-agent", "bash", {}, "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),
        ("qwen-code", "run_shell_command", {"is_background": False}, ""),
    ],
)
def test_a_program_solves_a_task_with_its_own_shell(name: str, tool: str, arguments: dict[str, Any], last: str) -> None:
    """In the task's container, a program of Python and one of Node.js need none of the episode's tools."""
    if shutil.which("bwrap") is None:
        pytest.skip("NOT TESTED: the namespace engine needs bubblewrap")
    installed(name)
    solution = files("gem_terminal").joinpath("tasks", "ledger", "solution", "solve.sh").read_text(encoding="utf-8")
    make_policy = harness_policy(name, OwnShell(tool, arguments, solution, last), box="always")
    spec = find_spec(TERMINAL).with_kwargs({"engine": "namespace"})

    async def play() -> Trajectory:
        async with RolloutEngine([EpisodeRequest(spec, EpisodeKey(TERMINAL, 0, 0))], make_policy) as engine:
            return await anext(aiter(engine))

    record = asyncio.run(play())
    assert record.outcome == "succeeded", record.failure
    assert [turn.action for turn in record.transitions] == ["<finish/>"]
