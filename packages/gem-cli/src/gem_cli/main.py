"""The ``gem`` command itself: its commands, and how errors reach a person."""

from __future__ import annotations

import os
import signal
import sys
from io import TextIOWrapper
from typing import Any

import click

from gem.errors import GemError
from gem_cli.command_table import CommandTable

__all__ = ["cli", "run"]

COMMANDS = {
    "list": "gem_cli.listing:list_command",
    "info": "gem_cli.info:info_command",
    "play": "gem_cli.play:play_command",
    "hub": "gem_hub_client.cli.group:hub_command",
    "guide": "gem_cli.guide:guide_command",
    "completion": "gem_cli.completion:completion_command",
    "doctor": "gem_cli.doctor:doctor_command",
}
"""The commands that every installation has. Plugins add theirs through the hook ``gem_commands``."""


SECTIONS = {
    "Play": ("list", "info", "play", "rollout", "show", "replay"),
    "Evaluate": (
        *("eval", "runs", "run", "results", "compare", "ratings", "view", "report", "rescore", "validate"),
        *("harness", "gateway", "fake-model"),
    ),
    "Train": ("train", "data", "trajectories", "check-template"),
    "Author": ("new", "check", "bench", "skill", "terminal", "swe"),
    "Share": ("hub",),
    "Operate": ("serve", "mcp-serve", "search-server", "doctor", "guide", "completion"),
}
"""What somebody is about → the commands for it, as the help lists them; those of other plugins follow."""


class GemCommands(CommandTable):
    """The commands of ``gem``."""

    table = COMMANDS

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        known = dict.fromkeys(self.list_commands(ctx))
        placed = {name for names in SECTIONS.values() for name in names}
        sections = {**SECTIONS, "Of further plugins": tuple(name for name in known if name not in placed)}
        width = max(map(len, known))
        for title, names in sections.items():
            rows = [(name.ljust(width), self._summary(ctx, name)) for name in names if name in known]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


@click.group(cls=GemCommands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="gem-core", prog_name="gem")
def cli() -> None:
    """Environments for language-model agents: find them, play them, run agents in them.

    \b
    Examples:
      gem list                                  show the installed environments
      gem info game:Sudoku-v0-easy              describe an environment
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

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a code page or locale that lacks a character of the output
            stream.reconfigure(errors="backslashreplace")
    warnings.showwarning = _show_warning
    warnings.simplefilter("always", PluginWarning)
    warnings.simplefilter("ignore", SyntaxWarning)  # of a library's source, which Python compiles when it first loads
    if "_GEM_COMPLETE" in os.environ:
        from gem_cli.completion import prepare_completion

        prepare_completion()
    try:
        # As https://no-color.org and terminfo's dumb terminal ask for; otherwise click decides.
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        code = cli.main(standalone_mode=False, color=False if plain else None)
    except click.ClickException as error:
        vars(error)["message"] = _in_terminal(error.message)
        error.show()
        code = error.exit_code
    except click.Abort:
        # A second Ctrl-C ends the process at once, and not in the traceback of what it is closing.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        click.echo("Interrupted.", err=True)
        code = 130
    except BrokenPipeError:
        # The reader (``| head``) has gone; Python would report this again when it flushes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    except GemError as error:
        click.echo(_in_terminal(f"Error: {error}"), err=True)
        code = 1
    except OSError as error:
        named = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else error
        click.echo(_in_terminal(f"Error: {named}"), err=True)
        code = 1
    sys.exit(code if isinstance(code, int) else 0)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    click.secho(_in_terminal(f"Warning: {message}"), fg="yellow", err=True)


def _in_terminal(sentence: str) -> str:
    """Return a sentence for stderr; a terminal would break its words."""
    if not sys.stderr.isatty():
        return sentence
    import shutil

    from gem_cli.terminal_text import wrapped

    return wrapped(sentence, shutil.get_terminal_size().columns - 1)
