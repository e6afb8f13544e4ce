"""Each episode of an agent program is one session for the model's server, and its calls tell what was cached."""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import gem
from gem_eval.clients import EndpointClient, Sampling
from gem_eval.clients.session import episode_session
from gem_eval.fake_model import FakeModel, ModelAnswer, ModelRequest
from gem_eval.fake_model.model_request import SampledCall
from gem_eval.runs import EpisodeRow
from gem_gateway import Gateway
from gem_gateway.client_answerer import ClientAnswerer
from gem_gateway.harnesses import harness_policy
from gem_rollout import RolloutEngine, plan_episodes
from gem_rollout.trajectory import Trajectory

GAME = "game:GuessTheNumber-v0-easy"
PROGRAM = Path(__file__).with_name("tiny_agent.py")


class Guessing:
    """A model that guesses 1, 2, 3 … and keeps the conversations of each session."""

    def __init__(self) -> None:
        self.sessions: dict[str | None, list[list[dict[str, Any]]]] = defaultdict(list)

    def __call__(self, request: ModelRequest) -> ModelAnswer:
        self.sessions[request.body.get("prompt_cache_key")].append(request.messages)
        last = request.messages[-1]
        if last["role"] == "tool" and "episode is over" in str(last["content"]).lower():
            return ModelAnswer("Done.")
        guess = sum(message["role"] == "assistant" for message in request.messages) + 1
        return ModelAnswer("", tool_calls=[SampledCall("act", f'{{"action": "\\\\boxed{{{guess}}}"}}')])


def test_programs_side_by_side_are_sessions_of_their_own() -> None:
    """Three programs at once: three keys, each derived from its episode; their calls, not their turns, are counted."""
    model = Guessing()

    async def run() -> list[Trajectory]:
        async with FakeModel(model, replicas=2) as server, EndpointClient(server.url, "m", stream=True) as client:
            command = f"command:'{sys.executable}' -I -S '{PROGRAM}' plays -"
            policy = harness_policy(command, client, Sampling(session="run"))
            async with RolloutEngine(plan_episodes(GAME, 3), policy, concurrency=3) as engine:
                return [record async for record in engine]

    records = asyncio.run(run())
    assert [record.failure for record in records] == [None] * 3
    with gem.make(GAME) as env:
        assert set(model.sessions) == {episode_session("run", env, seed, 0) for seed in range(3)}
    for conversations in model.sessions.values():
        for before, after in pairwise(conversations):
            assert after[: len(before)] == before
    rows = [EpisodeRow.of_trajectory(record) for record in records]
    assert sum(row.calls for row in rows) == sum(map(len, model.sessions.values()))
    for row in rows:
        assert row.calls == row.cache_calls == len(row.first_token_seconds)
        assert row.cached_tokens


def test_a_session_of_a_gateway_is_a_session_of_the_server() -> None:
    """Also without an episode: its id names it, unless the evaluation says otherwise; a program cannot change it."""
    model = Guessing()

    async def run() -> list[str]:
        async with FakeModel(model) as server, EndpointClient(server.url, "m") as client, Gateway() as gateway:
            sessions = [
                gateway.open(ClientAnswerer(client), sampling=sampling)
                for sampling in (None, Sampling(temperature=0.0), Sampling(session="mine"))
            ]
            for session in sessions:
                program = EndpointClient(session.base_url(), session.model, api_key=session.api_key)
                async with program:
                    await program.chat(
                        [{"role": "user", "content": "Hello"}],
                        sampling=Sampling(session="another", extra={"prompt_cache_key": "another"}),
                    )
            return [session.id for session in sessions]

    first, second, _ = asyncio.run(run())
    assert set(model.sessions) == {first, second, "mine"}
