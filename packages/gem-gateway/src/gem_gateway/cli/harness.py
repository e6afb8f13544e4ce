"""``gem harness``: the agent programs that can play, their installation, and a trial of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gem_cli.completers import complete_ids
from gem_cli.output import Table, json_option, print_json, print_prose
from gem_cli.terminal_text import printable

if TYPE_CHECKING:
    from gem_gateway.harnesses.boxes import HarnessBox

__all__ = ["harness_command"]


@click.group("harness", short_help="List, install and try out agent programs that play environments.")
def harness_command() -> None:
    """List, install and try out the agent programs that play with gem eval --harness NAME.

    \b
    Examples:
      gem harness list
      gem harness install qwen-code
      gem harness check qwen-code
    """


@harness_command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List the agent programs, and which are installed.

    \b
    Example:
      gem harness list --json
    """
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
@click.option("--uv", is_flag=True, help="Use uv in place of pip: quicker, and with settings of its own.")
@json_option
def install_command(name: str, uv: bool, as_json: bool) -> None:
    """Install an agent program with your own npm or pip into GEM's cache.

    \b
    Examples:
      gem harness install qwen-code
      gem harness install codex:0.171.0
      gem harness install openai-agents --uv
    """
    from gem_cli.progress import progress
    from gem_gateway.harnesses.installation import install
    from gem_gateway.harnesses.table import harness_of

    harness = harness_of(name)
    with progress() as bar:
        bar.add_task(f"installing {harness.name}", total=None, note="")
        folder = install(harness, with_uv=uv)
    if as_json:
        print_json({"name": harness.name, "version": harness.version, "folder": str(folder)})
    else:
        click.echo(f"{harness.name} {harness.version} is in {folder}")


@harness_command.command("check")
@click.argument("name")
@click.argument("env_ids", metavar="[ID]...", nargs=-1, shell_complete=complete_ids)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of each episode.")
@click.option(
    "--seconds", type=click.FloatRange(min=0, min_open=True), default=600.0, help="Most seconds of an episode."
)
@click.option(
    "--box",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Whether the program runs in a box, such as the container of a task; auto: where it can.",
)
@json_option
def check_command(
    name: str, env_ids: tuple[str, ...], seed: int, seconds: float, box: HarnessBox, as_json: bool
) -> None:
    """Have an agent program play with a model that knows the answers, to see whether it works here.

    The program really runs and makes every call; the model answers with the calls of the environment's reference
    policy. The exit code is 1 if an episode is not solved.

    \b
    Examples:
      gem harness check qwen-code
      gem harness check codex desk:Retail-v0 terminal:Ledger-v0
    """
    import asyncio

    from gem_gateway.harnesses.trial import try_out

    table, facts = Table(("environment", "result", "box", "turns", "model calls"), right=("turns", "model calls")), []
    for env_id in env_ids or ("game:GuessTheNumber-v0-easy",):
        trial = asyncio.run(try_out(name, env_id, seed=seed, seconds=seconds, box=box))
        turns = len(trial.record.transitions)
        table.add_row(env_id, trial.verdict, trial.box, str(turns), str(trial.model_calls))
        fact = {"id": env_id, "result": trial.verdict, "box": trial.box}
        facts.append({**fact, "turns": turns, "model_calls": trial.model_calls})
        if trial.record.failure is not None and not as_json:
            click.echo(printable(trial.record.failure.message), err=True)
    if as_json:
        print_json({"name": name, "episodes": facts})
    else:
        table.show()
    if any(one["result"] != "solved" for one in facts):
        click.get_current_context().exit(1)
