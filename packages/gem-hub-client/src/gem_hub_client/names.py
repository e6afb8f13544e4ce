"""Names of packages, and the paths and words that are made from them."""

from __future__ import annotations

import re

from gem_hub_client.errors import HubError

__all__ = [
    "PREFIX",
    "ROOT_PATH",
    "TIMESTAMP_PATH",
    "checked_name",
    "is_name",
    "normalized_name",
    "page_path",
    "short_name",
]

PREFIX = "gem-envs-"
"""The common beginning of most packages' names, which users leave out of a search."""

ROOT_PATH = "root.json"
"""The file of a hub that names the newest of all others."""

TIMESTAMP_PATH = "trust/timestamp.json"
"""The signed file that names the newest of all others, in a hub that is signed."""

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")


def normalized_name(name: str) -> str:
    """Return a distribution's name as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def is_name(text: object) -> bool:
    """Return whether a text is a package's normalised name (PEP 503) with at most 64 characters."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def checked_name(text: str) -> str:
    """Return a package's name as a hub writes it.

    Raises:
        HubError: if no package can have this name.
    """
    name = normalized_name(text)
    if not is_name(name):
        raise HubError(
            f"{text!r} cannot be the name of a package; names are letters, digits and '-', at most 64 of them, "
            "for example 'gem-envs-games'"
        )
    return name


def short_name(name: str) -> str:
    """Return a package's name without the beginning that most of them share."""
    return name[len(PREFIX) :] if name.startswith(PREFIX) and len(name) > len(PREFIX) else name


def page_path(name: str) -> str:
    """Return the path of a package's page, relative to ``root.json``."""
    return f"envs/{checked_name(name)}.json"
