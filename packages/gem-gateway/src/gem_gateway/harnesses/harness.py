"""How an agent program is run: :class:`Harness`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from gem.arguments import nearest
from gem.errors import ArgumentError

__all__ = ["Harness", "HarnessFile", "Placeholders", "check_placeholders", "filled", "filled_json", "filled_toml"]

Dialect = Literal["chat", "completions", "responses", "messages", "gemini"]

_PLACE = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, kw_only=True)
class Placeholders:
    """What replaces the words in braces in commands, variables and files of a harness."""

    task: str
    task_file: str
    answer_file: str
    model: str
    base_url: str
    anthropic_url: str
    gemini_url: str
    api_key: str
    mcp_url: str
    mcp_key: str
    home: str
    work: str
    """Its folder, in which it begins."""
    install: str
    """The folder with the program."""
    drivers: str
    """The folder with our scripts."""
    python: str
    """That of the installation, or ours."""
    python_path: str
    episode: str
    """The command that plays the episode without MCP."""


@dataclass(frozen=True)
class HarnessFile:
    """A file that a program finds when it starts: its settings."""

    path: str
    """With placeholders; relative to the working folder."""
    json: Mapping[str, Any] | None = None
    """The content as JSON, with placeholders in its texts."""
    toml: str | None = None
    """The content as TOML, with placeholders in place of whole values."""


@dataclass(frozen=True)
class Harness:
    """How an agent program is installed, started, told its model and task, given tools, and what its answer is.

    Commands, variables and files hold the names of :class:`Placeholders` in braces.
    """

    name: str
    command: tuple[str, ...]
    description: str = ""
    dialect: Dialect = "chat"
    """What it speaks to its model."""
    installer: Literal["npm", "pip"] | None = None
    """What installs it; None for a program that is there."""
    requirements: tuple[str, ...] = ()
    """What is installed, each with its exact version."""
    version: str = ""
    """Of the program, which is that of the first requirement."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables in addition to those that every program gets."""
    files: tuple[HarnessFile, ...] = ()
    answer: Literal["stdout", "file", "json"] = "stdout"
    """Where its final answer is: all of its standard output, the file ``answer_file``, or the key ``result`` of the
    JSON object that is its standard output."""
    tools: Literal["mcp", "command"] = "mcp"
    """How it plays: it calls the tools of an MCP server, or runs the command ``episode`` in a shell of its own."""
    reads_stdin: bool = False
    """Whether the task is its standard input."""


def check_placeholders(words: Iterable[str]) -> None:
    """Raise ArgumentError for a word in braces that is nearly a placeholder, and would reach the program as it is.

    Words with blanks are left alone: they are programs, whose braces are their own.
    """
    known = {item.name for item in fields(Placeholders)}
    for name in _PLACE.findall(" ".join(word for word in words if not re.search(r"\s", word))):
        if name not in known and (near := nearest(name, known)):
            raise ArgumentError(f"{{{name}}} is no placeholder; did you mean {{{near}}}?")


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return a text with its placeholders replaced; braces around other words stay."""
    return _PLACE.sub(lambda found: values.get(found[1], found[0]), text)


def filled_json(content: Any, values: Mapping[str, str]) -> Any:
    """Return JSON values with the placeholders in texts and keys replaced."""
    if isinstance(content, str):
        return filled(content, values)
    if isinstance(content, Mapping):
        return {filled(name, values): filled_json(value, values) for name, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [filled_json(value, values) for value in content]
    return content


def filled_toml(text: str, values: Mapping[str, str]) -> str:
    """Return TOML with each placeholder replaced by a quoted text.

    JSON's texts are basic strings of TOML, except that TOML has no halves of characters, and no bare U+007F.
    """
    quoted = {name: json.dumps(value, ensure_ascii=False) for name, value in values.items()}
    return filled(text, {name: value.replace("\x7f", "\\u007f") for name, value in quoted.items()})
