"""The exact tokens of a chat: what was sampled stays, and the model sees what the template puts after it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.env_spec import EnvSpec
from gem.errors import ArgumentError, ArgumentTypeError, NotSupportedError
from gem_rollout.chat_templates.files import ChatTemplateFile
from gem_rollout.chat_templates.rendered_text import refuse_pictures
from gem_rollout.chat_templates.sampled_prompt import SampledPrompt, render_chat

Message = dict[str, Any]

_CHATML = """{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""

_HARMONY = """{%- set last = namespace(name=none) %}
{%- for m in messages %}
{%- if m.role == 'tool' %}
{%- if last.name is none %}{{ raise_exception('no call before a tool') }}{% endif %}
{{- '<|start|>functions.' + last.name + ' to=assistant<|message|>' + m.content | tojson + '<|end|>' }}
{%- elif m.tool_calls %}
{%- set last.name = m.tool_calls[0].function.name %}
{{- '<|start|>assistant to=functions.' + last.name + '<|message|>' }}
{{- m.tool_calls[0].function.arguments | tojson + '<|call|>' }}
{%- elif m.role == 'assistant' and loop.last and not add_generation_prompt %}
{{- '<|start|>assistant<|message|>' + m.content + '<|return|>' }}
{%- else %}{{- '<|start|>' + m.role + '<|message|>' + m.content + '<|end|>' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|start|>assistant' }}{% endif %}"""

_NESTED = """{%- for m in messages %}
{%- if m.role != 'tool' %}
{%- set inner = namespace(answered=false, over=false) %}
{{- '<|turn>' + m.role + '\\n' + m.content }}
{%- for c in m.tool_calls or [] %}
{{- '<|tool_call>call:' + c.function.name + c.function.arguments | tojson + '<tool_call|>' }}
{%- endfor %}
{%- if m.tool_calls %}
{%- for t in messages[loop.index:] %}
{%- if t.role != 'tool' %}{% set inner.over = true %}{% endif %}
{%- if not inner.over %}{% set inner.answered = true %}
{{- '<|tool_response>' + t.content + '<tool_response|>' }}{% endif %}
{%- endfor %}
{%- if not inner.answered %}{{ '<|tool_response>' }}{% endif %}
{%- else %}{{ '<turn|>\\n' }}{% endif %}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt and messages[-1].role != 'tool' %}{{ '<|turn>assistant\\n' }}{% endif %}"""

_OPEN = """{%- for m in messages %}
{{- ('<|observation|>' if m.role == 'tool' else '<|' + m.role + '|>') + '\\n' + m.content }}
{%- for c in m.tool_calls or [] %}{{ '<tool_call>' + c.function | tojson + '</tool_call>' }}{% endfor %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"""

_SILENT = """{%- for m in messages %}{{ '<|' + m.role + '|>' + m.content + '<|end|>' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"""

_PADDED = _SILENT.replace("'<|end|>' }}", "'\n<|end|>' }}")
_CLOSED = _SILENT.replace(
    "'<|end|>' }}", "'' }}{% if m.tool_calls %}{{ m.tool_calls[0].function | tojson }};;;;{% endif %}<|end|>"
)

TEMPLATES = {"chatml": _CHATML, "harmony": _HARMONY, "nested": _NESTED, "open": _OPEN, "silent": _SILENT}
"""One for each way in which published templates end a turn and show calls.

ChatML (Qwen) writes both out. Harmony (gpt-oss) has three ends of a turn, and names a tool's answer by the call before
it. Gemma 4 shows a tool's answer only inside the turn that called it. GLM ends a turn by what opens the next. Llama 3
renders no calls.
"""

_SPECIAL = re.compile(r"<\|[a-z_]+\|?>|<[a-z_]+\|>")


class PairTokenizer(ChatTemplateFile):
    """Two letters are a token, so that letters sampled alone are other ids than their text has."""

    def __init__(self, chat_template: str) -> None:
        super().__init__(chat_template)
        self.pieces: list[str] = []
        self._ids: dict[str, int] = {}

    def id(self, piece: str) -> int:
        if piece not in self._ids:
            self._ids[piece] = len(self.pieces)
            self.pieces.append(piece)
        return self._ids[piece]

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        assert not add_special_tokens
        found, start = [], 0
        for match in [*_SPECIAL.finditer(text), None]:
            plain = text[start : match.start() if match else None]
            found += [self.id(plain[place : place + 2]) for place in range(0, len(plain), 2)]
            if match:
                found.append(self.id(match[0]))
                start = match.end()
        return found

    def decode(self, token_ids: list[int], *, skip_special_tokens: bool) -> str:
        pieces = [self.pieces[token] for token in token_ids]
        return "".join(piece for piece in pieces if not (skip_special_tokens and _SPECIAL.fullmatch(piece)))

    def letters(self, text: str) -> list[int]:
        """Return ids of which each is one letter or a special token."""
        parts = re.split(f"({_SPECIAL.pattern})", text)
        return [self.id(piece) for part in parts for piece in ([part] if _SPECIAL.fullmatch(part) else part)]


class IdsAlone:
    """The same tokenizer behind a server: ids of conversations, and no text."""

    def __init__(self, tokenizer: PairTokenizer) -> None:
        self.tokenizer = tokenizer

    async def prompt_ids(
        self, messages: list[Message], tools: Any = None, *, add_generation_prompt: bool = True
    ) -> list[int]:
        text = render_chat(self.tokenizer, messages, {"tools": tools}, add_generation_prompt)
        return self.tokenizer.encode(text, add_special_tokens=False)


ASKED = {"role": "user", "content": "What is the weather?"}
PLAIN = {"role": "assistant", "content": "Where are you?"}
NEXT = {"role": "user", "content": 'In Bern, "town" of bears.'}


def calls(count: int) -> Message:
    """Return an answer of native calls."""
    found = [
        {
            "id": f"call0000{place}",
            "type": "function",
            "function": {"name": "look", "arguments": f'{{"at": "Bern", "day": {place}}}'},
        }
        for place in range(count)
    ]
    return {"role": "assistant", "content": "", "tool_calls": found}


def results(count: int) -> list[Message]:
    """Return the answers to these calls, which all say the same."""
    return [{"role": "tool", "tool_call_id": f"call0000{place}", "content": 'It\'s "sunny".'} for place in range(count)]


def said_and_after(tokenizer: PairTokenizer, answer: Message, new: list[Message]) -> tuple[str, str]:
    """Return how the template writes an answer, its end included, and the whole conversation with what follows."""
    before = render_chat(tokenizer, [ASKED], {})
    closed = render_chat(tokenizer, [ASKED, answer], {}, False)
    return closed.removeprefix(before).rstrip(), render_chat(tokenizer, [ASKED, answer, *new], {})


def prompts(tokenizer: PairTokenizer, said: list[int], answer: Message, new: list[Message]) -> list[str]:
    """Return the second prompt as text, from a tokenizer on this machine and from a server's ids."""
    local = SampledPrompt(tokenizer, "appended")
    first = local.extend([ASKED])
    local.note(said)
    served = SampledPrompt(IdsAlone(tokenizer), "appended")

    async def serve() -> list[int]:
        assert await served.extend_async([ASKED]) == first
        served.note(said)
        return await served.extend_async([ASKED, answer, *new])

    found = []
    for ids in (local.extend([ASKED, answer, *new]), asyncio.run(serve())):
        assert ids[: len(first) + len(said)] == first + said
        found.append(tokenizer.decode(ids, skip_special_tokens=False))
    return found


@pytest.mark.parametrize("ended", [True, False], ids=["ended", "cut"])
@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("family", TEMPLATES)
def test_the_next_prompt_reads_as_the_template_renders_it(family: str, count: int, ended: bool) -> None:
    """With the real calls and no end of a turn twice, also where the model was cut off before it ended its turn."""
    tokenizer = PairTokenizer(TEMPLATES[family])
    answer, new = (calls(count), results(count)) if count else (PLAIN, [NEXT])
    said, whole = said_and_after(tokenizer, answer, new)
    if not count and family == "harmony":  # the template's last end of a turn is not its earlier one
        said = said.replace("<|return|>", "<|end|>")
    if not ended:
        said = _SPECIAL.sub("", said) if family == "silent" else re.sub(rf"({_SPECIAL.pattern})$", "", said)
    if family == "harmony" and count and not ended:  # ids alone do not tell which of them ends a turn
        with pytest.raises(NotSupportedError, match="where an answer ends"):
            prompts(tokenizer, tokenizer.letters(said), answer, new)
        said += "<|call|>"
    assert prompts(tokenizer, tokenizer.letters(said), answer, new) == [whole, whole]


@pytest.mark.nightly
@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("name", ["gemma4", "gemma4_v2", "gemma4_v3", "gemma4_v4", "gemma4_v5", "gptoss"])
def test_published_templates_show_the_real_call_and_its_answer(
    published_template: Callable[[str], str], name: str, count: int
) -> None:
    """Gemma 4's tool answers and gpt-oss's calls stand in the next prompt as in the whole conversation."""
    tokenizer = PairTokenizer(published_template(name))
    answer, new = (calls(count), results(count)) if count else (PLAIN, [NEXT])
    said, whole = said_and_after(tokenizer, answer, new)
    if name == "gptoss" and not count:  # the template's last end of a turn is not its earlier one
        said = said.replace("<|return|>", "<|end|>")
    assert all(message["content"].split()[-1].strip('".') in whole for message in new)
    assert prompts(tokenizer, tokenizer.letters(said), answer, new) == [whole, whole]


@pytest.mark.parametrize(
    ("family", "said", "after"),
    [
        ("harmony", "<|message|>Where are you?<|return|>", "<|start|>user<|message|>"),
        ("chatml", "Where are you?<|im_end|>", "\n<|im_start|>user\n"),
        ("nested", "Where are you?<turn|>", "\n<|turn>user\n"),
        ("open", "Where are you?<|user|>", "\n"),
        ("open", "Where are you?", "<|user|>\n"),
        ("silent", "Where are you?<|end|>", "<|user|>"),
        ("silent", "", "<|end|><|user|>"),
        ("padded", "Where are you?<|end|>", "<|user|>"),
    ],
)
def test_one_end_of_a_turn_stands_before_the_next_message(family: str, said: str, after: str) -> None:
    """The one that was sampled, else the template's; GLM's models sample what opens the next turn."""
    tokenizer = PairTokenizer({**TEMPLATES, "padded": _PADDED}[family])
    for prompt in prompts(tokenizer, tokenizer.letters(said), PLAIN, [NEXT]):
        assert prompt.partition(NEXT["content"])[0].endswith("assistant" * (family == "harmony") + said + after)


@pytest.mark.parametrize(
    ("family", "after"), [("chatml", "\n<|im_start|>user\n"), ("open", "<|user|>\n"), ("nested", "\n<|turn>user\n")]
)
def test_a_special_token_that_the_template_never_writes_ends_a_turn_too(family: str, after: str) -> None:
    """The template's own end is not put after it; where the template has none, nothing is taken from what follows."""
    tokenizer = PairTokenizer(TEMPLATES[family])
    local, _ = prompts(tokenizer, tokenizer.letters("Hm<|endoftext|>"), PLAIN, [NEXT])
    assert local.partition(NEXT["content"])[0].endswith("Hm<|endoftext|>" + after)


@pytest.mark.parametrize("family", ["harmony", "nested", "chatml"])
def test_a_call_that_is_written_otherwise_is_closed_once(family: str) -> None:
    """Blanks and the order of arguments are the model's; what follows begins after its end of the turn."""
    tokenizer = PairTokenizer(TEMPLATES[family])
    said, whole = said_and_after(tokenizer, calls(1), results(1))
    end = _SPECIAL.findall(said)[-1]
    mine = f" I look: look( Bern ) {end}"
    for prompt in prompts(tokenizer, tokenizer.letters(mine), calls(1), results(1)):
        assert prompt == prompt.partition(mine)[0] + mine + whole.partition(said)[2]


def test_a_call_that_was_cut_off_is_closed_from_there() -> None:
    """What the template closes it with may repeat itself."""
    tokenizer = PairTokenizer(_CLOSED)
    said, whole = said_and_after(tokenizer, calls(1), results(1))
    cut = [tokenizer.id(piece) for piece in (said.removesuffix("}};;;;<|end|>"), "}}", ";;", ";;")]
    assert prompts(tokenizer, cut, calls(1), results(1))[0] == whole


_DROPPING = _SILENT.replace("{{ '<|'", "{% if m.role != 'tool' %}{{ '<|'").replace(
    "'<|end|>' }}", "'<|end|>' }}{% endif %}"
)
_FIRST_TOOL = _SILENT.replace(
    "{{ '<|'", "{% if m.role != 'tool' or messages[loop.index0 - 1].role != 'tool' %}{{ '<|'"
).replace("'<|end|>' }}", "'<|end|>' }}{% endif %}")


@pytest.mark.parametrize(("template", "count"), [(_DROPPING, 1), (_DROPPING, 2), (_FIRST_TOOL, 2)])
@pytest.mark.parametrize("history", ["sampled", "appended", "template"])
def test_a_message_that_the_template_leaves_out_is_refused(template: str, count: int, history: Any) -> None:
    """Also one of two that say the same."""
    tokenizer = PairTokenizer(template)
    messages = [ASKED, calls(count), *results(count)]
    books = [SampledPrompt(tokenizer, history)]
    if history != "template":
        books.append(SampledPrompt(IdsAlone(tokenizer), history))
    for book in books:
        asyncio.run(book.extend_async([ASKED]))
        book.note([1])
        with pytest.raises(NotSupportedError, match=r"leaves out a message of the role 'tool'.*sunny"):
            asyncio.run(book.extend_async(messages))
    with pytest.raises(NotSupportedError, match="role 'tool'"):
        asyncio.run(SampledPrompt(IdsAlone(tokenizer)).extend_async(messages))
    texts = SampledPrompt(tokenizer)
    with pytest.raises(NotSupportedError, match="role 'tool'"):
        texts.first_text(messages)
    texts.first_text([ASKED])
    with pytest.raises(NotSupportedError, match="role 'tool'"):
        texts.text_after(messages)


@pytest.mark.parametrize("content", ["s", "0", "Bern", "weather? What is the", "end", 2 * ASKED["content"]])
@pytest.mark.parametrize("history", ["sampled", "appended", "template"])
def test_a_text_that_stands_elsewhere_too_is_missed(content: str, history: Any) -> None:
    """A tool's answer that is a part of the markup, of the call or of the question hides nothing."""
    question = {"role": "user", "content": 2 * ASKED["content"]}
    messages = [question, calls(1), {**results(1)[0], "content": content}]
    for template, refused in ((_DROPPING, True), (_CHATML, False)):
        tokenizer = PairTokenizer(template)
        books = [SampledPrompt(tokenizer, history)]
        if history != "template":
            books.append(SampledPrompt(IdsAlone(tokenizer), history))
        for book in books:
            asyncio.run(book.extend_async([question]))
            book.note([1])
            if refused:
                with pytest.raises(NotSupportedError, match="leaves out a message of the role 'tool'"):
                    asyncio.run(book.extend_async(messages))
            else:
                asyncio.run(book.extend_async(messages))


@pytest.mark.parametrize("history", ["sampled", "template"])
def test_calls_that_the_template_leaves_out_of_a_history_are_refused(history: Any) -> None:
    """What was sampled holds them; a conversation that is rendered anew does not."""
    for template, holds in ((_SILENT, False), (_CHATML, True)):
        book = SampledPrompt(PairTokenizer(template), history)
        for messages in ([ASKED, calls(1), *results(1)], [ASKED, PLAIN, NEXT, calls(2), *results(2)]):
            book.restart()
            if holds:
                book.extend(messages)
            else:
                with pytest.raises(NotSupportedError, match=r"leaves out tool calls.*'look'"):
                    book.extend(messages)


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


@pytest.mark.parametrize("part", [PICTURE, {"type": "image", "image": "x"}, {"type": "input_audio"}])
def test_pictures_are_refused_before_anything_is_sampled(part: Any) -> None:
    """By the environment's declared modality where it has one, and in any message."""
    shown = {"role": "user", "content": [{"type": "text", "text": "Look"}, part]}
    for book in (SampledPrompt(PairTokenizer(_CHATML)), SampledPrompt(IdsAlone(PairTokenizer(_CHATML)))):
        with pytest.raises(NotSupportedError, match=rf"message 1 \(user\) holds a part of type '{part['type']}'"):
            asyncio.run(book.extend_async([ASKED, shown]))
    text = [{"type": "text", "text": "Lo"}, {"type": "text", "text": "ok"}]
    tokenizer = PairTokenizer(_CHATML)
    ids = SampledPrompt(tokenizer).extend([{"role": "user", "content": text}])
    assert "user\nLook<|im_end|>" in tokenizer.decode(ids, skip_special_tokens=False)
    refuse_pictures(None)
    refuse_pictures(EnvSpec("test:Words-v0", "m:C"))
    with pytest.raises(NotSupportedError, match="test:Figures-v0 shows image"):
        refuse_pictures(EnvSpec("test:Figures-v0", "m:C", modality=("text", "image")))


ids = st.lists(st.text("ab ", min_size=1, max_size=2), max_size=4)


@given(
    st.sampled_from(["chatml", "harmony", "nested", "open", "silent"]),
    st.lists(st.tuples(ids, st.booleans()), max_size=4),
)
def test_any_conversation_continues_exactly(family: str, turns: list[tuple[list[str], bool]]) -> None:
    """Each prompt begins with the last one and what was sampled, and a tokenizer and a server agree on the rest."""
    tokenizer = PairTokenizer(TEMPLATES[family])
    ends = {
        "chatml": "<|im_end|>",
        "harmony": "<|return|>",
        "nested": "<turn|>",
        "open": "<|user|>",
        "silent": "<|end|>",
    }
    books = (SampledPrompt(tokenizer), SampledPrompt(IdsAlone(tokenizer)))
    messages = [{"role": "system", "content": "Play."}, ASKED]
    before: list[int] = []
    for turn, (pieces, ended) in enumerate(turns):
        local, served = (asyncio.run(book.extend_async(messages)) for book in books)
        assert local == served
        assert local[: len(before)] == before
        sampled = [tokenizer.id(piece) for piece in pieces] + [tokenizer.id(ends[family])] * ended
        for book in books:
            book.note(sampled)
        before = local + sampled
        messages = [
            *messages,
            {"role": "assistant", "content": "".join(pieces)},
            {"role": "user", "content": f"turn {turn}"},
        ]


USER = {"role": "user", "content": "guess"}
ANSWER = {"role": "assistant", "content": "5"}
HINT = {"role": "user", "content": "higher"}
NOTICED = {"role": "user", "content": "guess (one turn left)"}


@pytest.mark.parametrize(
    ("shown", "messages", "goes_on"),
    [
        ([USER], [USER, ANSWER, HINT], True),
        ([USER], [USER, ANSWER], True),
        ([USER, ANSWER, HINT], [USER, ANSWER, HINT, ANSWER, HINT, HINT], True),
        ([NOTICED], [USER, ANSWER, HINT], True),  # a notice after the message was for its turn only
        ([{**USER, "content": "now guess"}], [USER, ANSWER, HINT], True),  # and so was one before it
        ([USER], [{**USER, "content": [{"type": "text", "text": "guess"}]}, ANSWER, HINT], True),  # the same text
        ([USER], [USER], False),
        ([USER], [USER, HINT, HINT], False),  # no answer
        ([USER], [NOTICED, ANSWER, HINT], False),  # more than was shown
        ([USER], [{**USER, "content": ""}, ANSWER, HINT], False),  # cleared
        ([USER], [{**USER, "role": "system"}, ANSWER, HINT], False),
        ([NOTICED, ANSWER, HINT], [USER, ANSWER, HINT, ANSWER, HINT], False),  # rewritten before its last message
        ([USER, ANSWER, HINT], [HINT, ANSWER, HINT], False),  # a window
    ],
)
def test_what_was_shown_is_rewritten_or_goes_on(shown: list[Message], messages: list[Message], goes_on: bool) -> None:
    """A rewritten history is tokenized anew, or refused where only appending will do."""
    tokenizer = PairTokenizer(_SILENT)
    mark = tokenizer.id("z")
    for history in ("sampled", "appended"):
        book = SampledPrompt(tokenizer, history)
        before = book.extend(shown)
        book.note([mark, mark])
        if history == "appended" and not goes_on and any(one["role"] == "assistant" for one in messages):
            with pytest.raises(NotSupportedError, match="'messages'"):
                book.extend(messages)
            continue
        prompt = book.extend(messages)
        assert (prompt[: len(before) + 2] == [*before, mark, mark]) == goes_on
        book.restart()
        assert book.extend(messages)[: len(before) + 2] != [*before, mark, mark]


def test_a_template_that_hides_answers_shows_no_end_of_a_turn() -> None:
    """Where only appending will do it is refused; elsewhere the conversation is rendered anew."""
    hiding = PairTokenizer("{% for m in messages if m.role != 'assistant' %}<|user|>{{ m.content }}{% endfor %}")
    for book in (SampledPrompt(hiding, "appended"), SampledPrompt(IdsAlone(hiding), "appended")):
        asyncio.run(book.extend_async([USER]))
        book.note([1])
        with pytest.raises(NotSupportedError, match="where an answer ends"):
            asyncio.run(book.extend_async([USER, ANSWER, HINT]))
    book = SampledPrompt(hiding)
    book.extend([USER])
    book.note([1])
    assert hiding.decode(book.extend([USER, ANSWER, HINT]), skip_special_tokens=False) == "<|user|>guess<|user|>higher"


def test_a_server_that_fails_is_heard() -> None:
    """Its error ends the turn, and is no property of the template."""

    class Failing(IdsAlone):
        fails_closed = False

        async def prompt_ids(
            self, messages: list[Message], tools: Any = None, *, add_generation_prompt: bool = True
        ) -> list[int]:
            stands_in = any(message["content"] == "1" for message in messages)
            if stands_in and self.fails_closed is not add_generation_prompt:
                raise ArgumentError("the server is down")
            return await super().prompt_ids(messages, tools, add_generation_prompt=add_generation_prompt)

    for fails_closed in (False, True):
        server = Failing(PairTokenizer(_CHATML))
        server.fails_closed = fails_closed
        book = SampledPrompt(server)
        asyncio.run(book.extend_async([USER]))
        book.note([server.tokenizer.id("z")])
        with pytest.raises(ArgumentError, match="the server is down"):
            asyncio.run(book.extend_async([USER, ANSWER, HINT]))


def test_what_is_no_tokenizer_is_refused() -> None:
    """As are an unknown history, one that ids alone cannot have, and ids that are not awaited."""
    with pytest.raises(ArgumentTypeError, match="SampledPrompt needs a tokenizer with apply_chat_template"):
        SampledPrompt(object())  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="sampled, template, appended, got 'all'"):
        SampledPrompt(PairTokenizer(_CHATML), "all")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="a tokenizer that gives text"):
        SampledPrompt(IdsAlone(PairTokenizer(_CHATML)), "template")
    with pytest.raises(NotSupportedError, match="extend_async"):
        SampledPrompt(IdsAlone(PairTokenizer(_CHATML))).extend([USER])


class Calls:
    """A template that shows the arguments of calls, as dicts or as text alone."""

    def __init__(self, wanted: type) -> None:
        self.wanted = wanted

    def apply_chat_template(self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool) -> Any:
        assert (tokenize, add_generation_prompt) == (False, True)
        arguments = [call["function"]["arguments"] for one in conversation for call in one.get("tool_calls", ())]
        if not all(isinstance(value, self.wanted) for value in arguments):
            raise TypeError("arguments of another type")
        return "".join(one["content"] for one in conversation) + "".join(map(str, arguments))


CALL = {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}


@pytest.mark.parametrize(("wanted", "text"), [(dict, "guess{'a': 1}"), (str, 'guess{"a": 1}')])
def test_arguments_of_calls_have_the_type_that_the_template_wants(wanted: type, text: str) -> None:
    """Dicts, and text where the template raises for dicts."""
    messages: list[Message] = [USER, {"role": "assistant", "content": "", "tool_calls": [CALL]}]
    assert render_chat(Calls(wanted), messages, {}) == text
    assert messages[1]["tool_calls"] == [CALL]


def test_what_a_template_raises_is_passed_on() -> None:
    """And a missing content is an empty text."""
    with pytest.raises(TypeError, match="another type"):
        render_chat(Calls(int), [{"role": "assistant", "content": "", "tool_calls": [CALL]}], {})
    assert render_chat(Calls(dict), [{"role": "assistant", "content": None}], {}) == ""

    class Numbers:
        def apply_chat_template(self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool) -> Any:
            return [1]

    with pytest.raises(ArgumentTypeError, match="must return a str"):
        render_chat(Numbers(), [USER], {})
