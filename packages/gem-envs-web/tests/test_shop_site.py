"""The shop as HTML and over HTTP."""

from __future__ import annotations

import random
import shutil
import subprocess
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.errors import ArgumentError
from gem_envs_web.shop.env import ShopEnv
from gem_envs_web.shop.html import address_of, html_of, view_at
from gem_envs_web.shop.pages import PageElement, ShopPage, ShopView, page_of
from gem_envs_web.shop.site import ShopSession, ShopSite

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
texts = st.text(max_size=20)
options = st.dictionaries(texts, texts, max_size=3).map(lambda chosen: tuple(chosen.items()))
views = st.one_of(
    st.tuples(texts, st.integers(1, 9999)).map(lambda found: ShopView("results", *found)),
    st.tuples(texts, texts, options).map(lambda found: ShopView("item", found[0], 3, *found[1:])),
    st.tuples(texts, texts, options).map(lambda found: ShopView("done", found[0], 1, *found[1:])),
    st.tuples(texts, options).map(lambda found: ShopView("sub", "", 1, *found, "Reviews")),
    st.just(ShopView()),
)


class Reader(HTMLParser):
    """The visible texts of a page, its links, and where its form for a purchase leads."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.links: dict[str, str] = {}
        self.buying: str | None = None
        self._hidden = 0
        self._link: str | None = None
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self._hidden += tag in ("style", "title")
        if tag == "a":
            self._link = found["href"]
        if tag == "form" and found["method"] == "post":
            self.buying = found["action"]

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("style", "title")
        if tag == "a":
            self._link = None

    def handle_data(self, data: str) -> None:
        if data.strip() and not self._hidden:
            self.texts.append(data.strip())
            if self._link is not None:
                self.links[data.strip()] = self._link


@given(view=views)
def test_an_address_leads_back_to_its_view(view: ShopView) -> None:
    """Whatever a query or an option contains."""
    assert view_at(address_of(view)) == view


@pytest.mark.parametrize(
    "address",
    ["", "home", "results?number=0x", "results?number=-1", "sub?asin=x", "sub?sub_page=Cart", "item?sub_page=Reviews"],
)
def test_other_addresses_are_refused(address: str) -> None:
    """With an error that names them."""
    with pytest.raises(ArgumentError, match="the shop has no"):
        view_at(address)


@given(name=st.text(min_size=1, max_size=30))
def test_no_text_becomes_markup(name: str) -> None:
    """A reader of the HTML finds each text as it is."""
    name = " ".join(name.replace("\x00", "").split())
    view = ShopView("item", asin="x", options=((name, name),))
    elements = [PageElement("heading", name), PageElement("option", name, view, name, True)]
    reader = Reader(html_of(ShopPage(view, elements)))
    assert reader.texts == ([name, name] if name else [])
    assert not name or view_at(reader.links[name]) == view


@pytest.fixture(scope="module")
def env() -> ShopEnv:
    """A small shop."""
    found = gem.make("web:Shop-v0-easy", products=300)
    assert isinstance(found, ShopEnv)
    return found


def fetched(address: str, data: bytes | None = None) -> str:
    with urllib.request.urlopen(address, data, timeout=60) as answer:
        content: bytes = answer.read()
    return content.decode()


def bought_by_links(site: ShopSite, session: ShopSession, env: ShopEnv) -> list[str]:
    """Find the product of the goal, follow links to its options, and buy it; return the texts of the last page."""
    product = env.shop.product(session.goal.asin)
    base = session.address.rpartition("/")[0]
    page = Reader(fetched(f"{base}/results?query={'+'.join(product.name.split())}"))
    for link in (product.asin, *session.goal.options, "Features", "< Prev"):
        page = Reader(fetched(site.address + page.links[link]))
    assert page.buying is not None
    return Reader(fetched(site.address + page.buying, b"")).texts


def test_the_pages_over_http_are_those_of_the_text(env: ShopEnv) -> None:
    """On a random walk: the visible texts of the HTML are the parts of the text observation."""
    rng = random.Random(5)
    with ShopSite(env.shop) as site:
        session = site.open(env.shop.goal(5))
        address = session.address
        view = ShopView("results", "lamp")
        for _ in range(25):
            page = page_of(env.shop, view, session.goal.instruction)
            shown = Reader(fetched(address.rpartition("/")[0] + "/" + address_of(view)))
            assert " [SEP] ".join(shown.texts) == page.text()
            leads = [e.leads_to for e in page.elements if e.leads_to is not None and e.leads_to.page != "done"]
            view = rng.choice(leads or [ShopView("results", "oil")])


def test_a_purchase_over_http_earns_the_reward(env: ShopEnv) -> None:
    """Once: a second one changes nothing."""
    with ShopSite(env.shop) as site:
        session = site.open(env.shop.goal(9))
        assert session.purchase is None
        assert bought_by_links(site, session, env)[-1] == "1.0"
        assert session.purchase is not None
        assert session.purchase.total == 1.0
        other = env.shop.search("oil")[0]
        base = session.address.rpartition("/")[0]
        assert Reader(fetched(f"{base}/done?asin={other}", b"")).texts[-1] == "1.0"
        assert session.bought is not None
        assert session.bought.asin == session.goal.asin


@pytest.mark.parametrize(
    ("path", "data", "status"),
    [
        ("/unknown/search", None, 404),
        ("/", None, 404),
        ("{base}/item?asin=B0ZZZZZZZZ", None, 404),
        ("{base}/nowhere", None, 404),
        ("{base}/done?asin=B000000000", None, 405),
        ("{base}/search", b"", 405),
    ],
)
def test_wrong_requests_are_answered(env: ShopEnv, path: str, data: bytes | None, status: int) -> None:
    """With a status; a purchase needs a POST."""
    with ShopSite(env.shop) as site:
        session = site.open(env.shop.goal(1))
        base = session.address.removeprefix(site.address).rpartition("/")[0]
        with pytest.raises(urllib.error.HTTPError) as caught:
            fetched(site.address + path.format(base=base)) if data is None else fetched(
                site.address + path.format(base=base), data
            )
        caught.value.close()
        assert caught.value.code == status
        assert session.purchase is None


def test_an_option_that_is_not_offered_does_not_count(env: ShopEnv) -> None:
    """The address of a purchase cannot claim one."""
    with ShopSite(env.shop) as site:
        session = site.open(env.shop.goal(3))
        fetched(
            f"{session.address.rpartition('/')[0]}/done?asin={session.goal.asin}&option:x={session.goal.options[0]}",
            b"",
        )
        assert session.purchase is not None
        assert session.purchase.options == 0


def test_sixteen_customers_buy_at_once(env: ShopEnv) -> None:
    """Each its own goal."""
    with ShopSite(env.shop) as site, ThreadPoolExecutor(16) as pool:
        sessions = [site.open(env.shop.goal(number)) for number in range(16)]
        last = list(pool.map(lambda session: bought_by_links(site, session, env)[-1], sessions))
    assert last == ["1.0"] * 16


def test_the_observation_can_be_html(env: ShopEnv) -> None:
    """For agents that read it; the actions stay the same."""
    env = gem.make("web:Shop-v0-easy", products=300, observation="html")  # type: ignore[assignment]
    observation, _ = env.reset(seed=1)
    assert 'id="search_input"' in observation
    observation, *_ = env.step("search[lamp]")
    assert 'class="product-link"' in observation


@pytest.mark.slow(reason="starts a browser")
@pytest.mark.skipif(BROWSER is None, reason="opens a page in a browser: install chromium")
def test_a_browser_shows_the_shop(env: ShopEnv, tmp_path: Path) -> None:
    """A headless Chromium reads the results, and paints them."""
    assert BROWSER is not None
    with ShopSite(env.shop) as site:
        session = site.open(env.shop.goal(2))
        address = f"{session.address.rpartition('/')[0]}/results?query=lamp"
        picture = tmp_path / "shop.png"
        command = [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        command += [f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", f"--screenshot={picture}", address]
        shown = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
        page = page_of(env.shop, ShopView("results", "lamp"), session.goal.instruction)
    assert " [SEP] ".join(Reader(shown).texts) == page.text()
    assert picture.read_bytes().startswith(b"\x89PNG")
