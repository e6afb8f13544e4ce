"""``gem hub attest`` and ``gem hub attestations``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from gem.ids import normalized_distribution
from gem_hub.attestations import add_attestations, trusted_root
from gem_hub.attestations.provenance import bundles_of, read_attestations
from gem_hub.cli.options import by_option, hub_option
from gem_hub.errors import HubRefusal
from gem_hub.store import Store
from gem_hub_client.cli.output import json_option, note, print_json
from gem_hub_client.errors import HubError
from gem_hub_client.sanitize import sanitize

__all__ = ["attest_command", "attestations_command"]

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_root_option = click.option(
    "--trusted-root",
    "trusted_root_file",
    type=_FILE,
    metavar="FILE",
    help="Trusted root as sigstore writes it.  [default: $GEM_HUB_TRUSTED_ROOT, or that of its public instance]",
)


@click.command("attest")
@click.argument("name")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_FILE)
@click.option(
    "--repository", metavar="OWNER/NAME", default="", help="The repository on GitHub that must have attested."
)
@click.option("--workflow", metavar="FILE", default="", help="Its workflow, such as release.yml.")
@_root_option
@hub_option
@by_option
@json_option
def attest_command(
    name: str,
    files: tuple[Path, ...],
    repository: str,
    workflow: str,
    trusted_root_file: Path | None,
    store: Store,
    by: str,
    as_json: bool,
) -> None:
    """Add attestations to a published release (PEP 740), once they are verified, without a network.

    NAME is a package, or NAME==VERSION. A FILE is an attestation as `pypi-attestations sign` writes it, or provenance
    of another index. Without --repository, the workflow that the certificate names is shown as the publisher.

    \b
    Examples:
      gem hub attest my-envs==0.1.0 dist/my_envs-0.1.0-py3-none-any.whl.publish.attestation --hub /srv/hub
    """
    if bool(repository) != bool(workflow):
        raise click.UsageError("name --repository and --workflow, or neither")
    wanted, _, version = name.partition("==")
    package = store.existing(normalized_distribution(wanted))
    release = package.offered if not version else next((r for r in package.records if r.version == version), None)
    if release is None:
        raise HubRefusal(
            f"{name}: there is no such release; there are {', '.join(r.version for r in package.releases)}"
        )
    expected = {"kind": "GitHub", "repository": repository, "workflow": workflow} if repository else None
    attestations = [one for path in files for one in read_attestations(path.read_bytes(), path.name)]
    root = trusted_root_file or trusted_root()
    added, known = add_attestations(store, release, attestations, by, expected, root)
    publishers = [sentence(publisher) for publisher in known]
    values = {"name": release.name, "version": release.version, "sha256": release.sha256}
    if as_json:
        print_json({**values, "added": added, "publishers": publishers})
    else:
        done = "attested by" if added else "was attested before by"
        click.echo(f"{release.name} {release.version}: {done} {'; '.join(publishers)}")


@click.command("attestations")
@click.argument("name")
@_root_option
@click.option("--offline", is_flag=True, help="Ask no hub; use what was read before.")
@json_option
@click.pass_context
def attestations_command(
    ctx: click.Context, name: str, trusted_root_file: Path | None, offline: bool, as_json: bool
) -> None:
    """Verify the attestations of a package in your hubs, without asking anybody but the hub.

    NAME is a package, or NAME==VERSION. Each attestation must be signed by the publisher that the hub shows, be in the
    log of signatures, and be about exactly the published wheel. Exit code 1 if one is not, or if there is none.

    \b
    Examples:
      gem hub attestations my-envs
    """
    from gem_hub.attestations.verification import verify_attestation
    from gem_hub_client.config import hubs
    from gem_hub_client.pages import find_page

    wanted, _, version = name.partition("==")
    found = find_page(wanted, hubs(), offline=offline)
    record, page = found.record, found.page
    note(found.note)
    release = next((entry for entry in page["releases"] if entry["version"] == (version or record["version"])), None)
    if release is None:
        raise HubRefusal(f"{name}: there is no such release")
    try:
        bundles = bundles_of(release.get("provenance") or {"version": 1, "attestation_bundles": []})
    except (KeyError, TypeError) as error:
        raise HubError(f"{name}: the hub's provenance cannot be read: {error!r}") from error
    root = trusted_root_file or trusted_root()
    told = []
    for publisher, attestations in bundles:
        for attestation in attestations:
            problem = ""
            try:
                verify_attestation(attestation, release["filename"], release["sha256"], publisher, root)
            except HubRefusal as error:
                problem = str(error)
            told.append({"publisher": sentence(publisher), "verified": not problem, "problem": problem})
    if as_json:
        print_json({"name": record["name"], "version": release["version"], "attestations": told})
    for one in () if as_json else told:
        state = "verified" if one["verified"] else sanitize(f"NOT VERIFIED: {one['problem']}")
        click.echo(f"{release['filename']}: {one['publisher']}: {state}")
    if not told and not as_json:
        click.echo(f"{release['filename']}: has no attestations", err=True)
    if not told or not all(one["verified"] for one in told):
        ctx.exit(1)


def sentence(publisher: Mapping[str, Any]) -> str:
    """Return a publisher in a few words: ``GitHub alice/toys release.yml``."""
    words = [str(publisher.get("kind")), *(str(v) for k, v in publisher.items() if k != "kind" and v is not None)]
    return sanitize(" ".join(words))[:200]
