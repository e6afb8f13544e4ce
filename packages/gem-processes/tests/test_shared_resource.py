"""Objects that several users share, hooks of forked children, and the number of processors."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from gem import fork_hooks
from gem_processes import SharedResource, after_fork_in_child, usable_cpus

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


class Counted:
    """Counts how often it was opened and closed."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def resource(self) -> SharedResource[object]:
        return SharedResource(
            self.opened, lambda _: self.log.append("closed"), lambda _: self.log.append("closed later")
        )

    def opened(self) -> object:
        self.log.append("opened")
        return object()


def test_users_share_one_object_which_closes_after_the_last() -> None:
    """The object opens at the first use, is the same for everybody, and closes once, with its last user."""
    counted = Counted()
    resource = counted.resource()
    one, two = resource.handle(), resource.handle()
    assert counted.log == []
    assert one.value is two.value
    one.close()
    one.close()
    assert counted.log == ["opened"]
    two.close()
    assert counted.log == ["opened", "closed"]


def test_a_use_after_close_counts_anew() -> None:
    """A closed handle opens the object again."""
    counted = Counted()
    handle = counted.resource().handle()
    with handle:
        pass
    with handle:
        assert counted.log == ["opened", "closed", "opened"]
    assert counted.log[2:] == ["opened", "closed"]


def test_a_user_that_has_not_opened_the_object_keeps_it_open() -> None:
    """A handle that was only acquired counts, and its end closes nothing that was never opened."""
    counted = Counted()
    resource = counted.resource()
    waiting, using = resource.handle(), resource.handle()
    waiting.acquire()
    using.acquire()
    using.close()
    assert counted.log == []
    _ = using.value
    using.close()
    assert counted.log == ["opened"]
    waiting.close()
    assert counted.log == ["opened", "closed"]


def test_garbage_is_no_user() -> None:
    """A handle that nobody has any more closes the object, without waiting."""
    counted = Counted()
    handle = counted.resource().handle()
    _ = handle.value
    del handle
    gc.collect()
    assert counted.log == ["opened", "closed later"]


def test_the_end_of_the_process_closes_nothing() -> None:
    """What is open at exit belongs to its own exit hook, so that no order among hooks matters."""
    program = (
        "from gem_processes import SharedResource\n"
        "handle = SharedResource(lambda: print('opened'), lambda _: print('closed')).handle()\n"
        "handle.value"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "opened\n"


def test_threads_open_one_object() -> None:
    """Thirty-two threads at once open the object as often as they close it, and never twice at a time."""
    counted = Counted()
    resource = counted.resource()

    def use(_: int) -> None:
        with resource.handle():
            pass

    with ThreadPoolExecutor(32) as threads:
        list(threads.map(use, range(640)))
    assert set(counted.log[::2]) == {"opened"}
    assert set(counted.log[1::2]) == {"closed"}


def test_no_user_gets_an_object_that_is_closing() -> None:
    """A user that comes while the last one closes waits for that, and opens the object anew."""
    log: list[str] = []
    closing, go_on = threading.Event(), threading.Event()

    def close(_: object) -> None:
        closing.set()
        assert go_on.wait(60)
        log.append("closed")

    def opened() -> object:
        log.append("opened")
        return object()

    resource = SharedResource(opened, close)
    last, late = resource.handle(), resource.handle()
    _ = last.value
    with ThreadPoolExecutor(2) as threads:
        closed = threads.submit(last.close)
        assert closing.wait(60)
        used = threads.submit(lambda: late.value)
        while not resource._users:
            pass
        go_on.set()
        closed.result()
        used.result()
    assert log == ["opened", "closed", "opened"]
    late.close()


def test_garbage_is_collected_in_a_thread_that_the_object_needs_to_open() -> None:
    """Opening may wait for another thread, and the garbage collector of that thread may take a handle."""

    def opened() -> object:
        thread = threading.Thread(target=gone.clear, daemon=True)
        thread.start()
        thread.join(60)
        return not thread.is_alive()

    resource = SharedResource(opened, lambda _: None)
    gone = [resource.handle()]
    gone[0].acquire()
    with resource.handle() as collected:
        assert collected


def test_a_handle_that_was_closed_while_its_object_opens_keeps_nothing_open_for_good() -> None:
    """The object that opened for it closes with the next user."""
    counted = Counted()
    handles = []

    def opened() -> object:
        handles[0].close(wait=False)
        return counted.opened()

    resource = SharedResource(opened, lambda _: counted.log.append("closed"))
    handles.append(resource.handle())
    _ = handles[0].value
    with resource.handle():
        assert counted.log == ["opened"]
    assert counted.log == ["opened", "closed"]


@forks
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_a_thread_of_its_parent() -> None:
    """Where a thread of the parent has the lock of a resource at the fork, a child can use the resource."""
    resource = Counted().resource()
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with resource._lock, resource._changing:
            inside.set()
            leave.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()
    child = os.fork()
    if child == 0:
        had = resource._lock.acquire(timeout=60) and resource._changing.acquire(timeout=60)
        os._exit(0 if had else 1)
    assert os.waitpid(child, 0)[1] == 0
    leave.set()
    thread.join()


@forks
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_hooks_run_in_order_in_a_forked_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks run in the order of registration, one that raises stops no other, and none runs in the parent."""
    monkeypatch.setattr(fork_hooks, "_hooks", {})
    ran: list[int] = []

    class Owner:
        def hook(self) -> None:
            ran.append(2)

    def fails() -> None:
        raise ValueError("of this hook alone")

    owner, gone = Owner(), Owner()
    after_fork_in_child(lambda: ran.append(1))
    after_fork_in_child(fails)
    after_fork_in_child(owner.hook)
    after_fork_in_child(gone.hook)
    del gone
    after_fork_in_child(lambda: ran.append(3))
    child = os.fork()
    if child == 0:
        os._exit(0 if ran == [1, 2, 3] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert ran == []


def test_a_hook_is_forgotten_with_its_object() -> None:
    """A method's hook does not outlive the object that it belongs to."""
    gc.collect()  # of other tests
    before = len(fork_hooks._hooks)
    resource = Counted().resource()
    assert len(fork_hooks._hooks) == before + 1
    del resource
    gc.collect()
    assert len(fork_hooks._hooks) == before


def test_there_is_at_least_one_usable_processor() -> None:
    """The number is what the system grants this process."""
    assert 1 <= usable_cpus() <= (os.cpu_count() or 1)
