"""A model client that answers from a script: :class:`ScriptedClient`, for tests of policies and judges."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from gem.arguments import choice
from gem.entry_points import load
from gem.errors import ArgumentError, ArgumentTypeError
from gem_eval.clients.base import Completion, Message, Sampling

__all__ = ["ScriptedClient"]

Answer = str | Message | Completion | Exception
Script = Callable[[Any], Answer | Awaitable[Answer]]


class ScriptedClient:
    """Answers each prompt with the next of a list, or with what a function returns for it.

    An answer is the text, an assistant message, a whole :class:`Completion`, or an exception to raise.

    Args:
        answers: a list; a function of the messages (or of the prompt of :meth:`complete`), which may be ``async``; or
            ``"module:function"``, also behind ``scripted:`` as a URL.
        model: the name that answers carry.
        protocol: what :class:`ModelPolicy` calls.

    Attributes:
        prompts: every prompt so far.
    """

    def __init__(
        self, answers: str | Iterable[Answer] | Script, model: str | None = None, protocol: str = "chat"
    ) -> None:
        if isinstance(answers, str):
            answers = load(answers.removeprefix("scripted:"))
        self._script: Script | None = None
        self._answers: list[Answer] = []
        if callable(answers):
            self._script = answers
        elif isinstance(answers, Iterable):
            self._answers = list(answers)
        else:
            raise ArgumentTypeError(f"answers must be a list or a function, got {type(answers).__name__}")
        self.model = model or "scripted"
        self.protocol = choice("protocol", protocol, ("auto", "chat", "completions", "generate"))
        self.prompts: list[Any] = []

    async def chat(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        sampling: Sampling | None = None,
        response_format: dict[str, Any] | None = None,
    ) -> Completion:
        """Return the next answer; see :meth:`ModelClient.chat`.

        Raises:
            ArgumentError: if the list has ended.
        """
        return await self._next(list(messages))

    async def complete(self, prompt: str | list[int], *, sampling: Sampling | None = None) -> Completion:
        """Return the next answer; see :meth:`ModelClient.complete`."""
        return await self._next(prompt)

    async def close(self) -> None:
        """Do nothing."""

    async def _next(self, prompt: Any) -> Completion:
        self.prompts.append(prompt)
        if self._script is not None:
            returned = self._script(prompt)
            answer = await returned if inspect.isawaitable(returned) else returned
        elif len(self.prompts) <= len(self._answers):
            answer = self._answers[len(self.prompts) - 1]
        else:
            raise ArgumentError(f"the script ends after {len(self._answers)} answers")
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Completion):
            return answer
        message: Message = {"role": "assistant", "content": answer} if isinstance(answer, str) else dict(answer)
        calls = message.get("tool_calls") or []
        return Completion(
            message,
            text=message.get("content") or "",
            tool_calls=calls,
            finish_reason="tool_calls" if calls else "stop",
            model=self.model,
        )
