"""The conformance kit on the environments of this package."""

from __future__ import annotations

import pytest

from gem_testing import EnvConformance


@pytest.mark.nightly
class TestEveryVariant(EnvConformance):
    """Every variant keeps the contract."""

    environments = "visual"
