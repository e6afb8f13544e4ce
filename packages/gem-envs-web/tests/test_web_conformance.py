"""The conformance kit on the environments of this package."""

from __future__ import annotations

import pytest

import gem
from gem_testing import EnvConformance


class TestConformance(EnvConformance):
    """The shop keeps every clause of the contract with a small catalogue."""

    environments = (gem.spec("web:Shop-v0").with_kwargs({"products": 100}),)


class TestSites(EnvConformance):
    """A form and a forum keep the contract."""

    environments = ("web:Form-v0-easy", "web:Forum-v0-easy")
    clauses = ("contract", "state", "reward", "manifest", "determinism.instances")


@pytest.mark.nightly
class TestEveryWorld(EnvConformance):
    """So does every variant, in full."""

    environments = (
        *(s for s in gem.registry.all_specs("web") if s.id.startswith(("web:Shop-v0", "web:Form", "web:Forum"))),
        *("web:Screen-v0-easy", "web:Screen-v0-form-easy"),
    )
