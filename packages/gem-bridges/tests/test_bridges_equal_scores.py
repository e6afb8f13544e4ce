"""One environment, many protocols, one score: scripted episodes played through the published code of each library.

Each library is installed in an environment of its own. Its own client or loop (``drivers/``) plays the actions of an
episode that was played directly, and must see the same texts, rewards and ends.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.policies import make_policy

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1800)]

DRIVERS = Path(__file__).parent / "drivers"
IDS = ("game:GuessTheNumber-v0-easy", "math:Arithmetic-v0", "db:SQL-v0", "desk:Retail-v1", "house:Household-v0")
"""A game, a question, an environment with tools, a desk of typed acts, a text world."""
AIMLESS = ("I do not know.", "\\boxed{7}", "<tool_call>{nothing}</tool_call>", "look; ééé 世界", "go to drawer 1")

Episode = dict[str, Any]


def played(env_id: str, seed: int, actions: tuple[str, ...] | None = None) -> Episode:
    """Return an episode played directly, by the reference policy or with given actions until they are used up."""
    texts, said, rewards, flags = [], [], [], []
    with gem.make(env_id) as env:
        policy = make_policy("reference", env)
        observation, info = env.reset(seed)
        texts.append(observation)
        policy.reset(observation, info)
        while not (flags and any(flags[-1])) and (actions is None or len(said) < len(actions)):
            said.append(policy.act(observation, info) if actions is None else actions[len(said)])
            observation, reward, terminated, truncated, info = env.step(said[-1])
            texts.append(observation)
            rewards.append(reward)
            flags.append([terminated, truncated])
    return {"id": env_id, "seed": seed, "actions": said, "texts": texts, "rewards": rewards, "flags": flags}


@pytest.fixture(scope="module")
def episodes() -> list[Episode]:
    """Two episodes of the reference policy and an aimless one of each environment."""
    found = [played(env_id, seed) for env_id in IDS for seed in (0, 1)]
    found += [played(env_id, 2, AIMLESS) for env_id in IDS]
    assert sum(sum(one["rewards"]) > 0.5 for one in found) >= 2 * len(IDS)
    return found


@pytest.fixture
def script(episodes: list[Episode], tmp_path: Path) -> Path:
    """The file of the episodes."""
    path = tmp_path / "episodes.json"
    path.write_text(json.dumps(episodes), encoding="utf-8")
    return path


def driven(python: Path | str, driver: str, *arguments: str, cwd: Path) -> list[dict[str, Any]]:
    """Return what a driver found."""
    command = [str(python), str(DRIVERS / driver), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(episodes: list[Episode], found: list[dict[str, Any]], *kinds: str) -> None:
    """Fail where an episode differs in what the protocol can say (``kinds``)."""
    assert len(found) == len(episodes)
    for one, other in zip(episodes, found, strict=True):
        facts = {
            **one,
            "ends": [any(flags) for flags in one["flags"]],
            "shown": one["texts"][:-1],
            "total": sum(one["rewards"]),
            "task": {"id": f"{one['id']}#{one['seed']}", "seed": one["seed"]},
        }
        for kind in kinds:
            assert other[kind] == facts[kind], f"{kind} of {one['id']}, seed {one['seed']}"


def test_gymnasium(script: Path, episodes: list[Episode], tmp_path: Path) -> None:
    """Gymnasium's interface has all of it."""
    pytest.importorskip("gymnasium", reason="gem-bridges[gymnasium] brings it")
    found = driven(sys.executable, "gymnasium_loop.py", str(script), cwd=tmp_path)
    compare(episodes, found, "texts", "rewards", "flags")


def test_mcp(script: Path, episodes: list[Episode], tmp_path: Path) -> None:
    """The client of the MCP SDK and ``gem mcp-serve``."""
    pytest.importorskip("gem_tools", reason="gem-tools serves MCP")
    compare(episodes, driven(sys.executable, "mcp_client.py", str(script), cwd=tmp_path), "texts", "rewards", "flags")


def test_openenv(
    script: Path,
    episodes: list[Episode],
    published: Callable[..., Path],
    running: Callable[..., AbstractContextManager[str]],
    reserve_port: Callable[[], int],
    tmp_path: Path,
) -> None:
    """The client of openenv and ``gem serve``; each episode is a task that the Task API names."""
    pytest.importorskip("gem_server", reason="gem-server serves OpenEnv's clients")
    python, port = published("openenv==0.10.0"), reserve_port()
    command = [sys.executable, "-m", "gem", "serve", *IDS, "--port", str(port), "--workers", "1"]
    with running(command, f"http://127.0.0.1:{port}", tmp_path) as url:
        found = driven(python, "openenv_client.py", str(script), url, cwd=tmp_path)
    compare(episodes, found, "texts", "rewards", "flags", "ends", "task")


@pytest.mark.parametrize(
    ("release", "driver"), [("verifiers==0.4.0", "verifiers_eval.py"), ("inspect-ai==0.3.285", "inspect_eval.py")]
)
def test_evaluations(
    release: str, driver: str, episodes: list[Episode], published: Callable[..., Path], tmp_path: Path
) -> None:
    """Their own evaluations, with the script in the model's place: what the model is shown, and the total."""
    over = [one for one in episodes if any(one["flags"][-1])]
    assert len(over) >= 2 * len(IDS)
    script = tmp_path / "over.json"
    script.write_text(json.dumps(over), encoding="utf-8")
    compare(over, driven(published(release, ours=True), driver, str(script), cwd=tmp_path), "shown", "total")


@pytest.fixture
def ors(
    published: Callable[..., Path],
    running: Callable[..., AbstractContextManager[str]],
    reserve_port: Callable[[], int],
    tmp_path: Path,
) -> Iterator[tuple[Path, str]]:
    """The Python with openreward, and the address of its server of the environments."""
    python, port = published("openreward==0.1.167", ours=True), reserve_port()
    command = [str(python), str(DRIVERS / "ors_server.py"), str(port), *IDS]
    with running(command, f"http://127.0.0.1:{port}", tmp_path) as url:
        yield python, url


def test_ors(ors: tuple[Path, str], episodes: list[Episode], script: Path, tmp_path: Path) -> None:
    """Server and client of openreward and client: texts, rewards and ends; then the same server as ids of GEM."""
    python, url = ors
    compare(episodes, driven(python, "ors_client.py", str(script), url, cwd=tmp_path), "texts", "rewards", "ends")
    with ExitStack() as opened:
        envs = {
            env_id: opened.enter_context(gem.make(f"ors:{url}#{env_id}", python=str(python), show_tools=False))
            for env_id in IDS
        }
        found = [replayed(envs[one["id"]], one) for one in episodes]
    compare(episodes, found, "texts", "rewards", "flags")


def replayed(env: Any, episode: Episode) -> dict[str, Any]:
    """Return what a bridge to a server of our own shows and pays for the actions of an episode."""
    observation, _ = env.reset(options={"index": episode["seed"]})
    found: dict[str, Any] = {"texts": [observation], "rewards": [], "flags": []}
    for action in episode["actions"]:
        turn = env.step(action if episode["id"].startswith("math:") else called("act", text=action))
        found["texts"].append(turn[0])
        found["rewards"].append(turn[1])
        found["flags"].append([turn[4]["server"]["terminated"], turn[4]["server"]["truncated"]])
        assert turn[2] == any(found["flags"][-1])
    return found


def called(name: str, **arguments: Any) -> dict[str, Any]:
    """Return an assistant message that calls a tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "type": "function", "function": function}]}
