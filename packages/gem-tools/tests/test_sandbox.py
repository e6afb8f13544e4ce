"""The sandbox as its users see it: programs, limits, errors, inputs, sessions, with a jail and without one."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import pickle
import select
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem.errors import ArgumentError, ArgumentTypeError
from gem_tools.sandbox import Execution, Limits, Sandbox, SandboxError, SandboxWarning, default_sandbox, run_python
from gem_tools.sandbox.jail_launcher import JailLauncher
from gem_tools.sandbox.output import OutputBuffer

PATIENT = Limits(seconds=60)


@pytest.fixture(scope="module", params=["required", "restricted", "plain"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """Both kinds behave alike towards programs that mean well."""
    with Sandbox(request.param, PATIENT) as sandbox:
        try:
            sandbox.warm_up()
        except SandboxError as error:
            pytest.skip(f"NOT TESTED, the jail: {error}")
        yield sandbox


@pytest.fixture(scope="module")
def jail() -> Iterator[Sandbox]:
    with Sandbox("required", PATIENT) as sandbox:
        try:
            sandbox.warm_up()
        except SandboxError as error:
            pytest.skip(f"NOT TESTED, the jail: {error}")
        yield sandbox


@pytest.mark.sampled(36)
@pytest.mark.parametrize(
    ("code", "stdout", "exit_code"),
    [
        ("print(6 * 7)", "42\n", 0),
        ("", "", 0),
        ("if __name__ == '__main__': print('main')", "main\n", 0),
        ("import sys\nprint('a')\nsys.exit()", "a\n", 0),
        ("import sys\nsys.exit(3)", "", 3),
        ("exit(4)", "", 4),
        ("exit(255)", "", 255),
        ("exit(256 + 7)", "", 7),
        ("exit(2**40 + 7)", "", 7),
        ("exit(-1)", "", 255),
        ("import os\nprint('unsaid', end='')\nos.close(1)", "", 120),
        ("exit(True)", "", 1),
        ("raise SystemExit('why')", "", 1),
        ("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int = 1\nprint(P())", "P(x=1)\n", 0),
        ("import pickle\nclass P: pass\nprint(type(pickle.loads(pickle.dumps(P()))) is P)", "True\n", 0),
        ("import threading\nt = threading.Timer(0.3, print, ['late'])\nt.start()\nprint('soon')", "soon\nlate\n", 0),
        ("import atexit\natexit.register(print, 'bye')\nprint('hi')", "hi\nbye\n", 0),
        ("open('module.py', 'w').write('x = 5')\nimport module\nprint(module.x)", "5\n", 0),
        ("import tempfile\nwith tempfile.TemporaryFile() as f: print(f.write(b'abc'))", "3\n", 0),
        ("import subprocess\nprint(subprocess.run(['echo', 'x'], capture_output=True).stdout)", "b'x\\n'\n", 0),
        ("import asyncio\nasync def f(): return 8\nprint(asyncio.run(f()))", "8\n", 0),
        ("x = 1\ndef f(): return x\nprint(f(), [x for _ in range(2)])", "1 [1, 1]\n", 0),
        ("print(__name__, 'annotations' in globals())", "__main__ False\n", 0),
        ("import inspect\ndef f(): pass\nprint(inspect.getsource(f))", "def f(): pass\n\n", 0),
        ("print('ü€😀')", "ü€😀\n", 0),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\nprint('still here')", "", -15),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "", -9),
        ("import signal, time\nsignal.setitimer(signal.ITIMER_REAL, 0.01)\ntime.sleep(60)", "", -14),
        ("import os\nos.abort()", "", -6),
        ("import os\nprint(os.getpid() != 1)", "True\n", 0),
        ("import getpass\nprint(getpass.getuser())", "gem\n", 0),
        ("import os\nos.nice(3)\nos.sync()\nprint('done')", "done\n", 0),
        (
            "import threading\nbarrier = threading.Barrier(32)\n"
            "def work():\n    held = [str(n) for n in range(9)]\n    barrier.wait()\n"
            "for _ in range(31): threading.Thread(target=work).start()\nprint(barrier.wait() < 32)",
            "True\n",
            0,
        ),
        (
            "import os\nfor _ in range(40):\n    if os.fork() == 0:\n        if os.fork() == 0: os._exit(0)\n"
            "        os._exit(0)\n    os.wait()\nprint('forty daemons')",
            "forty daemons\n",
            0,
        ),
        (
            "import subprocess, sys\n"
            "print(subprocess.run([sys.executable, '-c', 'import numpy; print(numpy.array([3]))']).args[1])",
            "[3]\n-c\n",
            0,
        ),
    ],
)
def test_a_program_behaves_as_a_script(sandbox: Sandbox, code: str, stdout: str, exit_code: int) -> None:
    """Exits, pickling, threads, files, subprocesses: as if it had been started from a file."""
    done = sandbox.run(code)
    assert (done.stdout, done.exit_code) == (stdout, exit_code), done


def test_standard_input_is_what_was_given_and_then_ends(sandbox: Sandbox) -> None:
    """A program reads its input; at the end of it, input() raises as it does in a script."""
    assert sandbox.run("print(input(), input())", stdin="a\nb\n").stdout == "a b\n"
    assert sandbox.run("import sys\nprint(len(sys.stdin.read()))", stdin="x" * 3_000_000).stdout == "3000000\n"
    assert sandbox.run("input()").error(last_line_only=True) == "EOFError: EOF when reading a line"
    assert sandbox.run("import sys\nprint(sys.stdin.buffer.read())", stdin=b"\xff\0").stdout == "b'\\xff\\x00'\n"


def test_streams_and_processes_have_their_usual_names(jail: Sandbox) -> None:
    """/dev/stdin, /dev/fd and /proc/self are those of the program; the shell's substitutions need them."""
    assert jail.run("print(open('/dev/stdin').read())", stdin="in").stdout == "in\n"
    assert jail.run("open('/dev/stderr', 'w').write('x')\nopen('/dev/stdout', 'w').write('y')").stderr == "x"
    code = "import subprocess\nsubprocess.run(['bash', '-c', 'cat <(echo hi)'])\nprint(open('/proc/self/comm').read())"
    assert jail.run(code).stdout == "hi\npython\n\n"


def test_a_manager_serves_processes(jail: Sandbox) -> None:
    """Sockets in a folder of the program work between its processes."""
    code = (
        "import multiprocessing\nwith multiprocessing.Manager() as manager:\n"
        "    held = manager.list([1])\n    held.append(2)\n    print(list(held))"
    )
    assert jail.run(code).stdout == "[1, 2]\n"


@pytest.mark.slow(reason="matplotlib builds its cache of fonts")
def test_a_drawing_adds_no_warning(jail: Sandbox) -> None:
    """Fontconfig finds its settings, so that a successful answer has no errors."""
    pytest.importorskip("matplotlib", reason="NOT TESTED, drawings: matplotlib is not installed")
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('t')\nplt.savefig('a.png')"
    done = jail.run(code)
    assert (done.ok, done.stderr) == (True, "")


def test_an_error_shows_the_lines_of_the_program_and_no_others(sandbox: Sandbox) -> None:
    """The traceback is that of the program alone, with its source; the last line can be had alone."""
    done = sandbox.run("def f(n):\n    return 1 / n\n\nf(0)")
    lines = [line for line in done.error().splitlines() if not set(line) <= set(" ~^")]
    assert lines == [
        "Traceback (most recent call last):",
        '  File "<python>", line 4, in <module>',
        "    f(0)",
        '  File "<python>", line 2, in f',
        "    return 1 / n",
        "ZeroDivisionError: division by zero",
    ]
    assert done.error(last_line_only=True) == "ZeroDivisionError: division by zero"
    assert not done.ok
    syntax = sandbox.run("x = 1\nprint(")
    assert syntax.error().startswith('  File "<python>", line 2\n    print(\n')
    assert syntax.error(last_line_only=True) == "SyntaxError: '(' was never closed"


def test_a_prelude_has_no_share_in_line_numbers(sandbox: Sandbox) -> None:
    """What is executed before a program is in its namespace, and the program's lines keep their numbers."""
    assert sandbox.run("print(math.pi > 3)", prelude="import math").stdout == "True\n"
    assert "line 1, in <module>" in sandbox.run("1/0", prelude="import math\n\n\n").error()


@pytest.mark.slow
def test_a_time_out_keeps_what_was_printed(sandbox: Sandbox) -> None:
    """A program whose time is up is reported as such, with its output so far."""
    # Without a jail the start of the interpreter counts, so that there is time for it on a busy machine.
    done = sandbox.run("print('so far', flush=True)\nimport time\ntime.sleep(600)", limits=Limits(seconds=3))
    assert (done.stdout, done.stderr, done.exit_code, done.timed_out, done.limit) == (
        "so far\n", "", None, True, "seconds",
    )  # fmt: skip
    assert 3 <= done.seconds < 60


def test_memory_disk_and_output_are_limited(sandbox: Sandbox) -> None:
    """Each limit shows in the result."""
    limits = Limits(seconds=60, memory=64 << 20, disk=1 << 20, output=100)
    assert sandbox.run("bytearray(1 << 30)", limits=limits).limit == "memory"
    assert "OSError" in sandbox.run("open('f', 'wb').write(bytes(4 << 20))", limits=limits).stderr
    done = sandbox.run("print('a' * 1000 + 'z')", limits=limits)
    assert done.truncated
    assert done.stdout == "a" * 50 + "\n[... 902 bytes left out ...]\n" + "a" * 48 + "z\n"
    assert sandbox.run("while True: print('x' * 1000)", limits=limits).limit == "output"


def test_many_inputs_are_run_apart_and_come_back_in_order(sandbox: Sandbox) -> None:
    """Each input has an execution of its own, with nothing left from another."""
    code = "import os\nn = int(input())\nprint(n * n, os.listdir('.'))\nopen('left', 'w').close()"
    executions = sandbox.run_many(code, [str(n) for n in range(9)], parallel=3)
    assert [done.stdout for done in executions if done is not None] == [f"{n * n} []\n" for n in range(9)]
    assert sandbox.run_many(code, []) == []


def test_many_inputs_stop_when_enough_is_known(sandbox: Sandbox) -> None:
    """The caller sees results as they come, and its word ends the rest, also what is under way."""
    seen: list[int] = []

    def until(number: int, execution: Execution) -> bool:
        seen.append(number)
        return execution.stdout == "2\n"

    started = time.monotonic()
    code = "n = input()\nprint(n, flush=True)\nif n > '2':\n    import time; time.sleep(50)"
    executions = sandbox.run_many(code, list("012345"), parallel=4, until=until)
    assert time.monotonic() - started < 40
    assert executions[2] is not None
    assert executions[3:] == [None, None, None]
    assert set(seen) <= {0, 1, 2}


def test_a_session_keeps_its_state(sandbox: Sandbox) -> None:
    """Variables, imports, functions and files stay; each call has output, errors and input of its own."""
    with sandbox.session() as session:
        assert session.run("import math\nx = [1]\nopen('f', 'w').write('kept')").ok
        assert session.run("x.append(math.floor(2.5))\nprint(x, open('f').read())").stdout == "[1, 2] kept\n"
        failed = session.run("def f(): raise KeyError('k')\nf()")
        assert failed.error(last_line_only=True) == "KeyError: 'k'"
        assert "raise KeyError('k')" in failed.stderr
        assert session.run("print(input(), len(x))", stdin="line").stdout == "line 2\n"
        assert session.run("import sys\nsys.exit(5)").exit_code == 5
        assert session.run("print(len(x))").stdout == "2\n"
    with pytest.raises(SandboxError, match="closed"):
        session.run("1")


@pytest.mark.parametrize(
    ("end", "seconds"),
    [
        ("import os\nos._exit(3)", 60),
        pytest.param("import time\ntime.sleep(600)", 4, marks=pytest.mark.slow),
        ("import os\nos.closerange(3, 100)\n1/0", 60),
    ],
)
def test_a_session_that_ends_says_so_and_begins_afresh(sandbox: Sandbox, end: str, seconds: float) -> None:
    """A call that ends the process loses the state, is told so, and the next call works."""
    with sandbox.session(Limits(seconds=seconds)) as session:  # enough for the other calls, on a busy machine too
        session.run("x = 1")
        done = session.run(end)
        assert done.session_ended
        assert "gone" in done.stderr
        assert "NameError" in session.run("print(x)").stderr
        assert session.run("print('well')").stdout == "well\n"


@pytest.mark.parametrize(
    "closes",
    [
        *("os.close(0)", "os.close(1)", "os.close(2)", "os.closerange(0, 3)", "sys.stdin.close()"),
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))",
        "held = []\ntry:\n    while True: held.append(os.dup(0))\nexcept OSError: pass",
    ],
)
def test_a_call_after_a_closed_stream_is_executed_or_says_that_it_is_not(sandbox: Sandbox, closes: str) -> None:
    """The descriptors of the next call take the numbers that a program has closed, or find none."""
    with sandbox.session() as session:
        session.run(f"import os, sys\n{closes}")
        done = session.run("open('ran', 'w').close()\nprint(input())", stdin="line")
        assert done.stdout == "line\n" or (done.session_ended and not done.ok)
        assert done.session_ended or session.run("print(os.path.exists('ran'))").stdout == "True\n"


@pytest.mark.slow
def test_sixteen_threads_run_at_once(sandbox: Sandbox) -> None:
    """Executions wait for nobody's: sixteen that sleep take little longer than one."""
    nap = "import time\ntime.sleep(2)\nprint(1)"
    started = time.monotonic()
    sandbox.run(nap)
    alone = time.monotonic() - started
    outputs: list[str] = []
    started = time.monotonic()
    threads = [threading.Thread(target=lambda: outputs.append(sandbox.run(nap).stdout)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outputs == ["1\n"] * 16
    assert time.monotonic() - started < 16 * alone / 2


@given(code=st.text(max_size=60), stdin=st.text(max_size=60))
def test_any_text_is_a_program_that_ends(jail: Sandbox, code: str, stdin: str) -> None:
    """Whatever the text, there is an execution whose texts are whole Unicode."""
    done = jail.run(code, stdin=stdin, limits=Limits(seconds=2))
    (done.stdout + done.stderr).encode()


@given(pieces=st.lists(st.binary(max_size=40), max_size=30), limit=st.integers(min_value=0, max_value=60))
def test_what_is_kept_is_the_beginning_and_the_end(pieces: list[bytes], limit: int) -> None:
    """However the output is cut into pieces, the same is kept."""
    kept = OutputBuffer(limit)
    for piece in pieces:
        kept.write(piece)
    whole = b"".join(pieces)
    if len(whole) <= limit:
        assert kept.text() == whole.decode(errors="replace")
    else:
        head, tail = whole[: limit - limit // 2], whole[len(whole) - limit // 2 :]
        note = f"\n[... {len(whole) - limit:,} bytes left out ...]\n"
        assert kept.text() == head.decode(errors="replace") + note + tail.decode(errors="replace")


LEAKS = """
import gc, os, sys, threading, time
from gem_tools.sandbox import Limits, Sandbox

programs = [
    "print(1)",
    "1/0",
    "open('f', 'w').write('x' * 9999)",
    "import os\\nif os.fork() == 0:\\n    import time; time.sleep(99)",
]

def parent(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])

def held():
    gc.collect()
    family, opened = [os.getpid()], []
    for pid in sorted(map(int, filter(str.isdigit, os.listdir("/proc")))):
        try:
            if parent(pid) in family:
                family.append(pid)
        except OSError:
            continue
    for pid in family:
        for descriptor in os.listdir(f"/proc/{pid}/fd"):
            try:
                opened.append(os.readlink(f"/proc/{pid}/fd/{descriptor}"))
            except OSError:
                continue
    # A pair for each program that ran beside others at once, and how many did so is chance.
    namespaces = [target for target in opened if target.startswith(("net:", "ipc:"))]
    assert len(namespaces) <= 2 * 8, namespaces
    return len(family), len(opened) - len(namespaces), threading.active_count()

with Sandbox("required", Limits(seconds=60)) as jail:
    jail.run_many(programs[3], [""] * 20, parallel=8)
    before = held()
    for _ in range(int(sys.argv[1])):
        for program in programs:
            jail.run_many(program, [""] * 5, parallel=5)
    # A fork server answers before it has let go of everything.
    deadline = time.monotonic() + 30
    while not all(now <= then for now, then in zip(held(), before)):
        assert time.monotonic() < deadline, (held(), before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [3, pytest.param(20, marks=pytest.mark.nightly)])
@pytest.mark.usefixtures("jail")
def test_nothing_leaks(rounds: int) -> None:
    """Many programs, some of which fail, fork or fill files, leave no descriptor, process or thread.

    In a process of its own, because what other tests use has descriptors that come and go.
    """
    subprocess.run([sys.executable, "-c", LEAKS, str(rounds)], check=True)


def _family(root: int) -> set[int]:
    """A process and its descendants."""
    parents = {}
    for name in filter(str.isdigit, (entry.name for entry in Path("/proc").iterdir())):
        try:
            parents[int(name)] = int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    family = {root}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return family


TRAINER = """
import os, sys, threading
from gem_tools.sandbox import Sandbox, Limits
sandbox = Sandbox("required", Limits(seconds=60))
thread = threading.Thread(target=sandbox.warm_up)   # the thread that starts a fork server may end
thread.start(); thread.join()
threading.Thread(target=sandbox.run, args=["import os, time\\nos.fork()\\ntime.sleep(60)"], daemon=True).start()
print(sandbox.run("print('up')").stdout, end="", flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["killed", "at its end"])
def test_everything_dies_with_the_trainer(jail: Sandbox, ending: str) -> None:
    """Fork servers and what runs in them are gone when the trainer has been killed, or has come to its end."""
    trainer = subprocess.Popen(
        [sys.executable, "-c", TRAINER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert trainer.stdin is not None
    assert trainer.stdout is not None
    assert trainer.stdout.readline() == "up\n"
    watched = []
    for pid in _family(trainer.pid) - {trainer.pid}:
        with contextlib.suppress(ProcessLookupError):  # the program that said "up" may have ended just now
            watched.append(os.pidfd_open(pid))
    assert len(watched) >= 2
    if ending == "killed":
        trainer.kill()
    trainer.stdin.close()
    trainer.wait()
    trainer.stdout.close()
    for descriptor in watched:
        assert select.select([descriptor], [], [], 30)[0], "a process outlives the trainer"
        os.close(descriptor)


def test_a_forked_trainer_has_fork_servers_of_its_own(jail: Sandbox) -> None:
    """A child that was forked from the trainer runs programs, and the trainer's go on after its end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other tests' threads
        pid = os.fork()
    if pid == 0:
        good = False
        try:
            good = jail.run("print('child')").stdout == "child\n"
            jail.close()
        finally:
            os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert jail.run("print('parent')").stdout == "parent\n"


def test_a_fork_server_that_dies_is_replaced(jail: Sandbox) -> None:
    """A kill from outside costs no program that comes later."""
    server = jail._jails.launcher_for("")._server
    assert server is not None
    server.kill()
    assert jail.run("print('again')").stdout == "again\n"


def test_without_a_jail_there_is_one_warning_or_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where none can be had, auto warns once and says why, and required refuses."""

    def refused(self: JailLauncher) -> None:
        raise SandboxError("unshare: Operation not permitted")

    monkeypatch.setattr(JailLauncher, "check", refused)
    with Sandbox() as sandbox:
        with pytest.warns(SandboxWarning, match=r"unshare: Operation not permitted.*use the network"):
            assert sandbox.run("print(1)").stdout == "1\n"
        assert sandbox.run("print(2)").stdout == "2\n"  # a second warning would be an error
        assert not sandbox.jailed
    with Sandbox("required") as sandbox, pytest.raises(SandboxError, match="unshare: Operation not permitted"):
        sandbox.run("print(1)")


@pytest.mark.slow
def test_a_plain_program_takes_its_group_with_it() -> None:
    """Without a jail, a time-out still ends what the program has started in its process group."""
    code = "import os, time\npid = os.fork()\nif pid: print(pid, flush=True)\ntime.sleep(60)"
    with Sandbox("plain") as sandbox:
        done = sandbox.run(code, limits=Limits(seconds=3))  # the start of the interpreter counts
    try:
        child = os.pidfd_open(int(done.stdout))
    except ProcessLookupError:
        return
    assert select.select([child], [], [], 30)[0], "the child goes on"
    os.close(child)


def test_a_sandbox_is_shared_by_copies_and_survives_pickling() -> None:
    """The process has one by default; a copy is the same, and a pickle leads to an equal one."""
    assert default_sandbox() is default_sandbox()
    assert copy.deepcopy(default_sandbox()) is default_sandbox()
    assert pickle.loads(pickle.dumps(default_sandbox())) is default_sandbox()
    own = pickle.loads(pickle.dumps(Sandbox("plain", Limits(seconds=3))))
    assert (own.mode, own.limits.seconds) == ("plain", 3.0)
    own.close()
    with pytest.raises(SandboxError, match="closed"):
        own.run("1")


def test_the_function_of_the_original_answers_as_it_did() -> None:
    """Success, output and error, by position or by name; a time-out is kept and told."""
    assert run_python("print(1+1)", "none") == (True, "2\n", "")
    good, output, error = run_python("print(input())\n1/0", "none", stdin="x")
    assert (good, output, error.splitlines()[-1]) == (False, "x\n", "ZeroDivisionError: division by zero")
    assert run_python("while True: pass", timeout=1) == (False, "", "Execution timed out after 1 seconds.")
    with pytest.raises(ArgumentError, match="sandbox_type"):
        run_python("1", "docker")


@pytest.mark.parametrize(
    "arguments",
    [{"seconds": -1}, {"seconds": float("nan")}, {"memory": 0}, {"processes": 0}, {"output": -1}, {"disk": 1}],
)
def test_impossible_limits_are_refused(arguments: dict[str, float]) -> None:
    """Each names the field and the value."""
    with pytest.raises(ArgumentError, match=next(iter(arguments))):
        Limits(**arguments)  # type: ignore[arg-type]


def test_wrong_arguments_are_refused(jail: Sandbox) -> None:
    """Types are checked before anything runs."""
    with pytest.raises(ArgumentTypeError, match="code"):
        jail.run(3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="stdin"):
        jail.run("1", stdin=3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match="limits"):
        jail.run("1", limits=3)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="mode"):
        Sandbox("none")
    with pytest.raises(ArgumentError, match="parallel"):
        jail.run_many("1", ["", ""], parallel=0)


def test_importing_the_sandbox_starts_nothing() -> None:
    """No process, no thread, no ctypes, before the first program."""
    code = (
        "import sys, threading, json, gem_tools.sandbox as s; s.default_sandbox()\n"
        "print(json.dumps([threading.active_count(), 'ctypes' in sys.modules, 'numpy' in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [1, False, False]
    assert signal.getsignal(signal.SIGCHLD) in (signal.SIG_DFL, None)


@pytest.mark.parametrize("mode", ["auto", "plain"])
def test_a_program_imports_the_libraries_that_it_may(mode: str) -> None:
    """All that are installed, none of them, or some with what these depend on."""
    tries = "for name in ('json', 'pydantic', 'annotated_types', 'pluggy'):\n    try:\n        __import__(name)\n"
    tries += "        print(name)\n    except ModuleNotFoundError:\n        pass"
    everything = "json pydantic annotated_types pluggy"
    for libraries, importable in ((None, everything), ((), "json"), (["pydantic"], everything.replace(" pluggy", ""))):
        with Sandbox(mode, libraries=libraries) as sandbox:
            assert sandbox.run(tries).stdout.split() == importable.split()


@pytest.mark.parametrize("libraries", ["numpy", ["numpy.linalg"], [None], ["surely_not_installed"], 3])
def test_wrong_libraries_are_an_error_at_once(libraries: object) -> None:
    """Names of installed top-level modules are needed."""
    with pytest.raises((ArgumentError, ArgumentTypeError), match="libraries"):
        Sandbox(libraries=libraries)  # type: ignore[arg-type]
