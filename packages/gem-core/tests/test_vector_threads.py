"""What only thread mode has to get right: parallelism, time limits, the end of threads, and races."""

from __future__ import annotations

import gc
import random
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, ClassVar

import pytest

from gem.core import Env
from gem.errors import VectorError
from gem.vector.engine_access import EngineAccess
from gem.vector.sync import SyncVectorEnv
from gem.vector.thread import ThreadVectorEnv
from gem.vector.thread_scheduler import TIMED_OUT, Call, ThreadScheduler

SAFETY = 60.0  # seconds after which a wait that must end is a failure and no endless test


class Scripted(Env[Any, Any]):
    """Does in step and reset what it is told to; an action is a callable or a value to return."""

    def __init__(self, on_reset: Callable[[], object] | None = None) -> None:
        self.on_reset = on_reset
        self.running = False
        self.closed = 0
        self.closed_while_running = False

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        if self.on_reset is not None:
            self.on_reset()
        return "begin", {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.running = True
        value = action() if callable(action) else action
        self.running = False
        return value, 1.0, False, False, {}

    def close(self) -> None:
        self.closed += 1
        self.closed_while_running |= self.running


class Gate:
    """A call that waits until the test opens it."""

    waiting: ClassVar[set[int]] = set()
    """Threads that wait at some gate."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()
        self.left = threading.Event()

    def __call__(self) -> str:
        self.waiting.add(threading.get_ident())
        self.entered.set()
        assert self.opened.wait(SAFETY)
        self.waiting.discard(threading.get_ident())
        self.left.set()
        return "through the gate"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time limits are over at once for threads that wait at a gate, and for no others."""
    look = ThreadScheduler._check_running_calls

    def impatient_look(self: ThreadScheduler, now: float, time_limit: float) -> float | None:
        deadline = look(self, now, time_limit)
        for pooled in list(self._threads):
            if pooled.thread.ident in Gate.waiting:
                pooled.since = -1.0e9
        return deadline

    monkeypatch.setattr(ThreadScheduler, "_check_running_calls", impatient_look)
    # It would sleep for the whole limit.
    monkeypatch.setattr(ThreadScheduler, "_monitor_sleep", lambda self, next_deadline: False)


@contextmanager
def all_threads_end() -> Iterator[None]:
    """Every thread that the block starts has ended after it, or ends by itself."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(SAFETY)
        assert not thread.is_alive()


@contextmanager
def restless_interpreter() -> Iterator[None]:
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize("rounds", [1, 3])
def test_64_environments_that_wait_all_wait_at_the_same_time(rounds: int) -> None:
    """Each passes a barrier that opens only when all 64 have reached it, in the first step and later."""
    with ThreadVectorEnv([Scripted] * 64) as envs:
        envs.reset()
        for _ in range(rounds):
            barrier = threading.Barrier(64, timeout=SAFETY)
            assert sorted(envs.step([barrier.wait] * 64)[0]) == list(range(64))


def test_resets_run_in_parallel_too() -> None:
    """Reset passes a barrier that opens only when all environments have reached it."""
    barrier = threading.Barrier(16, timeout=SAFETY)
    with ThreadVectorEnv([lambda: Scripted(barrier.wait)] * 16) as envs:
        _, infos = envs.reset()
    assert infos == [{}] * 16


def test_sent_actions_run_in_parallel_before_anybody_receives() -> None:
    """The scheduler's own monitor enforces the limit, so no caller needs to wait."""
    reached = threading.Event()
    barrier = threading.Barrier(16, action=reached.set, timeout=SAFETY)
    with ThreadVectorEnv([Scripted] * 16) as envs:
        envs.reset()
        envs.send([barrier.wait] * 16)
        assert reached.wait(SAFETY)
        assert sorted(envs.recv(min_ready=16).observations) == list(range(16))


def test_a_slow_environment_holds_up_nobody() -> None:
    """While one is stuck, the others take hundreds of turns; its result comes when it is done."""
    gate = Gate()
    with ThreadVectorEnv([Scripted] * 3) as envs:
        envs.reset()
        envs.send({0: gate})
        turns = {1: 0, 2: 0}
        envs.send({1: "a", 2: "a"})
        while min(turns.values()) < 200:
            ready = envs.recv()
            assert 0 not in ready.indices
            for index in ready.indices:
                turns[index] += 1
            envs.send(dict.fromkeys(ready.indices, "a"))
        gate.opened.set()
        results: dict[int, Any] = {}
        while envs.num_pending:
            ready = envs.recv()
            results.update(zip(ready.indices, ready.observations, strict=True))
    assert results == {0: "through the gate", 1: "a", 2: "a"}


def test_results_come_in_the_order_of_completion() -> None:
    """Gates opened one by one give results in that order."""
    gates = [Gate() for _ in range(4)]
    with ThreadVectorEnv([Scripted] * 4) as envs:
        envs.reset()
        envs.send(gates)
        for index in (2, 0, 3, 1):
            gates[index].opened.set()
            assert envs.recv().indices == [index]


def test_recv_returns_nothing_when_its_time_is_over() -> None:
    """An empty result has the right types, and nothing is lost."""
    gate = Gate()
    with ThreadVectorEnv([Scripted]) as envs:
        envs.reset()
        envs.send([gate])
        ready = envs.recv(timeout=0.001)
        assert (ready.indices, ready.observations, ready.rewards.tolist()) == ([], [], [])
        assert ready.terminations.dtype == bool
        gate.opened.set()
        assert envs.recv(timeout=SAFETY).observations == ["through the gate"]


@pytest.mark.usefixtures("impatient")
def test_an_environment_over_its_time_is_a_fault_and_its_late_result_is_lost() -> None:
    """It is truncated with an error and replaced; the old one is closed when it returns, and only then."""
    gate = Gate()
    made: list[Scripted] = []

    def maker() -> Scripted:
        made.append(Scripted())
        return made[-1]

    with ThreadVectorEnv([maker] * 2, step_timeout=SAFETY) as envs:
        envs.reset(seed=3)
        observations, rewards, terminations, truncations, infos = envs.step([gate, "b"])
        assert (observations, rewards.tolist()) == (["begin", "b"], [0.0, 1.0])
        assert (terminations.tolist(), truncations.tolist()) == ([False, False], [True, False])
        assert infos[0]["error"] == f"TimeoutError: no return from step within {SAFETY} s"
        assert infos[0]["final_info"] == {"error": infos[0]["error"], "seed": 3}
        assert infos[0]["final_observation"] == "begin"
        assert envs.envs == (made[2], made[1])
        assert made[0].closed == 0
        gate.opened.set()
        assert gate.left.wait(SAFETY)
        for _ in range(50):
            assert envs.step(["a", "b"])[0] == ["a", "b"]
    assert [env.closed for env in made] == [1, 1, 1]
    assert not any(env.closed_while_running for env in made)


@pytest.mark.usefixtures("impatient")
def test_an_environment_that_fails_after_its_time_is_not_built_again_over_there() -> None:
    """The thread that it was left in only closes it."""
    gate = Gate()
    made: list[Scripted] = []

    def maker() -> Scripted:
        made.append(Scripted())
        return made[-1]

    def fail_late() -> str:
        gate()
        raise OSError("too late")

    with all_threads_end():
        with ThreadVectorEnv([maker], step_timeout=SAFETY) as envs:
            envs.reset()
            assert envs.step([fail_late])[0] == ["begin"]
        gate.opened.set()
    assert [env.closed for env in made] == [1, 1]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("autoreset", ["next_step", "disabled"])
def test_time_limits_without_same_step_reset(autoreset: str) -> None:
    """The last observation comes back, and the next episode begins in a new environment."""
    gate = Gate()
    with ThreadVectorEnv([Scripted], autoreset=autoreset, step_timeout=SAFETY) as envs:
        envs.reset()
        envs.step(["last"])
        observations, _, _, truncations, infos = envs.step([gate])
        assert (observations, truncations.tolist()) == (["last"], [True])
        assert infos == [{"error": f"TimeoutError: no return from step within {SAFETY} s"}]
        if autoreset == "disabled":
            with pytest.raises(VectorError, match="is over"):
                envs.step(["a"])
            assert envs.reset_at([0])[0] == ["begin"]
        else:
            assert envs.step(["ignored"])[0] == ["begin"]
        assert envs.step(["a"])[0] == ["a"]
        gate.opened.set()


@pytest.mark.usefixtures("impatient")
def test_a_reset_over_its_time_is_reported_and_tried_again() -> None:
    """The observation is empty, the info has the error, and the next step builds another."""
    gate = Gate()
    hangs = [gate, None, None]
    with ThreadVectorEnv([lambda: Scripted(hangs.pop(0))] * 2, step_timeout=SAFETY) as envs:
        observations, infos = envs.reset()
        assert observations == ["", "begin"]
        assert infos == [{"error": f"TimeoutError: no return from reset within {SAFETY} s"}, {}]
        observations, _, _, truncations, _ = envs.step(["a", "b"])
        assert (observations, truncations.tolist()) == (["begin", "b"], [True, False])
        gate.opened.set()


@pytest.mark.usefixtures("impatient")
def test_an_environment_that_always_hangs_costs_no_more_than_eight_threads() -> None:
    """Then it is not built again: every call reports that at once, and its neighbour plays on."""
    gate = Gate()
    made: list[Scripted] = []

    class Hangs(Scripted):
        def __init__(self) -> None:
            super().__init__(gate if made else None)
            made.append(self)

    with all_threads_end():
        with ThreadVectorEnv([Hangs, Scripted], step_timeout=SAFETY) as envs:
            envs.reset()
            for _ in range(12):
                built = len(made)
                observations, rewards, _, truncations, infos = envs.step([gate, "b"])
                assert (observations, rewards.tolist(), truncations.tolist()) == (["", "b"], [0.0, 1.0], [True, False])
                assert infos[0]["error"].startswith("TimeoutError")
                assert len(made) <= built + 1
            assert "8 threads hang in this environment" in infos[0]["error"]
            assert "8 threads hang in this environment" in envs.reset()[1][0]["error"]
            assert len(made) == 8
        assert [env.closed for env in made] == [0] * 8
        gate.opened.set()
    assert [env.closed for env in made] == [1] * 8


def test_close_ends_all_threads() -> None:
    """After close no thread is left, and closing again does nothing."""
    before = set(threading.enumerate())
    barrier = threading.Barrier(8, timeout=SAFETY)
    envs = ThreadVectorEnv([Scripted] * 8)
    envs.reset()
    envs.step([barrier.wait] * 8)
    inner = envs.envs
    assert set(threading.enumerate()) - before
    envs.close()
    envs.close()
    assert set(threading.enumerate()) <= before  # threads of others may have ended
    assert [env.closed for env in inner] == [1] * 8  # type: ignore[attr-defined]


def test_close_in_the_middle_of_a_step_does_not_wait_for_it() -> None:
    """The environment is closed by its own thread when it returns, once, and the thread then ends."""
    gate = Gate()
    with all_threads_end():
        with ThreadVectorEnv([Scripted] * 2) as envs:
            envs.reset()
            inner: Any = envs.envs
            envs.send([gate, "b"])
            assert gate.entered.wait(SAFETY)
        assert (inner[0].closed, inner[1].closed) == (0, 1)
        gate.opened.set()
    assert [(env.closed, env.closed_while_running) for env in inner] == [(1, False), (1, False)]


def test_close_leaves_an_environment_alone_that_was_just_given_up() -> None:
    """That its time is over does not mean that its step is: its own thread closes it."""
    gate = Gate()
    with all_threads_end():
        with ThreadVectorEnv([Scripted], step_timeout=SAFETY) as envs:
            envs.reset()
            inner: Any = envs.envs[0]
            envs.send([gate])
            assert gate.entered.wait(SAFETY)
            running = envs._current[0]
            assert running is not None
            envs._scheduler.finished.append((running, TIMED_OUT))
        assert inner.closed == 0
        gate.opened.set()
    assert (inner.closed, inner.closed_while_running) == (1, False)


def test_threads_end_when_nobody_holds_the_vector_environment() -> None:
    """Dropping the last reference is enough; no thread keeps it alive."""
    with all_threads_end():
        envs = ThreadVectorEnv([Scripted] * 4)
        envs.reset()
        envs.send(["a"] * 4)
        alive = weakref.ref(envs)
        del envs
        gc.collect()
        assert alive() is None


def test_a_closed_vector_environment_that_never_ran_started_no_thread() -> None:
    """Threads start with the first action, not with the construction."""
    before = set(threading.enumerate())
    with ThreadVectorEnv([Scripted] * 4):
        assert set(threading.enumerate()) <= before  # threads of others may have ended


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, even in a process that was started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="the system cannot signal a thread")
def test_an_interrupt_while_waiting_loses_no_result() -> None:
    """After Ctrl-C in step, recv has all results, or reset drops them."""
    gate = Gate()
    main = threading.get_ident()

    def interrupt() -> str:
        signal.pthread_kill(main, signal.SIGINT)
        return gate()

    with ThreadVectorEnv([Scripted] * 2) as envs:
        envs.reset()
        with pytest.raises(KeyboardInterrupt):
            envs.step([interrupt, "b"])
        gate.opened.set()
        with pytest.raises(VectorError, match="2 results are pending"):
            envs.step(["a", "b"])
        ready = envs.recv(min_ready=2)
        assert dict(zip(ready.indices, ready.observations, strict=True)) == {0: "through the gate", 1: "b"}
        with pytest.raises(KeyboardInterrupt):
            envs.step([interrupt, "b"])
        assert envs.reset()[0] == ["begin", "begin"]
        assert envs.step(["a", "b"])[0] == ["a", "b"]


def test_an_interrupt_in_sync_mode_loses_the_interrupted_episode_alone() -> None:
    """That one is truncated with an error; what was not played yet is played by recv."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    with SyncVectorEnv([Scripted] * 3, autoreset="next_step") as envs:
        envs.reset()
        with pytest.raises(KeyboardInterrupt):
            envs.step(["a", interrupt, "c"])
        ready = envs.recv(min_ready=3)
        assert (ready.indices, ready.observations) == ([0, 1, 2], ["a", "begin", "c"])
        assert ready.truncations.tolist() == [False, True, False]
        assert ready.infos[1] == {"error": "KeyboardInterrupt: "}
        assert envs.step(["a", "ignored", "c"])[0] == ["a", "begin", "c"]


@pytest.fixture
def threads_left(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many threads the system still gives, to be set by the test."""
    start = threading.Thread.start
    left = [0]

    def limited(self: threading.Thread) -> None:
        if not left[0]:
            raise RuntimeError("can't start new thread")
        left[0] -= 1
        start(self)

    monkeypatch.setattr(threading.Thread, "start", limited)
    return left


def test_a_thread_that_cannot_be_started_is_done_without(threads_left: list[int]) -> None:
    """Where the system gives no more threads, those that there are do all the work."""
    threads_left[0] = 3
    with ThreadVectorEnv([Scripted] * 8) as envs:
        envs.reset()
        gates = [Gate() for _ in range(8)]
        for gate in gates[2:]:
            gate.opened.set()
        envs.send(gates)
        for gate in gates[:2]:
            gate.opened.set()
        assert envs.recv(min_ready=8).observations == ["through the gate"] * 8


def test_without_any_thread_there_is_an_error_and_no_endless_wait(threads_left: list[int]) -> None:
    """What the system said is raised, and once it gives threads again all is well."""
    with ThreadVectorEnv([Scripted]) as envs:
        with pytest.raises(RuntimeError, match="can't start new thread"):
            envs.reset()
        threads_left[0] = 2
        assert envs.reset()[0] == ["begin"]


class Bell:
    """A lock on which no wait may be in vain; it takes the place of the scheduler's signal."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()
        self.release, self.locked = self._lock.release, self._lock.locked

    def acquire(self, timeout: float) -> bool:
        assert self._lock.acquire(timeout=SAFETY), "the wait ended without a signal"
        return True


class AlwaysLong(dict[int, float]):
    """What a scheduler expects of its calls: that each takes a second."""

    def get(self, index: int, default: Any = None) -> float:
        return 1.0


@pytest.mark.parametrize("rounds", [1, 3])
def test_environments_that_are_known_to_wait_wait_at_the_same_time_without_the_monitor(
    rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each thread wakes the next one before its call, also where the threads have slept in between."""
    monkeypatch.setattr(ThreadScheduler, "_watch", lambda self: None)
    with ThreadVectorEnv([Scripted] * 64) as envs:
        envs._scheduler._expected = AlwaysLong()
        envs.reset()
        for _ in range(rounds):
            barrier = threading.Barrier(64, timeout=SAFETY)
            assert sorted(envs.step([barrier.wait] * 64)[0]) == list(range(64))


def test_an_environment_that_has_waited_is_expected_to_wait() -> None:
    """The duration of its last steps decides, not that of the others'."""
    with ThreadVectorEnv([Scripted] * 3) as envs:
        envs.reset()
        envs._scheduler._expected.clear()
        for _ in range(2):
            envs.step([partial(time.sleep, 0.01), "b", partial(time.sleep, 0.01)])
        expected = envs._scheduler._expected
        assert expected[0] >= 0.007
        assert expected[2] >= 0.007


def test_short_calls_wake_one_thread_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as steps are short, 64 of them cost one handoff."""
    monkeypatch.setattr("gem.vector.thread_scheduler._SHORT", SAFETY)  # however busy the machine is
    monkeypatch.setattr(ThreadScheduler, "_watch", lambda self: None)
    woken: list[int] = []
    wake = ThreadScheduler._wake_thread

    def counted(self: ThreadScheduler) -> bool:
        woken.append(1)
        return wake(self)

    monkeypatch.setattr(ThreadScheduler, "_wake_thread", counted)
    with ThreadVectorEnv([Scripted] * 64) as envs:
        envs.reset()
        for _ in range(20):
            envs.step(["a"] * 64)
    assert len(woken) <= 21


@pytest.mark.parametrize("size", [1, 6])
@pytest.mark.parametrize("watched", [True, False])
@pytest.mark.parametrize("long", [True, False])
def test_no_task_is_lost_or_run_twice(size: int, watched: bool, long: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of calls in random portions, with threads switching all the time, give one result each.

    Without its monitor, which would hide a thread that overlooks a call.
    """
    if not watched:
        monkeypatch.setattr(ThreadScheduler, "_watch", lambda self: None)
    chance = random.Random(0)
    with all_threads_end(), restless_interpreter():
        scheduler = ThreadScheduler(size, None)
        if long:
            scheduler._expected = AlwaysLong()
        scheduler._ready = Bell()  # type: ignore[assignment]
        ran: list[int] = []
        collected: list[int] = []
        sent = 0
        while sent < 6000:
            calls: list[Call] = [
                (number % 6, ran.append, number) for number in range(sent, sent + chance.randint(1, 7))
            ]
            sent += len(calls)
            scheduler.submit(calls)
            if chance.random() < 0.7:
                count = chance.randint(0, sent - len(collected))
                assert scheduler.wait(count, None)
                assert len(scheduler.finished) >= count
                while scheduler.finished:
                    collected.append(scheduler.finished.popleft()[0][2])
        assert scheduler.wait(sent - len(collected), None)
        collected += [call[2] for call, _ in scheduler.finished]
        scheduler.stop()
        scheduler.join()
    assert sorted(collected) == list(range(sent))
    assert sorted(ran) == list(range(sent))


def test_a_task_over_its_time_is_reported_once_and_at_once() -> None:
    """The waiting caller is signalled, and the same call is never reported again."""
    gate = Gate()
    with all_threads_end():
        scheduler = ThreadScheduler(1, 0.005)
        scheduler._ready = Bell()  # type: ignore[assignment]
        call: Call = (0, lambda _: gate(), None)
        scheduler.submit([call])
        assert scheduler.wait(1, None)
        scheduler._ready = threading.Lock()
        scheduler._ready.acquire()
        assert not scheduler.wait(2, time.monotonic() + 0.05)
        assert list(scheduler.finished) == [(call, TIMED_OUT)]
        gate.opened.set()
        scheduler.stop()
        scheduler.join()


def test_the_monitor_wakes_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """After it went to sleep for want of calls, environments that wait still do so in parallel."""
    asleep = threading.Event()
    sleep = ThreadScheduler._monitor_sleep

    def announced(self: ThreadScheduler, next_deadline: float | None) -> bool:
        asleep.set()
        return sleep(self, next_deadline)

    monkeypatch.setattr(ThreadScheduler, "_monitor_sleep", announced)
    with ThreadVectorEnv([Scripted] * 4) as envs:
        envs.reset()
        for _ in range(10):
            assert asleep.wait(SAFETY)
            asleep.clear()
            envs._scheduler._expected.clear()  # as if it had never seen any of them wait
            barrier = threading.Barrier(4, timeout=SAFETY)
            assert sorted(envs.step([barrier.wait] * 4)[0]) == list(range(4))


def test_the_monitor_does_not_sleep_over_a_call() -> None:
    """A call that was queued after its last look keeps it awake."""
    scheduler = ThreadScheduler(1, 0.001)
    assert scheduler._monitor_sleep(None)
    scheduler._queue.append((0, len, ""))
    assert not scheduler._monitor_sleep(None)


def finish_just_after_the_time_limit(envs: ThreadVectorEnv) -> None:
    """Let the pending step of environment 0 finish a moment after the monitor has reported it as timed out."""
    scheduler = envs._scheduler
    assert scheduler.wait(1, time.monotonic() + SAFETY)
    call = scheduler.finished[0][0]
    scheduler.finished.appendleft((call, TIMED_OUT))


@pytest.mark.parametrize("then", ["recv", "close"])
def test_a_step_that_ends_between_giving_up_and_taking_note_of_it(then: str) -> None:
    """Its environment is closed by the caller, as its thread had no reason to."""
    made: list[Scripted] = []

    def maker() -> Scripted:
        made.append(Scripted())
        return made[-1]

    with ThreadVectorEnv([maker], autoreset="next_step", step_timeout=SAFETY) as envs:
        envs.reset()
        envs.send(["a"])
        finish_just_after_the_time_limit(envs)
        if then == "recv":
            assert envs.recv().truncations.tolist() == [True]
            assert made[0].closed == 1
    assert [env.closed for env in made] == [1]


def test_given_up_environments_are_closed_once_and_never_while_running() -> None:
    """Steps that end just around their time limit, closed in the middle of it, race as hard as they can."""
    made: list[Scripted] = []

    def maker() -> Scripted:
        made.append(Scripted())
        return made[-1]

    chance = random.Random(1)
    with all_threads_end(), restless_interpreter():
        for _ in range(25):
            envs = ThreadVectorEnv([maker] * 4, step_timeout=0.001)
            with suppress(VectorError):  # all resets took too long
                envs.reset()
            envs.send_reset(range(4))
            envs.recv(min_ready=4)
            waits = [chance.choice([0.0, 0.0005, 0.001, 0.002, 0.004]) for _ in range(4)]
            envs.send([partial(threading.Event().wait, seconds) for seconds in waits])
            if chance.random() < 0.5:
                envs.recv(min_ready=chance.randint(1, 4))
            envs.close()
    assert [env.closed for env in made] == [1] * len(made)
    assert not any(env.closed_while_running for env in made)


def test_a_needless_call_of_the_callback_loses_no_later_result() -> None:
    """After ``take_ready`` with nothing pending, the next result still calls the callback."""
    called = threading.Event()
    with ThreadVectorEnv([Scripted]) as envs:
        EngineAccess.of(envs).notify(called.set)
        envs._scheduler._announce()  # what a thread does that looks a moment too early
        assert called.is_set()
        assert EngineAccess.of(envs).take_ready() == []
        called.clear()
        envs.send_reset([0])
        assert called.wait(SAFETY)
        assert [index for index, _ in EngineAccess.of(envs).take_ready()] == [0]
