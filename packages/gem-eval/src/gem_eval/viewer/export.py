"""Runs as one HTML file that can be passed on: page and episodes together, compressed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gem.errors import ArgumentError
from gem_eval.runs import EpisodeRow, RunFolder
from gem_eval.runs.lines import parse_line
from gem_eval.viewer.columns import as_columns
from gem_eval.viewer.episode_filter import matching_rows
from gem_eval.viewer.packing import Vocabulary, pack, pack_record
from gem_eval.viewer.page_bundle import document
from gem_eval.viewer.run_facts import facts_of, run_figures
from gem_eval.viewer.side_by_side import counted_rows, figure_parts, group_parts
from gem_eval.viewer.viewed_run import as_read_by_page

__all__ = ["ExportedPage", "export_page"]


_MOST_ENVIRONMENTS = 50
"""Environments whose figures are in the page."""


class ExportedPage(NamedTuple):
    """An exported page."""

    content: bytes
    conversations: int
    """Episodes of all runs whose conversation is in the page."""
    episodes: int
    """Episodes of all runs; the page has the figures of each."""


def export_page(
    folders: Sequence[RunFolder], conditions: Mapping[str, str] | None = None, most: int | None = None
) -> ExportedPage:
    """Return runs as one HTML document that needs no server.

    The page has the figures of every episode, so that shares, means and plots are those of the whole runs, and the
    conversations of some: of several runs those of the same keys, so that it can compare them. It says which part
    that is.

    Args:
        folders: the runs.
        conditions: of which episodes of the first run to take conversations, as in
            :mod:`gem_eval.viewer.episode_filter`.
        most: of how many episodes of each run at most. Those of the first seeds are taken, since the episodes that
            ended first are the short ones.

    Raises:
        ArgumentError: if no episode meets the conditions.
    """
    rows = [folder.rows() for folder in folders]
    matching = matching_rows(rows[0], conditions or {})
    if conditions and not matching:
        raise ArgumentError(f"no episode of {folders[0].path} meets {_in_words(conditions)}")
    keys = {row.key for row in sorted(matching, key=lambda row: (row.seed, row.repetition, row.env))[:most]}
    held = [[number for number, row in enumerate(each) if row.key in keys] for each in rows]
    content = document(_parts(folders, rows, held))
    return ExportedPage(content, sum(map(len, held)), sum(map(len, rows)))


def _in_words(conditions: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in conditions.items())


def _parts(
    folders: Sequence[RunFolder], rows: Sequence[list[EpisodeRow]], held: Sequence[list[int]]
) -> Iterator[tuple[str, bytes]]:
    yield "runs", pack(facts_of(folders))
    vocabulary = Vocabulary()
    for run, (folder, each, numbers) in enumerate(zip(folders, rows, held, strict=True)):
        figures: dict[str, Any] = {**run_figures(each), "held": numbers}
        yield f"rows-{run}", pack({"generation": 0, "from": 0, "live": None, **figures, **as_columns(each)})
        for number in numbers:
            row = each[number]
            yield f"episode-{run}-{number}", pack_record(parse_line(as_read_by_page(folder.record(row))), vocabulary)
    yield "texts", vocabulary.pack()
    counted = [counted_rows(each) for each in rows]
    yield "groups", pack(group_parts(folders, counted))
    envs = list(dict.fromkeys(row.env for each in counted for row in each))[:_MOST_ENVIRONMENTS]
    yield "figures", pack(figure_parts(folders, counted, envs))
