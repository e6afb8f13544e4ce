"""An agent of OpenAI's Agents SDK on one task, run by the Python that has it installed."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from openai import AsyncOpenAI

_MOST_TURNS = 1000
"""The episode has limits of its own."""


async def main() -> None:
    """Run an agent whose only tools are those of the episode."""
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"])
    headers = {"Authorization": f"Bearer {os.environ['GEM_MCP_KEY']}"}
    server = MCPServerStreamableHttp(
        {"url": os.environ["GEM_MCP_URL"], "headers": headers, "timeout": 3600.0},
        name="gem",
        client_session_timeout_seconds=3600.0,
    )
    async with server:
        agent = Agent(
            name="agent",
            instructions="Do the task with your tools.",
            model=OpenAIResponsesModel(os.environ["GEM_MODEL"], client),
            mcp_servers=[server],
        )
        task = Path(os.environ["GEM_TASK_FILE"]).read_text(encoding="utf-8")
        result = await Runner.run(agent, task, max_turns=_MOST_TURNS)
    Path(os.environ["GEM_ANSWER_FILE"]).write_text(str(result.final_output), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
