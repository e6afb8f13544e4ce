"""Requests to a registry: JSON and uploads, with a token that never leaves for another address."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from gem_hub_client.errors import HubError
from gem_hub_client.registry.token_scope import check_safe
from gem_hub_client.sanitize import sanitize

__all__ = ["RegistryClient", "RegistryRefusal", "opener"]

_LARGEST = 1 << 22
"""Bytes of an answer."""
_TIMEOUT = 30.0
_UPLOAD_TIMEOUT = 600.0
"""Seconds without a byte; the gate reads a whole wheel before the registry answers."""


class RegistryRefusal(HubError):  # noqa: N818  # an answer, not a failure of the registry
    """The registry refuses a request.

    Attributes:
        status: the HTTP status.
        detail: the registry's reason.
        retry_after: the seconds after which the request may succeed; 0 if the registry names none.
    """

    def __init__(self, message: str, status: int, detail: str, retry_after: int = 0) -> None:
        super().__init__(message)
        self.status = status
        self.detail = detail
        self.retry_after = retry_after


class RegistryClient:
    """A registry as one user reaches it.

    Args:
        address: the registry, as :func:`gem_hub_client.registry.addresses.registry_address` spells it.
        token: the token that is sent with each request; empty for none.

    Raises:
        HubError: if there is a token and the address is not safe for it.
    """

    def __init__(self, address: str, token: str = "") -> None:
        if token:
            check_safe(address)
            if not token.isascii() or not token.isprintable() or " " in token:
                raise HubError("the token holds characters that no token has; copy it again")
        self.address = address
        self._token = token

    def get(self, path: str, missing: Any = None) -> Any:
        """Return the JSON value at a path below the registry's address; ``missing`` for 404.

        Raises:
            RegistryRefusal: if the registry refuses the request.
            HubError: if the registry cannot be reached, or does not answer with JSON.
        """
        try:
            return self.send("GET", path)
        except RegistryRefusal as refusal:
            if refusal.status == 404 and missing is not None:
                return missing
            raise

    def send(self, method: str, path: str, body: object = None) -> Any:
        """Send a request with an optional JSON body; return the JSON value of the answer, None for an empty one.

        Raises:
            RegistryRefusal: if the registry refuses the request.
            HubError: if the registry cannot be reached, or does not answer with JSON.
        """
        data = None if body is None else json.dumps(body).encode()
        fields = {} if data is None else {"Content-Type": "application/json"}
        return self._request(method, path, data, fields, _TIMEOUT)

    def upload(self, path: str, content_type: str, body: Iterable[bytes], length: int) -> Any:
        """Send a body of a known length in parts; return as :meth:`send` does.

        Raises:
            RegistryRefusal: if the registry refuses the upload.
            HubError: if the registry cannot be reached, or does not answer with JSON.
        """
        fields = {"Content-Type": content_type, "Content-Length": str(length)}
        return self._request("POST", path, body, fields, _UPLOAD_TIMEOUT)

    def _request(self, method: str, path: str, data: Any, fields: dict[str, str], timeout: float) -> Any:
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import Request

        from gem_hub_client import __version__

        url = self.address + path
        common = {
            "Accept": "application/json, application/problem+json",
            "Accept-Encoding": "identity",
            "User-Agent": f"gem-hub-client/{__version__}",
        }
        request = Request(url, data, {**common, **fields}, method=method)  # noqa: S310  # http(s) alone: see addresses
        if self._token:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            with opener().open(request, timeout=timeout) as response:
                return _value(_read(response), url)
        except HTTPError as error:
            with error:
                raise _refusal(url, error, _read(error)) from error
        except (OSError, HTTPException, ValueError) as error:  # URLError is an OSError
            cause = getattr(error, "reason", error)
            reason = sanitize(str(cause))
            if isinstance(cause, BrokenPipeError | ConnectionResetError) and not isinstance(data, bytes | None):
                reason = "it ended the connection during the upload; the file may be too large for it"
            raise HubError(f"{url}: the registry cannot be reached: {reason}") from error


def opener() -> Any:
    """Return what opens URLs: https with the user's proxies, http without any, and no redirect at all.

    A proxy for http would read the token, and http is for this machine alone.
    """
    from urllib import request

    proxies = {scheme: url for scheme, url in request.getproxies().items() if scheme != "http"}

    director = request.OpenerDirector()
    for handler in (
        request.ProxyHandler(proxies),
        request.HTTPHandler(),
        request.HTTPSHandler(),
        request.HTTPDefaultErrorHandler(),
        request.HTTPErrorProcessor(),
        request.UnknownHandler(),
    ):
        director.add_handler(handler)
    return director


def _read(response: Any) -> bytes:
    content: bytes = response.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError(f"the answer has more than {_LARGEST:,} bytes")
    return content


def _value(content: bytes, url: str) -> Any:
    if not content.strip():
        return None
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise HubError(f"{url}: does not answer as a registry does; is this the address of a registry?") from error


def _refusal(url: str, error: Any, content: bytes) -> HubError:
    status = int(error.code)
    if 300 <= status < 400:
        target = sanitize(str(error.headers.get("Location", "nowhere")))
        return HubError(
            f"{url}: redirects to {target}; a token goes to no other address, so name the new one with --hub if you "
            "trust it"
        )
    detail = ""
    try:
        document = json.loads(content)
        detail = sanitize(str(document["detail"]))
    except (ValueError, TypeError, LookupError, RecursionError):
        if error.headers.get_content_type() == "text/plain":
            detail = sanitize(content.decode("utf-8", "replace").strip())[:1000]
    advice = {
        401: "; log in with: gem hub login",
        404: "; is this the address of a registry?" if not detail else "",
    }.get(status, "")
    detail = detail or f"answers {status} {sanitize(str(error.reason))}"
    after = str(error.headers.get("Retry-After", ""))
    seconds = int(after) if after.isascii() and after.isdigit() else 0
    return RegistryRefusal(f"{url}: {detail}{advice}", status, detail, min(seconds, 86_400))
