"""What a data set is, row by row, before an agent is trained on it: :func:`check_rows`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from gem.errors import DatasetError
from gem_questions.overlap import NgramIndex
from gem_questions.schemas import KINDS, InstructionGold, Kind, RowContent, read_row, recognise
from gem_questions.schemas.content import is_missing, plain_value
from gem_questions.tables import Row, Rows

if TYPE_CHECKING:
    from gem_questions.rewards import Grader

__all__ = ["DataReport", "GoldShown", "Overlap", "check_rows", "kind_of_rows", "questions_of"]

SHOWN = 20
"""Gold answers that a report shows."""
_FAULTS_SHOWN = 5
_PAIRS_SHOWN = 5
_SAMPLE = 50
_MATHEMATICS = re.compile(r"\s*[-+−(\[{]*(?:[$£€]\s*)?[\d.]|.*[\\^=]")
"""A number at the beginning, or a sign of notation anywhere."""


@dataclass(frozen=True)
class GoldShown:
    """A gold answer, and how the grader reads it."""

    row: int
    gold: str
    reads_as: str
    kind: str
    readable: bool


@dataclass(frozen=True)
class Overlap:
    """How many questions of an evaluation set occur in the checked set; see :mod:`gem_questions.overlap`."""

    against: str
    n: int
    """Length of the n-grams, in words."""
    questions: int
    """Questions of the evaluation set."""
    overlapping: int
    """Those of them that share an n-gram with a row."""
    rows: int
    """Rows of the checked set that share one with any of them."""
    pairs: tuple[tuple[int, int], ...]
    """The first few pairs of a row of the checked set and a row of the evaluation set."""


@dataclass
class DataReport:
    """The result of :func:`check_rows`."""

    kind: str
    total: int
    """Rows of the set."""
    checked: int = 0
    schemas: dict[str, int] = field(default_factory=dict)
    """Schema → rows of that shape. Rows without a known shape have no entry."""
    question_key: str | None = None
    gold_key: str | None = None
    """The proposed columns: those of the most frequent schema."""
    golds: list[GoldShown] = field(default_factory=list)
    """Gold answers from all parts of the set."""
    grader: str | None = None
    """The grader's name; None if none was given, and nothing is known of readings."""
    unreadable: int = 0
    """Gold answers that the grader cannot read."""
    unearnable: int = 0
    """Rows that nobody can earn: the grader reads the gold answer, and calls that same answer wrong."""
    gold_kinds: dict[str, int] = field(default_factory=dict)
    """The grader's word for the kind of a gold → gold answers."""
    unusable: int = 0
    """Rows that have no question or no usable gold answer."""
    faults: list[str] = field(default_factory=list)
    """What is wrong with the first of these."""
    nulls: dict[str, int] = field(default_factory=dict)
    """Column → rows in which it is missing, None, NaN or empty; columns without such rows are left out."""
    duplicates: int = 0
    """Rows whose question an earlier row has, but for capitals and blanks."""
    contradictions: int = 0
    """Those of them with another gold answer."""
    overlaps: list[Overlap] = field(default_factory=list)

    @property
    def readable_golds(self) -> int:
        """Rows with a usable gold answer."""
        return self.checked - self.unusable

    @property
    def unreadable_share(self) -> float | None:
        """Share of usable gold answers that the grader cannot read; None without a grader or without any answer."""
        return self.unreadable / self.readable_golds if self.grader is not None and self.readable_golds else None

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {**asdict(self), "unreadable_share": self.unreadable_share}


def check_rows(
    rows: Rows,
    kind: Kind,
    *,
    grader: Grader | None = None,
    grader_name: str | None = None,
    question_key: str | None = None,
    gold_key: str | None = None,
    against: Mapping[str, Sequence[str]] | None = None,
    limit: int | None = None,
    on_row: Callable[[], None] | None = None,
    read: Callable[[Mapping[str, Any]], RowContent] | None = None,
) -> DataReport:
    """Read a set row by row and report what a grader makes of it.

    Args:
        rows: the set.
        kind: what its questions are.
        grader: reads the gold answers; None: they are not read.
        grader_name: its name, for the report.
        question_key: the column of the question; None: recognised.
        gold_key: the column of the gold answer, or of the tests; None: recognised.
        against: name of an evaluation set → its questions, to look for in the set.
        limit: check this many rows, from the beginning.
        on_row: called after each row, for a progress bar.
        read: returns the content of a row, for an environment that knows its own rows; None: by the row's schema.

    Raises:
        DatasetError: if a row cannot be read at all, such as a line that is not JSON.
    """
    total = len(rows)
    count = total if limit is None else min(limit, total)
    report = DataReport(kind, total, grader=None if grader is None else grader_name or type(grader).__name__)
    indices = {name: NgramIndex(questions) for name, questions in (against or {}).items()}
    found: dict[str, tuple[set[int], int, list[tuple[int, int]]]] = {name: (set(), 0, []) for name in indices}
    schemas: Counter[tuple[str, str, str]] = Counter()
    kinds: Counter[str] = Counter()
    nulls: Counter[str] = Counter()
    columns: dict[str, None] = {}
    seen: dict[int, int] = {}
    shown = _spread(count, SHOWN)
    for index in range(count):
        row = Row(rows[index])
        row.index = index
        _count_nulls(row, columns, nulls, index)
        schema = recognise(row, kind)
        if schema is not None:
            schemas[schema.name, schema.question_key, schema.gold_key] += 1
        report.checked += 1
        try:
            content = read_row(row, kind, question_key, gold_key) if read is None else read(row)
        except DatasetError as error:
            report.unusable += 1
            if len(report.faults) < _FAULTS_SHOWN:
                report.faults.append(str(error))
            continue
        finally:
            if on_row is not None:
                on_row()
        _count_duplicates(report, seen, content)
        if grader is not None:
            reading = grader.read(content.gold, content.question)
            kinds[reading.kind] += 1
            report.unreadable += not reading.readable
            if kind != "code" and reading.readable and not _earns(grader, content):
                report.unearnable += 1
                if len(report.faults) < _FAULTS_SHOWN:
                    report.faults.append(
                        f"row {index} cannot be earned: its own answer {_short(content.gold)!r} is wrong"
                    )
            if index in shown:
                report.golds.append(
                    GoldShown(index, _short(content.gold), _short(reading.text), reading.kind, reading.readable)
                )
        elif index in shown:
            report.golds.append(GoldShown(index, _short(content.gold), "", "", True))
        for name, ngrams in indices.items():
            hit = ngrams.overlapping(content.question)
            if hit:
                questions, touched, pairs = found[name]
                pairs += [(index, other) for other in sorted(hit)][: _PAIRS_SHOWN - len(pairs)]
                found[name] = (questions | hit, touched + 1, pairs)
    report.schemas = _names(schemas)
    if schemas:
        (_, report.question_key, report.gold_key), _ = schemas.most_common(1)[0]
    report.question_key, report.gold_key = question_key or report.question_key, gold_key or report.gold_key
    report.gold_kinds = dict(kinds.most_common())
    report.nulls = {column: nulls[column] for column in columns if nulls[column]}
    report.overlaps = [
        Overlap(name, indices[name].n, indices[name].size, len(questions), touched, tuple(pairs))
        for name, (questions, touched, pairs) in found.items()
    ]
    return report


def kind_of_rows(rows: Rows) -> Kind | None:
    """Return what the questions of a set are, from the shape of its first rows; None if no shape is known.

    A shape of one kind decides. Where columns such as ``question`` and ``answer`` leave it open, answers that begin
    with a number or hold notation mean mathematics.
    """
    votes: Counter[Kind] = Counter()
    for index in range(min(_SAMPLE, len(rows))):
        kind = _kind_of_row(Row(rows[index]))
        if kind is not None:
            votes[kind] += 1
    return votes.most_common(1)[0][0] if votes else None


def questions_of(rows: Rows) -> list[str]:
    """Return the questions of a set, of any kind; rows without one are left out.

    Raises:
        DatasetError: if no row has a question.
    """
    questions = list(_questions(rows))
    if not questions:
        raise DatasetError("the set to compare with has no row with a question and an answer of a known shape")
    return questions


def _questions(rows: Rows) -> Iterator[str]:
    kinds = list(KINDS)
    for index in range(len(rows)):
        row = Row(rows[index])
        for kind in kinds:
            try:
                question = read_row(row, kind).question
            except DatasetError:
                continue
            kinds.sort(key=kind.__ne__)  # the next row is most likely of the same kind
            yield question
            break


_GENERAL = ("answer", "ground_truth", "reward_model")
"""Columns that hold tests in some sets, and answers in most."""


def _kind_of_row(row: Mapping[str, Any]) -> Kind | None:
    known = {kind: schema for kind in KINDS if (schema := recognise(row, kind)) is not None}
    if not known:
        return None
    code = known.get("code")
    if code is not None and code.gold_key.lower() not in _GENERAL:
        return "code"
    for kind in ("qa", "math"):
        schema = known.get(kind)
        if schema is not None and ", " not in schema.name and schema.name not in ("multiple choice", "NQ-Open"):
            return kind
    if "math" in known:
        try:
            gold = read_row(row, "math").gold
        except DatasetError:
            return None
        golds = gold if isinstance(gold, list) else [gold]
        if all(_MATHEMATICS.match(str(one)) for one in golds):
            return "math"
    return "qa" if "qa" in known else "math"


def _count_nulls(row: Mapping[str, Any], columns: dict[str, None], nulls: Counter[str], before: int) -> None:
    for column in row:
        if column not in columns:
            columns[column] = None
            nulls[column] += before  # the rows before had no such column
    for column in columns:
        value = plain_value(row.get(column)) if column in row else None
        if is_missing(value) or (isinstance(value, (list, dict)) and not value):
            nulls[column] += 1


def _count_duplicates(report: DataReport, seen: dict[int, int], content: RowContent) -> None:
    # Hashes, as the questions themselves could exceed the memory.
    question, gold = hash(" ".join(content.question.lower().split())), hash(repr(content.gold))
    if question in seen:
        report.duplicates += 1
        report.contradictions += seen[question] != gold
    else:
        seen[question] = gold


def _earns(grader: Grader, content: RowContent) -> bool:
    """Return whether a row's own answer is right, where it has one: instructions have none."""
    gold = content.gold
    if isinstance(gold, InstructionGold):
        return True
    first = gold[0] if isinstance(gold, list) and gold else gold
    return grader.grade(first, gold, content.question).correct


def _spread(count: int, wanted: int) -> set[int]:
    """Return indices from all parts of a set."""
    return {number * count // wanted for number in range(wanted)} if count > wanted else set(range(count))


def _short(value: Any) -> str:
    return f"{value!r:.200}" if not isinstance(value, str) else value[:200]


def _names(schemas: Counter[tuple[str, str, str]]) -> dict[str, int]:
    names: Counter[str] = Counter()
    for (name, _, _), count in schemas.items():
        names[name] += count
    return dict(names.most_common())
