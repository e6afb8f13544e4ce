"""The manifests and the phases of pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gem_terminal.engines.base import ContainerSpec
from gem_terminal.engines.container_defaults import CAPABILITIES
from gem_terminal.engines.owner import ContainerOwner
from gem_terminal.errors import EngineError

__all__ = ["CONTAINER", "OWNER", "POLICY", "PodPhase", "manifest", "phase_of", "policy", "selector"]

CONTAINER = "task"
"""The name of the agent's container in a pod."""

OWNER = "gem.terminal/owner"
"""The annotation that names the process a pod belongs to; a label could not hold it."""

POLICY = "gem-terminal-no-network"
_LABEL, _HOST, _NETWORK = "gem.terminal", "gem.terminal/host", "gem.terminal/network"
_WAIT = "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"
"""The first process: it waits, reaps orphans, and is the only process that kill(-1) spares."""

_HOPELESS = frozenset(
    ("CreateContainerConfigError", "CreateContainerError", "ErrImageNeverPull", "ImageInspectError", "ImagePullBackOff",
     "InvalidImageName", "RegistryUnavailable", "RunContainerError")
)  # fmt: skip
"""The waiting reasons of a container that more time does not change."""


def selector(owner: ContainerOwner) -> str:
    """Return the label selector of all pods that processes of this machine created."""
    return f"{_LABEL}=pod,{_HOST}={owner.machine}"


def container_name(number: int) -> str:
    """Return the name of a pod's container; a compose file allows names of services that none may have."""
    return f"beside-{number}" if number else CONTAINER


def manifest(
    name: str,
    containers: Sequence[ContainerSpec],
    owner: ContainerOwner,
    seconds: int,
    overrides: Mapping[str, Any],
    names: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the manifest of a pod.

    Args:
        name: the name of the pod.
        containers: its containers, which all wait. A pod has no limit on processes; only the nodes have one.
        owner: the process that owns the pod.
        seconds: the time after which the cluster ends a forgotten pod.
        overrides: merged into the manifest, mappings key by key; ``spec.containers`` takes a list with one
            mapping, which every container gets.
        names: the names by which the containers of the pod reach each other; they share its network.
    """
    network = "any" if containers[0].limits.network else "none"
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {_LABEL: "pod", _HOST: owner.machine, _NETWORK: network},
            "annotations": {OWNER: str(owner)},
        },
        "spec": {
            "hostname": name,
            "containers": [_container(container_name(number), each) for number, each in enumerate(containers)],
            **({"hostAliases": [{"ip": "127.0.0.1", "hostnames": [*names]}]} if names else {}),
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "activeDeadlineSeconds": seconds,
            "terminationGracePeriodSeconds": 0,
        },
    }
    return _merged(pod, overrides)


def _container(name: str, spec: ContainerSpec) -> dict[str, Any]:
    limits = spec.limits
    resources = {"cpu": f"{max(int(limits.cpus * 1000), 1)}m", "memory": str(limits.memory)}
    disk = {} if limits.disk is None else {"ephemeral-storage": str(limits.disk)}
    return {
        "name": name,
        "image": spec.reference,
        "command": ["/bin/sh", "-c", _literal(_WAIT)],
        "env": [{"name": key, "value": _literal(value)} for key, value in spec.environment.items()],
        "resources": {"limits": {**resources, **disk}, "requests": resources},
        "securityContext": {
            "runAsUser": 0,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"], "add": list(CAPABILITIES)},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }


def policy() -> dict[str, Any]:
    """Return the network policy that blocks all traffic of pods whose tasks have no network."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": POLICY, "labels": {_LABEL: "policy"}},
        "spec": {"podSelector": {"matchLabels": {_NETWORK: "none"}}, "policyTypes": ["Ingress", "Egress"]},
    }


class PodPhase:
    """The phase of a pod.

    Args:
        running: whether its containers run.
        failed: the reason why it can never run; empty if it may still start.
        waits: the reason why it waits.
    """

    def __init__(self, running: bool = False, failed: str = "", waits: str = "") -> None:
        self.running = running
        self.failed = failed
        self.waits = waits


def phase_of(pod: Mapping[str, Any]) -> PodPhase:
    """Read the status of a pod from the API's JSON."""
    status = pod.get("status") or {}
    expected = {container.get("name") for container in (pod.get("spec") or {}).get("containers") or ()} or {CONTAINER}
    states = {
        container.get("name"): container.get("state") or {}
        for container in status.get("containerStatuses") or ()
        if container.get("name") in expected
    }
    ended = next((state["terminated"] for state in states.values() if "terminated" in state), None)
    if pod.get("metadata", {}).get("deletionTimestamp"):
        return PodPhase(failed="it is being deleted")
    if status.get("phase") in ("Failed", "Succeeded") or ended is not None:
        return PodPhase(failed=_told(ended) or _told(status) or f"it has {status.get('phase')}")
    if states.keys() == expected and all("running" in state for state in states.values()):
        return PodPhase(running=True)
    waiting: Mapping[str, Any] = {}
    for state in states.values():
        waiting = state.get("waiting") or waiting
        if waiting.get("reason") in _HOPELESS:
            return PodPhase(failed=_told(waiting))
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return PodPhase(waits=_told(condition))
    return PodPhase(waits=_told(waiting) or f"it is {status.get('phase') or 'not scheduled to a node'}")


def _told(state: Mapping[str, Any] | None) -> str:
    parts = (str(state[key]) for key in ("reason", "message") if state.get(key)) if state else ()
    return ": ".join(parts)


def _literal(text: str) -> str:
    """Keep the cluster from expanding ``$(NAME)``; it reads ``$$`` as a dollar sign."""
    return text.replace("$", "$$")


def _merged(ours: dict[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(ours)
    for key, value in theirs.items():
        mine = merged.get(key)
        if key == "containers" and isinstance(mine, list):
            if not (isinstance(value, list) and len(value) == 1 and isinstance(value[0], Mapping)):
                raise EngineError("pod_overrides has in spec.containers a list with one mapping, for every container")
            merged[key] = [_merged(each, value[0]) for each in mine]
        elif isinstance(value, Mapping) and isinstance(mine, dict):
            merged[key] = _merged(mine, value)
        else:
            merged[key] = value
    return merged
