"""Containers of a Docker engine: local, remote, or podman behind its compatible socket."""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import BoundedSemaphore, Lock, Thread
from typing import TYPE_CHECKING, Any, BinaryIO

from gem_terminal.engines.base import (
    Container,
    ContainerSnapshot,
    ContainerSpec,
    Engine,
    EngineInfo,
    ImageProcess,
    Progress,
    refuse_host_network,
)
from gem_terminal.engines.container_defaults import CAPABILITIES, DISK, SHARED_MEMORY
from gem_terminal.engines.docker import images as docker_images
from gem_terminal.engines.docker.container import DockerContainer, engine_errors
from gem_terminal.engines.docker.disk import DiskUsage, DiskWatch, du
from gem_terminal.engines.docker.images import IMAGE, LABEL
from gem_terminal.engines.docker.networks import BridgeNetwork, create_network
from gem_terminal.engines.docker.snapshots import IN_USE, DockerSnapshot, is_abandoned, repository_and_tag, stored_name
from gem_terminal.engines.mirrors import MirrorSettings, mirror_settings, put_mirrors
from gem_terminal.engines.owner import ContainerOwner
from gem_terminal.engines.processes import unlinked
from gem_terminal.errors import EngineError
from gem_terminal.network.egress_proxy import proxy_variables
from gem_terminal.task import Image, ResourceLimits, SideCar
from gem_terminal.warnings_once import warn_once

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["DockerEngine"]

# The first process waits and never forks, so a fork bomb cannot kill it. Bash reaps orphans while it reads; the engine
# holds its input open, and data written to it has no effect. Without bash, a killed `sleep` is started again.
_WAIT = """\
command -v bash >/dev/null && exec bash -c 'while read -r; do :; done; exec sleep 1000000000'
while :; do sleep 3600 & wait $!; done"""
_STARTS = 4
"""The number of containers started at once; further ones would only wait in the engine."""
_REAPS_IN = 10.0
"""The time limit in seconds for removals; an engine may wait forever for a process that it cannot start."""
_BEING_BUILT = 3600.0
"""Seconds for which an image without a name may belong to a build of another process."""
_ANSWERS_IN = 30
"""Seconds without an answer after which an engine counts as gone."""

_OPEN_MACHINE = (
    "agents of Docker tasks with a network reach services that listen on all addresses of the engine's machine; GEM "
    "closes them only as root on that machine"
)


class DockerEngine(Engine):
    """A Docker engine, used through the ``docker`` SDK.

    Args:
        url: the address of the engine; None for ``DOCKER_HOST`` or the local socket.
    """

    name = "docker"

    def __init__(self, url: str | None = None) -> None:
        self._url = url
        self._client: DockerClient | None = None
        self._begin()

    @property
    def client(self) -> DockerClient:
        """The connection, opened on first use.

        Raises:
            EngineError: if no engine answers; the message says how to start one.
        """
        with self._connecting:
            if self._client is None:
                self._client = self._connected()
            return self._client

    def check(self) -> None:
        _ = self.client

    def about(self) -> EngineInfo:
        with engine_errors("the Docker engine does not report its version"):
            info = self.client.info()
        bounds = {
            "memory": bool(info.get("MemoryLimit")),
            "pids": bool(info.get("PidsLimit")),
            "cpu": bool(info.get("CpuCfsQuota")),
            "disk": True,  # enforced by the engine, or by the disk watch
            "network": True,
        }
        return EngineInfo(str(info.get("ServerVersion", "")), bounds, "one for each episode, a bridge")

    def prepare(self, image: Image, progress: Progress | None = None) -> str:
        return docker_images.prepare(self.client, image, progress, self._url)

    def has_base(self, name: str) -> bool:
        return docker_images.has(self.client, name)

    def add_base(self, name: str, archive: Path, progress: Progress | None = None) -> None:
        docker_images.add_base(self.client, name, archive, progress)

    def discard_images(self, keep: Iterable[Image]) -> int:
        return docker_images.discard(self.client, keep)

    def start(self, reference: str, limits: ResourceLimits, environment: Mapping[str, str] | None = None) -> Container:
        spec = ContainerSpec(reference, limits, environment or {})
        return self._start(spec, lambda: self._new_network(limits) if limits.is_routed else None)

    def check_side_cars(self, side_cars: Sequence[SideCar]) -> None:
        pass  # each container has its own network namespace

    def start_first(self, spec: ContainerSpec, names: Sequence[str], beside: Sequence[ContainerSpec] = ()) -> Container:
        refuse_host_network(spec.limits)
        return self._start(spec, lambda: self._new_network(spec.limits))

    def start_beside(self, first: Container, spec: ContainerSpec, names: Sequence[str]) -> Container:
        assert isinstance(first, DockerContainer)
        network = first.network
        assert network is not None
        return self._start(spec, lambda: replace(network, is_borrowed=True))

    def image_process(self, reference: str) -> ImageProcess:
        with engine_errors(f"the engine does not describe the image {reference}"):
            config = self.client.images.get(reference).attrs.get("Config") or {}
        return ImageProcess(
            tuple(config.get("Entrypoint") or ()),
            tuple(config.get("Cmd") or ()),
            config.get("User") or None,
            config.get("WorkingDir") or None,
        )

    def _new_network(self, limits: ResourceLimits) -> BridgeNetwork:
        return create_network(self.client, {LABEL: str(self._owner)}, internal=not limits.is_routed)

    def _start(self, spec: ContainerSpec, connect: Callable[[], BridgeNetwork | None]) -> DockerContainer:
        reference, limits, given, _ = spec
        disk = limits.disk or DISK
        if self._unremoved and self._removing.acquire(blocking=False):  # an engine may hang on it
            Thread(target=self._remove_aside, name="gem-terminal removes", daemon=True).start()
        settings = mirror_settings() if limits.network else MirrorSettings()
        if limits.is_filtered:
            given = {**proxy_variables(), **given}
        if settings.variables:
            own = docker_images.variables_of(self.client, reference)
            given = {**{name: value for name, value in settings.variables.items() if name not in own}, **given}
        with self._starting, engine_errors(f"the container engine could not start {reference}"):
            network = connect()
            try:
                description = self._start_container(spec._replace(environment=given), disk, network)
            except BaseException:
                if network is not None and not network.is_borrowed:
                    _try_remove(partial(self.client.api.remove_network, network.id))
                raise
        container = DockerContainer(self.client, description, limits, self._forget, self._commit, network)
        if limits.network or network is not None:
            self._connect(container)
        if settings.files and not docker_images.is_built(reference):
            put_mirrors(container, settings)
        if not self._bounds_disks:
            self._containers[container.id] = container
            self._disks.add(container, disk)
        return container

    def restore(
        self, snapshot: ContainerSnapshot, limits: ResourceLimits, environment: Mapping[str, str] | None = None
    ) -> Container:
        if not isinstance(snapshot, DockerSnapshot):
            raise EngineError("the Docker engine restores only its own snapshots")
        if not snapshot.is_open:
            raise EngineError("the snapshot is closed")
        return self.start(snapshot.image, limits, environment)

    def export_snapshot(self, snapshot: ContainerSnapshot, target: BinaryIO, store: str) -> dict[str, Any]:
        if not isinstance(snapshot, DockerSnapshot):
            raise EngineError("the Docker engine stores only its own snapshots")
        if not snapshot.is_open:
            raise EngineError("the snapshot is closed")
        with engine_errors("the container engine keeps no snapshot"):
            self.client.api.tag(snapshot.image, *repository_and_tag(stored_name(snapshot.image, store)))
            self._hold(snapshot)
        return {"image": snapshot.image, "size": snapshot.size}

    def import_snapshot(self, record: Mapping[str, Any], files: BinaryIO) -> ContainerSnapshot:
        image = str(record["image"])
        snapshot = DockerSnapshot(image, int(record["size"]), self._closed_snapshots, self._remove_snapshots)
        with engine_errors(f"the container engine has no snapshot {image}"):
            self._hold(snapshot)
        return snapshot

    def discard_export(self, record: Mapping[str, Any], store: str) -> None:
        _try_remove(partial(self.client.api.remove_image, stored_name(str(record["image"]), store)))

    def reap(self) -> int:
        api = self.client.api
        with engine_errors("the container engine cannot list its containers and images"):
            containers = api.containers(all=True, filters={"label": LABEL})
            volumes = (api.volumes(filters={"label": LABEL}) or {}).get("Volumes") or []
            networks = api.networks(filters={"label": LABEL})
            images = api.images(filters={"label": LABEL, "dangling": True})
            held = [name for image in api.images(name=IN_USE) for name in image["RepoTags"] or ()]
        removals = [partial(api.remove_container, each["Id"], force=True, v=True) for each in _abandoned(containers)]
        count = self._remove_rest() + _remove_all(removals)
        for volume in _abandoned(volumes):
            _try_remove(partial(api.remove_volume, volume["Name"], force=True))
        for network in _abandoned(networks):
            _try_remove(partial(api.remove_network, network["Id"]))
        for name in filter(is_abandoned, held):  # the image stays if it has other names
            _try_remove(partial(api.remove_image, name))
        for image in _abandoned(images):  # snapshots
            _try_remove(partial(api.remove_image, image["Id"]))
        for image in images:  # unnamed images of interrupted builds; a new one may get its name in a moment
            if image["Labels"].get(LABEL) == IMAGE and time.time() - image["Created"] > _BEING_BUILT:
                _try_remove(partial(api.remove_image, image["Id"]))
        return count

    def release_idle(self) -> None:
        if self._client is not None:
            self._client.close()  # close only idle connections; the next request opens new ones

    def reset_after_fork(self) -> None:
        self._client = None  # the connections belong to the parent
        self._begin()

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _begin(self) -> None:
        self._connecting = Lock()
        self._removing = Lock()
        self._owner = ContainerOwner.this_process()
        self._starting = BoundedSemaphore(_STARTS)
        self._bounds_disks = True  # assumed until the storage driver refuses
        self._containers: dict[str, DockerContainer] = {}
        self._unremoved: dict[str, BridgeNetwork | None] = {}
        self._closed_snapshots: set[str] = set()
        self._parents: dict[str, str] = {}  # of a snapshot, or its name, the image that it lies above
        self._disks = DiskWatch(self._measure)

    def _connected(self) -> DockerClient:
        import docker
        from docker.errors import DockerException
        from docker.utils import parse_host

        try:
            _reach(str(parse_host(self._url or os.environ.get("DOCKER_HOST"))))
            make = partial(docker.DockerClient, self._url) if self._url else docker.from_env
            client = make(timeout=_ANSWERS_IN)
            status = client.info().get("DriverStatus") or ()
        except (DockerException, OSError) as error:
            where = self._url or os.environ.get("DOCKER_HOST") or "the local socket"
            raise EngineError(
                f"no Docker engine answers at {where} ({error}); start one (Debian: apt install docker.io), "
                "or use engine='namespace'"
            ) from error
        # With images in containerd, Docker accepts a size limit for a container but ignores it.
        self._bounds_disks = not any("io.containerd.snapshotter" in str(value) for _, value in status)
        return client

    def _start_container(self, spec: ContainerSpec, disk: int, network: BridgeNetwork | None) -> Mapping[str, Any]:
        """Start a container and return the engine's description of it."""
        from docker.errors import APIError
        from docker.types import LogConfig, Ulimit

        containers, api, limits = self.client.containers, self.client.api, spec.limits
        options: dict[str, Any] = {"storage_opt": {"size": str(disk)}} if self._bounds_disks else {}
        bounds = self._bounds_disks
        if network is None:
            options["network_mode"] = "host" if limits.host_network else "none"
        else:
            endpoint = api.create_endpoint_config(aliases=list(spec.names))
            options |= {"network": network.name, "networking_config": {network.name: endpoint}}
        try:
            made = containers.create(
                spec.reference,
                ["sh", "-c", _WAIT],
                entrypoint=[],
                detach=True,
                stdin_open=True,
                stop_signal="SIGKILL",
                cap_drop=["ALL"],
                cap_add=list(CAPABILITIES),
                security_opt=["no-new-privileges"],
                nano_cpus=int(limits.cpus * 1e9),
                mem_limit=limits.memory,
                memswap_limit=limits.memory,
                pids_limit=limits.processes,
                shm_size=SHARED_MEMORY,
                log_config=LogConfig(type="none"),  # root could write past every limit
                # Until the watch notices, one file may fill the disk, but no more.
                ulimits=[Ulimit(name="fsize", soft=disk, hard=disk), Ulimit(name="core", soft=0, hard=0)],
                labels={LABEL: str(self._owner)},
                environment=dict(spec.environment),
                user="root",
                **options,
            )
        except APIError as error:
            if not bounds or "storage" not in str(error.explanation).lower():
                raise
            self._bounds_disks = False
            return self._start_container(spec, disk, network)
        identifier = str(made.id)
        try:
            api.start(identifier)
            description: Mapping[str, Any] = api.inspect_container(identifier)
        except BaseException:
            _try_remove(partial(api.remove_container, identifier, force=True, v=True))
            raise
        return description

    def _commit(self, container: str) -> ContainerSnapshot:
        api = self.client.api
        with engine_errors(f"container {container[:12]} gives no snapshot"):
            made = api.commit(container, changes=[f'LABEL {LABEL}="{self._owner}"'])["Id"]
            layers = api.history(made)  # type: ignore[no-untyped-call]  # the SDK has no types there
        if len(layers) > 1:
            self._parents[made] = layers[1]["Id"]
        return DockerSnapshot(made, layers[0]["Size"], self._closed_snapshots, self._remove_snapshots)

    def _hold(self, snapshot: DockerSnapshot) -> None:
        """Give an image a name of this process, so that it stays whatever other processes and stores remove."""
        name = f"{IN_USE}:{self._owner.short_name}-{secrets.token_hex(8)}"
        self.client.api.tag(snapshot.image, *repository_and_tag(name))
        snapshot.hold(name)
        if snapshot.image in self._parents:
            self._parents[name] = self._parents.pop(snapshot.image)

    def _remove_snapshots(self) -> None:
        """Remove the images of closed snapshots, or their names, that no container and no later snapshot needs."""
        while free := self._closed_snapshots - set(self._parents.values()):  # the last of a chain goes first
            removed = [image for image in free if _try_remove(partial(self.client.api.remove_image, image))]
            if not removed:
                break
            self._closed_snapshots.difference_update(removed)
            for image in removed:
                self._parents.pop(image, None)

    def _measure(self) -> dict[str, DiskUsage]:
        """Return the disk usage of each container, measured from its folders if they are on this machine."""
        containers = list(self._containers.values())
        folders = {container.id: container.folders for container in containers}
        if all(group and os.access(group[0], os.R_OK | os.X_OK) for group in folders.values()):
            nameless = unlinked({container.id: container.first for container in containers})
            return {name: DiskUsage(found.size + nameless[name], found.files) for name, found in du(folders).items()}
        with engine_errors("the container engine does not report disk usage"):
            listed = self.client.api.containers(filters={"label": f"{LABEL}={self._owner}"}, size=True)
        return {each["Id"]: DiskUsage(each.get("SizeRw") or 0) for each in listed}

    def _connect(self, container: DockerContainer) -> None:
        """Open the proxy of a container, refuse the addresses of the engine's machine, or warn that they are open."""
        try:
            closed = container.connect()
        except BaseException:
            container.remove()
            raise
        if not closed:
            warn_once(_OPEN_MACHINE)

    def _forget(self, container: DockerContainer, removed: bool) -> None:
        self._containers.pop(container.id, None)
        self._disks.remove(container)
        if not removed:
            self._unremoved[container.id] = container.network
        elif container.network is not None and not container.network.is_borrowed:
            _try_remove(partial(self.client.api.remove_network, container.network.id))
        if removed and self._closed_snapshots:
            self._remove_snapshots()

    def _remove_rest(self) -> int:
        """Remove the containers that an absent engine could not remove; return their number."""
        from docker.errors import NotFound

        count = 0
        for each, network in list(self._unremoved.items()):
            with suppress(EngineError), engine_errors(""):  # the engine is still gone
                with suppress(NotFound):
                    self.client.api.remove_container(each, force=True, v=True)
                    count += 1
                if network is not None and not network.is_borrowed:
                    _try_remove(partial(self.client.api.remove_network, network.id))
                self._unremoved.pop(each, None)
        return count

    def _remove_aside(self) -> None:
        try:
            self._remove_rest()
        finally:
            self._removing.release()


def _abandoned(labelled: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the containers or images whose owners have ended.

    A container that a person started from one of GEM's images carries the label of the image, and is kept.
    """
    labels = [(each, (each.get("Labels") or {}).get(LABEL, "")) for each in labelled]
    return [each for each, label in labels if label != IMAGE and not ContainerOwner.parse(label).is_alive()]


def _remove_all(removals: Iterable[Callable[[], object]]) -> int:
    """Run removals in parallel with a time limit, since an engine may hang; return the number of successes."""
    results: list[bool] = []
    threads = [Thread(target=lambda each=each: results.append(_try_remove(each)), daemon=True) for each in removals]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + _REAPS_IN
    for thread in threads:
        thread.join(max(deadline - time.monotonic(), 0.0))
    return sum(results)


def _try_remove(remove: Callable[[], object]) -> bool:
    """Run one removal. Returns False if the object is in use or another process removes it at this moment."""
    with suppress(EngineError), engine_errors(""):
        remove()
        return True
    return False


def _reach(address: str) -> None:
    """Raise OSError where no process listens on a Unix socket: the client would leave a socket of its own open then.

    Args:
        address: as ``docker.utils.parse_host`` returns it.
    """
    path = address.removeprefix("http+unix://")
    if path != address:
        with socket.socket(socket.AF_UNIX) as trial:
            trial.settimeout(_ANSWERS_IN)
            trial.connect(path)
