"""Multiple choice in the shapes in which data sets are published: what is asked, and which option alone is right."""

from __future__ import annotations

from typing import Any

import pytest

from gem.errors import DatasetError
from gem_questions.schemas import ChoiceGold, Kind, chosen_option, read_row, recognise

GASES = ["Argon", "Neon", "Iron"]
LETTERED = {"A": "Argon", "B": "Neon", "C": "Iron"}
SIQA = {"context": "Ann fell.", "question": "How is she?", "answerA": "glad", "answerB": "sad", "answerC": "tall"}
PIQA = {"goal": "Open a jar.", "sol1": "Eat it.", "sol2": "Twist it.", "label": 1}
COPA = {"premise": "It is wet.", "choice1": "It rained.", "choice2": "It shone.", "question": "cause", "label": 0}
COSMOS = {"id": "1", "context": "Ann fell.", "question": "Why?", "answer0": "Ice.", "answer1": "Joy."}
MED = {"question": "Which?", "opa": "Argon", "opb": "Neon", "opc": "Iron", "opd": "Zinc", "cop": 1, "exp": "…"}
RECLOR = {"context": "Ann fell.", "question": "Who?", "answers": ["Bea", "Ann"], "label": 1, "id_string": "t"}
SCIQ = {
    "question": "Which is a gas?",
    "distractor1": "Iron",
    "distractor2": "Zinc",
    "distractor3": "Tin",
    "correct_answer": "Neon",
    "support": "Neon glows.",
}
TRUTHFUL = {"question": "Is it so?", "mc1_targets": {"choices": ["No.", "Yes.", "Often."], "labels": [1, 0, 0]}}
TRUTHFUL_PAIR = {"Type": "x", "Question": "Is it so?", "Best Answer": "No.", "Best Incorrect Answer": "Yes."}

PUBLISHED: list[tuple[str, dict[str, Any], Kind, str, str]] = [
    ("Social IQa", {**SIQA, "label": "2"}, "qa", "sad", "Ann fell.\n\nHow is she?"),
    ("PIQA", PIQA, "qa", "Twist it.", "Open a jar.\n\nWhich way reaches this goal?"),
    ("COPA", COPA, "qa", "It rained.", "It is wet.\n\nWhat was the cause of this?"),
    ("Cosmos QA", {**COSMOS, "answer2": "Bea.", "answer3": "Fun.", "label": 0}, "qa", "Ice.", "Ann fell.\n\nWhy?"),
    ("MedMCQA", MED, "qa", "Neon", "Which?"),
    ("ReClor", RECLOR, "qa", "Ann", "Ann fell.\n\nWho?"),
    ("SciQ", SCIQ, "qa", "Neon", "Neon glows.\n\nWhich is a gas?"),
    ("TruthfulQA", TRUTHFUL, "qa", "No.", "Is it so?"),
    ("TruthfulQA", TRUTHFUL_PAIR, "qa", "No.", "Is it so?"),
    # MMLU-Pro, SuperGPQA, RACE and QuALITY, AGIEval, LogiQA, MuSR
    ("multiple choice", {"question": "Q?", "options": GASES, "answer": "B", "answer_index": 1}, "qa", "Neon", "Q?"),
    (
        "multiple choice",
        {"question": "Q?", "options": GASES, "answer": "Neon", "discipline": "x"},
        "qa",
        "Neon",
        "Q?",
    ),
    ("multiple choice", {"article": "T.", "question": "Q?", "options": GASES, "answer": "B"}, "qa", "Neon", "T.\n\nQ?"),
    ("multiple choice", {"query": "Q?", "choices": ["(A)Argon", "(B)Neon"], "gold": [1]}, "qa", "Neon", "Q?"),
    (
        "multiple choice",
        {"context": "T.", "query": "Q?", "options": GASES, "correct_option": 1},
        "qa",
        "Neon",
        "T.\n\nQ?",
    ),
    (
        "multiple choice",
        {
            "narrative": "T.",
            "question": "Q?",
            "choices": "['Argon', 'Neon']",
            "answer_index": 1,
            "answer_choice": "Neon",
        },
        "qa",
        "Neon",
        "T.\n\nQ?",
    ),
    # C-Eval, CMMLU, MMMLU, and sets with a word before the letter
    ("multiple choice", {"id": 0, "question": "Q?", **LETTERED, "answer": "B"}, "qa", "Neon", "Q?"),
    ("multiple choice", {"Question": "Q?", **LETTERED, "Answer": "B"}, "qa", "Neon", "Q?"),
    ("multiple choice", {"question": "Q?", "option_a": "Argon", "option_b": "Neon", "answer": "b"}, "qa", "Neon", "Q?"),
    ("multiple choice", {"question": "Q?", "choice0": "Argon", "choice1": "Neon", "label": 1}, "qa", "Neon", "Q?"),
    # ARC's and OpenBookQA's own files
    (
        "multiple choice",
        {
            "question": {"stem": "Q?", "choices": [{"text": t, "label": x} for x, t in LETTERED.items()]},
            "answerKey": "B",
        },
        "qa",
        "Neon",
        "Q?",
    ),
]


@pytest.mark.parametrize(("name", "row", "kind", "right", "question"), PUBLISHED)
def test_one_option_of_a_published_row_is_right(
    name: str, row: dict[str, Any], kind: Kind, right: str, question: str
) -> None:
    """By its letter and by its text; every other option is wrong, and all of them stand below the question."""
    schema = recognise(row, kind)
    assert schema is not None
    assert schema.name == name
    content = read_row(row, kind)
    gold = content.gold
    assert isinstance(gold, ChoiceGold)
    listed = "\n".join(f"{letter}) {text}" for letter, text in gold.options.items())
    assert content.question.startswith(f"{question}\n\n{listed}\n\n")
    assert gold.options[gold.letter] == right
    for letter, text in gold.options.items():
        assert (chosen_option(letter, gold.options) == gold.letter) is (text == right)
        assert (chosen_option(text, gold.options) == gold.letter) is (text == right)


def test_columns_of_letters_hold_options_of_mathematics_too() -> None:
    """The question shows them, and the gold answer is the letter."""
    row = {"question": "1 + 1?", "A": "1", "B": "2", "C": "3", "D": "4", "answer": "B"}
    content = read_row(row, "math")
    assert content.question.startswith("1 + 1?\n\nA) 1\nB) 2\nC) 3\nD) 4\n")
    assert (content.gold, content.extras) == ("B", {"options": {"A": "1", "B": "2", "C": "3", "D": "4"}})


def test_a_table_may_hold_the_number_of_the_option_as_a_decimal() -> None:
    """As data frames hold whole numbers in a column where one is missing."""
    assert read_row({**PIQA, "label": 1.0}, "qa").gold.letter == "B"
    with pytest.raises(DatasetError, match=r"'label': 0\.5 is no number"):
        read_row({**PIQA, "label": 0.5}, "qa")


def test_two_columns_of_letters_are_no_options() -> None:
    """They may be the numbers of a formula."""
    row = {"question": "Add a and b.", "a": 3, "b": 4, "answer": "7"}
    assert read_row(row, "qa").gold == ["7"]


@pytest.mark.parametrize("column", ["context", "passage", "Article"])
def test_a_question_stands_below_the_text_that_it_is_about(column: str) -> None:
    """Once, also if the question repeats it; a column that is named is asked alone."""
    row = {"question": "Who fell?", column: "Ann fell.", "answer": "Ann"}
    assert read_row(row, "qa").question == "Ann fell.\n\nWho fell?"
    assert read_row({**row, "question": "Ann fell. Who?"}, "qa").question == "Ann fell. Who?"
    assert read_row(row, "qa", question_key="question").question == "Who fell?"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({**SIQA, "label": "0"}, "'label': '0' is no number from 1 to 3, as Social IQa numbers"),
        ({**SIQA, "label": ""}, "'label': '' is no number"),
        ({**PIQA, "label": -1}, "'label': -1 is no number from 0 to 1"),
        ({**PIQA, "label": "²"}, "is no number"),
        ({**MED, "cop": 4}, "'cop': 4 is no number from 0 to 3, as MedMCQA numbers"),
        ({**PIQA, "sol2": None}, "no options to choose from in 'sol1', 'sol2'"),
        ({**COPA, "question": None}, "may count the columns choice1, choice2 from 0 or from 1|no question"),
        ({**RECLOR, "answers": ["Ann"]}, "no options to choose from in 'answers'"),
        ({**SCIQ, "distractor1": "Neon"}, "no two or more different answers"),
        ({**TRUTHFUL, "mc1_targets": {"choices": ["No."], "labels": [1, 0]}}, "not one right answer"),
        ({**TRUTHFUL, "mc1_targets": {"choices": ["a", "b"], "labels": [1, 1]}}, "not one right answer"),
        ({"question": "Q?", "choices": GASES, "gold": [0, 1]}, "none of the options A, B, C"),
        (
            {"question": "Q?", "option1": "Argon", "option2": "Neon", "label": 1},
            "may count the columns option1, option2 from 0 or from 1",
        ),
        (
            {"question": "Q?", "best_answer": "No.", "correct_answers": ["No."], "incorrect_answers": ["Yes."]},
            "take its configuration 'multiple_choice'",
        ),
    ],
)
def test_a_row_without_one_right_option_is_an_error(row: dict[str, Any], message: str) -> None:
    """The message names the column, the value, and how the set numbers its options."""
    with pytest.raises(DatasetError, match=message):
        read_row(row, "qa")
