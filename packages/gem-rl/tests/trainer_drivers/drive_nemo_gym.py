"""Rollouts of the file for NeMo Gym: its collection, agent and servers over HTTP, and a scripted model."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import fastapi
import nemo_gym_env
from local_server import served
from nemo_gym.base_resources_server import BaseResourcesServerConfig
from nemo_gym.config_types import BaseServerConfig, ModelServerRef, ResourcesServerRef
from nemo_gym.global_config import NEMO_GYM_CONFIG_DICT_ENV_VAR_NAME
from nemo_gym.rollout_collection import RolloutCollectionConfig, RolloutCollectionHelper
from nemo_gym.server_utils import ServerClient
from omegaconf import OmegaConf
from responses_api_agents.gymnasium_agent.app import GymnasiumAgentConfig

import gem

STEPS = 12


class Breaks(gem.Env[str, str]):
    """Fails in its second turn."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self.turn = 0
        return "Go on.", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.turn += 1
        if self.turn == 2:
            raise OSError("the disk is full")
        return "Go on.", 0.5, False, False, {}


class Endless(gem.Env[str, str]):
    """Has no end."""

    closed = 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        return "Go on.", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return "Go on.", 0.5, False, False, {}

    def close(self) -> None:
        Endless.closed += 1


gem.register("test:Breaks-v0", Breaks)
gem.register("test:Endless-v0", Endless)
model = fastapi.FastAPI()


@model.post("/v1/responses")
@model.post("/ng-rollout/{rollout}/v1/responses")
async def respond(body: dict[str, Any]) -> dict[str, Any]:
    """Guess one number after the other."""
    guesses = sum(item.get("role") == "assistant" for item in body["input"])
    part = {"type": "output_text", "text": f"\\boxed{{{guesses + 1}}}", "annotations": []}
    said = {
        "id": f"msg_{uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    return {
        "id": f"resp_{uuid4().hex}",
        "object": "response",
        "created_at": 0.0,
        "model": "scripted",
        "output": [{**said, "content": [part]}],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def written(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def client_of(urls: dict[str, tuple[str, str]]) -> ServerClient:
    """Return a client that knows the servers' addresses, as the head server tells them: name → kind, address."""
    servers = {
        name: {kind: {name: {"host": "127.0.0.1", "port": int(url.rpartition(":")[2]), "entrypoint": "app.py"}}}
        for name, (kind, url) in urls.items()
    }
    return ServerClient(
        head_server_config=BaseServerConfig(host="127.0.0.1", port=1), global_config_dict=OmegaConf.create(servers)
    )


def serve_agent(urls: dict[str, tuple[str, str]]) -> None:
    """Serve the agent until the input ends; print its address."""
    agent = nemo_gym_env.GemAgent(
        config=GymnasiumAgentConfig(
            host="127.0.0.1",
            port=1,
            entrypoint="app.py",
            name="gem_agent",
            resources_server=ResourcesServerRef(type="resources_servers", name="gem"),
            model_server=ModelServerRef(type="responses_api_models", name="policy_model"),
            max_steps=STEPS,
        ),
        server_client=client_of(urls),
    )
    with served(agent.setup_webserver()) as url:
        print(url, flush=True)
        sys.stdin.read()


@contextlib.contextmanager
def agent_process(urls: dict[str, tuple[str, str]]) -> Iterator[str]:
    """Run the agent in a process of its own, as NeMo Gym does: its HTTP client belongs to one event loop a process."""
    command = [sys.executable, __file__, "agent", json.dumps(urls)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


def main() -> None:
    server = nemo_gym_env.GemServer(
        config=BaseResourcesServerConfig(host="127.0.0.1", port=1, entrypoint="app.py", name="gem"),
        server_client=client_of({}),
    )
    urls: dict[str, tuple[str, str]] = {}

    class Collection(RolloutCollectionHelper):
        def setup_server_client(self, head_server_config: Any = None) -> ServerClient:
            return client_of(urls)

    rows = [
        *nemo_gym_env.rows("game:GuessTheNumber-v0-easy", 3),
        *nemo_gym_env.rows("test:Breaks-v0", 1),
        *nemo_gym_env.rows("test:Endless-v0", 1),
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        served(model) as model_url,
        served(server.setup_webserver()) as server_url,
        contextlib.redirect_stdout(sys.stderr),
    ):
        urls |= {"policy_model": ("responses_api_models", model_url), "gem": ("resources_servers", server_url)}
        source, out = Path(folder) / "rows.jsonl", Path(folder) / "rollouts.jsonl"
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
        config = RolloutCollectionConfig(
            input_jsonl_fpath=str(source), output_jsonl_fpath=str(out), num_samples_in_parallel=4
        )
        with agent_process(urls) as agent_url:
            urls["gem_agent"] = ("responses_api_agents", agent_url)
            asyncio.run(Collection().run_from_config(config))
        kept, failures = written(out), written(out.with_stem(out.stem + "_failures"))
        averaged = out.with_stem(out.stem + "_aggregate_metrics").with_suffix(".json").exists()
        left = list(server.session_state)
    *done, endless = sorted(kept, key=lambda one: one["_ng_task_index"])
    closes = hasattr(nemo_gym_env.GymnasiumAgent, "_close_environment")  # since 0.5
    assert (len(left), Endless.closed) == ((0, 1) if closes else (1, 0))
    assert endless["reward"] == STEPS * 0.5
    assert endless["truncated"]
    (lost,) = failures
    assert lost["_ng_task_index"] == 3
    assert lost["_ng_failure_class"] == "no_outcome"
    assert lost["mask_sample"] is True
    assert lost["info"]["no_outcome"] == "OSError: the disk is full"
    assert averaged
    found = []
    for place, rollout in enumerate(done):
        said = rollout["response"]["output"]
        shown = [item["content"] for item in said if item["role"] == "user"]
        assert rollout["responses_create_params"]["input"] == rows[place]["responses_create_params"]["input"]
        assert all("number" in text for text in shown)
        guesses = [item["content"][0]["text"] for item in said if item["role"] == "assistant"]
        assert guesses == [f"\\boxed{{{number}}}" for number in range(1, len(guesses) + 1)]
        assert len(shown) == len(guesses) - 1
        assert rollout["info"]["turns"] == len(guesses)
        found.append({"reward": rollout["reward"], **rollout["info"]})
    print(json.dumps(found))


if __name__ == "__main__":
    # As NeMo Gym's own child processes have it; without, it would read the command line.
    os.environ[NEMO_GYM_CONFIG_DICT_ENV_VAR_NAME] = "{}"
    if sys.argv[1] == "agent":
        serve_agent(json.loads(sys.argv[2]))
    else:
        main()
