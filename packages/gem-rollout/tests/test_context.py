"""SlidingWindow, TokenBudget and Summarize: histories that fit a context."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.core import Env, Info
from gem.errors import ArgumentError, ArgumentTypeError, StateError
from gem.wrappers.text_history import ConcatWithAction
from gem_rollout.history.context import SlidingWindow, Summarize, TokenBudget
from gem_rollout.history.token_count import TokenCounter

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


class Script(Env[Any, Any]):
    """Says the given observations and infos, the last one for ever."""

    def __init__(self, *lines: Any) -> None:
        self.lines = [line if isinstance(line, tuple) else (line, {}) for line in lines]
        self.said = 0

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        self.said = 0
        return self.lines[0]

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        self.said = min(self.said + 1, len(self.lines) - 1)
        observation, info = self.lines[self.said]
        return observation, 0.0, False, False, info

    def get_state(self) -> dict[str, Any]:
        return {"said": self.said}

    def set_state(self, state: Any) -> None:
        self.said = state["said"]


def shown(env: Env[Any, Any], actions: Sequence[Any]) -> list[Any]:
    """Everything that the agent sees in an episode with these actions."""
    return [env.reset()[0], *(env.step(action)[0] for action in actions)]


def words(content: str) -> int:
    return len(content.split())


class TestSlidingWindow:
    """The first observation and the latest turns."""

    def test_the_instructions_stay(self) -> None:
        """Unlike with max_history_length."""
        env = SlidingWindow(Script("rules", "1", "2", "3"), turns=2)
        assert shown(env, ["a", "b", "c"]) == ["rules\n", "rules\na\n1\n", "rules\na\n1\nb\n2\n", "rules\nb\n2\nc\n3\n"]

    def test_messages_keep_alternating(self) -> None:
        """The first message is followed by an action."""
        env = SlidingWindow(Script(("rules", {}), "1", ("2", {"prefix": "P", "suffix": "S"})), turns=1, form="messages")
        assert shown(env, ["a", "b"])[-1] == [user("Prules"), assistant("b"), user("2S")]

    def test_a_native_call_and_its_answer_stay_together(self) -> None:
        """A turn falls out as a whole."""
        call = {"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        env = SlidingWindow(Script("rules", "1", "2"), turns=1, form="messages")
        action = assistant("", tool_calls=[call])
        seen = shown(env, [action, action, "b"])
        assert seen[2] == [user("rules"), action, {"role": "tool", "tool_call_id": "x", "content": "2"}]
        assert seen[3] == [user("rules"), assistant("b"), user("2")]

    def test_pictures_stay_parts(self) -> None:
        """In text as in messages."""
        env = SlidingWindow(Script([PICTURE], "1", [PICTURE, text("2")]), turns=1)
        assert shown(env, ["a", "b"])[-1] == [PICTURE, text("b\n"), PICTURE, text("2\n")]

    @given(st.lists(st.tuples(st.text("a\n", max_size=3), st.text("b\n", max_size=3)), max_size=6))
    def test_a_window_as_long_as_the_episode_shows_what_concat_with_action_shows(
        self, turns: list[tuple[str, str]]
    ) -> None:
        """Nothing is lost before the window is full."""
        actions, answers = [turn[0] for turn in turns], [turn[1] for turn in turns]
        window = SlidingWindow(Script("rules", *answers), turns=6)
        assert shown(window, actions) == shown(ConcatWithAction(Script("rules", *answers)), actions)

    def test_arguments_are_checked(self) -> None:
        """The messages name them."""
        with pytest.raises(ArgumentError, match="turns must be at least 1"):
            SlidingWindow(Script(""), turns=0)
        with pytest.raises(ArgumentError, match="form must be one of 'text', 'messages'"):
            SlidingWindow(Script(""), form="chat")  # type: ignore[arg-type]


class TestTokenBudget:
    """As many turns as fit."""

    def test_the_oldest_turns_go_first(self) -> None:
        """What is left is at most the budget."""
        env = TokenBudget(Script("the rules", "one 1", "two 2", "three 3"), max_tokens=8, tokenizer=words)
        assert shown(env, ["a", "b", "c"]) == [
            "the rules\n",
            "the rules\na\none 1\n",
            "the rules\na\none 1\nb\ntwo 2\n",
            "the rules\nb\ntwo 2\nc\nthree 3\n",
        ]

    def test_the_first_and_the_latest_observation_always_stay(self) -> None:
        """The latest action goes if it must, and only observations can exceed the budget."""
        env = TokenBudget(Script("the rules", "one 1", "two 2"), max_tokens=4, tokenizer=words)
        assert shown(env, ["a a a", "b"]) == ["the rules\n", "the rules\none 1\n", "the rules\ntwo 2\n"]
        env = TokenBudget(Script("the rules", "one 1"), max_tokens=1, tokenizer=words)
        assert shown(env, ["a"])[-1] == "the rules\none 1\n"

    def test_messages_alternate_also_without_the_latest_action(self) -> None:
        """The latest observation then stands in the first message, whoever answered."""
        call = {"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        env = TokenBudget(Script("rules", "1", "2"), max_tokens=3, tokenizer=words, form="messages", message_tokens=0)
        seen = shown(env, [assistant("a a", tool_calls=[call]), "b"])
        assert seen == [[user("rules")], [user("rules\n1")], [user("rules"), assistant("b"), user("2")]]

    def test_prefix_and_suffix_count(self) -> None:
        """Both are shown, so both cost."""
        lines = ["rules", "1", ("2", {"suffix": "s s"}), ("3", {"prefix": "p p p p "})]
        env = TokenBudget(Script(*lines), max_tokens=5, tokenizer=words)
        assert shown(env, ["a", "b", "c"])[2:] == ["rules\nb\n2\ns s", "p p p p rules\n3\n"]

    def test_messages_and_pictures_cost_what_is_said(self) -> None:
        """Each message and each picture counts for a fixed number."""
        lines = ["rules", [PICTURE], "2", "3"]
        env = TokenBudget(
            Script(*lines), max_tokens=51, tokenizer=words, form="messages", message_tokens=10, picture_tokens=5
        )
        seen = shown(env, ["a", "b", "c"])
        assert [len(messages) for messages in seen] == [1, 3, 3, 3]
        assert seen[2] == [user("rules"), assistant("b"), user("2")]

    @given(
        st.integers(1, 30),
        st.lists(st.tuples(st.text("a ", max_size=9), st.text("b ", max_size=9)), max_size=10),
    )
    def test_the_budget_holds_and_nothing_goes_without_need(self, budget: int, turns: list[tuple[str, str]]) -> None:
        """What is shown fits, unless nothing more can go; and as long as everything fits, everything is shown."""
        actions, answers = [turn[0] for turn in turns], [turn[1] for turn in turns]
        seen = shown(TokenBudget(Script("r r", *answers), max_tokens=budget, tokenizer=words), actions)
        least = "r r\n" + (answers[-1] + "\n" if turns and answers[-1] else "")
        assert words(seen[-1]) <= max(budget, words(least))
        whole = shown(ConcatWithAction(Script("r r", *answers)), actions)[-1]
        assert seen[-1] == whole or words(whole) > budget

    def test_every_piece_is_counted_once(self) -> None:
        """The tokenizer reads as much at turn 200 as at turn 2."""
        read: list[int] = []

        def count(content: str) -> int:
            read[-1] += len(content)
            return len(content)

        read.append(0)
        env = TokenBudget(Script("rules", "answer"), max_tokens=200, tokenizer=count)
        env.reset()
        for _ in range(200):
            read.append(0)
            env.step("action")
        assert set(read[2:]) == {len("action\nanswer\n")}

    def test_a_state_in_a_new_episode_counts_anew(self) -> None:
        """The budget holds for the instance that takes over."""
        env, twin = (TokenBudget(Script("r r", "1", "2", "3"), max_tokens=5, tokenizer=words) for _ in range(2))
        shown(env, ["a"])
        twin.set_state(json.loads(json.dumps(env.get_state())))
        assert [twin.step(a)[0] for a in "bc"] == [env.step(a)[0] for a in "bc"] == ["r r\nb\n2\n", "r r\nc\n3\n"]

    def test_arguments_are_checked(self) -> None:
        """The messages name them."""
        with pytest.raises(ArgumentError, match="max_tokens"):
            TokenBudget(Script(""), max_tokens=0)
        with pytest.raises(ArgumentError, match="picture_tokens"):
            TokenBudget(Script(""), max_tokens=1, picture_tokens=-1)
        with pytest.raises(ArgumentTypeError, match="tokenizer"):
            TokenBudget(Script(""), max_tokens=1, tokenizer=3)


class TestTokenCounter:
    """Tokenizers of all kinds."""

    def test_without_a_tokenizer_four_characters_are_a_token(self) -> None:
        """Rounded up."""
        count = TokenCounter(None, 7)
        assert [count(content) for content in ("", "a", "abcd", "abcde")] == [0, 1, 1, 2]
        assert count([text("abcd"), PICTURE, text("e"), {"type": "text"}]) == 2 + 2 * 7

    def test_encode_is_preferred_and_special_tokens_do_not_count(self) -> None:
        """Tokenizers that put tokens around every text, and that are callable for something else."""

        class HuggingFace:
            def encode(self, content: str) -> list[int]:
                return [1, *map(ord, content), 2]

            def __call__(self, content: str) -> dict[str, list[int]]:
                raise AssertionError("not to be called")

        assert TokenCounter(HuggingFace(), 0)("abc") == 3

    def test_encode_ordinary_is_preferred_to_encode(self) -> None:
        """What tiktoken's encode does on the text of a special token is to raise."""

        class Tiktoken:
            def encode(self, content: str) -> list[int]:
                raise ValueError("disallowed special token")

            def encode_ordinary(self, content: str) -> list[int]:
                return list(map(ord, content))

        assert TokenCounter(Tiktoken(), 0)("<|endoftext|>") == 13

    def test_lone_surrogates_never_reach_the_tokenizer(self) -> None:
        """Real ones raise on what UTF-8 cannot encode."""
        assert TokenCounter(lambda content: len(content.encode()), 0)("a\ud800b") == 3

    def test_anything_but_a_number_or_a_list_is_refused(self) -> None:
        """At once, when the counter is made."""
        with pytest.raises(ArgumentTypeError, match="NoneType"):
            TokenCounter(lambda content: None, 0)


class TestSummarize:
    """A summary in place of older turns."""

    def summarizer(self, messages: list[dict[str, Any]]) -> str:
        self.given.append(messages)
        return f"summary {len(self.given)}"

    @pytest.fixture(autouse=True)
    def _given(self) -> None:
        self.given: list[list[dict[str, Any]]] = []

    def test_older_turns_are_replaced_once_there_are_too_many(self) -> None:
        """The latest turns stay as they were; the summary stands after the instructions."""
        env = Summarize(Script("rules", "1", "2", "3", "4", "5"), self.summarizer, after_turns=3, keep_turns=1)
        about = "rules\nSummary of the turns so far:\n"
        assert shown(env, "abcde")[3:] == [
            "rules\na\n1\nb\n2\nc\n3\n",
            about + "summary 1\nd\n4\n",
            about + "summary 1\nd\n4\ne\n5\n",
        ]
        first = [user("rules"), *(m for n, a in enumerate("abc", 1) for m in (assistant(a), user(str(n))))]
        assert self.given == [first]

    def test_the_next_summary_builds_on_the_last(self) -> None:
        """The summarizer sees it in the first message."""
        env = Summarize(Script("rules", "1"), self.summarizer, after_turns=1, keep_turns=1, form="messages")
        seen = shown(env, "abc")
        assert seen[-1] == [user("rules\nSummary of the turns so far:\nsummary 2"), assistant("c"), user("1")]
        assert self.given[1] == [user("rules\nSummary of the turns so far:\nsummary 1"), assistant("b"), user("1")]

    def test_tokens_can_be_the_measure(self) -> None:
        """Those of the turns, not of the instructions."""
        env = Summarize(
            Script("r r r r r r", "1 1", "2 2"),
            self.summarizer,
            after_turns=None,
            after_tokens=5,
            keep_turns=1,
            tokenizer=words,
        )
        seen = shown(env, ["a", "b"])
        assert ["Summary" in each for each in seen] == [False, False, True]

    def test_a_new_episode_has_no_summary(self) -> None:
        """Nothing of the last episode is left."""
        env = Summarize(Script("rules", "1"), self.summarizer, after_turns=1, keep_turns=1)
        shown(env, "abc")
        assert env.reset()[0] == "rules\n"

    def test_a_summarizer_that_fails_is_asked_again(self) -> None:
        """Its error is raised, and no turn is lost."""

        def failing(messages: list[dict[str, Any]]) -> str:
            self.given.append(messages)
            if len(self.given) == 1:
                raise ConnectionError("no model")
            return "all well"

        env = Summarize(Script("rules", "1", "2", "3"), failing, after_turns=1, keep_turns=1)
        env.reset()
        env.step("a")
        with pytest.raises(ConnectionError):
            env.step("b")
        assert env.step("c")[0] == "rules\nSummary of the turns so far:\nall well\nc\n3\n"
        assert [len(messages) for messages in self.given] == [3, 5]

    def test_a_state_without_a_summary_is_refused(self) -> None:
        """Before anything is changed."""
        env = Summarize(Script("rules"), self.summarizer)
        with pytest.raises(StateError, match="summary"):
            env.set_state({"env": {"said": 0}, "wrapper": {"first": "", "turns": [], "summary": None}})

    def test_arguments_are_checked(self) -> None:
        """The messages name them."""
        with pytest.raises(ArgumentTypeError, match="summarizer must be callable"):
            Summarize(Script(""), "model")  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="after_turns or after_tokens"):
            Summarize(Script(""), self.summarizer, after_turns=None)
        with pytest.raises(ArgumentError, match="after_turns must be at least 5"):
            Summarize(Script(""), self.summarizer, after_turns=4)
        env = Summarize(Script("", "1"), lambda messages: None, after_turns=1, keep_turns=1)  # type: ignore[arg-type, return-value]
        with pytest.raises(ArgumentTypeError, match="must return a str"):
            shown(env, "ab")
