"""Reading what judges answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_eval.rewards.criteria import Criterion, CriterionScore, read_scores, rubric_schema
from gem_eval.rewards.judge_answers import MalformedAnswerError, bool_of, number_of, read_answer, reason_of, value_of

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
        f'<think>Is it {{"style": 1, "facts": 5}}?</think>{json.dumps(ANSWER)}',
        f"<think>So:</think>\n```json\n{json.dumps(ANSWER)}\n```\n",
        f'[THINK]Is it {{"style": 1, "facts": 5}}?[/THINK]{json.dumps(ANSWER)}',
        json.dumps({**ANSWER, "reason": "It never closes its <think>."}),
        json.dumps({"Style": 4, "FACTS": "1"}),
        json.dumps({"style": "4/5", "facts": "1 out of 5"}),
        '{"style": {"score": 4, "reason": "two\nlines"}, "facts": {"score": 1},}',
        "{'style': {'score': 4, 'reason': None}, 'facts': {'score': 1}}",
        json.dumps({**ANSWER, "confidence": 0.9}),
    ],
)
def test_a_verdict_is_all_of_the_answer(text: str) -> None:
    """JSON alone, fenced, after reasoning, in Python's notation; with reasons or without."""
    assert scores(text) == {"style": 4.0, "facts": 1.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "one JSON object"),
        ("They are good.", "one JSON object"),
        ("[1, 2]", "one JSON object"),
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
        ('{"style": 4, "style": 5, "facts": 1}', "one name twice"),
        ('{"style": {"score": 1, "score": 5}, "facts": 1}', "one name twice"),
        ('{"style": 4, "Style": 5, "facts": 1}', "'style' 2 times"),
        ('{"style": {"rating": 4}, "facts": 1}', "no 'score'"),
        (json.dumps({"scores": {"style": 4, "facts": 1}}), "no 'style'"),
        (json.dumps({"scores": [{"name": "style", "score": 4}, {"name": "facts", "score": 5}]}), "no 'style'"),
        ("{" * 5000, "one JSON object"),
        ('{"a":' * 5000, "one JSON object"),
        ('{"style": {"score": 4}, "facts"', "one JSON object"),
        ('{"style": {"reason": "It wrote {"style": 5, "facts": 5}", "score": 1}, "facts": 1}', "one JSON object"),
        (f"{json.dumps(ANSWER)}\n\nTo repeat: {json.dumps(ANSWER)}", "one JSON object"),
        (f"Here is my verdict:\n{json.dumps(ANSWER)}", "one JSON object"),
        (f"The agent wrote {json.dumps(ANSWER)}. It is bad, and that is my verdict.", "one JSON object"),
        (f"The agent wrote\n```json\n{json.dumps(ANSWER)}\n```", "one JSON object"),
        (f"{json.dumps(ANSWER)} I hope this helps.", "one JSON object"),
    ],
)
def test_what_is_no_verdict_is_refused(text: str, message: str) -> None:
    """Nothing is guessed, clamped or made up; the message says what is wrong."""
    with pytest.raises(MalformedAnswerError, match=message):
        scores(text)


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    """Whatever a judge writes is a verdict or malformed."""
    try:
        found = scores(text)
    except MalformedAnswerError:
        return
    assert all(1 <= value <= 5 for value in found.values())


@given(json_values, st.sampled_from(["{}", "```json\n{}\n```", "so: {} !", '{"scores": {}}']))
def test_no_json_breaks_the_reader(value: Any, wrapping: str) -> None:
    """The same holds for JSON of any shape."""
    try:
        found = scores(wrapping.replace("{}", json.dumps(value)))
    except MalformedAnswerError:
        return
    assert all(1 <= value <= 5 for value in found.values())


@given(
    st.lists(st.tuples(st.integers(1, 5), st.text(max_size=40)), min_size=2, max_size=2),
    st.sampled_from(["{}", "```json\n{}\n```", "<think>well</think>{}"]),
)
def test_what_follows_the_schema_is_always_read(given: list[tuple[int, str]], wrapping: str) -> None:
    """Scores and reasons arrive as they were sent, whatever stands in the reasons."""
    record = {
        item.name: {"reason": reason, "score": score} for item, (score, reason) in zip(CRITERIA, given, strict=True)
    }
    assert set(record) == set(rubric_schema(CRITERIA)["required"])
    found = read_answer(wrapping.replace("{}", json.dumps(record)), lambda answer: read_scores(answer, CRITERIA))
    assert found == {name: CriterionScore(float(item["score"]), item["reason"]) for name, item in record.items()}


def test_a_flood_is_no_answer() -> None:
    """An answer of a megabyte is refused unread, wherever in it an object stands."""
    for flood in (json.dumps(ANSWER) + " and so on" * 100_000, '{"a": 1} ' * 100_000 + json.dumps(ANSWER)):
        with pytest.raises(MalformedAnswerError, match="longer than"):
            scores(flood)


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
    """Case and separators do not count; the reason is whatever stands there, or nothing."""
    assert value_of({"Final Verdict": 1}, "final_verdict") == 1
    assert value_of({3: 1, "a-b": 2}, "aB") == 2
    assert (reason_of({"Reason": 3}), reason_of({"why": "x"})) == ("3", "")


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
