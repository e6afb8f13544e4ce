"""Programs that take more than they may have, stay away, or outstay their session."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from raw_calls import BODY, QUESTION, head, post, raw, said, statuses, until

from gem_eval.clients import Completion, ScriptedClient
from gem_gateway import CallBudget, ClientAnswerer
from gem_gateway.dialects.base import CallDialect, CallSettings
from gem_gateway.dialects.gemini import GeminiDialect
from gem_gateway.dialects.messages import MessagesDialect
from gem_gateway.dialects.responses import ResponsesDialect
from gem_gateway.limits import ExchangeLimits
from gem_gateway.lineages.journal import CallJournal, read_journal
from gem_gateway.lineages.recorder import LineageRecorder


@pytest.mark.parametrize("count", [1, 7])
def test_parallel_calls_have_no_more_than_the_budget(play, count: int) -> None:
    """Of forty calls at the same time, as many reach the model as the budget has."""

    async def run() -> None:
        async def slow(_: Any) -> Completion:
            await asyncio.sleep(0.01)
            return said()

        async with play(slow, CallBudget(calls=count)) as playing:
            found = await asyncio.gather(*(post(playing) for _ in range(40)))
            assert sorted(status for status, _, _ in found) == [200] * count + [403] * (40 - count)
            assert len(playing.client.prompts) == count
            assert playing.session.exceeded == "calls"

    asyncio.run(run())


def test_parallel_calls_share_the_tokens_that_are_left(play) -> None:
    """Answers are limited to what is left, and those at the same time wait for one another rather than exceed it."""

    async def run() -> None:
        granted = []

        async def greedy(_: Any) -> Completion:
            most = playing.client.asked[-1]["sampling"].max_tokens
            granted.append(most)
            await asyncio.sleep(0.01)
            used = min(most, 30)
            return Completion({"role": "assistant"}, "x", usage={"prompt_tokens": 1, "completion_tokens": used})

        async with play(greedy, CallBudget(completion_tokens=100)) as playing:
            found = await asyncio.gather(*(post(playing) for _ in range(10)))
            assert sorted(status for status, _, _ in found) == [200] * 4 + [403] * 6
            assert granted == [100, 70, 40, 10]
            assert playing.session.calls.completion_tokens == 100
            assert playing.session.exceeded == "completion_tokens"

    asyncio.run(run())


def test_hanging_up_before_the_answer_saves_no_call(play) -> None:
    """A call whose program goes away is cancelled at the model, and is counted in the budget."""

    async def run() -> None:
        began, ended = asyncio.Event(), asyncio.Event()

        async def thinking(_: Any) -> Completion:
            began.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            raise AssertionError

        async with play(thinking, CallBudget(calls=1)) as playing:
            reader, writer = await asyncio.open_connection("127.0.0.1", playing.gateway.port)
            writer.write(head(playing, f"Content-Length: {len(BODY)}") + BODY)
            await asyncio.wait_for(began.wait(), 60)
            writer.transport.abort()
            await asyncio.wait_for(ended.wait(), 60)
            assert (await post(playing))[0] == 403
            assert playing.session.calls.abandoned == 1
            del reader

    asyncio.run(run())


def test_a_program_that_leaves_in_the_middle_of_a_stream_is_a_recorded_call(play) -> None:
    """The answer was there before the stream began, so that the call is answered, and its stream cut."""

    async def run() -> None:
        async with play([said("word " * 2_000_000)]) as playing:
            reader, writer = await asyncio.open_connection("127.0.0.1", playing.gateway.port)
            body = json.dumps({**QUESTION, "stream": True}).encode()
            writer.write(head(playing, f"Content-Length: {len(body)}") + body)
            assert await asyncio.wait_for(reader.readuntil(b"data: "), 60)
            writer.transport.abort()
            counts = playing.session.calls
            await until(lambda: not counts.under_way)
            assert (counts.answered, counts.cut, counts.abandoned) == (1, 1, 0)

    asyncio.run(run())


def test_a_program_that_reads_nothing_is_left(play) -> None:
    """A stream that nobody reads ends after a time, and holds nothing."""

    async def run() -> None:
        async with play([said("word " * 2_000_000)], limits=ExchangeLimits(write_seconds=0.05)) as playing:
            reader, writer = await asyncio.open_connection("127.0.0.1", playing.gateway.port, limit=1024)
            body = json.dumps({**QUESTION, "stream": True}).encode()
            writer.write(head(playing, f"Content-Length: {len(body)}") + body)
            await until(lambda: playing.session.calls.cut)
            assert playing.session.calls.under_way == 0
            writer.close()
            del reader

    asyncio.run(run())


def test_a_slow_body_and_a_silent_connection_are_not_waited_for(play) -> None:
    """A request that does not arrive is answered with 408, and a connection without one is closed."""

    async def run() -> None:
        async with play([], limits=ExchangeLimits(body_seconds=0.05, head_seconds=0.05)) as playing:
            answer = await raw(playing, head(playing, "Content-Length: 100") + b"{")
            assert statuses(answer) == [408]
            assert await raw(playing, b"") == b""
            assert await raw(playing, b"POST /s/") == b""

    asyncio.run(run())


def test_connections_and_parallel_calls_have_a_limit(play) -> None:
    """A program that opens more is turned away, with an error that says why where there is a request."""

    async def run() -> None:
        release = asyncio.Event()

        async def waiting(_: Any) -> Completion:
            await release.wait()
            return said()

        async with play(waiting, limits=ExchangeLimits(parallel_calls=3, connections=5)) as playing:
            calls = [asyncio.create_task(post(playing)) for _ in range(3)]
            await until(lambda: len(playing.client.prompts) == 3)
            status, headers, _ = await post(playing)
            assert (status, headers["x-should-retry"]) == (429, "true")
            open_ones = [await asyncio.open_connection("127.0.0.1", playing.gateway.port) for _ in range(2)]
            assert await raw(playing, b"") == b""
            release.set()
            assert [status for status, _, _ in await asyncio.gather(*calls)] == [200] * 3
            for _, writer in open_ones:
                writer.close()

    asyncio.run(run())


def test_bodies_that_are_here_at_the_same_time_have_a_limit_together(play) -> None:
    """One program's large requests, each of which it may send, do not fill the memory of all."""

    async def run() -> None:
        release = asyncio.Event()

        async def waiting(_: Any) -> Completion:
            await release.wait()
            return said()

        large = {"messages": [{"role": "user", "content": "x" * 3000}]}
        async with play(waiting, limits=ExchangeLimits(parallel_bytes=10_000)) as playing:
            calls = [asyncio.create_task(post(playing, body=large)) for _ in range(3)]
            await until(lambda: len(playing.client.prompts) == 3)
            for path in ("/v1/chat/completions", "/v1/messages/count_tokens"):
                status, headers, _ = await post(playing, path, large)
                assert (status, headers["x-should-retry"]) == (429, "true")
            packed = gzip.compress(json.dumps(large).encode())
            assert (await post(playing, body=packed, headers={"Content-Encoding": "gzip"}))[0] == 429
            release.set()
            assert [status for status, _, _ in await asyncio.gather(*calls)] == [200] * 3
            assert (await post(playing, body=large))[0] == 200
            assert (playing.session.calls.under_way, playing.session.calls.held_bytes) == (0, 0)

    asyncio.run(run())


def test_a_count_of_tokens_is_one_of_the_parallel_requests(play) -> None:
    """A program could otherwise have the model's server count without end at the same time."""

    async def run() -> None:
        async def waiting(_: Any) -> Completion:
            await asyncio.Event().wait()
            raise AssertionError

        async with play(waiting, limits=ExchangeLimits(parallel_calls=1)) as playing:
            assert (await post(playing, "/v1/messages/count_tokens"))[0] == 200
            call = asyncio.create_task(post(playing))
            await until(lambda: playing.client.prompts)
            assert (await post(playing, "/v1/messages/count_tokens"))[0] == 429
            await playing.session.close()
            assert (await call)[0] == 401

    asyncio.run(run())


def test_nothing_is_read_for_a_session_whose_budget_is_used_up(play) -> None:
    """A program that goes on calling gets the same answer, and costs the other sessions little."""

    async def run() -> None:
        async with play([said()], CallBudget(calls=1)) as playing:
            assert [(await post(playing))[0] for _ in range(2)] == [200, 403]
            for path in ("/v1/chat/completions", "/v1/messages/count_tokens"):
                waiting = head(playing, "Content-Length: 1000000", path=f"/s/{playing.session.id}{path}")
                answer = await raw(playing, waiting + b"{")  # the rest never comes
                assert statuses(answer) == [403 if "chat" in path else 400]
                assert b"the budget of this episode is used up: calls, at most 1" in answer
            assert playing.session.calls.errors == {"budget": 2}

    asyncio.run(run())


MANY = [f'"a{n}"' for n in range(40)]


@pytest.mark.parametrize(
    ("metadata", "status"),
    [
        (f"[{','.join(MANY)}]", 413),
        (f"[{','.join(MANY * 20)}]", 413),  # so many that they are not even read
        (f"{{{','.join(f'{one}: []' for one in MANY)}}}", 413),
        (f"[{'[],' * 40}[]]", 413),
        (f'"{"a, [" * 100}"', 200),
        (f"[{','.join(MANY[:20])}]", 200),
    ],
    ids=["a list", "a long list", "an object", "lists", "a text", "few"],
)
def test_a_body_has_a_limit_of_values(play, metadata: str, status: int) -> None:
    """Each takes time in which no other session is served; what a text holds is no value."""

    async def run() -> None:
        async with play([said()], limits=ExchangeLimits(max_values=30)) as playing:
            body = f'{{"metadata": {metadata}, "messages": [{{"role": "user", "content": "?"}}]}}'.encode()
            assert (await post(playing, body=body))[0] == status
            assert len(playing.client.prompts) == (status == 200)

    asyncio.run(run())


def test_what_is_left_out_is_counted_under_few_words(play) -> None:
    """However many tools of a server a program makes up."""

    async def run() -> None:
        async with play([said()] * 3) as playing:
            for call in range(3):
                tools = [{"type": f"made up {call} {number}"} for number in range(300)]
                assert (await post(playing, body={**QUESTION, "tools": tools}))[0] == 200
            notes = playing.session.calls.notes
            assert len(notes) == 101
            assert (notes.total(), notes["further notes"]) == (900, 800)

    asyncio.run(run())


CALL, RESULT = {"functionCall": {"name": "f"}}, {"functionResponse": {"name": "f", "response": {}}}


def results_in_turn(count: int) -> dict[str, Any]:
    """Return a request with so many calls, whose results come in the opposite order."""
    calls = [{"functionCall": {"name": "f", "id": str(number)}} for number in range(count)]
    results = [{"functionResponse": {**RESULT["functionResponse"], "id": str(n)}} for n in reversed(range(count))]
    return {"contents": [{"role": "model", "parts": calls}, {"role": "user", "parts": results}]}


REQUESTS: dict[str, tuple[CallDialect, Callable[[int], dict[str, Any]]]] = {
    "results in the opposite order": (GeminiDialect(), results_in_turn),
    "results without ids": (
        GeminiDialect(),
        lambda n: {"contents": [{"role": "model", "parts": [CALL] * n}, {"role": "user", "parts": [RESULT] * n}]},
    ),
    "system messages": (
        ResponsesDialect(),
        lambda n: {"input": [{"role": "system", "content": "x" * 2000}] * n + [{"role": "user", "content": "?"}]},
    ),
    "reasoning": (
        ResponsesDialect(),
        lambda n: {
            "input": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "x" * 2000}]}] * n
            + [{"role": "user", "content": "?"}]
        },
    ),
    "thinking": (
        MessagesDialect(),
        lambda n: {
            "messages": [
                {"role": "assistant", "content": [{"type": "thinking", "thinking": "x" * 2000}] * n},
                {"role": "user", "content": "?"},
            ]
        },
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_reading_takes_time_in_proportion_to_the_request(name: str) -> None:
    """Eight times as much takes no 24 times the processor, where 64 times would be the square."""
    dialect, made = REQUESTS[name]

    def seconds(count: int) -> float:
        body = made(count)
        begun = time.process_time()
        dialect.read(body, CallSettings())
        return time.process_time() - begun

    few, many = (min(seconds(count) for _ in range(3)) for count in (500, 4000))
    assert many < 24 * few


def test_a_fault_of_the_gateway_tells_the_program_nothing_of_it(play) -> None:
    """An exception of what answers becomes an error without its words, is reported to the loop, and noted."""

    async def run() -> None:
        reported = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))
        async with play([RuntimeError("password 123 at /srv/trainer")]) as playing:
            status, _, body = await post(playing)
            assert status == 500
            assert b"123" not in body
            assert b"srv" not in body
            assert str(playing.session.failure) == str(reported[0]) == "password 123 at /srv/trainer"

    asyncio.run(run())


def test_a_closed_session_cancels_its_calls_and_refuses_later_ones(play) -> None:
    """Calls under way get the dialect's error, later ones find no session, and the other session goes on."""

    async def run() -> None:
        async def waiting(_: Any) -> Completion:
            await asyncio.Event().wait()
            raise AssertionError

        async with play(waiting) as playing:
            other = playing.gateway.open(ClientAnswerer(ScriptedClient([said("other")])))
            calls = [asyncio.create_task(post(playing)) for _ in range(5)]
            await until(lambda: len(playing.client.prompts) == 5)
            await asyncio.gather(playing.session.close(), playing.session.close())
            for status, _, body in await asyncio.gather(*calls):
                assert status == 401
                assert json.loads(body)["error"]["code"] == "session_ended"
            assert (await post(playing))[0] == 401
            playing.session = other
            assert (await post(playing))[0] == 200
            assert list(playing.gateway.sessions) == [other.id]

    asyncio.run(run())


def test_sessions_leave_nothing_behind(play) -> None:
    """After many that were opened, called, abandoned and closed, no task, descriptor or session is left of them."""

    async def run() -> None:
        async def waiting(_: Any) -> Completion:
            await asyncio.Event().wait()
            raise AssertionError

        async with play([]) as playing, aiohttp.ClientSession() as client:
            gateway = playing.gateway

            async def some(count: int) -> tuple[int, int]:
                for number in range(count):
                    answers: Any = waiting if number % 2 else [said()]
                    session = gateway.open(ClientAnswerer(ScriptedClient(answers)))
                    address = f"{session.base_url('chat')}/chat/completions"
                    sent = asyncio.create_task(client.post(address, data=BODY, headers={"x-api-key": session.api_key}))
                    counts = session.calls
                    await until(lambda counts=counts: counts.under_way or counts.answered)
                    if number % 2 == 0:
                        await sent
                    await session.close()
                    async with await sent as answer:
                        await answer.read()
                assert list(gateway.sessions) == [playing.session.id]
                return len(asyncio.all_tasks()), len(list(Path("/proc/self/fd").iterdir()))

            assert await some(4) == await some(40)

    asyncio.run(run())


@pytest.mark.nightly
def test_ten_thousand_sessions_leave_no_object_behind(play, tmp_path: Path) -> None:
    """Each with a recorded call, its journal and its end; the last nine thousand leave what the first thousand left."""

    def left() -> tuple[int, int, int]:
        gc.collect()
        return len(asyncio.all_tasks()), len(list(Path("/proc/self/fd").iterdir())), len(gc.get_objects())

    async def run() -> None:
        async with play([]) as playing, aiohttp.ClientSession() as client:
            gateway = playing.gateway

            async def one(number: int) -> None:
                file = tmp_path / f"{number}.jsonl"
                recorder = LineageRecorder(ScriptedClient([said()]), journal=CallJournal(file))
                session = gateway.open(recorder, budget=CallBudget(calls=5, completion_tokens=100))
                address = f"{session.base_url('chat')}/chat/completions"
                async with client.post(address, data=BODY, headers={"x-api-key": session.api_key}) as answer:
                    assert answer.status == 200
                    await answer.read()
                await session.close()
                assert len(read_journal(file).calls) == 1
                file.unlink()

            async def some(numbers: range) -> tuple[int, int, int]:
                for start in numbers[::50]:
                    await asyncio.gather(*(one(start + number) for number in range(50)))
                assert list(gateway.sessions) == [playing.session.id]
                return left()

            *before, objects = await some(range(1000))
            *after, more = await some(range(1000, 10_000))
            assert before == after
            assert more - objects < 900  # a tenth of one for each session

    asyncio.run(run())
