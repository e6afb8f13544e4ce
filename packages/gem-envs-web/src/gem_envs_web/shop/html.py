"""The pages of the shop as HTML: :func:`html_of`, and the addresses of views."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import cast
from urllib.parse import parse_qsl, urlencode

from gem.errors import ArgumentError
from gem_envs_web.shop.pages import BUY, SUB_PAGES, PageElement, PageName, ShopPage, ShopView

__all__ = ["address_of", "html_of", "view_at"]

_PAGES = ("search", "results", "item", "sub", "done")
_OPTION = "option:"
_STYLE = (
    "body{font-family:sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
    "a,button{margin:.2em .4em .2em 0}a.btn,button{display:inline-block;padding:.3em .7em;border:1px solid #888;"
    "border-radius:.3em;background:#f4f4f4;color:#000;text-decoration:none;font-size:1em}"
    "a.option[aria-checked=true]{background:#cde;border-color:#036}img{max-width:8em;max-height:8em}"
)


def address_of(view: ShopView) -> str:
    """Return the address of a view below that of its session: a name and a query string."""
    fields = [("query", view.query), ("number", str(view.number)), ("asin", view.asin), ("sub_page", view.sub_page)]
    plain = ShopView()._asdict()
    query = [(name, value) for name, value in fields if value != str(plain[name])]
    query += [(f"{_OPTION}{name}", value) for name, value in view.options]
    return f"{view.page}?{urlencode(query)}" if query else view.page


def view_at(address: str) -> ShopView:
    """Undo :func:`address_of`.

    Raises:
        ArgumentError: if no view has such an address.
    """
    page, _, query = address.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    fields = dict(pairs)
    options = tuple((name.removeprefix(_OPTION), value) for name, value in pairs if name.startswith(_OPTION))
    number, sub_page = fields.get("number", "1"), fields.get("sub_page", "")
    if page not in _PAGES or not (number.isascii() and number.isdigit() and 0 < len(number) < 5):
        raise ArgumentError(f"the shop has no page {address!r:.200}")
    if (page == "sub") != (sub_page in SUB_PAGES) or (page != "sub" and sub_page):
        raise ArgumentError(f"the shop has no sub-page {sub_page!r:.80}")
    return ShopView(
        cast(PageName, page), fields.get("query", ""), int(number), fields.get("asin", ""), options, sub_page
    )


def html_of(page: ShopPage, base: str = "", address: Callable[[ShopView], str] = address_of) -> str:
    """Return a page as HTML without scripts. All texts of a page stand in it, in their order.

    Args:
        page: the page.
        base: what stands before each address.
        address: returns the address of a view.
    """
    body = "\n".join(_element(element, base, address) for element in page.elements)
    title = escape(page.view.query or "WebShop")
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _element(element: PageElement, base: str, address: Callable[[ShopView], str]) -> str:
    text = escape(element.text)
    if element.kind == "search":
        field = '<input id="search_input" type="search" name="query" aria-label="Search" required>'
        action = escape(f"{base}results")
        return f'<form method="get" action="{action}">{field} <button class="btn" type="submit">{text}</button></form>'
    if element.kind == "image":
        return f'<img src="{text}" alt="">' if element.text else ""
    if element.leads_to is None:
        return f"<h3>{text}</h3>" if element.kind == "heading" else f"<p>{text}</p>"
    target = escape(base + address(element.leads_to))
    if element.text == BUY:  # a purchase changes something, so no link leads to it
        return (
            f'<form method="post" action="{target}"><button class="btn purchase" type="submit">{text}</button></form>'
        )
    if element.kind == "option":
        checked = str(element.chosen).lower()
        group = escape(f"{element.group}: {element.text}")
        return f'<a class="option btn" role="radio" aria-checked="{checked}" title="{group}" href="{target}">{text}</a>'
    return f'<a class="{"product-link" if element.kind == "product" else "btn"}" href="{target}">{text}</a>'
