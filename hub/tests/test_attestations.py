"""Attestations (PEP 740): kept as they were published, served, and verified without a network."""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from sigstore_authority import SigstoreAuthority
from toy_hub import contents, make_wheel, publish_wheel

from gem_hub.attestations.provenance import provenance_object, read_attestations
from gem_hub.attestations.verification import attested_publisher, verify_attestation
from gem_hub.errors import HubRefusal
from gem_hub.events import Provenance, Quarantine
from gem_hub.store import Store
from gem_hub_client.cli.group import hub_command

pytest.importorskip("pypi_attestations", reason="verifies attestations: pip install gem-hub[attestations]")

WHEEL = "toy_envs-0.1.0-py3-none-any.whl"
SHA256 = "5" * 64
PUBLISHER = {"kind": "GitHub", "repository": "alice/toys", "workflow": "release.yml"}


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Caches and configuration in a folder of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("GEM_HUB", raising=False)


@pytest.fixture(scope="module")
def authority() -> SigstoreAuthority:
    """A certificate authority and logs that only these tests trust."""
    return SigstoreAuthority()


@pytest.fixture(scope="module")
def root(authority: SigstoreAuthority, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trusted root of this authority."""
    return authority.trusted_root(tmp_path_factory.mktemp("trust") / "trusted_root.json")


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every attempt to reach another machine fails."""

    def refused(*arguments: object, **options: object) -> None:
        raise AssertionError("the network was used")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)


def test_a_genuine_attestation_is_verified_offline(authority: SigstoreAuthority, root: Path, no_network: None) -> None:
    """Of the right workflow, over the right wheel, in the log: nothing is refused, and nobody is asked."""
    attestation = authority.attest(WHEEL, SHA256)
    assert attested_publisher(attestation, WHEEL) == PUBLISHER
    verify_attestation(attestation, WHEEL, SHA256, PUBLISHER, root)
    slsa = authority.attest(WHEEL, SHA256, predicateType="https://slsa.dev/provenance/v1")
    verify_attestation(slsa, WHEEL, SHA256, PUBLISHER, root)


def test_a_file_name_may_be_written_otherwise(authority: SigstoreAuthority, root: Path) -> None:
    """Names of wheels are compared as installers read them."""
    verify_attestation(authority.attest("Toy_Envs-0.1.0-py3-none-any.whl", SHA256), WHEEL, SHA256, PUBLISHER, root)


def other(**changes: Any) -> dict[str, Any]:
    return {**PUBLISHER, **changes}


@pytest.mark.parametrize(
    ("made", "expected", "reason"),
    [
        ({"repository": "mallory/toys"}, PUBLISHER, "is not that of GitHub alice/toys release.yml"),
        ({"repository": "alice/toys2"}, PUBLISHER, "is not that of"),
        ({"workflow": "test.yml"}, PUBLISHER, "is not that of"),
        ({}, other(repository="alice/others"), "is not that of GitHub alice/others"),
        ({}, other(workflow="release.yaml"), "is not that of"),
        ({}, {"kind": "GitLab", "repository": "alice/toys", "workflow_filepath": "ci.yml"}, "is not that of GitLab"),
        ({}, {"kind": "Google", "email": "a@b.example"}, "is not that of Google"),
        ({}, {"kind": "Forge", "repository": "alice/toys"}, "'Forge' is no known kind of publisher"),
        ({}, {"kind": "GitHub"}, "its publisher: repository"),
        ({"filename": "toy_envs-0.2.0-py3-none-any.whl"}, PUBLISHER, "which is another file"),
        ({"filename": "toy_envs.whl"}, PUBLISHER, "which is another file"),
        ({"sha256": "6" * 64}, PUBLISHER, "is about a wheel with sha256 666666666666…"),
        ({"subject": []}, PUBLISHER, "is about 0 files"),
        ({"subject": [{"name": WHEEL, "digest": {"sha256": SHA256}}] * 2}, PUBLISHER, "is about 2 files"),
        ({"subject": [{"name": WHEEL, "digest": {"sha1": "0"}}]}, PUBLISHER, "cannot be read"),
        ({"predicateType": "https://example.org/mine"}, PUBLISHER, "the attestation states 'https://example.org/mine'"),
        ({"_type": "https://in-toto.io/Statement/v0.1"}, PUBLISHER, "cannot be read"),
    ],
)
def test_what_somebody_else_or_something_else_attests_is_refused(
    authority: SigstoreAuthority, root: Path, made: dict[str, Any], expected: dict[str, Any], reason: str
) -> None:
    """Another repository, workflow, host, wheel or kind of statement, each with its reason."""
    attestation = authority.attest(**{"filename": WHEEL, "sha256": SHA256, **made})
    with pytest.raises(HubRefusal, match=reason):
        verify_attestation(attestation, WHEEL, SHA256, expected, root)


def statement_changed(attestation: dict[str, Any], other: dict[str, Any]) -> None:
    statement = json.loads(base64.b64decode(attestation["envelope"]["statement"]))
    attestation["envelope"]["statement"] = base64.b64encode(json.dumps({**statement, "x": 1}).encode()).decode()


def signature_of_another(attestation: dict[str, Any], other: dict[str, Any]) -> None:
    attestation["envelope"]["signature"] = other["envelope"]["signature"]


def certificate_of_another(attestation: dict[str, Any], other: dict[str, Any]) -> None:
    attestation["verification_material"]["certificate"] = other["verification_material"]["certificate"]


def entry_of_another(attestation: dict[str, Any], other: dict[str, Any]) -> None:
    entries = other["verification_material"]["transparency_entries"]
    attestation["verification_material"]["transparency_entries"] = entries


def entry_changed(*keys: str, value: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def change(attestation: dict[str, Any], other: dict[str, Any]) -> None:
        place = attestation["verification_material"]["transparency_entries"][0]
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return change


FORGERIES = {
    "statement": statement_changed,
    "signature": signature_of_another,
    "certificate": certificate_of_another,
    "log entry": entry_of_another,
    "time": entry_changed("integratedTime", value="1"),
    "no promise": entry_changed("inclusionPromise", value=None),
    "promise": entry_changed("inclusionPromise", "signedEntryTimestamp", value=base64.b64encode(b"x" * 70).decode()),
    "root hash": entry_changed("inclusionProof", "rootHash", value=base64.b64encode(b"\0" * 32).decode()),
    "checkpoint": entry_changed(
        "inclusionProof", "checkpoint", "envelope", value="log.test\n1\nAAAA\n\n— log.test AAAAAAAA\n"
    ),
    "log of another": entry_changed("logId", "keyId", value=base64.b64encode(b"\0" * 32).decode()),
    "body": entry_changed("canonicalizedBody", value=base64.b64encode(b"{}").decode()),
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=[*FORGERIES])
def test_forged_parts_are_refused(
    authority: SigstoreAuthority, root: Path, forge: Callable[[dict[str, Any], dict[str, Any]], None]
) -> None:
    """Each part of an attestation is bound to the others; none can be exchanged, not even for a genuine one."""
    attestation = authority.attest(WHEEL, SHA256)
    verify_attestation(attestation, WHEEL, SHA256, PUBLISHER, root)
    forge(attestation, authority.attest(WHEEL, SHA256))
    if forge is FORGERIES["log of another"]:  # the id is a hint; the signatures decide
        attestation["verification_material"]["transparency_entries"][0]["logIndex"] = "1"
    with pytest.raises(HubRefusal):
        verify_attestation(attestation, WHEEL, SHA256, PUBLISHER, root)


def test_another_authority_is_not_trusted(root: Path) -> None:
    """What another authority issued, and what its logs hold, counts for nothing; nor does it for sigstore's root."""
    attestation = SigstoreAuthority().attest(WHEEL, SHA256)
    for trusted in (root, None):
        with pytest.raises(HubRefusal, match="is not that of GitHub alice/toys"):
            verify_attestation(attestation, WHEEL, SHA256, PUBLISHER, trusted)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "cannot be read as JSON"),
        (b"[" * 100_000, "cannot be read"),
        (b"{}", "holds no attestation"),
        (b"[]", "holds 0 attestations"),
        (b"7", "holds no attestation"),
        (b'{"version": 2}', "holds no attestation"),
        (b'{"version": 1, "attestation_bundles": [{}]}', "holds no attestation"),
        (b"x" * (2**20 + 1), "are the most for attestations"),
    ],
)
def test_files_that_hold_no_attestation_are_refused(content: bytes, reason: str) -> None:
    """Whatever a file holds, the answer is one sentence."""
    with pytest.raises(HubRefusal, match=reason):
        read_attestations(content, "some.attestation")


def test_a_trusted_root_must_be_one(authority: SigstoreAuthority, tmp_path: Path) -> None:
    """A wrong file is named."""
    (tmp_path / "root.json").write_text("{}")
    with pytest.raises(HubRefusal, match="is no trusted root of sigstore"):
        verify_attestation(authority.attest(WHEEL, SHA256), WHEEL, SHA256, PUBLISHER, tmp_path / "root.json")


# --- In a hub


def gem_hub(*arguments: object) -> Result:
    return CliRunner().invoke(hub_command, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.fixture
def hub(store: Store, tmp_path: Path) -> Store:
    """A hub with one package."""
    publish_wheel(store, make_wheel(tmp_path / "dist"))
    return store


def attested(store: Store, authority: SigstoreAuthority, root: Path, folder: Path, **changes: Any) -> Result:
    """Attest the one release with a file that has a field nobody knows."""
    (release,) = store.existing("toy-envs").releases
    attestation = authority.attest(**{"filename": release.filename, "sha256": release.sha256, **changes})
    path = folder / f"{release.filename}.publish.attestation"
    path.write_text(json.dumps({**attestation, "later_field": {"timestamps": [1]}}))
    by = store.owners("toy-envs")[0]
    return gem_hub("attest", "toy-envs", path, "--hub", store.folder, "--by", by, "--trusted-root", root)


def test_attestations_are_kept_and_served(
    hub: Store, authority: SigstoreAuthority, root: Path, tmp_path: Path, no_network: None
) -> None:
    """They stand in the log of events, in the index's JSON, in a provenance object, in info, and survive a rebuild."""
    done = attested(hub, authority, root, tmp_path)
    assert done.output == "toy-envs 0.1.0: attested by GitHub alice/toys release.yml\n"
    (file,) = json.loads(hub.files.read("simple/toy-envs/index.json") or b"")["files"]
    assert file["provenance"] == "../../provenance/toy-envs/0.1.0.json"
    document = json.loads(hub.files.read("provenance/toy-envs/0.1.0.json") or b"")
    (bundle,) = document["attestation_bundles"]
    assert bundle["publisher"] == PUBLISHER
    assert bundle["attestations"][0]["later_field"] == {"timestamps": [1]}
    before = contents(hub.folder)
    (hub.folder / "provenance" / "toy-envs" / "0.1.0.json").unlink()
    (hub.folder / "provenance" / "toy-envs" / "9.json").write_text("{}")
    hub.rebuild()
    assert contents(hub.folder) == before
    gem_hub("use", hub.folder)
    assert "GitHub alice/toys release.yml" in gem_hub("info", "toy-envs").output
    shown = gem_hub("attestations", "toy-envs", "--trusted-root", root)
    assert (shown.exit_code, shown.output) == (0, f"{file['filename']}: GitHub alice/toys release.yml: verified\n")
    assert gem_hub("verify", hub.folder).exit_code == 0


def test_pypi_attestations_reads_the_provenance(
    hub: Store, authority: SigstoreAuthority, root: Path, tmp_path: Path
) -> None:
    """The reference implementation of PEP 740 reads what the hub serves."""
    from pypi_attestations import Provenance as ReferenceProvenance

    assert attested(hub, authority, root, tmp_path).exit_code == 0
    read = ReferenceProvenance.model_validate_json(hub.files.read("provenance/toy-envs/0.1.0.json") or b"")
    (bundle,) = read.attestation_bundles
    assert bundle.publisher.kind == "GitHub"
    assert bundle.attestations[0].statement["subject"][0]["name"] == WHEEL


def test_the_same_again_changes_nothing_and_more_are_added(
    hub: Store, authority: SigstoreAuthority, root: Path, tmp_path: Path
) -> None:
    """Attestations of several publishers stand side by side, each once."""
    attested(hub, authority, root, tmp_path)
    path = next(tmp_path.glob("*.attestation"))
    by = hub.owners("toy-envs")[0]
    again = gem_hub("attest", "toy-envs==0.1.0", path, "--hub", hub.folder, "--by", by, "--trusted-root", root)
    assert "was attested before by" in again.output
    assert (
        "; GitHub bob/mirror build.yml"
        in attested(hub, authority, root, tmp_path, repository="bob/mirror", workflow="build.yml").output
    )
    document = hub.existing("toy-envs").provenance("0.1.0")
    assert document is not None
    assert [len(bundle["attestations"]) for bundle in document["attestation_bundles"]] == [1, 1]


@pytest.mark.parametrize("changes", [{"sha256": "0" * 64}, {"filename": "other-1.0-py3-none-any.whl"}])
def test_a_wrong_attestation_is_not_added(
    hub: Store, authority: SigstoreAuthority, root: Path, tmp_path: Path, changes: dict[str, str]
) -> None:
    """A refusal leaves the hub as it was."""
    before = contents(hub.folder)
    with pytest.raises(HubRefusal, match="the attestation is about"):
        attested(hub, authority, root, tmp_path, **changes)
    assert contents(hub.folder) == before


def test_the_expected_workflow_can_be_named(
    hub: Store, authority: SigstoreAuthority, root: Path, tmp_path: Path
) -> None:
    """With --repository and --workflow, only that one may have attested."""
    attested(hub, authority, root, tmp_path)
    path, by = next(tmp_path.glob("*.attestation")), hub.owners("toy-envs")[0]
    common = ("attest", "toy-envs", path, "--hub", hub.folder, "--by", by, "--trusted-root", root)
    with pytest.raises(HubRefusal, match=r"is not that of GitHub mallory/toys release\.yml"):
        gem_hub(*common, "--repository", "mallory/toys", "--workflow", "release.yml")
    assert gem_hub(*common, "--repository", "alice/toys").exit_code == 2


def test_a_stranger_or_another_wheel_is_refused_by_the_store(hub: Store, authority: SigstoreAuthority) -> None:
    """The rules of events hold for attestations: owners only, and about the published wheel."""
    (release,) = hub.existing("toy-envs").releases
    by = hub.owners("toy-envs")[0]
    document = provenance_object([(PUBLISHER, [authority.attest(release.filename, release.sha256)])])
    foreign = provenance_object([(PUBLISHER, [authority.attest(release.filename, SHA256)])])
    common = {"name": "toy-envs", "version": "0.1.0"}
    for values, reason in (
        ({"by": "mallory", "sha256": release.sha256, "document": document}, "may not request 'provenance'"),
        ({"by": by, "sha256": SHA256, "document": document}, "is about a wheel with sha256 555555555555"),
        ({"by": by, "sha256": release.sha256, "document": foreign}, "the attestation is about a wheel with sha256"),
        ({"by": by, "sha256": release.sha256, "document": document, "version": "9"}, "there is no toy-envs 9"),
    ):
        with pytest.raises(HubRefusal, match=reason):
            hub.add_event(Provenance.model_validate({**common, **values}))


def test_a_forged_attestation_in_a_hub_is_noticed(
    hub: Store, authority: SigstoreAuthority, root: Path, tmp_path: Path
) -> None:
    """A hub that shows a publisher who attested nothing is found out by its clients."""
    (release,) = hub.existing("toy-envs").releases
    attestation = authority.attest(release.filename, release.sha256, repository="mallory/toys")
    document = provenance_object([(PUBLISHER, [attestation])])
    values = {"name": "toy-envs", "version": "0.1.0", "sha256": release.sha256, "document": document}
    hub.add_event(Provenance(by=hub.owners("toy-envs")[0], **values))
    gem_hub("use", hub.folder)
    done = gem_hub("attestations", "toy-envs", "--trusted-root", root)
    assert done.exit_code == 1
    assert "GitHub alice/toys release.yml: NOT VERIFIED: " in done.output


def test_no_attestations_are_said_to_be_none(hub: Store) -> None:
    """Without attestations the command fails, and info says nobody."""
    gem_hub("use", hub.folder)
    assert gem_hub("attestations", "toy-envs").exit_code == 1
    assert "attested by     nobody" in gem_hub("info", "toy-envs").output


def test_a_quarantined_package_names_no_provenance(
    hub: Store, authority: SigstoreAuthority, root: Path, tmp_path: Path
) -> None:
    """With the files, the address of their provenance goes from the index."""
    attested(hub, authority, root, tmp_path)
    hub.add_event(Quarantine(name="toy-envs", reason="steals", by=hub.owners("toy-envs")[0]))
    assert json.loads(hub.files.read("simple/toy-envs/index.json") or b"")["files"] == []
    assert hub.rebuild(check=True) == []
