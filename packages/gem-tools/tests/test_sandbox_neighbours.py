"""Innocent programs beside hostile ones: none is lost, none is late, and nothing is left of either."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gem_tools.sandbox import Limits, Sandbox, SandboxError

INNOCENT = Limits(seconds=120.0)
HOSTILE = Limits(seconds=1.0, memory=192 << 20, processes=16)
SLACK = 0.5
"""Seconds by which an execution may be late, beyond the time in which its processes waited for a processor."""

PROGRAM = """
n = int(input())
print(n * n, *open("/proc/self/schedstat").read().split()[:2])
"""
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
]


def waited(path: str) -> float:
    """The seconds for which a thread waited for a processor: the second number of ``schedstat``."""
    return int(Path(path).read_text().split()[1]) / 1e9


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
        launcher = sandbox._jails.launcher_for("")
        assert launcher._server is not None
        outer = launcher._server.pid
        inner = Path(f"/proc/{outer}/task/{outer}/children").read_text().split()[0]
        self.servers = [f"/proc/{process}/schedstat" for process in (outer, inner)]

    def innocent(self) -> None:
        while True:
            with self.lock:
                number = next(self.numbers, None)
            if number is None:
                return
            own = f"/proc/self/task/{threading.get_native_id()}/schedstat"
            before = waited(own) + sum(map(waited, self.servers))
            started = time.monotonic()
            done = self.sandbox.run(PROGRAM, stdin=str(number), limits=INNOCENT)
            took = time.monotonic() - started
            elsewhere = waited(own) + sum(map(waited, self.servers)) - before
            said = done.stdout.split()
            if not done.ok or said[0] != str(number * number):
                self.lost.append(done)
            else:
                self.late.append(took - elsewhere - sum(map(int, said[1:])) / 1e9)
            if number % 10 == 0:
                self.measure_machine(own)

    def measure_machine(self, own: str) -> None:
        """Start a process without the sandbox, and note its delay measured in the same way."""
        before, started = waited(own), time.monotonic()
        command = ["/bin/cat", "/proc/self/schedstat"]
        said = subprocess.run(command, capture_output=True, check=True, start_new_session=True).stdout.split()
        took = time.monotonic() - started
        self.machine.append(took - (waited(own) - before) - sum(map(int, said[:2])) / 1e9)

    def hostile(self, number: int) -> None:
        while not self.over.is_set():
            done = self.sandbox.run(ATTACKS[number % len(ATTACKS)], limits=HOSTILE)
            self.attacks += 1
            if done.exit_code is None and done.limit not in ("seconds", "memory", "output"):
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


@pytest.mark.parametrize(
    ("programs", "hostile"), [(40, 2), pytest.param(10_000, 8, marks=pytest.mark.nightly)], ids=["few", "many"]
)
def test_none_is_lost_or_late_beside_attackers(programs: int, hostile: int) -> None:
    """Each innocent program returns its own answer as soon as its processes had their processor time."""
    with Sandbox("required", INNOCENT) as sandbox:
        try:
            sandbox.warm_up()
        except SandboxError as error:
            pytest.skip(f"NOT TESTED, the jail: {error}")
        crowd = Crowd(sandbox, programs)
        generation = sandbox._jails.launcher_for("").generation
        before = family()
        crowd.meet(4, hostile)
        assert crowd.lost == []
        assert len(crowd.late) == programs
        assert crowd.attacks >= hostile
        print(
            f"{programs} programs beside {crowd.attacks} attacks; latest by {sorted(crowd.late)[-5:]} s, "
            f"processes of the machine by {sorted(crowd.machine)[-5:]} s",
            file=sys.stderr,
        )
        # A process also waits for a processor after it has told how long it waited, in the sandbox and outside.
        assert max(crowd.late) <= SLACK + max(crowd.machine)
        assert sandbox._jails.launcher_for("").generation == generation
        assert family() <= before
