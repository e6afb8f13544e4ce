"""The episodes of runs as files for other programs."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from gem.errors import MissingPluginError

if TYPE_CHECKING:
    from gem_eval.runs import RunFolder

__all__ = ["episode_records", "no_formula", "write_csv", "write_parquet", "write_turns"]

_TYPES = {
    "run": "string",
    "env": "string",
    "seed": "string",  # seeds can exceed 64 bits
    "repetition": "int64",
    "return": "float64",
    "success": "bool",
    "outcome": "string",
    "turns": "int64",
    "prompt_tokens": "int64",
    "completion_tokens": "int64",
    "tool_calls": "int64",
    "malformed": "int64",
    "cut": "int64",
    "empty": "int64",
    "grade": "string",
    "seconds": "float64",
    "act_seconds": "float64",
    "step_seconds": "float64",
    "stop_reason": "string",
    "failure_source": "string",
    "failure_kind": "string",
    "agent": "string",
    "started_at": "float64",
    "cost": "float64",
    "calls": "int64",
    "cache_calls": "int64",
    "cached_tokens": "int64",
    "cache_prompt_tokens": "int64",
    "cache_hit_rate": "float64",
    "first_token_calls": "int64",
    "first_token_p50": "float64",
    "token_calls": "int64",
    "exact_calls": "int64",
    "harness_box": "string",
    "update": "int64",
    "mean_logprob": "float64",
}
"""Column → type of Arrow; a column ``score_NAME`` for each applied reward follows."""


def episode_records(runs: Sequence[RunFolder]) -> tuple[dict[str, str], Iterator[dict[str, Any]]]:
    """Return the columns with their types, and one record an episode."""
    rewards = dict.fromkeys(name for run in runs for row in run.rows() for name in row.scores)
    columns = {**_TYPES, **{f"score_{name}": "float64" for name in rewards}}

    def records() -> Iterator[dict[str, Any]]:
        for run in runs:
            for row in run.rows():
                failure = row.failure or {}
                values = {
                    **row.to_dict(),
                    "run": run.name,
                    "success": row.success,
                    "seed": str(row.seed),
                    "cache_hit_rate": row.cache_hit_rate,
                    "first_token_calls": len(row.first_token_seconds),
                    "first_token_p50": row.first_token_p50,
                    "failure_source": failure.get("source"),
                    "failure_kind": failure.get("kind"),
                    **{f"score_{name}": row.scores.get(name) for name in rewards},
                }
                yield {name: values[name] for name in columns}

    return columns, records()


def write_csv(target: str, runs: Sequence[RunFolder]) -> None:
    """Write one line an episode; ``-`` is standard output.

    A text that a spreadsheet would take for a formula gets an apostrophe in front (OWASP, "CSV Injection").
    """
    columns, records = episode_records(runs)
    if target == "-":
        _write_lines(sys.stdout, columns, records)
    else:
        with Path(target).open("w", encoding="utf-8", newline="") as file:
            _write_lines(file, columns, records)


def write_parquet(target: str, runs: Sequence[RunFolder]) -> None:
    """Write one row an episode as Parquet.

    Raises:
        MissingPluginError: if the library ``datasets`` is not installed.
    """
    try:
        from pyarrow import Table, field, parquet, schema, type_for_alias
    except ModuleNotFoundError as error:
        raise MissingPluginError(
            "--parquet needs the library datasets; run: pip install 'gem-rollout[datasets]'"
        ) from error
    columns, records = episode_records(runs)
    types = schema([field(_encodable(name), type_for_alias(kind)) for name, kind in columns.items()])
    rows = [{_encodable(name): _encodable(value) for name, value in record.items()} for record in records]
    parquet.write_table(Table.from_pylist(rows, schema=types), target)


def write_turns(target: str, runs: Sequence[RunFolder]) -> None:
    """Write one row a turn as Parquet, with the columns of :func:`gem_rollout.trajectory.to_dataset`.

    Raises:
        MissingPluginError: if the library ``datasets`` is not installed.
    """
    from gem_rollout.trajectory import to_dataset

    episodes = chain.from_iterable(map(run.episode, run.rows()) for run in runs)
    dataset = to_dataset(episodes)
    from pyarrow import parquet  # comes with datasets, whose own to_parquet draws a progress bar into any pipe

    parquet.write_table(dataset.data.table, target)


def _write_lines(file: TextIO, columns: Iterable[str], records: Iterable[dict[str, Any]]) -> None:
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow([no_formula(name) for name in columns])
    lines.writerows([no_formula(value) for value in record.values()] for record in records)


def no_formula(value: Any) -> Any:
    """Return a cell of CSV; a text that a spreadsheet would run gets an apostrophe in front."""
    text = _encodable(value)
    return f"'{text}" if isinstance(text, str) and text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _encodable(value: Any) -> Any:
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
