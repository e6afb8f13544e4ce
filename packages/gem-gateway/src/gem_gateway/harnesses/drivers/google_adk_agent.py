"""An agent of Google's Agent Development Kit on one task, run by the Python that has it installed."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.models import Gemini
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams
from google.genai.types import Content, Part

_USER = "user"


async def main() -> None:
    """Run an agent whose only tools are those of the episode, which has limits of its own."""
    server = StreamableHTTPConnectionParams(
        url=os.environ["GEM_MCP_URL"],
        headers={"Authorization": f"Bearer {os.environ['GEM_MCP_KEY']}"},
        timeout=3600.0,
        sse_read_timeout=3600.0,
    )
    agent = LlmAgent(
        name="agent",
        model=Gemini(model=os.environ["GEM_MODEL"], base_url=os.environ["GOOGLE_GEMINI_BASE_URL"]),
        instruction="Do the task with your tools.",
        tools=[McpToolset(connection_params=server)],
    )
    task = Content(role="user", parts=[Part(text=Path(os.environ["GEM_TASK_FILE"]).read_text(encoding="utf-8"))])
    answer = ""
    async with InMemoryRunner(agent, app_name="gem") as runner:
        session = await runner.session_service.create_session(app_name="gem", user_id=_USER)
        events = runner.run_async(
            user_id=_USER, session_id=session.id, new_message=task, run_config=RunConfig(max_llm_calls=0)
        )
        async for event in events:
            if event.is_final_response() and event.content is not None:
                answer = "".join(part.text or "" for part in event.content.parts or ())
    Path(os.environ["GEM_ANSWER_FILE"]).write_text(answer, encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
