"""``gem hub verify``."""

from __future__ import annotations

import click

from gem_hub_client.cli.output import ProgressLine, json_option, note, print_json
from gem_hub_client.config import hubs

__all__ = ["verify_command"]


@click.command("verify")
@click.argument("address", required=False, metavar="[URL|DIR]")
@json_option
@click.pass_context
def verify_command(ctx: click.Context, address: str | None, as_json: bool) -> None:
    """Read everything that a hub serves, and check it against itself.

    The signatures and the log of a hub that has keys, root.json, the catalogue, each package's page, what installers
    see of it, each wheel and the metadata beside it: sizes, digests and contents must agree, a quarantined package must
    offer no file, and no address may lead out of the hub unseen. Without an address, the first of your hubs is checked.

    \b
    Examples:
      gem hub verify
      gem hub verify /srv/hub
      gem hub verify https://hub.example/gem --json
    """
    from gem_hub_client.verify import verify

    hub = hubs(address)[0]
    with ProgressLine(hub.name) as line:
        found = verify(hub, line.update)
    for text in found.notes:
        note(text)
    if as_json:
        print_json(
            {
                "hub": hub.name,
                "serial": found.serial,
                "created": found.created,
                "packages": found.packages,
                "files": found.files,
                "size": found.size,
                "key": found.key,
                "problems": found.problems,
                "notes": found.notes,
            }
        )
    elif not found.problems:
        signed = f"signed with {found.key}" if found.key else "not signed"
        state = f"serial {found.serial}, {found.packages:,} packages, {signed}"
        click.echo(f"{hub.name}: {found.files:,} files, {found.size / 1e6:,.1f} MB, all in order ({state})")
    else:
        more = len(found.problems) - 1
        click.echo(f"Error: {found.problems[0]}", err=True)
        if more:
            click.echo(f"… and {more:,} more; --json lists all", err=True)
    if found.problems:
        ctx.exit(1)
