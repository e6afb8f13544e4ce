"""A run is paused, retuned, requeued and stopped from another terminal while it is being played."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gem_eval.cli.run import run_command
from gem_eval.cli.runs import runs_command
from gem_eval.clients import Completion, ModelError, ScriptedClient
from gem_eval.runs import EvaluationConfig, RunFolder, evaluate
from gem_eval.runs.control import RunControl
from gem_eval.runs.errors import RunFolderError

GAME = "game:GuessTheNumber-v0-easy"
CONFIG = EvaluationConfig.from_dict(
    {"environment": [GAME], "base_url": "scripted:x", "episodes": 8, "concurrency": 2, "retries": 0, "wrappers": []}
)


class GatedClient(ScriptedClient):
    """Answers while its gate is open; before that, it fails for as many calls as it is told to."""

    def __init__(self) -> None:
        super().__init__(lambda messages: "no number")
        self.gate = asyncio.Event()
        self.failures = 0

    async def chat(self, *arguments: Any, **options: Any) -> Completion:
        if self.failures:
            self.failures -= 1
            raise ModelError("bad_request", "this model is broken")
        await self.gate.wait()
        return await super().chat(*arguments, **options)


def ask(*arguments: str) -> str:
    done = CliRunner().invoke(run_command, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for an event, at most a minute."""

    async def wait() -> None:
        while not is_so():
            await asyncio.sleep(0.02)

    await asyncio.wait_for(wait(), 60)


def playing(
    folder: Path, steps: Callable[[GatedClient, Callable[[], dict[str, Any]]], Awaitable[None]], failures: int = 0
) -> RunFolder:
    """Play a run while something is done to it; return its folder.

    Args:
        folder: of the run.
        steps: called with the client and a function that returns what ``live.json`` says.
        failures: the calls that fail first.
    """

    async def run() -> RunFolder:
        client = GatedClient()
        client.failures = failures
        task = asyncio.ensure_future(evaluate(CONFIG, out=folder, client=client, resume=folder.exists()))
        await until(lambda: task.done() or (folder.exists() and RunFolder(folder).live is not None))

        def live() -> dict[str, Any]:
            return RunFolder(folder).live or {}

        await steps(client, live)
        return await asyncio.wait_for(task, 60)

    return asyncio.run(run())


@pytest.mark.slow
def test_a_paused_run_begins_nothing_and_goes_on_when_it_is_told_to(tmp_path: Path) -> None:
    """What is being played ends; ``gem runs`` says how far it is; afterwards every episode was played."""
    folder = tmp_path / "run"

    async def steps(client: GatedClient, live: Callable[[], dict[str, Any]]) -> None:
        await until(lambda: len(live().get("running", ())) == 2)
        assert "pauses" in ask("pause", str(folder))
        await until(lambda: live().get("paused") is True)
        client.gate.set()
        await until(lambda: (live().get("done"), live().get("running")) == (2, []))
        (row,) = json.loads(CliRunner().invoke(runs_command, [str(tmp_path), "--json"]).output)
        assert (row["state"], row["done"], row["total"], row["playing"]) == ("paused", 2, 8, 0)
        ask("resume", str(folder))

    assert len(playing(folder, steps).rows()) == 8
    (row,) = json.loads(CliRunner().invoke(runs_command, [str(tmp_path), "--json"]).output)
    assert (row["state"], row["done"]) == ("finished", 8)
    assert "No live run" in CliRunner().invoke(runs_command, [str(tmp_path), "--live"]).output


@pytest.mark.slow
def test_a_stopped_run_is_resumed_to_its_end(tmp_path: Path) -> None:
    """Also one that was paused; what was asked of the first process is nothing to the second."""
    folder = tmp_path / "run"

    async def stops(client: GatedClient, live: Callable[[], dict[str, Any]]) -> None:
        ask("pause", str(folder))
        await until(lambda: live().get("paused") is True)
        client.gate.set()
        await until(lambda: live().get("running") == [])
        ask("stop", str(folder))

    run = playing(folder, stops)
    assert len(run.rows()) < 8
    output = CliRunner().invoke(runs_command, [str(tmp_path)]).output
    assert "interrupted" in output

    async def opens(client: GatedClient, live: Callable[[], dict[str, Any]]) -> None:
        client.gate.set()

    assert len(playing(folder, opens).rows()) == 8


def test_failed_episodes_are_queued_again_beside_those_that_play(tmp_path: Path) -> None:
    """Each is played once more, and its last attempt counts."""
    folder = tmp_path / "run"

    async def steps(client: GatedClient, live: Callable[[], dict[str, Any]]) -> None:
        await until(lambda: live().get("failed") == 4 and len(live().get("running", ())) == 2)
        ask("requeue", str(folder))
        await until(lambda: live().get("failed") == 0)
        refused = CliRunner().invoke(run_command, ["requeue", str(folder)])
        assert "no episode" in refused.output
        assert refused.exit_code == 1
        client.gate.set()

    run = playing(folder, steps, failures=4)
    assert len(run.rows()) == 8
    assert not any(row.failed for row in run.rows())
    assert len(run.rows(attempts=True)) == 12


@pytest.mark.slow
def test_fewer_episodes_at_a_time(tmp_path: Path) -> None:
    """One begins after two have ended; more than the run began with are refused, with what to do."""
    folder = tmp_path / "run"

    async def steps(client: GatedClient, live: Callable[[], dict[str, Any]]) -> None:
        await until(lambda: len(live().get("running", ())) == 2)
        ask("retune", str(folder), "--concurrency", "1", "--retries", "3")
        await until(lambda: (live().get("concurrency"), live().get("retries")) == (1, 3))
        refused = CliRunner().invoke(run_command, ["retune", str(folder), "-c", "3"])
        assert refused.exit_code == 2
        assert "began with 2" in refused.output
        assert CliRunner().invoke(run_command, ["retune", str(folder)]).exit_code == 2
        (folder / "control.json").write_text('{"paused": "yes"}')
        await until(lambda: "paused must be" in live().get("problem", ""))
        client.gate.set()

    assert len(playing(folder, steps).rows()) == 8
    refused = CliRunner().invoke(run_command, ["pause", str(folder)])
    assert refused.exit_code == 1
    assert "is finished" in refused.output


@pytest.mark.parametrize(
    "text", ["", "[]", '{"paused": 1}', '{"concurrency": 0}', '{"retries": -1}', '{"requeue": null}', '{"nice": true}']
)
def test_what_is_no_control_is_refused(tmp_path: Path, text: str) -> None:
    """By name, and without touching the run."""
    (tmp_path / "control.json").write_text(text)
    with pytest.raises(RunFolderError, match=r"control\.json"):
        RunControl.read(tmp_path)
    RunControl.clear(tmp_path)
    assert RunControl.read(tmp_path) == RunControl()
