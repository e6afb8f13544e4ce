"""The checkers of IFEval's instructions: a response that follows, and one that just does not."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import DatasetError, NotSupportedError
from gem_envs_qa import QaEnv
from gem_envs_qa.instructions import _CHECKERS, _language_profiles, check_instructions, follows, follows_loosely
from gem_questions.rewards import make_grader, make_reward
from gem_questions.schemas import InstructionGold

ENGLISH = "The quick brown fox jumps over the lazy dog while the children are watching it from the house."
GERMAN = "Der schnelle braune Fuchs springt \u00fcber den faulen Hund, und die Kinder sehen ihm vom Haus aus zu."

CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("keywords:existence", {"keywords": ["sun", "Moon"]}, "Sunlight and moonlight.", "The sun alone."),
    ("keywords:frequency", {"keyword": "cat", "frequency": 2, "relation": "at least"}, "Cat, cat!", "One cat."),
    ("keywords:frequency", {"keyword": "cat", "frequency": 2, "relation": "less than"}, "One cat.", "Cat, cat!"),
    ("keywords:forbidden_words", {"forbidden_words": ["can"]}, "A scan of cans.", "You Can."),
    ("keywords:letter_frequency", {"letter": "Z", "let_frequency": 2, "let_relation": "at least"}, "zZ", "z"),
    ("language:response_language", {"language": "de"}, GERMAN, ENGLISH),
    ("length_constraints:number_sentences", {"num_sentences": 3, "relation": "less than"}, "One. Two!", "1. 2? 3!"),
    (
        "length_constraints:number_sentences",
        {"num_sentences": 2, "relation": "at least"},
        "Hi! Bye",
        "Mr. Lee is 1.5 m.",
    ),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "a\n***\nb\n***", "a\n\nb"),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "***a***b", "a\n***\n***\nb"),
    ("length_constraints:number_words", {"num_words": 3, "relation": "at least"}, "well-known fact", "two words"),
    ("length_constraints:number_words", {"num_words": 3, "relation": "less than"}, "two words", "one two three"),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Then"},
        'First.\n\n"then, it rained',
        "First.\n\nThenceforth",
    ),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 1, "first_word": "then"},
        "Then!\n\nb",
        "Then\n\nb\n\nc",
    ),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}, "[name], [town]", "[name\n] [town]"),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, "Bye.\nP. S. More", "Bye. PS more"),
    ("detectable_content:postscript", {"postscript_marker": "P.P.S"}, "Bye.\nP.P.S more", "Bye. P.S. more"),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "* a\n  - b\n**c**", "* a\n* b\n- c"),
    ("detectable_format:constrained_response", {}, "So: My answer is maybe.", "My answer is perhaps."),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2}, "*a* and **b c**", "*a* and ** **"),
    (
        "detectable_format:multiple_sections",
        {"section_spliter": "SECTION", "num_sections": 2},
        "SECTION 1\na\nSECTION 2\nb",
        "SECTION 1\na\nSection 2\nb",
    ),
    ("detectable_format:json_format", {}, '```json\n{"a": [1]}\n```', '{"a": [1]} is it'),
    ("detectable_format:title", {}, "<<A poem>>\nx", "<< >> <title>"),
    ("combination:two_responses", {}, "a\n******\nb", "a ****** a"),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Say hi."}, "say hi. Hi!", "Sure. Say hi."),
    ("startend:end_checker", {"end_phrase": "The end."}, 'It is over. the end."', "The end. Or not?"),
    ("startend:quotation", {}, ' "All of it." ', '"Some" of it.'),
    ("change_case:capital_word_frequency", {"capital_frequency": 2, "capital_relation": "at least"}, "I AM", "I am"),
    ("change_case:english_capital", {}, ENGLISH.upper(), ENGLISH),
    ("change_case:english_lowercase", {}, ENGLISH.lower(), GERMAN.lower()),
    ("punctuation:no_comma", {}, "a; b", "a, b"),
]


@pytest.mark.parametrize(("name", "arguments", "right", "wrong"), CASES)
def test_a_response_follows_or_does_not(name: str, arguments: dict[str, Any], right: str, wrong: str) -> None:
    """Each instruction as its text in the paper has it, at its border; an empty response follows none."""
    gold = InstructionGold([(name, arguments)])
    check_instructions(gold)
    assert follows(right, gold) == [True]
    assert follows(wrong, gold) == follows(" \n", gold) == [False]
    assert follows_loosely(right, gold) == [True]


def test_every_instruction_has_a_case() -> None:
    """The paper lists 25."""
    assert {name for name, *_ in CASES} == set(_CHECKERS)
    assert len(_CHECKERS) == 25


def test_the_loose_rule_forgives_an_introduction_and_emphasis() -> None:
    """The first line, the last line, both, and asterisks."""
    gold = InstructionGold([("punctuation:no_comma", {}), ("startend:end_checker", {"end_phrase": "the end"})])
    assert follows("Sure, here it is:\nIt rained.\n**The end**", gold) == [False, False]
    assert follows_loosely("Sure, here it is:\nIt rained.\n**The end**", gold) == [True, True]


@given(
    st.text(max_size=80), st.sampled_from([case for case in CASES if "langu" not in case[0] and "engl" not in case[0]])
)
def test_no_response_breaks_a_checker(response: str, case: tuple[str, dict[str, Any], str, str]) -> None:
    """Whatever a model writes is followed or not, and strictly only what is followed loosely."""
    gold = InstructionGold([(case[0], case[1])])
    strict, loose = follows(response, gold), follows_loosely(response, gold)
    assert loose[0] or not strict[0]


ROW = {
    "key": 1,
    "prompt": "Write about rain without commas. End with The end.",
    "instruction_id_list": ["punctuation:no_comma", "startend:end_checker"],
    # As a table has them: the arguments of all instructions in each.
    "kwargs": [
        {"end_phrase": None, "num_words": None},
        {"end_phrase": "The end.", "num_words": None},
    ],
}


@pytest.mark.parametrize(("metric", "half"), [("exact_match", 0.0), ("f1", 0.5)])
def test_a_published_row_judges_the_whole_response(metric: str, half: float) -> None:
    """The prompt stands alone; the reward is for all instructions, or for the share of them; info has each."""
    with QaEnv(dataset=[ROW], metric=metric) as env:
        assert env.reset(seed=0)[0] == ROW["prompt"]
        _, reward, _, _, info = env.step("It rained. The end.")
        assert (reward, info["correct"], info["followed"]) == (1.0, True, [True, True])
        env.reset()
        _, reward, _, _, info = env.step("It rained, and that was The end.")
        assert (reward, info["correct"], info["followed"], info["grade"]) == (half, False, [False, True], "different")
        gold = env.golds(env.row)
        assert make_reward("qa_em").grade("Rain. The end.", gold).value == 1.0
        assert make_grader("qa").grade("Rain, the end.", gold).verdict == "different"
        env.reset()
        assert env.sample_random_action()
        with pytest.raises(NotSupportedError):
            env.reference_answer(env.row)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"instruction_id_list": ["punctuation:no_comma", "poetry:rhyme"]}, "'poetry:rhyme' is no instruction"),
        ({"kwargs": [{}, {}]}, "has no 'end_phrase'"),
        ({"kwargs": [{}]}, "no list of instructions"),
        ({"kwargs": None}, "no list of instructions"),
        (
            {
                "instruction_id_list": ["length_constraints:number_words"],
                "kwargs": [{"num_words": 3, "relation": "about"}],
            },
            "has the relation 'about'",
        ),
    ],
)
def test_a_row_that_cannot_be_judged_is_refused(change: dict[str, Any], message: str) -> None:
    """When it is opened, with what is wrong; the grader calls its gold unreadable."""
    with pytest.raises(DatasetError, match=message):
        QaEnv(dataset=[{**ROW, **change}])


def test_a_text_without_words_has_any_language() -> None:
    """As in the published evaluation, where the library cannot tell."""
    for text in ("12:30", "?!", "\u16a0\u16a1"):
        assert follows(text, InstructionGold([("language:response_language", {"language": "de"})])) == [True]


def test_a_language_needs_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it, the row names the package to install."""
    _language_profiles.cache_clear()
    monkeypatch.setitem(sys.modules, "langdetect.detector_factory", None)
    gold = InstructionGold([("language:response_language", {"language": "de"})])
    with pytest.raises(DatasetError, match=r"pip install 'gem-envs-qa\[ifeval\]'"):
        check_instructions(gold)
    assert make_grader("qa").grade("Ja.", gold).verdict == "unreadable"
