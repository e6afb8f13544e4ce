"""Attestations that come with an upload, from a client of the tests and from uv."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from registry_server import RunningRegistry, running_registry, toy_wheel
from sigstore_authority import SigstoreAuthority

pytest.importorskip("pypi_attestations", reason="verifies attestations: pip install gem-hub[attestations]")

AUTHORITY = SigstoreAuthority()


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningRegistry]:
    """A registry that trusts the authority of the tests."""
    folder = tmp_path_factory.mktemp("registry")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEM_HUB_TRUSTED_ROOT", str(AUTHORITY.trusted_root(folder / "trusted_root.json")))
        with running_registry(folder / "hub") as running:
            yield running


def digest(wheel: Path) -> str:
    return hashlib.sha256(wheel.read_bytes()).hexdigest()


def test_a_genuine_attestation_is_kept(registry: RunningRegistry, tmp_path: Path) -> None:
    """The index names the provenance of a wheel that came with an attestation, also on a second attempt."""
    wheel = toy_wheel(tmp_path, "built-elsewhere")
    attestations = json.dumps([AUTHORITY.attest(wheel.name, digest(wheel))])
    client = registry.account("alice")
    for _ in range(2):
        answer = client.upload(wheel, attestations=attestations)
        assert answer.status == 200, answer.text
    page = registry.stranger.send("GET", "/simple/built-elsewhere/", Accept="application/vnd.pypi.simple.v1+json").json
    (file,) = page["files"]
    assert file["provenance"] == "../../provenance/built-elsewhere/0.1.0.json"
    served = registry.stranger.send("GET", "/provenance/built-elsewhere/0.1.0.json")
    (bundle,) = json.loads(served.body)["attestation_bundles"]
    assert bundle["publisher"] == {"kind": "GitHub", "repository": "alice/toys", "workflow": "release.yml"}
    assert len(bundle["attestations"]) == 1


@pytest.mark.parametrize(
    ("name", "attestations", "reason"),
    [
        (
            "other-wheel",
            [AUTHORITY.attest("other_wheel-0.1.0-py3-none-any.whl", "0" * 64)],
            "about a wheel with sha256 0000",
        ),
        ("no-attestation", [{"version": 1}], "holds no attestation of PEP 740"),
        ("empty-list", [], "holds 0 attestations"),
    ],
)
def test_a_wrong_attestation_is_refused_and_said(
    registry: RunningRegistry, tmp_path: Path, name: str, attestations: list[object], reason: str
) -> None:
    """The answer says that the wheel is published and why its attestations are not; none is served."""
    wheel = toy_wheel(tmp_path, name)
    answer = registry.account("alice").upload(wheel, attestations=json.dumps(attestations))
    assert answer.status == 409
    assert "is published, and its attestations are refused" in answer.text
    assert reason in answer.text
    page = registry.stranger.send("GET", f"/simple/{name}/", Accept="application/vnd.pypi.simple.v1+json").json
    assert "provenance" not in page["files"][0]


@pytest.mark.slow(reason="starts uv")
def test_uv_sends_the_attestation_beside_a_wheel(registry: RunningRegistry, tmp_path: Path) -> None:
    """Uv finds WHEEL.publish.attestation by itself, and the registry keeps it."""
    wheel = toy_wheel(tmp_path / "dist", "from-a-workflow")
    beside = wheel.with_name(f"{wheel.name}.publish.attestation")
    beside.write_text(json.dumps(AUTHORITY.attest(wheel.name, digest(wheel))))
    address = f"http://127.0.0.1:{registry.port}/upload/"
    secrets = {"UV_PUBLISH_TOKEN": registry.account("alice").token, "UV_PUBLISH_URL": address}
    pytest.importorskip("uv", reason="NOT TESTED: uv is not installed")
    command = [str(Path(sys.executable).parent / "uv"), "publish", str(wheel), str(beside)]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **secrets}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert registry.services.store.existing("from-a-workflow").provenance("0.1.0") is not None
