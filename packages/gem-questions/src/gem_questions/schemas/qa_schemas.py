"""Shapes of published sets of questions with short answers.

Sources of the shapes: SQuAD (Rajpurkar et al. 2016 and 2018), TriviaQA (Joshi et al. 2017), HotpotQA (Yang et al.
2018), Natural Questions (Kwiatkowski et al. 2019; github.com/google-research-datasets/natural-questions), PopQA (Mallen
et al. 2023), MuSiQue (Trivedi et al. 2022), RuleTaker (Clark et al. 2020), PubMedQA (Jin et al. 2019), DROP (Dua et al.
2019) and IFEval (Zhou et al. 2023), each as its authors or Hugging Face publish it; the columns of the last three are
those that the tasks of github.com/EleutherAI/lm-evaluation-harness read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Sized
from itertools import permutations, zip_longest
from typing import Any

from gem.errors import DatasetError
from gem_questions.schemas.choice_schemas import CHOICE_SCHEMAS, OPTION_KEYS, has_options, multiple_choice
from gem_questions.schemas.content import (
    RowContent,
    RowSchema,
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


def _pub_med(row: Mapping[str, Any]) -> RowContent:
    context = plain_value(row["context"])
    texts = plain_value(context.get("contexts")) if isinstance(context, Mapping) else context
    abstract = "\n".join(map(str, texts)) if isinstance(texts, list) else str(texts or "")
    question = f"{abstract}\n\n{text_of_question(row, 'question')}\nAnswer yes, no or maybe.".lstrip()
    return RowContent(question, qa_golds(row, "final_decision"))


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


def _is_object(value: Any, *keys: str) -> bool:
    if isinstance(value, (str, list)):  # asking an abstract class takes three times as long
        return False
    return isinstance(value, Mapping) and any(key in {str(name).lower() for name in value} for key in keys)


QA_SCHEMAS = (
    *CHOICE_SCHEMAS,
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
        "PubMedQA",
        "qa",
        "question",
        "final_decision",
        lambda row: "question" in row and "context" in row and "final_decision" in row,
        _pub_med,
        frozenset(("question", "context", "final_decision")),
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
        lambda row: has_options(row, QA_QUESTION_KEYS),
        lambda row: RowContent(*multiple_choice(row, QA_QUESTION_KEYS)),
        needs_one=OPTION_KEYS,
    ),
)
