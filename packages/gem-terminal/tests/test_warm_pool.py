"""The pool by itself: what is made ahead, who waits for whom, and that nothing is left or handed out twice."""

from __future__ import annotations

import gc
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gem_terminal.episodes.warm_pool import WarmPool
from gem_terminal.errors import EngineError


class Thing:
    """Something of a kind, which can go bad."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.is_sound = True


class Client:
    """Somebody who takes."""


class Works:
    """Makes and discards things, says who did, and can be made to fail or to wait."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.made: list[tuple[Thing, threading.Thread]] = []
        self.discarded: list[tuple[Thing, threading.Thread]] = []
        self.may_make, self.may_discard = threading.Event(), threading.Event()
        self.may_make.set()
        self.may_discard.set()
        self.error: Exception | None = None
        self.errors_ahead = 0
        self.at_work = threading.Semaphore(0)
        """One for each thread in the background that begins to make or to discard."""

    def make(self, kind: str) -> Thing:
        if is_worker(threading.current_thread()):
            self.at_work.release()
            assert self.may_make.wait(30)
            if self.error is not None:
                self.errors_ahead += 1
        if self.error is not None:
            raise self.error
        thing = Thing(kind)
        with self.lock:
            self.made.append((thing, threading.current_thread()))
        return thing

    def discard(self, thing: Thing) -> None:
        if is_worker(threading.current_thread()):
            self.at_work.release()
            assert self.may_discard.wait(30)
        with self.lock:
            self.discarded.append((thing, threading.current_thread()))

    def pool(self, **options: Any) -> WarmPool[str, Thing]:
        return WarmPool(self.make, self.discard, lambda thing: thing.is_sound, **options)

    @property
    def alive(self) -> Counter[str]:
        """How many of each kind were made and not discarded."""
        return Counter(thing.kind for thing, _ in self.made) - Counter(thing.kind for thing, _ in self.discarded)


def is_worker(thread: threading.Thread) -> bool:
    return thread.name == "gem-terminal pool"


def wait_for_workers() -> None:
    """Return once there is nothing to do in the background, which is when the threads end."""
    while workers := list(filter(is_worker, threading.enumerate())):
        workers[0].join(30)  # which may have started another one meanwhile
        assert not workers[0].is_alive()


@pytest.fixture
def works() -> Works:
    """Fresh works."""
    return Works()


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    wait_for_workers()


def test_what_was_expected_is_ready(works: Works) -> None:
    """A client that said what it takes next is handed what a thread in the background has made."""
    pool, me = works.pool(), Client()
    first = pool.take(me, "a", ["a"])
    wait_for_workers()
    assert [is_worker(thread) for _, thread in works.made] == [False, True]
    second = pool.take(me, "a")
    assert second is not first
    assert second is works.made[1][0]
    wait_for_workers()
    assert len(works.made) == 2, "nothing more was expected"


def test_nothing_is_made_that_nobody_expects(works: Works) -> None:
    """One client, one thing."""
    pool, me = works.pool(), Client()
    pool.take(me, "a")
    pool.leave(me)
    assert len(works.made) == 1


def test_a_customer_waits_for_nobody(works: Works) -> None:
    """While all threads in the background are held up, clients make what they need themselves."""
    pool, slow, others = works.pool(workers=2), Client(), [Client() for _ in range(8)]
    works.may_make.clear()
    pool.take(slow, "a", ["a", "a"])
    for _ in range(2):
        assert works.at_work.acquire(timeout=30)
    taken = [pool.take(other, "a") for other in others]
    assert len({id(thing) for thing in taken}) == 8
    works.may_make.set()


def test_many_wait_side_by_side(works: Works) -> None:
    """Thirty-two clients that find nothing ready are making at the same moment."""
    together = threading.Barrier(32)

    def make(kind: str) -> Thing:
        together.wait(30)  # raises unless all are here at once
        return works.make(kind)

    pool: WarmPool[str, Thing] = WarmPool(make, works.discard)
    clients = [Client() for _ in range(32)]
    threads = [threading.Thread(target=pool.take, args=(client, "a")) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert works.alive == {"a": 32}
    pool.close()


def test_it_is_bounded_over_all_kinds(works: Works) -> None:
    """However much is expected, no more than the bound is made ahead; those who asked first have it."""
    pool, clients = works.pool(most=3), [Client() for _ in range(10)]
    for number, client in enumerate(clients):
        pool.take(client, "now", [f"next {number}"])
    wait_for_workers()
    assert works.alive == {"now": 10, "next 0": 1, "next 1": 1, "next 2": 1}
    pool.take(clients[0], "next 0", ["later"])
    wait_for_workers()
    assert works.alive["next 3"] == 1, "there is room for one more"
    assert works.alive["later"] == 0


def test_who_does_not_come_back_gives_way(works: Works) -> None:
    """What was made for a client that others have long overtaken is discarded when room is needed."""
    pool, idle, busy = works.pool(most=1), Client(), Client()
    pool.take(idle, "now", ["for idle"])
    wait_for_workers()
    assert works.alive["for idle"] == 1
    for _ in range(6):
        pool.take(busy, "now", ["for busy"])
        pool.release(busy)
    wait_for_workers()
    assert (works.alive["for idle"], works.alive["for busy"]) == (0, 1)


def test_a_customer_may_think_again(works: Works) -> None:
    """What it says last replaces what it said before, and what was made for that is discarded."""
    pool, me = works.pool(), Client()
    pool.take(me, "a", ["b"])
    wait_for_workers()
    pool.take(me, "c", ["d"])
    wait_for_workers()
    assert works.alive == {"a": 1, "c": 1, "d": 1}


def test_an_error_is_the_clients_own(works: Works) -> None:
    """What could not be made ahead is tried once, is nobody's error, and is made ahead again once it can be made."""
    pool, me = works.pool(), Client()
    pool.take(me, "a")
    works.error = OSError("the engine is away")
    with pytest.raises(OSError, match="away"):
        pool.take(me, "a", ["a"])
    wait_for_workers()
    assert works.errors_ahead == 0
    works.error = None
    pool.take(me, "a", ["a"])
    wait_for_workers()
    assert len(works.made) == 3, "one was made ahead"
    works.error = OSError("the engine is away")
    pool.take(me, "a", ["a"])
    wait_for_workers()
    assert works.errors_ahead == 1
    works.error = None
    other = Client()
    assert isinstance(pool.take(other, "a", ["a"]), Thing), "that error was nobody's"
    wait_for_workers()
    assert works.alive["a"] == 4 + 2, "for both clients one is ready again"


def test_what_has_gone_bad_is_replaced(works: Works) -> None:
    """A thing that died while it waited is discarded and not handed out."""
    pool, me = works.pool(), Client()
    pool.take(me, "a", ["a", "a"])
    wait_for_workers()
    bad, good = (thing for thing, thread in works.made if is_worker(thread))
    bad.is_sound = False
    assert pool.take(me, "a") is good
    wait_for_workers()
    assert [thing for thing, _ in works.discarded] == [bad]
    good.is_sound = False
    assert pool.take(me, "a") not in (bad, good)


def test_releasing_does_not_wait(works: Works) -> None:
    """Discarding is done in the background, until too many wait for it: then whoever brings one more helps."""
    pool, clients = works.pool(most=2, workers=1), [Client() for _ in range(5)]
    for client in clients:
        pool.take(client, "a")
    works.may_discard.clear()
    pool.release(clients[0])
    assert works.at_work.acquire(timeout=30)
    for client in clients[1:3]:
        pool.release(client)
    assert not works.discarded
    for client in clients[3:]:
        pool.release(client)
    assert [thread for _, thread in works.discarded] == [threading.current_thread()] * 2
    works.may_discard.set()
    wait_for_workers()
    assert not works.alive


def test_the_last_one_waits_until_nothing_is_left(works: Works) -> None:
    """When the last client has left, everything is discarded, no thread goes on, and the pool rests."""
    rested: list[int] = []
    pool = works.pool(on_idle=lambda: rested.append(works.alive.total()))
    clients = [Client() for _ in range(20)]
    for client in clients:
        pool.take(client, "a", ["a", "b"])
    for client in clients:
        assert not rested
        pool.leave(client)
    assert not works.alive
    assert not any(map(is_worker, threading.enumerate()))
    assert rested == [0]
    pool.take(clients[0], "a")
    pool.leave(clients[0])
    assert rested == [0, 0]


def test_what_is_done_first_holds_nobody_up(works: Works) -> None:
    """It is done once, in the background, and what it raises is nobody's."""
    go_on, done = threading.Event(), []

    def first() -> None:
        assert go_on.wait(30)
        done.append(threading.current_thread())
        raise OSError("the engine is away")

    pool, me = works.pool(on_start=first), Client()
    for _ in range(3):
        pool.take(me, "a", ["a"])
    go_on.set()
    pool.leave(me)
    pool.take(me, "a")
    pool.leave(me)
    assert [is_worker(thread) for thread in done] == [True]
    assert not works.alive


def test_closing_discards_what_clients_hold(works: Works) -> None:
    """Nothing outlives the pool, and nothing is begun any more; what was just being made is discarded as well."""
    pool, me, late = works.pool(), Client(), Client()
    pool.take(me, "a", ["a"])
    wait_for_workers()  # so that the thing begun below is the one that `late` takes
    begun, go_on = threading.Event(), threading.Event()

    def slow(kind: str) -> Thing:
        begun.set()
        assert go_on.wait(30)
        return works.make(kind)

    pool._make = slow
    taking = threading.Thread(target=pool.take, args=(late, "b"))
    taking.start()
    assert begun.wait(30)
    closing = threading.Thread(target=pool.close)
    closing.start()
    go_on.set()
    for thread in (taking, closing):
        thread.join(30)
    assert not works.alive
    pool.close()
    with pytest.raises(EngineError, match="ending"):
        pool.take(me, "a")


def test_what_a_lost_client_held_is_discarded(works: Works) -> None:
    """An environment that was forgotten instead of closed costs its container only until somebody else comes."""
    pool, me = works.pool(), Client()
    lost = Client()
    pool.take(lost, "lost", ["lost as well"])
    wait_for_workers()
    del lost
    gc.collect()
    pool.take(me, "a")
    wait_for_workers()
    assert works.alive == {"a": 1}


def test_leaving_during_a_take_loses_nothing(works: Works) -> None:
    """What is made for a client that left meanwhile is still known to be its own."""
    me = Client()

    def make(kind: str) -> Thing:
        pool.leave(me)
        return works.make(kind)

    pool: WarmPool[str, Thing] = WarmPool(make, works.discard)
    pool.take(me, "a")
    assert works.alive == {"a": 1}
    pool.leave(me)
    assert not works.alive


def test_a_failure_to_discard_stops_nothing(works: Works) -> None:
    """The threads in the background outlive what they meet."""

    def discard(thing: Thing) -> None:
        works.discard(thing)
        raise OSError("the engine is away")

    pool, clients = WarmPool(works.make, discard), [Client() for _ in range(4)]
    for client in clients:
        pool.take(client, "a", ["a"])
    for client in clients:
        pool.leave(client)
    assert not works.alive


def test_a_forked_child_lets_go(works: Works) -> None:
    """What is held and what is ready is let go of once, and nothing is discarded."""
    pool, me = works.pool(), Client()
    pool.take(me, "a", ["b"])
    wait_for_workers()
    let_go: list[str] = []
    pool.forget(lambda thing: let_go.append(thing.kind))
    assert sorted(let_go) == ["a", "b"]
    assert not works.discarded


_steps = st.lists(
    st.tuples(
        st.sampled_from(["take", "take", "take", "release", "leave", "spoil", "lose"]),
        st.integers(0, 4),
        st.sampled_from("abc"),
        st.lists(st.sampled_from("abc"), max_size=3),
    ),
    max_size=40,
)


@settings(deadline=None)
@given(steps=_steps, most=st.integers(1, 6), workers=st.integers(1, 3))
def test_whatever_happens(steps: list[tuple[str, int, str, list[str]]], most: int, workers: int) -> None:
    """Nothing is handed out twice or when it is bad, the bound holds, and in the end all that was made is discarded."""
    works = Works()
    pool = works.pool(most=most, workers=workers)
    clients: dict[int, Client] = {}
    handed_out: set[Thing] = set()
    for what, number, kind, ahead in steps:
        client = clients.setdefault(number, Client())
        if what == "take":
            thing = pool.take(client, kind, ahead)
            assert thing.is_sound
            assert thing.kind == kind
            assert thing not in handed_out
            handed_out.add(thing)
        elif what == "release":
            pool.release(client)
        elif what == "leave":
            pool.leave(client)
        elif what == "lose":
            del clients[number], client
        elif works.made:
            with works.lock:
                works.made[number % len(works.made)][0].is_sound = False
        with works.lock:
            gone = {thing for thing, _ in works.discarded}
            waiting = [thing for thing, _ in works.made if thing not in gone and thing not in handed_out]
        # Those that are on their way when others are discarded to make room come on top.
        assert len(waiting) <= 2 * most + workers
    pool.close()
    assert not works.alive
    assert len({thing for thing, _ in works.discarded}) == len(works.discarded), "discarded twice"


def test_threads_at_once(works: Works) -> None:
    """Sixteen threads with a client each: nothing is lost, nothing is handed out twice."""
    pool = works.pool(most=8, workers=4)
    handed_out: list[Thing] = []

    def live(number: int) -> None:
        me = Client()
        for turn in range(50):
            handed_out.append(pool.take(me, "abc"[turn % 3], ["abc"[(turn + 1) % 3]]))
            if turn % 7:
                pool.release(me)
        if number % 2:
            pool.leave(me)

    _in_threads(16, live)
    pool.close()
    assert len({id(thing) for thing in handed_out}) == 16 * 50
    assert not works.alive


def _in_threads(number: int, work: Callable[[int], None]) -> None:
    threads = [threading.Thread(target=work, args=(each,)) for each in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
