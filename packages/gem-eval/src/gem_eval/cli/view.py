"""``gem view``."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gem_eval.viewer.viewed_run import ViewedRun

__all__ = ["view_command"]


@click.command("view")
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False))
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the server.  [default: any free one]")
@click.option("--open/--no-open", "opens", default=None, help="Open the page in a browser.  [default: on a desktop]")
@click.option("--export", "target", type=click.Path(dir_okay=False), help="Write the page to this file instead.")
@click.option(
    "--episodes",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Most episodes of each run whose conversation is exported; figures are of all.",
)
@click.option(
    "--filter",
    "filters",
    metavar="NAME=VALUE",
    multiple=True,
    help="Export the conversations of such episodes alone: outcome=unsolved, env=…, return=0..0.5, text=…",
)
def view_command(
    folders: tuple[str, ...],
    port: int,
    opens: bool | None,
    target: str | None,
    episodes: int,
    filters: tuple[str, ...],
) -> None:
    """Show runs as a page in the browser: episodes, plots, conversations.

    The page is served on this machine for as long as the command runs, under an address that only this command
    prints. It shows new episodes while a run goes on. With two runs, it also compares them seed by seed.

    \b
    Examples:
      gem view runs/sudoku
      gem view runs/before runs/after --no-open --port 8000
      gem view runs/sudoku --export page.html --episodes 50 --filter outcome=unsolved
    """
    from gem_eval.viewer.viewed_run import ViewedRun
    from gem_rollout.garbage import rare_collections

    if target is not None:
        _export(folders, target, episodes, filters)
        return
    if filters:
        raise click.UsageError("--filter belongs to --export; the page itself filters as one looks")
    runs = [ViewedRun(folder) for folder in folders]
    with rare_collections(), suppress(KeyboardInterrupt):  # an interrupt is the normal end
        asyncio.run(_serve(runs, port, _has_desktop() if opens is None else opens))


def _export(folders: tuple[str, ...], target: str, episodes: int, filters: tuple[str, ...]) -> None:
    from pathlib import Path

    from gem_eval.runs import RunFolder
    from gem_eval.viewer.episode_filter import parse_conditions
    from gem_eval.viewer.export import export_page

    page = export_page([RunFolder(folder) for folder in folders], parse_conditions(filters), episodes)
    try:
        Path(target).write_bytes(page.content)
    except OSError as error:
        raise click.ClickException(f"{target} cannot be written: {error.strerror or error}") from error
    size = len(page.content) / 1e6
    part = "" if page.conversations == page.episodes else f", conversations of {page.conversations:,}"
    click.echo(f"{target}: {page.episodes:,} episode{'s' * (page.episodes != 1)}{part}, {size:.1f} MB")


async def _serve(runs: list[ViewedRun], port: int, opens: bool) -> None:
    from gem_eval.viewer.server import serve_runs

    try:
        async with serve_runs(runs, port) as address:
            click.echo(f"{address}\nCtrl-C ends it.")
            sys.stdout.flush()
            if opens:
                import webbrowser

                await asyncio.to_thread(webbrowser.open, address)
            await asyncio.Event().wait()
    except OSError as error:
        raise click.ClickException(f"cannot listen on port {port}: {error.strerror or error}") from error


def _has_desktop() -> bool:
    """Whether a browser with windows can be expected; elsewhere one for terminals would take over the terminal."""
    if not sys.stdout.isatty():
        return False
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
