"""Containers on a Kubernetes cluster, for those who have outgrown one machine: one pod for each.

It is tested against a server of ours that speaks the API and runs real containers, never on a real cluster.

What a cluster does not do: there is no limit on the processes of a pod in its manifest, only ``podPidsLimit`` of the
nodes; a pod without network relies on a network plugin that enforces network policies; and since version 1.28 with
cgroups v2 a container that runs out of memory may be killed whole.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import TYPE_CHECKING, Any

from gem_terminal.engines.base import About, Channel, Container, Engine, Progress
from gem_terminal.engines.kubernetes_channel import ExecChannel, command_line
from gem_terminal.engines.kubernetes_images import published
from gem_terminal.engines.kubernetes_pods import (
    CONTAINER,
    OWNER,
    POLICY,
    manifest,
    phase_of,
    policy,
    selector,
)
from gem_terminal.engines.owners import Owner
from gem_terminal.errors import EngineError
from gem_terminal.task import Image, Limits

if TYPE_CHECKING:
    from kubernetes.client import ApiClient, CoreV1Api

    from gem_terminal.engines.docker import DockerEngine

__all__ = ["KubernetesEngine"]

_CALL_SECONDS = 30.0
_RETRIES = 4
_BACKOFF = 0.2
"""Seconds before the first retry; each further one waits twice as long."""

_HICCUPS = (429, 500, 502, 503, 504)
_CONNECTIONS = 64
_LONGEST_RUN = 24 * 3600
_FILE_SECONDS = 600.0
_QUIET_SECONDS = 60.0

# $1: the folder, $2: bytes of the archive. tar would read until the input is closed, which version 4 of the protocol
# cannot do, so head ends it.
_UNPACK = r"""
if command -v tar >/dev/null; then head -c "$2" | tar -x -p -f - --numeric-owner -C "$1"
elif command -v python3 >/dev/null; then head -c "$2" | python3 -I -c '
import sys, tarfile
safely = {"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}
tarfile.open(fileobj=sys.stdin.buffer, mode="r|").extractall(sys.argv[1], **safely)' "$1"
else echo "the image has neither tar nor python3"; exit 1
fi
"""

# $1: the folder that it is in, $2: its name, $3: bytes that may come. 44: there is no such thing; 45: no program.
_PACK = r"""
cd -- "$1" 2>/dev/null || exit 44
[ -e "./$2" ] || [ -L "./$2" ] || exit 44
if command -v tar >/dev/null; then tar -c -f - --numeric-owner -- "$2" 2>/dev/null
elif command -v python3 >/dev/null; then python3 -I -c '
import sys, tarfile
with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as archive: archive.add(sys.argv[1])' "$2" 2>/dev/null
else exit 45
fi | head -c "$3"
"""
_MISSING, _NO_PROGRAM = 44, 45
_END_OF_ARCHIVE = bytes(1024)


class KubernetesEngine(Engine):
    """Runs containers as pods of a cluster, through the official client (``pip install 'gem-terminal[kubernetes]'``).

    A process runs as root where nothing else is asked for, whatever user the image names.

    Args:
        namespace: of the pods; it has to let its pods run as root, with capabilities as its standard "baseline" has it.
        context: of the kubeconfig; None for its current one.
        kubeconfig: the file; None for what ``KUBECONFIG`` says, or the usual one, or the cluster that this runs in.
        registry: where images that are built are pushed to, and the cluster fetches them from.
        builder: builds images from folders. Without registry and builder there are only images that have a name.
        pod_overrides: merged into the manifest of each pod: ``{"spec": {"nodeSelector": …, "imagePullSecrets": …}}``.
        start_seconds: that a pod may take to run, images and new nodes included.
        run_seconds: after which the cluster ends a pod that everybody has forgotten.
    """

    name = "kubernetes"

    def __init__(
        self,
        namespace: str = "default",
        context: str | None = None,
        kubeconfig: str | Path | None = None,
        registry: str | None = None,
        builder: DockerEngine | None = None,
        pod_overrides: Mapping[str, Any] | None = None,
        start_seconds: float = 300.0,
        run_seconds: int = _LONGEST_RUN,
    ) -> None:
        self._namespace = namespace
        self._context = context
        self._kubeconfig = None if kubeconfig is None else str(kubeconfig)
        self._registry = registry
        self._builder = builder
        self._overrides = dict(pod_overrides or {})
        self._start_seconds = start_seconds
        self._run_seconds = run_seconds
        self._owner = Owner.this_process()
        self._preparing = Lock()
        self._published: dict[Image, str] = {}
        self._without_network = Lock()
        self._policy_is_there = False

    @cached_property
    def client(self) -> ApiClient:
        """The connection to the cluster, made on first use.

        Raises:
            EngineError: if the client is not installed, or no cluster is configured; the message says what to do.
        """
        try:
            from kubernetes import client, config
        except ImportError as error:
            raise EngineError(
                f"the Kubernetes engine needs the official client ({error}); pip install 'gem-terminal[kubernetes]'"
            ) from error
        from urllib3 import Retry

        settings = client.Configuration()
        try:
            if self._kubeconfig is None and self._context is None and _inside_a_cluster():
                config.load_incluster_config(client_configuration=settings)
            else:
                config.load_kube_config(self._kubeconfig, self._context, client_configuration=settings)
        except (config.ConfigException, OSError) as error:
            tried = self._kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
            raise EngineError(
                f"no Kubernetes cluster is configured: {error} (tried {tried}); set KUBECONFIG, or pass kubeconfig= "
                "and context="
            ) from error
        # Every call can be made twice: names are chosen here, so a pod that is there already is ours.
        settings.retries = Retry(
            _RETRIES, backoff_factor=_BACKOFF, status_forcelist=_HICCUPS, allowed_methods=None, raise_on_status=False
        )
        settings.connection_pool_maxsize = _CONNECTIONS
        return client.ApiClient(settings)

    @property
    def core(self) -> CoreV1Api:
        """The calls that concern pods."""
        from kubernetes.client import CoreV1Api

        return CoreV1Api(self.client)

    def check(self) -> None:
        api = self.core
        with _asking(f"the cluster at {self.client.configuration.host} lists no pods in namespace {self._namespace}"):
            api.list_namespaced_pod(self._namespace, limit=1, _request_timeout=_CALL_SECONDS)

    def about(self) -> About:
        client = self.client
        from kubernetes.client import VersionApi

        with _asking(f"the cluster at {client.configuration.host} does not answer"):
            version = VersionApi(client).get_code(_request_timeout=_CALL_SECONDS)
        # Whether network policies are enforced cannot be asked.
        bounds = {"memory": True, "pids": False, "cpu": True, "disk": True, "network": False}
        return About(str(version.git_version), bounds)

    def prepare(self, image: Image, progress: Progress | None = None) -> str:
        if image.name is not None:
            return image.name
        if self._registry is None or self._builder is None:
            raise EngineError(
                f"the image of {image.folder} has to be built and pushed for the cluster; give KubernetesEngine "
                "registry='…' and builder=DockerEngine(), or name an image in the task"
            )
        with self._preparing:
            if image not in self._published:
                self._published[image] = published(self._builder, image, self._registry, progress)
            return self._published[image]

    def start(self, reference: str, limits: Limits, environment: Mapping[str, str] | None = None) -> Container:
        name = f"gem-{secrets.token_hex(10)}"
        pod = manifest(
            name, reference, limits, environment or {}, self._owner, self._run_seconds, self._overrides
        )  # fmt: skip
        container = _Pod(self.core, self._namespace, name)
        try:
            if not limits.network:
                self._deny_network()
            with _asking(f"the cluster takes no pod for {reference}", but=409):
                self.core.create_namespaced_pod(self._namespace, pod, _request_timeout=_CALL_SECONDS)
            self._wait_until_it_runs(name, reference)
        except BaseException:
            container.remove()
            raise
        return container

    def reap(self) -> int:
        count = 0
        with _asking("the pods of the cluster cannot be listed"):
            pods = self.core.list_namespaced_pod(
                self._namespace, label_selector=selector(self._owner), _request_timeout=_CALL_SECONDS
            )
        for pod in pods.items:
            if not Owner.parse((pod.metadata.annotations or {}).get(OWNER, "")).is_alive():
                _Pod(self.core, self._namespace, pod.metadata.name).remove()
                count += 1
        return count

    def begin_anew(self) -> None:
        self.__dict__.pop("client", None)  # whose connections are the parent's
        self._owner = Owner.this_process()
        self._preparing, self._without_network = Lock(), Lock()

    def close(self) -> None:
        client = self.__dict__.pop("client", None)
        if client is not None:
            client.close()

    def _deny_network(self) -> None:
        """Make sure that the policy is there that pods without network rely on.

        Raises:
            EngineError: if it cannot be made, or is there and lets something through.
        """
        from kubernetes.client import NetworkingV1Api

        with self._without_network:
            if self._policy_is_there:
                return
            api = NetworkingV1Api(self.client)
            with _asking(f"the network policy {POLICY} of namespace {self._namespace} cannot be made", but=409):
                api.create_namespaced_network_policy(self._namespace, policy(), _request_timeout=_CALL_SECONDS)
            with _asking(f"the network policy {POLICY} of namespace {self._namespace} cannot be read"):
                found = api.read_namespaced_network_policy(POLICY, self._namespace, _request_timeout=_CALL_SECONDS)
            if found.spec.ingress or found.spec.egress or set(found.spec.policy_types) != {"Ingress", "Egress"}:
                raise EngineError(
                    f"the network policy {POLICY} of namespace {self._namespace} lets something through; delete it, "
                    "and it is made anew"
                )
            self._policy_is_there = True

    def _wait_until_it_runs(self, name: str, reference: str) -> None:
        from kubernetes.client import ApiException
        from kubernetes.watch import Watch
        from urllib3.exceptions import MaxRetryError, ProtocolError, ReadTimeoutError

        deadline, waits = time.monotonic() + self._start_seconds, ""
        while (left := deadline - time.monotonic()) > 0:
            try:
                with _asking(f"pod {name} cannot be watched", passing=(ProtocolError, ReadTimeoutError, ApiException)):
                    for event in Watch().stream(
                        self.core.list_namespaced_pod,
                        self._namespace,
                        field_selector=f"metadata.name={name}",
                        timeout_seconds=max(int(left), 1),
                        _request_timeout=(min(left, _CALL_SECONDS), left + _BACKOFF),
                    ):
                        phase = phase_of(event["raw_object"])
                        if event["type"] == "DELETED":
                            raise EngineError(f"pod {name} of {reference} was deleted before it ran")
                        if phase.failed:
                            raise EngineError(f"pod {name} of {reference} does not start: {phase.failed}")
                        if phase.running:
                            return
                        waits = phase.waits
            except (ProtocolError, ReadTimeoutError):
                pass
            except ApiException as error:
                if error.status != 410:  # the watch is too old, and begins anew
                    raise EngineError(f"pod {name} cannot be watched: {_said(error)}") from error
            except MaxRetryError as error:
                raise EngineError(f"pod {name} cannot be watched: {error}") from error
            time.sleep(min(_BACKOFF, max(deadline - time.monotonic(), 0.0)))
        raise EngineError(
            f"pod {name} of {reference} did not start within {self._start_seconds:g} seconds: "
            f"{waits or 'there is no word of it'}"
        )


class _Pod(Container):
    def __init__(self, api: CoreV1Api, namespace: str, name: str) -> None:
        self.id = name
        self._api = api
        self._namespace = namespace
        self._removed = False

    def open(
        self,
        command: Iterable[str],
        *,
        terminal: bool = False,
        user: str | None = None,
        environment: Mapping[str, str] | None = None,
        workdir: str | None = None,
    ) -> Channel:
        return self._execute(
            command_line(command, user=user, environment=environment, workdir=workdir), terminal=terminal
        )

    def put(self, archive: bytes, folder: str) -> None:
        done = self.run(
            ("/bin/sh", "-c", _UNPACK, "sh", folder, str(len(archive))), seconds=_FILE_SECONDS, stdin=archive
        )
        if done.exit_code != 0:
            raise EngineError(f"pod {self.id} takes no files: {done.output[-300:].decode(errors='replace').strip()}")

    def get(self, path: str, *, most: int = 1 << 30) -> bytes | None:
        place = PurePosixPath("/") / path
        channel = self.open(("/bin/sh", "-c", _PACK, "sh", str(place.parent), place.name or ".", str(most + 1)))
        archive = bytearray()
        try:
            while (data := channel.read(_QUIET_SECONDS)) is not None:
                if not data:
                    raise EngineError(f"pod {self.id} gives no more of {path} for {_QUIET_SECONDS:g} seconds")
                archive += data
                if len(archive) > most:
                    raise EngineError(f"{path} of pod {self.id} is larger than {most} bytes")
            code = channel.exit_code(0.0)
        finally:
            channel.close()
        if code == _MISSING:
            return None
        if code == _NO_PROGRAM:
            raise EngineError(f"pod {self.id} gives no files: the image has neither tar nor python3")
        if not archive.endswith(_END_OF_ARCHIVE):
            raise EngineError(f"{path} of pod {self.id} changed while it was read")
        return bytes(archive)

    def kill_all(self) -> None:
        # Where processes have used up all that the pod may have, this one waits for its turn.
        for attempt in range(_RETRIES + 1):
            try:
                channel = self._execute(["/bin/sh", "-c", "kill -9 -1"], terminal=False)
                with _closing(channel):
                    if channel.exit_code(_CALL_SECONDS) == 0:
                        return
            except EngineError:
                if attempt == _RETRIES:
                    raise
            time.sleep(_BACKOFF * 2**attempt)
        raise EngineError(f"the processes of pod {self.id} cannot be killed")

    def remove(self) -> None:
        from kubernetes.client import ApiException
        from urllib3.exceptions import HTTPError

        if self._removed:
            return
        try:
            self._api.delete_namespaced_pod(
                self.id,
                self._namespace,
                grace_period_seconds=0,
                _request_timeout=_CALL_SECONDS,
            )
        except (ApiException, HTTPError, OSError) as error:  # gone, or the API is: the reaper looks again
            self._removed = getattr(error, "status", None) == 404
        else:
            self._removed = True

    def _execute(self, line: list[str], *, terminal: bool) -> ExecChannel:
        """Start a process. It is tried again only where it certainly has not begun."""
        from kubernetes.client import ApiClient, ApiException, CoreV1Api
        from kubernetes.stream import stream

        for attempt in range(_RETRIES + 1):
            # The library changes the client that it connects with, so it gets one of its own.
            api = CoreV1Api(ApiClient(self._api.api_client.configuration))
            try:
                connected = stream(
                    api.connect_get_namespaced_pod_exec, self.id, self._namespace, container=CONTAINER, command=line,
                    stdin=True, stdout=True, stderr=not terminal, tty=terminal, binary=True, _preload_content=False,
                )  # fmt: skip
                return ExecChannel(connected, self.id)
            except ApiException as error:
                cause = error.__context__
                refused = isinstance(cause, ConnectionRefusedError) or getattr(cause, "status_code", None) == 429
                if not refused or attempt == _RETRIES:
                    raise EngineError(f"pod {self.id} runs no command: {_said(error)}") from error
            time.sleep(_BACKOFF * 2**attempt)
        raise AssertionError("the last attempt returns or raises")


@contextmanager
def _asking(what: str, but: int | None = None, passing: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Let whatever the client raises become an EngineError.

    Args:
        what: what could not be done, for the message.
        but: a status that is no failure.
        passing: what goes through as it is.
    """
    from kubernetes.client import ApiException
    from urllib3.exceptions import HTTPError

    try:
        yield
    except passing:
        raise
    except ApiException as error:
        if error.status != but:
            raise EngineError(f"{what}: {_said(error)}") from error
    except (HTTPError, OSError, ValueError) as error:  # ValueError: the client's own validation
        raise EngineError(f"{what}: {error}") from error


@contextmanager
def _closing(channel: Channel) -> Iterator[None]:
    try:
        yield
    finally:
        channel.close()


def _said(error: Any) -> str:
    """Return the sentence in an answer of the API: that of its Status, or what the client makes of it."""
    cause = error.__context__
    bodies: tuple[Any, Any] = (error.body, getattr(cause, "resp_body", None))
    for body in bodies:
        with suppress(ValueError, TypeError, AttributeError, KeyError):
            return str(json.loads(body)["message"])
    return str(cause or f"{error.status} {error.reason}")


def _inside_a_cluster() -> bool:
    """Tell whether this runs in a pod and no kubeconfig says otherwise."""
    usual = os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    return "KUBERNETES_SERVICE_HOST" in os.environ and not Path(usual).exists()
