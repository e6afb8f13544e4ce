"""What somebody between a hub and its clients, or with a stolen key, can try: each attempt is refused with its reason.

The hub is signed by python-tuf, and python-tuf's own client judges each attempt as well.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from securesystemslib.signer import CryptoSigner, SSlibKey
from tuf.api.exceptions import DownloadError, RepositoryError
from tuf_hub import NOW, LeanClient, TufClient, TufHub, signer

from gem_hub_client.errors import HubError, TrustError

REFUSALS = (TrustError, HubError, RepositoryError, DownloadError, ValueError)


@pytest.fixture
def hub(tmp_path: Path) -> TufHub:
    """A hub with two of three root keys."""
    return TufHub(tmp_path / "hub")


class Clients:
    """Both clients at once."""

    def __init__(self, hub: TufHub) -> None:
        self.hub = hub
        self.lean, self.tuf = LeanClient(hub.folder), TufClient(hub.folder)

    def accept(self, folder: Path | None = None, **options: Any) -> bytes:
        index = self.lean.update(folder, **options)
        assert self.tuf.update(folder, **options) == index
        return index

    def refuse(self, reason: str, folder: Path | None = None, *, tuf_accepts: bool = False, **options: Any) -> None:
        before = self.lean.pin
        with pytest.raises((TrustError, HubError, ValueError), match=reason):
            self.lean.update(folder, **options)
        assert self.lean.pin == before
        if not tuf_accepts:
            with pytest.raises(REFUSALS):
                self.tuf.update(folder, **options)


@pytest.fixture
def clients(hub: TufHub) -> Clients:
    """Clients that have seen the hub once."""
    clients = Clients(hub)
    clients.accept()
    return clients


def edited(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    document = json.loads(path.read_bytes())
    change(document)
    path.write_text(json.dumps(document))


def test_an_honest_hub_is_followed(hub: TufHub, clients: Clients) -> None:
    """Changes, roots with other keys, and several roots at once reach both clients."""
    hub.publish(b'{"serial": 2}')
    assert clients.accept() == b'{"serial": 2}'
    old = hub.root_keys[:2]
    for _ in range(3):
        root = hub.next_root()
        fresh = signer()
        root.revoke_key(old[0].public_key.keyid, "root")
        root.add_key(fresh.public_key, "root")
        hub.write_root([*old, fresh])
        old = [old[1], fresh]
    hub.publish(b'{"serial": 3}')
    assert clients.accept() == b'{"serial": 3}'
    assert clients.lean.pin.trusted_root.version == 4


def test_rollback_is_refused(hub: TufHub, clients: Clients, tmp_path: Path) -> None:
    """A state that was signed earlier is older than what was seen."""
    old = hub.copy(tmp_path / "old")
    hub.publish(b'{"serial": 2}')
    clients.accept()
    clients.refuse("is older", old)


def test_an_older_timestamp_of_the_same_state_is_refused(hub: TufHub, clients: Clients) -> None:
    """A renewed signature is not replaced by an earlier one, though both name the same files."""
    from tuf.api.metadata import Timestamp

    snapshot = (hub.folder / "trust/1.snapshot.json").read_bytes()
    for version in (5, 4):
        payload = Timestamp(version, expires=hub.expires, snapshot_meta=hub.meta(snapshot))
        hub.write("trust/timestamp.json", hub.signed(payload, hub.online))
        if version == 5:
            clients.accept()
    clients.refuse(r"timestamp.json: is older \(version 4\)")


def test_freeze_is_refused(clients: Clients) -> None:
    """A hub that is kept from its clients expires."""
    clients.refuse("expired", now=NOW + timedelta(days=8))


def test_an_expired_root_is_refused(hub: TufHub, clients: Clients) -> None:
    """The keys themselves expire too."""
    hub.expires = NOW + timedelta(days=900)
    hub.publish(b"{}")
    clients.refuse("expired", now=NOW + timedelta(days=400))


@pytest.mark.parametrize("mixed", ["snapshot", "targets"])
def test_mix_and_match_is_refused(hub: TufHub, clients: Clients, mixed: str) -> None:
    """Files of two moments do not fit together."""
    old = (hub.folder / f"trust/1.{mixed}.json").read_bytes()
    hub.publish(b'{"serial": 2}')
    hub.write(f"trust/2.{mixed}.json", old)
    clients.refuse("is not what was signed")


def test_an_arbitrary_target_is_refused(hub: TufHub, clients: Clients) -> None:
    """Other bytes under the signed name, and more of them than were signed, are not used."""
    hub.publish(b'{"serial": 2}')
    (target,) = (path for path in (hub.folder / "trust/targets").iterdir() if path.read_bytes().endswith(b"2}"))
    target.write_bytes(b'{"serial": 9}')
    clients.refuse("is not what was signed")
    target.write_bytes(b'{"serial": 2}' * 2)
    clients.refuse("is larger than")


def test_a_target_of_another_name_is_refused(hub: TufHub, clients: Clients) -> None:
    """A hub whose signed files do not name the index has none."""
    from tuf.api.metadata import TargetFile, Targets

    hub.version = 2
    file = TargetFile.from_data("other.json", b"{}", ["sha256"])
    content = hub.write(
        "trust/2.targets.json", hub.signed(Targets(2, expires=hub.expires, targets={"other.json": file}), hub.online)
    )
    resign(hub, content)
    clients.refuse("do not name root.json")


def resign(hub: TufHub, targets: bytes) -> None:
    """Sign snapshot and timestamp for some targets."""
    from tuf.api.metadata import Snapshot, Timestamp

    snapshot = hub.signed(
        Snapshot(hub.version, expires=hub.expires, meta={"targets.json": hub.meta(targets)}), hub.online
    )
    hub.write(f"trust/{hub.version}.snapshot.json", snapshot)
    hub.write(
        "trust/timestamp.json",
        hub.signed(Timestamp(hub.version, expires=hub.expires, snapshot_meta=hub.meta(snapshot)), hub.online),
    )


@pytest.mark.parametrize("mover", ["timestamp", "snapshot"])
def test_versions_inside_do_not_go_back(hub: TufHub, clients: Clients, mover: str) -> None:
    """A newer file that names an older one is refused: the snapshot in a timestamp, the targets in a snapshot."""
    from tuf.api.metadata import MetaFile, Snapshot, Timestamp

    hub.publish(b'{"serial": 5}', 5)
    clients.accept()
    if mover == "timestamp":
        hub.write(
            "trust/timestamp.json", hub.signed(Timestamp(9, expires=hub.expires, snapshot_meta=MetaFile(1)), hub.online)
        )
    else:
        hub.version = 9
        snapshot = hub.signed(Snapshot(9, expires=hub.expires, meta={"targets.json": MetaFile(1)}), hub.online)
        hub.write("trust/9.snapshot.json", snapshot)
        hub.write(
            "trust/timestamp.json",
            hub.signed(Timestamp(9, expires=hub.expires, snapshot_meta=hub.meta(snapshot)), hub.online),
        )
    inside = "the snapshot in it" if mover == "timestamp" else "targets.json in it"
    clients.refuse(f"{inside}: is older")


def test_targets_do_not_disappear(hub: TufHub, clients: Clients) -> None:
    """A snapshot that no longer names a file it named is refused."""
    from tuf.api.metadata import MetaFile, Snapshot

    targets = (hub.folder / "trust/1.targets.json").read_bytes()
    for version, extra in ((2, {"more.json": MetaFile(1)}), (3, {})):
        hub.version = 1
        meta = {"targets.json": hub.meta(targets), **extra}
        hub.version = version
        snapshot = hub.signed(Snapshot(version, expires=hub.expires, meta=meta), hub.online)
        hub.write(f"trust/{version}.snapshot.json", snapshot)
        from tuf.api.metadata import Timestamp

        hub.write(
            "trust/timestamp.json",
            hub.signed(Timestamp(version, expires=hub.expires, snapshot_meta=hub.meta(snapshot)), hub.online),
        )
        if extra:
            clients.accept()
    clients.refuse("no longer names more.json")


def test_a_foreign_key_is_refused(hub: TufHub, clients: Clients) -> None:
    """Metadata that is signed with another key than the root names is not used."""
    hub.publish(b"{}", key=signer())
    clients.refuse("0 valid signatures of the 1")


def test_a_root_key_does_not_sign_indexes(hub: TufHub, clients: Clients) -> None:
    """Each role has its own keys."""
    hub.publish(b"{}", key=hub.root_keys[0])
    clients.refuse("0 valid signatures of the 1")


@pytest.mark.parametrize("role", ["timestamp", "snapshot", "targets"])
def test_each_role_has_its_own_keys(hub: TufHub, clients: Clients, role: str) -> None:
    """The key of two online roles does not sign for the third, where that has another key."""
    root = hub.next_root()
    root.revoke_key(hub.online.public_key.keyid, role)
    root.add_key(signer().public_key, role)
    hub.write_root(hub.root_keys[:2])
    hub.publish(b'{"serial": 2}')
    clients.refuse(f"{role}.json: has 0 valid signatures of the 1")


def test_the_online_key_does_not_sign_roots(hub: TufHub, clients: Clients) -> None:
    """Who has stolen the online key cannot replace the keys."""
    hub.next_root()
    hub.write_root([hub.online])
    clients.refuse("0 valid signatures of the 2")


def test_a_stranger_does_not_become_the_root(hub: TufHub, clients: Clients, tmp_path: Path) -> None:
    """A next root that only its own new keys have signed is nobody's successor."""
    stranger = TufHub(tmp_path / "stranger")
    stranger.next_root()
    hub.write("trust/2.root.json", stranger.signed(stranger.root, *stranger.root_keys))
    hub.publish(b"{}", key=stranger.online)
    clients.refuse(r"by the keys of root 1\): has 0 valid signatures of the 2")


def test_a_threshold_that_is_not_met_is_refused(hub: TufHub, clients: Clients) -> None:
    """One of two root keys is not enough."""
    hub.next_root()
    hub.write_root(hub.root_keys[:1])
    clients.refuse("1 valid signature of the 2")


def test_new_keys_must_sign_too(hub: TufHub, clients: Clients) -> None:
    """A root needs the threshold of its own keys as well, or nobody could follow it."""
    root = hub.next_root()
    for key in list(root.roles["root"].keyids):
        root.revoke_key(key, "root")
    for _ in range(2):
        root.add_key(signer().public_key, "root")
    hub.write_root(hub.root_keys[:2])
    clients.refuse("by its own keys")


def test_a_signature_twice_counts_once(hub: TufHub, clients: Clients) -> None:
    """The same key listed twice in the signatures, or under two ids in the root, is one key."""
    hub.next_root()
    hub.write_root(hub.root_keys[:1])
    path = hub.folder / "trust/2.root.json"
    edited(path, lambda document: document["signatures"].append(document["signatures"][0]))
    clients.refuse("two signatures of the key")


def test_one_key_under_two_ids_counts_once(tmp_path: Path) -> None:
    """python-tuf counts ids, and would accept this root; here a threshold of two means two keys."""
    one = signer()
    other_id = "f" * 64
    twin = CryptoSigner(one._private_key, SSlibKey(other_id, "ed25519", "ed25519", one.public_key.keyval))
    hub = TufHub(tmp_path / "hub", roots=1, threshold=1)
    hub.root.roles["root"].keyids.clear()
    hub.root.keys.clear()
    for key in (one.public_key, twin.public_key):
        hub.root.add_key(key, "root")
    for role in ("timestamp", "snapshot", "targets"):
        hub.root.roles[role].keyids.clear()
        hub.root.add_key(hub.online.public_key, role)
    hub.root.roles["root"].threshold = 2
    hub.write_root([one, twin])
    with pytest.raises(TrustError, match="1 valid signature of the 2"):
        LeanClient(hub.folder)


def test_a_missing_root_in_between_is_refused(hub: TufHub, clients: Clients) -> None:
    """Roots are followed one by one; what only a skipped one explains has no valid signature."""
    hub.next_root()
    hub.write_root(hub.root_keys[:2])
    root = hub.next_root()
    fresh = signer()
    for role in ("timestamp", "snapshot", "targets"):
        root.revoke_key(hub.online.public_key.keyid, role)
        root.add_key(fresh.public_key, role)
    hub.write_root(hub.root_keys[:2])
    hub.publish(b"{}", key=fresh)
    (hub.folder / "trust/2.root.json").unlink()
    clients.refuse("0 valid signatures of the 1")


def test_a_root_under_another_number_is_refused(hub: TufHub, clients: Clients) -> None:
    """A root that says another version than its name is out of order."""
    hub.next_root()
    hub.next_root()
    hub.write("trust/2.root.json", hub.signed(hub.root, *hub.root_keys[:2]))
    clients.refuse("2 comes next")


@pytest.mark.parametrize("keytype", ["rsa", "ecdsa", "ed25519-sha512", "sphincs"])
def test_another_type_of_key_is_refused(hub: TufHub, clients: Clients, keytype: str) -> None:
    """Keys are Ed25519, also where a root is signed by its threshold."""
    root = hub.next_root()
    identity = hub.online.public_key.keyid
    root.keys[identity] = SSlibKey(identity, keytype, "ed25519", hub.online.public_key.keyval)
    hub.write_root(hub.root_keys[:2])
    clients.refuse(r"is of type|only ed25519 keys", tuf_accepts=True)


@pytest.mark.parametrize(
    "point",
    [
        "00" * 32,
        "01" + "00" * 31,
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "02" + "00" * 31,
    ],
    ids=["zero", "neutral", "order-two", "order-eight", "prime", "off-the-curve"],
)
def test_a_key_that_is_no_key_is_refused(hub: TufHub, clients: Clients, point: str) -> None:
    """With a key of small order one signature fits many messages."""
    root = hub.next_root()
    identity = hub.online.public_key.keyid
    root.keys[identity] = SSlibKey(identity, "ed25519", "ed25519", {"public": point})
    hub.write_root(hub.root_keys[:2])
    clients.refuse("is no ed25519 key", tuf_accepts=True)


@pytest.mark.parametrize(
    "path", ["trust/2.root.json", "trust/timestamp.json", "trust/2.snapshot.json", "trust/2.targets.json"]
)
def test_endless_data_is_cut_off(hub: TufHub, clients: Clients, path: str) -> None:
    """No file is read beyond its limit."""
    hub.publish(b'{"serial": 2}')
    with (hub.folder / path).open("wb") as file:
        file.truncate(10_000_000_000)
    clients.refuse("is larger than", tuf_accepts=True)  # its fetcher here reads the whole file first


def test_endless_roots_are_cut_off(hub: TufHub, clients: Clients) -> None:
    """A chain of valid roots ends somewhere."""
    from gem_hub_client.trust import refresh

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(refresh, "_MOST_ROOTS", 3)
        for _ in range(4):
            hub.next_root()
            hub.write_root(hub.root_keys[:2])
        clients.refuse("more than 3 new roots", tuf_accepts=True)


def test_fast_forward_is_healed_by_a_new_root(hub: TufHub, clients: Clients) -> None:
    """A thief of the online key leads clients far ahead; a root with another online key brings them back."""
    honest = hub.version
    hub.publish(b'{"serial": 999999999}', 2**62)
    clients.accept()
    hub.publish(b'{"serial": 2}', honest + 1)
    clients.refuse("is older")
    root = hub.next_root()
    fresh = signer()
    for role in ("timestamp", "snapshot", "targets"):
        root.revoke_key(hub.online.public_key.keyid, role)
        root.add_key(fresh.public_key, role)
    hub.write_root(hub.root_keys[:2])
    hub.publish(b'{"serial": 2}', honest + 1, key=fresh)
    assert clients.accept() == b'{"serial": 2}'


def test_a_host_that_answers_for_missing_files_is_refused(hub: TufHub, clients: Clients) -> None:
    """A page in the place of the next root is not taken for the end of the roots."""
    hub.write("trust/2.root.json", b"<html>not found</html>")
    clients.refuse("cannot be used")


def test_equal_versions_keep_what_was_seen(hub: TufHub, clients: Clients) -> None:
    """A second file of the same version changes nothing."""
    hub.publish(b'{"serial": 7}', 1)
    assert clients.accept() == b'{"serial": 1}'


def test_nothing_is_left_of_a_refused_update(hub: TufHub, clients: Clients) -> None:
    """After an attack the honest hub goes on."""
    digest = hashlib.sha256(b'{"serial": 2}').hexdigest()
    hub.publish(b'{"serial": 2}')
    target = hub.folder / f"trust/targets/{digest}.root.json"
    target.write_bytes(b"x")
    clients.refuse("is not what was signed")
    target.write_bytes(b'{"serial": 2}')
    assert clients.accept() == b'{"serial": 2}'
