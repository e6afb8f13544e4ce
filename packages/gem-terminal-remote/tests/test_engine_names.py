"""How the engines of this package are named: in arguments, in variables, on the command line, by their old paths."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module

import pytest

import gem_terminal_remote
from gem.errors import ArgumentError
from gem_terminal.engines import checked_engine_name, engine_names, new_engine
from gem_terminal.engines.docker import DockerEngine
from gem_terminal.engines.namespace import NamespaceEngine
from gem_terminal.errors import EngineError
from gem_terminal_remote import FleetEngine, WorkerEngine
from gem_terminal_remote.addresses import fleet_at


def test_the_engines_are_known_by_name_and_address() -> None:
    """The cluster is listed, as it needs no address; whoever mistypes a name is told the forms of addresses."""
    assert "kubernetes" in engine_names()
    for name in ("kubernetes", "ws://one:7070", "wss://one:7070", "fleet:namespace"):
        assert checked_engine_name(name) == name
    with pytest.raises(ArgumentError, match=r"'kubernetes', 'fleet:…', 'ws:…', 'wss:…', got 'remote'"):
        checked_engine_name("remote")


def test_a_worker_is_made_of_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """It needs a token, which no address holds."""
    monkeypatch.setenv("GEM_TERMINAL_TOKEN", "a-token-of-this-user")
    assert isinstance(new_engine("ws://127.0.0.1:1"), WorkerEngine)
    monkeypatch.delenv("GEM_TERMINAL_TOKEN")
    with pytest.raises(EngineError, match="wants a token"):
        new_engine("wss://one:7070")


def test_a_fleet_is_made_of_names_and_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of engines by name, of workers, and of Docker engines at any other address; one of nothing is refused."""
    monkeypatch.setenv("GEM_TERMINAL_TOKEN", "a-token-of-this-user")
    fleet = fleet_at("fleet: namespace, ws://127.0.0.1:1, tcp://127.0.0.1:2, docker,")
    kinds = [type(member.engine) for member in fleet._members.all]
    assert kinds == [NamespaceEngine, WorkerEngine, DockerEngine, DockerEngine]
    assert isinstance(new_engine("fleet:namespace"), FleetEngine)
    with pytest.raises(ArgumentError, match="needs engines"):
        new_engine("fleet:")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("gem_terminal.engines.remote", "gem_terminal_remote.workers"),
        ("gem_terminal.engines.remote.worker", "gem_terminal_remote.workers.worker"),
        ("gem_terminal.engines.fleet", "gem_terminal_remote.fleet"),
        ("gem_terminal.engines.fleet.members", "gem_terminal_remote.fleet.members"),
        ("gem_terminal.engines.kubernetes", "gem_terminal_remote.kubernetes"),
        ("gem_terminal.engines.kubernetes.engine", "gem_terminal_remote.kubernetes.engine"),
        ("gem_terminal.cli.worker", "gem_terminal_remote.cli.worker"),
    ],
)
def test_old_paths_lead_to_the_same_objects(old: str, new: str) -> None:
    """A trainer that was written before the engines had a package of their own goes on."""
    there = import_module(new)
    assert there.__all__
    for name in there.__all__:
        assert getattr(import_module(old), name) is getattr(there, name)


def test_the_public_names_are_those_of_the_stub() -> None:
    """Each loads on first use."""
    for name in ("EngineWorker", "FleetEngine", "KubernetesEngine", "WorkerEngine"):
        assert name in dir(gem_terminal_remote)
        assert getattr(gem_terminal_remote, name).__name__ == name


def test_a_cluster_without_its_client_says_what_to_install() -> None:
    """The library comes with an extra; without it the engine is one that does not work, also without assertions."""
    code = "import sys; sys.modules['kubernetes'] = None; from gem_cli.main import run; run()"
    command = [sys.executable, "-O", "-c", code, "terminal", "engines", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (row,) = [row for row in json.loads(done.stdout) if row["name"] == "kubernetes"]
    assert row["problem"].endswith("pip install 'gem-terminal-remote[kubernetes]'")


def test_a_cluster_that_is_not_configured_says_so_without_assertions() -> None:
    """Also where Python leaves them out."""
    pytest.importorskip("kubernetes")
    code = (
        "from gem_terminal_remote import KubernetesEngine\nfrom gem_terminal.errors import EngineError\n"
        "try: KubernetesEngine(kubeconfig='/none').check()\nexcept EngineError: print('refused')"
    )
    done = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"
