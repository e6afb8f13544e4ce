"""Episodes that another process goes on with: no turn is asked for twice, and none is other than without a break."""

from __future__ import annotations

import asyncio
import json
import math
import random
import resource
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gem
from gem.core import Env, Info
from gem.env_spec import EnvSpec
from gem.errors import EpisodeLimitError
from gem.policies import Act, Policy
from gem_rollout import EpisodeLimits, EpisodeRequest, RolloutEngine, TurnJournal
from gem_rollout.trajectory import EpisodeKey

TIMES = {"started_at", "seconds", "act_seconds", "step_seconds"}


class Counts(Env[str, str]):
    """Adds what it is told for a number of turns; a class attribute makes its answers depend on the process."""

    salt = ""

    def __init__(self, turns: int = 5, fault: int | None = None) -> None:
        self.turns, self.fault = turns, fault

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        super().reset(seed=seed)
        self.sum = self.done = 0
        return f"begin {self.rng.random()}", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        self.done += 1
        if self.done == self.fault:
            self.fault = None
            raise OSError("broken once")
        self.sum += int(action)
        text = f"{self.sum} {self.rng.random()} {self.salt if self.done == 3 else ''} \ud800\x00"
        return text, float(self.sum), self.done == self.turns, False, {"sum": self.sum}


def counts(turns: int = 5, **kwargs: Any) -> EnvSpec:
    return EnvSpec(id="test:Counts-v0", entry_point=Counts, kwargs={"turns": turns, **kwargs})


class Remembers(Policy[Any, Any]):
    """Says a number that depends on all observations before; notes which turns were asked for."""

    def __init__(self, asked: Counter[tuple[Any, ...]], most: int | None, reached: asyncio.Event) -> None:
        self.asked, self.most, self.reached = asked, most, reached

    def seed_episode(self, seed: int, repetition: int) -> None:
        self.key = (seed, repetition)

    async def reset(self, observation: Any, info: Info) -> None:
        self.seen: list[Any] = []

    async def act(self, observation: Any, info: Info) -> Act:
        self.seen.append(observation)
        if self.most is not None and self.asked.total() >= self.most:
            self.reached.set()
            await asyncio.Event().wait()
        self.asked[(*self.key, len(self.seen))] += 1
        chance = random.Random(repr(self.seen))
        ids = [chance.randrange(1000) for _ in range(3)]
        prompt = [len(self.seen), *range(20 * len(self.seen))]
        return Act(
            str(chance.randrange(9)),
            prompt_token_ids=prompt,
            token_ids=ids,
            logprobs=[-chance.random() for _ in ids],
            usage={"prompt_tokens": len(prompt), "completion_tokens": 3},
            metadata={"odd": None},
            version=len(self.seen),
        )

    def recall(self, observation: Any, info: Info, act: Act) -> None:
        self.seen.append(observation)


def plan(spec: EnvSpec, episodes: int) -> list[EpisodeRequest]:
    return [EpisodeRequest(spec, EpisodeKey(spec.id, seed // 2, seed % 2)) for seed in range(episodes)]


def played(
    journal: TurnJournal | None,
    requests: list[EpisodeRequest],
    asked: Counter[tuple[Any, ...]],
    *,
    most: int | None = None,
    settles: bool = True,
    concurrency: int = 4,
    **options: Any,
) -> dict[EpisodeKey, gem.Trajectory]:
    """Play episodes, and stop as somebody asks for one turn more than ``most``."""

    async def run() -> dict[EpisodeKey, gem.Trajectory]:
        taken, reached = {}, asyncio.Event()
        options.update(concurrency=concurrency, journal=journal)
        engine = RolloutEngine(requests, lambda env: Remembers(asked, most, reached), **options)

        async def take() -> None:
            async for trajectory in engine:
                taken[trajectory.key] = trajectory
                if journal is not None and settles:
                    journal.settle(trajectory.key)

        async with engine:
            tasks = [asyncio.ensure_future(take()), asyncio.ensure_future(reached.wait())]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if not task.done():
                    task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if not reached.is_set():
                tasks[0].result()
        return taken

    return asyncio.run(run())


def shown(trajectory: gem.Trajectory) -> dict[str, Any]:
    """Return a record without times and without what an interruption leaves."""
    record = {name: value for name, value in trajectory.to_dict().items() if name not in TIMES}
    record["transitions"] = [
        {name: value for name, value in turn.items() if name not in TIMES} for turn in record["transitions"]
    ]
    metadata = {name: value for name, value in record.pop("metadata", {}).items() if name != "recalled_turns"}
    return {**record, "metadata": metadata}


@given(cut=st.integers(0, 100_000), torn=st.binary(max_size=40), more=st.integers(0, 8))
def test_a_file_that_ends_anywhere_is_continued(
    tmp_path_factory: pytest.TempPathFactory, cut: int, torn: bytes, more: int
) -> None:
    """Whole lines are turns that nobody asks for again, and the episodes are those of a process without a break."""
    path = tmp_path_factory.mktemp("journal") / "unfinished.jsonl"
    requests, first = plan(counts(), 6), Counter[tuple[Any, ...]]()
    with TurnJournal(path) as journal:
        whole = played(journal, requests, first, settles=False)
    lines = path.read_bytes()
    cut %= len(lines) + 1
    kept = [json.loads(line) for line in lines[:cut].splitlines(keepends=True) if line.endswith(b"\n")]
    path.write_bytes(lines[:cut] + torn)
    asked = Counter[tuple[Any, ...]]()
    with TurnJournal(path) as journal:
        turns = sum(journal.unfinished.values())
        assert turns == sum("turn" in line for line in kept)
        for key, count in list(journal.unfinished.items())[:1]:
            known = journal.played(key)
            assert known is not None
            assert [turn.action for turn in known.transitions] == [
                turn.action for turn in whole[key].transitions[:count]
            ]
        played(journal, requests, asked, most=more, settles=False, concurrency=1)
    assert asked.total() == min(more, first.total() - turns)
    with TurnJournal(path) as journal:
        left, last = journal.unfinished, sum(turn == 5 for *_, turn in asked)
        assert sum(left.values()) == turns + asked.total() - last
        again = played(journal, requests, asked)
    assert {key: shown(one) for key, one in again.items()} == {key: shown(one) for key, one in whole.items()}
    assert asked.total() == first.total() - turns + last
    assert {key: one.metadata.get("recalled_turns", 0) for key, one in again.items()} == {
        key: left.get(key, 0) for key in again
    }
    assert not path.exists()


@given(hole=st.integers(0, 14))
def test_a_turn_that_is_missing_is_the_end(tmp_path_factory: pytest.TempPathFactory, hole: int) -> None:
    """The turns after it are asked for again, and of the other episodes the last turn, which is never in the file."""
    path = tmp_path_factory.mktemp("journal") / "unfinished.jsonl"
    requests = plan(counts(), 3)
    with TurnJournal(path) as journal:
        whole = played(journal, requests, Counter(), settles=False)
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 3 * (1 + 4)
    missing = json.loads(lines[hole])
    path.write_bytes(b"".join(line for line in lines if json.loads(line) != missing))
    episodes, asked = resumed(path, requests)
    assert asked.total() == 5 - missing.get("index", 0) + 1 + 1
    assert [shown(one) for one in episodes] == [shown(whole[one.key]) for one in episodes]


@given(stops=st.lists(st.integers(1, 12), min_size=1, max_size=4))
def test_a_run_may_stop_any_number_of_times(tmp_path_factory: pytest.TempPathFactory, stops: list[int]) -> None:
    """Each stop costs the turns that were being played, at most one of each episode at a time."""
    path = tmp_path_factory.mktemp("journal") / "unfinished.jsonl"
    requests, asked = plan(counts(), 5), Counter[tuple[Any, ...]]()
    ended: dict[EpisodeKey, gem.Trajectory] = {}
    for most in [*stops, None]:
        with TurnJournal(path) as journal:
            left = [request for request in requests if request.key not in ended]
            ended.update(played(journal, left, asked, most=None if most is None else asked.total() + most))
    whole = played(None, requests, Counter())
    assert {key: shown(one) for key, one in ended.items()} == {key: shown(one) for key, one in whole.items()}
    assert asked.total() <= 25 + 4 * len(stops)


def interrupted(path: Path, requests: list[EpisodeRequest], most: int, **options: Any) -> Counter[tuple[Any, ...]]:
    """Play until so many turns were asked for; return those."""
    asked = Counter[tuple[Any, ...]]()
    with TurnJournal(path) as journal:
        played(journal, requests, asked, most=most, **options)
    return asked


def resumed(
    path: Path, requests: list[EpisodeRequest], **options: Any
) -> tuple[list[gem.Trajectory], Counter[tuple[Any, ...]]]:
    """Play to the end; return the episodes, and the turns that were asked for."""
    asked = Counter[tuple[Any, ...]]()
    with TurnJournal(path) as journal:
        done = played(journal, requests, asked, **options)
    return [done[request.key] for request in requests], asked


def test_an_environment_that_answers_otherwise_begins_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record says what differed, and holds the episode from its beginning; the others are continued."""
    path, requests = tmp_path / "unfinished.jsonl", plan(counts(), 8)
    interrupted(path, requests, 28, concurrency=8)
    monkeypatch.setattr(Counts, "salt", "other")
    episodes, asked = resumed(path, requests)
    again = [one for one in episodes if "begun_again" in one.metadata]
    assert again
    for one in again:
        assert "turn 3: observation" in one.metadata["begun_again"]
        assert "recalled_turns" not in one.metadata
        assert one.stop_reason == "terminated"
        assert one.metadata["begun_again"].count("other") == 1
    others = [one for one in episodes if one not in again]
    assert len(again) * 5 + sum(5 - one.metadata.get("recalled_turns", 0) for one in others) == asked.total()
    assert {key: shown(one) for key, one in played(None, requests, Counter()).items()} == {
        one.key: {**shown(one), "metadata": {}} for one in episodes
    }


@pytest.mark.parametrize(
    ("limits", "turns"),
    [
        (EpisodeLimits(max_turns=4), 4),
        (EpisodeLimits(max_turns=3), 3),
        (EpisodeLimits(max_tokens=10), 4),
        (EpisodeLimits(max_tokens=9), 3),
    ],
)
def test_limits_count_the_turns_of_all_processes(tmp_path: Path, limits: EpisodeLimits, turns: int) -> None:
    """Turns and tokens are those of the episode, and an episode that had reached its limit asks for nothing."""
    path, requests = tmp_path / "unfinished.jsonl", plan(counts(), 4)
    interrupted(path, requests, 12, limits=limits, settles=False)
    episodes, asked = resumed(path, requests, limits=limits)
    assert [len(one) for one in episodes] == [turns] * 4
    assert {one.stop_reason for one in episodes} == {"turns" if limits.max_turns else "tokens"}
    recalled = sum(one.metadata.get("recalled_turns", 0) for one in episodes)  # one may not have begun before
    assert 0 < recalled == 4 * turns - asked.total()


def test_seconds_count_over_all_processes(tmp_path: Path) -> None:
    """An episode that has played for longer than its limit ends with the turns that it had."""
    path, requests = tmp_path / "unfinished.jsonl", plan(counts(), 1)
    interrupted(path, requests, 3)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines[1:]:
        line["seconds"] += 3600.0
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    [episode], asked = resumed(path, requests, limits=EpisodeLimits(max_seconds=1800.0))
    assert (len(episode), asked.total(), episode.stop_reason) == (3, 0, "seconds")
    assert episode.seconds is not None
    assert episode.seconds >= 3600.0


def test_a_retry_takes_the_place_of_what_failed(tmp_path: Path) -> None:
    """The turns before a fault are not those that are continued."""
    path, requests = tmp_path / "unfinished.jsonl", plan(counts(fault=3), 1)
    asked = interrupted(path, requests, 4, retries=1)
    assert asked == {(0, 0, 1): 2, (0, 0, 2): 1, (0, 0, 3): 1}
    with TurnJournal(path) as journal:
        assert journal.unfinished == {requests[0].key: 1}
    [episode], rest = resumed(path, plan(counts(), 1))
    assert rest.total() == 4
    assert not path.exists()
    _, rest = resumed(path, requests, retries=1)
    assert rest.total() == 2 * 3
    assert not path.exists()
    assert episode.stop_reason == "terminated"


def test_what_is_settled_leaves_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is rewritten without ended episodes as it grows, and those that go on lose nothing by it."""
    monkeypatch.setattr("gem_rollout.turn_journal._SMALLEST", 2000)
    path, requests = tmp_path / "unfinished.jsonl", plan(counts(), 40)
    interrupted(path, requests, 98, concurrency=8)  # so many that some are in their middle, whatever threads do
    assert path.stat().st_size < 60_000
    with TurnJournal(path) as journal:
        known = journal.unfinished
    assert 0 < len(known) < 20
    episodes, _ = resumed(path, [request for request in requests if request.key in known])
    whole = played(None, requests, Counter())
    assert [shown(one) for one in episodes] == [shown(whole[one.key]) for one in episodes]
    assert [one.metadata.get("recalled_turns", 0) for one in episodes] == [known[one.key] for one in episodes]


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files as POSIX does")
@pytest.mark.parametrize("room", [0, 1, 700, 2500])
def test_a_full_disk_costs_turns_and_no_episode(tmp_path: Path, room: int) -> None:
    """What could be written is continued, and the run that could not write goes on."""
    path, requests = tmp_path / "unfinished.jsonl", plan(counts(), 4)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with TurnJournal(path) as journal:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
        try:
            whole = played(journal, requests, Counter(), settles=False)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(whole) == 4
    episodes, _ = resumed(path, requests)
    assert [shown(one) for one in episodes] == [shown(whole[one.key]) for one in episodes]


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files as POSIX does")
def test_what_was_cut_off_by_a_full_disk_costs_no_other_episode(tmp_path: Path) -> None:
    """Once there is room again, the next line stands for itself."""
    keys = [EpisodeKey("test:Counts-v0", seed, 0) for seed in (1, 2)]
    lines = [
        b'{"attempt":%d,"index":0,"turn":{"action":"1"},"then":{"value":"x"},"seconds":1.0}\n' % number
        for number in (1, 2)
    ]
    with TurnJournal(tmp_path / "unfinished.jsonl") as journal:
        for number, key in enumerate(keys, 1):
            line = {"attempt": number, "key": key, "then": {"value": "x"}}
            journal.write(number, json.dumps(line, separators=(",", ":")).encode() + b"\n")
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (journal.path.stat().st_size + len(lines[0]) // 2, hard))
        try:
            journal.write(1, lines[0])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        journal.write(2, lines[1])
    with TurnJournal(tmp_path / "unfinished.jsonl") as journal:
        assert journal.unfinished == {keys[1]: 1}


@given(lines=st.lists(st.one_of(st.binary(max_size=30), st.sampled_from([
    b'{"attempt":1,"key":[[],0,0],"then":{"value":1}}',
    b'{"attempt":1,"key":["test:Counts-v0",0,0],"then":{"value":1}}',
    b'{"attempt":1,"index":0,"turn":{},"then":{"value":1},"seconds":1}',
    b'{"attempt":1,"index":0,"turn":7,"then":{"value":1},"seconds":1}',
    b'{"attempt":1,"index":1,"turn":{"action":"1"},"then":{"list":[[0,9]]},"seconds":"x"}',
    b'{"attempt":1,"over":true}',
    b'{"attempt":99999999999999999999,"over":true}',
    b'{"attempt":1,' + b"[" * 3000 + b"}",
])), max_size=8))  # fmt: skip
def test_a_damaged_file_is_no_reason_to_stop(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> None:
    """What cannot be read is played anew."""
    path = tmp_path_factory.mktemp("journal") / "unfinished.jsonl"
    path.write_bytes(b"\n".join(lines))
    [episode], _ = resumed(path, plan(counts(), 1))
    assert episode.stop_reason == "terminated"


def test_an_episode_of_one_turn_costs_no_write(tmp_path: Path) -> None:
    """There is nothing that could be continued."""
    with TurnJournal(tmp_path / "unfinished.jsonl") as journal:
        assert len(played(journal, plan(counts(1), 4), Counter(), settles=False)) == 4
        assert journal.path.read_bytes() == b""


@pytest.mark.parametrize("orjson", [True, False])
def test_probabilities_that_are_no_numbers_are_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, orjson: bool
) -> None:
    """With orjson and without it, a turn is written down as the trajectory writes it."""
    if not orjson:
        monkeypatch.setattr("gem_rollout.trajectory.encoding._fast_encoder", lambda: None)

    class Odd(Remembers):
        async def act(self, observation: Any, info: Info) -> Act:
            act = await super().act(observation, info)
            act.logprobs = [math.nan, math.inf, -math.inf]
            return act

    async def run(journal: TurnJournal) -> gem.Trajectory:
        def make(env: Any) -> Odd:
            return Odd(Counter(), None, asyncio.Event())

        async with RolloutEngine(plan(counts(), 1), make, journal=journal) as engine:
            return await anext(engine)

    episodes = []
    for known in (0, 4):
        with TurnJournal(tmp_path / "unfinished.jsonl") as journal:
            assert sum(journal.unfinished.values()) == known
            episodes.append(shown(asyncio.run(run(journal))))
    assert episodes[0] == episodes[1]
    assert "NaN" in str(episodes[0]["transitions"][0]["logprobs"])


def test_a_policy_that_cannot_recall_leaves_nothing(tmp_path: Path) -> None:
    """Its episodes begin anew, as without a journal."""

    class Forgets(Policy[Any, Any]):
        def act(self, observation: Any, info: Info) -> str:
            return "1"

    path = tmp_path / "unfinished.jsonl"

    async def run() -> int:
        with TurnJournal(path) as journal:
            async with RolloutEngine(plan(counts(), 3), lambda env: Forgets(), journal=journal) as engine:
                found = [trajectory async for trajectory in engine]
            assert path.read_bytes() == b""
        return len(found)

    assert asyncio.run(run()) == 3
    assert not path.exists()


def test_an_episode_that_its_policy_ended_is_recalled_to_its_end(tmp_path: Path) -> None:
    """A policy that ends the episode by a limit of its own does so again after a break."""

    class Ends(Remembers):
        async def act(self, observation: Any, info: Info) -> Act:
            if len(self.seen) == 2:
                raise EpisodeLimitError("tokens")
            return await super().act(observation, info)

    path, asked = tmp_path / "unfinished.jsonl", Counter[tuple[Any, ...]]()
    for recalled in (0, 2):
        with TurnJournal(path) as journal:

            async def run(journal: TurnJournal = journal) -> gem.Trajectory:
                def make(env: Any) -> Ends:
                    return Ends(asked, None, asyncio.Event())

                async with RolloutEngine(plan(counts(), 1), make, journal=journal) as engine:
                    return await anext(engine)

            episode = asyncio.run(run())
        assert (len(episode), episode.metadata.get("recalled_turns", 0)) == (2, recalled)
        assert episode.stop_reason == "tokens"
    assert asked.total() == 2


def test_another_journal_takes_episodes_over(tmp_path: Path) -> None:
    """With the turns that a dead process had written, in place of its own; what is not asked for stays where it is."""
    dead, heir, requests = tmp_path / "dead.jsonl", tmp_path / "heir.jsonl", plan(counts(), 4)
    first = sum(interrupted(dead, [request], turns).total() for turns, request in enumerate(requests[:3], 2))
    whole = played(None, requests, Counter())
    with TurnJournal(dead) as journal:
        known = journal.unfinished
    assert list(known.values()) == [2, 3, 4]
    left, *taken = known
    interrupted(heir, [request for request in requests if request.key in taken], 2)  # fewer turns than the dead one had
    before = dead.read_bytes()
    with TurnJournal(heir) as journal:
        journal.adopt(dead, taken)
        journal.adopt(tmp_path / "missing.jsonl")
        assert journal.unfinished == {key: known[key] for key in taken}
    assert dead.read_bytes() == before
    episodes, asked = resumed(heir, [request for request in requests if request.key in taken])
    assert [shown(one) for one in episodes] == [shown(whole[one.key]) for one in episodes]
    assert asked.total() == sum(5 - known[key] for key in taken)
    assert left not in {one.key for one in episodes}
    assert not heir.exists()
    assert first == 9
