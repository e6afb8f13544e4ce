"""Engines that fail: one that restarts in mid-episode, stops for good, or never answers, and what is left behind."""

from __future__ import annotations

import gc
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import NoReturn

import pytest

from gem_terminal import TerminalEnv
from gem_terminal.engines import Engine
from gem_terminal.engines.cgroups import groups
from gem_terminal.engines.docker import DockerEngine
from gem_terminal.engines.docker.images import LABEL
from gem_terminal.engines.namespace import NamespaceEngine, spawning
from gem_terminal.engines.namespace import engine as namespace_engine
from gem_terminal.engines.owner import ContainerOwner
from gem_terminal.errors import EngineError
from gem_terminal.task import Image, ResourceLimits

# The SDK leaves the sockets open with which it did not reach an engine.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

BASE = "debian:bookworm-slim"
FILES = {
    "task.toml": "[agent]\ntimeout_sec = 600.0\n[environment]\nnetwork_mode = 'no-network'\nmemory_mb = 256\n",
    "instruction.md": "Wait.",
    "environment/Dockerfile": "FROM debian:bookworm-slim\nRUN mkdir /desk\nWORKDIR /desk\n",
    "tests/test.sh": "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n",
}


def write_task(folder: Path) -> Path:
    """Write a task that every agent solves."""
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def open_descriptors() -> int:
    """Return how many this process has, once no thread that looks at disks, with pipes, is in the middle of a look."""
    for thread in threading.enumerate():
        if thread.name == "gem-terminal disk watch":  # it ends when there is no container left to look at
            thread.join(60)
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208  # there are names to count, and no paths


class PrivateDocker:
    """A Docker engine of its own, which can be stopped while others use the machine's."""

    def __init__(self, folder: Path) -> None:
        self.url = f"unix://{folder}/socket"
        # In a network of its own: without a bridge, dockerd would remove that of the machine's engine.
        self._command = [
            "unshare", "--net", "dockerd", f"--data-root={folder}/data", f"--exec-root={folder}/exec",
            f"--pidfile={folder}/pid", f"--host={self.url}", "--bridge=none", "--iptables=false", "--ip6tables=false",
            "--shutdown-timeout=1",
        ]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it says that it listens."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert self._process.stderr is not None
        said = b""
        for line in self._process.stderr:
            said = said[-3000:] + line
            if b"API listen on" in line:
                self._drain = threading.Thread(target=self._process.stderr.read)
                self._drain.start()  # lest it waits for somebody to read what it says
                return
        self._process.communicate()
        raise EngineError(f"a private dockerd does not start: {said.decode(errors='replace')}")

    def stop(self) -> None:
        """Stop it and wait until it has gone."""
        assert self._process is not None
        self._process.terminate()
        self._process.wait()
        self._drain.join()
        assert self._process.stderr is not None
        self._process.stderr.close()


@pytest.fixture(scope="module")
def private_docker(missing_engine: Callable[[str, object], NoReturn]) -> Iterator[PrivateDocker]:
    """A private engine that runs and has the smallest image.

    Its folder is none of pytest's, which would be removed with what is mounted in it if a test run is killed.
    """
    root = os.environ.get("GEM_TERMINAL_TEST_ROOT")
    if os.getuid() != 0 or shutil.which("dockerd") is None or not root:
        missing_engine("docker", "a private one needs root, dockerd and GEM_TERMINAL_TEST_ROOT")
    folder = Path(tempfile.mkdtemp(prefix="gem-terminal-docker-"))
    docker = PrivateDocker(folder)
    try:
        docker.start()
    except EngineError as error:
        shutil.rmtree(folder, ignore_errors=True)
        missing_engine("docker", error)
    try:
        pack = ["tar", "-C", root, "-c", "."]
        with subprocess.Popen(pack, stdout=subprocess.PIPE) as packing:
            subprocess.run(
                ["docker", "-H", docker.url, "import", "-", BASE], stdin=packing.stdout, check=True, capture_output=True
            )
        yield docker
    finally:
        docker.stop()
        for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
            if line.split()[1].startswith(f"{folder}/"):
                subprocess.run(["umount", "--lazy", line.split()[1]], check=False)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What a test leaves is collected before the next one, whose warnings count."""
    yield
    gc.collect()


@pytest.fixture
def namespace(new_engine: Callable[[], NamespaceEngine]) -> NamespaceEngine:
    """A namespace engine of its own."""
    return new_engine()


@pytest.mark.nightly
def test_a_docker_engine_that_restarts(private_docker: PrivateDocker, tmp_path: Path) -> None:
    """The episode is truncated with an error, and the next one works with the same engine object."""
    engine = DockerEngine(private_docker.url)
    with TerminalEnv(path=write_task(tmp_path / "task"), engine=engine) as env:
        env.reset(seed=0)
        assert env.step("<bash>echo on</bash>")[0] == "on\n[exit code 0]"
        private_docker.stop()
        private_docker.start()
        *_, terminated, truncated, info = env.step("<bash>echo off</bash>")
        assert (terminated, truncated) == (False, True), info
        assert info["error"]
        env.reset()
        assert env.step("<bash>echo on again</bash>")[0] == "on again\n[exit code 0]"
        assert env.step("<finish/>")[1] == 1.0
    assert engine.client.containers.list(all=True, sparse=True) == []
    engine.close()


@pytest.mark.nightly
def test_a_docker_engine_that_restarts_during_a_command(private_docker: PrivateDocker, tmp_path: Path) -> None:
    """The command ends when the engine does, long before its time."""
    engine = DockerEngine(private_docker.url)
    with TerminalEnv(path=write_task(tmp_path / "task"), engine=engine) as env:
        env.reset(seed=0)
        env.step("<bash>mkfifo begun</bash>")
        assert env._session is not None
        container = env._session._container

        def restart() -> None:
            container.run(("cat", "/desk/begun"), seconds=30)
            private_docker.stop()
            private_docker.start()

        restarting = threading.Thread(target=restart)
        restarting.start()
        *_, truncated, info = env.step("<bash>echo > begun; sleep 600</bash>")
        restarting.join()
        assert truncated
        assert info["error"]
        env.reset()
        assert env.step("<finish/>")[1] == 1.0
    engine.close()


@pytest.mark.nightly
def test_a_docker_engine_that_stops_for_good(private_docker: PrivateDocker, tmp_path: Path) -> None:
    """Whatever is asked of it is an EngineError that says so, also of one that never ran."""
    engine = DockerEngine(private_docker.url)
    with TerminalEnv(path=write_task(tmp_path / "task"), engine=engine) as env:
        env.reset(seed=0)
        private_docker.stop()
        try:
            *_, truncated, info = env.step("<bash>true</bash>")
            assert truncated
            assert info["error"]
            for refused in (env.reset, engine.reap, engine.about, lambda: engine.start(BASE, ResourceLimits())):
                with pytest.raises(EngineError):
                    refused()
            with pytest.raises(EngineError, match="no Docker engine answers"):
                DockerEngine(private_docker.url).check()
        finally:
            private_docker.start()
    engine.reap()  # what could not be removed before is now
    assert engine.client.containers.list(all=True, sparse=True) == []
    engine.close()


def test_a_docker_engine_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that takes connections and says nothing counts as gone."""
    monkeypatch.setattr("gem_terminal.engines.docker.engine._ANSWERS_IN", 0.2)
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(tmp_path / "mute"))
        mute.listen()
        with pytest.raises(EngineError, match="no Docker engine answers"):
            DockerEngine(f"unix://{tmp_path}/mute").check()


@pytest.mark.parametrize("there", [False, True])
def test_a_docker_engine_that_is_not_there_leaves_nothing_open(tmp_path: Path, there: bool) -> None:
    """Neither where its socket is missing nor where nobody listens on it any more."""
    if there:
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(tmp_path / "gone"))
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(EngineError, match="no Docker engine answers") as refusal:
        DockerEngine(f"unix://{tmp_path}/gone").check()
    assert len(list(Path("/proc/self/fd").iterdir())) == before, refusal.value


def test_what_gone_processes_left_is_removed(private_docker: PrivateDocker) -> None:
    """Containers in every state and volumes that carry the label of a process that has gone, and no others."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    ours = ContainerOwner.this_process()
    labels = [{LABEL: str(ContainerOwner(ours.host, gone.pid, "1"))}, {LABEL: str(ours)}, {"other": "label"}]
    engine = DockerEngine(private_docker.url)
    client = engine.client
    kept, left = [], []
    for label in labels:
        of_it = [client.containers.create(BASE, ["sleep", "600"], labels=label, network_mode="none") for _ in range(4)]
        of_it[1].start()
        of_it[2].start()
        of_it[2].pause()
        of_it[3].start()
        of_it[3].kill()
        volume = client.volumes.create(labels=label)
        (left if label is labels[0] else kept).extend([*of_it, volume])
    try:
        assert engine.reap() == 4
        assert engine.reap() == 0
        present = {each.id for each in [*client.containers.list(all=True, sparse=True), *client.volumes.list()]}
        assert present == {each.id for each in kept}
    finally:
        for each in kept:
            each.remove(force=True)
        engine.close()


def test_many_reap_at_once(private_docker: PrivateDocker) -> None:
    """What somebody else removes at this moment is no error."""
    engine = DockerEngine(private_docker.url)
    for _ in range(4):
        engine.client.containers.create(BASE, ["true"], labels={LABEL: "nobody/0/0"}, network_mode="none")
    counts: list[int] = []

    def reap() -> None:
        another = DockerEngine(private_docker.url)
        counts.append(another.reap())
        another.close()

    threads = [threading.Thread(target=reap) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(counts) == 4
    assert engine.client.containers.list(all=True, sparse=True) == []
    engine.close()


def test_a_spawner_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork server that ends at once is an error of the engine."""
    monkeypatch.setattr(spawning, "bare_python", lambda module: [sys.executable, "-c", "raise SystemExit(3)"])
    with pytest.raises(EngineError, match="the spawner of the namespace engine cannot start"):
        spawning.Spawner(rootless=False)


@pytest.mark.parametrize(
    ("said", "trials"), [("bwrap: Unable to apply mount flags: remount: No such file", 3), ("bwrap: not allowed", 1)]
)
def test_a_mount_that_ends_meanwhile_is_no_lack_of_rights(
    namespace: NamespaceEngine, monkeypatch: pytest.MonkeyPatch, said: str, trials: int
) -> None:
    """The trial of the engine takes all mounts of the machine along, those of a neighbour's containers among them."""
    tried: list[object] = []

    def trial(spawner: spawning.Spawner) -> tuple[int, str]:
        tried.append(spawner)
        return (0, "") if len(tried) == 3 else (1, said)

    monkeypatch.setattr(namespace_engine, "_trial", trial)
    with nullcontext() if trials == 3 else pytest.raises(EngineError, match=r"create namespaces .*bwrap: not allowed"):
        namespace_engine._tried_spawner().close()
    assert len(tried) == trials


def test_a_spawner_that_is_killed(namespace: NamespaceEngine, tmp_path: Path) -> None:
    """Its containers go with it, the episode is truncated with an error, and the next one has a new spawner."""
    with TerminalEnv(path=write_task(tmp_path / "task"), engine=namespace) as env:
        env.reset(seed=0)
        assert env._session is not None
        first = env._session._container._pid  # type: ignore[attr-defined]
        ends = os.pidfd_open(first)
        namespace.spawner.server.kill()
        assert select.select([ends], [], [], 30)[0]
        os.close(ends)
        *_, truncated, info = env.step("<bash>true</bash>")
        assert truncated
        assert info["error"]
        env.reset()
        assert env.step("<bash>echo on</bash>")[0] == "on\n[exit code 0]"
        assert env.step("<finish/>")[1] == 1.0


def test_a_spawner_that_is_stopped(namespace: NamespaceEngine, monkeypatch: pytest.MonkeyPatch, small: Image) -> None:
    """One that does not answer counts as gone, and is replaced."""
    reference = namespace.prepare(small)
    container = namespace.start(reference, ResourceLimits())
    monkeypatch.setattr("gem_terminal.engines.namespace.spawning._ANSWERS_IN", 0.2)
    namespace.spawner.server._process.send_signal(signal.SIGSTOP)
    with pytest.raises(EngineError, match="did not answer"):
        container.run(("true",), seconds=30)
    monkeypatch.undo()
    container.remove()
    with namespace.start(reference, ResourceLimits()) as another:
        assert another.run(("echo", "on"), seconds=30).output == b"on\n"


def test_a_request_that_is_too_large(namespace: NamespaceEngine, small: Image) -> None:
    """A command or an environment that the spawner cannot be sent is refused, and the container goes on."""
    with namespace.start(namespace.prepare(small), ResourceLimits()) as container:
        with pytest.raises(EngineError, match="size limit"):
            container.run(("echo", "x" * (1 << 20)), seconds=30)
        with pytest.raises(EngineError, match="size limit"):
            container.run(("true",), seconds=30, environment={"X": "x" * (1 << 20)})
        assert (
            container.run(("sh", "-c", "echo ${#X}"), seconds=30, environment={"X": "x" * 100_000}).output
            == b"100000\n"
        )


@pytest.mark.every_engine
def test_no_descriptor_is_leaked(engine: Engine, small: Image) -> None:
    """After containers that lived, failed and were killed there are as many as before."""
    reference = engine.prepare(small)
    rounds = 30 if engine.name == "namespace" else 3

    def use() -> None:
        with engine.start(reference, ResourceLimits(memory=64 << 20)) as container:
            container.run(("true",), seconds=30)
            container.run(("no-such-command",), seconds=30)
            container.open(("sleep", "60")).close()
            container.kill_all()

    for _ in range(3):  # connections to an engine are kept, a few of them
        use()
    before = open_descriptors()
    for _ in range(rounds):
        use()
    assert open_descriptors() <= before


def test_a_container_that_cannot_begin(namespace: NamespaceEngine, tmp_path: Path) -> None:
    """It leaves nothing behind, neither descriptors nor control groups, and says why."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(EngineError):
        namespace.start_on([tmp_path / "empty"], ResourceLimits(), {}, {})
    before = open_descriptors()
    for layer in (tmp_path / "empty", tmp_path / "missing"):
        with pytest.raises(EngineError, match="could not start"):
            namespace.start_on([layer], ResourceLimits(), {}, {})
    assert open_descriptors() <= before
    assert ContainerOwner.this_process() not in {owner for _, owner in groups()}
