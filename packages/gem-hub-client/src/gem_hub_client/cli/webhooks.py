"""``gem hub webhooks``."""

from __future__ import annotations

import click

from gem_hub_client.cli.output import json_option, print_json, show_table
from gem_hub_client.cli.registry_options import done, logged_in, name_argument, package_path, registry_option
from gem_hub_client.sanitize import sanitize, sanitize_values

__all__ = ["webhooks_command"]


@click.group("webhooks")
def webhooks_command() -> None:
    """Have a server told of publications, yanks and quarantines of a package.

    \b
    Examples:
      gem hub webhooks add my-envs https://ci.example/hook --hub https://hub.example/
      gem hub webhooks remove my-envs 3 --hub https://hub.example/
    """


@webhooks_command.command("add")
@name_argument
@click.argument("url")
@registry_option
@json_option
def add_command(name: str, url: str, hub: str, as_json: bool) -> None:
    """Add a webhook, and print the secret that signs its messages; it cannot be shown again."""
    answer = logged_in(hub).send("POST", package_path(name, "webhooks"), {"url": url})
    done(sanitize(str(answer["secret"])), answer, as_json)


@webhooks_command.command("list")
@name_argument
@registry_option
@json_option
def list_command(name: str, hub: str, as_json: bool) -> None:
    """List the webhooks of a package, and what became of their last messages."""
    found = sanitize_values(logged_in(hub).get(package_path(name, "webhooks")))["webhooks"]
    if as_json:
        print_json(found)
        return
    rows = [[str(one["id"]), one["url"], "on" if one["enabled"] else "switched off", one["message"]] for one in found]
    show_table(["id", "address", "", "last fault"], rows)


@webhooks_command.command("remove")
@name_argument
@click.argument("number", type=click.IntRange(1))
@registry_option
@json_option
def remove_command(name: str, number: int, hub: str, as_json: bool) -> None:
    """Remove a webhook."""
    answer = logged_in(hub).send("DELETE", package_path(name, "webhooks", str(number)))
    done(f"Webhook {number} is removed.", answer, as_json)
