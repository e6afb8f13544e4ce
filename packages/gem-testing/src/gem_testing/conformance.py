"""The conformance kit as a base class for pytest: :class:`EnvConformance`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from gem.arguments import nearest
from gem.core import Env
from gem.entry_points import name_of
from gem.env_spec import EnvSpec
from gem.errors import ArgumentError
from gem_testing.clauses import CLAUSES
from gem_testing.env_under_test import EnvUnderTest
from gem_testing.outcomes import ClauseOutcome
from gem_testing.runner import run_clause
from gem_testing.targets import envs_under_test

if TYPE_CHECKING:
    import pytest

__all__ = ["EnvConformance", "clauses_for_each"]

Target = str | EnvSpec | EnvUnderTest | Callable[..., Env[Any, Any]]


class EnvConformance:
    """Derive a test class from this, and pytest tests environments against the clauses::

        class TestMyEnvironments(EnvConformance):
            environments = "my-envs"

    Each pair of an environment and a clause is one test, so ``-k determinism`` or ``-k my:Env-v0`` chooses among them.
    One environment of each class is tested against every clause. The others, which differ from it in their arguments
    alone, are tested against the clauses whose results depend on arguments. ``pytest --gem-every-variant`` tests
    every environment against every clause.

    A clause that the manifest exempts from, or that lacks a declaration such as a reference policy, makes no test. A
    clause that proves untestable while the environment plays becomes a skipped test with its reason.
    """

    environments: ClassVar[Target | Sequence[Target]] = ()
    """A distribution, a namespace, an id, a path, a spec or a class; or several of them."""

    without: ClassVar[Collection[str]] = ()
    """Requirements, as in the manifest's ``requires``, that the tests cannot rely on, such as ``("dataset",)``.

    An environment with such a requirement makes no test.
    """

    clauses: ClassVar[Collection[str]] = ()
    """Clauses and groups of clauses to test, such as ``("contract", "state.pickle")``; empty for all of them.
    """

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make one test of :meth:`test_conformance` for each environment and clause."""
        if not {"under_test", "clause"} <= set(metafunc.fixturenames):
            return
        import pytest

        if self.environments == ():
            pytest.fail(f"{type(self).__name__} names no environments: environments = 'my-envs'", pytrace=False)
        envs = [
            under_test
            for target in _several(self.environments)
            for under_test in _under_test(target)
            if not set(self.without).intersection(under_test.spec.requires)
        ]
        every_variant = metafunc.config.getoption("gem_every_variant", False)
        try:
            chosen = clauses_named(self.clauses)
        except ArgumentError as error:
            pytest.fail(f"{type(self).__name__}: {error}", pytrace=False)
        params = [
            pytest.param(under_test, clause, id=f"{under_test.spec.id}-{clause}", marks=_together(metafunc, under_test))
            for under_test, clause in clauses_for_each(envs, every_variant)
            if clause in chosen
        ]
        metafunc.parametrize(("under_test", "clause"), params)

    def test_conformance(self, under_test: EnvUnderTest, clause: str) -> None:
        """The environment keeps the clause."""
        result = run_clause(under_test, CLAUSES[clause])
        if result.outcome is ClauseOutcome.HOLDS:
            return
        import pytest

        if result.outcome is ClauseOutcome.VIOLATED:
            pytest.fail(f"{under_test.spec.id} violates {clause}: {result.message}", pytrace=False)
        pytest.skip(f"{result.message}; {result.advice}")


def clauses_for_each(envs: Sequence[EnvUnderTest], every_variant: bool = False) -> Iterator[tuple[EnvUnderTest, str]]:
    """Yield each environment with each clause to test it against.

    Args:
        envs: the environments.
        every_variant: test each environment against all clauses, and not only one environment of each class.
    """
    full: dict[str | int, EnvUnderTest] = {}
    for under_test in envs:
        # An environment that requires nothing can be tested everywhere, so it stands for its class.
        current = full.setdefault(_class_of(under_test), under_test)
        if current.spec.requires and not under_test.spec.requires:
            full[_class_of(under_test)] = under_test
    for under_test in envs:
        stands_for_class = full[_class_of(under_test)] is under_test
        for name, clause in CLAUSES.items():
            if (clause.by_arguments or stands_for_class or every_variant) and clause.applies_to(under_test):
                yield under_test, name


def clauses_named(names: Collection[str]) -> set[str]:
    """Return the clauses of these names, and those of the groups of these names; all of them for no names.

    Raises:
        ArgumentError: if no clause or group has one of the names; the message holds the nearest.
    """
    groups = {name.partition(".")[0] for name in CLAUSES}
    for name in names:
        if name not in CLAUSES and name not in groups:
            hint = nearest(name, (*CLAUSES, *groups))
            raise ArgumentError(
                f"there is no clause or group of clauses {name!r}" + (f"; did you mean {hint!r}?" if hint else "")
            )
    return {name for name in CLAUSES if not names or name in names or name.partition(".")[0] in names}


def _class_of(under_test: EnvUnderTest) -> str | int:
    """Return the name of the class; the identity of a local class or function, as any two lambdas share a name."""
    entry_point = under_test.spec.entry_point
    name = name_of(entry_point)
    return id(entry_point) if "<" in name else name


def _together(metafunc: pytest.Metafunc, under_test: EnvUnderTest) -> list[pytest.MarkDecorator]:
    """Group an environment's clauses for pytest-xdist's ``--dist loadgroup``, since they share episodes."""
    import pytest

    if not metafunc.config.pluginmanager.hasplugin("xdist"):
        return []
    return [pytest.mark.xdist_group(under_test.spec.id)]


def _several(targets: Any) -> Sequence[Any]:
    return targets if isinstance(targets, (list, tuple)) else [targets]


def _under_test(target: Any) -> list[EnvUnderTest]:
    if isinstance(target, EnvUnderTest):
        return [target]
    return envs_under_test(target) if isinstance(target, str) else [EnvUnderTest(target)]
