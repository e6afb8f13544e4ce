"""What is particular about containers of a Docker engine: how they are bounded, and what they are asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from gem_terminal.engines import Engine
from gem_terminal.engines.allowance import files_of
from gem_terminal.engines.docker import DockerEngine
from gem_terminal.engines.docker.container import DockerContainer
from gem_terminal.engines.docker.disk import DiskWatch, Written
from gem_terminal.engines.docker.images import LABEL
from gem_terminal.errors import EngineError
from gem_terminal.task import Image, Limits

LIMITS = Limits(memory=128 << 20, processes=64, disk=16 << 20)


@pytest.fixture(scope="module")
def docker(engine_or_skip: Callable[[str], Engine]) -> Iterator[DockerEngine]:
    """An engine of its own."""
    engine_or_skip("docker").close()
    made = DockerEngine()
    yield made
    made.close()


@pytest.fixture
def container(docker: DockerEngine, small: Image) -> Iterator[DockerContainer]:
    """A container with little of everything."""
    with docker.start(docker.prepare(small), LIMITS) as made:
        assert isinstance(made, DockerContainer)
        yield made


def output(container: DockerContainer, script: str) -> str:
    """Return what a script writes."""
    return container.run(("bash", "-c", script), seconds=60).output.decode()


def test_limits_are_applied(container: DockerContainer) -> None:
    """To what is started in it as well, and not only to its first process."""
    said = output(container, "ulimit -c; ulimit -f; df --output=size /dev/shm | tail -n 1")
    assert said.split() == ["0", str(16 << 10), str(64 << 10)]


def test_a_size_that_the_engine_tells_is_enough(
    docker: DockerEngine, container: DockerContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the files of containers lie elsewhere the engine is asked, and what writes too much is killed as well."""
    if docker._bounds_disks:
        pytest.skip("LOUDLY: the engine bounds disks by itself here, so what containers write is not watched")
    monkeypatch.setattr(container, "folders", ())
    assert docker._written()[container.id].size < 1 << 20
    said = output(container, "for i in 1 2 3 4; do head -c 8M /dev/zero > /huge$i; done; sleep 60; echo no")
    assert "no" not in said
    assert any("were written to the disk" in trouble for trouble in container.troubles())
    assert output(container, "rm /huge*; echo on") == "on\n"


def test_what_is_counted_inside_is_what_is_counted_outside(container: DockerContainer) -> None:
    """Where the control groups cannot be seen, the container is asked for them."""
    output(container, "head -c 1G /dev/zero | tail -c 1G; for i in $(seq 100); do sleep 5 & done")
    container.kill_all()
    asked = container._asked()
    outside = container._counts
    assert asked.killed > 0
    assert asked.refused > 0
    assert container.troubles()
    assert (container._counts.killed, container._counts.refused) == (asked.killed, asked.refused) != (0, 0)
    assert (outside.killed, outside.refused) == (0, 0)


def test_orphans_are_taken_in(container: DockerContainer) -> None:
    """The first process reaps them, so that they do not count for ever."""
    output(container, "for i in $(seq 200); do (true &); done")
    assert output(container, "(exit 7); echo $?") == "7\n"


def test_few_start_at_once(docker: DockerEngine, small: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many threads may ask, and the engine is asked by a few of them at a time."""
    reference = docker.prepare(small)
    docker.start(reference, LIMITS).remove()  # after which it is known whether the engine bounds disks
    underway, most, lock = 0, 0, threading.Lock()
    begin = docker._started

    def counted(*arguments: object) -> object:
        nonlocal underway, most
        with lock:
            underway += 1
            most = max(most, underway)
        try:
            return begin(*arguments)  # type: ignore[arg-type]
        finally:
            with lock:
                underway -= 1

    monkeypatch.setattr(docker, "_started", counted)
    with ThreadPoolExecutor(12) as pool:
        for made in list(pool.map(lambda _: docker.start(reference, LIMITS), range(12))):
            made.remove()
    assert 1 < most <= 4


def test_a_container_that_cannot_start_leaves_nothing(docker: DockerEngine, small: Image) -> None:
    """What was created for it is removed."""
    api = docker.client.api
    ours = {"label": f"{LABEL}={docker._owner}"}
    before = len(api.containers(all=True, filters=ours))
    with pytest.raises(EngineError, match="could not start"):
        docker.start(docker.prepare(small), Limits(cpus=1e6))
    with pytest.raises(EngineError, match="could not start"):
        docker.start("no-such-image:at-all", LIMITS)
    assert len(api.containers(all=True, filters=ours)) == before


class Writer:
    """A container that the watch is told of."""

    def __init__(self) -> None:
        self.id = "writer"
        self.told: list[bool] = []

    def overwrote(self, note: str, beyond_help: bool) -> None:
        """Note it."""
        self.told.append(beyond_help)


def test_who_writes_too_much_is_told_first() -> None:
    """Killed when it has, left alone while it cleans up, and removed if it goes on all the same."""
    written = Written(0)
    watch = DiskWatch(lambda: {"writer": written, "unknown": Written(1 << 40)})
    writer = Writer()
    watch._limits = {"writer": (writer, 1000)}
    for size, files, expected in (
        (1000, 0, []),
        (5000, 0, [False]),
        (5000, 0, [False]),
        (1900, 0, [False]),
        (1950, 0, [False, False]),
        (5000, 0, [False, False, True]),
        (10, 0, [False, False, True]),
        (10, files_of(1000) + 1, [False, False, True, False]),
    ):
        written = Written(size, files)
        watch.look()
        assert writer.told == expected
