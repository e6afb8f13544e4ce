"""A registry in a thread of the test, and a client that sends what it is told, byte for byte."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toy_hub import make_wheel

from gem_hub.registry.app import registry_app
from gem_hub.registry.server import listen, registry_server
from gem_hub.registry.services import RegistryServices
from gem_hub.registry.settings import Quotas, RegistrySettings
from gem_hub.registry.tokens import SCOPES
from gem_hub.storage import HubFiles
from gem_hub.store import Store

BOUNDARY = "a-boundary-of-the-tests"
METADATA = ("Requires-Dist: gem-core<0.2,>=0.1", "Requires-Python: >=3.10", "License-Expression: MIT")
GENEROUS = Quotas(
    requests_per_minute=10**6,
    failed_logins_per_hour=10**6,
    accounts_per_day=10**6,
    uploads_per_day=10**6,
    new_packages_per_day=10**6,
    organisations_per_day=10**6,
    reports_per_day=10**6,
)


class Answer:
    """An answer, read to its end."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.reason = response.reason
        self.body = response.read()
        self.fields = response.headers

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


class RegistryClient:
    """Sends requests to a registry on this machine, each on a connection of its own."""

    def __init__(self, port: int, token: str = "") -> None:
        self.port = port
        self.token = token

    def send(self, method: str, path: str, body: Any = None, **fields: str) -> Answer:
        """Send a request; ``body`` is bytes, an iterator of bytes, or a value that is sent as JSON."""
        headers = {name.replace("_", "-"): value for name, value in fields.items()}
        if self.token:
            headers.setdefault("Authorization", f"Bearer {self.token}")
        if isinstance(body, dict | list):
            headers.setdefault("Content-Type", "application/json")
            body = json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        try:
            connection.request(method, path, body, headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def upload(self, wheel: Path, **fields: str | None) -> Answer:
        """Upload a wheel as twine does; ``fields`` replace fields of the form, and None leaves one out."""
        body, content_type = upload_form(wheel, fields)
        secret = base64.b64encode(f"__token__:{self.token}".encode()).decode()
        return self.send("POST", "/upload/", body, Content_Type=content_type, Authorization=f"Basic {secret}")


def upload_form(wheel: Path, changes: Mapping[str, str | None] | None = None) -> tuple[bytes, str]:
    """Return the form of an upload and its media type."""
    content = wheel.read_bytes()
    name, version, *_ = wheel.name.split("-")
    fields: dict[str, str | None] = {
        "_action": "file_upload",
        "protocol_version": "1",
        "filetype": "bdist_wheel",
        "pyversion": "py3",
        "name": name.replace("_", "-"),
        "version": version,
        "sha256_digest": hashlib.sha256(content).hexdigest(),
        "blake2_256_digest": hashlib.blake2b(content, digest_size=32).hexdigest(),
        "md5_digest": hashlib.md5(content).hexdigest(),
        **(changes or {}),
    }
    sent = ((":action" if key == "_action" else key, value) for key, value in fields.items() if value is not None)
    return multipart(sent, [("content", wheel.name, content)])


def multipart(
    fields: Iterable[tuple[str, str]], files: Iterable[tuple[str, str, bytes]] = (), boundary: str = BOUNDARY
) -> tuple[bytes, str]:
    """Return a multipart form and its media type."""
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields
    ]
    parts += [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{filename}"\r\n\r\n'.encode()
        + content
        + b"\r\n"
        for name, filename, content in files
    ]
    return b"".join(parts) + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def toy_wheel(folder: Path, name: str, version: str = "0.1.0", **kwargs: Any) -> Path:
    """Write a wheel that the gate admits."""
    ids = kwargs.pop("ids", [f"{name}:Thing-v0"])
    return make_wheel(folder, name, version, ids, metadata=METADATA, **kwargs)


class RunningRegistry:
    """A registry that serves, and its parts."""

    def __init__(self, services: RegistryServices, port: int) -> None:
        self.services = services
        self.port = port
        self.answers: list[tuple[str, str, int]] = []

    def account(self, name: str, **token: Any) -> RegistryClient:
        """Return a client of an account, which is created if necessary."""
        row = self.services.accounts.find(name)
        number = row.id if row is not None else self.services.accounts.create(name)
        text, _ = self.services.tokens.mint(number, "tests", **{"scopes": SCOPES, **token})
        return RegistryClient(self.port, text)

    @property
    def stranger(self) -> RegistryClient:
        """A client without a token."""
        return RegistryClient(self.port)


@contextmanager
def running_registry(
    hub: Path | HubFiles, settings: RegistrySettings | None = None, database: str = "", **kwargs: Any
) -> Iterator[RunningRegistry]:
    """Serve a registry for the duration of a block; without settings, with generous quotas and without the kit."""
    store = Store(hub)
    if not store.files.exists("root.json"):
        store.rebuild()
    settings = settings or RegistrySettings(quotas=GENEROUS, conformance=False, registration="open")
    if database:
        settings = settings.model_copy(update={"database": database})
    services = RegistryServices(store, settings, **kwargs)
    listener = listen("127.0.0.1", 0)
    running = RunningRegistry(services, listener.getsockname()[1])
    app = registry_app(services, lambda *answer: running.answers.append(answer))
    server = registry_server(
        app,
        settings.connections,
        settings.trusted_proxies,
        connections_per_address=settings.connections_per_address,
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield running
    finally:
        server.should_exit = True
        thread.join()
        services.close()


def join(registry: RunningRegistry, organisation: str, account: str, role: str, by: str) -> None:
    """Make an account a member in the way that members take."""
    path = f"/api/v1/organisations/{organisation}"
    client = registry.account(account)
    assert registry.account(by).send("PUT", f"{path}/members/{account}", {"role": role}).json["outcome"] == "invited"
    assert client.send("POST", f"{path}/membership").json["role"] == role
