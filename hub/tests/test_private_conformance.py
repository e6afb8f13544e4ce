"""The conformance kit on private packages: its queue, its results, and what it must not tell."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from registry_server import GENEROUS, METADATA, toy_wheel
from toy_hub import make_wheel, publish_wheel

from gem_hub import sandbox
from gem_hub.registry import conformance_worker
from gem_hub.registry.conformance_worker import ConformanceWorker
from gem_hub.registry.organisations.private_hubs import PrivateServices
from gem_hub.registry.recovery import recover
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.settings import RegistrySettings
from gem_hub.store import Store
from gem_testing import CLAUSES

pytestmark = pytest.mark.xdist_group("postgresql")


@pytest.fixture
def services(tmp_path: Path, database_url: str) -> Iterator[RegistryServices]:
    """A registry whose kit finds no dependencies."""
    (tmp_path / "empty").mkdir()
    settings = RegistrySettings(
        database=database_url, index_url=(tmp_path / "empty").as_uri(), conformance_attempts=1, quotas=GENEROUS
    )
    made = RegistryServices(Store(tmp_path / "hub"), settings, clock=lambda: 1_000_000.0)
    yield made
    made.close()


def publish(services: RegistryServices, wheel: Path, owner: str) -> str:
    """Publish a wheel and bring it into the queue; return its digest."""
    publish_wheel(services.store, wheel, owner)
    name, version = wheel.name.split("-")[0].replace("_", "-"), wheel.name.split("-")[1]
    (record,) = (one for one in services.store.existing(name).records if one.version == version)
    services.queue.confirm(name, version, record.sha256, owner)
    return record.sha256


BOTH = pytest.mark.parametrize(
    "database_url", ["sqlite", pytest.param("postgresql", marks=pytest.mark.nightly)], indirect=True
)


@BOTH
def test_one_file_in_three_hubs_has_three_places(services: RegistryServices, tmp_path: Path) -> None:
    """What happens to a private release is seen in no other hub, which may have the same bytes."""
    acme, neighbours = PrivateServices(services, "acme"), PrivateServices(services, "neighbours")
    wheel = toy_wheel(tmp_path, "zebra-worlds")
    (digest,) = {publish(hub, wheel, owner) for hub, owner in ((services, "ann"), (acme, "acme"))}
    assert neighbours.queue.state_of(digest) is None
    neighbours.queue.announce("zebra-worlds", "0.1.0", digest, "neighbours")
    check = services.private_queue.take()
    assert check is not None
    assert (check.account, check.name) == ("acme", "zebra-worlds")
    assert services.private_queue.take() is None, "that of the neighbours is not published yet"
    neighbours.queue.withdraw(digest)
    services.private_queue.finish(check, "failed", "the secret reason")
    states = [hub.queue.state_of(digest) for hub in (services, acme, neighbours)]
    assert [state and (state["state"], state["message"]) for state in states] == [
        ("queued", ""), ("failed", "the secret reason"), None,
    ]  # fmt: skip
    assert services.queue.counts() == {"queued": 1}
    assert services.private_queue.counts() == acme.queue.counts() == {"failed": 1}


@BOTH
def test_public_and_private_releases_take_turns(services: RegistryServices) -> None:
    """Neither of them hold up the others, however many wait."""
    acme, gone = PrivateServices(services, "acme"), "done (the release is not there)"
    acme.store.rebuild()
    for hub, name, owner in ((services, "open-envs", "ann"), (acme, "zebra-worlds", "acme")):
        for number in range(2):
            hub.queue.confirm(name, f"0.{number}.0", sha256(f"{name} {number}".encode()).hexdigest(), owner)
    said: list[str] = []
    worker = ConformanceWorker(services, said.append)
    while worker.work_once():
        pass
    assert said == [
        f"open-envs 0.0.0: {gone}", f"acme/zebra-worlds 0.0.0: {gone}",
        f"open-envs 0.1.0: {gone}", f"acme/zebra-worlds 0.1.0: {gone}",
    ]  # fmt: skip


def test_no_index_is_asked_for_the_name_of_a_private_package(
    services: RegistryServices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A private release that requires another one is not installed for the kit, and says so."""
    acme = PrivateServices(services, "acme")
    publish_wheel(acme.store, toy_wheel(tmp_path, "zebra-worlds"), "acme")
    metadata = (*METADATA, "Requires-Dist: Zebra_Worlds>=0.1")
    digest = publish(acme, make_wheel(tmp_path, "zebra-quests", ids=["zebra:Quest-v0"], metadata=metadata), "acme")
    monkeypatch.setattr(conformance_worker, "recheck", lambda *arguments: pytest.fail("it was going to be installed"))
    assert ConformanceWorker(services).work_once()
    state = acme.queue.state_of(digest)
    assert state is not None
    assert (state["state"], "requires zebra-worlds, another private package" in state["message"]) == ("failed", True)


def test_a_worker_without_the_private_hub_says_so(services: RegistryServices) -> None:
    """A process whose folder is another one does not take a release for one that is gone."""
    services.private_queue.confirm("zebra-worlds", "0.1.0", "0" * 64, "acme")
    assert ConformanceWorker(services).work_once()
    state = PrivateServices(services, "acme").queue.state_of("0" * 64)
    assert state is not None
    assert (state["state"], "does not see the private hub" in state["message"]) == ("failed", True)


@BOTH
def test_a_private_release_whose_upload_was_cut_off_is_completed(services: RegistryServices, tmp_path: Path) -> None:
    """What was published in a private hub and not logged before a kill is logged and queued at the next beginning."""
    acme = PrivateServices(services, "acme")
    publish_wheel(acme.store, toy_wheel(tmp_path, "zebra-worlds"), "acme")
    (record,) = acme.store.existing("zebra-worlds").records
    acme.queue.announce("zebra-worlds", "0.1.0", record.sha256, "acme")
    acme.queue.announce("zebra-worlds", "0.2.0", "0" * 64, "acme")
    assert acme.queue.counts() == {"announced": 2}
    services.clock = lambda: 1_001_000.0  # by then it is no other process's that lives
    recover(services)
    assert acme.queue.counts() == {"queued": 1}
    assert services.queue.counts() == {}
    (line,) = services.audit.lines()
    assert (line["action"], line["subject"]) == ("upload.recovered", "private/acme/zebra-worlds 0.1.0")


@pytest.mark.nightly
@pytest.mark.skipif(sandbox.isolation() == "none", reason="nothing here keeps code apart")
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_kit_runs_on_a_private_package(services: RegistryServices, links: Path) -> None:
    """Its results are in the private hub, and nothing of them in the public one."""
    services.settings = services.settings.model_copy(update={"find_links": [str(links)], "index_url": ""})
    acme = PrivateServices(services, "acme")
    (wheel,) = links.glob("my_puzzles-*.whl")
    digest = publish(acme, wheel, "acme")
    assert ConformanceWorker(services).work_once()
    assert acme.queue.state_of(digest) == {"state": "done", "attempts": 1, "message": (
        f"{6 * len(CLAUSES)} clauses hold, 0 violated"
    )}  # fmt: skip
    shown = acme.store.existing("my-puzzles").shown_conformance("0.1.0")
    assert shown is not None
    assert shown.source == "hub"
    assert services.store.packages() == []
    assert acme.store.rebuild(check=True) == []
