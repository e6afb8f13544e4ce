"""Reading calls whose arguments stand in tags of their own: the forms of Qwen3-Coder, of Anthropic and of GLM.

::

    <function=add><parameter=a>1</parameter><parameter=b>2</parameter></function>
    <invoke name="add"><parameter name="a">1</parameter></invoke>
    add<arg_key>a</arg_key><arg_value>1</arg_value>

The arguments are texts. A schema gives their types; see :mod:`gem.tools.typed_arguments`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["XmlCall", "closed", "function_call", "key_value_call"]

_FUNCTION = re.compile(r"<(?:function(?:=|[\sĠ]?name=)|(?P<prefix>[\w:｜]{0,16})invoke name=)(?P<name>[^<>\n]{1,256})>")
_PARAMETER = re.compile(
    r"\s*<[\w:｜]{0,16}(?P<tag>param(?:eter)?)(?:=|(?P<inline>[\sĠ]?name=))"
    r"(?P<name>\"[^\"\n]{1,256}\"|[^<>\n]{1,256}?)(?: string=\"\w*\")?>"
)
_KEY = re.compile(r"\s*(?:<tool_sep>\s*)?<(?P<tag>(?:\w{1,16}\|)?arg_key(?::\w{1,16})?)>")
_VALUE = re.compile(
    r"\s*(?:<ifm\|arg_type>\w{0,16}</ifm\|arg_type>\s*)?<(?P<tag>(?:\w{1,16}\|)?arg_value(?::\w{1,16})?)>"
)
_WRONG_END = re.compile(r"</parameter\w*>?\s*\Z")
"""A closing tag that a model has distorted, at the end of a value that the next parameter ends."""
_LONGEST_WRONG_END = 64


class XmlCall(NamedTuple):
    """A call with texts as arguments."""

    name: str
    arguments: dict[str, str]
    end: int
    """The index after the call in the text."""


def function_call(text: str, start: int) -> XmlCall:
    """Read ``<function=NAME>`` or ``<invoke name="NAME">``, whose tags may have a prefix, with its parameters.

    A line break at each end of a value is syntax, behind ``name="…"`` only if both are there. A value ends at its
    closing tag, or where the next parameter begins on a line of its own. Raises a ValueError with the reason if there
    is no such call.
    """
    opening = _FUNCTION.match(text, start)
    if opening is None:
        raise ValueError("<function= has no name")
    name, position, prefix = opening["name"].strip().strip("\"'"), opening.end(), opening["prefix"] or ""
    tag = "function" if opening["prefix"] is None else f"{prefix}invoke"
    arguments: dict[str, str] = {}
    closing, own = -1, ""
    while (parameter := _PARAMETER.match(text, position)) and own in ("", parameter["tag"]):
        begin, own = parameter.end(), parameter["tag"]
        if closing < begin:  # searched once for all parameters that lack their own, to stay linear
            closing = text.find(f"</{prefix}{own}>", begin) % (len(text) + 1)  # its end if there is none
        following = text.find(f"\n<{prefix}{own}", begin, closing)
        if following < 0 and closing == len(text):
            following = text.find(f"\n</{tag}>", begin)
        if following >= 0:
            value, position = _without_wrong_end(text[begin:following]), following
        elif closing < len(text):
            value, position = text[begin:closing], closing + len(f"</{prefix}{own}>")
        else:
            raise ValueError("<parameter= is not closed")
        if (key := parameter["name"].strip().strip("\"'")) in arguments:
            raise ValueError(f"the argument {key} is given twice")
        broken = not parameter["inline"] or value.startswith("\n")
        arguments[key] = value.removeprefix("\n").removesuffix("\n") if broken else value
    end = re.compile(rf"\s*</{tag}>").match(text, position)
    if end is None:
        raise ValueError(f"<{tag} is not closed by </{tag}>")
    return XmlCall(name, arguments, end.end())


def key_value_call(text: str, start: int) -> XmlCall:
    """Read a name, which ends before the next ``<``, and pairs of ``<arg_key>`` and ``<arg_value>``.

    Raises a ValueError with the reason if a tag is not closed.
    """
    position = text.index("<", start)
    name = text[start:position].strip()
    arguments: dict[str, str] = {}
    while (opening := _KEY.match(text, position)) is not None:
        key, position = closed(text, opening.end(), opening["tag"])
        value = _VALUE.match(text, position)
        if value is None:
            raise ValueError("<arg_key> has no <arg_value>")
        arguments[key.strip()], position = closed(text, value.end(), value["tag"])
    return XmlCall(name, arguments, position)


def closed(text: str, begin: int, tag: str) -> tuple[str, int]:
    """Return what stands before the next closing tag, and the index after it; a ValueError if there is none."""
    end = text.find(f"</{tag}>", begin)
    if end < 0:
        raise ValueError(f"<{tag}> is not closed")
    return text[begin:end], end + len(tag) + 3


def _without_wrong_end(value: str) -> str:
    tail = value[-_LONGEST_WRONG_END:]
    found = _WRONG_END.search(tail)
    return value if found is None else value[: len(value) - len(tail) + found.start()]
