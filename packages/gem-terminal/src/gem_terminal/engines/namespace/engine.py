"""Containers without a daemon: Linux namespaces made by bubblewrap, on an overlay over an unpacked image.

A container has its own mount namespace. The overlay and the files written to it (a limited tmpfs) exist
nowhere else, so they disappear when the first process ends. That process ends with the spawner, and the
spawner with this process, so nothing is left behind, even after a ``kill -9``.

Limits on memory, processes and CPUs need cgroups that this user may write to. Otherwise they are not enforced, and
:attr:`NamespaceEngine.unenforced` names them, and the first episode warns of them.
For an ordinary user, a container has only one user, root.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO
from weakref import WeakSet

from gem_terminal.archive import file_archive
from gem_terminal.engines.base import (
    LIMIT_NAMES,
    Container,
    ContainerSnapshot,
    ContainerSpec,
    Engine,
    EngineInfo,
    ImageProcess,
    Progress,
    refuse_host_network,
)
from gem_terminal.engines.cgroups import controllers, reap_cgroups
from gem_terminal.engines.mirrors import MirrorSettings, mirror_settings, put_mirrors
from gem_terminal.engines.namespace.container import (
    NamespaceContainer,
    build_folder,
    files_to_begin_with,
    start_container,
)
from gem_terminal.engines.namespace.images import ImageStore
from gem_terminal.engines.namespace.network import PROGRAM, has_program
from gem_terminal.engines.namespace.saved_files import check_copy, copy_content
from gem_terminal.engines.namespace.snapshots import FileCopy, NamespaceSnapshot, SharedFolders
from gem_terminal.engines.namespace.spawning import Spawner
from gem_terminal.errors import EngineError
from gem_terminal.task import Image, ResourceLimits, SideCar

__all__ = ["NamespaceEngine"]

_TRIED_IN = 30.0
"""Seconds."""
_TRIALS = 10
_GONE = "Unable to apply mount flags"
"""What bubblewrap says if a mount of this machine, such as that of a container, ends while it takes all of them."""


class NamespaceEngine(Engine):
    """Runs containers with bubblewrap, which must be installed, as root or as a user who may create namespaces.

    Args:
        images: the folder of unpacked images; None for the cache folder of this user.
    """

    name = "namespace"

    def __init__(self, images: Path | None = None) -> None:
        self._images = ImageStore(images, self.start_on)
        self._spawner: Spawner | None = None
        self._making = Lock()
        self._starting = Lock()
        self._underway = 0
        self._containers: WeakSet[NamespaceContainer] = WeakSet()

    @property
    def spawner(self) -> Spawner:
        """The process that starts all others. A new one replaces a spawner that has ended.

        Raises:
            EngineError: if bubblewrap is missing or namespaces cannot be created; the message gives the remedy.
        """
        with self._making:
            if self._spawner is not None and not self._spawner.is_alive:
                self._spawner.close()
                self._spawner = None
            if self._spawner is None:
                self._spawner = _tried_spawner()
            return self._spawner

    @property
    def unenforced(self) -> tuple[str, ...]:  # type: ignore[override]  # depends on the machine
        """The limits that cannot be enforced here because cgroups are missing."""
        return tuple(name for name in ("memory", "pids", "cpu") if name not in controllers())

    def check(self) -> None:
        _ = self.spawner

    def about(self) -> EngineInfo:
        self.check()
        asked = subprocess.run(["bwrap", "--version"], capture_output=True, text=True, check=False)  # noqa: S607
        bounds = {**dict.fromkeys(LIMIT_NAMES, True), **dict.fromkeys(self.unenforced, False)}
        network = f"one for each episode, by {PROGRAM}" if has_program() else f"none: {PROGRAM} is missing"
        return EngineInfo(asked.stdout.strip() or "bubblewrap", bounds, network)

    def prepare(self, image: Image, progress: Progress | None = None) -> str:
        return self._images.prepare(image, progress)

    def has_base(self, name: str) -> bool:
        return self._images.has_base(name)

    def add_base(self, name: str, archive: Path, progress: Progress | None = None) -> None:
        self._images.add_base(name, archive, progress)

    def discard_images(self, keep: Iterable[Image]) -> int:
        return self._images.discard(keep)

    def start(self, reference: str, limits: ResourceLimits, environment: Mapping[str, str] | None = None) -> Container:
        return self._start(ContainerSpec(reference, limits, environment or {}))

    def restore(
        self, snapshot: ContainerSnapshot, limits: ResourceLimits, environment: Mapping[str, str] | None = None
    ) -> Container:
        if not isinstance(snapshot, NamespaceSnapshot):
            raise EngineError("the namespace engine restores only its own snapshots")
        variables = {**snapshot.environment, **(environment or {})}
        begins_with = files_to_begin_with(snapshot, self.spawner, limits)
        return self.start_on(snapshot.layers, limits, variables, snapshot.config, begins_with)

    def export_snapshot(self, snapshot: ContainerSnapshot, target: BinaryIO, store: str) -> dict[str, Any]:
        if not isinstance(snapshot, NamespaceSnapshot):
            raise EngineError("the namespace engine stores only its own snapshots")
        copy = snapshot.copy(self.spawner, build_folder())
        try:
            copy_content(copy.descriptor, target.fileno(), 0, copy.size, 0)
        except OSError as error:
            raise EngineError(f"a snapshot cannot be stored: {error}") from error
        return {
            "layers": [str(layer) for layer in snapshot.layers],
            "environment": snapshot.environment,
            "config": snapshot.config,
        }

    def import_snapshot(self, record: Mapping[str, Any], files: BinaryIO) -> ContainerSnapshot:
        layers = [Path(layer) for layer in record["layers"]]
        for layer in layers:
            if not self._images.has_layer(layer):
                raise EngineError(
                    f"the snapshot needs {layer}, which is no folder of an image here; build its task anew"
                )
        try:
            check_copy(files.fileno())
        except ValueError as error:
            raise EngineError(f"the file is no snapshot of the namespace engine: {error}") from error
        copy = FileCopy(os.dup(files.fileno()))
        return NamespaceSnapshot(copy, layers, record["environment"], record["config"])

    def check_side_cars(self, side_cars: Sequence[SideCar]) -> None:
        users: dict[int, str] = {}
        for each in side_cars:
            for port in each.ports:
                if users.setdefault(port, each.name) != each.name:
                    raise EngineError(
                        f"{users[port]} and {each.name} both listen on port {port}, but on the namespace engine the "
                        "containers of a task share one loopback; use engine='docker'"
                    )

    def start_first(self, spec: ContainerSpec, names: Sequence[str], beside: Sequence[ContainerSpec] = ()) -> Container:
        refuse_host_network(spec.limits)
        return _named(self._start(spec), names)

    def start_beside(self, first: Container, spec: ContainerSpec, names: Sequence[str]) -> Container:
        assert isinstance(first, NamespaceContainer)
        return _named(self._start(spec, first), names)

    def image_process(self, reference: str) -> ImageProcess:
        _, config = self._images.layers(reference)
        return ImageProcess(tuple(config.get("entrypoint") or ()), tuple(config.get("command") or ()))

    def _start(self, spec: ContainerSpec, beside: NamespaceContainer | None = None) -> NamespaceContainer:
        layers, config = self._images.layers(spec.reference)
        settings = mirror_settings() if spec.limits.network else MirrorSettings()
        variables = {**settings.variables, **config.get("environment", {}), **spec.environment}
        container = self.start_on(layers, spec.limits, variables, config, beside=beside)
        if settings.files and not config.get("has_mirrors"):
            put_mirrors(container, settings)
        return container

    def start_on(
        self,
        layers: Iterable[Path],
        limits: ResourceLimits,
        environment: Mapping[str, str],
        config: Mapping[str, Any],
        begins_with: SharedFolders | FileCopy | None = None,
        beside: NamespaceContainer | None = None,
    ) -> NamespaceContainer:
        """Start a container on stacked folders, topmost first.

        It begins with the files of a snapshot if there is one, in a network of its own or that of another container.

        Raises:
            EngineError: if the container does not start, or it needs a network of its own, which this machine cannot
                give it.
        """
        if limits.is_routed and not has_program():
            raise EngineError(
                f"a container with a network of its own needs {PROGRAM} and access to /dev/net/tun; install it "
                f"(Debian: apt install {PROGRAM}), pass network=False, or let the agent use this machine's network "
                "with all its services: network='host'"
            )
        with self._starting:
            self._underway += 1
        try:
            container = NamespaceContainer(
                self.spawner, layers, limits, environment, config, begins_with, beside, self._images.folder
            )
            self._containers.add(container)
        finally:
            with self._starting:
                self._underway -= 1
        return container

    def reap(self) -> int:
        self._images.reap()
        return reap_cgroups()

    def release_idle(self) -> None:
        with self._starting:
            if not self._underway and all(container.is_removed for container in list(self._containers)):
                self.close()

    def reset_after_fork(self) -> None:
        # The parent's containers live as long as any process holds these descriptors, so a child must close its copies.
        spawner, self._spawner = self._spawner, None
        if spawner is not None:
            spawner.disown()
        for container in self._containers:
            container.disown()
        self._making, self._starting, self._underway = Lock(), Lock(), 0

    def close(self) -> None:
        with self._making:
            spawner, self._spawner = self._spawner, None
        if spawner is not None:
            spawner.close()


def _named(container: Container, names: Sequence[str]) -> Container:
    """Give a container the names of all containers of its network, which share one loopback."""
    lines = [f"127.0.0.1 localhost {' '.join(names)}", "::1 localhost"]
    try:
        container.put(file_archive("etc/hosts", "\n".join([*lines, ""]).encode()), "/")
    except BaseException:
        container.remove()
        raise
    return container


def _tried_spawner() -> Spawner:
    if sys.platform != "linux":
        raise EngineError(f"the namespace engine needs Linux, and this is {sys.platform}; use engine='docker'")
    for program, package in (("bwrap", "bubblewrap"), ("unshare", "util-linux")):
        if shutil.which(program) is None:
            raise EngineError(f"the namespace engine needs {program}; install it (Debian: apt install {package})")
    spawner = Spawner(rootless=os.getuid() != 0)
    try:
        for _ in range(_TRIALS):
            code, why = _trial(spawner)
            if code == 0:
                return spawner
            if _GONE not in why:
                break
    except BaseException:
        spawner.close()
        raise
    spawner.close()
    raise EngineError(
        f"the kernel does not let this user create namespaces with an overlay ({why}); run as root, allow it "
        "(sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0; in a "
        "container: --privileged), or use engine='docker'"
    )


def _trial(spawner: Spawner) -> tuple[int | None, str]:
    """Run a program in namespaces on the root of this machine; return its exit code, None after a while, and why."""
    heard, said = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    try:
        tried = start_container(
            spawner, [Path(__file__).parent], ResourceLimits(), (null, said, said), ["true"], root="/"
        )
        os.close(said)
        said = -1
        with os.fdopen(os.dup(heard), "rb") as told:
            code = tried.wait(_TRIED_IN)
            tried.close()
            if code is None:
                return None, f"it took more than {_TRIED_IN:g} seconds"
            return code, told.read(1000).decode(errors="replace").strip()[-300:]
    finally:
        for used in (heard, said, null):
            if used >= 0:
                os.close(used)
