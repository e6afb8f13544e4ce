"""FoldedHistory: notes that keep every reference, and unfolding."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.core import Env, Info
from gem.errors import ArgumentError, ArgumentTypeError, EpisodeFinishedError, ResetNeededError, StateError
from gem_rollout.history.folding import FoldedHistory
from gem_rollout.history.references import ReferenceReader

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


class Archive(Env[Any, Any]):
    """Answers with the given observations, one after the other, and notes the actions that reach it."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.heard: list[Any] = []

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        super().reset(seed=seed)
        self.heard = []
        return "rules", {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        self.heard.append(action)
        return self.answers[len(self.heard) - 1], 1.0, len(self.heard) == len(self.answers), False, {}

    def get_state(self) -> dict[str, Any]:
        return {"heard": list(self.heard)}

    def set_state(self, state: Any) -> None:
        self.heard = list(state["heard"])


def played(env: Env[Any, Any], actions: Sequence[Any]) -> Any:
    """Play a new episode and return the last observation."""
    observation, _ = env.reset()
    for action in actions:
        observation = env.step(action)[0]
    return observation


def heard(env: Env[Any, Any]) -> list[Any]:
    """Return the actions that reached the environment."""
    assert isinstance(env.unwrapped, Archive)
    return env.unwrapped.heard


def notes(shown: str) -> list[str]:
    return shown.partition("uses a turn of it.\n")[2].splitlines()


def folded(*answers: Any, **arguments: Any) -> FoldedHistory:
    return FoldedHistory(Archive(*answers), **{"after_turns": 1, "keep_turns": 1, **arguments})


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("[12] Elder Yard: founded 1890 [a17, b2]; see [@smith].", ["12", "a17", "b2", "@smith"]),
        ("at https://a.example/b?c=[1] and (http://b.example/x), or <https://c.example/(d)>.",
         ["https://a.example/b?c=", "1", "http://b.example/x", "https://c.example/(d)"]),
        ("doi 10.1000/xyz.12, arXiv:2510.24699v1", ["10.1000/xyz.12", "arXiv:2510.24699v1"]),
        ("[INFO] [ ] [x] [0.25] [1, x] [] [[7]] [" + "9" * 70 + "]", ["7"]),
        ("[unclosed 12 \n 13]", []),
        ("\ud800[5]\ud800", ["5"]),
    ],
)  # fmt: skip
def test_references_are_keys_and_addresses(text: str, names: list[str]) -> None:
    """Words and decimal numbers in brackets are none."""
    assert [one.name for one in ReferenceReader()(text)] == names


def test_an_environment_may_have_references_of_its_own() -> None:
    """The first group is the name, and the whole match is shown."""
    env = folded("open file#ab12 now", "2", "3", references=r"file#(\w+)")
    assert notes(played(env, ["look", "go"]))[0] == "1. look → file#ab12 now"
    assert env.step("<unfold>ab12</unfold>")[0].endswith("From turn 1:\nopen file#ab12 now\n")


def test_a_note_has_the_action_and_each_reference_with_what_follows_it_first() -> None:
    """Reasoning is left out; what stands in the action is not said again."""
    env = folded("found:\n[1] Elder Yard: a yard\n[2] New Yard", "[1] Elder Yard\n[3] Ada", "3", keep_turns=1)
    shown = played(env, ["<think>hm [9]</think><search>yard</search>", "- [2] is new\n<search>ada</search>", "x"])
    assert notes(shown)[:2] == [
        "1. <search>yard</search> → [1] Elder Yard: a yard; [2] New Yard; [9]",
        "2. - [2] is new <search>ada</search> → [1]; [3] Ada",
    ]
    assert shown.endswith("x\n3\n")


def test_a_turn_without_references_is_noted_by_its_beginning() -> None:
    """In one line, cut where it must be."""
    env = folded("total 4\nfile  a\nfile b", "2", label_characters=13)
    assert notes(played(env, ["ls " + "x" * 400, "go"]))[0] == f"1. ls {'x' * 297}… → total 4 file…"


def test_nothing_is_folded_before_there_are_too_many_turns() -> None:
    """By turns or by tokens."""
    env = folded("1", "2", "3", after_turns=2)
    assert played(env, ["a", "b"]) == "rules\na\n1\nb\n2\n"
    assert notes(env.step("c")[0])[:2] == ["1. a → 1", "2. b → 2"]
    env = folded("1 1 1", "2 2", after_turns=None, after_tokens=5, tokenizer=lambda text: len(text.split()))
    assert notes(played(env, ["a", "b"]))[:1] == ["1. a → 1 1 1"]


@given(st.data())
def test_no_reference_is_ever_lost(data: st.DataObject) -> None:
    """Each is shown, or its turn says that it has more; and each is unfolded with its line."""
    keys = st.sampled_from(["[1]", "[2, a3]", "https://a.example/b", "[@x]", "[10]", "[INFO]"])
    text = st.lists(st.one_of(keys, st.text(alphabet="ab[]1 \n<>/…\ud800", max_size=6)), max_size=4).map(" ".join)
    turns = data.draw(st.lists(st.tuples(text, text), min_size=1, max_size=6))
    env = folded(
        *(answer for _, answer in turns),
        "end",
        note_tokens=data.draw(st.sampled_from([1, 20, 1000])),
        action_characters=data.draw(st.integers(1, 60)),
        reference_characters=data.draw(st.sampled_from([5, 1000])),
        max_unfolds=1000,
    )
    reader = ReferenceReader()
    shown = played(env, [said for said, _ in turns if "<unfold>" not in said])
    while_shown = {one.name for one in reader(shown)}
    for number, (said, answer) in enumerate(turns, 1):
        for one in [*reader(said), *reader(answer)]:
            if one.name not in while_shown:
                assert re.search(rf"^{number}\. .* and \d+ more$|more in the turns .*\b{number}\b", shown, re.MULTILINE)
            again, _, _, _, info = env.step(f"<unfold>{one.name}</unfold>")
            assert info["unfolded"] == [one.name]
            assert one.name in {found.name for found in reader(again.rpartition("</unfold>\n")[2])}


def test_an_unfolding_does_not_reach_the_environment() -> None:
    """It earns nothing, and its answer is a turn of the history."""
    env = folded("[1] Elder Yard\n[2] New Yard: of 1890", "2", "[2] again", "end")
    played(env, ["a", "b", "c"])
    shown, reward, terminated, truncated, info = env.step("I want both.\n<unfold>[1], 2; nothing\nturn 2</unfold> ")
    assert (reward, terminated, truncated, info) == (0.0, False, False, {"unfolded": ["1", "2", "turn 2"]})
    assert shown.endswith(
        "From turn 1:\n[1] Elder Yard\nFrom turn 3:\n[2] again\nFrom turn 1:\n[2] New Yard: of 1890\n"
        "No earlier turn has 'nothing'.\nTurn 2:\nb\n2\n"
    )
    assert heard(env) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "action",
    [
        "<unfold>1</unfold> <search>x</search>",
        "<think><unfold>1</unfold></think>",
        "`<unfold>1</unfold>`",
        "<unfold>1",
        {"role": "assistant", "content": "<unfold>1</unfold>", "tool_calls": [{"function": {"name": "f"}}]},
        None,
        b"<unfold>1</unfold>",
    ],
)
def test_only_an_action_that_ends_with_an_unfolding_is_one(action: Any) -> None:
    """What is thought, quoted, unfinished or followed by an act goes to the environment."""
    env = folded("[1]", "2", "3")
    played(env, ["a", "b"])
    env.step(action)
    assert heard(env) == ["a", "b", action]


def test_a_message_may_unfold() -> None:
    """As text; the answer is a message of the user."""
    env = folded("[1] one", "2", "3", form="messages")
    played(env, ["a", "b"])
    shown = env.step({"role": "assistant", "content": "<unfold>1</unfold>"})[0]
    assert [message["role"] for message in shown] == ["user", "assistant", "user"]
    assert shown[-1]["content"] == "From turn 1:\n[1] one\n"


def test_hostile_unfoldings_are_answered_within_bounds() -> None:
    """Nothing, thousands of names, a turn that is not there, a megabyte in one line."""
    env = folded("[1] " + "x" * 1_000_000 + " [2]", "2", "end")
    played(env, ["a", "b"])
    for wanted in ("", " , ", ", ".join(map(str, range(5000))), "turn 0", "turn 999999999", "\ud800", "1", "2"):
        shown = env.step(f"<unfold>{wanted}</unfold>")[0]
        assert len(shown.rpartition("</unfold>")[2]) < 10_000
    assert len(env.step("<unfold>turn 1</unfold>")[0]) > 1_000_000


def test_unfoldings_are_limited() -> None:
    """The environment gets what is beyond."""
    env = folded("[1]", "2", max_unfolds=2)
    env.reset()
    env.step("a")
    for _ in range(3):
        _, reward, *_ = env.step("<unfold>1</unfold>")
    assert reward == 1.0
    assert heard(env) == ["a", "<unfold>1</unfold>"]


def test_an_unfolding_outside_an_episode_is_refused() -> None:
    """Before the first reset, and after the end."""
    env = folded("[1]")
    with pytest.raises(ResetNeededError):
        env.step("<unfold>1</unfold>")
    env.reset()
    assert env.step("a")[2]
    with pytest.raises(EpisodeFinishedError):
        env.step("<unfold>1</unfold>")


def test_long_notes_become_references_and_the_agents_own_lines_about_them() -> None:
    """What the agent wrote beside a reference is its finding; an unfolding is none."""
    env = folded("[1] one\n[2] two", "2 [1]", "3", "4", note_tokens=10, max_unfolds=9)
    said = ["plan\n- A | b | c [2]\nls", "<think>[8]</think>x", "- A | b | c [2]", "y"]
    assert notes(played(env, said))[:3] == ["1 to 3. [1] [8]", "- A | b | c [2]", "y"]


def test_pictures_come_back_with_their_turn() -> None:
    """A note is text alone."""
    env = folded([PICTURE, {"type": "text", "text": "[1] map"}], "2", "3")
    assert notes(played(env, ["a", "b"]))[0] == "1. a → [1] map"
    assert PICTURE in env.step("<unfold>turn 1</unfold>")[0]


class Writer:
    """Writes summaries as a model would, and keeps what it was given."""

    def __init__(self, *texts: Any) -> None:
        self.texts = list(texts)
        self.given: list[list[dict[str, Any]]] = []

    def __call__(self, messages: list[dict[str, Any]]) -> str:
        self.given.append(messages)
        text = self.texts.pop(0)
        if isinstance(text, Exception):
            raise text
        return text  # type: ignore[no-any-return]  # a number, for a model that returns one


def test_references_that_a_model_leaves_out_of_its_note_are_added() -> None:
    """The note is of all turns that are folded together."""
    writer = Writer("Two yards, one of them [2].")
    env = folded("[1] Elder Yard\n[2] New", "[1] again, [3] Ada", "3", after_turns=2, noter=writer)
    shown = notes(played(env, "abc"))
    assert shown[:2] == ["1 to 2. Two yards, one of them [2].", "References: [1] Elder Yard; [3] Ada"]
    given = ["rules", "a", "[1] Elder Yard\n[2] New", "b", "[1] again, [3] Ada"]
    assert [message["content"] for message in writer.given[0]] == given


def test_a_model_that_fails_is_asked_again() -> None:
    """Its error is raised, and no turn is lost."""
    writer = Writer(ConnectionError("no model"), "all well", 3)
    env = folded("[1]", "[2]", "[3]", "[4]", noter=writer)
    env.reset()
    env.step("a")
    with pytest.raises(ConnectionError):
        env.step("b")
    assert notes(env.step("c")[0])[:2] == ["1 to 2. all well", "References: [1]; [2]"]
    with pytest.raises(ArgumentTypeError, match="noter must return a str"):
        env.step("d")


def test_a_state_from_a_folded_episode_goes_on() -> None:
    """Through JSON: notes, findings, counted unfoldings and what they lead to."""
    answers = [f"[{number}] thing {number}" for number in range(9)]
    env, twin = (folded(*answers, note_tokens=30, max_unfolds=2) for _ in range(2))
    played(env, ["- found [0]", "b", "c", "<unfold>0</unfold>", "d"])
    twin.set_state(json.loads(json.dumps(env.get_state())))
    for action in ["<unfold>0, turn 2</unfold>", "<unfold>0</unfold>", "e", "f"]:
        assert twin.step(action) == env.step(action)
    assert twin.get_state() == env.get_state()


@pytest.mark.parametrize(
    "damage", [{"bare": 9}, {"notes": [[1, None]]}, {"unfolds": -1}, {"folded": [[]]}, {"phase": "asleep"}]
)
def test_a_damaged_state_is_refused(damage: dict[str, Any]) -> None:
    """Before anything is changed."""
    env = folded("[1]", "2", "3")
    played(env, "ab")
    before = env.get_state()
    with pytest.raises(StateError):
        env.set_state({**before, "wrapper": {**before["wrapper"], **damage}})
    assert env.get_state() == before


def test_arguments_are_checked() -> None:
    """The messages name them."""
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"references": "("}, "not a regular expression"),
        ({"references": "a*"}, "must not match the empty text"),
        ({"note_tokens": 0}, "note_tokens"),
        ({"max_unfolds": -1}, "max_unfolds"),
        ({"after_turns": None}, "after_turns or after_tokens"),
        ({"keep_turns": 2}, "after_turns must be at least 2"),
    ]
    for arguments, message in wrong:
        with pytest.raises(ArgumentError, match=message):
            folded("", **arguments)
    with pytest.raises(ArgumentTypeError, match="noter must be callable"):
        folded("", noter="model")
    with pytest.raises(ArgumentTypeError, match="references must be"):
        folded("", references=3)


def test_many_environments_fold_each_for_itself() -> None:
    """In a batch as alone."""
    gem.register("fold:Archive-v0", lambda: Archive("[1] one", "[2] two", "[3] three", "end"))
    try:
        wrappers = gem.wrapper("fold", after_turns=1, keep_turns=1)
        batch = gem.make_vec("fold:Archive-v0", num_envs=2, wrappers=wrappers, mode="thread")
        batch.reset(seed=0)
        batch.step(["a", "b"])
        batch.step(["c", "d"])
        shown = batch.step(["<unfold>1</unfold>", "e"])[0]
        assert "<unfold>1</unfold>\nFrom turn 1:\n[1] one\n" in shown[0]
        assert "1. b → [1] one\n2. d → [2] two\n" in shown[1]
        batch.close()
    finally:
        gem.unregister("fold:Archive-v0")
