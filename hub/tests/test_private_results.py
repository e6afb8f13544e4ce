"""Results on private packages: those may publish, read and check them who may do so with the package."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hub_command import gem_hub
from manual_clock import ManualClock
from registry_clerk import release_for_results
from registry_server import GENEROUS, Answer, RegistryClient, RunningRegistry, join, running_registry
from signed_results import NAME, code_record, made_result, new_key, signed_event, toy_release
from sqlalchemy import select
from toy_hub import synthetic_release

from gem.registry import spec
from gem_eval import evaluate_sync
from gem_hub.events import Conformance, Result
from gem_hub.registry.downloads import downloads
from gem_hub.registry.organisations.private_hubs import PrivateServices
from gem_hub.registry.settings import RegistrySettings
from gem_hub.registry.webhooks.sender import hub_serial
from gem_hub.results.state import results_of
from gem_hub.store import Store
from gem_hub_client.config import hub_at
from gem_hub_client.errors import HubError
from gem_hub_client.pages import verified_page
from gem_hub_client.registry.credentials import Login, remember
from gem_hub_client.results.listed import read_results

HUB = "/private/acme"
NOWHERE = "/private/nobodys-lab"
RESULTS = f"/api/v1/packages/{NAME}/results"
GAME = "game:GuessTheNumber-v0-easy"
CLOCK = ManualClock(1_800_000_000.0)

pytestmark = pytest.mark.xdist_group("postgresql")


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory, new_database: Callable[[], str]) -> Iterator[RunningRegistry]:
    """A registry in which the package with results is private to acme, and another of its name is public."""
    folder = tmp_path_factory.mktemp("registry")
    settings = RegistrySettings(quotas=GENEROUS, conformance=False, registration="open")
    with running_registry(folder / "hub", settings, new_database(), clock=CLOCK) as running:
        for name, owner in (("acme", "olga"), ("neighbours", "niels")):
            assert running.account(owner).send("POST", "/api/v1/organisations", {"name": name}).status == 201
        for account, role in (("mona", "maintainer"), ("milo", "member"), ("former", "maintainer")):
            join(running, "acme", account, role, "olga")
        running.account("olga").send("DELETE", "/api/v1/organisations/acme/members/former")
        release_for_results(running.services.store)
        publish_privately(PrivateServices(running.services, "acme").store)
        yield running


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of everybody's keys: who has published with one signs with it for ever."""
    return tmp_path_factory.mktemp("keys")


def publish_privately(store: Store) -> None:
    """Publish the package with results in the name of acme."""
    release = toy_release().model_copy(update={"publisher": "acme"})
    store.publish(release, None, synthetic_release(NAME, release.version, publisher="acme")[1])
    store.add_event(code_record(release))


@pytest.fixture(scope="module")
def outsiders(registry: RunningRegistry) -> dict[str, RegistryClient]:
    """Everybody who may not read the private package, each with all other rights."""
    expired, revoked = registry.account("mona", seconds=60), registry.account("mona")
    revoked.send("DELETE", "/api/v1/tokens/current")
    CLOCK.now += 60
    return {
        "stranger": registry.stranger,
        "expired": expired,
        "revoked": revoked,
        "for one package": registry.account("mona", packages=[NAME]),
        "without reading": registry.account("mona", scopes=["publish", "manage"]),
        **{name: registry.account(name) for name in ("niels", "former", "alice")},
    }


def result_of(keys: Path, account: str, salt: str = "") -> Result:
    """Return a signed result of an account."""
    key = new_key(keys, account)
    return signed_event(made_result(account, key, [1.0, 0.0, 1.0], salt=f"{account} {salt}"), key)


def body_of(event: Result) -> dict[str, Any]:
    """Return a result as it is sent."""
    return {"version": event.version, "sha256": event.sha256, "envelope": event.envelope}


def seen(answer: Answer, organisation: str) -> tuple[int, bytes]:
    """Return what a client sees, but for the organisation that it has named."""
    return answer.status, answer.body.replace(organisation.encode(), b"NAME")


def test_members_publish_and_decide_as_their_roles_allow(registry: RunningRegistry, keys: Path) -> None:
    """A maintainer's result is her own until one of the organisation admits it; the lowest role only reads."""
    event = result_of(keys, "mona")
    mona, milo, olga = (registry.account(name) for name in ("mona", "milo", "olga"))
    assert milo.send("POST", f"{HUB}{RESULTS}", body_of(result_of(keys, "milo"))).status == 403
    assert olga.send("POST", f"{HUB}{RESULTS}", body_of(event)).status == 409, "it is signed as another's"
    answer = mona.send("POST", f"{HUB}{RESULTS}", body_of(event))
    assert (answer.status, answer.json["state"]) == (201, "unreviewed")
    path = f"{HUB}{RESULTS}/{event.id}"
    assert milo.send("PUT", f"{path}/admission", {}).status == 403
    assert milo.send("DELETE", path, {}).status == 403
    assert olga.send("PUT", f"{path}/admission", {"reason": "replayed"}).status == 200
    page = milo.send("GET", f"{HUB}/envs/{NAME}.json").json
    (listed,) = [one for one in page["results"] if one["id"] == event.id]
    assert (listed["state"], listed["publisher"], listed["by"]) == ("admitted", "mona", "acme")
    assert milo.send("GET", f"{HUB}/{listed['path']}").status == 200
    assert "mona" in milo.send("GET", f"{HUB}/p/{NAME}/").text
    (line,) = registry.services.audit.lines(None, 10, f"private/acme/{NAME} 0.1.0")
    assert (line["action"], line["account"]) == ("package.result", "mona")
    assert PrivateServices(registry.services, "acme").store.rebuild(check=True) == []


def test_outsiders_cannot_tell_that_there_are_results(
    registry: RunningRegistry, outsiders: dict[str, RegistryClient], keys: Path
) -> None:
    """Publishing, reading, admitting and withdrawing have the answers of an organisation that does not exist."""
    event = result_of(keys, "mona", "for outsiders")
    assert registry.account("mona").send("POST", f"{HUB}{RESULTS}", body_of(event)).status == 201
    store = PrivateServices(registry.services, "acme").store
    before = results_of(store.existing(NAME))
    (path,) = [one.path for one in before if one.id == event.id]
    for who, client in outsiders.items():
        new = body_of(result_of(keys, who.replace(" ", "-")))
        for method, address, body in (
            ("POST", RESULTS, new),
            ("PUT", f"{RESULTS}/{event.id}/admission", {}),
            ("DELETE", f"{RESULTS}/{event.id}", {"reason": "x"}),
            ("GET", f"/{path}", None),
        ):
            there, nowhere = (client.send(method, f"{hub}{address}", body) for hub in (HUB, NOWHERE))
            assert there.status == 404, (who, method)
            assert seen(there, "acme") == seen(nowhere, "nobodys-lab"), (who, method)
    assert results_of(store.existing(NAME)) == before


def test_a_private_result_reaches_nothing_that_is_public(registry: RunningRegistry, keys: Path) -> None:
    """No file, serial, count or decision of the public hub changes, which has a package of the same name and wheel."""
    public = registry.services.store
    serial, files = hub_serial(public), set(public.files.files(""))
    event = result_of(keys, "mona", "secret")
    assert registry.account("mona").send("POST", f"{HUB}{RESULTS}", body_of(event)).status == 201
    assert hub_serial(public) == serial, "webhooks and clients follow it"
    assert {path for path in public.files.files("") if not path.startswith(".gem-hub/")} <= files
    private = PrivateServices(registry.services, "acme").store
    (path,) = [one.path for one in results_of(private.existing(NAME)) if one.id == event.id]
    for address in (f"/{path}", f"/results/{NAME}/{event.id}.json"):
        assert registry.account("mona").send("GET", address).status == 404
    assert event.id not in registry.stranger.send("GET", f"/envs/{NAME}.json").text
    answer = registry.account("alice").send("PUT", f"{RESULTS}/{event.id}/admission", {})
    assert answer.status == 409, "the owner of the public package decides on no private result"
    assert "has no result" in answer.text
    with registry.services.database.read() as connection:
        assert connection.execute(select(downloads)).all() == []


@pytest.mark.usefixtures("own_folders")
def test_a_client_reads_private_results_while_it_is_a_member_s(registry: RunningRegistry, keys: Path) -> None:
    """The page proves each of them as in any hub; without the membership there is nothing to read."""
    join(registry, "acme", "lea", "member", "olga")
    event = result_of(keys, "mona", "for a client")
    assert registry.account("mona").send("POST", f"{HUB}{RESULTS}", body_of(event)).status == 201
    address = f"http://127.0.0.1:{registry.port}/"
    hub = hub_at(f"{address}private/acme/")
    remember(address, Login(registry.account("lea").token, "lea"))
    found = verified_page(hub, NAME)
    assert found is not None
    assert event.id in [one.id for one in read_results(found)]
    registry.account("lea").send("DELETE", "/api/v1/organisations/acme/members/lea")
    with pytest.raises(HubError, match="404"):
        verified_page(hub_at(f"{address}private/acme/"), NAME)


def test_an_organisation_s_member_publishes_on_its_public_package(registry: RunningRegistry, keys: Path) -> None:
    """The result is signed by the person, and stands under her name until the organisation admits it."""
    alice, mona = registry.account("alice"), registry.account("mona")
    assert alice.send("PUT", f"/api/v1/packages/{NAME}/owners/acme").status == 200
    event = result_of(keys, "mona", "public")
    answer = mona.send("POST", RESULTS, body_of(event))
    assert (answer.status, answer.json["state"]) == (201, "unreviewed")
    assert mona.send("PUT", f"{RESULTS}/{event.id}/admission", {}).status == 200
    (stated,) = [one for one in results_of(registry.services.store.existing(NAME)) if one.id == event.id]
    assert (stated.state, stated.event.by, stated.by) == ("admitted", "mona", "acme")
    assert alice.send("DELETE", f"/api/v1/packages/{NAME}/owners/acme").status == 200


@pytest.mark.nightly(reason="an evaluation, and a client for each command")
@pytest.mark.usefixtures("own_folders")
def test_the_commands_publish_list_and_check_private_results(
    registry: RunningRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a run to a checked and admitted result on a private package, by the commands alone."""
    release, metadata = synthetic_release("gem-envs-games", "0.1.0", [GAME], publisher="acme")
    checked = {"source_digest": spec(GAME).source_digest, "environments": [{"id": GAME, "clauses": []}]}
    record: dict[str, Any] = {"gem_core": "0.1.0", "packages": [checked]}
    store = PrivateServices(registry.services, "acme").store
    store.publish(release, None, metadata)
    store.add_event(
        Conformance(name=release.name, version=release.version, by="acme", record=record, sha256=release.sha256)
    )
    address = f"http://127.0.0.1:{registry.port}/"
    remember(address, Login(registry.account("mona").token, "mona"))
    monkeypatch.setenv("GEM_HUB", f"{address}private/acme/")
    evaluate_sync({"environment": [GAME], "agent": "reference", "episodes": 6}, out=tmp_path / "run")
    (told,) = json.loads(gem_hub("results", "push", tmp_path / "run", "--json"))
    assert (told["state"], told["episodes"]) == ("unreviewed", "hub")
    remember(address, Login(registry.account("milo").token, "milo"))
    (verdict,) = json.loads(gem_hub("results", "check", GAME, "--json"))
    assert (verdict["verdict"], verdict["replayed"]) == ("same", 6)
    remember(address, Login(registry.account("olga").token, "olga"))
    gem_hub("results", "admit", "gem-envs-games", told["id"])
    assert told["id"] in gem_hub("results", "list", GAME, "--reviewed")
    monkeypatch.setenv("GEM_HUB", address)
    with pytest.raises(AssertionError):
        gem_hub("results", "list", GAME)
