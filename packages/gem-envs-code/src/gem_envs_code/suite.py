"""The tests of a programming problem, and the forms in which data sets store them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gem.errors import DatasetError
from gem_questions.schemas.packed_text import is_packed, unpacked

__all__ = ["Case", "Suite", "read_suite"]

_INPUTS = ("inputs", "input")
_OUTPUTS = ("outputs", "output")
_FUNCTIONS = ("fn_name", "func_name", "function_name")
_KINDS = ("testtype", "type")
_CALLS = frozenset(("functional", "function_call", "call_based"))
"""The words in a test's kind that mean a call of a function: LiveCodeBench's and DeepCoder's, PrimeIntellect's."""


_ENTRY = re.compile(r"(?:[A-Za-z_]\w*(?:\(\))?\.)?[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True)
class Case:
    """One test.

    The input is the content of standard input, or the JSON list of a function's arguments. The output is the required
    content of standard output, or the JSON value that the function must return.
    """

    input: str
    output: str


@dataclass(frozen=True)
class Suite:
    """All tests of a problem."""

    cases: tuple[Case, ...]
    function: str | None = None
    """The function to call, also as a method of a class ``Solution``; None for a program that reads and writes."""
    checker: str | None = None
    """Source of ``check(input, output, expected) -> bool``, if several answers are right. Its arguments are texts
    for a program, and values for a function. It runs in the sandbox, apart from the code under test."""
    setup: str | None = None
    """Code that stands before each test, such as imports, if the tests are assertions: then the inputs of the cases are
    assertions about the function, or about the name ``candidate``, and the outputs are empty."""
    others: tuple[str, ...] = ()
    """Further functions that assertions call."""

    def longest(self, count: int | None) -> Suite:
        """Return the suite with only the ``count`` longest inputs, in their order; with all of them for None."""
        if count is None or count >= len(self.cases):
            return self
        by_length = sorted(range(len(self.cases)), key=lambda number: -len(self.cases[number].input))
        return replace(self, cases=tuple(self.cases[number] for number in sorted(by_length[:count])))


def read_suite(value: Any, name: str = "tests") -> Suite:
    """Return the tests that a column of a data set holds.

    It reads these forms, also as JSON text:

    * ``{"inputs": […], "outputs": […]}``, with ``"fn_name"`` for tests of a function (TACO, APPS and the published data
      sets);
    * ``[{"input": …, "output": …}, …]``, in which an entry may have ``"fn_name"`` too (PrimeIntellect), and
      ``[[input, output], …]``;
    * the tests of LiveCodeBench and DeepCoder: entries with ``"testtype": "functional"`` are calls of the function that
      ``"func_name"`` in their ``"metadata"``, or in the object around them, names; LiveCodeBench's private tests may be
      packed (see :mod:`gem_questions.schemas.packed_text`);
    * ``{"assertions": […], "entry_point": …}``, with ``"setup"`` where they need one, and ``"others"``, the names of
      further functions: assertions about functions, as :mod:`gem_questions.schemas` makes them of the rows of MBPP,
      HumanEval, LeetCodeDataset, AceCode, KodCode and BigCodeBench;
    * an optional ``"checker"`` beside them.

    Raises:
        DatasetError: for any other value, and without any test; the message names the value.
    """
    if is_packed(value):
        value = unpacked(value, name)
    for _ in range(2):  # JSON within JSON occurs as well
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError) as error:
                raise DatasetError(f"{name} is not JSON: {error}") from error
    function = checker = None
    if isinstance(value, Mapping) and "assertions" in value:
        return _assertions(value, name)
    if isinstance(value, Mapping):
        function = _function_of(value)
        checker = value.get("checker")
        if isinstance(value.get("test_cases"), list):
            value = value["test_cases"]
        else:
            inputs, outputs = _first(value, _INPUTS), _first(value, _OUTPUTS)
            if not isinstance(inputs, Sequence) or not isinstance(outputs, Sequence):
                raise DatasetError(f"{name} must have lists of inputs and outputs; it has {sorted(map(str, value))}")
            if isinstance(inputs, str) or isinstance(outputs, str):
                inputs, outputs = [inputs], [outputs]
            if len(inputs) != len(outputs):
                raise DatasetError(f"{name} has {len(inputs)} inputs and {len(outputs)} outputs")
            value = list(zip(inputs, outputs, strict=True))
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise DatasetError(f"{name} must be a list or an object of inputs and outputs, not {type(value).__name__}")
    pairs = []
    calls = False
    for entry in value:
        if isinstance(entry, Mapping):
            function = function or _function_of(entry)
            calls = calls or _first(entry, _KINDS) in _CALLS
            pairs.append((_first(entry, _INPUTS), _first(entry, _OUTPUTS)))
        elif isinstance(entry, Sequence) and not isinstance(entry, str) and len(entry) == 2:
            pairs.append((entry[0], entry[1]))
        else:
            raise DatasetError(f"a test of {name} is {entry!r:.60}; it must have an input and an output")
    if not pairs:
        raise DatasetError(f"{name} holds no test")
    if calls and not function:
        raise DatasetError(f"{name} are calls of a function, and nothing names it: add its name as 'fn_name'")
    function = str(function) if function else None
    convert = _program_case if function is None else _function_case
    return Suite(tuple(convert(*pair) for pair in pairs), function, checker if isinstance(checker, str) else None)


def _assertions(value: Mapping[str, Any], name: str) -> Suite:
    """Return a suite of assertions; DatasetError if they are no Python."""
    entry = value.get("entry_point")
    tests = value["assertions"]
    if not isinstance(entry, str) or not _ENTRY.fullmatch(entry):
        raise DatasetError(f"{name} must name the tested function as 'entry_point', got {entry!r:.60}")
    if not isinstance(tests, Sequence) or isinstance(tests, str) or not tests:
        raise DatasetError(f"{name} holds no test")
    setup = str(value.get("setup") or "")
    for source in (setup, *tests):
        try:
            compile(source, name, "exec", ast.PyCF_ONLY_AST)
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
            raise DatasetError(f"{name} are no Python: {error} in {source!r:.60}") from error
    # LeetCode's entry points are methods: Solution().add
    others = value.get("others", ())
    if not all(isinstance(other, str) and other.isidentifier() for other in others):
        raise DatasetError(f"{name} must name the other functions as 'others', got {others!r:.60}")
    cases = tuple(Case(test, "") for test in tests)
    return Suite(cases, entry.rpartition(".")[2], setup=setup, others=tuple(others))


def _function_of(value: Mapping[str, Any]) -> Any:
    """Return the name of the function that a test, or an object of tests, calls; None if it names none."""
    name = _first(value, _FUNCTIONS)
    if name is not None:
        return name
    metadata = value.get("metadata")
    if isinstance(metadata, str):
        metadata = _value(metadata)
    return _first(metadata, _FUNCTIONS) if isinstance(metadata, Mapping) else None


def _first(mapping: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((mapping[name] for name in names if mapping.get(name) is not None), None)


def _program_case(given: Any, wanted: Any) -> Case:
    return Case(_text(given), _text(wanted))


def _text(value: Any) -> str:
    """Return the text that a program reads or writes; a list of lines is joined, as published."""
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return "\n".join(map(_text, value))
    return "" if value is None else str(value)


def _function_case(given: Any, wanted: Any) -> Case:
    """Return the case of a function call: arguments as a list, or one line of JSON each as text."""
    if isinstance(given, str):
        given = [_value(line) for line in given.splitlines() if line.strip()]
        wanted = _value(wanted)
    elif not isinstance(given, Sequence):
        given = [given]
    return Case(json.dumps(list(given)), json.dumps(wanted))


def _value(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return text
