"""``gem hub downloads``."""

from __future__ import annotations

from collections import Counter

import click

from gem_hub_client.cli.output import json_option, print_json, show_table
from gem_hub_client.cli.registry_options import name_argument, package_path, registry_option
from gem_hub_client.registry.client import RegistryClient
from gem_hub_client.sanitize import sanitize_values

__all__ = ["downloads_command"]


@click.command("downloads")
@name_argument
@registry_option
@json_option
def downloads_command(name: str, hub: str, as_json: bool) -> None:
    """Show how many clients fetched the releases of a package, by day.

    A registry counts installers, each network once a day, and keeps nothing about them. It shows days that are over, in
    multiples of ten; smaller counts are left out.

    \b
    Examples:
      gem hub downloads my-envs --hub https://hub.example/
    """
    answer = sanitize_values(RegistryClient(hub).get(f"{package_path(name)}/downloads"))
    if as_json:
        print_json(answer)
        return
    if not answer["counted"]:
        click.echo(f"{hub} counts no downloads.")
        return
    show_table(
        ["day", "version", "downloads"],
        [[one["day"], one["version"], f"{one['downloads']:,}"] for one in answer["days"]],
    )
    sums: Counter[str] = Counter()
    for one in answer["days"]:
        sums[one["version"]] += one["downloads"]
    told = ", ".join(f"{version}: {amount:,}" for version, amount in sums.most_common()) or "none that is shown"
    click.secho(f"at least, in days with {answer['grain']} or more: {told}", dim=True)
