"""Containers on a Kubernetes cluster, for those who have outgrown one machine: one pod for each.

It is tested against a server of ours that speaks the API and runs real containers, never on a real cluster.

What a cluster does not do: there is no limit on the processes of a pod in its manifest, only ``podPidsLimit`` of the
nodes; a pod without network relies on a network plugin that enforces network policies; and since version 1.28 with
cgroups v2 a container that runs out of memory may be killed whole.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from gem_terminal.engines.base import Container, Engine, EngineInfo, Progress
from gem_terminal.engines.kubernetes.container import BACKOFF, CALL_SECONDS, RETRIES, Pod, asking, said
from gem_terminal.engines.kubernetes.images import published
from gem_terminal.engines.kubernetes.pods import (
    OWNER,
    POLICY,
    manifest,
    phase_of,
    policy,
    selector,
)
from gem_terminal.engines.owner import ContainerOwner
from gem_terminal.errors import EngineError
from gem_terminal.task import Image, ResourceLimits

if TYPE_CHECKING:
    from kubernetes.client import ApiClient, CoreV1Api

    from gem_terminal.engines.docker.engine import DockerEngine

__all__ = ["KubernetesEngine"]

_HICCUPS = (429, 500, 502, 503, 504)
_CONNECTIONS = 64
_LONGEST_RUN = 24 * 3600


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
        self._owner = ContainerOwner.this_process()
        self._client: ApiClient | None = None
        self._connecting = Lock()
        self._preparing = Lock()
        self._published: dict[Image, str] = {}
        self._without_network = Lock()
        self._policy_is_there = False

    @property
    def client(self) -> ApiClient:
        """The connection to the cluster, made on first use.

        Raises:
            EngineError: if the client is not installed, or no cluster is configured; the message says what to do.
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
        """The calls that concern pods."""
        client = self.client  # which says what to install, where the library is missing
        from kubernetes.client import CoreV1Api

        return CoreV1Api(client)

    def check(self) -> None:
        api = self.core
        with asking(f"the cluster at {self.client.configuration.host} lists no pods in namespace {self._namespace}"):
            api.list_namespaced_pod(self._namespace, limit=1, _request_timeout=CALL_SECONDS)

    def about(self) -> EngineInfo:
        client = self.client
        from kubernetes.client import VersionApi

        with asking(f"the cluster at {client.configuration.host} does not answer"):
            version = VersionApi(client).get_code(_request_timeout=CALL_SECONDS)
        # Whether network policies are enforced cannot be asked.
        bounds = {"memory": True, "pids": False, "cpu": True, "disk": True, "network": False}
        return EngineInfo(str(version.git_version), bounds)

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

    def start(self, reference: str, limits: ResourceLimits, environment: Mapping[str, str] | None = None) -> Container:
        name = f"gem-{secrets.token_hex(10)}"
        pod = manifest(
            name, reference, limits, environment or {}, self._owner, self._run_seconds, self._overrides
        )  # fmt: skip
        container = Pod(self.core, self._namespace, name)
        try:
            if not limits.network:
                self._deny_network()
            with asking(f"the cluster takes no pod for {reference}", but=409):
                self.core.create_namespaced_pod(self._namespace, pod, _request_timeout=CALL_SECONDS)
            self._wait_until_it_runs(name, reference)
        except BaseException:
            container.remove()
            raise
        return container

    def reap(self) -> int:
        count = 0
        with asking("the pods of the cluster cannot be listed"):
            pods = self.core.list_namespaced_pod(
                self._namespace, label_selector=selector(self._owner), _request_timeout=CALL_SECONDS
            )
        for pod in pods.items:
            if not ContainerOwner.parse((pod.metadata.annotations or {}).get(OWNER, "")).is_alive():
                Pod(self.core, self._namespace, pod.metadata.name).remove()
                count += 1
        return count

    def begin_anew(self) -> None:
        self._client = None  # whose connections are the parent's
        self._owner = ContainerOwner.this_process()
        self._connecting, self._preparing, self._without_network = Lock(), Lock(), Lock()

    def close(self) -> None:
        client, self._client = self._client, None
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
            with asking(f"the network policy {POLICY} of namespace {self._namespace} cannot be made", but=409):
                api.create_namespaced_network_policy(self._namespace, policy(), _request_timeout=CALL_SECONDS)
            with asking(f"the network policy {POLICY} of namespace {self._namespace} cannot be read"):
                found = api.read_namespaced_network_policy(POLICY, self._namespace, _request_timeout=CALL_SECONDS)
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
                with asking(f"pod {name} cannot be watched", passing=(ProtocolError, ReadTimeoutError, ApiException)):
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
                if error.status != 410:  # the watch is too old, and begins anew
                    raise EngineError(f"pod {name} cannot be watched: {said(error)}") from error
            except MaxRetryError as error:
                raise EngineError(f"pod {name} cannot be watched: {error}") from error
            time.sleep(min(BACKOFF, max(deadline - time.monotonic(), 0.0)))
        raise EngineError(
            f"pod {name} of {reference} did not start within {self._start_seconds:g} seconds: "
            f"{waits or 'there is no word of it'}"
        )


def _inside_a_cluster() -> bool:
    """Tell whether this runs in a pod and no kubeconfig says otherwise."""
    usual = os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    return "KUBERNETES_SERVICE_HOST" in os.environ and not Path(usual).exists()
