"""The hub's signed statements on conformance, their check without a network, and the badges."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hub_command import gem_hub
from toy_hub import contents, make_wheel, publish_wheel

import gem
from gem_hub.events import Conformance, Quarantine, Yank
from gem_hub.recheck import unchecked
from gem_hub.signing.keys import create_key
from gem_hub.statements import current_key_ids
from gem_hub.store import Store
from gem_hub_client.config import hub_at
from gem_hub_client.errors import TrustError
from gem_hub_client.trust.ed25519 import verify_without_library
from gem_hub_client.trust.statements import contradiction, counts_of, pre_authentication, read_statement
from gem_hub_client.verify import verify

CLAUSES = [{"clause": "contract.reset", "outcome": outcome} for outcome in ("holds", "holds", "not tested")]
RECORD: dict[str, Any] = {
    "kit": 1,
    "gem_core": gem.__version__,
    "packages": [{"environments": [{"id": "toy:Thing-v0", "clauses": CLAUSES}]}],
}


pytestmark = pytest.mark.usefixtures("own_folders")


@pytest.fixture
def root_key(tmp_path: Path) -> Path:
    """A private root key."""
    gem_hub("keys", "new", tmp_path / "keys" / "alice.pem")
    return tmp_path / "keys" / "alice.pem"


@pytest.fixture
def signed(store: Store, tmp_path: Path, root_key: Path) -> Store:
    """A signed hub with one package, of which the hub has run the kit."""
    publish_wheel(store, make_wheel(tmp_path / "dist"))
    gem_hub("keys", "init", "--hub", store.folder, "--key", root_key)
    store.add_event(run_of(store))
    return store


def run_of(store: Store, **changes: Any) -> Conformance:
    """Return a run by the hub of the one release."""
    (name,) = store.packages()
    package = store.existing(name)
    (release,) = package.releases
    values = {"record": RECORD, "isolation": "jail", "sha256": release.sha256, "by": package.owners[0], **changes}
    return Conformance(name=name, version=release.version, **values)


def event_of(store: Store) -> Conformance:
    """Return the newest run of the one release."""
    package = store.existing(store.packages()[0])
    return package.conformance(package.releases[0].version)[-1]


def keys_of(store: Store) -> dict[str, bytes]:
    """Return the keys that sign a hub's changes, as its metadata has them."""
    root = json.loads((store.folder / "trust" / "1.root.json").read_bytes())["signed"]
    chosen = root["roles"]["timestamp"]["keyids"]
    return {name: bytes.fromhex(root["keys"][name]["keyval"]["public"]) for name in chosen}


def test_a_run_by_the_hub_is_stated_and_signed(signed: Store) -> None:
    """The statement is over wheel, kit, gem-core, sandbox and counts, and nothing else."""
    event = event_of(signed)
    (release,) = signed.existing(event.name).releases
    statement = read_statement(event.statement, keys_of(signed))
    assert (statement.filename, statement.sha256) == (release.filename, release.sha256)
    assert str(statement) == f"2 hold, kit 1, gem-core {gem.__version__}, sandbox jail"
    assert contradiction(statement, release.sha256, counts_of(event.record)) == ""
    assert event.statement is not None
    payload = json.loads(base64.b64decode(str(event.statement["payload"])))
    assert set(payload) == {"_type", "subject", "predicateType", "predicate"}
    assert set(payload["predicate"]) == {"kit", "gem_core", "sandbox", "result"}


def test_the_signature_is_dsse(signed: Store) -> None:
    """An independent implementation of DSSE verifies the envelope."""
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import SSlibKey

    event = event_of(signed)
    root = json.loads((signed.folder / "trust" / "1.root.json").read_bytes())["signed"]
    envelope = Envelope.from_dict(json.loads(json.dumps(event.statement)))
    keys = [SSlibKey.from_dict(name, root["keys"][name]) for name in keys_of(signed)]
    assert set(envelope.verify(keys, 1)) == set(keys_of(signed))
    (signature,) = event.statement["signatures"]  # type: ignore[index, misc]
    (key,) = keys_of(signed).values()
    assert verify_without_library(key, base64.b64decode(signature["sig"]), pre_authentication(envelope.payload))  # type: ignore[index, call-overload]


def test_the_author_states_nothing(signed: Store) -> None:
    """A claim of the author gets no statement, even if it brings one, and so does a run in a hub without keys."""
    forged = event_of(signed).statement
    signed.add_event(run_of(signed, isolation="", statement=forged))
    assert event_of(signed).source == "author"
    assert event_of(signed).statement is None


def test_a_hub_without_keys_states_nothing(store: Store, tmp_path: Path) -> None:
    """Such a hub works as before, and its events have the bytes that they always had."""
    publish_wheel(store, make_wheel(tmp_path / "dist"))
    store.add_event(run_of(store))
    event = event_of(store)
    assert event.statement is None
    assert b"statement" not in event.to_bytes()
    gem_hub("use", store.folder)
    assert "none signed by the hub" in gem_hub("info", "toy-envs")


def changed(statement: dict[str, Any], change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Return an envelope whose payload was changed, under the same signature."""
    payload = json.loads(base64.b64decode(statement["payload"]))
    change(payload)
    return {**statement, "payload": base64.b64encode(json.dumps(payload).encode()).decode()}


CHANGES: dict[str, Callable[[dict[str, Any]], None]] = {
    "another wheel": lambda payload: payload["subject"][0]["digest"].update(sha256="0" * 64),
    "another name": lambda payload: payload["subject"][0].update(name="other-1.0-py3-none-any.whl"),
    "a newer gem-core": lambda payload: payload["predicate"].update(gem_core="9.9"),
    "another kit": lambda payload: payload["predicate"].update(kit=2),
    "a safer sandbox": lambda payload: payload["predicate"].update(sandbox="gvisor"),
    "a better result": lambda payload: payload["predicate"]["result"].update(holds=900),
    "another kind": lambda payload: payload.update(predicateType="https://slsa.dev/provenance/v1"),
    "white space": lambda payload: None,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=[*CHANGES])
def test_a_changed_statement_is_refused(signed: Store, change: Callable[[dict[str, Any]], None]) -> None:
    """The signature is over every byte of the payload."""
    statement = event_of(signed).statement
    assert statement is not None
    with pytest.raises(TrustError, match="the signature of the statement on conformance is wrong"):
        read_statement(changed(statement, change), keys_of(signed))


@pytest.mark.parametrize(
    "envelope",
    [None, [], {}, "x", {"payload": "é", "payloadType": "", "signatures": []}, {"payload": "", "payloadType": 1}],
)
def test_what_is_no_envelope_is_refused(envelope: Any) -> None:
    """Whatever a hub sends, the answer is one error."""
    with pytest.raises(TrustError):
        read_statement(envelope, {})


def test_a_foreign_key_is_refused(signed: Store, tmp_path: Path) -> None:
    """A statement that another key signed is none of this hub, also under the name of the hub's key."""
    event = event_of(signed)
    assert event.statement is not None
    foreign = create_key(tmp_path / "mallory.pem")
    payload = base64.b64decode(str(event.statement["payload"]))
    signature = foreign.sign(pre_authentication(payload))
    sig = base64.b64encode(bytes.fromhex(signature.signature)).decode()
    for name, reason in ((signature.keyid, "no key of this hub now"), (next(iter(keys_of(signed))), "is wrong")):
        with pytest.raises(TrustError, match=reason):
            read_statement({**event.statement, "signatures": [{"keyid": name, "sig": sig}]}, keys_of(signed))


def test_the_key_of_the_hub_states_nothing_else(signed: Store) -> None:
    """What the same key signs about something else is no statement on conformance."""
    from gem_hub.signing.online import online_key
    from gem_hub.signing.roots import newest_root

    event, root = event_of(signed), newest_root(signed.files)
    assert event.statement is not None
    assert root is not None
    payload = json.loads(base64.b64decode(str(event.statement["payload"])))
    for key, value in (("predicateType", "https://slsa.dev/provenance/v1"), ("_type", "x"), ("subject", [])):
        content = json.dumps({**payload, key: value}).encode()
        signature = online_key(signed.files, root.signed).sign(pre_authentication(content))
        sig = base64.b64encode(bytes.fromhex(signature.signature)).decode()
        envelope = {
            "payloadType": "application/vnd.in-toto+json",
            "payload": base64.b64encode(content).decode(),
            "signatures": [{"keyid": signature.keyid, "sig": sig}],
        }
        with pytest.raises(TrustError, match="cannot be read"):
            read_statement(envelope, keys_of(signed))


def test_a_statement_is_not_moved_to_another_wheel(signed: Store) -> None:
    """A genuine statement on one wheel contradicts any other, and any other counts."""
    event = event_of(signed)
    statement = read_statement(event.statement, keys_of(signed))
    counts = counts_of(event.record)
    assert "is about the wheel with sha256" in contradiction(statement, "0" * 64, counts)
    assert "says holds 2, and the hub shows 3" in contradiction(statement, statement.sha256, {**counts, "holds": 3})
    assert "says gem_core" in contradiction(statement, statement.sha256, {**counts, "gem_core": "0.2.0"})


def test_clients_show_and_verify_it(signed: Store) -> None:
    """`gem hub info` verifies the statement, and `gem hub verify` every one of a hub."""
    gem_hub("use", signed.folder)
    assert f"signed by the hub, verified: 2 hold, kit 1, gem-core {gem.__version__}, sandbox jail" in gem_hub(
        "info", "toy-envs"
    )
    assert verify(hub_at(str(signed.folder))).problems == []


def test_a_forged_statement_is_a_problem(signed: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub whose machine was broken into cannot state what its key did not sign."""
    forged = changed(dict(event_of(signed).statement or {}), CHANGES["a better result"])
    monkeypatch.setattr("gem_hub.store.signed_statement", lambda *arguments: forged)
    signed.add_event(run_of(signed, record={**RECORD, "gem_core": "0.1.1"}))
    (problem,) = verify(hub_at(str(signed.folder))).problems
    assert problem.endswith("the statement on conformance: the signature of the statement on conformance is wrong")
    gem_hub("use", signed.folder)
    assert "NOT VERIFIED: " in gem_hub("info", "toy-envs")


def test_a_replaced_key_asks_for_a_new_run(signed: Store, root_key: Path) -> None:
    """After a rotation the run counts as outdated, verifying notes it, and running again signs anew."""
    assert event_of(signed).counts()["gem_core"] == gem.__version__
    assert unchecked(signed) == []
    gem_hub("keys", "rotate", "--hub", signed.folder, "--key", root_key, "--online")
    assert [release.name for release in unchecked(signed)] == ["toy-envs"]
    found = verify(hub_at(str(signed.folder)))
    assert found.problems == []
    assert any("signed with a key that the hub has replaced since" in note for note in found.notes)
    assert signed.add_event(run_of(signed))
    assert {one["keyid"] for one in event_of(signed).statement["signatures"]} == current_key_ids(signed.files)  # type: ignore[index, union-attr, call-overload]


def test_a_request_brings_no_statement(signed: Store) -> None:
    """A statement that was merged with a pull request is dropped; only the hub makes statements."""
    event = run_of(signed, record={**RECORD, "gem_core": "0.1.2"}, statement=event_of(signed).statement)
    path = signed.folder / event.path
    path.write_bytes(event.to_bytes())
    signed.rebuild()
    assert event_of(signed).counts()["gem_core"] == "0.1.2"
    assert event_of(signed).statement is None


# --- Badges


def badge(store: Store) -> str:
    """Return what the badge of the one package says."""
    root = ElementTree.fromstring((store.folder / "badges" / "toy-envs.svg").read_bytes())
    (title,) = root.iter("{http://www.w3.org/2000/svg}title")
    assert root.attrib["aria-label"] == title.text
    return str(title.text)


def test_a_badge_says_version_result_and_who_ran_it(store: Store, tmp_path: Path) -> None:
    """It changes with each event: not tested, the author's word, the hub's run, violations, a yank, a quarantine."""
    publish_wheel(store, make_wheel(tmp_path / "dist"))
    assert badge(store) == "conformance 0.1.0: not tested"
    store.add_event(run_of(store, isolation=""))
    assert badge(store) == f"conformance 0.1.0: 2 hold, gem-core {gem.__version__}, author says"
    store.add_event(run_of(store))
    assert badge(store) == f"conformance 0.1.0: 2 hold, gem-core {gem.__version__}, hub ran"
    broken = json.loads(json.dumps(RECORD).replace("not tested", "violated"))
    store.add_event(run_of(store, record=broken))
    assert badge(store) == f"conformance 0.1.0: 1 violated, gem-core {gem.__version__}, hub ran"
    owner = store.owners("toy-envs")[0]
    store.add_event(Yank(name="toy-envs", version="0.1.0", reason="broken", by=owner))
    assert badge(store) == "conformance: every release is yanked"
    store.add_event(Quarantine(name="toy-envs", reason="steals", by=owner))
    assert badge(store) == "conformance: quarantined"
    before = contents(store.folder)
    (store.folder / "badges" / "toy-envs.svg").write_text("x")
    (store.folder / "badges" / "gone.svg").write_text("x")
    store.rebuild()
    assert contents(store.folder) == before
