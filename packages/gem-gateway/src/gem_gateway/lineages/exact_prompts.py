"""The ids of a request's prompt: :class:`ExactPrompts`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from gem.errors import GemError, NotSupportedError
from gem_eval.clients.base import Message
from gem_gateway.lineages.matching import Match
from gem_rollout.chat_templates.sampled_prompt import ChatCodec, PromptTokenizer, SampledPrompt
from gem_rollout.lineages import LineageTree

__all__ = ["ExactPrompts"]

_BOOKS = 8
"""Lists of tools whose books are kept: a program's main agent has one, each kind of subagent another."""


class ExactPrompts:
    """Makes the ids of prompts: those of the recorded call that a request continues, and of what is new.

    Args:
        tokenizer: as of :class:`SampledPrompt`: with a chat template, or a client that tokenizes conversations.
        tree: the recorded calls.
    """

    def __init__(self, tokenizer: ChatCodec | PromptTokenizer, tree: LineageTree) -> None:
        self._tokenizer = tokenizer
        self._tree = tree
        self._books: dict[str, SampledPrompt] = {}

    async def ids(
        self, messages: Sequence[Message], tools: list[dict[str, Any]] | None, match: Match
    ) -> tuple[list[int], str | None]:
        """Return the ids of a prompt, and why they do not continue those of the matching call; None if they do.

        Raises:
            NotSupportedError: if the chat template refuses the conversation or leaves out a message, or one holds a
                picture.
            ModelError: of a server that tokenizes.
        """
        book = self._book(tools)
        reason = match.reason
        parent = match.parent
        if parent is not None:
            sampled, before = self._tree.calls[parent].token_ids, self._tree.prompt_ids(parent)
            if sampled is None or before is None:
                reason = f"the ids of call {parent} are not known"
            else:
                shown = self._tree.messages(parent)
                answer = self._tree.calls[parent].answer or {}
                book.resume(shown, before, sampled)
                try:
                    return await book.extend_async([*shown, answer, *_renamed(messages, match.shown, answer)]), None
                except NotSupportedError as error:
                    reason = f"the template cannot continue call {parent}: {error}"
        book.restart()
        try:
            return await book.extend_async(list(messages)), reason or "the first call"
        except GemError:
            raise
        except Exception as error:  # the template's own, which may refuse a conversation
            raise NotSupportedError(f"the chat template cannot render the conversation: {error}") from error

    def _book(self, tools: list[dict[str, Any]] | None) -> SampledPrompt:
        """Return the book of prompts with these tools, which templates write into them.

        A new one each time would ask the template anew for the end of a turn; one in use at a time suffices, since
        :meth:`ids` begins with :meth:`SampledPrompt.resume` or :meth:`SampledPrompt.restart` and keeps nothing.
        """
        key = json.dumps(tools, sort_keys=True, default=repr)
        book = self._books.pop(key, None)
        if book is None:
            book = SampledPrompt(self._tokenizer, "appended", {"tools": tools} if tools else {})
        self._books[key] = book  # the latest at the end
        if len(self._books) > _BOOKS:
            del self._books[next(iter(self._books))]
        return book


def _renamed(messages: Sequence[Message], shown: int, answer: Message) -> list[Message]:
    """Return what is new, its tool messages with the recorded ids of the calls that a program may have changed."""
    echoed = messages[shown - 1].get("tool_calls") or []
    recorded = answer.get("tool_calls") or []
    names = {
        str(was.get("id")): now.get("id") for was, now in zip(echoed, recorded, strict=False) if isinstance(was, dict)
    }
    return [
        {**message, "tool_call_id": names[str(message["tool_call_id"])]}
        if message.get("role") == "tool" and str(message.get("tool_call_id")) in names
        else dict(message)
        for message in messages[shown:]
    ]
