"""``openenv:URL`` against a server of the published openenv 0.10.0, the environment that ``openenv init`` makes.

Others that are on no package index were run by hand in November 2026, with the results of these tests:

* OpenEnv's repository at 685de411: ``envs/connect4_env`` (integer actions), ``envs/echo_env`` (tools over MCP).
* AgentGym's repository at 3ef9235d: TextCraft, BabyAI and ScienceWorld, each recognised by its OpenAPI document
  and played with random actions and malformed ones. For its other servers (ALFWorld, LMRL-Gym, WebShop, SQLGym,
  SearchQA, the tools) ``data/`` has the OpenAPI documents of their routes; the shapes of their answers are read from
  their source.
  WebArena has no OpenAPI document; its dialect is read from its source alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

import gem
from gem_bridges.errors import BridgeError

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]

PACKAGE = "openenv==0.10.0"


def wait_until_ready(process: subprocess.Popen[bytes], url: str) -> None:
    """Return when the server answers; fail when it has ended."""
    while True:
        assert process.poll() is None, "the server has ended"
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            continue


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory, reserve_port: Callable[[], int]) -> Iterator[str]:
    """The address of a server of the package's own example, which has room for one session."""
    folder = tmp_path_factory.mktemp("openenv")
    python = folder / "venv" / "bin" / "python"
    pytest.importorskip("uv", reason="NOT TESTED: uv is not installed")
    subprocess.run([sys.executable, "-m", "uv", "venv", "-q", "-p", sys.executable, str(folder / "venv")], check=True)
    subprocess.run([sys.executable, "-m", "uv", "pip", "install", "-q", "-p", str(python), PACKAGE], check=True)
    subprocess.run([str(python.with_name("openenv")), "init", "gem_echo"], cwd=folder, check=True, capture_output=True)
    port = reserve_port()
    command = [str(python.with_name("uvicorn")), "server.app:app", "--port", str(port)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder / "gem_echo", stdout=log, stderr=log)
    try:
        wait_until_ready(process, f"http://127.0.0.1:{port}")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def test_the_example_of_the_package_is_played(echo: str) -> None:
    """Text is the value of the only field; the reward is the server's."""
    with gem.make(f"openenv:{echo}") as env:
        first, _ = env.reset(seed=1)
        assert first.startswith('{"echoed_message": "Gem Echo environment ready!", "message_length": 0}')
        assert "Your whole answer is the action: message (string)" in first
        observation, reward, terminated, truncated, info = env.step("Hello")
        assert observation == '{"echoed_message": "Hello", "message_length": 5}'
        assert (reward, terminated, truncated) == (0.5, False, False)
        assert info["server"]["metadata"] == {"original_message": "Hello", "step": 1}


@pytest.mark.parametrize("action", [None, "\ud800", '{"massage": "Hello"}', "x" * 2**20])
def test_no_action_crashes_a_step(echo: str, action: str | None) -> None:
    """Neither what the bridge refuses, nor what the server refuses, nor what is long."""
    with gem.make(f"openenv:{echo}") as env:
        env.reset(seed=1)
        assert env.step(action)[2:4] == (False, False)
        assert env.step("Hello")[1] == 0.5


def test_a_place_is_free_again_after_a_session(echo: str) -> None:
    """The server has room for one: the next session waits until the last one is cleared away."""
    for _ in range(10):
        with gem.make(f"openenv:{echo}") as env:
            env.reset(seed=1)
    with gem.make(f"openenv:{echo}") as env:
        env.reset(seed=1)
        with gem.make(f"openenv:{echo}", timeout=1.0) as second, pytest.raises(BridgeError, match="capacity"):
            second.reset(seed=1)


def test_rollouts_run_on_it(echo: str, tmp_path: Path) -> None:
    """The engine of every agent takes such an id."""
    out = tmp_path / "episodes.jsonl"
    command = [
        "rollout",
        f"openenv:{echo}",
        "--agent",
        "random",
        "--episodes",
        "3",
        "--num-envs",
        "1",
        "--max-turns",
        "4",
    ]
    subprocess.run([sys.executable, "-m", "gem", *command, "--out", str(out)], check=True)
    assert len(out.read_text().splitlines()) == 3


def test_tasks_of_the_task_api_are_played(
    published: Callable[..., Path],
    running: Callable[..., AbstractContextManager[str]],
    reserve_port: Callable[[], int],
    tmp_path: Path,
) -> None:
    """32 episodes of an environment with tasks are those of its own code; a split that it lacks is refused."""
    python, port = str(published(PACKAGE)), reserve_port()
    own = str(Path(__file__).parent / "drivers" / "openenv_own.py")
    played = json.loads(subprocess.run([python, own, "play"], capture_output=True, text=True, check=True).stdout)
    with running([python, own, "serve", str(port)], f"http://127.0.0.1:{port}", tmp_path) as url:
        for split in ("train", "test"):
            with gem.make(f"openenv:{url}", split=split, show_actions=False) as env:
                for where, index, numbers, turns in played:
                    if where != split:
                        continue
                    observation, info = env.reset(options={"index": index})
                    assert (observation, info["index"]) == (turns[0][0], index)
                    for number, turn in zip(numbers, turns[1:], strict=False):
                        assert list(env.step(str(number))[:3]) == turn
                assert env.reset(seed=7)[1]["index"] == 7 % (5 if split == "train" else 3)
        with gem.make(f"openenv:{url}", split="dev") as env, pytest.raises(BridgeError, match="train, test"):
            env.reset(seed=0)
