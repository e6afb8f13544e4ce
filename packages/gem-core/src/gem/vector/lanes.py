"""Threads that run tasks, as few of them as will do: :class:`Lanes`.

Most steps take microseconds, and handing each to a thread of its own would cost more than the step. Others wait
for a tool or a server, and then all must wait at the same time. Which is which, nobody knows beforehand. So all
tasks go into one queue, one thread (a *lane*) is woken to empty it, and a watcher wakes more while the queue moves
slowly: 1, 4, 16, … A task on which a lane was seen to dwell marks its environment; the next tasks of that one get
lanes of their own at once.

What makes it correct:

1. A task leaves the queue by one ``popleft``, so exactly one lane runs it; only ``cancel`` takes tasks out otherwise.
2. Tasks are queued, and lanes go to rest, under ``_lock``: a lane only if the queue is empty, and whoever fills an
   empty queue wakes a lane or starts one. So while a task is queued, some lane is not at rest and will look again.
   That lane may be held up by the task that it is running; then the watcher wakes another. The watcher sleeps only
   after finding the queue empty under ``_lock``, and whoever queues a task wakes it.
3. ``finished`` is only appended to by lanes and the watcher, and only taken from by the caller, so all bookkeeping
   of who waits for what is the caller's alone.
4. The caller sets ``_wanted``, then looks at ``len(finished)``, then waits. A lane appends to ``finished``, then looks
   at ``_wanted``. So at least one of the two sees what the other did, and no wake-up is lost. Needless ones do no
   harm, as the caller looks again.
5. A task that is given up is entered in ``_orphans``, then ``finished`` is searched for it; its lane appends to
   ``finished``, then looks into ``_orphans``. At least one finds it, and ``dict.pop`` makes it only one: the
   environment is closed once, and never while it is running.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

__all__ = ["GIVEN_UP", "Lanes", "Task"]

Task = tuple[int, Callable[[Any], Any], Any]
"""Index of the environment, what to call, and with what. Tasks are told apart by identity."""

GIVEN_UP: Any = object()
"""Stands in ``finished`` in the place of an outcome: the task took longer than the time limit."""

_LOOK = 0.001  # seconds between two looks of the watcher while there is something to see
_QUIET_LOOKS = 20  # so many looks at an empty queue, and the watcher sleeps
_PACE = 16_000.0  # tasks a second; below it the queue moves slowly, and another lane may help
_SLOW_TASKS = 8  # so many tasks of an environment get lanes of their own after a lane dwelt on one
_SLICE = 0.5  # seconds; the longest single wait, as a Ctrl-C just before a wait is only seen after it
_NEVER = 1 << 62


class _Lane:
    """One thread: asleep until ``wake`` is released."""

    __slots__ = ("reported", "seen", "since", "task", "thread", "wake")

    def __init__(self) -> None:
        self.wake = threading.Lock()
        self.wake.acquire()
        self.task: Task | None = None
        """What it is running; written by the lane alone."""
        # What the watcher remembers of its looks:
        self.seen: Task | None = None
        self.since = 0.0
        self.reported = False
        self.thread: threading.Thread


class Lanes:
    """Runs tasks in threads and collects their outcomes in ``finished``, a queue of (task, outcome).

    What a task raises becomes its outcome. All methods are for one thread, the caller's, but ``stop``, which
    may be called from anywhere.
    """

    def __init__(self, size: int, time_limit: float | None) -> None:
        """Start nothing yet.

        Args:
            size: how many tasks may be running at a time; a task that was given up does not count.
            time_limit: seconds that a task may run before ``(task, GIVEN_UP)`` is put into ``finished``.
        """
        self.finished: deque[tuple[Task, Any]] = deque()
        self._size = size
        self._time_limit = time_limit
        self._queue: deque[Task] = deque()
        self._queued = 0  # tasks ever put into the queue
        self._slow: dict[int, int] = {}  # environment → tasks that still get a lane of their own
        self._orphans: dict[int, tuple[Task, Callable[[], None]]] = {}  # by id(task)
        self._wanted = _NEVER
        self._ready = threading.Lock()  # released: look at ``finished``
        self._ready.acquire()
        self._lock = threading.Lock()  # guards filling the queue, and the next four
        self._lanes: list[_Lane] = []
        self._resting: list[_Lane] = []
        self._watcher: threading.Thread | None = None
        self._watcher_sleeps = False
        self._prod = threading.Lock()  # released: the watcher must look
        self._prod.acquire()
        self._stopped = False

    def submit(self, tasks: Sequence[Task]) -> None:
        """Queue tasks and wake lanes for them."""
        own: list[Task] = []
        if self._slow:
            own, tasks = self._divide(tasks)
        with self._lock:
            needed = len(own) + (bool(tasks) and not self._queue)
            self._queue.extendleft(own)
            self._queue.extend(tasks)
            self._queued += len(own) + len(tasks)
            self._rouse(needed)

    def wait(self, count: int, deadline: float | None) -> bool:
        """Wait until ``finished`` holds ``count`` entries; return False if ``time.monotonic()`` passes the deadline."""
        self._wanted = count
        try:
            while len(self.finished) < count:
                left = _SLICE if deadline is None else min(_SLICE, deadline - time.monotonic())
                if left <= 0.0:
                    return False
                self._ready.acquire(timeout=left)
            return True
        finally:
            self._wanted = _NEVER

    def cancel(self) -> list[Task]:
        """Take all tasks that no lane has begun out of the queue and return them."""
        taken: list[Task] = []
        with suppress(IndexError):
            while True:
                taken.append(self._queue.popleft())
        return taken

    def orphan(self, task: Task, close: Callable[[], None]) -> None:
        """Have ``close`` called once ``task`` is no longer running; the caller then looks for it in ``finished``."""
        self._orphans[id(task)] = (task, close)

    def settle(self, task: Task) -> None:
        """Call what ``orphan`` was given, for a task that has come to its end; at most one call does it."""
        entry = self._orphans.pop(id(task), None)
        if entry is not None:
            with suppress(Exception):  # it was reported as failed when it was given up
                entry[1]()

    def orphans_of(self, index: int) -> int:
        """How many given-up tasks of an environment are still running."""
        return sum(task[0] == index for task, _ in list(self._orphans.values()))

    def stop(self) -> None:
        """Have every thread end after its current task; no waiting, no lock, so also from a finalizer."""
        self._stopped = True
        self._queue.clear()
        for lock in [lane.wake for lane in list(self._lanes)] + [self._prod]:
            _release(lock)

    def join(self) -> None:
        """Wait for the end of all threads after ``stop``, but for those that run an orphan."""
        if self._watcher is not None:
            self._watcher.join()
        for lane in list(self._lanes):
            # A lane says a moment after taking a task which one it is, hence the loop.
            while lane.thread.is_alive() and id(lane.task) not in self._orphans:
                lane.thread.join(_LOOK)

    def _divide(self, tasks: Sequence[Task]) -> tuple[list[Task], list[Task]]:
        """Return the tasks that get a lane each, and those that share one."""
        own: list[Task] = []
        shared: list[Task] = []
        for task in tasks:
            left = self._slow.get(task[0], 0)
            (own if left else shared).append(task)
            if left > 1:
                self._slow[task[0]] = left - 1
            elif left:
                del self._slow[task[0]]
        return own, shared

    def _rouse(self, count: int) -> None:
        """Wake so many lanes, as far as there are any, starting new ones up to the limit; and the watcher."""
        for _ in range(count):
            if self._resting:
                _release(self._resting[-1].wake)
                self._resting.pop()
            elif len(self._lanes) < self._size + len(self._orphans) and not self._stopped:
                self._start_lane()
            else:
                break
        if self._watcher is None:
            watcher = threading.Thread(target=self._watch, name="gem-vector-watcher", daemon=True)
            watcher.start()
            self._watcher = watcher
        elif self._watcher_sleeps:
            self._watcher_sleeps = False
            _release(self._prod)

    def _start_lane(self) -> None:
        lane = _Lane()
        lane.thread = threading.Thread(
            target=self._run, args=(lane,), name=f"gem-vector-lane-{len(self._lanes)}", daemon=True
        )
        self._lanes.append(lane)
        try:
            lane.thread.start()
        except RuntimeError:  # the system has no thread left for us; those that we have must do
            self._lanes.pop()
            if not self._lanes:
                raise

    def _run(self, lane: _Lane) -> None:
        """The life of a lane."""
        take, finished, ready, orphans = self._queue.popleft, self.finished, self._ready, self._orphans
        while True:
            try:
                task = take()
            except IndexError:
                if self._rest(lane):
                    continue
                return
            lane.task = task
            try:
                outcome = task[1](task[2])
            except BaseException as error:
                outcome = error
            finished.append((task, outcome))
            if orphans:
                self.settle(task)
            if len(finished) >= self._wanted and ready.locked():
                _release(ready)

    def _rest(self, lane: _Lane) -> bool:
        """Sleep until there is something to do; return False when there never will be."""
        lane.task = None
        with self._lock:
            if self._stopped:
                return False
            if self._queue:
                return True
            self._resting.append(lane)
        lane.wake.acquire()
        return not self._stopped

    def _watch(self) -> None:
        """The life of the watcher: look every millisecond while tasks are queued, and rarely or never otherwise."""
        looked_at, begun_before, burst, woken, quiet = time.monotonic(), 0, 1, 0, 0
        while not self._stopped:
            self._prod.acquire(timeout=_LOOK)
            now = time.monotonic()
            waiting = len(self._queue)
            begun = self._queued - waiting
            # The first task of each lane woken at the last look says nothing on how long tasks take.
            if waiting and begun - begun_before - woken < _PACE * (now - looked_at):
                woken = min(burst, waiting)
                burst *= 4
                with self._lock:
                    self._rouse(woken)
            else:
                burst, woken = 1, 0
            next_deadline = self._look_at_lanes(now)
            quiet = 0 if waiting or begun != begun_before else quiet + 1
            looked_at, begun_before = now, begun
            if quiet >= _QUIET_LOOKS and self._sleep(next_deadline):
                quiet, looked_at = 0, time.monotonic()

    def _look_at_lanes(self, now: float) -> float | None:
        """Mark environments on whose tasks lanes dwell, report tasks over the limit; return the next deadline."""
        next_deadline = None
        for lane in list(self._lanes):
            task = lane.task
            if task is None or task is not lane.seen:
                lane.seen, lane.since, lane.reported = task, now, False
            elif not lane.reported:
                self._slow[task[0]] = _SLOW_TASKS
                if self._time_limit is not None:
                    deadline = lane.since + self._time_limit
                    if now >= deadline:
                        lane.reported = True
                        self.finished.append((task, GIVEN_UP))
                        if len(self.finished) >= self._wanted:
                            _release(self._ready)
                    elif next_deadline is None or deadline < next_deadline:
                        next_deadline = deadline
        return next_deadline

    def _sleep(self, next_deadline: float | None) -> bool:
        """Sleep until a task is queued or the deadline; return False if a task was queued meanwhile."""
        with self._lock:
            if self._queue or self._stopped:
                return False
            self._watcher_sleeps = True
        if self._time_limit is None:
            self._prod.acquire()
        else:
            # Never longer than the limit, so that a task that began after the last look is seen in time.
            latest = time.monotonic() + self._time_limit
            self._prod.acquire(timeout=max(0.0, min(latest, next_deadline or latest) - time.monotonic()))
        self._watcher_sleeps = False
        return True


def _release(lock: threading.Lock) -> None:
    """Release a lock that is used as a signal; it may be released already."""
    with suppress(RuntimeError):
        lock.release()
