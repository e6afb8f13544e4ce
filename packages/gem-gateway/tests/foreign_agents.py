"""Agents of foreign libraries, as functions for ``python:foreign_agents:NAME``; run by a Python that has them."""

from __future__ import annotations

from typing import Any

from gem_gateway.harnesses import AgentTask


def key(task: AgentTask) -> dict[str, str]:
    """Return what opens the episode."""
    return {"Authorization": f"Bearer {task.mcp_key}"}


async def openai_agents(task: AgentTask) -> str:
    """An agent of OpenAI's Agents SDK, in chat completions."""
    from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
    from agents.mcp import MCPServerStreamableHttp
    from openai import AsyncOpenAI

    set_tracing_disabled(True)
    client = AsyncOpenAI(base_url=task.base_url, api_key=task.api_key)
    async with MCPServerStreamableHttp({"url": task.mcp_url, "headers": key(task)}, name="gem") as server:
        model = OpenAIChatCompletionsModel(task.model, openai_client=client)
        agent = Agent(name="agent", instructions="Use the tools.", model=model, mcp_servers=[server])
        result = await Runner.run(agent, task.task, max_turns=50)
    return str(result.final_output)


async def pydantic_ai(task: AgentTask) -> str:
    """An agent of Pydantic AI."""
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel(task.model, provider=OpenAIProvider(base_url=task.base_url, api_key=task.api_key))
    agent = Agent(model, toolsets=[MCPToolset(task.mcp_url, headers=key(task))])
    async with agent:
        return str((await agent.run(task.task)).output)


def smolagents(task: AgentTask) -> Any:
    """An agent of smolagents, whose MCP client wants another release of mcp than the episode's server."""
    from python_agents import act as play
    from smolagents import OpenAIServerModel, ToolCallingAgent, tool

    @tool
    def act(action: str) -> str:
        """Take a turn.

        Args:
            action: the text of it.
        """
        return play(task, action)

    model = OpenAIServerModel(task.model, api_base=task.base_url, api_key=task.api_key)
    return ToolCallingAgent(tools=[act], model=model, max_steps=50, verbosity_level=0).run(task.task)
