"""Judges: asking, the cache, retries, limits, and every fault of an endpoint."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gem.errors import ArgumentError, GemError, NotSupportedError
from gem_eval.clients import Completion, ContextOverflow, EndpointClient, ModelError, ScriptedClient
from gem_eval.fake_model import FakeModel, FakeModelThread
from gem_eval.fake_model.faults.catalogue import FAULTS
from gem_eval.fake_model.faults.kinds import FaultSettings
from gem_eval.rewards.judge import Judge, JudgeAnswer, JudgeError
from gem_eval.rewards.judge_answers import MalformedAnswerError, value_of
from gem_eval.rewards.judge_cache import AnswerCache
from gem_questions.rewards import RewardContext, Score, close_reward, make_reward, score_episode, score_episode_async
from gem_rollout.trajectory import Trajectory, Transition

SCHEMA = {"type": "object", "properties": {"score": {"type": "integer", "minimum": 1, "maximum": 5}}}
EPISODE = Trajectory(None, 0, [Transition("What is 2 + 2?", "It is 4.", 1.0, True, False)])


def read(record: Mapping[str, Any]) -> int:
    """Read an answer to SCHEMA."""
    score = value_of(record, "score")
    if not isinstance(score, int):
        raise MalformedAnswerError(f"score is {score!r}")
    return score


def ask(judge: Judge, question: str = "How good?") -> JudgeAnswer[int]:
    """Ask in an event loop of its own."""

    async def main() -> JudgeAnswer[int]:
        try:
            return await judge.ask("You judge.", question, SCHEMA, read)
        finally:
            await judge.close()

    return asyncio.run(main())


def test_an_answer_by_the_schema_is_read() -> None:
    """The judge is told the schema in words and in the request, and samples without randomness."""
    client = ScriptedClient(['{"score": 3}'])
    answer = ask(Judge(client=client))
    assert answer == JudgeAnswer(3, "scripted", False, 1)
    system, user = client.prompts[0]
    assert json.dumps(SCHEMA) in system["content"]
    assert user == {"role": "user", "content": "How good?"}


def test_a_malformed_answer_is_asked_again_with_the_reason() -> None:
    """The judge sees its own answer and what is wrong with it."""
    client = ScriptedClient(["It is good.", '{"score": "x"}', '{"score": 4}'])
    assert ask(Judge(client=client)) == JudgeAnswer(4, "scripted", False, 3)
    assert client.prompts[1][2] == {"role": "assistant", "content": "It is good."}
    assert "one JSON object" in client.prompts[1][3]["content"]
    assert len(client.prompts[2]) == 4  # only the latest attempt, so that the conversation does not grow


@pytest.mark.parametrize(
    ("answers", "kind", "message"),
    [
        (["bad", "worse", ""], "malformed", "after 3 attempts"),
        ([ModelError("timeout", "slow")], "timeout", "slow"),
        ([ModelError("content_filter", "withheld")], "content_filter", "withheld"),
        ([ModelError("bad_request", "no"), ModelError("bad_request", "no such model")], "bad_request", "no such model"),
        ([ContextOverflow()], "context", "too long"),
        ([Completion({}, text='{"score": ', finish_reason="length")] * 3, "malformed", "it was cut off"),
    ],
)
def test_a_judge_without_an_answer_says_why(answers: list[Any], kind: str, message: str) -> None:
    """The error has a word for tables and a sentence."""
    with pytest.raises(JudgeError, match=message) as caught:
        ask(Judge(client=ScriptedClient(answers)))
    assert caught.value.kind == kind


@pytest.mark.parametrize("refusal", [ModelError("bad_request", "not supported"), NotSupportedError("not here")])
def test_a_model_without_structured_output_is_asked_in_words(refusal: Exception) -> None:
    """Once it has answered without, it is not asked for the form again; one warning says what refused it."""
    forms: list[Any] = []

    class Plain(ScriptedClient):
        async def chat(self, messages: Any, *, response_format: Any = None, **more: Any) -> Completion:
            forms.append(response_format)
            if response_format is not None:
                raise refusal
            return await super().chat(messages, **more)

    judge = Judge(client=Plain(lambda messages: '{"score": 2}'))
    with pytest.warns(UserWarning, match=rf"to the form of its answers: {refusal}"):
        assert ask(judge, "one").value == 2
    assert ask(judge, "two").value == 2
    assert [form is not None for form in forms] == [True, False, False]
    assert forms[0]["json_schema"]["schema"] == SCHEMA


def test_an_answer_is_asked_for_once(tmp_path: Path) -> None:
    """The same question costs one request: from memory, from disk, in another judge, and at the same time."""
    client = ScriptedClient(lambda messages: '{"score": 2}')
    judge = Judge(client=client, cache=tmp_path)
    assert not ask(judge).cached
    assert ask(judge).cached
    assert ask(Judge(client=client, cache=tmp_path)) == JudgeAnswer(2, "scripted", True, 0)
    memory = Judge(client=client)
    assert [ask(memory).cached for _ in range(2)] == [False, True]

    async def slowly(messages: Any) -> str:
        await asyncio.sleep(0)
        client.prompts.append(messages)
        return '{"score": 2}'

    async def together() -> list[JudgeAnswer[int]]:
        judge = Judge(client=ScriptedClient(slowly))
        return await asyncio.gather(*(judge.ask("s", "q", SCHEMA, read) for _ in range(20)))

    before = len(client.prompts)
    assert sum(answer.cached for answer in asyncio.run(together())) == 19
    assert len(client.prompts) == before + 1


@pytest.mark.parametrize(
    "change",
    [
        {"question": "another"},
        {"system": "another"},
        {"schema": {"type": "object"}},
        {"temperature": 0.5},
        {"max_tokens": 7},
        {"extra": {"top_k": 3}},
        {"client": ScriptedClient(lambda messages: '{"score": 1}', model="other")},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_changes_the_answer_changes_the_key(tmp_path: Path, change: dict[str, Any]) -> None:
    """Another question, form, model or sampling is asked anew."""
    client = ScriptedClient(lambda messages: '{"score": 1}')

    def cached(**settings: Any) -> bool:
        question = {name: settings.pop(name, "same") for name in ("system", "question")}
        schema = settings.pop("schema", SCHEMA)
        judge = Judge(**{"client": client, "cache": tmp_path, **settings})
        return asyncio.run(judge.ask(question["system"], question["question"], schema, read)).cached

    assert not cached()
    assert not cached(**change)
    assert cached()
    assert cached(attempts=1, concurrency=3, timeout=9.0)


def test_no_answer_is_not_kept(tmp_path: Path) -> None:
    """A question without an answer is asked again by the next run."""
    with pytest.raises(JudgeError):
        ask(Judge(client=ScriptedClient(["?"]), attempts=1, cache=tmp_path))
    assert not ask(Judge(client=ScriptedClient(['{"score": 5}']), cache=tmp_path)).cached


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"key": "other", "text": "{\\"score\\": 9}"}', b"\xff" * 9])
def test_a_damaged_cache_counts_as_empty(tmp_path: Path, content: bytes) -> None:
    """A file that a crash or another program wrote is replaced."""
    client = ScriptedClient(lambda messages: '{"score": 1}')
    ask(Judge(client=client, cache=tmp_path))
    (file,) = tmp_path.rglob("*.json")
    file.write_bytes(content)
    assert not ask(Judge(client=client, cache=tmp_path)).cached
    assert ask(Judge(client=client, cache=tmp_path)).cached


def test_a_cache_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    """A file in the place of the folder, as after a full disk, costs only the saving."""
    (tmp_path / "cache").write_text("in the way")
    assert ask(Judge(client=ScriptedClient(['{"score": 1}']), cache=tmp_path / "cache")).value == 1


def test_several_writers_share_a_cache(tmp_path: Path) -> None:
    """A reader never sees half an answer, and no temporary file is left."""
    key = AnswerCache.key({"question": 1})
    texts = [str(number) * 5000 for number in range(10)]

    def work(text: str) -> None:
        cache = AnswerCache(tmp_path)
        for _ in range(20):
            cache.put(key, {"text": text})
            found = cache.get(key)
            assert found is not None
            assert found["text"] in texts

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(work, texts))
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".json"]


def test_a_client_of_the_caller_stays_open() -> None:
    """The judge closes only what it has opened."""

    class Lasting(ScriptedClient):
        async def close(self) -> None:
            raise AssertionError("closed")

    assert ask(Judge(client=Lasting(['{"score": 1}']))).value == 1


def test_requests_in_flight_are_limited() -> None:
    """No more than ``concurrency`` questions are with the model at the same time."""
    running = most = 0

    async def answer(messages: Any) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5):
            await asyncio.sleep(0)
        running -= 1
        return '{"score": 1}'

    async def main() -> None:
        judge = Judge(client=ScriptedClient(answer), concurrency=3)
        await asyncio.gather(*(judge.ask("s", f"q{number}", SCHEMA, read) for number in range(20)))

    asyncio.run(main())
    assert most == 3


@pytest.mark.parametrize("judge", [3, "http://x", {"modell": "x"}, {"model": 3}, {"temperature": -1}])
def test_wrong_settings_are_refused(judge: Any) -> None:
    """When the reward is made."""
    with pytest.raises((ValueError, TypeError)):
        make_reward("rubric", criteria=["a"], judge=judge)


def test_a_reward_without_a_judge_is_refused_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how to name one; the judge of the run takes the place, and a missing key is named."""
    reward = make_reward("rubric", criteria=["a"])
    with pytest.raises(ArgumentError, match="--base-url"):
        reward.begin(RewardContext())
    named = make_reward("rubric", criteria=["a"])
    named.begin(RewardContext(judge={"model": "m", "base_url": "http://user:secret@localhost:1/v1"}))
    assert named.config["judge"]["model"] == "m"
    assert "secret" not in json.dumps(named.config)
    monkeypatch.delenv("JUDGE_KEY", raising=False)
    with pytest.raises(ArgumentError, match="JUDGE_KEY"):
        make_reward("rubric", criteria=["a"], judge={"base_url": "http://x", "api_key_env": "JUDGE_KEY"}).begin(
            RewardContext()
        )


def with_fake_model(use: Callable[[FakeModel], Any], **settings: Any) -> Any:
    """Run a coroutine with a judge behind a real socket."""

    async def main() -> Any:
        async with FakeModel(
            "judge:5", fault_settings=FaultSettings(retry_after=0.0, slow_seconds=0.3), **settings
        ) as model:
            return await use(model)

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("base_url", "message"),
    [
        ("transformers:some-model", r"pip install .*gem-eval\[transformers\]"),
        ("transformers:/no/such/folder", "no folder"),
        ("scripted:no_such_module:answer", "no_such_module"),
        ("telepathy:mind", "telepathy"),
    ],
)
def test_a_judge_that_cannot_be_opened_is_refused_before_the_run(
    monkeypatch: pytest.MonkeyPatch, base_url: str, message: str
) -> None:
    """Not once an episode; nothing is sent."""
    monkeypatch.setattr("gem_eval.clients.transformers_client.find_spec", lambda name: None)
    reward = make_reward("rubric", criteria=["clear"], judge={"base_url": base_url})
    with pytest.raises(GemError, match=message):
        reward.begin(RewardContext())


def test_a_judge_behind_a_socket_scores() -> None:
    """A rubric asks a real server by its URL, keeps the answers in the run folder, and closes its connections."""

    async def use(model: FakeModel) -> list[Score]:
        reward = make_reward("rubric", criteria=["style", "facts"], judge={"base_url": model.url})
        scores = [await score_episode_async(reward, EPISODE) for _ in range(2)]
        await reward.close()  # type: ignore[misc]
        return scores

    first, second = with_fake_model(use)
    assert (first.value, first.metadata["judge"], first.metadata["cached"]) == (1.0, "fake-model", False)
    assert (second.value, second.metadata["cached"]) == (1.0, True)


def test_a_judge_in_an_environment_needs_no_event_loop() -> None:
    """Plain code scores by a judge; its connections belong to the loop of rewards."""
    with FakeModelThread(FakeModel("judge:1")) as model:
        reward = make_reward("rubric", criteria=["a"], judge={"base_url": model.url})
        assert score_episode(reward, EPISODE).value == 0.0
        close_reward(reward)


def test_another_model_behind_the_same_address_is_asked_anew(tmp_path: Path) -> None:
    """Where no model is named, the server's own name for it counts."""

    async def main() -> list[bool]:
        cached, port = [], 0
        for model in ("a", "a", "b"):
            async with FakeModel("judge:3", model=model, port=port) as server:
                port = server.port
                judge = Judge(base_url=server.url, cache=tmp_path)
                cached.append((await judge.ask("s", "q", SCHEMA, read)).cached)
                await judge.close()
        return cached

    assert asyncio.run(main()) == [False, True, False]


KINDS = [name for name, kind in FAULTS.items() if kind.need is None or kind.need.name in ("WHOLE", "CHAT")]


SILENT = ("silence", "silence-after-headers", "slow-headers", "slow-body", "length-long")
"""The kinds of faults that end at the client's limit of time."""


async def score_with(faults: list[str], timeout: float) -> Score:
    """Return the score of a judge whose server has these faults."""
    settings = FaultSettings(retry_after=0.0, slow_seconds=2 * timeout)
    async with FakeModel("judge:5", fault_settings=settings, faults=faults) as model:
        client = EndpointClient(model.url, "m", retries=2, first_delay=0.0, timeout=timeout, connect_timeout=timeout)
        reward = make_reward("rubric", criteria=["style"], judge=Judge(client=client, attempts=2))
        try:
            return await score_episode_async(reward, EPISODE)
        finally:
            await client.close()


def scores_with(faults: list[str]) -> dict[str, Score]:
    """Return the score for each fault.

    Where a server is silent, the limit is a multiple of what as many good answers take now; their waits are side by
    side.
    """
    silent = [fault for fault in faults if fault.partition("@")[0] in SILENT]

    async def main() -> dict[str, Score]:
        others = [fault for fault in faults if fault not in silent]
        found = await asyncio.gather(*(score_with([fault], 600.0) for fault in others))
        scores = dict(zip(others, found, strict=True))
        begin = time.monotonic()
        await asyncio.gather(*(score_with([], 600.0) for _ in silent))
        timeout = max(0.25, 20 * (time.monotonic() - begin))
        found = await asyncio.gather(*(score_with([fault], timeout) for fault in silent))
        return {**scores, **dict(zip(silent, found, strict=True))}

    return asyncio.run(main())


def test_a_fault_of_the_server_is_right_or_unreadable() -> None:
    """With each kind of fault in every answer, the score is the judge's or says that there is none."""
    scores = scores_with(KINDS)
    for kind, score in scores.items():
        assert score.value == (1.0 if score.readable else 0.0), (kind, score)
        assert score.readable or score.metadata["unreadable"] != "exception", (kind, score)
    assert all(scores[kind].readable for kind in ("gzip", "think-in-content", "usage-missing"))
    lost = ("rate-limit-bare", "overflow-openai", "empty-silent", "silence", "ok-error")
    assert not any(scores[kind].readable for kind in lost)


@pytest.mark.filterwarnings("ignore:nothing holds the judge to the form")
def test_a_fault_that_passes_costs_nothing() -> None:
    """Where only the first answer has the fault, another attempt gives the score."""
    lasting = {
        "payment-required", "unauthorized", "model-missing",
        # whole answers that are no completion, which a server would give again
        "error-null", "ok-choices-null", "ok-choices-missing", "ok-choices-empty", "ok-empty-object", "ok-message-null",
    }  # fmt: skip
    passing = [kind for kind in KINDS if not FAULTS[kind].deadly and kind not in lasting]
    for fault, score in scores_with([f"{kind}@1" for kind in passing]).items():
        # After a refusal the fake judge is asked in words, and gives a score without the criterion's name.
        lost = score.metadata.get("unreadable") == "malformed"
        assert lost if fault == "bad-request@1" else score.value == 1.0, (fault, score.reasons)
