"""A change of a package that may become a task: :class:`Candidate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Candidate"]


@dataclass(frozen=True)
class Candidate:
    """A broken state of a package."""

    kind: str
    """One of :data:`gem_envs_swe.row.KINDS`."""
    level: int
    what: str
    """The sort of the change, such as ``boundary``; it is counted, and no agent sees it."""
    write: Mapping[str, str]
    """Path → text of the files that differ from the package's own tree."""
    lines: Mapping[str, frozenset[int]]
    """Path → lines of the package's own tree; a test that runs none of them cannot notice the change."""
    functions: tuple[str, ...] = ()
    """``path:name`` of the functions that are changed."""
    parts: tuple[Mapping[str, str], ...] = ()
    """Of several changes, each alone, as in ``write``: every one must fail a test that the others pass."""
    idle: Mapping[str, str] | None = None
    """The same files with something that does nothing in place of a solution, of which a test must tell."""
    asked: Mapping[str, str] = field(default_factory=dict)
    """What the statement must say besides what the tests show, such as the signature of a missing function."""
    solution: Mapping[str, str] | None = None
    """Path → text of the files that a solution writes; None where it restores the package's own."""
    hidden: Mapping[str, str] = field(default_factory=dict)
    """Further test files, path → text, which no agent sees."""
    hidden_tests: tuple[str, ...] = ()
    """The tests in them, each of which fails before the solution and passes with it."""
    removed: frozenset[str] = frozenset()
    """Tests of the package that are in no list, because they are part of the solution."""
