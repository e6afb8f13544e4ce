"""What a set of published rows holds, and what of it can be played here: :func:`check_set`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Any, Protocol

from gem.errors import DatasetError
from gem_envs_swe.published.published_row import MalformedRowError, PublishedRow
from gem_envs_swe.published.recipes import recipe_for
from gem_envs_swe.published.shapes import read_published

__all__ = ["PublishedSetReport", "RowFault", "check_set"]

_MOST_FAULTS = 20


class _Rows(Protocol):
    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class RowFault:
    """A row that cannot be used."""

    row: int
    reason: str
    message: str


@dataclass
class PublishedSetReport:
    """What a set of published rows holds."""

    rows: int = 0
    shapes: Counter[str] = field(default_factory=Counter)
    """The set whose columns they have → readable rows."""
    malformed: Counter[str] = field(default_factory=Counter)
    """The kind of fault → rows that cannot be read."""
    faults: list[RowFault] = field(default_factory=list)
    """The first malformed rows."""
    repeated_ids: int = 0
    """Rows whose ``instance_id`` an earlier row has."""
    repeated_tasks: int = 0
    """Rows with another id whose repository, commit and solution an earlier row has."""
    unearnable: Counter[str] = field(default_factory=Counter)
    """Why no change can earn a row → rows."""
    unreadable_logs: Counter[str] = field(default_factory=Counter)
    """The parser that a row asks for, or its repository → rows whose logs no parser here reads."""
    images: Counter[str] = field(default_factory=Counter)
    """``here``, ``recipe`` or ``missing`` → rows: the engine has the image; it has not, but a recipe could make one."""
    missing_images: list[str] = field(default_factory=list)
    """The first images that are missing."""
    engine: str | None = None
    """The engine that was asked; None if none works here."""

    @property
    def usable(self) -> int:
        """The number of rows that can be read."""
        return sum(self.shapes.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON has it."""
        counts = {name: dict(value) for name, value in vars(self).items() if isinstance(value, Counter)}
        return {**vars(self), **counts, "faults": [asdict(fault) for fault in self.faults], "usable": self.usable}


def check_set(
    rows: _Rows,
    *,
    has_image: Callable[[str], bool] | None = None,
    engine: str | None = None,
    limit: int | None = None,
    on_row: Callable[[], object] = lambda: None,
) -> PublishedSetReport:
    """Return what a set of rows holds. Nothing is downloaded, and no code of the rows is run.

    Args:
        rows: the rows, such as :func:`gem_questions.open_rows` opens.
        has_image: whether the engine has an image; None if there is no engine.
        engine: the engine's name.
        limit: look at this many rows, from the beginning.
        on_row: called after each row.
    """
    report = PublishedSetReport(engine=engine)
    ids: set[str] = set()
    tasks: dict[bytes, str] = {}
    known: dict[str, bool] = {}
    for number, found in _read(rows, limit):
        report.rows += 1
        if isinstance(found, MalformedRowError):
            report.malformed[found.reason] += 1
            if len(report.faults) < _MOST_FAULTS:
                report.faults.append(RowFault(number, found.reason, str(found)))
        else:
            _count(report, found, ids, tasks)
            if has_image is not None and found.image not in known:
                known[found.image] = has_image(found.image)
            _count_image(report, found, here=known.get(found.image, False))
        on_row()
    return report


def _read(rows: _Rows, limit: int | None) -> Iterator[tuple[int, PublishedRow | MalformedRowError]]:
    for number in range(min(len(rows), limit if limit is not None else len(rows))):
        try:
            yield number, read_published(rows[number])
        except MalformedRowError as error:
            yield number, error
        except DatasetError as error:  # a line that is not JSON
            yield number, MalformedRowError("unreadable line", str(error))


def _count(report: PublishedSetReport, found: PublishedRow, ids: set[str], tasks: dict[bytes, str]) -> None:
    report.shapes[found.shape] += 1
    row = found.row
    digest = _digest((row.repo, row.base_commit, row.patch))
    if row.instance_id in ids:
        report.repeated_ids += 1
    elif tasks.setdefault(digest, row.instance_id) != row.instance_id:
        report.repeated_tasks += 1
    ids.add(row.instance_id)
    if reason := found.cannot_be_earned:
        report.unearnable[reason] += 1
    if not found.log_form:
        report.unreadable_logs[found.parser or row.repo] += 1


def _count_image(report: PublishedSetReport, found: PublishedRow, *, here: bool) -> None:
    if here:
        report.images["here"] += 1
        return
    report.images["recipe" if recipe_for(found.row) else "missing"] += 1
    if len(report.missing_images) < 3 and found.image not in report.missing_images:
        report.missing_images.append(found.image)


def _digest(parts: Sequence[str]) -> bytes:
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()
