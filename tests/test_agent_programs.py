"""Real agent programs, installed from their registries, play real tasks with a model that knows the answers.

By night, each program that can be installed here solves a task in a terminal, one at a desk and a game.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from typing import Any

import pytest

from gem_gateway.harnesses import HarnessError, harnesses
from gem_gateway.harnesses.installation import install
from gem_gateway.harnesses.trial import try_out

pytestmark = pytest.mark.nightly

PROGRAMS = [name for name in harnesses() if name != "claude-agent-sdk"]
"""Claude's SDK runs the program of Claude Code, which is here, and brings another copy of it."""
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
    """The program works in the container through the episode's tools, and the task's tests pass."""
    if shutil.which("bwrap") is None:
        pytest.skip("NOT TESTED: the namespace engine needs bubblewrap")
    installed(name)
    arguments: dict[str, Any] = {"engine": "namespace"}
    trial = asyncio.run(try_out(name, TERMINAL, seed=3, kwargs=arguments))
    assert trial.verdict == "solved", trial.record.failure
