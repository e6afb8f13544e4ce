"""The conformance kit on the environments of this package."""

from __future__ import annotations

import pytest

from gem_testing import EnvConformance


class TestConformance(EnvConformance):
    """One environment keeps the contract."""

    environments = ("office:Refund-v0",)
    clauses = ("contract", "state.json", "state.pickle", "state.unaliased", "manifest.schema", "reward.range")


@pytest.mark.nightly
class TestConformanceByNight(EnvConformance):
    """So do all others, against every clause."""

    environments = "gem-envs-office"
