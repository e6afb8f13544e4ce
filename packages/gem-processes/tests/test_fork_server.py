"""Fork servers: how they start, serve, and end; and the messages that pass between processes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
import types
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ForkServerError
from gem_processes import messages
from gem_processes.fork_loop import Child, ForkLoop
from gem_processes.fork_server import ForkServer, bare_python, exit_in_words, warm_python

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

LINUX = ("linux", "seccomp", "syscall_numbers") if sys.platform == "linux" else ()
BARE = ("fork_loop", "messages", "rlimits", *LINUX)
"""Modules of gem_processes that a bare interpreter can import."""

SERVER = textwrap.dedent(
    """
    import os, signal, socket, sys, time
    from contextlib import suppress
    from gem_processes.fork_loop import Child, ForkLoop, serve

    class Toy(Child):
        def ended(self, returncode, usage):
            with suppress(OSError): self.interest.send(str(returncode).encode())
            self.interest.close()

    class Impatient(Toy):
        def look(self, now):
            self.end()

    class ToyLoop(ForkLoop):
        def start(self, body, descriptors):
            pid = os.fork()
            if pid == 0:
                for descriptor in descriptors:
                    os.set_inheritable(descriptor, True)
                interest = os.dup(descriptors[0])
                self.become_child()
                if body.isdigit(): os._exit(int(body))
                if body == b"held":
                    held = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
                    kinds = [os.readlink(path).partition(":")[0] for path in held if os.path.lexists(path)]
                    os.write(interest, f"{kinds.count('socket')} {kinds.count('pipe')}".encode())
                    os._exit(0)
                os.write(interest, signal.getsignal(signal.SIGCHLD).name.encode())
                time.sleep(600)
            kind = Impatient if body == b"impatient" else Toy
            child = kind(pid, socket.socket(fileno=descriptors[0]))
            if kind is Impatient: child.look_at = time.monotonic() + 0.5
            return child

    def main():
        mode, control = sys.argv[1], socket.socket(fileno=int(sys.argv[2]))
        def prepare():
            if mode == "raise": raise ValueError("no luck")
            if mode == "die": os._exit(3)
            if mode == "hang": time.sleep(600)
            return ToyLoop(control).run
        serve(control, prepare)
    """
)


@pytest.fixture(scope="module")
def _toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A package with a server, on the import path."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "toy_server").mkdir()
    (folder / "toy_server" / "__init__.py").touch()
    (folder / "toy_server" / "server.py").write_text(SERVER)
    sys.path.insert(0, str(folder))
    yield
    sys.path.remove(str(folder))


def toy(mode: str, *, starts_in: float = 60.0, answers_in: float = 60.0) -> ForkServer:
    """Start the server."""
    command = [*bare_python("toy_server.server"), mode]
    return ForkServer(command, {}, starts_in=starts_in, answers_in=answers_in)


@pytest.fixture(scope="module")
def server(_toy: None) -> Iterator[ForkServer]:
    server = toy("serve")
    yield server
    server.close()
    assert not server.is_alive


def ask(server: ForkServer, body: bytes) -> socket.socket:
    """Ask for a child; return what tells of its end."""
    ours, theirs = socket.socketpair()
    try:
        server.request(body, [theirs.fileno()])
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    ours.settimeout(30)
    return ours


@pytest.mark.usefixtures("_toy")
@pytest.mark.parametrize(
    ("mode", "says", "exception"),
    [
        ("raise", "^no luck$", "ValueError"),
        ("die", "exited with status 3 while it started", None),
        ("hang", "0.2 s", None),
    ],
)
def test_a_server_that_does_not_start_says_why(mode: str, says: str, exception: str | None) -> None:
    """What it raised, how it ended, or that it took too long; and no process is left."""
    with pytest.raises(ForkServerError, match=says) as raised:
        toy(mode, starts_in=0.2 if mode == "hang" else 60.0)
    assert raised.value.exception == exception


def test_each_request_has_a_child_of_its_own(server: ForkServer) -> None:
    """Requests from sixteen threads get each the exit code of its own child."""

    def ask_for(code: int) -> bytes:
        with ask(server, str(code).encode()) as told:
            return told.recv(64)

    with ThreadPoolExecutor(16) as threads:
        assert list(threads.map(ask_for, range(64))) == [str(code).encode() for code in range(64)]


@pytest.mark.parametrize("way", ["a message", "closing"])
def test_a_client_ends_a_child(server: ForkServer, way: str) -> None:
    """A word on the channel of a child, or its end, kills the child; the server's signals are not the child's."""
    told = ask(server, b"sleep")
    assert told.recv(64) == b"SIG_DFL"
    if way == "closing":
        told.shutdown(socket.SHUT_WR)
    else:
        told.send(b"end")
    assert told.recv(64) == b"-9"
    told.close()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_child_has_no_descriptor_of_the_loop_or_of_another_child(server: ForkServer) -> None:
    """It holds its own channel, as it came and as a copy, and nothing else."""
    with ask(server, b"sleep") as other, ask(server, b"held") as told:
        assert other.recv(64) == b"SIG_DFL"
        assert told.recv(3) == b"2 0"


def test_a_channel_without_interest_wakes_nothing() -> None:
    """Once the client has hung up, the loop does not look at the channel again, which would stay readable for good."""

    class Told(Child):
        def ended(self, returncode: int, usage: object) -> None: ...

    class Loop(ForkLoop):
        def start(self, body: bytes, descriptors: list[int]) -> Child | None: ...

    control, client = socket.socketpair()
    ours, theirs = socket.socketpair()
    with control, client, theirs:
        loop, child = Loop(control), Told(1, theirs)
        loop.add(child)
        ours.close()
        assert [descriptor for descriptor, _ in loop._poll.poll(0)] == [theirs.fileno()]
        loop._lose_interest(child)
        assert loop._poll.poll(0) == []


REUSED = """
import os, socket
from gem_processes.fork_loop import ForkLoop

class Loop(ForkLoop):
    def start(self, body, descriptors): ...

control, client = socket.socketpair()
quiet, _held = socket.socketpair()
loop, channels, kept = Loop(control), [socket.socketpair() for _ in range(2)], []

def replace(own, other):
    own.recv(1)
    loop.forget(other)
    number = other.detach()
    os.dup2(quiet.fileno(), number)
    kept.append(socket.socket(fileno=number))
    loop.hear(kept[-1], lambda: print("woken for nothing"))
    client.close()

for (ours, theirs), (other, _) in zip(channels, reversed(channels)):
    loop.hear(ours, lambda ours=ours, other=other: replace(ours, other))
    theirs.send(b"x")
loop.run()
print("ended")
"""


def test_a_new_channel_is_not_woken_by_the_old_one_of_its_number() -> None:
    """Of two channels that are readable at once, the handler of one closes the other, whose number a third gets."""
    done = subprocess.run([sys.executable, "-c", REUSED], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("ended\n", "")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_server_that_cannot_be_executed_leaves_no_descriptor() -> None:
    """Both ends of its channel are closed when the error arrives."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(FileNotFoundError) as raised:
        ForkServer(["/no/such/program"], {}, starts_in=1.0)
    assert len(list(Path("/proc/self/fd").iterdir())) == before, raised


def test_a_child_is_looked_at_when_its_time_is_up(server: ForkServer) -> None:
    """The loop wakes up by itself for a child that has a deadline."""
    with ask(server, b"impatient") as told:
        assert told.recv(64) == b"SIG_DFL"
        assert told.recv(64) == b"-9"


@pytest.mark.usefixtures("_toy")
def test_a_server_that_was_killed_takes_no_request() -> None:
    """The error is one of connections, whichever way the system notices."""
    killed = toy("serve")
    killed.kill()
    with pytest.raises(ConnectionError):
        ask(killed, b"1")
    killed.close()


@pytest.mark.usefixtures("_toy")
def test_a_server_that_reads_nothing_is_killed() -> None:
    """A request that does not get through in time fails, and the server is not asked again."""
    stopped = toy("serve", answers_in=0.2)
    os.kill(stopped.pid, signal.SIGSTOP)
    with pytest.raises(TimeoutError):
        ask(stopped, b"0" * (8 << 20))
    assert not stopped.is_alive
    stopped.close()


@pytest.mark.usefixtures("_toy")
def test_closing_ends_a_request_under_way() -> None:
    """A thread whose request does not get through learns at once that the server was closed."""
    stopped = toy("serve", answers_in=600)
    os.kill(stopped.pid, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(ask, stopped, b"0" * (8 << 20))
        while stopped._lock.acquire(blocking=False):  # the thread has it while it sends
            stopped._lock.release()
        stopped.close(patience=0.0)
        assert isinstance(asked.exception(timeout=60), OSError)
    assert not stopped.is_alive


@pytest.mark.usefixtures("_toy")
def test_a_server_ends_with_its_client_although_a_copy_holds_the_channel() -> None:
    """When the client is killed, the server goes, also where a forked copy of the client lives on."""
    program = textwrap.dedent(
        """
        import os, sys, time
        from gem_processes import messages
        from gem_processes.fork_server import ForkServer, bare_python
        server = ForkServer([*bare_python("toy_server.server"), "serve"], {}, starts_in=60)
        copy = os.fork()
        if copy == 0:
            time.sleep(60)
        print(server.pid, copy, flush=True)
        time.sleep(60)
        """
    )
    client = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert client.stdout is not None
    served, copy = map(int, client.stdout.readline().split())
    client.kill()
    client.wait()
    client.stdout.close()
    deadline = time.monotonic() + 30
    while is_running(served):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(copy, signal.SIGKILL)


def is_running(process: int) -> bool:
    """Whether a process is there and no zombie, as an orphan may be for a while."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_bare_interpreter_imports_nothing_but_the_standard_library(tmp_path: Path) -> None:
    """The modules that fork hostile code load nothing of gem but each other, and no package."""
    package = tmp_path / "bare_imports"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('is there as an empty package')")
    (package / "script.py").write_text(
        "import sys, json, importlib\n"
        "def main():\n"
        "    for name in sys.argv[1:]: importlib.import_module('gem_processes.' + name)\n"
        "    files = {name: getattr(module, '__file__', None) or '' for name, module in sys.modules.items()}\n"
        "    print(json.dumps([sorted(name for name in files if name.startswith('gem_processes')),\n"
        "        [file for file in files.values() if '-packages' in file]]))\n"
    )
    stub = types.ModuleType("bare_imports")
    stub.__path__ = [str(package)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, "bare_imports", stub)
        command = bare_python("bare_imports.script")
    done = subprocess.run([*command, *BARE], capture_output=True, text=True, check=True, cwd=tmp_path)
    ours, foreign = json.loads(done.stdout)
    assert ours == sorted(["gem_processes", *(f"gem_processes.{name}" for name in BARE)])
    assert foreign == []


def test_a_warm_interpreter_imports_what_this_process_can(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Modules that this process can import can be imported there."""
    (tmp_path / "found_there.py").write_text("def main():\n    import sys\n    print(sys.argv[1:])\n")
    monkeypatch.syspath_prepend(tmp_path)
    done = subprocess.run([*warm_python("found_there"), "a", "b"], capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout == "['a', 'b']\n"


@pytest.mark.parametrize(
    ("status", "words"),
    [(None, "died"), (3, "exited with status 3"), (-11, "was killed by SIGSEGV"), (-99, "was killed by signal 99")],
)
def test_the_end_of_a_process_in_words(status: int | None, words: str) -> None:
    """Exit statuses and signals are named."""
    assert exit_in_words(status) == words


@given(st.binary(min_size=1, max_size=1), st.integers(0, 2**32 - 1), st.binary(max_size=200_000), st.integers(0, 3))
def test_messages_arrive_as_they_were_sent(kind: bytes, number: int, body: bytes, descriptors: int) -> None:
    """Kind, number and body are the same, and descriptors lead to the same files."""
    one, two = socket.socketpair()
    pipes = [os.pipe() for _ in range(descriptors)]
    with one, two:
        sender = threading.Thread(target=messages.send, args=(one, kind, number, body, [write for _, write in pipes]))
        sender.start()
        message = messages.receive(two, with_descriptors=True)
        sender.join()
    assert message is not None
    assert message[:3] == (kind, number, body)
    for (read, write), passed in zip(pipes, message.descriptors, strict=True):
        os.write(passed, b"x")
        assert os.read(read, 1) == b"x"
        for descriptor in (read, write, passed):
            os.close(descriptor)


def test_a_large_message_with_descriptors_arrives_whole() -> None:
    """On a channel with a time limit the first part may be all that the system takes at once."""
    one, two = socket.socketpair()
    read, write = os.pipe()
    with one, two, ThreadPoolExecutor(1) as threads:
        one.settimeout(60)
        sent = threads.submit(messages.send, one, messages.REQUEST, 7, bytes(4 << 20), [write])
        message = messages.receive(two, with_descriptors=True)
        sent.result()
    assert message is not None
    assert message[:3] == (messages.REQUEST, 7, bytes(4 << 20))
    for descriptor in (read, write, *message.descriptors):
        os.close(descriptor)


def test_descriptors_that_were_not_expected_are_closed() -> None:
    """A worker cannot fill the table of descriptors of its client."""
    one, two = socket.socketpair()
    read, write = os.pipe()
    with one, two:
        messages.send(one, messages.RESULT, 1, b"12345", [write])
        os.close(write)
        assert messages.receive(two) == (messages.RESULT, 1, b"12345", [])
        assert os.read(read, 1) == b""
    os.close(read)


@pytest.mark.parametrize(
    "part", [b"", b"R", messages._HEADER.pack(b"R", 0, 5), messages._HEADER.pack(b"R", 0, 5) + b"1"]
)
def test_the_deadline_holds_for_the_whole_message(part: bytes) -> None:
    """A peer that sends a part and then nothing gains no time, wherever the part ends."""
    one, two = socket.socketpair()
    with one, two:
        one.sendall(part)
        two.settimeout(600)
        with pytest.raises(TimeoutError):
            messages.receive(two, deadline=time.monotonic())


@given(st.binary(max_size=200), st.integers(0, 212))
def test_a_message_that_is_cut_off_is_an_error(body: bytes, end: int) -> None:
    """A stream that ends between messages has ended; within one, it has not said anything."""
    one, two = socket.socketpair()
    with one, two:
        messages.send(one, messages.CALL, 1, body)
        whole = two.recv(1 << 16)
        one.sendall(whole[:end])
        one.shutdown(socket.SHUT_WR)
        if end == 0:
            assert messages.receive(two) is None
        elif end >= len(whole):
            assert messages.receive(two) == (messages.CALL, 1, body, [])
        else:
            with pytest.raises(messages.MessageError):
                messages.receive(two)


def test_a_message_that_is_too_long_is_not_read() -> None:
    """The limit holds before the body is there."""
    one, two = socket.socketpair()
    with one, two:
        messages.send(one, messages.CALL, 1, b"12345")
        with pytest.raises(messages.MessageError, match="5 bytes"):
            messages.receive(two, longest=4)
