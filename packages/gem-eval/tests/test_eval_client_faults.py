"""Every fault of the fake model's catalogue ends in an answer or in a failure of the right kind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import gem
from gem.errors import EpisodeLimitError
from gem_eval.clients import Completion, ContextOverflow, ModelError, ModelPolicy, Sampling, open_client
from gem_eval.clients.errors import RETRIED
from gem_eval.fake_model import FakeModel
from gem_eval.fake_model.faults.catalogue import FAULTS
from gem_eval.fake_model.faults.kinds import FaultSettings
from gem_rollout import RolloutEngine, plan_episodes

TEXT = "The answer is 42."
TOOL = {
    "type": "function",
    "function": {
        "name": "guess",
        "parameters": {"type": "object", "properties": {"number": {"type": "integer", "minimum": 1, "maximum": 9}}},
    },
}
SLOW = ("slow-headers", "slow-body", "silence", "silence-after-headers", "length-long", "stream-comments-alone")
"""Faults that only a time limit ends."""

# fmt: off
KINDS = {
    "rate_limited": ("queue-full", *(name for name in FAULTS if name.startswith("rate-limit-"))),
    "authentication": ("payment-required", "unauthorized"),
    "bad_request": ("bad-request", "model-missing"),
    "timeout": ("request-timeout", *SLOW),
    "server_error": (
        "error-nested", "error-flat", "error-text", "error-detail", "error-message", "error-page", "error-empty",
        "ok-error", "ok-code", "logprobs-nan-500", "stream-error-first", "stream-error-later",
    ),
    "bad_response": (
        "error-null", "ok-choices-null", "ok-choices-missing", "ok-choices-empty", "ok-empty-object", "ok-message-null",
    ),
    "incomplete": (
        "stream-cut-json", "stream-cut-utf8", "reset-after-headers", "reset-in-body", "truncated-body", "length-short",
        "gzip-broken",
    ),
    "unreachable": ("reset-before-headers", "close-before-headers", "engine-dead"),
    "context": tuple(name for name in FAULTS if name.startswith("overflow-")),
    "empty": ("empty-silent",),
}
# fmt: on
FAILURES = {name: kind for kind, names in KINDS.items() for name in names}
"""Fault → kind of the failure; all others end in an answer."""

IN_STREAM = {
    **{name: None for name in FAULTS if name.startswith("ok-choices-")},
    **dict.fromkeys(["ok-message-null", "length-short", "length-long", "gzip-broken"]),
}
"""Faults that do no harm to a streamed answer."""

IN_WHOLE = {name: None for name in FAULTS if name.startswith("stream-")}
"""Faults that do no harm to an answer in one piece."""


def asked(fault: str, *, stream: bool = False, retries: int = 1, **options: Any) -> Completion | ModelError:
    """Return the answer to one question, or the failure."""
    name = fault.partition("*")[0]

    async def ask() -> Completion | ModelError:
        settings = FaultSettings(retry_after=0.001, slow_seconds=5.0)
        async with FakeModel(lambda _: TEXT, dialect="vllm", faults=[fault], fault_settings=settings) as model:
            limit = 0.3 if name in SLOW else 60.0
            client = open_client(model.url, timeout=limit, retries=retries, first_delay=0.001, stream=stream, **options)
            sampling = Sampling(logprobs=True, top_logprobs=2, max_tokens=120)
            try:
                return await client.chat([{"role": "user", "content": "?"}], tools=[TOOL], sampling=sampling)
            except ContextOverflow as full:
                return ModelError(full.limit, str(full))
            except ModelError as error:
                return error
            finally:
                await client.close()

    return asyncio.run(ask())


@pytest.mark.sampled(90)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_ends_in_an_answer_or_in_a_failure_of_its_kind(fault: str, stream: bool) -> None:
    """The kind is that of the table, and the message is one short line without control characters."""
    result = asked(fault, stream=stream)
    expected = None if fault in (IN_STREAM if stream else IN_WHOLE) else FAILURES.get(fault)
    if isinstance(result, Completion):
        assert expected is None, result
        assert result.text or result.tool_calls or result.reasoning or fault == "ok-message-null"
        if result.logprobs is not None:
            assert len(result.logprobs) == len(result.token_ids or ())
            assert all(-9999.0 <= value <= 0.0 for value in result.logprobs)
    else:
        assert result.failure_kind == expected, result
        assert len(str(result)) < 600
        assert str(result).isprintable()


@pytest.mark.parametrize(
    "fault", [name for name, kind in FAILURES.items() if kind in RETRIED and name != "engine-dead"]
)
def test_a_passing_fault_is_cured_by_a_repetition(fault: str) -> None:
    """A request that failed once is answered at the next attempt, and the answer says how many failed."""
    result = asked(f"{fault}*1", stream=fault in IN_WHOLE)
    assert isinstance(result, Completion), result
    # A connection that breaks before the answer is replaced at no cost.
    assert result.retries == (0 if fault in ("reset-before-headers", "close-before-headers") else 1)


@pytest.mark.parametrize("fault", ["payment-required", "unauthorized", "bad-request", "model-missing"])
def test_a_lasting_fault_is_not_repeated(fault: str) -> None:
    """One attempt is enough where another would fail as well."""
    result = asked(fault, retries=5)
    assert isinstance(result, ModelError)
    assert result.attempts == 1


def test_a_socket_that_died_while_idle_costs_no_attempt() -> None:
    """A reused connection that breaks before the first byte is replaced at once."""

    async def ask() -> list[int]:
        async with FakeModel(lambda _: TEXT, faults=["dead-reused-socket"]) as model:
            client = open_client(model.url, retries=0)
            answers = [await client.chat([{"role": "user", "content": str(n)}]) for n in range(4)]
            await client.close()
            return [answer.retries for answer in answers]

    assert asyncio.run(ask()) == [0, 0, 0, 0]


def test_sockets_that_died_together_cost_no_attempt() -> None:
    """What replaces one of them is a new connection, and not another of them."""

    async def ask() -> list[int]:
        async with FakeModel(lambda _: TEXT, faults=["dead-reused-socket"]) as model:
            client = open_client(model.url, retries=0)
            message = [{"role": "user", "content": "Go."}]
            answers = await asyncio.gather(*(client.chat(message) for _ in range(8)))  # leaves eight dead sockets
            answers += await asyncio.gather(*(client.chat(message) for _ in range(2)))
            await client.close()
            return [answer.retries for answer in answers]

    assert asyncio.run(ask()) == [0] * 10


@pytest.mark.parametrize(
    ("fault", "arguments", "noted"),
    [
        ("tool-arguments-object", {"number"}, True),
        ("tool-arguments-empty", set(), False),
        ("tool-arguments-double", {"number"}, True),
        ("tool-arguments-newlines", {"number", "note"}, True),
        ("tool-arguments-cut", None, True),
        ("tool-arguments-list", None, True),
    ],
)
def test_arguments_of_calls_are_repaired_or_left_to_the_environment(
    fault: str, arguments: set[str] | None, noted: bool
) -> None:
    """What can be read becomes a JSON object; the rest stays as it came, so that the environment reports it."""
    from gem.tools.calls import native_calls

    result = asked(fault)
    assert isinstance(result, Completion)
    (call,) = native_calls(result.message)
    assert (call.error is None) == (arguments is not None)
    assert set(call.arguments) == (arguments or set())
    assert ("tool_calls" in result.metadata) == noted


@pytest.mark.parametrize("fault", ["tool-id-null", "tool-id-empty", "tool-id-repeated"])
def test_every_call_has_an_id_of_its_own(fault: str) -> None:
    """An id that is missing or taken is replaced by one that no other call has."""
    result = asked(fault)
    assert isinstance(result, Completion)
    ids = [call["id"] for call in result.tool_calls]
    assert len(set(ids)) == len(ids) > 0
    assert all(ids)


@pytest.mark.parametrize("fault", ["tool-markup-content", "tool-markup-reasoning"])
def test_markup_of_a_call_that_the_server_did_not_recognise_is_reported(fault: str) -> None:
    """It stays where it is, and the metadata says so."""
    result = asked(fault)
    assert isinstance(result, Completion)
    assert not result.tool_calls
    assert "markup" in result.metadata["tool_calls"][0]


@pytest.mark.parametrize(
    ("fault", "tags", "reasoning", "text"),
    [
        ("think-in-content", "auto", "Let me see.", TEXT),
        ("think-in-content", "never", None, f"<think>Let me see.</think>{TEXT}"),
        ("think-unopened", "auto", None, f"Let me see.</think>{TEXT}"),
        ("think-unopened", "always", "Let me see.", TEXT),
        ("think-unclosed", "always", f"Let me see. {TEXT}", ""),
        ("reasoning-both", "auto", "Let me see.", TEXT),
    ],
)
def test_reasoning_in_the_text_is_split_off(fault: str, tags: Any, reasoning: str | None, text: str) -> None:
    """A pair of tags at the beginning by default, a single tag if asked."""
    result = asked(fault, think_tags=tags)
    assert isinstance(result, Completion)
    assert result.reasoning == reasoning
    assert "".join(result.text.split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("fault", "noted"),
    [("logprobs-nan", True), ("logprobs-null-values", True), ("logprobs-fewer", True), ("logprobs-infinite", False)],
)
def test_log_probabilities_that_are_missing_are_not_made_up(fault: str, noted: bool) -> None:
    """The list is None and the metadata says why; a probability of zero is a value."""
    result = asked(fault)
    assert isinstance(result, Completion)
    assert (result.logprobs is None) == noted
    assert ("tokens" in result.metadata) == noted
    assert result.token_ids is not None


def test_a_count_in_usage_that_differs_is_noted() -> None:
    """Ids and log-probabilities stay, as they agree with each other."""
    result = asked("usage-zero")
    assert isinstance(result, Completion)
    assert result.token_ids is not None
    assert result.logprobs is not None
    assert result.metadata["tokens"]["completion_tokens"] == 0


def test_every_episode_is_played_or_fails_by_a_known_kind() -> None:
    """With a tenth of all faults at once, an evaluation ends, and each failure has a source and a kind."""
    kinds = set(FAILURES.values()) - {"context"}
    harmless = [name for name in FAULTS if name not in SLOW and name != "engine-dead"]
    faults = [f"{name}:{0.5 / len(harmless):.5f}" for name in harmless]

    async def play() -> list[gem.Trajectory]:
        settings = FaultSettings(retry_after=0.001)
        model = FakeModel("game:GuessTheNumber-v0-easy", dialect="vllm", faults=faults, fault_settings=settings)
        async with model:
            client = open_client(model.url, retries=1, first_delay=0.001)
            plan = plan_episodes(["game:GuessTheNumber-v0-easy"], 60)
            policies = RolloutEngine(
                plan, lambda env: ModelPolicy(client, Sampling(logprobs=True), env=env), wrappers="messages"
            )
            async with policies as engine:
                played = [trajectory async for trajectory in engine]
            await client.close()
            return played

    played = asyncio.run(play())
    assert len({trajectory.key for trajectory in played}) == 60
    failures = [trajectory.failure for trajectory in played if trajectory.failure is not None]
    assert failures
    assert len(failures) < 40
    assert {failure.source for failure in failures} == {"endpoint"}
    assert {failure.kind for failure in failures} <= kinds
    stops = {trajectory.stop_reason for trajectory in played if trajectory.failure is None}
    assert stops <= {"terminated", "truncated", "context"}


def test_a_pause_without_end_ends_its_own_request_alone() -> None:
    """One that asks for three years fails at once and says so; the requests beside it and after it are answered."""

    async def ask() -> list[Completion | BaseException]:
        settings = FaultSettings(retry_after=1e8)
        async with FakeModel(lambda _: TEXT, faults=["rate-limit-seconds:0.3"], fault_settings=settings) as model:
            client = open_client(model.url, concurrency=8, first_delay=0.001)
            chats = [client.chat([{"role": "user", "content": f"{number}?"}]) for number in range(40)]
            try:
                return await asyncio.wait_for(asyncio.gather(*chats, return_exceptions=True), 60)
            finally:
                await client.close()

    results = asyncio.run(ask())
    refused = [result for result in results if isinstance(result, ModelError)]
    assert 0 < len(refused) < 40
    assert all("the server wants a pause of 10" in str(error) for error in refused)
    assert all(isinstance(result, Completion) for result in results if result not in refused)


def test_a_full_context_ends_an_episode_that_is_scored() -> None:
    """The error is an episode limit, and its message is the server's."""
    result = asked("overflow-vllm-new")
    assert isinstance(result, ModelError)
    assert "context length is only" in str(result)
    assert issubclass(ContextOverflow, EpisodeLimitError)


@pytest.mark.parametrize(
    ("fault", "attempts"),
    [
        ("ok-choices-empty", 1), ("ok-choices-missing", 1), ("ok-error", 4), ("ok-message-null", 1),
        ("empty-silent", 4), ("queue-full", 9), ("reset-in-body", 9), ("error-nested", 9), ("bad-request", 1),
    ],
)  # fmt: skip
def test_an_answer_is_asked_for_as_often_as_it_may_pass(fault: str, attempts: int) -> None:
    """A whole answer that is no completion stays one, an upstream's error seldom passes, overload and transport do."""
    error = asked(fault, retries=8)
    assert isinstance(error, ModelError)
    assert error.attempts == attempts, error


def test_a_client_says_what_it_waits_for() -> None:
    """While requests wait for their next attempt, the reason and their number can be read; afterwards nothing."""

    async def ask() -> tuple[dict[str, int], dict[str, int]]:
        async with FakeModel(lambda _: TEXT, dialect="vllm", faults=["ok-error"]) as model:
            client = open_client(model.url, retries=8, first_delay=30.0)
            asking = [asyncio.ensure_future(client.chat([{"role": "user", "content": "?"}])) for _ in range(3)]
            while sum(client.waiting.values()) < 3:  # type: ignore[attr-defined]
                await asyncio.sleep(0)
            during = dict(client.waiting)  # type: ignore[attr-defined]
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)
            after = dict(client.waiting)  # type: ignore[attr-defined]
            await client.close()
            return during, after

    during, after = asyncio.run(ask())
    ((reason, count),) = during.items()
    assert (count, after) == (3, {})
    assert reason.startswith("server_error: ")
