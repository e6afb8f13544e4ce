"""The grammar of environment ids as the client needs it: ``[owner/]namespace:Name[-vN][-variant]``.

gem-core owns the grammar (``gem.ids``). This copy lets the client do without gem-core; a test of the workspace proves
that both read every text alike.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from gem_hub_client.errors import HubError

__all__ = ["IdParts", "base_id", "is_id", "parse_id"]

_ID = re.compile(
    r"(?:(?P<owner>[A-Za-z0-9][A-Za-z0-9._-]*)/)?"
    r"(?P<namespace>[A-Za-z][A-Za-z0-9_.-]*):"
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9_.-]*)"
)
_VERSION = re.compile(r"(?P<name>.+?)-v(?P<version>0|[1-9]\d{0,8})(?:-(?P<variant>[A-Za-z0-9][A-Za-z0-9_.-]*))?")


class IdParts(NamedTuple):
    """The parts of an environment id; None where the id leaves one out."""

    owner: str | None
    namespace: str
    name: str
    version: int | None
    variant: str | None


def is_id(text: object) -> bool:
    """Return whether a value is an environment id."""
    return isinstance(text, str) and _ID.fullmatch(text) is not None


@lru_cache(maxsize=64)
def parse_id(text: str) -> IdParts:
    """Split an environment id into its parts.

    Raises:
        HubError: if the text is no environment id.
    """
    match = _ID.fullmatch(text)
    if match is None:
        raise HubError(
            f"{text!r} is not an environment id; write [owner/]namespace:Name[-vN][-variant], "
            "for example 'game:Sudoku-v0-easy'"
        )
    owner, namespace, name = match.group("owner", "namespace", "name")
    versioned = _VERSION.fullmatch(name)
    if versioned is None:
        return IdParts(owner, namespace, name, None, None)
    name, version, variant = versioned.group("name", "version", "variant")
    return IdParts(owner, namespace, name, int(version), variant)


def base_id(text: str) -> str:
    """Return an environment id without owner and variant: ``game:Sudoku-v0`` of ``game:Sudoku-v0-easy``.

    Raises:
        HubError: if the text is no environment id.
    """
    parts = parse_id(text)
    version = "" if parts.version is None else f"-v{parts.version}"
    return f"{parts.namespace}:{parts.name}{version}"
