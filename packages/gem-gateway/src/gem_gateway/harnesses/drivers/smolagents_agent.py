"""smolagents' ToolCallingAgent on one task, run by the Python that has it installed."""

from __future__ import annotations

import os
from pathlib import Path

from smolagents import MCPClient, OpenAIServerModel, ToolCallingAgent

_MOST_STEPS = 1000
"""The episode has limits of its own."""


def main() -> None:
    """Run an agent whose only tools are those of the episode, and its own ``final_answer``."""
    server = {
        "url": os.environ["GEM_MCP_URL"],
        "transport": "streamable-http",
        "headers": {"Authorization": f"Bearer {os.environ['GEM_MCP_KEY']}"},
        "timeout": 3600.0,
        "sse_read_timeout": 3600.0,
    }
    model = OpenAIServerModel(
        os.environ["GEM_MODEL"], api_base=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"]
    )
    with MCPClient(server, structured_output=False) as tools:
        agent = ToolCallingAgent(tools=tools, model=model, max_steps=_MOST_STEPS, verbosity_level=0)
        answer = agent.run(Path(os.environ["GEM_TASK_FILE"]).read_text(encoding="utf-8"))
    Path(os.environ["GEM_ANSWER_FILE"]).write_text(str(answer), encoding="utf-8")


if __name__ == "__main__":
    main()
