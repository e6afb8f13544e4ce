"""``gem doctor``."""

from __future__ import annotations

import platform

import click

from gem_cli.output import json_option, print_json, print_prose
from gem_hub_client.cli.output import ProgressLine

__all__ = ["doctor_command"]


@click.command("doctor")
@json_option
def doctor_command(as_json: bool) -> None:
    """Check the installation.

    Finds broken packages, clashing ids and names, and clashing commands. Each package is imported in a process of its
    own, which may take a minute at most. The exit code is 1 if anything is wrong.

    \b
    Example:
      gem doctor --json
    """
    import gem
    from gem import discovery
    from gem_cli.diagnosis import diagnose

    groups = (discovery.ENVIRONMENT_GROUP, discovery.PLUGIN_GROUP)
    packages = sorted({(a.distribution, a.version) for group in groups for a in discovery.entry_points(group)})
    with ProgressLine("importing packages") as line:
        findings = diagnose(lambda name: line.advance(1, len(packages), name))
    if as_json:
        print_json(
            {
                "gem_core": gem.__version__,
                "python": platform.python_version(),
                "packages": [{"package": name, "version": version} for name, version in packages],
                "findings": [finding._asdict() for finding in findings],
            }
        )
    else:
        print_prose(f"gem-core {gem.__version__}, Python {platform.python_version()}, {platform.platform()}")
        for name, version in packages:
            print_prose(f"  {name} {version}")
        for finding in findings:
            print_prose("✗ ", style="red", end="")
            print_prose(finding.subject, style="bold")
            print_prose(f"  {finding.problem}")
            print_prose(f"  → {finding.advice}", style="cyan")
        if not findings:
            print_prose("✓ ", style="green", end="")
            print_prose("nothing is wrong")
    if findings:
        raise click.exceptions.Exit(1)
