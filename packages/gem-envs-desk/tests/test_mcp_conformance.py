"""The conformance kit on tasks on databases and folders."""

from __future__ import annotations

import pytest

from gem_testing import EnvConformance


@pytest.mark.sampled(39)  # of 76: every second clause of the one, and the others of the other
class TestConformance(EnvConformance):
    """Those that need no server keep the contract."""

    environments = ("mcp:SQLite-v0", "mcp:Files-v0")
    clauses = ("contract", "state", "reward", "manifest", "hostile", "determinism.instances", "determinism.reuse")
