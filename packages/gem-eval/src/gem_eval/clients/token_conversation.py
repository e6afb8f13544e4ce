"""Conversations whose prompts hold exactly the tokens that were sampled: :class:`TokenConversation`.

A chat endpoint renders and tokenizes the whole conversation anew at each turn. The ids that it makes of an earlier
answer may differ from those sampled (``"ab"`` may be sampled as ``a``, ``b`` and tokenized as ``ab``), and a template
may leave the reasoning of earlier turns out. Here each prompt is the last prompt, the ids sampled for it, and the ids
of what the chat template puts after them: the end of the assistant's turn, the new messages, the opening of the next
turn.

Those last ids come from the template alone. A stand-in for the conversation is tokenized twice, with the answers ``A``
and ``B``::

    <user>x<end><assistant>A<end><user>new<end><assistant>
    <user>x<end><assistant>B<end><user>new<end><assistant>
                            └─────────── equal ──────────┘

Where the two agree at their end, they hold nothing of the answer. If the model sampled the end of its turn itself, that
id is not repeated. What a template would change in earlier turns stays as the model saw and sampled it.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from gem.errors import GemError, NotSupportedError
from gem_eval.clients.base import Message
from gem_rollout.chat_templates.sampled_prompt import SampledPrompt, render_chat
from gem_rollout.history.chat_template import ChatTokenizer, chat_tokenizer
from gem_rollout.history.messages import other_parts, text_if_possible

__all__ = ["PromptTokenizer", "TemplateTokenizer", "TokenConversation"]

_ASKER: Message = {"role": "user", "content": "x"}
_MARKS = ("A", "B")


class PromptTokenizer(Protocol):
    """Something that knows a model's chat template and vocabulary; model servers and local tokenizers do."""

    async def prompt_ids(self, messages: list[Message], tools: list[dict[str, Any]] | None = None) -> list[int]:
        """Return the ids of a conversation, up to and including the opening of the assistant's next turn."""


class TemplateTokenizer:
    """A tokenizer of Hugging Face ``transformers``, or anything with its ``apply_chat_template`` and ``encode``.

    Args:
        tokenizer: as it is.
        arguments: passed on to ``apply_chat_template``, for example ``enable_thinking``.

    Raises:
        ArgumentTypeError: if it has no chat template to apply.
    """

    def __init__(self, tokenizer: Any, arguments: Mapping[str, Any] | None = None) -> None:
        self._template: ChatTokenizer = chat_tokenizer("TemplateTokenizer", tokenizer)
        self._tokenizer = tokenizer
        self._arguments = dict(arguments or {})
        self._shows_tools: bool | None = None

    async def prompt_ids(self, messages: list[Message], tools: list[dict[str, Any]] | None = None) -> list[int]:
        """Return the ids of a conversation; see :class:`PromptTokenizer`.

        Warns once, with a ``UserWarning``, if the template leaves the tools out.
        """
        arguments = {**self._arguments, **({"tools": tools} if tools else {})}
        text = render_chat(self._template, messages, arguments)
        if tools and self._shows_tools is None:
            self._shows_tools = text != render_chat(self._template, messages, self._arguments)
            if not self._shows_tools:
                warnings.warn(
                    "the chat template has no place for tools, so the model is told of none: use --tools text, which "
                    "explains them in the prompt, or a model whose template takes tools",
                    stacklevel=2,
                )
        # The template writes special tokens itself, the one at the beginning included.
        return list(self._tokenizer.encode(text, add_special_tokens=False))


class TokenConversation:
    """The prompts of one conversation, as token ids.

    Args:
        tokenizer: of the model that samples.
        tools: offered to the model; they stand in the first prompt.
    """

    def __init__(self, tokenizer: PromptTokenizer, tools: list[dict[str, Any]] | None = None) -> None:
        self._tokenizer = tokenizer
        self._tools = tools
        self._last = SampledPrompt()

    def restart(self) -> None:
        """Forget the conversation."""
        self._last.restart()

    async def prompt(self, messages: Sequence[Message]) -> list[int]:
        """Return the ids of the next prompt.

        Args:
            messages: the whole conversation: the messages of the last call, the answer to them, and new messages.
                Without an answer of the assistant in it, a new conversation.

        Raises:
            NotSupportedError: if the messages do not continue those of the last call, or hold more than text.
        """
        plain = [_text_only(message) for message in messages]
        if self._last.sampled is None or not any(message["role"] == "assistant" for message in plain):
            ids = await self._tokenizer.prompt_ids(plain, self._tools)
        else:
            ids = self._last.continued(await self._added(self._new(plain)))
        self._last.show(plain, ids)
        return ids

    def sampled(self, token_ids: list[int]) -> None:
        """Add the ids that the model sampled for the last prompt, a stop token included."""
        self._last.sampled = token_ids

    def _new(self, messages: list[Message]) -> list[Message]:
        """Return the messages after the last answer."""
        new = self._last.new_messages(messages)
        if not new:
            raise NotSupportedError(
                "exact tokens need observations that grow at their end, as the wrapper 'messages' makes them; "
                "this one rewrites what was shown before"
            )
        return new

    async def _added(self, new: list[Message]) -> list[int]:
        """Return the ids that follow an answer: the end of its turn, the new messages, the opening of the next turn."""
        if new[0]["role"] != "tool":
            return await self._common_end(new, {})
        try:
            return await self._common_end(new, {})
        except (GemError, ValueError, TypeError):
            raise
        except Exception:  # some templates raise for a tool message without a call
            call = {"id": new[0].get("tool_call_id", "c00000000"), "type": "function"}
            calls = [{**call, "function": {"name": "f", "arguments": "{}"}}]
            ids = await self._common_end(new, {"tool_calls": calls})
            end = (await self._common_end([_ASKER], {}))[0]
            if end not in ids:
                raise NotSupportedError(_NO_END) from None
            return ids[ids.index(end) :]

    async def _common_end(self, new: list[Message], fields: dict[str, Any]) -> list[int]:
        both = await asyncio.gather(
            *(
                self._tokenizer.prompt_ids(
                    [_ASKER, {"role": "assistant", "content": mark, **fields}, *new], self._tools
                )
                for mark in _MARKS
            )
        )
        count = 0
        for one, other in zip(reversed(both[0]), reversed(both[1]), strict=False):
            if one != other:
                break
            count += 1
        if count in (0, len(both[0]), len(both[1])):
            raise NotSupportedError(_NO_END)
        return both[0][-count:]


_NO_END = (
    "the chat template does not show where an answer ends, so that exact tokens are impossible; use protocol 'chat'"
)


def _text_only(message: Message) -> Message:
    content = message.get("content")
    if isinstance(content, str) or content is None:
        return message
    if other_parts(content):
        raise NotSupportedError("exact tokens work with text alone, and this observation holds other parts")
    return {**message, "content": text_if_possible(content)}
