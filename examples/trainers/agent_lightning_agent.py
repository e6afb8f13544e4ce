r"""Agent Lightning: an agent that plays GEM environments through its gateway.

Put this file on the path of the controller, start server and controller with ``runner_type=local``, and name the agent
in the configuration of the trainer; the rows of the data set have ``env_id`` and ``seed``, as
``gem_rl.adapters.rows_of_tasks`` writes them::

    agentlightning:
      local:
        agent_class: agent_lightning_agent.GemAgent
        env_map: {GEM_ENV_ID: input.env_id, GEM_SEED: input.seed}

A rollout is an episode. The gateway records the tokens of each call, and the return of the episode is its reward. An
episode without an outcome (a fault of the environment, the model server, the grader or a simulated user) fails, and its
calls are withdrawn: Agent Lightning takes a rollout without a reward for one of 0.0 and skips one without calls.

What was run, with agentlightning 1.0.2 (``packages/gem-rl/tests/test_trainer_packages.py``): rollouts of the package's
own rollout manager through its server, its gateway and its local controller, with a scripted model server. What was not
run: a training run, which needs GPUs, and agents as Kubernetes jobs.
"""

from __future__ import annotations

import os

import httpx

import gem
from gem.rollout import EpisodeRequest, RolloutEngine
from gem.trajectory import EpisodeKey, Trajectory
from gem_eval.clients import EndpointClient, ModelPolicy, Sampling
from gem_rl import is_gradable


class UnknownOutcome(RuntimeError):  # noqa: N818  # it is no error of the policy
    """An episode says nothing about the policy."""


class GemAgent:
    """Plays the episode that the variables ``GEM_ENV_ID`` and ``GEM_SEED`` name.

    ``GEM_MAX_TOKENS`` are those of an answer (1,024 unless given).
    """

    async def run(self) -> None:
        """Play, and report the return.

        Raises:
            UnknownOutcome: if the episode says nothing about the policy.
        """
        episode = await self._play()
        key = {"Authorization": f"Bearer {os.environ['AGL_KEY']}"}
        async with httpx.AsyncClient(headers=key, timeout=60) as gateway:
            if is_gradable(episode):
                await _report(gateway, "reward", {"value": episode.episode_return})
                return
            await _withdraw_calls(gateway)
        raise UnknownOutcome(f"the episode {episode.key} has no outcome: {episode.error or 'it could not be graded'}")

    async def _play(self) -> Trajectory:
        spec = gem.spec(os.environ["GEM_ENV_ID"])
        sampling = Sampling(max_tokens=int(os.environ.get("GEM_MAX_TOKENS", "1024")))
        # The gateway names the model, and asks for token ids itself.
        model = EndpointClient(
            os.environ["AGL_OPENAI_BASE_URL"], "auto", api_key=os.environ["AGL_KEY"], token_ids=False
        )
        request = EpisodeRequest(spec, EpisodeKey(spec.id, int(os.environ["GEM_SEED"])))
        async with model:
            engine = RolloutEngine(
                [request],
                lambda env: ModelPolicy(model, sampling, env=env),
                concurrency=1,
                wrappers="messages",
                strict=True,  # an environment that cannot be made is an error of the configuration
            )
            async with engine:
                (episode,) = [one async for one in engine]
        return episode


async def _report(gateway: httpx.AsyncClient, kind: str, data: dict[str, object]) -> None:
    answer = await gateway.post(os.environ["AGL_EVENT_URL"], json={"event_type": kind, "data": data})
    answer.raise_for_status()


async def _withdraw_calls(gateway: httpx.AsyncClient) -> None:
    """Replace the record of each call by one that failed: of calls with one prompt, the last one counts."""
    events = os.environ["AGL_EVENT_URL"].partition("/attempt/")[0] + "/events"
    answer = await gateway.get(events, params={"event_type": "model_request", "format": "triplet"})
    answer.raise_for_status()
    for event in answer.json():
        prompt = {"prompt_token_ids": event["data"]["prompt_token_ids"]}
        await _report(gateway, "model_request", {"status": "error", "response": prompt})
