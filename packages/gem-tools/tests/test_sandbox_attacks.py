"""What code that means harm can do: nothing that lasts, nothing that reaches anybody else, and all of it in time."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

import gem
import gem_processes
import gem_tools
from gem_tools import PythonTool
from gem_tools.sandbox import Execution, Limits, Sandbox, SandboxError, Session

NOBODY = 65534

ENDLESS = Limits(seconds=1.0, memory=256 << 20, processes=24)
"""For what has to be ended."""

PATIENT = replace(ENDLESS, seconds=60.0)
"""For what ends by itself, however busy the machine is."""

HARMLESS = "import time\nfor i in range(3): time.sleep(0.01)\nprint(sum(range(1000)))"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox("required", PATIENT) as sandbox:
        try:
            sandbox.warm_up()
        except SandboxError as error:
            pytest.skip(f"NOT TESTED, the jail: {error}")
        yield sandbox


class Bystanders:
    """Harmless programs in some threads, for as long as an attack goes on.

    Args:
        threads: how many.
        pause: seconds from the end of one program to the next.
    """

    def __init__(self, sandbox: Sandbox, threads: int, pause: float) -> None:
        self.outputs: list[str] = []
        self.sandbox = sandbox
        self.pause = pause
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.work) for _ in range(threads)]

    def work(self) -> None:
        while True:
            done = self.sandbox.run(HARMLESS)
            self.outputs.append(done.stdout if done.ok else repr(done))
            if self.over.wait(self.pause):
                return

    def __enter__(self) -> Bystanders:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join()
        assert len(self.outputs) >= len(self.threads)
        assert set(self.outputs) == {"499500\n"}


CALL = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    if libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in arguments]) >= 0:
        print("allowed", number)
    else:
        print(errno.errorcode[ctypes.get_errno()])
"""

# A name, a program, and what has to stand in its output or error; None if it has to be ended at its limit.
CONTAINED: list[tuple[str, str, str | None]] = [
    ("a fork bomb", "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", None),
    (
        "a count of what a fork bomb gets",
        "import os, time\nn = 0\ntry:\n    while True:\n        if os.fork() == 0: time.sleep(60)\n        n += 1\n"
        "except OSError: print('stopped', n < 24)",
        "stopped True",
    ),
    ("a memory bomb", "x = bytearray(8 << 30)", "MemoryError"),
    ("a memory bomb by pieces", "x = []\nwhile True: x.append(bytearray(1 << 20))", "MemoryError"),
    ("memory in files that no folder holds", f"{CALL}\ncall(319, 0, 0)", "E"),
    ("endless output", "while True: print('x' * 10000)", "xxx"),
    ("endless output to the error stream", "import os\nwhile True: os.write(2, b'x' * 100000)", "xxx"),
    ("an endless loop", "while True: pass", None),
    ("an endless loop in C", "import re\nre.match('(a+)+$', 'a' * 100 + 'b')", None),
    ("a number without end", "9 ** 9 ** 9", None),
    (
        "a loop that no signal ends",
        "import signal\nfor n in range(1, 65):\n    try: signal.signal(n, signal.SIG_IGN)\n"
        "    except (OSError, ValueError): pass\n"
        "while True: pass",
        None,
    ),
    (
        "a daemon",
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(1000)\n"
        "    os._exit(0)\nprint('gone')",
        "gone",
    ),
    ("reading the password file", "print(open('/etc/passwd').read())", "FileNotFoundError"),
    (
        "reading the environment",
        "import os\nprint('secret' in str(os.environ).lower(), len(os.environ) < 15)",
        "False True",
    ),
    (
        "reading a process's environment",
        "print('sesame' in open('/proc/self/environ').read(), 'PYTEST' in open('/proc/self/environ').read())",
        "False False",
    ),
    (
        "listing processes",
        "import os\nprint([name for name in os.listdir('/proc') if name not in ('self', 'thread-self')])",
        "['2']\n",
    ),
    ("another process's memory", "open('/proc/1/mem', 'r+b')", "FileNotFoundError|PermissionError"),
    ("another process's environment", "open('/proc/1/environ')", "FileNotFoundError|PermissionError"),
    ("settings of the kernel", "open('/proc/sys/kernel/core_pattern', 'w')", "FileNotFoundError"),
    ("writing to the system", "open('/usr/lib/evil', 'w')", "Read-only file system"),
    ("writing to the root", "open('/evil', 'w')", "OSError|PermissionError"),
    ("writing to the interpreter", "import os\nopen(os.__file__, 'a')", "Read-only file system|PermissionError"),
    (
        "climbing out",
        "import os\nos.chdir('/')\nfor _ in range(9): os.chdir('..')\nprint(os.path.exists('sys'))",
        "False",
    ),
    ("a name server", "import socket\nsocket.getaddrinfo('example.com', 80)", "gaierror|PermissionError"),
    (
        "a socket",
        "import socket\nsocket.create_connection(('1.1.1.1', 53), 1)",
        "Network is unreachable|PermissionError",
    ),
    (
        "a socket of another execution",
        "import socket\nsocket.socket(socket.AF_UNIX).connect(bytes(1) + b'x')",
        "ConnectionRefusedError",
    ),
    ("datagrams", "import socket\nsocket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)", "PermissionError"),
    ("killing the first process", "import os, time\nos.kill(1, 9)\ntime.sleep(0.1)\nprint('well')", "well"),
    (
        "killing its parent",
        "import os\nprint(os.getppid(), flush=True)\nos.kill(os.getppid() or os.getpid(), 9)",
        "0\n",
    ),
    ("killing everybody", "import os\ntry: os.kill(-1, 9)\nexcept OSError: pass\nprint('well')", "well"),
    ("deep recursion", "def f(): return f()\nf()", "RecursionError"),
    (
        "deep recursion in C",
        "import sys\nsys.setrecursionlimit(10**9)\nx = []\nfor _ in range(10**5): x = [x]\nprint(len(repr(x)))",
        "",
    ),
    ("deep nesting", "eval('(' * 10**5)", "SyntaxError|MemoryError|RecursionError"),
    ("filling the disk", "with open('f', 'wb') as f:\n    while True: f.write(b'x' * (1 << 20))", "OSError"),
    (
        "filling the disk by many files",
        "n = 0\nwhile True:\n    with open(f'{n}', 'wb') as f: f.write(b'x' * (1 << 20))\n    n += 1",
        "No space left",
    ),
    ("using up the names of files", "n = 0\nwhile True:\n    open(f'{n}', 'w').close()\n    n += 1", "No space left"),
    ("leaving at once", "import os\nprint('x', flush=True)\nos._exit(7)", "x"),
    ("a crash", "import ctypes\nctypes.string_at(0)", ""),
    ("an abort", "import os\nos.abort()", ""),
    ("bytes that are no text", "import os\nos.write(1, bytes(range(256)))", "\ufffd"),
    ("NULs", "print('a\\0b')", "a\0b"),
    ("a NUL in the program", "print(1)\0", "null bytes"),
    ("a lone surrogate in the program", "print('\ud800')", "surrogates not allowed"),
    ("a closed output", "import sys, os\nsys.stdout.close()\nos.close(1)\nprint('x', file=sys.stderr)", "x"),
    ("all descriptors closed", "import os\nos.closerange(0, 100)\n1/0", ""),
    (
        "writing to every descriptor",
        "import os\nfor n in range(3, 256):\n    try: print('open', n, os.write(n, b'\\0' * 25))\n"
        "    except OSError: pass\nprint('done')",
        "done",
    ),
    ("a device", "import os\nos.mknod('sda', 0o660 | 0o060000, os.makedev(8, 0))", "PermissionError"),
    ("becoming root", "import os\nos.setuid(0)", "OSError|PermissionError"),
    ("changing the clock", "import time\ntime.clock_settime(time.CLOCK_REALTIME, 0)", "PermissionError"),
    ("changing the name of the machine", "import socket\nsocket.sethostname('evil')", "PermissionError"),
    (
        "raising a limit",
        "import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
        "ValueError|PermissionError",
    ),
]

X86_CALLS = {
    "unshare (user)": (272, 0x10000000),
    "unshare (mount)": (272, 0x00020000),
    "setns": (308, 0, 0),
    "mount": (165, 0, 0, 0, 0, 0),
    "umount2": (166, 0, 2),
    "pivot_root": (155, 0, 0),
    "chroot": (161, 0),
    "ptrace": (101, 0, 0, 0, 0),
    "process_vm_readv": (310, 1, 0, 0, 0, 0, 0),
    "bpf": (321, 0, 0, 0),
    "perf_event_open": (298, 0, 0, 0, 0, 0),
    "io_uring_setup": (425, 1, 0),
    "keyctl": (250, 0, 0),
    "add_key": (248, 0, 0, 0, 0, 0),
    "userfaultfd": (323, 0),
    "clone (new user namespace)": (56, 0x10000011, 0, 0, 0, 0),
    "init_module": (175, 0, 0, 0),
    "kexec_load": (246, 0, 0, 0, 0),
    "reboot": (169, 0, 0, 0, 0),
    "open_by_handle_at": (304, 0, 0, 0),
    "shmget": (29, 0, 4096, 0o1777),
    "memfd_create": (319, 0, 0),
    "fsopen": (430, 0, 0),
    "socket (internet, packets)": (41, 2, 5, 0),
    "socket (internet, ping)": (41, 2, 2, 1),
    "socket (internet, another protocol)": (41, 2, 1, 132),
    "socket (internet 6, packets)": (41, 10, 5, 0),
    "socket (internet 6, raw)": (41, 10, 3, 58),
    "socket (internet 6, ping)": (41, 10, 2, 58),
    "socket (internet 6, several ways)": (41, 10, 1, 262),
    "socket (datagrams with a name)": (41, 1, 2, 0),
    "the flags of a network interface": (16, 2, 0x8914, 0),
    "socket (netlink)": (41, 16, 3, 0),
    "socketpair (datagrams)": (53, 1, 2, 0, 0),
    "inotify_init1": (294, 0),
    "sched_setscheduler": (144, 0, 5, 0),
    "open_tree_attr": (467, 0, 0, 0, 0, 0),
    "a bigger pipe": (72, 0, 1031, 1 << 20),
    "notification of a folder": (72, 0, 1026, 2),
}


def check(sandbox: Sandbox, code: str, expected: str | None) -> None:
    """Run an attack, and look at what came of it."""
    started = time.monotonic()
    done = sandbox.run(code, limits=ENDLESS if expected is None else PATIENT)
    took = time.monotonic() - started
    judge(done, expected)
    if expected is None:
        assert took < PATIENT.seconds / 2, "how late exactly is measured in the benchmark"


def judge(done: Execution, expected: str | None) -> None:
    """Check the result of an attack."""
    if expected is None:
        assert done.timed_out, done
        assert (done.limit, done.exit_code) == ("seconds", None)
    else:
        assert not done.timed_out, done
        # The limit on memory of the process gives an error, that of the whole execution ends it, whichever comes first.
        written = done.stdout + done.stderr + ("MemoryError" if done.limit == "memory" else "")
        assert any(part in written for part in expected.split("|")), done
    assert "open " not in done.stdout


@pytest.mark.sampled(25)
@pytest.mark.parametrize(("code", "expected"), [case[1:] for case in CONTAINED], ids=[case[0] for case in CONTAINED])
@pytest.mark.parametrize(
    ("threads", "pause"), [(3, 0.1), pytest.param(16, 0.0, marks=pytest.mark.nightly)], ids=["few", "many"]
)
def test_an_attack_is_contained_and_reported_in_time(
    sandbox: Sandbox, code: str, expected: str | None, threads: int, pause: float
) -> None:
    """Each attack ends within its time and says what became of it, and others never notice."""
    with Bystanders(sandbox, threads, pause):
        check(sandbox, code, expected)
    assert sandbox.run("print('well')").stdout == "well\n"


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of another architecture")
@pytest.mark.parametrize("arguments", X86_CALLS.values(), ids=X86_CALLS)
def test_a_system_call_is_refused(sandbox: Sandbox, arguments: tuple[int, ...]) -> None:
    """The kernel's odd corners answer EPERM to executed code."""
    done = sandbox.run(f"{CALL}\ncall{arguments}")
    assert done.stdout == "EPERM\n", done


def test_clone3_is_not_there(sandbox: Sandbox) -> None:
    """A call whose flags no filter can see is answered as by a kernel without it, so that libraries use clone."""
    assert sandbox.run(f"{CALL}\ncall(435, 0, 0)").stdout == "ENOSYS\n"
    done = sandbox.run("import threading\nt = threading.Thread(target=print, args=('thread',))\nt.start(); t.join()")
    assert done.stdout == "thread\n"


def test_secrets_of_the_trainer_are_out_of_reach(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither its environment variables nor its files exist inside."""
    monkeypatch.setenv("API_KEY", "sesame")
    secret = tmp_path / "secret"
    secret.write_text("sesame")
    code = (
        "import os\nprint('sesame' in str(os.environ))\n"
        f"print(os.path.exists({str(secret)!r}), os.path.exists({str(Path.home())!r} + '/.ssh'))"
    )
    assert sandbox.run(code).stdout == "False\nFalse False\n"
    with Sandbox("required") as fresh:
        assert fresh.run(code).stdout == "False\nFalse False\n"


def test_nothing_is_left_for_the_next_program(sandbox: Sandbox) -> None:
    """Files, modules, environment variables and the random state of one execution are unknown to the next."""
    first = (
        "import os, json, random\nfor f in ('left', '/tmp/left', '/dev/shm/left'): open(f, 'w').write('x')\n"
        "json.left = os.environ['LEFT'] = '1'\nprint(random.random())"
    )
    second = (
        "import os, json, random\nprint(*('left' in os.listdir(f) for f in ('.', '/tmp', '/dev/shm')), "
        "hasattr(json, 'left'), 'LEFT' in os.environ)\nprint(random.random())"
    )
    earlier, later = sandbox.run(first), sandbox.run(second)
    assert earlier.ok, earlier
    assert later.stdout.startswith("False False False False False\n"), later
    assert earlier.stdout.strip() not in later.stdout


def test_random_numbers_differ_between_programs(sandbox: Sandbox) -> None:
    """No two executions begin with the generators of the fork server."""
    code = (
        "import random, numpy, uuid, os\nprint(random.random(), numpy.random.rand(), uuid.uuid4(), os.urandom(8).hex())"
    )
    drawn = [sandbox.run(code).stdout.split() for _ in range(4)]
    for column in zip(*drawn, strict=True):
        assert len(set(column)) == len(column)


def test_what_a_program_started_is_gone_with_it(sandbox: Sandbox) -> None:
    """A daemon that holds on to the output dies with the program, so that nothing waits for it."""
    code = (
        "import os, time\nfor _ in range(5):\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(1000)\n"
        "print('parent')"
    )
    started = time.monotonic()
    done = sandbox.run(code)
    assert (done.stdout, done.exit_code, done.timed_out) == ("parent\n", 0, False)
    assert time.monotonic() - started < PATIENT.seconds / 2


def test_how_a_program_ended_cannot_be_forged(sandbox: Sandbox) -> None:
    """No descriptor leads to whoever reports; what is written anywhere changes nothing of the exit code or time."""
    code = (
        "import gc, os, sys\nfor n in range(3, 1024):\n    try: os.write(n, b'\\0' * 25)\n    except OSError: pass\n"
        "print([o for o in gc.get_objects() if type(o).__name__ == 'socket' and o.fileno() >= 0])\nsys.exit(9)"
    )
    done = sandbox.run(code)
    assert (done.exit_code, done.stdout) == (9, "[]\n")


def test_memory_is_counted_beyond_the_interpreters_own(sandbox: Sandbox) -> None:
    """A program gets the memory that its limit names, whatever its fork server has loaded, and not twice as much."""
    limits = Limits(seconds=20, memory=128 << 20)
    for opening in ("", "import numpy\n"):
        assert sandbox.run(f"{opening}x = bytearray(100 << 20)\nprint(len(x))", limits=limits).ok
        done = sandbox.run(f"{opening}x = bytearray(200 << 20)", limits=limits)
        assert (done.ok, done.limit) == (False, "memory")


def test_cpu_time_is_limited_apart_from_wall_clock_time(sandbox: Sandbox) -> None:
    """A program that sleeps uses none; one that computes is ended when its own time is up."""
    limits = Limits(seconds=20, cpu_seconds=0.3)
    assert sandbox.run("import time\ntime.sleep(0.5)", limits=limits).ok
    done = sandbox.run("while True: pass", limits=limits)
    assert (done.timed_out, done.limit, done.exit_code) == (True, "cpu_seconds", None)
    assert done.cpu_seconds < 10


def test_a_program_that_floods_is_stopped_and_its_ends_are_kept(sandbox: Sandbox) -> None:
    """The beginning is kept with a note of what is missing; memory does not grow with the output."""
    done = sandbox.run("print('first')\nwhile True: print('x' * 1000)", limits=Limits(seconds=30, output=1000))
    assert (done.limit, done.exit_code, done.truncated, done.timed_out) == ("output", None, True, False)
    assert done.stdout.startswith("first\n")
    assert "bytes left out" in done.stdout
    assert len(done.stdout) < 1100


def test_packages_of_environments_look_empty(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that may hold answers is there and empty, also to a program that imports everything else."""
    import msgpack

    folder = str(Path(msgpack.__file__).parent)
    code = f"import os\nprint(len(os.listdir({folder!r})))"
    assert sandbox.run(code).stdout != "0\n"
    monkeypatch.setattr("gem_tools.sandbox.jail_launcher.hidden_folders", lambda _: [folder])
    with Sandbox("required") as fresh:
        assert fresh.run(code).stdout == "0\n"


FLOOD = """
import os, socket, time
try: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
except OSError: os.nice(19)
for _ in range(3): os.fork()
held = []
try:
    while True:
        held += (pair := socket.socketpair())
        pair[0].setblocking(False)
        try:
            while True: pair[0].send(b"x")
        except BlockingIOError: pass
except OSError: pass
while True: pass
"""


def test_no_program_ends_the_session_of_another(sandbox: Sandbox) -> None:
    """Full sockets and a low priority end with their own program at its limit; sessions beside it keep their state."""
    sessions = [sandbox.session() for _ in range(3)]
    for number, session in enumerate(sessions):
        assert session.run(f"x = {number}").ok
    generation = sandbox._jails.launcher_for("").generation
    with Bystanders(sandbox, 2, 0.05):
        done = sandbox.run(FLOOD, limits=ENDLESS)
    assert done.limit in ("seconds", "memory"), done
    assert [session.run("print(x)").stdout for session in sessions] == ["0\n", "1\n", "2\n"]
    assert sandbox._jails.launcher_for("").generation == generation
    for session in sessions:
        session.close()


@pytest.mark.nightly
def test_a_late_report_is_no_death(sandbox: Sandbox) -> None:
    """A fork server that does not get to report for long is waited for, and its sessions go on."""
    session = sandbox.session()
    assert session.run("x = 5").ok
    server = sandbox._jails.launcher_for("")._server
    assert server is not None
    (inside,) = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    results: list[Execution] = []
    runner = threading.Thread(target=lambda: results.append(sandbox.run("print('late')", limits=ENDLESS)))
    os.kill(int(inside), signal.SIGSTOP)
    runner.start()
    runner.join(ENDLESS.seconds + 8)
    os.kill(int(inside), signal.SIGCONT)
    runner.join()
    assert [done.stdout for done in results] == ["late\n"]
    assert session.run("print(x)").stdout == "5\n"
    session.close()


def end_from_outside(session: Session) -> None:
    """Kill the processes of a session, as the kernel does when memory runs out, and wait for the end."""
    ours = {os.getpid()}
    parents = {int(name): status_of(Path("/proc", name)) for name in os.listdir("/proc") if name.isdigit()}  # noqa: PTH208
    while more := {pid for pid, status in parents.items() if int(status.get("PPid", 0)) in ours} - ours:
        ours |= more
    for pid in ours:
        if (ids := parents[pid].get("NSpid", "").split())[2:] and ids[-1] == "2":
            os.kill(pid, signal.SIGKILL)
    channel = session._channel
    assert channel is not None
    assert select.select([channel], [], [], 60)[0]


@pytest.mark.usefixtures("sandbox")
def test_a_session_that_died_between_calls_says_so() -> None:
    """The next call is not executed and reports the end; the one after it begins a new session."""
    with Sandbox("required", PATIENT) as sandbox, sandbox.session() as session:
        assert session.run("x = 41").ok
        end_from_outside(session)
        done = session.run("open('written', 'w')\nprint(x)")
        assert (done.session_ended, done.ok, done.stdout) == (True, False, "")
        assert "since the last call" in done.stderr
        done = session.run("import os\nprint('x' in globals(), os.listdir())")
        assert (done.session_ended, done.stdout) == (False, "False []\n")


@pytest.mark.usefixtures("sandbox")
def test_the_agent_is_told_that_its_session_died() -> None:
    """The tool's answer says so, and the state of the tool no longer has the lost calls."""
    with Sandbox("required", PATIENT) as sandbox:
        tool = PythonTool(session=True, timeout=60, sandbox=sandbox)
        assert tool.respond("<python>x = 1</python>") is not None
        assert tool._open is not None
        end_from_outside(tool._open)
        answered = tool.respond("<python>print(x)</python>")
        assert answered is not None
        assert "session has ended" in answered[1].text
        assert tool.get_state()["past"] == []


TOGETHER = Limits(seconds=30.0, memory=192 << 20, processes=24, open_files=256)
HIDDEN = """
import mmap, os, time
for _ in range(3):
    shared = mmap.mmap(-1, 100 << 20)
    for place in range(0, len(shared), 4096): shared[place] = 1
    shared.madvise(mmap.MADV_DONTNEED)  # the pages stay, and no process maps them
    if os.fork(): break
    shared.close()
time.sleep(100)
"""
MANY = {
    "memory of several processes": "import os, time\nfor _ in range(4):\n    if os.fork() == 0: break\n"
    "held = bytearray(100 << 20)\ntime.sleep(100)",
    "pages that no process maps": HIDDEN,
    "sockets": "import os, time, socket\nfor _ in range(6):\n    if os.fork() == 0: break\n"
    "held = [socket.socketpair() for _ in range(100)]\ntime.sleep(100)",
    "pipes": "import os, time\nos.fork()\nheld = [os.pipe() for _ in range(100)]\ntime.sleep(100)",
    "mappings": "import mmap, time\nheld = [mmap.mmap(-1, 4096, prot=n % 2 + 1) for n in range(30_000)]\n"
    "time.sleep(100)",
}


@pytest.mark.parametrize("code", MANY.values(), ids=MANY)
def test_memory_is_limited_for_all_processes_together(sandbox: Sandbox, code: str) -> None:
    """What no process has too much of, the execution has."""
    done = sandbox.run(code, limits=TOGETHER)
    assert (done.limit, done.exit_code, done.timed_out) == ("memory", None, False), done


def test_what_stays_within_the_limits_is_not_stopped(sandbox: Sandbox) -> None:
    """Pages that a fork shares count once, and an ordinary pool of processes has few enough pipes."""
    code = (
        "import multiprocessing, os, time\nheld = b'x' * (100 << 20)\n"
        "with multiprocessing.Pool(16) as pool: print(pool.map(time.sleep, [0.1] * 32) == [None] * 32)"
    )
    done = sandbox.run(code, limits=TOGETHER)
    assert (done.stdout, done.limit) == ("True\n", None), done


def test_processes_are_counted_for_each_program(sandbox: Sandbox) -> None:
    """Programs at their limits of processes leave their neighbours all of theirs."""
    code = (
        "import threading\ngo = threading.Event()\nthreads = [threading.Thread(target=go.wait) for _ in range(31)]\n"
        "for thread in threads: thread.start()\n"
    )
    limits = replace(PATIENT, processes=32)
    sessions = [sandbox.session(limits) for _ in range(3)]
    for session in sessions:
        assert session.run(f"{code}print(threading.active_count())").stdout == "32\n"
        assert "can't start new thread" in session.run("threading.Thread(target=go.wait).start()").stderr
    for session in sessions:
        session.close()


def test_executions_have_no_channel_to_each_other(sandbox: Sandbox) -> None:
    """A name in the network namespace, a file and a process are unknown to a neighbour and to a successor."""
    code = (
        "import os, socket\nserver = socket.socket(socket.AF_UNIX)\nserver.bind(bytes(1) + b'board')\nserver.listen()\n"
        "client = socket.socket(socket.AF_UNIX)\nclient.connect(bytes(1) + b'board')\nprint('bound')"
    )
    for _ in range(2):  # in new namespaces, and in some that have been used
        sessions = [sandbox.session() for _ in range(3)]
        for session in sessions:
            assert session.run(code).stdout == "bound\n"  # each has the name to itself
        for session in sessions:
            session.close()
    for _ in range(4):  # in namespaces that have been used
        done = sandbox.run("import socket\nsocket.socket(socket.AF_UNIX).connect(bytes(1) + b'board')")
        assert "ConnectionRefusedError" in done.stderr


def status_of(process: Path) -> dict[str, str]:
    """What the kernel says of a process; empty if it has gone."""
    try:
        lines = (process / "status").read_text().splitlines()
    except OSError:
        return {}
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def test_a_program_has_no_privileges_seen_from_outside(sandbox: Sandbox) -> None:
    """Each wall stands by itself, though another would hold: no capability, no way to one, namespaces of its own.

    From inside, the filter of system calls hides whether there is a network or a capability at all.
    """
    session = sandbox.session()
    assert session.run("print('here')").stdout == "here\n"
    everybody = {path: status_of(path) for path in Path("/proc").iterdir() if path.name.isdigit()}
    # Not those of other tests that run at the same time: theirs may be on their way into the jail.
    ours = {str(os.getpid())}
    while more := {path.name for path, status in everybody.items() if status.get("PPid") in ours} - ours:
        ours |= more
    # In a process namespace within that of the fork server, which is within ours.
    # The first process of an execution only waits, and holds the rights that end the others.
    inner = [
        path
        for path, status in everybody.items()
        if path.name in ours and (ids := status.get("NSpid", "").split())[2:] and ids[-1] != "1"
    ]
    assert inner
    for path in inner:
        status = everybody[path]
        assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0" * 16}
        assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
        assert "0" not in status["Uid"].split()
        for kind in ("net", "mnt", "ipc", "uts", "user", "pid"):
            try:
                theirs = (path / "ns" / kind).readlink()
            except FileNotFoundError:  # an execution of an earlier test that has ended meanwhile
                continue
            assert theirs != Path(f"/proc/self/ns/{kind}").readlink(), kind
    session.close()


def as_user(user: int) -> list[str]:
    """The start of a command that runs Python with these packages as a user."""
    start = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user != os.geteuid() else []
    sources = os.pathsep.join(str(Path(package.__path__[0]).parent) for package in (gem, gem_processes, gem_tools))
    for python in (sys.executable, "/usr/bin/python3"):  # an interpreter in root's home is root's alone
        command = [*start, "env", f"PYTHONPATH={sources}", python]
        test = "import sys, gem_tools.sandbox; assert sys.version_info >= (3, 10)"
        if subprocess.run([*command, "-c", test], capture_output=True, cwd="/", check=False).returncode == 0:
            return command
    pytest.skip(f"NOT TESTED: no Python here runs as user {user}")


@pytest.mark.usefixtures("sandbox")
@pytest.mark.skipif(os.geteuid() != 0, reason="all other tests of this file run as an ordinary user")
@pytest.mark.nightly
@pytest.mark.parametrize("endless", [False, True], ids=["short", "endless"])
def test_the_attacks_are_contained_as_an_ordinary_user(endless: bool) -> None:
    """The jail of an ordinary user holds too, and leaves its trainer the kernel's quotas of their common user."""
    command = as_user(NOBODY)
    cases = [(code, expected) for _, code, expected in CONTAINED if (expected is None) == endless]
    many = [] if endless else list(MANY.values())
    attacks: list[tuple[str, dict[str, object]]] = [
        (code, asdict(ENDLESS if endless else PATIENT)) for code, _ in cases
    ]
    attacks += [(code, asdict(TOGETHER)) for code in many]
    done = subprocess.run(
        [*command, str(Path(__file__).with_name("jail_battery.py"))],
        input=json.dumps(attacks), capture_output=True, text=True, cwd="/", check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["user"] == NOBODY
    results = [Execution(**result) for result in told["results"]]
    for (_, expected), result in zip(cases, results[: len(cases)], strict=True):
        judge(result, expected)
    assert [result.limit for result in results[len(cases) :]] == ["memory"] * len(many)
    assert told["quotas"] == {"refused": "200", "sizes": [65536], "watching": True}
