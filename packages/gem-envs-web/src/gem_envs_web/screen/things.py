"""The pages of the shop and of generated sites as things on a screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gem_envs_web.screen.layout import ScreenThing
from gem_envs_web.shop.pages import SEARCH, ShopPage
from gem_envs_web.sites.page import PageButton, PageField, PageLink, PagePiece, SitePage

__all__ = ["QUERY", "things_of_shop", "things_of_site"]

QUERY = "query"
"""The name of the shop's one field."""


def things_of_shop(page: ShopPage, query: str) -> Iterator[ScreenThing]:
    """Yield what is on a page of the shop.

    Args:
        page: the page.
        query: what was typed into the search box.
    """
    for element in page.elements:
        clicked = f"click[{element.text}]"
        if element.kind == "search":
            yield ScreenThing("field", query, field=QUERY)
            yield ScreenThing("button", SEARCH, f"search[{query}]" if query else "")
        elif element.kind in ("button", "product"):
            yield ScreenThing("button" if element.kind == "button" else "link", element.text, clicked)
        elif element.kind == "option":
            yield ScreenThing("option", element.text, clicked, on=element.chosen)
        elif element.kind != "image":
            yield ScreenThing("heading" if element.kind == "heading" else "text", element.text)


def things_of_site(page: SitePage, typed: Mapping[str, str], brief: str) -> Iterator[ScreenThing]:
    """Yield what is on a page of a generated site, and the task above it.

    Args:
        page: the page.
        typed: the values of its fields.
        brief: the task in words.
    """
    yield ScreenThing("text", brief)
    yield ScreenThing("heading", page.title)
    for row in page.rows:
        for piece in row.pieces:
            yield from _of_piece(piece, row.kind == "heading", typed)


def _of_piece(piece: PagePiece, heading: bool, typed: Mapping[str, str]) -> Iterator[ScreenThing]:
    if isinstance(piece, str):
        if piece:
            yield ScreenThing("heading" if heading else "text", piece)
    elif isinstance(piece, (PageLink, PageButton)):
        yield ScreenThing("link" if isinstance(piece, PageLink) else "button", piece.label, f"click[{piece.label}]")
    else:
        yield from _of_field(piece, typed.get(piece.name, piece.value))


def _of_field(field: PageField, value: str) -> Iterator[ScreenThing]:
    notes = "; ".join(filter(None, ("required" if field.required else "", field.note)))
    told = f"{field.label} ({notes})" if notes else field.label
    if field.kind == "checkbox":
        yield ScreenThing("box", told, f"click[{field.label}]", on=bool(value))
    else:
        yield ScreenThing("text", told)
        if field.options:
            for option in field.options:
                yield ScreenThing("option", option, f"select[{field.label}][{option}]", on=option == value)
        else:
            yield ScreenThing("field", value, field=field.label)
    if field.error:
        yield ScreenThing("text", f"! {field.error}")
