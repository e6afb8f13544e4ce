"""Identity tokens of jobs on GitHub and GitLab, and their exchange for a registry's short-lived token.

The discovery is that of PEP 807; without it the client takes the addresses that PyPI and uv use. The registry says for
which audience the token must be. The client accepts only the registry's own host as one: otherwise a registry could
have a job ask for a token that is good at another one.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any
from urllib.parse import quote, urlsplit

from gem_hub_client.errors import HubError
from gem_hub_client.registry.client import RegistryClient, RegistryRefusal
from gem_hub_client.registry.uploading import UPLOAD_PATH
from gem_hub_client.sanitize import sanitize

__all__ = ["burn", "in_ci", "mint"]

_LARGEST = 1 << 16
_TIMEOUT = 30.0


def in_ci() -> bool:
    """Return whether this process is a job that may ask for an identity token."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        return "ACTIONS_ID_TOKEN_REQUEST_URL" in os.environ
    return os.environ.get("GITLAB_CI") == "true" and any(name.endswith("_ID_TOKEN") for name in os.environ)


def mint(address: str, packages: list[str]) -> str:
    """Return a token of a registry for this job, which ends after some minutes.

    Args:
        address: the registry, as :func:`gem_hub_client.registry.addresses.registry_address` spells it.
        packages: the packages that are about to be published.

    Raises:
        HubError: if there is no identity token, or the registry does not accept it.
    """
    origin, endpoints = _endpoints(address)
    audience = _text(RegistryClient(origin).get(endpoints["audience-endpoint"]), "audience", origin)
    host = urlsplit(address).netloc
    if audience.lower() != host:
        raise HubError(
            f"{address}: asks for an identity token for {sanitize(audience)[:200]!r}, and not for itself, {host!r}; "
            "such a token could be used elsewhere, so none is requested"
        )
    body = {"token": _identity_token(audience), "packages": packages}
    try:
        answer = RegistryClient(origin).send("POST", endpoints["token-mint-endpoint"], body)
    except RegistryRefusal as refusal:
        raise HubError(f"trusted publishing at {address}: {refusal.detail}") from refusal
    return _text(answer, "token", origin)


def burn(address: str, token: str) -> None:
    """End a minted token, as far as the registry can be reached."""
    try:
        RegistryClient(_origin(address), token).send("POST", "_/oidc/burn-token")
    except HubError:
        return  # it ends by itself within minutes


def _endpoints(address: str) -> tuple[str, dict[str, str]]:
    """Return the origin of a registry, and the paths of the endpoints below it."""
    origin = _origin(address)
    known = {"audience-endpoint": "_/oidc/audience", "token-mint-endpoint": "_/oidc/mint-token"}
    key = quote(urlsplit(address + UPLOAD_PATH).path, safe="")
    found = RegistryClient(origin).get(f".well-known/pytp?discover={key}", missing={})
    if not isinstance(found, dict):
        raise HubError(f"{origin}: does not answer the discovery of trusted publishing (PEP 807)")
    for name in known:
        if name not in found:
            continue
        url = str(found[name])
        if not url.startswith(origin):  # PEP 807: the same host, and an address as safe as the registry's
            raise HubError(f"{origin}: names {sanitize(url)[:200]} for trusted publishing, which is another host")
        known[name] = url[len(origin) :]
    return origin, known


def _origin(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}/"


def _identity_token(audience: str) -> str:
    if os.environ.get("GITLAB_CI") == "true":
        name = f"{re.sub('[^A-Z0-9]', '_', audience.upper())}_ID_TOKEN"
        token = os.environ.get(name, "")
        if not token:
            raise HubError(f"the job has no {name}; add it to id_tokens with aud: {audience}")
        return token
    url, secret = (
        os.environ.get("ACTIONS_ID_TOKEN_REQUEST_URL", ""),
        os.environ.get("ACTIONS_ID_TOKEN_REQUEST_TOKEN", ""),
    )
    if not url or not secret:
        raise HubError("the job has no identity; give it 'permissions: id-token: write'")
    return _text(
        _asked(f"{url}{'&' if '?' in url else '?'}audience={quote(audience, safe='')}", secret), "value", "GitHub"
    )


def _asked(url: str, secret: str) -> Any:
    from http.client import HTTPException
    from urllib.request import Request

    from gem_hub_client.registry.client import opener

    if not url.startswith("https://"):
        raise HubError("ACTIONS_ID_TOKEN_REQUEST_URL is not encrypted, so no identity token is requested there")
    request = Request(url, headers={"Authorization": f"bearer {secret}", "Accept": "application/json"})  # noqa: S310  # https alone
    try:
        with opener().open(request, timeout=_TIMEOUT) as response:
            return json.loads(response.read(_LARGEST))
    except (OSError, HTTPException, ValueError, RecursionError) as error:
        reason = sanitize(str(getattr(error, "reason", error)))
        raise HubError(f"GitHub gives this job no identity token: {reason}") from error


def _text(answer: Any, name: str, who: str) -> str:
    value = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(value, str) or not value:
        raise HubError(f"{who}: the answer has no {name!r}, so trusted publishing is not possible there")
    return value
