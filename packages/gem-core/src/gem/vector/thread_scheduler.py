"""A pool of threads that grows only while calls wait: :class:`ThreadScheduler`.

Most steps take microseconds, and a thread for each would cost more than the step. Others wait for a tool or a
server, and all of those must wait at the same time. So all calls enter one queue, and one thread is woken to empty it:
the leader. Before a call that is likely to take long, judging by the last calls of its environment, the leader wakes
another thread, which leads from then on. So threads wake one after the other, as fast as the interpreter serves them,
and those that come back from their calls take more without waking anybody: where calls are short or the processors are
busy, few threads do all the work. Woken all at once, they would fight for the interpreter's lock. If a call takes long
against all expectations, a monitor wakes more threads: 1, 4, 16, …

Six invariants make it correct:

1. A call leaves the queue by one ``popleft``, so exactly one thread runs it. Only ``cancel`` removes calls otherwise.
2. While a call is queued, a leader is awake and will look into the queue again, or every thread is. A thread goes to
   sleep, under ``_lock``, only if the queue is empty. ``submit`` adds calls and then looks: if it finds others, a
   leader has not taken them yet and will see the new ones after them; otherwise it wakes a thread. A leader that stays
   in a call that seemed short is replaced by the monitor. The monitor sleeps only after it has found the queue empty
   under ``_lock``, and ``submit`` wakes it.
3. Threads and monitor only append to ``finished``, and the caller alone takes from it. The caller therefore keeps
   account of pending calls without a lock.
4. The caller sets ``_wanted``, then reads ``len(finished)``, then waits. A thread appends to ``finished``, then reads
   ``_wanted``. At least one of the two sees the other's change, so no wake-up is lost. A needless wake-up does no
   harm, as the caller looks again.
5. Instead of waiting, the caller can leave a callback: it fills ``_callback``, then looks into ``finished``. A thread
   appends to ``finished``, then looks into ``_callback``. At least one of the two sees the other's change, and one
   ``pop`` lets only one thread take the callback, which it then calls. A thread that still finds calls queued keeps
   quiet, so that a burst of short calls causes one callback, unless its own next call is likely to take long; otherwise
   the monitor, awake while calls are queued, looks at the next poll.
6. A call that timed out is entered in ``_abandoned``, then ``finished`` is searched for it. Its thread appends to
   ``finished``, then looks into ``_abandoned``. At least one of them finds it, and ``dict.pop`` lets only one act:
   the environment is closed once, and never while it is running.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

__all__ = ["TIMED_OUT", "Call", "ThreadScheduler"]

Call = tuple[int, Callable[[Any], Any], Any]
"""Index of the environment, function, argument. Calls are distinguished by identity."""

TIMED_OUT: Any = object()
"""Takes the place of a result in ``finished``: the call exceeded the time limit."""

_POLL = 0.001  # seconds between two polls of the monitor while calls are running
_LONGEST_POLL = 0.008  # seconds between two polls while the queue is empty at each
_QUIET_POLLS = 20  # after this many polls of an empty queue the monitor sleeps
_SHORT = 30e-6  # seconds; about what it costs to wake a thread, so that a shorter call is not worth another one
_SLICE = 0.5  # seconds; the longest single wait, since Python handles a Ctrl-C just before a wait only after it
_NEVER = 1 << 62


class _PoolThread:
    """One thread: asleep until ``wake`` is released."""

    __slots__ = ("call", "reported", "seen", "since", "thread", "wake")

    def __init__(self) -> None:
        self.wake = threading.Lock()
        self.wake.acquire()
        self.call: Call | None = None
        """The call that it runs; written by the thread alone."""
        # Written by the monitor alone:
        self.seen: Call | None = None
        self.since = 0.0
        self.reported = False
        self.thread: threading.Thread


class ThreadScheduler:
    """Runs calls in threads and collects their results in ``finished``, a queue of (call, result).

    An exception becomes the result of its call. All methods belong to one thread, the caller's, except ``stop``,
    which any thread may call.
    """

    def __init__(self, size: int, time_limit: float | None) -> None:
        """Start nothing yet.

        Args:
            size: largest number of calls that run at a time; abandoned calls do not count.
            time_limit: seconds that a call may run before ``(call, TIMED_OUT)`` enters ``finished``.
        """
        self.finished: deque[tuple[Call, Any]] = deque()
        self._size = size
        self._time_limit = time_limit
        self._queue: deque[Call] = deque()
        self._queued = 0  # calls ever put into the queue
        self._expected: dict[int, float] = {}  # environment → seconds of its next call, if ever one was not short
        self._abandoned: dict[int, tuple[Call, Callable[[], None]]] = {}  # by id(call)
        self._wanted = _NEVER
        self._callback: list[Callable[[], None]] = []  # at most one
        self._ready = threading.Lock()  # released: the caller must look at ``finished``
        self._ready.acquire()
        self._lock = threading.Lock()  # guards filling the queue, and the next four
        self._threads: list[_PoolThread] = []
        self._asleep: list[_PoolThread] = []
        self._monitor: threading.Thread | None = None
        self._monitor_sleeps = False
        self._wake_monitor = threading.Lock()  # released: the monitor must look
        self._wake_monitor.acquire()
        self._stopped = False

    def submit(self, calls: Sequence[Call]) -> None:
        """Queue calls and see to it that threads run them."""
        with self._lock:
            self._queue.extend(calls)
            self._queued += len(calls)
            if len(self._queue) <= len(calls):
                self._wake_thread()
            self._wake_up_monitor()

    def wait(self, count: int, deadline: float | None) -> bool:
        """Wait for ``count`` entries in ``finished``; return False if the deadline (``time.monotonic()``) passes."""
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

    def notify(self, callback: Callable[[], None] | None) -> None:
        """Have ``callback`` called once, by any thread, soon after ``finished`` gets an entry; None for no more."""
        if callback is None:
            self._callback.clear()
        elif not self._callback:
            self._callback.append(callback)

    def cancel(self) -> list[Call]:
        """Take all calls that have not begun out of the queue and return them."""
        taken: list[Call] = []
        with suppress(IndexError):
            while True:
                taken.append(self._queue.popleft())
        return taken

    def abandon(self, call: Call, close: Callable[[], None]) -> None:
        """Arrange a call of ``close`` after the end of ``call``; the caller must then search ``finished`` for it."""
        self._abandoned[id(call)] = (call, close)

    def close_abandoned(self, call: Call) -> None:
        """Close the environment of an abandoned call that has ended; of several callers only one does it."""
        entry = self._abandoned.pop(id(call), None)
        if entry is not None:
            with suppress(Exception):  # the fault was reported when the call timed out
                entry[1]()

    def count_abandoned(self, index: int) -> int:
        """Return how many abandoned calls of an environment are still running."""
        return sum(call[0] == index for call, _ in list(self._abandoned.values()))

    def stop(self) -> None:
        """Tell every thread to end after its current call. Without a lock or a wait, so a finalizer may call it."""
        self._stopped = True
        self._queue.clear()
        for lock in [thread.wake for thread in list(self._threads)] + [self._wake_monitor]:
            _release(lock)

    def join(self) -> None:
        """Wait for the end of all threads after ``stop``, except those that run an abandoned call."""
        if self._monitor is not None:
            self._monitor.join()
        for pooled in list(self._threads):
            # A thread notes its call a moment after taking it, hence the loop.
            while pooled.thread.is_alive() and id(pooled.call) not in self._abandoned:
                pooled.thread.join(_POLL)

    def _wake_thread(self) -> bool:
        """Wake a thread, or start one within the limit; return whether there was one. Under ``_lock``."""
        if self._asleep:
            _release(self._asleep[-1].wake)
            self._asleep.pop()
            return True
        return len(self._threads) < self._size + len(self._abandoned) and not self._stopped and self._start_thread()

    def _wake_up_monitor(self) -> None:
        """Start or wake the monitor, under ``_lock``."""
        if self._monitor is None:
            monitor = threading.Thread(target=self._watch, name="gem-vector-monitor", daemon=True)
            monitor.start()
            self._monitor = monitor
        elif self._monitor_sleeps:
            self._monitor_sleeps = False
            _release(self._wake_monitor)

    def _start_thread(self) -> bool:
        pooled = _PoolThread()
        pooled.thread = threading.Thread(
            target=self._run, args=(pooled,), name=f"gem-vector-{len(self._threads)}", daemon=True
        )
        self._threads.append(pooled)
        try:
            pooled.thread.start()
        except RuntimeError:  # the system grants no more threads; the existing ones must do
            self._threads.pop()
            if not self._threads:
                raise
            return False
        return True

    def _run(self, pooled: _PoolThread) -> None:
        """Run queued calls until ``stop``; the main function of a thread."""
        queue, finished, ready, abandoned = self._queue, self.finished, self._ready, self._abandoned
        take, clock, expected = queue.popleft, time.perf_counter, self._expected
        leads = True
        while True:
            try:
                call = take()
            except IndexError:
                if self._sleep(pooled):
                    leads = True
                    continue
                return
            pooled.call = call
            index = call[0]
            if expected.get(index, 0.0) > _SHORT:
                if leads and queue:
                    with self._lock:
                        leads = not self._wake_thread()
                if self._callback and finished:  # its last results must not wait for this call
                    self._announce()
            begin = clock()
            try:
                result = call[1](call[2])
            except BaseException as error:
                result = error
            spent = clock() - begin
            if spent > _SHORT or index in expected:
                expected[index] = (expected.get(index, 0.0) + spent) / 2  # soon forgotten, so that no outlier counts
            finished.append((call, result))
            if abandoned:
                self.close_abandoned(call)
            if self._callback and not queue:
                self._announce()
            if len(finished) >= self._wanted and ready.locked():
                _release(ready)

    def _announce(self) -> None:
        try:
            callback = self._callback.pop()
        except IndexError:  # another thread has taken it
            return
        callback()

    def _sleep(self, pooled: _PoolThread) -> bool:
        """Sleep until a call may be queued; return False after ``stop``."""
        pooled.call = None
        if self._callback and self.finished:
            self._announce()
        with self._lock:
            if self._stopped:
                return False
            if self._queue:
                return True
            self._asleep.append(pooled)
        pooled.wake.acquire()
        return not self._stopped

    def _watch(self) -> None:
        """Poll every millisecond while calls are queued, and rarely or never otherwise; the monitor's main function."""
        begun_before, burst, woken, quiet, pause = 0, 1, 0, 0, _POLL
        while not self._stopped:
            self._wake_monitor.acquire(timeout=pause)
            now = time.monotonic()
            waiting = len(self._queue)
            begun = self._queued - waiting
            # Every poll takes the interpreter's lock from a thread that works, so a queue that empties is left alone.
            # One that was seen to empty is not judged at once: a long pause does not show how fast it moves.
            paused, pause = pause, _POLL if waiting or self._time_limit is not None else min(2 * pause, _LONGEST_POLL)
            # It stalls at one call a poll. The first calls of the threads woken at the last poll show nothing.
            if waiting and paused <= _POLL and begun - begun_before <= woken + 1:
                woken = min(burst, waiting)
                burst *= 4
                with self._lock:
                    for _ in range(woken):
                        self._wake_thread()
            else:
                burst, woken = 1, 0
            next_deadline = None if self._time_limit is None else self._check_running_calls(now, self._time_limit)
            if self._callback and self.finished:
                self._announce()
            quiet = 0 if waiting or begun != begun_before else quiet + 1
            begun_before = begun
            if quiet >= _QUIET_POLLS and self._monitor_sleep(next_deadline):
                quiet, pause = 0, _POLL

    def _check_running_calls(self, now: float, time_limit: float) -> float | None:
        """Report calls over the time limit; return the next deadline."""
        next_deadline = None
        for pooled in list(self._threads):
            call = pooled.call
            if call is None or call is not pooled.seen:
                pooled.seen, pooled.since, pooled.reported = call, now, False
            elif not pooled.reported:
                deadline = pooled.since + time_limit
                if now >= deadline:
                    pooled.reported = True
                    self.finished.append((call, TIMED_OUT))
                    self._announce()
                    if len(self.finished) >= self._wanted:
                        _release(self._ready)
                elif next_deadline is None or deadline < next_deadline:
                    next_deadline = deadline
        return next_deadline

    def _monitor_sleep(self, next_deadline: float | None) -> bool:
        """Sleep until a call is queued or the deadline; return False if a call was queued meanwhile."""
        with self._lock:
            if self._queue or self._stopped:
                return False
            self._monitor_sleeps = True
        if self._time_limit is None:
            self._wake_monitor.acquire()
        else:
            # At most the time limit, so that a call that began after the last poll is noticed in time.
            latest = time.monotonic() + self._time_limit
            self._wake_monitor.acquire(timeout=max(0.0, min(latest, next_deadline or latest) - time.monotonic()))
        self._monitor_sleeps = False
        return True


def _release(lock: threading.Lock) -> None:
    """Release a lock that serves as a signal; it may be released already."""
    with suppress(RuntimeError):
        lock.release()
