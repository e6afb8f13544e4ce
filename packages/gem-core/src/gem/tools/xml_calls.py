"""Reading calls whose arguments stand in tags of their own: the forms of Qwen3-Coder and of GLM.

::

    <function=add><parameter=a>1</parameter><parameter=b>2</parameter></function>
    add<arg_key>a</arg_key><arg_value>1</arg_value>

The arguments are texts. A schema gives their types; see :mod:`gem.tools.typed_arguments`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["XmlCall", "function_call", "key_value_call"]

_FUNCTION = re.compile(r"<function=([^<>\n]{1,256})>")
_PARAMETER = re.compile(r"\s*<parameter=([^<>\n]{1,256})>")
_FUNCTION_END = re.compile(r"\s*</function>")
_KEY = re.compile(r"\s*<arg_key>")
_VALUE = re.compile(r"\s*<arg_value>")
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
    """Read ``<function=NAME>`` with its parameters.

    One line break at each end of a value belongs to the syntax. A value ends at ``</parameter>``, or where the next
    parameter begins on a line of its own.

    Args:
        text: any text.
        start: the index of ``<function=``.

    Raises:
        ValueError: if there is no such call, with the reason.
    """
    opening = _FUNCTION.match(text, start)
    if opening is None:
        raise ValueError("<function= has no name")
    name, position = opening[1].strip().strip("\"'"), opening.end()
    arguments: dict[str, str] = {}
    closing = -1
    while (parameter := _PARAMETER.match(text, position)) is not None:
        begin = parameter.end()
        if closing < begin:  # searched once for all parameters that lack their own, to stay linear
            closing = text.find("</parameter>", begin)
            closing = len(text) if closing < 0 else closing
        following = text.find("\n<parameter=", begin, closing)
        last = text.find("\n</function>", begin, closing) if following < 0 and closing == len(text) else -1
        if following >= 0 or last >= 0:
            position = following if following >= 0 else last
            value = _without_wrong_end(text[begin:position])
        elif closing < len(text):
            value, position = text[begin:closing], closing + len("</parameter>")
        else:
            raise ValueError("<parameter= is not closed")
        arguments[parameter[1].strip().strip("\"'")] = _without_line_breaks(value)
    function_end = _FUNCTION_END.match(text, position)
    if function_end is None:
        raise ValueError("<function= is not closed by </function>")
    return XmlCall(name, arguments, function_end.end())


def key_value_call(text: str, start: int) -> XmlCall:
    """Read a name and pairs of ``<arg_key>`` and ``<arg_value>``.

    Args:
        text: any text.
        start: the index of the name, which ends before the next ``<``.

    Raises:
        ValueError: if a tag is not closed.
    """
    position = text.index("<", start)
    name = text[start:position].strip()
    arguments: dict[str, str] = {}
    while (opening := _KEY.match(text, position)) is not None:
        key, position = _closed(text, opening.end(), "arg_key")
        value = _VALUE.match(text, position)
        if value is None:
            raise ValueError("<arg_key> has no <arg_value>")
        arguments[key.strip()], position = _closed(text, value.end(), "arg_value")
    return XmlCall(name, arguments, position)


def _closed(text: str, begin: int, tag: str) -> tuple[str, int]:
    end = text.find(f"</{tag}>", begin)
    if end < 0:
        raise ValueError(f"<{tag}> is not closed")
    return text[begin:end], end + len(tag) + 3


def _without_wrong_end(value: str) -> str:
    tail = value[-_LONGEST_WRONG_END:]
    found = _WRONG_END.search(tail)
    return value if found is None else value[: len(value) - len(tail) + found.start()]


def _without_line_breaks(value: str) -> str:
    return value.removeprefix("\n").removesuffix("\n")
