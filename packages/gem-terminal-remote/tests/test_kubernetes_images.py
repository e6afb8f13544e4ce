"""Images on their way to a cluster: built by a real Docker engine and pushed to a registry of ours."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import pytest
from docker.errors import APIError

from gem_terminal.engines import Engine
from gem_terminal.engines.base import ProgressStage
from gem_terminal.engines.contexts import digest_of
from gem_terminal.engines.docker import DockerEngine
from gem_terminal.errors import EngineError
from gem_terminal.task import Image
from gem_terminal_remote.kubernetes import KubernetesEngine

pytestmark = pytest.mark.xdist_group("engine docker")


class Registry(ThreadingHTTPServer):
    """As much of the registry's protocol as pushing and looking need (OCI Distribution Specification 1.1)."""

    daemon_threads = True

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[str, tuple[str, bytes]] = {}
        self.uploads: dict[str, bytes] = {}
        self.refuses = False
        super().__init__(("127.0.0.1", 0), _RegistryHandler)

    @property
    def name(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class _RegistryHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Registry

    def log_message(self, *arguments: Any) -> None:
        """Tests print nothing."""

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/v2/":
            self._send(200)
        elif (blob := re.fullmatch(r"/v2/.+/blobs/(sha256:\w+)", path)) and blob[1] in self.server.blobs:
            self._send(200, self.server.blobs[blob[1]])
        elif (found := re.fullmatch(r"/v2/.+/manifests/(\S+)", path)) and found[1] in self.server.manifests:
            kind, data = self.server.manifests[found[1]]
            self._send(200, data, **{"Content-Type": kind, "Docker-Content-Digest": _digest(data)})
        else:
            self._send(404, b'{"errors": [{"code": "MANIFEST_UNKNOWN"}]}')

    do_HEAD = do_GET

    def do_POST(self) -> None:
        if self.server.refuses:
            self._send(403, b'{"errors": [{"code": "DENIED", "message": "a planted refusal"}]}')
            return
        number = str(len(self.server.uploads))
        self.server.uploads[number] = b""
        self._send(202, Location=f"{urlsplit(self.path).path}{number}")

    def do_PATCH(self) -> None:
        number = urlsplit(self.path).path.rpartition("/")[2]
        self.server.uploads[number] += self._body()
        self._send(202, Location=self.path, Range=f"0-{len(self.server.uploads[number]) - 1}")

    def do_PUT(self) -> None:
        url = urlsplit(self.path)
        if "/manifests/" in url.path:
            data = self._body()
            for key in (url.path.rpartition("/")[2], _digest(data)):
                self.server.manifests[key] = (self.headers["Content-Type"], data)
            self._send(201, **{"Docker-Content-Digest": _digest(data)})
        else:
            (digest,) = parse_qs(url.query)["digest"]
            data = self.server.uploads[url.path.rpartition("/")[2]] + self._body()
            assert _digest(data) == digest
            self.server.blobs[digest] = data
            self._send(201, **{"Docker-Content-Digest": digest})

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _send(self, code: int, data: bytes = b"", **headers: str) -> None:
        self.send_response(code)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


@pytest.fixture
def registry() -> Iterator[Registry]:
    """An empty registry on this machine, which a Docker engine trusts without a certificate."""
    with Registry() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def image(tmp_path: Path) -> Image:
    """A folder whose image is a few bytes, and unlike any other."""
    (tmp_path / "Dockerfile").write_text("FROM scratch\nCOPY word /word\n")
    (tmp_path / "word").write_text(uuid4().hex)
    return Image(folder=tmp_path)


@pytest.fixture
def builder(working_engine: Callable[[str], Engine], registry: Registry, image: Image) -> Iterator[DockerEngine]:
    """A real Docker engine, from which the image of this test is removed again."""
    made = working_engine("docker")
    assert isinstance(made, DockerEngine)
    yield made
    for repository in ("gem-terminal", f"{registry.name}/gem-terminal"):
        with suppress(APIError, OSError):  # an engine that others keep busy may take longer than its client waits
            made.client.images.remove(f"{repository}:{digest_of(image)}")


def test_a_folder_is_built_and_pushed_once(builder: DockerEngine, registry: Registry, image: Image) -> None:
    """Its name in the registry follows from its content; what is there is neither built nor pushed again."""
    stages: list[ProgressStage] = []
    reference = KubernetesEngine(registry=registry.name, builder=builder).prepare(image, stages.append)
    tag = reference.removeprefix(f"{registry.name}/gem-terminal:")
    assert tag in registry.manifests
    assert any(stage.text == f"pushing {reference}" for stage in stages)
    uploads = len(registry.uploads)
    stages.clear()
    again = KubernetesEngine(registry=f"{registry.name}/", builder=builder)
    assert (again.prepare(image, stages.append), again.prepare(image, stages.append)) == (reference, reference)
    assert (len(registry.uploads), stages) == (uploads, [])


def test_a_registry_that_refuses_says_why(builder: DockerEngine, registry: Registry, image: Image) -> None:
    """The sentence of the registry is in the message."""
    registry.refuses = True
    with pytest.raises(EngineError, match="cannot be pushed"):
        KubernetesEngine(registry=registry.name, builder=builder).prepare(image)


def test_a_prebuilt_image_is_pulled_by_its_digest_and_the_dockerfile_is_not_built(
    builder: DockerEngine, registry: Registry, image: Image
) -> None:
    """The digest of the registry names exactly one image, which then comes before the folder."""
    tagged = KubernetesEngine(registry=registry.name, builder=builder).prepare(image)
    name, _, tag = tagged.rpartition(":")
    pinned = f"{name}@{_digest(registry.manifests[tag][1])}"
    for reference in (tagged, f"gem-terminal:{tag}"):
        builder.client.images.remove(reference)
    stages: list[ProgressStage] = []
    assert image.folder is not None
    assert builder.prepare(Image(folder=image.folder, name=pinned), stages.append) == pinned
    assert stages[0].text == f"fetching {pinned}"
    assert not any(stage.total and "COPY" in stage.text for stage in stages)
    assert builder.prepare(Image(folder=image.folder, name=pinned)) == pinned
    builder.client.images.remove(pinned)
