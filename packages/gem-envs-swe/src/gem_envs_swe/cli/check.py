"""``gem swe check``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gem_cli.output import json_option, print_json
from gem_cli.progress import progress
from gem_cli.terminal_text import printable
from gem_terminal.cli.options import engine_option

if TYPE_CHECKING:
    from gem_envs_swe.published.checking import PublishedSetReport

__all__ = ["check_command"]


@click.command("check")
@click.argument("name", metavar="ROWS")
@click.option("--split", help="The split, or a slice of one: test[:100]; the default is test, or the only one.")
@click.option("--limit", type=click.IntRange(min=1), help="Look at this many rows, from the beginning.")
@engine_option
@json_option
def check_command(name: str, split: str | None, limit: int | None, engine_name: str, as_json: bool) -> None:
    """Show what a published set of tasks holds, and what of it can be played here.

    ROWS is a file (.jsonl, .parquet, .json, .arrow), a folder of such files, or the name of a data set at Hugging Face.
    The rows of these sets are recognised by their columns: SWE-bench (Lite, Verified, Multilingual, Multimodal),
    SWE-bench Pro, SWE-Gym, SWE-smith, R2E-Gym, SWE-rebench, Multi-SWE-bench, and NeMo Gym's rows around those.

    The command runs nothing of the rows and downloads no image. The exit code is 1 if rows are malformed or no change
    can earn them.

    \b
    Examples:
      gem swe check swe-bench-verified.parquet
      gem swe check SWE-smith/ --split train --limit 1000 --json
    """
    from gem_envs_swe.published.checking import check_set
    from gem_questions import open_rows

    rows = open_rows(name, split=split or _default_split(name))
    engine, has_image, note = _engine(engine_name)
    with progress() as bar:
        task = bar.add_task("rows", total=min(len(rows), limit or len(rows)), note="")
        report = check_set(
            rows, has_image=has_image, engine=engine, limit=limit, on_row=lambda: bar.update(task, advance=1)
        )
    if as_json:
        print_json({"name": name, "note": note, **report.to_dict()})
    else:
        _print(name, report, note)
    if report.malformed or report.unearnable:
        raise SystemExit(1)


def _default_split(name: str) -> str:
    from gem_questions.splits import splits_of_folder

    path = Path(name).expanduser()
    if not path.is_dir():
        return "test"
    splits = list(splits_of_folder(path))
    return "test" if "test" in splits or len(splits) != 1 else splits[0]


def _engine(name: str) -> tuple[str | None, Callable[[str], bool] | None, str]:
    """Return the engine's name, whether it has an image, and why there is no engine."""
    from gem_terminal.engines import engine_by_name
    from gem_terminal.errors import EngineError

    try:
        engine = engine_by_name(name)
    except EngineError as error:
        if name != "auto":
            raise
        return None, None, str(error)
    return engine.name, engine.has_base, ""


def _print(name: str, report: PublishedSetReport, note: str) -> None:
    click.echo(f"{_line(name, 200)}: {report.rows:,} rows")
    lines = {
        "shape": _counts(report.shapes) or "none is known",
        "malformed": _counts(report.malformed),
        "repeated ids": f"{report.repeated_ids:,}" if report.repeated_ids else "",
        "repeated tasks": f"{report.repeated_tasks:,}" if report.repeated_tasks else "",
        "not to be earned": _counts(report.unearnable),
        "logs not read": _counts(report.unreadable_logs),
        "images": _images(report),
    }
    width = max(map(len, lines))
    for label, text in lines.items():
        if text:
            click.echo(f"  {label.ljust(width)}  {text}")
    for fault in report.faults:
        click.echo(f"  row {fault.row}: {_line(fault.message, 200)}")
    if note:
        click.echo(f"note: no container engine works here, so no image was looked for: {_line(note, 300)}")


def _images(report: PublishedSetReport) -> str:
    parts = []
    for kind, sentence in (
        ("here", "can be played: the engine has their images"),
        ("recipe", "may be played: an image can be made from a source archive of the package index"),
        ("missing", "cannot be played here: the engine does not have their images, and there is no recipe"),
    ):
        if count := report.images[kind]:
            parts.append(f"{count:,} {sentence}")
    missing = ", ".join(_line(image, 100) for image in report.missing_images)
    return "; ".join(parts) + (f" (such as {missing})" if missing else "")


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{_line(name, 100)} ({count:,})" for name, count in counts.most_common(12))


def _line(text: str, longest: int) -> str:
    line = printable(" ".join(text.split()))
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
