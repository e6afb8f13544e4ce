"""A Ray cluster of two nodes on this machine, for all tests that need no special one."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

OBJECT_STORE = 80_000_000  # bytes; about the least that Ray accepts


@pytest.fixture(scope="session")
def ray_settings() -> Iterator[dict[str, str]]:
    """The environment of every process of a cluster: a throwaway token, and nothing is reported."""
    from ray._private.authentication_test_utils import reset_auth_token_state

    settings = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RAY_ADDRESS", raising=False)
        for name, value in settings.items():
            patch.setenv(name, value)
        reset_auth_token_state()  # Ray reads them as it is imported, which another test may have done
        yield settings
    reset_auth_token_state()


@pytest.fixture(scope="session")
def ray_folder() -> Iterator[Path]:
    """A folder for the sessions of clusters; the paths of their sockets must be short."""
    folder = Path(tempfile.mkdtemp(prefix="gem-ray-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def cluster(ray_settings: dict[str, str], ray_folder: Path) -> Iterator[object]:
    """A cluster of two nodes with room for two actors each, to which this process is connected."""
    import ray
    from ray.cluster_utils import Cluster

    nodes = Cluster()
    try:
        nodes.add_node(num_cpus=2, include_dashboard=False, object_store_memory=OBJECT_STORE, temp_dir=str(ray_folder))
        nodes.add_node(num_cpus=2, object_store_memory=OBJECT_STORE)
        ray.init(address=nodes.address, log_to_driver=False)
        yield nodes
    finally:
        ray.shutdown()
        nodes.shutdown()
