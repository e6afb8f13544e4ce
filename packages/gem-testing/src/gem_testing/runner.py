"""Testing an environment against clauses, in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gem.arguments import nearest
from gem.errors import ArgumentError
from gem_testing.clause import Clause
from gem_testing.clauses import CLAUSES
from gem_testing.env_under_test import EnvUnderTest
from gem_testing.outcomes import ClauseOutcome, ClauseResult, NotTested, Violation

__all__ = ["chosen", "run_clause", "run_clauses"]


def run_clauses(under_test: EnvUnderTest, clauses: Iterable[str] | None = None) -> Iterator[ClauseResult]:
    """Yield the result of each clause as soon as it is known.

    Args:
        under_test: the environment.
        clauses: names of clauses; all of them unless given.

    Raises:
        ArgumentError: if there is no clause of a name.
    """
    for clause in chosen(clauses):
        yield run_clause(under_test, clause)


def chosen(clauses: Iterable[str] | None = None) -> list[Clause]:
    """Return the clauses of these names, or of these groups (``"state"``), in reading order; all of them by default.

    Raises:
        ArgumentError: if there is no clause of a name.
    """
    if clauses is None:
        return list(CLAUSES.values())
    wanted = set(clauses)
    groups = {name.partition(".")[0] for name in CLAUSES}
    for name in sorted(wanted - CLAUSES.keys() - groups):
        hint = nearest(name, [*CLAUSES, *groups])
        raise ArgumentError(
            f"there is no clause {name!r}"
            + (f"; did you mean {hint!r}?" if hint else f"; there are {', '.join(CLAUSES)}")
        )
    return [
        clause for clause in CLAUSES.values() if not wanted.isdisjoint((clause.name, clause.name.partition(".")[0]))
    ]


def run_clause(under_test: EnvUnderTest, clause: Clause) -> ClauseResult:
    """Return the result of one clause. An exception of the environment becomes a violation; none is passed on."""
    if clause.name in under_test.exemptions:
        return ClauseResult(clause.name, ClauseOutcome.NOT_TESTED, under_test.exemptions[clause.name], exempt=True)
    try:
        clause.test(under_test)
    except NotTested as untested:
        return ClauseResult(clause.name, ClauseOutcome.NOT_TESTED, untested.reason, untested.advice)
    except Violation as violation:
        return ClauseResult(clause.name, ClauseOutcome.VIOLATED, str(violation))
    except (Exception, SystemExit) as error:  # raised by the environment where the clause expects no exception
        return ClauseResult(clause.name, ClauseOutcome.VIOLATED, f"{type(error).__name__}: {error}")
    return ClauseResult(clause.name, ClauseOutcome.HOLDS)
