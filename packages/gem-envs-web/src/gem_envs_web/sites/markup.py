"""The pages of a site as HTML without scripts, and an episode that serves them: :class:`SiteEpisode`."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from http import HTTPStatus
from urllib.parse import parse_qsl

from gem_envs_web.sites.loopback import ServedEpisode, WebResponse
from gem_envs_web.sites.page import CHECKED, PageButton, PageField, PageLink, PagePiece, PageRow, SitePage
from gem_envs_web.sites.site import Site

__all__ = ["SiteEpisode", "site_html"]

_COMMAND = "-command"
_FIND = "find?"
_STYLE = (
    "body{font-family:sans-serif;max-width:56em;margin:1em auto;padding:0 1em;line-height:1.5}"
    "label{display:inline-block;min-width:14em}input,select,textarea,button{font:inherit}"
    "textarea{width:30em;height:3em;vertical-align:top}blockquote{margin:.2em 0 .2em 1.5em}"
    "button{padding:.1em .6em;margin-right:.3em}.note{color:#555}.error{color:#a00}"
)


class SiteEpisode(ServedEpisode):
    """A site for browsers.

    Args:
        site: the site.
    """

    def __init__(self, site: Site) -> None:
        super().__init__()
        self.site = site
        self.start = site.start

    def respond(self, address: str, form: Mapping[str, str] | None, base: str) -> WebResponse:
        if address.startswith(_FIND):
            words = dict(parse_qsl(address.removeprefix(_FIND))).get("words", "").strip()
            return _see_other(self.site.search_address(words) if words else self.site.start)
        if form is None:
            return WebResponse(HTTPStatus.OK, site_html(self.site.page(address), address, base))
        values = {name: value for name, value in form.items() if name != _COMMAND}
        return _see_other(self.site.send(address, form.get(_COMMAND, ""), values))

    def result(self) -> float | None:
        return self.site.result()

    def answered(self, answer: str) -> float:
        return self.site.answered(answer)


def _see_other(address: str) -> WebResponse:
    """Return an answer that makes the browser GET a page, so that reloading it repeats no change."""
    return WebResponse(HTTPStatus.SEE_OTHER, "", address)


def site_html(page: SitePage, address: str, base: str) -> str:
    """Return a page as HTML, with all texts of the text observation.

    Args:
        page: the page.
        address: its address, to which its form is posted.
        base: what stands before the addresses of the site.
    """
    rows = "\n".join(_row(row, base) for row in page.rows)
    search = (
        f'<form method="get" action="{escape(base)}find"><input type="search" name="words" aria-label="Search words">'
        '<button type="submit">Search</button></form>\n'
        if page.search
        else ""
    )
    title = escape(page.title)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title><style>{_STYLE}</style>'
        f'</head>\n<body>\n<h1>{title}</h1>\n{search}<form method="post" action="{escape(base + address)}" '
        f'autocomplete="off">\n{rows}\n</form>\n</body>\n</html>\n'
    )


def _row(row: PageRow, base: str) -> str:
    content = " ".join(_piece(piece, base) for piece in row.pieces)
    tag = {"heading": "h2", "line": "div", "quote": "blockquote"}[row.kind]
    return f"<{tag}>{content}</{tag}>"


def _piece(piece: PagePiece, base: str) -> str:
    if isinstance(piece, str):
        return f"<span>{escape(piece)}</span>"
    if isinstance(piece, PageLink):
        return f'<a href="{escape(base + piece.address)}">{escape(piece.label)}</a>'
    if isinstance(piece, PageButton):
        command = escape(piece.command)
        return f'<button type="submit" name="{_COMMAND}" value="{command}">{escape(piece.label)}</button>'
    return _field(piece)


def _field(field: PageField) -> str:
    name, value = f'id="field-{escape(field.name)}" name="{escape(field.name)}"', escape(field.value)
    if field.kind == "checkbox":
        control = f'<input type="checkbox" {name} value="{CHECKED}"{" checked" if field.value else ""}>'
    elif field.kind == "select":
        options = "".join(
            f'<option value="{escape(option)}"{" selected" if option == field.value else ""}>{escape(option)}</option>'
            for option in ("", *field.options)
        )
        control = f"<select {name}>{options}</select>"
    elif field.kind == "area":
        control = f"<textarea {name}>\n{value}</textarea>"
    else:
        control = f'<input type="text" {name} value="{value}">'
    notes = [*(["required"] if field.required else []), *([field.note] if field.note else [])]
    note = f' <span class="note">({escape("; ".join(notes))})</span>' if notes else ""
    error = f' <span class="error">! {escape(field.error)}</span>' if field.error else ""
    return f'<label for="field-{escape(field.name)}">{escape(field.label)}</label> {control}{note}{error}'
