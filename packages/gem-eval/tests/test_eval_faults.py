"""Runs against an endpoint that fails: each episode ends as it should, and its neighbours notice nothing."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from gem.core import Info
from gem.policies import Act, Policy
from gem_eval.clients import EndpointClient, ModelPolicy, Sampling
from gem_eval.fake_model import FakeModel, FakeModelProcess
from gem_eval.fake_model.faults.catalogue import FAULTS
from gem_eval.fake_model.faults.kinds import FaultNeed, FaultSettings
from gem_rollout import RolloutEngine, plan_episodes
from gem_rollout.trajectory import Trajectory

GAME = "game:GuessTheNumber-v0-easy"
MARK = "This conversation meets the fault."
TOOL = {
    "type": "function",
    "function": {"name": "guess", "parameters": {"type": "object", "properties": {"number": {"type": "integer"}}}},
}
SETTINGS = FaultSettings(retry_after=0.01, slow_seconds=60.0)
PATIENCE = 60.0
"""Seconds after which a run that must end counts as hung."""

ENDS: dict[str, str] = {
    **dict.fromkeys((name for name in FAULTS if name.startswith("rate-limit-")), "rate_limited"),
    **dict.fromkeys((name for name in FAULTS if name.startswith("error-")), "server_error"),
    **dict.fromkeys((name for name in FAULTS if name.startswith("overflow-")), "context"),
    **dict.fromkeys((name for name in FAULTS if name.startswith("tool-")), "finished"),
    **dict.fromkeys((name for name in FAULTS if name.startswith("usage-")), "finished"),
    **dict.fromkeys((name for name in FAULTS if name.startswith("think-")), "finished"),
    "payment-required": "authentication",
    "request-timeout": "timeout",
    "queue-full": "rate_limited",
    "error-null": "bad_response",
    "bad-request": "bad_request",
    "unauthorized": "authentication",
    "model-missing": "bad_request",
    "ok-error": "server_error",
    "ok-code": "server_error",
    "ok-choices-null": "bad_response",
    "ok-choices-missing": "bad_response",
    "ok-choices-empty": "bad_response",
    "ok-empty-object": "bad_response",
    "ok-message-null": "bad_response",
    "stream-error-first": "server_error",
    "stream-error-later": "server_error",
    "stream-comments": "finished",
    "stream-comments-alone": "timeout",
    "stream-usage-last": "finished",
    "stream-no-usage": "finished",
    "stream-no-finish": "finished",
    "stream-no-done": "finished",
    "stream-cut-json": "incomplete",
    "stream-cut-utf8": "incomplete",
    "stream-split": "finished",
    "empty-reasoning-null": "finished",
    "empty-reasoning-text": "finished",
    "empty-silent": "empty",
    "reasoning-both": "finished",
    "logprobs-nan": "finished",
    "logprobs-nan-500": "server_error",
    "logprobs-infinite": "finished",
    "logprobs-null-values": "finished",
    "logprobs-null": "finished",
    "logprobs-9999": "finished",
    "logprobs-fewer": "finished",
    "reset-before-headers": "unreachable",
    "close-before-headers": "unreachable",
    "reset-after-headers": "incomplete",
    "reset-in-body": "incomplete",
    "truncated-body": "incomplete",
    "dead-reused-socket": "finished",
    "unannounced-close": "finished",
    "slow-headers": "timeout",
    "slow-body": "timeout",
    "silence": "timeout",
    "silence-after-headers": "timeout",
    "length-short": "incomplete",
    "length-long": "timeout",
    "gzip": "finished",
    "gzip-broken": "incomplete",
    "engine-dead": "unreachable",
}
"""Fault → how an episode ends all of whose requests meet it: ``finished``, the limit ``context``, or the kind of its
failure, whose source is the endpoint."""

HANGING = sorted(name for name, end in ENDS.items() if end == "timeout" and name != "request-timeout")
ENDLESS_FOR_ALL = {"engine-dead"}
"""Faults that end the server, so that no episode is spared."""


class SeededPolicy(Policy[Any, Any]):
    """Plays with a model; episodes of odd seeds have a system message that the fault looks for."""

    def __init__(self, client: EndpointClient, sampling: Sampling, tools: list[dict[str, Any]] | None = None) -> None:
        self._policies = [ModelPolicy(client, sampling, system=text, tools=tools) for text in ("Be well.", MARK)]
        self._policy = self._policies[0]

    def seed_episode(self, seed: int, repetition: int) -> None:
        self._policy = self._policies[seed % 2]

    async def act(self, observation: Any, info: Info) -> Act:
        return await self._policy.act(observation, info)


async def played(
    url: str,
    episodes: int,
    *,
    sampling: Sampling | None = None,
    tools: list[dict[str, Any]] | None = None,
    timeout: float = 30.0,
    retries: int = 1,
    most: int | None = None,
    then: Any = None,
) -> list[Trajectory]:
    """Play episodes of a game, all at once; after ``most`` of them call ``then``. No task may be left behind."""
    before = asyncio.all_tasks()
    client = EndpointClient(
        url, "fake-model", api_key="", timeout=timeout, retries=retries, first_delay=0.0, retry_seconds=5.0
    )
    wanted = Sampling() if sampling is None else sampling
    engine = RolloutEngine(
        plan_episodes(GAME, episodes),
        lambda env: SeededPolicy(client, wanted, tools),
        concurrency=episodes,
        wrappers="messages",
    )
    found: list[Trajectory] = []
    async with client, engine:
        async for trajectory in engine:
            found.append(trajectory)
            if len(found) == most:
                then()
    assert asyncio.all_tasks() == before
    return found


def end(trajectory: Trajectory) -> str:
    """Return how an episode ended, in the words of ``ENDS``."""
    if trajectory.failure is not None:
        assert trajectory.failure.source == "endpoint", trajectory.failure
        return trajectory.failure.kind
    assert trajectory.stop_reason in ("terminated", "truncated", "context")
    return "context" if trajectory.stop_reason == "context" else "finished"


def running(name: str, episodes: int) -> tuple[list[Trajectory], FakeModel]:
    """Play episodes of which those with an odd seed meet a fault at every request."""
    need = FAULTS[name].need
    sampling = Sampling(
        logprobs=need is FaultNeed.LOGPROBS,
        extra={"stream": True} if need in (FaultNeed.STREAM, FaultNeed.TOOLS_IN_STREAM) else {},
    )
    model = FakeModel(GAME, faults=[f"{name}~{MARK}"], fault_settings=SETTINGS)

    async def run() -> list[Trajectory]:
        async with model:
            found = await played(
                model.url,
                episodes,
                sampling=sampling,
                tools=[TOOL] if need in (FaultNeed.TOOLS, FaultNeed.TOOLS_IN_STREAM) else None,
                timeout=4.0 if name in HANGING else 60.0,
                retries=0 if name in HANGING else 1,
            )
            await asyncio.sleep(0)
            return found

    return asyncio.run(asyncio.wait_for(run(), PATIENCE)), model


def check(name: str, trajectories: Sequence[Trajectory], episodes: int) -> None:
    assert sorted(trajectory.seed or 0 for trajectory in trajectories) == list(range(episodes))
    ends = {trajectory.seed or 0: end(trajectory) for trajectory in trajectories}
    assert {ends[seed] for seed in ends if seed % 2} == {ENDS[name]}, ends
    if name not in ENDLESS_FOR_ALL:
        assert all(trajectory.success for trajectory in trajectories if not (trajectory.seed or 0) % 2), ends


QUICK = [name for name in FAULTS if name not in HANGING]


@pytest.mark.sampled(45)
@pytest.mark.parametrize("name", QUICK)
def test_an_episode_that_meets_a_fault_ends_as_it_should(name: str) -> None:
    """It finishes, or fails with the kind that fits; the others win their games."""
    trajectories, model = running(name, 6)
    check(name, trajectories, 6)
    # A server that has died meets no further request; how many came before is a matter of time.
    assert model.counts.faults[name] >= (1 if name in ENDLESS_FOR_ALL else 3)
    assert model.counts.in_flight == 0


@pytest.mark.slow("a time limit has to pass")
@pytest.mark.parametrize("name", HANGING)
def test_an_episode_whose_server_falls_silent_ends_at_the_time_limit(name: str) -> None:
    """It fails with a timeout, and the others do not wait for it."""
    trajectories, _ = running(name, 6)
    check(name, trajectories, 6)


def test_every_fault_has_an_expected_end() -> None:
    """A new kind without one fails here."""
    assert set(ENDS) == set(FAULTS)


def mixed_faults(*, without: set[str]) -> list[str]:
    """Return every kind, at rates that leave half of the requests alone."""
    names = [name for name in FAULTS if name not in without]
    return [f"{name}:{0.5 / len(names):.6f}" for name in names]


def many(episodes: int) -> None:
    """Play episodes that meet every kind of fault at random, with retries."""
    model = FakeModel(GAME, faults=mixed_faults(without={*HANGING, "engine-dead"}), fault_settings=SETTINGS)

    async def run() -> list[Trajectory]:
        async with model:
            return await played(
                model.url, episodes, sampling=Sampling(logprobs=True), tools=[TOOL], retries=6, timeout=60.0
            )

    trajectories = asyncio.run(asyncio.wait_for(run(), 4 * PATIENCE))
    assert sorted(trajectory.seed or 0 for trajectory in trajectories) == list(range(episodes))
    ends = Counter(map(end, trajectories))
    # Faults that pass are repeated until they have passed; refusals for good end an episode at once.
    assert set(ends) <= {"finished", "context", "authentication", "bad_request", "bad_response"}, ends
    assert ends["finished"] > episodes / 2
    assert len(model.counts.faults) > 35  # kinds; 64 episodes, drawn by the bodies of their requests, meet 40 to 44
    assert model.counts.in_flight == 0


def test_episodes_survive_all_faults_at_once() -> None:
    """With retries, episodes of a server that fails in every way finish or fail for good reasons."""
    many(64)


@pytest.mark.nightly
def test_512_episodes_at_once_survive_all_faults() -> None:
    """As above, with many."""
    many(512)


def test_a_server_that_is_killed_fails_the_rest_of_the_episodes() -> None:
    """What was finished stays finished; every other episode fails as unreachable, and nothing waits."""
    with FakeModelProcess(["--policy", GAME, "--latency", "0.01", "--latency-sigma", "1"]) as server:
        trajectories = asyncio.run(asyncio.wait_for(played(server.url, 48, most=8, then=server.kill), PATIENCE))
    ends = Counter(map(end, trajectories))
    assert ends.total() == 48
    assert ends["finished"] >= 8
    assert ends["unreachable"] > 0
    assert set(ends) == {"finished", "unreachable"}


def test_a_server_that_never_was_fails_all_episodes() -> None:
    """Refused connections are endpoint failures of the kind unreachable."""
    with FakeModelProcess() as server:
        server.kill()
        trajectories = asyncio.run(asyncio.wait_for(played(server.url, 8), PATIENCE))
    assert Counter(map(end, trajectories)) == {"unreachable": 8}
    assert all(trajectory.failure is not None and trajectory.failure.turn == 0 for trajectory in trajectories)
