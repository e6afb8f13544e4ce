"""The addresses in ids such as ``openenv:http://localhost:8000``."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from gem.arguments import string
from gem.errors import ArgumentError

__all__ = ["WEB_SCHEMES", "base_address"]

WEB_SCHEMES = {"ws": "http", "wss": "https", "http": "http", "https": "https"}
"""Scheme of an address → scheme of its HTTP requests."""


def base_address(name: str, text: object) -> str:
    """Return an address as ``http://host:port/path`` or ``https://…``, without a slash at its end.

    Args:
        name: the argument's name, for messages.
        text: an address with one of :data:`WEB_SCHEMES`.

    Raises:
        ArgumentTypeError: if it is no str.
        ArgumentError: if it is no such address; if it has a query, a fragment, or a user name, which would be written
            into records.
    """
    address = string(name, text)
    try:
        parts = urlsplit(address)
        _ = parts.port  # raises for a port that is none
    except ValueError as error:
        raise ArgumentError(
            f"{name} must be an address such as http://localhost:8000, got {address!r}: {error}"
        ) from None
    problem = _problem(parts, address)
    if problem:
        raise ArgumentError(f"{name} must be an address such as http://localhost:8000, got {address!r}: {problem}")
    return f"{WEB_SCHEMES[parts.scheme]}://{parts.netloc}{parts.path.rstrip('/')}"


def _problem(parts: SplitResult, address: str) -> str:
    if parts.scheme not in WEB_SCHEMES:
        return f"it must begin with {' or '.join(f'{scheme}://' for scheme in WEB_SCHEMES)}"
    if not parts.hostname:
        return "it names no host"
    if "@" in parts.netloc:
        return "a user name or password does not belong into an id; pass the name of an environment variable as token"
    if parts.query or parts.fragment:
        return "it has a query or a fragment"
    if not address.isprintable() or " " in address:
        return "it has blanks or control characters"
    return ""
