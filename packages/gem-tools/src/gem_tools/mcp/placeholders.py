"""Values of an episode in the configuration of a server: ``${episode.NAME}`` and ``${episode.NAME:-default}``."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gem.errors import ToolError
from gem_tools.mcp.config import ServerConfig

__all__ = ["for_episode", "has_values"]

_PLACEHOLDER = re.compile(r"\$\{episode\.([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def has_values(server: ServerConfig) -> bool:
    """Return whether a configuration has values of an episode, so that each episode has a server of its own."""
    return any(_PLACEHOLDER.search(text) for text in _texts(server))


def for_episode(server: ServerConfig, values: Mapping[str, Any]) -> ServerConfig:
    """Return a configuration with the values of an episode in their places.

    Args:
        server: the configuration.
        values: see :class:`gem.tools.EpisodeValues`; only those that the configuration names are read.

    Raises:
        ToolError: if a value is missing and has no default, or is neither a text nor a number.
    """

    def filled(text: str) -> str:
        return _PLACEHOLDER.sub(lambda match: _value(server.name, match, values), text)

    return _mapped(server, filled)


def _value(server: str, match: re.Match[str], values: Mapping[str, Any]) -> str:
    name, default = match[1], match[2]
    if name not in values:
        if default is not None:
            return default
        raise ToolError(
            f"MCP server {server} needs the value {name!r} of an episode: the environment offers it in the mapping "
            f"episode_values, before the first reset as well, or the configuration gives a default, "
            f"${{episode.{name}:-…}}"
        )
    value = values[name]
    if isinstance(value, bool) or not isinstance(value, (str, int, float, os.PathLike)):
        raise ToolError(
            f"MCP server {server}: the value {name!r} of an episode must be a text or a number, got "
            f"{type(value).__name__}"
        )
    text = os.fspath(value) if isinstance(value, os.PathLike) else str(value)
    if not isinstance(text, str) or "\0" in text:
        raise ToolError(f"MCP server {server}: the value {name!r} of an episode must not contain a NUL character")
    return text


def _mapped(server: ServerConfig, change: Callable[[str], str]) -> ServerConfig:
    """Return a configuration with each of its texts changed, except names."""
    return replace(
        server,
        command=tuple(map(change, server.command)),
        environment=tuple((name, change(value)) for name, value in server.environment),
        folder=None if server.folder is None else change(server.folder),
        url=None if server.url is None else change(server.url),
        headers=tuple((name, change(value)) for name, value in server.headers),
    )


def _texts(server: ServerConfig) -> list[str]:
    texts: list[str] = []
    _mapped(server, lambda text: texts.append(text) or text)  # type: ignore[func-returns-value]
    return texts
