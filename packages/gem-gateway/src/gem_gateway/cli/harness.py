"""``gem harness``: the agent programs that can play, and their installation."""

from __future__ import annotations

import click

from gem_cli.output import Table, json_option, print_json, print_prose

__all__ = ["harness_command"]


@click.group("harness", short_help="List and install agent programs that play environments.")
def harness_command() -> None:
    """List and install the agent programs that play with ``gem eval --harness NAME``."""


@harness_command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the agent programs, and which are installed."""
    from gem_gateway.harnesses.installation import folder_of, is_installed
    from gem_gateway.harnesses.table import harnesses

    known = list(harnesses().values())
    if as_json:
        facts = [
            {
                "name": one.name,
                "version": one.version,
                "dialect": one.dialect,
                "tools": one.tools,
                "installed": is_installed(one),
                "folder": str(folder_of(one)),
            }
            for one in known
        ]
        print_json({"harnesses": facts})
        return
    table = Table(("harness", "version", "from", "dialect", "plays by", "installed"))
    for one in known:
        there = "yes" if is_installed(one) else "no"
        table.add_row(one.name, one.version or "newest", str(one.installer), one.dialect, one.tools, there)
    table.show()
    print_prose("Any other program: --harness command:'PROGRAM {task_file}'.", style="dim")


@harness_command.command("install")
@click.argument("name")
@json_option
def install_command(name: str, as_json: bool) -> None:
    """Install an agent program with your own npm or pip into GEM's cache.

    \b
    Examples:
      gem harness install qwen-code
      gem harness install codex:0.171.0
    """
    from gem_cli.progress import progress
    from gem_gateway.harnesses.installation import install
    from gem_gateway.harnesses.table import harness_of

    harness = harness_of(name)
    with progress() as bar:
        bar.add_task(f"installing {harness.name}", total=None, note="")
        folder = install(harness)
    if as_json:
        print_json({"name": harness.name, "version": harness.version, "folder": str(folder)})
    else:
        click.echo(f"{harness.name} {harness.version} is in {folder}")
