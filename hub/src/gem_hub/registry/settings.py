"""The settings of a registry."""

from __future__ import annotations

import ipaddress
import sys
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationError

from gem_hub.errors import HubRefusal
from gem_hub.hosting import Settings
from gem_hub.records import Strict, reasons

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Quotas", "RegistrySettings"]

Amount = Annotated[int, Field(ge=0, le=2**53)]
Registration = Literal["open", "invite", "closed"]


def _address(value: str) -> str:
    return Settings(fallback=value).fallback


def _origin(value: str) -> str:
    parts = urlsplit(value)
    if value and (parts.scheme != "https" or not parts.hostname or "@" in parts.netloc or parts.path.strip("/")):
        raise ValueError(f"address is {value!r}; write https://HOST, since identity tokens and uploads need TLS")
    return f"https://{parts.netloc.lower().removesuffix(':443')}" if value else ""


def _network(value: str) -> str:
    return str(ipaddress.ip_network(value))


class Quotas(Strict):
    """The largest numbers of what one account or one address may do; 0 forbids it."""

    requests_per_minute: Amount = 240
    """Changes and uploads that one address requests, whether they are granted or not."""
    failed_logins_per_hour: Amount = 60
    """Wrong tokens from one address."""
    accounts_per_day: Amount = 5
    """New accounts from one address."""
    uploads_per_day: Amount = 500
    """Uploads of one account, whether they are accepted or not."""
    bytes_per_day: Amount = 4 * 2**30
    """The size of one account's uploads together, in bytes."""
    new_packages_per_day: Amount = 20
    """New names of one account."""
    organisations_per_day: Amount = 5
    """New organisations of one account."""
    reports_per_day: Amount = 30
    """Reports of one account."""
    tokens: Amount = 100
    """Valid tokens of one account, at any time."""


class RegistrySettings(Strict):
    """The settings of a registry, read from a TOML file with these keys."""

    database: str = ""
    """``sqlite:///PATH`` or ``postgresql+psycopg://…``; by default a file in ``folder``."""
    folder: str = ""
    """A folder of this machine for the database and for uploads; by default in the hub's private folder."""
    registration: Registration = "invite"
    """Who gets an account: everyone, the holders of invites, or only those whom an operator creates."""
    address: Annotated[str, AfterValidator(_origin)] = ""
    """The public address, ``https://HOST``, to which workflows prove their identity; without it they cannot."""
    issuers: list[str | dict[str, str]] = Field(default=["github", "gitlab"])
    """The issuers of identity tokens: ``"github"``, ``"gitlab"``, or tables with ``name``, ``url``, ``provider``
    (``github``, ``gitlab`` or ``claims``) and perhaps ``jwks_url``."""
    quotas: Quotas = Quotas()
    late_days: Amount = 14
    """The days after a release in which attestations for its file are still accepted."""
    public_index: Annotated[str, AfterValidator(_address)] = ""
    """The ``simple/`` folder of the public index, in which new names are looked up; empty for none."""
    downloads: bool = True
    """Whether downloads are counted, without anything about the clients; see :mod:`gem_hub.registry.downloads`."""
    webhook_networks: list[Annotated[str, AfterValidator(_network)]] = Field(default_factory=list)
    """Networks that webhooks may be sent to although they are not public, such as ``"10.1.0.0/16"``; also by http."""
    conformance: bool = True
    """Whether this process runs the conformance kit on what is published."""
    conformance_seconds: Annotated[float, Field(ge=1, le=86400)] = 1800.0
    """The time limit of one run."""
    conformance_attempts: Annotated[int, Field(ge=1, le=20)] = 3
    """The number of runs after which a release that gives no result is left alone."""
    find_links: list[str] = Field(default_factory=list)
    """Folders or pages of wheels with dependencies for the kit."""
    index_url: str = ""
    """The index of dependencies for the kit; as pip or uv have it by default."""
    simultaneous_uploads: Annotated[int, Field(ge=1, le=64)] = 2
    """Uploads that are examined at once; each needs up to the size of a wheel in memory."""
    connections: Annotated[int, Field(ge=1, le=100_000)] = 512
    """The largest number of connections at once."""
    connections_per_address: Annotated[int, Field(ge=1, le=100_000)] = 64
    """The largest number of connections of one address; trusted proxies may have all of them."""
    trusted_proxies: list[str] = Field(default_factory=lambda: ["127.0.0.1", "::1"])
    """Addresses of reverse proxies, whose ``X-Forwarded-For`` names the client."""

    @classmethod
    def read(cls, path: Path) -> RegistrySettings:
        """Return the settings of a file.

        Raises:
            HubRefusal: if the file is unreadable or invalid.
        """
        try:
            return cls.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        except OSError as error:
            raise HubRefusal(f"{path}: cannot be read: {error.strerror or error}") from error
        except ValidationError as error:
            raise HubRefusal(f"{path}: {reasons(error)}") from error
        except (ValueError, RecursionError) as error:
            raise HubRefusal(f"{path}: is no TOML: {error}") from error
