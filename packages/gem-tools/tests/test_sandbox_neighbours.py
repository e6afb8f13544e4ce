"""Innocent programs beside hostile ones: none is lost, late or judged otherwise, and nothing is left of either."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gem_tools.sandbox import Execution, Limits, Sandbox, SandboxError, SandboxWarning
from gem_tools.sandbox.jail_launcher import JailLauncher
from gem_tools.sandbox.restricted_launcher import RestrictedLauncher

INNOCENT = Limits(seconds=120.0)
HOSTILE = Limits(seconds=1.0, memory=192 << 20, processes=16)
SLACK = 0.5
"""Seconds by which an execution may be late, beyond the time in which its processes waited for a processor."""

HEADER = """
import os
n = int(input())
def told():
    try: return os.getpid(), *open("/proc/self/schedstat").read().split()[:2]
    except PermissionError: return os.getpid(),
"""
"""Tells, where the tier shows it, the nanoseconds in which a program ran, and in which it waited for a processor."""

PROGRAMS = {
    "square": "print(n * n, *told())",
    "error": "print(n * n, *told())\nraise ValueError(str(n))",
    "exit code": "import sys\nprint(n * n, *told())\nsys.exit(7)",
    "memory": "try: x = bytearray(8 << 30)\nexcept MemoryError: print(n * n, *told())",
    "file": "with open('f', 'w') as file: file.write('x' * 100_000)\n"
    "print(n * n if len(open('f').read()) == 100_000 else None, *told())",
    "threads": "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(4) as pool:\n"
    "    print(sum(pool.map(lambda _: n, range(n))), *told())",
}
"""Programs that print a square first; what else becomes of them must be the same as when they are alone."""

ATTACKS = [
    "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    "import os, socket\nfor _ in range(3): os.fork()\nheld = []\ntry:\n    while True:\n"
    "        held += (pair := socket.socketpair())\n        pair[0].setblocking(False)\n        try:\n"
    "            while True: pair[0].send(b'x')\n        except BlockingIOError: pass\nexcept OSError: pass\n"
    "while True: pass",
    "import os\nfor _ in range(3): os.fork()\nheld = bytearray(120 << 20)\nwhile True: pass",
    "import mmap, os\nfor _ in range(3):\n    held = mmap.mmap(-1, 100 << 20)\n"
    "    for place in range(0, len(held), 4096): held[place] = 1\n    held.madvise(4)\n    if os.fork(): break\n"
    "    held.close()\nwhile True: pass",
    "import os\nfor _ in range(2): os.fork()\nheld = []\n"
    "while True:\n    try: held.append(os.pipe())\n    except OSError: pass",
    "import os, signal\nfor n in range(1, 65):\n    try: signal.signal(n, signal.SIG_IGN)\n"
    "    except (OSError, ValueError): pass\n"
    "try: os.kill(-1, 9)\nexcept OSError: pass\ntry: os.nice(19)\nexcept OSError: pass\nwhile True: pass",
    "n = 0\nwhile True:\n    try:\n        with open(f'{n}', 'wb') as file: file.write(bytes(1 << 16))\n"
    "    except OSError: pass\n    n += 1",
    "while True: print('x' * 10000)",
    "import os\nfor _ in range(1500): os.mkdir('d' * 250); os.chdir('d' * 250)",
    "import ctypes\nctypes.CDLL(None).prctl(4, 0)\nheld = [bytearray(b'x' * (1 << 20)) for _ in range(150)]\n"
    "while True: pass",
    "import fcntl, os, sys\nfor path in (os.__file__, sys.executable):\n"
    "    try: fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_EX)\n    except OSError: pass\nwhile True: pass",
    "import os\nos.setsid()\nif os.fork() == 0:\n    while True:\n        try: os.write(1, b'\\0' * 4)\n"
    "        except OSError: pass\nos.kill(os.getpid(), 9)",
]


def waited(path: str) -> float:
    """The seconds for which a thread waited for a processor: the second number of ``schedstat``."""
    return int(Path(path).read_text().split()[1]) / 1e9


def children(pid: int) -> list[int]:
    """The children of a process with one thread; none if it has ended."""
    try:
        return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    except OSError:
        return []


def family() -> set[int]:
    """The descendants of this process."""
    parents = {}
    for name in filter(str.isdigit, (path.name for path in Path("/proc").iterdir())):
        try:
            parents[int(name)] = int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


class Samples:
    """The times of a fork server and its children, seen from outside at short intervals.

    A fork waits for the kernel's locks of the files that it maps (``dup_mmap``), which any process of the machine that
    maps the same libraries and forks may hold while it waits for a processor. No scheduler counts that time.

    Args:
        parent: the process id.
    """

    def __init__(self, parent: int) -> None:
        self.parent = parent
        self.nanoseconds: dict[int, int] = {}
        """By child: the time in which it ran or waited for a processor."""
        self.in_forks = 0.0
        """Seconds in which the parent's forks waited for locks."""
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()

    def look(self) -> None:
        with suppress(PermissionError):  # of an ordinary user, whose samples are late on a busy machine
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        before = time.monotonic()
        while not self.over.wait(0.002):
            now = time.monotonic()
            with suppress(OSError):
                if Path(f"/proc/{self.parent}/wchan").read_text() == "dup_mmap":
                    self.in_forks += now - before
            before = now
            for child in children(self.parent):
                with suppress(OSError):
                    times = Path(f"/proc/{child}/schedstat").read_text().split()
                    self.nanoseconds[child] = sum(map(int, times[:2]))

    def close(self) -> None:
        self.over.set()
        self.thread.join()


class Crowd:
    """Threads that run innocent programs, and threads that run hostile ones until these are through."""

    def __init__(self, sandbox: Sandbox, programs: int) -> None:
        self.sandbox = sandbox
        self.numbers: Iterator[int] = iter(range(programs))
        self.lost: list[object] = []
        self.late: list[float] = []
        self.machine: list[float] = []
        self.attacks = 0
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.alone = {name: self.verdict(self.run(name, 3), 3) for name in PROGRAMS}
        launcher = sandbox._launcher("")
        assert isinstance(launcher, (JailLauncher, RestrictedLauncher))
        assert launcher._server is not None
        outer = launcher._server.pid
        inner = children(outer)[0]  # which starts all others
        self.samples = Samples(inner)
        self.servers = [f"/proc/{process}/schedstat" for process in (outer, inner)]

    def run(self, name: str, number: int) -> Execution:
        return self.sandbox.run(HEADER + PROGRAMS[name], stdin=str(number), limits=INNOCENT)

    def verdict(self, done: Execution, number: int) -> tuple[object, ...]:
        """What a judge sees, but for the number and the times."""
        square = done.stdout.split()[:1] == [str(number * number)]
        return square, done.exit_code, done.limit, done.timed_out, done.error(last_line_only=True) == f"{number}"

    def waited(self, own: str) -> float:
        """The seconds in which this thread and the servers waited for a processor, or forks for locks."""
        return waited(own) + sum(map(waited, self.servers)) + self.samples.in_forks

    def innocent(self) -> None:
        names = list(PROGRAMS)
        own = f"/proc/self/task/{threading.get_native_id()}/schedstat"
        while True:
            with self.lock:
                number = next(self.numbers, None)
            if number is None:
                return
            before = self.waited(own)
            started = time.monotonic()
            name = names[number % len(names)]
            try:
                done = self.run(name, number)
            except SandboxError as error:
                self.lost.append(error)
                continue
            took = time.monotonic() - started
            elsewhere = self.waited(own) - before
            if self.verdict(done, number) != self.alone[name]:
                self.lost.append(done)
            else:
                pid, *inside = map(int, done.stdout.split()[1:])
                seen = sum(inside) if inside else self.samples.nanoseconds.get(pid, 0)
                self.late.append(took - elsewhere - seen / 1e9)
            if number % 10 == 0:
                self.measure_machine(own)

    def measure_machine(self, own: str) -> None:
        """Start a process without the sandbox, and note its delay measured in the same way."""
        command = ["/bin/cat", "/proc/self/schedstat"]
        before, started = waited(own), time.monotonic()
        said = subprocess.run(command, capture_output=True, check=True, start_new_session=True).stdout.split()
        took = time.monotonic() - started
        self.machine.append(took - (waited(own) - before) - sum(map(int, said[:2])) / 1e9)

    def hostile(self, number: int) -> None:
        while not self.over.is_set():
            try:
                done = self.sandbox.run(ATTACKS[number % len(ATTACKS)], limits=HOSTILE)
            except SandboxError as error:
                self.lost.append(error)
                continue
            self.attacks += 1
            if done.exit_code is None and done.limit not in ("seconds", "memory", "output", "disk"):
                self.lost.append(done)
            number += 1

    def meet(self, innocent: int, hostile: int) -> None:
        attackers = [threading.Thread(target=self.hostile, args=[number]) for number in range(hostile)]
        workers = [threading.Thread(target=self.innocent) for _ in range(innocent)]
        for thread in (*attackers, *workers):
            thread.start()
        for thread in workers:
            thread.join()
        self.over.set()
        for thread in attackers:
            thread.join()
        self.samples.close()


@pytest.mark.parametrize(
    ("mode", "programs", "hostile"),
    [
        ("required", 40, 2),
        pytest.param("restricted", 40, 2, marks=pytest.mark.nightly),
        pytest.param("required", 10_000, 8, marks=pytest.mark.nightly),
        pytest.param("restricted", 10_000, 8, marks=pytest.mark.nightly),
    ],
)
def test_none_is_lost_late_or_judged_otherwise_beside_attackers(mode: str, programs: int, hostile: int) -> None:
    """Each innocent program has the verdict that it has alone, as soon as its processes had their processor time."""
    with Sandbox(mode, INNOCENT) as sandbox, warnings.catch_warnings():
        warnings.simplefilter("ignore", SandboxWarning)
        try:
            sandbox.warm_up()
        except SandboxError as error:
            pytest.skip(f"NOT TESTED, {mode}: {error}")
        crowd = Crowd(sandbox, programs)
        generation = sandbox._launcher("").generation
        before = family()
        crowd.meet(4, hostile)
        print(
            f"{mode}: {programs} programs beside {crowd.attacks} attacks; {len(crowd.lost)} lost; latest by "
            f"{sorted(crowd.late)[-5:]} s, processes of the machine by {sorted(crowd.machine)[-5:]} s",
            file=sys.stderr,
        )
        assert crowd.lost == []
        assert len(crowd.late) == programs
        assert crowd.attacks >= hostile
        # A process also waits for a processor after it has told how long it waited, in the sandbox and outside.
        assert max(crowd.late) <= SLACK + max(crowd.machine)
        assert sandbox._launcher("").generation == generation
        assert family() <= before
