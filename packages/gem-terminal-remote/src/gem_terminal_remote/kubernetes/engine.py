"""Containers on a Kubernetes cluster, one pod for each task, for more containers than one machine can hold.

The tests use a server that implements the API and runs real containers. They have never used a real cluster.

Limits of a cluster: the manifest of a pod has no limit on processes, only the nodes have one (``podPidsLimit``); a pod
without network needs a network plugin that enforces network policies; and since version 1.28 with cgroups v2 the
kernel kills the whole container that exceeds its memory.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from gem_terminal.engines.base import Container, ContainerSpec, Engine, EngineInfo, ImageProcess, Progress
from gem_terminal.engines.owner import ContainerOwner
from gem_terminal.errors import EngineError
from gem_terminal.task import Image, ResourceLimits, SideCar
from gem_terminal_remote.kubernetes.container import (
    BACKOFF,
    CALL_SECONDS,
    RETRIES,
    Pod,
    SideCarOfPod,
    api_errors,
    said,
)
from gem_terminal_remote.kubernetes.images import published
from gem_terminal_remote.kubernetes.pods import (
    OWNER,
    POLICY,
    container_name,
    manifest,
    phase_of,
    policy,
    selector,
)

if TYPE_CHECKING:
    from kubernetes.client import ApiClient, CoreV1Api

    from gem_terminal.engines.docker.engine import DockerEngine

__all__ = ["KubernetesEngine"]

_HICCUPS = (429, 500, 502, 503, 504)
_CONNECTIONS = 64
_LONGEST_RUN = 24 * 3600


class KubernetesEngine(Engine):
    """Runs containers as pods of a cluster, through the official client.

    The extra brings it: ``pip install 'gem-terminal-remote[kubernetes]'``.

    Processes run as root unless the task names a user; the user of the image is ignored.

    Args:
        namespace: the namespace of the pods, which must allow the Pod Security Standard "baseline".
        context: the context of the kubeconfig; None for the current one.
        kubeconfig: the file; None for ``KUBECONFIG``, the default file, or the cluster of this pod.
        registry: the registry to which built images are pushed, and from which the cluster pulls them.
        builder: builds images from folders. Without registry and builder, a task must name its image.
        pod_overrides: merged into the manifest of each pod: ``{"spec": {"nodeSelector": …, "imagePullSecrets": …}}``.
        start_seconds: the time limit for starting a pod, including images and new nodes.
        run_seconds: the time after which the cluster ends a forgotten pod.
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
        self._owner = ContainerOwner.this_process()
        self._client: ApiClient | None = None
        self._connecting = Lock()
        self._preparing = Lock()
        self._published: dict[Image, str] = {}
        self._without_network = Lock()
        self._policy_is_there = False

    @property
    def client(self) -> ApiClient:
        """The connection to the cluster, opened on first use.

        Raises:
            EngineError: if the client is not installed, or no cluster is configured; the message gives the remedy.
        """
        with self._connecting:
            if self._client is None:
                self._client = self._connected()
            return self._client

    def _connected(self) -> ApiClient:
        try:
            from kubernetes import client, config
        except ImportError as error:
            raise EngineError(
                f"the Kubernetes engine needs the official client ({error}); "
                "run: pip install 'gem-terminal-remote[kubernetes]'"
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
        # Every call may be repeated: this process chooses the names, so an existing pod is its own.
        settings.retries = Retry(
            RETRIES,
            read=2,
            backoff_factor=BACKOFF,
            status_forcelist=_HICCUPS,
            allowed_methods=None,
            raise_on_status=False,
        )
        settings.connection_pool_maxsize = _CONNECTIONS
        return client.ApiClient(settings)

    @property
    def core(self) -> CoreV1Api:
        """The API's calls for pods."""
        client = self.client  # raises an error with installation instructions if the library is missing
        from kubernetes.client import CoreV1Api

        return CoreV1Api(client)

    def check(self) -> None:
        api = self.core
        with api_errors(f"the cluster at {self.client.configuration.host} cannot list the pods of {self._namespace}"):
            api.list_namespaced_pod(self._namespace, limit=1, _request_timeout=CALL_SECONDS)

    def about(self) -> EngineInfo:
        client = self.client
        from kubernetes.client import VersionApi

        with api_errors(f"the cluster at {client.configuration.host} does not answer"):
            version = VersionApi(client).get_code(_request_timeout=CALL_SECONDS)
        # The API does not tell whether network policies are enforced.
        bounds = {"memory": True, "pids": False, "cpu": True, "disk": True, "network": False}
        return EngineInfo(str(version.git_version), bounds)

    def prepare(self, image: Image, progress: Progress | None = None) -> str:
        if image.name is not None:
            return image.name
        if self._registry is None or self._builder is None:
            raise EngineError(
                f"the image of {image.folder} must be built and pushed for the cluster; give KubernetesEngine "
                "registry='…' and builder=DockerEngine(), or name an image in the task"
            )
        with self._preparing:
            if image not in self._published:
                self._published[image] = published(self._builder, image, self._registry, progress)
            return self._published[image]

    def start(self, reference: str, limits: ResourceLimits, environment: Mapping[str, str] | None = None) -> Container:
        return self._start(ContainerSpec(reference, limits, environment or {}))

    def check_side_cars(self, side_cars: Sequence[SideCar]) -> None:
        pass  # what differs from image to image, start and image_process find out

    def start_first(self, spec: ContainerSpec, names: Sequence[str], beside: Sequence[ContainerSpec] = ()) -> Container:
        return self._start(spec, names, beside)

    def start_beside(self, first: Container, spec: ContainerSpec, names: Sequence[str]) -> Container:
        assert isinstance(first, Pod)
        return SideCarOfPod(first, spec.names[0])  # it waits since the pod runs

    def image_process(self, reference: str) -> ImageProcess:
        """Return the process of an image as the builder knows it; without a builder, services must name commands."""
        if self._builder is None:
            return ImageProcess()
        image = next((image for image, name in self._published.items() if name == reference), Image(name=reference))
        return self._builder.image_process(self._builder.prepare(image))

    def _start(self, spec: ContainerSpec, names: Sequence[str] = (), beside: Sequence[ContainerSpec] = ()) -> Container:
        reference, limits = spec.reference, spec.limits
        if limits.is_filtered or limits.host_network:
            raise EngineError(
                "the kubernetes engine gives a pod neither a network of listed hosts nor that of its node; use docker "
                "or namespace, or pass network=True or False"
            )
        name = f"gem-{secrets.token_hex(10)}"
        pod = manifest(name, (spec, *beside), self._owner, self._run_seconds, self._overrides, names)
        containers = {each.names[0]: container_name(number) for number, each in enumerate(beside, 1)}
        container = Pod(self.core, self._namespace, name, containers)
        try:
            if not limits.network:
                self._deny_network()
            with api_errors(f"the cluster rejects the pod for {reference}", but=409):
                self.core.create_namespaced_pod(self._namespace, pod, _request_timeout=CALL_SECONDS)
            self._wait_until_it_runs(name, reference)
        except BaseException:
            container.remove()
            raise
        return container

    def reap(self) -> int:
        count = 0
        with api_errors("the pods of the cluster cannot be listed"):
            pods = self.core.list_namespaced_pod(
                self._namespace, label_selector=selector(self._owner), _request_timeout=CALL_SECONDS
            )
        for pod in pods.items:
            if not ContainerOwner.parse((pod.metadata.annotations or {}).get(OWNER, "")).is_alive():
                Pod(self.core, self._namespace, pod.metadata.name).remove()
                count += 1
        return count

    def reset_after_fork(self) -> None:
        self._client = None  # the connections belong to the parent
        self._owner = ContainerOwner.this_process()
        self._connecting, self._preparing, self._without_network = Lock(), Lock(), Lock()

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _deny_network(self) -> None:
        """Create the network policy of pods without network, unless it exists.

        Raises:
            EngineError: if the policy cannot be created, or exists and allows traffic.
        """
        from kubernetes.client import NetworkingV1Api

        with self._without_network:
            if self._policy_is_there:
                return
            api = NetworkingV1Api(self.client)
            with api_errors(f"the network policy {POLICY} of namespace {self._namespace} cannot be made", but=409):
                api.create_namespaced_network_policy(self._namespace, policy(), _request_timeout=CALL_SECONDS)
            with api_errors(f"the network policy {POLICY} of namespace {self._namespace} cannot be read"):
                found = api.read_namespaced_network_policy(POLICY, self._namespace, _request_timeout=CALL_SECONDS)
            if found.spec.ingress or found.spec.egress or set(found.spec.policy_types) != {"Ingress", "Egress"}:
                raise EngineError(
                    f"the network policy {POLICY} of namespace {self._namespace} allows traffic; delete it, "
                    "and GEM creates it again"
                )
            self._policy_is_there = True

    def _wait_until_it_runs(self, name: str, reference: str) -> None:
        from kubernetes.client import ApiException
        from kubernetes.watch import Watch
        from urllib3.exceptions import MaxRetryError, ProtocolError, ReadTimeoutError

        deadline, waits = time.monotonic() + self._start_seconds, ""
        while (left := deadline - time.monotonic()) > 0:
            try:
                with api_errors(
                    f"pod {name} cannot be watched", passing=(ProtocolError, ReadTimeoutError, ApiException)
                ):
                    for event in Watch("object").stream(
                        self.core.list_namespaced_pod,
                        self._namespace,
                        field_selector=f"metadata.name={name}",
                        timeout_seconds=max(int(left), 1),
                        _request_timeout=(min(left, CALL_SECONDS), left + BACKOFF),
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
                if error.status != 410:  # the watch has expired; start another one
                    raise EngineError(f"pod {name} cannot be watched: {said(error)}") from error
            except MaxRetryError as error:
                raise EngineError(f"pod {name} cannot be watched: {error}") from error
            time.sleep(min(BACKOFF, max(deadline - time.monotonic(), 0.0)))
        raise EngineError(
            f"pod {name} of {reference} did not start within {self._start_seconds:g} seconds: "
            f"{waits or 'the cluster reports nothing about it'}"
        )


def _inside_a_cluster() -> bool:
    """Return whether this process runs in a pod and there is no kubeconfig."""
    usual = os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    return "KUBERNETES_SERVICE_HOST" in os.environ and not Path(usual).exists()
