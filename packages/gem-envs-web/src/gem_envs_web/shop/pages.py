"""WebShop's pages: :class:`ShopView`, where a customer is, and :class:`ShopPage`, what is there.

A page is a list of elements in the order of the original's templates. Each element that can be clicked knows the view
that it leads to, so the text environment and the site over HTTP share all rules of navigation. Peculiarities of the
original are kept: "Next >" leads from the last page to an empty one, options are forgotten on the way back to the
results, and a click on an option whose value occurs in two groups chooses in the last one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

from gem_envs_web.shop.listing import Assortment, ShopProduct

__all__ = ["BUY", "SEARCH", "SUB_PAGES", "PageElement", "ShopPage", "ShopView", "bought_page", "page_of"]

SEARCH = "Search"
BUY = "Buy Now"
SUB_PAGES = ("Description", "Features", "Reviews", "Attributes")
_BACK, _NEXT, _PREVIOUS = "Back to Search", "Next >", "< Prev"
_ON_A_PAGE = 10
_SEPARATOR = " [SEP] "

PageName = Literal["search", "results", "item", "sub", "done"]
ElementKind = Literal["heading", "text", "search", "button", "product", "option", "image"]


class ShopView(NamedTuple):
    """Where a customer is."""

    page: PageName = "search"
    query: str = ""
    number: int = 1
    """The page of the results, from 1."""
    asin: str = ""
    options: tuple[tuple[str, str], ...] = ()
    """The chosen options in the order of the choices."""
    sub_page: str = ""
    """One of :data:`SUB_PAGES`."""


class PageElement(NamedTuple):
    """A piece of a page."""

    kind: ElementKind
    text: str
    leads_to: ShopView | None = None
    group: str = ""
    """The name of an option."""
    chosen: bool = False


class ShopPage(NamedTuple):
    """What a customer sees."""

    view: ShopView
    elements: Sequence[PageElement]

    def clickable(self) -> dict[str, PageElement]:
        """Return what can be clicked by its text in lower case; options take precedence, as in the original."""
        found = {e.text.lower(): e for e in self.elements if e.kind in ("button", "product")}
        found.update((e.text, e) for e in self.elements if e.kind == "option")
        return found

    def text(self) -> str:
        """Return the visible texts, separated by ``[SEP]``."""
        return _SEPARATOR.join(e.text for e in self.elements if e.kind != "image")

    def rich_text(self, seen: Collection[str]) -> str:
        """Return a line for each visible text, with marks around what can be clicked, as in WebShop's ``text_rich``.

        Args:
            seen: the numbers of the products that were opened, which are marked as clicked.
        """
        chosen = [f"You have clicked {e.text}.\n" for e in self.elements if e.chosen]
        return "".join((*reversed(chosen), *(_rich(e, seen) for e in self.elements if e.kind != "image")))


def page_of(shop: Assortment, view: ShopView, instruction: str, show_attributes: bool = False) -> ShopPage:
    """Return the page at a view.

    Args:
        shop: the products.
        view: any view but that of the page after a purchase.
        instruction: the customer's wish, which every page shows.
        show_attributes: whether products have a page of their attributes.

    Raises:
        LookupError: if there is no such product.
    """
    wish = [PageElement("heading", "Instruction:"), PageElement("text", instruction)]
    if view.page == "search":
        top = PageElement("heading", "WebShop")
        return ShopPage(view, [top, *wish, PageElement("search", SEARCH)])
    wish.append(PageElement("button", _BACK, ShopView()))
    if view.page == "results":
        return ShopPage(view, wish + _results(shop, view))
    product = shop.product(view.asin)
    if view.page == "item":
        return ShopPage(view, wish + _item(product, view, show_attributes))
    back = PageElement("button", _PREVIOUS, view._replace(page="item", sub_page=""))
    return ShopPage(view, [*wish, back, *_sub_page(product, view.sub_page)])


def _results(shop: Assortment, view: ShopView) -> list[PageElement]:
    found = shop.search(view.query)
    elements = [PageElement("heading", f"Page {view.number} (Total results: {len(found)})")]
    if view.number > 1:
        elements.append(PageElement("button", _PREVIOUS, view._replace(number=view.number - 1)))
    elements.append(PageElement("button", _NEXT, view._replace(number=view.number + 1)))
    for asin in found[(view.number - 1) * _ON_A_PAGE : view.number * _ON_A_PAGE]:
        product = shop.product(asin)
        elements += (
            PageElement("image", product.image),
            PageElement("product", asin, view._replace(page="item", asin=asin, options=())),
            PageElement("text", product.name),
            PageElement("text", product.price_text),
        )
    return elements


def _item(product: ShopProduct, view: ShopView, show_attributes: bool) -> list[PageElement]:
    chosen = dict(view.options)
    back = view._replace(page="results", asin="", options=())
    elements = [PageElement("button", _PREVIOUS, back), PageElement("image", product.image)]
    for name, values in product.options.items():
        elements.append(PageElement("heading", name))
        for value in values:
            after = view._replace(options=tuple({**chosen, name: value}.items()))
            elements.append(PageElement("option", value, after, name, chosen.get(name) == value))
    elements += (
        PageElement("heading", product.name),
        PageElement("text", f"Price: {product.price_text}"),
        PageElement("text", f"Rating: {product.rating}"),
    )
    pages = SUB_PAGES if show_attributes else SUB_PAGES[:-1]
    elements += [PageElement("button", name, view._replace(page="sub", sub_page=name)) for name in pages]
    elements.append(PageElement("button", BUY, view._replace(page="done")))
    return elements


def _sub_page(product: ShopProduct, name: str) -> list[PageElement]:
    lines: Sequence[str]
    if name == "Description":
        lines = (product.description,)
    elif name == "Features":
        lines = product.bullets
    elif name == "Attributes":
        lines = (*product.attributes, product.category, product.query, product.product_category)
    else:
        lines = [line for title, score, body in product.reviews for line in (f'"{title}"', str(score), body)]
    return [PageElement("text", line.strip()) for line in lines]


def bought_page(view: ShopView, reward: float) -> ShopPage:
    """Return the page after a purchase, which shows the reward as the score."""
    lines = "Thank you for shopping with us!", "Your score (min 0.0, max 1.0)", str(reward)
    return ShopPage(view, [PageElement("heading", lines[0]), *(PageElement("text", line) for line in lines[1:])])


def _rich(element: PageElement, seen: Collection[str]) -> str:
    kind, text = element.kind, element.text
    if kind == "option":
        return f"  [clicked button] {text} [clicked button_]\n" if element.chosen else f"  [button] {text} [button_]\n"
    if kind == "product":
        mark = "clicked button" if text in seen else "button"
        return f"\n[{mark}] {text} [{mark}_]\n"
    return f"[button] {text} [button_]\n" if kind in ("button", "search") else f"{text}\n"
