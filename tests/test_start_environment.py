"""The environment of the first page is small and passes every clause of the conformance kit that applies to it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from gem_testing import EnvUnderTest, run_clauses

START = Path(__file__).parents[1] / "docs" / "start.md"
LONGEST = 25
"""Lines, without blank ones, of an environment of the everyday kind."""


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The block of docs/start.md that defines the environment, as a module that other processes can import too."""
    import importlib

    (code,) = re.findall(
        r"```python\n((?:(?!```).)*class CountdownEnv.*?)\ngem\.register", START.read_text(), re.DOTALL
    )
    (tmp_path / "start_environment.py").write_text(f"import gem\n{code}", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("start_environment")
    del sys.modules["start_environment"]


def test_the_environment_of_the_readme_keeps_every_clause(example: ModuleType) -> None:
    """All hold but those that need a manifest or a reference policy, which it does not have."""
    results = list(run_clauses(EnvUnderTest(example.CountdownEnv)))
    assert [(r.clause, r.message) for r in results if r.outcome.value == "violated"] == []
    assert {r.clause.partition(".")[0] for r in results if r.outcome.value == "not tested"} <= {"manifest", "reward"}
    assert sum(r.outcome.value == "holds" for r in results) >= 45


def test_an_everyday_environment_is_short() -> None:
    """The classes of the first page and of the first guide have at most 25 lines besides docstrings and comments."""
    for path, name in ((START, "CountdownEnv"), (START.parent / "guides/first-environment.md", "NimEnv")):
        (body,) = re.findall(rf"^class {name}.*?(?=^\S)", path.read_text(), re.DOTALL | re.MULTILINE)
        lines = re.sub(r'    r?""".*?"""\n', "", body, flags=re.DOTALL).splitlines()
        assert len([line for line in lines if line.strip() and not line.strip().startswith("#")]) <= LONGEST, name
