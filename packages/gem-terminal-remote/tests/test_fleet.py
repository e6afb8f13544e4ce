"""Several engines as one."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gem.errors import ArgumentError
from gem_terminal import TerminalEnv
from gem_terminal.engines import Container, Engine
from gem_terminal.engines.docker import DockerEngine
from gem_terminal.engines.namespace import NamespaceEngine
from gem_terminal.errors import EngineError
from gem_terminal.task import Image, ResourceLimits
from gem_terminal_remote.fleet import FleetEngine
from gem_terminal_remote.fleet.members import FleetMember, FleetMembers

LONG = 60.0
"""Seconds that no test takes."""
# The client of Docker leaves the sockets open with which it did not reach an engine.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SMALL_LIMITS = ResourceLimits(memory=256 << 20)


@pytest.fixture(autouse=True)
def _sockets_of_failed_connections() -> Iterator[None]:
    """They are collected while their warnings are ignored, not in a later test."""
    yield
    gc.collect()


@pytest.fixture
def fleet(new_engine: Callable[[], NamespaceEngine]) -> Iterator[FleetEngine]:
    """Two namespace engines, each with room for three containers."""
    made = FleetEngine([new_engine(), new_engine()], capacity=3, seconds=0.2)
    yield made
    made.close()


def leases(fleet: FleetEngine) -> list[int]:
    """The leases of each member."""
    return [held for _, held, _, _ in fleet.loads()]


def test_containers_go_to_the_member_with_the_least_load(fleet: FleetEngine, small: Image) -> None:
    """Also if they start at the same time; a container that is removed or forgotten ends its lease."""
    reference = fleet.prepare(small)
    with ThreadPoolExecutor(4) as threads:
        containers = list(threads.map(lambda _: fleet.start(reference, SMALL_LIMITS), range(4)))
    assert leases(fleet) == [2, 2]
    for container in containers[:3]:
        container.remove()
        container.remove()
    assert sum(leases(fleet)) == 1
    containers[3].remove()
    forgotten: Container | None = fleet.start(reference, SMALL_LIMITS)
    assert sum(leases(fleet)) == 1
    assert forgotten is not None
    forgotten.container.remove()  # type: ignore[attr-defined]  # as when a member loses it
    forgotten = None
    gc.collect()
    assert leases(fleet) == [0, 0]


def test_a_full_fleet_waits_for_a_lease_and_then_says_what_to_do(fleet: FleetEngine, small: Image) -> None:
    """The error comes at the time limit; a lease that ends before lets the start go on."""
    reference = fleet.prepare(small)
    containers = [fleet.start(reference, SMALL_LIMITS) for _ in range(6)]
    try:
        with pytest.raises(EngineError, match="room for 6 containers"):
            fleet.start(reference, SMALL_LIMITS)
        assert leases(fleet) == [3, 3]
        fleet._members._seconds = LONG
        with ThreadPoolExecutor(1) as thread:
            waiting = thread.submit(fleet.start, reference, SMALL_LIMITS)
            containers.pop().remove()
            containers.append(waiting.result(LONG))
    finally:
        for container in containers:
            container.remove()
    assert leases(fleet) == [0, 0]


def test_episodes_snapshots_and_rewards_are_those_of_any_engine(fleet: FleetEngine, engine_variables: None) -> None:
    """Two episodes run on two members; a snapshot continues where its files are."""
    with TerminalEnv("ledger", engine=fleet, warm=0) as one, TerminalEnv("ledger", engine=fleet, warm=0) as two:
        one.reset(seed=0)
        two.reset(seed=0)
        assert leases(fleet) == [1, 1]
        assert one.step("<bash>X=5; echo hello > word; pwd</bash>")[4]["exit_code"] == 0
        snapshot = one.unwrapped.snapshot()
        two.unwrapped.restore(snapshot)
        assert two.step("<bash>echo $X; cat word</bash>")[0] == "5\nhello\n[exit code 0]"
        held = Counter(dict(enumerate(leases(fleet))))
        assert max(held.values()) == 2
        assert one.step("<finish/>")[1] == 0.0
        snapshot.close()
    assert leases(fleet) == [0, 0]


def test_a_member_that_cannot_be_reached_is_left_out_and_tried_again(
    new_engine: Callable[[], NamespaceEngine],
    working_engine: Callable[[str], Engine],
    small: Image,
    tmp_path: Path,
) -> None:
    """The other takes its containers; the pauses between two tries double; once it answers it is used again."""
    socket = tmp_path / "docker.sock"
    docker, namespace = DockerEngine(f"unix://{socket}"), new_engine()
    now = 0.0
    members = FleetMembers([FleetMember(docker, 9), FleetMember(namespace, 9)], 1.0, lambda: now)
    fleet = FleetEngine([docker, namespace])
    fleet._members = members
    try:
        reference = fleet.prepare(small)
        containers = [fleet.start(reference, SMALL_LIMITS) for _ in range(2)]
        assert leases(fleet) == [0, 2]
        assert "docker" in fleet.loads()[0][3]
        now = 1.0
        containers.append(fleet.start(reference, SMALL_LIMITS))
        assert (leases(fleet), members.all[0].pause) == ([0, 3], 2.0)
        assert fleet.about().version == "1 of 2 members"
        working_engine("docker")
        socket.symlink_to("/var/run/docker.sock")
        now = 10.0
        containers.append(fleet.start(reference, SMALL_LIMITS))
        assert leases(fleet) == [1, 3]
        assert containers[3].run(("echo", "hello"), seconds=LONG).output == b"hello\n"
        for container in containers:
            container.remove()
        assert leases(fleet) == [0, 0]
    finally:
        fleet.close()


def test_an_error_of_a_member_that_works_is_that_of_the_fleet(fleet: FleetEngine, tmp_path: Path, small: Image) -> None:
    """It is not tried on the others, and no member rests for it."""
    (tmp_path / "Dockerfile").write_text(f"FROM {small.name}\nRUN echo once >> /said; exit 4\n")
    with pytest.raises(EngineError, match="exit code 4"):
        fleet.prepare(Image(folder=tmp_path))
    assert len(fleet._members.reachable()) == 2
    assert leases(fleet) == [0, 0]


def test_a_fleet_of_nothing_that_works_names_each_problem(tmp_path: Path) -> None:
    """Both members are named."""
    fleet = FleetEngine([DockerEngine(f"unix://{tmp_path}/{name}") for name in "ab"])
    for _ in range(2):
        with pytest.raises(EngineError, match=r"member 0: .*member 1: "):
            fleet.check()
    with pytest.raises(ArgumentError, match="needs engines"):
        FleetEngine([])
    with pytest.raises(ArgumentError, match="one for each"):
        FleetEngine([DockerEngine("x")], capacity=[1, 2])


def test_of_many_threads_as_many_get_a_lease_as_there_is_room() -> None:
    """Leases are counted under one lock; the others get the error at once if they need not wait."""
    members = FleetMembers([FleetMember(DockerEngine("x"), 2), FleetMember(DockerEngine("y"), 3)], 0.0)
    for _ in range(20):
        with ThreadPoolExecutor(16) as threads:
            tries = [threads.submit(members.leased, lambda engine: None) for _ in range(16)]
        held = [one.result()[0] for one in tries if one.exception() is None]
        assert [each.leases for each in members.all] == [2, 3]
        assert len(held) == 5
        for member in held:
            members.release(member)
        assert [each.leases for each in members.all] == [0, 0]
