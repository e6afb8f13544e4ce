"""``gem results``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from gem_cli.output import Table, json_option, print_json, print_prose

if TYPE_CHECKING:
    from gem_eval.runs import EpisodeRow, RunFolder
    from gem_eval.statistics import RunSummary

__all__ = ["results_command", "summary_of"]


@click.command("results")
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False))
@click.option("--by", type=click.Choice(["seed", "stop", "agent"]), help="One row for each of these instead.")
@click.option(
    "--csv",
    "csv_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="Write the episodes as CSV.",
)
@click.option(
    "--parquet", metavar="FILE", type=click.Path(dir_okay=False), help="Write the episodes as Parquet (needs datasets)."
)
@click.option(
    "--turns", metavar="FILE", type=click.Path(dir_okay=False), help="Write all turns as Parquet (needs datasets)."
)
@json_option
def results_command(
    folders: tuple[str, ...],
    by: str | None,
    csv_file: str | None,
    parquet: str | None,
    turns: str | None,
    as_json: bool,
) -> None:
    """Show the results of runs: means with intervals, effort, failures.

    DIR is the folder of a run that gem eval wrote. Several runs appear side by side. Intervals are for 95 % and count
    seeds, not episodes, as independent. Failed episodes count in no mean.

    \b
    Examples:
      gem results runs/sudoku
      gem results runs/before runs/after
      gem results runs/sudoku --by seed
      gem results runs/* --csv episodes.csv
      gem results runs/sudoku --turns turns.parquet
    """
    from gem_eval.runs import RunFolder

    runs = [RunFolder.open(folder) for folder in folders]
    if csv_file is not None:
        from gem_eval.cli.episode_files import write_csv

        write_csv(csv_file, runs)
    if parquet is not None:
        from gem_eval.cli.episode_files import write_parquet

        write_parquet(parquet, runs)
    if turns is not None:
        from gem_eval.cli.episode_files import write_turns

        write_turns(turns, runs)
    if as_json:
        print_json([{"folder": str(run.path), **summary_of(run).to_dict()} for run in runs])
    elif by is not None:
        for run in runs:
            _print_by(run, by)
    elif csv_file is None and parquet is None and turns is None:
        _print(runs)


def summary_of(run: RunFolder) -> RunSummary:
    """Return the figures of a run in a folder."""
    from gem_eval.statistics import summarize_run

    return summarize_run(
        run.rows(),
        name=run.name,
        agent=run.config.agent,
        planned={item.label: item.episodes for item in run.config.environments},
        running=run.running,
        request_limit=run.config.request_limit,
    )


def _print(runs: Sequence[RunFolder]) -> None:
    from gem_eval.cli.run_table import print_run_summary, print_runs_side_by_side
    from gem_eval.runs.names import distinct_names

    summaries = [summary_of(run) for run in runs]
    if len(summaries) == 1:
        print_run_summary(summaries[0])
    else:
        print_runs_side_by_side(summaries, distinct_names(runs))


def _print_by(run: RunFolder, by: str) -> None:
    from gem_eval.cli.figure_text import mean_text, one_line, share_text
    from gem_eval.statistics.estimates import estimate_mean, estimate_share
    from gem_eval.statistics.run_summary import by_seed
    from gem_rollout.trajectory.outcome import counted_text

    key: Callable[[EpisodeRow], Any] = {
        "seed": lambda row: row.seed,
        "stop": lambda row: row.stop_reason or "failed",
        "agent": lambda row: row.agent,
    }[by]
    parts: dict[str, dict[Any, list[EpisodeRow]]] = {}
    for row in run.rows():
        parts.setdefault(row.env, {}).setdefault(key(row), []).append(row)
    print_prose(one_line(run.name), "bold")
    columns = ("episodes", "failed", "mean return", "success", "of")
    for env, groups in parts.items():
        table = Table((by, *columns), right=columns, title=one_line(env))
        for value, rows in sorted(groups.items(), key=lambda item: item[0]):
            failed = sum(not row.counts for row in rows)
            returns = by_seed(rows, lambda row: row.episode_return)
            successes = by_seed(rows, lambda row: row.success)
            flags = [flag for group in successes.values() for flag in group]
            solved, unknown = int(sum(flags)), sum(row.outcome == "unknown" for row in rows)
            table.add_row(
                one_line(value),
                str(len(rows) - failed),
                str(failed) if failed else "",
                mean_text(estimate_mean(returns)),
                # The episodes of one seed say nothing of other seeds, so there is no interval.
                "" if by == "seed" else share_text(estimate_share(successes)),
                counted_text(solved, len(flags), unknown) if flags or unknown else "",
            )
        table.show()
