"""Plays scripted episodes with the client of the MCP SDK. Argument: the file of episodes."""

import asyncio
import json
import os
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters


async def main() -> None:
    """Print what each episode showed and paid."""
    found = {}
    episodes = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for env_id in dict.fromkeys(episode["id"] for episode in episodes):
        command = ["-m", "gem", "mcp-serve", env_id]
        server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
        async with Client(server) as client:
            for place, episode in enumerate(episodes):
                if episode["id"] == env_id:
                    found[place] = await played(client, episode)
    print(json.dumps([found[place] for place in range(len(episodes))]))


async def played(client: Client, episode: dict) -> dict:
    """Play an episode."""
    first = (await client.call_tool("reset", {"seed": episode["seed"]})).structured_content
    turns = {"texts": [first["observation"]], "rewards": [], "flags": []}
    for action in episode["actions"]:
        turn = (await client.call_tool("step", {"action": action})).structured_content
        turns["texts"].append(turn["observation"])
        turns["rewards"].append(turn["reward"])
        turns["flags"].append([turn["terminated"], turn["truncated"]])
    return turns


asyncio.run(main())
