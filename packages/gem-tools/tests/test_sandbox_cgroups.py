"""Control groups of executions: where they are used, and what the kernel then limits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gem_tools.sandbox import Limits, Sandbox, SandboxError

cgroups = pytest.importorskip("gem_tools.sandbox.cgroups", reason="control groups exist only on Linux")

LIMITS = Limits(seconds=60.0, memory=128 << 20, disk=1 << 20, processes=24)


def lay_out(top: Path, groups: dict[str, str]) -> None:
    """Make folders with the files of control groups: path below ``top`` → controllers."""
    for path, controllers in groups.items():
        folder = top / path
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cgroup.controllers").write_text(f"{controllers}\n")
        (folder / "cgroup.procs").touch()


BOTH = "cpu memory pids"


@pytest.mark.parametrize(
    ("membership", "root", "groups", "expected"),
    [
        ("0::/", "/", {"": BOTH}, [""]),
        ("5:memory:/x\n0::/main", "/", {"": BOTH, "main": BOTH}, ["main", ""]),
        ("0::/main", "/", {"": BOTH, "main": "cpu"}, [""]),
        ("0::/docker/abc/main", "/docker/abc", {"": BOTH, "main": BOTH}, ["main", ""]),
        ("0::/docker/abc", "/docker/abc", {"": BOTH}, [""]),
        ("0::/docker/other", "/docker/abc", {"": BOTH, "other": BOTH}, []),
        ("0::/../outside", "/", {"": BOTH}, []),
        ("0::/", "/", {"": "hugetlb"}, []),
        ("0::/", "/", {"": "memory"}, []),
        ("0::/user.slice/run.scope", "/", {"user.slice": BOTH, "user.slice/run.scope": BOTH}, []),
        ("0::/job.service/main", "/", {"job.service": BOTH, "job.service/main": BOTH}, ["job.service/main"]),
        ("4:memory:/x", "/", {"": BOTH}, []),
    ],
    ids=[
        "the root", "a subgroup", "a subgroup without controllers", "a container's subgroup", "a container",
        "another container", "outside of the namespace", "another controller", "one of two", "systemd's own",
        "below systemd's own", "version 1",
    ],
)  # fmt: skip
def test_only_delegated_folders_are_used(
    tmp_path: Path, membership: str, root: str, groups: dict[str, str], expected: list[str]
) -> None:
    """The folder of this process or the one above, if it has both controllers and is not systemd's."""
    lay_out(tmp_path / "cgroup", groups)
    (tmp_path / "membership").write_text(f"{membership}\n")
    (tmp_path / "mounts").write_text(
        "30 23 0:27 / /proc rw - proc proc rw\n"
        f"41 31 0:38 {root} {tmp_path / 'cgroup'} rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n"
    )
    found = cgroups.delegated_folders(tmp_path / "membership", tmp_path / "mounts")
    assert found == [tmp_path / "cgroup" / path for path in expected]


def test_what_systemd_delegates_is_used(tmp_path: Path) -> None:
    """A unit with ``Delegate=yes`` carries an attribute that says so."""
    lay_out(tmp_path, {"job.service": BOTH})
    (tmp_path / "membership").write_text("0::/job.service\n")
    (tmp_path / "mounts").write_text(f"41 31 0:38 / {tmp_path} rw - cgroup2 cgroup2 rw\n")
    found = cgroups.delegated_folders(tmp_path / "membership", tmp_path / "mounts")
    assert found == []
    try:
        os.setxattr(tmp_path / "job.service", "user.delegate", b"1")
    except OSError:
        pytest.skip("NOT TESTED: the file system of temporary files has no attributes")
    assert cgroups.delegated_folders(tmp_path / "membership", tmp_path / "mounts") == [tmp_path / "job.service"]


@pytest.mark.parametrize("is_server_asked", [False, True], ids=["refused to this process", "refused to the server"])
def test_where_no_group_can_be_joined_the_watchdog_remains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_server_asked: bool
) -> None:
    """A folder that looks delegated and is not costs the jail nothing, and leaves nothing behind."""
    lay_out(tmp_path, {"": BOTH})
    monkeypatch.setattr(cgroups, "delegated_folders", lambda *_: [tmp_path])
    if is_server_asked:
        monkeypatch.setattr(cgroups, "_pass_on_controllers", lambda _: None)
    with Sandbox("required", LIMITS) as sandbox:
        try:
            assert sandbox.memory_limited_by == "watchdog"
        except SandboxError as error:
            pytest.skip(f"NOT TESTED, the jail: {error}")
        assert sandbox.run("print(1)").stdout == "1\n"
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


@pytest.fixture(scope="module")
def limited() -> Iterator[Sandbox]:
    with Sandbox("required", LIMITS) as sandbox:
        try:
            if sandbox.memory_limited_by != "cgroup":
                pytest.skip("NOT TESTED: no control groups of version 2 are delegated here")
        except SandboxError as error:
            pytest.skip(f"NOT TESTED, the jail: {error}")
        yield sandbox


AT_ONCE = """
import os, time
for _ in range(3): os.fork()
x = bytearray(60 << 20)
time.sleep(60)
"""


def test_the_kernel_limits_the_memory_of_all_processes(limited: Sandbox) -> None:
    """An execution beyond its limit ends as a whole, and says which limit that was; a session loses its state."""
    done = limited.run(AT_ONCE)
    assert (done.limit, done.exit_code, done.timed_out) == ("memory", None, False), done
    with limited.session() as session:
        assert session.run("x = 1").ok
        done = session.run(AT_ONCE)
        assert (done.limit, done.session_ended) == ("memory", True)
        assert session.run("print('x' in globals())").stdout == "False\n"


def test_a_group_serves_one_execution_after_another(limited: Sandbox) -> None:
    """Nothing of an execution that ran out of memory counts for the next in its group."""
    for _ in range(4):
        assert limited.run(AT_ONCE).limit == "memory"
        done = limited.run("x = bytearray(100 << 20)\nprint(len(x))")
        assert (done.stdout, done.limit) == (f"{100 << 20}\n", None), done


def test_a_killed_program_did_not_run_out_of_memory(limited: Sandbox) -> None:
    """Only the kernel's own count says that memory ran out."""
    assert limited.run(AT_ONCE).limit == "memory"
    for _ in range(3):
        done = limited.run("import os\nos.kill(os.getpid(), 9)")
        assert (done.exit_code, done.limit) == (-9, None)


def test_each_execution_sees_its_group_as_the_root(limited: Sandbox) -> None:
    """The names of groups outside say where a program runs."""
    assert limited.run("print(open('/proc/self/cgroup').read())").stdout.split() == ["0::/"]


def test_this_process_stays_in_its_group_and_nothing_is_left(limited: Sandbox) -> None:
    """Each session has a group with its limits. All groups disappear with the sandbox, and those of killed owners."""
    own = Path("/proc/self/cgroup").read_text()
    parents = cgroups.delegated_folders(Path("/proc/self/cgroup"), Path("/proc/self/mountinfo"))
    before = {path for parent in parents for path in parent.glob("gem-tools-*")}
    with Sandbox("required", LIMITS) as sandbox:
        sessions = [sandbox.session() for _ in range(3)]
        assert [session.run("print(1)").stdout for session in sessions] == ["1\n"] * 3
        during = {path for parent in parents for path in parent.glob("gem-tools-*")}
        (folder,) = during - before
        groups = [path for path in folder.glob("[0-9]*") if (path / "cgroup.procs").read_text()]
        limits = {tuple(int((path / name).read_text()) for name in ("memory.max", "pids.max")) for path in groups}
        assert (len(groups), limits) == (3, {((128 + 1 + 32) << 20, 24)})
        assert Path("/proc/self/cgroup").read_text() == own
    assert {path for parent in parents for path in parent.glob("gem-tools-*")} == before
    abandoned = next(iter(before)).with_name("gem-tools-abandoned")
    (abandoned / "1").mkdir(parents=True)
    with Sandbox("required", LIMITS) as sandbox:
        assert sandbox.memory_limited_by == "cgroup"
        assert not abandoned.exists()
        assert all(path.exists() for path in before)
