"""``gem eval --mode``: the same episodes in every mode, and a run that outlives its worker processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gem_eval.cli.eval import eval_command
from gem_eval.runs import RunFolder, canonical_lines

GUESS = "game:GuessTheNumber-v0-easy"
HANGMAN = "game:Hangman-v0-easy"

KILLING_AGENT = '''
import os, signal
from pathlib import Path
from gem.policies import make_policy

acts = 0

def children(process):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rpartition(")")[2].split()[1]) == process:
                found.append(int(stat.parent.name))
        except OSError:
            continue
    return found

class Agent:
    """Plays at random, which asks the environment, and kills all worker processes once."""

    def __init__(self, env):
        self.policy = make_policy("random", env)

    def reset(self, observation, info):
        self.policy.reset(observation, info)

    def act(self, observation, info):
        global acts
        acts += 1
        if acts == 25:
            workers = [worker for server in children(os.getpid()) for worker in children(server)]
            Path("killed").write_text(" ".join(map(str, workers)))
            for worker in workers:
                os.kill(worker, signal.SIGKILL)
        return self.policy.act(observation, info)
'''


def alive(process: int) -> bool:
    """Return whether a process runs; one that nobody has reaped yet does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="process mode needs Linux")
def test_every_mode_records_the_same_episodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeds, observations, actions and results of the record are equal."""
    monkeypatch.chdir(tmp_path)
    recorded = {}
    for mode in ("thread", "process", "auto"):
        arguments = [GUESS, HANGMAN, "--agent", "random", "-n", "4", "-c", "3", "--mode", mode, "--out", mode]
        result = CliRunner().invoke(eval_command, arguments)
        assert result.exit_code == 0, result.output
        recorded[mode] = list(canonical_lines(RunFolder(mode)))
    assert len(recorded["thread"]) == 8
    assert recorded["process"] == recorded["auto"] == recorded["thread"]


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="process mode needs Linux")
def test_a_run_outlives_its_workers(tmp_path: Path) -> None:
    """The episodes that were lost with them are played again, and no process is left in the end."""
    (tmp_path / "killing.py").write_text(KILLING_AGENT)
    command = [
        sys.executable,
        "-m",
        "gem",
        "eval",
        HANGMAN,
        "--agent",
        "killing:Agent",
        "-n",
        "40",
        "-c",
        "6",
        "--retries",
        "5",
    ]
    ended = subprocess.run(
        [*command, "--mode", "process", "--out", "run"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    killed = [int(word) for word in (tmp_path / "killed").read_text().split()]
    assert killed
    rows = RunFolder(tmp_path / "run").rows()
    assert {row.seed: row.failure for row in rows} == dict.fromkeys(range(40))
    assert not any(alive(process) for process in killed)
