"""Testing an environment against clauses, in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gem.arguments import nearest
from gem.errors import ArgumentError
from gem_testing.clauses import CLAUSES
from gem_testing.outcome import Clause, NotTested, Outcome, Result, Violation
from gem_testing.subject import Subject

__all__ = ["chosen", "run_clause", "run_clauses"]


def run_clauses(subject: Subject, clauses: Iterable[str] | None = None) -> Iterator[Result]:
    """Yield the result of each clause as soon as it is known.

    Args:
        subject: the environment.
        clauses: names of clauses; all of them unless given.

    Raises:
        ArgumentError: if there is no clause of a name.
    """
    for clause in chosen(clauses):
        yield run_clause(subject, clause)


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


def run_clause(subject: Subject, clause: Clause) -> Result:
    """Return the result of one clause. Whatever the environment raises is a violation, never an exception here."""
    if clause.name in subject.exemptions:
        return Result(clause.name, Outcome.NOT_TESTED, subject.exemptions[clause.name], exempt=True)
    try:
        if clause.plays and subject.obstacle is not None:
            raise NotTested(f"no episode can begin: {subject.obstacle}", "see contract.construction and contract.reset")
        clause.check(subject)
    except NotTested as untested:
        return Result(clause.name, Outcome.NOT_TESTED, untested.reason, untested.advice)
    except Violation as violation:
        return Result(clause.name, Outcome.VIOLATED, str(violation))
    except (Exception, SystemExit) as error:  # raised by the environment where no clause expects it to be called
        return Result(clause.name, Outcome.VIOLATED, f"{type(error).__name__}: {error}")
    return Result(clause.name, Outcome.HOLDS)
