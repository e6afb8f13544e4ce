"""Live wikis for WikiGame: MediaWiki sites, and ZIM files served by kiwix-serve.

They need the extra ``wiki`` (``pip install 'gem-envs-games[wiki]'``) and a running server. Their draws are a
function of the game's seed as long as the wiki does not change. An unreachable server or an unexpected answer raises
:class:`BackendError`.
"""

from __future__ import annotations

import json
import string
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from html.parser import HTMLParser
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple
from urllib.parse import quote, unquote, urljoin, urlsplit

from gem.arguments import boolean, check_names, integer, real
from gem.arguments import string as text_argument
from gem.discovery.official import install_line
from gem.errors import ArgumentError, ArgumentTypeError, GemError, MissingPluginError
from gem_envs_games.wiki_graph import LONGEST_TITLE, Page, title_key

if TYPE_CHECKING:
    import httpx2

__all__ = ["BackendError", "Kiwix", "LiveWiki", "MediaWiki"]

_ATTEMPTS_TO_DRAW = 20
_CHOICES_TO_DRAW = 50
_MOST_LINK_REQUESTS = 10  # of 500 links each
_MOST_BYTES = 10_000_000
_LONGEST_TEXT = 10_000
_LONGEST_WAIT = 30.0
_CACHED_PAGES = 1000
_TRY_AGAIN = frozenset((429, 500, 502, 503, 504))
_OTHER_FOLDERS = ("-/", "I/", "M/", "X/", "_")  # of a ZIM file, without articles
_FILES = (
    ".css",
    ".gif",
    ".jpeg",
    ".jpg",
    ".js",
    ".mp3",
    ".mp4",
    ".oga",
    ".ogg",
    ".pdf",
    ".png",
    ".svg",
    ".webm",
    ".webp",
)


class BackendError(GemError, OSError):
    """A wiki's server cannot be reached or gives an unexpected answer."""


_Params = Mapping[str, str | int]


class _Answer(NamedTuple):
    status: int
    url: str
    """The answer's address after all redirections."""
    body: bytes
    retry_after: str


class LiveWiki(ABC):
    """A wiki behind an HTTP server.

    Args:
        url: address of the server.
        query_delay_ms: least time between two requests, in milliseconds; it spares the server.
        max_query_attempts: maximum number of attempts at a request that fails without a connection or because
            the server is busy. The time between two attempts doubles each time.
        query_use_cache: keep the last 1,000 pages in memory instead of asking for them again.
        timeout_s: longest time to wait for a connection or for the next part of an answer, in seconds.
    """

    names: ClassVar[tuple[str, ...]] = ("url", "query_delay_ms", "max_query_attempts", "query_use_cache", "timeout_s")
    """The arguments of the constructor."""

    def __init__(
        self,
        url: str,
        query_delay_ms: int = 25,
        max_query_attempts: int = 5,
        query_use_cache: bool = False,
        timeout_s: float = 10,
    ) -> None:
        self.url = text_argument("url", url)
        try:
            parts = urlsplit(url)
        except ValueError as error:
            raise ArgumentError(f"url must be an address, got {url!r}: {error}") from error
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ArgumentError(f"url must begin with http:// or https:// and a host, got {url!r}")
        self._delay = integer("query_delay_ms", query_delay_ms, minimum=0, maximum=60_000) / 1000
        self._attempts = integer("max_query_attempts", max_query_attempts, minimum=1, maximum=20)
        self._timeout = real("timeout_s", timeout_s, minimum=0.01, maximum=600)
        self._cache: dict[str, Page] | None = {} if boolean("query_use_cache", query_use_cache) else None
        self._client: httpx2.Client | None = None
        self._last_request = float("-inf")
        _httpx()  # a missing library must show now, not at the first reset

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_client": None, "_last_request": float("-inf")}

    @classmethod
    def from_kwargs(cls, kwargs: Mapping[str, Any]) -> LiveWiki:
        """Make one from WikiGame's ``trawler_kwargs``.

        Raises:
            ArgumentError, ArgumentTypeError: for unknown names and impossible values.
            MissingPluginError: if the extra is not installed.
        """
        if not isinstance(kwargs, Mapping) or not all(isinstance(name, str) for name in kwargs):
            raise ArgumentTypeError(f"trawler_kwargs must be a dict of names and values, got {type(kwargs).__name__}")
        check_names("trawler_kwargs", kwargs, cls.names)
        return cls(**kwargs)

    def draw_pair(self, rng: Random, max_turns: int) -> tuple[Page, Page]:
        """Draw two pages; their distance in links is unknown."""
        pages: list[Page] = []
        for _ in range(_ATTEMPTS_TO_DRAW):
            page = self.page(self._draw_title(rng))
            if page.links and all(title_key(page.title) != title_key(other.title) for other in pages):
                pages.append(page)
            if len(pages) == 2:
                return pages[0], pages[1]
        raise BackendError(f"{self.url}: found no two pages with links in {_ATTEMPTS_TO_DRAW} attempts")

    def page(self, title: str) -> Page:
        key = title_key(title)
        if self._cache is not None and key in self._cache:
            return self._cache[key]
        page = self._fetch(title)
        if self._cache is not None:
            if len(self._cache) >= _CACHED_PAGES:
                del self._cache[next(iter(self._cache))]
            self._cache[key] = page
        return page

    def has(self, page: Page) -> bool:
        return True

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    @abstractmethod
    def _fetch(self, title: str) -> Page:
        """Ask the server for a page; without links if there is none."""

    @abstractmethod
    def _draw_title(self, rng: Random) -> str:
        """Draw the title of a page."""

    def _get(self, url: str, params: _Params) -> _Answer | None:
        """Return an answer, or None if there is no such page; repeat the request where that can help."""
        problem = ""
        for attempt in range(self._attempts):
            self._wait(self._delay * 2**attempt)
            try:
                answer = self._request(url, params)
            except (_httpx().HTTPError, _httpx().InvalidURL) as error:
                problem = str(error) or type(error).__name__
                continue
            if answer.status == 404:
                return None
            if answer.status < 400:
                return answer
            problem = f"status {answer.status}"
            if answer.status not in _TRY_AGAIN:
                break
            advice = answer.retry_after[:9]
            if advice.isascii() and advice.isdigit() and attempt + 1 < self._attempts:
                self._wait(min(float(advice), _LONGEST_WAIT))
        raise BackendError(f"{url}: {problem}")

    def _request(self, url: str, params: _Params) -> _Answer:
        if self._client is None:
            self._client = _httpx().Client(
                headers={"User-Agent": "gem-envs-games (WikiGame)"}, timeout=self._timeout, follow_redirects=True
            )
        with self._client.stream("GET", url, params=dict(params) or None) as response:
            parts, size = [], 0
            for part in response.iter_bytes():
                size += len(part)
                if size > _MOST_BYTES:
                    raise BackendError(f"{url}: answer of more than {_MOST_BYTES} bytes")
                parts.append(part)
            retry_after = response.headers.get("Retry-After", "")
            return _Answer(response.status_code, str(response.url), b"".join(parts), retry_after)

    def _get_json(self, url: str, params: _Params) -> Any:
        answer = self._get(url, params)
        if answer is None:
            raise BackendError(f"{url}: status 404")
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError) as error:
            raise BackendError(f"{url}: the answer is no JSON") from error

    def _wait(self, seconds: float) -> None:
        """Wait until the least time since the last request has passed."""
        time.sleep(max(0.0, self._last_request + seconds - time.monotonic()))
        self._last_request = time.monotonic()


class MediaWiki(LiveWiki):
    """A MediaWiki site, through its action API (https://www.mediawiki.org/wiki/API:Main_page).

    Args:
        url: address of ``api.php``.
        **options: see :class:`LiveWiki`.
    """

    def __init__(self, url: str = "https://en.wikipedia.org/w/api.php", **options: Any) -> None:
        super().__init__(url, **options)

    def _fetch(self, title: str) -> Page:
        about: _Params = {"titles": title, "redirects": 1}
        try:
            # The extracts come from an extension; without it, pages just have no text.
            found = self._query({**about, "prop": "extracts", "exintro": 1, "explaintext": 1})["query"]["pages"][0]
            if "missing" in found or "invalid" in found:
                return Page(title, "", ())
            own = str(found["title"])
            return Page(own, _one_line(str(found.get("extract") or "")), self._links(about, own))
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            raise BackendError(f"{self.url}: not the answer of a MediaWiki: {error!r}") from error

    def _links(self, about: _Params, own: str) -> tuple[str, ...]:
        """Return the titles of existing articles linked to, in alphabetical order."""
        links: dict[str, None] = {}
        request = {**about, "generator": "links", "gplnamespace": 0, "gpllimit": "max"}
        more: dict[str, Any] = {}
        for _ in range(_MOST_LINK_REQUESTS):
            answer = self._query({**request, **more})
            for page in answer.get("query", {}).get("pages", ()):
                title = str(page["title"])
                if "missing" not in page and title != own and _is_title(title):
                    links[title] = None
            more = answer.get("continue")
            if not more:
                break
        return tuple(sorted(links))

    def _draw_title(self, rng: Random) -> str:
        """Draw one of the articles that follow two drawn letters in the alphabet."""
        request = {"list": "allpages", "apnamespace": 0, "apfilterredir": "nonredirects", "aplimit": _CHOICES_TO_DRAW}
        letters = _draw_letters(rng)
        try:
            for begin in ({"apfrom": letters}, {}):
                titles = [str(page["title"]) for page in self._query({**request, **begin})["query"]["allpages"]]
                if titles:
                    return rng.choice(titles)
        except (KeyError, TypeError, AttributeError) as error:
            raise BackendError(f"{self.url}: not the answer of a MediaWiki: {error!r}") from error
        raise BackendError(f"{self.url}: the wiki has no articles")

    def _query(self, params: Mapping[str, Any]) -> Any:
        answer = self._get_json(self.url, {"action": "query", "format": "json", "formatversion": 2, **params})
        if "error" in answer:
            raise BackendError(f"{self.url}: {answer['error'].get('info', answer['error'])}")
        return answer


class Kiwix(LiveWiki):
    """A ZIM file served by kiwix-serve, version 3.5 or later (https://wiki.kiwix.org/wiki/Kiwix-serve).

    Args:
        zimfile: name of the ZIM file on the server, as in its addresses.
        url: address of the server, with its prefix if it has one.
        **options: see :class:`LiveWiki`.
    """

    names = ("zimfile", *LiveWiki.names)

    def __init__(self, zimfile: str = "", url: str = "http://localhost:8080", **options: Any) -> None:
        if not zimfile:
            raise ArgumentError("trawler_kwargs of backend 'kiwix' must have 'zimfile', the name of a ZIM file")
        self.zimfile = text_argument("zimfile", zimfile)
        super().__init__(url, **options)
        self._content = f"{self.url.rstrip('/')}/content/{quote(zimfile)}/"

    def _fetch(self, title: str) -> Page:
        path = quote(title.replace(" ", "_"))
        # ZIM files of the older kind keep their articles in a folder A.
        for address in (self._content + path, f"{self._content}A/{path}"):
            answer = self._get(address, {})
            if answer is not None:
                return self._read(title, answer)
        return Page(title, "", ())

    def _read(self, title: str, answer: _Answer) -> Page:
        reader = _ArticleReader()
        reader.feed(answer.body.decode("utf-8", "replace"))
        own = self._title_of(answer.url, "") or title
        linked = (self._title_of(answer.url, href) for href in reader.hrefs)
        links = dict.fromkeys(link for link in linked if link is not None and link != own)
        return Page(own, reader.text(), tuple(links))

    def _title_of(self, address: str, href: str) -> str | None:
        """Return the title of the article that a link in the page at ``address`` leads to, or None."""
        try:
            target = urljoin(address, href).partition("#")[0].partition("?")[0]
        except ValueError:
            return None
        if not target.startswith(self._content):
            return None
        path = unquote(target[len(self._content) :]).removeprefix("A/")
        if path.startswith(_OTHER_FOLDERS) or path.lower().endswith(_FILES):
            return None
        title = path.replace("_", " ").strip()
        return title if _is_title(title) else None

    def _draw_title(self, rng: Random) -> str:
        """Draw one of the articles that the server suggests for two drawn letters."""
        for _ in range(_ATTEMPTS_TO_DRAW):
            request: _Params = {"content": self.zimfile, "term": _draw_letters(rng), "count": _CHOICES_TO_DRAW}
            answer = self._get_json(f"{self.url.rstrip('/')}/suggest", request)
            try:
                paths = [str(item["path"]) for item in answer if item["kind"] == "path"]
            except (KeyError, TypeError) as error:
                raise BackendError(f"{self.url}: not the answer of a kiwix-serve: {error!r}") from error
            if paths:
                return rng.choice(paths).removeprefix("A/").replace("_", " ")
        raise BackendError(f"{self.url}: {self.zimfile!r} has no articles that could be drawn")


class _ArticleReader(HTMLParser):
    """Collects the links of an article and the text of its paragraphs."""

    _SKIPPED = frozenset(("script", "style", "sup", "table", "figure"))

    def __init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []
        self._paragraph = self._skipped = 0
        self._texts: list[str] = []
        self._length = 0

    def text(self) -> str:
        return _one_line("".join(self._texts))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.hrefs += [value for name, value in attrs if name == "href" and value]
        elif tag == "p":
            self._paragraph = 1
        elif tag in self._SKIPPED:
            self._skipped += 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "p":
            self._paragraph = 0
            self._texts.append(" ")
        elif tag in self._SKIPPED and self._skipped:
            self._skipped -= 1

    def handle_data(self, data: str) -> None:
        if self._paragraph and not self._skipped and self._length < _LONGEST_TEXT:
            self._texts.append(data)
            self._length += len(data)


def _one_line(text: str) -> str:
    # Half a surrogate pair, which JSON can hold, cannot be printed or sent.
    return " ".join(text[:_LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8").split())


def _is_title(text: str) -> bool:
    return 0 < len(text) <= LONGEST_TITLE and text.isprintable()


def _draw_letters(rng: Random) -> str:
    return rng.choice(string.ascii_uppercase) + rng.choice(string.ascii_lowercase)


def _httpx() -> Any:
    try:
        import httpx2
    except ImportError:
        line = install_line("'gem-envs-games[wiki]'")
        raise MissingPluginError(f"live wikis need the package httpx2; run: {line}") from None
    return httpx2
