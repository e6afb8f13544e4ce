"""What rules without thought earn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gem.core import Env
from gem.env_spec import EnvSpec
from gem.errors import NotSupportedError
from gem.registry import make
from gem.text import extract_last_boxed_answer, extract_last_tagged_answer
from gem_questions import Grade, OraclePolicy, QuestionEnv
from gem_questions.thoughtless import thoughtless_shares


class Asks(QuestionEnv):
    """Asks what its rows say, and takes the answer in a box, between tags, or as it is."""

    def __init__(self, rows: list[dict[str, Any]], form: str = "\\boxed{%s}", pays: float = 1.0) -> None:
        self.form, self.pays = form, pays
        super().__init__(rows, shuffle=False)

    def question(self, row: Mapping[str, Any]) -> str:
        return str(row["q"])

    def reference_answer(self, row: Mapping[str, Any]) -> str:
        return "I think so. " * (self.form != "%s") + self.form % row["a"]

    def grade(self, action: Any, row: Mapping[str, Any]) -> Grade:
        said = {"\\": extract_last_boxed_answer, "<": lambda text: extract_last_tagged_answer(text, "answer")}
        answer = said.get(self.form[0], str)(action)
        return Grade(self.pays if answer == row["a"] else -0.5, answer == row["a"])


def asked(rows: list[dict[str, Any]], form: str = "\\boxed{%s}", pays: float = 1.0) -> Env[Any, Any]:
    """Make an environment of rows, with the policy that reads them."""
    policy = f"{OraclePolicy.__module__}:{OraclePolicy.__qualname__}"
    return make(
        EnvSpec(
            "test:Asks",
            Asks,
            kwargs={"rows": rows, "form": form, "pays": pays},
            turns="single",
            reward_range=(-0.5, pays),
            reference_policy=policy,
            reference_sees="state",
        )
    )


@pytest.mark.parametrize("form", ["\\boxed{%s}", "<answer>%s</answer>", "%s"])
@pytest.mark.parametrize("pays", [1.0, 4.0])
def test_the_most_frequent_answer_is_found_in_every_form(form: str, pays: float) -> None:
    """Its share is that of its questions, whatever the highest reward is; a negative reward counts as nothing."""
    rows = [{"q": f"Is {chr(97 + i % 26)}{chr(97 + i // 26)} so?", "a": "no" if i % 4 else "yes"} for i in range(64)]
    found = thoughtless_shares(asked(rows, form, pays))
    assert (found.rule, found.share, found.questions) == ("constant", 0.75, 64)


def test_each_kind_has_a_constant_of_its_own() -> None:
    """The row's kind decides which questions count together."""
    rows = [{"q": f"Say it, {chr(97 + i)}.", "a": "abcd"[i // 2 % 4], "kind": i // 2 % 4} for i in range(24)]
    assert thoughtless_shares(asked(rows), questions=24).shares["constant"] == 1.0
    for row in rows:
        del row["kind"]
    assert thoughtless_shares(asked(rows), questions=24).shares["constant"] == 0.25


def test_the_constant_is_no_answer_that_chance_repeats() -> None:
    """Where every answer differs, and where a small set asks its questions again, no constant earns anything."""
    rows = [{"q": f"What is {chr(97 + i)}?", "a": f"x{i}"} for i in range(20)]
    found = thoughtless_shares(asked(rows))
    assert (found.share, found.questions) == (0.0, 20)


@pytest.mark.parametrize(
    ("question", "answer", "rule"),
    [
        ("What is {n} + 0, and not 7?", "{n}", "the first number of the question"),
        ("Of 3 and {n}?", "{n}", "the last number of the question"),
        ("List {n}, −4 and 1/2.", "{n}, -4, 1/2", "all numbers of the question"),
        ("Simplify $x + {n}$ to $y$.", "x + {n}", "the first formula of the question"),
        ("Simplify \\(y\\) and \\[x^{n}\\]", "x^{n}", "the last formula of the question"),
        ("If $a$, is $a+{n}$ an $e$?", "a+{n}", "the longest formula of the question"),
        ("Echo-{n}", "Echo-{n}", "a copy of the question"),
        ("Is it red{n} or blue?", "red{n}", "the first of two options"),
        ("Is it red, or blue{n}?", "blue{n}", "the second of two options"),
    ],
)
def test_copies_are_tried(question: str, answer: str, rule: str) -> None:
    """Each rule finds the questions that it answers."""
    rows = [{"q": question.replace("{n}", str(n)), "a": answer.replace("{n}", str(n))} for n in range(11, 27)]
    shares = thoughtless_shares(asked(rows)).shares
    assert shares[rule] == max(shares.values()) == 1.0
    assert shares["constant"] == 0.0


def test_pictures_tell_questions_apart() -> None:
    """The same words under another picture are another question."""
    rows = [{"q": f"data:{n}", "a": "same" if n % 2 else "other"} for n in range(40)]
    env = asked(rows)
    env.question = lambda row: [  # type: ignore[attr-defined]
        {"type": "text", "text": "Which is it?"},
        {"type": "image_url", "image_url": {"url": row["q"]}},
    ]
    assert thoughtless_shares(env).questions == 40


def test_an_environment_without_a_reference_policy_cannot_be_judged() -> None:
    """Neither the answers nor their form are known."""
    with pytest.raises(NotSupportedError, match="reference policy"):
        thoughtless_shares(Asks([{"q": "?", "a": "!"}]))


def test_a_slow_environment_asks_fewer_questions() -> None:
    """Eight at least."""
    rows = [{"q": str(n), "a": "x"} for n in range(50)]
    assert thoughtless_shares(asked(rows), seconds=0.0).questions == 8
