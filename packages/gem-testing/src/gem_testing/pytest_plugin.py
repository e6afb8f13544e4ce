"""The pytest plugin: the fixture ``golden``, and ``pytest --gem-check TARGET``.

pytest loads this module in every session where gem-testing is installed, so it imports nothing but pytest until one
of the two is used. ``pytest -p no:gem`` leaves it out.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from gem_testing.env_under_test import EnvUnderTest
    from gem_testing.golden import Golden

__all__ = ["golden"]

_MARKER = "gem_check"
_NOT_CHECKED, _WRITTEN = "gem_not_checked", "gem_golden_written"
"""Names of properties of test reports, the only data that comes back from the workers of pytest-xdist."""

_OWNERS = pytest.StashKey[dict["Path", str]]()
"""Golden files that this session has written, and the tests that wrote them."""

_MOST_NAMED = 4  # environments in one line of the summary


def pytest_addoption(parser: pytest.Parser) -> None:
    # Both begin with the project's name, because a second definition in a conftest.py or plugin ends every session.
    group = parser.getgroup("gem", "environments for language-model agents")
    group.addoption(
        "--gem-check",
        action="append",
        default=[],
        metavar="TARGET",
        help="also test every clause of the conformance kit on the environments of TARGET: an id, a namespace, a "
        "distribution, or the path of a package; may be given several times; '-m gem_check' selects these tests",
    )
    group.addoption(
        "--gem-every-variant",
        action="store_true",
        help="let tests derived from EnvConformance test every variant against every clause, and not only one of each "
        "class",
    )
    group.addoption(
        "--gem-update-golden",
        action="store_true",
        help="write the golden episodes of the tests that run, instead of comparing with them",
    )


def pytest_configure(config: pytest.Config) -> None:
    targets = config.getoption("gem_check")
    if targets:
        config.addinivalue_line("markers", f"{_MARKER}: a clause of the conformance kit, added by --gem-check")
        config.pluginmanager.register(_Collection(targets), "gem-check")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare an environment with recorded episodes: ``golden("sudoku", "game:Sudoku-v0-easy")``.

    The files are in the folder ``golden`` beside the test file; ``pytest --gem-update-golden`` writes them.
    See :class:`gem_testing.golden.Golden`.
    """
    from shlex import quote

    from gem_testing.golden import Golden

    node = request.node
    owners = request.config.stash.setdefault(_OWNERS, {})

    def written(path: Path) -> None:
        node.user_properties.append((_WRITTEN, str(path)))
        owner = owners.setdefault(path, node.nodeid)
        if owner != node.nodeid:
            pytest.fail(f"{owner} has written other episodes to {path}; give the two tests files of their own", False)

    return Golden(
        request.path.parent / "golden",
        update=request.config.getoption("gem_update_golden"),
        advice=f"run: pytest {quote(node.nodeid)} --gem-update-golden",
        written=written,
    )


def pytest_terminal_summary(terminalreporter: Any) -> None:
    found: dict[str, list[Any]] = {_WRITTEN: [], _NOT_CHECKED: []}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                for name, value in report.user_properties:
                    if name in found:
                        found[name].append(value)
    if found[_WRITTEN]:
        terminalreporter.write_sep("=", "golden episodes written")
        terminalreporter.write_line("\n".join(sorted(set(found[_WRITTEN]))))
    if found[_NOT_CHECKED]:
        terminalreporter.write_sep("=", "clauses that were not tested")
        terminalreporter.write_line("\n".join(_summary_lines(found[_NOT_CHECKED])))


def _summary_lines(entries: list[tuple[str, str, str]]) -> Iterator[str]:
    """Yield a line for each clause and reason, with the environments that it concerns."""
    environments: dict[tuple[str, str], list[str]] = {}
    for env_id, clause, reason in entries:
        environments.setdefault((clause, reason), []).append(env_id)
    for (clause, reason), env_ids in sorted(environments.items()):
        more = len(env_ids) - _MOST_NAMED
        named = ", ".join(sorted(env_ids)[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        yield f"{clause}: {reason} ({named})"


class _Collection:
    """Adds the environments of the targets to the tests of a session."""

    def __init__(self, targets: list[str]) -> None:
        self.targets = list(dict.fromkeys(targets))

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        if isinstance(collector, pytest.Session) and report.result is not None:
            seen: set[str] = set()
            report.result.extend(
                GemTarget.from_parent(collector, name=target, nodeid="gem-check", seen=seen) for target in self.targets
            )
        return report


class GemTarget(pytest.Collector):
    """The environments that a target of ``--gem-check`` names, less those of targets before it."""

    def __init__(self, seen: set[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seen = seen

    def collect(self) -> Iterator[GemEnvironment]:
        from gem.errors import GemError
        from gem_testing.targets import envs_under_test

        try:
            envs = envs_under_test(self.name)
        except GemError as error:
            raise self.CollectError(f"--gem-check {self.name}: {error}") from error
        for under_test in envs:
            if under_test.spec.id not in self.seen:
                self.seen.add(under_test.spec.id)
                node_id = f"{self.nodeid}::{under_test.spec.id}"
                yield GemEnvironment.from_parent(self, name=under_test.spec.id, nodeid=node_id, under_test=under_test)


class GemEnvironment(pytest.Collector):
    """One environment, and the kit's clauses as its tests."""

    def __init__(self, under_test: EnvUnderTest, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.under_test = under_test

    def collect(self) -> Iterator[GemClause]:
        from gem_testing.clauses import CLAUSES

        for name in CLAUSES:
            yield GemClause.from_parent(self, name=name, under_test=self.under_test)


class GemClause(pytest.Item):
    """One clause on one environment."""

    def __init__(self, under_test: EnvUnderTest, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.under_test = under_test
        self.add_marker(_MARKER)

    def runtest(self) -> None:
        from gem_testing.clauses import CLAUSES
        from gem_testing.outcomes import ClauseOutcome
        from gem_testing.runner import run_clause

        result = run_clause(self.under_test, CLAUSES[self.name])
        if result.outcome is ClauseOutcome.VIOLATED:
            pytest.fail(result.message, pytrace=False)
        if result.outcome is ClauseOutcome.NOT_TESTED:
            advice = f"; {result.advice}" if result.advice else ""
            reason = f"exempt: {result.message}" if result.exempt else f"not tested: {result.message}{advice}"
            self.user_properties.append((_NOT_CHECKED, (self.under_test.spec.id, self.name, reason)))
            pytest.skip(reason)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"{self.under_test.spec.id} {self.name}"
