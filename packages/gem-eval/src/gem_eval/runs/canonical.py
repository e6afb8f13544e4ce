"""A form of a run in which two runs of the same configuration are the same bytes.

Two runs differ in times and in the order in which episodes finish. :func:`canonical_lines` leaves out the former and
sorts the latter, so that ``diff`` shows what else differs. With a deterministic agent nothing does, also where one of
the runs was killed and resumed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from gem_eval.runs.folder import RunFolder
from gem_eval.runs.lines import parse_line

__all__ = ["canonical_lines"]

_TIMES = {"started_at", "seconds", "act_seconds", "step_seconds"}
_OF_THE_CALL = {
    "metadata": {"request_id", "retries", "first_token_seconds"},
    "usage": {"cached_tokens"},  # what a server has cached depends on what else it has answered
}
"""Keys of a turn's metadata and usage that differ from one request to the next."""
_OF_THE_PROCESS = {"recalled_turns"}
"""Keys of an episode's metadata that an interruption leaves."""


def canonical_lines(folder: RunFolder) -> Iterator[bytes]:
    """Yield the latest line of each episode without times, sorted by environment, seed and repetition."""
    for row in sorted(folder.rows(), key=lambda row: row.key):
        record = parse_line(folder.raw(row))
        yield json.dumps(_without_times(record), sort_keys=True, separators=(",", ":")).encode("ascii") + b"\n"


def _without_times(record: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in record.items() if name not in _TIMES and name != "earlier_failures"}
    metadata = {name: value for name, value in kept.pop("metadata", {}).items() if name not in _OF_THE_PROCESS}
    if metadata:
        kept["metadata"] = metadata
    kept["transitions"] = [
        {
            name: {k: v for k, v in value.items() if k not in _OF_THE_CALL[name]} if name in _OF_THE_CALL else value
            for name, value in turn.items()
            if name not in _TIMES
        }
        for turn in record["transitions"]
    ]
    return kept
