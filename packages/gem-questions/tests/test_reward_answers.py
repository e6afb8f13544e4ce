"""Rewards that compare answers: the answer in the text, and the right one, from the record or from the environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.errors import ArgumentError, ArgumentTypeError, TrajectoryError
from gem.policies import ScriptedPolicy
from gem_questions import Grade, QuestionEnv, open_rows
from gem_questions.rewards import AnswerReward, RecordedQuestions, Score
from gem_questions.rewards.answers import final_text
from gem_rollout import play_episode
from gem_rollout.trajectory import Trajectory, Transition

ROWS = [{"problem": f"What is {n} + 1?", "answer": str(n + 1), "other": n} for n in range(20)]


class Sums(QuestionEnv):
    """Sums; the column of the answer has a name of its own."""

    answer_key = "answer"

    def __init__(self, count: int = 20, seed: int | None = None, key: str | None = "answer") -> None:
        self.answer_key = key  # type: ignore[assignment]
        super().__init__(open_rows(ROWS[:count]), seed=seed)

    def question(self, row: Mapping[str, Any]) -> str:
        return str(row["problem"])

    def grade(self, action: Any, row: Mapping[str, Any]) -> Grade:
        return Grade(1.0, True)

    def reference_answer(self, row: Mapping[str, Any]) -> str:
        return f"\\boxed{{{row['answer']}}}"


class SameText(AnswerReward):
    """1.0 for the same text."""

    def grade(self, said: str, gold: Any) -> Score:
        return Score(float(said == str(gold)))


@pytest.fixture(autouse=True)
def sums() -> Iterator[None]:
    """The environment under its id."""
    gem.register("answers:Sums", Sums)
    yield
    gem.unregister("answers:Sums")


def said(*actions: Any, info: dict[str, Any] | None = None, **fields: Any) -> Trajectory:
    """Return an episode of these actions."""
    turns = [Transition("o", action, 0.0, False, False, info or {}) for action in actions]
    return Trajectory(None, 0, turns, **fields)


def played(seed: int = 0, action: str = "\\boxed{1}", **kwargs: Any) -> Trajectory:
    """Play an episode of the environment, and return it as a file has it."""
    with gem.make("answers:Sums", **kwargs) as env:
        episode = play_episode(env, ScriptedPolicy([action]), seed=seed)
    return Trajectory.from_dict(episode.to_dict())


@pytest.mark.parametrize(
    ("extract", "text", "answer"),
    [
        ("auto", "so \\boxed{4} and \\boxed{5}.", "5"),
        ("auto", "<answer>4</answer> <answer>5</answer>", "5"),
        ("auto", " 5 ", "5"),
        ("boxed", "<answer>4</answer>", None),
        ("tag:final", "<final>5</final>", "5"),
        ("code", "```python\n5\n```", "5"),
        ("last_line", "thus\n 5 \n", "5"),
        ("last_line", "", None),
        ("text", " 4 and 5 ", "4 and 5"),
        (r"regex:Answer: (\w+)", "Answer: 4\nAnswer: 5", "5"),
        (r"regex:\d", "4 5", "5"),
        (r"regex:\d", "none", None),
        (r"regex:(x)?5", "5", None),
    ],
)
def test_the_answer_is_a_part_of_the_text(extract: str, text: str, answer: str | None) -> None:
    """Each way of extraction finds its part, and no answer where there is none."""
    score = SameText(answer="5" if answer is None else answer, extract=extract).score(said(text))
    assert score.value == float(answer is not None)
    assert score.readable
    if answer is None:
        assert "no answer" in score.reasons[0]


@given(st.text(), st.sampled_from(["auto", "boxed", "tag:a", "code", "last_line", "text", r"regex:(\S+)$"]))
def test_no_text_breaks_the_extraction(text: str, extract: str) -> None:
    """Whatever a model writes, the score is readable."""
    assert SameText(answer="x", extract=extract).score(said(text, None, 3, {"content": None})).readable


@pytest.mark.parametrize("extract", ["box", "tag:", "regex:", "regex:(", "tag", ""])
def test_an_unknown_extraction_is_refused(extract: str) -> None:
    """The error lists the known ones, or names the fault of the pattern."""
    with pytest.raises(ArgumentError, match="extract"):
        SameText(answer="x", extract=extract)
    with pytest.raises(ArgumentTypeError, match="extract"):
        SameText(answer="x", extract=3)  # type: ignore[arg-type]


def test_the_last_action_with_text_counts() -> None:
    """Tool calls without text after it hide no answer."""
    message = {"role": "assistant", "content": [{"type": "text", "text": "five"}]}
    assert final_text(said("four", message, {"role": "assistant", "content": None, "tool_calls": []})) == "five"
    assert final_text(said()) == ""


@pytest.mark.parametrize(
    ("trajectory", "answer_from"),
    [
        (said("5", info={"answer": "5"}), None),
        (said("5", info={"x": 1}, reset_info={"gold": "5"}), None),
        (said("5", metadata={"target": "5", "other": 3}), None),
        (said("5", info={"answer": "4", "key": "5"}), "info:key"),
        (said("5", info={"answer": "4"}, reset_info={"key": "5"}), "info:key"),
        (said("5", info={"answer": "4"}, metadata={"key": "5"}), "metadata:key"),
    ],
)
def test_the_right_answer_is_in_the_record(trajectory: Trajectory, answer_from: str | None) -> None:
    """Info of the last step, then of the reset, then metadata; or the place that is named."""
    assert SameText(answer_from=answer_from).score(trajectory).value == 1.0


@pytest.mark.parametrize("answer_from", ["info", "info:", "key", "rows:x", 3])
def test_a_wrong_place_is_refused(answer_from: Any) -> None:
    """The error lists the places."""
    with pytest.raises(ArgumentError, match="row:COLUMN"):
        SameText(answer_from=answer_from)
    with pytest.raises(ArgumentError, match="either"):
        SameText(answer="5", answer_from="info:x")


@pytest.mark.parametrize("seed", [0, 5, 11])
@pytest.mark.parametrize("key", ["answer", None])
def test_the_environment_has_the_right_answer(seed: int, key: str | None) -> None:
    """The recorded question is asked again, and its row, or its reference answer, has the answer."""
    trajectory = played(seed, key=key)
    right = str(int(trajectory.transitions[0].observation.split()[2]) + 1)
    reward = SameText()
    assert reward.gold(trajectory) == right
    assert SameText(answer_from="row:other").gold(trajectory) == int(right) - 1
    reward.close()
    assert reward.gold(trajectory) == right


def test_wrappers_do_not_hide_the_question() -> None:
    """What the agent saw as a chat still holds the question."""
    with gem.make("answers:Sums", wrappers="messages") as env:
        trajectory = play_episode(env, ScriptedPolicy(["x"]), seed=3)
    assert SameText().gold(trajectory) is not None


def test_another_question_than_the_recorded_one_is_unreadable() -> None:
    """Where the set has changed since the recording, the answer is not compared with that of another question."""
    trajectory = played(3)
    trajectory.transitions[0].observation = "What is 1000 + 1?"
    assert trajectory.spec is not None
    record = trajectory.to_dict()
    record["spec"]["recorded_digest"] = "0" * 64
    score = SameText().score(Trajectory.from_dict(record))
    assert score.metadata["unreadable"] == "no_answer_known"
    assert "another question" in score.reasons[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "answers:Gone"}, "cannot be made"),
        ({"kwargs": {"count": -3, "wrong": 1}}, "cannot be made"),
        ({"kwargs": {"count": 1}}, "cannot be asked again"),
        ({"id": "../../x"}, "cannot be made"),
    ],
)
def test_an_environment_that_cannot_be_asked_is_unreadable(change: dict[str, Any], message: str) -> None:
    """The score says why."""
    record = played(3).to_dict()
    record["spec"].update(change)
    record["reset_info"]["index"] = 15
    score = SameText().score(Trajectory.from_dict(record))
    assert score.metadata["unreadable"] == "no_answer_known"
    assert message in score.reasons[0]


def test_a_record_makes_only_installed_environments() -> None:
    """A record from elsewhere may name any entry point; it is never called."""
    record = played(3).to_dict()
    record["spec"].update({"id": "answers:Gone", "entry_point": f"{__name__}:explode", "kwargs": {}})
    with pytest.raises(TrajectoryError, match="answers:Gone"):
        SameText().gold(Trajectory.from_dict(record))


def explode() -> None:
    """Fail, as it must not be called."""
    raise SystemExit("called")


def test_an_episode_without_an_environment_has_no_answer() -> None:
    """Neither a record without a spec nor an environment without questions ends in an exception."""
    assert not SameText().score(said("5")).readable
    assert not SameText(answer_from="metadata:nothing").score(said("5")).readable


def test_few_environments_stay_open() -> None:
    """Of many environments the latest eight are kept, and closed in the end."""
    closed: list[int] = []

    class Closing(Sums):
        def close(self) -> None:
            closed.append(1)

    gem.register("answers:Sums", Closing, replace=True)
    questions = RecordedQuestions()
    for count in range(1, 12):
        trajectory = played(0, count=count)
        closed.clear()
        assert questions.ask(trajectory, lambda env, row: row["answer"])
    questions.close()
    assert len(closed) == 1 + 8
