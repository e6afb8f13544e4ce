"""The lean verifier against python-tuf on changed metadata: what one of them refuses, the other refuses too."""

from __future__ import annotations

import copy
import json
import random
import re
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from securesystemslib.exceptions import FormatError
from securesystemslib.formats import encode_canonical
from securesystemslib.signer import CryptoSigner
from tuf.api.exceptions import RepositoryError
from tuf.api.metadata import Metadata, MetaFile, Root, Snapshot, TargetFile, Targets, Timestamp
from tuf.ngclient._internal.trusted_metadata_set import TrustedMetadataSet
from tuf.ngclient.config import EnvelopeType
from tuf_hub import NOW, TufHub, signer

from gem_hub_client.errors import TrustError
from gem_hub_client.state import utc
from gem_hub_client.trust import metadata as lean

STRICTER = re.compile(
    r"is of type .*only ed25519 keys"
    r"|is no ed25519 key"
    r"|'signed' is no object or 'signatures' no short list"
    r"|a signature is no text"
    r"|'keyid'|'sig'"
    r"|which is no time such as"
    r"|a version is|a length is|a sha256 is|the threshold of|number of restarts"
    r"|the key 'sha256' is missing"  # another digest alone
    r"|must name snapshot.json|does not name targets.json"
    r"|the key ids of"
    r"|follows TUF"
    r"|'(str|list|int|bool|NoneType)' object has no attribute|NoneType|bool"
    r"|must be a|is no object|cannot be signed|codec can't encode"
)
"""Why the lean verifier may refuse what python-tuf accepts: it demands more of the form, and as many signatures."""

VALUES: list[Any] = [None, True, False, 0, 1, 2, -1, 2**63, 1.5, "", "x", "ed25519", "root", "1.0", "2.0.1"]
VALUES += ["9999-12-31T23:59:59Z", "2001-01-01T00:00:00Z", "2026-02-31T00:00:00Z", "\ud800", 'é\\"']
VALUES += [[], {}, ["a"], {"version": 1}]


class Valid:
    """Metadata that both accept, and the keys to sign changed copies of it."""

    def __init__(self, folder: Path) -> None:
        hub = TufHub(folder)
        self.first = (folder / "trust/1.root.json").read_bytes()
        self.root_keys, self.online = hub.root_keys, hub.online
        expires = NOW + timedelta(days=7)
        target = TargetFile.from_data("root.json", b"{}", ["sha256"])
        root: Root = hub.next_root()
        root.add_key(signer().public_key, "root")
        root.unrecognized_fields["gem"] = {"restarts": 1}
        self.parts: dict[str, Any] = {
            "root": root.to_dict(),
            "timestamp": Timestamp(3, expires=expires, snapshot_meta=MetaFile(3)).to_dict(),
            "snapshot": Snapshot(3, expires=expires, meta={"targets.json": MetaFile(3)}).to_dict(),
            "targets": Targets(3, expires=expires, targets={"root.json": target}).to_dict(),
        }
        self.files = {kind: self.signed(kind, copy.deepcopy(part)) for kind, part in self.parts.items()}

    def signed(self, kind: str, part: Any) -> bytes:
        """Sign any JSON value as a kind of metadata, with all the keys of the kind."""
        message = (encode_canonical(part) or "").encode()
        keys: list[CryptoSigner] = self.root_keys if kind == "root" else [self.online]
        signatures = [{"keyid": key.public_key.keyid, "sig": key._private_key.sign(message).hex()} for key in keys]
        return json.dumps({"signatures": signatures, "signed": part}).encode()


@cache
def valid(folder: Path) -> Valid:
    return Valid(folder)


def python_tuf(known: Valid, kind: str, content: bytes) -> str:
    """Return why python-tuf refuses a file in its place; empty if it accepts it."""
    trusted = TrustedMetadataSet(known.first, EnvelopeType.METADATA)
    trusted.reference_time = NOW
    steps = {
        "root": trusted.update_root,
        "timestamp": trusted.update_timestamp,
        "snapshot": trusted.update_snapshot,
        "targets": trusted.update_targets,
    }
    for name, step in steps.items():
        if name == "root" and kind != "root":
            continue
        try:
            step(content if name == kind else known.files[name])
            if name == "root" and trusted.root.is_expired(NOW):
                return "expired"
            if name == "snapshot":
                if "targets.json" not in trusted.snapshot.meta:
                    return "does not name the targets"
                trusted._check_final_snapshot()
        # Files of the wrong form end in any error at all, which its users must be ready for.
        except (RepositoryError, ValueError, TypeError, KeyError, AttributeError, FormatError, OverflowError) as error:
            return repr(error) if name == kind else f"{name} is not valid"
        if name == kind:
            return ""
    raise AssertionError(kind)


def lean_verifier(known: Valid, kind: str, content: bytes) -> str:
    """Return why the lean verifier refuses a file in its place; empty if it accepts it."""
    root = lean.first_root(known.first, "first")
    try:
        if kind == "root":
            found: Any = lean.next_root(root, content, "root")
        elif kind == "timestamp":
            found = lean.read_timestamp(root, content, "timestamp")
        elif kind == "snapshot":
            found = lean.read_snapshot(root, content, lean.MetaFile(3, None, None), "snapshot")
        else:
            found = lean.read_targets(root, content, lean.MetaFile(3, None, None), "targets")
    except TrustError as error:
        return str(error)
    return "expired" if found.expires <= utc(NOW.timestamp()) else ""


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values inside a JSON value."""
    inner: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in inner for place in [(*path, key), *places(item, (*path, key))]]


def mutate(part: Any, chance: random.Random) -> Any:
    """Return a copy with one or two changes anywhere."""
    changed = copy.deepcopy(part)
    for _ in range(chance.choice([1, 1, 2])):
        spots = places(changed)
        if not spots:
            break
        *path, key = chance.choice(spots)
        holder = changed
        for step in path:
            holder = holder[step]
        kind = chance.randrange(7)
        if kind == 0:
            del holder[key]
        elif kind == 1:
            holder[key] = copy.deepcopy(chance.choice(VALUES))
        elif kind == 2 and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        elif kind == 2 or (kind == 3 and isinstance(holder, dict)):
            holder["x" if isinstance(holder, dict) else 0] = copy.deepcopy(chance.choice(VALUES))
        elif kind == 4 and isinstance(holder[key], str) and holder[key]:
            at = chance.randrange(len(holder[key]))
            holder[key] = holder[key][:at] + chance.choice("0a9fZ-é") + holder[key][at + 1 :]
        elif kind == 5 and type(holder[key]) is int:
            holder[key] += chance.choice([-1, 1, 2**32])
        else:
            *other, last = chance.choice(spots)
            source = changed
            for step in other:
                source = source[step]
            holder[key] = copy.deepcopy(source[last])
    return changed


def flipped(content: bytes, chance: random.Random) -> bytes:
    """Return bytes with one bit changed, without a new signature."""
    changed = bytearray(content)
    changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def is_read_as_another(content: bytes) -> bool:
    """Return whether python-tuf verifies other bytes than it was given: it reads ``...00z`` as ``...00Z``, for one."""
    signed: Any = Metadata.from_bytes(content).signed
    return bool(signed.to_dict() != json.loads(content)["signed"])


def compare(known: Valid, cases: int, seed: int) -> tuple[int, int]:
    """Return how many files both accept and both refuse; raise AssertionError where they disagree."""
    chance = random.Random(seed)
    accepted = refused = 0
    for _ in range(cases):
        kind = chance.choice(list(known.parts))
        try:
            if chance.random() < 0.2:
                content = flipped(known.files[kind], chance)
            else:
                content = known.signed(kind, mutate(known.parts[kind], chance))
        except (FormatError, UnicodeEncodeError):
            continue  # what has no canonical form has no signature
        ours, theirs = lean_verifier(known, kind, content), python_tuf(known, kind, content)
        assert not theirs.endswith("is not valid")
        if not ours:
            assert not theirs, (kind, theirs, content)
        elif not theirs:
            assert STRICTER.search(ours) or is_read_as_another(content), (kind, ours, content)
        accepted += not ours
        refused += bool(ours)
    return accepted, refused


@pytest.mark.parametrize("kind", ["root", "timestamp", "snapshot", "targets"])
def test_valid_metadata_is_accepted_by_both(tmp_path: Path, kind: str) -> None:
    """The unchanged files are right, or the comparison would prove nothing."""
    known = valid(tmp_path / "hub")
    assert lean_verifier(known, kind, known.files[kind]) == ""
    assert python_tuf(known, kind, known.files[kind]) == ""


@pytest.mark.nightly
def test_both_agree_on_changed_metadata(tmp_path: Path) -> None:
    """Nothing that python-tuf refuses is accepted; what it accepts is refused for its form alone."""
    accepted, refused = compare(valid(tmp_path / "hub"), 1500, seed=17)
    assert accepted > 50
    assert refused > 500


@pytest.mark.nightly(reason="the same with many more cases")
@pytest.mark.parametrize("seed", range(4))
def test_both_agree_on_much_changed_metadata(tmp_path: Path, seed: int) -> None:
    """Forty thousand cases."""
    compare(valid(tmp_path / "hub"), 10_000, seed)
