"""How an agent program is run: :class:`Harness`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Harness", "HarnessFile", "filled", "filled_json", "filled_toml"]

Dialect = Literal["chat", "completions", "responses", "messages"]

_PLACE = re.compile(r"\{([a-z_]+)\}")


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

    Commands, variables and files hold placeholders in braces: ``task``, ``task_file``, ``answer_file``, ``model``,
    ``base_url``, ``anthropic_url``, ``api_key``, ``mcp_url``, ``mcp_key``, ``home`` and ``work`` (its folders),
    ``install`` (the folder with the program), ``drivers`` (the folder with our scripts), ``python`` (that of the
    installation, or ours), ``episode`` (the command that plays the episode without MCP).
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
