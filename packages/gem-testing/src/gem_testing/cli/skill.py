"""``gem skill``."""

from __future__ import annotations

from pathlib import Path

import click

from gem_cli.command_table import CommandTable
from gem_cli.output import json_option, print_json

__all__ = ["install_command", "skill_command"]


COMMANDS = {"install": "gem_testing.cli.skill:install_command"}


class SkillCommands(CommandTable):
    """The commands of ``gem skill``; ``serve`` comes with gem-tools."""

    table = COMMANDS
    prefix = "skill "


@click.group("skill", cls=SkillCommands, invoke_without_command=True)
@click.option("--agents", is_flag=True, help="Print the section of AGENTS.md instead.")
@json_option
@click.pass_context
def skill_command(context: click.Context, agents: bool, as_json: bool) -> None:
    """Teach a coding agent to author, check and diagnose environments.

    Without a command, print the skill: a SKILL.md, whose commands are run by GEM's tests.

    \b
    Examples:
      gem skill                                 read it
      gem skill install                         write it where coding agents look
      gem skill serve                           GEM's commands for an agent, as tools of an MCP server
    """
    if context.invoked_subcommand is not None:
        return
    from gem_testing.skill.installing import AGENTS_FILE, SKILL_FILE, section_text, skill_text

    name, text = (AGENTS_FILE, section_text()) if agents else (SKILL_FILE, skill_text())
    if as_json:
        print_json({"file": name, "text": text})
    else:
        click.echo(text, nl=False)


@click.command("install")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path),
    default=Path(),
    metavar="DIR",
    help="The project.  [default: the current folder]",
)
@json_option
def install_command(folder: Path, as_json: bool) -> None:
    """Write the skill into a project, where coding agents look for it.

    Writes .claude/skills/gem/SKILL.md, and a section between two marked lines into AGENTS.md. A later version replaces
    what this one wrote. Text of yours is never replaced, nor a text of GEM's that you edited.

    \b
    Examples:
      gem skill install
      gem skill install --dir ~/my-envs
    """
    from gem_testing.skill.installing import install

    done = install(folder)
    if as_json:
        print_json({"folder": str(folder.resolve()), "files": done})
        return
    for name, what in done.items():
        click.echo(f"{what:<9} {name}")
