"""The namespace engine: what holds a container apart from the machine, and what an ordinary user has of it."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import pytest

from gem_terminal.engines import Container, Engine, engine_by_name
from gem_terminal.engines.namespace import NamespaceEngine
from gem_terminal.engines.namespace.seccomp import container_filter
from gem_terminal.engines.namespace.snapshots import NamespaceSnapshot, SharedFolders
from gem_terminal.errors import EngineError, TaskError
from gem_terminal.shells.shell import Shell
from gem_terminal.task import Image, ResourceLimits


@pytest.fixture(scope="module")
def namespace(new_engine: Callable[[], NamespaceEngine]) -> NamespaceEngine:
    """The engine of this file."""
    return new_engine()


@pytest.fixture(scope="module")
def container(namespace: NamespaceEngine, small: Image) -> Iterator[Container]:
    """A container that the tests of this file share."""
    with namespace.start(namespace.prepare(small), ResourceLimits(processes=64, memory=256 << 20)) as made:
        yield made


@pytest.fixture
def shell(container: Container) -> Iterator[Shell]:
    """A shell of root in it."""
    made = Shell(container)
    yield made
    made.close()


@pytest.mark.parametrize(
    "command",
    [
        "echo 1 > /proc/sys/vm/drop_caches",
        "echo 1 > /proc/sys/kernel/core_pattern",
        "echo b > /proc/sysrq-trigger",
        "cat /proc/kcore | grep -q .",
        "cat /proc/keys",
        "cat /proc/kmsg",
        "cat /proc/timer_list | grep -q .",
        "ls -d /sys/[!df]* /sys/devices/[!s]* /sys/fs/[!c]* 2>/dev/null | grep -q .",
        "touch /dev/new",
        "chmod 600 /proc/sys/kernel/hostname",
        "hostname other",
        "mount -t tmpfs none /mnt",
        "umount /proc",
        "unshare --user true",
        "unshare --mount true",
        "mknod /disk b 8 0",
        "chroot / true",
        "nice -n -5 true 2>&1 | grep -q cannot; [ $? = 1 ]",
        "swapoff -a; swapon /nothing",
        "dmesg",
        "date -s 2000-01-01",
        "cat < /proc/1/mem",
    ],
)
def test_what_root_cannot_do(shell: Shell, command: str) -> None:
    """Root in a container changes nothing of the machine and reads nothing of it."""
    assert shell.run(command, 60).exit_code != 0


def test_modes_of_devices_are_its_own(shell: Shell, namespace: NamespaceEngine, small: Image) -> None:
    """Root in a container may spoil its devices, and neither the machine's nor another container's."""
    before = Path("/dev/full").stat().st_mode
    assert shell.run("chmod 600 /dev/full; stat -c %a /dev/full; echo x > /dev/null", 60).output in ("600\n", "666\n")
    assert Path("/dev/full").stat().st_mode == before
    with namespace.start(namespace.prepare(small), ResourceLimits()) as other:
        assert other.run(("stat", "-c", "%a", "/dev/full"), seconds=30).output == b"666\n"


def test_the_filter_holds(tmp_path: Path) -> None:
    """A process under it is refused what is dangerous, is told that clone3 is missing, and goes on with the rest."""
    script = f"""
import ctypes, errno, os, platform, socket
libc = ctypes.CDLL(None, use_errno=True)
code = bytes.fromhex({container_filter().hex()!r})
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Filter(len(code) // 8, code)), 0, 0) == 0
column = ("x86_64", "aarch64").index(platform.machine())
def refusal(numbers, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(numbers[column], *arguments)
    return errno.errorcode.get(ctypes.get_errno()) if result < 0 else "allowed"
for name, numbers in dict(
    keyctl=(250, 219), bpf=(321, 280), perf_event_open=(298, 241), userfaultfd=(323, 282), io_uring_setup=(425, 425),
    open_by_handle_at=(304, 265), mount=(165, 40), umount2=(166, 39), setns=(308, 268), unshare=(272, 97),
    reboot=(169, 142), init_module=(175, 105), swapon=(167, 224), move_mount=(429, 429), fsopen=(430, 430),
).items():
    assert refusal(numbers, 0, 0, 0, 0, 0) == "EPERM", (name, refusal(numbers, 0, 0, 0, 0, 0))
assert refusal((435, 435), 0, 0) == "ENOSYS"
assert refusal((56, 220), 0x10000000 | 17, 0, 0, 0, 0) == "EPERM"
for family, allowed in ((socket.AF_INET, True), (socket.AF_UNIX, True), (40, False)):
    try:
        socket.socket(family, socket.SOCK_STREAM).close()
        assert allowed
    except PermissionError:
        assert not allowed
pid = os.fork()
if not pid:
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
print("held")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("held\n", "")


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_is_well_formed(machine: str) -> None:
    """Every jump stays in the program, every way through it ends, and it fits into what the kernel takes."""
    instructions = list(struct.iter_unpack("<HBBI", container_filter(machine)))
    assert len(instructions) <= 4096
    for place, (code, holds, fails, _) in enumerate(instructions):
        if code & 7 == 5:
            assert place + 1 + max(holds, fails) < len(instructions)
    assert instructions[-1][0] == 6


def test_an_unknown_machine_is_refused() -> None:
    """Without its system calls known nothing is held back, so nothing runs."""
    with pytest.raises(EngineError, match="riscv64"):
        container_filter("riscv64")


def test_the_filter_is_applied(shell: Shell) -> None:
    """To every process, the first one among them."""
    assert shell.run("grep -h Seccomp: /proc/self/status /proc/1/status", 60).output == "Seccomp:\t2\n" * 2


def test_signals_and_masks_are_as_usual(shell: Shell) -> None:
    """Nothing of the process that runs the engine is inherited."""
    assert shell.run("yes | head -n 1; echo ${PIPESTATUS[0]}; umask", 60).output == "y\n141\n0022\n"
    assert int(shell.run("grep SigIgn /proc/$BASHPID/status", 60).output.split()[1], 16) & ~0x4 == 0


def test_orphans_are_taken_in(shell: Shell) -> None:
    """The first process reaps them, so that they do not count for ever."""
    shell.run("for i in $(seq 200); do (true &); done", 60)
    assert shell.run("(exit 7)", 60).exit_code == 7


def build(namespace: NamespaceEngine, folder: Path, dockerfile: str, **files: str) -> str:
    """Build an image."""
    folder.mkdir()
    for name, content in {"Dockerfile": dockerfile, **files}.items():
        (folder / name).write_text(content)
    return namespace.prepare(Image(folder))


def test_a_dockerfile_is_built(namespace: NamespaceEngine, tmp_path: Path) -> None:
    """Its instructions have the effects that Docker's builder gives them."""
    reference = build(
        namespace,
        tmp_path / "image",
        "FROM debian:bookworm-slim\nARG WHO=world\nENV GREETING=hello NAME=x\nWORKDIR /desk\nCOPY a.txt b.txt ./\n"
        'COPY a.txt /etc/renamed\nRUN echo "$GREETING $WHO" > said \\\n  && rm /etc/debian_version\n'
        'RUN ["touch", "exec form"]\nUSER nobody\n',
        **{"a.txt": "a", "b.txt": "b"},
    )
    with namespace.start(reference, ResourceLimits()) as made:
        told = made.run(
            ("sh", "-c", "pwd; ls; cat said /etc/renamed; echo $NAME; id -un; ls /etc/debian_version"), seconds=30
        )
    assert told.output.decode().splitlines()[:-1] == [
        "/desk", "a.txt", "b.txt", "exec form", "said", "hello world", "ax", "nobody",
    ]  # fmt: skip
    assert told.exit_code == 2


@pytest.mark.parametrize(
    ("dockerfile", "error", "said"),
    [
        ("FROM debian:bookworm-slim\nRUN echo so; exit 3\n", EngineError, "exit code 3: so"),
        ("FROM debian:bookworm-slim\nCOPY missing /\n", TaskError, "matches nothing"),
        ("FROM debian:bookworm-slim\nHEALTHCHECK CMD true\n", TaskError, "HEALTHCHECK"),
        ("FROM nowhere/nothing:never\n", EngineError, "nowhere/nothing:never"),
    ],
)
def test_a_build_that_fails(
    namespace: NamespaceEngine, tmp_path: Path, dockerfile: str, error: type[Exception], said: str
) -> None:
    """It says which line, and why."""
    with pytest.raises(error, match=said):
        build(namespace, tmp_path / "image", dockerfile)


def test_what_was_left_half_made_is_removed(tmp_path: Path) -> None:
    """By the next one that reaps, if the process that made it has gone, and not before."""
    script = f"""
import os, signal, sys
from pathlib import Path
from gem_terminal.engines.namespace import NamespaceEngine
def end(folder):
    print(next(folder.parents[2].glob("layers/.making-*")), flush=True)
    NamespaceEngine(Path({str(tmp_path)!r})).reap()
    assert folder.is_dir()
    os.kill(os.getpid(), signal.SIGKILL)
store = NamespaceEngine(Path({str(tmp_path)!r}))._images
store._made(Path({str(tmp_path)!r}) / "layers" / "one", end)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    left = Path(done.stdout.strip())
    assert left.is_dir(), done.stderr
    NamespaceEngine(tmp_path).reap()
    assert not left.exists()


ORDINARY = """
import json, sys
from pathlib import Path
from gem_terminal.engines.base import ContainerSpec
from gem_terminal.engines.namespace import NamespaceEngine
from gem_terminal.engines.namespace.network import has_program
from gem_terminal.errors import EngineError
from gem_terminal.shells.shell import Shell
from gem_terminal.task import Image, ResourceLimits

engine = NamespaceEngine(Path(sys.argv[1]))
try:
    engine.check()
except EngineError as error:
    print(json.dumps({"refused": str(error)}))
    sys.exit()
engine.add_base("debian:bookworm-slim", Path(sys.argv[2]))
folder = Path(sys.argv[1]) / "context"
folder.mkdir()
(folder / "Dockerfile").write_text(
    "FROM debian:bookworm-slim\\nRUN rm /etc/debian_version && mkdir /desk\\nWORKDIR /desk\\nRUN echo built > here\\n"
)
told = {"unenforced": engine.unenforced}
limits = ResourceLimits(memory=256 << 20, processes=64, disk=32 << 20)
with engine.start(engine.prepare(Image(folder)), limits) as container:
    shell = Shell(container)
    for name, command in {
        "built": "cat here; ls /etc/debian_version 2>/dev/null; id -u",
        "state": "cd /tmp; X=5; echo kept > file; cat file",
        "escape": "echo > /proc/sys/vm/drop_caches; mount -t tmpfs none /mnt; unshare --user true; chmod 600 /dev/full",
        "network": "exec 3<>/dev/tcp/127.0.0.1/22",
        "disk": "head -c 100M /dev/zero > /desk/huge; rm /desk/huge",
        "forks": "f() { while :; do f & done; }; f",
        "after": "echo on | cat",
        "memory": "head -c 2G /dev/zero | tail -c 2G | wc -c",
    }.items():
        done = shell.run(command, 3 if name == "forks" else 60)
        told[name] = [done.output[-2000:], done.exit_code, done.timed_out, list(done.notices)]
    container.kill_all()
    told["last"] = [shell.run("echo on | cat", 60).output]
if has_program():
    reference, names = engine.prepare(Image(folder)), ["first", "second"]
    limits = ResourceLimits(memory=256 << 20, processes=64, network=True)
    look = ("bash", "-c", "readlink /proc/self/ns/net; grep -c eth0 /proc/net/route; getent hosts first second")
    main, beside = (ContainerSpec(reference, limits, {}, (name,)) for name in names)
    with engine.start_first(main, names) as first:
        with engine.start_beside(first, beside, names) as second:
            told["networks"] = [each.run(look, seconds=60).output.decode() for each in (first, second)]
    listed = ResourceLimits(memory=256 << 20, processes=64, network=True, allowed_hosts=("a.example",))
    with engine.start(reference, listed) as filtered:
        told["proxy"] = [filtered.run(("bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/63128"), seconds=60).exit_code]
engine.close()
print(json.dumps(told))
"""


ORDINARY_USER = pytest.mark.slow(reason="one image is unpacked and built by a user who has none yet")


@pytest.fixture(scope="module")
def ordinary(missing_engine: Callable[[str, object], NoReturn]) -> dict[str, list[object]]:
    """What an ordinary user has found in a container of this user's own engine."""
    root = os.environ.get("GEM_TERMINAL_TEST_ROOT")
    if not root or shutil.which("setpriv") is None or os.getuid() != 0:
        missing_engine("namespace", "its tests as an ordinary user need root, setpriv and GEM_TERMINAL_TEST_ROOT")
    folder = Path(subprocess.run(["mktemp", "--directory"], capture_output=True, text=True, check=True).stdout.strip())
    try:
        subprocess.run(["tar", "-C", root, "--exclude=./dev/*", "-cf", folder / "base.tar", "."], check=True)
        (folder / "images").mkdir()
        for path in (folder, folder / "images"):
            os.chown(path, 65534, 65534)
        for name in ("gem", "gem_processes", "gem_terminal", "filelock"):  # where everybody may read them
            found = importlib.util.find_spec(name)
            assert found is not None
            assert found.origin is not None
            shutil.copytree(Path(found.origin).parent, folder / "packages" / name)
        become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"]
        environment = {**os.environ, "HOME": str(folder), "PYTHONPATH": str(folder / "packages")}
        usual = shutil.which("python3", path="/usr/local/bin:/usr/bin")
        for python in filter(None, (sys.executable, usual)):  # this one may lie where an ordinary user cannot look
            tried = [
                *become,
                "unshare",
                "--user",
                "--map-root-user",
                python,
                "-c",
                "import sys; assert sys.version_info > (3, 10)",
            ]
            if subprocess.run(tried, capture_output=True, cwd=folder, check=False).returncode == 0:
                break
        else:
            pytest.skip("an ordinary user cannot make namespaces, or cannot run Python, on this machine")
        command = [*become, python, "-c", ORDINARY, str(folder / "images"), str(folder / "base.tar")]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, check=False)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert done.returncode == 0, done.stderr[-3000:]
    told: dict[str, list[object]] = json.loads(done.stdout)
    if "refused" in told:
        pytest.skip(f"an ordinary user cannot make namespaces on this machine: {told['refused']}")
    return told


@ORDINARY_USER
def test_an_ordinary_user_builds_and_runs(ordinary: dict[str, list[object]]) -> None:
    """Images are built, the shell keeps its state, and the user in the container is root."""
    assert ordinary["built"] == ["built\n0\n", 0, False, []]
    assert ordinary["state"][:2] == ["kept\n", 0]
    assert ordinary["last"] == ["on\n"]


@ORDINARY_USER
def test_an_ordinary_user_is_held_apart(ordinary: dict[str, list[object]]) -> None:
    """As root is."""
    output, code, *_ = ordinary["escape"]
    assert code != 0
    assert str(output).count("\n") >= 4
    assert ordinary["network"][1] != 0


@ORDINARY_USER
def test_networks_of_an_ordinary_user(ordinary: dict[str, list[object]]) -> None:
    """A container has its own, a second one joins it, and listed hosts are reached through the proxy."""
    if "networks" not in ordinary:
        pytest.skip("slirp4netns is missing, or an ordinary user may not open /dev/net/tun here")
    first, second = map(str, ordinary["networks"])
    assert first == second
    namespace, routes, *names = first.splitlines()
    assert namespace != str(Path("/proc/self/ns/net").readlink())
    assert int(routes) >= 2, "to its network, and through it to all others"
    assert [line.split()[0] for line in names] == ["127.0.0.1"] * 2
    assert ordinary["proxy"] == [0]


@ORDINARY_USER
def test_what_an_ordinary_user_can_bound(ordinary: dict[str, list[object]]) -> None:
    """The disk exactly; processes and memory by resource limits, where there are no control groups; it is told."""
    assert "No space left" in str(ordinary["disk"][0])
    assert str(ordinary["after"][0]).endswith("on\n")  # bash may have had to try more than once
    assert str(ordinary["memory"][0]).strip() != str(2 << 30)
    assert set(map(str, ordinary["unenforced"])) <= {"memory", "pids", "cpu"}


@pytest.mark.only_engine("namespace")
def test_sys_shows_the_processors_and_the_containers_own_limits(engine: Engine, small: Image) -> None:
    """Programs that size themselves find their limits, and there is nothing to write and no device."""
    limits = ResourceLimits(memory=256 << 20)
    with engine.start(engine.prepare(small), limits) as container:
        script = (
            "cd /sys/fs/cgroup; cat memory/memory.limit_in_bytes memory.max 2>/dev/null; ls /sys /sys/devices; "
            "grep -c . /sys/devices/system/cpu/possible; touch /sys/x 2>/dev/null || echo no; "
            "(echo 1 > /sys/fs/cgroup/memory/memory.limit_in_bytes) 2>/dev/null || echo no; "
            "(echo 0 > /sys/devices/system/cpu/cpu1/online) 2>/dev/null || echo no"
        )
        done = container.run(("setpriv", "--reuid", "1000", "--clear-groups", "sh", "-c", script), seconds=60)
        assert done.output.decode().split() == [
            str(256 << 20),
            "/sys:",
            "devices",
            "fs",
            "/sys/devices:",
            "system",
            "1",
            *["no"] * 3,
        ]
        as_root = container.run(("sh", "-c", script), seconds=60)
        assert as_root.output == done.output


@pytest.mark.only_engine("namespace")
def test_a_full_disk_is_told_once_each_time_that_it_fills(engine: Engine, small: Image) -> None:
    """By bytes and by files; after room was made, the next time is told again."""
    with engine.start(engine.prepare(small), ResourceLimits(disk=16 << 20)) as container:

        def told(script: str) -> tuple[str, ...]:
            container.run(("sh", "-c", script), seconds=60)
            return container.reached_limits()

        assert told("head -c 8M /dev/zero > /half") == ()
        assert told("head -c 64M /dev/zero > /all") == ("the disk of 16 MiB is full",)
        assert told("true") == ()
        assert told("rm /all") == ()
        assert told("head -c 64M /dev/zero > /all") == ("the disk of 16 MiB is full",)
        assert told("rm /all /half") == ()
        (notice,) = told("mkdir /many && cd /many && seq 9000 | xargs touch")
        assert notice.endswith("files is full")


@pytest.mark.every_engine
def test_a_failed_build_is_told_without_control_characters(engine: Engine, small: Image, tmp_path: Path) -> None:
    """The end of its output is in the message, as text."""
    (tmp_path / "Dockerfile").write_text(
        f'FROM {small.name}\nRUN printf "\\033[91mred\\033[0m 10%%\\r90%%\\a"; exit 3\n'
    )
    with pytest.raises(EngineError, match="90%") as caught:
        engine.prepare(Image(folder=tmp_path))
    assert not any(ord(char) < 32 for char in str(caught.value))
    assert "10%" not in str(caught.value).replace("10%%", "")
    assert "3" in str(caught.value)


def loop_devices(size: int) -> set[str]:
    """The loop devices of disks of containers, with a size in bytes that no others have."""
    found = set()
    for path in Path("/sys/block").glob("loop*/loop/backing_file"):
        with suppress(OSError):  # it has just ended
            if "/disks/" in path.read_text() and int((path.parents[1] / "size").read_text()) * 512 == size:
                found.add(path.parent.parent.name)
    return found


def test_the_shared_engine_follows_the_folder_of_images(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A variable that is set after the first container counts for those after it, and only for them."""
    monkeypatch.setenv("GEM_TERMINAL_IMAGES", str(tmp_path / "one"))
    first = engine_by_name("namespace")
    monkeypatch.setenv("GEM_TERMINAL_IMAGES", str(tmp_path / "other"))
    second = engine_by_name("namespace")
    assert second is not first
    monkeypatch.setenv("GEM_TERMINAL_IMAGES", str(tmp_path / "one"))
    assert engine_by_name("namespace") is first


@pytest.mark.slow(reason="writes hundreds of megabytes")
@pytest.mark.skipif(os.geteuid() != 0 or not Path("/dev/loop-control").exists(), reason="needs root and loop devices")
def test_a_disk_larger_than_memory_is_as_large_as_the_task_says(engine: Engine, small: Image, cache: Path) -> None:
    """Files beyond half of the memory fit, the limit holds with a notice, and a snapshot begins another disk."""
    size = (200 << 20) + 4096 * (1 + os.getpid() % 1024)
    limits = ResourceLimits(memory=128 << 20, disk=size)
    fill = "head -c {}M /dev/zero > /file; echo $?; df -m / | tail -1"
    with engine.start(engine.prepare(small), limits) as container:
        assert container.run(("sh", "-c", fill.format(150)), seconds=60).output.startswith(b"0\n")
        assert loop_devices(size)
        assert not container.reached_limits()
        with container.snapshot() as snapshot, engine.restore(snapshot, limits) as second:
            done = second.run(("sh", "-c", "stat -c %s /file; touch /new"), seconds=60)
            assert (done.output, done.exit_code) == (b"157286400\n", 0)
        assert container.run(("sh", "-c", fill.format(250)), seconds=60).output.partition(b"\n")[0] != b"0"
        (notice,) = container.reached_limits()
        assert notice.startswith("the disk of")
    deadline = time.monotonic() + 30
    for template in (cache / "disks").glob(f"{size}-*"):
        template.unlink()
    while loop_devices(size):  # the kernel ends them after the last mount, not at once
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.skipif(os.geteuid() != 0 or not Path("/dev/loop-control").exists(), reason="needs root and loop devices")
def test_a_shared_snapshot_takes_its_room_of_a_larger_disk(engine: Engine, small: Image) -> None:
    """A branch has the room that was left, and its own snapshot adds a layer for what it changed."""
    limits = ResourceLimits(memory=128 << 20, disk=200 << 20)
    free = ("sh", "-c", "df --output=avail -k / | tail -1")
    with engine.start(engine.prepare(small), limits) as container:
        container.run(("sh", "-c", "head -c 10M /dev/urandom > /file"), seconds=60)
        left = int(container.run(free, seconds=60).output)
        with container.snapshot() as snapshot, engine.restore(snapshot, limits) as second:
            assert abs(int(second.run(free, seconds=60).output) - left) < 512
            second.run(("sh", "-c", "echo 1 > /one"), seconds=60)
            with second.snapshot() as later:
                assert isinstance(later, NamespaceSnapshot)
                (shared,) = later._forms.values()
                assert isinstance(shared, SharedFolders)
                assert [layer.size >> 20 for layer in shared.layers] == [0, 10]


def test_without_loop_devices_a_warning_names_the_smaller_disk(
    engine: Engine, small: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files then lie in memory, as they do for an ordinary user."""
    monkeypatch.setattr("gem_terminal.engines.namespace.container.disk_template", lambda *_: None)
    monkeypatch.setattr("gem_terminal.warnings_once._GIVEN", set())
    with pytest.warns(UserWarning, match=r"disks of 64 MiB here where tasks ask for 400 MiB"):
        engine.start(engine.prepare(small), ResourceLimits(memory=128 << 20, disk=400 << 20)).remove()
