"""Webhooks: who may have one, what is sent where, and how often."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from manual_clock import ManualClock
from registry_server import GENEROUS, RunningRegistry, running_registry
from toy_hub import make_wheel, publish_wheel

from gem_hub.errors import HubRefusal
from gem_hub.events import Deprecate, Lift, Quarantine, Unyank, Yank
from gem_hub.policy import FILE_NAME
from gem_hub.registry.settings import RegistrySettings
from gem_hub.registry.webhooks import delivery
from gem_hub.registry.webhooks.delivery import deliver, signature
from gem_hub.registry.webhooks.destinations import checked_url, is_allowed, resolve
from gem_hub.registry.webhooks.sender import ATTEMPTS, GIVEN_UP, WebhookSender, pause_after

BASE = "/api/v1/packages/toy-envs/webhooks"
URL = "https://ci.example/hook"


class Receiver:
    """Stands for the network: remembers what is sent, and refuses it while ``broken``."""

    def __init__(self) -> None:
        self.bodies: list[tuple[str, dict[str, Any]]] = []
        self.attempts: list[str] = []
        self.broken = False

    def __call__(self, url: str, secret: str, delivery: str, body: bytes, moment: int, extra: object) -> None:
        self.attempts.append(delivery)
        if self.broken:
            raise HubRefusal("answered 500")
        self.bodies.append((url, json.loads(body)))

    @property
    def kinds(self) -> list[tuple[str, str]]:
        return [(body["package"], body["kind"]) for _, body in self.bodies]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_800_000_000.0)


@pytest.fixture
def registry(tmp_path: Path, clock: ManualClock, new_database: Callable[[], str]) -> Iterator[RunningRegistry]:
    """A registry with the toy-envs and other-envs of ada, which bob has no part in; olivia operates it."""
    (tmp_path / "hub").mkdir()
    (tmp_path / "hub" / FILE_NAME).write_text(json.dumps({"operators": ["olivia"]}))
    settings = RegistrySettings(quotas=GENEROUS, conformance=False, registration="open")
    with running_registry(tmp_path / "hub", settings, new_database(), clock=clock) as running:
        for name in ("toy-envs", "other-envs"):
            ids = (f"{name}:Thing-v0",)
            publish_wheel(running.services.store, make_wheel(tmp_path / "dist", name, ids=ids), "ada")
        yield running


def drain(sender: WebhookSender) -> None:
    """Let the sender work until it has nothing to do, which is soon."""
    assert any(sender.work_once() == 0 for _ in range(50))


def test_only_owners_and_operators_have_webhooks(registry: RunningRegistry) -> None:
    """The owner of a package has those of the package, an operator all, and the secret is shown once."""
    made = registry.account("ada").send("POST", BASE, {"url": URL})
    assert (made.status, made.json["secret"][:9]) == (201, "gem_hook_")
    own = f"{BASE}/{made.json['id']}"
    expected = {"bob": 403, "": 401}
    for who, status in expected.items():
        client = registry.account(who) if who else registry.stranger
        for method, path in (("GET", BASE), ("POST", BASE), ("DELETE", own), ("GET", "/api/v1/webhooks")):
            assert client.send(method, path, {"url": URL}).status == status, (who, method, path)
    ada, olivia = registry.account("ada"), registry.account("olivia")
    assert ada.send("GET", "/api/v1/webhooks").status == 403
    assert made.json["secret"] not in ada.send("GET", BASE).text
    assert olivia.send("POST", "/api/v1/webhooks", {"url": URL}).status == 201
    assert ada.send("DELETE", f"/api/v1/packages/other-envs/webhooks/{made.json['id']}").status == 404
    assert olivia.send("DELETE", f"/api/v1/webhooks/{made.json['id']}").status == 404
    assert ada.send("DELETE", own).status == 200
    assert ada.send("GET", BASE).json["webhooks"] == []
    assert registry.account("ada", packages=["other-envs"]).send("GET", BASE).status == 403


def test_what_happens_is_sent_in_order(registry: RunningRegistry, tmp_path: Path, clock: ManualClock) -> None:
    """Publications, yanks and quarantines from now on, those of the package or of all; nothing twice."""
    registry.account("ada").send("POST", BASE, {"url": "https://own.example/"})
    registry.account("olivia").send("POST", "/api/v1/webhooks", {"url": "https://all.example/"})
    store, receiver = registry.services.store, Receiver()
    sender = WebhookSender(registry.services, send=receiver)
    drain(sender)
    assert receiver.bodies == []
    publish_wheel(store, make_wheel(tmp_path / "dist", version="0.2.0", ids=("toy-envs:Thing-v0",)), "ada")
    common = {"name": "toy-envs", "by": "ada"}
    store.add_event(Yank(version="0.1.0", reason="bad", **common))
    store.add_event(Deprecate(reason="old", **common))
    store.add_event(Yank(name="other-envs", by="ada", version="0.1.0", reason="bad"))
    store.add_event(Unyank(version="0.1.0", **common))
    store.add_event(Quarantine(reason="evil", **common))
    store.add_event(Lift(reason="fine", **common))
    drain(sender)
    kinds = ["publication", "yank", "unyank", "quarantine", "release-from-quarantine"]
    own = [body for url, body in receiver.bodies if url == "https://own.example/"]
    assert [(one["package"], one["kind"]) for one in own] == [("toy-envs", kind) for kind in kinds]
    everything = [(body["package"], body["kind"]) for url, body in receiver.bodies if url == "https://all.example/"]
    assert sorted(everything) == sorted([*(("toy-envs", kind) for kind in kinds), ("other-envs", "yank")])
    serials = [body["serial"] for url, body in receiver.bodies if url == "https://all.example/"]
    assert serials == sorted(serials)
    assert own[1]["reason"] == "bad"
    assert own[0]["version"] == "0.2.0"
    drain(WebhookSender(registry.services, send=receiver))
    assert len(receiver.bodies) == 11, "a new process sends nothing again"


def test_attempts_are_bounded(registry: RunningRegistry, clock: ManualClock) -> None:
    """Each message is tried eight times with longer and longer pauses; after three of them, none any more."""
    registry.account("ada").send("POST", BASE, {"url": URL})
    store, receiver = registry.services.store, Receiver()
    receiver.broken = True
    sender = WebhookSender(registry.services, send=receiver)
    for number in range(GIVEN_UP + 1):
        store.add_event(Yank(name="toy-envs", by="ada", version="0.1.0", reason=f"reason {number}"))
    began = clock.now
    for attempt in range(1, ATTEMPTS):
        assert sender.work_once() == 1
        clock.now += pause_after(attempt) - 1
        assert sender.work_once() == 0, "not before its time"
        clock.now += 1
    assert clock.now - began < 2.2 * 3600
    for _ in range(ATTEMPTS * (GIVEN_UP + 1)):
        sender.work_once()
        clock.now += 10_000
    assert len(receiver.attempts) == ATTEMPTS * GIVEN_UP
    assert len(set(receiver.attempts)) == GIVEN_UP
    (told,) = registry.account("ada").send("GET", BASE).json["webhooks"]
    assert (told["enabled"], told["message"]) == (False, "answered 500")


@pytest.mark.nightly(reason="eight attempts more")
def test_a_message_that_is_taken_in_the_end_changes_nothing(registry: RunningRegistry, clock: ManualClock) -> None:
    """The last attempt is as good as the first one: it is the same message, and the next one follows."""
    registry.account("ada").send("POST", BASE, {"url": URL})
    receiver = Receiver()
    sender = WebhookSender(registry.services, send=receiver)
    receiver.broken = True
    for number in range(2):
        registry.services.store.add_event(Yank(name="toy-envs", by="ada", version="0.1.0", reason=f"r{number}"))
    for _ in range(ATTEMPTS - 1):
        sender.work_once()
        clock.now += 10_000
    receiver.broken = False
    drain(sender)
    assert [body["reason"] for _, body in receiver.bodies] == ["r0", "r1"]
    assert len(set(receiver.attempts)) == 2


PRIVATE = (
    "127.0.0.1", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
    "224.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "240.0.0.1", "::1", "::", "fe80::1", "fc00::1",
    "fd00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1",
    "2002:7f00:1::", "2001::1", "2001:db8::1", "3fff::1", "100::1", "localhost", "", "0x7f.1", "127.1", "fe80::1%eth0",
)  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_nothing_is_sent_to_private_addresses(address: str) -> None:
    """Loopback, private, link-local, shared, multicast, reserved and translated addresses are refused."""
    assert not is_allowed(address)
    with pytest.raises(HubRefusal, match="nothing is sent to"):
        resolve(URL, lookup=lambda *_, **__: [(0, 0, 0, "", (address, 443))])


@pytest.mark.parametrize("address", ["8.8.8.8", "172.32.0.1", "100.128.0.1", "2600::1", "2a00:1450::1"])
def test_public_addresses_are_allowed(address: str) -> None:
    """The neighbours of private networks are public."""
    assert is_allowed(address)
    assert resolve(URL, lookup=lambda *_, **__: [(0, 0, 0, "", (address, 443))]) == [(address, 443)]


def test_one_private_address_among_public_ones_is_enough() -> None:
    """A host with several addresses is refused for the worst of them, and so is one with none."""
    mixed = [(0, 0, 0, "", ("8.8.8.8", 443)), (0, 0, 0, "", ("10.0.0.1", 443))]
    for found in (mixed, mixed[::-1], []):
        with pytest.raises(HubRefusal, match="nothing is sent to"):
            resolve(URL, lookup=lambda *_, found=found, **__: found)


def test_the_operators_networks_are_allowed() -> None:
    """Exactly the named network is, and its neighbour is not."""
    assert is_allowed("10.1.255.255", ["10.1.0.0/16"])
    assert not is_allowed("10.2.0.0", ["10.1.0.0/16"])
    assert not is_allowed("::1", ["10.1.0.0/16"])
    with pytest.raises(ValueError, match="webhook_networks"):
        RegistrySettings(webhook_networks=["10.1.0.1/16"])


@pytest.mark.parametrize(
    "url",
    [
        "http://ci.example/", "ftp://ci.example/", "https://", "https:///x", "https://user@ci.example/", "file:///etc/passwd",
        "https://ci.example/#x", "https://ci.example:0/", "https://ci.example:99999/", "https://ci.example/a b",
        "https://ci.exämple/", "https://ci.example/\r\nX: y", "https://[::1", "x" * 600,
    ],
)  # fmt: skip
def test_addresses_of_another_form_are_refused(url: str) -> None:
    """A webhook has an https address without a user name, fragment, blanks or control characters."""
    with pytest.raises(HubRefusal):
        checked_url(url)


@given(st.binary(max_size=50), st.integers(0, 2**40))
def test_the_signature_is_an_hmac_over_time_and_body(body: bytes, moment: int) -> None:
    """Who knows the secret computes the same; another body, time or secret gives another one."""
    made = signature("secret", moment, body)
    expected = hmac.new(b"secret", str(moment).encode() + b"." + body, hashlib.sha256).hexdigest()
    assert made == f"t={moment},v1={expected}"
    for other in (signature("secret", moment, body + b"x"), signature("other", moment, body)):
        assert other.partition("v1=")[2] != expected
    assert signature("secret", moment + 1, body).partition("v1=")[2] != expected


class Handler(BaseHTTPRequestHandler):
    """Answers as its class is told, and keeps what it got."""

    status: ClassVar[int] = 200
    got: ClassVar[list[tuple[str, dict[str, str], bytes]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.append((self.path, dict(self.headers), body))
        self.send_response(self.status)
        self.send_header("Location", "http://127.0.0.1:1/")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def served(status: int) -> Iterator[str]:
    Handler.status, Handler.got = status, []
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_address[1]}/hook?x=1"
        server.shutdown()


LOCAL = ["127.0.0.0/8", "::1/128"]


def test_a_delivery_reaches_a_server(tmp_path: Path) -> None:
    """The server gets path, body, signature and the host's name, and without the operator's leave nothing at all."""
    with served(204) as url:
        with pytest.raises(HubRefusal, match="nothing is sent to"):
            deliver(url, "secret", "1-2", b"{}", 5)
        assert Handler.got == []
        deliver(url, "secret", "1-2", b"{}", 5, LOCAL)
    ((path, fields, body),) = Handler.got
    assert (path, body, fields["Gem-Hub-Delivery"]) == ("/hook?x=1", b"{}", "1-2")
    assert fields["Gem-Hub-Signature"] == signature("secret", 5, b"{}")
    assert fields["Host"].startswith("localhost:")


def test_each_address_of_a_host_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where localhost is ::1 first, and the server listens at 127.0.0.1 alone; if none answers, the last says so."""
    with served(204) as url:
        port = int(url.rpartition(":")[2].partition("/")[0])
        monkeypatch.setattr(delivery, "resolve", lambda *_: [("127.0.0.2", port), ("127.0.0.1", port)])
        deliver(url, "secret", "1-2", b"{}", 5, LOCAL)
    assert len(Handler.got) == 1
    with pytest.raises(HubRefusal, match="ConnectionRefusedError"):
        deliver(url, "secret", "1-2", b"{}", 5, LOCAL)


@pytest.mark.parametrize(
    "status",
    [
        302,
        500,
        *(
            pytest.param(code, marks=pytest.mark.nightly(reason="other statuses"))
            for code in (301, 307, 308, 400, 401, 503)
        ),
    ],
)
def test_only_success_counts_and_no_redirect_is_followed(status: int) -> None:
    """Every other status is a failed attempt, and the server is asked once."""
    with served(status) as url, pytest.raises(HubRefusal, match=f"answered {status}"):
        deliver(url, "secret", "1-2", b"{}", 5, LOCAL)
    assert len(Handler.got) == 1


def test_a_server_that_never_answers_does_not_hold_the_registry() -> None:
    """The time limit is for the whole delivery, whatever the server sends in the meantime."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip() -> None:
            connection, _ = listener.accept()
            with connection:
                try:
                    for _ in range(1000):
                        connection.sendall(b"H")
                        threading.Event().wait(0.02)
                except OSError:
                    return

        threading.Thread(target=drip, daemon=True).start()
        url = f"http://localhost:{listener.getsockname()[1]}/"
        with pytest.raises(HubRefusal):
            deliver(url, "secret", "1-2", b"{}", 5, LOCAL, seconds=0.2)
