"""The conformance kit on the environments of this package."""

from __future__ import annotations

import pytest

from gem_testing import EnvConformance


class TestConformance(EnvConformance):
    """A world of few steps keeps the contract."""

    environments = ("craft:Recipes-v0-d2",)


@pytest.mark.nightly
class TestEveryVariant(EnvConformance):
    """Every variant keeps the contract."""

    environments = "craft"
