"""The grammar of environment ids: ``[owner/]namespace:Name[-vN][-variant]``.

Examples: ``game:Sudoku-v0-easy``, ``rg:arc_1d``, ``math:GSM8K``, ``my-envs/game:Sudoku-v0``.

The grammar binds manifests. Within a process, ``gem.register`` takes any name, such as ``sokoban``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gem.errors import InvalidIdError

__all__ = ["NAMESPACE_PATTERN", "EnvId", "normalized_distribution", "parse_id", "process_key"]

NAMESPACE_PATTERN = r"[A-Za-z][A-Za-z0-9_.-]*"

_ID = re.compile(
    r"(?:(?P<owner>[A-Za-z0-9][A-Za-z0-9._-]*)/)?"
    rf"(?P<namespace>{NAMESPACE_PATTERN}):"
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9_.-]*)"
)
# A version with a leading zero would not survive the way back to text, so "-v01" is part of the name.
_VERSION = re.compile(r"(?P<name>.+?)-v(?P<version>0|[1-9]\d{0,8})(?:-(?P<variant>[A-Za-z0-9][A-Za-z0-9_.-]*))?")


class EnvId(NamedTuple):
    """The parts of an environment id. ``owner`` is a distribution's name, which picks one of several."""

    owner: str | None
    namespace: str
    name: str
    version: int | None
    variant: str | None

    @property
    def unowned(self) -> str:
        """The id without its owner: the key under which environments are found."""
        version = "" if self.version is None else f"-v{self.version}"
        variant = "" if self.variant is None else f"-{self.variant}"
        return f"{self.namespace}:{self.name}{version}{variant}"


def parse_id(text: str) -> EnvId:
    """Split an environment id into its parts.

    Raises:
        InvalidIdError: if ``text`` does not follow the grammar.
    """
    match = _ID.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise InvalidIdError(
            f"{text!r} is not an environment id; write [owner/]namespace:Name[-vN][-variant], "
            "for example 'game:Sudoku-v0-easy'"
        )
    owner, namespace, name = match.group("owner", "namespace", "name")
    versioned = _VERSION.fullmatch(name)
    if versioned is None:
        return EnvId(owner, namespace, name, None, None)
    name, version, variant = versioned.group("name", "version", "variant")
    return EnvId(owner, namespace, name, int(version), variant)


def process_key(text: str) -> str:
    """Return the key under which ``register`` and ``make`` look up an id in this process.

    That is the id without its owner, or the text itself if it is a plain name, which has no colon.

    Raises:
        InvalidIdError: if ``text`` is not a str, is blank, or has characters that cannot be printed; if it has a colon
            and does not follow the grammar.
    """
    if isinstance(text, str) and ":" not in text and text.strip() and text.isprintable():
        return text
    return parse_id(text).unowned


def normalized_distribution(name: str) -> str:
    """Return a distribution's name as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
