"""The log of a hub: its Merkle tree against RFC 6962 as written there, and what clients refuse."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_trust_hub import client, gem_hub
from toy_hub import make_wheel, publish_wheel

from gem_hub.signing.log import continue_log
from gem_hub.storage import HubFolder
from gem_hub.store import Store
from gem_hub_client.config import hub_at
from gem_hub_client.errors import HubError, TrustError
from gem_hub_client.sync import update
from gem_hub_client.trust.log import CHECKPOINT, LogReader, parse_checkpoint, tile_path
from gem_hub_client.trust.merkle import appended, leaf_hash, tree_hash
from gem_hub_client.trust.pins import read_pin
from gem_hub_client.trust.records import RecordLog
from gem_hub_client.verify import verify

CT_LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
CT_ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
"""The vectors of the Certificate Transparency project's own tests."""


def rfc6962_hash(leaves: list[bytes]) -> bytes:
    """Return MTH(D[n]) by the recursive definition in section 2.1."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return hashlib.sha256(b"\1" + rfc6962_hash(leaves[:split]) + rfc6962_hash(leaves[split:])).digest()


@pytest.mark.parametrize("size", range(1, 9))
def test_the_published_vectors_hold(size: int) -> None:
    """Trees of one to eight leaves have the hashes that Certificate Transparency's tests give."""
    edge: tuple[bytes, ...] = ()
    for number, leaf in enumerate(CT_LEAVES[:size]):
        edge = appended(edge, number, leaf_hash(bytes.fromhex(leaf)))
    assert tree_hash(edge).hex() == CT_ROOTS[size - 1]


class FakeRecords:
    """A folder of a hub into whose log entries go directly."""

    def __init__(self, folder: Path) -> None:
        self.files = HubFolder(folder)
        self.hub = hub_at(str(folder))
        self.entries: list[bytes] = []

    def append(self, count: int) -> None:
        """Append entries in one step."""
        from gem_hub.signing import log

        begin = len(self.entries)
        self.entries += [b"entry %d" % number for number in range(begin, begin + count)]
        fresh = self.entries[begin:]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(log, "_new_entries", lambda files, size, newest: fresh)
            continue_log(self.files, 0, len(self.entries))

    def reader(self) -> tuple[LogReader, bytes]:
        """Return a reader of the log, and the hash that its checkpoint gives."""
        size, tree = parse_checkpoint(self.files.read(CHECKPOINT) or b"", 0)
        return LogReader(self.hub, self.hub.source, size), tree


@pytest.mark.parametrize(
    "steps",
    [[1], [1, 1, 1], [31, 1, 1], [32], [33, 31], [300, 300], [1023, 2, 1], [32768, 1], [32767, 2, 700]],
    ids=str,
)
def test_a_log_in_tiles_is_the_tree_of_the_standard(tmp_path: Path, steps: list[int]) -> None:
    """However entries were appended, the checkpoint is RFC 6962's, and clients compute it from few tiles."""
    records = FakeRecords(tmp_path)
    edge: tuple[bytes, ...] = ()
    size = 0
    for step in steps:
        records.append(step)
        reader, tree = records.reader()
        assert tree == rfc6962_hash(records.entries)
        assert tree_hash(reader.edge()) == tree
        edge, size = reader.extended(edge, size), reader.size
        assert tree_hash(edge) == tree
        assert len(reader._tiles) <= 9
    for index in {0, size // 2, size - 1, size - 2} & set(range(size)):
        reader, _ = records.reader()
        reader.check_entry(edge, index, records.entries[index])
        with pytest.raises(TrustError):
            reader.check_entry(edge, index, records.entries[index] + b"!")
    with pytest.raises(TrustError, match="none with number"):
        reader.check_entry(edge, size, b"")


@given(st.integers(0, 10**9))
def test_paths_of_tiles_are_unique(number: int) -> None:
    """The number of a tile can be read from its path again (c2sp.org/tlog-tiles)."""
    parts = tile_path(0, number).removeprefix("log/tile/0/").split("/")
    assert all(part.startswith("x") and len(part) == 4 for part in parts[:-1])
    assert len(parts[-1]) == 3
    assert int("".join(part.removeprefix("x") for part in parts)) == number


@pytest.fixture
def logged(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A signed hub with two releases, known to a client."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    gem_hub("keys", "new", tmp_path / "root.pem")
    publish_wheel(store, make_wheel(tmp_path / "dist"))
    gem_hub("keys", "init", "--hub", store.folder, "--key", tmp_path / "root.pem")
    publish_wheel(store, make_wheel(tmp_path / "dist", version="0.2.0"))
    update(client(store))
    return store


def test_a_client_follows_the_log(logged: Store, tmp_path: Path) -> None:
    """The client remembers the size of the log, which grows with each change."""
    publish_wheel(logged, make_wheel(tmp_path / "dist", version="0.3.0"))
    update(client(logged))
    pin = read_pin(client(logged))
    assert pin is not None
    assert pin.log_size == 3
    assert verify(client(logged)).problems == []


def rewrite(store: Store, restarts: int = 0) -> None:
    """Change an old record and sign a log of it, as an operator does who holds the online key."""
    record = store.folder / "releases" / "toy-envs" / "0.1.0.json"
    record.write_bytes(record.read_bytes().replace(b"A thing to find.", b"Another thing.  "))
    for path in sorted((store.folder / "log").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    store.rebuild()
    store.sign()


def test_a_rewritten_history_is_refused(logged: Store, tmp_path: Path) -> None:
    """The online key alone cannot change what clients have seen, whether or not the log has grown since."""
    rewrite(logged)
    with pytest.raises(TrustError, match="history was rewritten"):
        update(client(logged))
    publish_wheel(logged, make_wheel(tmp_path / "dist", version="0.3.0"))
    with pytest.raises(TrustError, match="does not continue the 2 entries"):
        update(client(logged))


def test_a_shortened_log_is_refused(logged: Store) -> None:
    """A log that lost its last entry is not used."""
    (logged.folder / "releases" / "toy-envs" / "0.2.0.json").unlink()
    for path in sorted((logged.folder / "log").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    logged.rebuild()
    with pytest.raises(TrustError, match="was taken back"):
        update(client(logged))


def test_a_hub_notices_that_records_have_gone(logged: Store) -> None:
    """Signing refuses to go on with a log that is longer than the hub's history."""
    (logged.folder / "releases" / "toy-envs" / "0.2.0.json").unlink()
    with pytest.raises(Exception, match="records have gone"):
        logged.rebuild()


def test_a_log_that_disappears_is_refused(logged: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that knows the log does not go on without it."""
    from gem_hub.signing import online

    monkeypatch.setattr(online, "CHECKPOINT", "log/other")
    logged.sign()
    with pytest.raises(TrustError, match="no log any more"):
        update(client(logged))


def test_verify_finds_a_record_that_is_not_the_logged_one(logged: Store) -> None:
    """A record that was changed behind the log's back is named."""
    record = logged.folder / "releases" / "toy-envs" / "0.1.0.json"
    record.write_bytes(record.read_bytes().replace(b"A thing to find.", b"Another thing.  "))
    assert any("entry 0 of its log is another one" in problem for problem in verify(client(logged)).problems)


def test_verify_finds_a_damaged_tile(logged: Store) -> None:
    """A tile that contradicts the checkpoint is found."""
    tile = logged.folder / tile_path(0, 0, 2)
    tile.write_bytes(os.urandom(64))
    assert verify(client(logged)).problems


@pytest.mark.parametrize("differs", ["name", "version", "sha256"])
def test_a_logged_record_of_another_file_vouches_for_none(logged: Store, tmp_path: Path, differs: str) -> None:
    """A record that stands in the log, put in the place of another one, says nothing about the file there."""
    publish_wheel(logged, make_wheel(tmp_path / "dist", "maze-quest", ids=["maze:Walk-v0"]))
    update(client(logged))
    pin = read_pin(client(logged))
    assert pin is not None
    log = RecordLog(client(logged), client(logged).source, pin)
    folder = logged.folder / "releases"
    other = {"name": "maze-quest/0.1.0", "version": "toy-envs/0.2.0", "sha256": "toy-envs/0.1.0"}[differs]
    name, version = other.split("/")
    sha256 = json.loads((folder / f"{other}.json").read_bytes())["sha256"]
    log.check(name, version, sha256)
    (folder / "toy-envs" / "0.1.0.json").write_bytes((folder / f"{other}.json").read_bytes())
    with pytest.raises(TrustError, match=r"is no record of toy-envs 0\.1\.0"):
        log.check("toy-envs", "0.1.0", "e" * 64 if differs == "sha256" else sha256)


def test_a_hub_signs_no_log_that_contradicts_its_checkpoint(logged: Store, tmp_path: Path) -> None:
    """The writer reads its tiles before it appends to them, and leaves the signed state as it was."""
    tile = logged.folder / tile_path(0, 0, 2)
    content, before = tile.read_bytes(), (logged.folder / CHECKPOINT).read_bytes()
    tile.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    with pytest.raises(HubError, match=r"log/tile: is not what log/checkpoint stands for"):
        publish_wheel(logged, make_wheel(tmp_path / "dist", version="0.3.0"))
    assert (logged.folder / CHECKPOINT).read_bytes() == before
    assert update(client(logged)).serial == 2
    tile.write_bytes(content)
    logged.sign()
    assert update(client(logged)).serial == 3
    assert verify(client(logged)).problems == []
