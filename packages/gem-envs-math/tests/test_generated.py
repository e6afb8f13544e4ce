"""What all generated sets promise."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from typing import Any

import pytest

import gem
from gem.errors import ArgumentError, GemError
from gem_envs_math import AlgebraEnv, ArithmeticEnv, GeometryEnv, WordProblemsEnv

COUNT = 10_000
ENVS = (ArithmeticEnv, WordProblemsEnv, AlgebraEnv, GeometryEnv)
LEVELS = ("easy", "medium", "hard")
DIFFERENT = 0.975
"""The share of questions that are new: kinds with few numbers, such as dice, repeat themselves now and then."""

GARBAGE = (
    "", " ", "\\", "?", "nan", "None", "answer", "\\text{}", "{}", "()", "x", "\\infty", "0/0", "the answer", "1e9999",
)  # fmt: skip


def shown(row: Any) -> str:
    return row.get("facts", "") + row["problem"]


def numbers(row: Any) -> str:
    """What a problem calculates with: the facts of a story, the numbers of any other text."""
    if "values" in row:
        return json.dumps(row["values"], sort_keys=True)
    return " ".join(re.findall(r"\d+", shown(row)))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("level", [*LEVELS, "mixed"])
@pytest.mark.parametrize("env_class", ENVS)
def test_ids_and_questions_are_all_but_unique(env_class: Any, level: str, share: float) -> None:
    """No id comes twice, and few questions do."""
    rows, count = env_class(level=level).rows, int(share * COUNT)
    made = [rows[index] for index in range(count)]
    assert len({row["id"] for row in made}) == count
    assert len({shown(row) for row in made}) >= DIFFERENT * count
    assert len({row["kind"] for row in made}) >= 4


@pytest.mark.parametrize("env_class", ENVS)
def test_the_splits_share_nothing(env_class: Any, share: float) -> None:
    """No problem is in both splits, nor the same problem with other names; sizes are as declared."""
    keys: dict[str, set[str]] = {}
    for split in ("train", "test"):
        env = env_class(split=split)
        assert len(env.rows) == 1_000_000
        rows = [env.rows[random.Random(f"{split}{n}").randrange(len(env.rows))] for n in range(int(share * 3000))]
        keys[split] = {row["kind"] + numbers(row) for row in rows}
    assert not keys["train"] & keys["test"]


@pytest.mark.parametrize("env_class", ENVS)
def test_rows_are_functions_of_their_index(env_class: Any) -> None:
    """A row is the same in another instance and whatever was asked for before; rows survive JSON."""
    one, two = env_class().rows, env_class().rows
    picked = [0, 999_999, 123_456, 7]
    first = [one[index] for index in picked]
    assert first == [two[index] for index in reversed(picked)][::-1]
    assert json.loads(json.dumps(first)) == [dict(row) for row in first]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("env_class", ENVS)
def test_reference_answers_score_and_others_do_not(env_class: Any, level: str) -> None:
    """The reference answer scores 1; garbage, an empty box, and another row's different answer score 0."""
    env = env_class(level=level)
    for index in range(150):
        row, other = env.rows[index], env.rows[index + 1]
        grade = env.grade(env.reference_answer(row), row)
        assert (grade.reward, grade.correct, grade.well_formed) == (1.0, True, True), row
        assert (grade.info["kind"], grade.info["level"]) == (row["kind"], level)
        wrong = [
            *(f"\\boxed{{{text}}}" for text in GARBAGE[: 4 + index % 11]),
            row["answer"],
            f"\\boxed{{{row['answer']}",
        ]
        if other["answer"] != row["answer"]:
            wrong.append(env.reference_answer(other))
        for action in wrong:
            assert env.grade(action, row).reward == 0.0, (action, row)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "level", [*LEVELS[-1:], *(pytest.param(level, marks=pytest.mark.nightly) for level in LEVELS[:-1])]
)
@pytest.mark.parametrize("env_class", ENVS)
def test_repeating_the_question_scores_nothing(env_class: Any, level: str) -> None:
    """No formula of a question is its answer, nor a number of it where the answer has to be found."""
    env = env_class(level=level)
    for index in range(200):
        row = env.rows[index]
        text = shown(row)
        assert "\\boxed" not in text
        formulas = [
            formula for formula in re.findall(r"\$([^$]+)\$", text) if re.search(r"[-+^\\(=<>]", formula.lstrip("-"))
        ]
        for formula in formulas[:4]:
            for part in {formula, *re.split(r" = | < | > | \\le | \\ge ", formula)}:
                if re.fullmatch(r"-?\d*[a-z]?|-?\\frac\{\d+\}\{\d+\}", part):
                    continue
                assert env.grade(f"\\boxed{{{part}}}", row).reward == 0.0, (part, row)
        if not isinstance(env, AlgebraEnv) and row["answer"].isdigit() and row["kind"] != "grid_slope":
            assert row["answer"] not in re.findall(r"\d+(?:[.:]\d+)*", text), row


@pytest.mark.parametrize(
    ("gold", "answer", "paid"),
    [
        ("5", "5.0", 1.0), ("-5", "-5", 1.0), ("-\\frac{3}{4}", "-0.75", 1.0), ("1024", "1,024", 1.0),
        ("5", "5 \\text{ km}", 1.0), ("0.75", "3/4", 1.0), ("5", "2 + 3", 0.0), ("-1", "2-3", 0.0),
        ("6", "2 \\times 3", 0.0), ("32", "2^{5}", 0.0), ("120", "5!", 0.0), ("4", "\\sqrt{16}", 0.0),
        ("3", "\\log_2 8", 0.0), ("\\frac16", "\\frac{\\frac{1}{2}}{3}", 0.0), ("5", "(7) - 2", 0.0), ("6", "2*3", 0.0),
        ("10", "\\binom{5}{2}", 0.0),
    ],
)  # fmt: skip
def test_what_is_still_to_be_computed_is_no_answer(gold: str, answer: str, paid: float) -> None:
    """Where a number is asked for, an expression that equals it is not taken."""
    row = {"problem": "?", "answer": gold, "plain": True, "kind": "k", "level": "easy"}
    assert ArithmeticEnv().grade(f"\\boxed{{{answer}}}", row).reward == paid


@pytest.mark.parametrize("env_class", ENVS)
def test_the_instruction_stands_there_once(env_class: Any) -> None:
    """Each question names the format of its answer once, at the end."""
    env = env_class(pictures=False) if env_class is GeometryEnv else env_class()
    for seed in range(40):
        question, _ = env.reset(seed=seed)
        assert question.count("\\boxed") == 1
        assert question.endswith("Put the final answer in \\boxed{}.")


@pytest.mark.parametrize("env_class", ENVS)
def test_levels_and_splits_are_checked(env_class: Any) -> None:
    """A level or split that does not exist is named with those that do."""
    with pytest.raises(ArgumentError, match=r"easy.*medium.*hard.*mixed"):
        env_class(level="tricky")
    with pytest.raises(ArgumentError, match=r"train.*test"):
        env_class(split="dev")
    for size in (0, -1, 1 << 60, "5", None, True):
        with pytest.raises(GemError):
            env_class(size=size)


def test_variants_differ_in_level() -> None:
    """The variants of an id draw from their level alone, the id itself from all."""
    for name in ("Arithmetic", "WordProblems", "Algebra", "GeometryText"):
        for variant, levels in (("-easy", {"easy"}), ("-hard", {"hard"}), ("", set(LEVELS)), ("-test", set(LEVELS))):
            env: Any = gem.make(f"math:{name}-v0{variant}")
            assert {env.unwrapped.rows[index]["level"] for index in range(40)} == levels


@pytest.mark.slow
def test_the_questions_of_a_version_stay_as_they_are() -> None:
    """The first rows of each set are the same under other hash seeds, and as they were when the version was new.

    A score counts only beside scores on the same questions. A change of a generator therefore needs a new version.
    """
    code = (
        "import gem_envs_math as m, hashlib\n"
        "envs = [m.ArithmeticEnv(), m.WordProblemsEnv(), m.AlgebraEnv(), m.GeometryEnv()]\n"
        "print(hashlib.sha256(repr([env.rows[i] for env in envs for i in range(400)]).encode()).hexdigest())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout.strip()
        for seed in ("0", "1", "77")
    }
    assert found == {"6682537971d14c2d966efa44d412ff5856f0fd80294a14155eabc3bc051c1cbc"}


def test_importing_is_light() -> None:
    """Importing the environments loads neither Pillow nor sympy, math_verify, datasets or numpy."""
    code = (
        "import sys, gem_envs_math\n"
        "gem_envs_math.MathEnv, gem_envs_math.MathVisualEnv, gem_envs_math.WordProblemsEnv, gem_envs_math.GeometryEnv\n"
        "heavy = {'PIL', 'sympy', 'mpmath', 'math_verify', 'datasets', 'numpy', 'pyarrow'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
