"""What is particular about containers of a Docker engine: how they are bounded, and what they are asked."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gem_terminal.engines import Engine, ExecResult
from gem_terminal.engines.container_defaults import files_of
from gem_terminal.engines.docker import DockerEngine
from gem_terminal.engines.docker.container import DockerContainer
from gem_terminal.engines.docker.disk import DiskUsage, DiskWatch
from gem_terminal.engines.docker.images import LABEL
from gem_terminal.errors import EngineError
from gem_terminal.task import Image, ResourceLimits

LIMITS = ResourceLimits(memory=128 << 20, processes=64, disk=16 << 20)


@pytest.fixture(scope="module")
def docker(working_engine: Callable[[str], Engine]) -> Iterator[DockerEngine]:
    """An engine of its own."""
    working_engine("docker")
    made = DockerEngine()
    yield made
    made.close()


@pytest.fixture
def container(docker: DockerEngine, small: Image) -> Iterator[DockerContainer]:
    """A container with little of everything."""
    with docker.start(docker.prepare(small), LIMITS) as made:
        assert isinstance(made, DockerContainer)
        yield made


def output(container: DockerContainer, script: str) -> str:
    """Return what a script writes."""
    return container.run(("bash", "-c", script), seconds=60).output.decode()


def test_limits_are_applied(container: DockerContainer) -> None:
    """To what is started in it as well, and not only to its first process."""
    said = output(container, "ulimit -c; ulimit -f; df --output=size /dev/shm | tail -n 1")
    assert said.split() == ["0", str(16 << 10), str(64 << 10)]


def test_a_size_that_the_engine_tells_is_enough(
    docker: DockerEngine, container: DockerContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the files of containers lie elsewhere the engine is asked, and what writes too much is killed as well."""
    if docker._bounds_disks:
        pytest.skip("this Docker engine bounds disks itself, so the watch has nothing to do")
    monkeypatch.setattr(container, "folders", ())
    assert docker._measure()[container.id].size < 1 << 20
    said = output(container, "for i in 1 2 3 4; do head -c 8M /dev/zero > /huge$i; done; sleep 60; echo no")
    assert "no" not in said
    assert any("were written to the disk" in trouble for trouble in container.reached_limits())
    assert output(container, "rm /huge*; echo on") == "on\n"


def test_changes_may_take_longer_than_other_answers(
    container: DockerContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine walks through all files of the image for them, so an answer that is late is none that is missing."""
    output(container, "touch /new")
    monkeypatch.setattr(container._client.api, "timeout", 1e-4)
    assert "/new" in container.changes(["/nothing"]).changed


def test_what_is_counted_inside_is_what_is_counted_outside(container: DockerContainer) -> None:
    """Where the control groups cannot be seen, the container is asked for them."""
    output(container, "head -c 1G /dev/zero | tail -c 1G; for i in $(seq 100); do sleep 60 >/dev/null 2>&1 & done")
    container.kill_all()
    asked = container._read_counts_inside()
    outside = container._counts
    assert asked.killed > 0
    assert asked.refused > 0
    assert container.reached_limits()
    assert (container._counts.killed, container._counts.refused) == (asked.killed, asked.refused) != (0, 0)
    assert (outside.killed, outside.refused) == (0, 0)


def test_orphans_are_taken_in(container: DockerContainer) -> None:
    """The first process reaps them, so that they do not count for ever."""
    output(container, "for i in $(seq 200); do (true &); done")
    assert output(container, "(exit 7); echo $?") == "7\n"


def test_few_start_at_once(docker: DockerEngine, small: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many threads may ask, and the engine is asked by a few of them at a time."""
    reference = docker.prepare(small)
    docker.start(reference, LIMITS).remove()  # after which it is known whether the engine bounds disks
    underway, most, lock = 0, 0, threading.Lock()
    begin = docker._start_container

    def counted(*arguments: object) -> object:
        nonlocal underway, most
        with lock:
            underway += 1
            most = max(most, underway)
        try:
            return begin(*arguments)  # type: ignore[arg-type]
        finally:
            with lock:
                underway -= 1

    monkeypatch.setattr(docker, "_start_container", counted)
    with ThreadPoolExecutor(6) as pool:
        for made in list(pool.map(lambda _: docker.start(reference, LIMITS), range(6))):
            made.remove()
    assert 1 < most <= 4


def test_a_container_that_cannot_start_leaves_nothing(docker: DockerEngine, small: Image) -> None:
    """What was created for it is removed."""
    api = docker.client.api
    ours = {"label": f"{LABEL}={docker._owner}"}
    before = len(api.containers(all=True, filters=ours))
    with pytest.raises(EngineError, match="could not start"):
        docker.start(docker.prepare(small), ResourceLimits(cpus=1e6))
    with pytest.raises(EngineError, match="could not start"):
        docker.start("no-such-image:at-all", LIMITS)
    assert len(api.containers(all=True, filters=ours)) <= before


class Writer:
    """A container that the watch is told of."""

    def __init__(self) -> None:
        self.id = "writer"
        self.told: list[bool] = []

    def enforce_disk_limit(self, note: str, beyond_help: bool) -> None:
        """Note it."""
        self.told.append(beyond_help)


def test_who_writes_too_much_is_told_first() -> None:
    """Killed when it has, left alone while it cleans up, and removed if it goes on all the same."""
    written = DiskUsage(0)
    watch = DiskWatch(lambda: {"writer": written, "unknown": DiskUsage(1 << 40)})
    writer = Writer()
    watch._limits = {"writer": (writer, 1000)}
    for size, files, expected in (
        (1000, 0, []),
        (5000, 0, [False]),
        (5000, 0, [False]),
        (1900, 0, [False]),
        (1950, 0, [False, False]),
        (5000, 0, [False, False, True]),
        (10, 0, [False, False, True]),
        (10, files_of(1000) + 1, [False, False, True, False]),
    ):
        written = DiskUsage(size, files)
        watch.look()
        assert writer.told == expected


class Hasty(BaseHTTPRequestHandler):
    """An engine whose first output comes together with the headers of its answer, as it does where a client is slow."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.endswith("/start"):
            headers = b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
            self.wfile.write(headers + framed(b"first, ") + framed(b"sec")[:5])
            self.wfile.flush()
            self.wfile.write(framed(b"sec")[5:] + framed(b"ond"))
            self.close_connection = True
        else:
            self.answer({"Id": "an-execution"})

    def do_GET(self) -> None:
        self.answer({"ApiVersion": "1.41", "Running": False, "ExitCode": 3})

    def answer(self, what: dict[str, object]) -> None:
        data = json.dumps(what).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments: object) -> None:
        """Tests print nothing."""


def framed(data: bytes) -> bytes:
    """Return what an engine makes of output."""
    return b"\x01\0\0\0" + len(data).to_bytes(4, "big") + data


def test_output_that_comes_with_the_answer_is_not_lost() -> None:
    """However late the client is to read, and wherever a frame is cut."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hasty)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    engine = DockerEngine(f"tcp://127.0.0.1:{server.server_address[1]}")
    try:
        container = DockerContainer(engine.client, {"Id": "a" * 64}, LIMITS, lambda *_: None, pytest.fail)
        assert container.run(("true",), seconds=60) == ExecResult(b"first, second", 3)
    finally:
        engine.close()
        server.shutdown()
        server.server_close()
        thread.join()


def test_the_first_process_leads_to_no_log(docker: DockerEngine, container: DockerContainer) -> None:
    """Whoever is root may write through it, and nobody would bound that."""
    assert output(container, "echo flood > /proc/1/fd/1; echo done").endswith("done\n")
    found = docker.client.api.inspect_container(container.id)
    assert (found["HostConfig"]["LogConfig"]["Type"], found["LogPath"]) == ("none", "")


def test_files_without_a_name_count_as_written(docker: DockerEngine, container: DockerContainer) -> None:
    """A file that was removed while it is open takes room as any other."""
    if docker._bounds_disks:
        pytest.skip("this Docker engine bounds disks itself, so the watch has nothing to do")
    output(container, "exec 5> /gone; rm /gone; head -c 8M /dev/zero >&5; (sleep 1000 >/dev/null 2>&1 &)")
    assert docker._measure()[container.id].size >= 8 << 20


def test_sizes_are_watched_where_an_engine_ignores_them(
    docker: DockerEngine, small: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One whose images lie in containerd takes a size for a container, and does nothing about it."""
    status = [["driver-type", "io.containerd.snapshotter.v1"]]
    monkeypatch.setattr("docker.DockerClient.info", lambda _: {"DriverStatus": status})
    engine = DockerEngine()
    engine.check()
    assert not engine._bounds_disks, "none is asked for"
    with engine.start(engine.prepare(small), LIMITS) as made:
        assert made.id in engine._containers
    engine.close()


def test_what_cannot_be_removed_holds_up_nobody(
    docker: DockerEngine, small: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container that the engine does not let go of is left to a thread of its own, as long as that takes."""
    tried, go_on = threading.Event(), threading.Event()
    remove = docker.client.api.remove_container

    def removed(identifier: str, **options: bool) -> None:
        if identifier != "stuck":
            remove(identifier, **options)
        elif not tried.is_set():
            tried.set()
            go_on.wait()

    monkeypatch.setattr(docker.client.api, "remove_container", removed)
    monkeypatch.setattr(docker, "_unremoved", {"stuck": None})
    for _ in range(2):
        docker.start(docker.prepare(small), LIMITS).remove()
    assert tried.wait(60)
    go_on.set()


def test_what_a_person_has_started_of_an_image_is_theirs(docker: DockerEngine, tmp_path: Path) -> None:
    """It has the label of the image, and no owner to be asked for."""
    (tmp_path / "Dockerfile").write_text(f"FROM debian:bookworm-slim\nENV WHICH={secrets.token_hex(8)}\n")
    reference = docker.prepare(Image(folder=tmp_path))
    theirs = docker.client.containers.create(reference, ["true"])
    try:
        assert LABEL in theirs.labels
        docker.reap()
        theirs.reload()
    finally:
        theirs.remove(force=True)
        docker.client.images.remove(reference)
