"""``gem hub audit``."""

from __future__ import annotations

import click

from gem_hub_client.cli.output import json_option, note, print_json, show_table
from gem_hub_client.config import hub_at, hubs

__all__ = ["audit_command"]


@click.command("audit")
@click.option("--hub", "address", metavar="URL", help="Compare with this hub alone.")
@click.option("--offline", is_flag=True, help="Ask no server; compare with what was loaded before.")
@json_option
@click.pass_context
def audit_command(ctx: click.Context, address: str | None, offline: bool, as_json: bool) -> None:
    """Compare the installed packages with the current data of the hubs.

    Yanked and quarantined releases make the exit code 1, and so does what a hub could not prove. Deprecated ones, files
    other than the hub's, packages that no hub has, and violations that the conformance kit found are shown. With
    --offline it compares with what was loaded before, and says how old that is.

    \b
    Examples:
      gem hub audit
      gem hub audit --offline --json
    """
    from gem_hub_client.audit import audit

    report = audit((hub_at(address),) if address is not None else hubs(), offline=offline)
    for text in report.notes:
        note(text)
    if as_json:
        print_json(report.to_dict())
        ctx.exit(0 if report.sound else 1)
    if not report.packages:
        click.echo("No package of environments is installed.")
    else:
        rows = [
            [package.name, package.version, package.hub or "none", kind, text]
            for package in report.packages
            for kind, text in [(f.kind, f.message) for f in package.findings] or [("in order", package.file)]
        ]
        show_table(["package", "version", "hub", "finding", ""], rows)
    for line in report.statuses:
        click.secho(line, dim=True)
    if not report.sound:
        click.secho(
            "Something that is installed was yanked or quarantined, or could not be compared.", fg="red", err=True
        )
        ctx.exit(1)
