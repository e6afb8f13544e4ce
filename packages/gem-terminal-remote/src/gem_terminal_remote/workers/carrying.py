"""What a worker does for each operation of a client: :class:`OperationRunner`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Lock
from typing import Any

from gem_terminal.engines.base import Channel, Container, ContainerSpec, Engine, ProgressStage
from gem_terminal.errors import EngineError, EngineFullError
from gem_terminal.task import Image, ResourceLimits, SideCar
from gem_terminal_remote.workers.frames import encode
from gem_terminal_remote.workers.held import HeldObject
from gem_terminal_remote.workers.operations import LimitsField, SpecField
from gem_terminal_remote.workers.session import WorkerSession

__all__ = ["OperationRunner"]

_SLICE = 0.2
"""Seconds after which a waiting call lets others use its channel."""

_Answer = tuple[Any, bytes]


class OperationRunner:
    """Does what clients ask, on one engine.

    Args:
        engine: the engine.
        most: the most containers of all clients at a time.
        bases: whether clients may add base images, which all clients share.
        host_network: whether clients may give containers this machine's network.
    """

    def __init__(self, engine: Engine, most: int, *, bases: bool, host_network: bool) -> None:
        self.engine = engine
        self.most = most
        self._bases = bases
        self._host_network = host_network
        self._starting = 0
        self._lock = Lock()
        self.containers: Callable[[], int] = lambda: 0
        """Counts the containers of all sessions."""

    def __call__(
        self, session: WorkerSession, call: Any, payload: bytes, tell: Callable[[dict[str, Any]], None]
    ) -> _Answer:
        """Carry out an operation and return its result and payload.

        Raises:
            GemError, OSError: if the engine does.
        """
        if call.op == "prepare":
            return self._prepare(session, call, tell), b""
        if call.op == "add_base":
            self._add_base(session, call, tell)
            return None, b""
        if call.upload is not None and call.op != "append":
            path = session.files.taken(call.upload)
            payload = path.read_bytes()
            session.files.drop(path)
        answer: _Answer = getattr(self, f"_{call.op}")(session, call, payload)
        return answer

    # The engine

    def _about(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        about = self.engine.about()
        return {
            "version": about.version,
            "bounds": dict(about.bounds),
            "network": about.network,
            "unenforced": list(self.engine.unenforced),
            "engine": self.engine.name,
        }, b""

    def _reap(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        return self.engine.reap(), b""

    def _append(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        return session.files.append(call.upload, payload), b""

    def _download(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        return None, session.objects.part(call.download, call.offset)

    def _has_base(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        return self.engine.has_base(call.name), b""

    def _add_base(self, session: WorkerSession, call: Any, tell: Callable[[dict[str, Any]], None]) -> None:
        if not self._bases:
            raise EngineError(
                f"the worker takes no base images from clients, who share them; run gem terminal base {call.name} on "
                "its machine, or start it with --allow-base-images"
            )
        if call.upload is None:
            raise EngineError("a base image comes as an upload")
        path = session.files.taken(call.upload)
        try:
            self.engine.add_base(call.name, path, _teller(tell))
        finally:
            session.files.drop(path)

    def _prepare(self, session: WorkerSession, call: Any, tell: Callable[[dict[str, Any]], None]) -> str | None:
        """Return the reference of an image; None if its folder must be uploaded first."""
        folder: Path | None = None
        if call.context is not None:
            if ".." in Path(call.dockerfile).parts or Path(call.dockerfile).is_absolute():
                raise EngineError(f"the Dockerfile {call.dockerfile!r} is not in the build context")
            folder = session.files.context(call.context)
            if folder is None:
                if call.upload is None:
                    return None
                path = session.files.taken(call.upload)
                try:
                    folder = session.files.add_context(call.context, path)
                finally:
                    session.files.drop(path)
        elif call.name is None:
            raise EngineError("an image has a folder or a name")
        image = Image(folder, call.dockerfile, call.name, call.build_seconds, call.arguments)
        reference = self.engine.prepare(image, _teller(tell))
        session.objects.references.add(reference)
        return reference

    def _start(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        reference = _known(session, call.reference)
        limits = self._limits(call.limits)
        return self._started(session, lambda: self.engine.start(reference, limits, call.environment))

    def _restore(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        limits = self._limits(call.limits)
        with _held(session.objects.snapshots, call.snapshot, "snapshot").used() as snapshot:
            return self._started(session, lambda: self.engine.restore(snapshot, limits, call.environment))

    def _check_side_cars(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        self.engine.check_side_cars([SideCar(one.name, Image(), ports=one.ports) for one in call.side_cars])
        return None, b""

    def _start_first(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        first, *beside = [self._spec(session, one) for one in (call.spec, *call.beside)]
        return self._started(session, lambda: self.engine.start_first(first, call.names, beside))

    def _start_beside(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        spec = self._spec(session, call.spec)
        with _held(session.objects.containers, call.first, "container").used() as first:
            return self._started(session, lambda: self.engine.start_beside(first, spec, call.names))

    def _image_process(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        return self.engine.image_process(_known(session, call.reference))._asdict(), b""

    def _spec(self, session: WorkerSession, given: SpecField) -> ContainerSpec:
        reference, limits = _known(session, given.reference), self._limits(given.limits)
        return ContainerSpec(reference, limits, given.environment, given.names)

    def _limits(self, given: LimitsField) -> ResourceLimits:
        if given.host_network and not self._host_network:
            raise EngineError(
                "the worker gives no container its machine's network; start it with --allow-host-network, or pass "
                "network=True for a network of the episode's own"
            )
        return given.limits()

    def _started(self, session: WorkerSession, start: Callable[[], Container]) -> _Answer:
        with self._lock:
            if self.containers() + self._starting >= self.most:
                raise EngineFullError(f"the worker has {self.most} containers, and takes no more at a time")
            self._starting += 1
        try:
            container = start()
            number = session.objects.add("container", container)
        finally:
            with self._lock:
                self._starting -= 1
        return {
            "container": number,
            "id": container.id,
            "kills": container.kills,
            "cheap_snapshots": container.snapshots_in_milliseconds,
        }, b""

    # Containers

    def _open(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        with _container(session, call) as container:
            channel = container.open(
                call.command,
                terminal=call.terminal,
                user=call.user,
                environment=call.environment,
                workdir=call.workdir,
            )
            return session.objects.add("channel", channel, of=call.container), b""

    def _run(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        with _container(session, call) as container:
            done = container.run(
                call.command,
                seconds=call.seconds,
                user=call.user,
                environment=call.environment,
                workdir=call.workdir,
                stdin=payload,
            )
            return {"exit_code": done.exit_code, "kills": container.kills}, done.output

    def _put(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        with _container(session, call) as container:
            container.put(payload, call.folder)
        return None, b""

    def _get(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        with _container(session, call) as container:
            archive = container.get(call.path, most=call.most)
        return archive is not None, archive or b""

    def _changes(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        with _container(session, call) as container:
            found = container.changes(call.folders, most=call.most)
        # The lists may be longer than the head of a message, so they are part of the payload.
        head = {
            "archives": [[folder, len(archive)] for folder, archive in found.archives],
            "removed": list(found.removed),
            "changed": None if found.changed is None else sorted(found.changed),
        }
        return None, encode(head, b"".join(archive for _, archive in found.archives))

    def _kill_all(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        with _container(session, call) as container:
            container.kill_all()
            return {"kills": container.kills}, b""

    def _survivors(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        with _container(session, call) as container:
            return container.survivors(), b""

    def _reached_limits(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        with _container(session, call) as container:
            return {"said": list(container.reached_limits(call.suspected)), "kills": container.kills}, b""

    def _snapshot(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        with _container(session, call) as container:
            snapshot = container.snapshot()
        return {"snapshot": session.objects.add("snapshot", snapshot), "size": snapshot.size}, b""

    def _remove(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        session.objects.remove_container(call.container)
        return None, b""

    def _close_snapshot(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        session.objects.close_snapshot(call.snapshot)
        return None, b""

    # Channels

    def _write(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        held = _channel(session, call)
        with held.used() as channel, held.alone:
            return channel.write(payload, call.seconds), b""

    def _read(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        held, data = _channel(session, call), None
        for left in _slices(call.seconds):
            with held.used() as channel, held.alone:
                data = channel.read(left)
            if data != b"":
                break
        return data is not None, data or b""

    def _resize(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        held = _channel(session, call)
        with held.used() as channel, held.alone:
            channel.resize(call.columns, call.rows)
        return None, b""

    def _exit_code(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        held, code = _channel(session, call), None
        for left in _slices(call.seconds):
            with held.used() as channel, held.alone:
                code = channel.exit_code(left)
            if code is not None:
                break
        return code, b""

    def _close(self, session: WorkerSession, call: Any, payload: bytes) -> _Answer:
        session.objects.close_channel(call.channel)
        return None, b""


def _teller(tell: Callable[[dict[str, Any]], None]) -> Callable[[ProgressStage], None]:
    return lambda stage: tell({"text": stage.text, "done": stage.done, "total": stage.total})


def _known(session: WorkerSession, reference: str) -> str:
    if reference not in session.objects.references:
        raise EngineError(f"the image {reference!r} was not prepared in this session")
    return reference


def _held(table: dict[int, HeldObject[Any]], number: int, kind: str) -> HeldObject[Any]:
    try:
        return table[number]
    except KeyError:
        raise EngineError(f"this session has no {kind} {number}") from None


def _container(session: WorkerSession, call: Any) -> Any:
    return _held(session.objects.containers, call.container, "container").used()


def _channel(session: WorkerSession, call: Any) -> HeldObject[Channel]:
    return _held(session.objects.channels, call.channel, "channel")


def _slices(seconds: float) -> Iterable[float]:
    """Yield the seconds to wait in each of several short waits, which are ``seconds`` in all; at least one."""
    deadline = time.monotonic() + seconds
    while True:
        left = max(deadline - time.monotonic(), 0.0)
        yield min(left, _SLICE)
        if left <= _SLICE:
            return
