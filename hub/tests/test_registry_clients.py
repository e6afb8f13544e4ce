"""The clients that people have: uv, twine and hatch, unmodified, and pip as the one that installs."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from registry_server import RunningRegistry, running_registry, toy_wheel

CLIENTS = ("uv", "twine", "hatch")


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningRegistry]:
    with running_registry(tmp_path_factory.mktemp("registry") / "hub") as running:
        yield running


def publish(
    client: str, registry: RunningRegistry, token: str, files: Sequence[Path], home: Path
) -> subprocess.CompletedProcess[str]:
    """Run a client as its users do, in an empty home."""
    address = f"http://127.0.0.1:{registry.port}/upload/"
    programs = Path(sys.executable).parent
    secrets = {
        "uv": {"UV_PUBLISH_TOKEN": token, "UV_PUBLISH_URL": address},
        "twine": {"TWINE_USERNAME": "__token__", "TWINE_PASSWORD": token, "TWINE_REPOSITORY_URL": address},
        "hatch": {"HATCH_INDEX_USER": "__token__", "HATCH_INDEX_AUTH": token, "HATCH_INDEX_REPO": address},
    }[client]
    words = {
        "uv": ["publish"],
        "twine": ["upload", "--non-interactive", "--disable-progress-bar"],
        "hatch": ["--no-color", "publish", "--no-prompt"],
    }[client]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "COLUMNS": "500", **secrets}
    if not (programs / client).exists():
        pytest.skip(f"NOT TESTED: {client} is not installed")
    command = [str(programs / client), *words, *map(str, files)]
    return subprocess.run(command, env=environment, cwd=home, capture_output=True, text=True, check=False)


def source_archive(wheel: Path) -> Path:
    """Write a source archive with the metadata of a wheel beside it."""
    name, version = wheel.name.split("-")[:2]
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"{name}-{version}.dist-info/METADATA")
    path = wheel.with_name(f"{name}-{version}.tar.gz")
    with tarfile.open(path, "w:gz") as target:
        for file, content in (("PKG-INFO", metadata), ("pyproject.toml", b"[project]\n")):
            entry = tarfile.TarInfo(f"{name}-{version}/{file}")
            entry.size = len(content)
            target.addfile(entry, io.BytesIO(content))
    return path


@pytest.mark.slow(reason="starts each client twice")
@pytest.mark.parametrize("client", CLIENTS)
def test_the_clients_of_other_indexes_publish_unmodified(
    registry: RunningRegistry, tmp_path: Path, client: str
) -> None:
    """Each publishes a wheel, with a source archive beside it, and shows the gate's reason against another."""
    token = registry.account("alice").token
    wheel = toy_wheel(tmp_path / "dist", f"by-{client}-client")
    done = publish(client, registry, token, [source_archive(wheel), wheel], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    index = registry.stranger.send("GET", f"/simple/by-{client}-client/", Accept="text/html").text
    assert wheel.name in index
    assert ".tar.gz" not in index
    if client == "hatch":
        (shown,) = re.findall(rf"http://127\.0\.0\.1:{registry.port}(/upload/by\S+)", done.stdout + done.stderr)
        assert registry.stranger.send("GET", shown).fields["Location"] == "/p/by-hatch-client/"
    second = toy_wheel(tmp_path / "2", f"by-{client}-client", "0.2.0")
    refused = publish(client, registry, registry.account("bob").token, [second], tmp_path)
    assert refused.returncode != 0
    assert "belongs to alice" in " ".join((refused.stdout + refused.stderr).split())
    assert token not in str(registry.answers)


@pytest.mark.slow(reason="runs pip")
def test_what_was_uploaded_is_installed_by_pip(registry: RunningRegistry, tmp_path: Path) -> None:
    """Pip downloads the wheel from the registry that took it, bytes and digest alike."""
    wheel = toy_wheel(tmp_path / "dist", "river-run")
    assert registry.account("alice").upload(wheel).status == 200
    index = f"http://127.0.0.1:{registry.port}/simple/"
    options = ["--no-deps", "--disable-pip-version-check", "--dest", str(tmp_path / "got"), "--index-url", index]
    command = [sys.executable, "-m", "pip", "download", "-q", *options, "river-run"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "got" / wheel.name).read_bytes() == wheel.read_bytes()
