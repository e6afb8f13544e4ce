"""Plays scripted episodes with openreward's client. Arguments: the file of episodes, and the server's address."""

import asyncio
import json
import sys
from pathlib import Path

from openreward.api.environments.client import AsyncEnvironmentsAPI


async def main() -> None:
    """Print what each episode showed and paid."""
    found = []
    async with AsyncEnvironmentsAPI(base_url=sys.argv[2], api_key="") as server:
        for episode in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
            environment = server.get("gem", variant=episode["id"], base_url=sys.argv[2])
            async with environment.session(split="train", index=episode["seed"]) as session:
                (first,) = await session.get_prompt()
                is_answer = await session.is_assistant_message_final()
                played = {"texts": [first.text], "rewards": [], "ends": []}
                for action in episode["actions"]:
                    if is_answer:
                        output = await session.call_terminal_tool(action)
                    else:
                        output = await session.call_tool("act", {"text": action})
                    played["texts"].append(output.blocks[0].text)
                    played["rewards"].append(output.reward)
                    played["ends"].append(output.finished)
            found.append(played)
    print(json.dumps(found))


asyncio.run(main())
