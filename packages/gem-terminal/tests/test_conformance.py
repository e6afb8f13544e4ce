"""The conformance kit on a bundled task, in containers of the engine that starts them quickest."""

from __future__ import annotations

import pytest

from gem_testing import EnvConformance


@pytest.mark.slow
@pytest.mark.usefixtures("engine_variables")
class TestConformance(EnvConformance):
    environments = "terminal:SalesReport-v0"
