"""The shop over HTTP, for agents with a browser: :class:`ShopSite`.

::

    env = gem.make("web:Shop-v0")
    with ShopSite(env.shop) as site:
        session = site.open(env.shop.goal(7))
        ...                              # an agent browses session.address
        session.purchase                 # the reward, once something was bought

The address of a page says where the customer is, so "back", reloading and several tabs work as on any site. The server
keeps the first purchase of each session. It listens on the loopback interface, and the address of a session cannot be
guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from gem_envs_web.shop.html import html_of, view_at
from gem_envs_web.shop.listing import Assortment, NounTagger, ShopGoal
from gem_envs_web.shop.pages import ShopPage, ShopView, bought_page, page_of
from gem_envs_web.shop.reward import PurchaseReward, purchase_reward
from gem_envs_web.sites.loopback import EpisodeServer, ServedEpisode, WebResponse

__all__ = ["ShopSession", "ShopSite"]


class ShopSession(ServedEpisode):
    """A customer of a shop with a wish.

    Args:
        shop: the products.
        goal: the wish.
        show_attributes: whether products have the page of their attributes.
        nouns: the tagger of the reward.
    """

    start = "search"

    def __init__(self, shop: Assortment, goal: ShopGoal, show_attributes: bool, nouns: NounTagger) -> None:
        super().__init__()
        self.goal = goal
        self.purchase: PurchaseReward | None = None
        """The reward of the first purchase and its parts; None before it."""
        self.bought: ShopView | None = None
        """What was bought, with its options."""
        self._shop, self._show_attributes, self._nouns = shop, show_attributes, nouns

    def respond(self, address: str, form: Mapping[str, str] | None, base: str) -> WebResponse:
        view = view_at(address)
        if (view.page == "done") is (form is None):
            return WebResponse(HTTPStatus.METHOD_NOT_ALLOWED, "only Buy Now is posted\n")
        page = self._page(view) if form is None else self._buy(view)
        return WebResponse(HTTPStatus.OK, html_of(page, base))

    def result(self) -> float | None:
        return None if self.purchase is None else self.purchase.total

    def _page(self, view: ShopView) -> ShopPage:
        return page_of(self._shop, view, self.goal.instruction, self._show_attributes)

    def _buy(self, view: ShopView) -> ShopPage:
        offered = self._shop.product(view.asin).options
        chosen = {name: value for name, value in view.options if value in offered.get(name, ())}
        if self.purchase is None:
            self.purchase = purchase_reward(self._shop.product(view.asin), self.goal, chosen, self._nouns)
            self.bought = view
        return bought_page(self.bought or view, self.purchase.total)


class ShopSite(EpisodeServer):
    """A web server with the pages of a shop; a context manager.

    Args:
        shop: the products.
        show_attributes: whether products have the page of their attributes.
        noun_tagger: the tagger of the reward; None for the shop's own.
        port: the port on the loopback interface; 0 for any free one.
    """

    def __init__(
        self,
        shop: Assortment,
        show_attributes: bool = False,
        noun_tagger: NounTagger | None = None,
        port: int = 0,
    ) -> None:
        self._shop = shop
        self._show_attributes = show_attributes
        self._nouns = noun_tagger or shop.nouns
        super().__init__(port)

    def open(self, goal: ShopGoal) -> ShopSession:
        """Begin a session for a wish."""
        session = ShopSession(self._shop, goal, self._show_attributes, self._nouns)
        self.serve(session)
        return session
