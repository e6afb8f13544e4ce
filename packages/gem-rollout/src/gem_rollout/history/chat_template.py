"""Rendering a growing conversation without rendering all of it again at every turn.

A chat template is *local* under two conditions. The text of a message depends only on that message, its two
neighbours, whether it is the first or the last, and whether its index is even. The text before all messages depends
only on the first few of them, and the text after them on those and the last. The templates of ChatML, Llama 3,
Qwen 2.5 and Gemma are local. Templates that rewrite history are not: Qwen 3's drops the reasoning of earlier turns.

For a local template let ``R`` be the rendering, ``m`` the conversation so far and ``t`` the new messages. A short
stand-in ``s`` for ``m``, made of its first and its last messages, is rendered with and without ``t``. The two
renderings agree up to the last message of ``s``. From there on, ``R(s)`` equals ``R(m)``, and ``R(s + t)`` equals
``R(m + t)``. So ``R(m + t)`` is ``R(m)`` with the ending of ``R(s)`` replaced by the ending of ``R(s + t)``. This is
exact, also where the generation prompt or a mark on the last message disappears again.

Locality is proved from the template's source (``template_locality.py``), never assumed. One difference
from rendering everything remains: a date that a template prints stays that of the first rendering.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from gem.errors import ArgumentError, ArgumentTypeError
from gem.wrappers.history import Message
from gem_rollout.history.messages import extended
from gem_rollout.history.template_locality import is_local

__all__ = ["ChatTokenizer", "GrowingPrompt", "chat_tokenizer", "render", "renders_tool_messages"]

FIRST = 3
"""First messages that stand-ins have in common with the conversation; a template may drop all but one of them."""

_SHORT = 12
"""Messages up to which rendering all of them costs no more than rendering two stand-ins."""


_ANSWER = "31415926"
"""The content of the message that is tried as a tool's; no template prints it by itself."""


class ChatTokenizer(Protocol):
    """The chat wrappers' interface to a tokenizer; tokenizers of Hugging Face ``transformers`` have it."""

    def apply_chat_template(self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool) -> Any:
        """Return the messages as one text that ends with the opening of the assistant's turn."""


def chat_tokenizer(owner: str, tokenizer: Any) -> ChatTokenizer:
    """Return ``tokenizer`` if it can apply a chat template; raise ``ArgumentTypeError`` otherwise."""
    if not callable(getattr(tokenizer, "apply_chat_template", None)):
        raise ArgumentTypeError(
            f"{owner} needs a tokenizer with apply_chat_template, got an object of type {type(tokenizer).__name__}; "
            "pass tokenizer=…, by name for example gem.wrapper('concat_chat', tokenizer=tokenizer)"
        )
    checked: ChatTokenizer = tokenizer
    return checked


def render(
    tokenizer: ChatTokenizer, messages: Sequence[Message], arguments: Mapping[str, Any], opened: bool = True
) -> str:
    """Return messages rendered with the tokenizer's chat template, by default with the generation prompt.

    Raises:
        ArgumentTypeError: if the tokenizer returns no text.
    """
    text = tokenizer.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=opened, **arguments)
    if not isinstance(text, str):
        raise ArgumentTypeError(f"apply_chat_template(tokenize=False) must return a str, got {type(text).__name__}")
    return text


def renders_tool_messages(tokenizer: ChatTokenizer, arguments: Mapping[str, Any]) -> bool:
    """Try a template with the roles that a conversation has; return whether it renders the role ``"tool"``.

    Raises:
        ArgumentError: if it cannot render user and assistant in turn.
        ArgumentTypeError: if the tokenizer returns no text.
    """
    turns = [{"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}]
    try:
        render(tokenizer, [*turns, {"role": "user", "content": _ANSWER}], arguments)
    except ArgumentTypeError:
        raise
    except Exception as error:  # templates raise what they like
        raise ArgumentError(
            f"the chat template cannot render a conversation of user and assistant: {type(error).__name__}: {error}"
        ) from error
    try:
        return _ANSWER in render(tokenizer, [*turns, {"role": "tool", "content": _ANSWER}], arguments)
    except Exception:
        return False


class GrowingPrompt:
    """The prompt of one conversation at a time: extended where the template is local, else rendered again.

    Args:
        tokenizer: renders messages. The attribute ``chat_template`` holds its template; without it,
            the template never counts as local.
        arguments: passed on to ``apply_chat_template``, for example ``tools`` or ``enable_thinking``.
    """

    def __init__(self, tokenizer: ChatTokenizer, arguments: Mapping[str, Any]) -> None:
        self._tokenizer = tokenizer
        self._arguments = dict(arguments)
        self.restart()

    def restart(self) -> None:
        """Forget the conversation."""
        self._text: str | None = None
        self._count = 0
        template = self._arguments.get("chat_template") or getattr(self._tokenizer, "chat_template", None)
        self._extendable = isinstance(template, str) and is_local(template)

    def render(self, messages: Sequence[Message], suffix: str = "") -> str:
        """Return the prompt for a conversation that begins with the messages of the last call.

        Args:
            messages: the whole conversation.
            suffix: shown at the end of the last message, this time only.
        """
        last = extended(messages[-1], "", suffix)
        if self._extendable and len(messages) > _SHORT:
            try:
                return self._extended(messages, last)
            except Exception:
                # Templates may refuse an order of roles that only the stand-in has, or the last message
                # without its suffix. The whole conversation, below, is rejected only where it must be.
                self._extendable = False
        shown = self._render([*messages[:-1], last])
        self._text, self._count = None if suffix else shown, len(messages)
        return shown

    def _extended(self, messages: Sequence[Message], last: Message) -> str:
        text, count = self._text, self._count
        if text is None or not FIRST + 3 <= count < len(messages):
            self._text, self._count = self._render(messages), len(messages)
            return self._text if last is messages[-1] else self._render([*messages[:-1], last])
        # Two last messages, or three, so that even indices stay even.
        stand_in = [*messages[:FIRST], *messages[count - (2 if (count - FIRST) % 2 == 0 else 3) : count]]
        added = messages[count:]
        old = self._render(stand_in)
        self._text = _with_end_replaced(text, old, self._render([*stand_in, *added]))
        self._count = len(messages)
        if last is messages[-1]:
            return self._text
        return _with_end_replaced(text, old, self._render([*stand_in, *added[:-1], last]))

    def _render(self, messages: Sequence[Message]) -> str:
        return render(self._tokenizer, messages, self._arguments)


def _with_end_replaced(text: str, old: str, new: str) -> str:
    """Return ``text`` with its ending, by which ``old`` differs from ``new``, replaced by that of ``new``."""
    # Not os.path.commonprefix, which compares character by character.
    shared = bisect_left(range(1, min(len(old), len(new)) + 1), True, key=lambda n: not new.startswith(old[:n]))
    return text[: len(text) - (len(old) - shared)] + new[shared:]
