"""Bounded calls: whatever a function does in a worker, the caller gets an answer in time, and so does the next one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gem.errors import (
    ArgumentError,
    ArgumentTypeError,
    GemError,
    ProcessCallError,
    ProcessCrashError,
    ProcessTimeoutError,
)
from gem_processes import ProcessPool, SharedResource
from gem_processes import pool as pool_module

FUNCTIONS = textwrap.dedent(
    """
    import ctypes, os, signal, sys, threading, time

    COUNT = 0
    WARM = False

    def warm():
        global WARM
        WARM = True

    def echo(value=None):
        return value

    def act(what, value=None):
        global COUNT
        COUNT += 1
        if what == "echo": return value
        if what == "sleep": time.sleep(value); return "slept"
        if what == "C code": return 9 ** 9 ** 9
        if what == "deaf":
            for number in (signal.SIGTERM, signal.SIGXCPU, signal.SIGALRM): signal.signal(number, signal.SIG_IGN)
            while True: time.sleep(0.01)
        if what == "memory": return len(bytearray(value))
        if what == "memory bit by bit":
            kept = []
            while True: kept.append(bytearray(1 << 20))
        if what == "exit": os._exit(value)
        if what == "segfault": ctypes.string_at(0)
        if what == "recursion":
            if value:  # bytes, so that it is over sooner
                import resource
                pages = int(open("/proc/self/statm").read().split()[0])
                most = resource.getrlimit(resource.RLIMIT_AS)[1]
                resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + value, most))
            sys.setrecursionlimit(10 ** 9)
            f = lambda: f()
            f()
        if what == "raise": raise ValueError(value)
        if what == "sys.exit": sys.exit(value)
        if what == "object": return object()
        if what == "huge": return "x" * value
        if what == "nested":
            kept = []
            for _ in range(100_000): kept = [kept]
            return kept
        if what == "flood":
            for _ in range(1000): print("x" * 10_000); os.write(1, b"y" * 10_000); os.write(2, b"z" * 10_000)
            return "flooded"
        if what == "close": os.closerange(0, 1000); return 1
        if what == "close and stay": os.closerange(0, 1000); time.sleep(600)
        if what == "write": open(value, "w").write("x")
        if what == "fork": return os.fork() and 1
        if what == "fork away":
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0: time.sleep(600)
                os._exit(0)
            return 1
        if what == "thread": threading.Thread(target=time.sleep, args=(600,), daemon=True).start(); return 1
        if what == "read": return sys.stdin.read()
        if what == "who": return [os.getpid(), COUNT, WARM]
        if what == "forge": os.write(value, b"garbage" * 100); return 1
        raise LookupError(what)
    """
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder on the import path with the functions to call."""
    folder = tmp_path_factory.mktemp("functions")
    (folder / "called_functions.py").write_text(FUNCTIONS)
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def pool(folder: Path) -> Iterator[ProcessPool]:
    """A pool that the tests share, so that each shows what the one before has left; whoever hangs says for how long."""
    pool = ProcessPool("called_functions:act", seconds=30, memory=1 << 28, warm_up="called_functions:warm")
    yield pool
    pool.close()


def state_of(process: int) -> str | None:
    """The letter that says what a process does; None if there is no such process."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None


def children(process: int) -> list[int]:
    """The processes that a process has started and that are not over."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        if int(fields[1]) == process:
            found.append(int(folder.name))
    return found


def soon(fact: Callable[[], bool]) -> bool:
    """Whether something becomes true."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if fact():
            return True
        time.sleep(0.01)
    return False


linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.mark.parametrize("value", [None, True, 1, -2.5, "é\n\x00", "\ud800", [1, ["a"]], {"a": {"b": []}}, 10**400])
def test_values_pass_both_ways(pool: ProcessPool, value: Any) -> None:
    """What JSON can hold comes back as it went."""
    assert pool("echo", value) == value


def test_large_values_pass_both_ways(pool: ProcessPool) -> None:
    """Megabytes are no matter."""
    text = "x" * (8 << 20)
    assert pool.within(30, "echo", text) == text


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (("sleep", 60), ProcessTimeoutError, "0.6 s"),
        (("C code",), ProcessTimeoutError, "0.6 s"),
        (("deaf",), ProcessTimeoutError, "0.6 s"),
        (("memory", 1 << 33), ProcessCallError, "MemoryError"),
        (("memory bit by bit",), ProcessCallError, "MemoryError"),
        (("exit", 0), ProcessCrashError, "status 0"),
        (("exit", 7), ProcessCrashError, "status 7"),
        (("segfault",), ProcessCrashError, "SIGSEGV"),
        (("raise", "no"), ProcessCallError, "ValueError: no"),
        (("raise", "no" * 10**6), ProcessCallError, "ValueError: no"),
        (("sys.exit", 3), ProcessCallError, "SystemExit: 3"),
        (("object",), ProcessCallError, "TypeError"),
        (("huge", 17 << 20), ProcessCallError, "17825794 bytes"),
        (("nested",), ProcessCallError, "RecursionError"),
        (("close",), ProcessCrashError, "exited"),
        (("close and stay",), ProcessCrashError, "SIGKILL"),
        (("unknown",), ProcessCallError, "LookupError"),
        (("too", "many", "arguments"), ProcessCallError, "TypeError"),
    ],
)
def test_misbehaviour_is_an_error_and_the_next_call_is_fine(
    pool: ProcessPool, call: tuple[Any, ...], error: type[GemError], says: str
) -> None:
    """A call that goes wrong says how, in time, and the next one is answered."""
    with pytest.raises(ProcessCallError, match=says) as raised:
        pool.within(0.6 if error is ProcessTimeoutError else 30, *call)
    assert type(raised.value) is error
    assert pool.within(30, "echo", 5) == 5


@forks
def test_a_fork_server_that_is_late_says_how_a_worker_ended(pool: ProcessPool) -> None:
    """On a busy machine the fork server learns of a crash after its client, and reports it as it was."""
    pool("who")
    server = pool._state._source.server.pid  # type: ignore[union-attr]
    go_on = threading.Timer(0.5, os.kill, (server, signal.SIGCONT))
    os.kill(server, signal.SIGSTOP)
    go_on.start()
    with pytest.raises(ProcessCrashError, match="exited with status 7"):
        pool("exit", 7)
    go_on.join()
    assert pool("echo", 5) == 5


@forks
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_keeps_no_descriptor_of_its_parents_workers(folder: Path) -> None:
    """Its copies would keep workers from ending when the parent hangs up."""
    pool = ProcessPool("called_functions:act", seconds=30)
    pool("who")
    (worker,) = state = list(pool._state._idle)
    child = os.fork()
    if child == 0:
        os._exit(0 if worker.channel.fileno() == worker._disown.__self__.fileno() == -1 else 1)  # type: ignore[attr-defined]
    assert os.waitpid(child, 0)[1] == 0
    assert state == list(pool._state._idle)
    pool.close()


@linux
@pytest.mark.parametrize("memory", [16 << 20, pytest.param(0, marks=pytest.mark.nightly)])
def test_a_crash_by_recursion_is_an_error(pool: ProcessPool, memory: int) -> None:
    """Recursion without end is an error of whichever kind the interpreter makes of it."""
    with pytest.raises(ProcessCallError):
        pool.within(60, "recursion", memory)
    assert pool("echo", 5) == 5


def test_output_goes_nowhere(pool: ProcessPool, capfd: pytest.CaptureFixture[str]) -> None:
    """What a function prints does not appear, however much it is."""
    assert pool.within(60, "flood") == "flooded"
    assert capfd.readouterr() == ("", "")


def test_input_is_empty(pool: ProcessPool) -> None:
    """A function that reads the standard input waits for nobody."""
    assert pool("read") == ""


@forks
def test_no_file_is_written(pool: ProcessPool, tmp_path: Path) -> None:
    """A function cannot put anything into a file."""
    with pytest.raises(ProcessCallError):
        pool("write", str(tmp_path / "file"))
    assert not (tmp_path / "file").exists() or (tmp_path / "file").read_text() == ""


@pytest.mark.parametrize("descriptor", range(3, 12))
def test_garbage_in_a_channel_is_no_answer(pool: ProcessPool, descriptor: int) -> None:
    """A function that writes into its worker's descriptors breaks its own call at most."""
    with suppress(ProcessCallError):
        assert pool.within(0.6, "forge", descriptor) == 1
    assert pool("echo", 5) == 5


@linux
@pytest.mark.parametrize("what", ["fork", "fork away", "thread"])
def test_what_a_function_starts_ends(pool: ProcessPool, what: str) -> None:
    """A function's own processes and threads, where it can start them at all, are gone soon after the call."""
    before = pool("who")[0]  # starts the server, if no other test has
    own = pool._state._source.server.pid  # type: ignore[union-attr]
    with suppress(ProcessCallError):
        pool(what)
    pool("who")
    assert soon(lambda: len(children(own)) <= pool.workers)
    if what == "thread" and os.geteuid() == 0:
        assert pool("who")[0] != before


def test_the_warm_up_is_done_before_the_first_call(pool: ProcessPool) -> None:
    """Workers inherit what the warm-up has prepared."""
    assert pool("who")[2] is True


def test_a_worker_is_used_again(folder: Path) -> None:
    """Calls one after the other go to one process, which is replaced after a thousand."""
    with_one = ProcessPool("called_functions:act", seconds=30, workers=1)
    first, last = with_one("who")[0], 0
    for _ in range(998):
        last = with_one("who")[0]
    assert last == first
    assert with_one("who")[:2] == [first, 1000]
    assert with_one("who")[1] == 1
    with_one.close()


@linux
def test_memory_that_stays_ends_the_worker(folder: Path) -> None:
    """After a call that took much memory, another process answers."""
    pool = ProcessPool("called_functions:act", seconds=30, workers=1, memory=1 << 27)
    first = pool("who")[0]
    assert pool.within(60, "memory", 80 << 20) == 80 << 20
    assert pool("who")[0] != first
    pool.close()


@pytest.mark.slow
def test_threads_share_a_pool(pool: ProcessPool) -> None:
    """Sixty-four threads at once get each their own answers, among hanging and crashing calls."""

    def work(number: int) -> list[Any]:
        got: list[Any] = []
        for turn in range(12):
            if number % 8 == 0 and turn == 3:
                with pytest.raises(ProcessCrashError):
                    pool("exit", 1)
            if number % 16 == 1 and turn == 3:
                with pytest.raises(ProcessTimeoutError):
                    pool.within(0.6, "sleep", 60)
            got.append(pool.within(60, "echo", [number, turn]))
        return got

    with ThreadPoolExecutor(64) as threads:
        assert list(threads.map(work, range(64))) == [[[n, t] for t in range(12)] for n in range(64)]


def test_calls_wait_in_line() -> None:
    """Whoever waits longest for a worker gets the next one."""
    turns = pool_module._Turns(1)
    served: list[int] = []

    def work(number: int) -> None:
        with turns:
            served.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    with turns:
        for number, thread in enumerate(threads):
            thread.start()
            assert soon(lambda expected=number + 1: len(turns._waiting) == expected)  # type: ignore[misc]
    for thread in threads:
        thread.join()
    assert served == list(range(20))


@pytest.mark.slow
def test_waiting_for_a_worker_does_not_count(folder: Path) -> None:
    """With one worker and many calls, each has its whole time limit."""
    pool = ProcessPool("called_functions:act", workers=1, seconds=4.0)
    with ThreadPoolExecutor(5) as threads:
        assert list(threads.map(lambda _: pool("sleep", 1.0), range(5))) == ["slept"] * 5
    pool.close()


@linux
@pytest.mark.parametrize("killed", [30, pytest.param(300, marks=pytest.mark.nightly)])
def test_nothing_leaks(pool: ProcessPool, killed: int) -> None:
    """After so many killed workers there are as many processes and descriptors as before."""
    pool("who")
    template = pool._state._source.server.pid  # type: ignore[union-attr]

    def held() -> tuple[int, int]:
        return len(list(Path("/proc/self/fd").iterdir())), len(list(Path(f"/proc/{template}/fd").iterdir()))

    before = held()
    for turn in range(killed):
        with pytest.raises(ProcessCallError):
            pool.within(0.02, *(("exit", 1), ("sleep", 60), ("segfault",))[turn % 3])
    assert pool("echo", 5) == 5
    assert soon(lambda: len(children(template)) <= pool.workers)
    # The idle workers of the threads before may be gone, never more of them be there.
    assert all(now <= then for now, then in zip(held(), before, strict=True))


def test_replacing_a_worker_costs_no_import(folder: Path) -> None:
    """Twenty crashes and what follows cost less than one start of a template."""
    pool = ProcessPool("called_functions:act", seconds=60)
    begin = time.perf_counter()
    pool("who")
    start = time.perf_counter() - begin
    costs = []
    for _ in range(20):
        with pytest.raises(ProcessCrashError):
            pool("exit", 1)
        begin = time.perf_counter()
        pool("who")
        costs.append(time.perf_counter() - begin)
    pool.close()
    assert min(costs) < start / 4


@linux
def test_closing_ends_all_and_a_later_call_begins_anew(folder: Path) -> None:
    """After close there is no process, also where a call was running; the pool can be called again."""
    pool = ProcessPool("called_functions:act", seconds=60)
    worker = pool("who")[0]
    template = pool._state._source.server.pid  # type: ignore[union-attr]
    failed: list[BaseException] = []

    def hang() -> None:
        try:
            pool("sleep", 60)
        except ProcessCallError as error:
            failed.append(error)

    thread = threading.Thread(target=hang)
    thread.start()
    assert soon(lambda: bool(pool._state._busy))

    def is_over() -> bool:  # a call that had not begun yet at the first close begins anew
        pool.close()
        return not thread.is_alive()

    assert soon(is_over)
    pool.close()
    assert isinstance(failed[0], ProcessCrashError)
    assert soon(lambda: state_of(worker) is None)
    assert state_of(template) is None
    assert pool("echo", 5) == 5
    pool.close()


@linux
def test_the_last_user_ends_the_processes(folder: Path) -> None:
    """The processes of a shared pool stay as long as one of several users is left."""
    pool = ProcessPool("called_functions:act", seconds=30)
    shared = SharedResource(lambda: pool, ProcessPool.close)
    one, two = shared.handle(), shared.handle()
    one.acquire(), two.acquire()
    pool("who")
    template = pool._state._source.server.pid  # type: ignore[union-attr]
    one.close()
    one.close()
    assert state_of(template) is not None
    with two:
        pool("who")
    assert state_of(template) is None


@linux
@pytest.mark.parametrize("victim", ["template", "worker"])
def test_processes_killed_from_outside_are_replaced(folder: Path, victim: str) -> None:
    """Whatever somebody else kills between two calls, the second call is answered."""
    pool = ProcessPool("called_functions:act", seconds=60)
    worker = pool("who")[0]
    os.kill(worker if victim == "worker" else pool._state._source.server.pid, signal.SIGKILL)  # type: ignore[union-attr]
    assert soon(lambda: state_of(worker) in (None, "Z"))
    assert pool("who")[0] != worker
    pool.close()


@pytest.mark.parametrize(
    ("function", "says"),
    [("called_functions:missing", "missing"), ("no_such_module:f", "no_such_module"), ("nonsense", "must look like")],
)
def test_a_function_that_cannot_be_loaded(folder: Path, function: str, says: str) -> None:
    """The first call says why there is nothing to call."""
    pool = ProcessPool(function)
    with pytest.raises(ProcessCallError, match=says):
        pool()
    pool.close()


def test_impossible_arguments() -> None:
    """Settings and arguments that cannot be are refused in GEM's words."""
    with pytest.raises(ArgumentError):
        ProcessPool("a:b", seconds=0)
    with pytest.raises(ArgumentError):
        ProcessPool("a:b", workers=0)
    with pytest.raises(ArgumentTypeError):
        ProcessPool("a:b", memory="1 GB")  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError):
        ProcessPool("a:b")(object())
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    with pytest.raises(ArgumentError):
        ProcessPool("a:b")(nested)


def test_spawned_workers_do_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no fork, whole processes are started, with the same results."""
    monkeypatch.setattr(pool_module, "_CAN_FORK", False)
    pool = ProcessPool("called_functions:act", seconds=30, workers=2, warm_up="called_functions:warm")
    first = pool("who")
    assert first[1:] == [1, True]
    assert pool("who") == [first[0], 2, True]
    with pytest.raises(ProcessTimeoutError):
        pool.within(0.6, "C code")
    with pytest.raises(ProcessCrashError, match="status 3"):
        pool("exit", 3)
    with pytest.raises(ProcessCallError, match="ValueError"):
        pool("raise", "no")
    assert pool("echo", [1]) == [1]
    pool.close()
    with pytest.raises(ProcessCallError, match="cannot be loaded"):
        ProcessPool("no_such_module:f")()


def run(folder: Path, program: str, *options: str) -> subprocess.Popen[str]:
    """Start a program that has a pool; should it hang, it is over after two minutes."""
    begin = "from gem_processes import *\nimport os, signal, sys, threading, time\nsignal.alarm(120)\n"
    begin += "pool = ProcessPool('called_functions:act', seconds=60)\n"
    return subprocess.Popen(
        [sys.executable, "-X", "dev", *options, "-c", begin + textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])},
    )


@pytest.mark.slow
@linux
def test_killing_the_caller_leaves_no_process(folder: Path) -> None:
    """When the calling process is killed in the middle of a call, its template and its workers end."""
    program = run(
        folder,
        """
        print(pool("who")[0], pool._state._source.server.pid, flush=True)
        threading.Thread(target=pool, args=("deaf",)).start()
        while not pool._state._busy: time.sleep(0.01)
        print("busy", flush=True)
        """,
    )
    assert program.stdout is not None
    processes = [int(number) for number in program.stdout.readline().split()]
    assert program.stdout.readline() == "busy\n"
    processes += children(processes[1])
    program.kill()
    program.communicate()
    assert soon(lambda: all(state_of(process) is None for process in processes))


@linux
def test_the_end_of_the_interpreter_is_silent(folder: Path) -> None:
    """A program that ends without closing its pool, while a daemon thread is calling, prints nothing."""
    program = run(
        folder,
        """
        print(pool("who")[0], flush=True)
        other = ProcessPool("called_functions:echo", seconds=60)
        other(1)
        threading.Thread(target=pool, args=("sleep", 50), daemon=True).start()
        while not pool._state._busy: time.sleep(0.01)
        """,
        "-W",
        "error",
    )
    output, errors = program.communicate(timeout=180)
    assert (program.returncode, errors) == (0, "")
    assert soon(lambda: state_of(int(output)) is None)


@pytest.mark.slow
@forks
def test_a_forked_child_has_processes_of_its_own(folder: Path) -> None:
    """A child forked from a program with many calling threads calls and exits, and its parent goes on."""
    program = run(
        folder,
        """
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        stop = False
        def work():
            while not stop: assert pool("echo", 7) == 7
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads: thread.start()
        mine = pool("who")[0]
        for _ in range(3):
            child = os.fork()
            if child == 0:
                signal.alarm(120)
                fine = pool("echo", 3) == 3 and pool("who")[0] != mine
                pool.close()
                os._exit(not fine)
            assert os.waitpid(child, 0)[1] == 0
        stop = True
        for thread in threads: thread.join()
        print(pool("echo", "fine"))
        """,
    )
    assert program.communicate(timeout=180) == ("fine\n", "")


def test_importing_is_light() -> None:
    """The module loads neither subprocess-heavy libraries nor anything of an environment."""
    code = (
        "import sys, gem_processes; "
        "print([name for name in ('multiprocessing', 'numpy', 'asyncio', 'ctypes') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
