"""``gem hub install``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from gem_hub_client.cli.output import json_option, note, print_json, several, show_table
from gem_hub_client.cli.read_options import hub_option
from gem_hub_client.config import hubs
from gem_hub_client.errors import HubError

if TYPE_CHECKING:
    from gem_hub_client.install import Installation, Item

__all__ = ["install_command"]

_DONE = {"install": "installed", "change": "installed", "reinstall": "installed again", "keep": "already there"}


@click.command("install")
@click.argument("names", nargs=-1, required=True, metavar="NAME[==VERSION]...")
@hub_option
@click.option("--dry-run", is_flag=True, help="Show the plan and change nothing.")
@json_option
def install_command(names: tuple[str, ...], address: str | None, dry_run: bool, as_json: bool) -> None:
    """Install packages: exactly the files that a hub lists, checked by their sha256.

    It chooses the newest release that was not yanked, is no pre-release, and fits this Python and this gem-core. Your
    own pip or uv installs it. Hub packages that it needs come from the hub in the same way; all other dependencies come
    from your installer's own index.

    \b
    Examples:
      gem hub install gem-envs-games
      gem hub install gem-envs-games==0.1.0 --dry-run
      gem hub install my-envs --hub https://hub.example/gem
    """
    from gem_hub_client.install import missing_environments, plan
    from gem_hub_client.installer import find_installer

    chosen = hubs(address)
    installation = plan(names, chosen)
    installer = find_installer() if installation.pending else None
    for text in (*installation.notes, *(text for item in installation.items for text in item.warnings)):
        note(text)
    if not as_json:
        _show(installation, installer.name if installer is not None else "")
    missing: list[str] = []
    if installer is not None and dry_run:
        installation.check()
    elif installer is not None:
        installation.run(installer)
    if not dry_run:
        missing = missing_environments(installation.items)
    if as_json:
        print_json(_as_json(installation, installer.name if installer is not None else None, dry_run, missing))
    elif dry_run:
        click.echo("Nothing was changed (--dry-run).")
    else:
        _tell(installation)
    if missing:
        raise HubError(f"installed, but {several(missing, 5)} cannot be found; 'gem doctor' says what is wrong")


def _show(installation: Installation, installer: str) -> None:
    rows = [
        [item.release.name, _change(item), f"{_origin(item)}{_because(item.choice.wanted_by)}"]
        for item in installation.items
    ]
    rows += [[other, "", f"{installer or 'the installer'}'s own index"] for other in installation.others]
    show_table(["package", "version", "from"], rows)


def _change(item: Item) -> str:
    version = str(item.release.version)
    if item.action == "change" and item.before is not None:
        return f"{item.before.version} → {version}"
    return {"keep": f"{version} (already there)", "reinstall": f"{version} (another file)"}.get(item.action, version)


def _origin(item: Item) -> str:
    release = item.release
    if not release.url:
        return release.hub.name
    host = urlsplit(release.url).netloc
    elsewhere = f" (file from {host})" if host and host != urlsplit(release.hub.location).netloc else ""
    return f"{release.hub.name}{elsewhere}, {release.size / 1000:,.1f} kB, sha256 {release.sha256[:12]}…"


def _because(wanted_by: tuple[str, ...]) -> str:
    return f", for {several(wanted_by, 3)}" if wanted_by else ""


def _tell(installation: Installation) -> None:
    done = [f"{item.release} {_DONE[item.action]}" for item in installation.items]
    click.secho("; ".join(done), bold=True)
    ids = [
        identity for item in installation.items if not item.choice.wanted_by for identity in item.release.environments
    ]
    if ids:
        click.echo(f"Try: gem play {ids[0]}")
        click.secho(f"{len(ids)} environments and variants: gem list {ids[0].partition(':')[0]}", dim=True)


def _as_json(installation: Installation, installer: str | None, dry_run: bool, missing: list[str]) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "installer": installer,
        "packages": [
            {
                "name": item.release.name,
                "version": str(item.release.version),
                "action": item.action,
                "before": item.before.version if item.before is not None else None,
                "hub": item.release.hub.name,
                "url": item.release.url,
                "sha256": item.release.sha256,
                "size": item.release.size,
                "wanted_by": list(item.choice.wanted_by),
                "warnings": list(item.warnings),
                "environments": list(item.release.environments),
            }
            for item in installation.items
        ],
        "others": list(installation.others),
        "notes": list(installation.notes),
        "missing": missing,
    }
