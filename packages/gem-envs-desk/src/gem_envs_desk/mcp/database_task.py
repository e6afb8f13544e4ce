"""A task on a database: :class:`DatabaseTask`, and the family that drew it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from gem_envs_desk.mcp.content import DatabaseContent
from gem_envs_desk.mcp.snapshots import Probe

__all__ = ["DatabaseFamily", "DatabaseTask"]


class DatabaseTask(NamedTuple):
    """What an environment knows of its episode."""

    content: DatabaseContent
    text: str
    solution: tuple[str, ...] = ()
    """Statements that achieve it, each of which is necessary; none for a question."""
    answer: tuple[str, ...] | None = None
    """The values of the right answer to a question; None where the end of the database decides."""
    probes: tuple[Probe, ...] = ()
    look: str = "SELECT 1"
    """For a question: a query that an agent needs for the answer."""
    family: str = ""


class DatabaseFamily(NamedTuple):
    """Tasks of one kind."""

    draw: Callable[[Random, DatabaseContent], DatabaseTask | None]
    """Returns a task on the content; None if chance made it trivial, and another content is needed."""
    kind: str
    """``reading``, ``rows``, ``schema``, ``rules`` or ``security``."""
    in_sqlite: bool = False
    """Whether SQLite can be asked the same."""
