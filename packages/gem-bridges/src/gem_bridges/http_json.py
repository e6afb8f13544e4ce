"""JSON over HTTP with limits: a server may be gone, slow, endless or wrong, and the error says which."""

from __future__ import annotations

import json
import os
from time import monotonic
from typing import TYPE_CHECKING, Any

from gem.arguments import string
from gem.errors import ArgumentError
from gem_bridges.errors import BridgeError

if TYPE_CHECKING:
    import httpx2

__all__ = ["JsonClient", "RefusedError", "authorization", "parse_json"]

_SHOWN = 300  # characters of an answer in a message


class RefusedError(BridgeError):
    """The server understood a request and refused it: 4xx.

    Attributes:
        status: the HTTP status.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class JsonClient:
    """Requests to one server, over connections that stay open, with the cookies that it sets until :meth:`close`."""

    def __init__(self, base: str, timeout: float, max_bytes: int, headers: dict[str, str] | None = None) -> None:
        """Open no connection yet.

        Args:
            base: the address that all paths are appended to.
            timeout: seconds for a whole request and its answer.
            max_bytes: size of the largest answer that is read.
            headers: sent with every request.
        """
        self.base = base
        self._timeout = timeout
        self._max_bytes = max_bytes
        self._headers = headers or {}
        self._client: httpx2.Client | None = None

    def request(self, method: str, path: str, body: object = None, query: dict[str, Any] | None = None) -> Any:
        """Return the JSON of an answer.

        Raises:
            RefusedError: if the status is 4xx.
            BridgeError: if the server cannot be reached, takes too long, answers with another status, with more bytes
                than allowed, or with anything but JSON.
        """
        status, content = self.fetch(method, path, body, query)
        url = f"{self.base}{path}"
        shown = content[:_SHOWN].decode("utf-8", "replace")
        if 400 <= status < 500:
            raise RefusedError(f"{method} {url} was refused with status {status}: {shown}", status)
        if status != 200:
            raise BridgeError(f"{method} {url} answered with status {status}: {shown}")
        return parse_json(content, f"{method} {url}")

    def fetch(
        self, method: str, path: str, body: object = None, query: dict[str, Any] | None = None
    ) -> tuple[int, bytes]:
        """Return the status and the content of an answer, whatever they are.

        Raises:
            BridgeError: if the server cannot be reached, takes too long, or answers with more bytes than allowed.
        """
        import httpx2

        if self._client is None:
            self._client = httpx2.Client(timeout=self._timeout, headers=self._headers, follow_redirects=False)
        # From an absolute path, as a query or a host in it must not lead elsewhere.
        url = f"{self.base}{path}"
        began = monotonic()
        try:
            with self._client.stream(method, url, json=body, params=query) as answer:
                content = bytearray()
                for part in answer.iter_bytes():
                    content += part
                    if len(content) > self._max_bytes:
                        raise BridgeError(f"{method} {url} answered with more than {self._max_bytes} bytes")
                    if monotonic() - began > self._timeout:
                        raise BridgeError(f"{method} {url} took more than {self._timeout:g} s")
                return answer.status_code, bytes(content)
        except httpx2.TimeoutException:
            raise BridgeError(f"{method} {url} took more than {self._timeout:g} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise BridgeError(
                f"{method} {url} failed: {error or type(error).__name__}; is the server running?"
            ) from error

    def __enter__(self) -> JsonClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections. Calling it again does nothing; a later request opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            client.close()


def parse_json(content: bytes | str, source: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        BridgeError: if it is none; NaN and Infinity are none either. The message begins with ``source``.
    """
    try:
        return json.loads(content, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        shown = content[:_SHOWN].decode("utf-8", "replace") if isinstance(content, bytes) else content[:_SHOWN]
        raise BridgeError(f"{source} answered with no JSON ({error}): {shown}") from None


def authorization(variable: str | None) -> dict[str, str]:
    """Return the header with a bearer token from an environment variable; none if ``variable`` is None.

    The token itself is no argument, because arguments are written into records.

    Raises:
        ArgumentError: if the variable is not set, or holds no token.
    """
    if variable is None:
        return {}
    token = os.environ.get(string("token_variable", variable), "")
    if not token.isascii() or not token.isprintable() or not token.strip():
        raise ArgumentError(f"token_variable names {variable!r}, and this environment variable holds no token")
    return {"Authorization": f"Bearer {token.strip()}"}


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
