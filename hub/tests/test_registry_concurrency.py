"""200 uploads by 8 users at once, beside results and organisations, through one process and through several."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from hub_faults import faults
from registry_clerk import MEMBER, Clerk, lost, release_for_results, result_bodies, results_in
from registry_server import GENEROUS, RegistryClient, RunningRegistry, running_registry, toy_wheel
from signed_results import NAME, OWNER

from gem_hub import publishing
from gem_hub.registry import uploads
from gem_hub.registry.settings import RegistrySettings

USERS = 8
PACKAGES = 5
"""The packages of each user."""
TREES = ("amber", "birch", "cypress", "dogwood", "elm", "fig", "ginkgo", "hazelnut")
TASKS = ("mazes", "rivers", "puzzles", "quests", "towers")

pytestmark = [
    pytest.mark.slow(reason="each of many uploads goes through the gate and into the hub"),
    pytest.mark.xdist_group("postgresql"),
]


def upload_all(
    registries: list[RunningRegistry], folder: Path, versions: int
) -> dict[tuple[str, str], tuple[str, str]]:
    """Let 8 users upload so many versions of five packages each, all at the same moment.

    Returns:
        (name, version) → (owner, digest).
    """
    wheels = [
        (user, toy_wheel(folder, f"{TREES[user]}-{TASKS[number % PACKAGES]}", f"0.{number // PACKAGES}.0"))
        for user in range(USERS)
        for number in range(PACKAGES * versions)
    ]
    clients = [
        [RegistryClient(registry.port, registries[0].account(f"user{user}").token) for registry in registries]
        for user in range(USERS)
    ]
    barrier = threading.Barrier(len(wheels))

    def upload(index: int) -> tuple[int, str]:
        user, wheel = wheels[index]
        barrier.wait()
        answer = clients[user][index % len(registries)].upload(wheel)
        return answer.status, answer.text

    with ThreadPoolExecutor(len(wheels)) as pool:
        answers = list(pool.map(upload, range(len(wheels))))
    assert [text for status, text in answers if status != 200] == []
    return {
        (wheel.name.split("-")[0].replace("_", "-"), wheel.name.split("-")[1]): (
            f"user{user}",
            hashlib.sha256(wheel.read_bytes()).hexdigest(),
        )
        for user, wheel in wheels
    }


def check_all(registry: RunningRegistry, expected: dict[tuple[str, str], tuple[str, str]]) -> None:
    """Check that the hub, the queue and the audit log hold every upload once, and that readers find nothing broken."""
    store = registry.services.store
    records = [release for name in store.packages() for release in store.existing(name).records]
    assert {(r.name, r.version): (r.publisher, r.sha256) for r in records} == expected
    assert sorted(record.serial for record in records) == list(range(1, len(expected) + 1))
    assert registry.services.queue.counts() == {"queued": len(expected)}
    uploads = [line for line in registry.services.audit.lines(most=1000) if line["action"] == "upload"]
    assert {tuple(line["subject"].split()): (line["account"], line["detail"]["sha256"]) for line in uploads} == expected
    assert len(uploads) == len(expected)
    assert faults(store.files) == []
    assert store.rebuild(check=True) == []


@pytest.mark.parametrize("versions", [1, pytest.param(5, marks=pytest.mark.nightly)])
def test_many_uploads_at_once_lose_nothing(tmp_path: Path, versions: int) -> None:
    """With SQLite, one process takes them all: 40 of them, and by night 200."""
    with running_registry(tmp_path / "hub") as registry:
        check_all(registry, upload_all([registry], tmp_path / "dist", versions))


@pytest.mark.parametrize(
    ("database_url", "acts", "versions"),
    [
        pytest.param("sqlite", 8, 1, marks=pytest.mark.nightly),
        pytest.param("sqlite", 50, 5, marks=pytest.mark.nightly),
        pytest.param("postgresql", 50, 5, marks=pytest.mark.nightly),
    ],
    indirect=["database_url"],
)
def test_results_and_organisations_beside_uploads_lose_nothing(
    tmp_path: Path, database_url: str, acts: int, versions: int
) -> None:
    """While 8 users upload 40 or 200 wheels, others publish results, found organisations, join and publish there."""
    settings = RegistrySettings(database=database_url, conformance=False, registration="open", quotas=GENEROUS)
    with running_registry(tmp_path / "hub", settings) as registry:
        store, log = registry.services.store, tmp_path / "clerk.jsonl"
        release_for_results(store)
        clerk = Clerk(registry.port, {name: registry.account(name).token for name in (OWNER, MEMBER)}, log)
        bodies, private = result_bodies(tmp_path, OWNER, acts), toy_wheel(tmp_path / "private", "secret-envs")
        with ThreadPoolExecutor(1 + min(acts, 8)) as pool:
            uploads = pool.submit(upload_all, [registry], tmp_path / "dist", versions)
            list(pool.map(lambda number: clerk.work(number, bodies[number], private), range(acts)))
            expected = uploads.result()
        assert lost(registry.services, log) == []
        assert results_in(store) == sorted(str(body["envelope"]["payload"]) for body in bodies)
        records = [one for name in store.packages() if name != NAME for one in store.existing(name).records]
        assert {(one.name, one.version): (one.publisher, one.sha256) for one in records} == expected
        assert registry.services.queue.counts() == {"queued": len(expected)}
        assert faults(store.files) == []
        assert store.rebuild(check=True) == []


@pytest.mark.nightly
@pytest.mark.parametrize("processes", [1, 3])
def test_200_uploads_at_once_lose_nothing_with_postgresql(
    tmp_path: Path, new_postgres: Callable[[], str], processes: int
) -> None:
    """With PostgreSQL, one registry takes them all, and so do three that share hub and database."""
    settings = RegistrySettings(database=new_postgres(), conformance=False, registration="open", quotas=GENEROUS)
    with ExitStack() as stack:
        registries = [stack.enter_context(running_registry(tmp_path / "hub", settings)) for _ in range(processes)]
        check_all(registries[0], upload_all(registries, tmp_path / "dist", 5))


def test_one_of_several_racers_gets_a_version(tmp_path: Path) -> None:
    """Of 8 users who upload other bytes for one name at once, one becomes its owner, and the others get the reason."""
    with running_registry(tmp_path / "hub") as registry:
        wheels = [toy_wheel(tmp_path / str(user), "raced-envs", readme=f"By {user}.") for user in range(USERS)]
        clients = [registry.account(f"user{user}") for user in range(USERS)]
        barrier = threading.Barrier(USERS)

        def upload(user: int) -> int:
            barrier.wait()
            return clients[user].upload(wheels[user]).status

        with ThreadPoolExecutor(USERS) as pool:
            statuses = list(pool.map(upload, range(USERS)))
        assert statuses.count(200) == 1
        assert set(statuses) <= {200, 403, 409}
        (record,) = registry.services.store.existing("raced-envs").records
        assert record.publisher == f"user{statuses.index(200)}"
        assert registry.services.queue.counts() == {"queued": 1}


def test_of_names_that_look_alike_one_is_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two uploads of names that differ in one letter stay together after each look of the gate, as far as they can."""
    barrier = threading.Barrier(2)

    def examined_together(*args: Any) -> Any:
        attempts = publishing.examine_all(*args)
        with suppress(threading.BrokenBarrierError):  # the other one is kept out
            barrier.wait(timeout=1)
        barrier.reset()
        return attempts

    monkeypatch.setattr(uploads, "examine_all", examined_together)
    with running_registry(tmp_path / "hub") as registry:
        wheels = [toy_wheel(tmp_path, f"look{letter}like-envs") for letter in "ab"]
        clients = [registry.account(f"user{user}") for user in range(2)]
        with ThreadPoolExecutor(2) as pool:
            statuses = pool.map(lambda user: clients[user].upload(wheels[user]).status, range(2))
            assert sorted(statuses) == [200, 400]
        assert len(registry.services.store.packages()) == 1
