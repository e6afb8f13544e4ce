"""What holds of a container whoever lives in it: files that come and go, processes that are killed and counted."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from typing import Any

import pytest

from gem_terminal.engines import Container, Engine
from gem_terminal.engines.cgroups import groups
from gem_terminal.engines.namespace.container import NamespaceContainer
from gem_terminal.engines.namespace.spawning import Process
from gem_terminal.engines.owner import ContainerOwner
from gem_terminal.errors import EngineError
from gem_terminal.task import Image, ResourceLimits

pytestmark = pytest.mark.every_engine  # what a container is, is the engine's own code

LIMITS = ResourceLimits(memory=128 << 20, processes=64, disk=16 << 20)


@pytest.fixture
def container(engine: Engine, small: Image) -> Iterator[Container]:
    """A container of either engine."""
    with engine.start(engine.prepare(small), LIMITS) as made:
        yield made


def sh(container: Container, script: str) -> str:
    """Return what a script says that succeeds."""
    done = container.run(("bash", "-c", script), seconds=60)
    assert done.exit_code == 0, done.output
    return done.output.decode()


def wait_until_alone(container: Container) -> None:
    """Wait until nothing of the agent runs: a killed process is there until the kernel has taken it apart."""
    deadline = time.monotonic() + 60
    while container.survivors():
        assert time.monotonic() < deadline


def archive(**files: str) -> bytes:
    """Return an archive of files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as made:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            made.addfile(member, io.BytesIO(content.encode()))
    return packed.getvalue()


def test_a_file_replaces_what_waits_in_its_place(container: Container) -> None:
    """Nobody waits at the end of a pipe, and nothing is written where a link leads."""
    sh(container, "mkdir /desk; cd /desk; mkfifo pipe; echo kept > target; ln -s target link; ln -s / root")
    container.put(archive(pipe="new", link="new", root="new"), "/desk")
    assert sh(container, "cd /desk; cat pipe link root target; find . -type l") == "newnewnewkept\n"


@pytest.mark.only_engine("namespace")
@pytest.mark.parametrize("way", ["put", "get"])
def test_a_container_cannot_hold_up_its_files(
    engine: Engine, container: Container, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Root in it can stop what packs and unpacks there, which is given up then; on Docker nothing does so inside."""
    assert isinstance(container, NamespaceContainer)
    sh(container, "head -c 4M /dev/zero > /large")
    many = archive(**{f"file{number}": "x" * 1000 for number in range(1500)})
    start = container._start

    def start_stopped(*arguments: Any, **request: Any) -> Process:
        process = start(*arguments, **request)
        os.kill(process.pid, signal.SIGSTOP)
        return process

    monkeypatch.setattr("gem_terminal.engines.namespace.container._UNPACKS_IN", 1.0)
    monkeypatch.setattr(container, "_start", start_stopped)
    with pytest.raises(EngineError, match="took too long"):
        container.put(many, "/") if way == "put" else container.get("/large")
    wait_until_alone(container)


WAITS = {"docker": ("sleep 3600", "sleep 3600"), "namespace": ("exec -a cat bash <> /pipe", "cat")}
"""What the first process of a container may have started to wait with, where it has nothing better, and its name."""


def test_nobody_hides_behind_the_name_of_what_is_waited_for(engine: Engine, container: Container) -> None:
    """A process of the same name, taken in by the first one, is counted and killed as any other."""
    command, name = WAITS["docker" if engine.name == "docker" else "namespace"]
    sh(
        container,
        f"mkfifo /pipe; setsid bash -c '{command}' >/dev/null 2>&1 </dev/null & "
        f"until [ \"$(tr '\\0' ' ' < /proc/$!/cmdline)\" = '{name} ' ]; do :; done; disown",
    )
    assert container.survivors() == 1
    container.kill_all()
    wait_until_alone(container)


def test_a_process_that_closes_its_output_has_its_time_and_no_more(container: Container) -> None:
    """It is killed, with everything else, as one that says nothing is."""
    kills = container.kills
    done = container.run(("bash", "-c", "exec >&- 2>&-; sleep 1000"), seconds=3)
    assert (done.output, done.exit_code) == (b"", None)
    assert container.kills == kills + 1
    wait_until_alone(container)


def test_output_that_is_closed_early_hides_no_exit_code(container: Container) -> None:
    """What goes on without it, and ends in time, is waited for."""
    assert container.run(("bash", "-c", "exec >&- 2>&-; sleep 0.3; exit 7"), seconds=60).exit_code == 7


@pytest.mark.only_engine("namespace")
def test_a_share_that_no_kernel_would_take(engine: Engine, small: Image) -> None:
    """One that is too small is the smallest that there is."""
    with engine.start(engine.prepare(small), ResourceLimits(memory=128 << 20, cpus=0.0001)) as container:
        assert container.run(("echo", "slow"), seconds=60).output == b"slow\n"


@pytest.mark.only_engine("namespace")
def test_limits_that_cannot_be_set_are_an_error(engine: Engine, small: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the kind that all of an engine's are, and no group of them stays."""

    def refuse(file: object, value: object) -> None:
        raise PermissionError(13, "refused", str(file))

    reference, before = (
        engine.prepare(small),
        {folder for folder, owner in groups() if owner == ContainerOwner.this_process()},
    )
    monkeypatch.setattr("gem_terminal.engines.cgroups._set", refuse)
    with pytest.raises(EngineError, match="limits of a container cannot be set"):
        engine.start(reference, LIMITS)
    assert {folder for folder, owner in groups() if owner == ContainerOwner.this_process()} <= before


def test_a_folder_for_what_runs_that_is_not_there(
    engine: Engine, small: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variable that names it is carried along to machines that have no such folder, and another one is taken."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/no-such-user")
    with engine.start(engine.prepare(small), LIMITS) as container:
        assert container.run(("echo", "on"), seconds=60).output == b"on\n"


SAYS_ITS_HOST = "from gem_terminal.engines.owner import ContainerOwner; print(ContainerOwner.this_process().host)"


def test_processes_with_numbers_of_their_own_are_on_another_machine() -> None:
    """A trainer in a container may have the machine's name; what it owns is not taken for what somebody left."""
    apart = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    done = subprocess.run([*apart, sys.executable, "-c", SAYS_ITS_HOST], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"a namespace of processes cannot be had because {done.stderr}")
    theirs, ours = done.stdout.strip(), ContainerOwner.this_process()
    assert theirs != ours.host
    assert ContainerOwner(theirs, 1, "1").is_alive()
    assert not ContainerOwner(ours.host, 1, "1").is_alive()


def test_a_name_of_a_process_that_is_no_text() -> None:
    """Anybody may choose one, and it says nothing of whether the process goes on."""
    named = "import ctypes; ctypes.CDLL(None).prctl(15, b'\\xff\\xfe', 0, 0, 0); print('named', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", named], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"named\n"
        assert not ContainerOwner(ContainerOwner.this_process().host, process.pid, "1").is_alive()
        process.communicate(b"\n")


def test_what_does_not_work_says_so_in_every_mode_of_python() -> None:
    """Also where assertions are left out."""
    code = (
        "from gem_terminal.engines.docker import DockerEngine\n"
        "from gem_terminal.errors import EngineError\n"
        "try: DockerEngine('unix:///no-such-socket').check()\nexcept EngineError: print('refused')"
    )
    done = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"
