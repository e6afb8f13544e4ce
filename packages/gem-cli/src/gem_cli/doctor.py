"""``gem doctor``."""

from __future__ import annotations

import platform

import click

from gem_cli.output import console, json_option, print_json, progress

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
    with progress() as bar:
        task = bar.add_task("importing packages", total=len(packages), note="")
        findings = diagnose(lambda name: bar.update(task, advance=1, note=name))
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
        out = console()
        out.print(f"gem-core {gem.__version__}, Python {platform.python_version()}, {platform.platform()}")
        for name, version in packages:
            out.print(f"  {name} {version}", markup=False)
        for finding in findings:
            out.print(f"[red]✗[/red] [bold]{finding.subject}[/bold]")
            out.print(f"  {finding.problem}", markup=False)
            out.print(f"  → {finding.advice}", markup=False, style="cyan")
        if not findings:
            out.print("[green]✓[/green] nothing is wrong")
    if findings:
        raise click.exceptions.Exit(1)
