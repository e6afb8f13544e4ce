"""The pages' data on what is new in a release, compared with the one before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gem_hub.site.text import shortened
from gem_hub_client.errors import HubError
from gem_hub_client.release_diff import change_kind, compare_releases, told

__all__ = ["ChangeRow", "ReleaseChanges", "changes_of"]

_MOST_ROWS = 100
_VALUE = 120


@dataclass(frozen=True)
class ChangeRow:
    """A row of the table of changes."""

    part: str
    place: str
    before: str
    after: str
    note: str


@dataclass(frozen=True)
class ReleaseChanges:
    """The differences between a release and the one before it."""

    since: str
    """The version before it."""
    rows: list[ChangeRow]
    more: int
    """The number of differences that are counted but not listed."""


def changes_of(entry: Mapping[str, Any], releases: Sequence[Mapping[str, Any]]) -> ReleaseChanges | None:
    """Return what is new in a release; None for the first one.

    Args:
        entry: one of ``releases``.
        releases: those of ``envs/NAME.json``, newest first. Yanked ones are passed over.
    """
    older = [other for other in releases[list(releases).index(entry) + 1 :] if other["yanked"] is None]
    if not older:
        return None
    try:
        changes = compare_releases(older[0], entry)
    except HubError:  # a record of another kind must not cost the package its page
        return None
    rows = [
        ChangeRow(
            change.part,
            shortened(change.place, _VALUE),
            shortened(told(change.before), _VALUE),
            shortened(told(change.after), _VALUE),
            change.note or change_kind(change),
        )
        for change in changes[:_MOST_ROWS]
    ]
    return ReleaseChanges(str(older[0]["version"]), rows, len(changes) - len(rows))
