"""An environment is an MCP server for one episode, behind a key of its own."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

import gem
from gem.tools import ToolEnvWrapper, tool
from gem_gateway.mcp_env.episode_calls import MOST_WAITING, EpisodeCalls, content_parts, tools_of
from gem_gateway.mcp_env.server import EpisodeEndpoint, EpisodeMCPServer

GAME = "game:GuessTheNumber-v0-easy"


@asynccontextmanager
async def connected(episode: EpisodeEndpoint) -> AsyncIterator[Client]:
    """A client of the protocol's own library, with the episode's key."""
    headers = {"Authorization": f"Bearer {episode.key}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(episode.url, http_client=http)) as client,
    ):
        yield client


def texts(result: Any) -> list[str]:
    """Return the texts of a tool's result."""
    return [part.text for part in result.content]


def test_a_client_plays_an_episode_and_learns_no_reward() -> None:
    """A client sees the tools and the observations, word for word, and after the end that it is over."""

    async def run() -> None:
        env = gem.make(GAME)
        env.reset(seed=3)
        calls = EpisodeCalls(tools_of(env))

        async def engine() -> list[Any]:
            shown = []
            for _ in range(3):
                observation, _, terminated, _, _ = env.step(await calls.next_action())
                shown.append(observation)
                (calls.end if terminated else calls.observe)(observation)
            return shown

        async with EpisodeMCPServer() as server:
            with server.serve(calls) as episode:
                played = asyncio.ensure_future(engine())
                async with connected(episode) as client:
                    assert [one.name for one in (await client.list_tools()).tools] == ["act"]
                    results = [await client.call_tool("act", {"action": f"\\boxed{{{n}}}"}) for n in (5, 2, 3)]
                    after = await client.call_tool("act", {"action": "\\boxed{3}"})
                shown = await played
        assert [texts(result)[0] for result in results] == shown
        assert all(result.structured_content is None and not result.is_error for result in results)
        assert "The episode is over" in texts(results[-1])[1]
        assert after.is_error
        assert (calls.taken, calls.refused) == (3, 1)

    asyncio.run(run())


def test_a_key_opens_its_own_episode_alone() -> None:
    """Another episode's key, none, or one after the end of its episode is answered as an address without an episode."""

    async def run() -> list[int]:
        calls = [EpisodeCalls({}), EpisodeCalls({})]
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}

        async def status(url: str, key: str | None) -> int:
            headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
            if key is not None:
                headers["Authorization"] = f"Bearer {key}"
            async with http.post(url, json=body, headers=headers) as answer:
                return answer.status

        async with EpisodeMCPServer() as server, aiohttp.ClientSession() as http:
            with server.serve(calls[0]) as one:
                with server.serve(calls[1]) as other:
                    found = [await status(one.url, one.key), await status(other.url, other.key)]
                    found += [await status(one.url, other.key), await status(one.url, None)]
                    found += [await status(one.url.replace("/episodes/", "/episodes/../episodes/x"), one.key)]
                    found += [await status(one.url[: one.url.index("/episodes/")] + "/mcp", one.key)]
                found.append(await status(other.url, other.key))
        return found

    assert asyncio.run(run()) == [200, 200, 404, 404, 404, 404, 404]


def test_a_door_takes_few_connections() -> None:
    """A program that opens many leaves descriptors to other episodes, and its own goes on when it has closed some."""

    async def run() -> None:
        async def is_open() -> bool:
            reader, writer = await asyncio.open_connection(*address)
            writers.append(writer)
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            try:
                return b"404" in await asyncio.wait_for(reader.readline(), 60)
            except ConnectionError:
                return False

        writers: list[asyncio.StreamWriter] = []
        listener = socket.create_server(("127.0.0.1", 0))
        address = listener.getsockname()
        async with EpisodeMCPServer() as server:
            with server.serve(EpisodeCalls({})) as episode:
                async with server.listening(listener, episode):
                    most = 2 * MOST_WAITING
                    assert [await is_open() for _ in range(most + 2)] == [True] * most + [False] * 2
                    for writer in writers:
                        writer.close()
                        await writer.wait_closed()
                    writers.clear()
                    while not await is_open():  # the server learns of the ends one after another
                        pass
                    writers[-1].close()

    asyncio.run(run())


@tool
def look(place: str) -> str:
    """Look at a place.

    Args:
        place: where.
    """
    return f"nothing at {place}"


def test_the_tools_of_an_environment_are_offered_with_their_schemas() -> None:
    """A call of a tool is the action of a model that calls natively; a wrong call is no action."""

    async def run() -> None:
        calls = EpisodeCalls(tools_of(ToolEnvWrapper(gem.make(GAME), tools=[look])))
        assert sorted(calls.tools) == ["act", "look"]
        assert "place" in calls.tools["look"].input_schema["properties"]
        for name, arguments in (("lock", {}), ("look", {"plaice": "here"}), ("act", {"action": "a", "b": 1})):
            assert not (await calls.call(name, arguments)).ok
        answer = asyncio.ensure_future(calls.call("look", {"place": "home"}))
        action = await calls.next_action()
        assert action["tool_calls"][0]["function"] == {"name": "look", "arguments": '{"place": "home"}'}
        calls.observe("nothing")
        assert (await answer).content == ({"type": "text", "text": "nothing"},)
        assert (calls.taken, calls.refused) == (1, 3)

    asyncio.run(run())


def test_a_call_whose_program_has_gone_away_is_no_action() -> None:
    """A call that was cancelled before the engine took it is left out, and the next one is taken."""

    async def run() -> Any:
        calls = EpisodeCalls(tools_of(gem.make(GAME)))
        gone = asyncio.ensure_future(calls.call("act", {"action": "first"}))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait([gone])
        later = asyncio.ensure_future(calls.call("act", {"action": "second"}))
        taken = await calls.next_action()
        calls.end("over")
        await later
        return taken

    assert asyncio.run(run()) == "second"


@pytest.mark.parametrize(
    ("observation", "texts_shown"),
    [
        ("plain", ["plain"]),
        ([{"type": "text", "text": "part"}], ["part"]),
        ([{"role": "user", "content": "first"}, {"role": "user", "content": "last"}], ["last"]),
        ([], []),
    ],
)
def test_observations_of_every_form_are_content(observation: Any, texts_shown: list[str]) -> None:
    """Text, parts and conversations are shown; of a conversation its last message."""
    assert [part["text"] for part in content_parts(observation)] == texts_shown
