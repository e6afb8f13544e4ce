"""The conformance kit as a base class for pytest: :class:`EnvConformance`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from gem.core import Env
from gem.env_spec import EnvSpec
from gem_testing.clauses import CLAUSES
from gem_testing.outcome import Outcome
from gem_testing.runner import run_clause
from gem_testing.subject import Subject

if TYPE_CHECKING:
    import pytest

__all__ = ["EnvConformance"]

Target = str | EnvSpec | Subject | Callable[..., Env[Any, Any]]


class EnvConformance:
    """Derive a test class from this, and pytest tests every environment against every clause::

        class TestMyEnvironments(EnvConformance):
            environments = "my-envs"

    One test for each environment and clause: ``-k determinism`` or ``-k my:Env-v0`` chooses among them. A clause that
    cannot be tested, or that the manifest exempts from, is a skipped test that says why.
    """

    environments: ClassVar[Target | Sequence[Target]] = ()
    """A distribution, a namespace, an id, a path, a spec or a class; or several of them."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make one test of :meth:`test_conformance` for each environment and clause."""
        if not {"subject", "clause"} <= set(metafunc.fixturenames):
            return
        import pytest

        subjects = [subject for target in _several(self.environments) for subject in _subjects(target)]
        params = [pytest.param(subject, id=subject.spec.id, marks=_together(metafunc, subject)) for subject in subjects]
        metafunc.parametrize("subject", params, scope="class")
        metafunc.parametrize("clause", list(CLAUSES))

    def test_conformance(self, subject: Subject, clause: str) -> None:
        """The environment keeps the clause."""
        __tracebackhide__ = True
        result = run_clause(subject, CLAUSES[clause])
        if result.outcome is Outcome.HOLDS:
            return
        import pytest

        if result.outcome is Outcome.VIOLATED:
            pytest.fail(f"{subject.spec.id} violates {clause}: {result.message}", pytrace=False)
        pytest.skip(f"exempt: {result.message}" if result.exempt else f"{result.message}; {result.advice}")


def _together(metafunc: pytest.Metafunc, subject: Subject) -> list[pytest.MarkDecorator]:
    """With pytest-xdist's ``--dist loadgroup``, one worker tests an environment, since its clauses share episodes."""
    import pytest

    if not metafunc.config.pluginmanager.hasplugin("xdist"):
        return []
    return [pytest.mark.xdist_group(subject.spec.id)]


def _several(targets: Any) -> Sequence[Any]:
    return targets if isinstance(targets, (list, tuple)) else [targets]


def _subjects(target: Any) -> list[Subject]:
    if isinstance(target, Subject):
        return [target]
    if isinstance(target, str):
        from gem_testing.targets import subjects_of

        return subjects_of(target)
    return [Subject(target)]
