"""The outcomes of tests as the logs of test runners show them: :func:`parse_log`, by the name of a log's form.

The names of tests are those that the published sets list, so the parsers shorten and join names as the parsers did with
which the sets were made. A log is text that the code under test can write to: it is as honest as that code.
"""

from __future__ import annotations

from collections.abc import Callable

from gem.errors import ArgumentError
from gem_envs_swe.published.logs import compiled, javascript, python, ruby_php
from gem_envs_swe.published.logs.outcome import TestOutcomes

__all__ = ["FAILURES_ALONE", "LOG_FORMS", "TestOutcomes", "log_form", "parse_log"]

LOG_FORMS: dict[str, Callable[[str], TestOutcomes]] = {
    **python.FORMS,
    **javascript.FORMS,
    **compiled.FORMS,
    **ruby_php.FORMS,
}
"""The name of a form → its parser."""

FAILURES_ALONE = frozenset({"chart_js", "marked"})
"""Forms that name no test that passes."""

_SAME = {
    **dict.fromkeys(("astroid", "flask", "marshmallow", "pvlib", "pyvista", "sqlfluff", "xarray"), "pytest"),
    **dict.fromkeys(("pydicom", "requests", "pylint"), "pytest_options"),
    **dict.fromkeys(("astropy", "scikit", "sphinx"), "pytest_v2"),
    **dict.fromkeys(("react_pdf", "scratch_gui", "prettier", "carbon", "lighthouse_jest"), "suite_files"),
    **dict.fromkeys(("js_4", "mocha_v2"), "mocha"),
    "unittest": "django",
    "go": "gotest",
    "rust": "cargo",
}
"""The names of parsers in published rows that stand for one of :data:`LOG_FORMS`."""


def log_form(name: str) -> str | None:
    """Return the form of logs behind the name of a parser in a row, such as ``parse_log_pytest``; None if unknown."""
    short = name.strip().removeprefix("parse_log_").replace("-", "_").lower()
    short = _SAME.get(short, short)
    return short if short in LOG_FORMS else None


def parse_log(form: str, log: str) -> TestOutcomes:
    """Return the outcomes that a log shows, in time linear in its length.

    Args:
        form: one of :data:`LOG_FORMS`.
        log: the output of the test runner. Any text is a log; what no runner writes shows no outcomes.

    Raises:
        ArgumentError: if there is no such form.
    """
    if form not in LOG_FORMS:
        raise ArgumentError(f"there is no form of logs {form!r}; there are {', '.join(sorted(LOG_FORMS))}")
    return LOG_FORMS[form](log)
