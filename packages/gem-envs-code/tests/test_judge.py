"""Judging programs: what they see, what they can do about it, and what is said of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from textwrap import indent
from typing import Any

import pytest

from gem_envs_code.judge import MEMORY, RUNTIME_ERROR, TIME_LIMIT, WRONG_ANSWER, JudgeResult, judge, shared_sandbox
from gem_envs_code.suite import Case, Suite
from gem_tools.sandbox import Sandbox

Judge = Callable[..., JudgeResult]

SUM = Suite(tuple(Case(f"{a} {b}\n", f"{a + b}\n") for a, b in ((1, 2), (30, 12), (5, 5), (0, 0), (7, 1), (2, 2))))
ADD = Suite(tuple(Case(json.dumps([a, b]), json.dumps(a + b)) for a, b in ((1, 2), (30, 12), (5, 5))), "add")
ROOT = Suite((Case("4", "2 -2"), Case("9", "3 -3")), checker="def check(i, o, e): return int(o) ** 2 == int(i)")


@pytest.fixture
def judged(sandbox: Sandbox) -> Judge:
    """Judge with small limits."""
    from gem_tools.sandbox import Limits

    def judged(code: str, suite: Suite = SUM, seconds: float = 60.0, cpu_seconds: float = 1.0, **kwargs: Any) -> Any:
        limits = Limits(seconds=seconds, cpu_seconds=cpu_seconds, memory=256 << 20, output=10_000)
        return judge(code, suite, sandbox=sandbox, limits=limits, **kwargs)

    return judged


def test_a_right_program_passes_everything(judged: Judge) -> None:
    """All tests, whatever runs side by side."""
    for workers in (1, 2, 6, None):
        assert judged("print(sum(map(int, input().split())))", workers=workers) == JudgeResult(6, 6)
    assert judged("def add(a, b): return a + b", ADD).accepted
    count = Suite((Case("[3]", "[0, 1, 2]"), Case("[0]", "[]")), "count")
    for result in ("list(range(n))", "range(n).__iter__()", "(i for i in range(n))", "map(int, range(n))"):
        assert judged(f"def count(n): return {result}", count).accepted
    assert not judged("def count(n):\n    while True: yield 0", count).accepted


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("print(3)", JudgeResult(1, 6, WRONG_ANSWER)),
        ("a, b = map(int, input().split()); print(a + b if a < 30 else 0)", JudgeResult(1, 6, WRONG_ANSWER)),
        ("a, b = map(int, input().split()); print(a + b); assert a != 7", JudgeResult(4, 6, RUNTIME_ERROR)),
        ("a, b = map(int, input().split()); print(a + b)\nwhile a == 2: pass", JudgeResult(5, 6, TIME_LIMIT)),
        ("x = bytearray(1 << 30)", JudgeResult(0, 6, MEMORY)),
        ("x = []\nwhile True: x.append('x' * 1_000_000)", JudgeResult(0, 6, MEMORY)),
        ("print('x' * 1_000_000)", JudgeResult(0, 6, WRONG_ANSWER)),
        ("def", JudgeResult(0, 6, RUNTIME_ERROR)),
        ("\x00", JudgeResult(0, 6, RUNTIME_ERROR)),
        ("\ud800", JudgeResult(0, 6, RUNTIME_ERROR)),
        ("(" * 100_000, JudgeResult(0, 6, RUNTIME_ERROR)),
        ("def f(): f()\nf()", JudgeResult(0, 6, RUNTIME_ERROR)),
        ("import os; os._exit(0)", JudgeResult(0, 6, WRONG_ANSWER)),
        ("import sys; sys.exit('no')", JudgeResult(0, 6, RUNTIME_ERROR)),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\xfe')", JudgeResult(0, 6, WRONG_ANSWER)),
    ],
)
def test_the_first_failing_test_decides(code: str, expected: JudgeResult, judged: Judge) -> None:
    """Its number and its kind are the same however many tests run side by side."""
    cpu_seconds = 0.3 if expected.failure == TIME_LIMIT else 1.0
    assert judged(code, workers=1, cpu_seconds=cpu_seconds) == expected
    assert judged(code, workers=4, cpu_seconds=cpu_seconds) == expected


def test_a_program_that_waits_for_nothing_is_ended_by_the_wall_clock(judged: Judge) -> None:
    """A sleeping program spends no CPU time, and still runs into the time limit."""
    assert judged("import time; time.sleep(60)", seconds=1.0) == JudgeResult(0, 6, TIME_LIMIT)


def test_later_tests_are_not_begun_after_a_failure(sandbox: Sandbox) -> None:
    """A program that is wrong at once costs a few tests, not all."""
    suite = Suite(tuple(Case(f"{number}\n", "x") for number in range(200)))
    begun: list[object] = []
    run_many = sandbox.run_many

    class Counting:
        def run_many(self, code: str, stdins: list[str], **kwargs: object) -> object:
            results = run_many(code, stdins, **kwargs)  # type: ignore[arg-type]
            begun.extend(result for result in results if result is not None)
            return results

    from gem_tools.sandbox import Limits

    code = "import time\nif input() != '0': time.sleep(1)\nprint(1)"  # so that the first is over before many others
    found = judge(code, suite, sandbox=Counting(), limits=Limits(seconds=60.0), workers=2)  # type: ignore[arg-type]
    assert found == JudgeResult(0, 200, WRONG_ANSWER)
    assert 1 <= len(begun) < 20


CHEATS = {
    "looks for expected outputs in its frames": """
import sys, gc
frame, found = sys._getframe(), []
while frame:
    found += [str(v) for v in {**frame.f_globals, **frame.f_locals}.values()]
    frame = frame.f_back
found += [repr(o) for o in gc.get_objects() if isinstance(o, (str, list, dict, tuple, bytes))]
assert WANTED not in " ".join(found)
""",
    "looks for them in files": """
import os, sys
for top in (".", "/box", "/tmp", "/dev/shm", "/run", "/var/tmp", "/home"):
    for folder, inner, files in os.walk(top):
        # The interpreter may lie there, with more files than there is time for.
        inner[:] = [name for name in inner if os.path.join(folder, name) not in (sys.prefix, sys.base_prefix)]
        for name in files:
            try:
                data = open(os.path.join(folder, name), "rb").read(1 << 16)
            except OSError:
                continue
            assert WANTED.encode() not in data, os.path.join(folder, name)
""",
    "looks for them in descriptors": """
import os
for number in range(3, 64):
    try:
        data = os.pread(number, 1 << 20, 0)
    except OSError:
        continue
    assert WANTED.encode() not in data
""",
    "looks for them in the environment and the command line": """
import os, sys
found = str(os.environ) + str(sys.argv)
if os.path.exists("/proc/self/cmdline"):
    found += open("/proc/self/cmdline").read() + open("/proc/self/environ").read()
assert WANTED not in found
""",
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_what_is_expected_is_nowhere_to_be_found(cheat: str, judged: Judge) -> None:
    """A program that looks for it finds nothing: it comes to its end, and prints no right answer."""
    # The program itself must not hold what it looks for, or it would find that.
    code = CHEATS[cheat].replace("WANTED", '"7131117532"[::-1]')
    suite = Suite((Case("1\n", "2357111317\n"),))
    # Where the checkout lies in a folder that is searched, there are many files to read.
    assert judged(code, suite, cpu_seconds=30.0) == JudgeResult(0, 1, WRONG_ANSWER)
    function = Suite((Case("[1]", '"2357111317"'),), "f")
    code = "def f(x):\n" + indent(code, "    ") + "    return 0"
    assert judged(code, function, cpu_seconds=30.0) == JudgeResult(0, 1, WRONG_ANSWER)


FORGERIES = [
    "import json; json.dumps = lambda *a, **k: '3'\ndef add(a, b): return 0",
    "def add(a, b):\n    print(3)\n    return 0",
    "import os\ndef add(a, b):\n    os.write(1, b'accepted')\n    return 0",
    "import os\ndef add(a, b):\n    os.write(1, b'3')\n    os._exit(0)",
    "import sys\ndef add(a, b):\n    sys.exit(0)",
    "class Same:\n    def __eq__(self, _): return True\n    def __repr__(self): return '3'\nadd = lambda a, b: Same()",
    "import builtins; builtins.print = lambda *a: None\ndef add(a, b): return True",
    "import sys\ndef add(a, b):\n    sys._getframe(1).f_globals['_result'] = 3\n    return None",
    "def add(a, b):\n    raise SystemExit(0)",
    "def check(*_): return True\ndef add(a, b): return 0",
]


@pytest.mark.parametrize("code", FORGERIES)
def test_a_verdict_cannot_be_forged(code: str, judged: Judge) -> None:
    """Nothing that a program does to its own process makes a wrong result right."""
    assert not judged(code, ADD).accepted


@pytest.mark.parametrize(
    "code",
    [
        "print('accepted')",
        "print(True)",
        "check = lambda *a: True; print('accepted')",
        "print('\\naccepted\\n0')",
        "import os; os._exit(0)",
        "print(5)",
    ],
)
def test_a_checker_cannot_be_talked_into_it(code: str, judged: Judge) -> None:
    """It runs in an execution of its own, and gets the output as a value."""
    assert not judged(code, ROOT).accepted


def test_a_checker_takes_every_right_answer(judged: Judge) -> None:
    """Either root will do."""
    for sign in ("", "-"):
        assert judged(f"print({sign}int(int(input()) ** 0.5))", ROOT) == JudgeResult(2, 2)
    assert judged("n = int(input()); print(2 if n == 4 else 4)", ROOT) == JudgeResult(1, 2, WRONG_ANSWER)
    assert judged("n = int(input()); print(2); assert n == 4", ROOT) == JudgeResult(1, 2, RUNTIME_ERROR)


def test_a_checker_may_print(judged: Judge) -> None:
    """Its verdict is what it returns, whatever it prints, also straight to its output, and however it ends lines."""
    noisy = "import os, sys\nprint('loaded', flush=True)\ndef check(i: Missing, o, e) -> None:\n    print(i, o, e)\n"
    noisy += "    sys.stdout.write('x')\n    os.write(1, b'accepted')\n    return int(o) ** 2 == int(i)"
    suite = Suite(ROOT.cases, checker=noisy)
    assert judged("print(-int(int(input()) ** 0.5))", suite) == JudgeResult(2, 2)
    assert judged("print(1)", suite) == JudgeResult(0, 2, WRONG_ANSWER)
    assert judged("print('none')", suite) == JudgeResult(0, 2, WRONG_ANSWER)


def test_every_test_can_be_counted(judged: Judge) -> None:
    """With ``every``, the tests after a failure run as well, for programs, functions and checkers alike."""
    code = "a, b = map(int, input().split()); assert a != 30; print(a + b if a < 7 else 0)"
    assert judged(code) == JudgeResult(1, 6, RUNTIME_ERROR)
    for workers in (1, 4):
        assert judged(code, every=True, workers=workers) == JudgeResult(4, 6, RUNTIME_ERROR)
    assert judged("def add(a, b): return 42", ADD, every=True) == JudgeResult(1, 3, WRONG_ANSWER)
    rooted = Suite((*ROOT.cases, Case("16", "4 -4"), Case("25", "5 -5")), checker=ROOT.checker)
    one = "n = int(input()); assert n != 9; print(int(n ** 0.5) if n != 4 else 7)"
    assert judged(one, rooted) == JudgeResult(0, 4, WRONG_ANSWER)
    assert judged(one, rooted, every=True) == JudgeResult(2, 4, WRONG_ANSWER)


def test_a_checker_of_functions_gets_values(judged: Judge) -> None:
    """Arguments, result and expectation as JSON has them; a result that is none of it is wrong."""
    source = "def check(i, o, e):\n    return isinstance(i, list) and o == i[0] + 1 and e == [None]"
    suite = Suite((Case("[1]", "[null]"), Case("[5]", "[null]")), "f", source)
    assert judged("def f(n): return n + 1", suite).accepted
    assert not judged("def f(n): return n", suite).accepted
    assert not judged("def f(n): return str(n + 1)", suite).accepted


def test_even_a_checker_that_takes_everything_takes_no_broken_output(judged: Judge) -> None:
    """What was cut off, and what is no value where a function was to return one, never reaches it."""
    anything = "def check(i, o, e): return 1"
    assert judged("print('x' * 1000)", Suite((Case("", "x"),), checker=anything)).accepted
    assert not judged("print('x' * 100_000)", Suite((Case("", "x"),), checker=anything)).accepted
    function = Suite((Case("[1]", "1"), Case("[2]", "1")), "f", anything)
    assert judged("def f(n): return n", function).accepted
    assert judged("import os\ndef f(n):\n    if n == 2: os._exit(0)", function) == JudgeResult(1, 2, WRONG_ANSWER)


@pytest.mark.parametrize(
    "code",
    [
        "class Solution:\n    def add(self, a, b):\n        return a + b",
        "def add(a: List[int], b: Optional[int]) -> Dict[str, int]:\n    return a + b",
        "def add(a, b):\n    print('debug', a, b)\n    return a + b",
        "def add(a, b):\n    return a + b\nif __name__ == '__main__':\n    print(add(*map(int, input().split())))",
        "from __future__ import annotations\ndef add(a: 'int', b: int) -> int:\n    return a + b",
        "add = lambda a, b: a + b",
        "def add(a, b):\n    return (a + b)",
        '"""A text with {braces} and \'quotes\'."""\ndef add(a, b):\n    return a + b  # {0}',
    ],
)
def test_functions_are_written_in_many_ways(code: str, judged: Judge) -> None:
    """As methods of Solution, with names of typing, with prints and with a main part."""
    assert judged(code, ADD).accepted


def test_results_that_json_lacks_are_compared_as_what_comes_closest(judged: Judge) -> None:
    """Tuples are lists; numbers of any length come through."""
    pairs = Suite((Case("[1, 2]", "[2, 1]"),), "swap")
    assert judged("def swap(a, b): return b, a", pairs).accepted
    assert not judged("def swap(a, b): return {b, a}", pairs).accepted
    huge = Suite((Case("[9000]", str(10**4200)),), "power")
    assert judged("def power(n): return 10 ** 4200", huge).accepted
    assert not judged("def power(n): return 10 ** n", huge).accepted


def test_the_sandbox_ends_with_its_last_user() -> None:
    """Users share one sandbox, which goes on as long as one of them is left."""
    one, other = shared_sandbox().handle(), shared_sandbox(()).handle()
    assert one.value is other.value
    one.close()
    one.close()
    assert other.value.run("print(1)").stdout == "1\n"
    other.close()
