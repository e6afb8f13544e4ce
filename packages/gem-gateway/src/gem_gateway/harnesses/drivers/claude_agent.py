"""Anthropic's Agent SDK on one task, run by the Python that has it installed."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query


async def main() -> None:
    """Run an agent with the SDK's own tools and those of the episode."""
    server = {
        "type": "http",
        "url": os.environ["GEM_MCP_URL"],
        "headers": {"Authorization": f"Bearer {os.environ['GEM_MCP_KEY']}"},
    }
    options = ClaudeAgentOptions(
        model=os.environ["GEM_MODEL"], mcp_servers={"gem": server}, permission_mode="bypassPermissions"
    )
    answer = ""
    async for message in query(prompt=Path(os.environ["GEM_TASK_FILE"]).read_text(encoding="utf-8"), options=options):
        if isinstance(message, ResultMessage):
            answer = message.result or ""
    Path(os.environ["GEM_ANSWER_FILE"]).write_text(answer, encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())
