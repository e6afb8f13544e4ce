"""An agent of Pydantic AI on one task, run by the Python that has it installed."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from pydantic_ai import Agent, UsageLimits
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


async def main() -> None:
    """Run an agent whose only tools are those of the episode."""
    server = MCPToolset(
        os.environ["GEM_MCP_URL"],
        headers={"Authorization": f"Bearer {os.environ['GEM_MCP_KEY']}"},
        read_timeout=3600.0,
    )
    provider = OpenAIProvider(base_url=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"])
    agent = Agent(OpenAIChatModel(os.environ["GEM_MODEL"], provider=provider), toolsets=[server])
    task = Path(os.environ["GEM_TASK_FILE"]).read_text(encoding="utf-8")
    async with agent:
        result = await agent.run(task, usage_limits=UsageLimits(request_limit=None))
    Path(os.environ["GEM_ANSWER_FILE"]).write_text(str(result.output), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
