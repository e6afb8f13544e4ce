"""Asynchronous training that is killed and preempted: each episode comes once, and each token's version is known."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import async_chaos

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kills processes as POSIX does")


def check(record: dict[str, Any], versions: int) -> Counter[int]:
    """Check an episode against what its seed says; return the versions of its tokens."""
    _, seed, _ = record["key"]
    env, found, latest = async_chaos.Road(), Counter[int](), 0
    observation, _ = env.reset(seed=seed)
    assert len(record["turns"]) == async_chaos.length_of(seed)
    for action, seen, version, spans, ids in record["turns"]:
        assert seen == observation
        assert action == str(async_chaos.hash_of(observation) % 7)
        observation = env.step(action)[0]
        each = [one for one, count in spans or [(version, len(ids))] for _ in range(count)]
        assert each == [token // async_chaos.TOKENS for token in ids]
        assert latest <= min(each)
        latest = max(each)
        found.update(each)
    assert latest < versions
    assert record["stop"] == "terminated"
    return found


@pytest.mark.parametrize(
    ("episodes", "versions", "deaths"), [(150, 5, 2), pytest.param(10_000, 20, 30, marks=pytest.mark.nightly)]
)
def test_no_episode_is_lost_or_comes_twice(tmp_path: Path, episodes: int, versions: int, deaths: int) -> None:
    """Over kills in the middle of turns and preemptions, with weights that change under all three rules."""
    chance = random.Random(episodes)
    turns = sum(map(async_chaos.length_of, range(episodes)))
    outcomes = Counter[int]()
    for death in range(deaths + 1):
        kill_after = stop_after = 0
        if death < deaths:
            kill_after = round(chance.uniform(0.5, 1.2) * turns / (deaths + 1))
            stop_after = round(episodes / (deaths + 1)) if death % 3 == 2 else 0
        command = [sys.executable, async_chaos.__file__, str(tmp_path), str(episodes), str(versions)]
        done = subprocess.run(
            [*command, str(kill_after or -1), str(stop_after)], capture_output=True, text=True, check=False
        )
        assert done.returncode in (0, 75, -signal.SIGKILL), done.stderr
        outcomes[done.returncode] += 1
    assert outcomes[-signal.SIGKILL] >= deaths // 2
    records = [json.loads(line) for line in (tmp_path / "episodes.jsonl").read_text().splitlines()]
    assert sorted(record["key"][1] for record in records) == list(range(episodes))
    tokens = sum((check(record, versions) for record in records), Counter[int]())
    # Two changes may follow one another before anything is sampled: after a death, with what was kept before it.
    assert len(tokens) > versions // 2
    assert max(tokens) == versions - 1
    assert tokens.total() == turns * async_chaos.TOKENS
    assert not (tmp_path / "unfinished.jsonl").exists()
