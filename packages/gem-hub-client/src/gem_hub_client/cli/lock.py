"""``gem hub lock``."""

from __future__ import annotations

from pathlib import Path

import click

from gem_hub_client.cli.output import json_option, note, print_json
from gem_hub_client.cli.read_options import hub_option
from gem_hub_client.config import hubs

__all__ = ["lock_command"]


@click.command("lock")
@click.argument("names", nargs=-1, required=True, metavar="NAME[==VERSION]...")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("pylock.toml"),
    show_default=True,
    help="The file to write.",
)
@hub_option
@json_option
def lock_command(names: tuple[str, ...], output: Path, address: str | None, as_json: bool) -> None:
    """Write a lock file of packages and all that they need, with digests.

    The file is a pylock.toml (PEP 751): pip and uv install exactly what it lists, today and in a year. Hub packages
    are pinned by address and sha256; your pip (25.1 or newer) or uv finds the rest on its own index. It fits this
    Python and system.

    \b
    Examples:
      gem hub lock gem-envs-games
      gem hub lock gem-envs-games==0.1.0 my-envs -o pylock.training.toml
    """
    from gem_hub_client.installer import find_locker
    from gem_hub_client.lock import check_name, lock, lockable

    check_name(output)
    resolution = lockable(names, hubs(address))
    for text in (text for choice in resolution.choices for text in choice.warnings):
        note(text)
    locked = lock(resolution, find_locker(), output)
    if as_json:
        releases = [choice.release for choice in locked.choices]
        print_json(
            {
                "path": str(locked.path),
                "packages": locked.packages,
                "from_hubs": [
                    {"name": r.name, "version": str(r.version), "hub": r.hub.name, "url": r.url, "sha256": r.sha256}
                    for r in releases
                ],
            }
        )
        return
    for choice in locked.choices:
        click.echo(f"{choice.release}  {choice.release.hub.name}  sha256 {choice.release.sha256}")
    others = locked.packages - len(locked.choices)
    click.echo(f"{locked.path}: {len(locked.choices)} packages of hubs, {others} of the installer's index")
    click.secho(f"Install it: uv pip install -r {locked.path}, or the same with a pip that reads such files", dim=True)
