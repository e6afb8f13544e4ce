"""Syncing with a hub: what is loaded, and what is refused."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from gem_hub_client import __version__, catalogue_cache, catalogue_reader, root, sync
from gem_hub_client.catalogue import Catalogue
from gem_hub_client.catalogue_cache import open_catalogue
from gem_hub_client.cli.search import search_command
from gem_hub_client.config import Hub, hub_at, hubs
from gem_hub_client.errors import HubError
from gem_hub_client.federated_search import search_hubs
from gem_hub_client.pages import VerifiedPage, find_page
from gem_hub_client.state import State
from gem_hub_client.sync import update
from gem_hub_client.transport import _opener

if TYPE_CHECKING:
    from conftest import HubFolder, HubServer


def client() -> Hub:
    (hub,) = hubs()
    return hub


def names() -> list[str]:
    """Return the packages that the client knows, without asking the hub."""
    with open_catalogue(client(), offline=True) as opened:
        return [record["name"] for record in opened.catalogue.records()]


def lines_known() -> list[dict[str, Any]]:
    with open_catalogue(client(), offline=True) as opened:
        return list(opened.catalogue.records())


def leftovers() -> list[str]:
    """Return the files in the cache that a finished update does not leave."""
    state = State.read(client().cache)
    expected = {"state.json", "lock", state.database}
    return [path.name for path in client().cache.iterdir() if path.name not in expected]


# --- What is loaded


def test_the_first_update_loads_the_root_and_the_snapshot(hub_server: HubServer) -> None:
    """Two files bring the whole catalogue, after a look for signatures; each request says who asks."""
    outcome = update(client())
    assert (outcome.serial, outcome.packages) == (3, 3)
    assert hub_server.statuses == [200, 404, 200]
    assert {headers["User-Agent"] for _, headers, _ in hub_server.requests} == {f"gem-hub-client/{__version__}"}
    assert names() == ["gem-envs-chess", "mazes", "word-games"]
    assert leftovers() == []


@pytest.mark.parametrize("etags", [True, False])
def test_no_change_costs_one_request(hub_server: HubServer, etags: bool) -> None:
    """A hub that has not changed is asked once, answers 304, and nothing else is loaded."""
    hub_server.etags = etags
    update(client())
    hub_server.requests.clear()
    outcome = update(client())
    assert hub_server.statuses == [304]
    assert outcome.changed == outcome.transferred == 0


def test_only_missing_segments_are_loaded(hub_folder: HubFolder, hub_server: HubServer) -> None:
    """After changes, the client loads the segments that it does not have, and no snapshot."""
    update(client())
    hub_folder.append(hub_folder.line("new-thing", 4))
    update(client())
    hub_server.requests.clear()
    hub_folder.append(hub_folder.line("mazes", 5, version="0.2.0"), hub_folder.line("newer-thing", 6))
    assert update(client()).changed == 2
    assert [path.split("-")[0] for path in hub_server.paths("catalog")] == ["/catalog/seg"]
    assert names() == ["gem-envs-chess", "mazes", "new-thing", "newer-thing", "word-games"]


def test_a_client_that_is_too_far_behind_takes_the_snapshot(hub_folder: HubFolder, hub_server: HubServer) -> None:
    """Where the oldest segment begins after what the client has, the snapshot and what follows it are loaded."""
    update(client())
    hub_folder.begin([hub_folder.line("a-a", 8), hub_folder.line("b-b", 9)], 9)
    hub_folder.append(hub_folder.line("c-c", 10))
    hub_server.requests.clear()
    update(client())
    assert names() == ["a-a", "b-b", "c-c"]
    assert len(hub_server.paths("catalog/snapshot")) == len(hub_server.paths("catalog/seg")) == 1
    assert leftovers() == []


def test_a_removed_package_is_found_no_more(hub_folder: HubFolder, hub_server: HubServer) -> None:
    """A line that says a package is gone takes it out of the search; what was yanked of it stays known."""
    assert [found.hit.record["name"] for found in search_hubs("mazes").hits] == ["mazes"]
    hub_folder.append({"name": "mazes", "removed": True, "yanked": {"0.1.0": "broken"}, "serial": 4})
    update(client())
    assert search_hubs("mazes").hits == []
    with open_catalogue(client()) as opened:
        record = opened.catalogue.record("mazes")
    assert record is not None
    assert record["yanked"] == {"0.1.0": "broken"}


def test_a_history_that_was_written_anew_is_loaded_anew(hub_folder: HubFolder, hub_server: HubServer) -> None:
    """Where a file of known serials has another digest now, the whole catalogue is replaced."""
    hub_folder.append(hub_folder.line("old-name", 4))
    update(client())
    hub_folder.begin([hub_folder.line("other", 3)], 3)
    hub_folder.append(hub_folder.line("new-name", 4))
    update(client())
    assert names() == ["new-name", "other"]


def test_a_stored_root_that_cannot_be_read_counts_as_none(hub_server: HubServer) -> None:
    """What another version of the client has stored does not stop an update, which loads the whole catalogue."""
    update(client())
    replace(State.read(client().cache), root="{}", etag="", modified="").write(client().cache)
    hub_server.requests.clear()
    update(client())
    assert len(hub_server.paths("catalog/snapshot")) == 1
    assert names() == ["gem-envs-chess", "mazes", "word-games"]
    assert leftovers() == []


def test_a_folder_is_looked_at_every_time(hub_folder: HubFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was just published into a folder hub is found, without an update by hand."""
    monkeypatch.setenv("GEM_HUB", str(hub_folder.folder))
    assert search_hubs("brandnew").hits == []
    hub_folder.append(hub_folder.line("brandnew", 4))
    assert [found.hit.record["name"] for found in search_hubs("brandnew").hits] == ["brandnew"]


def test_a_search_asks_a_server_only_when_that_is_due(hub_folder: HubFolder, hub_server: HubServer) -> None:
    """For some minutes a search that finds something asks nobody; later, one conditional request."""
    search_hubs("mazes")
    hub_server.requests.clear()
    search_hubs("mazes")
    assert hub_server.requests == []
    with open_catalogue(client(), max_age=0.0):
        assert hub_server.statuses == [304]


def test_an_answer_that_is_not_of_now_says_so(
    hub_folder: HubFolder, hub_server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a minute the command names the age of what it has searched, and the command that asks again."""
    now = time.time
    runner = CliRunner()
    assert "was asked" not in runner.invoke(search_command, ["mazes"]).output
    monkeypatch.setattr("time.time", lambda: now() + 120)
    assert (
        "was asked 2 minutes ago; 'gem hub update' loads what is new" in runner.invoke(search_command, ["mazes"]).output
    )


def test_a_search_that_finds_nothing_asks_again(
    hub_folder: HubFolder, hub_server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package that was published since the last look is found, if nothing else fits."""
    monkeypatch.setattr("gem_hub_client.federated_search._AGAIN", 0.0)
    search_hubs("mazes")
    hub_folder.append(hub_folder.line("brandnew", 4))
    assert [found.hit.record["name"] for found in search_hubs("brandnew").hits] == ["brandnew"]


# --- What is refused


def flipped(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


TAMPERING: dict[str, Callable[[bytes], bytes]] = {
    "a bit": flipped,
    "a byte more": lambda content: content + b"\0",
    "a byte less": lambda content: content[:-1],
    "nothing left": lambda content: b"",
    "another catalogue": lambda content: gzip.compress(b'{"name": "evil", "version": "1"}\n', mtime=0),
}


@pytest.mark.parametrize("tampering", TAMPERING)
@pytest.mark.parametrize("kind", ["snapshot", "segment"])
@pytest.mark.parametrize("remote", [True, False])
def test_a_tampered_file_is_refused_by_name_and_digest(
    hub_folder: HubFolder,
    hub_server: HubServer,
    monkeypatch: pytest.MonkeyPatch,
    tampering: str,
    kind: str,
    remote: bool,
) -> None:
    """A changed snapshot or segment is refused by name and digests, and the catalogue stays as it was."""
    if not remote:
        monkeypatch.setenv("GEM_HUB", str(hub_folder.folder))
    update(client())
    before = lines_known()
    if kind == "segment":
        hub_folder.append(hub_folder.line("new-thing", 4))
        entry = hub_folder.root["segments"][-1]
    else:
        hub_folder.begin([hub_folder.line("a-a", 9)], 9)
        entry = hub_folder.root["snapshot"]
    target = hub_folder.folder / entry["url"]
    content = TAMPERING[tampering](target.read_bytes())
    target.write_bytes(content)
    with pytest.raises(HubError) as refused:
        update(client())
    message = str(refused.value)
    assert entry["url"] in message
    assert entry["sha256"] in message
    if len(content) <= entry["size"]:
        assert hashlib.sha256(content).hexdigest() in message
    else:
        assert f"found more than {entry['size']:,} bytes" in message
    monkeypatch.setattr(catalogue_cache, "_due", lambda *arguments: False)
    assert lines_known() == before
    assert leftovers() == []


def test_an_older_root_is_refused(hub_folder: HubFolder, hub_server: HubServer) -> None:
    """A root.json with a lower serial than the one seen is a rollback, also after the database was lost."""
    old = hub_folder.root.copy()
    old_segments = list(old["segments"])
    hub_folder.append(hub_folder.line("mazes", 4, status="quarantined"))
    update(client())
    hub_folder.root = {**old, "segments": old_segments}
    hub_folder.write_root()
    with pytest.raises(HubError, match=r"root\.json: is older \(serial 3\) than the one seen before \(serial 4\)"):
        update(client())
    assert search_hubs("mazes").hits == []
    (client().cache / State.read(client().cache).database).unlink()
    with pytest.raises(HubError, match="is older"):
        update(client())
    assert update(client(), reset=True).serial == 3


def _set(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        for part in parents:
            document = document[int(part)] if part.isdigit() else document[part]  # type: ignore[index]
        document[last] = value

    return change


ROOTS: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "another format": (_set("format", 2), "reads format 1"),
    "no serial": (lambda r: r.pop("serial"), "'serial' is missing"),
    "a serial that is none": (_set("serial", "4"), "which is no serial"),
    "a serial that is true": (_set("serial", True), "which is no serial"),
    "a promise beyond its files": (_set("serial", 7), "lead to serial 4 and it promises 7"),
    "a file elsewhere": (_set("snapshot.url", "http://127.0.0.1:1/x"), "no path below"),
    "a file at the root of the server": (_set("snapshot.url", "/etc/passwd"), "no path below"),
    "a file above the hub": (_set("segments.0.url", "catalog/../../x"), "no path below"),
    "a file of an odd name": (_set("segments.0.url", "a\x1b[2Jb"), "no path below"),
    "a digest that is none": (_set("snapshot.sha256", "0" * 63), "no digest"),
    "a size that is none": (_set("snapshot.size", -1), "must be 1 to"),
    "a size beyond all limits": (_set("snapshot.size", 10**12), "must be 1 to"),
    "a gap": (_set("segments.0.from", 9), "ends before it begins"),
    "a gap after the snapshot": (_set("snapshot.serial", 1), "its files lead to"),
    "segments that are none": (_set("segments", "many"), "cannot be used"),
    "a snapshot that is none": (_set("snapshot", None), "cannot be used"),
}


@pytest.mark.parametrize("kind", ROOTS)
def test_a_tampered_root_is_refused(hub_folder: HubFolder, hub_server: HubServer, kind: str) -> None:
    """A root.json that breaks the format is refused by name, and nothing that it names is asked for."""
    change, reason = ROOTS[kind]
    hub_folder.append(hub_folder.line("new-thing", 4))
    change(hub_folder.root)
    hub_folder.write_root()
    with pytest.raises(HubError, match=r"root\.json") as refused:
        update(client())
    assert reason in str(refused.value)
    assert "\x1b" not in str(refused.value)
    assert hub_server.paths("catalog") == []


@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b"{", b"\xff", b"[" * 20_000, b" " * 100_000])
def test_what_is_no_root_is_refused(hub_folder: HubFolder, hub_server: HubServer, content: bytes) -> None:
    """A page of something else, half a file or far too large a one is refused in one sentence."""
    (hub_folder.folder / "root.json").write_bytes(content)
    with pytest.raises(HubError, match=r"root\.json"):
        update(client())


BAD_CONTENT: dict[str, tuple[bytes, str]] = {
    "no gzip": (b'{"name": "mazes"}', "no gzip file"),
    "half a gzip": (gzip.compress(b"\n" * 1000)[:-9], "no single, whole gzip file"),
    "two gzips": (gzip.compress(b"") * 2, "no single, whole gzip file"),
    "a bomb": (gzip.compress(b"\n" * 50_000_000, 9), "unpacks to more than"),
    "an endless line": (gzip.compress(os.urandom(25_000).hex().encode() * 60), "line is longer than"),
    "no JSON": (gzip.compress(b"{\n"), "line 1 cannot be used"),
    "deep JSON": (gzip.compress(b"[" * 100_000), "line 1 cannot be used"),
    "no object": (gzip.compress(b"[]\n"), "line 1 cannot be used"),
    "no name": (gzip.compress(b"{}\n"), "line 1 cannot be used"),
    "a name that is a path": (gzip.compress(b'{"name": "../x", "version": "1"}\n'), "no package's name"),
    "no version": (gzip.compress(b'{"name": "x"}\n'), "'version' must be"),
    "tags that are none": (gzip.compress(b'{"name": "x", "version": "1", "tags": [1]}\n'), "'tags' must be"),
    "environments that are none": (
        gzip.compress(b'{"name": "x", "version": "1", "environments": [1]}\n'),
        "'environments' must be",
    ),
}


@pytest.mark.parametrize("kind", BAD_CONTENT)
def test_bad_content_is_refused_even_with_the_right_digest(
    hub_folder: HubFolder, hub_server: HubServer, kind: str
) -> None:
    """What unpacks to too much or breaks the format is refused by name, and nothing of the file is applied."""
    content, reason = BAD_CONTENT[kind]
    update(client())
    before = lines_known()
    hub_folder.append(content=content)
    with pytest.raises(HubError, match=r"/catalog/seg-4-4") as refused:
        update(client())
    assert reason in str(refused.value)
    assert lines_known() == before
    assert leftovers() == []


def test_a_bad_line_undoes_the_good_ones_before_it(hub_folder: HubFolder, hub_server: HubServer) -> None:
    """A file is applied as a whole or not at all."""
    update(client())
    before = lines_known()
    hub_folder.append(hub_folder.line("aaa", 4), {"name": "zzz"})
    with pytest.raises(HubError, match="line 2"):
        update(client())
    assert lines_known() == before
    hub_folder.begin([hub_folder.line("aaa", 9), {"name": "zzz"}], 9)
    with pytest.raises(HubError, match=r"/catalog/snapshot-9.*line 2"):
        update(client())
    assert lines_known() == before
    assert leftovers() == []


def test_a_bomb_is_never_unpacked_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unpacking stops soon after the limit, whatever else the file would give."""
    bomb = gzip.compress(b"\n" * 80_000_000, 9)
    unpacked = 0

    def counted(blocks: Any, name: str) -> Any:
        nonlocal unpacked
        for block in blocks:
            unpacked += len(block)
        return iter(())

    monkeypatch.setattr(catalogue_reader, "_split", counted)
    from io import BytesIO

    with pytest.raises(HubError, match="unpacks to more than"):
        list(catalogue_reader.read_lines(BytesIO(bomb), len(bomb), "bomb"))
    assert unpacked < len(bomb) * 100 + 200_000


def test_lines_may_say_more_and_less(hub_folder: HubFolder, hub_server: HubServer) -> None:
    """Unknown keys are kept, missing ones default, and an id from a later grammar leaves its environment out."""
    hub_folder.append(
        {"name": "sparse", "version": "1", "summary": None, "later": {"key": 1}},
        hub_folder.line("odd-ids", 5, environments=[{"id": "a:B-v0"}, {"id": "not an id"}, {"other": 1}]),
    )
    update(client())
    assert [found.hit.record["name"] for found in search_hubs("sparse").hits] == ["sparse"]
    (found,) = search_hubs("odd-ids").hits
    assert [environment["id"] for environment in found.hit.environments] == ["a:B-v0"]


# --- Servers that misbehave


def answer(status: int, headers: dict[str, str], body: bytes = b"") -> Callable[[BaseHTTPRequestHandler], None]:
    def act(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return act


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.close()


MISBEHAVIOUR: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {
    "breaks off": answer(200, {"Content-Length": "100000"}, b"half"),
    "hangs up": hang_up,
    "fails": answer(500, {"Content-Length": "0"}),
    "is no HTTP server": lambda handler: handler.wfile.write(b"SSH-2.0-x\r\n") and None,
    "sends to a file": answer(302, {"Location": "file:///etc/passwd", "Content-Length": "0"}),
    "sends to another protocol": answer(302, {"Location": "ftp://127.0.0.1/x", "Content-Length": "0"}),
    "sends in circles": answer(302, {"Location": "root.json", "Content-Length": "0"}),
    "says 304 to nothing": answer(304, {}),
}


@pytest.mark.parametrize("part", ["root.json", "catalog"])
@pytest.mark.parametrize("kind", MISBEHAVIOUR)
def test_a_misbehaving_server_is_one_sentence(hub_server: HubServer, kind: str, part: str) -> None:
    """Whatever a server does, the first update fails with a message that names the URL, and leaves nothing behind."""
    hub_server.instead[part] = MISBEHAVIOUR[kind]
    with pytest.raises(HubError, match=f"{hub_server.url}.*"):
        update(client())
    assert not list(client().cache.glob("*.part"))
    hub_server.instead.clear()
    assert update(client()).packages == 3


def test_a_server_that_never_answers_is_given_up(hub_server: HubServer) -> None:
    """The timeout holds for a server that accepts the connection and says nothing."""
    enough = threading.Event()
    hub_server.instead["root.json"] = lambda handler: enough.wait() and None
    try:
        with pytest.raises(HubError, match="timed out"):
            update(client(), timeout=0.1)
    finally:
        enough.set()


def test_a_drip_is_given_up(hub_server: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that sends on and on, too slowly, is left after a time that depends on the size."""
    monkeypatch.setattr("gem_hub_client.transport.time.monotonic", iter(range(0, 10**6, 1000)).__next__)
    with pytest.raises(HubError, match="less than 20 kB a second"):
        update(client())


def test_more_than_was_promised_is_not_read(hub_folder: HubFolder, hub_server: HubServer) -> None:
    """A server cannot fill the disk: one byte after the promised size the transfer ends."""
    sent = 0

    def endless(handler: BaseHTTPRequestHandler) -> None:
        nonlocal sent
        handler.send_response(200)
        handler.end_headers()
        while sent < 200_000_000:
            try:
                handler.wfile.write(b"x" * 1_000_000)
            except OSError:
                return
            sent += 1_000_000

    hub_server.instead["catalog"] = endless
    with pytest.raises(HubError, match="found more than"):
        update(client())
    assert sent < 100_000_000


# --- Without a network


def test_search_goes_on_without_the_hub(hub_server: HubServer) -> None:
    """When the hub is gone, search answers from what was loaded, and says why and how old that is."""
    update(client())
    state = State.read(client().cache)
    replace(state, checked=state.checked - 3 * 86400, tried=0.0).write(client().cache)
    hub_server.instead[""] = answer(503, {"Content-Length": "0"})
    findings = search_hubs("mazes")
    assert [found.hit.record["name"] for found in findings.hits] == ["mazes"]
    (status,) = findings.statuses
    assert "answers 503" in status.note
    assert "going on with what was loaded 3 days ago" in status.note
    hub_server.requests.clear()
    assert "answers 503" in search_hubs("mazes").statuses[0].note
    assert hub_server.requests == [], "a hub that failed a moment ago is not asked by every search"


def test_a_hub_that_failed_is_asked_again_after_five_minutes(hub_server: HubServer) -> None:
    """For 300 seconds after a failure the hub is left alone, and then it is asked, although its answer was fresh."""
    update(client())
    hub_server.instead[""] = answer(503, {"Content-Length": "0"})
    with open_catalogue(client(), max_age=0.0) as opened:
        assert "answers 503" in opened.note
    failed = State.read(client().cache)
    for seconds, asked in ((290.0, 0), (310.0, 1)):
        replace(failed, tried=failed.tried - seconds).write(client().cache)
        hub_server.requests.clear()
        with open_catalogue(client()) as opened:
            assert "answers 503" in opened.note
        assert len(hub_server.requests) == asked


def test_a_refused_update_does_not_stop_search(hub_folder: HubFolder, hub_server: HubServer) -> None:
    """When the hub's files are tampered with, search goes on with what was checked before, and says so."""
    update(client())
    hub_folder.append(hub_folder.line("new-thing", 4))
    (hub_folder.folder / hub_folder.root["segments"][0]["url"]).write_bytes(b"evil")
    with open_catalogue(client(), max_age=0.0) as opened:
        assert "is not what root.json promises" in opened.note
        assert opened.catalogue.record("mazes") is not None


def test_without_a_cache_and_a_network_there_is_one_sentence(
    own_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hub that was never reached cannot be searched, and the message names it."""
    monkeypatch.setenv("GEM_HUB", "http://127.0.0.1:9/")
    with pytest.raises(HubError, match=r"http://127\.0\.0\.1:9/root\.json: cannot be reached"):
        search_hubs("mazes")
    with pytest.raises(HubError, match="nothing was loaded from this hub yet"):
        search_hubs("mazes", offline=True)


def test_one_dead_hub_does_not_hide_the_others(
    hub_folder: HubFolder, hub_server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With several hubs, those that answer are searched, and the others are named."""
    monkeypatch.setenv("GEM_HUB", f"http://127.0.0.1:9/ {hub_server.url}")
    findings = search_hubs("mazes")
    assert [found.hub.location for found in findings.hits] == [hub_server.url]
    assert "cannot be reached" in findings.statuses[0].note


def test_a_cache_that_cannot_be_written(hub_folder: HubFolder, hub_server: HubServer, monkeypatch: Any) -> None:
    """Folder hubs and the official index are searched without a cache; a remote hub says what to do."""
    blocked = hub_folder.folder.parent / "blocked"
    blocked.write_text("a file where a folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    with pytest.raises(HubError, match="set XDG_CACHE_HOME"):
        search_hubs("mazes")
    monkeypatch.setenv("GEM_HUB", str(hub_folder.folder))
    assert [found.hit.record["name"] for found in search_hubs("mazes").hits] == ["mazes"]
    monkeypatch.setenv("GEM_HUB", "official")
    assert search_hubs("sudoku").hits[0].hit.record["name"] == "gem-envs-games"


# --- Damage, and several processes


@pytest.mark.parametrize("damage", ["emptied", "garbage", "half", "all but its beginning", "gone"])
def test_a_damaged_cache_is_loaded_anew(hub_server: HubServer, damage: str) -> None:
    """A database that is no more what it was is thrown away; nothing needs to be done by hand."""
    update(client())
    database = client().cache / State.read(client().cache).database
    content = database.read_bytes()
    if damage == "gone":
        database.unlink()
    else:
        kept = {"emptied": 0, "garbage": 0, "half": len(content) // 2, "all but its beginning": 8192}[damage]
        lost = 0 if damage in ("emptied", "half") else len(content) - kept
        database.write_bytes(content[:kept] + os.urandom(lost))
    assert [found.hit.record["name"] for found in search_hubs("mazes").hits] == ["mazes"]


def test_a_database_that_is_older_than_its_state_is_loaded_anew(hub_folder: HubFolder, hub_server: HubServer) -> None:
    """A database that was put back from a copy does not stand for what the client has seen since."""
    update(client())
    database = client().cache / State.read(client().cache).database
    copy = database.read_bytes()
    hub_folder.append(hub_folder.line("mazes", 4, status="quarantined"))
    update(client())
    database.write_bytes(copy)
    assert search_hubs("mazes").hits == []


def test_a_database_of_another_schema_is_left(hub_server: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gem-core whose tables differ makes its own database, and still knows how new the hub has been."""
    update(client())
    old = State.read(client().cache)
    monkeypatch.setattr("gem_hub_client.state.DATABASE_PREFIX", "index-999-")
    monkeypatch.setattr("gem_hub_client.sync.DATABASE_PREFIX", "index-999-")
    update(client())
    new = State.read(client().cache)
    assert new.database.startswith("index-999-")
    assert new.serial == old.serial
    assert leftovers() == []


def test_damaged_state_is_no_error(hub_server: HubServer) -> None:
    """A state file that is cut off, or leads elsewhere, counts as none."""
    update(client())
    for text in ("", "{", "[]", '{"serial": "x"}'):
        (client().cache / "state.json").write_text(text)
        assert search_hubs("mazes").hits
    document = json.loads((client().cache / "state.json").read_text())
    (client().cache / "state.json").write_text(json.dumps({**document, "database": "../../elsewhere.sqlite"}))
    assert State.read(client().cache).database == ""


UPDATE = """
from gem_hub_client.config import hubs
from gem_hub_client.sync import update
print(update(hubs()[0]).changed)
"""


def test_two_processes_load_once(hub_folder: HubFolder, hub_server: HubServer) -> None:
    """Of processes that update at the same time, one loads, and all have the result."""
    processes = [subprocess.Popen([sys.executable, "-c", UPDATE], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    changed = [int(process.communicate()[0]) for process in processes]
    assert all(process.returncode == 0 for process in processes)
    # A process that begins after another is done asks again, and gets a 304.
    assert sorted(changed) == [0, 0, 0, 3]
    assert len(hub_server.paths("catalog")) == 1
    assert names() == ["gem-envs-chess", "mazes", "word-games"]


@pytest.mark.parametrize("part", ["root.json", "catalog"])
@pytest.mark.parametrize("first", [True, False])
def test_a_killed_update_leaves_a_usable_cache(
    hub_folder: HubFolder, hub_server: HubServer, part: str, first: bool
) -> None:
    """SIGKILL in the middle of a transfer: what was there is still there, and the next update works and cleans up."""
    if not first:
        update(client())
        hub_folder.append(hub_folder.line("new-thing", 4))
    arrived, enough = threading.Event(), threading.Event()

    def stall(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        handler.wfile.write(b"x" * 10)
        arrived.set()
        enough.wait()

    hub_server.instead[part] = stall
    process = subprocess.Popen([sys.executable, "-c", UPDATE], stdout=subprocess.DEVNULL)
    assert arrived.wait(60)
    process.send_signal(signal.SIGKILL)
    process.wait()
    enough.set()
    if not first:
        assert names() == ["gem-envs-chess", "mazes", "word-games"]
    hub_server.instead = {"root.json": answer(500, {"Content-Length": "0"})}
    with pytest.raises(HubError, match="answers 500"):
        update(client())
    assert set(leftovers()) == set(), "also an update that fails removes what a killed one has left"
    hub_server.instead.clear()
    assert update(client()).packages == (3 if first else 4)
    assert leftovers() == []


KILLED_AT = """
import os, sys
from gem_hub_client import sync
from gem_hub_client.catalogue import Catalogue
from gem_hub_client.config import hubs
from gem_hub_client.state import State
point = sys.argv[1]
def die(*arguments, **options): os._exit(9)
if point == "indexing":
    Catalogue._count_words = die
elif point == "before the state":
    State.write = die
elif point == "after the state":
    real = State.write
    def write(self, folder):
        real(self, folder)
        die()
    State.write = write
sync.update(hubs()[0])
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("point", ["indexing", "before the state", "after the state"])
@pytest.mark.parametrize("kind", ["first", "segment", "snapshot"])
def test_a_process_may_die_at_any_point(hub_folder: HubFolder, hub_server: HubServer, point: str, kind: str) -> None:
    """Wherever a process ends, the next one finds the catalogue of before or of after, and brings it up to date."""
    expected = {"gem-envs-chess", "mazes", "word-games"}
    if kind != "first":
        update(client())
    before = set(expected)
    if kind == "segment":
        hub_folder.append(hub_folder.line("new-thing", 4))
        expected.add("new-thing")
    if kind == "snapshot":
        hub_folder.begin([hub_folder.line("a-a", 9)], 9)
        expected = {"a-a"}
    done = subprocess.run([sys.executable, "-c", KILLED_AT, point], check=False)
    assert done.returncode == 9
    if kind != "first":
        assert set(names()) in (before, expected)
    update(client())
    assert set(names()) == expected
    assert leftovers() == []


def test_readers_go_on_while_another_process_writes(hub_folder: HubFolder, hub_server: HubServer) -> None:
    """A search that has a catalogue does not wait for an update that another process is in the middle of."""
    update(client())
    hub_folder.append(hub_folder.line("new-thing", 4))
    with sync._locked(client().cache, 1.0), open_catalogue(client(), max_age=0.0) as opened:
        assert opened.catalogue.record("mazes") is not None
        assert opened.note == ""


def test_an_open_catalogue_survives_the_next_snapshot(hub_folder: HubFolder, hub_server: HubServer) -> None:
    """A reader keeps what it has opened while another process puts a new database in its place."""
    with open_catalogue(client()) as opened:
        hub_folder.begin([hub_folder.line("a-a", 9)], 9)
        subprocess.run([sys.executable, "-c", UPDATE], check=True, stdout=subprocess.DEVNULL)
        assert len(list(opened.catalogue.records())) == 3
    assert names() == ["a-a"]


# --- Pages


def page_of(name: str, *, offline: bool = False) -> VerifiedPage:
    return find_page(name, hubs(), offline=offline)


@pytest.fixture
def mazes(hub_folder: HubFolder, hub_server: HubServer) -> dict[str, Any]:
    """The line of a package whose page lies in the hub."""
    line = hub_folder.line("mazes", 2)
    hub_folder.page(line)
    return line


def test_the_page_that_the_catalogue_promises_is_read(mazes: dict[str, Any]) -> None:
    """Page and line come together, whatever spelling of the name was asked for."""
    found = page_of("Mazes")
    assert found.record["page_sha256"] == mazes["page_sha256"]
    assert (found.page["releases"][0]["sha256"], found.note) == (mazes["sha256"], "")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"serial": 1}, "has serial 1, and the catalogue has 2"),
        ({"serial": 1_000_000}, "has serial 1000000, and the catalogue has 2"),
        ({"serial": None}, "has serial None"),
        ({"name": "chess"}, "is about 'chess'"),
        ({"format": 9}, "is in format 9"),
        ({"status": "quarantined"}, "has the status 'quarantined'"),
        ({"releases": []}, r"has no release '0\.1\.0'"),
        ({"owners": ["somebody else"]}, "says the same in other words"),
    ],
    ids=str,
)
def test_any_other_page_is_refused(
    hub_folder: HubFolder, mazes: dict[str, Any], changes: dict[str, Any], reason: str
) -> None:
    """Nothing in a page can be changed, least of all its serial, and the refusal says what differs."""
    hub_folder.page(mazes, **changes)
    promised = mazes["page_sha256"]
    with pytest.raises(
        HubError, match=rf"envs/mazes\.json.*{reason}.*expected sha256 '{promised}', found [0-9a-f]{{64}}"
    ):
        page_of("mazes")


@pytest.mark.parametrize(
    "changes", [{"serial": 7}, {"status": "deprecated"}, {"releases": []}, {"releases": 3}], ids=str
)
def test_a_page_that_contradicts_the_line_that_promises_it_is_refused(
    hub_folder: HubFolder, mazes: dict[str, Any], changes: dict[str, Any]
) -> None:
    """A hub that says two things about a package is not believed in either."""
    hub_folder.begin([hub_folder.promising(mazes, **changes)], 4)
    hub_folder.page(mazes, **changes)
    with pytest.raises(HubError, match=r"envs/mazes\.json"):
        page_of("mazes")


def test_a_line_without_a_promise_proves_nothing(hub_folder: HubFolder, mazes: dict[str, Any]) -> None:
    """Where the catalogue has no digest of a page, no page is the right one."""
    hub_folder.begin([{key: value for key, value in mazes.items() if key != "page_sha256"}], 4)
    with pytest.raises(HubError, match="expected sha256 None"):
        page_of("mazes")


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"<html>", b"[" * 100_000], ids=repr)
def test_what_is_no_page_is_refused(hub_folder: HubFolder, mazes: dict[str, Any], content: bytes) -> None:
    """Rubbish is one sentence."""
    (hub_folder.folder / "envs/mazes.json").write_bytes(content)
    with pytest.raises(HubError, match=r"envs/mazes\.json"):
        page_of("mazes")


def test_a_page_newer_than_the_catalogue_brings_it_up_to_date(hub_folder: HubFolder, mazes: dict[str, Any]) -> None:
    """A package that has changed since the catalogue was loaded is read together with its new line."""
    page_of("mazes")
    newer = hub_folder.line("mazes", 4, version="0.2.0", sha256="1" * 64)
    hub_folder.append(newer)
    hub_folder.page(newer)
    found = page_of("mazes")
    assert (found.record["version"], found.page["serial"]) == ("0.2.0", 4)


def test_a_hub_that_is_publishing_is_looked_at_again(
    hub_folder: HubFolder, mazes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that is ahead of the catalogue for a moment is waited for, and one that stays ahead is refused."""
    newer = hub_folder.line("mazes", 4, version="0.2.0", sha256="1" * 64)
    hub_folder.page(newer)
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 7:
            hub_folder.append(newer)

    monkeypatch.setattr("gem_hub_client.pages.time.sleep", wait)
    with pytest.raises(HubError, match="has serial 4, and the catalogue has 2"):
        page_of("mazes")
    assert len(waited) == 4
    assert page_of("mazes").record["serial"] == 4


def test_a_page_that_was_read_is_there_when_it_is_asked_for(
    hub_folder: HubFolder, hub_server: HubServer, mazes: dict[str, Any]
) -> None:
    """Without a network only --offline reads what was read before, with a note; what never was, is one sentence."""
    page_of("mazes")
    hub_server.instead[""] = answer(503, {"Content-Length": "0"})
    with open_catalogue(client(), 0.0):
        pass
    with pytest.raises(HubError, match="503"):
        page_of("mazes")
    found = page_of("mazes", offline=True)
    assert (found.page["name"], "was not asked" in found.note) == ("mazes", True)
    with pytest.raises(HubError, match="nothing was read about word-games yet"):
        page_of("word-games", offline=True)


def test_a_page_that_was_changed_in_the_cache_is_refused(mazes: dict[str, Any]) -> None:
    """What lies in the cache proves nothing by lying there."""
    page_of("mazes")
    kept = client().cache / "envs/mazes.json"
    kept.write_bytes(kept.read_bytes().replace(b"somebody", b"sombody2"))
    with pytest.raises(HubError, match="is not what the catalogue promises"):
        page_of("mazes", offline=True)


def test_an_unknown_package_is_named(hub_server: HubServer) -> None:
    """Asking for a package that no hub has says where was looked; a name that cannot be is refused before."""
    with pytest.raises(HubError, match="has no package 'nothing-like-it'"):
        page_of("nothing-like-it")
    with pytest.raises(HubError, match="cannot be the name of a package"):
        page_of("../../etc/passwd")


@pytest.mark.skipif(os.name != "posix", reason="other systems give each user folders of their own")
class TestSharedCaches:
    """A cache folder that others can write into."""

    def loosen(self, hub: Hub) -> Path:
        """Let others write into the cache."""
        folder = hub.cache
        folder.chmod(0o777)
        return folder

    def test_what_lies_there_is_not_believed(
        self, hub_folder: HubFolder, hub_server: HubServer, mazes: dict[str, Any]
    ) -> None:
        """The catalogue is loaded again, into a folder that is this user's alone from then on."""
        page_of("mazes")
        database = State.read(client().cache).database
        folder = self.loosen(client())
        with Catalogue.open(folder / database) as catalogue:
            catalogue.apply([hub_folder.promising({**mazes, "summary": "changed"}, owners=["evil"])], catalogue.serial)
        assert page_of("mazes").record["summary"] == mazes["summary"]
        assert folder.stat().st_mode & 0o777 == 0o700

    def test_offline_there_is_nothing_then(self, mazes: dict[str, Any]) -> None:
        """Without asking the hub nothing in such a folder counts."""
        page_of("mazes")
        self.loosen(client())
        with pytest.raises(HubError, match="nothing was loaded from this hub yet"):
            page_of("mazes", offline=True)

    def test_the_folder_of_another_user_is_not_used(
        self, mazes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A page is verified in memory then, and an update names the folder and the way out."""
        page_of("mazes")
        owner = os.geteuid()
        monkeypatch.setattr("os.geteuid", lambda: owner + 12345)
        assert (State.read(client().cache).serial >= 0) == (owner == 0)  # root's folders are as good as one's own
        monkeypatch.setattr("gem_hub_client.private_folder._ROOT", -1)
        assert page_of("mazes").record["summary"] == mazes["summary"]
        with pytest.raises(HubError, match=r"others may write there.*XDG_CACHE_HOME"):
            update(client())


# --- root.json alone


def test_files_after_gives_what_is_missing() -> None:
    """A client at any serial gets files that lead to the newest without a gap."""
    document = {
        "format": 1,
        "serial": 10,
        "snapshot": {"url": "s", "sha256": "0" * 64, "size": 1, "serial": 6},
        "segments": [
            {"url": f"a{first}", "sha256": "0" * 64, "size": 1, "from": first, "to": last}
            for first, last in ((4, 6), (7, 9), (10, 10))
        ],
    }
    parsed = root.parse_root(json.dumps(document).encode(), "root.json")
    wanted = {-1: ["s", "a7", "a10"], 0: ["s", "a7", "a10"], 2: ["s", "a7", "a10"], 3: ["a4", "a7", "a10"]}
    wanted |= {5: ["a4", "a7", "a10"], 6: ["a7", "a10"], 8: ["a7", "a10"], 9: ["a10"], 10: []}
    for serial, paths in wanted.items():
        assert [file.path for file in parsed.files_after(serial)] == paths, serial


def test_segments_must_follow_one_another() -> None:
    """A root.json whose segments leave a serial out, or have one twice, is refused."""
    for ranges in (((1, 3), (5, 6)), ((1, 3), (3, 6)), ((4, 6), (1, 3))):
        segments = [
            {"url": f"a{first}", "sha256": "0" * 64, "size": 1, "from": first, "to": last} for first, last in ranges
        ]
        snapshot = {"url": "s", "sha256": "0" * 64, "size": 1, "serial": 3}
        document = {"format": 1, "serial": 6, "snapshot": snapshot, "segments": segments}
        with pytest.raises(HubError, match="begins with"):
            root.parse_root(json.dumps(document).encode(), "root.json")


def test_a_redirect_never_leaves_https() -> None:
    """A server reached by https may send a client to another https address, and to nothing less."""
    from urllib.request import Request

    (handler,) = (handler for handler in _opener().handlers if hasattr(handler, "redirect_request"))
    secure, open_to_all = Request("https://a.example/root.json"), Request("http://a.example/root.json")
    for request, target in ((secure, "http://a.example/x"), (open_to_all, "ftp://a.example/x")):
        with pytest.raises(HubError, match="not safe to follow"):
            handler.redirect_request(request, None, 302, "", {}, target)
    for request, target in ((secure, "https://b.example/x"), (open_to_all, "http://b.example/x")):
        assert handler.redirect_request(request, None, 302, "", {}, target).full_url == target


def test_a_hub_at_serial_0_is_empty(own_folders: Path, hub_folder: HubFolder) -> None:
    """A hub without any package is a hub."""
    hub_folder.begin([], 0)
    hub = hub_at(str(hub_folder.folder))
    assert update(hub).packages == 0
    hub_folder.append(hub_folder.line("first", 1))
    assert update(hub).packages == 1


def test_the_catalogue_of_a_wrong_file_is_an_error(tmp_path: Path) -> None:
    """Opening what is no database neither makes nor changes a file."""
    import sqlite3

    with pytest.raises(sqlite3.Error):
        Catalogue.open(tmp_path / "none.sqlite")
    assert list(tmp_path.iterdir()) == []
