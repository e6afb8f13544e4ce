"""Compares the model client with a bare request, in CPU seconds of one run.

    python benchmarks/model_client.py
    python benchmarks/model_client.py --requests 10000 --tokens 500 --json

A server in another process answers every chat completion at once, with the same bytes: a text of 20 tokens, with their
ids and log-probabilities. The bare side posts a body of 5 messages with aiohttp, encodes and decodes with orjson, and
looks at nothing. The sides take turns, several rounds; a figure is the median.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import statistics
import time
from multiprocessing.connection import Connection
from typing import Any

import aiohttp
import orjson

from gem_eval.clients import ModelPolicy, Sampling, open_client

MESSAGES = [
    {"role": "system", "content": "You are playing Guess The Number. " * 5},
    {"role": "user", "content": "I have chosen a whole number from 1 to 10. Find it within 4 turns."},
    {"role": "assistant", "content": "My guess is \\boxed{5}."},
    {"role": "user", "content": "Turn 1 of 4. The number is lower than 5.\nEnter your guess from 1 to 10."},
    {"role": "user", "content": "Think first, then guess."},
]


def answer(tokens: int) -> bytes:
    """Return the body of an answer, in vLLM's dialect."""
    text = ["The", " number", " is", " lower", "."] * (tokens // 5 + 1)
    content = [
        {"token": text[n], "logprob": -0.01 * n, "bytes": list(text[n].encode()), "top_logprobs": []}
        for n in range(tokens)
    ]
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": "".join(text[:tokens]), "tool_calls": [], "reasoning": None},
        "logprobs": {"content": content},
        "finish_reason": "stop",
        "stop_reason": None,
        "token_ids": list(range(1000, 1000 + tokens)),
    }
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": {"prompt_tokens": 120, "completion_tokens": tokens, "total_tokens": 120 + tokens},
        "prompt_token_ids": list(range(120)),
    }
    return orjson.dumps(body)


class _Instant(asyncio.Protocol):
    """Answers each request with the same bytes."""

    models = orjson.dumps({"data": [{"id": "m", "owned_by": "vllm"}]})
    body = b""

    def connection_made(self, transport: Any) -> None:
        self.transport, self.data = transport, b""

    def data_received(self, data: bytes) -> None:
        self.data += data
        while (end := self.data.find(b"\r\n\r\n")) >= 0:
            head = self.data[:end].lower()
            start = head.find(b"content-length: ")
            length = int(head[start + 16 :].split(b"\r", 1)[0]) if start >= 0 else 0
            if len(self.data) < end + 4 + length:
                return
            self.data = self.data[end + 4 + length :]
            body = self.models if head.startswith(b"get") else self.body
            head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
            self.transport.write(head + body)


def serve(pipe: Connection, tokens: int) -> None:
    """Serve until the process is ended."""
    _Instant.body = answer(tokens)

    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(_Instant, "127.0.0.1", 0, backlog=1024)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


async def bare(port: int, requests: int, at_once: int) -> float:
    """Return the CPU seconds of one request by aiohttp and orjson alone."""
    url = f"http://127.0.0.1:{port}/v1/chat/completions"
    fields = {"model": "m", "messages": MESSAGES, "logprobs": True, "top_logprobs": 0, "return_token_ids": True}
    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=at_once), headers=headers) as session:

        async def worker(count: int) -> None:
            for _ in range(count):
                async with session.post(url, data=orjson.dumps(fields)) as response:
                    orjson.loads(await response.read())

        await asyncio.gather(*(worker(1) for _ in range(at_once)))
        begun = time.process_time()
        await asyncio.gather(*(worker(requests // at_once) for _ in range(at_once)))
        return (time.process_time() - begun) / (requests // at_once * at_once)


async def client(port: int, requests: int, at_once: int, policy: bool) -> float:
    """Return the CPU seconds of one request by the client, or by a policy on top of it."""
    model = open_client(f"http://127.0.0.1:{port}", concurrency=at_once)
    sampling = Sampling(logprobs=True)

    async def worker(count: int) -> None:
        player = ModelPolicy(model, sampling)
        for _ in range(count):
            if policy:
                act = await player.act(MESSAGES, {})
                assert act.logprobs is not None
            else:
                completion = await model.chat(MESSAGES, sampling=sampling)
                assert completion.token_ids is not None

    try:
        await asyncio.gather(*(worker(1) for _ in range(at_once)))
        begun = time.process_time()
        await asyncio.gather(*(worker(requests // at_once) for _ in range(at_once)))
        return (time.process_time() - begun) / (requests // at_once * at_once)
    finally:
        await model.close()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--at-once", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(theirs, options.tokens), daemon=True)
    server.start()
    port = ours.recv()
    sides: dict[str, list[float]] = {"bare aiohttp + orjson": [], "client": [], "client and policy": []}
    try:
        for _ in range(options.rounds):
            sides["bare aiohttp + orjson"].append(asyncio.run(bare(port, options.requests, options.at_once)))
            sides["client"].append(asyncio.run(client(port, options.requests, options.at_once, policy=False)))
            sides["client and policy"].append(asyncio.run(client(port, options.requests, options.at_once, policy=True)))
    finally:
        server.terminate()
        server.join()
    base = sides["bare aiohttp + orjson"]
    rows = []
    for name, seconds in sides.items():
        ratios = [one / other for one, other in zip(seconds, base, strict=True)]
        rows.append(
            {
                "side": name,
                "ms_per_request": 1000 * statistics.median(seconds),
                "ratio": statistics.median(ratios),
                "lowest": min(ratios),
                "highest": max(ratios),
            }
        )
    if options.json:
        print(json.dumps(rows))
        return
    print(f"{options.tokens} tokens an answer, {options.at_once} requests at once\n")
    print("| | ms of CPU a request | times the bare request |\n|---|---|---|")
    for row in rows:
        shown = f"{row['ratio']:.2f} ({row['lowest']:.2f} … {row['highest']:.2f})"
        print(f"| {row['side']} | {row['ms_per_request']:.3f} | {shown} |")


if __name__ == "__main__":
    main()
