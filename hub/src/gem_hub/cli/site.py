"""``gem hub site``."""

from __future__ import annotations

import click

from gem.counts import counted
from gem_hub.cli.options import hub_option
from gem_hub.store import Store
from gem_hub_client.cli.output import ProgressLine, json_option, print_json

__all__ = ["site_command"]


@click.command("site")
@click.option("--check", is_flag=True, help="Change nothing; exit 1 and list what differs, if anything does.")
@hub_option
@json_option
def site_command(check: bool, store: Store, as_json: bool) -> None:
    """Write the catalogue's web pages into a hub.

    They are index.html, a page for each package and tag, and what the browser needs to search without a server. The
    same packages always give the same bytes; only files that differ are written.

    \b
    Examples:
      gem hub site --hub /srv/hub
      gem hub site --check --hub /srv/hub
    """
    from gem_hub.site.write import write_site

    total = len(store.packages())
    with ProgressLine("rendering packages") as line:
        differing = write_site(store.truth, check, lambda done: line.update(done, total))
    if as_json:
        print_json({"check": check, "differing": differing})
    else:
        for path in differing:
            click.echo(f"{'differs' if check else 'written'}: {path}")
        changed = f"{counted(len(differing), 'file')} {'differ' if check else 'written'}"
        verdict = changed if differing else "every page is up to date"
        click.echo(f"{counted(len(store.packages()), 'package')}; {verdict}", err=True)
    if check and differing:
        click.get_current_context().exit(1)
