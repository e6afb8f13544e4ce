"""``gem hub sbom``."""

from __future__ import annotations

from pathlib import Path

import click

from gem_hub_client.cli.output import note
from gem_hub_client.cli.read_options import hub_option, offline_option
from gem_hub_client.config import Hub, hubs
from gem_hub_client.errors import HubError
from gem_hub_client.pages import find_page
from gem_hub_client.sanitize import sanitize_values

__all__ = ["sbom_command"]


@click.command("sbom")
@click.argument("name", required=False, metavar="NAME[==VERSION]")
@click.option(
    "--lock",
    "lock_path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Of all packages in a lock file (pylock.toml).",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="The file to write.")
@hub_option
@offline_option
@click.option("--json", "as_json", is_flag=True, help="The bill is JSON in any case.")
def sbom_command(
    name: str | None, lock_path: Path | None, output: Path | None, address: str | None, offline: bool, as_json: bool
) -> None:
    """Write a bill of materials (CycloneDX 1.6, JSON) of a release or of a lock file.

    A release's bill has its file, digest, licence and what it requires, without versions; a lock file's has the version
    and digest of each package, and the licences that hubs state. Needs: pip install 'gem-hub-client[sbom]'

    \b
    Examples:
      gem hub sbom gem-envs-games==0.1.0
      gem hub sbom --lock pylock.toml -o bom.cdx.json
    """
    from gem_hub_client.lock_file import read_lock_file
    from gem_hub_client.sbom import lock_bill

    if (name is None) == (lock_path is None):
        raise click.UsageError("name a package, or a lock file with --lock FILE")
    chosen = hubs(address)
    if lock_path is not None:
        bill = lock_bill(lock_path, read_lock_file(lock_path), chosen, offline=offline)
    else:
        bill = _release_bill(str(name), chosen, offline)
    if output is None:
        click.echo(bill)
        return
    try:
        output.write_text(f"{bill}\n", encoding="utf-8")
    except OSError as error:
        raise HubError(f"{output}: cannot be written: {error.strerror or error}") from error


def _release_bill(text: str, chosen: tuple[Hub, ...], offline: bool) -> str:
    from gem_hub_client.releases import release_at, releases_of
    from gem_hub_client.sbom import release_bill
    from gem_hub_client.trust.records import check_recorded

    name, _, version = text.partition("==")
    found = find_page(name.strip(), chosen, offline=offline)
    note(found.note)
    release = release_at(releases_of(found.hub, found.page), version.strip() or str(found.record["version"]))
    if not offline:
        check_recorded([release])
    entry = next(entry for entry in found.page["releases"] if entry["version"] == str(release.version))
    return release_bill(release, sanitize_values(entry))
