"""What is left of a trainer's containers, however it ends: nothing, at the latest after another one has begun."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gem_terminal.engines import Engine
from gem_terminal.engines.cgroups import groups
from gem_terminal.engines.docker import DockerEngine
from gem_terminal.engines.docker.images import LABEL
from gem_terminal.formats import load_task
from gem_terminal.task import Image

TRAINER = Path(__file__).with_name("trainer.py")

FILES = {
    "task.toml": "[environment]\nnetwork_mode = 'no-network'\nmemory_mb = 64\n",
    "instruction.md": "Do nothing.",
    "environment/Dockerfile": "FROM debian:bookworm-slim\n",
    "tests/test.sh": "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n",
}

Trainer = Callable[[str], "subprocess.Popen[str]"]


@pytest.fixture
def trainer(engine: Engine, cache: Path, tmp_path: Path) -> Iterator[Trainer]:
    """Starts a trainer that ends in a way; whatever is left of it in the end is removed."""
    for name, content in FILES.items():
        (tmp_path / "task" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "task" / name).write_text(content)
    if isinstance(engine, DockerEngine):  # only there a container has volumes
        (tmp_path / "task/environment/Dockerfile").write_text(FILES["environment/Dockerfile"] + "VOLUME /kept\n")
    engine.prepare(load_task(tmp_path / "task").image)
    started: list[subprocess.Popen[str]] = []

    def start(how: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(TRAINER), engine.name, str(cache), str(tmp_path / "task"), how]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        with process:
            process.kill()
    engine.reap()


def said(process: subprocess.Popen[str]) -> Any:
    """The next line that a trainer prints."""
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def left_of(engine: Engine, owner: str) -> list[str]:
    """What an engine has that belongs to a process: containers, or control groups with processes in them."""
    if isinstance(engine, DockerEngine):
        found = engine.client.containers.list(all=True, filters={"label": f"{LABEL}={owner}"}, sparse=True)
        return [str(container.id) for container in found]
    return sorted({folder.name for folder, whose in groups() if str(whose) == owner})


def volumes_of(engine: Engine, containers: list[dict[str, Any]]) -> set[str]:
    if not isinstance(engine, DockerEngine):
        return set()
    mounts = [mount for each in containers for mount in engine.client.containers.get(each["id"]).attrs["Mounts"]]
    volumes = {mount["Name"] for mount in mounts}
    assert len(volumes) == len(containers), "each has one for /kept"
    return volumes


def all_volumes(engine: Engine) -> set[str]:
    return {volume.name for volume in engine.client.volumes.list()} if isinstance(engine, DockerEngine) else set()


class FirstProcesses:
    """The first processes of containers, where they can be seen: on this machine, without a daemon between."""

    def __init__(self, containers: list[dict[str, Any]]) -> None:
        self._open = [os.pidfd_open(each["first"]) for each in containers if each["first"] is not None]

    def wait(self) -> None:
        """Return once all have ended."""
        for descriptor in self._open:
            assert select.select([descriptor], [], [], 30)[0], "the first process of a container goes on"
            os.close(descriptor)

    def all_go_on(self) -> bool:
        return not select.select(self._open, [], [], 0)[0]


@pytest.mark.sampled(2)
@pytest.mark.only_engine("docker", "namespace")  # its trainer makes one itself
@pytest.mark.every_engine
def test_a_killed_trainer_leaves_nothing(engine: Engine, trainer: Trainer) -> None:
    """After kill -9 in mid-episode, with warm containers waiting, the reaper of another process removes everything.

    On the namespace engine every process has gone by itself. Containers of a trainer that lives are left alone.
    """
    killed, living = trainer("wait"), trainer("wait")
    mine, theirs = said(killed), said(living)
    containers = mine["used"] + mine["waiting"]
    assert (len(mine["used"]), len(mine["waiting"])) == (2, 4)
    volumes = volumes_of(engine, containers)
    first, others = FirstProcesses(containers), FirstProcesses(theirs["used"] + theirs["waiting"])
    engine.reap()
    assert len(left_of(engine, mine["owner"])) == len(containers), "nothing is reaped while it lives"
    killed.kill()
    killed.wait()
    first.wait()
    engine.reap()
    assert left_of(engine, mine["owner"]) == []
    assert not volumes & all_volumes(engine)
    assert others.all_go_on()
    assert living.stdin is not None
    living.stdin.write(json.dumps("<bash>echo $X; cat word</bash>") + "\n")
    living.stdin.flush()
    assert said(living) == "5\nhello\n[exit code 0]"
    living.stdin.close()
    assert living.wait() == 0
    others.wait()
    assert left_of(engine, theirs["owner"]) == []


def test_the_next_trainer_reaps(engine: Engine, trainer: Trainer) -> None:
    """Nobody has to ask for it: the first episode of the next trainer clears what the last one left."""
    killed = trainer("wait")
    mine = said(killed)
    assert left_of(engine, mine["owner"])
    killed.kill()
    killed.wait()
    said(trainer("wait"))
    assert left_of(engine, mine["owner"]) == []


@pytest.mark.sampled(2)
@pytest.mark.only_engine("docker", "namespace")  # its trainer makes one itself
@pytest.mark.parametrize(
    ("how", "code"),
    [
        pytest.param("exit", 3, marks=pytest.mark.every_engine),
        pytest.param("raise", 1, marks=pytest.mark.nightly),
        ("multiprocessing", 0),
    ],
)
def test_a_trainer_that_ends_removes_everything(engine: Engine, trainer: Trainer, how: str, code: int) -> None:
    """Environments that nobody closed, and what was made ahead, end with the process, without a reaper."""
    process = trainer(how)
    mine = said(process)
    assert process.wait() == code
    assert left_of(engine, mine["owner"]) == []


@pytest.mark.nightly
def test_a_terminated_trainer_leaves_no_more_than_a_killed_one(engine: Engine, trainer: Trainer) -> None:
    """SIGTERM ends Python without a word, unless the trainer handles it."""
    process = trainer("terminate")
    mine = said(process)
    assert process.wait() == -signal.SIGTERM
    engine.reap()
    assert left_of(engine, mine["owner"]) == []


def test_a_forked_child_has_containers_of_its_own(engine: Engine, trainer: Trainer) -> None:
    """It does again what was done, in a container of its own, and removes that at its end; its parent's go on."""
    process = trainer("fork")
    before, child = said(process), said(process)
    assert len(left_of(engine, child["owner"])) == len(child["used"] + child["waiting"]) > 2
    assert process.stdin is not None
    process.stdin.write("go on\n")
    process.stdin.flush()
    parent = said(process)
    assert child["observation"] == parent["observation"] == "/tmp\n5\nhello\n[exit code 0]"
    assert parent["used"] == before["used"]
    assert parent["waiting"] == before["waiting"]
    assert child["owner"] != parent["owner"]
    assert not {each["id"] for each in child["used"]} & {each["id"] for each in parent["used"] + parent["waiting"]}
    assert process.wait() == 0
    assert left_of(engine, child["owner"]) == left_of(engine, parent["owner"]) == []


def test_a_forked_child_keeps_nothing_alive(engine: Engine, trainer: Trainer) -> None:
    """What its parent had does not live on because a child of it does."""
    process = trainer("fork and wait")
    mine = said(process)
    first = FirstProcesses(mine["used"] + mine["waiting"])
    process.kill()
    first.wait()
    engine.reap()
    assert left_of(engine, mine["owner"]) == []


@pytest.mark.only_engine("docker", "namespace")  # its trainer makes one itself
@pytest.mark.every_engine
@pytest.mark.only_engine("docker")
def test_owners_that_cannot_be_seen_are_left_alone(engine: Engine, small: Image) -> None:
    """A container of a process on another machine, as a shared engine may have, is not removed."""
    assert isinstance(engine, DockerEngine), "only a daemon can be shared by machines"
    elsewhere, nobody = "another-machine-and-boot/12/345", "whoever"
    containers = [
        engine.client.containers.create(engine.prepare(small), ["true"], labels={LABEL: owner}, network_mode="none")
        for owner in (elsewhere, nobody)
    ]
    try:
        engine.reap()
        assert left_of(engine, nobody) == []
        assert left_of(engine, elsewhere) == [containers[0].id]
        assert re.fullmatch(r".+/\d+/\d+", str(engine._owner))
    finally:
        containers[0].remove(force=True)
