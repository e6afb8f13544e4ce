"""Every clause of the conformance kit, in reading order: one function each, in modules by group."""

from __future__ import annotations

from gem_testing.clauses import contract, determinism, hostile, info, manifest, residue, reward, schema, speed, state

__all__ = ["CLAUSES"]

CLAUSES = {
    clause.name: clause
    for group in (contract, info, determinism, state, residue, hostile, speed, schema, manifest, reward)
    for clause in group.CLAUSES
}
"""Name → clause."""
