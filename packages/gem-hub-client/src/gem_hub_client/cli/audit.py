"""``gem hub audit``."""

from __future__ import annotations

from pathlib import Path

import click

from gem_hub_client.cli.output import json_option, note, print_json, several, show_table
from gem_hub_client.cli.read_options import hub_option, offline_option
from gem_hub_client.config import hubs
from gem_hub_client.errors import HubError

__all__ = ["audit_command"]


@click.command("audit")
@click.option(
    "--lock",
    "lock_path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Compare the packages of a lock file (pylock.toml), installed or not.",
)
@click.option(
    "--allow-licence",
    "allowed",
    multiple=True,
    metavar="SPDX",
    help="A licence that a locked hub package may have; repeatable. Without it, any may.",
)
@hub_option
@offline_option
@json_option
@click.pass_context
def audit_command(
    ctx: click.Context,
    lock_path: Path | None,
    allowed: tuple[str, ...],
    address: str | None,
    offline: bool,
    as_json: bool,
) -> None:
    """Compare the installed packages, or those of a lock file, with the current data of the hubs.

    Yanked and quarantined releases make the exit code 1, and so does what a hub could not prove. Deprecated ones, files
    other than the hub's, packages that no hub has, and violations that the conformance kit found are shown. With
    --offline it compares with what was loaded before, and says how old that is.

    In a lock file, another file than the hub's makes the exit code 1 as well, and so does a licence that is not among
    those of --allow-licence; newer releases are shown. The exit code is 2 if the lock file cannot be read.

    \b
    Examples:
      gem hub audit
      gem hub audit --offline --json
      gem hub audit --lock pylock.toml --allow-licence MIT --allow-licence Apache-2.0
    """
    from gem_hub_client.audit import audit
    from gem_hub_client.licences import checked_licence
    from gem_hub_client.lock_audit import audit_lock
    from gem_hub_client.lock_file import read_lock_file

    if allowed and lock_path is None:
        raise click.UsageError("--allow-licence goes with --lock FILE", ctx)
    chosen = hubs(address)
    if lock_path is None:
        report = audit(chosen, offline=offline)
    else:
        try:
            locked, licences = read_lock_file(lock_path), [checked_licence(text) for text in allowed]
        except HubError as error:
            raise click.UsageError(str(error), ctx) from error
        report = audit_lock(locked, lock_path, chosen, offline=offline, allowed=licences)
    for text in report.notes:
        note(text)
    if as_json:
        print_json(report.to_dict())
        ctx.exit(0 if report.sound else 1)
    if not report.packages:
        click.echo("No package of environments is installed." if lock_path is None else "No hub has a locked package.")
    else:
        rows = [
            [package.name, package.version, package.licence, package.hub or "none", kind, text]
            for package in report.packages
            for kind, text in [(f.kind, f.message) for f in package.findings] or [("in order", package.file)]
        ]
        show_table(["package", "version", "licence", "hub", "finding", ""], rows)
    if report.elsewhere:
        count = len(report.elsewhere)
        click.echo(f"not compared: {count} packages that no hub has ({several(report.elsewhere, 8)})")
    for line in report.statuses:
        click.secho(line, dim=True)
    if not report.sound:
        subject = "installed" if lock_path is None else "locked"
        faults = "was yanked or quarantined, or could not be compared"
        click.secho(f"Something that is {subject} {faults}; see above.", fg="red", err=True)
        ctx.exit(1)
