"""Budgets of calls, tokens, seconds and cost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError, ArgumentTypeError
from gem_eval.clients import Completion, ContextOverflow, ModelError, Sampling
from gem_gateway import CallBudget
from gem_gateway.budgets import BudgetLedger
from gem_gateway.call_errors import ModelCallError
from gem_gateway.calls import ModelCall

CALL = [{"role": "user", "content": "?"}]


@given(
    st.integers(1, 200),
    st.lists(
        st.tuples(st.integers(0, 60), st.one_of(st.none(), st.integers(1, 80)), st.integers(0, 5)),
        min_size=1,
        max_size=25,
    ),
)
def test_sampled_tokens_never_exceed_their_budget(most: int, calls: list[tuple[int, int | None, int]]) -> None:
    """Whatever calls come at the same time, and however little of what was granted each of them uses."""

    async def run() -> None:
        ledger = BudgetLedger(CallBudget(completion_tokens=most))

        async def call(used: int, asked: int | None, steps: int) -> None:
            try:
                aside, sampling = await ledger.admit(1, Sampling(max_tokens=asked))
            except ModelCallError:
                assert ledger.exceeded == "completion_tokens"
                assert ledger.completion_tokens == most
                return
            assert sampling.max_tokens is not None
            assert asked is None or sampling.max_tokens <= asked
            for _ in range(steps):
                await asyncio.sleep(0)
            ledger.settle(aside, 1, min(used, sampling.max_tokens))

        await asyncio.wait_for(asyncio.gather(*(call(*one) for one in calls)), 60)
        assert ledger.completion_tokens <= most
        assert (ledger.exceeded is None) == (ledger.calls == len(calls))

    asyncio.run(run())


def said(prompt: int, sampled: int) -> Completion:
    return Completion(
        {"role": "assistant", "content": "x"}, "x", usage={"prompt_tokens": prompt, "completion_tokens": sampled}
    )


@pytest.mark.parametrize(
    ("budget", "answered", "limit"),
    [
        (CallBudget(calls=3), 3, "calls"),
        (CallBudget(prompt_tokens=25), 3, "prompt_tokens"),
        (CallBudget(prompt_tokens=30), 3, "prompt_tokens"),
        (CallBudget(prompt_tokens=31), 4, "prompt_tokens"),
        (CallBudget(completion_tokens=10), 2, "completion_tokens"),
        (CallBudget(completion_tokens=11), 3, "completion_tokens"),
        (CallBudget(cost=0.0001, price_output=10.0), 2, "cost"),
        (CallBudget(cost=0.0001, price_input=5.0), 2, "cost"),
        (CallBudget(cost=0.0001, price_input=5.0, price_output=2.0), 2, "cost"),
        (CallBudget(calls=2, completion_tokens=100), 2, "calls"),
    ],
    ids=str,
)
def test_a_session_ends_at_its_tightest_limit(play, budget: CallBudget, answered: int, limit: str) -> None:
    """Calls of ten prompt tokens and five sampled ones are answered until one limit is reached, which is named."""

    async def run() -> None:
        async with play(
            lambda _: said(10, min(5, playing.client.asked[-1]["sampling"].max_tokens or 5)), budget
        ) as playing:
            for _ in range(answered):
                await playing.session.start(ModelCall(CALL), 4)
            assert playing.session.exceeded is None
            for _ in range(2):
                with pytest.raises(ModelCallError, match="budget of this episode") as error:
                    await playing.session.start(ModelCall(CALL), 4)
                assert error.value.limit == limit
            assert playing.session.exceeded == limit
            assert playing.session.calls.answered == answered

    asyncio.run(run())


def test_a_call_under_way_ends_with_the_seconds(play) -> None:
    """The limit of time cancels the model's answer, and refuses later calls."""
    ended = []

    async def forever(_: Any) -> Completion:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)
        raise AssertionError

    async def run() -> None:
        async with play(forever, CallBudget(seconds=0.05)) as playing:
            for _ in range(2):
                with pytest.raises(ModelCallError, match="seconds"):
                    await playing.session.start(ModelCall(CALL), 4)
            assert playing.session.exceeded == "seconds"
            assert ended == [True]

    asyncio.run(run())


def test_an_answer_without_counts_is_estimated(play) -> None:
    """A server that counts no tokens does not make a budget endless."""

    async def run() -> None:
        long = Completion({"role": "assistant"}, "x" * 4000)
        async with play(lambda _: long, CallBudget(completion_tokens=1500)) as playing:
            for _ in range(2):
                await playing.session.start(ModelCall(CALL), 4)
            with pytest.raises(ModelCallError):
                await playing.session.start(ModelCall(CALL), 4)
            assert playing.session.calls.estimated == 2
            assert 2000 < playing.session.calls.completion_tokens < 2100

    asyncio.run(run())


def test_a_failed_call_frees_what_was_set_aside(play) -> None:
    """An error of the model uses up a call and no tokens, and the next call has all that is left."""

    async def run() -> None:
        answers = [ModelError("server_error", "no"), said(1, 10)]
        async with play(answers, CallBudget(completion_tokens=10)) as playing:
            with pytest.raises(ModelCallError, match=r"\(server_error\)$"):
                await playing.session.start(ModelCall(CALL), 4)
            await playing.session.start(ModelCall(CALL), 4)
            assert playing.client.asked[1]["sampling"].max_tokens == 10
            assert isinstance(playing.session.failure, ModelError)

    asyncio.run(run())


def test_a_full_context_is_no_failure(play) -> None:
    """It is told as an error of the request, and the session notes no fault of the model."""

    async def run() -> None:
        async with play([ContextOverflow("8 of 4 tokens")]) as playing:
            with pytest.raises(ModelCallError) as error:
                await playing.session.start(ModelCall(CALL), 4)
            assert error.value.kind == "context"
            assert playing.session.failure is None

    asyncio.run(run())


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"calls": 0}, ArgumentError),
        ({"calls": 1.5}, ArgumentTypeError),
        ({"seconds": -1}, ArgumentError),
        ({"completion_tokens": True}, ArgumentTypeError),
        ({"cost": 1.0}, ArgumentError),
    ],
)
def test_an_impossible_budget_is_refused(fields: dict[str, Any], error: type[Exception]) -> None:
    """The error names the field."""
    with pytest.raises(error, match=next(iter(fields))):
        CallBudget(**fields)
