"""A report as HTML, which needs nothing beside it, and as Markdown, with its figures in a folder."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from gem_cli.output import Table
from gem_eval.cli.figure_text import one_line
from gem_eval.figures.drawing import print_style, to_svg
from gem_eval.report.parts import BulletList, Code, Heading, Illustration, Paragraph, Report, Tabular

__all__ = ["to_html", "to_markdown"]

_STYLE = """
body { font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; color: #1b2226; background: #fff;
  max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; font-variant-numeric: tabular-nums; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; } h3 { font-size: 1rem; }
h1, h2, h3, li, td, figcaption { overflow-wrap: anywhere; }
.table { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: 0.875rem; }
caption { text-align: left; font-weight: 600; padding-bottom: 0.3rem; }
th, td { padding: 0.2rem 1.2rem 0.2rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid #e1e5e6; }
thead th { border-bottom-color: #5a666d; } .right { text-align: right; }
figure { margin: 1.2rem 0; max-width: 40rem; } figure svg { width: 100%; height: auto; }
figcaption { font-size: 0.875rem; color: #444; }
pre { background: #f2f4f4; padding: 0.7rem 1rem; overflow-x: auto; }
@media print { figure, .table { break-inside: avoid; } }
"""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""A report has no script, and asks for nothing."""

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|#~$!&])")


def to_html(report: Report) -> str:
    """Return the report as one HTML document."""
    title = html.escape(report.title)
    body = "\n".join(line for part in report.parts for line in _html_of(part))
    head = [
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title>",
        f"<style>{_STYLE}svg.figure {{ {print_style()} }}</style>",
    ]
    page = ["<!doctype html>", '<html lang="en">', "<head>", *head, "</head>", "<body>", f"<h1>{title}</h1>", body]
    return "\n".join([*page, "</body>", "</html>", ""])


def to_markdown(report: Report) -> str:
    """Return the report as Markdown, as GitHub and Pandoc read it; figures lie in ``figures``."""
    blocks = [f"# {_escaped(report.title)}"]
    blocks += [block for part in report.parts for block in _markdown_of(part)]
    return "\n\n".join(blocks) + "\n"


def _html_of(part: Heading | Paragraph | BulletList | Code | Tabular | Illustration) -> Iterator[str]:
    if isinstance(part, Heading):
        yield f"<h{part.level}>{html.escape(part.text)}</h{part.level}>"
    elif isinstance(part, Paragraph):
        yield f"<p>{html.escape(part.text)}</p>"
    elif isinstance(part, BulletList):
        yield f"<ul>{''.join(f'<li>{html.escape(item)}</li>' for item in part.items)}</ul>"
    elif isinstance(part, Code):
        yield f"<pre>{html.escape(part.text)}</pre>"
    elif isinstance(part, Tabular):
        yield from _html_table(part.table)
    else:
        caption = f"<b>Figure {part.number}.</b> {html.escape(_caption(part))}"
        yield f"<figure>\n{to_svg(part.figure, alone=False)}<figcaption>{caption}</figcaption>\n</figure>"


def _html_table(table: Table) -> Iterator[str]:
    right = [name in table.right for name in table.columns]

    def cells(tag: str, texts: tuple[str, ...]) -> str:
        marks = [' class="right"' if is_right else "" for is_right in right]
        return "".join(f"<{tag}{mark}>{html.escape(text)}</{tag}>" for mark, text in zip(marks, texts, strict=True))

    caption = "" if table.title is None else f"<caption>{html.escape(table.title)}</caption>"
    yield f'<div class="table"><table>{caption}<thead><tr>{cells("th", table.columns)}</tr></thead><tbody>'
    for row in table.rows:
        yield f"<tr>{cells('td', row)}</tr>"
    yield "</tbody></table></div>"


def _markdown_of(part: Heading | Paragraph | BulletList | Code | Tabular | Illustration) -> Iterator[str]:
    if isinstance(part, Heading):
        yield f"{'#' * part.level} {_escaped(part.text)}"
    elif isinstance(part, Paragraph):
        yield _escaped(part.text)
    elif isinstance(part, BulletList):
        yield "\n".join(f"- {_escaped(item)}" for item in part.items)
    elif isinstance(part, Code):
        fence = "`" * max([2, *map(len, re.findall("`+", part.text))]) + "`"
        yield f"{fence}bash\n{part.text}\n{fence}"
    elif isinstance(part, Tabular):
        yield from _markdown_table(part.table)
    else:
        text = f"**Figure {part.number}.** {_escaped(_caption(part))}"
        yield f"![Figure {part.number}](figures/{part.file_name}.svg)"
        yield f"{text} ([data](figures/{part.file_name}.csv))"


def _markdown_table(table: Table) -> Iterator[str]:
    if table.title is not None:
        yield f"**{_escaped(table.title)}**"
    rules = ["---:" if name in table.right else "---" for name in table.columns]
    rows = [[_escaped(text) for text in cells] for cells in (table.columns, *table.rows)]
    lines = [f"| {' | '.join(cells)} |" for cells in (rows[0], rules, *rows[1:])]
    yield "\n".join(lines)


def _caption(part: Illustration) -> str:
    figure = part.figure
    return f"{figure.title}, {one_line(figure.env)}. {one_line(figure.caption)}"


def _escaped(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))
