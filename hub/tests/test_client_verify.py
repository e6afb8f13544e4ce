"""``gem hub verify``: a sound hub passes, and each kind of tampering is found and named."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from client_machine import served
from toy_hub import make_wheel, publish_wheel, synthetic_release

from gem_hub.events import Deprecate, Quarantine, Yank
from gem_hub.store import Store
from gem_hub_client.config import hub_at
from gem_hub_client.errors import HubError
from gem_hub_client.verify import verify

MakeWheel = Callable[..., Path]
SIMPLE_JSON = "application/vnd.pypi.simple.v1+json"


@pytest.fixture
def hub(store: Store, wheel: MakeWheel) -> Path:
    """A hub with everything: hosted and linked packages, a yank, a deprecation and a quarantine."""
    publish_wheel(store, wheel())
    publish_wheel(store, wheel(version="0.2.0", metadata=("Requires-Dist: gem-core<0.2,>=0.1",)))
    publish_wheel(store, wheel("bad-envs", ids=("bad:Thing-v0",)))
    publish_wheel(store, wheel("old-envs", ids=("old:Thing-v0",)))
    linked, metadata = synthetic_release("linked-envs", "1.0", ("linked:Thing-v0",))
    store.publish(linked, None, metadata)
    store.add_event(Yank(name="toy-envs", by="someone", version="0.1.0", reason='loses "rewards" & <more>'))
    store.add_event(Yank(name="old-envs", by="someone", version="0.1.0", reason="too old"))
    store.add_event(Deprecate(name="linked-envs", by="someone", reason="use toy-envs"))
    store.add_event(Quarantine(name="bad-envs", by="someone", reason="steals keys"))
    return store.folder


def problems(address: Path | str) -> list[str]:
    return verify(hub_at(str(address))).problems


def test_a_sound_folder_passes(hub: Path) -> None:
    """What the registry has derived has no problems, in a folder, and with every file counted."""
    found = verify(hub_at(str(hub)))
    assert found.problems == []
    assert found.notes == []
    assert (found.packages, found.serial) == (4, 9)


def test_a_sound_web_server_passes(hub: Path) -> None:
    """Neither has the same hub behind a plain web server, which sends JSON under a type that is worth a word."""
    with served(hub) as url:
        found = verify(hub_at(url))
    assert found.problems == []
    assert len(found.notes) == 1
    assert "application/json" in found.notes[0]


def test_right_types_need_no_word(hub: Path) -> None:
    """A server with the right types gets no note."""
    with served(hub, {"index.json": SIMPLE_JSON}) as url:
        found = verify(hub_at(url))
    assert (found.problems, found.notes) == ([], [])


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ({"simple/": "text/html"}, "cannot be read as installers read it"),
        ({"simple/": "application/json"}, "is sent as 'application/json', which installers refuse"),
        ({"simple/": "application/octet-stream"}, "which installers refuse"),
    ],
)
def test_json_under_a_wrong_type_is_found(hub: Path, types: dict[str, str], message: str) -> None:
    """JSON that leaves as HTML means silently "no versions" to installers; under other types they refuse it."""
    # The server sends index.html for a folder; here it holds what index.json holds.
    page = hub / "simple" / "toy-envs"
    shutil.copy(page / "index.json", page / "index.html")
    with served(hub, {"index.html": types["simple/"]}) as url:
        found = problems(url)
    assert any("simple/toy-envs/: " in text and message in text for text in found)


def test_a_page_that_installers_cannot_get_is_found(hub: Path) -> None:
    """A server may have both files of the folder and no answer for the folder itself."""
    with served(hub, missing=("/simple/toy-envs/",)) as url:
        found = problems(url)
    assert len(found) == 1
    assert "simple/toy-envs/: the server answers 404 Not Found; installers get no answer" in found[0]


def test_the_snapshot_inside_the_client_passes() -> None:
    """The official index that ships with the client is in order; it has no simple pages."""
    assert problems("official") == []


def the_only(hub: Path, pattern: str) -> Path:
    (path,) = hub.glob(pattern)
    return path


def change(hub: Path, pattern: str, before: str, after: str) -> str:
    """Replace text in a file; return its path in the hub."""
    path = the_only(hub, pattern)
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")
    return path.relative_to(hub).as_posix()


def change_json(hub: Path, pattern: str, edit: Callable[[Any], None]) -> str:
    """Edit a JSON file; return its path in the hub."""
    path = the_only(hub, pattern)
    document = json.loads(path.read_text(encoding="utf-8"))
    edit(document)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path.relative_to(hub).as_posix()


def swap_wheel(hub: Path) -> str:
    path = the_only(hub, "files/*/*/toy_envs-0.2.0-*.whl")
    shutil.copy(make_wheel(hub.parent / "other", version="0.2.0", readme="Another readme."), path)
    return path.relative_to(hub).as_posix()


def grow_wheel(hub: Path) -> str:
    path = the_only(hub, "files/*/*/toy_envs-0.2.0-*.whl")
    path.write_bytes(path.read_bytes() + b"\0")
    return path.relative_to(hub).as_posix()


def lose_wheel(hub: Path) -> str:
    path = the_only(hub, "files/*/*/toy_envs-0.2.0-*.whl")
    path.unlink()
    return path.relative_to(hub).as_posix()


def false_metadata(hub: Path) -> str:
    """Change a sidecar, and every digest of it."""
    path = the_only(hub, "files/*/*/toy_envs-0.2.0-*.metadata")
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_bytes(path.read_bytes().replace(b"A readme", b"B readme"))
    after = hashlib.sha256(path.read_bytes()).hexdigest()
    for page in ("envs/toy-envs.json", "simple/toy-envs/index.html", "simple/toy-envs/index.json"):
        change(hub, page, before, after)
    return path.relative_to(hub).as_posix()


def spoil_snapshot(hub: Path) -> str:
    root = json.loads((hub / "root.json").read_text(encoding="utf-8"))
    path = hub / (root["segments"] or [root["snapshot"]])[-1]["url"]
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    return path.relative_to(hub).as_posix()


def rewrite_snapshot(hub: Path) -> str:
    """Change a line of the catalogue, and root.json so that it agrees."""
    document = json.loads((hub / "root.json").read_text(encoding="utf-8"))
    for file in [document["snapshot"], *document["segments"]]:
        path = hub / file["url"]
        lines = gzip.decompress(path.read_bytes())
        changed = gzip.compress(lines.replace(b'"status":"deprecated"', b'"status":"active"'), mtime=0)
        path.write_bytes(changed)
        file.update(sha256=hashlib.sha256(changed).hexdigest(), size=len(changed))
    (hub / "root.json").write_text(json.dumps(document), encoding="utf-8")
    return "envs/linked-envs.json"


def lead_out(hub: Path) -> str:
    def edit(page: Any) -> None:
        page["releases"][0]["url"] = "../../../../etc/passwd"

    return change_json(hub, "envs/toy-envs.json", edit)


def link_out(hub: Path) -> str:
    path = the_only(hub, "files/*/*/toy_envs-0.2.0-*.whl")
    elsewhere = hub.parent / "elsewhere.whl"
    path.replace(elsewhere)
    path.symlink_to(elsewhere)
    return path.relative_to(hub).as_posix()


def list_quarantined(hub: Path) -> str:
    """Put a quarantined package's file back onto the page that installers read."""
    page = the_only(hub, "simple/bad-envs/index.html")
    wheel = the_only(hub, ".gem-hub/quarantined/files/*/*/bad_envs-*.whl").relative_to(hub).as_posix()
    link = f'<a href="../../{wheel}#sha256={wheel.split("/")[2]}">{wheel.rpartition("/")[2]}</a>'
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", f"{link}</body>"), encoding="utf-8")
    return "simple/bad-envs/index.html"


def forget_requirement(hub: Path) -> str:
    """Leave a requirement out of a page, so that clients would not resolve it in the hub."""
    change_json(hub, "envs/toy-envs.json", lambda page: page["releases"][0].update(requires_dist=[]))
    return the_only(hub, "files/*/*/toy_envs-0.2.0-*.metadata").relative_to(hub).as_posix()


def plant_file(hub: Path) -> str:
    path = hub / "files" / "ab" / "evil-1.0-py3-none-any.whl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"evil")
    return path.relative_to(hub).as_posix()


TAMPERING: dict[str, Callable[[Path], str]] = {
    "a changed wheel": swap_wheel,
    "a longer wheel": grow_wheel,
    "a lost wheel": lose_wheel,
    "changed metadata": lambda hub: change(hub, "files/*/*/toy_envs-0.2.0-*.metadata", "A readme", "B readme"),
    "metadata that is not the wheel's": false_metadata,
    "a damaged catalogue file": spoil_snapshot,
    "a catalogue that contradicts a page": rewrite_snapshot,
    "a lost page": lambda hub: _remove(hub, "envs/toy-envs.json"),
    "an old page": lambda hub: change_json(hub, "envs/toy-envs.json", lambda page: page.update(serial=1)),
    "a page without a yank": lambda hub: change_json(
        hub, "envs/toy-envs.json", lambda page: page["releases"][1].update(yanked=None)
    ),
    "a page of wrong types": lambda hub: change_json(hub, "envs/toy-envs.json", lambda page: page.update(releases=3)),
    "a page with half a release": lambda hub: change_json(
        hub, "envs/toy-envs.json", lambda page: page["releases"][0].pop("metadata_sha256")
    ),
    "an address out of the hub": lead_out,
    "a link out of the hub": link_out,
    "a wrong digest in HTML": lambda hub: change(hub, "simple/toy-envs/index.html", "#sha256=", "#sha256=0"),
    "a yank missing in HTML": lambda hub: change(hub, "simple/toy-envs/index.html", "data-yanked", "data-other"),
    "a base in HTML": lambda hub: change(hub, "simple/toy-envs/index.html", "<head>", '<head><base href="//evil">'),
    "a wrong size in JSON": lambda hub: change_json(
        hub, "simple/toy-envs/index.json", lambda page: page["files"][0].update(size=1)
    ),
    "no digest in JSON": lambda hub: change_json(
        hub, "simple/toy-envs/index.json", lambda page: page["files"][0].update(hashes={})
    ),
    "a file missing in JSON": lambda hub: change_json(
        hub, "simple/toy-envs/index.json", lambda page: page["files"].pop()
    ),
    "JSON in the place of HTML": lambda hub: _copy(hub, "simple/toy-envs/index.json", "simple/toy-envs/index.html"),
    "a quarantined file listed": list_quarantined,
    "a quarantine missing": lambda hub: change_json(
        hub, "simple/bad-envs/index.json", lambda page: page["project-status"].update(status="active")
    ),
    "a forgotten requirement": forget_requirement,
    "a planted file": plant_file,
    "a planted page": lambda hub: _copy(hub, "simple/toy-envs/index.html", "simple/evil-envs/index.html"),
    "a package missing in the list": lambda hub: change(hub, "simple/index.html", 'toy-envs/">toy-envs', 'x/">x'),
}


def _remove(hub: Path, pattern: str) -> str:
    path = the_only(hub, pattern)
    path.unlink()
    return path.relative_to(hub).as_posix()


def _copy(hub: Path, source: str, target: str) -> str:
    (hub / target).parent.mkdir(exist_ok=True)
    shutil.copy(hub / source, hub / target)
    return target


@pytest.mark.sampled(12)
@pytest.mark.parametrize("kind", TAMPERING)
def test_tampering_is_found_and_named(hub: Path, kind: str) -> None:
    """Whatever is changed in a hub is found, and the message names the file."""
    path = TAMPERING[kind](hub)
    found = problems(hub)
    assert found
    assert any(f"{hub}/{path}" in text for text in found), found


ONLY_ON_DISK = {"a link out of the hub", "a planted file", "a planted page"}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("kind", sorted(TAMPERING.keys() - ONLY_ON_DISK))
def test_tampering_is_found_through_a_server(hub: Path, kind: str) -> None:
    """The same through a web server, where only what something leads to can be seen."""
    path = TAMPERING[kind](hub)
    with served(hub) as url:
        found = problems(url)
    assert any(f"{url}{path}" in text for text in found), found


def test_what_is_no_hub_is_refused(tmp_path: Path) -> None:
    """A folder without a root.json is no hub."""
    with pytest.raises(HubError, match=r"root\.json"):
        problems(tmp_path)


def test_a_hub_that_changes_meanwhile_is_told(hub: Path, store: Store, wheel: MakeWheel) -> None:
    """Contradictions of a hub that is being written to are not reported as tampering."""
    new = wheel(version="0.3.0")

    def publish(done: int, total: int, name: str) -> None:
        publish_wheel(store, new)

    with pytest.raises(HubError, match="changed while it was read"):
        verify(hub_at(str(hub)), publish)
