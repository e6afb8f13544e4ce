"""Snapshots: the files of a container at one moment, and episodes that continue from them."""

from __future__ import annotations

import json
import os
import shlex
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gem.errors import ArgumentError, EpisodeFinishedError, ResetNeededError
from gem_terminal import TerminalEnv
from gem_terminal.engines import Container, Engine
from gem_terminal.engines.docker import DockerEngine
from gem_terminal.engines.docker.images import LABEL
from gem_terminal.engines.namespace import saved_files, shared_folders
from gem_terminal.engines.namespace.snapshots import NamespaceSnapshot, SharedFolders
from gem_terminal.engines.owner import ContainerOwner
from gem_terminal.errors import EngineError
from gem_terminal.task import Image, ResourceLimits

HEALTH = [HealthCheck.function_scoped_fixture]  # the engine serves all examples
LIMITS = ResourceLimits(memory=512 << 20, disk=128 << 20)
FILES = {
    "task.toml": "[environment]\nnetwork_mode = 'no-network'\nmemory_mb = 256\n",
    "instruction.md": "Write hello into /desk/hello.txt.",
    "environment/Dockerfile": "FROM debian:bookworm-slim\nRUN mkdir /desk\nWORKDIR /desk\n",
    "tests/test.sh": '#!/bin/bash\n[ "$(cat /desk/hello.txt)" = hello ] && echo 1 > /logs/verifier/reward.txt\n',
}

# Of each file: path, type, mode, owner, target, links, time, device and inode; then all names and digests of contents.
_LIST = r"""
for place; do
  find "$place" -printf '%p\0%y\0%m\0%U:%G\0%l\0%n\0%T@\0%D:%i\0' 2>/dev/null
done
printf 'digests\0'
ls -1AR "$@" 2>/dev/null | tr '\n' '\0'  # shows also names without a file
for place; do
  find "$place" -type f -exec sha1sum -z {} + 2>/dev/null
done; :"""


def shell(container: Container, script: str, *arguments: str) -> bytes:
    """Run a script as root and return its output."""
    done = container.run(("bash", "-c", script, "bash", *arguments), seconds=60.0)
    assert done.exit_code == 0, (script, done)
    return done.output


def tree(container: Container, *places: str) -> tuple[list[list[bytes]], list[bytes]]:
    """Everything that a user sees of folders. The inodes become numbers, which are equal for hard links."""
    listed, _, digests = shell(container, _LIST, *places).partition(b"digests\0")
    words = listed.split(b"\0")
    files = sorted(words[at : at + 8] for at in range(0, len(words) - 1, 8))
    numbers: dict[bytes, int] = {}
    for file in files:
        file[7] = b"%d" % numbers.setdefault(file[7], len(numbers))
        if file[1] == b"d":
            file[5] = b""  # an overlay counts the links of merged folders in its own way
    return files, sorted(digests.split(b"\0"))


@pytest.fixture(scope="module")
def start(engine: Engine, small: Image) -> Callable[[], Container]:
    """Starts a container of the smallest image."""
    reference = engine.prepare(small)
    return lambda: engine.start(reference, LIMITS)


PLACES = ("/w", "/usr/share/base-files", "/etc/skel")
NAMES = ("a", "b", "c/d", "e f", "ü", "-x", ".wh.a", "\n")
paths = st.builds(lambda place, name: shlex.quote(f"{place}/{name}"), st.sampled_from(PLACES), st.sampled_from(NAMES))
folders = st.sampled_from(PLACES)
operations = st.one_of(
    st.builds("echo {1} >> {0}".format, paths, st.integers()),
    st.builds("head -c {1} /dev/urandom > {0}".format, paths, st.integers(0, 200_000)),
    st.builds("printf x | dd of={0} bs=1 seek={1} conv=notrunc status=none".format, paths, st.integers(0, 1 << 22)),
    st.builds("rm -rf {}".format, st.one_of(paths, folders)),
    st.builds("mkdir -p {}".format, st.one_of(paths, folders)),
    st.builds("ln -f {} {}".format, paths, paths),
    st.builds("ln -sfn {} {}".format, paths, paths),
    st.builds("mv -f {} {}".format, paths, paths),
    st.builds("cp -a {} {}".format, st.one_of(paths, folders), paths),
    st.builds("chmod {1:o} {0}".format, st.one_of(paths, folders), st.integers(0, 0o7777)),
    st.builds("chown -h {1}:{2} {0}".format, paths, st.integers(0, 70_000), st.integers(0, 70_000)),
    st.builds("touch -h -d @{1} {0}".format, st.one_of(paths, folders), st.integers(0, 2_000_000_000)),
    st.just("mkfifo -m 640 /w/pipe"),  # under a name that no command opens
    st.builds("mkdir -p {0}/m/n; echo 1 > {0}/m/n/o".format, st.one_of(paths, folders)),
    st.builds("perl -e 'rename $ARGV[0], $ARGV[1]' {} {}".format, st.one_of(paths, folders), paths),
    st.builds("chmod 600 {0} && mkdir -p {1} && mv {0}/* {1}".format, folders, paths),
)
changes = st.lists(operations, max_size=12).map(lambda lines: "{ " + ";\n".join([*lines, ":"]) + "; } 2>/dev/null")


def check_chain(engine: Engine, start: Callable[[], Container], *scripts: str) -> None:
    """Begin each container from a snapshot of the one before, and compare what it has; then all changes at once.

    The last snapshot is restored as a copy as well, where its files would fill too much of a disk to be shared.
    """
    small = ResourceLimits(memory=512 << 20, disk=30 << 20)
    with ExitStack() as opened:
        container = opened.enter_context(start())
        shell(container, f"mkdir -p /w/c; {scripts[0]}")
        for script in (*scripts[1:], ":"):
            expected = tree(container, *PLACES)
            snapshot = opened.enter_context(container.snapshot())
            shell(container, script)
            container = opened.enter_context(engine.restore(snapshot, LIMITS))
            assert tree(container, *PLACES) == expected
            shell(container, script)
        assert isinstance(snapshot, NamespaceSnapshot)
        snapshot.size = small.disk or 0
        assert tree(opened.enter_context(engine.restore(snapshot, small)), *PLACES) == expected
        check_changes(start, container)


def check_changes(start: Callable[[], Container], container: Container) -> None:
    """Make the changes of a container in a fresh one, and compare what both have."""
    with start() as fresh:
        found = container.changes(PLACES)
        for path in sorted(found.removed):
            shell(fresh, 'rm -rf "$1"', path)
        for folder, archive in found.archives:
            fresh.put(archive, folder)
        assert contents(fresh) == contents(container)


def contents(container: Container) -> list[list[bytes]]:
    """Path, type, mode, owner and target of each file, and the digests of all."""
    files, digests = tree(container, *PLACES)
    return [*(file[:5] for file in files), digests]


@pytest.mark.only_engine("namespace")
@settings(max_examples=3, deadline=None, suppress_health_check=HEALTH)
@given(changes, changes)
def test_a_restored_tree_is_that_of_the_snapshot(
    engine: Engine, start: Callable[[], Container], before: str, after: str
) -> None:
    """Contents, modes, owners, links and times come back, whatever the episode does after the snapshot."""
    check_chain(engine, start, before, after)


@pytest.mark.nightly
@pytest.mark.only_engine("namespace")
@settings(max_examples=60, deadline=None, suppress_health_check=HEALTH)
@given(st.lists(changes, min_size=2, max_size=6))
def test_many_restored_trees_are_those_of_their_snapshots(
    engine: Engine, start: Callable[[], Container], scripts: list[str]
) -> None:
    """The same, for longer chains than by day."""
    check_chain(engine, start, *scripts)


@pytest.mark.every_engine
def test_a_snapshot_has_what_an_image_can_hide_and_a_user_can_make(
    engine: Engine, start: Callable[[], Container]
) -> None:
    """Deleted files, replaced folders, owners, set-user-id bits and links; several containers begin from it at once."""
    with start() as container:
        shell(
            container,
            "rm /etc/skel/.bashrc; cd /usr/share; rm -r base-files; mkdir base-files; echo 1 > base-files/x;"
            "mkdir /w; cd /w; echo 2 > a; ln a b; ln -s /gone c; chown 12:34 a; chmod 4750 a; touch -d @1000000000 a;"
            "truncate -s 1M hole; mv /etc/skel /w/skel;"
            "find /w /usr/share/base-files -exec touch -h -d @99 {} +",  # Docker keeps whole seconds
        )
        expected = tree(container, *PLACES)
        snapshot = container.snapshot()
        shell(container, "rm -r /w; echo 3 > /usr/share/base-files/x")
    with snapshot, engine.restore(snapshot, LIMITS) as twin, engine.restore(snapshot, LIMITS) as other:
        shell(other, "echo 4 >> /w/a")
        if engine.name == "namespace":  # in Docker, a hard link of a lower layer ends with the first change
            assert shell(other, "wc -l < /w/b") == b"2\n"
        assert tree(twin, *PLACES) == expected


@pytest.mark.every_engine
def test_a_snapshot_can_be_taken_of_a_restored_container(engine: Engine, start: Callable[[], Container]) -> None:
    """And outlives the snapshot that the container began from; a closed one restores nothing."""
    with start() as container:
        shell(container, "echo 1 > /one")
        first = container.snapshot()
    with engine.restore(first, LIMITS, {"COLOUR": "red"}) as container:
        shell(container, "echo 2 > /two; [ $COLOUR = red ]")
        second = container.snapshot()
    first.close()
    first.close()
    assert not first.is_open
    with pytest.raises(EngineError, match="closed"):
        engine.restore(first, LIMITS)
    with second, engine.restore(second, LIMITS) as container:
        assert shell(container, "cat /one /two") == b"1\n2\n"


@pytest.mark.only_engine("docker")
@pytest.mark.every_engine
def test_docker_keeps_no_image_of_a_closed_snapshot(engine: DockerEngine, start: Callable[[], Container]) -> None:
    """Also not where a container or a later snapshot still needed it when it was closed; the reaper takes the rest."""

    def images() -> set[str]:
        label = f"{LABEL}={ContainerOwner.this_process()}"
        return {image["Id"] for image in engine.client.api.images(all=True, filters={"label": label})}

    before = images()
    with start() as container:
        first = container.snapshot()
    with engine.restore(first, LIMITS) as container:
        second = container.snapshot()
        first.close()
        assert len(images() - before) == 2
    second.close()
    assert images() == before


@pytest.mark.only_engine("namespace")
def test_the_files_of_a_snapshot_count_against_the_disk(engine: Engine, start: Callable[[], Container]) -> None:
    """A restored container has the room that the first one had left, holes of sparse files included."""
    free = "df --output=avail -k / | tail -1"
    with start() as container:
        shell(container, "head -c 40M /dev/urandom > /big; truncate -s 1G /hole; printf x >> /hole")
        left = int(shell(container, free))
        with container.snapshot() as snapshot:
            with engine.restore(snapshot, LIMITS) as twin:
                assert abs(int(shell(twin, free)) - left) < 64
                assert shell(twin, "stat -c %b /hole") == shell(container, "stat -c %b /hole")
                shell(twin, "printf y | dd of=/hole bs=1 seek=100000000 conv=notrunc status=none")
                assert abs(int(shell(twin, free)) - left) < 128
            few = ResourceLimits(memory=512 << 20, disk=8 << 20)
            with pytest.raises(EngineError, match="No space left"):
                engine.restore(snapshot, few)
            with pytest.raises(EngineError, match="No space left"):
                engine.restore(snapshot, ResourceLimits(memory=512 << 20, disk=20 << 20))


@pytest.mark.only_engine("namespace")
def test_programs_see_no_difference_in_a_branch(engine: Engine, start: Callable[[], Container]) -> None:
    """Folders of the snapshot can be renamed without a copy, and a write through one of two names reaches the other."""
    rename = "perl -e 'rename($ARGV[0], $ARGV[1]) or die $!' "
    with start() as container:
        shell(container, "mkdir -p /w/a/b; echo 1 > /w/a/b/c; ln /w/a/b/c /w/d; chmod 2750 /w/a")
        with container.snapshot() as snapshot, engine.restore(snapshot, LIMITS) as branch:
            shell(branch, f"{rename} /w/a /w/e; {rename} /w/e/b /f; echo 2 >> /w/d; mkdir /w/a")
            assert shell(branch, "cat /f/c; stat -c %a:%h /w/e /f/c; ls -A /w/a /w/e") == (
                b"1\n2\n2750:1\n644:2\n/w/a:\n\n/w/e:\n"
            )
            with branch.snapshot() as later, engine.restore(later, LIMITS) as last:
                assert shell(last, "cat /w/d; echo 3 >> /f/c; tail -1 /w/d; ls -A /w/a /w/e /f") == (
                    b"1\n2\n3\n/f:\nc\n\n/w/a:\n\n/w/e:\n"
                )
            assert shell(branch, "tail -1 /w/d") == b"2\n"
        assert shell(container, "cat /w/a/b/c") == b"1\n"


@pytest.mark.only_engine("namespace")
def test_moved_folders_are_changes_with_all_their_content(engine: Engine, start: Callable[[], Container]) -> None:
    """Those of the image, of a snapshot and of both, moved once, twice or with a part taken out, for the tests."""
    move = "perl -e 'rename($ARGV[0], $ARGV[1]) or die $!' "
    with start() as container:
        shell(container, "mkdir -p /w/a/b /w/s/t; echo 1 > /w/a/b/c; echo 2 > /w/s/t/u; echo 3 > /etc/skel/new")
        with container.snapshot() as snapshot, engine.restore(snapshot, LIMITS) as branch:
            shell(
                branch,
                f"{move} /usr/share/base-files /w/files; {move} /etc/skel /w/skel; {move} /w/a /w/z; rm /w/z/b/c",
            )
            check_changes(start, branch)
            with branch.snapshot() as later, engine.restore(later, LIMITS) as last:
                shell(
                    last, f"{move} /w/files /w/s/again; {move} /w/s/t /w/t; echo 4 >> /w/t/u; {move} /w/skel /etc/skel"
                )
                check_changes(start, last)


@pytest.mark.nightly
@pytest.mark.only_engine("namespace")
def test_a_chain_has_few_layers_and_few_copies(engine: Engine, start: Callable[[], Container]) -> None:
    """However long it is: layers grow from one to the next, and large files stay where they are."""
    layers: list[int] = []
    with ExitStack() as opened:
        container = opened.enter_context(start())
        shell(container, "mkdir /w; head -c 20M /dev/urandom > /w/big; sha1sum /w/big > /w/sum")
        for number in range(10):
            with container.snapshot() as snapshot:
                container = opened.enter_context(engine.restore(snapshot, LIMITS))
            taken = cast("NamespaceSnapshot", snapshot)
            (shared,) = taken._forms.values()
            assert isinstance(shared, SharedFolders)
            layers.append(len(shared.layers))
            assert shared.layers[-1].size >= 20 << 20
            assert sum(layer.size for layer in shared.layers[:-1]) < 1 << 20
            shell(container, f"echo {number} > /w/{number}; rm -f /w/{number - 2}")
        assert shell(container, "cd /w; sha1sum --quiet -c sum; ls") == b"8\n9\nbig\nsum\n"
    assert max(layers) <= 4, layers


@pytest.mark.only_engine("namespace")
def test_nothing_is_left_of_a_closed_snapshot(engine: Engine, start: Callable[[], Container]) -> None:
    """No descriptor, whichever forms it had; a container that began from it keeps what it needs."""
    with start() as container:
        shell(container, "echo 1 > /one")
        before = len(list(Path("/proc/self/fd").iterdir()))
        snapshot = container.snapshot()
        branch = engine.restore(snapshot, LIMITS)
        full = ResourceLimits(memory=512 << 20, disk=8 << 10)
        with suppress(EngineError):  # as a copy, since it is too large for a share of this disk
            engine.restore(snapshot, full).remove()
        snapshot.close()
        with pytest.raises(EngineError, match="closed"):
            engine.restore(snapshot, LIMITS)
        assert shell(branch, "cat /one") == b"1\n"
        branch.remove()
        deadline = time.monotonic() + 60
        while (now := len(list(Path("/proc/self/fd").iterdir()))) > before and time.monotonic() < deadline:
            time.sleep(0.01)  # a thread of another test may hold one for a moment
        assert now <= before


@pytest.mark.only_engine("namespace")
def test_a_hostile_tree_is_no_danger(engine: Engine, start: Callable[[], Container]) -> None:
    """Folders too deep to be named are an error, others are copied; links are copied, never followed."""
    with start() as container:
        shell(container, "mkdir /w; ln -s /etc/shadow /w/link; mkfifo /w/pipe")
        with container.snapshot() as snapshot, engine.restore(snapshot, LIMITS) as twin:
            assert shell(twin, "readlink /w/link; stat -c %F /w/pipe") == b"/etc/shadow\nfifo\n"
        shell(container, "mkdir -p /w/$(printf 'd/%.0s' $(seq 1500))")
        with container.snapshot() as snapshot, engine.restore(snapshot, LIMITS) as twin:
            assert shell(twin, "find /w/d | wc -l") == b"1500\n"
        shell(container, "mkdir -p /w/$(printf 'd/%.0s' $(seq 2100))")
        with pytest.raises(EngineError, match="cannot be copied"):
            container.snapshot()
        shell(container, "rm -rf /w")
        container.snapshot().close()


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="extended attributes are Linux's")
def test_attributes_and_marks_are_copied(tmp_path: Path) -> None:
    """Extended attributes, the marks of overlays among them, and holes; a file that is no file any more is left out."""
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "folder").mkdir(parents=True)
    target.mkdir()
    (source / "folder/file").write_bytes(b"x" * 70_000)
    os.setxattr(source / "folder/file", "user.colour", b"red\0")
    with (source / "holes").open("wb") as holes:
        os.pwrite(holes.fileno(), b"begin", 0)
        os.pwrite(holes.fileno(), b"middle", 5 << 20)
        holes.truncate(9 << 20)
    has_marks = True
    try:
        os.setxattr(source / "folder", saved_files.MARK_REPLACED, b"y")
        os.mknod(source / "deleted", stat.S_IFCHR, os.makedev(0, 0))
    except PermissionError:  # of an ordinary user, or of the root of a container
        has_marks = False
    with ExitStack() as opened:
        folder = os.open(source, os.O_RDONLY)
        opened.callback(os.close, folder)
        copy = os.memfd_create("copy")
        opened.callback(os.close, copy)
        saved_files.save(folder, copy)
        (tmp_path / "layer").mkdir()
        shared_folders._fill(str(tmp_path / "layer"), folder, [], [])
        (source / "folder/file").write_text("later")
        saved_files.restore(copy, str(target))
        table = {entry.path: entry for entry in saved_files.table_of(copy)}
        assert saved_files.SavedContent(copy, table["folder/file"]).read(100_000) == b"x" * 70_000
    for made in (target, tmp_path / "layer/files"):
        assert (made / "folder/file").read_bytes() == b"x" * 70_000
        assert os.getxattr(made / "folder/file", "user.colour") == b"red\0"
        assert (made / "holes").read_bytes() == (source / "holes").read_bytes()
        assert (made / "holes").stat().st_blocks == (source / "holes").stat().st_blocks
        if has_marks:
            assert os.getxattr(made / "folder", saved_files.MARK_REPLACED) == b"y"
            assert (made / "deleted").stat().st_rdev == 0
    if has_marks:
        assert [path for path, entry in table.items() if saved_files.is_mark_of_deletion(entry)] == ["deleted"]


@pytest.fixture
def env(engine: Engine, tmp_path: Path) -> Iterator[TerminalEnv]:
    """A task, begun."""
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    with TerminalEnv(path=tmp_path, engine=engine, strict=True) as made:
        made.reset(seed=0)
        yield made


def said(env: TerminalEnv, command: str) -> str:
    """Run a command in the shell of the episode."""
    return env.step(f"<bash>{command}</bash>")[0].removesuffix("\n[exit code 0]")


def test_an_episode_branches_from_its_middle(env: TerminalEnv) -> None:
    """Files and the shell's folder, variables, functions and options come back, as often as one likes."""
    number = said(
        env, "cd /tmp; X='a b'; export Y=2; f() { echo f$1; }; umask 027; set -u; echo $RANDOM$RANDOM | tee n"
    )
    with env.snapshot() as snapshot:
        said(env, "rm n; X=9; cd /")
        for _ in range(2):
            env.restore(snapshot)
            told = said(env, 'pwd; echo "$X"; sh -c "echo \\$Y"; f 3; umask; cat n; echo $NONE')
            assert told.splitlines()[:6] == ["/tmp", "a b", "2", "f3", "0027", number], told
            assert "NONE: unbound variable" in told
        assert (snapshot.processes, env.get_state()["turn"]) == (0, 2)
        env.step("<bash>echo hello > /desk/hello.txt</bash>")
        assert env.step("<finish/>")[1] == 1.0
        with pytest.raises(EpisodeFinishedError):
            env.snapshot()
        with pytest.raises(ArgumentError, match="lacks"), TerminalEnv(task="ledger", engine=env.engine) as other:
            other.restore(snapshot)
    with pytest.raises(ArgumentError, match="closed"):
        env.restore(snapshot)


def test_a_state_has_the_files_and_not_only_the_actions(env: TerminalEnv) -> None:
    """What an action left by chance is there again, in an instance that got the state through JSON."""
    number = said(env, "cd /tmp; echo $RANDOM$RANDOM | tee n")
    state = json.loads(json.dumps(env.get_state()))
    assert state == env.get_state()
    said(env, "echo later > n")
    later = env.get_state()
    with env.spawn(same_state=False) as twin:
        twin.set_state(state)
        assert twin.get_state() == state
        assert said(twin, "pwd; cat n") == f"/tmp\n{number}"
        twin.set_state(later)
        assert said(twin, "cat n") == "later"
        twin.set_state({**state, "snapshot": "f" * 32})  # of another process
        assert said(twin, "pwd; wc -l n") == "/tmp\n1 n"


def test_a_state_with_processes_repeats_the_actions(env: TerminalEnv) -> None:
    """Since no snapshot holds processes; an explicit snapshot counts them."""
    said(env, "sleep 1000 & echo $! > /tmp/n")
    state = env.get_state()
    assert state["snapshot"] is None
    with env.snapshot() as snapshot:
        assert snapshot.processes == 1
        env.set_state(state)
        assert said(env, "jobs | grep -c sleep") == "1"
        env.restore(snapshot)
        assert said(env, "jobs | grep -c sleep; test -e /tmp/n && echo file") == "0\nfile"


def test_a_snapshot_needs_an_episode(engine: Engine, tmp_path: Path, env: TerminalEnv) -> None:
    """Before the first reset there is nothing to copy."""
    with env.spawn(same_state=False) as fresh, pytest.raises(ResetNeededError):
        fresh.snapshot()
