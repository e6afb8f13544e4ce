"""``gem ratings``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gem.errors import ArgumentError
from gem_cli.output import Table, json_option, print_json, print_prose

if TYPE_CHECKING:
    from gem_eval.statistics import RatingTable
    from gem_rollout.trajectory import Trajectory

__all__ = ["print_ratings", "ratings_command"]


@click.command("ratings")
@click.argument("paths", metavar="RUN...", nargs=-1, required=True, type=click.Path(exists=True))
@json_option
def ratings_command(paths: tuple[str, ...], as_json: bool) -> None:
    """Rate the policies that met in games.

    RUN is the folder of a run that gem eval wrote with --opponent, or a file of episodes from gem rollout; several are
    rated together, and one that is given twice counts once. A policy is ahead of another in a game where it earned
    more. Ratings are Bradley and Terry's on Elo's scale (400 points are odds of ten to one, and the mean is 1500), with
    intervals for 95 % over seeds.

    \b
    Examples:
      gem ratings runs/liars-dice
      gem ratings games.jsonl more-games.jsonl --json
    """
    from gem_eval.statistics import games_of, rate_policies

    games, left_out = games_of(_episodes(paths))
    if not games:
        raise ArgumentError(
            f"no episode of {', '.join(paths)} says who had which seat; record some with gem eval --opponent or "
            "gem rollout --opponent … --out"
        )
    table = rate_policies(games, left_out=left_out)
    if as_json:
        print_json(table.to_dict())
    else:
        print_ratings(table)


def _episodes(paths: Sequence[str]) -> Iterator[Trajectory]:
    from gem_eval.runs import RunFolder
    from gem_rollout.trajectory import read_trajectories

    for path in dict.fromkeys(Path(path).resolve() for path in paths):
        if path.is_dir():
            run = RunFolder.open(path)
            yield from map(run.episode, run.rows())
        else:
            yield from read_trajectories(path)


def print_ratings(table: RatingTable) -> None:
    """Print the ratings, and how the seats did."""
    from gem_eval.cli.figure_text import one_line

    columns = ("rating", "95 %", "mean return", "games", "ahead", "tied", "behind")
    rows = Table(("policy", *columns), right=columns)
    for one in table.ratings:
        mean = one.mean_return
        rows.add_row(
            one_line(one.name),
            f"{one.rating:.0f}",
            f"{one.low:.0f} … {one.high:.0f}",
            "" if mean is None else f"{mean.value + 0.0:.3f}".replace("-", "−"),
            *map(str, (one.games, one.ahead, one.tied, one.behind)),
        )
    rows.show()
    seats = ", ".join(f"{one_line(seat)} {share:.1%}" for seat, share in table.seats.items())
    print_prose(f"{table.games} games of {table.groups} seeds; ahead by seat: {seats}", style="dim")
    if table.one_sided:
        print_prose(
            "note: a policy has few wins or few losses: the intervals allow for one more seed the other way round",
            style="dim",
        )
    if table.left_out:
        print_prose(f"left out: {table.left_out} episodes that failed or do not say who had which seat", style="yellow")
    if len(table.ratings) == 1:
        print_prose("Only one policy played, so there is nothing to compare it with.", style="yellow")
