"""``gem eval``."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from gem.counts import counted
from gem_cli.completers import complete_ids
from gem_cli.output import Table, json_option, print_json, print_prose
from gem_cli.progress import progress
from gem_cli.terminal_text import printable
from gem_eval.cli.settings import build_config, evaluation_options
from gem_rollout.cli.failures import print_failures

if TYPE_CHECKING:
    from gem_eval.runs.evaluation_config import EvaluationConfig
    from gem_eval.runs.folder import RunFolder
    from gem_eval.runs.progress import EvaluationProgress

__all__ = ["eval_command"]

_SHOWN_ERROR_LENGTH = 300  # characters


@click.command("eval", short_help="Evaluate a model or another agent on environments.")
@click.argument("env_ids", metavar="[ID]...", nargs=-1, shell_complete=complete_ids)
@evaluation_options
@click.option("--config", "--suite", "config_file", type=click.Path(dir_okay=False), help="Settings from a TOML file.")
@click.option("--out", "-o", type=click.Path(file_okay=False), help="Folder of the run  [runs/TIME-ENVIRONMENT-AGENT]")
@click.option("--shard", metavar="NUMBER/SHARDS", help="Play this part of the seeds, such as 2/8, as a run of its own.")
@click.option("--resume", type=click.Path(exists=True, file_okay=False), help="Go on with the run in this folder.")
@click.option("--allow-changes", is_flag=True, help="Resume also with changed settings, code or model.")
@click.option("--dry-run", is_flag=True, help="Show what would be played, and play nothing.")
@json_option
def eval_command(
    env_ids: tuple[str, ...],
    config_file: str | None,
    out: str | None,
    shard: str | None,
    resume: str | None,
    allow_changes: bool,
    dry_run: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Evaluate a model, or another agent, on environments.

    Plays the episodes, records each as it ends in a folder, and prints the results with their uncertainty. A run that
    was interrupted goes on with --resume. Nothing leaves this machine but requests to the model's server.

    \b
    Examples:
      gem eval game:GuessTheNumber-v0-easy --agent reference
      gem eval game:Sudoku-v0-easy --base-url http://localhost:8000/v1
      gem eval math:GSM8K -u http://localhost:8000/v1 -n 400 --group 4 --concurrency 256 --out runs/gsm8k
      gem eval --config suite.toml --base-url http://localhost:8000/v1
      gem eval --resume runs/gsm8k
      gem eval --config suite.toml --shard 2/8 --out runs/suite/2

    --episodes counts the episodes of each environment in all: with --group 4, 400 episodes are 100 seeds, each played
    4 times. A configuration file has the same settings, and an [[environment]] table for each environment; options
    override it. 'gem run join' makes one run of all shards.

    Exit codes: 0 done, also if some episodes failed; 1 if every episode failed; 130 interrupted,
    also by gem run stop.
    """
    if resume is not None and out is not None:
        raise click.UsageError("--resume goes on in its own folder; leave out --out")
    if resume is not None and shard is not None:
        raise click.UsageError("a run that is resumed has its seeds already; leave out --shard")
    config = build_config(_base(config_file, resume), env_ids, options)
    if shard is not None:
        config = _shard(config, shard)
    if resume is not None and config.agent is None and config.base_url is None:
        raise click.UsageError(
            f"the run in {resume} was begun from Python with a client of its own, which no command can open again; "
            "go on with evaluate(…, client=…, out=…, resume=True), or name the model's server with --base-url"
        )
    if dry_run:
        _show_plan(config, as_json)
        return
    folder, last = _run(config, resume or out, resume is not None, allow_changes)
    if folder is None and last is None:
        raise click.Abort
    _report(folder, last, as_json)


def _base(config_file: str | None, resume: str | None) -> EvaluationConfig:
    from gem_eval.runs import EvaluationConfig, RunFolder, settings_of

    if config_file is not None:
        return EvaluationConfig.from_toml(config_file)
    return EvaluationConfig() if resume is None else settings_of(RunFolder(resume).config)


def _shard(config: EvaluationConfig, text: str) -> EvaluationConfig:
    from gem_eval.runs.shards import shard

    number, slash, shards = text.partition("/")
    if not (slash and all(part.isascii() and part.isdecimal() and len(part) < 10 for part in (number, shards))):
        raise click.BadParameter(f"{text!r} must look like 2/8, the second of eight", param_hint="--shard")
    return shard(config, int(number), int(shards))


def _run(
    config: EvaluationConfig, path: str | None, resume: bool, allow_changes: bool
) -> tuple[RunFolder | None, EvaluationProgress | None]:
    """Return the folder, None if the run was interrupted, and the last progress."""
    from gem_eval.cli.interruption import run_interruptibly
    from gem_eval.cli.narrator import EvaluationNarrator
    from gem_eval.runs.evaluation import evaluate

    with progress() as bar:
        narrator = EvaluationNarrator(bar)
        folder = run_interruptibly(
            evaluate(config, out=path, resume=resume, allow_changes=allow_changes, observer=narrator)
        )
    return folder, narrator.last


def _report(folder: RunFolder | None, last: EvaluationProgress | None, as_json: bool) -> None:
    from gem_eval.cli.results import summary_of
    from gem_eval.cli.run_table import print_run_summary
    from gem_eval.runs import RunFolder

    assert last is not None  # an evaluation reports before its first episode
    run = folder or RunFolder(last.folder)
    summary = summary_of(run)
    all_failed = bool(last.failed) and not last.finished
    path = shlex.quote(str(run.path))
    if as_json:
        print_json(
            {
                "path": str(run.path),
                "interrupted": folder is None or last.stopped,
                "continued": last.continued,
                "begun_again": last.begun_again,
                "failures": dict(last.failures),
                "first_errors": last.messages,
                "summary": summary.to_dict(),
            }
        )
    else:
        print_run_summary(summary)
        if run.config.opponents:
            _print_ratings(run)
        print_prose(f"recorded in {path}", style="dim")
    if last.begun_again:
        count = len(last.begun_again)
        first = printable(last.begun_again[0])[:_SHOWN_ERROR_LENGTH]
        click.echo(
            f"{count} interrupted episode{'s' * (count != 1)} began again, since the environment answered otherwise "
            f"than before; {first}",
            err=True,
        )
    if last.lost_workers:
        click.echo(
            f"{counted(len(last.lost_workers), 'worker process', 'worker processes')} ended and had to be replaced; "
            f"what they were playing was taken over. The last one {last.lost_workers[-1]}.",
            err=True,
        )
    if last.failed:
        share = "every episode" if all_failed else counted(last.failed, "episode")
        gave_up = all_failed and last.failed < last.total and folder is not None
        remark = f"Gave up after {last.failed} of {last.total} episodes (--give-up-after)." if gave_up else ""
        print_failures(share, last.failures, last.messages, remark)
    if folder is None or last.failed or summary.missing:
        click.echo(f"Go on with: gem eval --resume {path}", err=True)
    if folder is None or last.stopped:
        click.get_current_context().exit(130)
    if all_failed:
        click.get_current_context().exit(1)


def _print_ratings(run: RunFolder) -> None:
    from gem_eval.cli.ratings import print_ratings
    from gem_eval.statistics import games_of, rate_policies

    games, left_out = games_of(map(run.episode, run.rows()))
    if games:
        print_ratings(rate_policies(games, left_out=left_out))


def _show_plan(config: EvaluationConfig, as_json: bool) -> None:
    from gem_eval.runs.agents import check_reference, completed
    from gem_eval.runs.resolution import requests_at_most, resolve
    from gem_eval.runs.scoring import EpisodeScorer

    config = completed(config)
    run = resolve(config, rewards=EpisodeScorer(config.rewards).configs)
    check_reference(config, run.environments)
    requests = {item.label: requests_at_most(item, run) for item in run.environments}
    known = [count for count in requests.values() if count is not None]
    if as_json:
        total = sum(known) if len(known) == len(requests) else None
        print_json({"run": run.to_dict(), "requests_at_most": requests, "requests_at_most_in_all": total})
        return
    columns = ("episodes", "seeds", "each", "requests at most")
    table = Table(("environment", "wrappers", *columns), right=columns)
    for item in run.environments:
        count = requests[item.label]
        table.add_row(
            printable(item.label),
            printable(",".join(str(one if isinstance(one, str) else one.get("name")) for one in item.wrappers)),
            f"{item.episodes:,}",
            f"{item.episodes // item.group:,}",
            str(item.group),
            "unknown" if count is None else f"{count:,}",
        )
    table.show()
    plays = f"{run.agent} at {run.base_url}" if run.base_url else run.agent
    print_prose(f"agent: {printable(plays)}")
    if len(known) < len(requests):
        print_prose("An environment of several turns has no declared limit; --max-turns sets one.", style="dim")
    print_prose("Nothing was played (--dry-run).", style="dim")
