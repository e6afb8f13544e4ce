r"""What the question decides: copies, forms, percent, units, rounding. Tolerances, judges, readings, verdicts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.errors import ArgumentError, ArgumentTypeError, DatasetError
from gem.registry import all_specs
from gem_envs_math import MathEnv
from gem_envs_math.grader import grade, grading, read_gold
from gem_envs_math.grader.question import demands_of
from gem_questions.rewards import Grader, make_grader

GENEROUS = 30.0


@pytest.fixture(scope="module", autouse=True)
def end_of_the_workers() -> Any:
    """No process outlives this module."""
    yield
    grading._POOL.close()


@pytest.mark.parametrize(
    ("question", "gold", "answer", "how"),
    [
        (r"Simplify $\frac{10!+11!+12!}{10!+11!}$.", "12", r"\frac{10!+11!+12!}{10!+11!}", "copied"),
        (r"Simplify $\frac{10!+11!+12!}{10!+11!}$.", "12", r"\frac{11! + 12! + 10!}{11!+10!}", "copied"),
        (r"Simplify $\frac{10!+11!+12!}{10!+11!}$.", "12", r"1 \cdot \frac{10!+11!+12!}{10!+11!} + 0", "copied"),
        ("What is 17 + 28?", "45", "17+28", "copied"),
        ("Compute $3^4$ divided by 2.", "40.5", r"\frac{3^4}{2}", "form"),
        ("Write 0.5 as a fraction.", r"\frac{1}{2}", "0.5", "copied"),
        (r"Rationalize the denominator of $\frac{1}{\sqrt{2}}$.", r"\frac{\sqrt{2}}{2}", r"1/\sqrt2", "copied"),
        ("Suppose $h(10)=1$. What is $h(1)$?", "1", "h(10)=1", "copied"),
        ("Which $k$ has $|3-ki| = 0$ on its line?", "0", "|3-ki| = 0", "exact"),
        (r"Write the ratio in simplest form: six to four.", r"\frac{3}{2}", r"\frac{6}{4}", "form"),
        (r"Give the length in simplest radical form.", r"2\sqrt{3}", r"\sqrt{12}", "form"),
        (r"Factor the polynomial of the table.", "(x-2)(x+2)", "x^2-4", "form"),
        (r"Factor $x^3 - 4x$.", "x(x-2)(x+2)", "x(x^2-4)", "form"),
        (r"Expand the product.", "x^2-4", "(x-2)(x+2)", "form"),
        (r"Solve; give your answer in interval notation.", r"(3,\infty)", "x > 3", "form"),
        (r"What is 100 divided by 2?", "50", r"50\%", "exact"),
        (r"Find $x$ if $a+b$ is 3 and $a+b=12x$.", "12x", "a+b=12x", "exact"),
        (r"Simplify $(x+1)^2-x^2$.", "2x+1", "((x+1)^2-x^2)^1", "copied"),
        (r"Simplify $(x+1)^2-x^2$.", "2x+1", "-(-((x+1)^2-x^2))", "copied"),
        (r"Simplify $(x+1)^2-x^2$.", "2x+1", r"\frac{2((x+1)^2-x^2)}{2}", "copied"),
        (r"Simplify $(x+1)^2-x^2$.", "2x+1", "(x+1)^2-x^2+1-1", "copied"),
        (r"If $x+y=3$, is $x+y$ or 2 greater?", "3", "x+y=3+0", "exact"),
        (r"If $x+y=3$, is $x+y$ or 2 greater?", "3", "2x+2y=6", "exact"),
        (r"Suppose $h(10)=1$. What is $h(1)$?", "1", "h(10)=2-1", "copied"),
        ("What is 1,224/9?", "136", "1,224/9", "copied"),
        ("What is 1,224/9?", "136", "1224/9", "copied"),
        ("Solve $x^2>4$.", "|x|>2", "2x^2>8", "copied"),
        ("Solve $x^3>8$.", r"(2,\infty)", "x^3-8>0", "copied"),
        ("Solve $x^2+1<0$.", r"\emptyset", "x^2+1<0", "copied"),
        ("Solve $x^2+1>0$.", r"\mathbb{R}", "2x^2>-2", "copied"),
        (r"How many cups?", "3", "3 tenths", "notation"),
        (r"How many cups?", "3", "3 gadgets", "notation"),
    ],
)
def test_the_question_refuses(question: str, gold: str, answer: str, how: str) -> None:
    """Copies of the question, other forms than it demands, and what is no unit, although the values are equal."""
    result = grade(answer, gold, question=question, seconds=GENEROUS)
    assert (result.correct, result.how) == (False, how)


@pytest.mark.parametrize(
    ("question", "gold", "answer"),
    [
        (r"Simplify $\frac{10!+11!+12!}{10!+11!}$.", "12", "12"),
        ("What is $x$ if $x = 2y$ and the greater of 3 and $2y$ is 3?", "3", "3"),
        (r"Is $\frac{1}{2}$ or $\frac13$ larger?", r"\frac{1}{2}", "1/2"),
        (r"Is $\frac{1}{2}$ or $\frac13$ larger?", r"\frac{1}{2}", r"x = \dfrac12"),
        ("Compute the number of atoms.", "45000", r"4.5 \times 10^4"),
        (r"Simplify the root.", r"\frac{2\sqrt{3}}{3}", r"\frac{2}{3}\sqrt{3}"),
        (r"Factor $x^3 - 4x$.", "x(x-2)(x+2)", "(x+2)x(x-2)"),
        (r"Find a factor of 12.", "4", r"8/2"),
        (r"Solve; give your answer in interval notation.", r"(3,\infty)", r"x \in (3, \infty)"),
        ("Solve the inequality.", r"(3,\infty)", "x > 3"),
        ("Which is larger, 1,224 or 136?", "1224", "1,224"),
        ("Solve $x^3>8$.", r"(2,\infty)", "x>2"),
        ("Solve $x^3>5$.", r"(\sqrt[3]{5},\infty)", r"x>\sqrt[3]{5}"),
        ("Solve $x^2+1>0$.", r"(-\infty,\infty)", "all real numbers"),
        ("Solve $x^2+1<0$.", r"\emptyset", "no solution"),
        ("What percent of 50 is 10?", "20", r"20\%"),
        ("What is the increase, in %?", r"28\%", "28"),
        ("What is the share?", r"28\%", "28"),
        ("How much is it, to the nearest tenth?", "12.566", "12.6"),
        ("How much is it to two decimal places?", "12.5664", "12.57"),
        ("How many gadgets are there?", "3", "3 gadgets"),
        ("Find the sum $a+b$ of the digits.", "12", "a + b = 12"),
    ],
)
def test_the_question_accepts(question: str, gold: str, answer: str) -> None:
    """The form of the gold answer in any dress, and what the question allows."""
    assert grade(answer, gold, question=question, seconds=GENEROUS).verdict == "same"


@pytest.mark.parametrize(
    ("question", "gold", "answer"),
    [
        ("How much is it, to the nearest tenth?", "12.566", "12.5"),
        ("How much is it, to the nearest tenth?", "12.566", "12.58"),
        ("How much is it, to the nearest tenth?", "12.6", "12.566"),
        ("What percent of 50 is 10?", "50", "0.5"),
        ("What percent of 50 is 10?", "20", r"0.2\%"),
    ],
)
def test_the_question_does_not_make_wrong_answers_right(question: str, gold: str, answer: str) -> None:
    """Rounding goes to the place that the question names, and percent is a mark, not a factor."""
    assert grade(answer, gold, question=question).verdict == "different"


@given(st.integers(2, 99), st.integers(2, 99), st.sampled_from("+-"), st.sampled_from(["${}$", r"\({}\)", "{}"]))
def test_an_expression_of_the_question_is_no_answer(one: int, two: int, sign: str, style: str) -> None:
    """However the question shows an expression, and whatever dress the answer puts it into."""
    expression = f"{one} {sign} {two}"
    question = f"What is the value of {style.format(expression)}?"
    value = str(one + two if sign == "+" else one - two)
    for answer in (
        expression,
        f"({expression})",
        f"x = {expression}",
        f"{one}{sign}{two}.",
        f"\\left({expression}\\right)",
    ):
        assert not grade(answer, value, question=question)
    assert grade(value, value, question=question)


def test_the_gold_answer_is_right_whatever_the_question_demands() -> None:
    """Each demand that the gold answer does not meet is none."""
    for demand in ("Simplify", "Factor", "Expand", "Compute", "Give an interval, in interval notation:"):
        for gold in (r"\frac{6}{4}", "x^2-4", "(x-2)(x+2)", "3+4", "x > 3", r"\sqrt{12}"):
            assert grade(f"${gold}$", gold, question=f"{demand} the following: ${gold}$.", seconds=GENEROUS)


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("18", r"9\cdot 2"), ("18", "36/2"), ("18", "18/1"), ("18", "-(-18)"), ("18", "18^1"), ("18", "17+1"),
        ("18", "3!*3"), ("18", r"\sqrt{324}"), ("18", r"\lfloor 18.5\rfloor"), ("18", "x = 9*2"), ("10", "10^1"),
        ("120", "5!"), ("10", r"\binom{5}{2}"), ("3", r"\log_2 8"), ("(3, 4)", "(2+1, 4)"),
        (r"\{1, 2\}", r"\{1, 4-2\}"), (r"16\pi", r"4^2\pi"), ("3.5", "7.5-4"),
    ],
)  # fmt: skip
def test_work_that_is_left_is_not_done(gold: str, answer: str) -> None:
    """Where a set declares it, an operation that has a number as its result is no answer for that number."""
    assert grade(answer, gold).correct
    assert grade(answer, gold, done="computed").how == "form"


@pytest.mark.slow(reason="its first comparison starts a worker, which loads SymPy and math-verify")
def test_work_that_a_library_would_do_is_not_done() -> None:
    """A function of a number, or a sum, is no answer where the gold answer has none, nor in a frill."""
    for gold, answer in (
        (r"\frac{\sqrt{3}}{2}", r"\sin 60^\circ"),
        (r"\frac{\pi}{4}", r"\arctan 1"),
        ("18", r"\sum_{k=1}^1 18"),
    ):
        assert grade(answer, gold, seconds=GENEROUS).correct
        assert grade(answer, gold, done="computed", seconds=GENEROUS).how == "form"
    for question, gold, answer, how in (
        (r"Find $\sin 60^\circ$.", r"\frac{\sqrt{3}}{2}", r"\frac{\sin 60^\circ}{1}", "copied"),
        (r"Compute $\sum_{k=1}^{100}k$.", "5050", r"\sum_{j=1}^{100}j", "form"),
    ):
        assert grade(answer, gold, question=question, seconds=GENEROUS).how == how
    for ending in (r"\$", r"\hfil", r"\phantom{5}"):  # which the library's reader leaves out
        assert grade(rf"\int_0^1 2x\,dx {ending}", "1", seconds=GENEROUS).verdict == "unreadable"


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ("18", "18.0"), ("18", "x = 18"), ("18", "9*2 = 18"), ("1/2", "2/4"), ("0.5", r"\frac12"),
        ("300000", r"3\cdot 10^5"), ("1000", "10^3"), ("0.125", r"12.5\%"), (r"2\sqrt3", r"\sqrt{12}"),
        ("3000000", "3 million"), ("18", r"\$18.00"), ("1.5", r"1\frac12"), ("2^{10}", "4^5"), ("2^{10}", "1024"),
        (r"3\ln 2", r"\ln 8"), (r"\log_2 3", r"\frac{\ln 3}{\ln 2}"), ("2x+6", "2(x+3)"), ("-3", "-3"),
        (r"\frac{-3}{4}", r"-\frac{3}{4}"), (r"(1, \frac12)", "(1, 0.5)"), ("3:4", "3:4"),
        (r"\frac97", r"\frac97 \approx 1.286"),
    ],
)  # fmt: skip
def test_a_number_in_any_form_is_done(gold: str, answer: str) -> None:
    """Decimals, fractions, powers of ten, roots, and work that the gold answer leaves too."""
    assert grade(answer, gold, done="computed").correct


def test_what_counts_as_done_is_declared_and_shown() -> None:
    """The registrations of the published sets declare it; the argument changes it; ``info`` has it and who decided."""
    rows = [{"problem": "How many are two times nine?", "answer": "18"}]
    outcomes = []
    for done in ("computed", "equal"):
        env = gem.make("math:GSM8K", dataset=rows, done=done)
        env.reset()
        _, reward, *_, info = env.step(r"\boxed{9\cdot 2}")
        env.close()
        outcomes.append((reward, info["done"], info["how"]))
    assert outcomes == [(0.0, "computed", "form"), (1.0, "equal", "exact")]
    with pytest.raises(ArgumentError, match=r"'equal', 'computed'"):
        gem.make("math:GSM8K", dataset=rows, done="finished")
    published = [spec for spec in all_specs() if spec.requires and "gem_envs_math" in str(spec.entry_point)]
    assert len(published) > 10
    assert {spec.kwargs["done"] for spec in published} == {"computed"}


@given(st.text(max_size=300))
def test_any_text_is_a_question(question: str) -> None:
    """No question makes the grader raise, or a wrong answer right."""
    assert not grade("3", "4", question=question)
    assert grade("4", "4", question=question)
    demands_of(question).objection("x = 4", *(grading.read(text) for text in ("x = 4", "4")))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "gold", "settings", "verdict"),
    [
        ("1.57", "1.6", {"tolerance": 0.01}, "same"),
        ("1.54", "1.6", {"tolerance": 0.01}, "different"),
        ("1.005", "1", {"tolerance": 0.01}, "same"),
        ("1.05", "1", {"tolerance": 0.01}, "different"),
        (r"4.49 \times 10^{33}", "4.5e33", {"tolerance": 0.01}, "same"),
        ("(1.001, 2)", "(1,2)", {"tolerance": 0.01}, "same"),
        ("1.8", "1.75", {"error": 0.1}, "same"),
        ("1.9", "1.75", {"error": 0.1}, "different"),
        (r"\sqrt{2}", "1.41", {"tolerance": 0.01}, "same"),
        ("1.57", "1.6", {}, "different"),
        ("7", "8", {"tolerance": 0.2}, "same"),
    ],
)
def test_tolerances(answer: str, gold: str, settings: dict[str, float], verdict: str) -> None:
    """Numbers are exact unless a tolerance is declared; then the difference, or the gold's own decimals, decide."""
    assert grade(answer, gold, **settings).verdict == verdict  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "gold", "verdict"),
    [
        ("3 four", "3", "unreadable"), ("3 factorial", "3", "unreadable"), ("3 lakh", "3", "different"),
        (r"17\pmod{20}", "17", "different"), ("|3-ki| = 0", "0", "different"), (r"\min at 4", "4", "unreadable"),
        ("Tuesday", "Monday", "different"), ("about 5 #", "5", "unreadable"),
        ("x = 4 # 5", "y = 3", "unreadable"), ("5?", "5", "unreadable"),
        ("9^{9^{9^9}}", "1", "unreadable"), ("{" * 3000, "1", "unreadable"), ("nan", "nan", "different"),
        ("", "1", "different"),
        ("1/0", "1", "different"), (r"\mho ( 4 )", r"\mho\left(4\right)", "same"),
    ],
)  # fmt: skip
def test_different_means_that_both_were_read(answer: str, gold: str, verdict: str) -> None:
    """Commands, digits and operators that the grader cannot read are unreadable, unless they are the gold's own."""
    assert grade(answer, gold, seconds=GENEROUS).verdict == verdict


def test_a_judge_is_asked_about_the_unreadable_only() -> None:
    """It gets answer, gold answer and question; None leaves the answer unreadable."""
    asked: list[Any] = []

    def judge(answer: str, gold: str, question: str | None) -> bool | None:
        asked.append((answer, gold, question))
        return {"yes #1": True, "no #1": False}.get(answer)

    verdicts = [
        grade(answer, "1 #", question="?", judge=judge).verdict for answer in ("yes #1", "no #1", "well #1", "1 #")
    ]
    assert verdicts == ["same", "different", "unreadable", "same"]
    assert asked == [(answer, "1 #", "?") for answer in ("yes #1", "no #1", "well #1")]


def test_the_environment_hears_the_question_and_reports_the_verdict() -> None:
    """Copies earn nothing; an unreadable answer earns nothing either, and says so in the info."""
    rows = [{"problem": "Compute $3 + 4$.", "answer": "7"}]
    env = MathEnv(dataset=rows)
    outcomes = []
    for answer in ("7", "3 + 4", "8", "7 tenths"):
        env.reset(options={"index": 0})
        _, reward, *_, info = env.step(f"\\boxed{{{answer}}}")
        outcomes.append((reward, info["correct"], info["grade"]))
    env.close()
    assert outcomes == [
        (1.0, True, "same"), (0.0, False, "different"), (0.0, False, "different"), (0.0, False, "unreadable"),
    ]  # fmt: skip


def test_data_sets_declare_tolerances() -> None:
    """The argument, a column, and the column of OlympiadBench; a column that is missing or no number is an error."""

    def paid(answer: str, row: dict[str, Any], **arguments: Any) -> float:
        env = MathEnv(dataset=[row], **arguments)
        env.reset()
        return float(env.step(f"\\boxed{{{answer}}}")[1])

    row = {"problem": "How far?", "answer": "1.6", "slack": "0.2"}
    assert [paid("1.61", row), paid("1.61", row, tolerance=0.01), paid("1.75", row, error_key="slack")] == [
        0.0,
        1.0,
        1.0,
    ]
    olympiad = {"question": "How far?", "final_answer": ["1.5"], "is_multiple_answer": False, "error": "1e-1"}
    assert [paid("1.58", olympiad), paid("1.7", olympiad)] == [1.0, 0.0]
    with pytest.raises(DatasetError, match=r"no column 'error_'.*'slack'"):
        paid("1", row, error_key="error_")
    with pytest.raises(DatasetError, match="which is no number"):
        paid("1", row, error_key="problem")
    with pytest.raises(ArgumentError, match="tolerance"):
        paid("1", row, tolerance=-1.0)
    with pytest.raises(ArgumentTypeError, match="judge"):
        paid("1", row, judge=3)


def test_the_environment_asks_its_judge() -> None:
    """A reward by name decides what the grader cannot read."""
    rows = [{"problem": "Which?", "answer": "number 7 #"}]
    env = MathEnv(dataset=rows, judge={"name": "exact", "extract": "text"})
    env.reset()
    assert env.step("\\boxed{number  8 #}")[-1]["grade"] == "different"
    env.close()


@pytest.mark.parametrize(
    ("gold", "text", "kind", "readable"),
    [
        (r"\frac{3}{2}", "3/2", "number", True),
        ("50\\%", "50%", "number", True),
        ("x^2 - 4", "x^2 - 4", "expression", True),
        ("(1, \\infty)", "(1, ∞)", "tuple", True),
        ("[0,1)", "[0, 1)", "interval", True),
        ("1,2", "1, 2", "list", True),
        ("\\{1,2\\}", "{1, 2}", "set", True),
        ("x=3", "x = 3", "equation", True),
        ("3:4", "3:4", "ratio", True),
        ("\\begin{pmatrix}1&2\\\\3&4\\end{pmatrix}", "[1, 2; 3, 4]", "matrix", True),
        ("\\text{Navin}", '"navin"', "text", True),
        ("5\\text{ km}", "5 m × 1000", "number", True),
        ("1 < x \\le 3", "1 < x ≤ 3", "inequality", True),
        (None, "no answer: None", "empty", False),
        ("", "no answer: ''", "empty", False),
        ({}, "no answer: {}", "empty", False),
        ([], "nothing", "empty", False),
        (["1", "2"], "1 or else 2", "number", True),
        ("\\mho(3)", "\\mho ( 3 )", "unread", False),
        ("9" * 3000, "9" * 199 + "…", "too large", False),
        (7, "7", "number", True),
        ("-(x+1)/2", "-(x + 1)/2", "expression", True),
    ],
)  # fmt: skip
def test_a_gold_answer_is_shown_as_the_grader_reads_it(gold: Any, text: str, kind: str, readable: bool) -> None:
    """One line, the kind of the answer, and whether it was read."""
    reading = read_gold(gold)
    assert (reading.text, reading.kind, reading.readable) == (text, kind, readable)


def test_programs_find_the_grader_by_name() -> None:
    """The hook offers it as a :class:`gem_questions.rewards.Grader`."""
    grader = make_grader("math")
    assert isinstance(grader, Grader)
    assert grader.read("1/2").text == "1/2"
    assert grader.grade("0.5", "1/2").verdict == "same"
    assert grader.grade("3 + 4", "7", "What is 3 + 4?").how == "copied"
