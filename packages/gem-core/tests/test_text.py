"""Reading answers out of text."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gem.text import (
    action_text,
    boxed_pattern,
    extract_code_from_model,
    extract_last_boxed_answer,
    extract_last_tagged_answer,
)

# Short texts from few symbols, so that boxes, braces and backslashes meet in every way.
BRACED = st.lists(st.sampled_from(["\\boxed{", "\\boxed", "{", "}", "\\", "a", " ", "\n", "1"]), max_size=24).map(
    "".join
)
MEGABYTE = 1_000_000


def slow_last_box(text: str) -> str | None:
    """The definition, read literally: from each box, walk to the brace that closes it; the last that has one counts."""
    answer = None
    for box in re.finditer(r"\\boxed\{", text):
        depth = 1
        for position in range(box.end(), len(text)):
            depth += {"{": 1, "}": -1}.get(text[position], 0)
            if depth == 0:
                answer = text[box.end() : position].strip()
                break
    return answer


@given(BRACED)
@example("\\boxed{1}")
@example("\\boxed{\\boxed{1}}")
@example("\\boxed{\\boxed{1}")
@example("\\boxed{1}\\boxed{2")
@example("}\\boxed{1}")
@example("{\\boxed{{}}")
def test_the_last_balanced_box_is_found(text: str) -> None:
    """One pass over the text finds what walking from every box finds."""
    assert extract_last_boxed_answer(text) == slow_last_box(text)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("so \\boxed{42}.", "42"),
        ("\\boxed{ \\frac{1}{2} }", "\\frac{1}{2}"),
        ("\\boxed{1} or rather \\boxed{2}", "2"),
        ("\\boxed{}", ""),
        ("\\boxed 5", None),
        ("\\fbox{5}", None),
        ("\\boxed{5", None),
        ("", None),
        (None, None),
        (b"\\boxed{1}", None),
        ("<think>\\boxed{1}</think> so \\boxed{2}", "2"),
        ("<think>\\boxed{1}</think> no idea", None),
        ("maybe \\boxed{1}</think> no idea", None),
        ("```\n\\boxed{1}\n```</think>", None),
        ("```\n\\boxed{1}\n``` </think> so \\boxed{2}", "2"),
        ("```\n\\boxed{1}\n```x</think>", "1"),
        ("\\boxed{1} <think> or \\boxed{2}", "1"),
        ("<think>\\boxed{1}", None),
        ({"role": "assistant", "content": "\\boxed{7}"}, "7"),
        ({"content": [{"type": "text", "text": "\\boxed{"}, {"type": "text", "text": "8}"}]}, "8"),
    ],
)
def test_what_counts_as_a_box(text: Any, answer: str | None) -> None:
    r"""Only \boxed{…} with balanced braces counts, in a str or in an assistant message, and outside of reasoning."""
    assert extract_last_boxed_answer(text) == answer


@given(BRACED)
def test_a_boxed_pattern_finds_the_last_box_that_fits(text: str) -> None:
    """The compiled pattern agrees with a loop over all boxes whose content fits."""
    fitting = re.findall(r"\\boxed\{([a1]+)\}", text)
    match = boxed_pattern("([a1]+)").match(text)
    assert (match[1] if match else None) == (fitting[-1] if fitting else None)


@pytest.mark.parametrize(
    ("text", "tag", "answer"),
    [
        ("<answer> 4 </answer>", "answer", "4"),
        ("<answer>1</answer><answer>2</answer>", "answer", "2"),
        ("<answer>1</answer><answer>2", "answer", "1"),
        ("<answer>1<answer>2</answer>", "answer", "2"),
        ("<answer>1</answer> </answer>", "answer", "1"),
        ("</answer><answer>", "answer", None),
        ("<search>q</search>", "search", "q"),
        ("<think><answer>1</answer></think> <answer>2</answer>", "answer", "2"),
        ("<think><answer>1</answer></think> 2", "answer", None),
        ("<think>1</think> 2", "think", "1"),
        ("", "answer", None),
        (None, "answer", None),
    ],
)
def test_the_last_tagged_answer(text: Any, tag: str, answer: str | None) -> None:
    """The last opening tag that is closed, and the first closing tag after it, delimit the answer."""
    assert extract_last_tagged_answer(text, tag) == answer


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("```python\nprint(1)\n```", "print(1)"),
        ("```\nx\n```", "x"),
        ("``` python \nx\n```", "x"),
        ("```a\n1\n``` and ```b\n2\n```", "2"),
        ("```a\n1\n``` and ```b\n2", "1"),
        ("```print(1)```", None),
        ("```python\nx", None),
        ("", None),
        (7, None),
    ],
)
def test_the_last_closed_code_block(text: Any, code: str | None) -> None:
    """A fence with an optional language at the end of its line opens a block; one that never closes is none."""
    assert extract_code_from_model(text) == code


@given(st.text(alphabet="`\n ap", max_size=40))
def test_code_is_part_of_the_text(text: str) -> None:
    """What comes back stands in the text between two fences."""
    code = extract_code_from_model(text)
    assert code is None or code in text


@pytest.mark.parametrize(
    ("action", "text"),
    [
        ("a", "a"),
        ("", ""),
        ({"content": "a"}, "a"),
        ({"content": None}, None),
        ({}, None),
        ({"content": [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]}, "ab"),
        ({"content": [{"type": "text"}, 7, None]}, ""),
        (None, None),
        (b"a", None),
        (7, None),
        (["a"], None),
    ],
)
def test_the_text_of_an_action(action: object, text: str | None) -> None:
    """A str is its own text, a message's text parts are joined, and everything else has none."""
    assert action_text(action) == text


LONG = {
    "open boxes": "\\boxed{" * (MEGABYTE // 7),
    "nested boxes": "\\boxed{" * (MEGABYTE // 14) + "}" * (MEGABYTE // 14),
    "open braces": "\\boxed" + "{" * MEGABYTE,
    "open tags": "<answer>" * (MEGABYTE // 8),
    "closing tags": "</answer>" * (MEGABYTE // 9),
    "backticks": "`" * MEGABYTE,
    "fences": "```\n" * (MEGABYTE // 4),
    "fence and blanks": "```" + " " * MEGABYTE,
    "fences and blanks": "```   " * (MEGABYTE // 6),
    "fence and letters": "```" + "a" * MEGABYTE,
    "backslashes": "\\" * MEGABYTE,
}


@pytest.mark.parametrize("name", LONG)
def test_work_grows_in_step_with_the_text(name: str) -> None:
    """Sixteen times the text takes nowhere near the 256 times as long that quadratic work would."""
    import time

    def seconds(text: str) -> float:
        begin = time.process_time()
        extract_last_boxed_answer(text)
        extract_last_tagged_answer(text)
        extract_code_from_model(text)
        boxed_pattern(r"(\d+) (\d+)").match(text)
        return time.process_time() - begin

    text = LONG[name]
    limit = 64 * min(seconds(text[: len(text) // 16]) for _ in range(5)) + 1e-3
    assert any(seconds(text) < limit for _ in range(5))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<think>\\boxed{1}</think>\\boxed{2}", "2"),
        ("\\boxed{1} hm </think> So \\boxed{2}", "2"),
        ("<think>\\boxed{1}", None),
        ("\\boxed{2} [THINK]\\boxed{1}[/THINK]", "2"),
        ("`<think>` marks reasoning. \\boxed{2}", "2"),
        ("The answer is `\\boxed{2}`", "2"),
        ("<|channel|>analysis<|message|>\\boxed{1}<|end|><|start|>assistant<|channel|>final<|message|>\\boxed{2}", "2"),
    ],
)
def test_a_box_in_the_reasoning_is_no_answer(text: str, answer: str | None) -> None:
    """Also where the reasoning began in the prompt, or never ends."""
    assert extract_last_boxed_answer(text) == answer
