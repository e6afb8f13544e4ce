"""The tokens of a conversation that grows: :class:`ChatPrompt`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, get_args

from gem.errors import ArgumentError
from gem_rollout.chat_templates.sampled_prompt import SampledPrompt, render_chat
from gem_rollout.history.chat_template import FIRST, chat_tokenizer
from gem_rollout.history.template_locality import is_local

__all__ = ["ChatCodec", "ChatPrompt", "HistoryTokens", "as_messages"]

Message = dict[str, Any]

HistoryTokens = Literal["sampled", "template"]
"""What a model sees of its own earlier answers; see :class:`ChatPrompt`."""

_STAND_IN = "31415926535897932384"
"""The content of the message that stands for the latest answer; no template prints it by itself."""

_SHORT = 12
"""Messages up to which rendering all of them costs no more than choosing some."""


class ChatCodec(Protocol):
    """What the adapters need of a tokenizer; those of Hugging Face ``transformers`` have it."""

    def apply_chat_template(self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool) -> Any:
        """Return the messages as one text."""

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """Return the ids of a text, in which special tokens are recognised."""

    def decode(self, token_ids: list[int], *, skip_special_tokens: bool) -> Any:
        """Return the text of ids."""


class ChatPrompt:
    """The prompt of one conversation at a time, as token ids that keep what was sampled.

    Text that is tokenized again may come out as other ids than those that were sampled. So the ids of a prompt are the
    ids of the prompt before, the ids sampled for it, and the ids of what the chat template puts after them. Only where
    the history was rewritten, the whole conversation is tokenized anew; :func:`gem_rl.token_rows` then begins a row.

    ``history="sampled"``: the model sees its own answers as it sampled them, reasoning included, and the history is
    rewritten by wrappers alone (a sliding window, a summary). An episode is then one row for a trainer.
    ``history="template"``: the model sees what a chat API would show it. Templates that drop earlier reasoning (Qwen 3)
    or trim answers (Llama 3) rewrite the history.

    Args:
        tokenizer: with a chat template.
        history: see above.
        template_arguments: passed on to ``apply_chat_template``, for example ``tools`` or ``enable_thinking``.

    Raises:
        ArgumentTypeError: if the tokenizer has no ``apply_chat_template``.
        ArgumentError: for another history.
    """

    def __init__(
        self,
        tokenizer: ChatCodec,
        history: HistoryTokens = "sampled",
        template_arguments: Mapping[str, Any] | None = None,
    ) -> None:
        chat_tokenizer(type(self).__name__, tokenizer)
        if history not in get_args(HistoryTokens):
            raise ArgumentError(f"history must be one of {', '.join(get_args(HistoryTokens))}, got {history!r}")
        self._tokenizer = tokenizer
        self._history = history
        self._arguments = dict(template_arguments or {})
        self._last = SampledPrompt()
        self.restart()

    def restart(self) -> None:
        """Forget the conversation."""
        self._last.restart()
        self._text = ""
        self._local: bool | None = None

    def extend(self, messages: Sequence[Message]) -> list[int]:
        """Return the prompt for a conversation, which begins with that of the last call unless it was rewritten."""
        ids = self._after_sampled(messages) if self._history == "sampled" else self._as_rendered(messages)
        self._last.show(messages, ids)
        return ids

    def note(self, sampled: Sequence[int]) -> None:
        """Receive the ids that were sampled for the last prompt."""
        self._last.sampled = list(sampled)

    def first_text(self, messages: Sequence[Message]) -> str:
        """Return the first prompt of a conversation as text, for trainers that take text."""
        self.restart()
        self._last.show(messages, [])
        return self._render(messages)

    def text_after(self, messages: Sequence[Message], said: str = "") -> str:
        """Return what the template puts after the latest answer, for trainers that take text.

        Args:
            messages: the conversation: that of the last call of this method or of :meth:`first_text`,
                the answer, and what follows.
            said: the answer as sampled; an end-of-turn mark at its end is not repeated.

        Raises:
            ArgumentError: if the history was rewritten, so that nothing can be put after it.
        """
        after = self._after_answer(messages)
        if after is None:
            raise ArgumentError(
                "a wrapper or the chat template has rewritten the history, and this trainer only appends to it; "
                "use the wrapper 'messages' and a template that renders each message alike"
            )
        self._last.show(messages, [])
        ids = self._encode(after)
        mark = str(self._tokenizer.decode(ids[:1], skip_special_tokens=False)) if ids else ""
        return after[len(mark) :] if mark and said.endswith(mark) and after.startswith(mark) else after

    def _after_sampled(self, messages: Sequence[Message]) -> list[int]:
        after = self._after_answer(messages) if self._last.ids else None
        return self._encode(self._render(messages)) if after is None else self._last.continued(self._encode(after))

    def _as_rendered(self, messages: Sequence[Message]) -> list[int]:
        text, sampled = self._render(messages), self._last.sampled or []
        so_far = self._text + str(self._tokenizer.decode(sampled, skip_special_tokens=False))
        continued = bool(self._last.ids) and text.startswith(so_far)
        self._text = text
        if continued:
            return self._last.ids + sampled + self._encode(text[len(so_far) :])
        return self._encode(text)

    def _after_answer(self, messages: Sequence[Message]) -> str | None:
        """Return what the template puts after the latest answer; None if the history was rewritten."""
        new = self._last.new_messages(messages)
        if new is None:
            return None
        count = len(self._last.messages)
        before = list(messages[:count])
        if count > _SHORT and self._is_local():
            # Two last messages, or three, so that even indices stay even.
            before = [*before[:FIRST], *before[count - (2 if (count - FIRST) % 2 == 0 else 3) :]]
        stand_in: Message = {"role": "assistant", "content": _STAND_IN}
        try:
            text = self._render([*before, stand_in, *new])
        except Exception:  # templates raise what they like, for example about a tool's answer without a call
            return None
        _, found, after = text.rpartition(_STAND_IN)
        return after if found else None

    def _is_local(self) -> bool:
        if self._local is None:
            template = self._arguments.get("chat_template") or getattr(self._tokenizer, "chat_template", None)
            self._local = isinstance(template, str) and is_local(template)
        return self._local

    def _render(self, messages: Sequence[Message]) -> str:
        return render_chat(self._tokenizer, messages, self._arguments)

    def _encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False))


def as_messages(observation: Any) -> list[Message]:
    """Return an observation as the conversation that a model sees: its chat messages, or one message of the user."""
    if isinstance(observation, list) and observation and all("role" in part for part in observation):
        return list(observation)
    return [{"role": "user", "content": observation}]
