"""A page of a generated site: :class:`SitePage`, rows of texts, links, buttons and fields.

The text environment and the pages over HTTP show the same rows, and follow the same links. A page is one form: a button
sends the values of all its fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

__all__ = [
    "CHECKED",
    "FieldKind",
    "PageButton",
    "PageField",
    "PageLink",
    "PagePiece",
    "PageRow",
    "SitePage",
    "page_row",
]

CHECKED = "yes"
"""The value of a checked box; an unchecked one has the value ""."""

FieldKind = Literal["text", "area", "select", "checkbox"]


class PageLink(NamedTuple):
    """A link to another page of the site.

    A label may begin with a short name and a colon, such as ``T17: Slugs again``; the short name alone follows it too.
    """

    label: str
    address: str

    @property
    def short_name(self) -> str:
        """What stands before the first colon, or the label."""
        return self.label.partition(":")[0]


class PageButton(NamedTuple):
    """A button, which sends a command and the values of the page's fields."""

    label: str
    command: str


class PageField(NamedTuple):
    """A field of a form."""

    name: str
    label: str
    kind: FieldKind
    value: str = ""
    options: tuple[str, ...] = ()
    """What a field of the kind ``select`` offers."""
    note: str = ""
    """A sentence on what belongs into the field, without a full stop."""
    error: str = ""
    """Why the last value was refused."""
    required: bool = False

    def accepts(self, value: str) -> bool:
        """Return whether a browser could send this value."""
        if self.kind == "select":
            return value == "" or value in self.options
        return self.kind != "checkbox" or value in ("", CHECKED)


PagePiece: TypeAlias = "str | PageLink | PageButton | PageField"


class PageRow(NamedTuple):
    """A line of a page."""

    kind: Literal["heading", "line", "quote"]
    pieces: tuple[PagePiece, ...]


def page_row(*pieces: PagePiece, kind: Literal["heading", "line", "quote"] = "line") -> PageRow:
    """Return a row of these pieces."""
    return PageRow(kind, pieces)


class SitePage(NamedTuple):
    """A page of a site; labels of what can be clicked are unique on it, but for links to the same address."""

    title: str
    rows: Sequence[PageRow]
    search: bool = False
    """Whether words can be searched for from here."""

    def pieces(self) -> Iterator[PagePiece]:
        """Return the pieces of all rows."""
        return (piece for row in self.rows for piece in row.pieces)

    def fields(self) -> dict[str, PageField]:
        """Return the fields by their names."""
        return {piece.name: piece for piece in self.pieces() if isinstance(piece, PageField)}

    def field_called(self, label: str) -> PageField | None:
        """Return the field with a label, whatever the case of its letters."""
        wanted = label.casefold()
        return next((f for f in self.fields().values() if f.label.casefold() == wanted), None)

    def clickable(self) -> dict[str, PageLink | PageButton | PageField]:
        """Return links, buttons and boxes by their labels and short names in lower case; full labels go before."""
        found: dict[str, PageLink | PageButton | PageField] = {}
        for piece in self.pieces():
            if isinstance(piece, (PageLink, PageButton)) or (isinstance(piece, PageField) and piece.kind == "checkbox"):
                found.setdefault(piece.label.casefold(), piece)
        for piece in tuple(found.values()):
            if isinstance(piece, PageLink):
                found.setdefault(piece.short_name.casefold(), piece)
        return found

    def text(self, typed: Mapping[str, str]) -> str:
        """Return the page as text, with what was typed into its fields.

        Args:
            typed: values by the names of fields, in place of those that the page has.
        """
        lines = [f"=== {self.title} ==="]
        for row in self.rows:
            pieces = [_piece_text(piece, typed) for piece in row.pieces]
            line = " ".join(piece for piece in pieces if piece)
            lines.append(f"-- {line} --" if row.kind == "heading" else f"    {line}" if row.kind == "quote" else line)
        return "\n".join(lines)


def _piece_text(piece: PagePiece, typed: Mapping[str, str]) -> str:
    if isinstance(piece, str):
        return piece
    if not isinstance(piece, PageField):
        return f"[{piece.label}]"
    value = typed.get(piece.name, piece.value)
    if piece.kind == "checkbox":
        shown = f"[{piece.label}] {'(checked)' if value else '(not checked)'}"
    else:
        shown = f'{piece.label}: "{value}"'
    notes = ["required"] if piece.required else []
    if piece.options:
        notes.append("one of: " + " / ".join(piece.options))
    if piece.note:
        notes.append(piece.note)
    if notes:
        shown = f"{shown} ({'; '.join(notes)})"
    return f"{shown}\n    ! {piece.error}" if piece.error else shown
