"""Writes reStructuredText: docstrings, signatures and the directives of Sphinx's Python domain."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import griffe
from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import GoogleDocstring

__all__ = ["directive", "docstring", "first_sentence", "heading", "indented", "section_id", "signature"]

_NAPOLEON: Any = Config(
    napoleon_numpy_docstring=False, napoleon_use_ivar=True, napoleon_use_admonition_for_examples=False
)
_LONGEST_VALUE = 120
_BARS = re.compile(r"\|(\w+)\|")
_DIRECTIVES = {griffe.Kind.CLASS: "class", griffe.Kind.FUNCTION: "function", griffe.Kind.TYPE_ALIAS: "type"}


def heading(text: str, sign: str) -> list[str]:
    """Return the lines of a heading."""
    return [text, sign * max(4, len(text.encode("utf-16-le")) // 2), ""]


def indented(lines: list[str], by: int = 3) -> list[str]:
    """Return lines as the content of a directive."""
    return [f"{' ' * by}{line}" if line else "" for line in lines]


def section_id(kind: str, name: str) -> str:
    """Return the anchor of an entry of the reference.

    >>> section_id("info key", "prev_ep_…"), section_id("command", "gem hub login")
    ('info-key-prev-ep', 'command-gem-hub-login')
    """
    return re.sub(r"[^a-z0-9]+", "-", f"{kind} {name}".lower()).strip("-")


def docstring(text: str | None) -> list[str]:
    """Return a docstring with sections (``Args:``, ``Raises:``) as reStructuredText."""
    if not text:
        return []
    # A bar is a bar: no docstring uses reStructuredText's substitutions.
    lines = _BARS.sub(r"\\|\1\\|", text).splitlines()
    return "\n".join(GoogleDocstring(lines, _NAPOLEON).lines()).splitlines()


def first_sentence(text: str | None) -> str:
    """Return the first paragraph of a docstring, in one line."""
    line = " ".join((text or "").partition("\n\n")[0].split())
    return _BARS.sub(r"\\|\1\\|", line.removesuffix("::"))


def signature(parameters: griffe.Parameters, returns: Any = None, *, method: bool = False) -> str:
    """Return the signature of a function as in its source, without ``self``; long defaults are cut."""
    shown: list[str] = []
    star = False
    previous = None
    for number, parameter in enumerate(parameters):
        if method and number == 0 and parameter.name in ("self", "cls"):
            continue
        if previous is griffe.ParameterKind.positional_only and parameter.kind is not previous:
            shown.append("/")
        if parameter.kind is griffe.ParameterKind.keyword_only and not star:
            shown.append("*")
            star = True
        if parameter.kind is griffe.ParameterKind.var_positional:
            star = True
        shown.append(_parameter(parameter))
        previous = parameter.kind
    if previous is griffe.ParameterKind.positional_only:
        shown.append("/")
    return f"({', '.join(shown)})" + (f" -> {returns}" if returns is not None else "")


def _parameter(parameter: griffe.Parameter) -> str:
    variadic = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}
    prefix = variadic.get(parameter.kind, "") if parameter.kind is not None else ""
    text = f"{prefix}{parameter.name}"
    if parameter.annotation is not None:
        text += f": {parameter.annotation}"
    if parameter.default is not None and not prefix:
        text += f" = {_cut(str(parameter.default))}"
    return text


def _cut(value: str) -> str:
    """Return a value in one line; three dots in place of a long one, which Python reads too."""
    line = " ".join(value.split())
    return line if len(line) <= _LONGEST_VALUE else "..."


def directive(found: griffe.Object, name: str) -> Iterator[str]:
    """Yield the directive of a class, a function or a value, with its docstring and its documented members."""
    text = found.docstring.value if found.docstring else None
    kind = _DIRECTIVES.get(found.kind, "data")
    if isinstance(found, griffe.Class):
        yield from _class(found, name, text)
        return
    if isinstance(found, griffe.Function):
        yield f".. py:function:: {name}{signature(found.parameters, found.returns)}"
        if "async" in found.labels:
            yield "   :async:"
    else:
        yield f".. py:{kind}:: {name}"
        yield from _value(found)
    yield ""
    yield from indented(docstring(text))
    yield ""


def _class(found: griffe.Class, name: str, text: str | None) -> Iterator[str]:
    bases = [str(base) for base in found.bases]
    kind = "exception" if name.endswith(("Error", "Warning")) else "class"
    yield f".. py:{kind}:: {name}{signature(found.parameters, method=True)}"
    yield ""
    if bases:
        yield from indented([f"Bases: {', '.join(f'``{base}``' for base in bases)}", ""])
    yield from indented(docstring(text))
    yield ""
    initializer = found.members.get("__init__")
    if isinstance(initializer, griffe.Function) and initializer.docstring and "dataclass" not in found.labels:
        yield from indented(docstring(initializer.docstring.value))
        yield ""
    for member_name, member in found.members.items():
        if member_name.startswith("_") or isinstance(member, griffe.Alias) or not member.docstring:
            continue
        yield from indented(list(_member(member, member_name)))


def _member(member: griffe.Object, name: str) -> Iterator[str]:
    assert member.docstring is not None
    if isinstance(member, griffe.Function):
        yield f".. py:method:: {name}{signature(member.parameters, member.returns, method=True)}"
        for label in ("async", "classmethod", "staticmethod", "abstractmethod"):
            if label in member.labels:
                yield f"   :{label}:"
    elif "property" in member.labels:
        yield f".. py:property:: {name}"
        if isinstance(member, griffe.Attribute) and member.annotation is not None:
            yield f"   :type: {member.annotation}"
    else:
        yield f".. py:attribute:: {name}"
        yield from _value(member)
    yield ""
    yield from indented(docstring(member.docstring.value))
    yield ""


def _value(found: griffe.Object) -> Iterator[str]:
    if isinstance(found, griffe.Attribute):
        if found.annotation is not None:
            yield f"   :type: {_cut(str(found.annotation))}"
        if found.value is not None:
            yield f"   :value: {_cut(str(found.value))}"
