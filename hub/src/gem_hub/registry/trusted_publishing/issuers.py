"""The issuers of identity tokens that an operator trusts: GitHub, GitLab, and those that the operator adds.

The text of the claim ``iss`` selects the issuer, and nothing else does. So a self-hosted issuer can never speak for the
repositories of another one, whatever claims it signs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import urlsplit

from gem.errors import ArgumentError

__all__ = ["GITHUB", "GITLAB", "Issuer", "Issuers", "Provider", "issuers_of"]

Provider = Literal["github", "gitlab", "claims"]
"""How the claims of an issuer are read; ``claims`` compares the claims that a publisher lists, and knows no product."""


@dataclass(frozen=True)
class Issuer:
    """An issuer of identity tokens.

    Raises:
        ArgumentError: if an address is not an https address of the required form.
    """

    name: str
    """The name under which publishers are configured, for example ``"github"``."""
    url: str
    """The exact text of the claim ``iss``."""
    provider: Provider
    jwks_url: str = ""
    """The address of its keys; empty for the one in its discovery document, which must have the issuer's origin."""

    def __post_init__(self) -> None:
        if self.provider not in get_args(Provider):
            raise ArgumentError(
                f"issuer {self.name!r}: the provider is {self.provider!r}; write one of {', '.join(get_args(Provider))}"
            )
        for what, url in (("url", self.url), ("jwks_url", self.jwks_url)):
            parts = urlsplit(url)
            sound = parts.scheme == "https" and parts.hostname and "@" not in parts.netloc and not parts.fragment
            if (url and not sound) or (what == "url" and (not url or parts.query)):
                raise ArgumentError(
                    f"issuer {self.name!r}: {what} is {url!r}; write an https address without user name"
                )

    @property
    def host(self) -> str:
        """The host, with the port if it is not 443."""
        return urlsplit(self.url).netloc.lower()


GITHUB = Issuer("github", "https://token.actions.githubusercontent.com", "github")
GITLAB = Issuer("gitlab", "https://gitlab.com", "gitlab")


class Issuers:
    """The trusted issuers, by name and by the claim ``iss``.

    Raises:
        ArgumentError: if two have one name or one address.
    """

    def __init__(self, issuers: Iterable[Issuer] = (GITHUB, GITLAB)) -> None:
        self._by_name: dict[str, Issuer] = {}
        self._by_url: dict[str, Issuer] = {}
        for issuer in issuers:
            if issuer.name in self._by_name or issuer.url in self._by_url:
                raise ArgumentError(f"issuer {issuer.name!r} ({issuer.url}): the name or the address is there twice")
            self._by_name[issuer.name] = self._by_url[issuer.url] = issuer

    def __iter__(self) -> Iterator[Issuer]:
        return iter(self._by_name.values())

    def named(self, name: str) -> Issuer | None:
        """Return the issuer of a name."""
        return self._by_name.get(name)

    def at(self, url: object) -> Issuer | None:
        """Return the issuer that a claim ``iss`` names, compared character by character."""
        return self._by_url.get(url) if isinstance(url, str) else None


def issuers_of(listed: Iterable[str | Mapping[str, str]]) -> Issuers:
    """Return the issuers of an operator's settings, which replace the defaults.

    Args:
        listed: for each ``"github"`` or ``"gitlab"``, which stand for the public ones, or the fields of an
            :class:`Issuer`.

    Raises:
        ArgumentError: if it lists anything else.
    """
    return Issuers(map(_issuer, listed))


def _issuer(fields: str | Mapping[str, str]) -> Issuer:
    known = {GITHUB.name: GITHUB, GITLAB.name: GITLAB}
    if isinstance(fields, str):
        if fields not in known:
            raise ArgumentError(
                f"issuer {fields!r}: is not known; write its name, url and provider, or {', '.join(known)}"
            )
        return known[fields]
    needed, possible = {"name", "url", "provider"}, {"name", "url", "provider", "jwks_url"}
    if not needed <= set(fields) <= possible:
        raise ArgumentError(f"issuer {dict(fields)}: has name, url, provider and perhaps jwks_url")
    return Issuer(**fields)  # type: ignore[arg-type]  # __post_init__ compares the provider
