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

from gem_terminal.errors import EngineError
from gem_terminal.pool import Pool


class Thing:
    """Something of a kind, which can go bad."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.is_sound = True


class Customer:
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
        if is_a_hand(threading.current_thread()):
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
        if is_a_hand(threading.current_thread()):
            self.at_work.release()
            assert self.may_discard.wait(30)
        with self.lock:
            self.discarded.append((thing, threading.current_thread()))

    def pool(self, **options: Any) -> Pool[str, Thing]:
        return Pool(self.make, self.discard, lambda thing: thing.is_sound, **options)

    @property
    def alive(self) -> Counter[str]:
        """How many of each kind were made and not discarded."""
        return Counter(thing.kind for thing, _ in self.made) - Counter(thing.kind for thing, _ in self.discarded)


def is_a_hand(thread: threading.Thread) -> bool:
    return thread.name == "gem-terminal pool"


def wait_for_hands() -> None:
    """Return once there is nothing to do in the background, which is when the threads end."""
    while hands := list(filter(is_a_hand, threading.enumerate())):
        hands[0].join(30)  # which may have called another one meanwhile
        assert not hands[0].is_alive()


@pytest.fixture
def works() -> Works:
    """Fresh works."""
    return Works()


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    wait_for_hands()


def test_what_was_expected_is_ready(works: Works) -> None:
    """A customer that said what it takes next is handed what a thread in the background has made."""
    pool, me = works.pool(), Customer()
    first = pool.take(me, "a", ["a"])
    wait_for_hands()
    assert [is_a_hand(thread) for _, thread in works.made] == [False, True]
    second = pool.take(me, "a")
    assert second is not first
    assert second is works.made[1][0]
    wait_for_hands()
    assert len(works.made) == 2, "nothing more was expected"


def test_nothing_is_made_that_nobody_expects(works: Works) -> None:
    """One customer, one thing."""
    pool, me = works.pool(), Customer()
    pool.take(me, "a")
    pool.leave(me)
    assert len(works.made) == 1


def test_a_customer_waits_for_nobody(works: Works) -> None:
    """While all threads in the background are held up, customers make what they need themselves."""
    pool, slow, others = works.pool(hands=2), Customer(), [Customer() for _ in range(8)]
    works.may_make.clear()
    pool.take(slow, "a", ["a", "a"])
    for _ in range(2):
        assert works.at_work.acquire(timeout=30)
    taken = [pool.take(other, "a") for other in others]
    assert len({id(thing) for thing in taken}) == 8
    works.may_make.set()


def test_many_wait_side_by_side(works: Works) -> None:
    """Thirty-two customers that find nothing ready are making at the same moment."""
    together = threading.Barrier(32)

    def make(kind: str) -> Thing:
        together.wait(30)  # raises unless all are here at once
        return works.make(kind)

    pool: Pool[str, Thing] = Pool(make, works.discard)
    customers = [Customer() for _ in range(32)]
    threads = [threading.Thread(target=pool.take, args=(customer, "a")) for customer in customers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert works.alive == {"a": 32}
    pool.close()


def test_it_is_bounded_over_all_kinds(works: Works) -> None:
    """However much is expected, no more than the bound is made ahead; those who asked first have it."""
    pool, customers = works.pool(most=3), [Customer() for _ in range(10)]
    for number, customer in enumerate(customers):
        pool.take(customer, "now", [f"next {number}"])
    wait_for_hands()
    assert works.alive == {"now": 10, "next 0": 1, "next 1": 1, "next 2": 1}
    pool.take(customers[0], "next 0", ["later"])
    wait_for_hands()
    assert works.alive["next 3"] == 1, "there is room for one more"
    assert works.alive["later"] == 0


def test_who_does_not_come_back_gives_way(works: Works) -> None:
    """What was made for a customer that others have long overtaken is discarded when room is needed."""
    pool, idle, busy = works.pool(most=1), Customer(), Customer()
    pool.take(idle, "now", ["for idle"])
    wait_for_hands()
    assert works.alive["for idle"] == 1
    for _ in range(6):
        pool.take(busy, "now", ["for busy"])
        pool.release(busy)
    wait_for_hands()
    assert (works.alive["for idle"], works.alive["for busy"]) == (0, 1)


def test_a_customer_may_think_again(works: Works) -> None:
    """What it says last replaces what it said before, and what was made for that is discarded."""
    pool, me = works.pool(), Customer()
    pool.take(me, "a", ["b"])
    wait_for_hands()
    pool.take(me, "c", ["d"])
    wait_for_hands()
    assert works.alive == {"a": 1, "c": 1, "d": 1}


def test_an_error_is_the_customers_own(works: Works) -> None:
    """What could not be made ahead is tried once, is nobody's error, and is made ahead again once it can be made."""
    pool, me = works.pool(), Customer()
    pool.take(me, "a")
    works.error = OSError("the engine is away")
    with pytest.raises(OSError, match="away"):
        pool.take(me, "a", ["a"])
    wait_for_hands()
    assert works.errors_ahead == 0
    works.error = None
    pool.take(me, "a", ["a"])
    wait_for_hands()
    assert len(works.made) == 3, "one was made ahead"
    works.error = OSError("the engine is away")
    pool.take(me, "a", ["a"])
    wait_for_hands()
    assert works.errors_ahead == 1
    works.error = None
    other = Customer()
    assert isinstance(pool.take(other, "a", ["a"]), Thing), "that error was nobody's"
    wait_for_hands()
    assert works.alive["a"] == 4 + 2, "for both customers one is ready again"


def test_what_has_gone_bad_is_replaced(works: Works) -> None:
    """A thing that died while it waited is discarded and not handed out."""
    pool, me = works.pool(), Customer()
    pool.take(me, "a", ["a", "a"])
    wait_for_hands()
    bad, good = (thing for thing, thread in works.made if is_a_hand(thread))
    bad.is_sound = False
    assert pool.take(me, "a") is good
    wait_for_hands()
    assert [thing for thing, _ in works.discarded] == [bad]
    good.is_sound = False
    assert pool.take(me, "a") not in (bad, good)


def test_releasing_does_not_wait(works: Works) -> None:
    """Discarding is done in the background, until too many wait for it: then whoever brings one more helps."""
    pool, customers = works.pool(most=2, hands=1), [Customer() for _ in range(5)]
    for customer in customers:
        pool.take(customer, "a")
    works.may_discard.clear()
    pool.release(customers[0])
    assert works.at_work.acquire(timeout=30)
    for customer in customers[1:3]:
        pool.release(customer)
    assert not works.discarded
    for customer in customers[3:]:
        pool.release(customer)
    assert [thread for _, thread in works.discarded] == [threading.current_thread()] * 2
    works.may_discard.set()
    wait_for_hands()
    assert not works.alive


def test_the_last_one_waits_until_nothing_is_left(works: Works) -> None:
    """When the last customer has left, everything is discarded, no thread goes on, and the pool rests."""
    rested: list[int] = []
    pool = works.pool(rest=lambda: rested.append(works.alive.total()))
    customers = [Customer() for _ in range(20)]
    for customer in customers:
        pool.take(customer, "a", ["a", "b"])
    for customer in customers:
        assert not rested
        pool.leave(customer)
    assert not works.alive
    assert not any(map(is_a_hand, threading.enumerate()))
    assert rested == [0]
    pool.take(customers[0], "a")
    pool.leave(customers[0])
    assert rested == [0, 0]


def test_what_is_done_first_holds_nobody_up(works: Works) -> None:
    """It is done once, in the background, and what it raises is nobody's."""
    go_on, done = threading.Event(), []

    def first() -> None:
        assert go_on.wait(30)
        done.append(threading.current_thread())
        raise OSError("the engine is away")

    pool, me = works.pool(first=first), Customer()
    for _ in range(3):
        pool.take(me, "a", ["a"])
    go_on.set()
    pool.leave(me)
    pool.take(me, "a")
    pool.leave(me)
    assert [is_a_hand(thread) for thread in done] == [True]
    assert not works.alive


def test_closing_discards_what_customers_hold(works: Works) -> None:
    """Nothing outlives the pool, and nothing is begun any more; what was just being made is discarded as well."""
    pool, me, late = works.pool(), Customer(), Customer()
    pool.take(me, "a", ["a"])
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


def test_what_a_lost_customer_held_is_discarded(works: Works) -> None:
    """An environment that was forgotten instead of closed costs its container only until somebody else comes."""
    pool, me = works.pool(), Customer()
    lost = Customer()
    pool.take(lost, "lost", ["lost as well"])
    wait_for_hands()
    del lost
    gc.collect()
    pool.take(me, "a")
    wait_for_hands()
    assert works.alive == {"a": 1}


def test_leaving_during_a_take_loses_nothing(works: Works) -> None:
    """What is made for a customer that left meanwhile is still known to be its own."""
    me = Customer()

    def make(kind: str) -> Thing:
        pool.leave(me)
        return works.make(kind)

    pool: Pool[str, Thing] = Pool(make, works.discard)
    pool.take(me, "a")
    assert works.alive == {"a": 1}
    pool.leave(me)
    assert not works.alive


def test_a_failure_to_discard_stops_nothing(works: Works) -> None:
    """The threads in the background outlive what they meet."""

    def discard(thing: Thing) -> None:
        works.discard(thing)
        raise OSError("the engine is away")

    pool, customers = Pool(works.make, discard), [Customer() for _ in range(4)]
    for customer in customers:
        pool.take(customer, "a", ["a"])
    for customer in customers:
        pool.leave(customer)
    assert not works.alive


def test_a_forked_child_lets_go(works: Works) -> None:
    """What is held and what is ready is let go of once, and nothing is discarded."""
    pool, me = works.pool(), Customer()
    pool.take(me, "a", ["b"])
    wait_for_hands()
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
@given(steps=_steps, most=st.integers(1, 6), hands=st.integers(1, 3))
def test_whatever_happens(steps: list[tuple[str, int, str, list[str]]], most: int, hands: int) -> None:
    """Nothing is handed out twice or when it is bad, the bound holds, and in the end all that was made is discarded."""
    works = Works()
    pool = works.pool(most=most, hands=hands)
    customers: dict[int, Customer] = {}
    handed_out: set[Thing] = set()
    for what, number, kind, ahead in steps:
        customer = customers.setdefault(number, Customer())
        if what == "take":
            thing = pool.take(customer, kind, ahead)
            assert thing.is_sound
            assert thing.kind == kind
            assert thing not in handed_out
            handed_out.add(thing)
        elif what == "release":
            pool.release(customer)
        elif what == "leave":
            pool.leave(customer)
        elif what == "lose":
            del customers[number], customer
        elif works.made:
            with works.lock:
                works.made[number % len(works.made)][0].is_sound = False
        with works.lock:
            gone = {thing for thing, _ in works.discarded}
            waiting = [thing for thing, _ in works.made if thing not in gone and thing not in handed_out]
        # Those that are on their way when others are discarded to make room come on top.
        assert len(waiting) <= 2 * most + hands
    pool.close()
    assert not works.alive
    assert len({thing for thing, _ in works.discarded}) == len(works.discarded), "discarded twice"


def test_threads_at_once(works: Works) -> None:
    """Sixteen threads with a customer each: nothing is lost, nothing is handed out twice."""
    pool = works.pool(most=8, hands=4)
    handed_out: list[Thing] = []

    def live(number: int) -> None:
        me = Customer()
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
