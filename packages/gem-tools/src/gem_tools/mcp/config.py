"""The configuration of MCP servers in the standard ``mcpServers`` format, from a dict, a file, a URL or a command."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gem.arguments import nearest
from gem.errors import ToolError
from gem_tools.mcp.oauth import OAuthClient

__all__ = ["ServerConfig", "read_config"]

_ENTRIES = ("mcpServers", "servers")
"""The keys of the servers in a configuration: for most clients, and for VS Code."""

_STDIO = ("command", "args", "env", "cwd")
_HTTP = ("url", "headers", "oauth")
_OAUTH = ("client_id", "client_secret", "issuer")
_ANY = ("type", "transport", "disabled")

_OF_EPISODE = "${episode."
"""Begins a value that each episode fills in; see :mod:`gem_tools.mcp.placeholders`."""

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


@dataclass(frozen=True)
class ServerConfig:
    """One server. Equal configurations denote the same server, and share a session."""

    name: str
    command: tuple[str, ...] = field(default=(), repr=False)
    """The program and its arguments; empty for a server with a URL."""
    environment: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Variables in addition to the few that every server gets; see the SDK's ``get_default_environment``."""
    folder: str | None = None
    """The working directory; None for the one of this process."""
    url: str | None = field(default=None, repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    oauth: OAuthClient | None = None


def read_config(
    config: str | Path | Mapping[str, Any],
    auth: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> tuple[ServerConfig, ...]:
    """Return the servers of a configuration.

    Args:
        config: ``{"mcpServers": {name: server}}``; the path of a JSON file that holds this; one server, a dict
            with ``command``, ``args``, ``env`` and ``cwd``, or with ``url``, ``headers`` and ``oauth`` (a client's
            credentials: ``client_id``, ``client_secret`` and ``issuer``); a URL; or a command line. ``${NAME}`` and
            ``${NAME:-default}`` stand for environment variables, ``${episode.NAME}`` and
            ``${episode.NAME:-default}`` for values of each episode; see :class:`gem.tools.EpisodeValues`.
        auth: a bearer token, sent to every server with a URL.
        headers: HTTP headers, sent to the same servers.

    Raises:
        ToolError: if the configuration is invalid; the message never contains the value of a header or variable.
    """
    extra = _extra_headers(auth, headers)
    servers = []
    for name, entry in _entries(config).items():
        server = _server(name, entry, extra)
        if server is not None:
            servers.append(server)
    if not servers:
        raise ToolError("the MCP configuration has no enabled server")
    return tuple(servers)


def _entries(config: object) -> Mapping[str, Any]:
    if isinstance(config, Path):
        return _entries_of_file(config)
    if isinstance(config, str):
        text = config.strip()
        if _is_url(text):
            return {"default": {"url": text}}
        if text.endswith(".json"):
            return _entries_of_file(Path(text))
        return {"default": _command_line(text)}
    if not isinstance(config, Mapping):
        raise ToolError(
            f"an MCP configuration is a dict, a URL, a command line or a JSON file, got {type(config).__name__}"
        )
    for key in _ENTRIES:
        if key in config:
            entries = config[key]
            if not isinstance(entries, Mapping):
                raise ToolError(f"{key} in an MCP configuration must be a dict of servers by name")
            return entries
    if "command" in config or "url" in config:
        return {"default": config}
    known = ", ".join(map(str, config)) or "nothing"
    raise ToolError(f"an MCP configuration has mcpServers, or one server's command or url; this one has {known:.200}")


def _entries_of_file(path: Path) -> Mapping[str, Any]:
    try:
        content = json.loads(path.expanduser().read_text(encoding="utf-8"))
    except OSError as error:
        raise ToolError(f"the MCP configuration {path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise ToolError(f"the MCP configuration {path} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise ToolError(f"the MCP configuration {path} must hold a JSON object")
    return _entries(content)


def _server(name: object, entry: object, extra: Mapping[str, str]) -> ServerConfig | None:
    if not isinstance(name, str) or not name:
        raise ToolError(f"the name of an MCP server must be a non-empty str, got {name!r:.80}")
    if isinstance(entry, str):
        entry = {"url": entry} if _is_url(entry) else _command_line(entry)
    if not isinstance(entry, Mapping):
        raise ToolError(f"MCP server {name} must be a dict, a URL or a command line, got {type(entry).__name__}")
    _check_keys(name, entry)
    if entry.get("disabled") is True:
        return None
    if ("command" in entry) == ("url" in entry):
        raise ToolError(f"MCP server {name} needs either a command or a url")
    kind = entry.get("type", entry.get("transport"))
    if kind == "sse":
        raise ToolError(f"MCP server {name}: MCP no longer has the transport sse; use the server's streamable HTTP URL")
    if "command" in entry:
        return ServerConfig(
            name,
            command=(_expanded(name, "command", entry["command"]), *_strings(name, "args", entry.get("args", ()))),
            environment=_pairs(name, "env", entry.get("env") or {}),
            folder=None if entry.get("cwd") is None else str(Path(_expanded(name, "cwd", entry["cwd"])).expanduser()),
        )
    url = _expanded(name, "url", entry["url"])
    if not _is_url(url) and not url.startswith(_OF_EPISODE):
        raise ToolError(f"MCP server {name}: a url must begin with http:// or https://")
    own = dict(_pairs(name, "headers", entry.get("headers") or {}))
    taken = {header.lower() for header in extra}
    kept = {header: value for header, value in own.items() if header.lower() not in taken}
    headers = tuple(sorted({**kept, **extra}.items()))
    return ServerConfig(name, url=url, headers=headers, oauth=_oauth(name, entry.get("oauth")))


def _oauth(server: str, entry: object) -> OAuthClient | None:
    if entry is None:
        return None
    values = dict(_pairs(server, "oauth", entry))
    unknown = [name for name in values if name not in _OAUTH]
    missing = [name for name in _OAUTH if not values.get(name)]
    if unknown or missing:
        wrong = f"has a key {unknown[0]!r}" if unknown else f"has no {missing[0]}"
        raise ToolError(f"MCP server {server}: oauth has client_id, client_secret and issuer; this one {wrong}")
    if not _is_url(values["issuer"]):
        raise ToolError(f"MCP server {server}: the issuer of oauth must begin with http:// or https://")
    return OAuthClient(**values)


def _check_keys(name: str, entry: Mapping[str, Any]) -> None:
    """Reject keys that look like typing errors; ignore the keys of other clients."""
    known = (*_STDIO, *_HTTP, *_ANY)
    for key in entry:
        if key not in known and (near := nearest(str(key), known)) is not None:
            raise ToolError(f"MCP server {name} has a key {key!r}; did you mean {near!r}?")


def _command_line(text: str) -> dict[str, Any]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ToolError(f"the command line of an MCP server cannot be parsed: {error}") from error
    if not words:
        raise ToolError("the command line of an MCP server must not be empty")
    return {"command": words[0], "args": words[1:]}


def _extra_headers(auth: object, headers: object) -> dict[str, str]:
    if headers is not None and not isinstance(headers, Mapping):
        raise ToolError(f"headers must be a dict of HTTP headers, got {type(headers).__name__}")
    extra = dict(_pairs("(all)", "headers", headers or {}))
    if auth is not None:
        if not isinstance(auth, str):
            raise ToolError(f"auth must be a bearer token, a str, got {type(auth).__name__}")
        extra["Authorization"] = f"Bearer {_expanded('(all)', 'auth', auth).removeprefix('Bearer ')}"
    return extra


def _pairs(server: str, key: str, value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, Mapping):
        raise ToolError(f"MCP server {server}: {key} must be a dict of strings, got {type(value).__name__}")
    return tuple(
        sorted((_checked(server, key, name), _expanded(server, f"{key}.{name}", value[name])) for name in value)
    )


def _strings(server: str, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        raise ToolError(f"MCP server {server}: {key} must be a list of strings, got {type(value).__name__}")
    return tuple(_expanded(server, key, item) for item in value)


def _expanded(server: str, key: str, value: object) -> str:
    """Return the value with environment variables replaced."""

    def variable(match: re.Match[str]) -> str:
        found = os.environ.get(match[1], match[2])
        if found is None:
            raise ToolError(f"MCP server {server}: {key} needs the environment variable {match[1]}, which is not set")
        return found

    return _checked(server, key, _VARIABLE.sub(variable, _checked(server, key, value)))


def _checked(server: str, key: str, value: object) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = str(value)  # ports and similar values, which people write without quotes
    if isinstance(value, Path):
        value = str(value)
    if not isinstance(value, str):
        raise ToolError(f"MCP server {server}: {key} must be a str, got {type(value).__name__}")
    if "\0" in value:
        raise ToolError(f"MCP server {server}: {key} must not contain a NUL character")
    return value


def _is_url(text: str) -> bool:
    return text.startswith(("http://", "https://"))
