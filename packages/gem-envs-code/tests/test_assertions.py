"""Assertions about a function, which never meet the program in one process."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gem.errors import DatasetError
from gem_envs_code import CodeEnv
from gem_envs_code.assertion_programs import CODEC
from gem_envs_code.judge import RUNTIME_ERROR, TIME_LIMIT, WRONG_ANSWER, judge
from gem_envs_code.suite import Suite, read_suite
from gem_tools.sandbox import Limits, Sandbox

LIMITS = Limits(seconds=60.0, cpu_seconds=1.0, memory=256 << 20, output=1 << 20)

ADD = ["assert add(1, 2) == 3", "assert add([1], [2]) == [1, 2]", "assert abs(add(0.1, 0.2) - 0.3) < 1e-9"]
CHECK = """
import random

def check(candidate):
    for _ in range(20):
        a, b = random.randint(0, 9), random.randint(0, 9)
        assert candidate(a, b) == a + b
    assert candidate(b="y", a="x") == "xy", "keywords"
    assert candidate(candidate(1, 2), candidate(3, 4)) == 10
    assert len({candidate(n, n) for n in range(5)}) == 5

check(candidate)
"""
TREE = """
class Node:
    def __init__(self, value, left=None, right=None):
        self.value, self.left, self.right = value, left, right

def same(one, other):
    if one is None or other is None:
        return one is other
    return one.value == other.value and same(one.left, other.left) and same(one.right, other.right)
"""


def suite(tests: list[str], name: str = "add", setup: str = "") -> Suite:
    return read_suite({"assertions": tests, "entry_point": name, "setup": setup})


def verdict(code: str, tests: Suite, sandbox: Sandbox, **options: Any) -> tuple[int, str | None]:
    result = judge(code, tests, sandbox=sandbox, limits=LIMITS, **options)
    assert result.total == len(tests.cases)
    return result.passed, result.failure


def test_a_right_program_passes(sandbox: Sandbox) -> None:
    """As a function, as a method of Solution, and whatever it prints."""
    for code in (
        "def add(a, b): return a + b",
        "class Solution:\n    def add(self, a, b):\n        print('[1, 2]')\n        return a + b",
        "add = lambda a, b: operator.add(a, b)",
    ):
        assert verdict(code, suite(ADD), sandbox) == (3, None)
        assert verdict(code, suite([CHECK]), sandbox) == (1, None)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def add(a, b): return 3", (1, WRONG_ANSWER)),
        ("def add(a, b): return a - b", (0, WRONG_ANSWER)),
        ("def add(a, b): return a + b if a != [1] else 1 / 0", (1, RUNTIME_ERROR)),
        ("def plus(a, b): return a + b", (0, RUNTIME_ERROR)),
        ("def add(a, b: return", (0, RUNTIME_ERROR)),
        ("", (0, RUNTIME_ERROR)),
    ],
)
def test_a_wrong_program_fails_with_its_reason(code: str, expected: tuple[int, str], sandbox: Sandbox) -> None:
    """At the first assertion that does not hold."""
    assert verdict(code, suite(ADD), sandbox) == expected


def test_a_program_without_an_end_is_ended(sandbox: Sandbox) -> None:
    """By the CPU time of one test, which is the limit of all calls that it makes."""
    loop = "def add(a, b):\n    while True: pass"
    limits = replace(LIMITS, cpu_seconds=0.2)
    assert judge(loop, suite(ADD[:1]), sandbox=sandbox, limits=limits).failure == TIME_LIMIT


HACKS = {
    "equals everything": "class All:\n    def __eq__(self, x): return True\n    def __sub__(self, other): return 0\n"
    "    def __abs__(self): return 0\ndef add(a, b): return All()",
    "an int that equals all": "class All(int):\n    def __eq__(self, other): return True\n"
    "    __hash__ = int.__hash__\ndef add(a, b): return All(7)",
    "leaves with success": "import os\ndef add(a, b): os._exit(0)",
    "leaves when loaded": "import os; os._exit(0)",
    "writes a record": "import os\ndef add(a, b):\n    for fd in range(1, 20):\n"
    "        try: os.write(fd, b'[\"passed\"]')\n        except OSError: pass\n    os._exit(0)",
    "pretends to be a class of the setup": "class Node: pass\ndef add(a, b):\n    node = Node()\n"
    "    node.__eq__ = lambda other: True\n    return node",
    "patches json": 'import json\njson.dump = lambda value, file: file.write(\'[{"opaque": "3"}]\')\n'
    "def add(a, b): return None",
    "a tag of its own": 'import json\njson.dump = lambda value, file: file.write(\'[{"object": ["Node", []]}]\')\n'
    "def add(a, b): return None",
}


@pytest.mark.parametrize("hack", HACKS)
def test_no_program_passes_without_the_right_values(hack: str, sandbox: Sandbox) -> None:
    """Objects that equal everything, an early end, a look at the caller, and forged records earn nothing."""
    passed, failure = verdict(HACKS[hack], suite(ADD, setup=TREE), sandbox, every=True)
    assert (passed, failure is not None) == (0, True)


SEARCH = """
import gc, sys
def add(a, b):
    places, frame = list(gc.get_objects()), sys._getframe()
    while frame:
        places += [frame.f_locals, frame.f_globals, frame.f_code.co_consts]
        frame = frame.f_back
    for number, place in enumerate(places[:200_000]):
        found = place.values() if isinstance(place, dict) else place if isinstance(place, (list, tuple, set)) else ()
        for value in list(found):
            if isinstance(value, str) and value.startswith("expected-"):
                return value
"""


def test_the_expected_value_is_not_in_the_process_of_the_program(sandbox: Sandbox) -> None:
    """A program that searches all objects and frames finds no expected value; one that is in its arguments it does."""
    secret = ["assert add(1, 2) == 'expected-' 'value'"]
    assert verdict(SEARCH, suite(secret), sandbox, every=True) == (0, WRONG_ANSWER)
    assert verdict(SEARCH, suite(["assert add('expected-value', 2) == 'expected-value'"]), sandbox) == (1, None)


def test_objects_of_the_setup_go_there_and_back(sandbox: Sandbox) -> None:
    """Trees, as arguments and as results, with the classes that the setup defines."""
    tests = suite(
        [
            "assert same(flip(Node(1, Node(2))), Node(1, None, Node(2)))",
            "assert same(flip(None), None)",
            "assert flip(Node(3)).value == 3",
        ],
        "flip",
        TREE,
    )
    right = "def flip(n):\n    return n and Node(n.value, flip(n.right), flip(n.left))"
    assert verdict(right, tests, sandbox) == (3, None)
    assert verdict("def flip(n): return n", tests, sandbox) == (0, WRONG_ANSWER)


EXPECTING = {
    "try and except": """
try:
    candidate('a', 1)
    assert False
except TypeError as error:
    assert 'str' in str(error)""",
    "try, except and else": """
try:
    add('a', 1)
except (TypeError, KeyError):
    raised = True
else:
    raised = False
assert raised""",
    "a bare except": """
raised = False
try:
    candidate('a', 1)
except:
    raised = True
assert raised""",
    "pytest.raises": """
import pytest
with pytest.raises(TypeError, match='str') as caught:
    add('a', 1)
assert caught.type is TypeError and caught.value.args""",
    "pytest.raises with a function": """
from pytest import raises
raises(TypeError, add, 'a', b=1)""",
    "assertRaises": """
import unittest
class Tests(unittest.TestCase):
    def test_it(self):
        with self.assertRaises(TypeError) as context:
            add('a', 1)
        self.assertIn('str', str(context.exception))
        self.assertEqual(add(1, 2), 3)
run_unittest(Tests, 'test_it')""",
    "assertRaises with a function": """
import unittest
class Tests(unittest.TestCase):
    def setUp(self):
        self.one = 'a'
    def test_it(self):
        self.assertRaises(TypeError, add, self.one, 1)
        self.assertRaisesRegex(TypeError, 'str', add, 'a', 1)
run_unittest(Tests, 'test_it')""",
    "after other calls": """
assert add(1, 2) == 3
try:
    add(add('a', 'b'), 1)
    assert False
except TypeError:
    pass
assert add(add(1, 1), 1) == 3""",
    "many inputs": """
for one, other in (('a', 1), (None, 1), ([], 2)):
    try:
        add(one, other)
        assert False, 'should fail'
    except Exception as error:
        assert type(error) is TypeError""",
    "contextlib.suppress": """
import contextlib
done = False
with contextlib.suppress(TypeError):
    add('a', 1)
    done = True
assert not done""",
}


@pytest.mark.slow
def test_an_expected_exception_is_right(sandbox: Sandbox) -> None:
    """In each of the ways in which tests expect one, the right program passes, and no other does."""
    tests = suite(list(EXPECTING.values()))
    count = len(EXPECTING)
    assert verdict("def add(a, b): return a + b", tests, sandbox) == (count, None)
    raising = "\n    if isinstance(a, int) and isinstance(b, int): return a + b\n    raise {}"
    bare = sum("except:" in test for test in EXPECTING.values())
    for wrong, passed in (
        ("def add(a, b): return 3 if a == 1 else 'ab'", 0),
        ("def add(a, b):" + raising.format("ValueError('str')"), bare),
        ("class TypeError(Exception): pass\ndef add(a, b):" + raising.format("TypeError('str')"), bare),
    ):
        assert verdict(wrong, tests, sandbox, every=True)[0] == passed, wrong


def test_an_exception_of_the_setup_or_the_library_keeps_its_class(sandbox: Sandbox) -> None:
    """With its text, and what its class inherits; a class of the program counts as what it inherits."""
    setup = (
        "import json\nclass Empty(ValueError):\n    def __init__(self, name):\n        super().__init__(f'no {name}')"
    )
    tests = suite(
        [
            "try:\n    get('')\n    assert False\nexcept Empty as error:\n    assert str(error) == 'no name'",
            "try:\n    get('{')\n    assert False\nexcept json.JSONDecodeError as e:\n    assert 'line 1' in str(e)",
            "try:\n    get('own')\n    assert False\nexcept LookupError as error:\n    assert str(error) == 'own'",
            "try:\n    list(get('lazy'))\n    assert False\nexcept ZeroDivisionError:\n    pass",
        ],
        "get",
        setup,
    )
    right = (
        "class Own(LookupError):\n    def __str__(self): return 'own'\ndef lazy():\n    yield 1 / 0\ndef get(text):\n"
        "    if not text: raise Empty('name')\n    if text == 'own': raise Own(text)\n"
        "    return lazy() if text == 'lazy' else json.loads(text)"
    )
    assert verdict(right, tests, sandbox) == (4, None)


def test_an_exception_that_nobody_expects_is_a_runtime_error(sandbox: Sandbox) -> None:
    """Also within an assertion, and a test that swallows everything does not pass without its calls."""
    assert verdict("def add(a, b): raise ValueError", suite(ADD), sandbox) == (0, RUNTIME_ERROR)
    swallowing = suite(["try:\n    assert add(add(1, 2), 3) == 6\nexcept TypeError:\n    pass"])
    assert verdict("def add(a, b): return a - b", swallowing, sandbox) == (0, WRONG_ANSWER)
    later = suite(["raised = False\ntry:\n    add(add(1, 2), 'x')\nexcept:\n    raised = True\nassert raised"])
    assert verdict("def add(a, b): return a + b", later, sandbox) == (1, None)
    assert verdict("def add(a, b): return 3", later, sandbox) == (0, WRONG_ANSWER)


def test_what_pytest_brings_to_tests(sandbox: Sandbox) -> None:
    """Near numbers with pytest's own tolerances, parameters, marks; and functions imported from the solution."""
    source = """
import pytest
from solution import mean, spread

@pytest.mark.slow
@pytest.mark.parametrize('values, wanted', [([1, 2], 1.5), pytest.param([3], 3, id='one')])
def test_mean(values, wanted):
    assert mean(values) == pytest.approx(wanted)

@pytest.mark.parametrize('n', range(3))
def test_spread(n):
    assert spread([0, n]) == pytest.approx(n, abs=1e-9)
    assert [mean([n])] == pytest.approx([n], abs=1e-9)

"""
    tests = read_suite(
        {
            "assertions": [f"{source}test_mean()", f"{source}test_spread()"],
            "entry_point": "mean",
            "others": ["spread"],
        }
    )
    right = "def mean(v): return sum(v) / len(v)\ndef spread(v): return max(v) - min(v)"
    assert verdict(right, tests, sandbox) == (2, None)
    assert verdict(right.replace("/ len(v)", "/ len(v) + 1e-5"), tests, sandbox) == (0, WRONG_ANSWER)
    assert verdict(right.replace("- min(v)", ""), tests, sandbox, every=True)[0] == 2  # min is 0 in all of them
    assert verdict(right.replace("max(v) - min(v)", "sum(v) + 1"), tests, sandbox, every=True) == (1, WRONG_ANSWER)
    assert verdict(right.partition("\n")[0], tests, sandbox, every=True) == (1, RUNTIME_ERROR)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.complex_numbers(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.integers() | st.text() | st.tuples(st.integers(), st.text()), inner, max_size=4)
        | st.sets(st.integers() | st.text(), max_size=4)
        | st.frozensets(st.integers(), max_size=4)
    ),
    max_leaves=12,
)


@settings(deadline=None)
@given(VALUES)
def test_values_of_python_survive_the_way(value: Any) -> None:
    """The types of Python's literals, nested, come back equal and of the same type."""
    names: dict[str, Any] = {"_CLASSES": {}}
    # Without the two lines that lift limits, which are for the process of the program.
    code = CODEC.replace("sys.setrecursionlimit(20_000)", "").replace("sys.set_int_max_str_digits(0)", "pass")
    exec(code, names)
    back = names["_decode"](json.loads(json.dumps(names["_encode"](value))))
    assert (back, type(back)) == (value, type(value))


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ({"assertions": ["assert add(1) == "], "entry_point": "add"}, "are no Python"),
        ({"assertions": ["assert 1"], "entry_point": "add", "setup": "def"}, "are no Python"),
        ({"assertions": [3], "entry_point": "add"}, "are no Python"),
        ({"assertions": [], "entry_point": "add"}, "holds no test"),
        ({"assertions": ["assert add(1)"], "entry_point": "1; import os"}, "must name the tested function"),
        ({"assertions": ["assert add(1)"]}, "must name the tested function"),
    ],
)
def test_tests_that_cannot_run_are_refused(tests: dict[str, Any], message: str) -> None:
    """When the row is read, not when a program is judged."""
    with pytest.raises(DatasetError, match=message):
        read_suite(tests)


def test_an_environment_of_published_rows(sandbox: Sandbox) -> None:
    """A row of MBPP and one of HumanEval: the question has the function's name, and the right program earns 1."""
    rows: list[dict[str, Any]] = [
        {"text": "Write a function to add.", "task_id": 1, "test_list": ADD, "test_setup_code": ""},
        {
            "task_id": "HumanEval/0",
            "prompt": 'from typing import List\n\ndef add(a: List, b: List) -> List:\n    """Join."""\n',
            "entry_point": "add",
            "test": "def check(candidate):\n    assert candidate([1], [2]) == [1, 2]\n",
        },
    ]
    with CodeEnv(dataset=rows, eval=True) as env:
        for index in range(2):
            observation = str(env.reset(options={"index": index})[0])
            assert "Write a Python function `add`" in observation
            assert "assert add([1]" not in observation
            assert env.step("```python\ndef add(a, b): return a + b\n```")[1] == 1.0
            env.reset(options={"index": index})
            assert env.step("```python\ndef add(a, b): return a\n```")[1] == 0.0


FOREIGN = {
    "AceCode": {"question": "Add.", "test_cases": ["assert add(1, 2) == 3", "assert add(0, 0) == 0"]},
    "KodCode": {
        "question": "Add, of numbers alone.",
        "solution": "def add(a, b): …",
        "test": "import pytest\nfrom solution import add\n\n@pytest.mark.parametrize('a, b', [(1, 2), (0, 0)])\n"
        "def test_add(a, b):\n    assert add(a, b) == a + b\n\ndef test_text():\n    with pytest.raises(TypeError):\n"
        "        add('a', 1)\n",
        "test_info": [{"function_name": "add", "function_declaration": "def add(a, b):"}],
    },
    "KodCode with fixtures": {
        "question": "Add, of numbers alone.",
        "solution": "def add(a, b): …",
        "test": "import pytest\nfrom solution import add\n\n@pytest.fixture(scope='module')\ndef one():\n    return 1\n"
        "@pytest.fixture\ndef pair(one):\n    yield one, add(one, 1)\n    raise ValueError\n\n"
        "@pytest.mark.parametrize('b', [2, 0])\ndef test_add(one, pair, b):\n    assert pair == (1, 2)\n"
        "    assert add(one, b) == 1 + b\n\nclass TestText:\n    def test_text(self, one):\n"
        "        with pytest.raises(TypeError):\n            add('a', one)\n",
        "test_info": [{"function_name": "add", "function_declaration": "def add(a, b):"}],
    },
    "BigCodeBench": {
        "complete_prompt": "def add(a, b):\n",
        "instruct_prompt": "Write add, of numbers alone.",
        "code_prompt": "def add(a, b):\n",
        "entry_point": "add",
        "test": "import unittest\n\nclass TestCases(unittest.TestCase):\n    def test_add(self):\n"
        "        self.assertEqual(add(1, 2), 3)\n        self.assertAlmostEqual(add(0.1, 0.2), 0.3)\n"
        "    def test_text(self):\n        with self.assertRaises(TypeError):\n            add('a', 1)\n",
    },
}


def test_rows_of_other_sets_are_judged() -> None:
    """In their published columns: a right program earns 1, one that adds wrongly or never raises earns 0."""
    with CodeEnv(dataset=list(FOREIGN.values()), eval=True) as env:
        for index in range(len(FOREIGN)):
            assert "Write a Python function `add`" in str(env.reset(options={"index": index})[0])
            assert env.step("```python\ndef add(a, b): return a + b\n```")[1] == 1.0
            env.reset(options={"index": index})
            wrong = "def add(a, b): return a if b == 0 else a - b" if index == 0 else "def add(a, b): return 3"
            assert env.step(f"```python\n{wrong}\n```")[1] == 0.0


WORLD_TESTS = r"""import io, json, os, pytest, sys, tempfile, unittest
from pathlib import Path
from solution import save, load, hello

@pytest.fixture
def file(tmp_path):
    path = tmp_path / "in.json"
    path.write_text('{"a": 1}')
    return path

def test_load(file):
    assert load(file) == {"a": 1}

def test_save(tmp_path):
    out = tmp_path / "deep" / "out.json"
    assert save(str(out), [1]) == str(out)
    assert json.loads(out.read_text()) == [1]
    save(str(out), [2])
    assert load(out) == [2]
    with pytest.raises(FileNotFoundError, match="none.json"):
        load(tmp_path / "none.json")

def test_hello(capsys, monkeypatch):
    monkeypatch.setenv("WHO", "Ada")
    hello()
    assert capsys.readouterr().out == "Hello, Ada!\n"
    monkeypatch.delenv("WHO")
    answers = iter(["Bob"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(answers))
    hello()
    assert capsys.readouterr() == ("Hello, Bob!\n", "")
    monkeypatch.undo()
    monkeypatch.setattr(sys, "stdin", io.StringIO("Cem\nDora\n"))
    hello()
    assert capsys.readouterr().out == "Who? Hello, Cem!\n"
    assert sys.stdin.readline() == "Dora\n"

def test_here(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with open("old.json", "w") as old:
        old.write("0")
    save("x.json", 3)
    assert Path("x.json").exists() and sorted(os.listdir(".")) == ["old.json", "x.json"]
    with open("x.json") as file:
        assert json.load(file) == 3

class TestTemporary(unittest.TestCase):
    def setUp(self):
        self.file = tempfile.NamedTemporaryFile("r", suffix=".json")
    def test_it(self):
        save(self.file.name, "ä")
        self.assertEqual(json.load(self.file), "ä")
        self.assertEqual(load(self.file.name), "ä")
    def tearDown(self):
        self.file.close()
"""
WORLD_ROW = {
    "question": "Save, load and greet.",
    "solution": "def save(path, value): …",
    "test": WORLD_TESTS,
    "test_info": [
        {"function_name": name, "function_declaration": f"def {name}():"} for name in ("save", "load", "hello")
    ],
}
WORLD_PROGRAM = """
import json, os

def save(path, value):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w") as file:
        json.dump(value, file)
    return path

def load(path):
    with open(path) as file:
        return json.load(file)

def hello():
    who = os.environ.get("WHO") or input("Who? ")
    print(f"Hello, {who}!")
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("old", "new", "passed"),
    [
        ("", "", 5),
        ("json.dump(value, file)", "pass", 1),
        ('path, "w"', 'path, "a"', 1),
        ("return json.load(file)", "return {'a': 1}", 1),
        ("{who}", "World", 2),
        ("print(", "str(", 2),
        ('os.environ.get("WHO") or ', "", 2),
        ("return path", "os.remove(path)", 1),
        # A module of the program's in the working folder is none of the test's; files out of it are not carried.
        ("return path", "open('json.py', 'w').write('load = loads = lambda *_: 3'); return path", 3),
        ('with open(path, "w")', 'with open("../" + os.path.basename(path), "w")', 1),
    ],
)
def test_tests_may_share_files_environment_and_output_with_the_program(old: str, new: str, passed: int) -> None:
    """With pytest's ``tmp_path``, ``monkeypatch`` and ``capsys``; a wrong program passes the tests before its fault."""
    assert old in WORLD_PROGRAM
    with CodeEnv(dataset=[WORLD_ROW], eval=True) as env:
        env.reset(options={"index": 0})
        program = WORLD_PROGRAM.replace(old, new) if old else WORLD_PROGRAM
        _, reward, _, _, info = env.step(f"```python\n{program}\n```")
        assert (info["tests_passed"], info["tests_total"], reward) == (passed, 5, float(passed == 5))
