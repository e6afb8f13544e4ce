"""Results in a hub: published into a folder and over HTTP, listed, read through a mirror, admitted and withdrawn."""

from __future__ import annotations

import base64
import gzip
import json
import shutil
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hub_command import gem_hub
from registry_server import RunningRegistry, join, running_registry
from signed_results import NAME, OWNER, code_record, made_result, new_key, signed_event, toy_release
from toy_hub import Killed, contents, synthetic_release

from gem.registry import spec
from gem_eval.runs import evaluate_sync
from gem_hub.errors import HubRefusal
from gem_hub.events import Conformance, Result, ResultDecision
from gem_hub.results.state import episodes_path, results_of
from gem_hub.signing import online, roots
from gem_hub.signing.keys import create_key
from gem_hub.store import Store
from gem_hub_client.cli.group import hub_command
from gem_hub_client.config import hub_at
from gem_hub_client.errors import HubError
from gem_hub_client.pages import verified_page
from gem_hub_client.registry.credentials import Login, remember
from gem_hub_client.results.listed import read_results

SCORES = [1.0, 0.0, 1.0, 0.5]
GAME = "game:GuessTheNumber-v0-easy"


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a hub with a release of the toy package, whose code is known."""
    store = Store(tmp_path_factory.mktemp("released") / "hub")
    _, metadata = synthetic_release(NAME, "0.1.0", publisher=OWNER)
    release = toy_release()
    store.publish(release, None, metadata)
    store.add_event(code_record(release))
    return store.folder


@pytest.fixture
def hub(released: Path, tmp_path: Path, own_folders: None) -> Store:
    """A hub of the test's own with that release."""
    return Store(shutil.copytree(released, tmp_path / "hub"))


def publish(hub: Store, keys: Path, publisher: str, salt: str = "") -> Result:
    """Publish a result without its recorded episodes."""
    key = new_key(keys, publisher)
    event = signed_event(made_result(publisher, key, SCORES, salt=f"{publisher}{salt}"), key)
    hub.add_result(event, None)
    return event


def listed(hub: Store) -> list[tuple[str, str]]:
    """Return publisher and state of the results as a client reads them."""
    found = verified_page(hub_at(str(hub.folder)), NAME)
    assert found is not None
    return [(one.record.publisher, one.state) for one in read_results(found)]


def test_a_result_is_listed_as_its_owner_left_it(hub: Store, tmp_path: Path) -> None:
    """An owner's own is admitted, a stranger's is not until an owner says so, and a withdrawn one says it."""
    publish(hub, tmp_path, OWNER)
    stranger = publish(hub, tmp_path, "bob")
    assert listed(hub) == [(OWNER, "admitted"), ("bob", "unreviewed")]
    decision: dict[str, Any] = {"name": NAME, "result": stranger.id, "reason": "looked at"}
    assert hub.add_event(ResultDecision(by=OWNER, action="admit", **decision))
    assert not hub.add_event(ResultDecision(by=OWNER, action="admit", **decision))
    assert listed(hub) == [(OWNER, "admitted"), ("bob", "admitted")]
    hub.add_event(ResultDecision(by="bob", action="withdraw", **decision))
    assert listed(hub) == [(OWNER, "admitted"), ("bob", "withdrawn")]
    assert hub.rebuild(check=True) == []


def test_an_owner_of_later_does_not_admit_what_was_published_before(hub: Store, tmp_path: Path) -> None:
    """What counts is who owned the package when the result came."""
    from gem_hub.events import Owner

    publish(hub, tmp_path, "bob")
    hub.add_event(Owner(name=NAME, by=OWNER, action="add", owner="bob"))
    publish(hub, tmp_path, "bob", "2")
    assert listed(hub) == [("bob", "unreviewed"), ("bob", "admitted")]


def test_no_result_is_taken_before_the_kit_has_run(tmp_path: Path, own_folders: None) -> None:
    """Without a run nobody knows which code the wheel holds; the refusal says how to come to one."""
    store = Store(tmp_path / "hub")
    _, metadata = synthetic_release(NAME, "0.1.0", publisher=OWNER)
    release = toy_release()
    store.publish(release, None, metadata)
    with pytest.raises(HubRefusal, match=rf"wheel of 0\.1\.0 holds.*'gem hub publish --wait'.*gem hub check {NAME}$"):
        publish(store, tmp_path, OWNER)
    store.add_event(code_record(release))
    publish(store, tmp_path, OWNER)
    assert listed(store) == [(OWNER, "admitted")]


def test_a_refused_result_leaves_nothing(hub: Store, tmp_path: Path) -> None:
    """Neither an event nor the file of its episodes is there after a refusal."""
    before = contents(hub.folder)
    key = new_key(tmp_path, "bob")
    event = signed_event(made_result("bob", key, SCORES), key)
    with pytest.raises(HubRefusal, match="have not the sha256"):
        hub.add_result(event, gzip.compress(b"{}\n"))
    assert contents(hub.folder) == before


def _edit_page(hub: Path, edit: Callable[[Any], object]) -> None:
    path = hub / "envs" / f"{NAME}.json"
    page = json.loads(path.read_bytes())
    edit(page["results"])
    path.write_text(json.dumps(page, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n")


def _edit_event(hub: Path, old: bytes, new: bytes) -> None:
    (path, *_) = sorted((hub / "events" / NAME).glob("*-result.json"))
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, new, 1))


def _swap_events(hub: Path) -> None:
    first, second = sorted((hub / "events" / NAME).glob("*-result.json"))
    first.write_bytes(second.read_bytes())


def test_a_killed_publication_of_a_result_is_completed(hub: Store, tmp_path: Path) -> None:
    """A result whose record was written before the kill, and no page yet, is there after the next change."""
    store, key = Store(hub.folder), new_key(tmp_path, "bob")

    def die(*_: object) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "_derive", die)
        with pytest.raises(Killed):
            store.add_result(signed_event(made_result("bob", key, SCORES), key), None)
    assert hub.rebuild(check=True)
    publish(hub, tmp_path, OWNER)
    assert listed(hub) == [("bob", "unreviewed"), (OWNER, "admitted")]
    assert hub.rebuild(check=True) == []


MIRRORS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a result is left out": (lambda hub: _edit_page(hub, lambda results: results.pop()), "catalogue promises"),
    "a state is raised": (lambda hub: _edit_page(hub, lambda r: r[1].update(state="admitted")), "catalogue promises"),
    "a file is named elsewhere": (
        lambda hub: _edit_page(hub, lambda r: r[0].update(path="events/../../secret")),
        "catalogue promises",
    ),
    "an account is changed": (lambda hub: _edit_event(hub, b'"by": "alice"', b'"by": "carol"'), "page promises"),
    "an envelope is changed": (lambda hub: _edit_event(hub, b'"payload": "e', b'"payload": "f'), "page promises"),
    "a byte is added": (lambda hub: _edit_event(hub, b"{", b"{ "), "page promises"),
    "another result is shown": (_swap_events, "page promises"),
    "a file is cut off": (lambda hub: _edit_event(hub, b"}\n", b""), "page promises"),
    "a file is gone": (lambda hub: next((hub / "events" / NAME).glob("*-result.json")).unlink(), "no such file"),
}


BY_DAY = ("a state is raised", "an envelope is changed")
"""The attacks that each run tries; the others come by night."""


@pytest.mark.parametrize(
    "attack", [attack if attack in BY_DAY else pytest.param(attack, marks=pytest.mark.nightly) for attack in MIRRORS]
)
def test_a_mirror_cannot_alter_a_result(attack: str, hub: Store, tmp_path: Path) -> None:
    """Whatever a mirror changes about results, the client uses none of it."""
    publish(hub, tmp_path, OWNER)
    publish(hub, tmp_path, "bob")
    alter, reason = MIRRORS[attack]
    alter(hub.folder)
    with pytest.raises(HubError, match=reason):
        listed(hub)


def test_verify_checks_every_result(hub: Store, tmp_path: Path) -> None:
    """``gem hub verify`` finds a result that is not the one that the page promises."""
    publish(hub, tmp_path, OWNER)
    _edit_event(hub.folder, b"{", b"{ ")
    done = CliRunner().invoke(hub_command, ["verify", str(hub.folder)])
    assert done.exit_code == 1
    assert "is not what the package's page promises" in done.output


@pytest.mark.nightly
def test_the_log_of_a_signed_hub_has_its_results(hub: Store, tmp_path: Path) -> None:
    """An operator who replaces a result, derives all pages anew and signs them is found by the log."""
    key = create_key(tmp_path / "root.pem")
    root = roots.first_root([key.public_key], 1, online.new_online_key(hub.files), 30)
    roots.sign_root(root, [key])
    hub.install_root(1, roots.dumped(root))
    publish(hub, tmp_path, "bob")
    verified = CliRunner().invoke(hub_command, ["verify", str(hub.folder)])
    assert verified.exit_code == 0, verified.output
    (path,) = (hub.folder / "events" / NAME).glob("*-result.json")
    event = Result.model_validate_json(path.read_bytes())
    path.write_bytes(event.model_copy(update={"created": "2030-01-01T00:00:00Z"}).to_bytes())
    hub.rebuild()
    hub.sign()
    verified = CliRunner().invoke(hub_command, ["verify", str(hub.folder)])
    assert verified.exit_code == 1
    assert "log" in verified.output


def test_a_hub_cannot_make_up_a_result(hub: Store, tmp_path: Path) -> None:
    """Even what the catalogue proves is refused where the publisher has not signed it."""
    publish(hub, tmp_path, OWNER)
    (path,) = (hub.folder / "events" / NAME).glob("*-result.json")
    document = json.loads(path.read_bytes())
    payload = base64.b64decode(document["envelope"]["payload"])
    document["envelope"]["payload"] = base64.b64encode(payload.replace(b"small-model", b"great-model")).decode()
    path.write_bytes(Result.model_validate(document).to_bytes())
    hub.rebuild()
    with pytest.raises(HubError, match="signature is not by the key"):
        listed(hub)


@pytest.fixture
def game_registry(tmp_path: Path, own_folders: None, new_database: Callable[[], str]) -> Iterator[RunningRegistry]:
    """A registry with a release of the games that are installed here."""
    release, metadata = synthetic_release("gem-envs-games", "0.1.0", [GAME], publisher=OWNER)
    checked = {"source_digest": spec(GAME).source_digest, "environments": [{"id": GAME, "clauses": []}]}
    record: dict[str, Any] = {"gem_core": "0.1.0", "packages": [checked]}
    with running_registry(tmp_path / "hub", database=new_database()) as running:
        store = running.services.store
        store.publish(release, None, metadata)
        store.add_event(
            Conformance(name=release.name, version=release.version, by=OWNER, record=record, sha256=release.sha256)
        )
        yield running


def log_in(registry: RunningRegistry, account: str) -> str:
    """Log an account in as ``gem hub login`` does; return the address of the registry."""
    address = f"http://127.0.0.1:{registry.port}/"
    remember(address, Login(registry.account(account).token, account))
    return address


@pytest.mark.nightly
def test_a_stranger_publishes_a_result_that_others_check(
    game_registry: RunningRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a run to a checked and admitted result, by the commands alone; the only login is where it is published."""
    address = log_in(game_registry, "bob")
    for agent in ("reference", "random"):
        evaluate_sync({"environment": [GAME], "agent": agent, "episodes": 6}, out=tmp_path / agent)
        (told,) = json.loads(gem_hub("results", "push", tmp_path / agent, "--json"))
        assert (told["state"], told["episodes"]) == ("unreviewed", "hub")
    monkeypatch.setenv("GEM_HUB", address)
    (board,) = json.loads(gem_hub("info", "game:GuessTheNumber-v0", "--results", "--json"))["leaderboards"]
    assert [entry["agent"] for entry in board["entries"]] == ["reference", "random"]
    assert board["entries"][1]["difference"]["paired"]
    checked = json.loads(gem_hub("results", "check", GAME, "--json"))
    assert [(one["verdict"], one["replayed"]) for one in checked] == [("same", 6)] * 2
    log_in(game_registry, OWNER)
    gem_hub("results", "admit", "gem-envs-games", told["id"])
    shown = gem_hub("results", "list", GAME, "--reviewed")
    assert told["id"] in shown
    assert "reference" not in shown
    log_in(game_registry, "bob")
    gem_hub("results", "withdraw", "gem-envs-games", told["id"], "--reason", "the wrong run")
    assert f"{told['id']} (random) was withdrawn by bob: the wrong run" in gem_hub("results", "list", GAME)
    store = game_registry.services.store
    assert store.rebuild(check=True) == []
    for one in results_of(store.existing("gem-envs-games")):
        path = episodes_path(str(one.event.predicate["raw_sha256"]))
        packed = store.files.read(path)
        assert sha256(gzip.decompress(packed or b"")).hexdigest() == one.event.predicate["raw_sha256"]
        assert game_registry.stranger.send("GET", f"/{path}").fields["Content-Type"] == "application/gzip"


@pytest.mark.slow
def test_an_organisation_decides_through_those_whose_role_allows_it(
    tmp_path: Path, new_database: Callable[[], str]
) -> None:
    """Of the organisation that owns a package a maintainer admits results, in its name; members and strangers none."""
    with running_registry(tmp_path / "hub", database=new_database()) as registry:
        store, key = registry.services.store, new_key(tmp_path, "bob")
        _, metadata = synthetic_release(NAME, "0.1.0", publisher=OWNER)
        release = toy_release()
        store.publish(release, None, metadata)
        store.add_event(code_record(release))
        result = signed_event(made_result("bob", key, [1.0, 0.0, 1.0]), key)
        store.add_result(result, None)
        alice = registry.account(OWNER)
        assert alice.send("POST", "/api/v1/organisations", {"name": "acme"}).status == 201
        for account, role in (("mona", "maintainer"), ("milo", "member")):
            join(registry, "acme", account, role, OWNER)
        assert alice.send("PUT", f"/api/v1/packages/{NAME}/owners/acme").status == 200
        assert alice.send("DELETE", f"/api/v1/packages/{NAME}/owners/{OWNER}").status == 200
        path = f"/api/v1/packages/{NAME}/results/{result.id}/admission"
        statuses = {who: registry.account(who).send("PUT", path, {}).status for who in ("milo", "bob", "mona")}
        assert statuses == {"milo": 409, "bob": 409, "mona": 200}
        (stated,) = results_of(store.existing(NAME))
        assert (stated.state, store.existing(NAME).events[-1].by) == ("admitted", "acme")


REFUSED: list[tuple[dict[str, Any], int]] = [
    ({}, 400),
    ({"version": "0.1.0", "sha256": "", "envelope": {}}, 400),
    ({"version": "0.1.0", "sha256": "", "envelope": {"payload": "e30="}}, 409),
    ({"version": "0.1.0", "sha256": "", "envelope": {"payload": "e30="}, "episodes": "no base64"}, 400),
    ({"version": "<b>", "sha256": "", "envelope": {"payload": "e30="}}, 400),
]


def test_a_registry_says_why_it_refuses(game_registry: RunningRegistry) -> None:
    """A body that is no result is a bad request, a result that breaks a rule a conflict, and neither an error."""
    bob, path = game_registry.account("bob"), "/api/v1/packages/gem-envs-games/results"
    for body, status in REFUSED:
        answer = bob.send("POST", path, body)
        assert (answer.status, "result" in answer.text or "body" in answer.text) == (status, True), body
        assert game_registry.stranger.send("POST", path, body).status == 401
    assert bob.send("POST", "/api/v1/packages/no-such/results", REFUSED[2][0]).status == 404
    assert bob.send("DELETE", f"{path}/0123456789abcdef", {}).status == 409
    assert bob.send("PUT", f"{path}/x/admission", {}).status == 400
