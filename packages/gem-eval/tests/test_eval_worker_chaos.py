"""Workers and evaluations that are killed at random, round after round."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gem_eval.fake_model import FakeModelProcess
from gem_eval.runs import RunFolder, canonical_lines

sys.path.insert(0, str(Path(__file__).parent))
from steady_figures import figures

pytestmark = [pytest.mark.nightly, pytest.mark.skipif(os.name != "posix", reason="workers need a POSIX system")]

GUESS = "game:GuessTheNumber-v0"
EPISODES = 600


def evaluation(*arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "gem", "eval", *arguments]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def live(folder: Path) -> dict[str, Any]:
    return (RunFolder(folder).live or {}) if (folder / "run.json").exists() else {}


async def disturbed(process: subprocess.Popen[bytes], folder: Path, chance: random.Random) -> bool:
    """Wait for more episodes, and kill a worker or the evaluation; return whether it was the latter, or the end."""

    async def wait() -> bool:
        while (pids := live(folder).get("workers", [])) == [] or live(folder).get("pid") != process.pid:
            if process.poll() is not None:
                return False
            await asyncio.sleep(0.02)
        wanted = len(RunFolder(folder).rows()) + chance.randrange(25)
        while len(RunFolder(folder).rows()) < wanted and process.poll() is None:
            await asyncio.sleep(0.02)
        pids = live(folder).get("workers") or pids
        return process.poll() is None and _kill(chance.choice([process.pid, *pids, *pids]))

    return not await asyncio.wait_for(wait(), 120) or process.poll() is not None


def _kill(pid: int) -> bool:
    with suppress(ProcessLookupError):  # it was replaced since
        os.kill(pid, signal.SIGKILL)
    return True


@pytest.mark.parametrize("seed", range(3))
def test_killed_workers_and_evaluations_change_no_episode(tmp_path: Path, seed: int) -> None:
    """Every episode once, as without any kill; the statistics are those of an undisturbed run; no journal is left."""
    chance = random.Random(seed)
    folder = tmp_path / "killed"
    with FakeModelProcess(["--policy", GUESS, "--latency", "0.05"]) as server:
        options = (GUESS, "-n", str(EPISODES), "-g", "2", "-u", server.url, "-c", "8")
        with evaluation(*options, "--out", str(tmp_path / "whole")) as process:
            assert process.wait(300) == 0
        begin = (*options, "--workers", "2", "--out", str(folder))
        killed = 0
        while killed < 30:
            arguments = ("--resume", str(folder)) if (folder / "run.json").exists() else begin
            with evaluation(*arguments) as process:
                ended = False
                while killed < 30 and not ended:
                    ended = asyncio.run(disturbed(process, folder, chance))
                    killed += 1
                process.kill()
            if process.returncode == 0:
                break
        for _ in range(3):  # an episode that was lost three times has failed, and is played anew
            with evaluation("--resume", str(folder)) as process:
                assert process.wait(300) == 0
    whole, run = RunFolder(tmp_path / "whole"), RunFolder(folder)
    assert list(canonical_lines(run)) == list(canonical_lines(whole))
    attempts = run.rows(attempts=True)
    assert len(attempts) == EPISODES + sum(row.failed for row in attempts)
    assert figures(run) == figures(whole)
    assert killed >= 10
    assert not list(folder.glob("unfinished*"))
