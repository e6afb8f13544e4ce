from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from publishing_process import RACED

from gem_hub.store import Store

SCRIPT = Path(__file__).with_name("publishing_process.py")


@pytest.mark.slow
@pytest.mark.parametrize(("publishers", "releases"), [(3, 6), pytest.param(8, 25, marks=pytest.mark.nightly)])
def test_concurrent_publishers_lose_nothing_and_one_wins_a_race(tmp_path: Path, publishers: int, releases: int) -> None:
    """Processes publish versions of their own and race for one more: all are there, and one wins the race."""
    arguments = [[str(tmp_path / "hub"), str(tmp_path / "dist"), str(n), str(releases)] for n in range(publishers)]
    processes = [
        subprocess.Popen([sys.executable, SCRIPT, *each], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for each in arguments
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    results = [json.loads(process.communicate()[0]) for process in processes]
    assert all(process.returncode == 0 for process in processes)

    raced = sorted(result.pop(RACED) for result in results)
    assert raced[0] == "published"
    assert all("what is published never changes" in refusal for refusal in raced[1:])
    assert {outcome for result in results for outcome in result.values()} == {"published"}

    store = Store(tmp_path / "hub")
    package = store.existing("toy-envs")
    expected = {RACED, *(f"0.{number}.{patch}" for number in range(publishers) for patch in range(releases))}
    assert {release.version for release in package.releases} == expected
    assert package.serials == list(range(1, len(expected) + 1))
    assert store.rebuild(check=True) == []
