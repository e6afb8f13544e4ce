"""The engine of another machine: :class:`WorkerEngine`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gem.arguments import real
from gem.errors import ArgumentError
from gem_terminal.archive import archive_of
from gem_terminal.engines.base import (
    Container,
    ContainerSnapshot,
    ContainerSpec,
    Engine,
    EngineInfo,
    EngineLoad,
    ImageProcess,
    Progress,
)
from gem_terminal.engines.contexts import digest_of
from gem_terminal.errors import EngineError
from gem_terminal.task import Image, ResourceLimits, SideCar
from gem_terminal_remote.workers.container import RemoteContainer, RemoteSnapshot
from gem_terminal_remote.workers.frames import chunks
from gem_terminal_remote.workers.link import WorkerLink

__all__ = ["WorkerEngine"]

TOKEN = "GEM_TERMINAL_TOKEN"  # noqa: S105  # the name of a variable
"""The environment variable with the token of workers; with ``_FILE`` after it, the file that holds it."""


class WorkerEngine(Engine):
    """Starts containers on the machine of a worker, which ``gem terminal worker`` starts there.

    ::

        WorkerEngine("wss://one:7070", token)

    The containers belong to a session with the worker. They survive a lost connection: what waits goes on when the
    worker is reached again. If it stays away for ``reconnect`` seconds, or has begun anew, its containers are lost, and
    their episodes end with an error. When this process ends or is killed, the worker removes them, at the latest when
    the lease has ended that its operator chose.

    Args:
        address: ``ws://host:port``, or ``wss://host:port`` for an encrypted connection, whose certificate an authority
            of the system has signed, or one in the file that ``GEM_SERVER_CA_FILE`` names.
        token: a token of the worker; None for the one in ``GEM_TERMINAL_TOKEN`` or ``GEM_TERMINAL_TOKEN_FILE``.
        reconnect: seconds.

    Raises:
        ArgumentError: for an address that is none.
        EngineError: without a token.
    """

    name = "worker"

    def __init__(self, address: str, token: str | None = None, *, reconnect: float = 30.0) -> None:
        from gem_server.client.address import token_from_surroundings

        token = token or token_from_surroundings(TOKEN)
        if not token:
            raise EngineError(f"the worker {address} wants a token: set {TOKEN}, or {TOKEN}_FILE to a file with it")
        self._link = WorkerLink(_checked(address), token, real("reconnect", reconnect, minimum=0.0))
        self._about: Mapping[str, Any] | None = None

    @property
    def unenforced(self) -> tuple[str, ...]:  # type: ignore[override]  # depends on the worker
        """The limits that the worker's engine does not enforce, once :meth:`check` has asked."""
        return () if self._about is None else tuple(self._about["unenforced"])

    def check(self) -> None:
        self._about = self._link.call("about").result

    def about(self) -> EngineInfo:
        self._about = found = self._link.call("about").result
        version = f"{found['engine']} at {self._link.address}, {found['version']}"
        return EngineInfo(version, dict(found["bounds"]), str(found["network"]))

    def load(self) -> EngineLoad | None:
        return None if self._link.load is None else EngineLoad(*self._link.load)

    def has_base(self, name: str) -> bool:
        return bool(self._link.call("has_base", name=name).result)

    def add_base(self, name: str, archive: Path, progress: Progress | None = None) -> None:
        upload = None
        with archive.open("rb") as file:
            while chunk := file.read(1 << 20):
                upload = self._link.call("append", chunk, **({"upload": upload} if upload else {})).result
        self._link.call("add_base", progress=progress, name=name, upload=upload)

    def discard_images(self, keep: Iterable[Image]) -> int:
        raise EngineError(
            f"clients share the images of the worker {self._link.address}; run gem terminal reap --images there"
        )

    def prepare(self, image: Image, progress: Progress | None = None) -> str:
        fields: dict[str, Any] = {
            "name": image.name,
            "dockerfile": image.dockerfile,
            "context": None if image.folder is None else digest_of(image),
            "build_seconds": image.build_seconds,
            "arguments": [list(pair) for pair in image.arguments],
        }
        reference = self._link.call("prepare", progress=progress, **fields).result
        if reference is None:
            assert image.folder is not None
            upload = None
            for chunk in chunks(archive_of([image.folder], ".")):
                upload = self._link.call("append", chunk, **({"upload": upload} if upload else {})).result
            reference = self._link.call("prepare", progress=progress, upload=upload, **fields).result
        return str(reference)

    def start(self, reference: str, limits: ResourceLimits, environment: Mapping[str, str] | None = None) -> Container:
        return self._started("start", reference=reference, **_starting(limits, environment))

    def restore(
        self, snapshot: ContainerSnapshot, limits: ResourceLimits, environment: Mapping[str, str] | None = None
    ) -> Container:
        if not isinstance(snapshot, RemoteSnapshot) or snapshot.link is not self._link:
            raise EngineError("the engine of a worker restores only its own snapshots")
        if not snapshot.is_open:
            raise EngineError("the snapshot is closed")
        return self._started("restore", snapshot.epoch, snapshot=snapshot.number, **_starting(limits, environment))

    def check_side_cars(self, side_cars: Sequence[SideCar]) -> None:
        told = [{"name": one.name, "ports": list(one.ports)} for one in side_cars]
        self._link.call("check_side_cars", side_cars=told)

    def start_first(self, spec: ContainerSpec, names: Sequence[str], beside: Sequence[ContainerSpec] = ()) -> Container:
        return self._started(
            "start_first", spec=_fields(spec), names=list(names), beside=[_fields(each) for each in beside]
        )

    def start_beside(self, first: Container, spec: ContainerSpec, names: Sequence[str]) -> Container:
        assert isinstance(first, RemoteContainer)
        return self._started("start_beside", first.epoch, first=first.number, spec=_fields(spec), names=list(names))

    def image_process(self, reference: str) -> ImageProcess:
        found = self._link.call("image_process", reference=reference).result
        return ImageProcess(tuple(found["entrypoint"]), tuple(found["command"]), found["user"], found["workdir"])

    def reap(self) -> int:
        """Remove what ended processes of the worker's machine left; sessions end by themselves."""
        return int(self._link.call("reap").result)

    def reset_after_fork(self) -> None:
        self._link.reset_after_fork()

    def close(self) -> None:
        """End the session, with its containers. The next call begins another one."""
        self._link.close()

    def _started(self, op: str, epoch: int | None = None, **fields: Any) -> RemoteContainer:
        started = self._link.call(op, epoch=epoch, **fields)
        return RemoteContainer(self._link, started.epoch, started.result)


def _checked(address: str) -> str:
    try:
        parts = urlsplit(address)
        is_one = parts.scheme in ("ws", "wss") and parts.hostname and parts.port and parts.path in ("", "/")
    except ValueError:
        is_one = False
    if not is_one or parts.query or parts.fragment or parts.username:
        raise ArgumentError(f"{address!r} is no address of a worker, such as wss://one:7070")
    return f"{parts.scheme}://{parts.netloc}"


def _fields(spec: ContainerSpec) -> dict[str, Any]:
    return {"reference": spec.reference, "names": list(spec.names), **_starting(spec.limits, spec.environment)}


def _starting(limits: ResourceLimits, environment: Mapping[str, str] | None) -> dict[str, Any]:
    hosts = None if limits.allowed_hosts is None else list(limits.allowed_hosts)
    return {"limits": {**asdict(limits), "allowed_hosts": hosts}, "environment": dict(environment or {})}
