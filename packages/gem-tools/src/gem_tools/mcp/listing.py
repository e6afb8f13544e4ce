"""The tools that servers offer, with names for agents: :func:`list_offers`."""

from __future__ import annotations

import tempfile
from collections import ChainMap
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gem_tools.mcp.config import ServerConfig
from gem_tools.mcp.connection import RetryPolicy
from gem_tools.mcp.names import public_names
from gem_tools.mcp.placeholders import for_episode, has_values
from gem_tools.mcp.users import ConnectionUser, SessionGroup

if TYPE_CHECKING:
    from gem_tools.mcp.session import Offerings

__all__ = ["LIST_RESOURCES", "READ_RESOURCE", "OfferedTool", "list_offers"]

LIST_RESOURCES, READ_RESOURCE = "list_resources", "read_resource"

_listed: dict[ServerConfig, Offerings] = {}
"""What servers with a process for each episode offer, so that only one process starts for the listing alone."""


@dataclass(frozen=True)
class OfferedTool:
    """A tool that a server offers, or that reads its resources."""

    server: ServerConfig
    """The configuration, with the places for values of an episode."""
    remote_name: str
    name: str
    description: str
    parameters: Mapping[str, Any]
    is_parallel: bool = False
    """Whether the server says that the tool only reads."""
    is_own: bool = True
    """Whether it is a tool of the server; False for those that read its resources."""


def list_offers(
    servers: tuple[ServerConfig, ...],
    policy: RetryPolicy,
    user: ConnectionUser,
    group: SessionGroup | None,
    values: Mapping[str, Any],
    *,
    resources: bool,
) -> list[OfferedTool]:
    """List the tools of all servers concurrently.

    Args:
        servers: the servers.
        policy: the time limits.
        user: holds the connections of servers without values of an episode, whose sessions serve the tools later.
        group: the tools that share these sessions; None for all of this process.
        values: the values of an episode, for servers that need them.
        resources: whether to add tools that read resources, for servers that have any.
    """

    def listed(server: ServerConfig) -> Offerings:
        if not has_values(server):
            return user.run(server, group, lambda connection: connection.offerings(policy), policy.longest)
        if server not in _listed:
            _listed[server] = _visited(server, values, policy)
        return _listed[server]

    with ThreadPoolExecutor(len(servers), thread_name_prefix="gem-mcp-discovery") as threads:
        found = [
            offer
            for server, offerings in zip(servers, threads.map(listed, servers), strict=True)
            for offer in [*_of_tools(server, offerings), *(_of_resources(server, offerings) if resources else ())]
        ]
    prefixes = [f"{offer.server.name}_" if len(servers) > 1 else "" for offer in found]
    names = public_names((prefix, offer.remote_name) for prefix, offer in zip(prefixes, found, strict=True))
    return [replace(offer, name=name) for name, offer in zip(names, found, strict=True)]


def _visited(server: ServerConfig, values: Mapping[str, Any], policy: RetryPolicy) -> Offerings:
    """Start a server for the listing alone. An environment that it does not know has an empty folder as well."""
    visitor = ConnectionUser()
    with tempfile.TemporaryDirectory(prefix="gem-episode-", ignore_cleanup_errors=True) as folder:
        filled = for_episode(server, ChainMap(values, {"dir": folder, "seed": 0}))  # type: ignore[arg-type]
        try:
            return visitor.run(filled, SessionGroup(), lambda there: there.offerings(policy), policy.longest)
        finally:
            visitor.forget()


def _of_tools(server: ServerConfig, offerings: Offerings) -> list[OfferedTool]:
    return [
        OfferedTool(
            server,
            tool.name,
            tool.name,
            tool.description or tool.title or "",
            {"type": "object", **tool.input_schema},
            is_parallel=bool(tool.annotations and tool.annotations.read_only_hint),
        )
        for tool in offerings.tools
    ]


def _of_resources(server: ServerConfig, offerings: Offerings) -> list[OfferedTool]:
    if not offerings.has_resources:
        return []
    address = {"type": "string", "description": "The address of the resource."}
    listing = f"List the resources of {server.name}, with their addresses."
    reading = f"Read a resource of {server.name}."
    nothing: Mapping[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    one = {"type": "object", "properties": {"uri": address}, "required": ["uri"], "additionalProperties": False}
    return [
        OfferedTool(server, name, name, about, schema, is_parallel=True, is_own=False)
        for name, about, schema in ((LIST_RESOURCES, listing, nothing), (READ_RESOURCE, reading, one))
    ]
