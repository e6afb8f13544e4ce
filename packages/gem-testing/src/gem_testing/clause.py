"""Clauses of the conformance kit: a promise, the function that tests it, and its needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gem_testing.env_under_test import EnvUnderTest
from gem_testing.outcomes import NotTested

__all__ = [
    "IMPORTABLE",
    "MANIFEST",
    "NAMESPACES",
    "REFERENCE_POLICY",
    "REQUIREMENTS",
    "REWARD_RANGE",
    "Clause",
    "Need",
    "clauses_of",
]


@dataclass(frozen=True)
class Need:
    """A declaration without which a clause cannot be tested. It is known before an episode is played."""

    is_met: Callable[[EnvUnderTest], bool]
    reason: str
    advice: str
    """The way to make the clause testable."""


MANIFEST = Need(
    lambda under_test: under_test.manifest is not None,
    "no environments.toml declares it",
    "check the package: gem check PATH",
)
NAMESPACES = Need(
    lambda under_test: under_test.namespaces is not None,
    "no package declares it",
    "check the package: gem check PATH",
)
REQUIREMENTS = Need(
    lambda under_test: under_test.manifest is not None and under_test.requirements is not None,
    "the dependencies of its package are not known",
    "check the package: gem check PATH",
)
REFERENCE_POLICY = Need(
    lambda under_test: under_test.spec.reference_policy is not None,
    "no reference_policy is declared",
    "declare one: it proves that the task can be solved",
)
REWARD_RANGE = Need(
    lambda under_test: under_test.spec.reward_range is not None,
    "no reward_range is declared",
    "declare the lowest and highest return of an episode",
)
IMPORTABLE = Need(
    lambda under_test: under_test.importable,
    "another process cannot import it",
    "define it at the top of an importable module",
)


@dataclass(frozen=True)
class Clause:
    """One promise that every environment keeps, and the function that tests it."""

    name: str
    """``"group.name"``."""
    promise: str
    """The promise in one sentence."""
    check: Callable[[EnvUnderTest], None]
    """Returns if the promise is kept; raises :class:`Violation` or :class:`NotTested` otherwise."""
    plays: bool = True
    """Whether it needs an environment that can be made and reset."""
    processes: bool = False
    """Whether it plays in other processes."""
    by_arguments: bool = False
    """Whether its result depends on the arguments of the environment, such as a size or a number of turns.

    The result of any other clause depends on the code of the class alone, which all variants share.
    """
    needs: tuple[Need, ...] = ()

    def unmet_need(self, under_test: EnvUnderTest) -> Need | None:
        """Return the first need that an environment does not meet."""
        return next((need for need in self.needs if not need.is_met(under_test)), None)

    def applies_to(self, under_test: EnvUnderTest) -> bool:
        """Return whether the clause can be tested, as far as that is known before an episode is played."""
        return self.name not in under_test.exemptions and self.unmet_need(under_test) is None

    def test(self, under_test: EnvUnderTest) -> None:
        """Test an environment.

        Raises:
            Violation: if it breaks the promise.
            NotTested: if the environment does not allow the test.
        """
        need = self.unmet_need(under_test)
        if need is not None:
            raise NotTested(need.reason, need.advice)
        if self.plays and under_test.obstacle is not None:
            raise NotTested(
                f"no episode can begin: {under_test.obstacle}", "see contract.construction and contract.reset"
            )
        self.check(under_test)


def clauses_of(
    group: str,
    *checks: Callable[[EnvUnderTest], None],
    plays: bool = True,
    processes: bool = False,
    by_arguments: bool = False,
    needs: tuple[Need, ...] = (),
) -> tuple[Clause, ...]:
    """Return the clauses that functions test, named after them.

    The first paragraph of a function's docstring is the promise. The other arguments are fields of :class:`Clause`.
    """
    return tuple(
        Clause(
            name=f"{group}.{check.__name__.rstrip('_')}",  # reward.range_ would hide a built-in otherwise
            promise=" ".join((check.__doc__ or "").partition("\n\n")[0].split()),
            check=check,
            plays=plays,
            processes=processes,
            by_arguments=by_arguments,
            needs=needs,
        )
        for check in checks
    )
