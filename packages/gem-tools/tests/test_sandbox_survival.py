"""Programs that try to take their fork server, its caller or the verdicts of others along."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gem import make
from gem_tools import PythonTool
from gem_tools.sandbox import InfrastructureError, Limits, Sandbox, SandboxError, SandboxWarning
from gem_tools.sandbox.jail_launcher import JailLauncher

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the tiers with fork servers need Linux")

PATIENT = Limits(seconds=60.0)


@pytest.fixture(scope="module", params=["required", "restricted"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A sandbox of each tier with a fork server, which runs."""
    sandbox = Sandbox(request.param, PATIENT)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SandboxWarning)
            sandbox.run("1")
    except SandboxError as error:
        pytest.skip(str(error))
    yield sandbox
    sandbox.close()


LEFT_BEHIND = {
    "folders deeper than recursion": "import os\nfor _ in range(1500): os.mkdir('d' * 250); os.chdir('d' * 250)",
    "folders without rights": "import os\nfor n in range(30): os.makedirs(f'{n}/a/b'); os.chmod(f'{n}/a', 0)",
    "names that are no text": "import os\nfor n in range(90): os.mkdir(bytes([200, 255, n + 1]))",
    "links in circles": "import os\nfor n in range(90): os.symlink('.' if n % 2 else '/', str(n))",
}


@pytest.mark.parametrize("code", LEFT_BEHIND.values(), ids=LEFT_BEHIND)
def test_a_server_survives_whatever_a_program_leaves_behind(sandbox: Sandbox, code: str) -> None:
    """A neighbour's session keeps its state, and the next program runs on the same server."""
    with sandbox.session() as session:
        assert session.run("x = 41").ok
        generation = sandbox._launcher("").generation
        sandbox.run(code)
        assert session.run("print(x)").stdout == "41\n"
        assert sandbox.run("print(1)").stdout == "1\n"
        assert sandbox._launcher("").generation == generation


def killing(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Kill the fork server right after the start of an execution, a number of times."""
    start, left = JailLauncher.start, [times]

    def started(self: JailLauncher, *args: Any, **kwargs: Any) -> Any:
        running = start(self, *args, **kwargs)
        if left[0]:
            left[0] -= 1
            assert self._server is not None
            os.kill(self._server.pid, signal.SIGKILL)
        return running

    monkeypatch.setattr(JailLauncher, "start", started)


@pytest.mark.slow(reason="it starts fork servers or environments anew")
def test_a_program_whose_server_is_killed_once_runs_again(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Apart from all others, with a result like any."""
    killing(monkeypatch, 1)
    assert sandbox.run("import time; time.sleep(0.3); print(1)").stdout == "1\n"


@pytest.mark.slow(reason="it starts fork servers or environments anew")
def test_a_fault_of_the_infrastructure_is_no_result(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a limit of the program nor a verdict: it is an error, which the tool reports as such."""
    killing(monkeypatch, 2)
    with pytest.raises(InfrastructureError, match="says nothing about the program"):
        sandbox.run("import time; time.sleep(0.3)")
    killing(monkeypatch, 2)
    result = PythonTool(sandbox=sandbox, timeout=60).execute({"code": "import time; time.sleep(0.3)"})
    assert (result.ok, result.data["limit"]) == (False, "infrastructure")


def test_a_session_whose_server_is_killed_says_that_the_infrastructure_failed(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And loses its state."""
    killing(monkeypatch, 1)
    with sandbox.session() as session:
        done = session.run("import time; time.sleep(0.3)")
        assert (done.session_ended, done.limit, done.ok) == (True, "infrastructure", False)


FORGERS = {
    "answers without end": "import os, threading\ndef forge():\n    while True: os.write(3, bytes(4))\n"
    "threading.Thread(target=forge, daemon=True).start()",
    "one answer too many": "import os\nos.write(3, bytes(4))",
    "an answer of no length": "import os\nos.write(3, b'x')",
    "a closed channel": "import os\nos.close(3)",
}


@pytest.mark.parametrize("code", FORGERS.values(), ids=FORGERS)
def test_a_session_that_breaks_its_protocol_is_ended_and_says_so(sandbox: Sandbox, code: str) -> None:
    """The caller never waits for it, and the call after the one that finds out has a new session.

    A thread that forges answers runs only while a call does, so the first calls may be over before it begins.
    """
    with sandbox.session(Limits(seconds=5)) as session:
        results: list[Any] = []

        def call() -> None:
            for each in [code, *["1"] * 300]:
                results.append(session.run(each))
                if results[-1].session_ended:
                    break
            results.append(session.run("1"))

        caller = threading.Thread(target=call, daemon=True)
        caller.start()
        caller.join(60)
        assert not caller.is_alive(), "a call waits for ever"
        assert results[-2].session_ended
        assert "session has ended" in results[-2].stderr
        assert results[-1].ok


@pytest.mark.slow(reason="a session takes some hundred calls that nobody reads")
def test_a_session_that_answers_without_reading_does_not_block_its_caller(sandbox: Sandbox) -> None:
    """A call that is still unread when the next one comes ends the session, too."""
    code = (
        "import fcntl, os, struct, termios, time\n"
        "seen = 0\nos.write(3, bytes(4))\n"
        "while True:\n"
        "    size = struct.unpack('i', fcntl.ioctl(3, termios.FIONREAD, bytes(4)))[0]\n"
        "    if size > seen: seen = size; os.write(3, bytes(4))\n"
    )
    with sandbox.session(Limits(seconds=2)) as session:
        finished = threading.Event()

        def call() -> None:
            for _ in range(600):
                if session.run(code if _ == 0 else "1").session_ended:
                    break
            finished.set()

        threading.Thread(target=call, daemon=True).start()
        assert finished.wait(60)


MEMORY = Limits(seconds=20.0, memory=64 << 20)
HIDERS = {
    "shared memory that no process maps": "import mmap, os, time\nfor _ in range(6):\n    r, w = os.pipe()\n"
    "    if os.fork() == 0:\n        m = mmap.mmap(-1, 40 << 20)\n"
    "        for i in range(0, len(m), 4096): m[i] = 1\n        m.madvise(mmap.MADV_DONTNEED)\n"
    "        os.write(w, b'x'); time.sleep(10); os._exit(0)\n    os.read(r, 1)\ntime.sleep(5)",
    "processes that hide": "import ctypes, os, time\nctypes.CDLL(None).prctl(4, 0)\nfor _ in range(6):\n"
    "    if os.fork() == 0:\n        x = b'x' * (40 << 20); time.sleep(10); os._exit(0)\ntime.sleep(5)",
}


@pytest.mark.parametrize("code", HIDERS.values(), ids=HIDERS)
def test_the_limit_of_memory_counts_what_a_program_hides(sandbox: Sandbox, code: str) -> None:
    """In both tiers; shared memory within the limit is allowed."""
    assert sandbox.run(code, limits=MEMORY).limit == "memory"
    within = (
        "import mmap, time\nm = mmap.mmap(-1, 40 << 20)\nfor i in range(0, len(m), 4096): m[i] = 1\ntime.sleep(0.4)"
    )
    assert sandbox.run(within, limits=MEMORY).ok


def test_the_limit_of_disk_counts_below_the_longest_path() -> None:
    """Files in folders whose path is too long to be named."""
    with Sandbox("restricted", PATIENT) as restricted:
        code = (
            "import os, time\nfor _ in range(40): os.mkdir('d' * 250); os.chdir('d' * 250)\n"
            "for n in range(60): open(str(n), 'wb').write(bytes(1 << 20))\ntime.sleep(5)"
        )
        assert restricted.run(code, limits=Limits(seconds=20, disk=1 << 20)).limit == "disk"


def test_locks_on_shared_files_reach_nobody(sandbox: Sandbox) -> None:
    """A lock that a program takes does not keep another program, or the owner, from taking it."""
    import fcntl

    code = "import fcntl, sys\nf = open(sys.modules['os'].__file__)\nfcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)"
    with sandbox.session() as session, Path(os.__file__).open() as file:
        assert session.run(code).ok
        assert sandbox.run(code).ok
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.slow(reason="it starts fork servers or environments anew")
def test_a_fault_of_the_infrastructure_truncates_an_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code is not judged by it: the environment raises, and a vector environment notes an error without a verdict."""
    pytest.importorskip("gem_envs_code")
    from gem import make_vec

    def fail(*_: object, **__: object) -> None:
        raise InfrastructureError("killed")

    monkeypatch.setattr(Sandbox, "_run", fail)
    env = make("code:Mini-v0")
    env.reset(seed=0)
    with pytest.raises(InfrastructureError):
        env.step("```python\nprint(1)\n```")
    with make_vec("code:Mini-v0", num_envs=1, autoreset="disabled") as envs:
        envs.reset(seed=0)
        _, rewards, terminated, truncated, infos = envs.step(["```python\nprint(1)\n```"])
        assert (bool(terminated[0]), bool(truncated[0]), float(rewards[0])) == (False, True, 0.0)
        assert "InfrastructureError" in str(infos[0]["error"])
