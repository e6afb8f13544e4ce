"""Plays the episodes of evaluation.py with NeMo Gym, in an environment of its own; evaluation.py calls it.

    PYTHON benchmarks/evaluation_nemo_gym.py URL EPISODES CONCURRENCY

Its three servers, which ship with it, run on one event loop of this process, the cheapest way there is: the agent for
Gymnasium's interface, the model server for endpoints like vLLM's, and a resources server with the game. The episodes
are begun by POST to the agent's ``/run``, as its own collection of rollouts does. Prints the seconds of the episodes,
of CPU and by the clock, without imports and starts, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import time
from dataclasses import replace
from typing import Any

import aiohttp
import uvicorn
from nemo_gym.global_config import NEMO_GYM_CONFIG_DICT_ENV_VAR_NAME
from nemo_gym.server_utils import BaseServerConfig, ServerClient
from omegaconf import OmegaConf
from pydantic import Field
from resources_servers.gymnasium import GymnasiumServer, extract_text
from responses_api_agents.gymnasium_agent.app import GymnasiumAgent
from responses_api_models.vllm_model.app import VLLMModel

import gem

TURNS = 5
SPEC = replace(
    gem.spec("game:GuessTheNumber-v0-easy"), kwargs={"min_number": 1, "max_number": 1_000_000, "max_turns": TURNS}
)


class GuessServer(GymnasiumServer):
    """The game as a resources server of Gymnasium's interface."""

    games: dict[str, Any] = Field(default_factory=dict)

    async def reset(self, metadata: dict[str, Any], session_id: str | None = None) -> tuple[str, dict[str, Any]]:
        """Begin the game of a session."""
        game = self.games[session_id or ""] = gem.make(SPEC)
        observation, _ = game.reset(seed=metadata["seed"])
        return observation, {}

    async def step(
        self, action: Any, metadata: dict[str, Any], session_id: str | None = None
    ) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Play a turn."""
        observation, reward, terminated, truncated, _ = self.games[session_id or ""].step(extract_text(action))
        return observation, float(reward), terminated, truncated, {}

    def _cleanup_session(self, session_id: str | None) -> None:
        self.games.pop(session_id or "", None)
        super()._cleanup_session(session_id)


def free_port() -> int:
    """Return a port that nobody has."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


async def started(app: Any, port: int) -> uvicorn.Server:
    """Serve an application on this loop."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error", access_log=False))
    server.install_signal_handlers = lambda: None
    running = asyncio.ensure_future(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
        if running.done():
            await running
    server.running = running
    return server


async def main(url: str, episodes: int, concurrency: int) -> None:
    """Play and print the seconds."""
    kinds = {"game": "resources_servers", "model": "responses_api_models", "agent": "responses_api_agents"}
    places = {name: {"host": "127.0.0.1", "port": free_port(), "entrypoint": "app.py"} for name in kinds}
    known = OmegaConf.create({name: {kind: {name: places[name]}} for name, kind in kinds.items()})
    os.environ[NEMO_GYM_CONFIG_DICT_ENV_VAR_NAME] = OmegaConf.to_yaml(known)
    client = ServerClient(head_server_config=BaseServerConfig(host="127.0.0.1", port=1), global_config_dict=known)
    refers = {name: {"type": kind, "name": name} for name, kind in kinds.items()}
    further: dict[str, tuple[type[Any], dict[str, Any]]] = {
        "game": (GuessServer, {}),
        "model": (
            VLLMModel,
            {
                "base_url": url,
                "api_key": "none",
                "model": "fake-model",
                "return_token_id_information": False,
                "uses_reasoning_parser": False,
            },
        ),
        "agent": (
            GymnasiumAgent,
            {"resources_server": refers["game"], "model_server": refers["model"], "max_steps": TURNS},
        ),
    }
    servers = []
    for name, (kind, fields) in further.items():
        config = kind.model_fields["config"].annotation(**places[name], name=name, **fields)
        app = kind(config=config, server_client=client).setup_webserver()
        servers.append(await started(app, places[name]["port"]))
    address = f"http://127.0.0.1:{places['agent']['port']}/run"
    numbers = iter(range(episodes))
    turns = 0
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:

        async def play() -> None:
            nonlocal turns
            for seed in numbers:
                row = {"responses_create_params": {"input": []}, "seed": seed}
                async with session.post(address, json=row) as reply:
                    found = await reply.json()
                    assert reply.status == 200, found
                turns += sum(one.get("role") == "assistant" for one in found["response"]["output"])

        began, begin = time.perf_counter(), time.process_time()
        await asyncio.gather(*(play() for _ in range(concurrency)))
        measured = {"cpu_seconds": time.process_time() - begin, "seconds": time.perf_counter() - began}
    assert turns >= 0.99 * TURNS * episodes, turns
    json.dump(measured, sys.stdout)
    sys.stdout.flush()
    os._exit(0)  # its connections have no end of their own


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
