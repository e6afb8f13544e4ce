"""Shapes of published sets of questions with short answers.

Sources of the shapes: SQuAD (Rajpurkar et al. 2016 and 2018), TriviaQA (Joshi et al. 2017), HotpotQA (Yang et al.
2018), Natural Questions (Kwiatkowski et al. 2019; github.com/google-research-datasets/natural-questions), PopQA (Mallen
et al. 2023), MuSiQue (Trivedi et al. 2022), RuleTaker (Clark et al. 2020), GPQA (Rein et al. 2023), HellaSwag (Zellers
et al. 2019), WinoGrande (Sakaguchi et al. 2020), OpenBookQA (Mihaylov et al. 2018), DROP (Dua et al. 2019) and IFEval
(Zhou et al. 2023), each as its authors or Hugging Face publish it; the columns of the last seven are those that the
tasks of github.com/EleutherAI/lm-evaluation-harness read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Sized
from hashlib import sha256
from itertools import permutations, zip_longest
from typing import Any

from gem.errors import DatasetError
from gem_questions.schemas.choices import CHOICE_KEYS, ChoiceGold, choices_of, gold_of_choice, with_choices
from gem_questions.schemas.content import (
    RowContent,
    RowSchema,
    column_of,
    is_missing,
    json_value,
    plain_value,
    row_name,
    text_of_question,
)
from gem_questions.schemas.golds import UNANSWERABLE, InstructionGold, qa_golds

__all__ = ["QA_ANSWER_KEYS", "QA_QUESTION_KEYS", "QA_SCHEMAS"]

QA_QUESTION_KEYS = ("question", "problem", "query", "question_text", "question_stem", "input", "prompt", "text")
"""Columns that hold a question in sets without a name of their own, in order of precedence, in any capitals."""
QA_ANSWER_KEYS = (
    "golden_answers", "answers", "answer", "possible_answers", "short_answers", "gold", "target", "ground_truth",
    "label", "output", "reward_model",
)  # fmt: skip
"""Columns that hold the right answers, likewise."""


def _natural_questions(row: Mapping[str, Any]) -> RowContent:
    question = "question" if "question" in row else "question_text"
    annotations = plain_value(row["annotations"])
    if isinstance(annotations, Mapping):  # Hugging Face's columns of lists
        annotations = [annotations]
    words = str(row.get("document_text") or "").split(" ")
    golds: list[str] = []
    for annotation in annotations if isinstance(annotations, Sequence) else ():
        if not isinstance(annotation, Mapping):
            continue
        annotation = {**annotation, "short_answers": _spans(plain_value(annotation.get("short_answers")), words)}
        try:
            golds += qa_golds({"annotations": annotation}, "annotations")
        except DatasetError:
            continue  # this annotator found no short answer
    if not golds:
        raise DatasetError(f"{row_name(row)} has no short answer in 'annotations'; remove the row")
    return RowContent(text_of_question(row, question), list(dict.fromkeys(golds)))


def _spans(answers: Any, words: Sequence[str]) -> Any:
    """Return short answers as texts, where they are ranges of a document's words (the simplified form)."""
    if isinstance(answers, Mapping) or not isinstance(answers, Sequence) or isinstance(answers, str):
        return answers
    return [
        " ".join(words[span["start_token"] : span["end_token"]])
        if isinstance(span, Mapping) and "text" not in span and isinstance(span.get("start_token"), int)
        else span
        for span in answers
    ]


def _with_context(row: Mapping[str, Any]) -> RowContent:
    """Return a row of SQuAD, of which 2.0 has questions without an answer; no column of a row tells 1.1 from 2.0."""
    answers = plain_value(row["answers"])
    texts = plain_value(next((value for key, value in answers.items() if str(key).lower() == "text"), None))
    none = isinstance(texts, Sized) and not isinstance(texts, str) and not len(texts)
    golds = [UNANSWERABLE] if none else qa_golds(row, "answers")
    return RowContent(f"{row['context']}\n\n{text_of_question(row, 'question')}\n\n{_NO_ANSWER}", golds)


_NO_ANSWER = f"If the text does not answer the question, answer: {UNANSWERABLE}"


def _aliased(row: Mapping[str, Any]) -> RowContent:
    more = plain_value(row["answer_aliases"])
    none = more is None or (isinstance(more, Sized) and not len(more))
    golds = [*qa_golds(row, "answer"), *(() if none else qa_golds(row, "answer_aliases"))]
    return RowContent(text_of_question(row, "question"), list(dict.fromkeys(golds)))


def _plain(question: str, answer: str) -> Any:
    return lambda row: RowContent(text_of_question(row, question), qa_golds(row, answer))


def _rule_taker(row: Mapping[str, Any]) -> RowContent:
    label = str(row["label"]).strip().lower()
    if label not in _ENTAILMENT:
        raise DatasetError(
            f"{row_name(row)} has no usable answer in 'label': {row['label']!r:.60} is neither 'entailment' nor 'not "
            "entailment'; remove the row"
        )
    statement = text_of_question(row, "question")
    return RowContent(
        f"{row['context']}\n\nDoes this follow? {statement}\nAnswer True or False.", list(_ENTAILMENT[label])
    )


_ENTAILMENT = {"entailment": ("True", "yes"), "not entailment": ("False", "no")}


def _gpqa(row: Mapping[str, Any]) -> RowContent:
    texts = [str(row[column]).strip() for column in _GPQA_ANSWERS]
    if any(is_missing(row[column]) for column in _GPQA_ANSWERS) or len(set(texts)) < len(texts):
        raise DatasetError(f"{row_name(row)} has no four different answers; remove the row")
    question = text_of_question(row, "Question").strip()
    # The published order has the right answer first. This one depends on the row alone.
    order = sorted(texts, key=lambda text: sha256(f"{question}\n{text}".encode("utf-8", "replace")).digest())
    options = dict(zip("ABCD", order, strict=True))
    letter = next(letter for letter, text in options.items() if text == texts[0])
    return RowContent(with_choices(question, options), ChoiceGold(letter, options))


_GPQA_ANSWERS = ("Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")


def _hella_swag(row: Mapping[str, Any]) -> RowContent:
    endings = plain_value(row["endings"])
    if not isinstance(endings, Sequence) or isinstance(endings, str) or not 1 < len(endings) <= len(_LETTERS):
        raise DatasetError(f"{row_name(row)} has no endings to choose from: {endings!r:.60}; remove the row")
    options = {letter: str(text).strip() for letter, text in zip(_LETTERS, endings, strict=False)}
    about = "" if is_missing(row.get("activity_label")) else f"{row['activity_label']}: "
    question = f"{about}{text_of_question(row, 'ctx')}\n\nWhich ending continues the text?"
    return RowContent(with_choices(question, options), ChoiceGold(gold_of_choice(row, "label", options), options))


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _winogrande(row: Mapping[str, Any]) -> RowContent:
    options = {"A": str(row["option1"]).strip(), "B": str(row["option2"]).strip()}
    letter = {"1": "A", "2": "B"}.get(str(plain_value(row["answer"])).strip())
    if letter is None:
        raise DatasetError(f"{row_name(row)} has no usable answer in 'answer': {row['answer']!r:.60}; remove the row")
    question = f"{text_of_question(row, 'sentence')}\n\nWhat belongs in the place of the underscore?"
    return RowContent(with_choices(question, options), ChoiceGold(letter, options))


def _drop(row: Mapping[str, Any]) -> RowContent:
    answers = [row[column] for column in ("answer", "validated_answers", "answers_spans") if row.get(column)]
    golds = [gold for value in answers for gold in _drop_golds(plain_value(value))]
    if not golds:
        raise DatasetError(f"{row_name(row)} has no usable answer in {', '.join(_DROP_ANSWERS)}; remove the row")
    return RowContent(f"{row['passage']}\n\n{text_of_question(row, 'question')}", list(dict.fromkeys(golds)))


_DROP_ANSWERS = ("answer", "validated_answers", "answers_spans")
_MOST_ORDERED = 4
"""Spans of an answer that may stand in any order; more stand in that of the row."""


def _drop_golds(value: Any) -> Iterator[str]:
    """Yield the texts of an answer of DROP: a number, a date, or spans that belong together, in any order."""
    if not isinstance(value, Mapping):
        return
    columns = {key: plain_value(value.get(key)) for key in ("number", "date", "spans")}
    if isinstance(columns["number"], list):  # several annotators, in lists of one length
        for number, date, spans in zip_longest(*(list(column or ()) for column in columns.values())):
            yield from _drop_golds({"number": number, "date": date, "spans": spans})
        return
    number, date, spans = columns.values()
    if not is_missing(number):
        yield str(number)
    elif isinstance(spans, Sequence) and not isinstance(spans, str) and len(spans):
        texts = list(dict.fromkeys(str(span).strip() for span in spans))
        orders = permutations(texts) if len(texts) <= _MOST_ORDERED else [tuple(texts)]
        for order in orders:
            yield ", ".join(order)
            if len(order) > 1:
                yield f"{', '.join(order[:-1])} and {order[-1]}"
    elif isinstance(date, Mapping):
        text = " ".join(str(date[part]).strip() for part in ("day", "month", "year") if not is_missing(date.get(part)))
        if text:
            yield text


def _if_eval(row: Mapping[str, Any]) -> RowContent:
    names, arguments = plain_value(row["instruction_id_list"]), plain_value(row["kwargs"])
    if isinstance(arguments, str):
        arguments = json_value(arguments)
    if (
        not isinstance(names, Sequence) or not isinstance(arguments, Sequence) or isinstance(names, str) or not names
        or len(names) != len(arguments) or not all(isinstance(given, Mapping) for given in arguments)
    ):  # fmt: skip
        raise DatasetError(f"{row_name(row)} has no list of instructions with the arguments of each; remove the row")
    # In a table each row has the arguments of all instructions, None where they are of another.
    given = [{key: plain_value(value) for key, value in one.items() if value is not None} for one in arguments]
    prompt = text_of_question(row, "prompt")
    return RowContent(prompt, InstructionGold(zip(map(str, names), given, strict=True)))


def _choices(row: Mapping[str, Any]) -> RowContent:
    options = choices_of(row)
    question, answer = column_of(row, QA_QUESTION_KEYS), column_of(row, _CHOICE_ANSWERS)
    assert options is not None
    assert question is not None
    assert answer is not None
    gold = ChoiceGold(gold_of_choice(row, answer, options), options)
    return RowContent(with_choices(text_of_question(row, question), options), gold)


_CHOICE_ANSWERS = ("answerkey", "answer", "correct", "label", "target")


def _is_object(value: Any, *keys: str) -> bool:
    if isinstance(value, (str, list)):  # asking an abstract class takes three times as long
        return False
    return isinstance(value, Mapping) and any(key in {str(name).lower() for name in value} for key in keys)


QA_SCHEMAS = (
    RowSchema(
        "Natural Questions",
        "qa",
        "question",
        "annotations",
        lambda row: "annotations" in row and ("question" in row or "question_text" in row),
        _natural_questions,
        frozenset(("annotations",)),
    ),
    RowSchema(
        "SQuAD",
        "qa",
        "question",
        "answers",
        lambda row: (
            isinstance(row.get("context"), str) and "question" in row and _is_object(row.get("answers"), "text")
        ),
        _with_context,
        frozenset(("context", "question", "answers")),
    ),
    RowSchema(
        "RuleTaker",
        "qa",
        "question",
        "label",
        lambda row: (
            isinstance(row.get("context"), str)
            and "question" in row
            and str(row.get("label")).strip().lower() in _ENTAILMENT
        ),
        _rule_taker,
        frozenset(("context", "question", "label")),
    ),
    RowSchema(
        "GPQA",
        "qa",
        "Question",
        "Correct Answer",
        lambda row: all(column in row for column in ("Question", *_GPQA_ANSWERS)),
        _gpqa,
        frozenset(("question", *map(str.lower, _GPQA_ANSWERS))),
    ),
    RowSchema(
        "HellaSwag",
        "qa",
        "ctx",
        "label",
        lambda row: "ctx" in row and "endings" in row and "label" in row,
        _hella_swag,
        frozenset(("ctx", "endings", "label")),
    ),
    RowSchema(
        "WinoGrande",
        "qa",
        "sentence",
        "answer",
        lambda row: all(column in row for column in ("sentence", "option1", "option2", "answer")),
        _winogrande,
        frozenset(("sentence", "option1", "option2", "answer")),
    ),
    RowSchema(
        "DROP",
        "qa",
        "question",
        "answers_spans",
        lambda row: (
            "passage" in row
            and "question" in row
            and any(isinstance(row.get(column), Mapping) for column in _DROP_ANSWERS)
        ),
        _drop,
        frozenset(("passage", "question")),
        needs_one=frozenset(_DROP_ANSWERS),
    ),
    RowSchema(
        "IFEval",
        "qa",
        "prompt",
        "instruction_id_list",
        lambda row: all(column in row for column in ("prompt", "instruction_id_list", "kwargs")),
        _if_eval,
        frozenset(("prompt", "instruction_id_list", "kwargs")),
    ),
    RowSchema(
        "TriviaQA",
        "qa",
        "question",
        "answer",
        lambda row: "question" in row and _is_object(row.get("answer"), "aliases"),
        _plain("question", "answer"),
        frozenset(("question", "answer")),
        question_alone=True,
    ),
    RowSchema(
        "TriviaQA",
        "qa",
        "Question",
        "Answer",
        lambda row: "Question" in row and _is_object(row.get("Answer"), "aliases"),
        _plain("Question", "Answer"),
        frozenset(("question", "answer")),
        question_alone=True,
    ),
    RowSchema(
        "HotpotQA",
        "qa",
        "question",
        "answer",
        lambda row: "question" in row and "answer" in row and "supporting_facts" in row,
        _plain("question", "answer"),
        frozenset(("question", "answer", "supporting_facts")),
        question_alone=True,
    ),
    RowSchema(
        "MuSiQue",
        "qa",
        "question",
        "answer",
        lambda row: "question" in row and "answer" in row and "answer_aliases" in row,
        _aliased,
        frozenset(("question", "answer", "answer_aliases")),
        question_alone=True,
    ),
    RowSchema(
        "PopQA",
        "qa",
        "question",
        "possible_answers",
        lambda row: "question" in row and isinstance(json_value(row.get("possible_answers")), list),
        _plain("question", "possible_answers"),
        frozenset(("question", "possible_answers")),
        question_alone=True,
    ),
    RowSchema(
        "NQ-Open",
        "qa",
        "question",
        "answer",
        lambda row: isinstance(plain_value(row.get("answer")), list) and set(row) == {"question", "answer"},
        _plain("question", "answer"),
        frozenset(("question", "answer")),
        question_alone=True,
    ),
    RowSchema(
        "multiple choice",
        "qa",
        "question",
        "answer",
        lambda row: (
            choices_of(row) is not None
            and column_of(row, QA_QUESTION_KEYS) is not None
            and column_of(row, _CHOICE_ANSWERS) is not None
        ),
        _choices,
        needs_one=frozenset(CHOICE_KEYS),
    ),
)
