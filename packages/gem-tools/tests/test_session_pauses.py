"""Between two calls, a session uses no processor: its threads and processes stop, and go on with the next call."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress

import pytest
from session_states import threads, wait_for_a_rest

from gem_tools.sandbox import Limits, Sandbox, SandboxError, SandboxWarning
from gem_tools.sandbox.inside.restricted_processes import descendants

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")

BURN = """
import os, threading
n = 0
def burn():
    global n
    while True:
        n += 1
threading.Thread(target=burn, daemon=True).start()
"""
CHILD = """
if os.fork() == 0:
    {first}
    while True: pass
"""
PR_SET_CHILD_SUBREAPER = 36
ON = "a = n\nwhile n == a: pass\nprint('goes on')"


def sandbox_of(mode: str) -> Sandbox:
    sandbox = Sandbox(mode)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SandboxWarning)
            sandbox.run("1")
    except SandboxError as error:
        pytest.skip(str(error))
    return sandbox


@pytest.fixture(scope="module", params=["required", "restricted"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A sandbox of each tier with a fork server, which runs."""
    sandbox = sandbox_of(request.param)
    yield sandbox
    sandbox.close()


def rests(processes: set[int]) -> bool:
    """Wait until the processes use nearly no processor while this one works, at most a minute.

    What watches over executions wakes now and then, so the bar is a tenth of this process's own time.
    """
    until = time.monotonic() + 60
    while time.monotonic() < until:
        before, own = sum(ticks for _, ticks in threads(processes)), time.process_time()
        sum(number * number for number in range(3_000_000))
        spent = (sum(ticks for _, ticks in threads(processes)) - before) / os.sysconf("SC_CLK_TCK")
        if spent < 0.1 * (time.process_time() - own):
            return True
    return False


def test_threads_and_processes_that_a_call_leaves_rest_until_the_next(sandbox: Sandbox) -> None:
    """Again and again; state and results of the session stay what they are."""
    before = set(descendants([os.getpid()]))
    with sandbox.session(limits=Limits(seconds=60)) as session:
        done = session.run(BURN + CHILD.format(first="pass"))
        assert done.ok, done
        for _ in range(2):
            own = set(descendants([os.getpid()])) - before
            assert len(threads(own)) >= 3
            assert rests(own)
            done = session.run(ON)
            assert (done.stdout, done.error(), done.session_ended) == ("goes on\n", "", False)


def test_a_process_that_left_its_group_rests_too(sandbox: Sandbox) -> None:
    """In a namespace of its own and in the restricted tier, it is found."""
    before = set(descendants([os.getpid()]))
    with sandbox.session(limits=Limits(seconds=60)) as session:
        assert session.run(f"import os{CHILD.format(first='os.setsid()')}").ok
        assert rests(set(descendants([os.getpid()])) - before)
        assert session.run("print(1)").stdout == "1\n"


def test_a_process_that_left_its_group_goes_on_with_the_next_call(sandbox: Sandbox) -> None:
    """It answers in each call, and would keep the call waiting if it still rested."""
    echo = "import os\nos.setsid()\nwhile True: os.write(answers, os.read(questions, 1).upper())"
    code = f"""
import os
(questions, ask), (hear, answers) = os.pipe(), os.pipe()
if os.fork() == 0:
    exec({echo!r})
"""
    with sandbox.session(limits=Limits(seconds=10)) as session:
        assert session.run(code).ok
        for letter in "ab":
            done = session.run(f"os.write(ask, {letter.encode()})\nprint(os.read(hear, 1).decode())")
            assert done.stdout == f"{letter.upper()}\n", done


@pytest.mark.slow(reason="a call runs into its time limit")
def test_a_session_that_forges_the_end_of_its_call_rests_too(sandbox: Sandbox) -> None:
    """Its own process, which goes on, and one that left its group; the next call ends at its time limit."""
    before = set(descendants([os.getpid()]))
    with sandbox.session(limits=Limits(seconds=2)) as session:
        code = f"import os{CHILD.format(first='os.setsid()')}os.write(3, bytes(4))\nwhile True: pass"
        assert not session.run(code).session_ended
        assert rests(set(descendants([os.getpid()])) - before)
        done = session.run("print(1)")
        assert (done.session_ended, done.timed_out) == (True, True)


def test_a_call_that_runs_into_its_limit_ends_a_session_that_had_rested(sandbox: Sandbox) -> None:
    """Stopped processes are killed like others, by a limit and by ``close``."""
    before = set(descendants([os.getpid()]))
    session = sandbox.session(limits=Limits(seconds=3))  # enough for the calls that end, on a busy machine too
    session.run(BURN)
    assert session.run("while True: pass").session_ended
    session.run(BURN + CHILD.format(first="pass"))
    own = set(descendants([os.getpid()])) - before
    assert rests(own)
    session.close()
    until = time.monotonic() + 60
    while threads(own) and time.monotonic() < until:
        pass
    assert [state for state, _ in threads(own) if state != "Z"] == []


TRAINER = """
import os, signal, sys, time, warnings
from pathlib import Path
from gem_tools.sandbox import Sandbox
from gem_tools.sandbox.inside.restricted_processes import descendants
warnings.simplefilter("ignore")
session = Sandbox(sys.argv[1]).session()
burn = "import threading\\nthreading.Thread(target=lambda: [0 for _ in iter(int, 1)], daemon=True).start()"
assert session.run(burn).ok
until = time.monotonic() + 1
while time.monotonic() < until:
    states = [Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()[0] for one in descendants([os.getpid()])]
    if "T" in states:
        break
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def adopting() -> Iterator[None]:
    """Make this process the parent of orphans below it, so that it finds them."""
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    yield
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@pytest.mark.sampled(1)
@pytest.mark.usefixtures("adopting")
@pytest.mark.parametrize("mode", ["required", "restricted", "plain"])
def test_a_killed_trainer_leaves_no_session(mode: str) -> None:
    """What rests dies with it; where nothing could kill it then, in plain subprocesses, nothing rests."""
    sandbox_of(mode).close()
    before = set(descendants([os.getpid()]))
    trainer = subprocess.run([sys.executable, "-c", TRAINER, mode], check=False, capture_output=True)
    assert (trainer.returncode, trainer.stderr) == (-signal.SIGKILL, b"")
    left = set(descendants([os.getpid()])) - before
    until = time.monotonic() + 60
    while threads(left) and time.monotonic() < until:
        for process in left:
            with suppress(ChildProcessError):  # another one's child, or gone
                os.waitpid(process, os.WNOHANG)
    assert threads(left) == []


def test_a_session_that_dies_when_it_is_woken_says_so(sandbox: Sandbox) -> None:
    """Nothing happens in a session between two calls, so what would have ended it then ends it with the next one."""
    with sandbox.session(limits=Limits(seconds=30)) as session:
        assert session.run("x = 41\nimport os, signal\nsignal.signal(signal.SIGCONT, lambda *_: os._exit(0))").ok
        wait_for_a_rest()
        done = session.run("print(x)")
        assert (done.session_ended, done.stdout) == (True, "")
        assert "The session has ended" in done.stderr
        assert "NameError" in session.run("print(x)").stderr
