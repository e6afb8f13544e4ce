r"""Rows in the shapes in which data sets are published.

The rows are made up; their columns and the forms of their values are those of the sets named, see the sources in
``gem_questions.schemas``.
"""

from __future__ import annotations

import base64
import json
import pickle
import zlib
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gem.errors import DatasetError
from gem_questions.schemas import Kind, math_gold, qa_golds, read_row, recognise
from gem_questions.schemas.content import text_of_question
from gem_questions.tables import Row

GSM8K = {"question": "Ann has 3 hens with 6 eggs each. Eggs?", "answer": "3 * 6 = <<3*6=18>>18 eggs.\n#### 18"}
MATH = {
    "problem": "Half of $x=1$?",
    "solution": "So \\boxed{1}, no: $\\boxed{\\frac{1}{2}}$.",
    "level": "Level 1",
    "type": "Algebra",
}
MINERVA = {**MATH, "type": "Introduction to Astronomy (8.282J Spring 2006)"}
OLYMPIAD = {
    "id": 1,
    "subfield": "Algebra",
    "context": None,
    "question": "Find $x$.",
    "solution": ["…"],
    "final_answer": ["$4.2$"],
    "is_multiple_answer": False,
    "unit": "km",
    "answer_type": "Numerical",
    "error": "1e-1",
}
SQUAD = {
    "id": "1",
    "title": "Ann",
    "context": "Ann lives in Bonn.",
    "question": "Where does Ann live?",
    "answers": {"text": ["Bonn", "in Bonn", "Bonn"], "answer_start": [13, 10, 13]},
}
TRIVIA = {
    "question": "Who wrote it?",
    "question_id": "tc_1",
    "answer": {
        "aliases": ["A. Lee", "Ann Lee"],
        "normalized_aliases": ["a lee"],
        "type": "WikipediaEntity",
        "value": "Ann Lee",
    },
}
HOTPOT = {
    "id": "5a",
    "question": "Were both poets?",
    "answer": "yes",
    "type": "comparison",
    "level": "hard",
    "supporting_facts": {"title": ["A"], "sent_id": [0]},
    "context": {"title": ["A"], "sentences": [["A."]]},
}
NQ = {
    "id": "7",
    "document": {"title": "A"},
    "question": {"text": "who is it", "tokens": ["who", "is", "it"]},
    "annotations": [
        {"short_answers": [], "yes_no_answer": -1},
        {"short_answers": [{"text": ["Ann"], "start_token": [3]}], "yes_no_answer": -1},
        {"short_answers": [], "yes_no_answer": 1},
    ],
}
NQ_SIMPLIFIED = {
    "question_text": "who is it",
    "document_text": "it is Ann Lee .",
    "example_id": 7,
    "annotations": [
        {"short_answers": [{"start_token": 2, "end_token": 4}], "yes_no_answer": "NONE"},
    ],
}
TESTS = [
    {"input": "1\n2", "output": "3", "testtype": "functional"},
    {"input": "4\n5", "output": "9", "testtype": "functional"},
]
LCB = {
    "question_title": "Add",
    "question_content": "Add two numbers.",
    "platform": "leetcode",
    "question_id": "1",
    "starter_code": "class Solution:\n    def add(self, a: int, b: int) -> int:\n        ",
    "public_test_cases": json.dumps(TESTS[:1]),
    "private_test_cases": base64.b64encode(zlib.compress(pickle.dumps(json.dumps(TESTS[1:])))).decode(),
    "metadata": json.dumps({"func_name": "add"}),
}
APPS = {
    "problem_id": 0,
    "question": "Add.",
    "solutions": "[]",
    "input_output": json.dumps({"inputs": ["1 2"], "outputs": ["3"]}),
}
CONTEST = {
    "name": "1_A",
    "description": "Add.",
    "public_tests": {"input": ["1 2\n"], "output": ["3\n"]},
    "private_tests": {"input": [], "output": []},
    "generated_tests": {"input": ["4 5\n"], "output": ["9\n"]},
}
MBPP: dict[str, Any] = {
    "text": "Write a function to add.",
    "code": "def add(a,b): return a+b",
    "task_id": 1,
    "test_setup_code": "import math",
    "test_list": ["assert add(1, 2) == 3", "assert set([add(4, 5)]) == set([9])"],
    "challenge_test_list": [],
}
HUMAN_EVAL = {
    "task_id": "HumanEval/0",
    "prompt": 'def add(a, b):\n    """Add."""\n',
    "entry_point": "add",
    "canonical_solution": "    return a + b\n",
    "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n",
}
VERL = {
    "data_source": "gsm8k",
    "prompt": [{"role": "system", "content": "Think."}, {"role": "user", "content": "2 + 3?"}],
    "reward_model": {"style": "rule", "ground_truth": "5"},
}


GPQA = {
    "Record ID": "rec1",
    "Question": "Which is a noble gas?\n",
    "Correct Answer": "Neon\n",
    "Incorrect Answer 1": "Nitrogen",
    "Incorrect Answer 2": "Oxygen",
    "Incorrect Answer 3": "Iron",
    "Explanation": "Group 18.",
}
HELLA_SWAG = {
    "ind": 4,
    "activity_label": "Baking",
    "ctx_a": "She stirs the dough.",
    "ctx_b": "then she",
    "ctx": "She stirs the dough. then she",
    "endings": ["puts it into the oven.", "eats the oven."],
    "label": "0",
}
WINO = {"sentence": "The cup fits the box since the _ is small.", "option1": "cup", "option2": "box", "answer": "1"}
OPEN_BOOK = {
    "id": "1",
    "question_stem": "The sun is",
    "choices": {"text": ["a planet", "a star"], "label": ["A", "B"]},
    "answerKey": "B",
}
ARC = {
    "id": "1",
    "question": {"stem": "The sun is", "choices": []},
    "choices": [{"text": "a planet", "label": "1"}, {"text": "a star", "label": "2"}],
    "answerKey": "2",
}
MATH_QA = {
    "Problem": "2 + 2 ?",
    "Rationale": "explanation",
    "options": "a ) 3 , b ) 1,004 , c ) 4 , d ) 5 , e ) none of these",
    "correct": "c",
    "annotated_formula": "add(2,2)",
}
DROP = {
    "section_id": "1",
    "query_id": "1",
    "passage": "Ann and Bea scored.",
    "question": "Who scored?",
    "answer": {"number": "", "date": {"day": "", "month": "", "year": ""}, "spans": ["Ann", "Bea"]},
    "validated_answers": {
        "number": ["", "2"],
        "date": [{"day": "1", "month": "May", "year": ""}, {"day": "", "month": "", "year": ""}],
        "spans": [[], []],
    },
}
IF_EVAL = {
    "key": 1,
    "prompt": "No commas.",
    "instruction_id_list": ["punctuation:no_comma"],
    "kwargs": [{"num_words": None}],
}
RULES = {"context": "Ann is kind.", "question": "Ann is not kind.", "label": "not entailment", "config": "depth-0"}
ORZ = {"0": {"from": "human", "value": "2 + 3?"}, "1": {"from": "assistant", "ground_truth": {"value": "5"}}}
ACE_CODE = {"id": "a", "source": "oss", "question": "Add.", "test_cases": ["assert add(1, 2) == 3"], "inferences": []}
KOD_TEST = (
    "from solution import add\n\ndef test_small():\n    assert add(1, 2) == 3\n\n"
    "def test_zero():\n    assert add(0, 0) == 0"
)
KOD_CODE = {
    "version": "v1.0",
    "style": "instruct",
    "question": "Add.",
    "solution": "def add(a, b): return a + b",
    "test": KOD_TEST,
    "test_info": [{"function_name": "add", "function_declaration": "def add(a, b):", "parameter_list": "(a, b)"}],
}
BIG_TEST = (
    "import unittest\nclass TestCases(unittest.TestCase):\n    def test_one(self):\n"
    "        self.assertEqual(task_func(1), 2)\n    def test_two(self):\n"
    "        with self.assertRaises(TypeError):\n            task_func('a')"
)
BIG_CODE_BENCH = {
    "task_id": "BigCodeBench/0",
    "complete_prompt": 'import math\ndef task_func(n):\n    """Next."""',
    "instruct_prompt": "Write task_func.",
    "canonical_solution": "    return n + 1",
    "code_prompt": "import math\ndef task_func(n):\n",
    "test": BIG_TEST,
    "entry_point": "task_func",
    "libs": "['math']",
}

NO_ANSWER = "If the text does not answer the question, answer: unanswerable"

LETTER = "Answer with the letter of the right option."

PUBLISHED: list[tuple[dict[str, Any], Kind, str, Any, Any]] = [
    (GSM8K, "math", "GSM8K", GSM8K["question"], "18"),
    (MATH, "math", "MATH", MATH["problem"], "\\frac{1}{2}"),
    (MINERVA, "math", "Minerva", MATH["problem"], "\\frac{1}{2}"),
    (OLYMPIAD, "math", "OlympiadBench", "Find $x$.", "$4.2$"),
    ({**MATH, "answer": "0.5"}, "math", "problem, answer", MATH["problem"], "0.5"),
    ({"problem": "1 + 1?", "answer": 2.0}, "math", "problem, answer", "1 + 1?", 2.0),
    ({"problem": "1 + 1?", "answer": '["2", "two"]'}, "math", "problem, answer", "1 + 1?", ["2", "two"]),
    ({"problem": "Where?", "answer": "[1, 2]"}, "math", "problem, answer", "Where?", "[1, 2]"),
    ({"Body": "3 hens", "Question": "How many?", "Answer": 3.0}, "math", "SVAMP, ASDiv", "3 hens. How many?", 3.0),
    (
        {"body": "3 hens.", "question": "How many?", "answer": "3 (hens)"},
        "math",
        "SVAMP, ASDiv",
        "3 hens. How many?",
        "3",
    ),
    (VERL, "math", "prompt, reward_model", "2 + 3?", "5"),
    (SQUAD, "qa", "SQuAD", f"Ann lives in Bonn.\n\nWhere does Ann live?\n\n{NO_ANSWER}", ["Bonn", "in Bonn"]),
    (
        {**SQUAD, "answers": {"text": [], "answer_start": []}},
        "qa",
        "SQuAD",
        f"Ann lives in Bonn.\n\nWhere does Ann live?\n\n{NO_ANSWER}",
        ["unanswerable"],
    ),
    (TRIVIA, "qa", "TriviaQA", "Who wrote it?", ["Ann Lee", "A. Lee"]),
    (HOTPOT, "qa", "HotpotQA", "Were both poets?", ["yes"]),
    (NQ, "qa", "Natural Questions", "who is it", ["Ann", "yes"]),
    (NQ_SIMPLIFIED, "qa", "Natural Questions", "who is it", ["Ann Lee"]),
    ({"question": "Who?", "answer": ["Ann", "Lee"]}, "qa", "NQ-Open", "Who?", ["Ann", "Lee"]),
    ({"question": "Who?", "possible_answers": '["Ann"]', "obj": "A"}, "qa", "PopQA", "Who?", ["Ann"]),
    ({"question": "Who?", "answer": "Ann", "answer_aliases": ["A."]}, "qa", "MuSiQue", "Who?", ["Ann", "A."]),
    ({"question": "Is it?", "answer": True, "passage": "…"}, "qa", "question, answer", "…\n\nIs it?", ["True", "yes"]),
    (
        {"pubid": 1, "question": "Does it?", "context": {"contexts": ["A.", "B."]}, "final_decision": "maybe"},
        "qa",
        "PubMedQA",
        "A.\nB.\n\nDoes it?\nAnswer yes, no or maybe.",
        ["maybe"],
    ),
    ({"question": "3 + 4?", "answer": None, "answer_number": 7}, "math", "MGSM", "3 + 4?", 7),
    ({"question": "3 + 4?", "answer": "The answer is 7.", "answer_number": 7}, "math", "MGSM", "3 + 4?", 7),
    (
        {**MBPP, "test": "for n in (1, 2):\n    assert add(n, n) == 2 * n"},
        "code",
        "MBPP",
        f"{MBPP['text']}\n\nThe program must pass tests like this one:\nassert add(1, 2) == 3",
        {
            "assertions": [*MBPP["test_list"], "for n in (1, 2):\n    assert add(n, n) == 2 * n"],
            "setup": "import math",
            "entry_point": "add",
        },
    ),
    (
        HELLA_SWAG,
        "qa",
        "HellaSwag",
        "Baking: She stirs the dough. then she\n\nWhich ending continues the text?\n\n"
        f"A) puts it into the oven.\nB) eats the oven.\n\n{LETTER}",
        ["A", "puts it into the oven."],
    ),
    (
        WINO,
        "qa",
        "WinoGrande",
        "The cup fits the box since the _ is small.\n\nWhat belongs in the place of the underscore?\n\n"
        f"A) cup\nB) box\n\n{LETTER}",
        ["A", "cup"],
    ),
    (OPEN_BOOK, "qa", "multiple choice", f"The sun is\n\nA) a planet\nB) a star\n\n{LETTER}", ["B", "a star"]),
    (ARC, "qa", "multiple choice", f"The sun is\n\n1) a planet\n2) a star\n\n{LETTER}", ["2", "a star"]),
    (
        MATH_QA,
        "math",
        "multiple choice",
        f"2 + 2 ?\n\nA) 3\nB) 1,004\nC) 4\nD) 5\nE) none of these\n\n{LETTER}",
        "C",
    ),
    (
        {**MATH_QA, "options": "['a ) 3', 'b ) 1,004', 'c ) 4']"},
        "qa",
        "multiple choice",
        f"2 + 2 ?\n\nA) 3\nB) 1,004\nC) 4\n\n{LETTER}",
        ["C", "4"],
    ),
    (
        DROP,
        "qa",
        "DROP",
        "Ann and Bea scored.\n\nWho scored?",
        ["Ann, Bea", "Ann and Bea", "Bea, Ann", "Bea and Ann", "1 May", "2"],
    ),
    (
        {"passage": "P", "question": "Q?", "answers_spans": {"spans": ["4"], "types": ["number"]}},
        "qa",
        "DROP",
        "P\n\nQ?",
        ["4"],
    ),
    (IF_EVAL, "qa", "IFEval", "No commas.", ["punctuation:no_comma"]),
    (
        RULES,
        "qa",
        "RuleTaker",
        "Ann is kind.\n\nDoes this follow? Ann is not kind.\nAnswer True or False.",
        ["False", "no"],
    ),
    (ORZ, "math", "Open-Reasoner-Zero", "2 + 3?", "5"),
    (
        ACE_CODE,
        "code",
        "AceCode",
        "Add.",
        {"assertions": ["assert add(1, 2) == 3"], "setup": "", "entry_point": "add"},
    ),
    (
        KOD_CODE,
        "code",
        "KodCode",
        "Add.\n\nThe tests call:\ndef add(a, b):",
        {
            "assertions": [f"{KOD_TEST}\n\ntest_small()", f"{KOD_TEST}\n\ntest_zero()"],
            "setup": "",
            "entry_point": "add",
            "others": [],
        },
    ),
    (
        BIG_CODE_BENCH,
        "code",
        "BigCodeBench",
        "Write task_func.",
        {
            "assertions": [
                f"{BIG_TEST}\n\nrun_unittest(TestCases, 'test_one')",
                f"{BIG_TEST}\n\nrun_unittest(TestCases, 'test_two')",
            ],
            "setup": "import math\n",
            "entry_point": "task_func",
        },
    ),
    (APPS, "code", "APPS, TACO", "Add.", APPS["input_output"]),
    (CONTEST, "code", "CodeContests", "Add.", {"inputs": ["1 2\n", "4 5\n"], "outputs": ["3\n", "9\n"]}),
    ({"problem": "Add.", "tests": "[…]"}, "code", "DeepCoder", "Add.", "[…]"),
]


@pytest.mark.parametrize(("row", "kind", "name", "question", "gold"), PUBLISHED)
def test_a_published_shape_is_read(row: Any, kind: Kind, name: str, question: str, gold: Any) -> None:
    """By its columns, in whatever order they stand, and whatever other columns there are."""
    for shuffled in (row, dict(reversed(row.items())), {"more": 1, **row}):
        if name == "NQ-Open" and "more" in shuffled:
            continue  # which is told by having no other column
        schema = recognise(shuffled, kind)
        assert schema is not None
        assert schema.name == name
        content = read_row(shuffled, kind)
        assert (content.question, content.gold) == (question, gold)


def test_the_order_of_options_depends_on_the_row_alone() -> None:
    """GPQA publishes the right answer first; the options get another order, always the same, and letters vary."""
    content = read_row(GPQA, "qa")
    assert content == read_row(dict(reversed(GPQA.items())), "qa")
    assert recognise(GPQA, "qa").name == "GPQA"  # type: ignore[union-attr]
    letters = {read_row({**GPQA, "Question": f"Question {n}?"}, "qa").gold.letter for n in range(30)}
    assert letters == set("ABCD")
    assert content.gold.options[content.gold.letter] == content.gold[1] == "Neon"
    assert sorted(content.gold.options.values()) == ["Iron", "Neon", "Nitrogen", "Oxygen"]
    with pytest.raises(DatasetError, match="no two or more different answers"):
        read_row({**GPQA, "Incorrect Answer 1": "Neon"}, "qa")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({**HELLA_SWAG, "label": ""}, "no usable answer in 'label'"),
        ({**HELLA_SWAG, "endings": []}, "no options to choose from in 'endings'"),
        ({**WINO, "answer": ""}, "no usable answer in 'answer'"),
        ({**DROP, "answer": {}, "validated_answers": {}}, "no usable answer"),
    ],
)
def test_a_held_back_label_is_an_error(row: dict[str, Any], message: str) -> None:
    """Rows of test sets without labels name their column."""
    with pytest.raises(DatasetError, match=message):
        read_row(row, "qa")


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("from solution import add\nimport pickle\ndef test_a(): pass", "more with the program .*: pickle"),
        ("from solution import add\nimport os\ndef test_a(): os.system('ls')", ": system"),
        ("from solution import add\nfrom os import system\ndef test_a(): system('ls')", ": system"),
        ("from solution import add\nimport sys\ndef test_a(): sys.path.clear()", ": path"),
        ("from solution import add\ndef test_a(): open('/tmp/x')", ": /tmp/x"),
        ("from solution import add\ndef test_a(recwarn): assert add(1, 2) == 3", ": recwarn"),
        ("from solution import add\ndef test_a(monkeypatch): monkeypatch.setattr('solution.add', 1)", ": setattr"),
        ("import solution\ndef test_a(monkeypatch): monkeypatch.setattr(solution, 'add', 1)", ": setattr"),
        (
            "from solution import add\nimport pytest\n@pytest.fixture\ndef a(request): pass\ndef test_a(a): pass",
            "request",
        ),
        (
            "from solution import add\nimport pytest\n@pytest.fixture(params=[1])\ndef a(): pass\ndef test_a(a): pass",
            ": a",
        ),
        (
            "import solution\nimport pytest\n@pytest.fixture(autouse=True)\ndef a(): pass\ndef test_a(): pass",
            "fixture a",
        ),
        ("from solution import add\nfrom unittest.mock import patch\ndef test_a(): pass", "patch, unittest.mock"),
        ("from solution import add\n@patch('x.y')\ndef test_a(m): pass", "patch"),
        ("from solution import add\nimport random\ndef test_a(): random.seed(1)", ": seed"),
        ("from solution import Stack\ndef test_a(): pass", "something else than functions"),
        ("from solution import add\nx = 1", "has no tests"),
        ("def test_a(:", "no Python"),
    ],
)
def test_tests_that_share_more_than_results_are_refused(test: str, message: str) -> None:
    """Patches, other processes, seeds, fixtures, classes: apart from the program they would judge it wrong."""
    with pytest.raises(DatasetError, match=message):
        read_row({**KOD_CODE, "test": test}, "code")


@pytest.mark.parametrize(
    "test",
    [
        "from solution import add\nimport os\ndef test_a(): assert add(1, 2) == 3",
        "from solution import add\ndef test_a(capsys, tmp_path): assert add(1, 2) == 3",
        "from solution import add\ndef test_a(): open('x')",
        "import sys\nfrom solution import add\ndef test_a(monkeypatch): monkeypatch.setattr(sys, 'stdin', None)",
        "import io\nfrom contextlib import redirect_stdout\nfrom solution import add\ndef test_a(): pass",
    ],
)
def test_tests_that_share_files_and_output_say_so(test: str) -> None:
    """Each of their cases has the call that makes the program share them; no other case has it."""
    assert all(
        "share_with_program()" in case for case in read_row({**KOD_CODE, "test": test}, "code").gold["assertions"]
    )
    assert not any("share_with" in case for case in read_row(KOD_CODE, "code").gold["assertions"])


@pytest.mark.parametrize(("row", "kind"), [(row, kind) for row, kind, *_ in PUBLISHED])
def test_a_named_question_is_its_column_alone(row: Any, kind: Kind) -> None:
    """Whatever the schema of the row would add to it; the gold answer is the schema's."""
    schema = recognise(row, kind)
    assert schema is not None
    if schema.question_key in row:
        content = read_row(row, kind, schema.question_key, schema.gold_key)
        assert content.question == text_of_question(row, schema.question_key)
        assert content.gold == read_row(row, kind).gold


def test_what_a_row_says_of_its_tolerance() -> None:
    """OlympiadBench has an absolute error of each row, and several for several answers; Minerva one for the set."""
    assert read_row(OLYMPIAD, "math").extras == {"error": 0.1, "unit": "km"}
    assert read_row({**OLYMPIAD, "error": "1e-2,0.5", "unit": None}, "math").extras == {"error": 0.5}
    assert read_row({**OLYMPIAD, "error": None, "unit": None}, "math").extras == {}
    assert read_row(OLYMPIAD, "math", "question", "final_answer").extras["error"] == 0.1
    assert read_row(MINERVA, "math").extras == {"tolerance": 0.01}
    assert read_row(MATH, "math").extras == {}
    with pytest.raises(DatasetError, match="'error' that is no number: 'small'"):
        read_row({**OLYMPIAD, "error": "small"}, "math")


def test_several_answers_of_an_olympiad_problem_are_all_asked_for() -> None:
    """Where the row says that there are several; otherwise they are alternatives. The context comes first."""
    row = {**OLYMPIAD, "final_answer": ["1", "3"], "context": "Let $x$ be prime."}
    assert read_row({**row, "is_multiple_answer": True}, "math").gold == "1, 3"
    assert read_row(row, "math").gold == ["1", "3"]
    assert read_row(row, "math").question == "Let $x$ be prime.\n\nFind $x$."


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        (["3", "4", "5"], "B"),
        (["3", "4", "5"], 1),
        (["A)3", "B)4", "C)5"], "B"),
        ({"A": "3", "B": "4", "C": "5"}, "(B)"),
        ("A) 3 B) 4 C) 5", "B"),
        ({"text": ["3", "4", "5"], "label": ["A", "B", "C"]}, "B"),
        (["3", "4", "5"], "4"),
    ],
)
def test_multiple_choice(options: Any, answer: Any) -> None:
    """The options stand in the question, and the gold answer is the letter, however the row gives it."""
    for name in ("options", "choices"):
        content = read_row({"question": "2 + 2?", name: options, "answer": answer}, "math")
        assert content.gold == "B"
        assert "A) 3\nB) 4\nC) 5" in content.question
    assert read_row({"question": "2 + 2?", "choices": options, "answerKey": answer}, "qa").gold == ["B", "4"]
    with pytest.raises(DatasetError, match="is none of the options A, B, C"):
        read_row({"question": "2 + 2?", "options": options, "answer": "D"}, "math")


@pytest.mark.parametrize("tests", [{"public_test_cases": ""}, {"private_test_cases": None}, {}])
def test_tests_of_live_code_bench(tests: dict[str, Any]) -> None:
    """The public and the packed private ones, with the function's name, and the code to start from in the problem."""
    content = read_row({**LCB, **tests}, "code")
    expected = TESTS[1:] if tests.get("public_test_cases") == "" else TESTS[:1] if tests else TESTS
    assert content.gold == {"fn_name": "add", "test_cases": expected}
    assert content.question.startswith("Add two numbers.\n\nStart from this code:\nclass Solution:")
    with pytest.raises(DatasetError, match="has no tests; remove the row"):
        read_row({**LCB, "public_test_cases": "", "private_test_cases": None}, "code")


def test_tests_that_are_assertions() -> None:
    """MBPP's and HumanEval's become assertions about a function; of MBPP's, the problem shows the first."""
    mbpp = read_row(MBPP, "code")
    assert mbpp.gold == {"assertions": MBPP["test_list"], "setup": "import math", "entry_point": "add"}
    assert mbpp.question.endswith("pass tests like this one:\nassert add(1, 2) == 3")
    human = read_row(HUMAN_EVAL, "code")
    assert human.gold["entry_point"] == "add"
    assert human.gold["assertions"] == [f"{HUMAN_EVAL['test']}\n\ncheck(candidate)"]
    leetcode = {
        **HUMAN_EVAL,
        "problem_description": "Add.",
        "starter_code": "class Solution:",
        "entry_point": "Solution().add",
    }
    assert read_row(leetcode, "code").question == "Add.\n\nStart from this code:\nclass Solution:"
    for row in ({**MBPP, "test_list": []}, {**MBPP, "test_list": None}, {**HUMAN_EVAL, "test": ""}):
        with pytest.raises(DatasetError, match="has no tests"):
            read_row(row, "code")
    assert read_row({**MBPP, "test_list": ["assert sum(1, 2) == 3"]}, "code").gold["entry_point"] == "sum"
    nested = ["assert set(g(h(1))) == set([2])", "assert g(h(2)) == g(h(3))"]
    assert read_row({**MBPP, "test_list": nested}, "code").gold["entry_point"] == "g"
    with pytest.raises(DatasetError, match="tests that call no function"):
        read_row({**MBPP, "test_list": ["assert [] == 0", "assert ("]}, "code")


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        ("First #### 1\nThen #### 2", "2"),
        ("#### 1,000 \nMore.", "1,000"),
        ("\\boxed{1} and \\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
        ("$\\fbox{7}$", "7"),
        ("So it is $\\boxed 2$.", "2"),
        ("  x + 1 ", "x + 1"),
        ({"ground_truth": "5"}, "5"),
        (["1", "\\boxed{2}"], ["1", "2"]),
    ],
)
def test_forms_of_a_gold_of_mathematics(gold: Any, expected: Any) -> None:
    """The last mark of a solution counts, and of a line behind ``####`` the line alone."""
    assert math_gold({"answer": gold}, "answer") == expected


def test_a_short_solution_is_the_answer_itself() -> None:
    """One of a few words without a mark, without the blanks around it."""
    assert read_row({**MATH, "solution": " 42 "}, "math").gold == "42"


UNUSABLE = [None, float("nan"), "", "  ", [], {}, {"name": "x"}, b"x", [None], "####", "long \\boxed{} solution"]


@pytest.mark.parametrize("gold", UNUSABLE)
def test_an_unusable_gold_is_an_error(gold: Any) -> None:
    """The message has the row, the column and the value. What has only blanks or a mark is a text to a reader."""
    row = Row({"problem": "1?", "answer": gold})
    row.index = 7
    with pytest.raises(DatasetError, match=r"row 7 has no usable answer in 'answer': .*remove the row"):
        read_row(row, "math")
    if not isinstance(gold, str) or not gold.strip():
        with pytest.raises(DatasetError, match=r"row 7 has no usable answer in 'answer': .*remove the row"):
            read_row(row, "qa")


@pytest.mark.parametrize(
    "question", [None, float("nan"), "", " ", 3, [], {}, {"text": None}, [{"role": "system", "content": "x"}]]
)
def test_a_row_without_a_question_is_an_error(question: Any) -> None:
    """Of every kind."""
    for kind, gold in (("math", {"answer": "1"}), ("qa", {"answer": "1"}), ("code", {"tests": "[]"})):
        with pytest.raises(DatasetError, match="has no question: its 'problem' is"):
            read_row({"problem": question, **gold}, kind)  # type: ignore[arg-type]


def test_an_unknown_shape_names_the_columns_and_the_remedy() -> None:
    """And the arguments of the kind."""
    with pytest.raises(DatasetError, match=r"columns are 'a', 'b'; name .* question_key and answer_key, or .* map_row"):
        read_row({"a": "1?", "b": "1"}, "math")
    with pytest.raises(DatasetError, match="question_key and test_key"):
        read_row({"a": "1?", "b": "1"}, "code")
    assert read_row({"a": "1?", "b": "1"}, "math", "a", "b").gold == "1"
    with pytest.raises(DatasetError, match=r"no column 'c'; it has the columns 'a', 'b'"):
        read_row({"a": "1?", "b": "1"}, "math", "a", "c")


def test_what_a_model_said_is_no_gold() -> None:
    """Columns of answers come before a solution, a solution before outputs, and responses of models are left aside."""
    row = {"problem": "1?", "response": "\\boxed{7}", "output": "8", "solution": "So \\boxed{1}."}
    assert read_row(row, "math").gold == "1"
    assert read_row({**row, "answer": "2"}, "math").gold == "2"
    with pytest.raises(DatasetError, match="no known shape"):
        read_row({"problem": "1?", "response": "\\boxed{7}"}, "math")


def test_one_named_column_leaves_the_other_recognised() -> None:
    """The question alone, the answer alone, and a solution by its name."""
    assert read_row(GSM8K, "math", question_key="question").gold == "18"
    assert read_row({**GSM8K, "note": "Q"}, "math", question_key="note").question == "Q"
    assert read_row(GSM8K, "math", gold_key="answer").question == GSM8K["question"]
    assert read_row({**MATH, "answer": "7"}, "math", gold_key="solution").gold == "\\frac{1}{2}"
    with pytest.raises(DatasetError, match="a solution ends in"):
        read_row({**MATH, "solution": "It is easy to see that the set of all these is what we want."}, "math")


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["text", "value", "aliases", "x"]), inner),
    )
)
def test_no_gold_crashes(gold: Any) -> None:
    """Any value is read, as a gold that no reader would call empty, or is a DatasetError."""
    for read in (math_gold, qa_golds):
        try:
            golds = read({"answer": gold}, "answer")
        except DatasetError:
            continue
        for one in golds if isinstance(golds, list) else [golds]:
            assert str(one).strip()


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "question",
                "answer",
                "problem",
                "solution",
                "tests",
                "context",
                "options",
                "answers",
                "annotations",
                "test_list",
                "text",
                "public_tests",
                "description",
                "final_answer",
                "is_multiple_answer",
                "body",
                "choices",
                "metadata",
                "prompt",
                "entry_point",
                "test",
                "question_content",
                "private_test_cases",
                "answer_aliases",
                "possible_answers",
                "error",
                "unit",
                *GPQA,
                *HELLA_SWAG,
                *WINO,
                *OPEN_BOOK,
                *MATH_QA,
                *DROP,
                *IF_EVAL,
                *RULES,
                *ORZ,
                *KOD_CODE,
                *BIG_CODE_BENCH,
                "answers_spans",
            ]
        ),
        st.none()
        | st.floats()
        | st.text(max_size=8)
        | st.lists(st.text(max_size=3), max_size=3)
        | st.dictionaries(st.text(max_size=5), st.text(max_size=3), max_size=2),
    )
)
@example(row={"question": "Who?", "answer": "Ann", "answer_aliases": 0.0})
@example(row={"complete_prompt": None, "test": None, "entry_point": None})
def test_no_row_crashes(row: dict[str, Any]) -> None:
    """Any row of known columns with values of any type is read, or is a DatasetError."""
    for kind in ("math", "qa", "code"):
        with suppress(DatasetError):
            assert read_row(row, kind).question.strip()
