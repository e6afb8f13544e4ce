"""A script that answers lines with lines: its answers, its faults, its end."""

from __future__ import annotations

import os
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gem.errors import LineWorkerError
from gem_processes import LineWorker


def worker(script: str, timeout: float = 60.0) -> LineWorker:
    """Return a worker with this script."""
    return LineWorker([sys.executable, "-c", textwrap.dedent(script)], timeout, 10_000)


def is_running(process: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


ECHO = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"got": json.loads(line)}), flush=True)
"""


def test_a_worker_answers_line_by_line() -> None:
    """Any text survives; after close it takes no more."""
    one = worker(ECHO)
    try:
        for text in ("", "a\nb", "ä \u2028 \x00", "x" * 5000):
            assert one.request({"text": text}) == {"got": {"text": text}}
    finally:
        one.close()
    one.close()
    assert not one.is_alive
    with pytest.raises(LineWorkerError, match="has ended"):
        one.request({})


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("import sys; sys.exit('no such game')", "has ended.*no such game"),
        ("print('hello', flush=True); input(); input()", "no JSON"),
        ("print('[1]', flush=True); input(); input()", "no JSON object"),
        ("print('x' * 20_000, flush=True); input(); input()", "more than 10000 bytes"),
        ('print(\'{"refused": "too late"}\', flush=True); input(); input()', "too late"),
    ],
)
def test_a_worker_that_breaks_the_protocol(script: str, message: str) -> None:
    """Is named with its fault and what it last said."""
    one = worker(script)
    try:
        with pytest.raises(LineWorkerError, match=f"(?s){message}"):
            one.request({})
    finally:
        one.close()


def test_a_slow_worker_is_killed_with_its_children() -> None:
    """After the time limit, none of them is left."""
    one = worker(
        """
        import subprocess, sys
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
        print('{"child": %d}' % child.pid, flush=True)
        sys.stdin.read()
        """,
        timeout=60.0,
    )
    try:
        child = one.request({})["child"]
        assert is_running(child)
        one._timeout = 0.05
        with pytest.raises(LineWorkerError, match=r"more than 0\.05 s"):
            one.request({})
        while is_running(child):
            pass
    finally:
        one.close()


def test_a_worker_that_nobody_holds_ends() -> None:
    """Without a call of close."""
    one = worker(ECHO)
    process = one._process.pid
    one.request({})
    del one
    assert not is_running(process)


def test_threads_share_a_worker() -> None:
    """Each gets the answer to its own request."""
    one = worker(ECHO)
    try:
        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(lambda number: one.request({"n": number}), range(200)))
        assert answers == [{"got": {"n": number}} for number in range(200)]
    finally:
        one.close()


def test_a_worker_gets_the_environment_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one, only what finds programs; secrets of the caller stay with the caller."""
    monkeypatch.setenv("MY_SECRET", "x")
    script = "import json, os; input(); print(json.dumps(dict(os.environ)))"
    for environment, secret in ((None, None), (dict(os.environ), "x")):
        one = LineWorker([sys.executable, "-c", script], 60.0, 2**20, environment)
        try:
            assert one.request({}).get("MY_SECRET") == secret
        finally:
            one.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_of_the_owner_leaves_the_worker_alone() -> None:
    """A child that closes its copy, or forgets it, ends nothing."""
    one = worker(ECHO)
    try:
        child = os.fork()
        if not child:
            try:
                one.close()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert one.request({"n": 1}) == {"got": {"n": 1}}
    finally:
        one.close()
