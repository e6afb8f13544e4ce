"""Shapes of published sets of programming problems. The tests are handed on in the forms of ``gem_envs_code.suite``.

Sources of the shapes: APPS (Hendrycks et al. 2021, github.com/hendrycks/apps), TACO (Li et al. 2023), CodeContests
(Li et al. 2022, github.com/google-deepmind/code_contests), MBPP (Austin et al. 2021,
github.com/google-research/google-research), HumanEval (Chen et al. 2021, github.com/openai/human-eval), LiveCodeBench
(Jain et al. 2024, github.com/LiveCodeBench/LiveCodeBench), LeetCodeDataset (Xia et al. 2025), AceCode (Zeng et al.
2025, github.com/TIGER-AI-Lab/AceCoder), KodCode (Xu et al. 2025, github.com/KodCode-AI/kodcode), BigCodeBench (Zhuo et
al. 2024, github.com/bigcode-project/bigcodebench), DeepCoder and PrimeIntellect as they are at Hugging Face.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from gem.errors import DatasetError
from gem_questions.schemas.content import (
    RowContent,
    RowSchema,
    column_of,
    is_missing,
    json_value,
    plain_value,
    row_name,
    text_of_question,
)
from gem_questions.schemas.packed_text import is_packed, unpacked
from gem_questions.schemas.unit_tests import cases_of, parsed

__all__ = ["CODE_SCHEMAS", "STATEMENT_KEYS", "TEST_KEYS", "code_tests"]

STATEMENT_KEYS = (
    "problem", "question", "description", "problem_description", "question_content", "problem_statement", "prompt",
    "text", "instruction", "query",
)  # fmt: skip
"""Columns that hold a problem in sets without a name of their own, in order of precedence, in any capitals."""
TEST_KEYS = (
    "tests", "test_cases", "input_output", "inputs_outputs", "verification_info", "private_test_cases", "private_tests",
    "public_tests", "unit_tests", "reward_model", "ground_truth", "answer",
)  # fmt: skip
"""Columns that hold the tests, likewise."""

_CONTEST_TESTS = ("public_tests", "private_tests", "generated_tests")


def code_tests(row: Mapping[str, Any], column: str) -> Any:
    """Return the tests in a column, with the function's name where another column of the row has it.

    Raises:
        DatasetError: if there are none.
    """
    value = plain_value(row[column])
    if isinstance(value, Mapping) and not is_missing(value.get("ground_truth")):
        value = value["ground_truth"]  # verl's column reward_model
    if is_missing(value) or (not isinstance(value, str) and isinstance(value, (Mapping, Sequence)) and not len(value)):
        raise DatasetError(f"{row_name(row)} has no tests: its {column!r} is {value!r:.60}; remove the row")
    return _named(row, value)


def _named(row: Mapping[str, Any], tests: Any) -> Any:
    """Return tests with the name of the function that the row's ``metadata`` gives, if it gives one."""
    metadata = json_value(row.get("metadata"))
    name = metadata.get("func_name") if isinstance(metadata, Mapping) else None
    if not isinstance(name, str) or not name:
        return tests
    tests = _json_tests(tests, "the tests")
    return {"fn_name": name, "test_cases": tests} if isinstance(tests, list) else {"fn_name": name, **tests}


def _json_tests(tests: Any, name: str) -> Any:
    if is_packed(tests):
        tests = unpacked(tests, name)
    value = json_value(plain_value(tests))
    if not isinstance(value, (list, Mapping)):
        raise DatasetError(f"{name} must be a JSON list or object of tests, got {value!r:.60}")
    return value


def _with_start(row: Mapping[str, Any], statement: str) -> str:
    """Return a problem with the code that an answer starts from, where the row has such code."""
    start = row.get("starter_code")
    if not isinstance(start, str) or not start.strip() or start.strip() in statement:
        return statement
    return f"{statement.rstrip()}\n\nStart from this code:\n{start.rstrip()}"


def _live_code_bench(row: Mapping[str, Any]) -> RowContent:
    columns = [name for name in ("public_test_cases", "private_test_cases") if not is_missing(row.get(name))]
    tests = [test for name in columns for test in _json_tests(row[name], f"{name!r} of {row_name(row)}")]
    if not tests:
        raise DatasetError(f"{row_name(row)} has no tests; remove the row")
    return RowContent(_with_start(row, text_of_question(row, "question_content")), _named(row, tests))


def _contest(row: Mapping[str, Any]) -> RowContent:
    inputs: list[Any] = []
    outputs: list[Any] = []
    for name in _CONTEST_TESTS:
        tests = json_value(plain_value(row.get(name)))
        if isinstance(tests, Mapping):
            inputs += _listed(tests.get("input"))
            outputs += _listed(tests.get("output"))
    if not inputs:
        raise DatasetError(f"{row_name(row)} has no tests; remove the row")
    return RowContent(text_of_question(row, "description"), {"inputs": inputs, "outputs": outputs})


def _column_tests(question: str, tests: str) -> Any:
    return lambda row: RowContent(_with_start(row, text_of_question(row, question)), code_tests(row, tests))


def _mbpp(row: Mapping[str, Any]) -> RowContent:
    question = "prompt" if "prompt" in row else "text"
    asserts = [*_listed(row["test_list"]), *_listed(row.get("challenge_test_list"))]
    if not asserts or not all(isinstance(test, str) for test in asserts):
        raise DatasetError(f"{row_name(row)} has no tests: its 'test_list' is {asserts!r:.60}; remove the row")
    more = row.get("test")  # EvalPlus has its further inputs in one program
    tests = asserts if is_missing(more) else [*asserts, str(more)]
    setup = [str(row.get("test_setup_code") or ""), *map(str, _listed(row.get("test_imports")))]
    statement = text_of_question(row, question).rstrip()
    return RowContent(
        f"{statement}\n\nThe program must pass tests like this one:\n{asserts[0].strip()}",
        {
            "assertions": tests,
            "setup": "\n".join(line for line in setup if line),
            "entry_point": _tested_function(row, asserts),
        },
    )


def _listed(value: Any) -> list[Any]:
    """Return the items of a list; none for any other value."""
    value = plain_value(value)
    return list(value) if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else []


def _tested_function(row: Mapping[str, Any], asserts: Sequence[str]) -> str:
    """Return the name of the function that assertions call.

    It is the one that most of them name and Python does not define; a name of Python's own only if there is no other.
    """
    called: Counter[str] = Counter()
    own: Counter[str] = Counter()
    for text in asserts:
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]  # the outermost first
        names = dict.fromkeys(function.id for function in calls if isinstance(function, ast.Name))
        called.update(name for name in names if not hasattr(builtins, name))
        own.update(list(names))
    called = called or own
    if not called:
        raise DatasetError(f"{row_name(row)} has tests that call no function: {asserts[0]!r:.60}; remove the row")
    return called.most_common(1)[0][0]


def _human_eval(row: Mapping[str, Any]) -> RowContent:
    entry = row["entry_point"]
    if is_missing(entry) or is_missing(row["test"]):
        raise DatasetError(f"{row_name(row)} has no tests: 'test' or 'entry_point' is empty; remove the row")
    described = column_of(row, ("problem_description",))
    if described is None:
        statement = f"Complete this function:\n{text_of_question(row, 'prompt').rstrip()}"
    else:
        statement = _with_start(row, text_of_question(row, described))
    return RowContent(
        statement,
        {"assertions": [f"{row['test']}\n\ncheck(candidate)"], "setup": str(row["prompt"]), "entry_point": str(entry)},
    )


def _ace_code(row: Mapping[str, Any]) -> RowContent:
    asserts = _asserts(row["test_cases"])
    return RowContent(
        text_of_question(row, "question"),
        {"assertions": asserts, "setup": "", "entry_point": _tested_function(row, asserts)},
    )


def _asserts(value: Any) -> list[str]:
    """Return a list of assertions; none for any other value."""
    listed = _listed(json_value(plain_value(value)))
    return listed if all(isinstance(test, str) and test.lstrip().startswith("assert") for test in listed) else []


def _kod_code(row: Mapping[str, Any]) -> RowContent:
    source, names = str(row["test"] or ""), _names_under_test(row)
    return RowContent(
        _with_declarations(row, text_of_question(row, "question")),
        {"assertions": cases_of(row, source), "setup": "", "entry_point": names[0], "others": names[1:]},
    )


def _names_under_test(row: Mapping[str, Any]) -> list[str]:
    """Return the functions that KodCode's tests import from the solution.

    Raises:
        DatasetError: if they import none, or something else than functions.
    """
    tree = parsed(row, str(row["test"] or ""))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "solution"]
    names = list(dict.fromkeys(alias.name for node in imports for alias in node.names))
    if names == ["*"] or not names:
        names = [str(about.get("function_name")) for about in _declared(row)]
    if not names or not all(name.isidentifier() and not name[0].isupper() for name in names):
        raise DatasetError(f"{row_name(row)} has tests of something else than functions: {names!r:.80}; remove the row")
    return names


def _declared(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [about for about in _listed(json_value(plain_value(row.get("test_info")))) if isinstance(about, Mapping)]


def _with_declarations(row: Mapping[str, Any], statement: str) -> str:
    """Return a problem with the declarations of the functions that the tests call."""
    lines = [
        str(about["function_declaration"]).strip() for about in _declared(row) if about.get("function_declaration")
    ]
    missing = [line for line in lines if line not in statement]
    return f"{statement.rstrip()}\n\nThe tests call:\n" + "\n".join(missing) if missing else statement


def _big_code_bench(row: Mapping[str, Any]) -> RowContent:
    described = "complete_prompt" if is_missing(row.get("instruct_prompt")) else "instruct_prompt"
    start = str(row.get("code_prompt") or row.get("complete_prompt") or "")
    statement = text_of_question(row, described)
    if described == "complete_prompt":
        statement = f"Complete this function:\n{statement.rstrip()}"
    setup = "".join(f"{line}\n" for line in start.splitlines() if line.startswith(("import ", "from ")))
    tests = cases_of(row, str(row["test"] or ""))
    return RowContent(statement, {"assertions": tests, "setup": setup, "entry_point": str(row["entry_point"])})


def _has(*columns: str) -> Any:
    return lambda row: all(column in row for column in columns)


CODE_SCHEMAS = (
    RowSchema(
        "LiveCodeBench",
        "code",
        "question_content",
        "private_test_cases",
        lambda row: "question_content" in row and ("private_test_cases" in row or "public_test_cases" in row),
        _live_code_bench,
    ),
    RowSchema(
        "CodeContests",
        "code",
        "description",
        "private_tests",
        lambda row: "description" in row and any(name in row for name in _CONTEST_TESTS),
        _contest,
    ),
    RowSchema(
        "MBPP",
        "code",
        "text",
        "test_list",
        lambda row: "test_list" in row and ("text" in row or "prompt" in row),
        _mbpp,
    ),
    RowSchema(
        "LeetCodeDataset",
        "code",
        "problem_description",
        "test",
        _has("prompt", "entry_point", "test", "problem_description"),
        _human_eval,
    ),
    RowSchema(
        "BigCodeBench",
        "code",
        "instruct_prompt",
        "test",
        _has("complete_prompt", "entry_point", "test"),
        _big_code_bench,
    ),
    RowSchema("KodCode", "code", "question", "test", _has("question", "solution", "test", "test_info"), _kod_code),
    RowSchema(
        "AceCode",
        "code",
        "question",
        "test_cases",
        lambda row: "question" in row and "test_cases" in row and bool(_asserts(row["test_cases"])),
        _ace_code,
    ),
    RowSchema("HumanEval", "code", "prompt", "test", _has("prompt", "entry_point", "test"), _human_eval),
    RowSchema(
        "APPS, TACO",
        "code",
        "question",
        "input_output",
        _has("question", "input_output"),
        _column_tests("question", "input_output"),
    ),
    RowSchema(
        "DeepCoder",
        "code",
        "problem",
        "tests",
        _has("problem", "tests"),
        _column_tests("problem", "tests"),
    ),
)
