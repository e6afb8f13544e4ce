"""Ray nodes as processes of this machine, and a cluster for all tests that need no special one."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from local_node import START_OF_NODE, LocalNode, descendants, settings


@pytest.fixture
def start_of_node() -> str:
    """Code for a process that begins a cluster of its own."""
    return START_OF_NODE


@pytest.fixture
def below() -> Callable[[int], list[int]]:
    """The living processes below one, from /proc, and that one itself."""
    return lambda pid: [pid, *descendants(pid)]


@pytest.fixture(scope="session")
def ray_settings() -> Iterator[dict[str, str]]:
    """The environment of every process of a cluster: a throwaway token, and nothing is reported."""
    from ray._private.authentication_test_utils import reset_auth_token_state

    of_all = settings()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RAY_ADDRESS", raising=False)
        for name, value in of_all.items():
            patch.setenv(name, value)
        reset_auth_token_state()  # Ray reads them as it is imported, which another test may have done
        yield of_all
    reset_auth_token_state()


@pytest.fixture(scope="session")
def start_node(ray_settings: dict[str, str]) -> Iterator[Callable[..., LocalNode]]:
    """Start a node of a cluster, which ends with the tests."""
    # The paths of the sockets of a session must be short.
    folder = Path(tempfile.mkdtemp(prefix="gem-ray-", dir="/tmp"))
    nodes: list[LocalNode] = []

    def start(address: str | None = None, cpus: int = 2, **options: object) -> LocalNode:
        nodes.append(LocalNode(address, cpus, folder / str(len(nodes)), **options))  # type: ignore[arg-type]
        return nodes[-1]

    try:
        yield start
    finally:
        for node in reversed(nodes):
            node.kill()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def cluster(start_node: Callable[..., LocalNode]) -> Iterator[str]:
    """A cluster of one node with four processors, to which this process is connected; its address."""
    import ray

    head = start_node(cpus=4)
    try:
        ray.init(address=head.address, log_to_driver=False)
        yield head.address
    finally:
        ray.shutdown()
