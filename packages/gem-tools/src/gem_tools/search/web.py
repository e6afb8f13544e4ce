"""Web search APIs as search engines. Each needs an account with its provider; the key comes from the environment.

===============  ==================================  ==========================================================
name             class                               environment variables
===============  ==================================  ==========================================================
``"brave"``      :class:`BraveSearch`                ``BRAVE_API_KEY``
``"google"``     :class:`GoogleSearch`               ``GOOGLE_API_KEY`` and ``GOOGLE_CSE_ID``
``"serpapi"``    :class:`SerpApiSearch`              ``SERPAPI_API_KEY``
``"tavily"``     :class:`TavilySearch`               ``TAVILY_API_KEY``
===============  ==================================  ==========================================================

A hit's id is the address of the page; its contents are the page's title and the provider's excerpt. The requests and
answers follow the providers' documentation; the tests check this format with a local server in place of
the provider's.
"""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from gem.arguments import choice, integer, real, string
from gem.errors import ArgumentError
from gem_tools.search.connection import SearchAnswer, SearchConnection
from gem_tools.search.engine import SearchHit
from gem_tools.search.errors import SearchError
from gem_tools.search.protocol import score_of

__all__ = ["BraveSearch", "GoogleSearch", "SerpApiSearch", "TavilySearch", "WebSearch", "web_engine"]

_LONGEST_COMPLAINT = 300
_MARKUP = re.compile(r"</?(?:strong|b|em)>")


@dataclass(frozen=True)
class _Call:
    """One request to a provider."""

    method: str = "GET"
    params: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None


class WebSearch:
    """The base class of web searches.

    Args:
        key: the provider's key; None for the key in the environment.
        timeout: seconds that a search may take, all tries included.
        retries: the number of retries of a request that was lost, or rejected by a rate limit.
        endpoint: an address in place of the provider's, for example of a proxy.

    Raises:
        ArgumentError: if the key is missing.
    """

    provider: ClassVar[str]
    key_variable: ClassVar[str]
    address: ClassVar[str]
    most_hits: ClassVar[int]
    """The largest number of results of one request."""
    longest_query: ClassVar[int] = 400
    """The largest number of characters of a query."""

    def __init__(
        self, key: str | None = None, timeout: float = 10.0, retries: int = 2, endpoint: str | None = None
    ) -> None:
        self._key = _secret(self.provider, "key", key, self.key_variable)
        self.timeout = real("timeout", timeout, minimum=0.001, maximum=86_400.0)
        self.retries = integer("retries", retries, minimum=0, maximum=100)
        self.endpoint = self.address if endpoint is None else string("endpoint", endpoint)
        self._connection = SearchConnection(self.provider, self.timeout, self.retries)

    def search(self, query: str, topk: int) -> list[SearchHit]:
        """Return at most ``topk`` pages, the best first.

        Raises:
            SearchError: if the provider cannot be reached, does not answer in time, or refuses.
        """
        query = query[: self.longest_query].encode(errors="replace").decode()
        call = self._call(query, min(topk, self.most_hits))
        content = None if call.body is None else json.dumps(call.body).encode()
        headers = {"accept": "application/json", **call.headers}
        if content is not None:
            headers["content-type"] = "application/json"
        answer = self._connection.send(call.method, self.endpoint, content=content, params=call.params, headers=headers)
        message = self._message(answer)
        try:
            found = self._found(message)
            return [_hit(item, text) for item, text in found if _address(item)][:topk]
        except (LookupError, TypeError, AttributeError) as error:
            raise SearchError(f"{self.provider} answered in an unknown format") from error

    def close(self) -> None:
        """Close the connections; a later search opens new ones."""
        self._connection.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"  # never with the key

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_connection": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._connection = SearchConnection(self.provider, self.timeout, self.retries)

    def _call(self, query: str, topk: int) -> _Call:
        raise NotImplementedError

    def _found(self, message: Any) -> list[tuple[Mapping[str, Any], str]]:
        """Return the results, each with the name of the member that contains its excerpt."""
        raise NotImplementedError

    def _message(self, answer: SearchAnswer) -> Any:
        try:
            message = json.loads(answer.body)
        except (ValueError, RecursionError):
            message = None
        if answer.status == 200 and isinstance(message, dict):
            return message
        said = _complaint(message).replace(self._key, "…")
        raise SearchError(f"{self.provider} answered with status {answer.status}{f': {said}' if said else ''}")


class BraveSearch(WebSearch):
    """The web search of Brave (``GET /res/v1/web/search``)."""

    provider = "Brave Search"
    key_variable = "BRAVE_API_KEY"
    address = "https://api.search.brave.com/res/v1/web/search"
    most_hits = 20
    most_words: ClassVar[int] = 50

    def _call(self, query: str, topk: int) -> _Call:
        query = " ".join(query.split(" ")[: self.most_words])
        params = {"q": query, "count": topk, "text_decorations": "false"}
        return _Call(params=params, headers={"x-subscription-token": self._key})

    def _found(self, message: Any) -> list[tuple[Mapping[str, Any], str]]:
        return [(item, "description") for item in (message.get("web") or {}).get("results") or []]


class GoogleSearch(WebSearch):
    """Google's Custom Search JSON API (``GET /customsearch/v1``).

    Args:
        key: the API key; None for the key in the environment.
        timeout: as for all.
        retries: as for all.
        endpoint: as for all.
        engine_id: the id of the Programmable Search Engine (``cx``); None for ``GOOGLE_CSE_ID``.
    """

    provider = "Google Custom Search"
    key_variable = "GOOGLE_API_KEY"
    address = "https://www.googleapis.com/customsearch/v1"
    most_hits = 10
    longest_query = 2000

    def __init__(
        self,
        key: str | None = None,
        timeout: float = 10.0,
        retries: int = 2,
        endpoint: str | None = None,
        engine_id: str | None = None,
    ) -> None:
        super().__init__(key, timeout, retries, endpoint)
        self._engine_id = _secret(self.provider, "engine_id", engine_id, "GOOGLE_CSE_ID")

    def _call(self, query: str, topk: int) -> _Call:
        # The key goes into a header, so that logs of addresses never contain it.
        return _Call(params={"cx": self._engine_id, "q": query, "num": topk}, headers={"x-goog-api-key": self._key})

    def _found(self, message: Any) -> list[tuple[Mapping[str, Any], str]]:
        return [(item, "snippet") for item in message.get("items") or []]


class SerpApiSearch(WebSearch):
    """Google's results through SerpApi (``GET /search.json``).

    The provider accepts its key only in the address, so a program that logs the addresses of its requests logs the key.
    """

    provider = "SerpApi"
    key_variable = "SERPAPI_API_KEY"
    address = "https://serpapi.com/search.json"
    most_hits = 100
    longest_query = 2000

    def _call(self, query: str, topk: int) -> _Call:
        return _Call(params={"engine": "google", "q": query, "num": topk, "api_key": self._key})

    def _found(self, message: Any) -> list[tuple[Mapping[str, Any], str]]:
        # An answer without results has an "error" text and the status of a success.
        state = (message.get("search_metadata") or {}).get("status", "Success")
        if state == "Error":
            raise SearchError(f"{self.provider} failed: {_complaint(message)}")
        return [(item, "snippet") for item in message.get("organic_results") or []]


class TavilySearch(WebSearch):
    """The search of Tavily (``POST /search``)."""

    provider = "Tavily"
    key_variable = "TAVILY_API_KEY"
    address = "https://api.tavily.com/search"
    most_hits = 20

    def _call(self, query: str, topk: int) -> _Call:
        return _Call(
            "POST", headers={"authorization": f"Bearer {self._key}"}, body={"query": query, "max_results": topk}
        )

    def _found(self, message: Any) -> list[tuple[Mapping[str, Any], str]]:
        return [(item, "content") for item in message["results"]]


_BY_NAME: Mapping[str, type[WebSearch]] = {
    "brave": BraveSearch,
    "google": GoogleSearch,
    "serpapi": SerpApiSearch,
    "tavily": TavilySearch,
}


def web_engine(name: str, timeout: float = 10.0, retries: int = 2) -> WebSearch:
    """Return the web search of a name, with the key in the environment.

    Raises:
        ArgumentError: for any other name, or if there is no key.
    """
    return _BY_NAME[choice("engine", name, _BY_NAME)](timeout=timeout, retries=retries)


def _secret(provider: str, name: str, given: str | None, variable: str) -> str:
    value = os.environ.get(variable) if given is None else given
    if not value:
        raise ArgumentError(f"{provider} needs a {name}; set {variable} in the environment or pass {name}=…")
    if not value.isascii() or not value.isprintable():  # the key goes into a header
        raise ArgumentError(f"the {name} for {provider} contains characters that no key has")
    return string(name, value)


def _address(item: Mapping[str, Any]) -> str:
    address = item.get("link") or item.get("url") or ""
    return address if isinstance(address, str) else ""


def _hit(item: Mapping[str, Any], text: str) -> SearchHit:
    title, excerpt = _plain(item.get("title")), _plain(item.get(text))
    return SearchHit(_address(item), f'"{title}"\n{excerpt}', score_of(item.get("score")))


def _plain(value: object) -> str:
    """Return an excerpt on one line, without the provider's markup of the query's words."""
    return " ".join(html.unescape(_MARKUP.sub("", value)).split()) if isinstance(value, str) else ""


def _complaint(message: object) -> str:
    """Return a provider's error message, in any of their formats."""
    while isinstance(message, Mapping):
        message = next((message[name] for name in ("error", "detail", "message") if message.get(name)), "")
    return " ".join(message.split())[:_LONGEST_COMPLAINT] if isinstance(message, str) else ""
