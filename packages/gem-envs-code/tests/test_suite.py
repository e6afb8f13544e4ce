"""The forms in which data sets write down tests, and how outputs are compared."""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import DatasetError
from gem_envs_code.compare import same_text, same_value
from gem_envs_code.suite import Case, Suite, read_suite

PROGRAM = Suite((Case("1 2\n", "3\n"), Case("4 5\n", "9\n")))
FUNCTION = Suite((Case("[1, 2]", "3"), Case("[4, 5]", "9")), "add")

PROGRAM_FORMS: list[Any] = [
    {"inputs": ["1 2\n", "4 5\n"], "outputs": ["3\n", "9\n"]},
    {"input": ["1 2\n", "4 5\n"], "output": ["3\n", "9\n"]},
    {"inputs": [["1 2", ""], ["4 5", ""]], "outputs": [["3", ""], ["9", ""]]},
    [{"input": "1 2\n", "output": "3\n"}, {"input": "4 5\n", "output": "9\n"}],
    [{"type": "stdin_stdout", "input": "1 2\n", "output": "3\n"}, {"input": "4 5\n", "output": "9\n"}],
    [["1 2\n", "3\n"], ["4 5\n", "9\n"]],
    {"test_cases": [{"input": "1 2\n", "output": "3\n"}, {"input": "4 5\n", "output": "9\n"}]},
]

FUNCTION_FORMS: list[Any] = [
    {"fn_name": "add", "inputs": [[1, 2], [4, 5]], "outputs": [3, 9]},
    {"fn_name": "add", "inputs": ["1\n2", "4\n5"], "outputs": ["3", "9"]},
    [{"fn_name": "add", "input": [1, 2], "output": 3}, {"fn_name": "add", "input": [4, 5], "output": 9}],
    {"fn_name": "add", "test_cases": [{"input": "1\n2", "output": "3"}, {"input": "4\n5", "output": "9"}]},
    [
        {"input": "1\n2", "output": "3", "testtype": "functional", "metadata": {"func_name": "add"}},
        {"input": "4\n5", "output": "9", "testtype": "functional", "metadata": {"func_name": "add"}},
    ],
    {
        "metadata": '{"func_name": "add"}',
        "test_cases": [
            {"input": "1\n2", "output": "3", "testtype": "functional"},
            {"input": "4\n5", "output": "9", "testtype": "functional"},
        ],
    },
    [
        {"type": "function_call", "fn_name": "add", "input": [1, 2], "output": 3},
        {"type": "function_call", "fn_name": "add", "input": [4, 5], "output": 9},
    ],
]


@pytest.mark.parametrize("form", PROGRAM_FORMS)
def test_every_form_for_programs_means_the_same(form: Any) -> None:
    """As it is, as JSON text, and as JSON text in JSON text."""
    for written in (form, json.dumps(form), json.dumps(json.dumps(form))):
        assert read_suite(written) == PROGRAM


@pytest.mark.parametrize("form", FUNCTION_FORMS)
def test_every_form_for_functions_means_the_same(form: Any) -> None:
    """Arguments in a list, or a line of JSON each."""
    for written in (form, json.dumps(form)):
        assert read_suite(written) == FUNCTION


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_packed_tests_mean_the_same(protocol: int) -> None:
    """LiveCodeBench's private tests are base64 of a compressed pickle of JSON text, of any pickle protocol."""
    for form in PROGRAM_FORMS:
        pickled = pickle.dumps(json.dumps(form), protocol)
        assert read_suite(base64.b64encode(zlib.compress(pickled)).decode()) == PROGRAM


def test_one_test_may_stand_without_lists() -> None:
    """As CodeContests has its examples."""
    assert read_suite({"input": "1", "output": "2"}) == Suite((Case("1", "2"),))


def test_a_checker_comes_along() -> None:
    """Where the data set has one."""
    suite = read_suite({"inputs": ["1"], "outputs": ["2"], "checker": "def check(i, o, e): return True"})
    assert suite.checker == "def check(i, o, e): return True"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{", "tests is not JSON"),
        ("[" * 100_000, "tests is not JSON"),
        ("3", "must be a list or an object of inputs and outputs, not int"),
        (None, "not NoneType"),
        ({"in": [1]}, "must have lists of inputs and outputs; it has .'in'."),
        ({"inputs": ["1"], "outputs": ["1", "2"]}, "1 inputs and 2 outputs"),
        ({"inputs": [], "outputs": []}, "holds no test"),
        ([], "holds no test"),
        ([3], "a test of tests is 3"),
        ([["a", "b", "c"]], "must have an input and an output"),
        ([{"input": "1", "output": "2", "testtype": "functional"}], "nothing names it: add its name as 'fn_name'"),
        (base64.b64encode(b"no compressed text").decode(), "neither JSON nor base64 of compressed text"),
    ],
)
def test_what_is_no_test_is_an_error_that_shows_it(value: Any, message: str) -> None:
    """Empty sets of tests too: a program must not be right because nothing is asked of it."""
    with pytest.raises(DatasetError, match=message):
        read_suite(value)


@pytest.mark.parametrize(
    ("output", "expected", "same"),
    [
        ("3\n", "3", True), ("  3  \r\n\n", "3\n", True), ("1\n2", "1 2", False), ("1  2", "1 2", False),
        ("1\n\n2", "1\n2", False), ("", "", True), ("", "0", False), ("0.3333333", "0.333333333", True),
        ("0.3334", "0.333333333", False), ("1e-1", "0.1", True), ("1000000.5", "1000000.4", True),
        ("1000000.5", "1000003.4", False), ("x 0.50001", "x 0.5", False), ("x 0.5000001", "x 0.5", True),
        ("y 0.5", "x 0.5", False), ("3.0", "3", False), ("3", "3.0", True), ("nan", "0.5", False),
        ("inf", "0.5", False), ("1e999", "0.5", False), ("1_0.5", "10.5", False), ("٣.٥", "3.5", True),
        ("YES", "yes", False), ("1" * 5000, "1" * 5000, True), ("1" * 5000 + "2", "0.5", False),
        ("0.5 0.5", "0.5", False), ("1.0 0.5", "1 0.5", False),
    ],
)  # fmt: skip
def test_texts_are_compared_line_by_line(output: str, expected: str, same: bool) -> None:
    """Space around lines does not count, decimals may be off by a millionth, and nothing else differs."""
    assert same_text(output, expected) is same


@pytest.mark.parametrize(
    ("output", "expected", "same"),
    [
        ("3", "3", True), ("3", "[3]", True), ("[3]", "3", False), ("3.0", "3", True),
        ("0.30000000000000004", "0.3", True), ("0.301", "0.3", False), ("true", "1", False), ("1", "true", False),
        ("true", "1.0", False), ("true", "true", True), ("null", "null", True), ("null", "[]", False),
        ("[1, 2]", "[1, 2]", True), ("[1, 2]", "[2, 1]", False), ("[1, 2]", "[1]", False),
        ('{"a": [0.1]}', '{"a": [0.10000000001]}', True), ('{"a": 1, "b": 2}', '{"a": 1}', False), ('"3"', "3", False),
        ("NaN", "0.5", False), ("Infinity", "0.5", False), ("9" * 5000, "1", False), ("", "null", False),
        ("[" * 100_000, "[]", False), ("3 4", "3", False),
    ],
)  # fmt: skip
def test_values_are_compared_as_json(output: str, expected: str, same: bool) -> None:
    """Types count, numbers may be off by a millionth where one is a decimal, and broken output is wrong."""
    assert same_value(output, expected) is same


def test_a_result_in_a_list_is_not_taken_for_it_where_that_is_not_meant() -> None:
    """The bundled problems write what they mean."""
    assert same_value("3", "[3]")
    assert not same_value("3", "[3]", unwrap=False)


@given(st.text(), st.text())
def test_comparing_never_raises(output: str, expected: str) -> None:
    """Whatever a program writes; and what is the same is the same."""
    assert same_text(output, output)
    assert same_text(output, expected) in (True, False)
    assert same_value(output, json.dumps(expected)) in (True, False)


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text() | st.floats(-1e9, 1e9), st.lists, max_leaves=20)
)
def test_a_value_is_the_same_as_itself(value: Any) -> None:
    """Through JSON, and never the same as itself in another type."""
    assert same_value(json.dumps(value), json.dumps(value))
    assert not same_value(json.dumps([value, 1]), json.dumps(value), unwrap=False)
