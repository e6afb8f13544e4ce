"""A policy plays a real environment through a real server."""

from __future__ import annotations

import asyncio
from typing import Any

import gem
from gem_eval.clients import ModelPolicy, Sampling, open_client


def test_a_policy_plays_through_a_server() -> None:
    """A refused request is repeated, the only model is found, and the conversation reaches the server."""
    from aiohttp import web

    calls: list[Any] = []

    async def chat(request: web.Request) -> web.Response:
        calls.append(await request.json())
        if len(calls) == 1:
            return web.json_response({"error": {"message": "try again in 2ms"}}, status=429)
        choice = {"finish_reason": "stop", "message": {"role": "assistant", "content": "\\boxed{5}"}}
        return web.json_response({"id": "x", "model": "m", "choices": [choice]})

    async def models(_: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "m", "owned_by": "vllm"}]})

    async def play() -> list[Any]:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", chat)
        app.router.add_get("/v1/models", models)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        client = open_client(f"localhost:{runner.addresses[0][1]}", api_key="secret")
        policy = ModelPolicy(client, Sampling(temperature=0.5), system="Play well.")
        env = gem.make("game:GuessTheNumber-v0-easy", wrappers="messages")
        observation, info = env.reset(seed=1)
        acts = []
        for _ in range(2):
            acts.append(await policy.act(observation, info))
            observation, _, _, _, info = env.step(acts[-1].action)
        await client.close()
        await runner.cleanup()
        return acts

    acts = asyncio.run(play())
    assert [act.action for act in acts] == ["\\boxed{5}"] * 2
    assert acts[0].metadata == {"request_id": "x", "retries": 1}
    assert [message["role"] for message in calls[-1]["messages"]] == ["system", "user", "assistant", "user"]
    assert calls[-1]["model"] == "m"
