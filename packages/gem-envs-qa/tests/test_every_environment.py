"""What every environment of this package promises, checked for every id in the manifest."""

from __future__ import annotations

from gem_testing import EnvConformance


class TestConformance(EnvConformance):
    """Every environment keeps every clause of the contract; those whose data is elsewhere, where it can be had."""

    environments = "gem-envs-qa"
