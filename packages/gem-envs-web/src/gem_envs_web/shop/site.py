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

import secrets
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from gem.errors import ArgumentError
from gem_envs_web.shop.html import html_of, view_at
from gem_envs_web.shop.listing import Assortment, NounTagger, ShopGoal
from gem_envs_web.shop.pages import ShopPage, ShopView, bought_page, page_of
from gem_envs_web.shop.reward import PurchaseReward, purchase_reward

__all__ = ["ShopSession", "ShopSite"]

_SECONDS = 30
"""How long a client may be silent."""


class ShopSession:
    """A customer of a site with a wish.

    Args:
        address: the address of the first page.
        goal: the wish.
    """

    def __init__(self, address: str, goal: ShopGoal) -> None:
        self.address = address
        self.goal = goal
        self.purchase: PurchaseReward | None = None
        """The reward of the first purchase and its parts; None before it."""
        self.bought: ShopView | None = None
        """What was bought, with its options."""


class ShopSite:
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
        self._sessions: dict[str, ShopSession] = {}
        self._buying = threading.Lock()
        self._server = _Server(("127.0.0.1", port), self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="gem-shop-site", daemon=True
        )
        self._thread.start()

    @property
    def address(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def open(self, goal: ShopGoal) -> ShopSession:
        """Begin a session for a wish."""
        key = secrets.token_urlsafe(12)
        session = self._sessions[key] = ShopSession(f"{self.address}/{key}/search", goal)
        return session

    def close(self) -> None:
        """End the server; a second call does nothing."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> ShopSite:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def answer(self, path: str, buys: bool) -> tuple[HTTPStatus, str]:
        """Return status and HTML for the path of a request, ``/SESSION/PAGE?…``; ``buys`` says that it is a POST."""
        _, key, address = (*path.split("/", 2), "", "")[:3]
        session = self._sessions.get(key)
        if session is None:
            return HTTPStatus.NOT_FOUND, "there is no such session\n"
        try:
            view = view_at(address or "search")
            if (view.page == "done") is not buys:
                return HTTPStatus.METHOD_NOT_ALLOWED, "only Buy Now is posted\n"
            page = self._buy(session, view) if buys else self._page(session, view)
        except (ArgumentError, LookupError) as error:
            return HTTPStatus.NOT_FOUND, f"{error}\n"
        return HTTPStatus.OK, html_of(page, f"/{key}/")

    def _page(self, session: ShopSession, view: ShopView) -> ShopPage:
        return page_of(self._shop, view, session.goal.instruction, self._show_attributes)

    def _buy(self, session: ShopSession, view: ShopView) -> ShopPage:
        offered = self._shop.product(view.asin).options
        chosen = {name: value for name, value in view.options if value in offered.get(name, ())}
        with self._buying:
            if session.purchase is None:
                session.purchase = purchase_reward(self._shop.product(view.asin), session.goal, chosen, self._nouns)
                session.bought = view
            return bought_page(session.bought or view, session.purchase.total)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], site: ShopSite) -> None:
        self.site = site
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    timeout = _SECONDS
    server: _Server

    def do_GET(self) -> None:
        self._answer(buys=False)

    def do_POST(self) -> None:
        self._answer(buys=True)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name of the base class)
        """Print nothing."""

    def _answer(self, buys: bool) -> None:
        status, text = self.server.site.answer(self.path, buys)
        body = text.encode()
        self.send_response(status)
        kind = "text/html" if status is HTTPStatus.OK else "text/plain"
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)
