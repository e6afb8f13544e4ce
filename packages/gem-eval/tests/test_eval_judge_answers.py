"""Reading what judges answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_eval.rewards.criteria import Criterion, CriterionScore, read_scores, rubric_schema
from gem_eval.rewards.judge_answers import MalformedAnswerError, bool_of, number_of, read_answer, value_of

ANSWER = {"style": {"reason": "fine", "score": 4}, "facts": {"reason": "wrong", "score": 1}}
CRITERIA = Criterion.all_of(["style", {"name": "facts", "weight": 2}])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def scores(text: str) -> dict[str, float]:
    """Read an answer to the two criteria."""
    found = read_answer(text, lambda record: read_scores(record, CRITERIA))
    return {name: given.score for name, given in found.items()}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ANSWER),
        f"```json\n{json.dumps(ANSWER, indent=2)}\n```",
        f"```\n{json.dumps(ANSWER)}```",
        f"Here is my verdict:\n{json.dumps(ANSWER)}\nI hope this helps.",
        f'<think>Is it {{"style": 1, "facts": 5}}?</think>{json.dumps(ANSWER)}',
        f"First {{see}} this {{}}: {json.dumps(ANSWER)}",
        f"{json.dumps(ANSWER)}\n\nTo repeat: {json.dumps(ANSWER)}",
        json.dumps({"Style": 4, "FACTS": "1"}),
        json.dumps({"scores": {"style": "4/5", "facts": "1 out of 5"}}),
        json.dumps({"criteria": [{"criterion": "style", "rating": 4}, {"name": "facts", "score": 1.0}]}),
        json.dumps({"result": {"ratings": {"style": 4, "facts": 1}}}),
        '{"style": {"score": 4, "reason": "two\nlines"}, "facts": {"score": 1},}',
        "{'style': {'score': 4, 'reason': None}, 'facts': {'score': 1}}",
        json.dumps({**ANSWER, "confidence": 0.9}),
    ],
)
def test_a_verdict_is_read_in_any_wrapping(text: str) -> None:
    """JSON alone, fenced, in prose, after reasoning, in Python's notation; nested, flat, or as a list."""
    assert scores(text) == {"style": 4.0, "facts": 1.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no JSON object"),
        ("They are good.", "no JSON object"),
        ("[1, 2]", "no JSON object"),
        ('{"style": 4}', "no 'facts'"),
        ('{"style": 4, "facts": 6}', "must lie from 1 to 5"),
        ('{"style": 4, "facts": -1}', "must lie from 1 to 5"),
        ('{"style": 4, "facts": NaN}', "must lie from 1 to 5"),
        ('{"style": 4, "facts": 1e999}', "must lie from 1 to 5"),
        ('{"style": 4, "facts": true}', "must be a number"),
        ('{"style": 4, "facts": "high"}', "must be a number"),
        ('{"style": 4, "facts": "4/10"}', "must be a number"),
        ('{"style": 4, "facts": null}', "must be a number"),
        ('{"style": 4, "facts": {"reason": "none"}}', "no 'score'"),
        (f'{{"style": 4, "facts": {"9" * 400}}}', "must lie from 1 to 5"),
        (json.dumps({"scores": [{"name": "style", "score": 4}, {"name": "Style", "score": 5}]}), "twice"),
        (json.dumps({"scores": ["good"]}), "no object"),
        ("{" * 5000, "no JSON object"),
        ('{"a":' * 5000, "broken"),
        ('{"style": {"score": 4}, "facts"', "broken"),
        ('{"style": {"reason": "It wrote {"style": 5, "facts": 5}", "score": 1}, "facts": 1}', "broken"),
        ('So: {"style": {"reason": "It wrote {"style": 5, "facts": 5}", "score": 1}, "facts": 1}', "broken"),
    ],
)
def test_what_is_no_verdict_is_refused(text: str, message: str) -> None:
    """Nothing is guessed, clamped or made up; the message says what is wrong."""
    with pytest.raises(MalformedAnswerError, match=message):
        scores(text)


def test_two_different_verdicts_are_ambiguous() -> None:
    """A judge that quotes a verdict which the judged text contains, and gives another, is asked again."""
    quoted = 'The agent wrote {"style": 5, "facts": 5}. My verdict is {"style": 1, "facts": 1}.'
    with pytest.raises(MalformedAnswerError, match="2 different answers"):
        scores(quoted)


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    """Whatever a judge writes is a verdict or malformed."""
    try:
        found = scores(text)
    except MalformedAnswerError:
        return
    assert all(1 <= value <= 5 for value in found.values())


@given(json_values, st.sampled_from(["{}", "```json\n{}\n```", "so: {} !", '{{"scores": {}}}']))
def test_no_json_breaks_the_reader(value: Any, wrapping: str) -> None:
    """The same holds for JSON of any shape."""
    try:
        found = scores(wrapping.replace("{}", json.dumps(value)))
    except MalformedAnswerError:
        return
    assert all(1 <= value <= 5 for value in found.values())


@given(
    st.lists(st.tuples(st.integers(1, 5), st.text(max_size=40)), min_size=2, max_size=2),
    st.sampled_from(["{}", "```json\n{}\n```", "My verdict: {} Bye."]),
)
def test_what_follows_the_schema_is_always_read(given: list[tuple[int, str]], wrapping: str) -> None:
    """Scores and reasons arrive as they were sent, whatever stands in the reasons."""
    record = {
        item.name: {"reason": reason, "score": score} for item, (score, reason) in zip(CRITERIA, given, strict=True)
    }
    assert set(record) == set(rubric_schema(CRITERIA)["required"])
    found = read_answer(wrapping.replace("{}", json.dumps(record)), lambda answer: read_scores(answer, CRITERIA))
    assert found == {name: CriterionScore(float(item["score"]), item["reason"]) for name, item in record.items()}


def test_a_long_answer_costs_little() -> None:
    """Only the end of an answer is read, and of its braces only some."""
    calls = 0

    def read(record: Mapping[str, Any]) -> int:
        nonlocal calls
        calls += 1
        raise MalformedAnswerError("no")

    with pytest.raises(MalformedAnswerError):
        read_answer('{"a": 1} ' * 1_000_000, read)
    assert calls <= 200


def test_what_is_lost_in_a_flood_is_not_looked_for() -> None:
    """An answer that stands before a flood of text is none."""
    with pytest.raises(MalformedAnswerError, match="no JSON object"):
        scores(json.dumps(ANSWER) + " and so on" * 10_000)


@pytest.mark.parametrize(
    ("value", "answer"),
    [(True, True), (0, False), ("Yes.", True), ("NO", False), ("passed", True), ("not met", False), (1.0, True)],
)
def test_yes_and_no_are_read(value: Any, answer: bool) -> None:
    """As bools, numbers and words."""
    assert bool_of(value) is answer


@pytest.mark.parametrize("value", ["maybe", 2, None, [], "", 0.5])
def test_other_words_are_no_answer(value: Any) -> None:
    """A judge that hedges is asked again."""
    with pytest.raises(MalformedAnswerError):
        bool_of(value)


@pytest.mark.parametrize("value", [3, 3.0, "3", " 3 ", "3/5", "3 / 5", "3 out of 5", "3 points", "3."])
def test_numbers_are_read(value: Any) -> None:
    """In each of the forms that judges use."""
    assert number_of(value, 1, 5) == 3.0


def test_names_are_found_in_any_spelling() -> None:
    """Case and separators do not count."""
    assert value_of({"Final Verdict": 1}, "final_verdict") == 1
    assert value_of({3: 1, "a-b": 2}, "x", "aB") == 2


@pytest.mark.parametrize(
    "criteria",
    [
        ["a", "A"],
        ["a b", "a_b"],
        [{"name": "a", "low": 5, "high": 5}],
        [{"nam": "a"}],
        [3],
        "style",
        ["!"],
        [{"name": "a", "weight": 0}],
    ],
)
def test_wrong_criteria_are_refused(criteria: Any) -> None:
    """Names must differ as the reader of answers sees them."""
    with pytest.raises((ValueError, TypeError)):
        Criterion.all_of(criteria)
