"""The conformance kit on the environments of this package."""

from __future__ import annotations

import pytest

from gem_testing import EnvConformance


class TestConformance(EnvConformance):
    """One environment of each class keeps the contract."""

    environments = ("db:SQL-v0", "kg:Graph-v0")
    clauses = ("contract", "state", "reward", "manifest", "hostile", "determinism.instances", "determinism.reuse")


@pytest.mark.nightly
class TestConformanceByNight(EnvConformance):
    """So do all others, against every clause."""

    environments = "gem-envs-data"
