"""Innocent programs in a sandbox beside others, and by how much each is late."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from gem_tools.sandbox import Execution, Limits, Sandbox, SandboxError
from gem_tools.sandbox.jail_launcher import JailLauncher
from gem_tools.sandbox.restricted_launcher import RestrictedLauncher

_BLOCK = 250
INNOCENT = Limits(seconds=120.0)
OTHERS = Limits(seconds=1.0, memory=192 << 20, processes=16)
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
    "import socket\nserver = socket.create_server(('127.0.0.1', 0), backlog=4096)\nheld = []\nwhile True:\n"
    "    try:\n        with socket.create_connection(server.getsockname()) as client: client.send(b'x' * 10_000)\n"
    "        held.append(server.accept()[0])\n    except OSError: held.clear()",
    "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))",
]

ORDINARY = [
    "import os\nfor _ in range(3): os.fork()\nwhile True: sum(range(10_000))",
    "import os\nfor _ in range(3): os.fork()\nwhile True: sorted(map(str, range(100_000)))",
    "import subprocess\nwhile True: subprocess.run(['/bin/true'], check=True)",
    "import json, os\nos.fork()\nrows = [{'number': n, 'text': str(n) * 9} for n in range(20_000)]\n"
    "while True:\n    with open(f'{os.getpid()}.json', 'w') as file: json.dump(rows, file)\n"
    "    with open(f'{os.getpid()}.json') as file: assert json.load(file) == rows",
    "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(8) as pool:\n"
    "    while True: list(pool.map(lambda n: sum(range(n)), range(2_000)))",
    "from multiprocessing import Pool\nwith Pool(4) as pool:\n    while True: pool.map(abs, range(10_000))",
]
"""Programs that want as much of the machine as the attacks, and harm nobody: they work until their time is up."""


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


@dataclass
class Meeting:
    """The outcome of innocent programs beside others."""

    lost: list[object] = field(default_factory=list)
    """What was judged otherwise than alone, and the executions that the sandbox could not make."""
    late: list[float] = field(default_factory=list)
    """By innocent program: seconds on the clock, less those in which it ran, and it, this thread or a server waited for
    a processor. Waits at one time count each, so that most are negative on a busy machine."""
    took: list[float] = field(default_factory=list)
    """By innocent program: seconds on the clock."""
    machine: list[float] = field(default_factory=list)
    """The delays of processes that are started without the sandbox."""
    others: int = 0
    """The executions beside the innocent ones."""

    def add(self, other: Meeting) -> None:
        """Add the outcome of more programs."""
        self.lost += other.lost
        self.late += other.late
        self.took += other.took
        self.machine += other.machine
        self.others += other.others


class Crowd:
    """Threads that run innocent programs, and threads that run others until these are through."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.lock = threading.Lock()
        self.alone = {name: self.verdict(self.run(name, 3), 3) for name in PROGRAMS}
        self.launcher = sandbox._launcher("")
        assert isinstance(self.launcher, (JailLauncher, RestrictedLauncher))
        assert self.launcher._server is not None
        self.outer = self.launcher._server.pid
        self.inner = children(self.outer)[0]  # which starts all others
        self.servers = [f"/proc/{process}/schedstat" for process in (self.outer, self.inner)]

    def run(self, name: str, number: int) -> Execution:
        return self.sandbox.run(HEADER + PROGRAMS[name], stdin=str(number), limits=INNOCENT)

    def verdict(self, done: Execution, number: int) -> tuple[object, ...]:
        """What a judge sees, but for the number and the times."""
        square = done.stdout.split()[:1] == [str(number * number)]
        return square, done.exit_code, done.limit, done.timed_out, done.error(last_line_only=True) == f"{number}"

    def meet(self, numbers: Sequence[int], others: Sequence[str], beside: int, *, workers: int = 4) -> Meeting:
        """Run an innocent program for each number, in some threads, beside others in as many threads as ``beside``."""
        meeting, over, left = Meeting(), threading.Event(), iter(numbers)
        samples = Samples(self.inner)
        busy = [threading.Thread(target=self._busy, args=[meeting, over, others, number]) for number in range(beside)]
        innocent = [threading.Thread(target=self._innocent, args=[meeting, samples, left]) for _ in range(workers)]
        for thread in (*busy, *innocent):
            thread.start()
        for thread in innocent:
            thread.join()
        over.set()
        for thread in busy:
            thread.join()
        samples.close()
        return meeting

    def _waited(self, own: str, samples: Samples) -> float:
        """The seconds in which this thread and the servers waited for a processor, or forks for locks."""
        return waited(own) + sum(map(waited, self.servers)) + samples.in_forks

    def _innocent(self, meeting: Meeting, samples: Samples, left: Iterator[int]) -> None:
        names = list(PROGRAMS)
        own = f"/proc/self/task/{threading.get_native_id()}/schedstat"
        while True:
            with self.lock:
                number = next(left, None)
            if number is None:
                return
            before, started = self._waited(own, samples), time.monotonic()
            name = names[number % len(names)]
            try:
                done = self.run(name, number)
            except SandboxError as error:
                meeting.lost.append(error)
                continue
            took = time.monotonic() - started
            elsewhere = self._waited(own, samples) - before
            if self.verdict(done, number) != self.alone[name]:
                meeting.lost.append(done)
            else:
                pid, *inside = map(int, done.stdout.split()[1:])
                seen = sum(inside) if inside else samples.nanoseconds.get(pid, 0)
                meeting.late.append(took - elsewhere - seen / 1e9)
                meeting.took.append(took)
            if number % 10 == 0:
                meeting.machine.append(self._delay_of_a_process(own))

    def _delay_of_a_process(self, own: str) -> float:
        """Start a process without the sandbox, and return its delay, measured in the same way."""
        command = ["/bin/cat", "/proc/self/schedstat"]
        before, started = waited(own), time.monotonic()
        said = subprocess.run(command, capture_output=True, check=True, start_new_session=True).stdout.split()
        took = time.monotonic() - started
        return took - (waited(own) - before) - sum(map(int, said[:2])) / 1e9

    def _busy(self, meeting: Meeting, over: threading.Event, programs: Sequence[str], number: int) -> None:
        while not over.is_set():
            try:
                done = self.sandbox.run(programs[number % len(programs)], limits=OTHERS)
            except SandboxError as error:
                meeting.lost.append(error)
                continue
            meeting.others += 1
            if done.exit_code is None and done.limit not in ("seconds", "memory", "output", "disk"):
                meeting.lost.append(done)
            number += 1


def beside_attackers_and_ordinary_programs(
    crowd: Crowd, programs: int, beside: int
) -> Iterator[tuple[Meeting, Meeting]]:
    """Run so many innocent programs beside attackers, and after each four blocks of 250 one beside ordinary programs.

    The latter is what the load of the machine explains of the delay in the former; as the latest of fewer programs, it
    explains too little rather than too much.

    Yields:
        Both outcomes so far, the same two objects each time, after each block.
    """
    hostile, ordinary = Meeting(), Meeting()
    for block, first in enumerate(range(0, programs, _BLOCK)):
        numbers = range(first, min(first + _BLOCK, programs))
        hostile.add(crowd.meet(numbers, ATTACKS, beside))
        if block % 4 == 0:
            ordinary.add(crowd.meet(numbers, ORDINARY, beside))
        yield hostile, ordinary
