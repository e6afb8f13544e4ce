"""The store of snapshots: other processes restore them, by digest, and nothing half or altered is ever restored."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from gem_terminal import TerminalEnv
from gem_terminal.cli.snapshots import snapshots_command
from gem_terminal.engines import Engine
from gem_terminal.engines.docker import DockerEngine
from gem_terminal.engines.namespace import NamespaceEngine, saved_files
from gem_terminal.engines.owner import ContainerOwner
from gem_terminal.episodes.episode_snapshots import EpisodeSnapshot
from gem_terminal.episodes.snapshot_store import SnapshotStore
from gem_terminal.errors import EngineError

FILES = {
    "task.toml": "[environment]\nnetwork_mode = 'no-network'\nmemory_mb = 256\n",
    "instruction.md": "Write hello into /desk/hello.txt.",
    "environment/Dockerfile": "FROM debian:bookworm-slim\nRUN mkdir /desk\nWORKDIR /desk\n",
    "tests/test.sh": '#!/bin/bash\n[ "$(cat /desk/hello.txt)" = hello ] && echo 1 > /logs/verifier/reward.txt\n',
}
# In another process: restore, look, and change something.
RESTORES = """
import sys
from pathlib import Path
from gem_terminal import TerminalEnv
from gem_terminal.engines import engine_by_name
from gem_terminal.episodes.snapshot_store import SnapshotStore
folder, engine, digest, command = sys.argv[1:]
with TerminalEnv(path=Path(folder) / "task", engine=engine) as env:
    env.restore(SnapshotStore(Path(folder) / "store").load(digest, env.tasks, env.engine))
    print(env.step(f"<bash>{command}</bash>")[0])
"""
# In another process: store what the episode has, as often as asked, or until the end.
STORES = """
import sys
from pathlib import Path
from gem_terminal import TerminalEnv
from gem_terminal.episodes.snapshot_store import SnapshotStore
folder, engine, digest, times = sys.argv[1:]
store = SnapshotStore(Path(folder) / "store")
with TerminalEnv(path=Path(folder) / "task", engine=engine) as env:
    snapshot = store.load(digest, env.tasks, env.engine)
    print("begun", flush=True)
    for _ in range(int(times)):
        print(store.save(snapshot, env.engine), flush=True)
"""


# In another process: load, and restore after a word.
HOLDS = """
import sys
from pathlib import Path
from gem_terminal import TerminalEnv
from gem_terminal.episodes.snapshot_store import SnapshotStore
folder, engine, digest = sys.argv[1:]
with TerminalEnv(path=Path(folder) / "task", engine=engine) as env:
    snapshot = SnapshotStore(Path(folder) / "store").load(digest, env.tasks, env.engine)
    print("loaded", flush=True)
    sys.stdin.readline()
    with snapshot:
        env.restore(snapshot)
        print(env.step("<bash>cat one</bash>")[0])
"""


@pytest.fixture
def env(engine_variables: None, engine: Engine, tmp_path: Path) -> Iterator[TerminalEnv]:
    """A task, begun."""
    for name, content in FILES.items():
        path = tmp_path / "task" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    with TerminalEnv(path=tmp_path / "task", engine=engine, strict=True) as made:
        made.reset(seed=0)
        yield made


@pytest.fixture
def store(tmp_path: Path) -> SnapshotStore:
    """An empty store."""
    return SnapshotStore(tmp_path / "store")


def said(env: TerminalEnv, command: str) -> str:
    """Run a command in the shell of the episode."""
    return env.step(f"<bash>{command}</bash>")[0].removesuffix("\n[exit code 0]")


def loaded(store: SnapshotStore, env: TerminalEnv, digest: str) -> EpisodeSnapshot:
    """Load a snapshot for an environment."""
    return store.load(digest, env.tasks, env.engine)


def other_process(program: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a program of this file in a process of its own."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def output_of(process: subprocess.Popen[str]) -> str:
    """Wait for a process; return what it wrote."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out


@pytest.mark.nightly
@pytest.mark.every_engine
def test_another_process_restores_what_this_one_stored(env: TerminalEnv, store: SnapshotStore, tmp_path: Path) -> None:
    """Files, folder and variables, after the container and the snapshot here are gone; then nothing is kept of it."""
    said(env, "cd /tmp; X='a b'; echo 1 > /desk/one; rm -r /etc/skel; ln /desk/one two; cd /desk")
    with env.snapshot() as snapshot:
        digest = store.save(snapshot, env.engine)
        assert store.save(snapshot, env.engine) == digest
    env.close()
    look = "pwd; echo $X; cat one /tmp/two; ls -d /etc/skel; stat -c %h one"
    told = output_of(other_process(RESTORES, tmp_path, env.engine.name, digest, look))
    assert told.splitlines()[:4] == ["/desk", "a b", "1", "1"], told
    assert "cannot access" in told
    (entry,) = store.entries()
    assert (entry.digest, entry.task, entry.engine) == (digest, "task", env.engine.name)
    assert store.discard(unused_for=3600.0, engines={env.engine.name: env.engine}) == 0
    assert store.discard(digests=[digest], engines={env.engine.name: env.engine}) == 1
    assert [path for path in (tmp_path / "store").rglob("*") if path.is_file() and path.parent != store.folder] == []
    with pytest.raises(EngineError, match="there is no snapshot"):
        loaded(store, env, digest)


@pytest.mark.only_engine("namespace")
def test_a_loaded_snapshot_is_one_like_others(env: TerminalEnv, store: SnapshotStore) -> None:
    """Branches share it, snapshots of these are stored in turn, and entries with the same files share them."""
    said(env, "cd /desk; echo 1 > a; ln a b; mkdir -p x/y; echo 2 > x/y/z")
    with env.snapshot() as snapshot:
        first = store.save(snapshot, env.engine)
    with loaded(store, env, first) as again:
        assert store.save(again, env.engine) == first
        env.restore(again)
        said(env, "echo 3 >> b; mv x w; rm w/y/z; echo 4 > w/y/n")
        with env.snapshot() as later:
            second = store.save(later, env.engine)
        env.restore(again)
        assert said(env, "cat a x/y/z") == "1\n2"
    with loaded(store, env, second) as latest:
        env.restore(latest)
        assert said(env, "cat a; find w x 2>/dev/null; cat w/y/n").splitlines() == ["1", "3", "w", "w/y", "w/y/n", "4"]
    assert store.discard(digests=[first]) == 1
    loaded(store, env, second).close()
    assert len(list((store.folder / "files").glob("*"))) == 1


@pytest.mark.only_engine("namespace")
def test_what_is_not_what_its_digest_says_is_refused(env: TerminalEnv, store: SnapshotStore) -> None:
    """A changed, cut or exchanged entry or file; storing it again repairs it, and discard removes what is damaged."""
    said(env, "echo 1 > one")
    with env.snapshot() as snapshot:
        digest = store.save(snapshot, env.engine)
        entry = store.folder / "entries" / digest
        (files,) = (store.folder / "files").iterdir()
        for path, what in ((entry, "is damaged"), (files, "are damaged")):
            content = path.read_bytes()
            damages = content.replace(b"1", b"2", 1), content[:-1], content + b" ", b""
            for damaged in damages:
                path.chmod(0o600)
                path.write_bytes(damaged)
                with pytest.raises(EngineError, match=what):
                    loaded(store, env, digest)
            assert store.save(snapshot, env.engine) == digest
            loaded(store, env, digest).close()
        files.unlink()
        with pytest.raises(EngineError, match="cannot be read"):
            loaded(store, env, digest)
    entry.chmod(0o600)
    entry.write_bytes(b"{}")
    assert store.entries() == []
    assert store.discard() == 1
    assert not entry.exists()
    for wrong in ("", "../files", "F" * 64, digest[:-1]):
        with pytest.raises(EngineError, match="is no digest"):
            loaded(store, env, wrong)


@pytest.mark.only_engine("namespace")
def test_a_snapshot_is_restored_for_its_own_task_and_engine(
    env: TerminalEnv, store: SnapshotStore, working_engine: Callable[[str], Engine]
) -> None:
    """And with its image: what is another one is said, before a container starts."""
    with env.snapshot() as snapshot:
        digest = store.save(snapshot, env.engine)
    with TerminalEnv(task="ledger", engine=env.engine) as other, pytest.raises(EngineError, match="not among"):
        loaded(store, other, digest)
    with pytest.raises(EngineError, match="is of the namespace engine, and this is docker"):
        store.load(digest, env.tasks, DockerEngine())
    with pytest.raises(EngineError, match="no folder of an image here"):
        store.load(digest, env.tasks, NamespaceEngine(store.folder / "none"))
    (env.tasks[0].folder / "instruction.md").write_text("Another.")
    changed = TerminalEnv(path=env.tasks[0].folder, engine=env.engine)
    with changed, pytest.raises(EngineError, match="another instruction"):
        loaded(store, changed, digest)


@pytest.mark.nightly
@pytest.mark.only_engine("namespace")
def test_several_processes_store_the_same_at_once(env: TerminalEnv, store: SnapshotStore, tmp_path: Path) -> None:
    """All get the same digest, one entry is there, and it is whole, though another process discards meanwhile."""
    said(env, "head -c 5M /dev/urandom > /desk/big")
    with env.snapshot() as snapshot:
        digest = store.save(snapshot, env.engine)
    at_once = [other_process(STORES, tmp_path, env.engine.name, digest, 20) for _ in range(3)]
    while any(process.poll() is None for process in at_once):
        store.discard()
    for process in at_once:
        assert set(output_of(process).split()) == {"begun", digest}
    assert [entry.digest for entry in store.entries()] == [digest]
    loaded(store, env, digest).close()


@pytest.mark.nightly
@pytest.mark.only_engine("namespace")
def test_a_killed_process_leaves_nothing_half(env: TerminalEnv, store: SnapshotStore, tmp_path: Path) -> None:
    """However far it is: each entry that is there is whole, and discard removes the rest."""
    said(env, "head -c 20M /dev/urandom > /desk/big")
    with env.snapshot() as snapshot:
        digest = store.save(snapshot, env.engine)
    left = 0
    for number in range(8):
        process = other_process(STORES, tmp_path, env.engine.name, digest, 1000)
        assert process.stdout is not None
        for _ in range(1 + number % 3):
            process.stdout.readline()
        while number % 2 and not list((store.folder / "files").glob(".*")):
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.communicate()
        left += len(list((store.folder / "files").glob(".*")))
        assert {entry.digest for entry in store.entries()} == {digest}
        loaded(store, env, digest).close()
    assert left
    store.discard()
    assert [path.name[0] for path in (store.folder / "files").iterdir()].count(".") == 0


@pytest.mark.only_engine("docker")
@pytest.mark.every_engine
def test_docker_keeps_the_image_of_a_stored_snapshot(env: TerminalEnv, store: SnapshotStore) -> None:
    """Also when the snapshot is closed and the reaper has come by, until the entry is discarded."""
    engine = env.engine
    assert isinstance(engine, DockerEngine)
    said(env, "echo 1 > /desk/one")
    with env.snapshot() as snapshot:
        digest = store.save(snapshot, engine)
    engine.reap()
    with loaded(store, env, digest) as again:
        env.restore(again)
    assert said(env, "cat /desk/one") == "1"
    assert store.discard(unused_for=0.0) == 0  # without the engine
    env.close()
    image = json.loads((store.folder / "entries" / digest).read_text())["record"]["image"]
    assert store.discard(unused_for=0.0, engines={"docker": engine}) == 1
    assert image not in {each.id for each in engine.client.images.list(all=True)}


@pytest.mark.nightly
@pytest.mark.every_engine
def test_what_one_user_of_a_store_discards_stays_for_others(
    env: TerminalEnv, store: SnapshotStore, tmp_path: Path
) -> None:
    """For open snapshots here and in other processes, for other stores, and for other entries with the same files."""
    engines, other = {env.engine.name: env.engine}, SnapshotStore(tmp_path / "other")
    said(env, "echo 1 > /desk/one")
    with env.snapshot() as snapshot:
        first, elsewhere = store.save(snapshot, env.engine), other.save(snapshot, env.engine)
        assert elsewhere == first
        second = store.save(replace(snapshot, state={**snapshot.state, "note": 1}), env.engine)
        user = other_process(HOLDS, tmp_path, env.engine.name, first)
        assert user.stdout is not None
        assert user.stdout.readline() == "loaded\n"
        assert store.discard(digests=[first], engines=engines) == 1
        loaded(store, env, second).close()
        assert store.discard(digests=[second], engines=engines) == 1
        env.restore(snapshot)
        assert said(env, "cat /desk/one") == "1"
    with loaded(other, env, elsewhere) as again:
        env.restore(again)
        assert said(env, "cat /desk/one") == "1"
    assert other.discard(digests=[elsewhere], engines=engines) == 1
    assert user.communicate("\n", timeout=120)[0].startswith("1\n"), user
    env.close()
    if isinstance(env.engine, DockerEngine):
        env.engine.reap()
        names = [name for each in env.engine.client.images.list() for name in each.tags if "-in-use" in name]
        assert not [name for name in names if ContainerOwner.this_process().short_name in name]


@pytest.mark.parametrize(
    "content",
    [b"{}", b"[]", b"1", b'{"format": 1}', b"[" * 100_000, b"\xff", b'{"format": 1, "engine": {}, "files": "../x"}'],
)
def test_an_entry_with_a_fitting_name_and_another_content_is_damaged(store: SnapshotStore, content: bytes) -> None:
    """It is neither listed nor loaded, and discarded."""
    digest = hashlib.sha256(content).hexdigest()
    (store.folder / "entries").mkdir(parents=True)
    (store.folder / "entries" / digest).write_bytes(content)
    assert store.entries() == []
    with pytest.raises(EngineError, match="is damaged"):
        store.load(digest, [], DockerEngine())
    assert store.discard() == 1


def test_an_entry_of_a_later_version_stays_with_its_files(store: SnapshotStore) -> None:
    """Whatever its fields are called: it names its files by their digests."""
    for name, content in (("files", b"some"), ("entries", b"")):
        (store.folder / name).mkdir(parents=True)
        files = hashlib.sha256(b"some").hexdigest()
        content = content or json.dumps({"format": 2, "parts": [files]}).encode()
        (store.folder / name / hashlib.sha256(content).hexdigest()).write_bytes(content)
    entry = next((store.folder / "entries").iterdir())
    with pytest.raises(EngineError, match="has the format 2"):
        store.load(entry.name, [], DockerEngine())
    assert store.discard(unused_for=0.0) == 0
    assert entry.exists()
    assert (store.folder / "files" / files).exists()


@pytest.mark.only_engine("namespace")
def test_the_command_lists_and_discards(env: TerminalEnv, store: SnapshotStore) -> None:
    """By digest and by age, as a table and as JSON; an age without a unit and an unknown digest are refused."""

    def run(*arguments: str, code: int = 0) -> str:
        done = CliRunner().invoke(snapshots_command, ["--store", str(store.folder), *arguments])
        assert done.exit_code == code, done.output
        return done.output

    with env.snapshot() as snapshot:
        digest = store.save(snapshot, env.engine)
    assert "30 is no age" in run("--unused-for", "30", code=2).replace("'", "")
    assert digest in run("--unused-for", "30d")
    (entry,) = json.loads(run("--json"))["snapshots"]
    assert (entry["digest"], entry["task"]) == (digest, "task")
    for wrong in ("../lock", digest[:-1], "0" * 64):
        assert f"there is no snapshot '{wrong}'" in run("--discard", wrong, code=2)
    assert "0 snapshots" in run("--discard", digest)
    assert json.loads(run("--json", "--unused-for", "0h")) == {"removed": 0, "snapshots": []}


def copy_with(entries: object) -> int:
    """Return a descriptor of a copy with this table."""
    copy = os.memfd_create("copy")
    table = json.dumps(entries).encode()
    os.write(copy, table + (0).to_bytes(8, "little"))
    return copy


def row(path: object, mode: int, same_as: int = -1, extents: object = ()) -> list[object]:
    """Return a row of a table."""
    return [path, mode, 0, 0, 0, 0, 0, 0, "/etc", same_as, extents, {}]


ROOT, DIR, FILE, LINK = row("", stat.S_IFDIR | 0o755), stat.S_IFDIR | 0o755, stat.S_IFREG | 0o644, stat.S_IFLNK | 0o777
HOSTILE = (
    [ROOT, row("../x", FILE)],
    [ROOT, row("/x", FILE)],
    [ROOT, row("..", DIR)],
    [ROOT, row("a", LINK), row("a/x", FILE)],
    [ROOT, row("a/x", FILE)],
    [ROOT, row("a", DIR), row("a/..", DIR), row("a/../b", FILE)],
    [ROOT, row("a", FILE, same_as=5)],
    [ROOT, row("a", FILE, same_as=1)],
    [ROOT, row("a", DIR), row("b", FILE, same_as=1)],
    [ROOT, row("a", FILE, extents=[[0, 0, 1 << 40]])],
    [ROOT, row("a", FILE, extents=[[0, -5, 1]])],
    [row("a", DIR)],
    [row("", LINK)],
    [["x"]],
    {"a": 1},
    7,
)


@pytest.mark.skipif(sys.platform != "linux", reason="memfd_create is Linux's")
@pytest.mark.parametrize("entries", HOSTILE, ids=str)
def test_a_file_that_leads_out_of_its_folder_is_no_snapshot(entries: object) -> None:
    """A table of unknown origin, with a digest that fits: links to folders, parents, and missing contents."""
    with ExitStack() as opened:
        copy = copy_with(entries)
        opened.callback(os.close, copy)
        with pytest.raises(ValueError, match=r"is in no folder|is the same|is not in it|cannot be read"):
            saved_files.check_copy(copy)


@pytest.mark.skipif(sys.platform != "linux", reason="memfd_create is Linux's")
@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=64))
def test_any_other_file_is_no_snapshot(data: bytes) -> None:
    """Whatever it holds, the check ends with its own error."""
    copy = os.memfd_create("copy")
    try:
        os.write(copy, data)
        with pytest.raises(ValueError, match=r"."):
            saved_files.check_copy(copy)
    finally:
        os.close(copy)


def test_a_store_without_entries_is_empty(store: SnapshotStore) -> None:
    """A folder that does not exist has none, and discarding makes nothing of it."""
    assert store.entries() == []
    assert store.discard(unused_for=0.0) == 0


@pytest.mark.only_engine("namespace")
def test_hostile_files_are_stored_as_they_are(engine: Engine, env: TerminalEnv, store: SnapshotStore) -> None:
    """Sockets, names that are not UTF-8, sparse and set-user-id files, attributes, marks of deletions, hard links."""
    script = (
        r"cd /desk; rm /etc/issue; mkfifo pipe; printf x > $(printf 'a\377b'); truncate -s 1G hole; printf y >> hole; "
        r"cp /bin/true suid; chown 12:34 suid; chmod 6755 suid; rm -r /etc/skel; mkdir /etc/skel; ln hole two; "
        "perl -e 'use Socket; socket(S,PF_UNIX,SOCK_STREAM,0); bind(S,sockaddr_un(\"/desk/s\"))'; ls -A /etc/skel; "
        r"stat -c '%N %f %u:%g %h %s %b %t' /desk/* /etc/skel; test -e /etc/issue; echo $?"
    )
    look = script[script.index("ls -A") :]
    before = said(env, script)
    with env.snapshot() as snapshot:
        digest = store.save(snapshot, engine)
    with loaded(store, env, digest) as again:
        env.restore(again)
    assert said(env, f"cd /desk; {look}") == before
    assert "socket" in said(env, "stat -c %F /desk/s")
