"""The container image's definition and the manifests for Kubernetes.

The schema is that of Kubernetes' own client for Python, whose classes are made from the API's OpenAPI document.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import kubernetes.client.models as models
import pytest
import yaml
from click.testing import CliRunner

from gem_server.cli.serve import serve_command

DEPLOY = Path(__file__).parents[1] / "deploy"

CLASSES = {
    "apps/v1 Deployment": "V1Deployment",
    "v1 Service": "V1Service",
    "autoscaling/v2 HorizontalPodAutoscaler": "V2HorizontalPodAutoscaler",
    "policy/v1 PodDisruptionBudget": "V1PodDisruptionBudget",
    "networking.k8s.io/v1 NetworkPolicy": "V1NetworkPolicy",
}
PLAIN = {"str": str, "int": int, "bool": bool, "float": (int, float), "object": object, "datetime": str}


def documents() -> dict[str, dict[str, Any]]:
    """Return the manifests by kind."""
    loaded = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8"))
    return {document["kind"]: document for document in loaded}


def problems(value: Any, kind: str, where: str) -> list[str]:
    """Return what a value has against a type of the client: unknown and missing fields, wrong types."""
    if found := re.fullmatch(r"list\[(.*)\]", kind, re.IGNORECASE):
        if not isinstance(value, list):
            return [f"{where} is no list"]
        return [problem for i, item in enumerate(value) for problem in problems(item, found[1], f"{where}[{i}]")]
    if found := re.fullmatch(r"dict[\[(](.*), (.*)[\])]", kind, re.IGNORECASE):
        if not isinstance(value, dict):
            return [f"{where} is no object"]
        return [problem for key, item in value.items() for problem in problems(item, found[2], f"{where}.{key}")]
    if kind in PLAIN:
        wrong = not isinstance(value, PLAIN[kind]) or (isinstance(value, bool) and kind in ("int", "float"))
        # An integer or a name, such as a port, is an object to the client.
        return [f"{where} is {value!r}, not {kind}"] if wrong else []
    cls = getattr(models, kind)
    if not isinstance(value, dict):
        return [f"{where} is no {kind}"]
    names = {json_name: name for name, json_name in cls.attribute_map.items()}
    found_problems = [f"{where} has no field {key}" for key in value if key not in names]
    for key, item in value.items():
        if key in names:
            found_problems += problems(item, cls.openapi_types[names[key]], f"{where}.{key}")
    try:
        cls(**{names[key]: item for key, item in value.items() if key in names})  # knows the required fields
    except ValueError as error:
        found_problems.append(f"{where}: {error}")
    return found_problems


@pytest.mark.parametrize("kind", [name.partition(" ")[2] for name in CLASSES])
def test_a_manifest_follows_the_schema(kind: str) -> None:
    """Every field exists and has its type; nothing that is required is missing."""
    document = documents()[kind]
    assert problems(document, CLASSES[f"{document['apiVersion']} {kind}"], kind) == []


def spoil(document: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split("/")
    for part in parents:
        document = document[int(part) if part.isdigit() else part]  # type: ignore[index]
    if value is None:
        del document[last]
    else:
        document[last] = value


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("Deployment", "spec/replica", 3),
        ("Deployment", "spec/replicas", "3"),
        ("Deployment", "spec/selector", None),
        ("Deployment", "spec/template/spec/containers/0/livenessProbe/httpGet/paths", "/"),
        ("Deployment", "spec/template/spec/containers/0/securityContext/readOnlyRootFilesystem", "yes"),
        ("Service", "spec/sessionAffinityConfig/clientIP/timeoutSeconds", "10800"),
        ("HorizontalPodAutoscaler", "spec/maxReplicas", None),
        ("NetworkPolicy", "spec/policyTypes", "Ingress"),
    ],
)
def test_the_check_finds_mistakes(kind: str, path: str, value: Any) -> None:
    """Misspelt fields, wrong types and missing fields."""
    document = documents()[kind]
    spoil(document, path, value)
    assert problems(document, CLASSES[f"{document['apiVersion']} {kind}"], kind)


def test_the_parts_fit_together() -> None:
    """Labels, ports, names and times agree, and the arguments are options of the command."""
    parts = documents()
    pod = parts["Deployment"]["spec"]["template"]
    labels = pod["metadata"]["labels"]
    container = pod["spec"]["containers"][0]
    assert parts["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert parts["Service"]["spec"]["selector"] == labels
    for kind, field in (("PodDisruptionBudget", "selector"), ("NetworkPolicy", "podSelector")):
        assert parts[kind]["spec"][field]["matchLabels"] == labels
    assert parts["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]["name"] == parts["Deployment"]["metadata"]["name"]
    ports = {port["name"] for port in container["ports"]}
    assert parts["Service"]["spec"]["ports"][0]["targetPort"] in ports
    assert {container[f"{probe}Probe"]["httpGet"]["port"] for probe in ("readiness", "liveness", "startup")} <= ports
    mounted, volumes = (
        {item["name"] for item in where} for where in (container["volumeMounts"], pod["spec"]["volumes"])
    )
    assert mounted == volumes
    options = {name for option in serve_command.params for name in option.opts}
    given = [word for word in container["args"] if word.startswith("--")]
    assert set(given) <= options
    drain = float(container["args"][container["args"].index("--drain-timeout") + 1])
    assert pod["spec"]["terminationGracePeriodSeconds"] > drain
    assert pod["spec"]["securityContext"]["runAsNonRoot"] is True


def test_the_image_runs_the_command_as_nobody() -> None:
    """The entry point consists of options of the command; the user and the port are those of the manifests."""
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
    entry = yaml.safe_load(re.search(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)[1])  # type: ignore[index]
    assert entry[:2] == ["gem", "serve"]
    assert CliRunner().invoke(serve_command, [*entry[2:], "--help"]).exit_code == 0
    pod = documents()["Deployment"]["spec"]["template"]["spec"]
    assert f"USER {pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}" in text
    assert f"EXPOSE {pod['containers'][0]['ports'][0]['containerPort']}" in text
    assert entry[entry.index("--port") + 1] == str(pod["containers"][0]["ports"][0]["containerPort"])
