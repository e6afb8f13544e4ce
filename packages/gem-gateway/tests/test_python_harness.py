"""``python:MODULE:FUNCTION``: functions that play, and functions that do what they should not."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from gem_eval.clients import ScriptedClient
from gem_gateway.harnesses import harness_policy
from gem_rollout import RolloutEngine, plan_episodes
from gem_rollout.trajectory import Trajectory

GAME = "game:GuessTheNumber-v0-easy"


@pytest.fixture(autouse=True)
def prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets programs find the functions where the evaluation finds modules."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


def played(function: str, *, seconds: float = 600.0) -> Trajectory:
    """Return an episode that a function has played."""
    make_policy = harness_policy(f"python:{function}", ScriptedClient(["x"]), seconds=seconds)

    async def run() -> Trajectory:
        async with RolloutEngine(plan_episodes(GAME, 1, seed=3), make_policy, concurrency=1) as engine:
            return await anext(aiter(engine))

    return asyncio.run(run())


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["halves", "prints", "halves_later", "Halving.play"])
def test_a_function_plays(name: str) -> None:
    """Async or not, in a class or not, whatever it prints; it runs outside of boxes."""
    record = played(f"python_agents:{name}")
    assert record.outcome == "succeeded", record.failure
    assert record.transitions[0].metadata["harness_box"] == "none"


@pytest.mark.slow
def test_what_a_function_has_started_ends_with_it() -> None:
    """A process in a session of its own does not outlive the episode."""
    record = played("python_agents:forks")
    process = str(record.transitions[0].action).split()[1]
    found = Path(f"/proc/{process}/stat")
    assert not found.exists() or found.read_text().rpartition(")")[2].split()[0] in "ZX"


FAULTS = {
    "raises": "python_agents:raises raised ValueError: no plan, in line ",
    "stops_its_loop": "python_agents:stops_its_loop raised RuntimeError: Event loop stopped",
    "closes_its_loop": "python_agents:closes_its_loop raised RuntimeError: Cannot close a running event loop",
    "yields": "python_agents:yields is a generator; the function must return its final answer",
    "number": "python:python_agents:number: number is int, no function of a task",
    "nothing": "python:python_agents:nothing: python_agents has no 'nothing'",
    "exits": "python ended with exit code 3 before its first call",
}


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", FAULTS)
def test_a_function_that_never_played_is_told_in_words(name: str) -> None:
    """The failure ends with what is wrong, and is none of the agent's skill."""
    record = played(f"python_agents:{name}")
    assert record.outcome == "unknown"
    assert record.failure is not None
    assert record.failure.kind == "harness_not_started"
    assert FAULTS[name] in (record.failure.message if name == "exits" else record.failure.message.splitlines()[-1])


@pytest.mark.nightly
def test_a_module_that_cannot_be_imported_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing one, and one whose import fails."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "broken_agent.py").write_text("raise KeyError('settings')\n")
    for name, said in (
        ("no_such_agent", "importing no_such_agent raised ModuleNotFoundError: No module named 'no_such_agent'"),
        ("broken_agent", "importing broken_agent raised KeyError: 'settings', in line 1 of "),
    ):
        record = played(f"{name}:play")
        assert record.failure is not None
        assert said in record.failure.message.splitlines()[-1]


@pytest.mark.nightly
def test_a_function_that_plays_and_then_fails_did_not_succeed() -> None:
    """Its calls are recorded; one that never ends is ended by its time; a returned object is its text."""
    failed = played("python_agents:raises_later")
    assert (failed.outcome, failed.stop_reason, len(failed.transitions)) == ("incomplete", "agent_ended", 1)
    hung = played("python_agents:hangs", seconds=2.0)
    assert (hung.outcome, hung.stop_reason) == ("incomplete", "seconds")
    answered = played("python_agents:answers")
    assert answered.transitions[0].action == "{'number': 3, 'half': '\\ud800'}"


@pytest.fixture(scope="module")
def foreign_python() -> Iterator[str]:
    """A Python that has three agent libraries beside this one's packages."""
    pytest.importorskip("uv", reason="NOT TESTED: uv is not installed")
    with TemporaryDirectory() as folder:
        python = Path(folder, "bin", "python")
        subprocess.run([sys.executable, "-m", "uv", "venv", "-q", "--clear", "-p", sys.executable, folder], check=True)
        libraries = ("openai-agents", "pydantic-ai-slim[openai,mcp]", "smolagents[openai]")
        install = [sys.executable, "-m", "uv", "pip", "install", "-q", "-p", str(python), *libraries]
        subprocess.run(install, check=True)
        (site,) = Path(folder).glob("lib/python*/site-packages")
        ours = [path for path in sys.path if path.endswith("site-packages")]
        lines = "".join(f"import site; site.addsitedir({path!r})\n" for path in ours)
        (site / "zz_packages.pth").write_text(lines)
        yield str(python)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("library", "env_id"),
    [("openai_agents", "desk:Retail-v0"), ("pydantic_ai", "desk:Retail-v0"), ("smolagents", GAME)],
)
def test_an_agent_of_a_foreign_library_plays_as_a_function(library: str, env_id: str, foreign_python: str) -> None:
    """As its users write one, with the episode's tools by MCP or one of its own; the model plays as the reference."""
    command = ["-m", "gem", "harness", "check", f"python:foreign_agents:{library}", env_id, "--json"]
    done = subprocess.run(
        [foreign_python, *command], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert [one["result"] for one in json.loads(done.stdout)["episodes"]] == ["solved"]
