"""The bundled problems, one module a field."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from gem_envs_code.problems.problem import CodeProblem, suite_of

__all__ = ["MODULES", "CodeProblem", "all_problems", "suite_of"]

MODULES = ("text", "numbers", "lists", "grids", "graphs", "geometry")


@cache
def all_problems() -> tuple[CodeProblem, ...]:
    """Return every problem, in the order of the modules."""
    modules = [import_module(f"gem_envs_code.problems.{name}") for name in MODULES]
    return tuple(value for module in modules for value in vars(module).values() if isinstance(value, CodeProblem))
