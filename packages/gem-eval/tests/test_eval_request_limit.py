"""The number of requests at once that follows what a model server can take."""

from __future__ import annotations

import asyncio
import heapq
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gem_eval import evaluate_sync
from gem_eval.cli.results import summary_of
from gem_eval.clients import EndpointClient, queue_watch
from gem_eval.clients.queue_watch import QueueLength, queue_length
from gem_eval.clients.request_limit import RequestLimit, joined_limits
from gem_eval.fake_model import FakeModel, FakeModelThread
from gem_eval.fake_model.latency import Latency
from gem_eval.statistics.run_summary import summarize_run

SECONDS = 200.0
"""Of a simulation."""


@dataclass
class Simulation:
    """A server that works at ``capacity`` requests at once, and a client that always has another one."""

    capacity: int
    latency: float
    most: int = 512
    room: int | None = None
    """Requests that may wait; more are refused."""
    shows_queue: bool = True
    others: int = 0
    """Requests of another client, which always has so many in flight."""
    seed: int = 0

    def play(self) -> Simulation:
        """Play; ``answered``, ``refused`` and ``longest``, the longest queue, are those of the second half."""
        rng = random.Random(self.seed)
        self.limit = limit = RequestLimit(self.most, adaptive=True)
        self.answered = self.refused = self.longest = 0
        now, in_flight, halted = 0.0, 0, 0.0
        waiting: list[bool] = []
        """Whose the requests in the queue are: this client's?"""
        running: list[tuple[float, int, bool]] = []
        number = 0
        next_look = 1.0

        def start() -> None:
            nonlocal number
            while waiting and len(running) < self.capacity:
                number += 1
                ours = waiting.pop(0)
                heapq.heappush(running, (now + self.latency * rng.lognormvariate(0.0, 0.5), number, ours))

        waiting += [False] * self.others
        while now < SECONDS:
            late = now >= SECONDS / 2
            while now >= halted and in_flight < limit.value:
                in_flight += 1
                if self.room is not None and len(waiting) >= self.room and len(running) >= self.capacity:
                    limit.refused(in_flight, now, 1.0)
                    in_flight -= 1
                    halted = now + 1.0
                    self.refused += late
                    break
                waiting.append(True)
                start()
            start()
            self.longest = max(self.longest, len(waiting) if late else 0)
            now = min(next_look, running[0][0] if running else next_look, halted if halted > now else next_look)
            while running and running[0][0] <= now:
                _, _, ours = heapq.heappop(running)
                if ours:
                    limit.answered(in_flight)
                    in_flight -= 1
                    self.answered += late
                else:
                    waiting.append(False)
            start()
            if now >= next_look:
                next_look = now + 1.0
                if self.shows_queue:
                    limit.queued(in_flight, len(running), len(waiting))
        return self

    @property
    def share(self) -> float:
        """What was answered of what the server could have answered to anybody."""
        mean = self.latency * 1.1331484530668263  # of the log-normal times: exp(0.5² / 2)
        return self.answered * mean / (self.capacity * SECONDS / 2)


@settings(max_examples=8, deadline=None)
@given(st.integers(4, 300), st.floats(0.3, 5.0), st.integers(0, 2**20))
def test_a_limit_that_sees_the_queue_keeps_the_server_busy_and_the_queue_short(
    capacity: int, latency: float, seed: int
) -> None:
    """Nine tenths of the best throughput and more, with at most a quarter of the capacity waiting, and no refusal."""
    played = Simulation(capacity, latency, seed=seed, room=max(8, capacity)).play()
    assert played.share > 0.85
    assert played.longest <= max(4, 0.3 * capacity)
    assert played.refused == 0


def test_a_limit_that_sees_no_queue_learns_from_refusals() -> None:
    """It rises by doubling, falls with each refusal, and loses little of the throughput."""
    played = Simulation(64, 1.0, room=32, shows_queue=False).play()
    assert played.share > 0.8
    assert played.limit.lowered["refusal"] > 0
    assert 0 < played.refused < played.answered / 50


def test_two_clients_share_a_server() -> None:
    """What another client keeps waiting is not this one's to take back: it still gets a fair part."""
    beside = Simulation(40, 1.0, others=40).play()
    assert 0.2 < beside.share < 0.6


@pytest.mark.parametrize("most", [1, 7, 16, 500])
def test_the_limit_never_exceeds_what_was_allowed(most: int) -> None:
    """Neither at the beginning nor by growth; nor does it fall below one."""
    limit = RequestLimit(most, adaptive=True)
    assert limit.value <= most
    for _ in range(40):
        limit.queued(int(limit.value), 10.0, 0.0)
    assert limit.value == most
    for step in range(60):
        limit.queued(int(limit.value), 1.0, 10_000.0)
        limit.refused(1, 1000.0 * step, 1.0)
    assert limit.value == 1.0


def test_a_figure_that_may_be_older_than_the_last_change_counts_no_second_time() -> None:
    """SGLang renews its gauges about once a second, so that the look after a change may show what was before it."""
    limit = RequestLimit(100, adaptive=True)
    limit.value = 100.0
    limit.queued(100, 50.0, 50.0)
    lowered = limit.value
    limit.queued(100, 50.0, 50.0)
    assert limit.value == lowered == 55.0
    limit.queued(55, 50.0, 30.0)
    assert limit.value < lowered


def test_a_limit_that_is_not_used_up_does_not_grow() -> None:
    """An idle client learns nothing of what the server could take."""
    limit = RequestLimit(500, adaptive=True)
    for _ in range(100):
        limit.answered(3)
        limit.queued(3, 3.0, 0.0)
    assert limit.value == 16


def test_a_fixed_limit_ignores_the_queue() -> None:
    """Without ``adaptive`` only refusals lower it."""
    limit = RequestLimit(100)
    limit.queued(100, 10.0, 90.0)
    assert limit.value == 100
    assert not limit.lowered


VLLM = b"""# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="a b {c}"} 8.0
vllm:num_requests_running{engine="1",model_name="a b {c}"} 4.0
vllm:num_requests_waiting{engine="0",model_name="a b {c}"} 3.0
vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 3.0
vllm:num_requests_waiting{engine="1",model_name="a b {c}"} 0.0
"""


@pytest.mark.parametrize(
    ("page", "length"),
    [
        (VLLM, QueueLength(12.0, 3.0)),
        (b'sglang:num_running_reqs 2e1\nsglang:num_queue_reqs{a="1"} 7 1700000000\n', QueueLength(20.0, 7.0)),
        (b"llamacpp:requests_processing 1\nllamacpp:requests_deferred 0\n", QueueLength(1.0, 0.0)),
        (b"vllm:num_requests_running 3\n", None),
        (b"vllm:num_requests_running 3\nsglang:num_queue_reqs 2\n", None),
        (b"vllm:num_requests_running NaN\nvllm:num_requests_waiting 0\n", None),
        (b"vllm:num_requests_running -3\nvllm:num_requests_waiting 0\n", None),
        (b"vllm:num_requests_running +Inf\nvllm:num_requests_waiting 0\n", None),
        (b"<html>vllm:num_requests_running 3</html>", None),
        (b"", None),
    ],
)
def test_the_queue_is_read_from_the_pages_of_three_servers(page: bytes, length: QueueLength | None) -> None:
    """The series of a gauge are added up; a page that holds anything else shows no queue."""
    assert queue_length(page) == length


@given(st.binary() | st.text().map(lambda text: f"vllm:num_requests_waiting {text}\n".encode()))
def test_no_page_breaks_the_reader(page: bytes) -> None:
    """Whatever a server writes, the result is a length or nothing."""
    length = queue_length(page)
    assert length is None or (length.running >= 0 and length.waiting >= 0)


def test_limits_of_workers_add_up() -> None:
    """A run of several processes states one limit."""
    first, second = {"limit": 3, "most": 8, "lowered": {"queue": 2}}, {"limit": 4, "most": 8, "lowered": {"refusal": 1}}
    assert joined_limits([first, {}, second]) == {"limit": 7, "most": 16, "lowered": {"queue": 2, "refusal": 1}}
    assert joined_limits([{}]) == {}


async def _ask(client: EndpointClient, asked: int, model: FakeModel) -> int:
    """Send requests all at once; return the longest queue of the server while the last half was answered."""
    longest = answered = 0

    async def one(number: int) -> None:
        nonlocal longest, answered
        await client.chat([{"role": "user", "content": str(number)}])
        answered += 1
        if answered > asked / 2:
            longest = max(longest, int(model.stats()["waiting"]))

    await asyncio.gather(*map(one, range(asked)))
    return longest


@pytest.mark.parametrize(
    "dialect", ["vllm", *(pytest.param(name, marks=pytest.mark.nightly) for name in ("sglang", "llamacpp"))]
)
def test_a_client_takes_back_what_waits_on_a_real_socket(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 64 requests at once, a server that works at four has a handful in its queue."""
    monkeypatch.setattr(queue_watch, "_LOOK", 0.02)

    async def run(adaptive: bool) -> tuple[int, EndpointClient]:
        model = FakeModel("constant:yes", dialect=dialect, concurrency=4, latency=Latency(0.01))
        async with model, EndpointClient(model.url, concurrency=64, adaptive=adaptive) as client:
            return await _ask(client, 160, model), client

    free, _ = asyncio.run(run(adaptive=False))
    held, client = asyncio.run(run(adaptive=True))
    assert free > 40
    assert held < 25
    assert client.limit.lowered["queue"] > 0
    assert not client.capabilities.notes


def test_a_server_without_metrics_is_noted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only refusals count then, and the record says so."""
    monkeypatch.setattr(queue_watch, "_LOOK", 0.01)

    async def run() -> EndpointClient:
        model = FakeModel("constant:yes", latency=Latency(0.01))
        async with model, EndpointClient(model.url, concurrency=8, adaptive=True) as client:
            await _ask(client, 100, model)
            assert model.counts.requests["/metrics"] == 1
            return client

    client = asyncio.run(run())
    assert client.capabilities.notes == [
        "the server shows no queue at /metrics; only refusals lower the requests in flight"
    ]
    assert client.limit.value == 8


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_a_run_states_the_limit_that_it_found(workers: int, tmp_path: Path) -> None:
    """In ``run.json`` and among the notes of its figures; a run without the option states nothing."""
    config: dict[str, Any] = {"environments": [{"id": "game:GuessTheNumber-v0-easy"}], "episodes": 12}
    config |= {"workers": workers, "concurrency": 8}
    with FakeModelThread(FakeModel("constant:\\boxed{3}", dialect="vllm")) as model:
        config = {**config, "base_url": model.url}
        plain = evaluate_sync(config, out=tmp_path / "plain")
        run = evaluate_sync({**config, "client": {"adaptive": True}}, out=tmp_path / "adaptive")
    record = json.loads((run.path / "run.json").read_text())
    assert record["request_limit"] == {"limit": 8, "most": 8, "lowered": {}}
    assert "requests at once followed the server: 8 in the end, at most 8" in summary_of(run).notes
    assert not plain.config.request_limit
    assert not summary_of(plain).notes


def test_the_note_names_what_lowered_the_limit() -> None:
    """Refusals and queue are told apart."""
    limit = {"limit": 23, "most": 64, "lowered": {"queue": 2, "refusal": 1}}
    assert summarize_run([], request_limit=limit).notes == (
        "requests at once followed the server: 23 in the end, at most 64; its queue lowered it 2 times; its refusals "
        "lowered it 1 time",
    )
