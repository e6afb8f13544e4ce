r"""The grader against labelled pairs, against its own promises on random values, and against hostile input."""

from __future__ import annotations

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gem_envs_math import MathEnv
from gem_envs_math.grader import GradeResult, grade, grading, is_correct, workers
from gem_processes import ProcessPool, SharedResource

CORPUS = Path(__file__).parent / "grader_corpus"
GENEROUS = 30.0
"""Seconds for a comparison whose result matters, on a machine under load."""


class Pair(NamedTuple):
    """A line of the corpus."""

    category: str
    equal: bool
    gold: str
    answer: str


def corpus(name: str) -> list[Pair]:
    """The pairs of a file of the corpus."""
    lines = (CORPUS / f"{name}.tsv").read_text(encoding="utf-8").split("\n")[1:]
    return [Pair(fields[0], fields[1] == "1", *fields[2:]) for line in lines if (fields := line.split("\t"))[0]]


HELD_OUT = [*corpus("held_out"), *corpus("held_out_later")]
ALL = [*corpus("written"), *corpus("generated"), *HELD_OUT]


@pytest.fixture(scope="module", autouse=True)
def end_of_the_workers() -> Any:
    """No process outlives this module."""
    yield
    grading._POOL.close()


@cache
def verdict_on(pair: Pair) -> GradeResult:
    """What the grader says of a pair."""
    return grade(pair.answer, pair.gold, seconds=GENEROUS)


def wrong(pairs: list[Pair]) -> list[Pair]:
    """The pairs that the grader gets wrong."""
    return [pair for pair in pairs if verdict_on(pair).correct != pair.equal]


def test_the_corpus_is_large_and_mixed() -> None:
    """At least 1,500 pairs, none twice, of many categories, with both labels."""
    assert len(ALL) >= 1500
    assert len({(pair.gold, pair.answer) for pair in ALL}) > 0.97 * len(ALL)
    assert len({pair.category for pair in ALL}) >= 20
    assert 0.35 < sum(pair.equal for pair in ALL) / len(ALL) < 0.65


@pytest.mark.slow(reason="the whole corpus")
def test_the_corpus() -> None:
    """At least 99.5 per cent of the corpus is graded as labelled."""
    mistakes = wrong(ALL)
    assert len(mistakes) <= 0.005 * len(ALL), mistakes


def test_the_pairs_held_out() -> None:
    """All pairs are right that were written before the grader first saw them.

    When it did, it had 198 of the 201 written before its first run right, and 77 of the 79 written at its end. (Three
    labels changed since: a percentage and a number with the same digits may be one answer.)
    """
    assert wrong(HELD_OUT) == []


def test_the_known_defects_of_other_graders() -> None:
    """None of the false positives and negatives known of the original's grader and of math-verify is one here."""
    assert wrong([pair for pair in corpus("written") if pair.category in ("defects", "hedges", "garbage")]) == []


PITFALLS = frozenset({
    "angles", "chains", "congruences", "dimensions", "equations", "figures", "floors", "identities", "names", "pairs",
    "powers", "sets", "times", "vectors",
})  # fmt: skip


def test_the_pitfalls_of_reading() -> None:
    """Commas that divide or group, chains of equations, sets in every notation, names before the answer: all right."""
    assert wrong([pair for pair in corpus("written") if pair.category in PITFALLS]) == []


def test_no_false_positive_in_the_corpus() -> None:
    """Nothing in the corpus that is wrong gets a reward."""
    assert [pair for pair in wrong(ALL) if not pair.equal] == []


def test_gold_and_answer_may_change_places() -> None:
    """The result is the same when gold and answer are swapped."""
    differing = [
        pair
        for pair in ALL
        if pair.answer.strip() and is_correct(pair.gold, pair.answer, seconds=GENEROUS) != pair.equal
    ]
    assert len(differing) <= 0.005 * len(ALL), differing


def test_few_pairs_need_a_worker() -> None:
    """The fast path decides nineteen of twenty pairs of the corpus."""
    hows = [verdict_on(pair).how for pair in ALL]
    assert sum(how in ("text", "exact", "empty", "limit", "notation") for how in hows) > 0.95 * len(ALL)


@pytest.mark.parametrize(
    ("answer", "gold", "result"),
    [
        ("7", "7", GradeResult("same", "text")),
        ("0.5", "1/2", GradeResult("same", "exact")),
        ("0.5", "1/3", GradeResult("different", "exact")),
        (r"\sin^2 x+\cos^2 x", "1", GradeResult("same", "numeric")),
        (r"\int_0^1 2x\,dx", "1", GradeResult("same", "math-verify")),
        (r"\int_0^1 2x\,dx", r"\{1\}", GradeResult("unreadable", "notation")),
        (r"\int_0^1 2x\,dx", "2", GradeResult("different", "math-verify")),
        ("9^{9^9}", "1", GradeResult("unreadable", "limit")),
        ("", "1", GradeResult("different", "empty")),
    ],
)
def test_a_result_says_how(answer: str, gold: str, result: GradeResult) -> None:
    """Each part of the grader says that it was the one."""
    assert grade(answer, gold, seconds=GENEROUS) == result
    assert bool(result) is result.correct


@pytest.mark.parametrize(
    ("answer", "gold", "right"),
    [
        (3, 3, True), (3, "3", True), ("3", 3.0, True), (0.5, "\\frac12", True), (Fraction(1, 3), "1/3", True),
        (Decimal("0.10"), 0.1, True), (True, "true", True), (True, 1, False), (1e-7, "10^{-7}", True),
        ("3", [1, 2, 3], True),
        ("4", [1, 2, 3], False), ("3", ["\\frac62"], True), ("3", (), False), ("3", [None, [3]], False),
        (None, None, False),
        (None, "None", False), (float("nan"), float("nan"), False), (math.inf, "inf", False), ("nan", math.nan, False),
        ([3], 3, False), ({}, "{}", False), (b"3", 3, False), ("3", b"3", False), (object(), 3, False), (str, 3, False),
        ("", "", False), (" ", " ", False), ("0", "", False),
    ],
)  # fmt: skip
def test_answers_and_golds_of_any_kind(answer: object, gold: object, right: bool) -> None:
    """Numbers and alternatives are golds, numbers are answers, nothing equals nothing, anything else is wrong."""
    assert is_correct(answer, gold) is right


def test_the_largest() -> None:
    """A long text equals itself; an integer that Python does not write is no answer."""
    assert is_correct("x" * 10**6, "x" * 10**6)
    assert not is_correct(10**5000, 10**5000)


numbers = st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=10**4)


def written(value: Fraction, way: int) -> str:
    """A fraction in one of several notations."""
    above, below = value.numerator, value.denominator
    sign, size = ("-" if value < 0 else ""), abs(above)
    whole, rest = divmod(size, below)
    return [
        f"{above}/{below}",
        f"\\frac{{{above}}}{{{below}}}",
        f"{sign}\\dfrac{{{size * 7}}}{{{below * 7}}}",
        f"${sign}{whole}\\frac{{{rest}}}{{{below}}}$" if whole and rest else f"{above}/{below}.",
        f"{100 * above}/{below}\\%",
        f"\\boxed{{\\left({above} \\div {below}\\right)}}",
        f"{sign}{size}\\cdot{{{below}}}^{{-1}}",
        f"x = {above}/{below}",
        f"{above}/{below} \\text{{ apples}}",
    ][way]


@given(value=numbers, one=st.integers(0, 8), two=st.integers(0, 8))
def test_a_number_equals_itself_in_any_notation(value: Fraction, one: int, two: int) -> None:
    """However a number is written twice, it is the same number."""
    assert is_correct(written(value, one), written(value, two))


@given(value=numbers, other=numbers, one=st.integers(0, 8), two=st.integers(0, 8))
def test_two_numbers_are_never_equal(value: Fraction, other: Fraction, one: int, two: int) -> None:
    """However two different numbers are written, they are not the same."""
    if value != other:
        assert not is_correct(written(value, one), written(other, two))


@given(value=numbers, digits=st.integers(15, 40))
def test_close_is_not_equal(value: Fraction, digits: int) -> None:
    """A difference in the fortieth digit is a difference."""
    assert not is_correct(written(value + Fraction(1, 10**digits), 1), written(value, 0))


@given(st.integers(2, 10**6), st.integers(2, 10**6), st.integers(1, 99))
def test_radicals_are_equal_if_their_squares_are(one: int, two: int, factor: int) -> None:
    """Roots of integers are compared exactly."""
    assert is_correct(f"{factor}\\sqrt{{{one}}}", f"\\sqrt{{{factor * factor * one}}}")
    assert is_correct(f"\\sqrt{{{one}}}", f"\\sqrt{{{two}}}") == (one == two)


coefficients = st.lists(st.integers(-20, 20), min_size=1, max_size=6)


@given(coefficients, coefficients, st.integers(-9, 9))
def test_polynomials_are_equal_if_their_coefficients_are(one: list[int], two: list[int], shift: int) -> None:
    """Sums in any order and Horner's form of the same coefficients are equal, others are not."""

    def powers(values: list[int]) -> str:
        return "+".join(f"{value}x^{{{power}}}" for power, value in enumerate(values)).replace("+-", "-")

    def horner(values: list[int]) -> str:
        text = str(values[-1])
        for value in reversed(values[:-1]):
            text = f"({text})x+{value}".replace("+-", "-")
        return text

    def stripped(values: list[int]) -> list[int]:
        return values[: max((place + 1 for place, value in enumerate(values) if value), default=0)]

    assert is_correct(horner(one), powers(one))
    assert is_correct(horner(one), powers(two)) == (stripped(one) == stripped(two))
    assert is_correct(f"{powers(one)}+{shift}".replace("+-", "-"), powers([one[0] + shift, *one[1:]]))


@given(st.permutations(["1", "-2", "\\frac{1}{3}", "\\sqrt{2}", "x", "5\\%"]), st.randoms(use_true_random=False))
def test_order_counts_in_tuples_only(items: list[str], chance: Any) -> None:
    """Sets and bare lists have no order, tuples do."""
    other = sorted(items, key=lambda _: chance.random())
    assert is_correct(", ".join(other), ", ".join(items))
    assert is_correct(f"\\{{{', '.join(other)}\\}}", ", ".join(items))
    assert is_correct(f"({', '.join(other)})", f"({','.join(items)})") == (other == items)
    assert not is_correct(f"({', '.join(items)})", ", ".join(items))


pieces = st.sampled_from(
    ["1", "2", "x", "y", "+", "-", "*", "/", "^", "_", "(", ")", "{", "}", "[", "]", "\\{", "\\}", ",", "=", "<", "|",
    "!", "%",
     "\\frac", "\\sqrt", "\\sin", "\\log", "\\pi", "\\infty", "\\cup", "\\pm", "\\text{km}", " ", "$", "\\", "&",
     "\\\\", ":",
     "\\begin{pmatrix}", "\\end{pmatrix}", "or", "and", "km", "e", "i", ".", "'", "\\left", "\\circ", "\u0000",
     "\ud800", "½", "²",
     "\\le", "\\in", "\\mathbb{R}", "\\overline{3}", "\\binom", "\\lfloor", "\\rceil", "1,000", "0.5", "99999"]
)  # fmt: skip


@settings(max_examples=300)
@given(st.lists(pieces, max_size=14).map("".join), st.lists(pieces, max_size=14).map("".join))
def test_any_text_is_graded(answer: str, gold: str) -> None:
    """Pieces of mathematics in any order never raise, and gold and answer may change places.

    Only a word that is no unit may be left out of an answer and not be added to it: then it cannot be read.
    """
    one, two = grade(answer, gold, seconds=GENEROUS), grade(gold, answer, seconds=GENEROUS)
    assert one.correct == two.correct or "unreadable" in (one.verdict, two.verdict)
    if answer.strip():
        assert is_correct(answer, answer)


BOMBS = [
    "9^9^9^9", "9^{9^{9^{9}}}", "9**9**9**9-1", "+".join(["1"] * 20_000), "{" * 1_000_000, "(" * 3000 + ")" * 3000,
    "(x+1)^{100000}", "(x+y+z)^{24}", "\\frac" * 500, "\\sqrt{" * 300 + "2" + "}" * 300, "1" * 4500, "1e400000",
    "100000!",
    "((((x+1)^20+1)^20+1)^20+1)^20", "x^{x^{x^{x^{x}}}}", "a" * 1_000_000, "\\text{" * 1000, "1," * 900,
    "\\pm" * 600 + "1",
    " " * 1_000_000 + "6", "\\left" * 300, "|" * 600, "-" * 1900 + "1", "2^" * 600 + "2", "\\sin " * 400 + "x",
    "1:" * 900,
    "=".join("x" * 400), "<".join("x" * 400), "\\cup".join("x" * 300), "5 " + "m " * 900,
    "*".join(f"(x+{n})" for n in range(200)),
    "\\begin{pmatrix}" + "1&" * 500 + "\\end{pmatrix}", "\\binom{10^9}{10^8}", "\u0000" * 100, "\ud800",
    "\\boxed{" * 400,
    "$" * 1999, "1 " * 999, "\\frac12" * 280, "." * 1999, "10" + " " * 1900 + "x", "\\{,}" * 400, "1{,}" * 400,
    "\\bar" * 400,
]  # fmt: skip


@pytest.mark.sampled(18)
@pytest.mark.parametrize("bomb", BOMBS, ids=range(len(BOMBS)))
def test_bombs_are_refused_at_once(bomb: str) -> None:
    """Towers, long sums and megabytes of braces are wrong at once, as answers and as golds."""
    begin = time.thread_time()
    for answer, gold in ((bomb, "5"), ("5", bomb)):
        result = grade(answer, gold, seconds=GENEROUS)  # the worker's clock runs on while others have the processor
        assert (result.correct, result.how in ("timeout", "crash")) == (False, False)
    spent = time.thread_time() - begin
    for _ in range(1_000_000):  # the measure of this machine
        pass
    assert spent < 50 * (time.thread_time() - begin - spent)


HEAVY = [r"\sum_{k=1}^{10^9} k!", r"\int_0^{10^9} e^{x^x} dx", r"\cos(\sin(\tan(2^{500}!)))", "e^{e^{e^{e^{e^{e}}}}}"]


@pytest.mark.parametrize("heavy", HEAVY)
def test_a_heavy_answer_costs_itself_only(heavy: str) -> None:
    """What keeps a worker busy ends in time, and the next right answer is right."""
    assert not grade(heavy, "5", seconds=0.3).correct
    assert grade(r"\sin^2 x+\cos^2 x", "1", seconds=GENEROUS) == GradeResult("same", "numeric")


@pytest.mark.nightly
def test_threads() -> None:
    """Sixty-four threads at once, with heavy answers among theirs, get the verdicts that one thread gets."""
    pairs = ALL[::6]
    start = threading.Barrier(64)

    def work(number: int) -> list[bool]:
        start.wait()
        if number % 16 == 0:
            assert not grade(HEAVY[number // 16], "5", seconds=0.3).correct
        mine = pairs[number:] + pairs[:number]
        told = [is_correct(pair.answer, pair.gold, seconds=GENEROUS) for pair in mine]
        return told[len(pairs) - number :] + told[: len(pairs) - number]

    alone = [verdict_on(pair).correct for pair in pairs]
    with ThreadPoolExecutor(64) as threads:
        assert all(told == alone for told in threads.map(work, range(64)))


def test_the_time_of_reading_is_linear() -> None:
    """Twice the text takes less than four times as long."""

    def seconds(size: int) -> float:
        texts = [
            "{" * size,
            "x+" * size,
            "(" * size,
            " " * size + "x",
            "\\frac" * size,
            "1," * size,
            "$" * size,
            "\\" * size,
        ]
        begin = time.process_time()
        for text in texts:
            grade(text, "5")
            grade(text[:1900], "7")
        return time.process_time() - begin

    limit = 4 * min(seconds(200_000) for _ in range(5)) + 0.05
    assert any(seconds(400_000) < limit for _ in range(5))


@pytest.mark.slow
def test_the_last_environment_ends_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment uses the worker processes from its first answer to its close."""
    log: list[str] = []
    monkeypatch.setattr(
        grading, "_WORKERS", SharedResource(lambda: log.append("opened"), lambda _: log.append("closed"))
    )
    monkeypatch.setattr(grading, "_POOL", SimpleNamespace(within=lambda *_: (True, "numbers")))
    envs = [MathEnv(dataset=[{"problem": "?", "answer": r"-\sin x"}]) for _ in range(2)]
    for env in envs:
        env.reset(seed=1)
        assert env.step(r"\boxed{\sin(-x)}")[1] == 1.0
    envs[0].close()
    assert log == ["opened"]
    envs[1].close()
    assert log == ["opened", "closed"]


def test_the_last_user_ends_the_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the last user has closed its handle there is no worker process, and the next grade starts one."""
    # Ones of its own: environments of other tests may hold the shared ones.
    pool = ProcessPool("gem_envs_math.grader.fallback:decide")  # without the libraries, which these answers need not
    monkeypatch.setattr(grading, "_POOL", pool)
    monkeypatch.setattr(grading, "_WORKERS", SharedResource(lambda: pool, ProcessPool.close))

    def has_processes() -> bool:
        return pool._state._source is not None

    with workers():
        assert is_correct(r"\sin(-x)", r"-\sin x", seconds=GENEROUS)
        assert has_processes()
    assert not has_processes()
    assert is_correct(r"\cos(-x)", r"\cos x", seconds=GENEROUS)
