"""Reading answers out of a model's text, its reasoning left out.

Every function takes any text a model can emit and needs time linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeVar

__all__ = [
    "TERMINAL_STATE",
    "THOUGHTS",
    "action_text",
    "boxed_pattern",
    "extract_code_from_model",
    "extract_last_boxed_answer",
    "extract_last_tagged_answer",
    "split_thoughts",
    "spoken",
    "spoken_text",
]

T = TypeVar("T")

TERMINAL_STATE = "<｜TERMINAL_STATE｜>"
"""The observation after the end of a single-turn episode (with full-width bars, as published)."""

BOX = "\\boxed{"

_IFM = ("ifm|think", "ifm|think_fast", "ifm|think_faster")
_TAGS = ("think", "thinking", "thought", "reasoning", "seed:think", "mm:think", "think:opensource", *_IFM)
THOUGHTS = {f"<{tag}>": f"</{tag}>" for tag in _TAGS} | {
    "[THINK]": "[/THINK]",
    "◁think▷": "◁/think▷",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|think:start|>": "<|think:end|>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<unused94>thought": "<unused95>",
    "<|open|>think<|sep|>": "<|close|>think<|sep|>",
    "<|plamo:begin_think:plamo|>": "<|plamo:end_think:plamo|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "<|content_thinking|>": "<|end_message|>",
    "<|channel>thought": "<channel|>",
    "<|channel|>analysis<|message|>": "<|end|>",
    "to=self<|message|>": "<|eom|>",
}
"""What begins a model's reasoning, and what ends it."""
_STRAY = "|".join(re.escape(end) for end in THOUGHTS.values() if re.search("(?i:think|thought|reasoning|inner)", end))
_ASIDE = (
    rf"(?P<thought>{'|'.join(map(re.escape, THOUGHTS))})"
    rf"|(?P<stray>{_STRAY})"
    r"|(?P<fence>^[ \t>]*(?P<ticks>`{3,8}|~{3,8})[^`\n]*$)"
    r"|(?P<quoted>^ {0,3}>[^\n]*|(?<!`)(?P<run>`{1,3})(?!`)(?:[^`\n]+|[<[{\]](?:[^`\n]|\n(?![ \t]*\n))+)(?P=run)(?!`))"
)
"""What a text does not say itself: reasoning, also such as began in the prompt and only ends here, and quotations."""
_QUOTES = {'""', "''", "“”", "‘’", "«»"}

# Two adjacent runs of blanks would make a failing match quadratic; here the second needs a word first.
_FENCE_OPEN = re.compile(r"```[^\S\n]*(?:\w+[^\S\n]*)?\n")


def action_text(action: object) -> str | None:
    """Return the text of an action: a str itself, or the content of an assistant message.

    A message's content is a str or a list of content parts, of which the text parts count. Anything
    else has no text: None.
    """
    if isinstance(action, str):
        return action
    if not isinstance(action, Mapping):
        return None
    content = action.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = [part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
    return "".join(text for text in texts if isinstance(text, str))


def spoken(text: str, wanted: str, read: Callable[[re.Match[str]], tuple[list[T], int]]) -> list[T]:
    """Return what a text says itself at the places of a pattern: neither in reasoning nor in a quotation.

    Quotations are fenced blocks, inline code, lines that begin with ``>``, and what stands alone in quotation marks.

    Args:
        text: any text.
        wanted: the pattern; ``^`` in it begins a line.
        read: returns what stands at a place, and the index after it, where the search goes on.
    """
    pattern, found, position = _aside_or(wanted), [], 0
    while (match := pattern.search(text, position)) is not None:
        if match.lastgroup == "wanted":
            values, position = read(match)
            if text[match.start() - 1 : match.start()] + text[position : position + 1] not in _QUOTES:
                found += values
        else:
            if match.lastgroup == "stray":
                found.clear()
            position = _aside_end(match)
    return found


def spoken_text(text: str) -> str:
    """Return a text without its reasoning."""
    return split_thoughts(text)[1]


def split_thoughts(text: str) -> tuple[list[str], str]:
    """Return the passages of reasoning in a text, without their tags, and the text without them."""
    if "<|" not in text and "hink" not in text and "hought" not in text and "HINK" not in text and "soning" not in text:
        return [], text
    pattern, thoughts, kept, begin, position, stray = _aside_or("(?!)"), [], [], 0, 0, -1
    while (match := pattern.search(text, position)) is not None:
        position = _aside_end(match)
        if match.lastgroup == "thought":
            kept.append(text[begin : match.start()])
            thoughts.append(text[match.end() : position].removesuffix(THOUGHTS[match[0]]))
        elif match.lastgroup == "stray":
            kept, thoughts, stray = [], [], match.start()
        else:
            continue
        begin = position
    before = [text[:stray]] if stray >= 0 else []  # cut once, however many such ends there are
    return [*before, *thoughts], "".join([*kept, text[begin:]])


@lru_cache(maxsize=64)
def _aside_or(wanted: str) -> re.Pattern[str]:
    return re.compile(f"(?P<wanted>{wanted})|{_ASIDE}", re.MULTILINE)


def _aside_end(aside: re.Match[str]) -> int:
    """Return the index after an aside, the end of the text for one that is not closed."""
    text, end = aside.string, -1
    if aside.lastgroup == "thought":
        closing = THOUGHTS[aside[0]]
        end = text.find(closing, aside.end())
        return len(text) if end < 0 else end + len(closing)
    if aside.lastgroup == "fence":
        # Reasoning may end right behind a fence, and without a new line.
        closing = rf"^[ \t>]*{aside['ticks']}[`~]*[ \t]*(?:$|(?={_STRAY}))"
        close = re.compile(closing, re.MULTILINE).search(text, aside.end())
        return len(text) if close is None else close.end()
    return aside.end()


def boxed_pattern(inner: str, flags: int = 0) -> re.Pattern[str]:
    r"""Compile a pattern whose ``match`` finds the *last* ``\\boxed{…}`` of a text that fits ``inner``.

    One call of ``pattern.match(text)`` replaces a loop over all boxes: the greedy prefix makes the engine
    look for the closest fit from the end. Linear in ``len(text)`` as long as ``inner`` matches no backslash
    and no two adjacent repetitions in it can match the same character.
    """
    return re.compile(r"(?s:.*)\\boxed\{" + inner + r"\}", flags)


def extract_last_boxed_answer(text: object) -> str | None:
    r"""Return the content of the last ``\boxed{…}`` whose braces balance, without surrounding space.

    None when there is no such box, or when ``text`` has no text (see :func:`action_text`).
    """
    if (content := _said(text)) is None:
        return None
    end = len(content)
    box = content.rfind(BOX)
    while box >= 0:
        start = box + len(BOX)
        close = content.find("}", start, end)
        if content.find("{", start, close) >= 0:  # rare: most answers hold no braces
            close = _closing_brace(content, start, end)
        if close >= 0:
            return content[start:close].strip()
        # A brace that is open around a box that never closes never closes either, so an earlier box must close before.
        end = box
        box = content.rfind(BOX, 0, end)
    return None


def extract_last_tagged_answer(text: object, tag: str = "answer") -> str | None:
    """Return the content of the last ``<tag>…</tag>``, without surrounding space, or None."""
    if (content := action_text(text) if f"<{tag}>" in THOUGHTS else _said(text)) is None:
        return None
    end = content.rfind(f"</{tag}>")
    start = content.rfind(f"<{tag}>", 0, end) if end >= 0 else -1
    if start < 0:
        return None
    start += len(tag) + 2
    # Of closing tags that follow each other, the first closes the answer.
    return content[start : content.find(f"</{tag}>", start)].strip()


def extract_code_from_model(text: object) -> str | None:
    """Return the body of the last fenced code block that is closed, or None.

    A block opens with three backticks, an optional language and the end of the line.
    """
    if (content := _said(text)) is None:
        return None
    body: str | None = None
    position = 0
    while (fence := _FENCE_OPEN.search(content, position)) is not None:
        end = content.find("```", fence.end())
        if end < 0:
            break
        body = content[fence.end() : end]
        position = end + 3
    return None if body is None else body.strip()


def _said(action: object) -> str | None:
    text = action_text(action)
    return None if text is None else spoken_text(text)


def _closing_brace(text: str, start: int, end: int) -> int:
    """Return the index at which the brace opened just before ``start`` closes, or -1."""
    depth = 1
    while (close := text.find("}", start, end)) >= 0:
        depth += text.count("{", start, close) - 1
        if depth == 0:
            return close
        start = close + 1
    return -1
