"""What a reader of a hub would stumble over, and whether a hub recovers from its kills."""

from __future__ import annotations

import hashlib
import json
import posixpath
from pathlib import Path
from typing import Any

from toy_hub import make_wheel, publish_wheel

from gem_hub.canonical import unpack
from gem_hub.records import Release
from gem_hub.storage import HubFiles
from gem_hub.store import Store
from gem_hub_client.root import parse_root


def faults(files: HubFiles) -> list[str]:
    """Return what a reader would stumble over: a file that is cut off, or one that names another that is not there."""
    try:
        _read_all(files)
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]
    return []


def _read_all(files: HubFiles) -> None:
    root = files.read("root.json")
    if root is not None:
        for file in parse_root(root, "root.json").files_after(0):
            packed = content_of(files, file.path)
            assert hashlib.sha256(packed).hexdigest() == file.sha256, file.path
            for line in unpack(packed).splitlines():
                name, version = json.loads(line)["name"], json.loads(line)["version"]
                page = json.loads(content_of(files, f"envs/{name}.json"))
                assert version in {release["version"] for release in page["releases"]}, line
    for path in found(files, "simple", "/index.json"):
        for file in json.loads(content_of(files, path))["files"]:
            if "://" in file["url"]:
                continue  # it lies on another index
            blob = posixpath.normpath(posixpath.join(posixpath.dirname(path), file["url"]))
            assert hashlib.sha256(content_of(files, blob)).hexdigest() == file["hashes"]["sha256"], file
            sidecar = content_of(files, f"{blob}.metadata")
            assert hashlib.sha256(sidecar).hexdigest() == file["core-metadata"]["sha256"], file
    for path in found(files, "simple", ".html"):
        assert content_of(files, path).endswith(b"</html>\n"), path
    for path in found(files, "releases", ".json"):
        assert Release.model_validate_json(content_of(files, path)).path == path


def content_of(files: HubFiles, path: str) -> bytes:
    content = files.read(path)
    assert content is not None, path
    return content


def found(files: HubFiles, folder: str, ending: str) -> list[str]:
    """Return the paths of a folder that end so, in the folders below it."""
    return [path for path in files.files(folder) if path.endswith(ending) and path.count("/") > 1]


def healed(store: Store, dist: Path) -> dict[str, Any]:
    """Publish once more and return what is still wrong then, and what is left over."""
    publish_wheel(store, make_wheel(dist, "toy-last", "1.0", ["last:T-v0"]))
    after_change = store.rebuild(check=True)
    store.rebuild()
    files = store.files
    pages = [json.loads(content_of(files, path)) for path in found(files, "simple", "/index.json")]
    return {
        "differing": after_change,
        "still": [*store.rebuild(check=True), *faults(files)],
        "records": len(found(files, "releases", ".json")),
        "listed": sum(len(page["files"]) for page in pages),
        "serials": sorted(store.truth.serials().values()),
        "unfinished": len(list(files.files(".gem-hub/unfinished"))),
    }
