"""The ``gem`` command itself: which commands there are, and how errors reach a person."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from gem.errors import GemError

__all__ = ["cli", "run"]

COMMANDS = {
    "list": "gem.cli.listing:list_command",
    "info": "gem.cli.info:info_command",
    "play": "gem.cli.play:play_command",
    "rollout": "gem.cli.rollout:rollout_command",
    "show": "gem.cli.show:show_command",
    "replay": "gem.cli.replay:replay_command",
    "check": "gem.cli.check:check_command",
    "new": "gem.cli.new:new_command",
    "hub": "gem.cli.hub:hub_command",
    "bench": "gem.cli.bench:bench_command",
    "doctor": "gem.cli.doctor:doctor_command",
}
"""The commands of gem-core. Plugins add theirs through the hook ``gem_commands``."""


class CommandTable(click.Group):
    """A group that imports a command only when it is used, and plugins only for what gem-core does not have."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        # "hub publish" is for the group hub.
        others = sorted(name for name in _plugin_commands() if name not in COMMANDS and " " not in name)
        return [*COMMANDS, *others]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from gem.entry_points import load

        target = COMMANDS.get(cmd_name) or _plugin_commands().get(cmd_name)
        if target is None:
            return None
        command = load(target)
        if not isinstance(command, click.Command):
            raise click.ClickException(
                f"the plugin behind 'gem {cmd_name}' offers {command!r}, which is no click command"
            )
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if name and not name.startswith("-") and self.get_command(ctx, name) is None:
            raise click.UsageError(_unknown_command(name, self.list_commands(ctx)), ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=CommandTable, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="gem-core", prog_name="gem")
def cli() -> None:
    """Environments for language-model agents: find them, play them, run agents in them.

    \b
    Examples:
      gem list                                  what is installed
      gem info game:Sudoku-v0-easy              what an environment is and shows
      gem play game:Minesweeper-v0-easy         play it yourself
      gem rollout game:Sudoku-v0-easy --agent reference --episodes 32 --out runs/sudoku.jsonl
      gem show runs/sudoku.jsonl 0              read a recorded episode
      gem new my-envs                           begin a package of environments
      gem check game:Sudoku-v0-easy             test an environment against every clause of the contract
    """


def run() -> None:
    """Run the command; every error becomes one line on stderr and an exit code, never a traceback.

    Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
    """
    import warnings

    from gem.errors import PluginWarning

    warnings.showwarning = _show_warning
    warnings.simplefilter("always", PluginWarning)
    try:
        code = cli.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except click.Abort:
        click.echo("Interrupted.", err=True)
        code = 130
    except BrokenPipeError:
        # The reader (``| head``) has gone; Python would complain once more when it flushes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    except (GemError, OSError) as error:
        click.echo(f"Error: {error}", err=True)
        code = 1
    sys.exit(code if isinstance(code, int) else 0)


def _plugin_commands() -> dict[str, Any]:
    from gem.plugins import names

    return names("gem_commands")


def _unknown_command(name: str, known: list[str]) -> str:
    from gem.arguments import nearest
    from gem.official import COMMANDS as PROVIDERS
    from gem.official import install_line

    if name in PROVIDERS:
        return f"'gem {name}' comes with {PROVIDERS[name]}; run: {install_line(PROVIDERS[name])}"
    hint = nearest(name, known)
    return f"there is no command {name!r}" + (f"; did you mean {hint!r}?" if hint else "")


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    click.secho(f"Warning: {message}", fg="yellow", err=True)
