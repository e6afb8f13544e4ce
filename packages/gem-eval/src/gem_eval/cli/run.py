"""``gem run``: what is asked of a run while it is being played, and shards put together."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gem.counts import counted

if TYPE_CHECKING:
    from gem_eval.runs.control import RunControl

__all__ = ["run_command"]

_FOLDER = click.Path(exists=True, file_okay=False)


@click.group("run")
def run_command() -> None:
    """Control a run while it is being played, from another terminal; join the shards of one.

    The process that plays it looks about once a second. Nothing of this is kept for its next resume.

    \b
    Examples:
      gem runs --live                           which there are
      gem run pause runs/guess                  begin no more episodes
      gem run resume runs/guess                 go on
      gem run retune runs/guess --concurrency 8
      gem run requeue runs/guess                play the failed episodes anew
      gem run stop runs/guess                   end it; gem eval --resume plays the rest
      gem run join runs/all runs/suite/*        make one run of those of gem eval --shard
    """


@run_command.command("pause")
@click.argument("folder", type=_FOLDER)
def pause_command(folder: str) -> None:
    """Begin no more episodes; those that are being played go on."""
    _ask(folder, lambda control: control.changed(paused=True), "pauses: episodes that are being played go on")


@run_command.command("resume")
@click.argument("folder", type=_FOLDER)
def resume_command(folder: str) -> None:
    """Go on after a pause. A run whose process has ended is resumed by 'gem eval --resume'."""
    _ask(folder, lambda control: control.changed(paused=False), "goes on")


@run_command.command("stop")
@click.argument("folder", type=_FOLDER)
def stop_command(folder: str) -> None:
    """End it. Finished episodes are kept; 'gem eval --resume' plays the others."""
    _ask(folder, lambda control: control.changed(stop=True), f"ends; gem eval --resume {folder} plays the rest")


@run_command.command("retune")
@click.argument("folder", type=_FOLDER)
@click.option(
    "--concurrency", "-c", type=click.IntRange(min=1), help="Most episodes at a time, at most as many as it began with."
)
@click.option("--retries", type=click.IntRange(min=0), help="How often an episode is played anew after a failure.")
def retune_command(folder: str, concurrency: int | None, retries: int | None) -> None:
    """Change how many episodes play at a time, and how often one is repeated."""
    changes = {"concurrency": concurrency, "retries": retries}
    given: dict[str, Any] = {name: value for name, value in changes.items() if value is not None}
    if not given:
        raise click.UsageError("say what to change: --concurrency, --retries")
    most = _live(folder).get("most")
    if concurrency is not None and isinstance(most, int) and concurrency > most:
        raise click.BadParameter(
            f"the run began with {most}, which is the most; stop it, and resume it with -c {concurrency}",
            param_hint="--concurrency",
        )
    said = ", ".join(f"{name} {value}" for name, value in given.items())
    _ask(folder, lambda control: control.changed(**given), f"is retuned: {said}")


@run_command.command("requeue")
@click.argument("folder", type=_FOLDER)
def requeue_command(folder: str) -> None:
    """Play the episodes that have failed so far anew, without losing those that are being played."""
    if _live(folder).get("failed") == 0:
        raise click.ClickException(f"no episode of {folder} has failed so far")
    _ask(folder, lambda control: control.changed(requeue=control.requeue + 1), "plays its failed episodes anew")


@run_command.command("join")
@click.argument("out", type=click.Path(file_okay=False))
@click.argument("runs", nargs=-1, required=True, type=_FOLDER)
def join_command(out: str, runs: tuple[str, ...]) -> None:
    """Make one run, in the folder OUT, of RUNS of one evaluation that differ in their seeds alone.

    The runs stay as they are. What they have not played is missing in OUT as well; gem eval --resume plays it there.
    """
    from gem_eval.cli.results import summary_of
    from gem_eval.runs.shards import join_runs

    summary = summary_of(join_runs(runs, out))
    click.echo(f"{counted(len(runs), 'run')} with {counted(summary.episodes, 'episode')} joined in {out}")
    if summary.missing:
        left = counted(summary.missing, "episode")
        click.echo(f"{left} missing or failed; gem eval --resume {shlex.quote(out)} plays the rest")


def _live(folder: str) -> dict[str, Any]:
    from gem_eval.runs.folder import RunFolder

    run = RunFolder(folder)
    live = run.live
    planned = sum(item.episodes for item in run.config.environments)
    if live is None and sum(not row.failed for row in run.rows()) >= planned:
        raise click.ClickException(f"{folder} is finished")
    if live is None:
        raise click.ClickException(
            f"{folder} is not being played on this machine; 'gem runs' lists what is, and 'gem eval --resume {folder}' "
            "plays the rest of it"
        )
    return live


def _ask(folder: str, change: Callable[[RunControl], RunControl], answer: str) -> None:
    from gem_eval.runs.control import RunControl

    _live(folder)
    change(RunControl.read(Path(folder))).write(Path(folder))
    click.echo(f"{folder} {answer}.")
