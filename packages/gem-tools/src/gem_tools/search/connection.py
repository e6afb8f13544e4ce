"""HTTP connections to search services: kept alive, shared, and with one time limit for each search."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gem_tools.search.errors import SearchError

if TYPE_CHECKING:
    import httpx2

__all__ = ["SearchAnswer", "SearchConnection"]

_LARGEST = 16 << 20
"""The largest size of an answer in bytes."""
_FIRST_PAUSE = 0.1
_TRY_AGAIN = frozenset((429, 500, 502, 503, 504))


@dataclass(frozen=True)
class SearchAnswer:
    """The answer of a server."""

    status: int
    content_type: str
    body: bytes


class SearchConnection:
    """A connection to one service. Any number of threads may use it; a forked child opens its own connections.

    Args:
        service: the name of the service in messages, without secrets.
        timeout: the time limit of :meth:`send` in seconds, including all retries. A server that sends the header of an
            answer byte by byte can take longer, and so can a DNS lookup.
        retries: the number of retries of a request that found no connection, lost it, or was answered with one of the
            statuses 429, 500, 502, 503 and 504. A search changes nothing, so a request may be sent twice.
    """

    def __init__(self, service: str, timeout: float, retries: int) -> None:
        self.service = service
        self.timeout = timeout
        self.retries = retries
        self._lock = threading.Lock()
        self._client: httpx2.Client | None = None
        self._process = 0
        self._finalizer: weakref.finalize[..., SearchConnection] | None = None

    def send(
        self,
        method: str,
        url: str,
        *,
        content: bytes | None = None,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        final: Collection[int] = (),
    ) -> SearchAnswer:
        """Send a request and return the answer with any status.

        Args:
            method: for example ``"POST"``.
            url: the address.
            content: the body.
            params: the parameters of the address.
            headers: the headers.
            final: statuses that are returned without a retry.

        Raises:
            SearchError: if the answer is late or too large.
        """
        import httpx2

        deadline = time.monotonic() + self.timeout
        pause = _FIRST_PAUSE
        for tries_left in range(self.retries, -1, -1):
            try:
                answer = self._once(deadline, method, url, content, params, headers)
                if (
                    answer.status not in _TRY_AGAIN.difference(final)
                    or tries_left == 0
                    or time.monotonic() + pause >= deadline
                ):
                    return answer
            except httpx2.TimeoutException as error:
                raise self._too_late() from error
            except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
                # The library's message may contain the address, and the address a key.
                reason = _reason(error)
                if tries_left == 0 or time.monotonic() + pause >= deadline:
                    raise SearchError(f"{self.service} cannot be reached: {reason}") from None
            time.sleep(pause)
            pause *= 2
        raise AssertionError("the last try returns or raises")

    def close(self) -> None:
        """Close the connections; the next request opens new ones. Garbage collection closes them too."""
        with self._lock:
            finalizer, self._client, self._finalizer = self._finalizer, None, None
        if finalizer is not None:
            finalizer()

    def _once(
        self,
        deadline: float,
        method: str,
        url: str,
        content: bytes | None,
        params: Mapping[str, Any] | None,
        headers: Mapping[str, str] | None,
    ) -> SearchAnswer:
        left = max(deadline - time.monotonic(), 0.001)
        with self._opened().stream(
            method, url, content=content, params=params, headers=headers, timeout=left
        ) as response:
            body = bytearray()
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > _LARGEST:
                    raise SearchError(f"{self.service} answered with more than {_LARGEST >> 20} MiB")
                if time.monotonic() > deadline:
                    raise self._too_late()
            return SearchAnswer(response.status_code, response.headers.get("content-type", ""), bytes(body))

    def _opened(self) -> httpx2.Client:
        with self._lock:
            if self._client is None or self._process != os.getpid():
                import httpx2

                limits = httpx2.Limits(max_connections=256, max_keepalive_connections=64, keepalive_expiry=30.0)
                self._client = httpx2.Client(limits=limits)
                self._process = os.getpid()
                self._finalizer = weakref.finalize(self, _close, self._client, self._process)
            return self._client

    def _too_late(self) -> SearchError:
        return SearchError(f"{self.service} did not answer within {self.timeout:g} seconds")


def _close(client: httpx2.Client, process: int) -> None:
    if process == os.getpid():  # the child must not close the parent's connections
        client.close()


def _reason(error: Exception) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__
