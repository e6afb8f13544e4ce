"""Runs as one HTML file that can be passed on: page and episodes together, compressed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from gem_eval.runs import EpisodeRow, RunFolder
from gem_eval.runs.lines import parse_line
from gem_eval.viewer.columns import as_columns
from gem_eval.viewer.episode_filter import matching_rows
from gem_eval.viewer.packing import Vocabulary, pack, pack_record
from gem_eval.viewer.page_bundle import document
from gem_eval.viewer.run_facts import run_facts
from gem_eval.viewer.viewed_run import as_read_by_page

__all__ = ["ExportedPage", "export_page"]


class ExportedPage(NamedTuple):
    """An exported page."""

    content: bytes
    episodes: int
    """Episodes in the page, of all runs."""
    available: int
    """Episodes that the runs have."""


def export_page(
    folders: Sequence[RunFolder], conditions: Mapping[str, str] | None = None, most: int | None = None
) -> ExportedPage:
    """Return runs as one HTML document that needs no server.

    Of several runs, the page has the episodes of the same keys, so that it can compare them.

    Args:
        folders: the runs.
        conditions: which episodes of the first run to take, as in :mod:`gem_eval.viewer.episode_filter`.
        most: how many episodes of each run at most.
    """
    rows = [folder.rows() for folder in folders]
    chosen = list(islice(matching_rows(rows[0], conditions or {}), most))
    keys = {row.key for row in chosen}
    selected = [chosen, *([row for row in each if row.key in keys] for each in rows[1:])]
    content = document(_parts(folders, selected))
    return ExportedPage(content, sum(map(len, selected)), sum(map(len, rows)))


def _parts(folders: Sequence[RunFolder], selected: Sequence[list[EpisodeRow]]) -> Iterator[tuple[str, bytes]]:
    yield "runs", pack([run_facts(folder) for folder in folders])
    vocabulary = Vocabulary()
    for run, (folder, rows) in enumerate(zip(folders, selected, strict=True)):
        columns: dict[str, Any] = {"generation": 0, "from": 0, "live": None, **as_columns(rows)}
        yield f"rows-{run}", pack(columns)
        for number, row in enumerate(rows):
            yield f"episode-{run}-{number}", pack_record(parse_line(as_read_by_page(folder.record(row))), vocabulary)
    yield "texts", vocabulary.pack()
