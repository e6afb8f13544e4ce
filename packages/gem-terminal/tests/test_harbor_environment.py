"""Our engines as an environment of Harbor, with the published package.

Harbor needs Python 3.12 or later. ``GEM_HARBOR_PYTHON`` names an interpreter that has ``harbor`` and this package; or
else these tests install both into an environment of their own, if such a Python is on the machine.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gem_terminal import TerminalEnv
from gem_terminal.engines import Engine

WITH_HARBOR = "GEM_HARBOR_PYTHON"
TASKS = Path(__file__).parents[1] / "src" / "gem_terminal" / "tasks"
PACKAGES = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def harbor_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with Harbor and this package."""
    if named := os.environ.get(WITH_HARBOR):
        return Path(named)
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip(f"Harbor cannot be had without uv; {WITH_HARBOR} names a Python that has it")
    folder = tmp_path_factory.mktemp("harbor")
    python = folder / "bin" / "python"
    local = [
        str(PACKAGES / name)
        for name in ("gem-hub-client", "gem-cli", "gem-core", "gem-processes", "gem-rollout", "gem-terminal")
    ]
    for command in (
        [uv, "venv", "--no-python-downloads", "--python", ">=3.12", str(folder), "--clear"],
        [uv, "pip", "install", "--python", str(python), "harbor", *(part for path in local for part in ("-e", path))],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"Harbor cannot be had here: {done.stderr.strip()[-300:]}")
    return python


@pytest.fixture
def variables(cache: Path, engine: Engine) -> dict[str, str]:
    """The variables of a process that uses the engine of the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "GEM_TERMINAL_IMAGES": str(cache), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}


def run(python: Path, folder: Path, variables: dict[str, str], *arguments: str) -> str:
    """The output of a command of Harbor."""
    command = [str(python.parent / "harbor"), *arguments]
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.nightly
@pytest.mark.slow(reason="installs Harbor, and starts its command twice")
@pytest.mark.parametrize(("agent", "reward"), [("oracle", 1.0), ("nop", 0.0)])
def test_harbor_plays_tasks_in_our_containers_with_its_own_agents_and_verifier(
    harbor_python: Path, engine: Engine, variables: dict[str, str], tmp_path: Path, agent: str, reward: float
) -> None:
    """Its oracle earns the reward of each task, and doing nothing earns none."""
    folder = tmp_path / "two tasks"
    for name in ("counter-service", "ledger"):
        shutil.copytree(TASKS / name, folder / name)
    place = "gem_terminal.harbor_environment:HarborEnvironment"
    run(harbor_python, tmp_path, variables, "run", "-p", str(folder), "-a", agent, "--env", place,
        "--ek", f"engine={engine.name}", "-n", "2")  # fmt: skip
    results = [json.loads(path.read_text()) for path in (tmp_path / "jobs").glob("*/*/result.json")]
    assert sorted(result["task_name"].rpartition("/")[2] for result in results) == ["counter-service", "ledger"]
    assert [result["exception_info"] for result in results] == [None, None]
    assert [result["verifier_result"]["rewards"]["reward"] for result in results] == [reward, reward]


@pytest.mark.nightly
@pytest.mark.slow(reason="installs Harbor, and starts its command")
@pytest.mark.only_engine("namespace")
@pytest.mark.parametrize("strategy", ["mean", "final"])
def test_harbor_gives_a_task_of_several_steps_the_rewards_that_we_give(
    harbor_python: Path, engine: Engine, variables: dict[str, str], tmp_path: Path, strategy: str, step_tasks: Any
) -> None:
    """Its own trial of three steps, whose second has a wrong solution, and our episode of the same folder."""
    wrong = {"steps/go on/solution/solve.sh": "#!/bin/bash\necho wrong >> notes\n"}
    toml = f'schema_version = "1.4"\nmulti_step_reward_strategy = "{strategy}"\n{step_tasks.TOML}'
    folder = step_tasks.write_task(tmp_path / "tasks" / "three-steps", **wrong, **{"task.toml": toml})
    place = "gem_terminal.harbor_environment:HarborEnvironment"
    run(harbor_python, tmp_path, variables, "run", "-p", str(folder), "-a", "oracle", "--env", place,
        "--ek", f"engine={engine.name}")  # fmt: skip
    (path,) = (tmp_path / "jobs").glob("*/*/result.json")
    theirs = json.loads(path.read_text())
    with TerminalEnv(path=folder, engine=engine, warm=0) as env:
        _, info = step_tasks.solve(env)
    steps = [(step["step_name"], (step["verifier_result"] or {}).get("rewards")) for step in theirs["step_results"]]
    assert steps == [(step["name"], step["rewards"]) for step in info["steps"]]
    assert theirs["verifier_result"]["rewards"] == pytest.approx(info["rewards"])
    assert info["steps"][1]["rewards"] == {"reward": 0.0}


@pytest.mark.nightly
@pytest.mark.slow(reason="installs Harbor")
def test_each_operation_of_harbors_interface_does_what_harbor_asks(
    harbor_python: Path, engine: Engine, variables: dict[str, str], tmp_path: Path
) -> None:
    """Commands, users, time limits, files and folders in both directions, among them special files."""
    environment = tmp_path / "environment"
    environment.mkdir()
    (environment / "Dockerfile").write_text("FROM debian:bookworm-slim\nRUN touch /built\n")
    script = Path(__file__).parent / "harbor_trial.py"
    done = subprocess.run(
        [str(harbor_python), str(script), str(tmp_path), engine.name],
        env=variables, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert told["exec"] == ["yes too\n/tmp\nroot\nto-stderr\n", 7]
    assert (told["user"], told["stdin"], told["alive"]) == ("nobody\n", "end\n", "alive\n")
    assert told["timeout"] == "Command timed out after 1 seconds"
    assert told["parallel"] == ["0\n", "1\n", "2\n", "3\n"]
    assert told["ran"] == "ran\nran\n"
    assert told["back"]
    assert told["names"] == ["hard", "in ner", "inside", "run.sh"]
    assert told["single"] == "echo ran"
    assert len(told["missing"]) == 2
    assert told["network"] == "0\n"
    assert told["kinds"] == [True, True]
