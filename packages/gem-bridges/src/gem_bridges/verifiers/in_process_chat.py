"""A harness of verifiers 0.4 that runs in the process of the evaluation. It imports verifiers, and nothing of GEM."""

from __future__ import annotations

import json
import ssl
from contextlib import AsyncExitStack
from functools import cache
from typing import Any

import httpx2
import verifiers.v1 as vf
from verifiers.v1.dialects.chat import message_to_wire
from verifiers.v1.harnesses.utils.mcp import call_mcp, connect_mcp

__all__ = ["InProcessChat"]


class InProcessChat(vf.Harness[vf.HarnessConfig]):
    """Asks the model from this process, and calls the task's tools until it answers with none: no code, no program."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_MCP = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: Any,
        trace: Any,
        runtime: Any,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        """Send the conversation to the model; verifiers records the answers on their way, and has its own limits."""
        system, prompt = self.resolve_prompt(data)
        messages: list[dict[str, Any]] = [] if system is None else [{"role": "system", "content": system}]
        if isinstance(prompt, str):
            messages.append({"role": "user", "content": prompt})
        else:
            messages += [message_to_wire(message) for message in prompt or []]
        headers = {"Authorization": f"Bearer {secret}"}
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(
                httpx2.AsyncClient(timeout=None, trust_env=False, verify=_tls(), headers=headers)
            )
            urls = {name: {"url": url, "timeout": self.config.tool_timeout} for name, url in mcp_urls.items()}
            tools, dispatch, servers = await connect_mcp({"mcpServers": urls}, stack)
            offered = {"tools": tools} if tools else {}
            while True:
                body = {"model": ctx.model, "messages": messages, **offered}
                answer = await client.post(f"{endpoint}/chat/completions", json=body)
                if not answer.is_success:
                    return vf.ProgramResult(1, "", answer.text)
                message = answer.json()["choices"][0]["message"]
                calls = message.get("tool_calls") or []
                if not calls:
                    return vf.ProgramResult(0, "", "")
                messages.append({name: value for name, value in message.items() if value is not None})
                for call in calls:
                    name, text = call["function"]["name"], call["function"]["arguments"]
                    messages.append({"role": "tool", "tool_call_id": call["id"], "content": ""})
                    try:
                        arguments = json.loads(text or "{}")
                        if name not in dispatch or not isinstance(arguments, dict):
                            raise ValueError(f"there is no tool {name!r}, or its arguments are no object")
                        messages[-1]["content"] = await call_mcp(servers, dispatch, name, arguments)
                    except ValueError as error:
                        messages[-1]["content"] = f"error: {error}"


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()  # reading the certificates takes longer than a turn
