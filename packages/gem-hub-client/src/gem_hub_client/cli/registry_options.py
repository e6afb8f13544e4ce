"""Options and helpers of the commands that speak with a registry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import quote

import click

from gem_hub_client.errors import HubError
from gem_hub_client.registry.addresses import default_registry, registry_address
from gem_hub_client.registry.client import RegistryClient
from gem_hub_client.registry.credentials import login_of

__all__ = ["done", "logged_in", "name_argument", "package_path", "registry_option", "token_path"]

F = TypeVar("F", bound=Callable[..., Any])


def registry_option(command: F) -> F:
    """Add ``--hub URL``, passed on as ``hub``: the address of a registry in its one spelling."""
    return click.option(
        "--hub", metavar="URL", callback=_address, help="Address of the hub.  [default: the hub in use]"
    )(command)


def name_argument(command: F) -> F:
    """Add the argument NAME, a package in any spelling that installers accept."""
    return click.argument("name", callback=lambda ctx, parameter, value: _normalized(value))(command)


def logged_in(hub: str) -> RegistryClient:
    """Return the client of a registry with the stored token.

    Raises:
        HubError: if there is none.
    """
    login = login_of(hub)
    if login is None:
        raise HubError(f"you are not logged in at {hub}; run: gem hub login --hub {hub}")
    return RegistryClient(hub, login.token)


def package_path(name: str, *parts: str) -> str:
    """Return the path of a package in a registry's API."""
    return "/".join(["api/v1/packages", *(quote(part, safe="") for part in (name, *parts))])


def token_path(number: int | None = None) -> str:
    """Return the path of the tokens in a registry's API, or of one of them."""
    return "api/v1/tokens" if number is None else f"api/v1/tokens/{number}"


def done(text: str, answer: Any, as_json: bool) -> None:
    """Print the result of a change."""
    from gem_hub_client.cli.output import print_json

    if as_json:
        print_json({} if answer is None else answer)
    else:
        click.echo(text)


def _address(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str:
    if value is not None:
        return registry_address(value)
    address = default_registry()
    if address is None:
        raise click.UsageError(
            "no hub over HTTP is in use; name one with --hub https://…, or run: gem hub use https://…"
        )
    return address


def _normalized(name: str) -> str:
    from packaging.utils import InvalidName, canonicalize_name

    try:
        return canonicalize_name(name, validate=True)
    except InvalidName as error:
        raise click.UsageError(f"{name!r} is no name of a package") from error
