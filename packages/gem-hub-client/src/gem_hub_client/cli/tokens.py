"""``gem hub tokens``."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import click

from gem_hub_client.cli.output import json_option, print_json, show_table
from gem_hub_client.cli.registry_options import done, logged_in, registry_option, token_path
from gem_hub_client.errors import HubError
from gem_hub_client.sanitize import sanitize

__all__ = ["tokens_command"]


@click.group("tokens")
def tokens_command() -> None:
    """Make, list and revoke the tokens of your account at a hub.

    \b
    Examples:
      gem hub tokens new laptop --scope publish --package my-envs --days 30
      gem hub tokens list
      gem hub tokens revoke 7
    """


@tokens_command.command("new")
@click.argument("label")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(["publish", "manage", "read"]),
    default=("publish",),
    show_default=True,
    help="What it may do; several times for several.",
)
@click.option("--package", "packages", multiple=True, help="Only for this package; several times for several.")
@click.option("--days", type=click.IntRange(1, 3650), help="Days until it ends.  [default: it does not]")
@registry_option
@json_option
def new_command(
    label: str, scopes: tuple[str, ...], packages: tuple[str, ...], days: int | None, hub: str, as_json: bool
) -> None:
    """Make a token, and print it; it cannot be shown again."""
    body: dict[str, Any] = {"label": label, "scopes": [*scopes]}
    if packages:
        body["packages"] = [*packages]
    if days is not None:
        body["days"] = days
    answer = logged_in(hub).send("POST", token_path(), body)
    if not isinstance(answer, dict) or not isinstance(answer.get("token"), str):
        raise HubError(f"{hub}: does not answer as a registry does")
    done(sanitize(answer["token"]), answer, as_json)


@tokens_command.command("list")
@registry_option
@json_option
def list_command(hub: str, as_json: bool) -> None:
    """List the tokens of your account, without their secrets."""
    answer = logged_in(hub).get(token_path())
    tokens = answer["tokens"] if isinstance(answer, dict) else answer
    if as_json:
        print_json(tokens)
        return
    rows = [
        [
            str(one["id"]),
            sanitize(str(one["label"])),
            ", ".join(map(sanitize, one["scopes"])),
            "all" if one["packages"] is None else ", ".join(map(sanitize, one["packages"])),
            _day(one["expires"], "never"),
            _day(one["used"], "never"),
        ]
        for one in tokens
    ]
    show_table(["id", "label", "may", "packages", "ends", "last used"], rows)


@tokens_command.command("revoke")
@click.argument("number", type=click.IntRange(1))
@registry_option
@json_option
def revoke_command(number: int, hub: str, as_json: bool) -> None:
    """End a token at once."""
    done(f"Token {number} is revoked.", logged_in(hub).send("DELETE", token_path(number)), as_json)


def _day(seconds: Any, otherwise: str) -> str:
    if not isinstance(seconds, int):
        return otherwise
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d")
