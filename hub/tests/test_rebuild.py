from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_hub import MOMENT, contents, publish_wheel, synthetic_release

from gem_hub import rebuild as rebuilding
from gem_hub.canonical import pack, unpack
from gem_hub.catalogue import read_feed, snapshot_feed
from gem_hub.derive import derive
from gem_hub.errors import HubRefusal
from gem_hub.events import Deprecate, Lift, Owner, Quarantine, Undeprecate, Unyank, Yank
from gem_hub.plan import plan
from gem_hub.store import Store
from gem_hub_client.errors import HubError

NAMES = ("alpha", "beta", "gamma-delta")
VERSIONS = ("0.1.0", "0.2.0", "0.10.0", "1.0rc1", "1.0")
IDS = ("toy:Shared-v0", "toy:One-v0", "toy:Two-v0")
COSTLY = settings(max_examples=settings.default.max_examples // 4)
"""An example is a whole hub, with up to 43 changes."""
COMMON = {"by": "someone", "created": MOMENT}

names = st.sampled_from(NAMES)
versions = st.sampled_from(VERSIONS) | st.integers(0, 40).map(lambda minor: f"0.{minor}.0")
ids = st.sets(st.sampled_from(IDS), max_size=1)
reasons = st.sampled_from(["bad", "<b>&'\"", "größer"])
actions = st.one_of(
    st.tuples(names, versions, ids),
    st.builds(partial(Yank, **COMMON), name=names, version=st.just("0.1.0"), reason=reasons),
    st.builds(partial(Unyank, **COMMON), name=names, version=st.just("0.1.0")),
    st.builds(partial(Deprecate, **COMMON), name=names, reason=reasons),
    st.builds(partial(Undeprecate, **COMMON), name=names),
    st.builds(partial(Quarantine, **COMMON), name=names, reason=reasons),
    st.builds(partial(Lift, **COMMON), name=names, reason=reasons),
    st.builds(partial(Owner, **COMMON), name=names, action=st.sampled_from(["add", "remove"]), owner=names),
)
beginnings = st.permutations([(name, "0.1.0", set()) for name in NAMES])
"""All packages are there after it, so that most of what follows is not refused."""

sequences = st.builds(lambda first, rest: first + rest, beginnings, st.lists(actions, min_size=8, max_size=40))


@contextmanager
def small_blocks(block: int) -> Iterator[None]:
    """Merge segments after a few changes already."""
    with patch("gem_hub.catalogue.plan", partial(plan, block=block)):
        yield


def perform(store: Store, action: Any) -> None:
    """Do one thing to a hub; a refusal is fine."""
    try:
        if not isinstance(action, tuple):
            store.add_event(action)
        else:
            release, metadata = synthetic_release(action[0], action[1], sorted(action[2]))
            store.publish(release, None, metadata)
    except HubRefusal:
        pass


@pytest.mark.slow
@COSTLY
@given(sequences | st.lists(actions, max_size=3), st.integers(1, 4))
def test_one_change_after_the_other_gives_what_deriving_everything_gives(sequence: list[Any], block: int) -> None:
    """After any sequence of changes every byte is what ``derive`` makes of the records and events alone."""
    with tempfile.TemporaryDirectory() as scratch, small_blocks(block):
        store = Store(Path(scratch) / "hub")
        for action in sequence:
            perform(store, action)
        if not store.packages():
            store.rebuild()
        lies = contents(store.folder)
        packages = list(store.truth.packages())
        derived = derive(
            (record for package in packages for record in package.records),
            (event for package in packages for event in package.events),
        )
        truth = {path for path in lies if path.startswith(("releases/", "events/", "files/"))}
        assert {path: content for path, content in lies.items() if path not in truth} == derived
        assert store.rebuild(check=True) == []
        assert store.rebuild() == []
        assert contents(store.folder) == lies


@pytest.mark.slow
@COSTLY
@given(sequences, st.integers(1, 4))
def test_a_client_at_any_serial_gets_to_the_newest_state(sequence: list[Any], block: int) -> None:
    """Whatever a client knows, the files that ``root.json`` names for it bring it to the same lines."""
    with tempfile.TemporaryDirectory() as scratch, small_blocks(block):
        store = Store(Path(scratch))
        store.rebuild()
        known: dict[int, dict[str, Any]] = {}
        for action in sequence:
            perform(store, action)
            root = store._root()
            whole = read_feed(root, store.files.read)
            known[root["serial"]] = {line["name"]: line for line in whole}
        newest = known[root["serial"]]
        expected = snapshot_feed(store.truth.packages())
        assert sorted(map(str, newest.values())) == sorted(
            str(line) for line in read_feed(expected.root, expected.files.get)
        )
        for serial, lines in known.items():
            if all(line["serial"] <= serial for line in lines.values()):
                changed = {line["name"]: line for line in read_feed(root, store.files.read, serial)}
                assert {**lines, **changed} == newest


@pytest.mark.slow
@COSTLY
@given(sequences, st.data())
def test_rebuild_heals_whatever_is_missing_or_changed(sequence: list[Any], data: st.DataObject) -> None:
    """Any derived file may be damaged or lost, and ``rebuild`` reports exactly these and restores every byte."""
    with tempfile.TemporaryDirectory() as scratch, small_blocks(3):
        store = Store(Path(scratch))
        for action in sequence:
            perform(store, action)
        whole = contents(store.folder)
        derived = sorted(path for path in whole if not path.startswith(("releases/", "files/", "events/")))
        damaged = data.draw(st.lists(st.sampled_from(derived), min_size=1, unique=True))
        for number, path in enumerate(damaged):
            (store.folder / path).unlink() if number % 2 else (store.folder / path).write_bytes(b"damaged")
        assert store.rebuild(check=True) == sorted(damaged)
        assert store.rebuild() == sorted(damaged)
        assert contents(store.folder) == whole


def test_the_next_change_heals_a_lost_root(store: Store) -> None:
    """A hub without ``root.json``, or with half of one, is derived anew by the next change."""
    for version, damage in (("0.1.0", None), ("0.2.0", b""), ("0.3.0", b'{"serial": 1')):
        release, metadata = synthetic_release("alpha", version)
        store.publish(release, None, metadata)
        if damage is None:
            (store.folder / "root.json").unlink()
        else:
            (store.folder / "root.json").write_bytes(damage)
    store.add_event(Yank(name="alpha", version="0.1.0", reason="bad", by="someone"))
    assert store.rebuild(check=True) == []


def test_pages_without_a_record_go(store: Store) -> None:
    """A page of a package that has no record is reported and removed."""
    release, metadata = synthetic_release("alpha", "0.1.0")
    store.publish(release, None, metadata)
    for path in ("simple/ghost/index.html", "envs/ghost.json"):
        (store.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (store.folder / path).write_text("boo", encoding="utf-8")
    assert store.rebuild() == ["envs/ghost.json", "simple/ghost/index.html"]
    assert not (store.folder / "simple/ghost").exists()
    assert store.rebuild(check=True) == []


def test_metadata_beside_a_hosted_wheel_is_restored_from_the_wheel(store: Store, wheel: Any) -> None:
    """A sidecar that is lost or altered is extracted from the wheel again."""
    publish_wheel(store, wheel())
    (sidecar,) = store.folder.glob("files/*/*/*.metadata")
    original = sidecar.read_bytes()
    for content in (b"Name: something-else", None):
        sidecar.unlink() if content is None else sidecar.write_bytes(content)
        path = sidecar.relative_to(store.folder).as_posix()
        assert store.rebuild(check=True) == [path]
        assert store.rebuild() == [path]
        assert sidecar.read_bytes() == original


def test_a_lost_wheel_is_named(store: Store, wheel: Any) -> None:
    """A record whose wheel is gone cannot be healed, and the message names the file and the record."""
    publish_wheel(store, wheel())
    (blob,) = store.folder.glob("files/*/*/*.whl")
    blob.unlink()
    with pytest.raises(HubError, match=r"files/.*whl: missing.*releases/toy-envs/0\.1\.0\.json promises it"):
        store.rebuild()


def test_the_compression_of_another_zlib_is_kept(store: Store) -> None:
    """A catalogue file with the right content is left as it lies, however it was compressed."""
    release, metadata = synthetic_release("alpha", "0.1.0")
    store.publish(release, None, metadata)
    (snapshot,) = store.folder.glob("catalog/snapshot-1-*")
    import gzip

    other = gzip.compress(unpack(snapshot.read_bytes()), 1)
    assert other != snapshot.read_bytes()
    snapshot.write_bytes(other)
    assert store.rebuild() == ["root.json"]
    assert snapshot.read_bytes() == other
    assert store.rebuild(check=True) == []


@given(st.binary(max_size=2000))
def test_packed_content_comes_back_and_names_nothing(content: bytes) -> None:
    """Gzip as hubs write it holds the content, no file name, no time and no operating system."""
    packed = pack(content)
    assert unpack(packed) == content
    assert packed[:10] == bytes([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 255])


def test_records_of_pull_requests_are_numbered(store: Store) -> None:
    """Records and events with serial 0 get the next serials, and two pull requests at once are no conflict."""
    release, metadata = synthetic_release("alpha", "0.1.0")
    store.publish(release, None, metadata)
    added = [
        synthetic_release("beta", "0.1.0")[0],
        synthetic_release("gamma-delta", "0.1.0")[0],
        Yank(name="alpha", version="0.1.0", reason="bad", by="someone"),
    ]
    for change in added:
        (store.folder / change.path).parent.mkdir(parents=True, exist_ok=True)
        (store.folder / change.path).write_bytes(change.to_bytes())
    assert store.rebuild(check=True) == sorted(change.path for change in added)
    store.rebuild()
    assert sorted(store.truth.serials().values()) == [1, 2, 3, 4]
    assert (store.folder / "events/alpha/00000004-yank.json").exists()
    assert not (store.folder / "events/alpha/00000000-yank.json").exists()
    assert store.rebuild(check=True) == []
    store.publish(*_with_none(synthetic_release("beta", "0.2.0")))
    assert store.rebuild(check=True) == []


def _with_none(pair: Any) -> Any:
    return pair[0], None, pair[1]


def test_one_serial_twice_is_refused(store: Store) -> None:
    """Two records with the same serial are a mistake of whoever merged them, and the message names both."""
    for name in ("alpha", "beta"):
        record = synthetic_release(name, "0.1.0")[0].model_copy(update={"serial": 1})
        (store.folder / record.path).parent.mkdir(parents=True)
        (store.folder / record.path).write_bytes(record.to_bytes())
    with pytest.raises(HubError, match=r"releases/beta/0\.1\.0\.json: has serial 1, and so has releases/alpha"):
        store.rebuild()


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("releases/alpha/0.2.0.json", b""),
        ("releases/alpha/0.2.0.json", b'{"serial": 2}'),
        ("releases/alpha/0.2.0.json", b'{"serial": "2"}'),
        ("releases/alpha/0.2.0.json", b"[" * 100_000),
        ("events/alpha/00000002-yank.json", b'{"serial": 2, "kind": "explode"}'),
        ("events/ghost/00000002-yank.json", b'{"serial": 2, "kind": "yank"}'),
    ],
)
def test_a_damaged_record_is_named(store: Store, path: str, content: bytes) -> None:
    """Whatever lies in the place of a record, the message names it, and nothing is derived from it."""
    release, metadata = synthetic_release("alpha", "0.1.0")
    store.publish(release, None, metadata)
    before = contents(store.folder)
    (store.folder / path).parent.mkdir(parents=True, exist_ok=True)
    (store.folder / path).write_bytes(content)
    with pytest.raises(HubError, match=path):
        store.rebuild()
    (store.folder / path).unlink()
    assert contents(store.folder) == before


def test_a_renamed_record_is_named(store: Store) -> None:
    """A record that was copied by hand to another version's path is not taken for that version."""
    release, metadata = synthetic_release("alpha", "0.1.0")
    store.publish(release, None, metadata)
    content = (store.folder / release.path).read_bytes().replace(b'"serial": 1', b'"serial": 2')
    (store.folder / "releases/alpha/0.2.0.json").write_bytes(content)
    with pytest.raises(HubError, match=r"0\.2\.0\.json: belongs to releases/alpha/0\.1\.0\.json"):
        store.rebuild()


def test_what_is_left_over_is_swept_when_it_is_old(store: Store, wheel: Any) -> None:
    """Unfinished files, wheels without a record and superseded catalogue files stay while somebody may need them."""
    publish_wheel(store, wheel())
    publish_wheel(store, wheel(version="0.2.0"))
    lost = store.folder / "files/ab" / ("ab" * 32) / "lost-1.0-py3-none-any.whl"
    unfinished = store.folder / ".gem-hub/unfinished/1-abc"
    for path in (lost, unfinished):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"half")
    (superseded,) = store.folder.glob("catalog/snapshot-1-*")
    store.rebuild()
    for path, kind in ((lost, "unreferenced"), (unfinished, "temporary"), (superseded, "superseded")):
        assert path.exists()
        old = path.stat().st_mtime - rebuilding.KEPT[kind] - 60
        os.utime(path, (old, old))
        store.rebuild()
        assert not path.exists()
    assert len(list(store.folder.glob("files/*/*/*.whl"))) == 2
    assert not (store.folder / "files/ab").exists()


def test_a_copy_of_the_truth_alone_becomes_the_same_hub(store: Store, wheel: Any, tmp_path: Path) -> None:
    """Records, events and files are enough: everything else comes back byte for byte."""
    for version in VERSIONS:
        publish_wheel(store, wheel(version=version))
    store.add_event(Yank(name="toy-envs", version="0.2.0", reason="bad", by="someone"))
    copy = Store(tmp_path / "copy")
    for part in ("releases", "events", "files"):
        shutil.copytree(store.folder / part, copy.folder / part)
    copy.rebuild()
    assert contents(copy.folder) == contents(store.folder)


@pytest.mark.slow
@COSTLY
@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 12))
def test_another_layout_of_segments_is_noticed(before: int, after: int, changes: int) -> None:
    """A hub whose segments were laid out by other rules, or that lost a record, goes on as if it had always been so."""
    with tempfile.TemporaryDirectory() as scratch:
        store = Store(Path(scratch))
        with small_blocks(before):
            for minor in range(changes):
                perform(store, (NAMES[minor % 3], f"0.{minor}.0", set()))
            if changes > 6:
                (store.folder / "releases/alpha/0.3.0.json").unlink()
                store.rebuild()
        with small_blocks(after):
            for minor in range(changes, changes + 9):
                perform(store, (NAMES[minor % 3], f"0.{minor}.0", set()))
            assert store.rebuild(check=True) == []


def merged(store: Store, *changes: Any) -> None:
    """Put changes into a hub as pull requests do, each gated against the hub before all of them."""
    for change in changes:
        path = store.folder / change.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(change.to_bytes())


def proposed(name: str, version: str, ids: tuple[str, ...] = (), publisher: str = "alice") -> Any:
    return synthetic_release(name, version, ids, publisher=publisher)[0]


BASE = proposed("maze-quest", "0.1.0", ("mq:Pick-v0",))
CONTRADICTIONS = {
    "a version by a stranger": (BASE, proposed("maze-quest", "0.2.0", publisher="mallory")),
    "an id of another package": (BASE, proposed("other-quest", "0.1.0", ("mq:Pick-v0",), "mallory")),
    "a later version of an id": (BASE, proposed("other-quest", "0.1.0", ("mq:Pick-v1",), "mallory")),
    "an id that looks like another": (BASE, proposed("other-quest", "0.1.0", ("mq:P1ck-v0",), "mallory")),
    "a name that looks like another": (BASE, proposed("maze-qvest", "0.1.0", publisher="mallory")),
    "the same version twice": (BASE, proposed("maze-quest", "0.1.0", ("mq:Pick-v0",)).model_copy(
        update={"version": "0.1", "metadata": BASE.metadata.model_copy(update={"version": "0.1"}),
                "filename": "maze_quest-0.1-py3-none-any.whl", "url": "https://files.example/maze_quest-0.1-py3-none-any.whl",
                "sha256": "0" * 64})),
    "a yank by a stranger": (BASE, Yank(name="maze-quest", version="0.1.0", reason="bad", by="mallory")),
    "an owner by a stranger": (BASE, Owner(name="maze-quest", action="add", owner="mallory", by="mallory")),
    "a yank of no version": (BASE, Yank(name="maze-quest", version="0.3.0", reason="bad", by="alice")),
    "a name of Python": (proposed("numpy", "99.0.0", publisher="mallory"),),
}  # fmt: skip


@pytest.mark.parametrize("changes", CONTRADICTIONS.values(), ids=CONTRADICTIONS)
@pytest.mark.parametrize("before", [False, True], ids=["together", "after"])
def test_requests_that_were_gated_apart_are_not_merged_into_a_contradiction(
    store: Store, changes: tuple[Any, ...], before: bool
) -> None:
    """Numbering applies the rules to all changes in one order: it names those that break them, and numbers none."""
    first, *rest = changes
    if before and rest:
        merged(store, first)
        store.rebuild()
    else:
        rest = list(changes)
    merged(store, *rest)
    with pytest.raises(HubError, match="contradict each other or what was there before"):
        store.rebuild()
    numbered = {path for path, serial in store.truth.serials().items() if serial}
    assert len(numbered) == int(before and len(changes) > 1)


def test_changes_that_allow_each_other_are_numbered_in_that_order(store: Store) -> None:
    """A release by an owner who is added at the same time comes after that, whatever the paths are."""
    owner = Owner(name="maze-quest", action="add", owner="bob", by="alice")
    merged(store, BASE, proposed("maze-quest", "0.2.0", publisher="bob"), owner)
    store.rebuild()
    package = store.existing("maze-quest")
    assert [(record.version, record.serial) for record in package.records] == [("0.1.0", 1), ("0.2.0", 3)]
    assert [event.serial for event in package.events] == [2]


def test_a_root_that_expires_is_renewed(store: Store) -> None:
    """With ``valid_days`` each change and each rebuild issues the root anew; all else is as without."""
    release, metadata = synthetic_release("alpha", "0.1.0")
    store.publish(release, None, metadata)
    before = contents(store.folder)
    (store.folder / "hub.json").write_text('{"valid_days": 7}', encoding="utf-8")
    assert store.rebuild(check=True) == []
    assert store.rebuild() == []
    root = json.loads((store.folder / "root.json").read_bytes())
    issued, expires = (datetime.strptime(root.pop(key), "%Y-%m-%dT%H:%M:%SZ") for key in ("issued", "expires"))
    assert (expires - issued).days == 7
    assert root == json.loads(before["root.json"])
    assert store.rebuild(check=True) == []
    store.add_event(Yank(name="alpha", version="0.1.0", reason="bad", by="someone"))
    assert "expires" in json.loads((store.folder / "root.json").read_bytes())
    after = contents(store.folder)
    assert store.rebuild(check=True) == []
    assert {path for path in after if before.get(path) != after[path]} >= {"root.json", "hub.json"}
    (store.folder / "hub.json").unlink()
    assert store.rebuild() == []
