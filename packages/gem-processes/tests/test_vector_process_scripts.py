"""Process mode inside programs that are themselves started by multiprocessing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cloudpickle", reason="classes of a script are sent by value with cloudpickle")

SCRIPT = """
import multiprocessing

import gem
from gem.env_spec import EnvSpec


class Once(gem.Env):
    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        return f"seed {seed}", {}

    def step(self, action):
        return "", 1.0, True, False, {}


def play():
    with gem.make_vec([EnvSpec(id="test:Once-v0", entry_point=Once)] * 2, mode="process") as envs:
        print(envs.reset(seed=3)[0])


if __name__ == "__main__":
    print("the script runs")
    child = multiprocessing.get_context("spawn").Process(target=play)
    child.start()
    child.join()
    raise SystemExit(child.exitcode)
"""


def test_a_class_of_the_script_plays_in_processes_of_a_spawned_process(tmp_path: Path) -> None:
    """The spawned process has the script under another name, ``__mp_main__``; no worker runs the script again."""
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "the script runs\n['seed 3', 'seed 4']\n"), done.stderr
