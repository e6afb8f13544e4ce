"""The conformance kit on the environments of this package."""

from __future__ import annotations

import pytest

from gem_testing import EnvConformance


class TestConformance(EnvConformance):
    """One small world keeps the contract."""

    environments = ("lab:Growth-v0-easy",)


@pytest.mark.nightly
class TestEveryVariant(EnvConformance):
    """Every variant keeps the contract."""

    environments = "lab"
    without = ("java",)
