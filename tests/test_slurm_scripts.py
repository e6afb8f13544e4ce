"""The scripts for Slurm: what a linter says of them, and what they do in a cluster of two nodes on this machine."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from gem_eval import RunFolder
from gem_eval.cli.results import summary_of

ROOT = Path(__file__).parents[1]
ARRAY = ROOT / "packages/gem-eval/deploy/slurm-array.sbatch"
RAY = ROOT / "packages/gem-ray/deploy/slurm-ray.sbatch"
DAEMONS = ("munged", "slurmctld", "slurmd", "sbatch")
GUESS = "game:GuessTheNumber-v0-easy"

CONFIGURATION = """
ClusterName=gem
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort={port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/controller.log
SlurmdLogFile={folder}/%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdTimeout=0
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={first} CPUs=8
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={second} CPUs=8
PartitionName=all Nodes=n1,n2 Default=YES State=UP
"""

USE_RAY = f"""
import ray

import gem

ray.init()
envs = gem.make_vec(["{GUESS}"] * 4, mode="ray")
print("observations:", len(envs.reset(seed=0)[0]), "nodes:", len(ray.nodes()))
envs.close()
"""


SLOW_AGENT = """
import os
import time


class Slow:
    def __init__(self, env):
        pass

    def act(self, observation, info):
        time.sleep(float(os.environ.get("SECONDS_OF_A_TURN", "0.5")))
        return "1"
"""


@pytest.mark.parametrize("script", [ARRAY, RAY], ids=lambda path: path.name)
def test_a_linter_has_nothing_to_say(script: Path) -> None:
    """Neither does it find an unquoted word nor a misspelt variable."""
    checked = subprocess.run(
        [
            Path(sys.executable).with_name("shellcheck"),
            "--enable=all",
            "--exclude=SC2250,SC2154",
            script,
        ],  # braces; variables that Slurm sets
        capture_output=True,
        text=True,
        check=False,
    )
    assert not checked.stdout


def daemon(*arguments: object) -> str:
    """Return the path of a daemon's program and what it is started with."""
    return subprocess.run(list(map(str, arguments)), capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, reserve_port: Callable[[], int]) -> Iterator[Mapping[str, str]]:
    """The environment of commands that reach a controller and two nodes of eight pretended processors each."""
    if os.geteuid() or not all(map(shutil.which, DAEMONS)):
        pytest.skip("Slurm's daemons run as root, from Debian's slurmctld, slurmd, slurm-client and munge")
    folder = tmp_path_factory.mktemp("slurm")
    ports = {name: reserve_port() for name in ("port", "first", "second")}
    (folder / "state").mkdir()
    (folder / "munge").mkdir(mode=0o700)
    (folder / "munge/key").write_bytes(os.urandom(1024))
    (folder / "munge/key").chmod(0o600)
    host = daemon("hostname", "-s").strip()
    configuration = folder / "slurm.conf"
    configuration.write_text(CONFIGURATION.format(host=host, folder=folder, **ports))
    environment = {**os.environ, "SLURM_CONF": str(configuration)}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", str(configuration))
        files = {name: folder / "munge" / name for name in ("key", "pid", "log", "seed")}
        daemon(
            "munged",
            "--force",
            f"--socket={folder}/munge.socket",
            *(f"--{option}-file={files[option]}" for option in ("key", "pid", "log", "seed")),
        )
        stack.callback(end, files["pid"])
        daemon("slurmctld")
        stack.callback(end, folder / "controller.pid")
        for node in ("n1", "n2"):
            daemon("slurmd", "-N", node)
            stack.callback(end, folder / f"{node}.pid")
        until(lambda: daemon("sinfo", "--noheader", "--format=%T").split() == ["idle"], "two idle nodes")
        yield environment


def end(pid_file: Path) -> None:
    """End the daemon that has written its process id into a file."""
    with suppress(OSError, ValueError):
        os.kill(int(pid_file.read_text()), signal.SIGTERM)


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds, at most a minute."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, f"{what}: not within a minute"
        time.sleep(0.1)


def submit(cluster: Mapping[str, str], folder: Path, *arguments: object, wait: bool = True) -> str:
    """Submit a script, and return what its tasks printed."""
    command = ["sbatch", "--parsable", "--output=%A-%a.out", *(["--wait"] if wait else []), *map(str, arguments)]
    subprocess.run(command, cwd=folder, env=cluster, check=False, capture_output=True, timeout=500)
    return "".join(path.read_text() for path in sorted(folder.glob("*.out")))


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_the_tasks_of_an_array_play_one_evaluation(cluster: Mapping[str, str], tmp_path: Path) -> None:
    """Three tasks on two nodes; joined, the run has every seed once."""
    output = submit(cluster, tmp_path, "--array=1-3", ARRAY, "shards", GUESS, "--agent", "reference", "-n", 8)
    runs = sorted((tmp_path / "shards").iterdir())
    assert [run.name for run in runs] == ["1", "2", "3"], output
    subprocess.run(["gem", "run", "join", "joined", *runs], cwd=tmp_path, env=cluster, check=True, timeout=120)
    joined = RunFolder(tmp_path / "joined")
    assert sorted(row.seed for row in joined.rows()) == list(range(8))
    assert summary_of(joined).missing == 0


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_a_task_that_is_ended_goes_on_when_it_is_submitted_again(cluster: Mapping[str, str], tmp_path: Path) -> None:
    """The signal of a preemption reaches ``gem eval``, which keeps what it has, and the same command plays the rest."""
    (tmp_path / "slow_agent.py").write_text(SLOW_AGENT)
    arguments = ["--array=1-1", ARRAY, "shards", GUESS, "--agent", "slow_agent:Slow", "-n", 30, "-c", 1]
    submit(cluster, tmp_path, *arguments, wait=False)
    run = tmp_path / "shards/1"
    until(lambda: (run / "run.json").exists() and len(RunFolder(run).rows()) >= 2, "two episodes")
    subprocess.run(["scancel", "--name=gem-eval"], env=cluster, check=True, timeout=60)
    until(lambda: not daemon("squeue", "--noheader").strip(), "an empty queue")
    before = {row.seed for row in RunFolder(run).rows()}
    assert 2 <= len(before) < 30
    submit({**cluster, "SECONDS_OF_A_TURN": "0"}, tmp_path, *arguments)
    rows = RunFolder(run).rows(attempts=True)
    assert sorted(row.seed for row in rows) == list(range(30))


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_a_ray_cluster_runs_for_the_time_of_a_job(cluster: Mapping[str, str], tmp_path: Path) -> None:
    """On one node: two on one machine would both be the head. A busy machine may exceed Ray's own time limits."""
    (tmp_path / "use_ray.py").write_text(USE_RAY)
    patient = {**cluster, "RAY_agent_register_timeout_ms": "300000", "RAY_gcs_server_port_wait_time_s": "300"}
    output = submit(patient, tmp_path, "--nodes=1", "--cpus-per-task=2", RAY, "python", "use_ray.py")
    assert "observations: 4 nodes: 1" in output
