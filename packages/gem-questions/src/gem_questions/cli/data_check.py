"""``gem data check``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from gem.errors import ArgumentError, MissingPluginError
from gem_cli.output import Table, json_option, print_json
from gem_cli.progress import progress
from gem_cli.terminal_text import printable

if TYPE_CHECKING:
    from gem_questions import Rows
    from gem_questions.checking import DataReport
    from gem_questions.rewards import Grader
    from gem_questions.schemas import Kind, RowContent

    Keys = tuple[str | None, str | None]
    RowReader = Callable[[Mapping[str, Any]], RowContent]

__all__ = ["check_command"]

_GENERATED_LIMIT = 1000
"""Rows that are checked of a set that is generated, and so has no end, unless ``--limit`` says more."""
_LONGEST_CELL = 44
_CLASSES = {"math": "gem_envs_math.MathEnv", "qa": "gem_envs_qa.QaEnv", "code": "gem_envs_code.CodeEnv"}


@click.command("check")
@click.argument("name", metavar="PATH|ID")
@click.option("--split", default="train", show_default=True, help="The split, or a slice of one: train[:100].")
@click.option("--grader", "grader_name", metavar="NAME", help="math, qa, code, or the grader of a plugin.")
@click.option("--question-key", metavar="COLUMN", help="The column of the question, where it is not recognised.")
@click.option("--answer-key", metavar="COLUMN", help="The column of the answer, or of the tests.")
@click.option(
    "--against", metavar="PATH|ID", multiple=True, help="Look for the questions of this evaluation set; repeatable."
)
@click.option("--limit", type=click.IntRange(min=1), help="Check this many rows, from the beginning.")
@json_option
def check_command(
    name: str,
    split: str,
    grader_name: str | None,
    question_key: str | None,
    answer_key: str | None,
    against: tuple[str, ...],
    limit: int | None,
    as_json: bool,
) -> None:
    """Show what the graders make of a data set, before an agent is trained on it.

    PATH is a file or folder, ID an environment or the name of a data set at Hugging Face. The command names the shape
    of the rows and the columns to use, shows gold answers as the grader reads them, and counts answers that it cannot
    read, unusable rows, missing values and duplicates. --against counts the questions of an evaluation set that occur
    in the set, by n-grams of 8 to 13 words (Brown et al. 2020, appendix C).

    The exit code is 1 if rows are unusable or cannot be earned, or questions of an evaluation set occur.

    \b
    Examples:
      gem data check train.jsonl
      gem data check math:GSM8K --limit 500
      gem data check train.jsonl --against eval:MATH500 --against test.jsonl
    """
    from gem_questions.checking import check_rows, kind_of_rows, questions_of
    from gem_questions.schemas import KINDS

    rows, known, keys, read = _opened(name, split)
    kind = grader_name if grader_name in KINDS else known or kind_of_rows(rows)
    if kind is None:
        columns = ", ".join(map(repr, rows[0])) or "none"
        raise ArgumentError(
            f"the rows of {name} have no known shape: their columns are {columns}; name the grader with --grader and "
            "the columns with --question-key and --answer-key"
        )
    grader, note = _grader(grader_name or kind)
    if limit is None and type(rows).__name__ == "GeneratedRows":
        limit = _GENERATED_LIMIT
    others = {other: questions_of(_opened(other, _split_of(other))[0]) for other in against}
    with progress() as bar:
        task = bar.add_task("rows", total=min(len(rows), limit or len(rows)), note="")
        report = check_rows(
            rows,
            kind,
            grader=grader,
            grader_name=grader_name or kind,
            question_key=question_key or keys[0],
            gold_key=answer_key or keys[1],
            against=others,
            limit=limit,
            on_row=lambda: bar.update(task, advance=1),
            read=read,
        )
    if as_json:
        print_json({"name": name, "split": split, "note": note, **report.to_dict()})
    else:
        _print(name, report, note, is_id=known is not None)
    if report.unusable or report.unearnable or any(overlap.overlapping for overlap in report.overlaps):
        raise SystemExit(1)


def _opened(name: str, split: str) -> tuple[Rows, Kind | None, Keys, RowReader | None]:
    """Return the rows behind a path, an environment or a name, with what the environment knows of them.

    These are the kind of its questions, its columns, and a reader of its rows, where they have a form of its own.
    """
    from gem.registry import make
    from gem_questions import QuestionEnv, open_rows
    from gem_questions.shared import expanded

    if expanded(name).exists() or ":" not in name:
        return open_rows(name, split=split), None, (None, None), None
    with make(name) as env:
        asking: Any = env.unwrapped
        if not isinstance(asking, QuestionEnv):
            raise ArgumentError(f"{name} asks no questions of a data set: it is a {type(asking).__name__}")
        rows = asking.rows
    if not hasattr(rows, "__getitem__"):
        raise ArgumentError(f"{name} streams its set; name the file or the data set instead")
    gold_key = getattr(asking, "answer_key", None) or getattr(asking, "test_key", None)
    kind = _kind_of_env(asking)
    if hasattr(asking, "content") or kind == "math":
        return rows, kind, (getattr(asking, "question_key", None), gold_key), None
    if kind != "qa":
        raise ArgumentError(
            f"{name} makes its own rows, in a form that no data set has; 'gem check' tests such packages"
        )
    return rows, kind, (None, None), lambda row: _read_by(asking, row)


def _read_by(env: Any, row: Mapping[str, Any]) -> RowContent:
    """Return the content of a row of an environment with short answers."""
    from gem_questions.schemas import RowContent

    question = env.question(row)
    return RowContent(question if isinstance(question, str) else str(question), list(env.golds(row)))


def _split_of(name: str) -> str:
    """Return the split that an evaluation set is likely to have: its own test split, where it is a folder with one."""
    from gem_questions.shared import expanded
    from gem_questions.splits import splits_of_folder

    path = expanded(name)
    if not path.is_dir():
        return "train" if path.exists() else "test"
    splits = list(splits_of_folder(path))
    return "test" if "test" in splits else splits[0]


def _kind_of_env(env: Any) -> Kind | None:
    if hasattr(env, "suite"):
        return "code"
    if hasattr(env, "golds"):
        return "qa"
    return "math" if hasattr(env, "gold_of") else None


def _grader(name: str) -> tuple[Grader | None, str | None]:
    """Return the grader of a name; where its package is missing, None and how to get it."""
    from gem_questions.rewards import make_grader
    from gem_questions.schemas import KINDS

    try:
        return make_grader(name), None
    except MissingPluginError as error:
        if name not in KINDS:
            raise
        return None, f"the gold answers were not read: {error}"


def _print(name: str, report: DataReport, note: str | None, is_id: bool) -> None:
    part = "" if report.checked == report.total else f"the first {report.checked:,} of "
    click.echo(f"{_line(name, 200)}: {part}{report.total:,} rows, {_KINDS[report.kind]}")
    _print_shape(name, report, is_id)
    for fault in report.faults:
        click.echo(f"  {_line(fault, 300)}")
    more = report.unusable + report.unearnable - len(report.faults)
    if more > 0 and report.faults:
        click.echo(f"  … and {more:,} more such rows")
    if report.golds:
        click.echo()
        table = Table(("row", "gold", "read as", "kind", "readable"), right=("row",))
        for gold in report.golds:
            readable = "" if report.grader is None else "yes" if gold.readable else "NO"
            table.add_row(
                str(gold.row),
                _line(gold.gold, _LONGEST_CELL),
                _line(gold.reads_as, _LONGEST_CELL),
                _line(gold.kind, _LONGEST_CELL),
                readable,
            )
        table.show()
    if note is not None:
        click.echo(f"note: {note}")


_KINDS = {"math": "mathematics", "qa": "questions with short answers", "code": "programming problems"}


def _print_shape(path: str, report: DataReport, is_id: bool) -> None:
    known = ", ".join(f"{_line(schema, 60)} ({count:,})" for schema, count in report.schemas.items())
    gold_argument = "test_key" if report.kind == "code" else "answer_key"
    lines = {
        "shape": known or ("none is known" if report.unusable else "the environment's own"),
        "columns": f"question_key={report.question_key!r}, {gold_argument}={report.gold_key!r}" if known else "",
        "use": f"{_CLASSES[report.kind]}(dataset={path!r})" if known and not is_id else "",
        "unusable rows": _share(report.unusable, report.checked),
        "unreadable golds": "" if report.grader is None else _share(report.unreadable, report.readable_golds),
        "not to be earned": _share(report.unearnable, report.readable_golds) if report.unearnable else "",
        "kinds of golds": ", ".join(f"{_line(kind, 30)} {count:,}" for kind, count in report.gold_kinds.items()),
        "missing values": ", ".join(f"{_line(column, 40)} {count:,}" for column, count in report.nulls.items())
        or "none",
        "duplicates": _share(report.duplicates, report.checked)
        + (f", {report.contradictions:,} with another answer" if report.contradictions else ""),
    }
    for overlap in report.overlaps:
        pairs = ", ".join(f"{row} and {other}" for row, other in overlap.pairs)
        lines[f"in {_line(overlap.against, 40)}"] = (
            f"{_share(overlap.overlapping, overlap.questions)} of its questions share {overlap.n} words in a row with "
            f"{overlap.rows:,} rows{f' (rows {pairs})' if pairs else ''}"
        )
    width = max(map(len, lines))
    for label, text in lines.items():
        if text:
            click.echo(f"  {label.ljust(width)}  {printable(text)}")


def _share(count: int, total: int) -> str:
    return f"{count:,} ({count / total:.1%})" if count and total else f"{count:,}"


def _line(text: str, longest: int) -> str:
    line = printable(" ".join(text.split()))
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
