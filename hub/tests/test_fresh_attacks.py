"""A third round of attacks: catalogues that exhaust readers, moments to come, lookalikes of paths, and odd JSON."""

from __future__ import annotations

import gzip
import hashlib
import json
import threading
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from registry_server import RegistryClient, RunningRegistry, running_registry
from signed_results import OWNER, made_result, new_key, signed_event, toy_package
from test_gate_hostile import HUB, LIMITS, SOUND, added, recorded, scripts
from wheel_builder import INFO, Member, Wheel

from gem_hub.errors import HubRefusal
from gem_hub.gate import examine
from gem_hub.results.admission import check_result
from gem_hub_client.catalogue_cache import open_catalogue
from gem_hub_client.config import hub_at
from gem_hub_client.errors import HubError
from gem_hub_client.search import search
from gem_hub_client.sync import update

LINE = {
    "name": "zebra-worlds",
    "version": "0.1.0",
    "summary": "Zebras cross rivers.",
    "tags": ["zebra"],
    "environments": [{"id": "zebra:River-v0", "description": "A river."}],
    "serial": 1,
}


def hub_of(folder: Path, line: str, root: dict[str, object] | None = None) -> str:
    """Write a hub whose catalogue has one line; return its place."""
    packed = gzip.compress(f"{line}\n".encode("utf-8", "surrogatepass"))
    digest = hashlib.sha256(packed).hexdigest()
    path = folder / "catalog" / f"snapshot-1-{digest[:12]}.jsonl.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(packed)
    snapshot = {"url": f"catalog/{path.name}", "sha256": digest, "size": len(packed), "serial": 1}
    document = {"format": 1, "serial": 1, "created": "", "snapshot": snapshot, "segments": [], **(root or {})}
    (folder / "root.json").write_text(json.dumps(document))
    return str(folder)


def with_key(value: str) -> str:
    """Return the line with a key of a later version of the format."""
    return f'{json.dumps(LINE)[:-1]},"later":{value}}}'


LINES = {
    **{f"{depth} lists deep": with_key("[" * depth + "]" * depth) for depth in (300, 600, 900, 970, 5_000)},
    "600 objects deep": with_key('{"a":' * 600 + "1" + "}" * 600),
    "a number of 4,000 digits": with_key("9" * 4_000),
    "a number of 400,000 digits": with_key("9" * 400_000),
    "no number": with_key("NaN"),
    "an endless number": with_key("-1e999"),
    "half a character": json.dumps({**LINE, "summary": "zebra \ud800"}),
    "a tag of half a character": json.dumps({**LINE, "tags": ["\udfff zebra"]}),
    "NUL": json.dumps({**LINE, "summary": "zebra\0rivers"}),
    "3,000 tags": json.dumps({**LINE, "tags": [f"zebra-{number}" for number in range(3_000)]}),
    "a name twice": '{"name":"evil-worlds",' + json.dumps(LINE)[1:],
    "an escape sequence in a later key": with_key('{"\\u001b[2J":"\\u001b]0;x\\u0007"}'),
}


@pytest.mark.usefixtures("own_folders")
@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_line_of_a_catalogue_is_refused_or_found_and_never_breaks_a_search(line: str, tmp_path: Path) -> None:
    """Whatever a hub writes into a catalogue, a search answers, and what it shows has no control characters."""
    hub = hub_at(hub_of(tmp_path / "hub", line))
    try:
        update(hub)
    except HubError:
        return
    with open_catalogue(hub) as opened:
        for query in ("zebra", "zebra-worlds", "zebra:River-v0", "zebr", "rivers 600"):
            for hit in search(opened.catalogue, query).hits:
                shown = json.dumps([hit.record, hit.environments], ensure_ascii=False, default=str)
                assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in shown)


ROOTS: dict[str, dict[str, object]] = {
    "a serial that is true": {"serial": True},
    "a serial in parts": {"serial": 1.0},
    "a serial beyond SQLite": {"serial": 2**63},
    "a serial of 30 digits": {"serial": 10**30},
    "segments that are an object": {"segments": {"from": 1, "to": 2}},
    "a segment that is a text": {"segments": ["catalog/x"]},
    "a format that is true": {"format": True, "serial": 2},
    "a moment in other digits": {"issued": "２０２６-01-01T00:00:00Z", "expires": "2027-01-01T00:00:00Z"},
    "a moment with a line end": {"issued": "2026-01-01T00:00:00Z\n", "expires": "2027-01-01T00:00:00Z"},
}  # fmt: skip


@pytest.mark.usefixtures("own_folders")
@pytest.mark.parametrize("root", ROOTS.values(), ids=ROOTS)
def test_a_root_of_another_form_is_refused(root: dict[str, object], tmp_path: Path) -> None:
    """Nothing is applied, and the refusal says what cannot be used."""
    with pytest.raises(HubError, match=r"root.json: (cannot be used|is no JSON)"):
        update(hub_at(hub_of(tmp_path / "hub", json.dumps(LINE), root)))


@pytest.mark.usefixtures("own_folders")
@pytest.mark.parametrize(
    "etag", ['"a"\r\n "b"', '"\x01"', '"\xe9"', f'"{"x" * 60_000}"'], ids=["folded", "control", "latin", "long"]
)
def test_an_odd_mark_of_a_version_is_not_sent_back(etag: str, tmp_path: Path) -> None:
    """A server that has once sent a field that no client may send is asked again without it."""
    served = Path(hub_of(tmp_path / "hub", json.dumps(LINE)))

    class Handler(SimpleHTTPRequestHandler):
        def end_headers(self) -> None:
            self.send_header("ETag", etag)
            super().end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(served)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        hub = hub_at(f"http://127.0.0.1:{server.server_port}/")
        assert [update(hub).packages for _ in range(2)] == [1, 1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


PATHS = (
    "catalog/..%2f..%2froot.json", "catalog/\uff0e\uff0e/root.json", "catalog\u2215x.gz", "catalog/x.gz\n",
    "catalog/x.gz\0", "\\\\host\\share", "catalog//x.gz", "./catalog/x.gz", "catalog/x.gz?y", "catalog/x.gz#y",
)  # fmt: skip


@pytest.mark.usefixtures("own_folders")
@pytest.mark.parametrize("path", PATHS)
def test_a_path_in_a_root_leads_below_the_hub(path: str, tmp_path: Path) -> None:
    """Fullwidth dots, other slashes, escapes, queries and line ends are no parts of a path."""
    snapshot = {"url": path, "sha256": "0" * 64, "size": 10, "serial": 1}
    with pytest.raises(HubError, match="no path below the hub's folder"):
        update(hub_at(hub_of(tmp_path / "hub", json.dumps(LINE), {"snapshot": snapshot})))


DECOMPOSED = unicodedata.normalize("NFD", "toy_envs/caf\u00e9.txt")


def doubled(members: list[Member]) -> list[Member]:
    """Return the members with the first file twice, with other bytes."""
    return [*members, replace(members[0], content=b"import os\n")]


WHEELS: dict[str, tuple[Wheel, str]] = {
    "a path in RECORD with letter and accent apart": (
        replace(
            added("toy_envs/caf\u00e9.txt", "x"), record=lambda text: text.replace("toy_envs/caf\u00e9.txt", DECOMPOSED)
        ),
        "record.missing",
    ),
    "a path with letter and accent apart": (added(DECOMPOSED, "x"), "zip.path"),
    "a path in RECORD in capitals": (
        recorded(lambda text: text.replace("toy_envs/thing.py", "toy_envs/THING.py")),
        "record.missing",
    ),
    "the sign of Kelvin": (added("toy_envs/\u212aey.txt", "x"), "zip.path"),
    "a Cyrillic package beside": (added("t\u043ey_envs/__init__.py", ""), "content.top-level"),
    "a file with two contents": (replace(SOUND, members=doubled), "zip.duplicate"),
    "a file that is a folder as well": (added("toy_envs/thing.py/x.txt", "x"), "zip.path"),
    "a data file for the system": (added("toy_envs-0.1.0.data/data/etc/cron.d/x", "x"), "content.data"),
    "a data folder in capitals": (added("toy_envs-0.1.0.DATA/scripts/pip", "x"), "content.data"),
    "a header of C": (added("toy_envs-0.1.0.data/headers/x.h", "x"), "content.data"),
    "a header behind a carriage return": (SOUND.with_header("Summary: Toys.\rRequires-Dist: evil"), "metadata.form"),
    "a header behind a next line": (SOUND.with_header("Summary: Toys.\u0085Requires-Dist: evil"), "metadata.form"),
    "a header behind a form feed": (SOUND.with_header("Summary: Toys.\fRequires-Dist: evil"), "metadata.form"),
    "a Cyrillic name in the metadata": (SOUND.with_header("Name: t\u043ey-envs"), "metadata.name"),
    "a command behind a line separator": (
        scripts("[console_scripts]\ntoy = toy_envs:x\u2028pip = toy_envs:x"),
        "entry.form",
    ),
    "a signature of its RECORD": (added(f"{INFO}/RECORD.p7s", "x"), "info.file"),
}


@pytest.mark.parametrize("name", WHEELS)
def test_a_wheel_is_refused(name: str) -> None:
    """The gate refuses it for this reason, among others."""
    wheel, code = WHEELS[name]
    refusals = examine(*wheel.build(), "a-stranger", HUB, limits=LIMITS).refusals
    assert code in {refusal.code for refusal in refusals}, refusals


@pytest.mark.parametrize("moment", ["2999-01-01T00:00:00Z", "9999-12-31T23:59:61Z", "２０２６-01-31T12:00:00Z"])
def test_a_result_of_the_future_is_refused(moment: str, tmp_path: Path) -> None:
    """A result cannot be the newest for ever; the clock of its machine may be an hour ahead."""
    key = new_key(tmp_path, OWNER)
    with pytest.raises(HubRefusal, match="yet to come"):
        check_result(signed_event(made_result(OWNER, key, [1.0], created=moment), key), toy_package())
    sound = signed_event(made_result(OWNER, key, [1.0], created="2026-01-31T12:30:60Z"), key)
    check_result(sound.model_copy(update={"created": "2026-01-31T12:00:00Z"}), toy_package())


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningRegistry]:
    """A registry of its own."""
    with running_registry(tmp_path_factory.mktemp("registry") / "hub") as running:
        yield running


BODIES = {
    "a number of 5,000 digits": b'{"name":' + b"9" * 5_000 + b"}",
    "no number": b'{"name":NaN}',
    "an endless number": b'{"name":1e999}',
    "UTF-16": '{"name":"utf-sixteen"}'.encode("utf-16"),
    "a mark of byte order": b'\xef\xbb\xbf{"name":["a"]}',
    "half a character": b'{"name":"a\\ud800b"}',
    "NUL in a name": b'{"name":"acme\\u0000"}',
    "a line end behind a name": b'{"name":"acme\\n"}',
    "a Cyrillic name": '{"name":"\u0430cme"}'.encode(),
    "deep lists": b'{"name":' + b"[" * 20_000,
    "an unknown key": b'{"name":"acme","role":"owner"}',
    "a list": b'["name"]',
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_an_odd_body_founds_no_organisation(registry: RunningRegistry, body: bytes) -> None:
    """The answer is a bad request or a refusal in JSON, never a failure of the registry."""
    client: RegistryClient = registry.account("ada")
    answer = client.send("POST", "/api/v1/organisations", body, Content_Type="application/json")
    assert answer.status in (400, 409), answer.text
    assert answer.json["detail"]
    assert client.send("GET", "/api/v1/organisations").json.get("organisations", []) == []


HEADERS: tuple[tuple[str, Callable[[int], str]], ...] = (
    ("Range", lambda size: f"bytes={','.join(f'{n}-{n}' for n in range(2_000))}"),
    ("Range", lambda size: f"bytes=-{10**30}"),
    ("Range", lambda size: f"bytes={10**30}-"),
    ("Range", lambda size: "bytes=0-0,-1,-1,-1"),
    ("Range", lambda size: "bytes=\u0663-\u0664".encode().decode("latin-1")),
    ("If-None-Match", lambda size: ", ".join(['"x"'] * 3_000)),
    ("If-None-Match", lambda size: '"' * 9_001),
)


@pytest.mark.parametrize(("field", "value"), HEADERS)
def test_an_odd_condition_gets_the_file_once_or_a_refusal(
    registry: RunningRegistry, field: str, value: Callable[[int], str]
) -> None:
    """No list of ranges makes an answer longer than the file."""
    whole = registry.stranger.send("GET", "/root.json").body
    answer = registry.stranger.send("GET", "/root.json", **{field.replace("-", "_"): value(len(whole))})
    assert answer.status in (200, 206, 416)
    assert len(answer.body) <= max(len(whole), 300)
