r"""Notations that differ in meaning, inequalities with "and" and "or", set algebra, functions, units, other dresses.

``grader_corpus/notations.txt`` holds notations of which no two mean the same, so that each pair of them is a test.
"""

from __future__ import annotations

import math
import random
import unicodedata
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_envs_math.grader import grade, grading
from gem_envs_math.grader.notation import FUNCTIONS, NAMES

NOTATIONS = (Path(__file__).parent / "grader_corpus" / "notations.txt").read_text(encoding="utf-8").splitlines()
GENEROUS = 30.0
"""Seconds for a comparison whose result matters, on a machine under load."""


@pytest.fixture(scope="module", autouse=True)
def end_of_the_workers() -> Any:
    """No process outlives this module."""
    yield
    grading._POOL.close()


def paid(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """The pairs that are the same for the grader, and what decided."""
    results = [(answer, gold, grade(answer, gold, seconds=GENEROUS)) for answer, gold in pairs]
    return [(answer, gold, result.how) for answer, gold, result in results if result.correct]


@pytest.mark.slow(reason="its first comparisons start a worker, which loads SymPy and math-verify")
def test_notations_of_different_meaning() -> None:
    """None of a hundred pairs is the same answer."""
    assert len(set(NOTATIONS)) == len(NOTATIONS) > 330
    assert paid(random.Random(0).sample(list(combinations(NOTATIONS, 2)), 120)) == []


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(4))
def test_many_notations_of_different_meaning(part: int) -> None:
    """None of more than 25,000 pairs is."""
    pairs = list(combinations(NOTATIONS, 2))[::2]
    assert len(pairs) > 25_000
    turned = [pair if number % 3 else pair[::-1] for number, pair in enumerate(pairs)]
    assert paid(turned[part::4]) == []


huge = st.one_of(
    st.tuples(st.integers(2, 3000), st.integers(1500, 2500)).map(lambda pair: f"{pair[0]}^{{{pair[1]}}}"),
    st.integers(200, 400).map(lambda number: f"{number}!"),
    st.integers(450, 900).map(lambda exponent: f"7^{{{exponent}/2}}"),
)
"""Numbers of more digits than a comparison by values to sixty digits tells apart."""

NEIGHBOURS = [
    ("{0}+1", "{0}"), ("{0} \\sqrt{{2}} + 1", "{0} \\sqrt{{2}}"), ("\\frac{{{0}-1}}{{3 \\cdot {0}-1}}", "1/3"),
    ("1+\\frac{{1}}{{{0}}}", "1"), ("\\frac{{1}}{{{0}}}", "0"), ("{0} \\sin 1 + 1", "{0} \\sin 1"),
    ("y = {0} x + 1", "y = {0} x"), ("({0}, 2)", "({0}+1, 2)"), ("\\sin({0}+1)", "\\sin({0})"),
]  # fmt: skip
"""Answers and gold answers whose difference, beside a huge number, is small."""


def test_a_huge_number_hides_no_difference() -> None:
    """Values are compared to as many digits as the numbers within the formulas have."""
    pairs = [(answer.format("2011^{2009}"), gold.format("2011^{2009}")) for answer, gold in NEIGHBOURS]
    pairs += [(r"1+2^{-500}", r"\int_0^1 2x dx"), (r"\sum_{k=1}^n k^{100} + 1", r"\sum_{k=1}^n k^{100}")]
    pairs.append((r"\sum_{k=1}^n k + 10^{-30}", r"\frac{n(n+1)}{2}"))
    assert paid(pairs) == []


@pytest.mark.nightly
@given(huge, st.sampled_from(NEIGHBOURS))
def test_no_huge_number_hides_a_difference(number: str, forms: tuple[str, str]) -> None:
    """The same of any, in both directions."""
    answer, gold = (form.format(number) for form in forms)
    assert not grade(answer, gold, seconds=GENEROUS).correct
    assert not grade(gold, answer, seconds=GENEROUS).correct


@pytest.mark.nightly
@given(huge)
def test_huge_numbers_in_another_form_are_right(number: str) -> None:
    """No more digits are asked for than both values have."""
    for answer, gold in (
        (f"\\frac{{2 \\cdot {number} \\sqrt{{2}}+{number}}}{{{number}}}", "1+\\sqrt{8}"),
        (f"1-\\frac{{1}}{{{number}}}", f"\\frac{{{number}-1}}{{{number}}}"),
        (f"{number} (\\sin^2 3 + \\cos^2 3)", number),
    ):
        assert grade(answer, gold, seconds=GENEROUS).correct, (answer, gold)


@pytest.mark.parametrize("value", [100, 500, 3000])
def test_a_bounded_function_is_not_its_bound(value: int) -> None:
    """The hyperbolic tangent of a large number is not one, and its cotangent neither."""
    assert paid([(f"\\tanh({value})", "1"), (f"\\coth({value})", "1"), (f"\\tanh(-{value})", "-1")]) == []


@given(st.integers(2, 60), st.integers(0, 60), st.integers(1, 4))
def test_infix_commands_of_tex_are_read(above: int, below: int, power: int) -> None:
    r"""``{n \choose k}`` and ``{a \over b}`` are groups, which may stand alone, be factors, powers and arguments."""
    chosen = math.comb(above, below)
    share = Fraction(below, above)
    for answer, gold in (
        (f"{above} \\choose {below}", str(chosen)),
        (f"{{{above} \\choose {below}}}^{power}", str(chosen**power)),
        (f"2 {{{{{above}}} \\choose {below}}} {{{below} \\over {above}}}", str(2 * chosen * share)),
        (f"\\frac{{{below} \\over {above}}}{{{power}}}", str(share / power)),
        (f"{{{{{below} \\over {above}}} \\over {power}}}", str(share / power)),
    ):
        assert grade(answer, gold, seconds=GENEROUS).correct, (answer, gold)
    assert not grade(f"{above} \\choose {below}", str(chosen + 1), seconds=GENEROUS).correct


WITHOUT_VALUE = [
    r"\ln 0", r"\log 0", r"\log_2 0 + 1", r"3 \ln(1-1)", r"e^{\ln 0}", r"(\ln 0)^0", r"\ln 0 - \ln 0 + 1",
    r"\frac{1}{\ln 0}", r"\operatorname{arctanh} 1", r"\arctan(\ln 0)", r"\coth 0", "(-1)!", r"x - x + \ln 0",
]  # fmt: skip


@pytest.mark.slow(reason="its first comparisons start a worker, which loads SymPy and math-verify")
@pytest.mark.parametrize("gold", ["1", "0", r"\frac{2}{3}", r"-\frac{\pi}{2}", "x+1", r"\{3\}"])
def test_a_formula_without_a_value_is_no_answer(gold: str) -> None:
    """At a pole; infinity is as near to any number as to any other."""
    assert paid((answer, gold) for answer in WITHOUT_VALUE) == []


@pytest.mark.nightly
@pytest.mark.parametrize("outer", ["", "1 + ", r"\arctan ", r"\frac{1}{2} "])
def test_no_formula_is_two_numbers(outer: str) -> None:
    """Every function at its usual arguments, poles among them, is the same as one of several golds at most."""
    arguments = ["0", "1", "-1", r"\pi", r"\frac{\pi}{2}", r"\ln 0", "10^{400}", r"0 \cdot \ln 0"]
    for name in sorted(FUNCTIONS):
        for argument in arguments:
            answer = rf"{outer}\{name}({argument})"
            assert len(paid((answer, gold) for gold in ("1", "7", r"\frac{2}{3}", "0"))) <= 1, answer


@pytest.mark.parametrize(
    ("answer", "gold", "same"),
    [
        ("x=2 ou x=-2", "x=-2 or x=2", True), ("2 oder 3", "2 or 3", True), ("2 или 3", "3 or 2", True),
        ("x>1 und x<3", "1<x<3", True), ("x<1 ou x>3", "1<x<3", False), ("2 ou 3", "2 or 4", False),
    ],
)  # fmt: skip
def test_words_between_answers_in_other_languages(answer: str, gold: str, same: bool) -> None:
    """They mean "or" and "and"."""
    assert bool(paid([(answer, gold)])) is same


@pytest.mark.parametrize(
    ("answer", "gold", "same"),
    [
        (r"a\!b", "ab", True), (r"a\!b + 1", "1 + ab", True), (r"x\!y", "y x", True), (r"10,\!000", "10000", True),
        (r"\alpha\!b", r"\alpha b", True), (r"a\!b", "ac", False), (r"\pi\!r", r"\pi r", True),
    ],
)  # fmt: skip
def test_negative_space_joins_letters(answer: str, gold: str, same: bool) -> None:
    r"""``a\!b`` is what ``ab`` is; no command runs into a letter."""
    assert bool(paid([(answer, gold)])) is same


EQUATIONS = [
    "2x-3y+5=0", r"\frac{x^2}{2}-\frac{y^2}{2}=1", "x^2+y^2=1", r"y=\frac{3}{4}x+1", "x+y=0", r"(x-1)^2+(y+2)^2=9",
    r"\frac{x^2}{4}+\frac{y^2}{3}=1", "xy=1", "x=2y", r"\rho=2\cos\theta",
]  # fmt: skip
FRAGMENTS = [
    r"{} \checkmark", r"\therefore {}", r"\neg {}", r"a\notin {}", r"{}\star", r"\circledast {}", r"{} \blacksquare",
    r"\boxed{{{}}}\ \heartsuit", r"{}+x+x^2+\cdots", r"{}, 3, 5, \ldots, 2n-1", r"x \mapsto {}", r"\forall x\, {}",
]  # fmt: skip


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_no_number_is_taken_out_of_notation_that_is_not_read(fragment: str) -> None:
    """Neither for the right side of an equation, nor for a number, a set or a sequence."""
    golds = [*EQUATIONS, "0", "1", "2", r"\{0\}", r"\{1\}", r"1, 2, \ldots, n", r"x=2\pi k, k\in\mathbb{Z}"]
    assert paid((fragment.format(number), gold) for gold in golds for number in "012") == []


ends = st.integers(-4, 4)
conditions = st.one_of(
    st.builds(lambda a: (f"x > {a}", lambda x: x > a), ends),
    st.builds(lambda a: (f"{a} \\ge x", lambda x: a >= x), ends),
    st.builds(lambda a: (f"x \\ne {a}", lambda x: x != a), ends),
    st.builds(lambda a, size: (f"{a} \\le x < {a + size}", lambda x: a <= x < a + size), ends, st.integers(1, 4)),
    st.builds(lambda a: (f"|x| < {a}", lambda x: abs(x) < a), st.integers(1, 4)),
    st.builds(lambda a: (f"x^2 \\ge {a * a}", lambda x: x * x >= a * a), st.integers(1, 4)),
    st.builds(lambda a, n: (f"x^{n} < {a**n}", lambda x: x**n < a**n), ends, st.integers(3, 6)),
    st.builds(lambda a, n: (f"2-x^{n} \\le {2 - a**n}", lambda x: x**n >= a**n), ends, st.integers(3, 6)),
    st.builds(lambda a: (f"{a**3} \\le x^3 < 64", lambda x: a**3 <= x**3 < 64), st.integers(-4, 3)),
)
AND, OR = [" and ", r" \text{ and } ", r" \land ", r" \wedge "], [" or ", r" \text{ or } ", r" \lor ", r" \vee "]
PLACES = [place / 2 for place in range(-20, 21)]
"""The ends of all conditions and the middles between them."""


def as_intervals(holds: Callable[[float], bool]) -> str:
    """The set of the numbers for which something holds, which changes at whole numbers only."""
    parts, start = [], None
    for place in [*PLACES, None]:
        inside = place is not None and holds(place)
        if inside and start is None:
            start = place
        elif not inside and start is not None:
            last = PLACES[-1] if place is None else place - 0.5
            low = r"(-\infty" if start == PLACES[0] else f"[{start:g}" if start % 1 == 0 else f"({start - 0.5:g}"
            high = r"\infty)" if last == PLACES[-1] else f"{last:g}]" if last % 1 == 0 else f"{last + 0.5:g})"
            parts.append(f"\\{{{start:g}\\}}" if low[1:] == high[:-1] else f"{low}, {high}")
            start = None
    return r" \cup ".join(parts) or r"\emptyset"


@given(conditions, conditions, st.sampled_from(AND), st.sampled_from(OR))
def test_and_is_the_common_part_and_or_is_all(one: Any, two: Any, both: str, either: str) -> None:
    """In words and signs; a comma is "and" where something is common."""
    (first, holds), (second, holds_too) = one, two
    common = as_intervals(lambda x: holds(x) and holds_too(x))
    whole = as_intervals(lambda x: holds(x) or holds_too(x))
    assert grade(f"{first}{both}{second}", common)
    assert grade(f"{first}{either}{second}", whole)
    if common != r"\emptyset":
        assert grade(f"{first}, {second}", common)
    if common != whole:
        assert not grade(f"{first}{both}{second}", whole)
        assert not grade(f"{first}{either}{second}", common)


numbers = st.frozensets(st.integers(0, 6), min_size=1, max_size=4)
SETS: dict[str, Callable[[Any, Any], Any]] = {
    r"\cup": frozenset.union, r"\cap": frozenset.intersection, r"\setminus": frozenset.difference,
}  # fmt: skip


def listed(values: Iterable[int]) -> str:
    return f"\\{{{', '.join(map(str, values))}\\}}"


@given(numbers, numbers, numbers, st.sampled_from(sorted(SETS)))
def test_finite_sets_are_worked_out(one: frozenset[int], two: frozenset[int], other: frozenset[int], sign: str) -> None:
    """A union, an intersection, a difference is the set that it gives, and no other."""
    result = SETS[sign](one, two)
    assert grade(f"{listed(one)} {sign} {listed(two)}", listed(result) if result else r"\emptyset")
    assert grade(f"{listed(one)} {sign} {listed(two)}", listed(other)).correct == (result == other)


@given(ends, st.integers(1, 4), ends, st.integers(1, 4), st.sampled_from(sorted(SETS)))
def test_intervals_are_worked_out(low: int, size: int, start: int, length: int, sign: str) -> None:
    """The same for two intervals."""
    first, second = f"({low}, {low + size}]", f"[{start}, {start + length})"
    holds = {r"\cup": lambda a, b: a or b, r"\cap": lambda a, b: a and b, r"\setminus": lambda a, b: a and not b}[sign]
    result = as_intervals(lambda x: holds(low < x <= low + size, start <= x < start + length))
    assert grade(f"{first} {sign} {second}", result)
    assert grade(f"{first} {sign} {second}", "(7, 9)").verdict == "different"


@given(st.sampled_from("fghPQuvyT"), st.integers(0, 9), st.sampled_from(["{}({})", "2{}({})", "{0}({1})+{0}({1})"]))
def test_a_function_of_a_number_is_no_product(letter: str, number: int, form: str) -> None:
    """``f(0)`` is not 0, ``f(2)/f(1)`` is not 2; a bracket with a sum behind another letter than f is a factor."""
    factors = form.format(letter, number).replace("(", r"\cdot ").replace(")", "")
    assert not grade(form.format(letter, number), factors)
    assert grade(form.format(letter, number), form.format(letter, f"{number}.0"))
    assert not grade(f"{letter}({number + 1})/{letter}(1)", str(number + 1)) or number == 0
    assert letter == "f" or grade(f"{letter}({number}+k)", f"{number}{letter}+{letter}k")


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        (r"\frac{dy}{dx}", r"\frac{y}{x}"), ("dy/dx", "y/x"), (r"\frac{d^2y}{dx^2}", r"\frac{dy}{x^2}"), ("y'", "y"),
        (r"\frac{\partial f}{\partial y}", r"\frac{\partial f}{\partial x}"), (r"f\circ g", "fg"),
        (r"\Delta x/\Delta t", "x/t"),
        ("f^{-1}(0)", "0"), ("f(x)-f(x)", "f"), (r"\vec a\times\vec b", r"\vec b\times\vec a"), ("x''", "x'"),
        ("|x|", "x"),
        ("|z|^2", "z^2"), ("(b)+0", "0"), ("(c)+5", "5"),
        (r"x>-2 \text{ and } x<3", r"(-\infty,\infty)"), (r"x \ne 1, x \ne 2", r"\mathbb{R}"),
        ("x>0 or y>0", "x>0 and y>0"),
        (r"x \ne 1", r"y \ne 1"), ("x>1", r"x>1, x\in\mathbb{Z}"), (r"k\pi", r"x=2\pi k, k\in\mathbb{Z}"),
        ("2", r"x=2\pi k, k\in\mathbb{Z}"), (r"2k\pi, k\in\mathbb{N}", r"x=2\pi k, k\in\mathbb{Z}"),
        ("1, 2, 3", r"1, 2, 3, \ldots"), (r"1, 2, \ldots, n", r"1, 3, \ldots, n"), ("1,2,3,...", "1,2,3"),
        ("60 mph", "60 km/h"), (r"\$20 per hour", r"\$20 per day"), (r"576\pi\;m^{2}", r"576\pi\text{ cm}^2"),
        ("4210", "4210_5"), ("4210_7", "4210_5"), ("BC", "BD"), ("ABC", "B, C"), ("C_5^2", "C_2^5"),
        ("0.3 \\approx 0", "0"),
        (r"\frac13 \approx 0.4", r"\frac13"), ("x^2<9", "x<3"), ("x^2>9", "x>3"),
        ("x^3>8", "x^2>4"), ("x^3 > 8", "y > 2"), ("x^4>16", "x>2"), ("x^4 > 16", "x^2 > -4"), ("x^6>0", r"x^6\ge 0"),
        ("1 < x^4 < 16", "|x| > 1"), (r"x^3 > \sqrt{2}", r"\mathbb{R}"),
        ("2x=2x+4", "x=x+2"),
        (r"\{1,2\}\cup\{3\}", r"\{1,2\}"), ("m", "5 m"), ("1000 ms", "1 m"), ("5 MN", "5000000"),
    ],
)  # fmt: skip
def test_what_looks_alike_and_is_not(answer: str, gold: str) -> None:
    """Pairs with which notation deceives, either way."""
    assert paid([(answer, gold), (gold, answer)]) == []


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("60 mph", "60 miles per hour"), ("60 kmh", r"60\text{ km/h}"), ("5 different ways", "5"),
        ("5 different ways", "5 ways"),
        (r"\$20 per hour", "20"), (r"\$20/hour", "20 dollars per hour"), (r"576\pi\;m^{2}", r"576\pi"),
        (r"576\pi\;m^{2}", r"576\pi \text{ m}^2"), ("9.8 N", "9.8 kg m/s^2"), ("5 V/m", "5 N/C"), ("1500 mL", "1.5 L"),
        ("1 L", "1000 cm^3"), ("2 pints", "1 quart"), ("1000 ms", "1 s"), ("5 kN", "5000 N"),
        ("|x|<3", "x^2<9"), (r"x^2 \ge 4", r"x \le -2 \text{ or } x \ge 2"), ("x^2-2x-1<0", r"(1-\sqrt2, 1+\sqrt2)"),
        (r"x^4\ge 16", r"x^2\ge 4"), ("|x^3|<5", r"|x|<\sqrt[3]{5}"), ("x^4>-1", "x^2>-1"), ("x^4<-1", r"\emptyset"),
        ("x^4<0", r"\emptyset"), ("x>0 and x^2<-1", r"\emptyset"),
        ("(x-1)^2 > 0", r"x \ne 1"), (r"x^2+1>0", r"\mathbb{R}"), ("x = 2 or x > 3", r"\{2\}\cup(3,\infty)"),
        (r"\frac1{64} \approx 0.016", r"\frac{1}{64}"), (r"\frac1{64} \approx 0.016", "0.016"),
        ("BC", "B, C"), ("CB", "BC"), ("(B) and (C)", "BC"), ("B、C", "BC"), (r"\text{B, C}", "BC"),
        ("x^{2}_{1}", "x_1^2"), ("C_{400}^{40}", r"\binom{400}{40}"), ("{}_5C_2", "10"), ("A_5^2", "20"),
        ("**73**", "73"), ("`73`", "73"), (r"1, 2, \dots, n", r"1, 2, \ldots, n"),
        ("1,3,...,2n-1", r"1, 3, \ldots, -1+2n"),
        (r"4210_{\text{five}}", "4210_5"), ("4210 base 5", "4210_5"), (r"4210_{(5)}", "4210_5"),
        (r"2\pi k", r"x=2\pi k, k\in\mathbb{Z}"), (r"x=2n\pi (n\in Z)", r"x=2\pi k, k\in\mathbb{Z}"),
        (r"\frac{dy}{dx} = 2x", "2x"), ("f(1+x)", "f(x+1)"), ("(1,2) U (3,4)", r"(3,4)\cup(1,2)"),
        ("{1} ∪ {2}", r"\{1,2\}"), ("{x | x > 1}", r"(1, \infty)"), (r"{x \in \mathbb{R} : |x| < 1}", "(-1, 1)"),
        ("5!7!", "604800"),
    ],
)  # fmt: skip
def test_other_dresses_of_one_answer(answer: str, gold: str) -> None:
    """Units in other words, closed forms of a range, choices, indices, bases, marks of emphasis."""
    assert grade(answer, gold, seconds=GENEROUS).verdict == "same"


@pytest.mark.parametrize(
    ("question", "gold", "answer", "right"),
    [
        ("Write 555 in base 5.", "4210_5", "4210", True), ("Write 555 in base 5.", "4210", "4210_5", True),
        ("Write 555 in base 5.", "4210", "4210_7", False), ("Write 555 in base five.", "4210_5", "4211", False),
        ("What is 555?", "4210_5", "4210", False),
    ],
)  # fmt: skip
def test_a_base_may_be_left_out_where_the_question_names_it(question: str, gold: str, answer: str, right: bool) -> None:
    """It must be the one of the question, where only the answer has it."""
    assert grade(answer, gold, question=question).correct is right


FONTS = [
    "MATHEMATICAL BOLD", "MATHEMATICAL ITALIC", "MATHEMATICAL BOLD ITALIC", "MATHEMATICAL SANS-SERIF",
    "MATHEMATICAL MONOSPACE", "FULLWIDTH LATIN",
]  # fmt: skip


@pytest.mark.parametrize("font", FONTS)
def test_letters_and_digits_in_every_font_of_unicode(font: str) -> None:
    """Italic, bold and full-width signs are those that they show, and no others."""
    for letter in "xykABn":
        case = "CAPITAL" if letter.isupper() else "SMALL"
        kind = f"{case} LETTER" if font.startswith("FULL") else case
        styled = unicodedata.lookup(f"{font} {kind} {letter}")
        assert grade(f"2{styled}+1", f"2{letter}+1").correct
        assert not grade(f"2{styled}+1", f"2{letter.swapcase()}+1").correct


def test_greek_letters_are_their_commands() -> None:
    """A letter, its variant and its command are one name; two letters are two."""
    signs = {name: unicodedata.lookup(f"GREEK SMALL LETTER {name.upper()}") for name in sorted(LETTERS_OF_GREEK)}
    for name, sign in signs.items():
        assert grade(f"3{sign}^2", rf"3\{name}^2").correct, name
        others = [other for other in signs if other != name]
        assert not any(grade(f"3{sign}^2", rf"3\{other}^2").correct for other in others)
    for name in ("epsilon", "phi", "theta"):
        assert grade(rf"\var{name}+1", rf"\{name}+1").correct
    assert grade("5 Ω", "5 ohms").correct
    assert grade("3 µm", "0.003 mm").correct


@pytest.mark.parametrize(
    ("spelt", "command", "other"),
    [
        ("q/(4*pi*epsilon_0*r**2)", r"\frac{q}{4\pi\varepsilon_0 r^2}", r"\frac{q}{4\pi\varepsilon_1 r^2}"),
        ("rho*g*h", r"\rho gh", "rgh"),
        ("hbar*omega/2", r"\frac{\hbar\omega}{2}", r"\frac{h\omega}{2}"),
        ("2 sigma", r"2\sigma", r"2\Sigma"),
    ],
)
def test_greek_letters_by_name_in_a_formula(spelt: str, command: str, other: str) -> None:
    """A letter's name beside other signs is the letter; alone it is a word, and ``psi`` behind a number a unit."""
    assert grade(spelt, command, seconds=GENEROUS).correct
    assert not grade(spelt, other, seconds=GENEROUS).correct
    assert grade("delta", "Delta").correct
    assert not grade("5 psi", r"5\psi", seconds=GENEROUS).correct


@pytest.mark.parametrize("font", ["mathbf", "boldsymbol", "bm", "mathit"])
def test_a_typeface_around_a_formula_is_none_of_it(font: str) -> None:
    """A fraction or a root in bold type is the same; bold letters with a cross between them are vectors."""
    assert grade(rf"\{font}{{\frac{{1}}{{2}}}}", "0.5", seconds=GENEROUS).correct
    assert grade(rf"3\{font}{{\sqrt{{2}}}}", r"3\sqrt2", seconds=GENEROUS).correct
    assert not grade(rf"\{font}{{\frac{{1}}{{3}}}}", "0.5", seconds=GENEROUS).correct
    assert not grade(rf"\{font}{{\alpha}}\times\{font}{{\beta}}", r"\alpha\beta", seconds=GENEROUS).correct


LETTERS_OF_GREEK = {
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "mu", "nu", "xi", "rho",
    "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega",
}  # fmt: skip

SIGNS = [
    ("∛16", r"\sqrt[3]{16}"), ("2∜3", r"2\sqrt[4]{3}"), ("⌊7/2⌋", "3"), ("⌈x⌉", r"\lceil x \rceil"), ("e⁻ˣ", "e^{-x}"),
    ("x⁽²⁾", "x^2"), ("xᵏ⁺¹", "x^{k+1}"), ("aₙ₊₁", "a_{n+1}"), ("xᵢ", "x_i"), ("x ≡ 2 (mod 5)", r"x \equiv 2 \pmod{5}"),
    ("∑ k", r"\sum k"), ("∂f", r"\partial f"), ("⅐", r"\frac17"), ("3 ∶ 4", "3:4"), ("x ≧ 2", r"x \ge 2"),
    ("f″(x)", "f''(x)"), ("{x ∣ x>1}", r"\{x \mid x > 1\}"), ("1⋯2", r"1\cdots 2"),
]  # fmt: skip


@pytest.mark.parametrize(("sign", "command"), SIGNS)
def test_signs_of_unicode_are_their_commands(sign: str, command: str) -> None:
    """Roots, brackets, raised and lowered letters, sums and relations."""
    assert grade(sign, command, seconds=GENEROUS).correct


def test_names_of_functions_in_capitals_and_as_commands() -> None:
    r"""``ArcSin(x)`` and ``\arctg(x)`` are functions, and never those of another name."""
    for name in sorted(FUNCTIONS - {"gcd", "lcm", "max", "min", "exp"}):
        for written in (name.capitalize(), name.upper()):
            assert grade(f"{written}(x)+1", rf"1+\{name}(x)").correct
    for name, (kind, meaning) in NAMES.items():
        if kind == "fn" and meaning not in ("binom", "npr"):
            assert grade(rf"\{name}(x)+1", f"{meaning}(x)+1").correct, name
    assert grade(r"(-\infinity,2)", r"(-\infty,2)").correct
    assert not grade(r"\inf", r"\infty").correct
    assert not grade("Sin(x)", r"\cos(x)", seconds=GENEROUS).correct


@given(st.sampled_from(["max", "min", "net", "zmf", "total", "eff"]), st.sampled_from("vFxnT"))
def test_an_index_of_several_letters_is_one_index(index: str, letter: str) -> None:
    """Plain text writes no braces around it; LaTeX does, and there only the first letter is below the line."""
    assert grade(f"{letter}_{index}**2 + 1", rf"1 + {letter}_{{{index}}}^2").correct
    assert grade(f"2*{letter}_{index} = 4", rf"2{letter}_{{\text{{{index}}}}} = 4").correct
    assert not grade(f"{letter}_{index}", f"{letter}_{index[0]}").correct
    assert grade("a_ib_j", "a_i b_j").correct


@given(st.integers(-9, 9), st.integers(-9, 9), st.sampled_from(["x", "y", "n"]))
def test_an_identity_stands_for_its_end(a: int, b: int, name: str) -> None:
    """An expression with its result is the result; with another result it is an equation, and never paid."""
    end = f"{name}^2 + {a + b}{name} + {a * b}".replace("+ -", "- ")
    answer = f"({name} + {a})({name} + {b}) = {end}".replace("+ -", "- ")
    assert grade(answer, end).correct
    assert grade(rf"\begin{{align*}} {answer.replace('=', '&=')} \end{{align*}}", end).correct
    assert not grade(f"{answer} + 1", f"{end} + 1").correct


LAYOUTS = ["align", "align*", "aligned", "gather", "gathered", "equation*", "split", "eqnarray"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_environment_that_only_lays_out_is_its_content(layout: str) -> None:
    """A chain of relations over several rows has one end; rows of their own are a list in any order."""
    begin, end = rf"\begin{{{layout}}}", rf"\end{{{layout}}}"
    assert grade(rf"{begin} x &= 2 + 3 \\ &= 5 {end}", "5").correct
    assert grade(rf"{begin} x &= 2 + 3 \\&= 5 {end}", "x = 5").correct
    assert not grade(rf"{begin} x &= 2 + 3 \\ &= 6 {end}", "6").correct
    assert grade(rf"{begin} x &= 3 \\ y &= 4 {end}", "y = 4, x = 3").correct
    assert not grade(rf"{begin} x &= 3 \\ y &= 4 {end}", "x = 4, y = 3").correct
    assert grade(rf"{begin} (1, 2] {end}", "(1, 2]").correct


@given(st.complex_numbers(max_magnitude=99, allow_nan=False).filter(lambda z: bool(z.real and z.imag)))
def test_the_imaginary_unit_of_python_in_a_number_with_a_real_part(value: complex) -> None:
    """``(3+4j)`` is 3 + 4i, and no other number; alone, or beside letters, j is a letter."""
    value = complex(round(value.real, 3) or 1, round(value.imag, 3) or 1)
    written = f"{value.real!r} + {value.imag!r}i".replace("+ -", "- ")
    assert grade(str(value), written).correct
    assert not grade(str(value.conjugate()), written).correct
    assert not grade(f"{value.imag!r}j", f"{value.imag!r}i").correct
    assert not grade(f"3i + {value.imag!r}j", f"3i + {value.imag!r}i").correct


@pytest.mark.parametrize(
    ("answer", "gold", "same"),
    [
        ("(x; y) = (2; 3)", "(2, 3)", True), ("(x; y) = (3; 2)", "(2, 3)", False), ("ans = 7", "7", True),
        ("Avg = 7.5", "7.5", True), ("ans = 7", "8", False), ("Fraction(30, 4)", "7.5", True),
        ("Rational(1, 3)", r"\frac13", True), ("Fraction(3, 1)", r"\frac13", False), ("rational", "irrational", False),
        ("rational", r"\text{rational}", True), ("c", "C", True), ("c", "D", False), ("e", "E", False),
    ],
)  # fmt: skip
def test_names_and_numbers_as_programs_and_tables_write_them(answer: str, gold: str, same: bool) -> None:
    """Points by name, the name "ans", exact fractions of Python, letters of options."""
    assert grade(answer, gold).correct is same


def test_the_case_of_a_letter_counts_where_the_question_lists_no_options() -> None:
    """There it is a name: the side b is not the corner B."""
    assert not grade("b", "B", question="Which letter names the corner opposite of the side $b$?").correct
    assert grade("b", "B", question="Which is prime?\n(A) 4 (B) 5 (C) 6").correct
    assert grade("b", "B", question="Which is prime?\nA. 4\nB. 5\nC. 6").correct


@given(st.text(alphabet="+-", min_size=1, max_size=7), st.integers(1, 99), st.integers(1, 99))
def test_each_minus_turns_the_sign(signs: str, one: int, two: int) -> None:
    """However many signs stand before a number, a term, a factor or an exponent.

    Several of a lone number may be a slip, so that the number is not read.
    """
    sign = (-1) ** signs.count("-")
    assert grade(f"{signs}{one}", str(sign * one)).correct == (len(signs) == 1)
    assert grade(f"{two}x {signs} {one}", f"{sign * one} + {two}x").correct
    assert grade(f"{two}*{signs}{one}", str(sign * one * two)).correct
    assert grade(f"x^{signs}{one}", f"x^{{{sign * one}}}").correct
    assert not grade(f"{signs}{one}", str(-sign * one)).correct


@given(st.lists(st.fractions(-50, 50, max_denominator=12), min_size=2, max_size=4))
def test_functions_of_several_numbers_are_worked_out(numbers: list[Fraction]) -> None:
    """Maximum, minimum, and the greatest common divisor and least common multiple of fractions, by definition."""
    written = ", ".join(map(str, numbers))
    assert grade(rf"\max({written})", str(max(numbers))).correct
    assert grade(rf"\min\left({written}\right)", str(min(numbers))).correct
    whole = [abs(number) for number in numbers if number]
    if len(whole) == len(numbers):
        unit = math.lcm(*(number.denominator for number in whole))
        scaled = [int(number * unit) for number in whole]
        assert grade(rf"\gcd({written})", str(Fraction(math.gcd(*scaled), unit))).correct
        assert grade(rf"\operatorname{{lcm}}({written})", str(Fraction(math.lcm(*scaled), unit))).correct
        assert not grade(rf"\gcd({written})", str(Fraction(math.gcd(*scaled), unit) + 1)).correct


@pytest.mark.parametrize(
    ("answer", "gold", "same"),
    [
        (r"\max(9,876,543)", "876", True), ("max(12,102)", "102", True), ("f(9,876)", "f(9876)", True),
        (r"\llcorner 3.5 \lrcorner", "3", True), (r"\ulcorner 3.5 \urcorner", "4", True),
        (r"\exponentialE^{2}", "e^2", True), (r"3\imaginaryI", "3i", True), (r"\gcd(12, 18)", "12", False),
        ("all integers k ≥ 2", r"All integers $k \geq 2$.", True), ("k ≥ 2", "all integers k ≥ 2", False),
        ("= 2", "x = 2", True), ("=2 =3", "2", False), ("=", "2", False), ("x=2 或 x=3", "x=3, x=2", True),
        ("1 、[-1,1]", "1, [-1,1]", True), ("x=2且y=3", "(3, 2)", False), ("x=2 或 x=3", "x=2", False),
        ("1 = 1", "x = 1", False), ("x + 1 = 1 + x", "1 + x", True), ("2x = x", "x", False),
    ],
)  # fmt: skip
def test_notation_of_formula_editors_and_prose_with_relations(answer: str, gold: str, same: bool) -> None:
    """Corners are floors and ceilings, e has a command of its own; integers from 2 on are no range of reals."""
    assert grade(answer, gold, seconds=GENEROUS).correct is same


@pytest.mark.parametrize(
    ("answer", "gold", "right"),
    [
        ("51 đô la", "51 dollars", True),
        ("365 nghìn đồng", "365", True),
        ("365 nghìn đồng", "365 đồng", False),
        ("5平方米", "5 m^2", True),
        ("5平方米", "5 m", False),
        ("5万元", "50000", True),
        ("5万元", "5", False),
        ("3个", "3", True),
        ("2小时", "120 minutes", True),
        ("2倍", "2", False),
        ("₹5", "5 rupees", True),
        ("¥5", "$5", False),
        ("1 hour 30 minutes", "1.5 hours", True),
        ("1 hour 30 minutes", "130 minutes", False),
        ("30 minutes 1 hour", "1.5 hours", False),
        ("5 feet 6 inches", "66 inches", True),
        ("1 hour 90 minutes", "2.5 hours", False),
        ("2.5 gal", "40 cup", True),
        (r"5\ \mathrm{m\,s^{-2}}", "5 m/s^2", True),
        (r"5\ \mathrm{m\,s^{-2}}", "5 m/s", False),
        ("[[1],[2]]", r"\begin{pmatrix}1\\2\end{pmatrix}", True),
        ("[[1,2]]", r"\begin{pmatrix}1\\2\end{pmatrix}", False),
        ("[1,2;3,4]", r"\begin{bmatrix}1&2\\3&4\end{bmatrix}", True),
        ("Matrix([[1,2],[3,4]])", r"\begin{bmatrix}1&2\\3&4\end{bmatrix}", True),
        ("Matrix([[1,2],[3,4]])", r"\begin{bmatrix}1&3\\2&4\end{bmatrix}", False),
        ("[1,2,3]", "1,2,3", True),
        ("[1,2,3]", "3,2,1", False),
        ("[1,2]", "1,2", False),
        ("<1,2,3>", "(1,2,3)", True),
        ("a_{k+n}", "a_{n+k}", True),
        ("a_{k+n}", "a_{k-n}", False),
        ("0.(3)", r"\frac{1}{3}", True),
        ("2.5(3)", "7.5", True),
        ("12th", "12", True),
        ("3 to 4", "3:4", True),
        (r"\color{red}{5}", "5", True),
        ('"5"', "5", True),
        ("Answer: 5", "5", True),
        ("Answer: 5 or 6", "5", False),
        ("Option A", "A", True),
        ("Option A or B", "A", False),
        ("DNE", "does not exist", True),
        ("{}", r"\emptyset", True),
    ],
)
def test_units_lists_and_matrices_as_people_and_programs_write_them(answer: str, gold: str, right: bool) -> None:
    """Units of other languages and of several parts, arrays of Python and Matlab, lists without brackets, labels."""
    assert grade(answer, gold, seconds=GENEROUS).correct is right


@pytest.mark.parametrize(
    ("answer", "gold", "right"),
    [
        (r"\cos(\pi x)", "(-1)^x", False),
        (r"\cos(\pi n)", "(-1)^n", True),
        ("|x+1000|-1000", "|x+1001|-1001", False),
        (r"\sqrt{x^2+2x+1}", "|x+1|", True),
        ("(-4)^{-1/2}", r"-\frac{i}{2}", True),
        ("(-4)^{-1/2}", r"\frac{i}{2}", False),
        ("(-4)^{-3/2}", r"\frac{i}{8}", True),
        ("1又1/2", "3/2", True),
        ("二十五", "25", True),
        ("一万二千三百", "12300", True),
        ("二五", "25", False),
        ("锐角 三角形", "锐角三角形", True),
        ("comb(50,3)", "19600", True),
        ("2sec**2(x)", r"2\sec^2 x", True),
        ("5 sec", "5 s", True),
        ("sgn(-3)", "-1", True),
        (r"\frac{2}{x\log(10)}", r"\frac{2}{x}", False),
        (r"x\log 3", r"\log(3^x)", True),
        ("about 5", "5", False),
        (r"10:00 \text{ am}", "10", True),
        (r"10:30 \text{ am}", "10", False),
    ],
)
def test_values_far_out_roots_below_one_and_other_numerals(answer: str, gold: str, right: bool) -> None:
    """Formulas that agree near zero, at whole numbers or up to a sign alone, and numbers in Chinese and Python."""
    assert grade(answer, gold, seconds=GENEROUS).correct is right


SERIES = [
    (r"\sum_{i=0}^{n} z^i", r"\frac{1-z^{n+1}}{1-z}", r"\frac{1-z^n}{1-z}"),
    (r"\sum_{k=1}^{n} k^3", r"\frac{n^2(n+1)^2}{4}", r"\frac{n(n+1)}{2}"),
    (r"\sum_{k=1}^{n} (sin(a)+p)", "n(sin(a)+p)", "n(sin(a)-p)"),
    (r"\sum_{k=1}^{n-1} (-1)^k", r"\frac{(-1)^{n-1}-1}{2}", r"\frac{(-1)^n-1}{2}"),
    (r"\prod_{k=1}^{n} \frac{k+1}{k}", "n+1", "n"),
]


@pytest.mark.parametrize(("series", "same", "other"), SERIES)
def test_a_sum_up_to_a_letter_is_compared_at_whole_numbers(series: str, same: str, other: str) -> None:
    """A closed form is equal if it is so wherever the letter of the bound is a whole number."""
    assert [grade(series, gold, seconds=GENEROUS).verdict for gold in (same, other)] == ["same", "different"]


@pytest.mark.parametrize(("sign", "plain"), [("∗", "*"), ("⁎", "*"), ("✖", "*"), ("⨉", "*"), ("÷", "/"), ("∕", "/")])
def test_signs_of_operations_are_operators(sign: str, plain: str) -> None:
    """Unicode has several signs for each; a formula means the same with any."""
    assert grade(f"3{sign}x", f"3{plain}x").how == "exact"
    assert grade(f"3{sign}x", "3+x").verdict == "different"


@pytest.mark.parametrize(
    ("answer", "gold", "same"),
    [
        (r"\ln|x| + c", r"\ln|x| + C", True),
        (r"y = c_1 e^{-x} + c_2 e^{x}", r"y = C_1 e^x + C_2 e^{-x}", True),
        (r"e^x + c^2", r"e^x + C", False),
        (r"\frac{\pi}{4} + n\pi", r"\frac{\pi}{4} + k\pi, k \in \mathbb{Z}", True),
        (r"x = \frac{\pi}{4} + n\pi", r"\frac{\pi}{4} + k\pi", True),
        (r"\frac{\pi}{4} + 2n\pi", r"\frac{\pi}{4} + k\pi", False),
        ("2n - 1", "2k - 1", False),
        ("f(z) = z^2", "f(x) = x^2", True),
        ("f(z) = az", "f(a) = a^2", False),
        ("g(z) = z^2", "f(x) = x^2", False),
    ],
)
def test_names_of_constants_and_parameters_do_not_count(answer: str, gold: str, same: bool) -> None:
    """Those of integration, of periodic answers, and the variable of a function; a letter alone is itself."""
    assert grade(answer, gold, seconds=GENEROUS).correct is same


@pytest.mark.parametrize(
    ("answer", "gold", "same"),
    [
        ("0.333...", r"\frac13", True),
        (r"0.1666\ldots", r"\frac16", True),
        ("0.142857142857...", r"\frac17", True),
        (r"\mathrm{H_2SO_4}", r"\ce{H2SO4}", True),
        ("CO2", r"\mathrm{CO_2}", True),
        ("CO", r"\mathrm{CO_2}", False),
        ("5 (students)", "5", True),
        (r"5 \text{ (students)}", "6", False),
        (r"5 \pmod 7", "5", False),
        ("no", "false", True),
        ("yes", "no", False),
        ("the series diverges", "diverges", False),
        ("diverges", r"\text{divergent}", True),
        ("none", r"\emptyset", True),
        ("R", r"\mathbb{R}", True),
        ("Q", r"\mathbb{R}", False),
    ],
)
def test_dress_of_values(answer: str, gold: str, same: bool) -> None:
    """Decimals that go on, formulas of compounds, remarks behind a number, and words."""
    assert grade(answer, gold, seconds=GENEROUS).correct is same


@pytest.mark.parametrize(
    ("answer", "gold", "same"),
    [
        ("3:4", r"\frac34", True),
        (r"\frac{5}{8}", "5:8", True),
        ("2", "2:1", True),
        ("4:3", r"\frac34", False),
        ("1:2:3", r"\frac16", False),
        ("[2, 1]", "x = 2, y = 1", True),
        ("[1, 2]", "x = 2, y = 1", False),
        ("(x, y) = (1, 2)", "1, 2", True),
        ("(x, y) = (2, 1)", "1, 2", False),
        ("Maximum: 3, Minimum: 1", "1, 3", True),
        ("Maximum: 3, Minimum: 2", "1, 3", False),
        ("a:b", "b", False),
        (r"\{1 \pm \sqrt5, -2\}", r"\{-2, 1+\sqrt5, 1-\sqrt5\}", True),
        (r"\{1 \pm \sqrt5\}", r"1 + \sqrt5", False),
        (r"f(x) = x \text{ for all } x \in \mathbb{Z}", "f(x) = x", True),
        (r"f(x) = x \text{ for all } x, f(x) = 1", "f(x) = x", False),
        ("5 for every 3", "5", False),
        ("x = 1 or x = -3", "x_1 = 1, x_2 = -3", True),
        ("(1, 2, 3)", r"\begin{pmatrix}1\\2\\3\end{pmatrix}", True),
        ("(1, 2, 3)", r"\begin{pmatrix}1&2&3\end{pmatrix}", False),
        ("x = (c - by)/a", r"x = \frac{c-by}{a}", True),
        ("3 by 4", "3, 4", False),
        ("2x = 2x + 4", "x = x + 2", False),
        (r"\cos A = 0.6", r"\frac35", True),
        (r"\cos A = 0.6", r"\frac45", False),
    ],
)
def test_several_values_in_other_forms(answer: str, gold: str, same: bool) -> None:
    """Ratios and quotients, points with names, labelled values, both signs in a set, and for which values it holds."""
    assert grade(answer, gold, seconds=GENEROUS).correct is same
