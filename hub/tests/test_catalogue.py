"""The search feed after one more change: when the earlier files allow it, and what readers get of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from toy_hub import synthetic_release

from gem_hub.catalogue import EPOCH, ChangedLine, Feed, History, claims, line, next_feed, read_feed, whole_feed
from gem_hub.plan import plan
from gem_hub.store import Store
from gem_hub_client.errors import HubError

BLOCK = 4


def line_of(name: str, serial: int) -> bytes:
    return json.dumps({"name": name, "serial": serial}).encode() + b"\n"


def feed_of(serials: int, names: Sequence[str] = "abc") -> Feed:
    """The feed of a hub whose packages have changed in turn."""
    histories: dict[str, History] = {}
    for serial in range(1, serials + 1):
        name = names[serial % len(names)]
        histories.setdefault(name, []).append(ChangedLine(serial, line_of(name, serial)))
    with patch("gem_hub.catalogue.plan", partial(plan, block=BLOCK)):
        return whole_feed(histories, EPOCH, lambda path: None)


def followed(root: dict[str, Any], files: dict[str, bytes], name: str = "a") -> Feed | None:
    with patch("gem_hub.catalogue.plan", partial(plan, block=BLOCK)):
        return next_feed(root, name, line_of(name, root["serial"] + 1), EPOCH, files.get)


@pytest.mark.parametrize("serial", range(1, 40))
def test_one_more_change_gives_what_all_changes_give(serial: int) -> None:
    """The same root and the same new files."""
    before, wanted = feed_of(serial), feed_of(serial + 1)
    name = "abc"[(serial + 1) % 3]
    after = followed(before.root, before.files, name)
    assert after is not None
    assert after.root == wanted.root
    assert after.files.items() <= wanted.files.items()


def merged_after(serial: int) -> list[dict[str, Any]]:
    """The three or more segments that the next change merges into a larger one; none if it merges fewer."""
    before, after = feed_of(serial).root["segments"], feed_of(serial + 1).root["segments"]
    inside = [[one for one in before if new["from"] <= one["from"] and one["to"] <= new["to"]] for new in after]
    return max((found for found in inside if len(found) > 2), key=len, default=[])


@pytest.mark.parametrize("gone", ["first", "last", "double"])
def test_segments_with_a_gap_or_an_overlap_are_derived_anew(gone: str) -> None:
    """A segment that must be merged, and is missing or there twice over, would lose changes or bring old ones back."""
    before = next(feed_of(serial) for serial in range(99) if merged_after(serial))
    merged = merged_after(before.root["serial"])
    segments = [item for item in before.root["segments"] if item != merged[0 if gone == "first" else -1]]
    if gone == "double":
        segments = [*before.root["segments"], {**merged[0], "to": merged[0]["to"] - 1}]
    assert followed(before.root, before.files) is not None
    assert followed({**before.root, "segments": segments}, before.files) is None


def test_a_snapshot_from_elsewhere_is_derived_anew() -> None:
    """Its serial must be the one that the plan has."""
    before = feed_of(5)
    assert before.root["snapshot"]["serial"] == 4
    snapshot = {**before.root["snapshot"], "serial": 3}
    assert followed({**before.root, "snapshot": snapshot}, before.files) is None


@pytest.mark.parametrize("after", range(11))
def test_a_reader_gets_the_newest_line_of_each_package_that_changed_after_a_serial(after: int) -> None:
    """And perhaps others; nothing where nothing has changed, and one line a package."""
    feed = feed_of(10)
    lines = [(line["name"], line["serial"]) for line in read_feed(feed.root, feed.files.get, after)]
    newest = {"a": 9, "b": 10, "c": 8}
    assert dict(lines).items() >= {name: serial for name, serial in newest.items() if serial > after}.items()
    assert set(lines) <= newest.items() | {("a", 6), ("b", 7), ("c", 5)}
    assert len(lines) == len(dict(lines))
    assert lines or after == 10
    assert not lines or after < 10


def test_no_change_is_lost_where_the_segments_begin_after_the_reader() -> None:
    """Then the snapshot is read as well; here each change is that of another package."""
    feed = feed_of(90, [f"p{number}" for number in range(100)])
    begin = feed.root["segments"][0]["from"]
    assert begin > 5
    for after in range(91):
        serials = {line["serial"] for line in read_feed(feed.root, feed.files.get, after)}
        assert serials >= set(range(after + 1, 91))
        assert (1 in serials) == (after < begin - 1)


@pytest.mark.parametrize("damage", ["missing", "shorter", "changed"])
def test_a_file_that_is_not_what_the_root_says_is_an_error(damage: str) -> None:
    """It names the file and the remedy."""
    feed = feed_of(10)
    path = feed.root["segments"][-1]["url"]
    content = feed.files[path]
    spoilt = {"shorter": content[:-1], "changed": content[:-1] + bytes([content[-1] ^ 1])}
    files = {key: value for key, value in {**feed.files, path: spoilt.get(damage)}.items() if value is not None}
    with pytest.raises(HubError, match=r"seg-.*run: gem hub rebuild"):
        list(read_feed(feed.root, files.get))


def test_an_id_stays_claimed_by_the_package_that_had_it() -> None:
    """Also when its newest release has left it out, or was removed."""
    lines = [
        {"name": "one", "environments": [{"id": "toy:A-v0"}], "former_ids": ["toy:Old-v0"]},
        {"name": "two", "removed": True, "former_ids": ["toy:B-v0"]},
    ]
    assert claims(lines) == {"toy:A-v0": "one", "toy:Old-v0": "one", "toy:B-v0": "two"}


def test_a_line_lists_the_ids_that_newer_releases_have_left_out(tmp_path: Path) -> None:
    """So that they stay the package's own."""
    store = Store(tmp_path / "hub")
    for version, ids in (("0.1.0", ("toy:A-v0", "toy:B-v0")), ("0.2.0", ("toy:B-v0", "toy:C-v0"))):
        release, metadata = synthetic_release("toys", version, ids)
        store.publish(release, None, metadata)
    offered = line(store.existing("toys"))
    assert ([entry["id"] for entry in offered["environments"]], offered["former_ids"]) == (
        ["toy:B-v0", "toy:C-v0"],
        ["toy:A-v0"],
    )
