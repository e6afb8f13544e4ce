"""Containers of a Docker engine: local, remote, or podman behind its compatible socket."""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

from gem_terminal.engines.base import Channel, Container, Engine, Progress
from gem_terminal.engines.contexts import digest_of
from gem_terminal.engines.owners import Owner
from gem_terminal.errors import EngineError
from gem_terminal.task import Image, Limits

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["DockerEngine"]

LABEL = "gem.terminal"
"""Every container and image of this package carries it; that of a container names its owner."""

_KEPT = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID"]
"""What root inside a container keeps: enough for chown, su and package managers, nothing that reaches outside."""

_WAIT = ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"]
"""The first process: it waits, takes in orphans, and is the one that kill(-1) spares."""
_KILL = ["sh", "-c", "kill -9 -1"]
_STARTS = 4
"""Containers that are started at once; more only wait for each other in the engine."""


class DockerEngine(Engine):
    """Speaks to a Docker engine through the ``docker`` SDK.

    Args:
        url: where the engine is; None for what ``DOCKER_HOST`` says, or the local socket.
    """

    name = "docker"

    def __init__(self, url: str | None = None) -> None:
        self._url = url
        self._owner = Owner.this_process()
        self._preparing = Lock()

    @cached_property
    def client(self) -> DockerClient:
        """The connection, made on first use.

        Raises:
            EngineError: if no engine answers; the message says how to get one.
        """
        import docker
        from docker.errors import DockerException

        try:
            client = docker.DockerClient(self._url) if self._url else docker.from_env()
            client.ping()
        except DockerException as error:
            where = self._url or os.environ.get("DOCKER_HOST") or "the local socket"
            raise EngineError(
                f"no Docker engine answers at {where} ({error}); start one (Debian: apt install docker.io), "
                "or use engine='namespace'"
            ) from error
        return client

    def check(self) -> None:
        assert self.client

    def prepare(self, image: Image, progress: Progress | None = None) -> str:
        import docker.errors

        with self._preparing:
            if image.folder is None:
                assert image.name is not None
                return self._fetched(image.name, progress)
            tag = f"gem-terminal:{digest_of(image)}"
            try:
                self.client.images.get(tag)
            except docker.errors.ImageNotFound:
                self._build(image, tag, progress)
            return tag

    def start(self, reference: str, limits: Limits, environment: Mapping[str, str] | None = None) -> Container:
        from docker.errors import APIError

        try:
            container = self.client.containers.run(
                reference,
                _WAIT,
                entrypoint=[],
                detach=True,
                cap_drop=["ALL"],
                cap_add=_KEPT,
                security_opt=["no-new-privileges"],
                network_mode="bridge" if limits.network else "none",
                nano_cpus=int(limits.cpus * 1e9),
                mem_limit=limits.memory,
                memswap_limit=limits.memory,
                pids_limit=limits.processes,
                labels={LABEL: str(self._owner)},
                environment=dict(environment or {}),
                user="root",
            )
        except (APIError, OSError) as error:
            raise EngineError(f"the container engine could not start {reference}: {error}") from error
        return _DockerContainer(self.client, str(container.id))

    def reap(self) -> int:
        from docker.errors import APIError, NotFound

        count = 0
        for container in self.client.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True):
            if Owner.parse(container.labels[LABEL]).is_alive():
                continue
            try:
                container.remove(force=True, v=True)
                count += 1
            except (NotFound, APIError):  # somebody else reaps it at this moment
                continue
        return count

    def close(self) -> None:
        client = self.__dict__.pop("client", None)
        if client is not None:
            client.close()

    def _fetched(self, name: str, progress: Progress | None) -> str:
        from docker.errors import APIError, ImageNotFound

        try:
            self.client.images.get(name)
        except ImageNotFound:
            try:
                for event in self.client.api.pull(name, stream=True, decode=True):
                    _tell(progress, event.get("status"))
                self.client.images.get(name)
            except (APIError, ImageNotFound) as error:
                raise EngineError(
                    f"the image {name} is not here and cannot be fetched ({error}); load it with docker load, or "
                    "build it under that name"
                ) from error
        return name

    def _build(self, image: Image, tag: str, progress: Progress | None) -> None:
        from docker.errors import APIError

        said: list[str] = []
        try:
            for event in self.client.api.build(
                path=str(image.folder),
                dockerfile=image.dockerfile,
                tag=tag,
                rm=True,
                forcerm=True,
                labels={LABEL: "image"},
                timeout=int(image.build_seconds),
                decode=True,
            ):
                line = str(event.get("stream") or event.get("error") or "").strip()
                if line:
                    said.append(line)
                    _tell(progress, line)
                if "error" in event:
                    raise EngineError(f"the image of {image.folder} cannot be built: {' | '.join(said[-3:])}")
        except (APIError, OSError) as error:
            raise EngineError(f"the image of {image.folder} cannot be built: {error}") from error


class _DockerContainer(Container):
    def __init__(self, client: DockerClient, identifier: str) -> None:
        self.id = identifier
        self._client = client

    def open(
        self,
        command: Iterable[str],
        *,
        terminal: bool = False,
        user: str | None = None,
        environment: Mapping[str, str] | None = None,
        workdir: str | None = None,
    ) -> Channel:
        from docker.errors import APIError

        api = self._client.api
        try:
            execution = api.exec_create(
                self.id, list(command), stdin=True, tty=terminal, user=user or "", environment=dict(environment or {}),
                workdir=workdir,
            )["Id"]  # fmt: skip
            stream = api.exec_start(execution, tty=terminal, socket=True)
        except (APIError, OSError) as error:
            raise EngineError(f"container {self.id[:12]} cannot run {next(iter(command))}: {error}") from error
        return _DockerChannel(self._client, execution, stream, framed=not terminal)

    def put(self, archive: bytes, folder: str) -> None:
        from docker.errors import APIError

        try:
            self._client.api.put_archive(self.id, folder, archive)
        except (APIError, OSError) as error:
            raise EngineError(f"container {self.id[:12]} takes no files: {error}") from error

    def get(self, path: str, *, most: int = 1 << 30) -> bytes | None:
        from docker.errors import APIError, DockerException, NotFound

        archive = bytearray()
        try:
            chunks, _ = self._client.api.get_archive(self.id, path.rstrip("/") or "/")
            for chunk in chunks:
                archive += chunk
                if len(archive) > most:
                    chunks.close()
                    raise EngineError(f"{path} of container {self.id[:12]} is larger than {most} bytes")
        except NotFound as error:
            if "No such container" in str(error.explanation):
                raise EngineError(f"container {self.id[:12]} has gone") from error
            return None
        except (DockerException, OSError) as error:
            if isinstance(error, APIError) and "not a directory" in str(error.explanation):
                return None
            raise EngineError(f"container {self.id[:12]} gives no files: {error}") from error
        if not archive.endswith(bytes(1024)):  # the mark of its end, which is missing where a file became shorter
            raise EngineError(f"{path} of container {self.id[:12]} changed while it was read")
        return bytes(archive)

    def kill_all(self) -> None:
        # Asking the engine for the processes would race with those that fork; kill(-1) reaches all at once.
        api = self._client.api
        from docker.errors import APIError

        try:
            execution = api.exec_create(self.id, _KILL, user="root")["Id"]
            api.exec_start(execution)
        except (APIError, OSError) as error:
            raise EngineError(f"the processes of container {self.id[:12]} cannot be killed: {error}") from error

    def remove(self) -> None:
        from docker.errors import APIError, NotFound

        try:
            self._client.api.remove_container(self.id, force=True, v=True)
        except (NotFound, APIError, OSError):  # gone, or the engine is: the reaper looks again
            return


class _DockerChannel(Channel):
    """A process behind one socket. Without a terminal the engine sends frames: a header of 8 bytes, then the data."""

    def __init__(self, client: DockerClient, execution: str, stream: Any, framed: bool) -> None:
        self._client = client
        self._execution = execution
        self._stream = stream
        self._socket: socket.socket = getattr(stream, "_sock", stream)
        self._framed = framed
        self._left = 0
        self._header = b""
        self._gone = False

    def write(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise EngineError(f"the process in the container has gone: {error}") from error

    def read(self, seconds: float) -> bytes | None:
        if self._gone:
            return None
        ready, _, _ = select.select([self._socket], [], [], max(seconds, 0.0))
        if not ready:
            return b""
        try:
            data = self._socket.recv(1 << 16)
        except OSError:
            data = b""
        if not data:
            self._gone = True
            return None
        return self._without_headers(data) if self._framed else data

    def resize(self, columns: int, rows: int) -> None:
        self._client.api.exec_resize(self._execution, height=rows, width=columns)

    def exit_code(self, seconds: float) -> int | None:
        code: int | None = self._client.api.exec_inspect(self._execution)["ExitCode"]
        return code

    def close(self) -> None:
        self._gone = True
        response = getattr(self._stream, "_response", None)  # holds the connection as well
        for end in (self._socket, response, self._stream):
            with suppress(OSError, ValueError):  # closed with another of them
                if end is not None:
                    end.close()

    def _without_headers(self, data: bytes) -> bytes:
        kept = []
        while data:
            if not self._left:
                missing = 8 - len(self._header)
                self._header, data = self._header + data[:missing], data[missing:]
                if len(self._header) < 8:
                    break
                self._left, self._header = int.from_bytes(self._header[4:], "big"), b""
                continue
            kept.append(data[: self._left])
            data, self._left = data[self._left :], self._left - len(kept[-1])
        return b"".join(kept)


def _tell(progress: Progress | None, line: str | None) -> None:
    if progress is not None and line:
        progress(line)
