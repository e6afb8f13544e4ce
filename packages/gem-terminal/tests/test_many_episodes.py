"""Hundreds of episodes leave nothing behind, while the process that played them still lives."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gem_terminal.engines import Engine
from gem_terminal.engines.cgroups import groups
from gem_terminal.engines.docker import DockerEngine
from gem_terminal.engines.docker.images import LABEL
from gem_terminal.formats import load_task

FILES = {
    "task.toml": "[environment]\nnetwork_mode = 'no-network'\nmemory_mb = 64\n",
    "instruction.md": "Do nothing.",
    "environment/Dockerfile": "FROM debian:bookworm-slim\n",
    "tests/test.sh": "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n",
}


@pytest.mark.nightly
@pytest.mark.parametrize("episodes", [50, pytest.param(500, marks=pytest.mark.nightly)])
def test_nothing_is_left_of_many_episodes(engine: Engine, cache: Path, tmp_path: Path, episodes: int) -> None:
    """No container, volume, network, control group, mount, child process, thread or descriptor, and no episode failed.

    Eight threads play them with warm sessions; a few are finished, most abandoned, some environments forgotten.
    """
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    if isinstance(engine, DockerEngine):  # only there a container has volumes
        (tmp_path / "environment/Dockerfile").write_text(FILES["environment/Dockerfile"] + "VOLUME /kept\n")
    engine.prepare(load_task(tmp_path).image)
    volumes, networks = (_names(engine, what) for what in ("volumes", "networks"))
    script = Path(__file__).with_name("episodes.py")
    command = [sys.executable, str(script), engine.name, str(cache), str(tmp_path), str(episodes)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as player:
        assert player.stdout is not None
        told = json.loads(player.stdout.readline())
        assert told["failures"] == []
        assert told["after"] == told["before"]
        assert told["after"]["threads"] == ["MainThread"]
        assert told["after"]["children"] == told["after"]["mounts"] == []
        assert told["owner"] not in {str(owner) for _, owner in groups()}
        if isinstance(engine, DockerEngine):
            mine = {"label": f"{LABEL}={told['owner']}"}
            assert engine.client.containers.list(all=True, filters=mine, sparse=True) == []
    # Others that use the engine at this moment may add some; what this one added would be one an episode.
    assert len(_names(engine, "volumes") - volumes) < episodes // 10
    assert len(_names(engine, "networks") - networks) < episodes // 10


def _names(engine: Engine, what: str) -> set[str]:
    return {each.name for each in getattr(engine.client, what).list()} if isinstance(engine, DockerEngine) else set()
