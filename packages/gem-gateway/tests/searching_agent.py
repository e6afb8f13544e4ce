"""An agent of OpenAI's Agents SDK with the SDK's own hosted tools, run by a Python that has the library."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from agents import Agent, CodeInterpreterTool, OpenAIResponsesModel, Runner, WebSearchTool, set_tracing_disabled
from openai import AsyncOpenAI


async def main() -> None:
    """Answer the task with what the API's web search and code interpreter find."""
    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"])
    interpreter = CodeInterpreterTool({"type": "code_interpreter", "container": {"type": "auto"}})
    agent = Agent(
        name="agent",
        model=OpenAIResponsesModel(os.environ["GEM_MODEL"], client),
        tools=[WebSearchTool(), interpreter],
    )
    result = await Runner.run(agent, Path(os.environ["GEM_TASK_FILE"]).read_text(encoding="utf-8"))
    ran = [item.raw_item.type for item in result.new_items]
    print(*ran, result.final_output)


asyncio.run(main())
