"""The exact tokens of a chat: :class:`SampledPrompt`, and :func:`render_chat`.

Text that is tokenized again may come out as other ids than those that were sampled. So a prompt is the prompt before,
the ids sampled for it, and the ids of what the chat template puts after the answer: the end of its turn, the new
messages, the opening of the next turn. What a template would change in earlier turns stays as the model saw it.

The template alone says what it puts after an answer. A stand-in for the answer is rendered in its place: a text that no
template prints, or the model's own tool calls with such a number as their argument, since templates take the name of a
tool from the call, and some show a tool's answer only inside it. Where only ids can be had, as from a model server, two
stand-ins are rendered, and the two agree after the answer::

    <user>x<end><assistant>A<end><user>new<end><assistant>
    <user>x<end><assistant>B<end><user>new<end><assistant>
                            └─────────── equal ──────────┘

The model may have sampled the beginning of this itself: the end of its turn, or what opens the next one, where
templates have no other end (GLM). That is not repeated. Nor is the template's end of a turn put after another one that
the model sampled: gpt-oss ends its last message with ``<|return|>``, and its template each earlier one with
``<|end|>``.

What a template leaves out never reaches the model, so a prompt without the text of a new message is refused; so are
pictures, since ids alone carry none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Literal, Protocol, TypeVar, get_args

from gem.errors import ArgumentError, ArgumentTypeError, GemError, NotSupportedError
from gem.wrappers.history import Message, tool_calls
from gem_rollout.chat_templates.rendered_text import (
    altered_message,
    doubtful_texts,
    left_out,
    place_of_first,
    text_only,
)
from gem_rollout.history.chat_history import template_message
from gem_rollout.history.chat_template import FIRST, ChatTokenizer, chat_tokenizer, render
from gem_rollout.history.template_locality import is_local

__all__ = ["ChatCodec", "HistoryTokens", "PromptTokenizer", "SampledPrompt", "render_chat"]

HistoryTokens = Literal["sampled", "template", "appended"]
"""What a model sees of its own earlier answers; see :class:`SampledPrompt`."""

_SHORT = 12
"""Messages up to which rendering all of them costs no more than choosing some."""

_ASKER: Message = {"role": "user", "content": "x"}
"""Stands for the conversation before an answer where a server renders it."""

_TEXT_MARKS = ("918273645546372",)
_ID_MARKS = ("1", "2")
"""Contents of the stand-ins; also numbers, around which no template puts quotes as arguments of a call."""

_Rendering = Any
"""A text, or a list of ids."""

_Result = TypeVar("_Result")
_Steps = Generator[list[tuple[list[Message], bool]], list[_Rendering], _Result]
"""Asks for renderings of conversations, each with or without the opening of the assistant's next turn."""


class ChatCodec(Protocol):
    """What exact tokens need of a tokenizer; those of Hugging Face ``transformers`` have it."""

    def apply_chat_template(self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool) -> Any:
        """Return the messages as one text."""

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """Return the ids of a text, in which special tokens are recognised."""

    def decode(self, token_ids: list[int], *, skip_special_tokens: bool) -> Any:
        """Return the text of ids."""


class PromptTokenizer(Protocol):
    """A model server, or anything else that gives the ids of a conversation and no text."""

    async def prompt_ids(
        self, messages: list[Message], tools: list[dict[str, Any]] | None = None, *, add_generation_prompt: bool = True
    ) -> list[int]:
        """Return the ids of a conversation, by default up to the opening of the assistant's next turn, included."""


class SampledPrompt:
    """The prompt of one conversation at a time, as token ids that keep what was sampled.

    ``history="sampled"``: the model sees its own answers as it sampled them, reasoning included. Where a wrapper
    rewrites the history (a sliding window, a summary), the whole conversation is tokenized anew;
    :func:`gem_rl.token_rows` then begins a row. Without such wrappers an episode is one row for a trainer.
    ``history="appended"``: the same, and a rewritten history is refused.
    ``history="template"``: the model sees what a chat API would show it. Templates that drop earlier reasoning (Qwen 3)
    or trim answers (Llama 3) rewrite the history.

    Args:
        tokenizer: with a chat template; or a :class:`PromptTokenizer`, for :meth:`extend_async` and ``"sampled"`` or
            ``"appended"``.
        history: see above.
        template_arguments: passed on to ``apply_chat_template``, for example ``tools`` or ``enable_thinking``; a
            :class:`PromptTokenizer` takes ``tools`` alone.

    Raises:
        ArgumentTypeError: if the tokenizer is neither.
        ArgumentError: for another history, or one that the tokenizer cannot have.
    """

    def __init__(
        self,
        tokenizer: ChatCodec | PromptTokenizer,
        history: HistoryTokens = "sampled",
        template_arguments: Mapping[str, Any] | None = None,
    ) -> None:
        self._codec: Any = tokenizer
        self._gives_text = not hasattr(tokenizer, "prompt_ids")
        if self._gives_text:
            chat_tokenizer(type(self).__name__, tokenizer)
        if history not in get_args(HistoryTokens):
            raise ArgumentError(f"history must be one of {', '.join(get_args(HistoryTokens))}, got {history!r}")
        if history == "template" and not self._gives_text:
            raise ArgumentError("history='template' needs a tokenizer that gives text")
        self._history = history
        self._arguments = dict(template_arguments or {})
        self._marks = _TEXT_MARKS if self._gives_text else _ID_MARKS
        self._closing: list[int] | None = None
        template = self._arguments.get("chat_template") or getattr(tokenizer, "chat_template", None)
        self._local = self._gives_text and isinstance(template, str) and is_local(template)
        self.restart()

    def restart(self) -> None:
        """Forget the conversation."""
        self._messages: list[Message] = []  # of the last prompt
        self._ids: list[int] = []  # the last prompt
        self._text = ""  # the last prompt, where the template renders all of it
        self._sampled: list[int] | None = None

    def resume(self, messages: Sequence[Message], prompt_ids: Sequence[int], sampled: Sequence[int]) -> None:
        """Go on from a prompt of earlier and what was sampled for it, as where a conversation branches.

        Args:
            messages: of that prompt.
            prompt_ids: its ids.
            sampled: the ids sampled for it, a stop token included.

        Raises:
            NotSupportedError: if a message holds a picture.
        """
        self.restart()
        self._messages, self._ids, self._sampled = text_only(messages), list(prompt_ids), list(sampled)

    def note(self, sampled: Sequence[int]) -> None:
        """Receive the ids that were sampled for the last prompt, a stop token included."""
        self._sampled = list(sampled)

    def extend(self, messages: Sequence[Message]) -> list[int]:
        """Return the prompt for a conversation: the messages of the last call, the answer to them, and new ones.

        The last message before the answer may have had a notice beside it, for that turn only.

        Raises:
            NotSupportedError: if the template leaves out a new message, or a message holds a picture; with
                ``"appended"`` also if the history was rewritten, or the template does not show where an answer ends.
                With a :class:`PromptTokenizer`, always.
        """
        if not self._gives_text:
            raise NotSupportedError("ids that a server makes have to be awaited; call extend_async")
        return self._run(self._prompt(messages))

    async def extend_async(self, messages: Sequence[Message]) -> list[int]:
        """Do what :meth:`extend` does, also with a :class:`PromptTokenizer`, whose errors are passed on."""
        if self._gives_text:
            return self.extend(messages)
        steps = self._prompt(messages)
        try:
            asked = next(steps)
            while True:
                found = await asyncio.gather(*(self._ask(*one) for one in asked), return_exceptions=True)
                error = next((one for one in found if isinstance(one, BaseException)), None)
                asked = steps.send(found) if error is None else steps.throw(error)
        except StopIteration as done:
            prompt: list[int] = done.value
            return prompt

    def first_text(self, messages: Sequence[Message]) -> str:
        """Return the first prompt of a conversation as text, for trainers that take text."""
        self.restart()
        self._messages = text_only(messages)
        text = self._render(self._messages)
        self._run(self._check_whole(text, self._messages))
        return text

    def text_after(self, messages: Sequence[Message], said: str = "") -> str:
        """Return what the template puts after the latest answer, for trainers that take text.

        Args:
            messages: the conversation: that of the last call of this method or of :meth:`first_text`, the answer, and
                what follows.
            said: the answer as sampled; an end-of-turn mark at its end is not repeated.

        Raises:
            ArgumentError: if the history was rewritten, so that nothing can be put after it.
            NotSupportedError: as for :meth:`extend`.
        """
        shown = text_only(messages)
        self._sampled = self._encode(said)
        after = self._run(self._after_answer(shown))
        if after is None:
            raise ArgumentError(
                "a wrapper or the chat template has rewritten the history, and this trainer only appends to it; "
                "use the wrapper 'messages' and a template that renders each message alike"
            )
        text, ids, repeated = after
        self._messages, self._sampled = shown, None
        return str(text).removeprefix(str(self._codec.decode(ids[:repeated], skip_special_tokens=False)))

    def _run(self, steps: _Steps[_Result]) -> _Result:
        try:
            asked = next(steps)
            while True:
                try:
                    found = [self._render(*one) for one in asked]
                except Exception as error:  # templates raise what they like
                    asked = steps.throw(error)
                else:
                    asked = steps.send(found)
        except StopIteration as done:
            result: _Result = done.value
            return result

    def _prompt(self, messages: Sequence[Message]) -> _Steps[list[int]]:
        shown = text_only(messages)
        if self._history == "template":
            ids = yield from self._as_rendered(shown)
        else:
            after = yield from self._after_answer(shown)
            if after is not None:
                _, added, repeated = after
                ids = [*self._ids, *(self._sampled or []), *added[repeated:]]
            elif self._history == "appended" and self._sampled is not None and _answered(shown):
                raise NotSupportedError(_REWRITTEN)
            else:
                ids = yield from self._anew(shown)
        self._messages, self._ids, self._sampled = shown, ids, None
        return ids

    def _as_rendered(self, shown: list[Message]) -> _Steps[list[int]]:
        (text,) = yield [(shown, True)]
        yield from self._check_whole(text, shown)
        sampled = self._sampled or []
        so_far = self._text + str(self._codec.decode(sampled, skip_special_tokens=False))
        continued = bool(self._ids) and text.startswith(so_far)
        self._text = text
        return self._ids + sampled + self._encode(text[len(so_far) :]) if continued else self._encode(text)

    def _anew(self, shown: list[Message]) -> _Steps[list[int]]:
        (rendered,) = yield [(shown, True)]
        yield from self._check_whole(rendered, shown)
        return self._encode(rendered) if isinstance(rendered, str) else list(rendered)

    def _after_answer(self, shown: list[Message]) -> _Steps[tuple[_Rendering, list[int], int] | None]:
        """Return what the template puts after the latest answer, its ids, and how many of them were sampled already.

        None if the history was rewritten, or if the template shows no end of an answer, which ``"appended"`` refuses.
        """
        new = self._new_messages(shown)
        if new is None or self._sampled is None:
            return None
        count = len(self._messages)
        before, calls = self._before(shown[:count]), tool_calls(shown[count])
        found = yield from self._rendered_after(before, calls, new)
        if found is None and calls:  # which the template does not render; they are in what was sampled
            calls = []
            found = yield from self._rendered_after(before, calls, new)
        if found is not None:
            after, ids, joint = found
            repeated = yield from self._repeated(ids[:joint], bool(calls))
            if repeated is not None:
                return after, ids, repeated
        if self._history == "appended":
            raise NotSupportedError(_NO_END)
        return None

    def _rendered_after(
        self, before: list[Message], calls: list[Any], new: list[Message]
    ) -> _Steps[tuple[_Rendering, list[int], int] | None]:
        """Return what follows an answer, its ids, and how many of them stand before the first new message.

        None if no stand-in for the answer can be found in its place.
        """
        stand_ins = [[*before, _stand_in(calls, mark)] for mark in self._marks]
        try:
            renderings = yield [([*stand_in, *new], True) for stand_in in stand_ins]
        except GemError:
            raise
        except Exception:  # for example about a tool's answer without a call
            return None
        after = _after_marks(renderings)
        if not after:
            return None
        if isinstance(after, str):
            begins = place_of_first(new, after)
            yield from self._check_doubtful(renderings[0], stand_ins[0], new)
            return after, self._encode(after), len(self._encode(after[:begins]))
        begins = yield from self._check_ids(renderings[0], stand_ins[0], new)
        return after, after, max(0, begins - (len(renderings[0]) - len(after)))

    def _repeated(self, joint: list[int], called: bool) -> _Steps[int | None]:
        """Return how many of the ids between an answer and the next message the model has sampled itself.

        Args:
            joint: these ids. After calls they begin inside the last one, with what closes it.
            called: whether the answer has native calls.
        """
        sampled = self._sampled or []
        last = sampled[-1] if sampled else -1
        places = [place for place, token in enumerate(joint, start=1) if token == last]
        if called:
            if places:
                return max(places, key=lambda place: _shared(joint[place - 1 :: -1], sampled[::-1]))
            for place, token in enumerate(joint):
                if (yield from self._ends(token)):
                    return place + (yield from self._ends(last))
            return None
        if joint[:1] == [last]:
            return 1
        if not (yield from self._ends(last)):
            return 0
        if places:
            return places[0]
        return min(len(joint), len((yield from self._template_end())[:1]))

    def _ends(self, token: int) -> _Steps[bool]:
        """Return whether a token is a special one, as far as the tokenizer tells, or the template's end of a turn."""
        if token < 0:
            return False
        if self._gives_text and hasattr(self._codec, "decode"):
            shown, plain = (self._codec.decode([token], skip_special_tokens=skip) for skip in (False, True))
            return bool(shown) and not plain
        closing = yield from self._template_end()
        return closing[:1] == [token]

    def _template_end(self) -> _Steps[list[int]]:
        """Return what the template puts after the last answer of a conversation; GLM's and others put nothing."""
        if self._closing is None:
            try:
                renderings = yield [([_ASKER, _stand_in([], mark)], False) for mark in self._marks]
                closing = _after_marks(renderings) or []
            except NotSupportedError:  # of a server that knows no other prompts
                closing = []
            except GemError:
                raise
            except Exception:  # the template's, or of a tokenizer that takes no such argument
                closing = []
            self._closing = self._encode(closing) if isinstance(closing, str) else closing
        return self._closing

    def _before(self, shown: list[Message]) -> list[Message]:
        """Return what stands for the conversation before an answer."""
        if not self._gives_text:
            return [_ASKER]
        count = len(shown)
        if count <= _SHORT or not self._local:
            return shown
        # Two last messages, or three, so that even indices stay even.
        return [*shown[:FIRST], *shown[count - (2 if (count - FIRST) % 2 == 0 else 3) :]]

    def _new_messages(self, shown: list[Message]) -> list[Message] | None:
        """Return the messages after the answer to the last prompt; None if what was shown before was rewritten."""
        before, count = self._messages, len(self._messages)
        if not count or len(shown) <= count or shown[count]["role"] != "assistant":
            return None
        if shown[: count - 1] != before[:-1] or not _is_shown(shown[count - 1], before[-1]):
            return None
        return shown[count + 1 :]

    def _check_whole(self, rendered: _Rendering, shown: list[Message]) -> _Steps[None]:
        """Refuse the rendering of a whole conversation that leaves out what is new, or the latest tool call."""
        known = _answered(shown)
        new = shown[known:]
        if isinstance(rendered, str):
            place_of_first(new, rendered)
            yield from self._check_doubtful(rendered, shown[:known], new)
        else:
            yield from self._check_ids(rendered, shown[:known], new)
        calls = tool_calls(shown[known - 1]) if known else []
        if not calls:
            return
        function = calls[-1]["function"]
        other = {**calls[-1], "function": {**function, "name": f"{function['name']}A"}}
        altered = {**shown[known - 1], "tool_calls": [*calls[:-1], other]}
        (without,) = yield [([*shown[: known - 1], altered, *new], True)]
        if without == rendered:
            raise NotSupportedError(
                "the chat template leaves out tool calls, so that the model would never see that it called "
                f"{function['name']!r}; have calls written in the text, or use a template that renders them"
            )

    def _check_doubtful(self, rendered: str, before: list[Message], new: list[Message]) -> _Steps[None]:
        """Refuse a new message that makes no difference, of those whose text may be found without them."""
        places = doubtful_texts(before, new)
        if not places:
            return
        altered = [[*new[:place], altered_message(new[place]), *new[place + 1 :]] for place in places]
        try:
            renderings = yield [([*before, *messages], True) for messages in altered]
        except GemError:
            raise
        except Exception:  # the template takes no other text in its place, so it looks at it
            return
        for place, other in zip(places, renderings, strict=True):
            if other == rendered:
                raise left_out(new[place])

    def _check_ids(self, rendered: list[int], before: list[Message], new: list[Message]) -> _Steps[int]:
        """Refuse a new message without which the ids are the same; return the place of the first one's content."""
        renderings = yield [
            ([*before, *new[:place], altered_message(message), *new[place + 1 :]], True)
            for place, message in enumerate(new)
        ]
        begins = [_shared(rendered, other) for other in renderings]
        for message, other in zip(new, renderings, strict=True):
            if other == rendered:
                raise left_out(message)
        return begins[0] if begins else len(rendered)

    def _render(self, messages: Sequence[Message], opened: bool = True) -> str:
        return render_chat(self._codec, messages, self._arguments, opened)

    async def _ask(self, messages: list[Message], opened: bool) -> list[int]:
        more: dict[str, Any] = {} if opened else {"add_generation_prompt": False}
        ids: list[int] = await self._codec.prompt_ids(messages, self._arguments.get("tools"), **more)
        return ids

    def _encode(self, text: str) -> list[int]:
        # The template writes special tokens itself, the one at the beginning included.
        return list(self._codec.encode(text, add_special_tokens=False))


def render_chat(
    tokenizer: ChatTokenizer, messages: Sequence[Message], arguments: Mapping[str, Any], opened: bool = True
) -> str:
    """Return a conversation as one text, up to the opening of the assistant's next turn unless it is not wanted.

    The arguments of tool calls are dicts, as most templates want them; they stay text where the template raises for
    dicts, as DeepSeek's does.

    Raises:
        ArgumentTypeError: if the tokenizer returns no text. What the template raises is passed on.
    """
    try:
        return render(tokenizer, [_for_template(message) for message in messages], arguments, opened)
    except ArgumentTypeError:
        raise
    except Exception:
        if not any(message.get("tool_calls") for message in messages):
            raise
        return render(tokenizer, [_with_text(message) for message in messages], arguments, opened)


_REWRITTEN = (
    "exact tokens need observations that grow at their end, as the wrapper 'messages' makes them; "
    "this one rewrites what was shown before"
)
_NO_END = (
    "the chat template does not show where an answer ends, so that exact tokens are impossible; use protocol 'chat'"
)


def _stand_in(calls: list[Any], mark: str) -> Message:
    """Return what stands for an answer: the mark as its content, or as the argument of each of its calls."""
    if not calls:
        return {"role": "assistant", "content": mark}
    marked = [{**call, "function": {**call["function"], "arguments": f'{{"a": {mark}}}'}} for call in calls]
    return {"role": "assistant", "content": "", "tool_calls": marked}


def _after_marks(renderings: list[_Rendering]) -> _Rendering | None:
    """Return what stands after the mark in a text, or what two lists of ids have in common at their ends."""
    if isinstance(renderings[0], str):
        _, found, after = renderings[0].rpartition(_TEXT_MARKS[0])
        return after if found else None
    one, other = renderings
    count = _shared(one[::-1], other[::-1])
    return None if count in (0, len(one), len(other)) else one[-count:]


def _shared(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how many ids two lists have in common at their beginnings."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _answered(messages: Sequence[Message]) -> int:
    """Return how many messages end with the last answer."""
    return max((count for count, message in enumerate(messages, start=1) if message["role"] == "assistant"), default=0)


def _is_shown(message: Message, before: Message) -> bool:
    """Return whether a message is the one that was shown before, perhaps with a notice for that turn beside it."""
    if message == before:
        return True
    now, then = message.get("content"), before.get("content")
    if message["role"] != before["role"] or not isinstance(now, str) or not isinstance(then, str):
        return False
    return bool(now) and (then.startswith(now) or then.endswith(now))  # without text it was cleared


def _for_template(message: Message) -> Message:
    return template_message(message) if message.get("tool_calls") else _with_text(message)


def _with_text(message: Message) -> Message:
    """Return a message whose content is a text where it was null or missing, which some templates trip over."""
    return {**message, "content": ""} if message.get("content") is None else message
