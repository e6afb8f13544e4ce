"""The conformance kit on tasks on databases and folders."""

from __future__ import annotations

from gem_testing import EnvConformance


class TestConformance(EnvConformance):
    """One environment that needs no server keeps the contract."""

    environments = ("mcp:SQLite-v0",)
    clauses = ("contract", "state", "reward", "manifest", "hostile", "determinism.instances", "determinism.reuse")
