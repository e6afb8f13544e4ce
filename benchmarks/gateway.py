"""Compares the gateway with a bare proxy and with the model client alone, in CPU seconds of one run; and its limits.

    python benchmarks/gateway.py
    python benchmarks/gateway.py --calls 4000 --sessions 512 --opened 10000

*Cost*: a server in another process answers every chat completion at once, and a third process plays conversations,
which begin with 20 kB and grow with each of their ten calls. The process that is measured answers them in turn as the
gateway (session, budget, model client), as the gateway with the record that runs have and a journal of it, and as a
bare proxy of aiohttp, which passes bodies on as bytes; and it makes such calls itself with the model client. The sides
take turns, several rounds; a figure is the median.

*Many sessions*: programs play side by side, each with a session and several calls, before a fake model that takes a
second for each. Ideal is one second a call; the same programs before the model itself, and behind the bare proxy, are
measured beside it, for programs, model and gateway share this machine's processors.

*Leaks*: sessions are opened, called and closed one after another in bunches; memory, descriptors and tasks afterwards
are compared with those after the first tenth.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import aiohttp
import orjson
from aiohttp import web
from model_client import serve

from gem_eval.clients import ModelClient, open_client
from gem_eval.fake_model import FakeModelProcess
from gem_gateway import CallBudget, ClientAnswerer, Gateway
from gem_gateway.calls import CallAnswerer
from gem_gateway.lineages.journal import CallJournal
from gem_gateway.lineages.recorder import LineageRecorder

TURN = "The number is lower than 5. Enter your guess from 1 to 10, and think before you answer. " * 5
MESSAGES = [{"role": ("user", "assistant")[number % 2], "content": f"{number}: {TURN}"} for number in range(43)]
CALLS = 10
"""Of one conversation."""

Address = tuple[str, str]
"""The URL of an endpoint, and a key."""


def body(messages: list[dict[str, Any]]) -> bytes:
    """Return the body of a request."""
    return orjson.dumps({"model": "m", "messages": messages, "max_tokens": 100, "temperature": 1.0})


BODY = body(MESSAGES)


def send(pipe: Connection, at_once: int) -> None:
    """Play a conversation at each address of each message from the pipe, and answer it when they are done."""

    async def run(addresses: list[Address]) -> None:
        left = iter(addresses)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=at_once)) as session:
            await asyncio.gather(*(worker(session, left) for _ in range(at_once)))

    async def worker(session: aiohttp.ClientSession, left: Iterator[Address]) -> None:
        for url, key in left:
            headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
            messages = list(MESSAGES)
            for _ in range(CALLS):
                async with session.post(url, data=body(messages), headers=headers) as answer:
                    assert answer.status == 200, await answer.text()
                    said = orjson.loads(await answer.read())["choices"][0]["message"]["content"]
                messages += [{"role": "assistant", "content": said}, {"role": "user", "content": TURN}]

    while (job := pipe.recv()) is not None:
        asyncio.run(run(job))
        pipe.send(True)


async def cost(sender: Connection, addresses: list[Address]) -> float:
    """Return the CPU seconds of this process for one call, while the other process plays at these addresses."""
    loop = asyncio.get_running_loop()
    warming = len(addresses) // 10
    for some in (addresses[:warming], addresses[warming:]):
        begun = time.process_time()
        sender.send(some)
        await loop.run_in_executor(None, sender.recv)
        seconds = time.process_time() - begun
    return seconds / (len(addresses) - warming) / CALLS


async def through_gateway(
    sender: Connection, port: int, conversations: int, answerer: Callable[[ModelClient, int], CallAnswerer]
) -> float:
    """Return the cost of a call that the gateway takes and a model client answers."""
    client = open_client(f"http://127.0.0.1:{port}", "m", concurrency=10_000)
    budget = CallBudget(calls=10**9, completion_tokens=10**9)
    async with Gateway() as gateway:
        sessions = [gateway.open(answerer(client, number), budget=budget) for number in range(conversations)]
        addresses = [(f"{one.base_url('chat')}/chat/completions", one.api_key) for one in sessions]
        seconds = await cost(sender, addresses)
        assert all(one.calls.answered == CALLS for one in sessions)
    await client.close()
    return seconds


async def through_record(sender: Connection, port: int, conversations: int) -> float:
    """Return the same with a record of each call that is in a file before its answer leaves."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{number}.jsonl") for number in range(conversations)]
        seconds = await through_gateway(
            sender,
            port,
            conversations,
            lambda client, number: LineageRecorder(client, journal=CallJournal(paths[number])),
        )
        assert all(path.read_bytes().count(b'"parent":') == CALLS - 1 for path in paths)
    return seconds


@asynccontextmanager
async def proxy(target: str) -> AsyncIterator[str]:
    """Pass on bodies as bytes; yields the address."""
    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=headers) as upstream:

        async def passed(request: web.BaseRequest) -> web.Response:
            async with upstream.post(target, data=await request.read()) as answer:
                return web.Response(status=answer.status, body=await answer.read(), content_type="application/json")

        runner = web.ServerRunner(web.Server(passed, access_log=None), shutdown_timeout=1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=4096).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        await runner.cleanup()


async def through_proxy(sender: Connection, port: int, conversations: int) -> float:
    """Return the cost of a call that is passed on as bytes."""
    async with proxy(f"http://127.0.0.1:{port}/v1/chat/completions") as origin:
        return await cost(sender, [(f"{origin}/v1/chat/completions", "k")] * conversations)


async def client_alone(port: int, calls: int, at_once: int) -> float:
    """Return the cost of a call that this process makes itself."""
    client = open_client(f"http://127.0.0.1:{port}", "m", concurrency=at_once)

    async def worker(count: int) -> None:
        for _ in range(count):
            await client.chat(MESSAGES)

    await asyncio.gather(*(worker(1) for _ in range(at_once)))
    begun = time.process_time()
    await asyncio.gather(*(worker(calls // at_once) for _ in range(at_once)))
    seconds = time.process_time() - begun
    await client.close()
    return seconds / calls


def program(addresses: list[Address], calls: int, pipe: Connection) -> None:
    """Play one program for each address, all at once, and say how many seconds that took."""

    async def run() -> float:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def play(url: str, key: str) -> None:
                small = body(MESSAGES[:3])
                for _ in range(calls):
                    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
                    async with session.post(url, data=small, headers=headers) as answer:
                        assert answer.status == 200, await answer.text()
                        await answer.read()

            begun = time.monotonic()
            await asyncio.gather(*(play(*one) for one in addresses))
            return time.monotonic() - begun

    pipe.send(asyncio.run(run()))


async def many(count: int, calls: int) -> list[tuple[str, float, float]]:
    """Return how long programs take on each way to a model, and the CPU seconds of this process meanwhile."""
    rows = [("ideal", float(calls), 0.0)]
    with FakeModelProcess(["--policy", "constant:7", "--latency", "1"]) as model:
        target = f"{model.origin}/v1/chat/completions"
        rows.append(("at the model's server", *await played([(target, "k")] * count, calls)))
        async with proxy(target) as origin:
            rows.append(("through the bare proxy", *await played([(origin, "k")] * count, calls)))
        client = open_client(model.url, concurrency=count)
        async with Gateway() as gateway:
            sessions = [gateway.open(ClientAnswerer(client), name=str(number)) for number in range(count)]
            addresses = [(f"{one.base_url('chat')}/chat/completions", one.api_key) for one in sessions]
            rows.append(("through the gateway", *await played(addresses, calls)))
            assert all(one.calls.answered == calls for one in sessions)
        await client.close()
    return rows


async def played(addresses: list[Address], calls: int) -> tuple[float, float]:
    """Return how many seconds programs in another process take, and how much CPU of this process meanwhile."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=program, args=(addresses, calls, theirs), daemon=True)
    process.start()
    begun = time.process_time()
    seconds: float = await asyncio.get_running_loop().run_in_executor(None, ours.recv)
    cpu = time.process_time() - begun
    process.join()
    return seconds, cpu


async def leaks(port: int, opened: int) -> list[tuple[str, dict[str, float]]]:
    """Return memory, descriptors and tasks after a tenth of the sessions, and after all."""
    client: ModelClient = open_client(f"http://127.0.0.1:{port}", "m")
    rows = []
    async with Gateway() as gateway, aiohttp.ClientSession() as http:

        async def one() -> None:
            session = gateway.open(ClientAnswerer(client), budget=CallBudget(calls=5))
            url, headers = f"{session.base_url('chat')}/chat/completions", {"x-api-key": session.api_key}
            async with http.post(url, data=BODY, headers=headers) as answer:
                assert answer.status == 200
                await answer.read()
            await session.close()

        for number in range(opened // 50):
            await asyncio.gather(*(one() for _ in range(50)))
            if (number + 1) * 50 in (opened // 10, opened):
                rows.append((f"after {(number + 1) * 50} sessions", resources(gateway)))
    await client.close()
    return rows


def resources(gateway: Gateway) -> dict[str, float]:
    """Return what this process holds now."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "resident MiB": pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "tasks": len(asyncio.all_tasks()),
        "open sessions": len(gateway.sessions),
        "Python objects": len(gc.get_objects()),
    }


def costs(port: int, sender: Connection, calls: int, at_once: int, rounds: int) -> dict[str, list[float]]:
    """Return the cost of a call on each side, once for each round."""
    conversations = calls // CALLS
    sides: dict[str, Callable[[], Awaitable[float]]] = {
        "bare proxy": lambda: through_proxy(sender, port, conversations),
        "model client alone": lambda: client_alone(port, calls, at_once),
        "gateway and model client": lambda: through_gateway(
            sender, port, conversations, lambda client, _: ClientAnswerer(client)
        ),
        "gateway, model client and record": lambda: through_record(sender, port, conversations),
    }
    found: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            found[name].append(asyncio.run(_of(side)))
    return found


async def _of(side: Callable[[], Awaitable[float]]) -> float:
    return await side()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--calls", type=int, default=2000, help="of each side and round, rounded up to equal shares of the programs"
    )
    parser.add_argument("--at-once", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--sessions", type=int, default=512, help="at once, with a model that takes a second; 0 for none"
    )
    parser.add_argument("--opened", type=int, default=10_000, help="one after another; 0 for none")
    options = parser.parse_args()
    (ours, theirs), (here, there) = multiprocessing.Pipe(), multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(theirs, 20), daemon=True)
    sender = multiprocessing.Process(target=send, args=(there, options.at_once), daemon=True)
    server.start()
    sender.start()
    port = ours.recv()
    try:
        unit = 10 * options.at_once  # a tenth more calls warm each side up
        calls = -(-options.calls // unit) * unit
        found = costs(port, here, calls, options.at_once, options.rounds)
        show_costs(found, calls)
        if options.sessions:
            rows = asyncio.run(many(options.sessions, 5))
            print(f"\n{options.sessions} programs at once, 5 calls each\n")
            print("| | s | share of the ideal | CPU s of the process between |\n|---|---|---|---|")
            for name, seconds, cpu in rows:
                print(f"| {name} | {seconds:.2f} | {rows[0][1] / seconds:.1%} | {cpu:.2f} |")
        if options.opened:
            kept: Any = asyncio.run(leaks(port, options.opened))
            print("\n| | " + " | ".join(kept[0][1]) + " |\n|---|" + "---|" * len(kept[0][1]))
            for name, values in kept:
                print(
                    f"| {name} | " + " | ".join(f"{value:,.1f}".removesuffix(".0") for value in values.values()) + " |"
                )
    finally:
        here.send(None)
        server.terminate()
        for process in (server, sender):
            process.join()


def show_costs(found: dict[str, list[float]], calls: int) -> None:
    """Print what a call costs on each side."""
    print(f"{len(BODY)} bytes a call, {calls} calls a round, {len(found['bare proxy'])} rounds\n")
    print("| | ms of CPU a call | times the bare proxy |\n|---|---|---|")

    def shown(seconds: list[float]) -> str:
        ratios = [one / other for one, other in zip(seconds, found["bare proxy"], strict=True)]
        ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} … {max(ratios):.2f})"
        return f"{1000 * statistics.median(seconds):.3f} | {ratio}"

    for name, seconds in found.items():
        print(f"| {name} | {shown(seconds)} |")
    for name, side in {"gateway": "gateway and model client", "and record": "gateway, model client and record"}.items():
        alone = [one - other for one, other in zip(found[side], found["model client alone"], strict=True)]
        print(f"| {name} beside the client's own cost | {shown(alone)} |")


if __name__ == "__main__":
    main()
