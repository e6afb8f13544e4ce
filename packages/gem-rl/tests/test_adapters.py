"""What trainers' adapters share: batches in their order, episodes of a trainer's own loop, rows of tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from sampled_episodes import TURNS, PieceTokenizer, Talk, environments
from test_token_books import TEMPLATES

import gem
from gem.errors import ArgumentError, ArgumentTypeError, NotSupportedError, ResetNeededError, TrajectoryError
from gem_rl.adapters import (
    BatchPlayer,
    ChatPrompt,
    SampledTokens,
    TextEpisode,
    episode_returns,
    only_trainer_row,
    requests_of,
    rows_of_tasks,
    trainer_rows,
)
from gem_rollout import EpisodeLimits

ENV = "test:Talk-v0"


class Panic(BaseException):
    """What extensions in Rust raise: no ``Exception``."""


FAULTS = (OSError("the disk is full"), asyncio.CancelledError("of a client"), Panic("index out of bounds"))


class Breaks(Talk):
    """Fails in the second turn."""

    fault: BaseException = FAULTS[0]

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        if self.turn == 1:
            raise self.fault
        return super().step(action)


class Shows(Talk):
    """Answers with a picture."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        said, *rest = super().step(action)
        picture = {"type": "image_url", "image_url": {"url": "data:,"}}
        return [{"type": "text", "text": said}, picture], *rest  # type: ignore[return-value]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Offers the environments."""
    with environments():
        gem.register("test:Breaks-v0", Breaks)
        gem.register("test:Shows-v0", Shows)
        try:
            yield
        finally:
            gem.registry.unregister("test:Breaks-v0")
            gem.registry.unregister("test:Shows-v0")


@pytest.fixture
def tokenizer() -> PieceTokenizer:
    """Return a tokenizer with a template that only appends."""
    return PieceTokenizer(TEMPLATES["growing"])


def numbered(tokenizer: PieceTokenizer, asked: list[list[list[int]]]) -> Any:
    """Return a model that answers the n-th prompt of a call with n, and logs the prompts."""

    def sample(prompts: list[list[int]]) -> list[SampledTokens]:
        asked.append(prompts)
        return [
            SampledTokens(tokenizer.encode(f"{place}<end>", add_special_tokens=False)) for place in range(len(prompts))
        ]

    return sample


@pytest.mark.parametrize("in_a_loop", [False, True])
def test_a_batch_comes_back_in_its_order(tokenizer: PieceTokenizer, in_a_loop: bool) -> None:
    """With the repetitions of a group, and one call of the model a turn, also where a loop runs, as in Jupyter."""
    rows = rows_of_tasks(ENV, 3, seed=5)
    batch = [rows[place] for place in (2, 0, 0, 1, 0)]
    asked: list[list[list[int]]] = []

    def play() -> Any:
        return BatchPlayer(tokenizer).play(requests_of(batch), numbered(tokenizer, asked))

    async def inside() -> Any:
        return play()

    episodes = asyncio.run(inside()) if in_a_loop else play()
    assert [(one.seed, one.repetition) for one in episodes] == [(7, 0), (5, 0), (5, 1), (6, 0), (5, 2)]
    assert [len(prompts) for prompts in asked] == [5] * TURNS
    # The model sees prompts by key: seed 5 three times, then 6, then 7.
    assert [one.transitions[0].action for one in episodes] == ["4", "0", "1", "3", "2"]
    assert asked[0][0] == asked[0][1] == asked[0][2] != asked[0][3]
    assert BatchPlayer(tokenizer).play([], numbered(tokenizer, asked)) == []


def test_a_batch_may_be_larger_than_what_runs(tokenizer: PieceTokenizer) -> None:
    """Each call has the episodes that are running, and every episode is played."""
    asked: list[list[list[int]]] = []
    player = BatchPlayer(tokenizer, concurrency=2, limits=EpisodeLimits(max_turns=2))
    episodes = player.play(requests_of(rows_of_tasks(ENV, 5)), numbered(tokenizer, asked))
    assert [one.seed for one in episodes] == [0, 1, 2, 3, 4]
    assert max(map(len, asked)) <= 2
    assert {one.stop_reason for one in episodes} == {"turns"}


def test_a_fault_of_the_environment_is_in_its_place(tokenizer: PieceTokenizer) -> None:
    """The others are played, and what says nothing about the model has no return."""
    rows = [*rows_of_tasks(ENV, 1), *rows_of_tasks("test:Breaks-v0", 1)]
    episodes = BatchPlayer(tokenizer).play(requests_of(rows), numbered(tokenizer, []))
    assert [one.error is None for one in episodes] == [True, False]
    paid = episode_returns(episodes)
    assert paid[0] == pytest.approx(sum(turn.reward for turn in episodes[0].transitions))
    assert paid[1] is None
    assert episode_returns(episodes, ungradable=0.0)[1] == 0.0


@pytest.mark.parametrize("answers", ["none", "error"])
def test_a_model_that_fails_fails_its_episodes(tokenizer: PieceTokenizer, answers: str) -> None:
    """As faults of the agent, with what the model raised, or the number of answers that is wrong."""

    def sample(prompts: list[list[int]]) -> list[SampledTokens]:
        if answers == "error":
            raise MemoryError("no room on the device")
        return []

    (episode,) = BatchPlayer(tokenizer).play(requests_of(rows_of_tasks(ENV, 1)), sample)
    assert episode.failure is not None
    assert episode.failure.source == "agent"
    assert ("no room on the device" if answers == "error" else "1 prompts and returned 0") in episode.failure.message
    assert only_trainer_row(episode) is None


def test_a_full_context_ends_an_episode(tokenizer: PieceTokenizer) -> None:
    """Truncated, with the rewards that it has."""
    asked: list[list[list[int]]] = []
    player = BatchPlayer(tokenizer, max_context=100)
    (episode,) = player.play(requests_of(rows_of_tasks(ENV, 1)), numbered(tokenizer, asked))
    assert episode.stop_reason == "context"
    assert 0 < len(episode) < TURNS
    assert max(len(prompts[0]) for prompts in asked) < 100
    row = only_trainer_row(episode)
    assert row is not None
    assert sum(row.rewards) == pytest.approx(episode.episode_return)
    assert [place for place, reward in enumerate(row.rewards) if reward] == [
        place
        for place, (turn, later) in enumerate(zip(row.turns, [*row.turns[1:], -1], strict=True))
        if turn >= 0 and turn != later
    ]


def test_a_rewritten_history_is_no_single_row(tokenizer: PieceTokenizer) -> None:
    """It makes a row for each rewrite, and a trainer that takes one is told so."""
    player = BatchPlayer(tokenizer, wrappers=gem.wrapper("sliding_window", turns=1, form="messages"))
    (episode,) = player.play(requests_of(rows_of_tasks(ENV, 1)), numbered(tokenizer, []))
    assert len(trainer_rows(episode)) > 1
    with pytest.raises(TrajectoryError, match=r"was rewritten, which makes \d rows"):
        only_trainer_row(episode)


def test_a_notice_for_one_turn_is_no_rewrite(tokenizer: PieceTokenizer) -> None:
    """What stood at the end of the last message for that turn alone stays as the model saw it."""
    prompt = ChatPrompt(tokenizer)
    first = prompt.extend([{"role": "user", "content": "Go on. Two turns left."}])
    answer = tokenizer.encode("ab<end>", add_special_tokens=False)
    prompt.note(answer)
    talk = [{"role": "user", "content": "Go on."}, {"role": "assistant", "content": "ab"}]
    second = prompt.extend([*talk, {"role": "user", "content": "Go on."}])
    assert second[: len(first) + len(answer)] == first + answer
    prompt.note(answer)
    last = {"role": "user", "content": "Go on."}
    other = prompt.extend([{"role": "user", "content": "Anew."}, talk[1], last, talk[1], last])
    assert other[: len(first)] != first


@pytest.mark.parametrize("said", ["ab", "ab<end>"])
def test_what_follows_an_answer_as_text(tokenizer: PieceTokenizer, said: str) -> None:
    """The end of the turn is not repeated, and a rewritten history is refused."""
    prompt = ChatPrompt(tokenizer)
    talk: list[dict[str, Any]] = [{"role": "user", "content": "Go on"}]
    shown = prompt.first_text(talk)
    for _ in range(2):
        talk = [*talk, {"role": "assistant", "content": "ab"}, {"role": "user", "content": "You said ab"}]
        shown += said + prompt.text_after(talk, said)
        assert shown == tokenizer.apply_chat_template(talk, tokenize=False, add_generation_prompt=True)
    with pytest.raises(ArgumentError, match="has rewritten the history"):
        prompt.text_after(talk[2:], said)


def test_a_prompt_needs_a_template_and_a_known_history(tokenizer: PieceTokenizer) -> None:
    """Both are refused by name."""
    with pytest.raises(ArgumentTypeError, match="SampledPrompt needs a tokenizer with apply_chat_template"):
        ChatPrompt(object())  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="sampled, template, appended, got 'all'"):
        ChatPrompt(tokenizer, "all")  # type: ignore[arg-type]


def test_an_episode_of_a_trainers_own_loop() -> None:
    """The conversation, what is new in it, the record and the figures; one episode after the other."""
    episode = TextEpisode(ENV, agent="mine")
    for seed in (3, 4):
        shown = episode.begin(seed)
        for number in range(TURNS):
            turn = episode.step(f"word {number}")
            assert turn.messages[: len(shown)] == shown
            assert turn.messages[len(shown)] == {"role": "assistant", "content": f"word {number}"}
            assert turn.added == turn.messages[len(shown) + 1 :]
            assert turn.text == f"You said 'word {number}'. Go on."
            assert (turn.done, turn.truncated) == (number == TURNS - 1, False)
            shown = turn.messages
        record = episode.trajectory
        assert (record.seed, record.agent, len(record), episode.gradable) == (seed, "mine", TURNS, True)
        assert episode.metrics() == {
            "return": record.episode_return,
            "turns": TURNS,
            "malformed": 0.0,
            "failed": 0.0,
            "success": 1.0,
        }
        with pytest.raises(ResetNeededError, match="call begin"):
            episode.step("late")
    episode.close()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_a_limit_and_a_fault_end_it(fault: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit truncates it; a fault of the environment pays nothing and says nothing about the agent."""
    limited = TextEpisode(ENV, max_turns=2)
    limited.begin(1)
    first, second = limited.step("a"), limited.step("b")
    assert [(turn.done, turn.truncated) for turn in (first, second)] == [(False, False), (True, True)]
    assert (limited.trajectory.stop_reason, limited.gradable) == ("turns", True)
    monkeypatch.setattr(Breaks, "fault", fault)
    broken = TextEpisode("test:Breaks-v0")
    broken.begin(1)
    broken.step("a")
    turn = broken.step("b")
    assert (turn.reward, turn.done, turn.truncated, turn.added) == (0.0, True, True, [])
    assert not broken.gradable
    assert broken.metrics()["failed"] == 1.0
    assert str(fault) in str(broken.trajectory.error)
    for unused in (TextEpisode(ENV), limited, broken):
        unused.close()


def test_a_picture_is_in_the_messages_and_refused_as_text() -> None:
    """A trainer that takes text alone would drop it unseen."""
    episode = TextEpisode("test:Shows-v0")
    episode.begin(1)
    turn = episode.step("a")
    assert turn.messages[-1]["content"][1]["type"] == "image_url"
    with pytest.raises(NotSupportedError, match="part of type 'image_url' in a message of the role 'user'"):
        print(turn.text)
    episode.close()


def test_an_episode_before_its_beginning() -> None:
    """Neither steps nor has a record."""
    episode = TextEpisode(ENV)
    for use in (lambda: episode.step("a"), lambda: episode.trajectory):
        with pytest.raises(ResetNeededError, match="call begin"):
            use()
    episode.close()
    with pytest.raises(ArgumentError, match="max_turns"):
        TextEpisode(ENV, max_turns=0)


def test_rows_of_tasks_lead_back_to_episodes() -> None:
    """By their columns or by the prompt alone; environments take turns."""
    rows = rows_of_tasks([ENV, "test:Breaks-v0"], 2, seed=8)
    assert [(row["env_id"], row["seed"]) for row in rows] == [
        (name, seed) for seed in (8, 9) for name in (ENV, "test:Breaks-v0")
    ]
    assert requests_of(rows) == requests_of([row["prompt"] for row in rows])
    assert all(row["prompt"][0]["content"].startswith("Say something") for row in rows)
    assert rows[0]["prompt"] != rows[2]["prompt"]
    for nameless in ({"prompt": "x"}, [{"role": "user", "content": "x"}], [], "text"):
        with pytest.raises(ArgumentError, match="names no episode"):
            requests_of([nameless])  # type: ignore[list-item]
    with pytest.raises(ArgumentError, match="tasks"):
        rows_of_tasks(ENV, 0)
