"""The addresses of a model server, from a base URL in any of the forms that people type."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from gem.arguments import string
from gem.errors import ArgumentError

__all__ = ["ServerAddress"]

_ENDPOINTS = re.compile(r"/(?:chat/completions|completions?|messages|responses|generate|models|chat|embeddings)$")
_VERSION = re.compile(r"/v\d+\w*(?:/|$)")


@dataclass(frozen=True)
class ServerAddress:
    """Where a server's endpoints are.

    Attributes:
        root: the address of the server itself, for example ``http://localhost:8000``; ``/generate`` is below it.
        api: the address below which ``/chat/completions`` is, for example ``http://localhost:8000/v1``.
        query: what follows each address, for example ``?api-version=1``; may hold a secret.
        authorization: the header for a user name and password in the URL; None without them.
        password: that password; empty without one.
    """

    root: str
    api: str
    query: str = ""
    authorization: str | None = None
    password: str = ""

    def __repr__(self) -> str:
        return f"ServerAddress({self.api!r})"

    @classmethod
    def parse(cls, url: str) -> ServerAddress:
        """Read a base URL: with or without ``/v1``, a slash at the end, an endpoint's path, or the scheme.

        Raises:
            ArgumentError: if it is no address of an HTTP server.
        """
        from yarl import URL

        text = string("base_url", url).strip()
        if "://" not in text:
            text = f"http://{text}"
        try:
            parts = urlsplit(text)
            host, port = parts.hostname, parts.port
            URL(text)  # the library that connects is stricter about hosts
        except ValueError as error:
            raise ArgumentError(f"base_url is no URL: {error}") from error
        if parts.scheme not in ("http", "https") or not host or re.search(r"[\s\x00-\x1f]", text):
            raise ArgumentError(f"base_url must look like 'http://localhost:8000/v1', got {_shown(text)!r}")
        path = parts.path.rstrip("/")
        shorter = None
        while shorter != path:
            shorter, path = path, _ENDPOINTS.sub("", path).rstrip("/")
        shown_host = f"[{host}]" if ":" in host else host
        origin = f"{parts.scheme}://{shown_host}{'' if port is None else f':{port}'}"
        version = _VERSION.search(path)
        authorization = None
        if parts.username is not None or parts.password is not None:
            pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
            authorization = f"Basic {b64encode(pair.encode()).decode()}"
        return cls(
            root=origin + (path if version is None else path[: version.start()]),
            api=origin + (path if version is not None else f"{path}/v1"),
            query=f"?{parts.query}" if parts.query else "",
            authorization=authorization,
            password=unquote(parts.password or ""),
        )


def _shown(text: str) -> str:
    """Return a URL without credentials and query."""
    return re.sub(r"//[^/@]*@", "//", text).partition("?")[0][:200]
