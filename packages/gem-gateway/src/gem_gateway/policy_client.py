"""A policy in this process in the model's place: :class:`PolicyClient`."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

from gem.errors import ArgumentTypeError, NotSupportedError
from gem.policies import Act, Policy
from gem_eval.clients import Completion, Sampling
from gem_eval.clients.base import Message
from gem_eval.clients.tool_call_repair import read_calls

__all__ = ["PolicyClient"]


class PolicyClient:
    """Lets a policy answer the calls of an agent program, one episode after another.

    The policy's observation is the conversation, a list of chat messages; ``info["tools"]`` has the declarations of the
    program's tools. It returns a text, an assistant message, with ``tool_calls`` or without, or an
    :class:`~gem.policies.Act` of one of these. ``reset`` comes before the first call.

    Args:
        policy: with ``act``, sync or async. It plays for one session; a sync one is called in a thread.
        model: the name that answers carry.
    """

    def __init__(self, policy: Policy[Any, Any], model: str = "policy") -> None:
        self.model = model
        self._policy = policy
        self._begun = False
        self._turn = asyncio.Lock()  # a policy plays one turn at a time, whatever a program does side by side

    def __repr__(self) -> str:
        return f"PolicyClient({type(self._policy).__name__})"

    async def chat(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        sampling: Sampling | None = None,
        response_format: dict[str, Any] | None = None,
    ) -> Completion:
        """Return the policy's next message.

        Raises:
            ArgumentTypeError: if it is neither a text nor a message. What the policy raises is passed on.
        """
        info = {"tools": list(tools or ())}
        async with self._turn:
            if not self._begun:
                self._begun = True
                await _called(self._policy.reset, messages, info)
            act = await _called(self._policy.act, messages, info)
        return _completion(act if isinstance(act, Act) else Act(act), messages, self.model)

    async def complete(self, prompt: str | list[int], *, sampling: Sampling | None = None) -> Completion:
        """Refuse: a policy acts on conversations.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError("a policy answers conversations; use chat completions, Responses or Messages")

    async def close(self) -> None:
        """Do nothing: the policy belongs to the caller."""


async def _called(function: Any, messages: list[Message], info: dict[str, Any]) -> Any:
    if inspect.iscoroutinefunction(function):
        return await function(messages, info)
    result = await asyncio.to_thread(function, messages, info)
    return await result if inspect.isawaitable(result) else result


def _completion(act: Act, messages: list[Message], model: str) -> Completion:
    action = act.action
    if isinstance(action, str):
        action = {"role": "assistant", "content": action}
    if not isinstance(action, dict) or not isinstance(action.get("content") or "", str):
        raise ArgumentTypeError(
            f"a policy must answer with a text or an assistant message with one, got {action!r:.80}"
        )
    calls, _ = read_calls(action.get("tool_calls"), messages)
    text = action.get("content") or ""
    message: Message = {"role": "assistant", "content": text or (None if calls else "")}
    if calls:
        message["tool_calls"] = calls
    return Completion(
        message,
        text,
        act.reasoning,
        calls,
        token_ids=act.token_ids,
        prompt_token_ids=act.prompt_token_ids,
        logprobs=act.logprobs,
        tokens=act.tokens,
        top_logprobs=act.top_logprobs,
        usage=act.usage,
        finish_reason=act.finish_reason or ("tool_calls" if calls else "stop"),
        model=act.model or model,
        metadata=dict(act.metadata),
    )
