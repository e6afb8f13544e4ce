"""Rollouts of the file for NeMo Gym: its collection, agent and servers over HTTP, and a scripted model."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
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
from nemo_gym.config_types import BaseServerConfig
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


def block(kind: str, name: str, url: str, **fields: Any) -> dict[str, Any]:
    """Return the entry of a server in the configuration."""
    return {kind: {name: {"host": "127.0.0.1", "port": int(url.rpartition(":")[2]), "entrypoint": "app.py", **fields}}}


def client_of(servers: dict[str, Any]) -> ServerClient:
    """Return a client that knows the servers' addresses, as the head server tells them."""
    return ServerClient(
        head_server_config=BaseServerConfig(host="127.0.0.1", port=1), global_config_dict=OmegaConf.create(servers)
    )


HERE = {"host": "127.0.0.1", "port": 1, "entrypoint": "app.py"}
AGENT = {"type": "responses_api_agents", "name": "gem_agent"}


def server_of(role: str, servers: dict[str, Any]) -> Any:
    """Return the agent, or the server that stands before it since NeMo Gym 0.7."""
    if role == "relay":
        from environment_servers.legacy_agent.app import (
            LegacyAgentEnvironmentServer,
            LegacyAgentEnvironmentServerConfig,
        )

        config = LegacyAgentEnvironmentServerConfig(name="relay", agent_server=AGENT, **HERE)
        return LegacyAgentEnvironmentServer(config=config, server_client=client_of(servers))
    config = GymnasiumAgentConfig(
        name="gem_agent",
        resources_server={"type": "resources_servers", "name": "gem"},
        model_server={"type": "responses_api_models", "name": "policy_model"},
        max_steps=STEPS,
        **HERE,
    )
    return nemo_gym_env.GemAgent(config=config, server_client=client_of(servers))


def serve(role: str, servers: dict[str, Any]) -> None:
    """Serve until the input ends; print the address."""
    with served(server_of(role, servers).setup_webserver()) as url:
        print(url, flush=True)
        sys.stdin.read()


@contextlib.contextmanager
def process_of(role: str, servers: dict[str, Any]) -> Iterator[str]:
    """Serve in a process of its own, as NeMo Gym does: its HTTP client belongs to one event loop a process."""
    command = [sys.executable, __file__, role, json.dumps(servers)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


def main() -> None:
    server = nemo_gym_env.GemServer(
        config=BaseResourcesServerConfig(name="gem", **HERE),
        server_client=client_of({}),
    )
    servers: dict[str, Any] = {}

    class Collection(RolloutCollectionHelper):
        def setup_server_client(self, head_server_config: Any = None) -> ServerClient:
            return client_of(servers)

    rows = [
        *nemo_gym_env.rows("game:GuessTheNumber-v0-easy", 3),
        *nemo_gym_env.rows("test:Breaks-v0", 1),
        *nemo_gym_env.rows("test:Endless-v0", 1),
    ]
    Endless.closed = 0  # that of the row's first observation does not count
    with (
        tempfile.TemporaryDirectory() as folder,
        served(model) as model_url,
        served(server.setup_webserver()) as server_url,
        contextlib.redirect_stdout(sys.stderr),
    ):
        servers["policy_model"] = block("responses_api_models", "policy_model", model_url)
        servers["gem"] = block("resources_servers", "gem", server_url)
        source, out = Path(folder) / "rows.jsonl", Path(folder) / "rollouts.jsonl"
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
        config = RolloutCollectionConfig(
            input_jsonl_fpath=str(source), output_jsonl_fpath=str(out), num_samples_in_parallel=4
        )
        with contextlib.ExitStack() as stack:
            url = stack.enter_context(process_of("agent", servers))
            servers["gem_agent"] = block("responses_api_agents", "gem_agent", url)
            if importlib.util.find_spec("environment_servers") is not None:  # since 0.7
                url = stack.enter_context(process_of("relay", servers))
                servers["relay"] = block("environment_servers", "legacy_agent", url, agent_server=AGENT)
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
        asked = [
            [item["content"] for item in one["responses_create_params"]["input"]] for one in (rollout, rows[place])
        ]
        assert asked[0] == asked[1]
        assert all("number" in text for text in shown)
        guesses = [item["content"][0]["text"] for item in said if item["role"] == "assistant"]
        assert guesses == [f"\\boxed{{{number}}}" for number in range(1, len(guesses) + 1)]
        assert len(shown) == len(guesses) - 1
        assert rollout["info"]["turns"] == len(guesses)
        assert rollout["reward"] == rollout["info"]["return"]
        found.append(rollout["info"])
    print(json.dumps(found))


if __name__ == "__main__":
    # As NeMo Gym's own child processes have it; without, it would read the command line.
    os.environ[NEMO_GYM_CONFIG_DICT_ENV_VAR_NAME] = "{}"
    if sys.argv[1] in ("agent", "relay"):
        serve(sys.argv[1], json.loads(sys.argv[2]))
    else:
        main()
