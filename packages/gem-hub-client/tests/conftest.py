"""A hub to test the client with: a folder, written by code that is not the registry's, and a server for it."""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parent))


def hub_line(name: str, serial: int, **changes: Any) -> dict[str, Any]:
    """Return a line of the catalogue as a hub writes it."""
    line = {
        "name": name,
        "version": "0.1.0",
        "summary": f"Environments of {name}.",
        "tags": ["puzzle"],
        "environments": [
            {
                "id": f"{name.replace('-', '')}:FirstThing-v0",
                "description": "The first thing.",
                "tags": ["logic"],
                "requires": [],
                "turns": "multi",
                "variants": ["easy", "hard"],
            }
        ],
        "requires_python": ">=3.10",
        "requires_gem_core": ">=0.1,<0.2",
        "licence": "Apache-2.0",
        "published": "2026-11-21T08:00:00Z",
        "status": "active",
        "reason": "",
        "conformance": {"gem_core": "0.1.0", "holds": 57, "violated": 0, "not_tested": 0},
        "yanked": {},
        "sha256": hashlib.sha256(name.encode()).hexdigest(),
        "size": 1000 + serial,
        "serial": serial,
    }
    return promising({**line, **changes})


def promising(line: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a line with the digest of its package's page, which ``changes`` make another one."""
    return {**line, "page_sha256": hashlib.sha256(hub_page(line, **changes)).hexdigest()}


def hub_page(line: dict[str, Any], **changes: Any) -> bytes:
    """Return the page of a package whose only release is the one in its line; ``changes`` make it another one."""
    release = {
        **{key: line[key] for key in ("version", "sha256", "size", "published", "environments", "licence")},
        **{key: line[key] for key in ("requires_python", "requires_gem_core")},
        "filename": f"{line['name'].replace('-', '_')}-{line['version']}-py3-none-any.whl",
        "publisher": "somebody",
        "yanked": None,
    }
    page = {
        "format": 1,
        "name": line["name"],
        "status": line["status"],
        "reason": line["reason"],
        "owners": ["somebody"],
        "serial": line["serial"],
        "releases": [release],
        **changes,
    }
    return json.dumps(page).encode()


class HubFolder:
    """A hub in a folder. Each step is one call; ``root`` may be tampered with before ``write_root``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root: dict[str, Any] = {}
        self.line, self.promising = hub_line, promising

    def file(self, stem: str, content: bytes) -> dict[str, Any]:
        """Write a catalogue file of any bytes; return what root.json has to say of it."""
        digest = hashlib.sha256(content).hexdigest()
        path = f"catalog/{stem}-{digest[:12]}.jsonl.gz"
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        return {"url": path, "sha256": digest, "size": len(content)}

    def begin(self, lines: Iterable[dict[str, Any]], serial: int) -> None:
        """Start with a snapshot."""
        snapshot = {**self.file(f"snapshot-{serial}", self.packed(lines)), "serial": serial}
        self.root = {
            "format": 1,
            "serial": serial,
            "created": "2026-11-21T08:00:00Z",
            "snapshot": snapshot,
            "segments": [],
            "simple_api": "1.4",
        }
        self.write_root()

    def append(self, *lines: dict[str, Any], content: bytes | None = None) -> None:
        """Add a segment with these lines, one serial each; or with any content at all."""
        first, last = self.root["serial"] + 1, self.root["serial"] + max(1, len(lines))
        packed = self.packed(lines) if content is None else content
        self.root["segments"].append({**self.file(f"seg-{first}-{last}", packed), "from": first, "to": last})
        self.root["serial"] = last
        self.write_root()

    def write_root(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "root.json").write_text(json.dumps(self.root))

    def page(self, line: dict[str, Any], **changes: Any) -> None:
        """Write what the hub has to say about a package, which the catalogue promises unless there are changes."""
        target = self.folder / "envs" / f"{line['name']}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(hub_page(line, **changes))

    @staticmethod
    def packed(lines: Iterable[dict[str, Any]]) -> bytes:
        texts = [json.dumps(line) for line in sorted(lines, key=lambda line: str(line.get("name")))]
        return gzip.compress("".join(f"{text}\n" for text in texts).encode(), mtime=0)


class HubServer:
    """Serves a folder, remembers each request, and misbehaves where it is told to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.requests: list[tuple[str, dict[str, str], int]] = []
        """Path, headers and the answer's status of each request."""
        self.instead: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}
        """What to do instead of answering a path that ends so."""
        self.etags = True
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/"

    @property
    def statuses(self) -> list[int]:
        return [status for _, _, status in self.requests]

    def paths(self, part: str = "") -> list[str]:
        """Return the requested paths that contain a text."""
        return [path for path, _, _ in self.requests if part in path]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, hub: HubServer, *arguments: Any) -> None:
        self.hub = hub
        super().__init__(*arguments)

    def do_GET(self) -> None:
        for ending, action in self.hub.instead.items():
            if ending in self.path:
                self._note(0)
                action(self)
                return
        target = self.hub.folder / self.path.lstrip("/")
        if not target.is_file():
            self._note(404)
            self.send_error(404)
            return
        content = target.read_bytes()
        etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        modified = f"tag {etag}"  # any text will do: a client gives back what it was given
        same = etag if self.hub.etags else modified
        asked = self.headers.get("If-None-Match" if self.hub.etags else "If-Modified-Since")
        self._note(304 if asked == same else 200)
        self.send_response(304 if asked == same else 200)
        self.send_header("ETag" if self.hub.etags else "Last-Modified", same)
        if asked != same:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if asked != same:
            self.wfile.write(content)

    def _note(self, status: int) -> None:
        self.hub.requests.append((self.path, dict(self.headers), status))

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Caches and configuration in a folder of the test's own, and no hub from the environment."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("GEM_HUB", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def hub_folder(own_folders: Path) -> HubFolder:
    """A hub of three packages at serial 3, in a folder."""
    hub = HubFolder(own_folders / "hub")
    hub.begin([hub_line(name, serial) for serial, name in enumerate(("gem-envs-chess", "mazes", "word-games"), 1)], 3)
    return hub


@pytest.fixture
def hub_server(hub_folder: HubFolder, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """The same hub on a web server, and the only one that is configured."""
    server = HubServer(hub_folder.folder)
    monkeypatch.setenv("GEM_HUB", server.url)
    monkeypatch.setattr("gem_hub_client.catalogue_cache._HASTE", 60.0)  # on a busy machine it may answer late
    yield server
    server.close()
