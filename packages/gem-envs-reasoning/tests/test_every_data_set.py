"""What holds for every data set: reference answers, hostile answers, states, and the same items in every process."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import gem
from gem_envs_reasoning.corrections import EVALUATING, SCORES
from gem_envs_reasoning.encoding import decode, encode
from gem_envs_reasoning.items import DataSet, catalogue
from gem_envs_reasoning.scoring import IN_PROCESS, WORKERS

_SHAPES = [
    "", " ", "0", "-1", "nan", "inf", "-inf", "1e999", "1e999999999", "9" * 400, "9" * 5000, "1/0", "0/0", "None", "no",
    "{}", "[]", "[[]]", '{"a": 1}', "[1, [2, [3]]]", "null", "[" * 500, "(" * 500 + ")" * 500, "9**9**9**9",
    "(" * 40 + "9" + "**9)" * 40, "x" * 1900, "a,b=c", "=", ",", "A+1 " * 300, "\n" * 500, "é\u0000\ud800", "１２", "²",
    "__import__('os')", "lambda: 1", "A" * 1500, "1 " * 900, "P ∧ " * 200 + "P", "((((P → Q) ↔ R) ∨ ¬P)", "R" * 500,
    "×" * 300, "2 × 0", "-5 × x", "move(a, b)", '[{"Agent[9.5, 0.5]": "move(box_red, square[9.5, 1.5])"}]', "12:99:99",
    "1 days, 2:3:4", "50%", "1j",
]  # fmt: skip
HOSTILE = [shape + tail for tail in ("", "!", " 1", "\n2") for shape in _SHAPES]


@pytest.fixture(scope="module", autouse=True)
def _one_pool_for_all() -> Iterator[None]:
    """Keep the workers from test to test."""
    with WORKERS.handle():
        yield


# Items that follow PYTHONHASHSEED or global generators in the library itself.
UNSTABLE = (
    "codeio", "isomorphic_strings", "knight_swap", "polynomial_multiplication", "pool_matrix", "ransom_note",
    "word_ladder",
)  # fmt: skip
# Data sets that take seconds to make or score an item, left to the night.
SLOW = frozenset(
    ["advanced_geometry", "arc_agi", "binary_matrix", "calendar_arithmetic", "futoshiki", "intermediate_integration",
     "knight_swap", "polynomial_equations"]
)  # fmt: skip
UNSTABLE_BY_DAY = tuple(name for name in UNSTABLE if name not in SLOW)
# By day: data sets whose scorers run in this process, in the worker, execute answers, or are our own.
CHOSEN = frozenset(
    ["chain_sum", "coin_flip", "countdown", "game_of_life_halting", "n_queens", "rush_hour", "sudoku", "word_ladder"]
)


NEEDS_PYCOSAT = pytest.mark.skipif(
    importlib.util.find_spec("pycosat") is None,
    reason="pycosat could not be had: it has no wheel, and no compiler was here",
)
"""What reasoning-gym makes zebra puzzles with, and compiles where it is installed."""


def others_marked(mark: pytest.MarkDecorator, names: Iterable[str]) -> list[Any]:
    """The names as parameters, all but the chosen ones with a mark, and with what a data set needs."""
    marks = {name: [] if name in CHOSEN else [mark] for name in names}
    marks.get("zebra_puzzles", []).append(NEEDS_PYCOSAT)
    return [pytest.param(name, marks=own) for name, own in marks.items()]


@pytest.mark.sampled(25)
@pytest.mark.parametrize(
    "name",
    [
        *others_marked(pytest.mark.slow, [name for name in (*catalogue(), "composite") if name not in SLOW]),
        *(pytest.param(name, marks=pytest.mark.nightly) for name in sorted(SLOW)),
    ],
)
def test_reference_answers_get_full_marks_and_states_continue(name: str, pytestconfig: pytest.Config) -> None:
    """The reference answer scores 1.0, an item survives JSON, and a state's twin sees and earns the same.

    By day for one item of each data set.
    """
    env: Any = gem.make(f"rg:{name}")
    twin: Any = gem.make(f"rg:{name}")
    for seed in range(2 if pytestconfig.getoption("--tier") == "all" else 1):
        env.reset(seed=seed)
        entry = dict(env.row)
        once = decode(json.loads(json.dumps(encode(entry))))
        assert once == entry or encode(once) == encode(entry)
        twin.set_state(json.loads(json.dumps(env.get_state())))
        assert twin.row["question"] == entry["question"]
        action = env.reference_answer(env.row)
        stepped = env.step(action)
        assert stepped[1] == 1.0, (action, stepped)
        assert stepped[4]["correct"] is True
        assert "scorer_error" not in stepped[4]
        assert twin.step(action) == stepped


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["chain_sum", "countdown", "letter_counting", "maze", "rush_hour", "sudoku"])
def test_the_lowest_and_the_highest_level_can_be_answered(name: str) -> None:
    """At either end of a curriculum, the reference answer scores 1.0."""
    highest = gem.make(f"rg:{name}").unwrapped.highest_level  # type: ignore[attr-defined]
    for level in (0, highest):
        env: Any = gem.make(f"rg:{name}", level=level)
        _, info = env.reset(seed=1)
        assert info["level"] == level
        assert env.step(env.reference_answer(env.row))[1] == 1.0


@pytest.mark.parametrize("name", others_marked(pytest.mark.nightly, catalogue()))
def test_no_answer_raises_or_stalls(name: str) -> None:
    """Two hundred hostile answers are scored within 0 … 1, and at most one of them runs into the time limit."""
    assert len(HOSTILE) == 200
    env: Any = gem.make(f"rg:{name}")
    env.reset(seed=0)
    late = []
    for answer in HOSTILE:
        grade = env.grade(f"\\boxed{{{answer}}}", env.row)
        assert 0.0 <= grade.reward <= 1.0
        json.dumps(dict(grade.info))
        if "no score within" in grade.info.get("scorer_error", ""):
            late.append(answer)
    assert len(late) <= 1, late
    for action in (None, 7, b"\\boxed{1}", {"content": None}, "\\boxed{" * 1000, "x" * 1_000_000):
        assert env.grade(action, env.row).reward == 0.0


PAYLOADS = [
    "__import__('os').system('touch {path}')",
    "open('{path}', 'w').write('x')",
    "[open('{path}', 'w')]",
    "().__class__.__base__.__subclasses__() or open('{path}','w')",
    "exec(\"open('{path}','w')\")",
    "1 + len(str(open('{path}', 'w')))",
    "(lambda: open('{path}', 'w'))()",
    "sqrt(open('{path}', 'w'))",
    "f\"{{open('{path}', 'w')}}\"",
    "x.__class__.__init__.__globals__['os'].system('touch {path}')",
]


@pytest.mark.parametrize("name", sorted(EVALUATING))
def test_no_answer_is_executed(name: str, tmp_path: Path) -> None:
    """Text that would write a file writes none, neither in the worker nor, for this test, in this process."""
    proof = tmp_path / "proof"
    data_set = DataSet(name, {}, seed=42, size=500)
    env: Any = gem.make(f"rg:{name}")
    env.reset()
    for payload in PAYLOADS:
        text = payload.format(path=proof)
        data_set.library_data_set().score_answer(text, dict(env.row))
        env.grade(f"\\boxed{{{text}}}", env.row)
    assert not proof.exists()


@pytest.mark.nightly
def test_the_library_itself_executes_answers(tmp_path: Path) -> None:
    """The published scorer writes the file, so the test above would fail if nothing were corrected."""
    proof = tmp_path / "proof"
    program = (
        "import sys, reasoning_gym; data_set = reasoning_gym.create_dataset('n_queens', seed=1, size=2); "
        "data_set.score_answer(sys.argv[1], data_set[0])"
    )
    command = [sys.executable, "-W", "ignore", "-c", program, PAYLOADS[1].format(path=proof)]
    subprocess.run(command, capture_output=True, check=True)
    assert proof.exists()


_RISKY = frozenset(
    [
        "eval", "exec", "compile", "parse_expr", "sympify", "literal_eval", "Fraction", "loads", "loadtxt",
        "__import__", "open",
    ]
)  # fmt: skip


@pytest.mark.sampled(16)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=NEEDS_PYCOSAT) if name == "zebra_puzzles" else name
        for name in sorted(IN_PROCESS.keys() - SCORES.keys())
    ],
)
def test_scorers_in_this_process_call_nothing_that_can_hang(name: str) -> None:
    """A scorer that runs in process, and the methods that it calls, evaluate and decode nothing, and nest no repetition
    in a regular expression.
    """
    cls = type(DataSet(name, {}, seed=1, size=10).library_data_set())
    pending, seen = ["score_answer"], set()
    while pending:
        method = pending.pop()
        found = getattr(cls, method, None)
        if found is None or method in seen:
            continue
        seen.add(method)
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(found)))):
            if not isinstance(node, ast.Call):
                continue
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            assert called not in _RISKY, f"{method} calls {called}"
            if isinstance(owner, ast.Name) and owner.id == "self":
                pending.append(called)
            if isinstance(owner, ast.Name) and owner.id == "re":
                pattern = node.args[0]
                assert isinstance(pattern, ast.Constant), f"{method} has a pattern that is no constant"
                assert not re.search(r"[+*}]\)[+*{]", str(pattern.value)), pattern.value


def test_what_is_executed_elsewhere_runs_in_the_worker() -> None:
    """The table of scorers that run in process names data sets, and none of the nine that evaluate answers."""
    assert IN_PROCESS.keys() <= catalogue().keys()
    assert not EVALUATING & IN_PROCESS.keys()


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(UNSTABLE_BY_DAY, marks=pytest.mark.slow),
        pytest.param(tuple(catalogue()), marks=pytest.mark.nightly),
    ],
    ids=["unstable", "all"],
)
def test_items_are_the_same_in_every_process(names: tuple[str, ...]) -> None:
    """Hash seeds give the same items of a data set, and making them prints nothing."""
    program = (
        "import hashlib, json, sys\n"
        "from gem_envs_reasoning.encoding import encode\n"
        "from gem_envs_reasoning.items import DataSet\n"
        "said = {}\n"
        "for name in sys.argv[2:]:\n"
        "    data_set = DataSet(name, {}, seed=11, size=50)\n"
        "    items = [encode(data_set[i]) for i in range(4 if name in sys.argv[1] else 1)]\n"
        "    said[name] = hashlib.sha256(json.dumps(items).encode()).hexdigest()\n"
        "print(json.dumps(said))\n"
    )
    said = []
    for seed in ("0", "1") if names is UNSTABLE_BY_DAY else ("0", "1", "12345"):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program, " ".join(UNSTABLE), *names],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        )
        said.append(json.loads(done.stdout))
        assert done.stderr == ""
    assert [name for name in names if len({process[name] for process in said}) > 1] == []


@pytest.mark.parametrize(
    ("name", "answer"),
    [("game_of_life_halting", "maybe"), ("coin_flip", "0"), ("complex_arithmetic", "nan"), ("puzzle24", "6*4*1*1")],
)
def test_what_the_library_pays_for_nothing_is_not_paid(name: str, answer: str) -> None:
    """Answers for which the published scorers give 1.0 whatever was asked are not right."""
    env: Any = gem.make(f"rg:{name}")
    for _ in range(10):
        env.reset()
        if env.row["answer"] != answer:
            assert env.step(f"\\boxed{{{answer}}}")[1] < 1.0


CONCLUSIONS: list[tuple[list[str], str, float]] = [
    (["P", "(P → Q)"], "P ∧ Q", 1.0),
    (["P", "(P → Q)"], "Q ∨ ¬P", 0.25),  # the second premise alone
    (["P", "(P → Q)"], "(P) ∧ (P)", 0.25),
    (["P", "(P → Q)"], "Q ∧ Q", 1.0),  # needs both
    (["P", "(P → Q)"], "P ∨ Q", 0.25),
    (["P", "(P → Q)"], "P ∨ ¬P", 0.25),
    (["P", "(P → Q)"], "¬Q ∧ ¬Q", 0.05),
    (["P", "(P → Q)"], "(P ∧ Q) ∨ x", 0.0),
    (["(P ∧ Q)", "(P ∨ Q)"], "Q ∧ P", 1.0),  # one premise says all
    (["(P ∧ Q)", "(P ∨ Q)"], "P ∧ P", 0.25),
    (["P", "¬P"], "Q ∧ Q", 0.25),  # everything follows
    (["P", "¬P"], "P ∧ ¬P", 1.0),
    (["(P ∨ ¬P)", "(Q ∨ ¬Q)"], "(P ∨ ¬P) ∧ (Q ∨ ¬Q)", 0.25),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("premises", "answer", "reward"), CONCLUSIONS)
def test_a_conclusion_needs_more_than_a_copied_premise(premises: list[str], answer: str, reward: float) -> None:
    """Full marks are for what no single premise says, or for all that they say together."""
    env: Any = gem.make("rg:propositional_logic")
    env.reset(seed=0)
    row = {**env.row, "metadata": {**env.row["metadata"], "premises": premises, "variables": ["P", "Q"]}}
    grade = env.grade(f"\\boxed{{{answer}}}", row)
    assert (grade.reward, "scorer_error" in grade.info) == (reward, False)


def test_exact_numbers_in_an_item_reach_the_worker() -> None:
    """An answer too long for this process is scored elsewhere, whatever the item holds: here a fraction."""
    env: Any = gem.make("rg:gsm_symbolic")
    env.reset(seed=7000)
    assert "Fraction(" in repr(env.row)
    assert decode(json.loads(json.dumps(encode(dict(env.row))))) == dict(env.row)
    _, reward, _, _, info = env.step(f"\\boxed{{{'9' * 5000}}}")
    assert reward < 0.1
    assert "scorer_error" not in info
    odd = [Fraction(-3, 7), Decimal("1.50"), Decimal("NaN")]
    assert repr(decode(json.loads(json.dumps(encode(odd))))) == repr(odd)


def test_a_list_that_only_begins_with_the_sorted_words_is_not_right() -> None:
    """What follows the right words costs its share, and the right words alone earn everything."""
    env: Any = gem.make("rg:word_sorting")
    env.reset(seed=0)
    words = env.row["metadata"]["sorted_words"]
    for more, reward in ((0, 1.0), (1, len(words) / (len(words) + 1)), (len(words), 0.5)):
        env.reset(seed=0)
        answer = ", ".join([*words, *["zebra"] * more])
        assert env.step(f"\\boxed{{{answer}}}")[1] == pytest.approx(reward)


@pytest.mark.parametrize("returned", [None, "nan", "inf", "2", "-1"])
def test_a_scorer_that_fails_is_zero_and_says_so(monkeypatch: pytest.MonkeyPatch, returned: str | None) -> None:
    """A scorer that raises, or returns what is no score, gives 0.0 and ``scorer_error``."""
    monkeypatch.setitem(SCORES, "gcd", lambda data_set, answer, entry: float(returned or "no number"))
    env: Any = gem.make("rg:gcd")
    env.reset(seed=0)
    _, reward, _, _, info = env.step("\\boxed{1}")
    assert reward == 0.0
    assert info["scorer_error"]


def test_a_library_that_is_not_installed_is_named() -> None:
    """A data set whose own library is missing says which, and how to get it; the other data sets work."""
    program = textwrap.dedent(
        """
        import sys
        sys.modules["pycosat"] = None
        import gem
        gem.make("rg:knights_knaves").reset(seed=0)
        try:
            gem.make("rg:zebra_puzzles").reset(seed=0)
        except gem.GemError as error:
            print(type(error).__name__, error)
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert re.match(r"DatasetError rg:zebra_puzzles needs pycosat.*pip install pycosat.*compiler", done.stdout)
