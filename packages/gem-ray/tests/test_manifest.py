"""The manifest for KubeRay: every field exists, and says what the guide says.

The fields of RayCluster are those of the custom resource definition of KubeRay 1.7.0, which itself has a megabyte; the
fields of pods are those of the models of the ``kubernetes`` client.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client

PATH = Path(__file__).parents[1] / "deploy" / "raycluster.yaml"

STRINGS = "dict(str, str)"
FIELDS: dict[str, dict[str, str]] = {
    "RayCluster": {"apiVersion": "str", "kind": "str", "metadata": "V1ObjectMeta", "spec": "RayClusterSpec"},
    "RayClusterSpec": {
        "authOptions": "AuthOptions",
        "autoscalerOptions": "AutoscalerOptions",
        "enableInTreeAutoscaling": "bool",
        "headGroupSpec": "HeadGroupSpec",
        "rayVersion": "str",
        "workerGroupSpecs": "list[WorkerGroupSpec]",
    },
    "AuthOptions": {"mode": "disabled|token", "secretName": "str", "enableK8sTokenAuth": "bool"},
    "AutoscalerOptions": {
        "idleTimeoutSeconds": "int",
        "upscalingMode": "Aggressive|Conservative|Default",
        "version": "v1|v2",
    },
    "HeadGroupSpec": {
        "rayStartParams": STRINGS,
        "resources": STRINGS,
        "serviceType": "str",
        "template": "V1PodTemplateSpec",
    },
    "WorkerGroupSpec": {
        "groupName": "str",
        "idleTimeoutSeconds": "int",
        "maxReplicas": "int",
        "minReplicas": "int",
        "rayStartParams": STRINGS,
        "replicas": "int",
        "resources": STRINGS,
        "template": "V1PodTemplateSpec",
    },
}
"""Kind of object → its fields and types, as far as the manifest may use them; some types are choices of values."""

REQUIRED = {
    "RayClusterSpec": {"headGroupSpec"},
    "HeadGroupSpec": {"template"},
    "WorkerGroupSpec": {"groupName", "maxReplicas", "minReplicas", "template"},
}


def faults(value: Any, kind: str, path: str = "") -> list[str]:
    """Return what in a value is not of a type: unknown and missing fields, and values of other types."""
    if match := re.fullmatch(r"[Ll]ist\[(.+)\]", kind):
        if not isinstance(value, list):
            return [f"{path}: not a list"]
        return [fault for number, item in enumerate(value) for fault in faults(item, match[1], f"{path}[{number}]")]
    if match := re.fullmatch(r"[Dd]ict[(\[]str, (.+)[)\]]", kind):
        if not isinstance(value, dict):
            return [f"{path}: not a mapping"]
        return [fault for name, item in value.items() for fault in faults(item, match[1], f"{path}.{name}")]
    plain = {"str": str, "int": int, "bool": bool, "object": object}.get(kind)
    if plain is not None:
        return [] if isinstance(value, plain) and (plain is not int or value is not True) else [f"{path}: not {kind}"]
    if "|" in kind:
        return [] if value in kind.split("|") else [f"{path}: not one of {kind}"]
    if not isinstance(value, dict):
        return [f"{path}: not a mapping"]
    fields, required = FIELDS.get(kind), REQUIRED.get(kind, set())
    if fields is None:
        model = getattr(client, kind)
        fields = {model.attribute_map[name]: type_ for name, type_ in model.openapi_types.items()}
        required = {model.attribute_map[name] for name, field in model.model_fields.items() if field.is_required()}
    wrong = [f"{path}.{name}: unknown" for name in value if name not in fields]
    wrong += [f"{path}.{name}: missing" for name in required if name not in value]
    return wrong + [
        fault
        for name, item in value.items()
        if name in fields
        for fault in faults(item, fields[name], f"{path}.{name}")
    ]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to everything in a value, by keys and positions."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, key)
        if isinstance(item, (dict, list)):
            yield from places(item, (*path, key))


def as_text(path: tuple[Any, ...]) -> str:
    """Return a path as the check writes it."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)


MANIFEST = yaml.safe_load(PATH.read_text(encoding="utf-8"))
FREE = {"rayStartParams", "requests", "limits"}
"""Mappings whose keys are free."""
FIELDS_USED = [path for path in places(MANIFEST) if isinstance(path[-1], str) and FREE.isdisjoint(path[:-1])]
OTHER = {str: 7, int: "7", bool: "true", list: {}, dict: []}
"""Type → a value of another one, such as a number without quotes."""


def changed(path: tuple[Any, ...], change: Callable[[Any, Any], object]) -> list[str]:
    """Return what is found in the manifest after a change of what contains a place, and of its key."""
    manifest = deepcopy(MANIFEST)
    change(reduce(getitem, path[:-1], manifest), path[-1])
    return faults(manifest, "RayCluster")


def test_every_field_exists_and_has_its_type() -> None:
    """Kubernetes would drop a misspelt field of a pod silently."""
    assert faults(MANIFEST, "RayCluster") == []


def test_any_misspelt_field_is_found() -> None:
    """The schema is closed on every level: whichever field has two letters exchanged, it is named by its path."""
    assert len(FIELDS_USED) > 100

    def misspell(holder: Any, key: str) -> None:
        holder[key[:-2] + key[:-3:-1] + "s"] = holder.pop(key)

    for path in FIELDS_USED:
        wrong = f"{as_text((*path[:-1], path[-1][:-2] + path[-1][:-3:-1] + 's'))}: unknown"
        missing = f"{as_text(path)}: missing"
        found = changed(path, misspell)
        assert wrong in found
        assert set(found) <= {wrong, missing}


def test_any_value_of_another_type_is_found() -> None:
    """A number without quotes, quotes around a number or a flag, a list for a mapping: wherever it is, it is named."""
    checked = 0
    for path in places(MANIFEST):
        kind = type(reduce(getitem, path, MANIFEST))
        found = changed(path, lambda holder, key, kind=kind: holder.__setitem__(key, OTHER[kind]))  # type: ignore[misc]
        assert [fault.partition(":")[0] for fault in found] == [as_text(path)]
        checked += 1
    assert checked > len(FIELDS_USED)


REQUIRED_PLACES = [
    ("spec", "headGroupSpec"),
    ("spec", "headGroupSpec", "template"),
    ("spec", "workerGroupSpecs", 1, "maxReplicas"),
    ("spec", "workerGroupSpecs", 0, "template", "spec", "containers"),
    ("spec", "workerGroupSpecs", 0, "template", "spec", "containers", 0, "name"),
    ("spec", "workerGroupSpecs", 1, "template", "spec", "containers", 1, "volumeMounts", 0, "mountPath"),
    ("spec", "headGroupSpec", "template", "spec", "containers", 0, "ports", 0, "containerPort"),
]


@pytest.mark.parametrize("path", REQUIRED_PLACES, ids=as_text)
def test_a_missing_field_is_found(path: tuple[Any, ...]) -> None:
    """What the operator or Kubernetes requires is named where it is missing, and nothing else is."""
    assert changed(path, lambda holder, key: holder.pop(key)) == [f"{as_text(path)}: missing"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec", "authOptions", "mode"), "tokens"),
        (("spec", "autoscalerOptions", "upscalingMode"), "default"),
    ],
)
def test_a_value_that_is_no_choice_is_found(path: tuple[Any, ...], value: str) -> None:
    """Choices are spelled as the resource definition spells them."""
    (found,) = changed(path, lambda holder, key: holder.__setitem__(key, value))
    assert found.startswith(f"{as_text(path)}: not one of")


def test_the_cluster_is_closed_and_reports_nothing() -> None:
    """Clients need the token, no usage is reported, and no environment runs on the head."""
    spec = MANIFEST["spec"]
    assert spec["authOptions"]["mode"] == "token"
    assert tuple(map(int, spec["rayVersion"].split("."))) >= (2, 53)  # the first with tokens
    assert spec["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    groups = [spec["headGroupSpec"], *spec["workerGroupSpecs"]]
    for group in groups:
        first = group["template"]["spec"]["containers"][0]
        assert {"name": "RAY_USAGE_STATS_ENABLED", "value": "0"} in first["env"]
        assert first["securityContext"]["runAsNonRoot"]
    containers = spec["workerGroupSpecs"][1]["rayStartParams"]["resources"]
    assert json.loads(json.loads(containers)) == {"docker": 2}
    assert sum(group["maxReplicas"] for group in spec["workerGroupSpecs"]) == 100
