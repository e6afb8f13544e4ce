"""The bundled problems, one module a field; those with variants are in the package ``families``."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module

from gem_envs_code.problems.problem import CodeProblem, suite_of
from gem_envs_code.problems.structure import Structure

__all__ = ["MODULES", "CodeProblem", "all_problems", "problems_of", "suite_of"]

MODULES = (
    "text", "numbers", "lists", "grids", "graphs", "geometry", "families.words", "families.letters", "families.lists",
    "families.pieces", "families.sequences", "families.collections", "families.digits", "families.factors",
    "families.notations", "families.records", "families.dictionaries", "families.tables", "families.cells",
    "families.spans", "families.networks", "families.hierarchies", "families.dates", "families.clock",
    "families.expressions", "families.formats", "families.choices", "families.counting",
)  # fmt: skip


@cache
def all_problems() -> tuple[CodeProblem, ...]:
    """Return every problem, in the order of the modules."""
    return tuple(problem for name in MODULES for problem in problems_of(name))


def problems_of(name: str) -> Iterator[CodeProblem]:
    """Yield the problems of a module, in the order in which it defines them."""
    for value in vars(import_module(f"gem_envs_code.problems.{name}")).values():
        if isinstance(value, CodeProblem):
            yield value
        elif isinstance(value, Structure):
            yield from value
