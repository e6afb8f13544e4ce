"""The tools that servers offer, with names for agents: :func:`list_offers`."""

from __future__ import annotations

import copy
import tempfile
from collections import ChainMap
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from gem_tools.mcp.config import ServerConfig
from gem_tools.mcp.connection import RetryPolicy
from gem_tools.mcp.names import public_names
from gem_tools.mcp.placeholders import for_episode, has_values
from gem_tools.mcp.session_group import SessionGroup
from gem_tools.mcp.users import ConnectionUser

if TYPE_CHECKING:
    from gem_tools.mcp.session import Offerings

__all__ = ["Extras", "OfferedTool", "list_offers"]

Kind = Literal["tool", "list_resources", "read_resource", "list_prompts", "get_prompt"]
"""What a tool for agents does: call a tool of the server, or send this request."""

_listed: dict[tuple[ServerConfig, bool, bool], Offerings] = {}
"""What servers with a process for each episode offer, so that only one process starts for the listing alone; with and
without a user, since servers offer tools that ask questions to clients with a user only."""


class Extras(NamedTuple):
    """What is offered besides the tools of servers."""

    resources: bool = False
    prompts: bool = False


@dataclass(frozen=True)
class OfferedTool:
    """A tool that a server offers, or that reads its resources or prompts."""

    server: ServerConfig
    """The configuration, with the places for values of an episode."""
    remote_name: str
    name: str
    description: str
    parameters: Mapping[str, Any]
    is_parallel: bool = False
    """Whether the server says that the tool only reads."""
    kind: Kind = "tool"


def list_offers(
    servers: tuple[ServerConfig, ...],
    policy: RetryPolicy,
    user: ConnectionUser,
    group: SessionGroup | None,
    values: Mapping[str, Any],
    extras: Extras,
) -> tuple[list[OfferedTool], list[int]]:
    """List the tools of all servers concurrently.

    Args:
        servers: the servers.
        policy: the time limits.
        user: holds the connections of servers without values of an episode, whose sessions serve the tools later.
        group: the tools that share these sessions; None for all of this process.
        values: the values of an episode, for servers that need them.
        extras: which tools to add, for servers that have what these need.

    Returns:
        The tools, and the revision of each server's.
    """

    def listed(server: ServerConfig) -> Offerings:
        if not has_values(server):
            return user.run(server, group, lambda connection: connection.offerings(policy), policy.longest)
        key = server, group is not None and group.user is not None, group is not None and group.model is not None
        if key not in _listed:
            _listed[key] = _visited(server, values, policy, group)
        return _listed[key]

    with ThreadPoolExecutor(len(servers), thread_name_prefix="gem-mcp-discovery") as threads:
        answers = list(threads.map(listed, servers))
    found = [
        offer
        for server, offerings in zip(servers, answers, strict=True)
        for offer in [*_of_tools(server, offerings), *_of_extras(server, offerings, extras)]
    ]
    prefixes = [f"{offer.server.name}_" if len(servers) > 1 else "" for offer in found]
    names = public_names((prefix, offer.remote_name) for prefix, offer in zip(prefixes, found, strict=True))
    offers = [replace(offer, name=name) for name, offer in zip(names, found, strict=True)]
    return offers, [offerings.revision for offerings in answers]


def _visited(
    server: ServerConfig, values: Mapping[str, Any], policy: RetryPolicy, group: SessionGroup | None
) -> Offerings:
    """Start a server for the listing alone. An environment that it does not know has an empty folder as well."""
    visitor = ConnectionUser()
    with tempfile.TemporaryDirectory(prefix="gem-episode-", ignore_cleanup_errors=True) as folder:
        filled = for_episode(server, ChainMap(values, {"dir": folder, "seed": 0}))  # type: ignore[arg-type]
        try:
            return visitor.run(
                filled, copy.deepcopy(group) or SessionGroup(), lambda there: there.offerings(policy), policy.longest
            )
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


def _of_extras(server: ServerConfig, offerings: Offerings, extras: Extras) -> list[OfferedTool]:
    found: list[OfferedTool] = []

    def add(kind: Kind, about: str, properties: Mapping[str, Any], required: list[str]) -> None:
        schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        found.append(OfferedTool(server, kind, kind, about, schema, is_parallel=True, kind=kind))

    if extras.resources and offerings.has_resources:
        address = {"type": "string", "description": "The address of the resource."}
        add("list_resources", f"List the resources of {server.name}, with their addresses.", {}, [])
        add("read_resource", f"Read a resource of {server.name}.", {"uri": address}, ["uri"])
    if extras.prompts and offerings.has_prompts:
        name = {"type": "string", "description": "The name of the prompt."}
        arguments = {"type": "object", "additionalProperties": {"type": "string"}}
        add("list_prompts", f"List the prompts of {server.name}, with their arguments.", {}, [])
        add("get_prompt", f"Read a prompt of {server.name}.", {"name": name, "arguments": arguments}, ["name"])
    return found
