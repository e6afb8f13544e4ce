"""Engines of other machines: what a worker takes and refuses, and what becomes of containers when something dies."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta, timezone
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from gem.errors import ArgumentError
from gem_terminal import TerminalEnv
from gem_terminal.engines import engine_by_name
from gem_terminal.engines.cgroups import groups
from gem_terminal.engines.namespace import NamespaceEngine
from gem_terminal.errors import EngineError, EngineFullError
from gem_terminal.task import Image, ResourceLimits, SideCar
from gem_terminal_remote.fleet import FleetEngine
from gem_terminal_remote.workers import EngineWorker, WorkerEngine
from gem_terminal_remote.workers.frames import LONGEST_MESSAGE, PATH, PROTOCOL, decode, encode

TOKENS = ("first-user-of-the-worker", "second-user-of-the-worker")
LIMITS = ResourceLimits(memory=128 << 20)
LONG = 120.0
"""Seconds that nothing takes."""


@pytest.fixture(scope="module")
def worker(cache: Path, new_engine: Callable[[], NamespaceEngine]) -> Iterator[EngineWorker]:
    """A worker in this process, with room for three containers."""
    made = EngineWorker(new_engine(), TOKENS, capacity=3, lease=LONG, scratch=cache / "scratch")
    made.port = made.start()  # type: ignore[attr-defined]
    yield made
    made.close()


@pytest.fixture
def address(worker: EngineWorker) -> str:
    """Where the worker is."""
    return f"ws://127.0.0.1:{worker.port}"  # type: ignore[attr-defined]


@pytest.fixture
def engine(address: str) -> Iterator[WorkerEngine]:
    """A client of the worker."""
    made = WorkerEngine(address, TOKENS[0])
    yield made
    made.close()


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for what another thread or process does."""
    deadline = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < deadline
        threading.Event().wait(0.01)


@contextmanager
def talk(address: str, token: str = TOKENS[0], session: str | None = None) -> Iterator[Callable[..., Any]]:
    """A client that says what it likes: the function sends a message, and returns the head of the next one."""
    headers = {"Authorization": f"Bearer {token}"}
    with connect(address + PATH, additional_headers=headers, compression=None, proxy=None) as connection:
        numbers = iter(range(1, 1000))

        def say(message: bytes | None = None, **head: Any) -> Any:
            if message is None and "op" in head:
                head["number"] = next(numbers)
            connection.send(encode(head) if message is None else message)
            return decode(connection.recv(LONG, decode=False))[0]

        say.greeted = say(protocol=PROTOCOL, session=session)  # type: ignore[attr-defined]
        yield say


def test_an_episode_on_a_worker_is_one_of_any_engine(
    engine: WorkerEngine, worker: EngineWorker, small: Image, tmp_path: Path
) -> None:
    """Files, exit codes, snapshots and the reward; nothing is left after it."""
    files = {
        "task.toml": "[environment]\nnetwork_mode = 'no-network'\nmemory_mb = 64\n",
        "instruction.md": "Say hello.",
        "environment/Dockerfile": f"FROM {small.name}\nWORKDIR /build\n",
        "tests/test.sh": "#!/bin/bash\ngrep -c hello /build/word > /logs/verifier/reward.txt\n",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    with TerminalEnv(path=tmp_path, engine=engine, warm=0) as env:
        env.reset(seed=0)
        assert env.step("<bash>X=5; echo hello > word; pwd; (exit 3)</bash>")[4]["exit_code"] == 3
        with env.snapshot() as snapshot:
            env.step("<bash>rm word; X=6</bash>")
            env.restore(snapshot)
            assert env.step("<bash>echo $X; cat word</bash>")[0] == "5\nhello\n[exit code 0]"
        assert env.step("<finish/>")[1] == 1.0
    assert worker.containers() == 0


def test_what_is_larger_than_a_message_comes_whole(engine: WorkerEngine, small: Image, tmp_path: Path) -> None:
    """Both ways, in files, build contexts and changes; a build context is sent once."""
    content = os.urandom(3 << 20)
    (tmp_path / "data").write_bytes(content)
    (tmp_path / "Dockerfile").write_text(f"FROM {small.name}\nCOPY data /data\n")
    image = Image(folder=tmp_path)
    reference = engine.prepare(image)
    assert engine.prepare(image) == reference
    with engine.start(reference, LIMITS) as container:
        archive = container.get("/data")
        assert archive is not None
        assert content in archive
        container.put(archive, "/root")
        assert container.run(("cmp", "/data", "/root/data"), seconds=LONG).exit_code == 0
        changes = container.changes(["/root"])
        assert content in changes.archives[0][1]
        assert container.get("/nowhere") is None


def test_a_worker_counts_the_containers_of_all_and_takes_no_more(
    engine: WorkerEngine, address: str, worker: EngineWorker, small: Image
) -> None:
    """A fleet sees the load that others make; what is forgotten, closed or removed makes room."""
    other = WorkerEngine(address, TOKENS[1])
    fleet = FleetEngine([engine], seconds=0.0)
    try:
        reference = other.prepare(small)
        containers = [other.start(reference, LIMITS) for _ in range(3)]
        own = engine.prepare(small)
        with pytest.raises(EngineFullError, match="has 3 containers"):
            engine.start(own, LIMITS)
        in_fleet = fleet.prepare(small)
        with pytest.raises(EngineError, match="room for 3 containers"):
            fleet.start(in_fleet, LIMITS)
        containers.pop().remove()
        wait_until(lambda: worker.containers() == 2)
        engine.start(own, LIMITS).remove()
    finally:
        other.close()
    wait_until(lambda: worker.containers() == 0)


def test_a_lost_connection_loses_nothing(engine: WorkerEngine, small: Image) -> None:
    """A command that runs while the connection is cut is carried out once, and its output arrives."""
    with engine.start(engine.prepare(small), LIMITS) as container:
        channel = container.open(("bash",))
        for number in range(5):
            connection = engine._link._connection
            assert connection is not None
            cutting = threading.Thread(target=connection.socket.shutdown, args=(socket.SHUT_RDWR,))
            cutting.start()
            assert channel.write(b"echo %d >> /said; cat /said; echo over\n" % number)
            said = b""
            while b"over" not in said:
                said += channel.read(LONG) or b""
            cutting.join()
            assert said.split() == [*(b"%d" % each for each in range(number + 1)), b"over"]
        channel.close()


def test_a_process_waits_and_ends_as_on_any_engine(engine: WorkerEngine, small: Image) -> None:
    """Time limits, terminals, killing and counting."""
    with engine.start(engine.prepare(small), LIMITS) as container:
        assert container.run(("cat",), seconds=0.2).exit_code is None
        assert container.kills == 1
        channel = container.open(("bash", "-c", "stty size; read x; stty size; exit 7"), terminal=True)
        channel.resize(101, 31)
        assert channel.exit_code(0.0) is None
        assert container.survivors() >= 1
        channel.write(b"\n")
        said = b""
        while (data := channel.read(LONG)) is not None:
            said += data
        assert b"31 101" in said
        assert channel.exit_code(LONG) == 7
        channel.close()
        channel.close()
        with pytest.raises(EngineError):
            channel.exit_code(0.0)
    with pytest.raises(EngineError, match="was removed"):
        container.survivors()


def test_what_a_worker_does_not_do_is_refused_by_name(
    engine: WorkerEngine, small: Image, tmp_path: Path, cache: Path
) -> None:
    """Base images, its machine's network, images that were not prepared, and the snapshots of others."""
    reference = engine.prepare(small)
    base = tmp_path / "base.tar"
    base.write_bytes(b"x" * (2 << 20))
    with pytest.raises(EngineError, match="--allow-base-images"):
        engine.add_base("some:base", base)
    with pytest.raises(EngineError, match="--allow-host-network"):
        engine.start(reference, ResourceLimits(memory=128 << 20, network=True, host_network=True))
    with pytest.raises(EngineError, match="clients share the images"):
        engine.discard_images([])
    with pytest.raises(EngineError, match="was not prepared in this session"):
        engine.start("0" * 24, LIMITS)
    with pytest.raises(EngineError, match="reference"):
        engine.start("../../../../etc", LIMITS)
    with pytest.raises(EngineError, match="both listen on port 80"):
        engine.check_side_cars([SideCar(name, small, ports=(80,)) for name in ("one", "two")])
    other = WorkerEngine(engine._link.address, TOKENS[0])
    try:
        with (
            other.start(other.prepare(small), LIMITS) as container,
            container.snapshot() as snapshot,
            pytest.raises(EngineError, match="its own snapshots"),
        ):
            engine.restore(snapshot, LIMITS)
    finally:
        other.close()


def test_nobody_comes_in_without_the_token(address: str) -> None:
    """Neither with another one, nor at another path; the client says what to set."""
    for path, token, status in ((PATH, "x" * 20, 401), (PATH, "", 401), ("/", TOKENS[0], 404)):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        with pytest.raises(InvalidStatus) as refused, connect(address + path, additional_headers=headers, proxy=None):
            pass
        assert refused.value.response.status_code == status
    with pytest.raises(EngineError, match="status 401"):
        WorkerEngine(address, "not-the-token-of-it").check()
    with pytest.raises(ArgumentError, match="needs a token"):
        EngineWorker(NamespaceEngine(), [])


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A file with a certificate for 127.0.0.1, which is its own authority, and its key."""
    pytest.importorskip("cryptography", reason="makes the certificate")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(timezone.utc)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a worker of the tests")])
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(days=2))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    file = tmp_path / "worker.pem"
    file.write_bytes(made.public_bytes(pem) + key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    return file


def test_an_encrypted_worker_is_trusted_by_its_authority_alone(
    cache: Path, new_engine: Callable[[], NamespaceEngine], certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that does not know the authority sends no token; one without encryption gets no answer."""
    from gem_server.certificates import server_tls

    worker = EngineWorker(new_engine(), TOKENS, capacity=1, lease=LONG, scratch=cache / "encrypted")
    try:
        address = f"127.0.0.1:{worker.start(tls=server_tls(str(certificate), None))}"
        monkeypatch.setenv("GEM_SERVER_CA_FILE", "")
        with pytest.raises(EngineError, match="certificate"):
            WorkerEngine(f"wss://{address}", TOKENS[0]).check()
        with pytest.raises(EngineError, match="no worker answers there"):
            WorkerEngine(f"ws://{address}", TOKENS[0]).check()
        assert worker.sessions() == 0
        monkeypatch.setenv("GEM_SERVER_CA_FILE", str(certificate))
        engine = WorkerEngine(f"wss://{address}", TOKENS[0])
        engine.check()
        assert worker.sessions() == 1
        engine.close()
    finally:
        worker.close()


def test_an_encrypted_worker_sends_nothing_of_its_own_after_the_handshake(certificate: Path) -> None:
    """The tickets of TLS 1.3 met the first messages of two threads, and one connection in a thousand hung."""
    from gem_server.certificates import server_tls

    ours, theirs = socket.socketpair()
    with ours, theirs, ThreadPoolExecutor(1) as pool:
        serving = pool.submit(server_tls(str(certificate), None).wrap_socket, theirs, server_side=True)
        tls = ssl.create_default_context(cafile=str(certificate))
        with tls.wrap_socket(ours, server_hostname="127.0.0.1") as client, serving.result() as server:
            server.sendall(b"hello")
            assert (client.version(), client.recv(5)) == ("TLSv1.3", b"hello")
            assert client.session is not None
            assert not client.session.has_ticket


def test_another_user_reaches_no_session_and_no_container(
    engine: WorkerEngine, address: str, worker: EngineWorker, small: Image
) -> None:
    """A stolen name of a session is nothing without its user's token, and numbers count in each session alone."""
    with engine.start(engine.prepare(small), LIMITS) as container:
        session = engine._link._session
        with talk(address, TOKENS[1], session) as say:
            assert "does not have this session" in say.greeted["refused"]  # type: ignore[attr-defined]
        with talk(address, TOKENS[1]) as say:
            for op, more in (("survivors", {}), ("remove", {}), ("get", {"path": "/etc", "most": 1 << 20})):
                for number in range(1, 4):
                    answer = say(op=op, container=number, **more)
                    assert op == "remove" or f"no container {number}" in answer["error"]["message"]
            assert "no channel" in say(op="read", channel=1, seconds=0.0)["error"]["message"]
            limits = {"cpus": 1, "memory": 1 << 27, "processes": 9}
            started = say(op="start", reference=engine.prepare(small), environment={}, limits=limits)
            assert "was not prepared" in started["error"]["message"]
        assert container.run(("echo", "mine"), seconds=LONG).output == b"mine\n"


GARBAGE: dict[str, bytes] = {
    "nothing": b"",
    "a length without a head": b"\xff\xff\xff\xff{}",
    "no JSON": b"\x00\x00\x00\x04\xff\xfe\xfd\xfc",
    "a list": encode({})[:3] + b"\x02[]",
    "deep": (1 << 16).to_bytes(4, "big") + b"[" * (1 << 16),
    "no number": encode({"op": "about"}),
    "too long": b"x" * (LONGEST_MESSAGE + 1),
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=list(GARBAGE))
def test_garbage_ends_its_connection_and_nothing_else(
    garbage: bytes, engine: WorkerEngine, address: str, small: Image
) -> None:
    """The worker closes with a policy or size error, and others go on."""
    engine.check()
    with pytest.raises(ConnectionClosed) as closed, talk(address) as say:
        say(message=garbage)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == (1009 if len(garbage) > LONGEST_MESSAGE else 1008)
    assert engine.about().version


@pytest.mark.parametrize(
    "head",
    [
        {"op": "nothing"},
        {"op": "about", "more": 1},
        {"op": "survivors", "container": "1"},
        {"op": "survivors", "container": 10**30},
        {"op": "read", "channel": 1, "seconds": 1e300},
        {"op": "prepare", "name": "../x", "context": None, "dockerfile": "x", "build_seconds": 1, "arguments": []},
        {"op": "prepare", "name": None, "context": "../x", "dockerfile": "x", "build_seconds": 1, "arguments": []},
        {"op": "append", "upload": 77},
        {"op": "download", "download": 1, "offset": 0},
    ],
    ids=lambda head: json.dumps(head)[:40],
)
def test_a_malformed_request_is_answered_with_its_fault(head: dict[str, Any], address: str) -> None:
    """And the session goes on."""
    with talk(address) as say:
        assert say(**head)["error"]["message"]
        assert "result" in say(op="about")


LINKS: dict[str, str] = {
    "out of the context": "/etc/passwd",
    "up and out": "../../../../etc/passwd",
}


@pytest.mark.parametrize("target", LINKS.values(), ids=list(LINKS))
def test_a_build_context_cannot_name_files_of_the_worker(
    target: str, engine: WorkerEngine, small: Image, tmp_path: Path
) -> None:
    """A link in it may lead to another file of it alone."""
    (tmp_path / "kept").symlink_to("Dockerfile")
    (tmp_path / "Dockerfile").write_text(f"FROM {small.name}\nCOPY link /stolen\n")
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(EngineError, match="leads out of the build context"):
        engine.prepare(Image(folder=tmp_path))
    with pytest.raises(EngineError, match="not in the build context"):
        engine.prepare(Image(folder=tmp_path, dockerfile="../../../../etc/passwd"))


@contextmanager
def worker_process(cache: Path, *options: str, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A worker as operators start it, and its address; its token is the first one."""
    variables = {**os.environ, "GEM_TERMINAL_IMAGES": str(cache), "GEM_TERMINAL_TOKEN": TOKENS[0]}
    command = [sys.executable, "-m", "gem", "terminal", "worker", "--json", "--port", str(port), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables) as process:
        try:
            assert process.stdout is not None
            told = "".join(iter(process.stdout.readline, "}\n")) + "}"
            yield process, json.loads(told)["url"]
        finally:
            if process.poll() is None:
                process.terminate()


CLIENT = """
import sys
from gem_terminal_remote.workers import WorkerEngine
from gem_terminal.task import Image, ResourceLimits
engine = WorkerEngine(sys.argv[1])
container = engine.start(engine.prepare(Image(name=sys.argv[2])), ResourceLimits(memory=128 << 20))
channel = container.open(("sleep", "3600"))
print(container.id, flush=True)
if sys.argv[3] == "ends":
    sys.exit()
sys.stdin.read()
"""


def left_of(container: str) -> list[str]:
    """The control groups of a container by its id."""
    return [str(folder) for folder, _ in groups() if folder.name == container]


@contextmanager
def client_process(address: str, image: Image, how: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A client that has started a container, and the id of that."""
    variables = {**os.environ, "GEM_TERMINAL_TOKEN": TOKENS[0]}
    command = [sys.executable, "-c", CLIENT, address, str(image.name), how]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables) as client:
        assert client.stdout is not None
        started = client.stdout.readline().strip()
        assert started
        yield client, started


@pytest.mark.slow(reason="a client is a process of its own")
def test_a_client_that_ends_takes_its_containers_along(
    engine: WorkerEngine, address: str, worker: EngineWorker, small: Image
) -> None:
    """Long before its lease ends; those of others stay."""
    with engine.start(engine.prepare(small), LIMITS) as container:
        with client_process(address, small, "ends") as (client, started):
            assert client.wait(LONG) == 0
        wait_until(lambda: worker.containers() == 1)
        wait_until(lambda: not left_of(started))
        assert container.run(("echo", "on"), seconds=LONG).output == b"on\n"


@pytest.mark.slow(reason="a client is a process of its own, which is killed")
def test_of_a_client_that_is_killed_nothing_is_left(
    cache: Path, new_engine: Callable[[], NamespaceEngine], small: Image
) -> None:
    """Its lease ends, whether its connection is closed or silent."""
    worker = EngineWorker(new_engine(), TOKENS, lease=4.0, scratch=cache / "scratch")
    try:
        address = f"ws://127.0.0.1:{worker.start()}"
        for sent in (signal.SIGKILL, signal.SIGSTOP):
            with client_process(address, small, "waits") as (client, started):
                client.send_signal(sent)
                wait_until(lambda: not left_of(started) and not worker.sessions())
                client.kill()
    finally:
        worker.close()
    assert not worker._scratch.folder.exists()


@pytest.mark.nightly
def test_a_worker_that_is_killed_ends_its_episodes_and_no_others(
    cache: Path, new_engine: Callable[[], NamespaceEngine], small: Image, engine_variables: None
) -> None:
    """The error names the worker; the fleet goes on with the other one, and uses the first when it is back."""
    with worker_process(cache) as (first, url), worker_process(cache) as (_, other):
        members = [WorkerEngine(each, TOKENS[0], reconnect=0.2) for each in (url, other)]
        fleet = FleetEngine(members)
        try:
            one, two = (TerminalEnv("ledger", engine=fleet, warm=0) for _ in range(2))
            for env in (one, two):
                env.reset(seed=0)
            assert [held for _, held, _, _ in fleet.loads()] == [1, 1]
            first.kill()
            first.wait()
            ended = one.step("<bash>echo lost</bash>")
            assert (ended[2], ended[3]) == (False, True)
            assert url in ended[4]["error"]
            assert two.step("<bash>echo on</bash>")[0] == "on\n[exit code 0]"
            one.reset(seed=1)
            assert one.step("<bash>echo on</bash>")[0] == "on\n[exit code 0]"
            assert url in fleet.loads()[0][3]
            with worker_process(cache, port=int(url.rpartition(":")[2])):
                assert members[0].start(members[0].prepare(small), LIMITS).survivors() == 0
            for env in (one, two):
                env.close()
        finally:
            fleet.close()
    new_engine().reap()
    assert not [folder for folder, owner in groups() if owner.pid == first.pid]


class Wire:
    """A link between a client and a worker that can be stopped, without a word to either, and cut."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"ws://127.0.0.1:{self._listener.getsockname()[1]}"
        self.flows = threading.Event()
        self.flows.set()
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """End all connections."""
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End for good."""
        self.flows.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                worker = socket.create_connection(("127.0.0.1", self._port))
                self._sockets += [client, worker]
                for one, other in ((client, worker), (worker, client)):
                    threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with one, suppress(OSError):
            while data := one.recv(1 << 16):
                self.flows.wait()
                other.sendall(data)
            other.shutdown(socket.SHUT_RDWR)


@contextmanager
def wired(served: NamespaceEngine, cache: Path, lease: float) -> Iterator[tuple[EngineWorker, Wire, WorkerEngine]]:
    """A worker that serves an engine, a link to it, and a client at its other end."""
    worker = EngineWorker(served, TOKENS, lease=lease, scratch=cache / "scratch")
    wire = Wire(worker.start())
    engine = WorkerEngine(wire.address, TOKENS[0])
    try:
        yield worker, wire, engine
    finally:
        wire.close()
        engine.close()
        worker.close()


def test_a_link_that_is_silent_or_cut_delays_and_no_more(
    cache: Path, new_engine: Callable[[], NamespaceEngine], small: Image
) -> None:
    """While the lease lasts."""
    with (
        wired(new_engine(), cache, LONG) as (_, wire, engine),
        engine.start(engine.prepare(small), LIMITS) as container,
    ):
        for how in (wire.flows.clear, wire.cut):
            how()
            waiting = threading.Timer(0.2, wire.flows.set)
            waiting.start()
            assert container.run(("echo", "late"), seconds=LONG).output == b"late\n"
            waiting.join()


def test_a_link_that_is_silent_for_longer_than_the_lease_loses_the_container(
    cache: Path, new_engine: Callable[[], NamespaceEngine], small: Image
) -> None:
    """The client is told, and can go on with others."""
    with wired(new_engine(), cache, 1.0) as (worker, wire, engine):
        container = engine.start(engine.prepare(small), LIMITS)
        wire.flows.clear()
        wait_until(lambda: worker.containers() == 0)
        wire.flows.set()
        with pytest.raises(EngineError, match="its lease has ended"):
            container.survivors()
        container.remove()
        wait_until(lambda: engine.load() is not None)
        assert engine.prepare(small)


def test_workers_are_named_by_their_addresses(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Alone and in fleets; an address that is none, and a missing token, are refused with what to do."""
    monkeypatch.delenv("GEM_TERMINAL_TOKEN", raising=False)
    with pytest.raises(EngineError, match="set GEM_TERMINAL_TOKEN"):
        engine_by_name(address)
    monkeypatch.setenv("GEM_TERMINAL_TOKEN", TOKENS[0])
    for name in ("ws://one", "wss://one:7070/path", "ws://x:y", "ws://user@one:1"):
        with pytest.raises(ArgumentError, match="no address of a worker"):
            engine_by_name(name)
    fleet = engine_by_name(f"fleet:{address},{address}")
    assert fleet.about().version == "2 of 2 members"
    fleet.close()
