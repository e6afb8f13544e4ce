"""What a stranger's code can do where the conformance kit runs it. The attacks are in ``escape_attacks.py``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import gem
import gem_hub
import gem_hub_client.errors
import gem_processes
import gem_tools
from gem_hub import sandbox
from gem_hub.sandbox import Bounds, Finished, Isolation
from gem_tools.sandbox import Limits, Sandbox, SandboxError

HERE = Path(__file__).parent
WAYS: list[Isolation] = [way for way in ("jail", "none") if sandbox.works(way)]  # type: ignore[attr-defined]
NOBODY = 65534

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="namespaces are Linux's")
needs_jail = pytest.mark.skipif("jail" not in WAYS, reason="NOT TESTED: users may not make namespaces here")


def run(code: str, *arguments: str | Path, way: Isolation, seconds: float = 60) -> Finished:
    command = [os.path.realpath(sys.executable), "-I", "-c", code, *map(str, arguments)]
    return sandbox.run(command, [], {"result": 100}, Bounds(seconds, memory=2**31), way)


def command_as(user: int) -> list[str]:
    """Return the start of a command that runs Python with this package as a user."""
    packages = (gem, gem_hub, gem_hub_client, gem_processes, gem_tools)
    sources = [str(Path(package.__path__[0]).parent) for package in packages]
    if os.geteuid() == 0 and user != 0:
        start = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
    elif os.geteuid() != user:
        start = ["sudo", "-n"]
    else:
        start = []
    if start and shutil.which(start[0]) is None:
        pytest.skip(f"NOT TESTED: this user cannot become user {user}, as there is no {start[0]}")
    for python in (sys.executable, "/usr/bin/python3"):  # an interpreter in root's home is root's alone
        probe = [*start, "env", f"PYTHONPATH={':'.join(sources)}", python]
        test = [*probe, "-c", "import sys, gem_hub.sandbox; assert sys.version_info >= (3, 10)"]
        if shutil.which(python) and subprocess.run(test, capture_output=True, cwd="/", check=False).returncode == 0:
            return probe
    pytest.skip(f"NOT TESTED: no Python here runs as user {user}")


@needs_jail
@pytest.mark.parametrize(
    "user",
    [
        pytest.param(0, id="root"),
        pytest.param(os.geteuid() or NOBODY, id="ordinary", marks=() if os.geteuid() else pytest.mark.nightly),
    ],
)
def test_nothing_escapes_from_the_jail(user: int) -> None:
    """None of a hundred attempts succeeds, whoever runs the sandbox, and every limit holds for all processes."""
    command = command_as(user)
    with tempfile.TemporaryDirectory(prefix="escape-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        shutil.copy(HERE / "escape_battery.py", folder)
        shutil.copy(HERE / "escape_attacks.py", folder)
        for path in (folder, *folder.iterdir()):
            path.chmod(0o777)
        done = subprocess.run(
            [*command, str(folder / "escape_battery.py"), name], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["user"] == user
    assert told["attempts"] >= 100
    assert told["succeeded"] == []
    assert [name for name, holds in told["limits"].items() if not holds] == []


@needs_jail
def test_what_programs_need_works_in_the_jail() -> None:
    """Locks, pools of processes, threads, local servers, temporary files and a home are there."""
    code = """
import multiprocessing, os, pathlib, socket, tempfile, threading
with multiprocessing.Pool(2) as pool: assert pool.map(abs, [-1, -2]) == [1, 2]
server = socket.create_server(("127.0.0.1", 0)); socket.create_connection(server.getsockname(), 30)
with tempfile.NamedTemporaryFile() as file: file.write(b"x")
thread = threading.Thread(target=print, args=("thread",)); thread.start(); thread.join()
(pathlib.Path.home() / ".cache").mkdir()
pathlib.Path("result").write_text("done")
"""
    finished = run(code, way="jail")
    assert (finished.code, finished.files) == (0, {"result": b"done"}), finished.output


@needs_jail
def test_a_private_umask_does_not_keep_the_jail_from_working() -> None:
    """Files that only the caller may read by default do not become folders that the code cannot enter."""
    before = os.umask(0o077)
    try:
        assert run("print('in')", way="jail").output == "in"
    finally:
        os.umask(before)


@needs_jail
def test_a_jail_that_cannot_be_made_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code is never run with less isolation than was asked for."""
    monkeypatch.setattr(sandbox, "bare_python", lambda module: [sys.executable, "-c", "import sys; sys.exit(3)"])
    with pytest.raises(gem_hub_client.errors.HubError, match="the sandbox cannot be made here"):
        run("print('ran')", way="jail")


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_what_takes_too_long_dies_with_all_it_has_started(way: Isolation, tmp_path: Path) -> None:
    """At the time limit a process dies, and in the jail so does one that has left its session."""
    escape = "os.setsid()" if way != "none" else "pass"
    code = f"import os, time\nif os.fork() == 0:\n    {escape}\n    open('result', 'w').close()\ntime.sleep(600)"
    finished = run(code, tmp_path, way=way, seconds=4)
    assert finished == Finished(None, "", way, "time", {"result": b""})
    deadline = time.monotonic() + 60
    while _processes_with(str(tmp_path)):  # the kernel buries a namespace a little after its first process
        assert time.monotonic() < deadline


@pytest.mark.parametrize("way", WAYS)
def test_a_run_tells_how_it_ended(way: Isolation) -> None:
    """Exit code and the end of what was printed come back, and how the code was kept apart."""
    finished = run("import sys; print('x' * 9000, 'done'); sys.exit(7)", way=way)
    assert (finished.code, finished.isolation) == (7, way)
    assert finished.output.endswith("xxx done")
    assert len(finished.output) <= 4000
    assert run("import os; os.kill(os.getpid(), 9)", way=way).code == -9


@needs_jail
@pytest.mark.parametrize("made", ["os.mkdir", "os.mkfifo", "lambda name: os.symlink('/etc/passwd', name)"])
def test_a_result_that_is_no_file_is_no_result(made: str) -> None:
    """A folder, a pipe or a link in its place is not read, and no descriptor of it stays open."""
    before = len([*Path("/proc/self/fd").iterdir()])
    done = run(f"import os; ({made})('result')", way="jail")
    assert (done.code, done.files) == (0, {})
    assert len([*Path("/proc/self/fd").iterdir()]) == before


def test_the_jail_works_where_the_one_of_the_tools_does() -> None:
    """The other tests skip what this machine does not allow; this one fails if only this jail is at fault."""
    with Sandbox("required", Limits(seconds=60)) as tools:
        try:
            tools.warm_up()
        except SandboxError as error:
            pytest.skip(f"NOT TESTED, the jail: {error}")
    assert "jail" in WAYS


def test_the_strongest_way_is_taken() -> None:
    """The jail is chosen where it works, and "none" only where it does not."""
    assert sandbox.isolation() == WAYS[0]


def _processes_with(argument: str) -> list[int]:
    """Return the processes of this machine that were started with an argument."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and argument.encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue  # it has just ended
    return found
