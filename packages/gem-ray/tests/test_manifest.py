"""The manifest for KubeRay: every field exists, and says what the guide says.

The fields of RayCluster are those of the custom resource definition of KubeRay 1.7.0, which itself has a megabyte; the
fields of pods are those of the models of the ``kubernetes`` client.
"""

from __future__ import annotations

import json
import re
from copy import deepcopy
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
    "AuthOptions": {"mode": "str", "secretName": "str", "enableK8sTokenAuth": "bool"},
    "AutoscalerOptions": {"idleTimeoutSeconds": "int", "upscalingMode": "str", "version": "str"},
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
"""Kind of object → its fields and their types, as far as the manifest may use them."""

REQUIRED = {
    "RayClusterSpec": {"headGroupSpec"},
    "HeadGroupSpec": {"rayStartParams", "template"},
    "WorkerGroupSpec": {"groupName", "maxReplicas", "minReplicas", "rayStartParams", "template"},
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
    if not isinstance(value, dict):
        return [f"{path}: not a mapping"]
    fields, required = FIELDS.get(kind), REQUIRED.get(kind, set())
    if fields is None:
        model = getattr(client, kind)
        fields = {model.attribute_map[name]: type_ for name, type_ in model.openapi_types.items()}
    wrong = [f"{path}.{name}: unknown" for name in value if name not in fields]
    wrong += [f"{path}.{name}: missing" for name in required if name not in value]
    return wrong + [
        fault
        for name, item in value.items()
        if name in fields
        for fault in faults(item, fields[name], f"{path}.{name}")
    ]


@pytest.fixture
def manifest() -> dict[str, Any]:
    """The manifest."""
    loaded: dict[str, Any] = yaml.safe_load(PATH.read_text(encoding="utf-8"))
    return loaded


def test_every_field_exists_and_has_its_type(manifest: dict[str, Any]) -> None:
    """Kubernetes would drop a misspelt field of a pod silently."""
    assert faults(manifest, "RayCluster") == []


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda spec: spec.update(rayVersoin="2"), ".spec.rayVersoin"),
        (lambda spec: spec["workerGroupSpecs"][0].update(replicas="ten"), ".spec.workerGroupSpecs[0].replicas"),
        (lambda spec: spec["workerGroupSpecs"][1].pop("maxReplicas"), ".spec.workerGroupSpecs[1].maxReplicas"),
        (lambda spec: spec["authOptions"].update(token="x"), ".spec.authOptions.token"),
        (
            lambda spec: spec["headGroupSpec"]["template"]["spec"]["containers"][0].update(iamge="x"),
            ".spec.headGroupSpec.template.spec.containers[0].iamge",
        ),
        (
            lambda spec: spec["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]["env"][0].update(value=0),
            ".spec.workerGroupSpecs[0].template.spec.containers[0].env[0].value",
        ),
    ],
)
def test_a_planted_mistake_is_found(manifest: dict[str, Any], change: Any, path: str) -> None:
    """Misspelt and missing fields and wrong types are named by their path, in the cluster and in its pods."""
    changed = deepcopy(manifest)
    change(changed["spec"])
    (found,) = faults(changed, "RayCluster")
    assert found.startswith(f"{path}:")


def test_the_cluster_is_closed_and_reports_nothing(manifest: dict[str, Any]) -> None:
    """Clients need the token, no usage is reported, and no environment runs on the head."""
    spec = manifest["spec"]
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
