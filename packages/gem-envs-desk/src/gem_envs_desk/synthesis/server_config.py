"""The configuration of the one server that a world is made of."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem.errors import ToolError
from gem_envs_desk.synthesis.documents import read_document
from gem_envs_desk.synthesis.errors import DescriptionError

__all__ = ["one_server"]

_LAUNCHERS = r"npx|bunx|uvx?|pipx|node|deno|python[0-9.]*"
_SUBCOMMANDS = ("run", "tool", "exec", "x")
_WITH_VALUE = ("--with", "--from", "--python", "-p", "--directory", "--project", "--package")


def one_server(source: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the configuration of a server, with the names of variables in place of their values.

    Args:
        source: the path of a JSON file with ``mcpServers`` or with one server, or a command line.

    Raises:
        DescriptionError: if it names no server, several, or one that has no start of its own.
    """
    if source.startswith(("http://", "https://")):
        raise DescriptionError(
            f"a world needs a server with a start of its own for each episode, and {source} runs already; give its "
            "command"
        )
    if source.strip().endswith(".json"):
        name, config = _of_file(Path(source.strip()).expanduser())
    else:
        name, config = _of_command(source)
    if "url" in config:
        raise DescriptionError(
            f"a world needs a server with a start of its own for each episode, and {name} has a url; give its command"
        )
    try:
        from gem_tools.mcp.config import read_config

        read_config({"mcpServers": {name: config}})
    except ToolError as error:
        raise DescriptionError(str(error)) from error
    return name, _independent(config)


def _independent(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration whose command names files from the root, since servers start in folders of their own."""
    words = [config["command"], *config.get("args", ())]
    found = [str(Path(word).absolute()) if Path(word).is_file() else word for word in words]
    if "/" not in words[0]:
        found[0] = words[0]  # a program that is looked up
    return {**config, "command": found[0], "args": found[1:]}


def _of_file(path: Path) -> tuple[str, dict[str, Any]]:
    document = read_document(path)
    if isinstance(document, Mapping) and "command" in document:
        return path.stem, dict(document)
    servers = document.get("mcpServers", document.get("servers")) if isinstance(document, Mapping) else None
    if not isinstance(servers, Mapping) or not servers:
        raise DescriptionError(f"{path} has no mcpServers")
    if len(servers) > 1:
        raise DescriptionError(
            f"{path} has {len(servers)} servers, {', '.join(map(str, servers))}; worlds are made of one, so give a "
            "file with one"
        )
    ((name, config),) = servers.items()
    if isinstance(config, str):
        return name, _of_command(config)[1]
    if not isinstance(config, Mapping):
        raise DescriptionError(f"{path}: the server {name!r} must be an object with its command")
    return name, dict(config)


def _of_command(text: str) -> tuple[str, dict[str, Any]]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise DescriptionError(f"the command line {text[:80]!r} cannot be parsed: {error}") from error
    if not words:
        raise DescriptionError("mcp: needs the command line of a server, or a JSON file with mcpServers")
    return _name_of(words), {"command": words[0], "args": words[1:]}


def _name_of(words: list[str]) -> str:
    """Return the name of the server that a command line starts: the package that a launcher starts, or the program."""
    program = words[0].rsplit("/", 1)[-1]
    rest = iter(words[1:] if re.fullmatch(_LAUNCHERS, program) else ())
    for word in rest:
        if word in _WITH_VALUE:
            next(rest, None)
        elif not word.startswith("-") and word not in _SUBCOMMANDS:
            found = re.split(r"[@=<>\[]", word.rsplit("/", 1)[-1], maxsplit=1)[0]
            return found or program
    return program
