"""``gem report``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gem_cli.output import print_prose
from gem_cli.terminal_text import printable

if TYPE_CHECKING:
    from gem_eval.report.parts import Report

__all__ = ["report_command"]


@click.command("report")
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False))
@click.option("--out", "-o", required=True, type=click.Path(file_okay=False), help="Folder of the report.")
@click.option("--title", default="", help="Title of the report.")
@click.option("--png", is_flag=True, help="Write the figures as PNG too (needs resvg-py).")
def report_command(folders: tuple[str, ...], out: str, title: str, png: bool) -> None:
    """Write a report on runs: tables, figures with their data, settings, versions, and the commands that made it.

    DIR is the folder of a run that gem eval or gem train wrote. The report is one page, as HTML and as Markdown; beside
    it lie the figures as SVG and CSV, and the settings of each run. Its tables are those of gem results. A folder that
    exists gets new files of the same names.

    \b
    Examples:
      gem report runs/sudoku --out report
      gem report runs/small runs/large --out appendix --title "Two sizes" --png
    """
    from gem_eval.report.content import report_of
    from gem_eval.runs import RunFolder

    said = ["gem", "report", *(Path(folder).name or folder for folder in folders), "--out", Path(out).name or out]
    said += [*(["--title", title] if title else []), *(["--png"] if png else [])]
    report = report_of([RunFolder.open(folder) for folder in folders], title, printable(shlex.join(said)))
    target = Path(out)
    try:
        _write(report, target, png)
    except OSError as error:
        raise click.ClickException(f"{out} cannot be written: {error.strerror or error}") from error
    count = len(report.illustrations)
    print_prose(f"{target / 'report.html'} and report.md: {count} figure{'s' * (count != 1)}")


def _write(report: Report, target: Path, png: bool) -> None:
    from gem_eval.figures.drawing import to_svg
    from gem_eval.figures.figure import to_csv
    from gem_eval.figures.png import to_png
    from gem_eval.report.rendering import to_html, to_markdown

    figures = target / "figures"
    pictures = {part.file_name: to_svg(part.figure) for part in report.illustrations}
    rendered = {name: to_png(svg) for name, svg in pictures.items()} if png else {}
    figures.mkdir(parents=True, exist_ok=True)
    (target / "settings").mkdir(exist_ok=True)
    (target / "report.html").write_text(to_html(report), encoding="utf-8")
    (target / "report.md").write_text(to_markdown(report), encoding="utf-8")
    for part in report.illustrations:
        name = part.file_name
        (figures / f"{name}.svg").write_text(pictures[name], encoding="utf-8")
        (figures / f"{name}.csv").write_text(to_csv([part.figure]), encoding="utf-8", newline="")
    for name, content in rendered.items():
        (figures / f"{name}.png").write_bytes(content)
    for name, text in report.settings.items():
        (target / "settings" / name).write_text(text, encoding="utf-8")
