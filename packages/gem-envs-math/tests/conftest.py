"""How much the tests of generated problems look at."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def share(pytestconfig: pytest.Config) -> float:
    """The part of a sweep over generated problems that this tier makes: all of it at night."""
    part: float = {"quick": 0.03, "main": 0.05, "all": 1.0}[pytestconfig.getoption("--tier")]
    return part
