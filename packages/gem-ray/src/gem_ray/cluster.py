"""The connection to a Ray cluster, and its errors in the words of GEM."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import ray

from gem.errors import ArgumentError, VectorError

__all__ = ["actor_class", "connect", "describe_resources"]


def connect(address: str | None) -> None:
    """Connect this process to a Ray cluster, unless it is connected.

    Args:
        address: as in ``ray.init``. None stands for the cluster that ``RAY_ADDRESS`` names, or one that runs on this
            machine, or else a new one, which ends with this process, has no dashboard and reports nothing.

    Raises:
        VectorError: if there is no such cluster, or it refuses the connection.
    """
    if ray.is_initialized():
        return
    # Only a cluster that begins here reads it; whoever starts another decides there.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray.init(address=address, log_to_driver=False, include_dashboard=None if address else False)
    except Exception as error:  # Ray raises many kinds, the bare Exception among them
        if address is None and "RAY_ADDRESS" not in os.environ:
            raise VectorError(
                f"cannot find or start a Ray cluster: {error}; on a busy machine, start one with ray start --head, and "
                "name it by address= or RAY_ADDRESS"
            ) from error
        where = f"the Ray cluster at {address or os.environ['RAY_ADDRESS']!r}"
        raise VectorError(
            f"cannot connect to {where}: {error}; check the address, and that RAY_AUTH_MODE and RAY_AUTH_TOKEN are "
            "those of the cluster"
        ) from error


def actor_class(cls: type, options: Mapping[str, Any], **defaults: Any) -> Any:
    """Return a class as a Ray actor class with these options.

    Raises:
        ArgumentError: if Ray knows no such option, or not this value.
    """
    try:
        return ray.remote(cls).options(**{**defaults, **options})
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"options of a Ray actor: {error}; got {dict(options)}") from error


def describe_resources(options: Mapping[str, Any]) -> str:
    """Return what an actor with these options needs, and what the cluster has."""
    needed = {
        "CPU": options.get("num_cpus", 0),
        "GPU": options.get("num_gpus", 0),
        "memory": options.get("memory", 0),
        **options.get("resources", {}),
    }
    held = {
        name: amount
        for name, amount in ray.cluster_resources().items()
        if not name.startswith(("node:", "object_store_memory"))
    }
    return f"an actor needs {_amounts(needed)}; the cluster has {_amounts(held)} in all"


def _amounts(resources: Mapping[str, Any]) -> str:
    return ", ".join(f"{amount:g} {name}" for name, amount in sorted(resources.items()) if amount) or "nothing"
