"""The conformance kit on the environments of this package."""

from __future__ import annotations

import pytest

import gem
from gem_testing import EnvConformance


class TestConformance(EnvConformance):
    """The shop keeps every clause of the contract with a small catalogue."""

    environments = (gem.spec("web:Shop-v0").with_kwargs({"products": 300}),)


@pytest.mark.nightly
class TestEveryShop(EnvConformance):
    """So does every variant, in full."""

    environments = tuple(spec for spec in gem.registry.all_specs("web") if spec.id.startswith("web:Shop-v0"))
