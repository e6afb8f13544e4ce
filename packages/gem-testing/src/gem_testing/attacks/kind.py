"""The kind of an environment, read from its spec, its tools and the actions that it takes: :class:`EnvKind`.

No id is looked at: the battery of an environment follows from what it offers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gem.core import Env
from gem.env_spec import EnvSpec
from gem.text import action_text, extract_code_from_model, extract_last_boxed_answer
from gem.tools.calls import native_calls, text_calls

__all__ = ["EnvKind", "Form", "kind_of", "parameters_of"]

Form = Literal["call", "tag", "code", "box", "text"]
"""How actions are written: as tool calls, between tags, as a program in a fence, in a box, or as they are."""

_TAG = re.compile(r"<(\w{1,20})>(.*)</\1>\s*\Z", re.DOTALL)
_SHELL = re.compile(r"\b(?:bash|shell|sh|terminal|cmd|command)\b")
_SQL = re.compile(r"\bselect\b.+\bfrom\b|\b(?:insert\s+into|update\s+\w+\s+set)\b", re.IGNORECASE | re.DOTALL)
_WRITES = {"content", "contents", "text", "data", "file_text"}


@dataclass(frozen=True)
class EnvKind:
    """What decides which attacks fit an environment."""

    turns: str
    """``"single"`` or ``"multi"``."""
    form: Form
    tags: tuple[str, ...]
    """The tags of its actions, where they are written so."""
    tools: tuple[Mapping[str, Any], ...]
    """The schemas of its tools, in the format of chat APIs; it has none where it only reads text."""
    executes: frozenset[str]
    """What it carries out: ``"python"``, ``"shell"``, ``"sql"``, ``"files"``."""

    @property
    def calls(self) -> bool:
        """Whether agents act by calls, which must not be carried out where they are only thought or quoted.

        Tags around the one answer to a question are no calls: it counts in a fence as well.
        """
        return self.form == "call" or (self.form == "tag" and self.turns == "multi")

    def __str__(self) -> str:
        """Return it in a few words: ``"multi-turn, call, executes files and sql"``."""
        executes = f", executes {' and '.join(sorted(self.executes))}" if self.executes else ""
        return f"{self.turns}-turn, {self.form}{executes}"


def kind_of(spec: EnvSpec, env: Env[Any, Any], actions: Iterable[Any]) -> EnvKind:
    """Return the kind of an environment.

    Args:
        spec: its spec, for its number of turns.
        env: an instance, for its tools.
        actions: some that are right: those of the reference policy, else sampled ones.
    """
    known = list(actions)
    texts = [text for text in map(action_text, known) if text]
    schemas = getattr(env, "tool_schemas", None) or getattr(env.unwrapped, "tool_schemas", None) or ()
    tools = tuple(tool.get("function", tool) for tool in schemas if isinstance(tool, Mapping))
    matches = [match for match in map(_TAG.search, texts) if match is not None]
    tags = tuple(dict.fromkeys(match[1] for match in matches if match[1] != "tool_call"))
    form: Form = "text"
    if any(map(native_calls, known)) or any(map(text_calls, texts)):
        form = "call"
    elif any(extract_code_from_model(text) is not None for text in texts):
        form = "code"
    elif any(extract_last_boxed_answer(text) is not None for text in texts):
        form = "box"
    elif tags:
        form = "tag"
    executes = {"python"} if form == "code" else set()
    names = [*tags, *(name for tool in tools for name in (str(tool.get("name")), *parameters_of(tool)))]
    if any(_SHELL.search(name.replace("_", " ")) for name in names):
        executes.add("shell")
    if any(map(_SQL.search, texts)):
        executes.add("sql")
    if any("path" in parameters_of(tool) and _WRITES.intersection(parameters_of(tool)) for tool in tools):
        executes.add("files")
    return EnvKind(spec.turns, form, tags, tools, frozenset(executes))


def parameters_of(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a tool: name → schema."""
    parameters = tool.get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
    return dict(properties) if isinstance(properties, Mapping) else {}
