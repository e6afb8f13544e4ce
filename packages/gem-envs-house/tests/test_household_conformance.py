"""The conformance kit on the environments of this package."""

from __future__ import annotations

import pytest

from gem_testing import EnvConformance


class TestConformance(EnvConformance):
    """One small and one large house keep every clause of the contract."""

    environments = ("house:Household-v0-easy", "house:Composite-v0")


@pytest.mark.nightly
class TestConformanceOfAllVariants(EnvConformance):
    """So do all variants."""

    environments = "house"
    without = ("dataset",)
