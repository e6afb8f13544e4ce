"""The tier for containers, where no namespaces can be had. The attacks are in ``restricted_battery.py``."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import gem
import gem_processes
import gem_tools
from gem_processes import landlock
from gem_processes.syscall_numbers import MACHINES, numbers_on
from gem_tools.sandbox import Limits, Sandbox, SandboxError, restricted_launcher
from gem_tools.sandbox.guarantees import GUARANTEES, TIERS, missing_guarantees
from gem_tools.sandbox.inside import restricted_processes
from gem_tools.sandbox.inside.restricted_calls import filter_for

BATTERY = Path(__file__).with_name("restricted_battery.py")
NOBODY = 65534
IN_A_CONTAINER = "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_raw,+sys_chroot,+mknod"
"""The capabilities that container engines leave to root by default, but for those of services."""
PATIENT = Limits(seconds=60)
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOWED, WITHOUT_EFFECT, REFUSED = 0x7FFF0000, 0x00050000, 0x00050001

USERS = ("root", "root without capabilities", "root with the system's Python", "ordinary")
BY_DAY = {
    ("root", 7),
    ("root without capabilities", 5),
    ("ordinary", 1),
}
"""The kinds of users that trainers have, and each way to make up for an older kernel."""

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Landlock is Linux's"),
    pytest.mark.skipif(not numbers_on(), reason="NOT TESTED: no filter of system calls on this machine"),
]
if sys.platform.startswith("linux"):
    pytestmark.append(pytest.mark.skipif(not landlock.abi(), reason="NOT TESTED: this kernel has no Landlock"))


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox("restricted", PATIENT) as sandbox:
        yield sandbox


def command_as(user: str) -> list[str]:
    """Return the start of a command that runs Python with this package as a user."""
    sources = ":".join(str(Path(module.__path__[0]).parent) for module in (gem, gem_processes, gem_tools))
    start = {
        "root": ["setpriv", f"--bounding-set={IN_A_CONTAINER}"],
        "root without capabilities": ["setpriv", "--bounding-set=-all"],
        "root with the system's Python": ["setpriv", f"--bounding-set={IN_A_CONTAINER}"],
        "ordinary": ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"],
    }[user]
    if os.geteuid() != 0:
        if user != "ordinary":
            pytest.skip("NOT TESTED: these tests do not run as root")
        start = []
    pythons = [sys.executable, "/usr/bin/python3"]  # an interpreter in root's home is root's alone
    for python in pythons[user == "root with the system's Python" :]:
        probe = [*start, "env", f"PYTHONPATH={sources}", python]
        test = [*probe, "-c", "import sys, gem_tools.sandbox.sandbox; assert sys.version_info >= (3, 10)"]
        if shutil.which(python) and subprocess.run(test, capture_output=True, cwd="/", check=False).returncode == 0:
            return probe
    pytest.skip(f"NOT TESTED: no Python here runs as {user}")


def attack(user: str, version: int) -> dict[str, Any]:
    """Run all attacks, and return what the battery says."""
    command = command_as(user)
    with tempfile.TemporaryDirectory(prefix="restricted-", ignore_cleanup_errors=True) as name:
        shutil.copy(BATTERY, name)
        folder = Path(name, "host")
        folder.mkdir()
        for path in (Path(name), *Path(name).iterdir()):
            path.chmod(0o777)
        script = Path(name, BATTERY.name)
        done = subprocess.run(
            [*command, str(script), str(folder), str(version)],
            capture_output=True,
            text=True,
            check=False,
            cwd=name,
            timeout=600,  # an attack that succeeds may leave the trainer unable to go on
        )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("user", "version"),
    [
        pytest.param(user, version, marks=() if (user, version) in BY_DAY else pytest.mark.nightly)
        for user in USERS
        for version in range(1, landlock.NEWEST + 1)
    ],
)
def test_no_attack_breaks_a_guarantee(user: str, version: int) -> None:
    """Whoever the trainer is and however old the kernel: nothing of the host, the trainer or a neighbour is reached."""
    told = attack(user, version)
    assert told["tier"] == "restricted"
    assert (told["user"] == 0) == (user != "ordinary")
    assert told["can_read"], "what is shown can be read, so that the attacks on it mean something"
    assert told["succeeded"] == []
    assert told["changed"] == []
    assert told["neighbour"] == "41 mine ['x']\n"
    assert told["left"] == []
    assert len(told["warnings"]) == 1
    for guarantee in missing_guarantees("restricted"):
        assert guarantee.without in told["warnings"][0]
    given = {guarantee.name for guarantee in GUARANTEES if "restricted" in guarantee.tiers}
    assert set(told["attacks"]) == given - TESTED_HERE.keys()


def processes_are_ended(sandbox: Sandbox) -> bool:
    """Nothing that a program started goes on: not in another session, not one that always forks anew."""
    hop = "import os\nif os.fork() == 0:\n    os.setsid()\n    while os.fork() == 0: pass\n"
    daemons = (
        "import os, time\nfor _ in range(5):\n    if os.fork() == 0:\n        os.setsid()\n"
        "        if os.fork() == 0: print(os.getpid(), flush=True); time.sleep(600)\n        os._exit(0)\n"
        "time.sleep(0.2)"
    )
    started = time.monotonic()
    assert sandbox.run(hop).ok
    done = sandbox.run(daemons)
    assert time.monotonic() - started < PATIENT.seconds / 2
    found = [int(line) for line in done.stdout.split()]
    return len(found) == 5 and not any(Path(f"/proc/{process}").exists() for process in found)


def memory_counts_together(sandbox: Sandbox) -> bool:
    """Some processes, each below the limit, are ended when they exceed it together."""
    code = "import os, time\nfor _ in range(2): os.fork()\nheld = b'x' * (60 << 20)\ntime.sleep(50)"
    limits = Limits(seconds=60, memory=128 << 20)
    shared = "import os, time\nheld = b'x' * (60 << 20)\nfor _ in range(2): os.fork()\ntime.sleep(0.5)"
    return sandbox.run(code, limits=limits).limit == "memory" and sandbox.run(shared, limits=limits).ok


def disk_counts_together(sandbox: Sandbox) -> bool:
    """Many files, each below the limit, end a program that fills the disk; so do many empty ones."""
    limits = Limits(seconds=60, disk=8 << 20)
    large = "n = 0\nwhile True:\n    n += 1\n    open(f'{n}', 'wb').write(bytes(1 << 20))"
    empty = "import os\nn = 0\nwhile True:\n    n += 1\n    os.mkdir('d'); os.chdir('d'); open('f', 'w').close()"
    return {sandbox.run(code, limits=limits).limit for code in (large, empty)} == {"disk"}


TESTED_HERE = {
    "leftovers": processes_are_ended,
    "memory together": memory_counts_together,
    "disk together": disk_counts_together,
}


@pytest.mark.parametrize("name", TESTED_HERE)
def test_a_guarantee_about_resources_holds(sandbox: Sandbox, name: str) -> None:
    """What a program and its descendants use together is limited, and ends with the program."""
    assert TESTED_HERE[name](sandbox)


def test_every_tier_but_the_first_says_what_it_lacks() -> None:
    """The jail gives all guarantees, plain subprocesses none, and the tier between them fewer than the jail."""
    assert missing_guarantees("jail") == []
    assert missing_guarantees("plain") == list(GUARANTEES)
    assert 0 < len(missing_guarantees("restricted")) < len(GUARANTEES)
    assert {tier for guarantee in GUARANTEES for tier in guarantee.tiers} <= set(TIERS)
    assert len({guarantee.name for guarantee in GUARANTEES}) == len(GUARANTEES)


def test_packages_of_environments_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that may hold answers cannot be read or imported, its neighbours can; links show nothing else."""
    import msgpack

    folder = str(Path(msgpack.__file__).parent)
    code = f"import os, pluggy\nprint(len(os.listdir({folder!r})) > 0)\nopen({folder!r} + '/__init__.py')"
    monkeypatch.setattr("gem_tools.sandbox.jail_launcher.hidden_folders", lambda _: [folder])
    with Sandbox("restricted", PATIENT) as sandbox:
        done = sandbox.run(code)
        assert done.stdout == "True\n"
        assert done.error(last_line_only=True).startswith("PermissionError")
        assert not sandbox.run("import msgpack").ok


NEIGHBOURS = """
import json
from gem_tools.sandbox import Limits, Sandbox
hog = (
    "import os, time\\nmade = 0\\ntry:\\n    while True:\\n        if os.fork() == 0: time.sleep(600)\\n"
    "        made += 1\\nexcept OSError: print(made)"
)
needs_32 = (
    "import subprocess, threading\\nend = threading.Event()\\n"
    "for _ in range(30): threading.Thread(target=end.wait).start()\\n"
    "print(subprocess.run(['echo', 'well'], capture_output=True).stdout)\\nend.set()"
)
ends_many = "import os\\nfor _ in range(80):\\n    if os.fork() == 0: os._exit(0)\\n    os.wait()\\nprint('well')"
with Sandbox("restricted", Limits(seconds=60)) as sandbox:
    sessions = [sandbox.session() for _ in range(4)]
    print(json.dumps({
        "before": [session.run("print('well')").stdout for session in sessions[:2]],
        "hogs": [session.run(hog).stdout for session in sessions[2:]],
        "beside": [sandbox.run(code).stdout for code in (needs_32, ends_many)],
        "after": [session.run("print('well')").stdout for session in sessions],
    }))
    for session in sessions: session.close()
"""


@pytest.mark.sampled(2)
@pytest.mark.slow
@pytest.mark.parametrize("user", ["root", "root without capabilities", "ordinary"])
def test_no_execution_takes_processes_from_another(user: str) -> None:
    """Whoever its user is, an execution has its number of processes and no more, while others use up theirs."""
    done = subprocess.run([*command_as(user), "-c", NEIGHBOURS], capture_output=True, text=True, check=True, cwd="/")
    most = Limits().processes - 1
    assert json.loads(done.stdout) == {
        "before": ["well\n"] * 2,
        "hogs": [f"{most}\n"] * 2,
        "beside": ["b'well\\n'\n", "well\n"],
        "after": ["well\n"] * 4,
    }


PIPELINES = """
import json
from gem_tools.sandbox import Limits, Sandbox
shells = (
    "import subprocess\\nfor _ in range(30):\\n"
    "    done = subprocess.run('echo a | wc -c', shell=True, capture_output=True)\\n    if done.returncode: print(done)"
)
interrupted = (
    "import os, signal\\ndef end(*_): raise KeyError('a child has ended')\\nsignal.signal(signal.SIGCHLD, end)\\n"
    "reads, writes = os.pipe()\\ntry:\\n    if os.fork() == 0: os._exit(0)\\n    os.read(reads, 1)\\n"
    "except KeyError as error: print(error)"
)
with Sandbox("restricted", Limits(seconds=60)) as sandbox:
    print(json.dumps([sandbox.run(code).stdout for code in (shells, interrupted)]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("user", ["ordinary"])
def test_shells_and_handlers_are_as_without_a_limit_of_processes(user: str) -> None:
    """No signal interrupts the fork of a shell, and a handler of Python interrupts what it waits for."""
    done = subprocess.run([*command_as(user), "-c", PIPELINES], capture_output=True, text=True, check=True, cwd="/")
    assert json.loads(done.stdout) == ["", "'a child has ended'\n"]


CHILDREN = """
import os, subprocess, sys, tempfile
script = os.path.join(tempfile.mkdtemp(), "script.py")
open(script, "w").write("import probe, sys; print(probe.__file__, sys.base_prefix)")
print(subprocess.run([sys.executable, script], capture_output=True, text=True))
open("tool", "w").write(f"#!{sys.executable}\\nimport probe; print('a tool')")
os.chmod("tool", 0o700)
try: print(subprocess.run(["./tool"], capture_output=True, text=True))
except PermissionError: print("modes of root's files stay as they are")
try: open(SECRET)
except PermissionError: print("no more than that")
"""


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="the files of other users are open to root alone")
@pytest.mark.parametrize("capabilities", ["+all", IN_A_CONTAINER, "-all,+setgid,+setuid,+kill,+chown", "-all"])
@pytest.mark.parametrize("mask", [0o022, pytest.param(0o077, marks=pytest.mark.nightly)])
def test_programs_start_where_the_environment_is_roots_alone(tmp_path: Path, capabilities: str, mask: int) -> None:
    """In a folder of mode 0700, child interpreters have their packages, whatever root has kept of its capabilities."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    before = os.umask(mask)
    try:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--copies", closed / "venv"], check=True)
        (site,) = closed.glob("venv/lib/python*/site-packages")
        (site / "probe.py").touch()
        (closed / "secret").touch()
    finally:
        os.umask(before)
    sources = os.pathsep.join(str(Path(module.__path__[0]).parent) for module in (gem, gem_processes, gem_tools))
    code = f"SECRET = {str(closed / 'secret')!r}\n{CHILDREN}"
    run = (
        f"from gem_tools.sandbox import *\nprint(Sandbox('restricted').run({code!r}, limits=Limits(seconds=60)).stdout)"
    )
    done = subprocess.run(
        ["setpriv", f"--bounding-set={capabilities}", str(closed / "venv/bin/python"), "-c", run],
        env={"PYTHONPATH": sources, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    script, tool, secret, *_ = done.stdout.splitlines()
    assert f"stdout='{site / 'probe.py'} {sys.base_prefix}\\n'" in script, done
    assert ("stdout='a tool\\n'" in tool) == ("dac_override" in capabilities or capabilities == "+all")
    assert secret == "no more than that"


def test_a_kernel_without_landlock_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mode that demands this tier refuses, and names the reason."""
    monkeypatch.setattr(restricted_launcher, "NEWEST_LANDLOCK", 0)
    with Sandbox("restricted") as sandbox, pytest.raises(SandboxError, match="no Landlock"):
        sandbox.run("print(1)")


def test_nothing_is_left_of_files_whatever_their_rights() -> None:
    """Scratch folders go with their programs, and the folder around them with the fork server."""
    code = "import os\nfor n in range(150): os.makedirs(f'd{n}/e', 0o700)\nos.mkdir('closed', 0)\nprint(os.getcwd())"
    with Sandbox("restricted", PATIENT) as sandbox:
        scratch = Path(sandbox.run(code).stdout.strip()).parent
        base = scratch.parent
        assert base.is_dir()
        deadline = time.monotonic() + 60
        while scratch.exists():  # many files are removed in the background
            assert time.monotonic() < deadline
    while base.exists():
        assert time.monotonic() < deadline


def test_executions_end_with_their_server(sandbox: Sandbox) -> None:
    """A server that is killed takes its executions and their daemons along, and its keeper removes its folder."""
    code = (
        "import os, time\nchild = os.fork()\nif child == 0:\n    os.setsid()\n"
        "    if os.fork() == 0: time.sleep(600)\n    os._exit(0)\n"
        "os.waitpid(child, 0)\nprint(os.getppid(), os.getcwd(), flush=True)"
    )
    with Sandbox("restricted", PATIENT) as other, other.session() as session:
        server, folder = session.run(code).stdout.split()
        held = [os.pidfd_open(process) for process in restricted_processes.descendants([int(server)])]
        assert len(held) == 3  # the server, the session, its daemon
        os.kill(int(server), signal.SIGKILL)
        for process in held:
            assert select.select([process], [], [], 30)[0]
            os.close(process)
        deadline = time.monotonic() + 30
        while Path(folder).parent.parent.exists():
            assert time.monotonic() < deadline
        assert other.run("print('again')").stdout == "again\n"


def test_scratch_folders_are_apart_wherever_they_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    """Executions cannot read each other's files where these lie beside devices, either."""
    monkeypatch.setattr(tempfile, "tempdir", "/dev/shm")
    with Sandbox("restricted", PATIENT) as sandbox, sandbox.session() as session:
        folder = session.run("import os\nopen('x', 'w').write('mine')\nprint(os.getcwd())").stdout.strip()
        assert folder.startswith("/dev/shm/")
        assert "PermissionError" in sandbox.run(f"open({folder + '/x'!r})").stderr
        assert "PermissionError" in sandbox.run(f"import os; os.listdir({folder!r})").stderr
        assert (
            sandbox.run("open('/dev/null', 'w').write('x')\nprint(len(open('/dev/urandom', 'rb').read(3)))").stdout
            == "3\n"
        )


@pytest.mark.parametrize("count", [100, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_nothing_is_left_after_many_executions(count: int) -> None:
    """Programs that fail, fork, leave daemons or files do not leave a process, a descriptor or a file."""
    programs = (
        "print(1)",
        "1/0",
        "open('f', 'w').write('x' * 9999)",
        "import os\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        import time; time.sleep(99)",
    )
    with Sandbox("restricted", PATIENT) as sandbox:
        place = sandbox.run("import os\nprint(os.getppid(), os.getcwd())").stdout.split()
        server, scratch = int(place[0]), Path(place[1]).parent.parent

        def held() -> tuple[int, ...]:
            return (
                len(restricted_processes.children(server)),
                *(len(list(path.iterdir())) for path in (Path(f"/proc/{server}/fd"), Path("/proc/self/fd"), scratch)),
            )

        before = held()
        for program in programs:
            ended = sandbox.run_many(program, [""] * (count // len(programs)), parallel=4)
            assert not [done for done in ended if done is not None and done.exit_code not in (0, 1)]
        deadline = time.monotonic() + 30
        # The server lets go of the last execution after its answer.
        while any(now > then for now, then in zip(held(), before, strict=True)):
            assert time.monotonic() < deadline, (before, held())


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("version", [1, 3, 6])
def test_the_filter_covers_what_an_older_kernel_lacks(machine: str, version: int) -> None:
    """Seen instruction by instruction, on both machines: the same calls are answered, with the numbers of each."""
    program = filter_for(
        version, 1234, own_user=False, own_files=False, counts_shared_memory=version > 1, machine=machine
    )
    numbers = numbers_on(machine)

    def answer(call: str, *arguments: int) -> int:
        return evaluate(program, AUDIT[machine], numbers[call], arguments)

    assert answer("read") == ALLOWED
    assert answer("kill", 1234, 9) == ALLOWED
    assert (answer("kill", 1, 9) == ALLOWED) == (version >= 6)
    assert (answer("tgkill", 1, 1, 9) == ALLOWED) == (version >= 6)
    assert (answer("fcntl", 0, 8, 1) == ALLOWED) == (version >= 6)
    assert (answer("truncate", 0, 0) == ALLOWED) == (version >= 3)
    assert (answer("openat", -100, 0, os.O_TRUNC) == ALLOWED) == (version >= 3)
    assert answer("openat", -100, 0, os.O_TRUNC | os.O_RDWR | os.O_CREAT) == ALLOWED
    assert answer("prlimit64", 0, 7, 0, 0) == ALLOWED
    assert answer("prlimit64", 1234, 7, 0, 0) == answer("prlimit64", 0, 10, 0, 0) == REFUSED
    assert answer("fchmodat", 0, 0, 0) == answer("flock", 0, 2) == WITHOUT_EFFECT
    assert answer("sendmsg", 0, 0, 0) == REFUSED
    assert answer("prctl", 4, 0) != ALLOWED
    assert (answer("mmap", 0, 4096, 3, 0x21) == ALLOWED) == (version > 1)
    assert answer("mmap", 0, 4096, 3, 0x22) == answer("mmap", 0, 4096, 3, 0x1) == ALLOWED
    assert answer("socket", 1, 1, 0) == answer("socketpair", 1, 2, 0) == answer("setresuid", 0, 0, 0) == REFUSED


def evaluate(program: bytes, architecture: int, number: int, arguments: Sequence[int]) -> int:
    """Run a filter as the kernel does, and return its answer."""
    given = [value & 0xFFFFFFFFFFFFFFFF for value in (*arguments, *[0] * (6 - len(arguments)))]
    data = struct.pack("=IIQ6Q", number, architecture, 0, *given)
    code = [struct.unpack_from("=HBBI", program, place) for place in range(0, len(program), 8)]
    accumulator = place = 0
    while True:
        kind, then, otherwise, operand = code[place]
        place += 1
        if kind == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, operand)
        elif kind == 0x54:
            accumulator &= operand
        elif kind == 0x05:
            place += operand
        elif kind in (0x15, 0x35):
            place += then if (accumulator == operand if kind == 0x15 else accumulator >= operand) else otherwise
        else:
            assert kind == 0x06
            return int(operand)
