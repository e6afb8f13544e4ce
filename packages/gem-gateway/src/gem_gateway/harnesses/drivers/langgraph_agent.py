"""LangGraph's ReAct agent on one task, run by the Python that has it installed."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from pathlib import Path

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent

_MOST_STEPS = 2000
"""The episode has limits of its own."""


async def main() -> None:
    """Run an agent whose only tools are those of the episode."""
    client = MultiServerMCPClient(
        {
            "gem": {
                "transport": "streamable_http",
                "url": os.environ["GEM_MCP_URL"],
                "headers": {"Authorization": f"Bearer {os.environ['GEM_MCP_KEY']}"},
                "timeout": timedelta(hours=1),
                "sse_read_timeout": timedelta(hours=1),
            }
        }
    )
    model = ChatOpenAI(
        model=os.environ["GEM_MODEL"], base_url=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"]
    )
    agent = create_react_agent(model, await client.get_tools())
    task = Path(os.environ["GEM_TASK_FILE"]).read_text(encoding="utf-8")
    result = await agent.ainvoke({"messages": [("user", task)]}, {"recursion_limit": _MOST_STEPS})
    Path(os.environ["GEM_ANSWER_FILE"]).write_text(str(result["messages"][-1].content), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
