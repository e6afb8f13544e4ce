r"""NeMo Gym: GEM environments behind a resources server, and the agent that plays them.

Copy this file to ``resources_servers/gem/app.py`` and to ``responses_api_agents/gem_agent/app.py`` of NeMo Gym, and
name both in its configuration::

    gem:
      resources_servers:
        gem: {entrypoint: app.py, domain: games}
    gem_agent:
      responses_api_agents:
        gem_agent:
          entrypoint: app.py
          max_steps: 100
          resources_server: {type: resources_servers, name: gem}
          model_server: {type: responses_api_models, name: policy_model}
          datasets: [{name: train, type: train, jsonl_fpath: train.jsonl}]
    gem_relay:  # since NeMo Gym 0.7
      environment_servers:
        legacy_agent:
          entrypoint: app.py
          agent_server: {type: responses_api_agents, name: gem_agent}

:func:`rows` makes the lines of the data set. With NeMo Gym before 0.5, ``max_steps`` must be more than the turns of the
environment: a rollout that ends there leaves its episode open on the server.

An episode without an outcome (a fault of the environment, the grader or a simulated user) is no 0: its result has
``_ng_failure_class``, with which NeMo Gym's collection keeps it apart and repeats it, and ``mask_sample``, with which
NeMo RL leaves it out of the loss (``should_mask_flagged_samples``).

What was run, with nemo-gym 0.4.0 (``packages/gem-rl/tests/test_trainer_packages.py``) and once with 0.7.0 on Python
3.13.0: a collection of rollouts through the package's own collector, Gymnasium agent and servers over HTTP, with a
scripted model server. What was not run: its command line, Ray, and NeMo RL, which needs GPUs.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from nemo_gym.openai_utils import NeMoGymResponse
from nemo_gym.server_utils import SESSION_ID_KEY
from resources_servers.gymnasium import GymnasiumServer, extract_text
from responses_api_agents.gymnasium_agent.app import GymnasiumAgent, GymnasiumAgentRunRequest, GymnasiumRunResponse

from gem_rl.adapters import TextEpisode, rows_of_tasks

_NO_OUTCOME = "no_outcome"


def rows(env_ids: str | list[str], tasks: int, seed: int = 0, agent: str = "gem_agent") -> list[dict[str, Any]]:
    """Return a data set of initial states, a line of JSON each."""
    return [
        {
            "responses_create_params": {
                "input": [{"role": one["role"], "content": one["content"]} for one in row["prompt"]]
            },
            "env_id": row["env_id"],
            "seed": row["seed"],
            "agent_ref": {"type": "responses_api_agents", "name": agent},
        }
        for row in rows_of_tasks(env_ids, tasks, seed=seed)
    ]


class GemServer(GymnasiumServer):
    """Holds one episode for each session."""

    def setup_webserver(self) -> FastAPI:
        """Add the call with which the agent closes an episode that it has left."""
        app: FastAPI = super().setup_webserver()

        @app.post("/close")
        async def close(request: Request) -> dict[str, Any]:
            await self.close_session(request.session.get(SESSION_ID_KEY))
            return {}

        return app

    async def reset(self, metadata: dict[str, Any], session_id: str | None = None) -> tuple[str | None, dict[str, Any]]:
        """Begin the episode that the row names, whose prompt shows the first observation."""
        await self.close_session(session_id)
        episode = await asyncio.to_thread(TextEpisode, metadata["env_id"])
        self.session_state[session_id] = episode
        await asyncio.to_thread(episode.begin, metadata["seed"])
        return None, {"supports_explicit_close": True}

    async def step(
        self, action: NeMoGymResponse, metadata: dict[str, Any], session_id: str | None = None
    ) -> tuple[str | None, float, bool, bool, dict[str, Any]]:
        """Play a turn."""
        episode = self.session_state.get(session_id)
        if episode is None:
            raise HTTPException(409, "no episode is open in this session: /reset comes before /step")
        turn = await asyncio.to_thread(episode.step, extract_text(action))
        if not turn.done:
            return turn.text, turn.reward, False, False, {}
        info: dict[str, Any] = episode.metrics()
        if not episode.gradable:
            info[_NO_OUTCOME] = episode.trajectory.error or "it could not be graded"
        return None, turn.reward, not turn.truncated, turn.truncated, info

    async def close_session(self, session_id: str | None) -> None:
        """Close the environment of a session."""
        if (episode := self.session_state.pop(session_id, None)) is not None:
            await asyncio.to_thread(episode.close)


class GemAgent(GymnasiumAgent):
    """Keeps episodes without an outcome apart from those with a reward of 0."""

    async def run(self, request: Request, body: GymnasiumAgentRunRequest) -> GymnasiumRunResponse:
        """Play a rollout."""
        result = await super().run(request, body)
        if _NO_OUTCOME not in result.info:
            return result
        marks = {"_ng_failure_class": _NO_OUTCOME, "mask_sample": True}
        return GymnasiumRunResponse.model_validate({**result.model_dump(), **marks})


if __name__ == "__main__":
    servers = {"resources_servers": GemServer, "responses_api_agents": GemAgent}
    servers[Path(__file__).resolve().parents[1].name].run_webserver()
