"""What ``gem data check`` finds in a data set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import DatasetError
from gem_cli.main import cli
from gem_questions.checking import check_rows, kind_of_rows, questions_of
from gem_questions.overlap import FEWEST, MOST, NgramIndex
from gem_questions.rewards import GoldReading, GradeResult

WORDS = [f"word{number}" for number in range(400)]


class OddReader:
    """Reads odd numbers alone."""

    def read(self, gold: Any, question: str | None = None) -> GoldReading:
        assert question
        return GoldReading(f"<{gold}>", "number", str(gold).isdigit() and int(gold) % 2 == 1)

    def grade(self, answer: Any, gold: Any, question: str | None = None) -> GradeResult:
        return GradeResult("same" if answer == gold and answer != "7" else "different", "itself")


def rows_of(count: int = 40) -> list[dict[str, Any]]:
    return [
        {"question": f"How much is {n} and 0?", "answer": f"It is {n}.\n#### {n}", "note": "x"} for n in range(count)
    ]


def written(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def gem(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == code, result.output
    return result


def test_every_figure_of_a_report_is_that_of_a_hand_count() -> None:
    """Schemas, readings, unusable rows, missing values, duplicates and contradictions."""
    rows = rows_of()
    rows[3]["answer"] = None
    rows[4] = {"question": " ", "answer": "#### 4"}
    rows[5]["note"] = float("nan")
    rows += [{**rows[7], "note": "y"}, {**rows[9], "question": rows[9]["question"].upper(), "answer": "#### 1"}]
    seen = []
    report = check_rows(rows, "math", grader=OddReader(), grader_name="odd", on_row=lambda: seen.append(1))
    assert (report.total, report.checked, len(seen)) == (42, 42, 42)
    assert report.schemas == {"GSM8K": 41, "question, answer": 1}
    assert (report.question_key, report.gold_key) == ("question", "answer")
    assert report.unusable == 2
    assert report.faults[0].startswith("row 3 has no usable answer in 'answer': None")
    assert report.faults[1].startswith("row 4 has no question")
    assert report.nulls == {"question": 1, "answer": 1, "note": 2}
    assert (report.duplicates, report.contradictions) == (2, 1)
    golds = [n for n in range(40) if n not in (3, 4)] + [7, 1]
    assert report.unreadable == sum(n % 2 == 0 for n in golds)
    assert report.unreadable_share == report.unreadable / 40
    assert report.unearnable == 2  # the seven, which the grader reads and calls wrong, and its copy
    assert report.faults[2].startswith("row 7 cannot be earned: its own answer '7' is wrong")
    assert report.gold_kinds == {"number": 40}
    assert [(gold.row, gold.gold, gold.reads_as, gold.readable) for gold in report.golds][:2] == [
        (0, "0", "<0>", False),
        (2, "2", "<2>", False),
    ]
    assert 18 <= len(report.golds) <= 20
    json.dumps(report.to_dict())


def test_a_column_that_begins_late_is_missing_before() -> None:
    """And one that ends early is missing after."""
    rows = [{"question": "1?", "answer": "1", "a": 1}, {"question": "2?", "answer": "2"}]
    rows += [{"question": "3?", "answer": "3", "b": 1}]
    assert check_rows(rows, "math").nulls == {"a": 2, "b": 2}


def test_a_limit_checks_the_first_rows() -> None:
    """And no more are read."""

    class Counted(list[dict[str, Any]]):
        reads = 0

        def __getitem__(self, index: Any) -> Any:
            Counted.reads += 1
            return super().__getitem__(index)

    report = check_rows(Counted(rows_of()), "math", limit=7)
    assert (report.total, report.checked, Counted.reads) == (40, 7, 7)
    assert report.unreadable_share is None


@given(st.lists(st.sampled_from(WORDS), min_size=MOST, max_size=60), st.data())
def test_thirteen_words_in_a_row_are_found(words: list[str], data: st.DataObject) -> None:
    """Wherever they stand in either text, in any capitals and with any punctuation; a search by hand agrees."""
    other = data.draw(st.lists(st.sampled_from(WORDS), max_size=60))
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(words) - MOST))
        place = data.draw(st.integers(0, len(other)))
        other = other[:place] + words[at : at + MOST] + other[place:]
    grams = {tuple(words[at : at + MOST]) for at in range(len(words) - MOST + 1)}
    expected = any(tuple(other[at : at + MOST]) in grams for at in range(len(other) - MOST + 1))
    index = NgramIndex([" ".join(words)])
    assert index.n == MOST
    assert index.overlapping(", ".join(other).upper() + "!") == ({0} if expected else set())


def test_n_follows_the_lengths_of_the_evaluation_set() -> None:
    """The fifth percentile, within 8 and 13; texts with fewer words are compared whole."""
    text = " ".join(WORDS[:30])
    assert NgramIndex([" ".join(WORDS[:9]), " ".join(WORDS[:11])] + [text] * 18).n == 11
    assert NgramIndex([" ".join(WORDS[:3])] * 3 + [text] * 17).n == FEWEST
    assert NgramIndex([text]).n == MOST
    short = NgramIndex(["What is two plus two?"])
    assert short.overlapping("what is TWO plus two") == {0}
    assert short.overlapping("So, what is two plus two?") == set()
    assert NgramIndex([]).overlapping(text) == NgramIndex(["", "?"]).overlapping("") == set()


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ({"question": "1 + 1?", "answer": "so\n#### 2"}, "math"),
        ({"question": "1 + 1?", "answer": "2"}, "math"),
        ({"question": "1 + 1?", "answer": "$\\frac{1}{2}$"}, "math"),
        ({"question": "How much?", "answer": "-9 (apples)"}, "math"),
        ({"question": "How much?", "answer": [2.5]}, "math"),
        ({"Body": "3 hens.", "Question": "How many?", "Answer": 3.0}, "math"),
        ({"question": "Who?", "answer": "Ann"}, "qa"),
        ({"question": "Which?", "answer": ["Apollo 11", "Apollo eleven"]}, "qa"),
        ({"question": "Who?", "answer": ["Ann"]}, "qa"),
        ({"question": "Who?", "context": "Ann.", "answers": {"text": ["Ann"]}}, "qa"),
        ({"problem": "Add.", "tests": "[]"}, "code"),
        ({"question": "Add.", "input_output": "{}"}, "code"),
        ({"a": "b"}, None),
    ],
)
def test_the_kind_of_a_set_is_told_from_its_rows(row: dict[str, Any], kind: str | None) -> None:
    """A shape of one kind decides, and where the columns leave it open, the answers do."""
    assert kind_of_rows([row] * 3) == kind


def test_the_questions_of_an_evaluation_set_may_be_of_any_kind() -> None:
    """Rows without one are left out; a set without any is an error."""
    rows = [{"problem": "Add.", "tests": "[1]"}, {"question": "Who?", "answer": "Ann"}, {"x": 1}]
    assert questions_of(rows) == ["Add.", "Who?"]
    with pytest.raises(DatasetError, match="no row with a question"):
        questions_of([{"x": 1}])


def test_the_command_shows_what_a_set_is(tmp_path: Path) -> None:
    """Its shape, its columns, its gold answers, and in JSON every figure."""
    path = written(tmp_path / "train.jsonl", rows_of())
    output = gem("data", "check", path).output
    for expected in ("40 rows, mathematics", "GSM8K (40)", "question_key='question', answer_key='answer'", "MathEnv("):
        assert expected in output
    record = json.loads(gem("data", "check", path, "--limit", "5", "--json").output)
    assert (record["total"], record["checked"], record["schemas"]) == (40, 5, {"GSM8K": 5})
    assert [gold["gold"] for gold in record["golds"]] == ["0", "1", "2", "3", "4"]


def test_overlap_and_unusable_rows_are_an_exit_code(tmp_path: Path) -> None:
    """1, so that a script can stop; the rows are named."""
    rows = rows_of()
    evaluation = written(tmp_path / "test.jsonl", [rows[8], {"question": "Another one entirely?", "answer": "#### 1"}])
    path = written(tmp_path / "train.jsonl", rows)
    output = gem("data", "check", path, "--against", evaluation, code=1).output
    assert "1 (50.0%) of its questions share 8 words in a row with 1 rows (rows 8 and 0)" in output
    bad = written(tmp_path / "bad.jsonl", [*rows, {"question": "?", "answer": None}])
    assert "row 40 has no usable answer in 'answer': None" in gem("data", "check", bad, code=1).output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.jsonl"], "there is no file or folder 'missing.jsonl'"),
        (["x.jsonl"], "have no known shape: their columns are 'a'"),
        (["x.jsonl", "--grader", "math"], "row 0 has no known shape"),
        (["train.jsonl", "--grader", "poetry"], "no grader is called 'poetry'"),
        (["train.jsonl", "--split", "train[5"], "is malformed"),
        (["train.jsonl", "--against", "missing.jsonl"], "there is no file or folder 'missing.jsonl'"),
        (["no:Such-v0"], "no:Such-v0"),
    ],
)
def test_errors_say_what_was_wrong(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a traceback."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "x.jsonl", [{"a": 1}])
    written(tmp_path / "train.jsonl", rows_of(3))
    result = CliRunner().invoke(cli, ["data", "check", *arguments])
    assert result.exit_code != 0
    assert message in " ".join(f"{result.output} {result.exception or ''}".split())


def test_an_environment_is_checked_by_its_id(site: Any) -> None:
    """Its own columns and rows are used, and one that asks no questions is refused."""
    lines = "".join(json.dumps(row) + "\n" for row in rows_of(6))
    code = """
from pathlib import Path
from gem_questions import QuestionEnv, open_rows

class QuizEnv(QuestionEnv):
    def __init__(self):
        super().__init__(open_rows(Path(__file__).parent / "rows.jsonl"))
    def question(self, row):
        return "Dear agent: " + row["question"]
    def golds(self, row):
        return [row["answer"].rpartition(" ")[2]]
"""
    manifest = """
schema = 1
[[environment]]
id = "quiz:Quiz-v0"
entry_point = "quiz_envs:QuizEnv"
description = "A quiz."
"""
    files = {"quiz_envs/__init__.py": code, "quiz_envs/environments.toml": manifest, "quiz_envs/rows.jsonl": lines}
    site.add("quiz-envs", {"quiz": "quiz_envs"}, files)
    site.add_thing("my-things", "my_things", "things")
    record = json.loads(gem("data", "check", "quiz:Quiz-v0", "--json").output)
    assert (record["kind"], record["checked"], record["unusable"]) == ("qa", 6, 0)
    assert [gold["gold"] for gold in record["golds"]] == [f"['{number}']" for number in range(6)]
    result = CliRunner().invoke(cli, ["data", "check", "things:Thing-v0"])
    assert "asks no questions of a data set" in f"{result.output} {result.exception}"


def test_hostile_rows_reach_no_terminal(tmp_path: Path) -> None:
    """Escape sequences in questions, answers and columns are made visible."""
    row = {"question": "1\x1b[31m + 1?", "answer": "\x1b]0;title\x07 2", "\x1b[2J": None}
    output = gem("data", "check", written(tmp_path / "a.jsonl", [row])).output
    assert "\x1b" not in output
    assert "\x07" not in output


PROOF = (
    "Suppose that there are only finitely many primes. Then their product plus one has a prime divisor, which divides "
    "the difference, that is one, so it is none of them, which contradicts the assumption."
)


@pytest.mark.parametrize("row", [{"answer": PROOF}, {"answer": "proof"}, {"answer": "notfound"}, {"solution": PROOF}])
def test_proofs_are_rows_that_nobody_can_earn(row: dict[str, str], tmp_path: Path) -> None:
    """Whatever column they stand in; a long answer in formulas, and a short one in words, are answers."""
    question = "Prove that there are infinitely many primes."
    rows = [{"problem": question, **row} for _ in range(3)]
    assert check_rows(rows, "math").unusable == 3
    good = ["$x \\in (-\\infty, 2) \\cup (3, \\infty)$ " * 9, "the set of all primes that are one more than a square"]
    assert check_rows([{"problem": question, "answer": answer} for answer in good], "math").unusable == 0
    output = gem("data", "check", written(tmp_path / "t.jsonl", rows), "--grader", "math", code=1).output
    assert "unusable rows     3 (100.0%)" in output
    if "answer" in row:
        assert "nobody can earn it" in output
