"""The files of examples/trainers in the trainers' own packages, as far as these run without a GPU."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from trainer_table import TRAINERS

from gem.trajectory import Trajectory
from gem_rl.adapters import TextEpisode

ROOT = Path(__file__).parents[3]
DRIVERS = Path(__file__).parent / "trainer_drivers"
EXAMPLES = ROOT / "examples" / "trainers"
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the examples are not part of the package"),
]
NAMES = "core", "cli", "hub-client", "processes", "questions", "rollout", "eval", "rl", "envs-games"
UV = [sys.executable, "-m", "uv"]
OURS = [ROOT / "packages" / f"gem-{name}" for name in NAMES]


def run(python: Path | str, driver: str, *paths: Path, arguments: list[str] | None = None) -> list[dict[str, float]]:
    """Run a driver and return what it printed."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, [EXAMPLES, DRIVERS, *paths])),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
    }
    command = [str(python), str(DRIVERS / f"drive_{driver}.py"), str(EXAMPLES), *(arguments or [])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def installed(arguments: list[str]) -> None:
    """Install packages with uv, or skip the test where no package index can be reached."""
    pytest.importorskip("uv", reason="NOT TESTED: uv is not installed")
    done = subprocess.run([*UV, "pip", "install", "--quiet", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"the packages could not be had: {done.stderr[-300:]}")


OF_ITS_OWN = {one.driver: one for one in TRAINERS if one.test.endswith("test_episodes_in_an_environment_of_its_own")}


@pytest.mark.parametrize("driver", OF_ITS_OWN)
def test_episodes_in_an_environment_of_its_own(driver: str, tmp_path: Path) -> None:
    """The package with all that it needs, and ours beside it; each episode ends as it does without the package."""
    pytest.importorskip("uv", reason="NOT TESTED: uv is not installed")
    trainer = OF_ITS_OWN[driver]
    venv = tmp_path / "venv"
    command = [*UV, "venv", "--quiet", "--no-python-downloads", "--python", trainer.python or sys.executable, str(venv)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"NOT TESTED: there is no Python {trainer.python}: {done.stderr[-300:]}")
    python = venv / "bin" / "python"
    installed(["--python", str(python), *trainer.requires, *map(str, OURS)])
    found = run(python, driver)
    played = [guessed(seed) for seed in range(3)]
    assert [one["return"] for one in found] == pytest.approx([one.episode_return for one in played])
    assert [one["turns"] for one in found] == [len(one) for one in played]


def guessed(seed: int) -> Trajectory:
    """Return the episode in which 1, 2, 3 … are guessed."""
    episode = TextEpisode("game:GuessTheNumber-v0-easy")
    episode.begin(seed)
    guess = 1
    while not episode.step(f"\\boxed{{{guess}}}").done:
        guess += 1
    episode.close()
    return episode.trajectory


WITHOUT_TORCH = {one.driver: one for one in TRAINERS if one.test.endswith("test_episodes_beside_the_installed_torch")}
"""Put beside the torch and transformers that are installed, without what else the packages ask for."""


@pytest.mark.parametrize("driver", WITHOUT_TORCH)
def test_episodes_beside_the_installed_torch(driver: str, tmp_path: Path) -> None:
    """Their whole requirements are gigabytes for GPUs."""
    for needed in ("torch", "transformers", "peft", "aiohttp"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    packages = WITHOUT_TORCH[driver].requires
    installed(["--python", sys.executable, "--target", str(tmp_path), "--no-deps", *packages])
    found: Any = run(sys.executable, driver, tmp_path)
    if driver == "tinker":
        assert [len(group) for group in found["returns"]] == [3] * 4
        assert found["datums"] >= 3
    elif driver == "verl":
        one, several = found
        assert (one["rows"], one["episodes"]) == (4, 4)
        assert several["rows"] > several["episodes"] == 4
    else:
        assert [one["reward"] for one in found] == pytest.approx([one["return"] for one in found])
        assert any(one["success"] for one in found)


def test_corrections_are_verls(tmp_path: Path) -> None:
    """Importance weights at both levels, truncated and masked, and both estimates of KL, on 50 random batches.

    verl adds 1e-8 to the number of tokens, so that means differ by as much.
    """
    pytest.importorskip("torch", reason="NOT TESTED: PyTorch is not installed")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(tmp_path), "verl==0.9.1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"verl could not be had: {done.stderr[-300:]}")
    (wheel,) = tmp_path.glob("*.whl")
    (found,) = run(sys.executable, "verl_corrections", arguments=[str(wheel)])
    assert found["cases"] > 40
    assert found["largest"] < 1e-6
