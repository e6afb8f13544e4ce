"""GEM's containers as an environment of Harbor: :class:`HarborEnvironment`.

::

    harbor run -p my-task -a oracle --env gem_terminal.harbor_environment:HarborEnvironment

Harbor's own agents, verifiers and results then run on the engines of this package. Harbor imports this module, and
is no dependency but the extra ``harbor`` (tested with 0.24, which needs Python 3.12). The interface is that of
``harbor.environments.base.BaseEnvironment``.
"""

from __future__ import annotations

import asyncio
import io
import tarfile
import time
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from harbor.environments.base import BaseEnvironment, ExecResult, transfer_tar_filter
from harbor.environments.capabilities import EnvironmentCapabilities, EnvironmentResourceCapabilities

from gem_terminal.archive import archive_of, file_archive
from gem_terminal.bounded_output import BoundedOutput
from gem_terminal.engines import Container, Engine, engine_by_name
from gem_terminal.task import Image, ResourceLimits

__all__ = ["HarborEnvironment"]

_T = TypeVar("_T")
_COMPOSE = ("docker-compose.yaml", "docker-compose.yml")
_MOST_OUTPUT = 16 << 20
"""Bytes of a command's output; the middle of a longer one is cut out."""
_POLLS_EVERY = 0.5
"""Seconds after which an abandoned command is noticed."""

# Commands read from /dev/null, as in Harbor's other environments; an image without bash has sh.
_EXEC = (
    'if command -v bash >/dev/null 2>&1; then exec bash -c "$1" </dev/null 2>&1; fi\nexec sh -c "$1" </dev/null 2>&1'
)


class HarborEnvironment(BaseEnvironment):  # type: ignore[misc, unused-ignore]  # Harbor is not installed where types are checked
    """One container of an engine of GEM for a trial of Harbor.

    Tasks with several containers, GPUs, Windows or mounts of the machine are refused, as Harbor asks of an environment
    that has none. Limits that a task does not state are the defaults of :class:`~gem_terminal.task.ResourceLimits`.

    Args:
        args: see Harbor's base class.
        engine: ``"auto"``, or the name of an engine (``--ek engine=namespace``).
        processes: the most processes of the container.
        kwargs: see Harbor's base class.
    """

    def __init__(self, *args: Any, engine: str = "auto", processes: int = 4096, **kwargs: Any) -> None:
        self._engine_name = engine
        self._processes = int(processes)
        self._engine: Engine | None = None
        self._container: Container | None = None
        if kwargs.get("auto_mounting") or kwargs.get("extra_docker_compose"):
            raise ValueError("HarborEnvironment mounts no folders of the machine and runs no compose files")
        super().__init__(*args, **kwargs)

    @staticmethod
    def type() -> str:
        """Return the name of this kind of environment."""
        return "gem"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        """No network, and lists of hosts, are enforced by the engines."""
        return EnvironmentCapabilities(
            disable_internet=True,
            network_allowlist=True,
            network_allowlist_hostnames=True,
            network_allowlist_wildcard_hostnames=True,
            network_allowlist_ipv4_addresses=True,
            network_allowlist_ipv4_cidrs=True,
        )

    @classmethod
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        """Processors and memory are hard limits."""
        return EnvironmentResourceCapabilities(cpu_limit=True, memory_limit=True, fractional_cpus=True)

    def _validate_definition(self) -> None:
        for name in _COMPOSE:
            if (self.environment_dir / name).exists():
                raise ValueError(
                    f"{self.environment_dir / name}: HarborEnvironment runs one container a trial; "
                    "gem.make('terminal:Folder-v0') runs tasks with several"
                )
        if not self.task_env_config.docker_image and not (self.environment_dir / "Dockerfile").exists():
            raise FileNotFoundError(
                f"{self.environment_dir} has no Dockerfile, and the task names no docker_image; give it one of them"
            )
        if getattr(self, "_host_mounts", ()):  # since 0.25, those of the user alone
            raise ValueError("HarborEnvironment mounts no folders of the machine; leave out mounts")

    async def start(self, force_build: bool) -> None:
        """Build or find the image, and start the container.

        Raises:
            EngineError: if no engine works, the image cannot be built, or the container does not start.
        """
        await _in_thread(lambda: self._start(force_build))
        await self.ensure_dirs(self._mount_targets(writable_only=True))
        await self._upload_environment_dir_after_start()

    def _start(self, force_build: bool) -> None:
        engine = self._engine = engine_by_name(self._engine_name)
        reference = engine.prepare(self._image(force_build))
        self._container = engine.start(reference, self._limits(), self._startup_env())

    def _image(self, force_build: bool) -> Image:
        seconds, name = self.task_env_config.build_timeout_sec, self.task_env_config.docker_image
        has_dockerfile = (self.environment_dir / "Dockerfile").exists()
        if name and not (force_build and has_dockerfile):
            return Image(name=name, build_seconds=seconds)
        return Image(folder=Path(self.environment_dir), build_seconds=seconds)

    def _limits(self) -> ResourceLimits:
        usual = ResourceLimits()
        cpus, memory, disk = self._effective_cpus, self._effective_memory_mb, self._effective_storage_mb
        return ResourceLimits(
            cpus=usual.cpus if cpus is None else float(cpus),
            memory=usual.memory if memory is None else memory << 20,
            processes=self._processes,
            disk=None if disk is None else disk << 20,
            network=not self._network_disabled,
            allowed_hosts=tuple(self.network_policy.allowed_hosts) if self._network_is_allowlist else None,
        )

    async def stop(self, delete: bool) -> None:
        """Remove the container; it is removed without ``delete`` too, since it cannot outlive its process."""
        container, self._container = self._container, None
        if container is not None:
            await _in_thread(container.remove)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Run a command; stdout holds its stderr too, in the order of the writes.

        Raises:
            RuntimeError: at the time limit; as in Harbor's other environments, its processes may run on.
            EngineError: if the container died.
        """
        resolved, variables = self._resolve_user(user), self._merge_env(env)
        running = _Command(
            self._running(),
            command,
            None if resolved is None else str(resolved),
            cwd or self.task_env_config.workdir,
            variables,
            timeout_sec,
        )
        try:
            output, code = await _in_thread(running.result)
        finally:  # also where the trial is cancelled, whose thread would go on
            running.abandoned = True
        return ExecResult(stdout=output, stderr=None, return_code=code)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a file into the container, with its mode, as root's."""
        source, target = Path(source_path), PurePosixPath(target_path)
        archive = file_archive(target.name, source.read_bytes(), source.stat().st_mode & 0o777)
        await _in_thread(lambda: self._put(archive, str(target.parent)))

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy the content of a folder into a folder of the container, which is made if it is missing."""
        archive = archive_of([Path(source_dir)], ".", existing=True)  # a folder that exists keeps its mode
        await _in_thread(lambda: self._put(archive, target_dir))

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a file of the container.

        Raises:
            FileNotFoundError: if it does not exist.
        """
        with tarfile.open(fileobj=io.BytesIO(await self._got(source_path))) as archive:
            member = archive.next()
            content = archive.extractfile(member) if member is not None and member.isreg() else None
            if content is None:
                raise FileNotFoundError(f"{source_path} is no regular file of the container")
            target = Path(target_path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.read())

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy the content of a folder of the container, without devices and without links that leave it.

        Raises:
            FileNotFoundError: if it does not exist.
        """
        data, name = await self._got(source_dir), PurePosixPath(source_dir).name
        target = Path(target_dir)
        target.mkdir(parents=True, exist_ok=True)

        def below(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
            inner = PurePosixPath(member.name)
            if inner.parts[:1] != (name,) or len(inner.parts) < 2:
                return None
            moved = member.replace(name=str(PurePosixPath(*inner.parts[1:])), deep=False)
            if moved.islnk():  # a hard link names its target from the same root
                moved = moved.replace(linkname=str(PurePosixPath(*PurePosixPath(moved.linkname).parts[1:])), deep=False)
            checked: tarfile.TarInfo | None = transfer_tar_filter(moved, path)
            return checked

        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            archive.extractall(target, filter=below)  # noqa: S202  # Harbor's own filter checks each member

    async def _got(self, path: str) -> bytes:
        container = self._running()
        found = await _in_thread(lambda: container.get(path))
        if found is None:
            raise FileNotFoundError(f"{path} does not exist in the container")
        return found

    def _put(self, archive: bytes, folder: str) -> None:
        container = self._running()
        container.run(("mkdir", "-p", "--", folder), seconds=30.0, user="root", workdir="/")
        container.put(archive, folder)

    def _running(self) -> Container:
        if self._container is None:
            raise RuntimeError("the container has not been started; call start() first")
        return self._container


class _Command:
    """A command in a container, waited for in a thread that looks now and then whether it should."""

    def __init__(
        self,
        container: Container,
        command: str,
        user: str | None,
        workdir: str | None,
        environment: dict[str, str] | None,
        seconds: float | None,
    ) -> None:
        self._container = container
        self._command = ("sh", "-c", _EXEC, "sh", command)
        self._place: dict[str, Any] = {"user": user, "workdir": workdir, "environment": environment}
        self._seconds = seconds
        self.abandoned = False

    def result(self) -> tuple[str, int]:
        """Return the output and the exit code."""
        deadline = None if self._seconds is None else time.monotonic() + self._seconds
        kept = BoundedOutput(_MOST_OUTPUT)
        channel = self._container.open(self._command, **self._place)
        try:
            while not self.abandoned:
                left = _POLLS_EVERY if deadline is None else min(_POLLS_EVERY, deadline - time.monotonic())
                if left <= 0:
                    raise RuntimeError(f"Command timed out after {self._seconds} seconds")
                data = channel.read(left)
                if data is None:
                    code = channel.exit_code(left)
                    if code is not None:
                        return kept.text(), code
                    continue  # it closed its output and still runs
                kept.add(data)
            raise RuntimeError("the command was abandoned")
        finally:
            channel.close()


async def _in_thread(call: Callable[[], _T]) -> _T:
    return await asyncio.to_thread(call)
