"""Judging an agent's work on every engine: what it may do against the tests, and what of it reaches them."""

from __future__ import annotations

import io
import json
import math
import os
import subprocess
import tarfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_terminal import TerminalEnv
from gem_terminal.archive import sanitize_artifact
from gem_terminal.engines import Container, Engine, Progress
from gem_terminal.episodes.healthcheck import await_health
from gem_terminal.errors import EngineError
from gem_terminal.task import Artifact, CollectCommand, Healthcheck, Image, ResourceLimits, SeparateVerifier, Task
from gem_terminal.task import Tests as HowToTest  # pytest would take the name for a class of tests
from gem_terminal.verdicts import verification
from gem_terminal.verdicts.verification import verify
from gem_terminal.verdicts.verifier_result import DOUBTS, FILES, VerifierResult, result_of_files, result_of_summary

SMALL_LIMITS = ResourceLimits(memory=256 << 20, processes=128, disk=64 << 20)
SOLVED = 'r=0; [ "$(cat /desk/answer 2>/dev/null)" = 42 ] && r=1; echo $r > /logs/verifier/reward.txt'


@pytest.fixture
def container(engine: Engine, small: Image) -> Iterator[Container]:
    """A fresh container with a folder to work in that is anybody's."""
    with engine.start(engine.prepare(small), SMALL_LIMITS) as made:
        sh(made, "mkdir -m 777 /desk")
        yield made


def sh(container: Container, command: str, user: str | None = None) -> str:
    """Run a command, as the agent would, and return what it said."""
    done = container.run(("bash", "-c", command), seconds=60.0, user=user)
    return done.output.decode(errors="replace")


def all_are_gone(container: Container) -> bool:
    """Tell whether there comes a moment without processes: one that was killed is there until it was buried."""
    deadline = time.monotonic() + 60
    while container.survivors():
        if time.monotonic() > deadline:
            return False
    return True


def task_of(folder: Path, script: str = SOLVED, **changes: Any) -> Task:
    """Return a task that a script verifies."""
    tests = folder / "tests"
    tests.mkdir(exist_ok=True)
    (tests / "test.sh").write_text(f"#!/bin/bash\n{script}\n")
    judged = HowToTest(
        sources=(tests,), command="/tests/test.sh > /logs/verifier/test-stdout.txt 2>&1", seconds=60.0, **changes
    )
    return Task("mine", "Do it.", Image(name="none"), judged, folder, "harbor")


def archive(*members: tuple[str, dict[str, Any], bytes]) -> bytes:
    """Return an archive whose members have these names, fields and contents."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as made:
        for name, fields, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            for key, value in fields.items():
                setattr(member, key, value)
            made.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def names(packed: bytes | None) -> list[str]:
    """Return the names of what is in an archive, sorted."""
    assert packed is not None
    with tarfile.open(fileobj=io.BytesIO(packed)) as members:
        return sorted(members.getnames())


# Files out of a container.


@pytest.mark.every_engine
def test_a_tree_is_given_as_it_lies(container: Container) -> None:
    """Names are relative to the folder above, links are links, and owners and modes are those in the container."""
    sh(container, "mkdir -p /t/a; cd /t/a; echo hi > f; chmod 640 f; chown 7:8 f; ln -s /etc/passwd l; mkfifo p")
    sh(container, f"cd /t/a; printf x > $'\\377'; echo long > {'n' * 200}")
    packed = container.get("/t/a")
    assert names(packed) == ["a", "a/f", "a/l", f"a/{'n' * 200}", "a/p", "a/\udcff"]
    with tarfile.open(fileobj=io.BytesIO(packed or b"")) as members:
        file, link = members.getmember("a/f"), members.getmember("a/l")
        assert (file.mode & 0o777, file.uid, file.gid, file.size) == (0o640, 7, 8, 3)
        assert (link.type, link.linkname) == (tarfile.SYMTYPE, "/etc/passwd")
        content = members.extractfile(file)
        assert content is not None
        assert content.read() == b"hi\n"
    assert names(container.get("/t/a/f")) == ["f"]
    assert names(container.get("/t/a/l")) == ["l"]


@pytest.mark.every_engine
@pytest.mark.parametrize("path", ["/nothing", "/etc/passwd/nothing", "/nothing/at/all"])
def test_what_is_not_there_is_none(container: Container, path: str) -> None:
    """A path that leads nowhere is no failure."""
    assert container.get(path) is None


@pytest.mark.every_engine
@pytest.mark.parametrize("command", ["truncate -s 40M /t/f", "for i in 1 2 3; do head -c 4M /dev/zero > /t/$i; done"])
def test_what_is_too_large_is_refused(container: Container, command: str) -> None:
    """No more than was allowed is held, and the container goes on."""
    sh(container, f"mkdir /t; {command}")
    with pytest.raises(EngineError, match="larger than 1000000 bytes"):
        container.get("/t", most=1_000_000)
    assert sh(container, "echo on") == "on\n"


@pytest.mark.every_engine
@pytest.mark.parametrize("path", ["/dev/zero", "/t/pipe", "/proc/1"])
def test_what_has_no_end_is_not_opened(container: Container, path: str) -> None:
    """A device, a pipe or a folder of the kernel is named at most."""
    sh(container, "mkdir /t; mkfifo /t/pipe")
    packed = container.get(path, most=10 << 20)
    assert packed is None or len(packed) < 10 << 20


def test_a_tree_that_changes_meanwhile_does_no_harm(container: Container) -> None:
    """Files that come, go, grow and become links or pipes are given as something, or refused."""
    sh(
        container,
        "mkdir -p /t/d; (while :; do echo secret > /t/x; head -c 300k /dev/zero >> /t/x; rm -f /t/x; mkfifo /t/x; "
        "rm -f /t/x; ln -s /etc/shadow /t/x; rm -f /t/x; mv /t/d /t/e; ln -s / /t/d; rm /t/d; mv /t/e /t/d; done) "
        ">/dev/null 2>&1 &",
    )
    for _ in range(20):
        try:
            packed = container.get("/t", most=1 << 20)
        except EngineError:
            continue
        assert not [name for name in names(packed) if name.count("/") > 2]


@pytest.mark.every_engine
def test_a_container_that_has_gone_gives_nothing(container: Container) -> None:
    """It is an error, and not a file that is missing."""
    container.remove()
    with pytest.raises(EngineError):
        container.get("/etc/passwd")


@pytest.mark.every_engine
@pytest.mark.parametrize("name", ["nsswitch.conf", "group"])
def test_nobody_is_held_up_by_who_the_container_knows(container: Container, name: str) -> None:
    """An engine that looks up names as the container says would wait for the end of a pipe, with everything locked."""
    sh(container, f"mkfifo /pipe; ln -sf /pipe /etc/{name}")
    try:
        assert names(container.get("/etc/hostname")) == ["hostname"]
    except EngineError as error:
        assert "not a regular file" in str(error)  # noqa: PT017  # one engine needs no names, and gives it
    container.remove()


@pytest.mark.every_engine
def test_files_are_put_whoever_the_container_knows(container: Container) -> None:
    """Owners are numbers: their names would be looked up as the container wants it, with its own libraries."""
    sh(container, "rm -f /etc/nsswitch.conf; mkfifo /etc/nsswitch.conf")
    fields = {"uname": "root", "gname": "wheel", "uid": 7, "gid": 8, "mode": 0o4757}
    container.put(archive(("x/f", fields, b"hi")), "/")
    assert container.run(("stat", "-c", "%u %g %a %s", "/x/f"), seconds=60.0).output == b"7 8 4757 2\n"


@pytest.mark.every_engine
def test_what_survives_is_counted_from_outside(container: Container) -> None:
    """Processes that go on count, those that have ended do not, and after all were killed there is none."""
    channels = [container.open(("sh", "-c", "echo up; exec sleep 1000")) for _ in range(3)]
    for channel in channels:
        assert channel.read(60.0) == b"up\n"
    sh(container, "true & wait $!; sleep 1000 >/dev/null 2>&1 & disown")
    assert container.survivors() == 4
    container.kill_all()
    for channel in channels:
        while channel.read(1.0) is not None:
            pass
        channel.close()
    assert all_are_gone(container)


# What may reach another container.

KEPT = [("out", {"type": tarfile.DIRTYPE}, b""), ("out/file", {"mode": 0o4755, "uid": 7}, b"data")]


@pytest.mark.parametrize(
    ("target", "stays"),
    [
        ("file", True),
        ("./file", True),
        ("sub/../file", False),
        ("../out/file", True),
        ("/app/out/file", True),
        ("/app/other/x", True),
        ("../other", True),
        ("../outside", False),
        ("/tests/expected", False),
        ("/app/out/../../tests/expected", False),
        ("../../tests/expected", False),
        ("/", False),
        ("..", False),
        ("", False),
        ("a" * 5000, False),
    ],
)
def test_a_link_is_carried_if_it_stays(target: str, stays: bool) -> None:
    """A link may lead to what is carried as well, and nowhere else."""
    packed = archive(*KEPT, ("out/link", {"type": tarfile.SYMTYPE, "linkname": target}, b""))
    artifacts = [Artifact("/app/out"), Artifact("/app/other")]
    assert ("app/out/link" in names(sanitize_artifact(packed, artifacts[0], artifacts))) == stays


@pytest.mark.parametrize(
    "member",
    [
        ("out/../../etc/passwd", {}, b"x"),
        ("/etc/passwd", {}, b"x"),
        ("other/file", {}, b"x"),
        ("out/device", {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 5}, b""),
        ("out/pipe", {"type": tarfile.FIFOTYPE}, b""),
        ("out/hard", {"type": tarfile.LNKTYPE, "linkname": "/etc/shadow"}, b""),
        ("out/hard", {"type": tarfile.LNKTYPE, "linkname": "out/later"}, b""),
        ("out/.git/config", {}, b"x"),
        ("out/deep/core.1", {}, b"x"),
        ("out/secret/file", {}, b"x"),
        ("out/file", {}, b"twice"),
    ],
)
def test_what_may_not_be_carried_is_left_out(member: tuple[str, dict[str, Any], bytes]) -> None:
    """Names that lead out, what is no file, what the task excludes and what no artifact may bring stay behind."""
    artifact = Artifact("/app/out", exclude=(".git", "core.*"))
    safe = sanitize_artifact(archive(*KEPT, member), artifact, [artifact], never=("/app/out/secret",))
    assert names(safe) == ["app/out", "app/out/file"]
    with tarfile.open(fileobj=io.BytesIO(safe)) as members:
        file = members.getmember("app/out/file")
        assert (file.mode, file.uid, file.size) == (0o755, 7, 4)


def test_nothing_is_written_through_a_link() -> None:
    """An archive that has a link, and then something in what it leads to, is as no tree is."""
    packed = archive(
        *KEPT, ("out/d", {"type": tarfile.SYMTYPE, "linkname": "file"}, b""), ("out/d/deeper/file", {}, b"x")
    )
    artifact = Artifact("/app/out")
    assert names(sanitize_artifact(packed, artifact, [artifact])) == ["app/out", "app/out/d", "app/out/file"]


@given(st.binary(max_size=2000))
def test_any_bytes_are_an_archive_or_an_error(content: bytes) -> None:
    """What no engine would return is refused in a way that is expected."""
    artifact = Artifact("/app/out")
    try:
        sanitize_artifact(archive(*KEPT)[:1024] + content, artifact, [artifact])
    except (tarfile.TarError, EOFError, OverflowError, ValueError):
        return


# What the tests say.


@pytest.mark.parametrize(
    ("written", "rewards"),
    [
        ({"reward.txt": b"1"}, {"reward": 1.0}),
        ({"reward.txt": b" 0.25\n"}, {"reward": 0.25}),
        ({"reward.json": b"0.5", "reward.txt": b"1"}, {"reward": 0.5}),
        ({"reward.json": b'{"a": 1, "b": 0}'}, {"a": 1.0, "b": 0.0}),
        ({"reward.json": b'{"reward": true}'}, {"reward": 1.0}),
    ],
)
def test_a_reward_is_read(written: dict[str, bytes | ValueError], rewards: dict[str, float]) -> None:
    """reward.json comes first; a number, or numbers by name."""
    assert result_of_files(written).rewards == rewards


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("reward.txt", b""),
        ("reward.txt", b"nan"),
        ("reward.txt", b"inf"),
        ("reward.txt", b"much"),
        ("reward.txt", b"\xff\xfe1"),
        ("reward.txt", b"1" * 1_000_000),
        ("reward.json", b""),
        ("reward.json", b"{}"),
        ("reward.json", b"[1]"),
        ("reward.json", b"null"),
        ("reward.json", b'"1"'),
        ("reward.json", b'{"a": NaN}'),
        ("reward.json", b'{"a": 1e309}'),
        ("reward.json", b'{"a": 1' + b"0" * 400 + b"}"),
        ("reward.json", b'{"a": [1]}'),
        ("reward.json", b"[" * 100_000),
        ("reward.json", b'{"a":' * 100_000),
        ("reward.json", ValueError("it is not a regular file")),
    ],
)
def test_what_is_no_reward_is_an_error(name: str, content: bytes | ValueError) -> None:
    """It is 0.0, it is said why, and the other file does not stand in for it."""
    result = result_of_files({"reward.txt": b"1", name: content})
    assert (result.reward, result.rewards, result.success) == (0.0, {}, False)
    assert result.error is not None
    assert name in result.error
    assert len(result.error) < 400


def test_a_reward_out_of_range_counts_as_the_end_of_it() -> None:
    """What was written stays to be seen; several numbers count as their mean, unless one is called the reward."""
    assert [VerifierResult({"reward": value}).reward for value in (-3.0, 0.5, 7.0)] == [0.0, 0.5, 1.0]
    assert VerifierResult({"reward": 7.0}).rewards == {"reward": 7.0}
    assert VerifierResult({"a": 1.0, "b": 0.0}).reward == 0.5
    assert VerifierResult({"reward": 1.0, "speed": 0.0}).reward == 1.0


CTRF = {
    "results": {
        "tool": {"name": "pytest"},
        "summary": {"tests": 4, "passed": 9},
        "tests": [
            {"name": "test_a", "status": "passed", "duration": 1},
            {"name": "test_b", "status": "failed"},
            {"name": "test_c", "status": "passed"},
            {"name": "test_d", "status": "skipped"},
        ],
    }
}


def test_a_report_of_tests_gives_their_share() -> None:
    """The tests one by one come from ctrf.json, and the reward from the task all the same."""
    result = result_of_files({"reward.txt": b"0", "ctrf.json": json.dumps(CTRF).encode()})
    assert (result.reward, result.passed, result.total, result.fraction) == (0.0, 2, 3, 2 / 3)
    assert result.tests == {"test_a": True, "test_b": False, "test_c": True}
    assert result_of_files({"ctrf.json": json.dumps(CTRF).encode()}).fraction is None, "there is no reward"


@pytest.mark.parametrize(
    "report",
    [
        b"",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b'{"results": {"tests": 7}}',
        b'{"results": {"tests": []}}',
        b'{"results": {"tests": [1]}}',
        b'{"results": {"tests": [{"name": "a", "status": []}]}}',
    ],
)
def test_a_report_that_is_none_is_passed_over(report: bytes) -> None:
    """The reward is the task's, and how many tests passed is not known."""
    result = result_of_files({"reward.txt": b"1", "ctrf.json": report})
    assert (result.reward, result.fraction, result.total) == (1.0, None, None)


@given(
    st.dictionaries(st.sampled_from(sorted(FILES)), st.binary(max_size=300) | st.sampled_from([b"1", b"{}", b"nan"]))
)
def test_whatever_tests_write_there_is_a_verdict(written: dict[str, bytes | ValueError]) -> None:
    """It has a reward or an error, never both, and survives JSON."""
    result = result_of_files(written)
    assert 0.0 <= result.reward <= 1.0
    assert bool(result.rewards) == (result.error is None)
    assert all(math.isfinite(reward) for reward in result.rewards.values())
    json.dumps([result.rewards, result.error, result.log, result.tests], allow_nan=False).encode()


@pytest.mark.parametrize(
    ("lines", "reward", "passed", "total"),
    [
        ("PASSED t.py::a\nPASSED t.py::b", 1.0, 2, 2),
        ("PASSED t.py::a\nFAILED t.py::b - assert 1 == 2\n==== 1 failed, 1 passed in 0.01s ====", 0.0, 1, 2),
        ("FAILED t.py::b - assert 1\n=== 1 failed, 9 passed, 3 warnings in 1.20s ===", 0.0, 9, 10),
        ("SKIPPED [1] t.py:3: no\nXFAIL t.py::x - known\n== 1 skipped, 1 xfailed in 0.1s ==", 1.0, 2, 2),
        ("XPASS t.py::x\nERROR t.py::y", 0.0, 0, 2),
        (
            "\x1b[32mPASSED\x1b[0m t.py::\x1b[1ma\x1b[0m\n\x1b[32m===== \x1b[32m\x1b[1m1 passed\x1b[0m in 0.1s =====",
            1.0,
            1,
            1,
        ),
        ("FAILED t.py::a\n==== 1 passed in 0.1s ====", 0.0, 1, 1),
        ("PASSED t.py::a[x - y]\nFAILED t.py::a[x - z]", 0.0, 1, 2),
    ],
)
def test_the_summary_of_pytest_is_read(lines: str, reward: float, passed: int, total: int) -> None:
    """One test that fails is enough for 0.0, whichever of its lines says so."""
    result = result_of_summary(f"...\n=== short test summary info ===\n{lines}\n".encode())
    assert (result.reward, result.passed, result.total) == (reward, passed, total)


@pytest.mark.parametrize("output", [b"", b"PASSED t.py::a", b"== short test summary info ==\n", b"\xff" * 1000])
def test_no_summary_is_no_success(output: bytes) -> None:
    """All of no tests have passed, and that is an error."""
    result = result_of_summary(output)
    assert (result.reward, result.rewards, result.total) == (0.0, {}, None)
    assert "summary" in str(result.error)


@given(
    st.lists(st.sampled_from(["PASSED", "FAILED", " ", "a", "1", "=", ", ", " in ", "passed", "\n", " - ", "\x1b["]))
)
def test_any_summary_is_read_in_time(parts: list[str]) -> None:
    """What a program prints to confuse the reader costs no more than it is long."""
    text = "short test summary info\n" + "".join(parts) * 200
    assert 0.0 <= result_of_summary(text.encode()).reward <= 1.0


# In the agent's container.


DOUBTFUL: dict[str, tuple[Mapping[str, bytes], tuple[str, ...]]] = {
    "a sound reward": ({"reward.txt": b"1"}, ()),
    "too much": ({"reward.txt": b"1.5"}, ("out-of-range",)),
    "less than nothing": ({"reward.json": b'{"a": 0.5, "b": -1}'}, ("out-of-range",)),
    "a truth": ({"reward.json": b'{"reward": true}'}, ("no-number",)),
    "skipped": (
        {"reward.txt": b"1", "ctrf.json": b'{"results": {"tests": [{"name": "a", "status": "skipped"}]}}'},
        ("all-skipped",),
    ),
    "none has ended": (
        {"reward.txt": b"1", "ctrf.json": b'{"results": {"tests": [{"name": "a", "status": "pending"}]}}'},
        ("all-skipped",),
    ),
    "no tests": ({"reward.txt": b"1", "ctrf.json": b'{"results": {"tests": []}}'}, ()),
    "one passed": (
        {
            "reward.txt": b"1",
            "ctrf.json": b'{"results": {"tests": [{"name": "a", "status": "skipped"},'
            b' {"name": "b", "status": "passed"}]}}',
        },
        (),
    ),
}


@pytest.mark.parametrize("case", DOUBTFUL)
def test_a_reward_that_is_accepted_may_be_doubted(case: str) -> None:
    """The rules of the format decide the reward; the doubt stands beside it."""
    written, doubts = DOUBTFUL[case]
    result = result_of_files(written)
    assert (result.error, result.doubts) == (None, doubts)
    assert set(doubts) <= set(DOUBTS)


@pytest.mark.parametrize(
    ("summary", "doubts"),
    [
        ("SKIPPED [2] a.py:3: no network\n==== 2 skipped in 0.01s ====", ("all-skipped",)),
        ("SKIPPED [1] a.py:3: why\nPASSED a.py::b", ()),
        ("==== 1 passed, 1 skipped in 0.01s ====", ()),
        ("==== 3 skipped in 0.01s ====", ("all-skipped",)),
        ("XFAIL a.py::b\nSKIPPED [1] a.py:3: why\n==== 1 skipped, 1 xfailed in 0.01s ====", ("all-skipped",)),
        ("==== 1 passed, 3 xfailed in 0.01s ====", ()),
    ],
)
def test_a_summary_of_skipped_tests_is_doubted(summary: str, doubts: tuple[str, ...]) -> None:
    """Terminal-Bench 1 pays it in full."""
    result = result_of_summary(f"=== short test summary info ===\n{summary}\n".encode())
    assert (result.reward, result.doubts) == (1.0, doubts)


@pytest.mark.every_engine
@pytest.mark.parametrize(("answer", "reward"), [("42", 1.0), ("41", 0.0)])
def test_work_is_judged(container: Container, tmp_path: Path, answer: str, reward: float) -> None:
    """The tests see what the agent has made; what they print is kept."""
    sh(container, f"echo {answer} > /desk/answer")
    result = verify(task_of(tmp_path, f"echo I look; {SOLVED}"), container)
    assert (result.reward, result.error, result.log) == (reward, None, "I look\n")


LATER = "(sleep 0.1; echo 42 > /desk/answer) >/dev/null 2>&1 &"
"""Answers once the tests have begun, if it is executed."""

AS_ROOT = {
    "a test of its own": "mkdir -p /tests; echo 'echo 1 > /logs/verifier/reward.txt' > /tests/test.sh",
    "a reward of its own": "mkdir -p /logs/verifier; echo 1 | tee /logs/verifier/reward.json /logs/verifier/reward.txt",
    "a reward that cannot be written": "mkdir -p /logs/verifier/reward.txt /logs/verifier/reward.json/x",
    "tests that are a link": "rm -rf /tests; mkdir /desk/t; ln -s /desk/t /tests",
    "logs that are a link": "rm -rf /logs; mkdir /desk/l; ln -s /desk/l /logs",
    "logs that are a file": "rm -rf /logs; echo 1 > /logs",
    "logs that are a pipe": "rm -rf /logs; mkfifo /logs",
    "a deep tree in its way": "cd /; p=$(printf 'tests/%.0s' {1..600}); for i in 1 2 3; do mkdir -p $p; cd $p; done",
    "files that change nothing": "mkdir -p /tests; chattr +i /tests; mount -t tmpfs none /tests; unshare -Urm true",
    "settings of a shell": (
        "for f in ~/.bashrc ~/.profile ~/.bash_profile /etc/profile /etc/bash.bashrc ~/.bash_env; do "
        f"echo '{LATER}' >> $f; done; export BASH_ENV=~/.bash_env ENV=~/.bash_env"
    ),
    "a shell before the shell": (
        f"cd /usr/local/bin; printf '#!/bin/sh\\n%s\\nexec /bin/${{0##*/}} \"$@\"\\n' '{LATER}' > bash; "
        "chmod +x bash; for name in sh mkdir chmod chown; do cp bash $name; done"
    ),
    "a process that stays": "(trap '' TERM HUP INT; while :; do echo 42 > /desk/answer; done) & disown",
    "a daemon": "setsid sh -c 'setsid sh -c \"while :; do echo 42 > /desk/answer; done\" &' &",
    "one that comes back": (
        "f() { while :; do echo 42 > /desk/answer; (trap '' TERM; f) & sleep 0.01; done; }; export -f f; "
        "(f & f & f &) >/dev/null 2>&1"
    ),
    "many that do nothing": "for i in {1..100}; do sleep 1000 & done; disown -a",
    "one that is the child of the first": "(sleep 1000 & exec -a sleep sleep 1000) & disown",
    "a limit on files": "ulimit -f 0 -n 3 -u 1",
    "no answer": "rm -f /desk/answer",
}


@pytest.mark.parametrize("case", AS_ROOT)
def test_what_root_leaves_behind_earns_nothing(container: Container, tmp_path: Path, case: str) -> None:
    """Planted files, settings and processes have no part in the verdict, and no process is left."""
    sh(container, AS_ROOT[case])
    result = verify(task_of(tmp_path, f"rm -f /desk/answer; sleep 0.2; {SOLVED}"), container)
    assert (result.reward, result.error) == (0.0, None)
    assert container.survivors() == 0


BROKEN = {
    "no shell": "rm -f /bin/sh /usr/bin/sh /bin/bash /usr/bin/bash",
    "no programs": "rm -rf /usr/bin /bin",
    "no users": "rm -f /etc/passwd; mkfifo /etc/passwd",
    "root is another": "sed -i 's/^root:x:0:0/root:x:1000:1000/' /etc/passwd",
    "an endless list of users": "truncate -s 100G /etc/passwd",
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_container_gives_no_reward(
    container: Container, tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without what tests need there is an error, of the verdict or of the engine, in good time."""
    monkeypatch.setattr(verification, "_PREPARES_IN", 3.0)
    sh(container, "echo 42 > /desk/answer")
    sh(container, BROKEN[case])
    try:
        result = verify(task_of(tmp_path), container)
    except EngineError:
        return
    assert result.reward == float(case == "an endless list of users" and result.error is None)


def test_a_full_disk_is_no_failure_of_the_engine(container: Container, tmp_path: Path) -> None:
    """Tests that have no room to report give no reward, and it is said why; where the disk grows they may."""
    sh(container, "head -c 200M /dev/zero > /desk/full; for i in {1..200}; do head -c 1M /dev/zero > /desk/$i; done")
    result = verify(task_of(tmp_path, f"echo 42 > /desk/answer; {SOLVED}"), container)
    assert (result.reward == 1.0) == (result.error is None)


AS_USER = {
    "a program of its own": (
        "mkdir -p /tmp/bin; printf '#!/bin/sh\\necho 42\\n' > /tmp/bin/cat; chmod +x /tmp/bin/cat; cp /tmp/bin/cat ."
    ),
    "variables": "export LD_PRELOAD=/tmp/x BASH_ENV=/tmp/env PATH=/tmp/bin:$PATH; echo 'cat() { echo 42; }' > /tmp/env",
    "the files of the system": "echo x >> /etc/ld.so.preload; echo 'cat() { echo 42; }' >> /root/.bashrc /etc/profile",
    "a respawning process": "(trap '' TERM; while :; do echo 42 > /desk/answer; done) & disown",
    "places that root uses": "mkdir -p /tests /logs/verifier; echo 1 > /logs/verifier/reward.txt; ln -s /desk /tests",
}


@pytest.mark.parametrize("case", AS_USER)
def test_an_ordinary_user_has_no_say_in_tests_that_root_runs(container: Container, tmp_path: Path, case: str) -> None:
    """Nothing that it can write to is executed or believed."""
    sh(container, f"cd /desk; {AS_USER[case]}", user="nobody")
    task = replace(task_of(tmp_path, f"rm -f /desk/answer; sleep 0.2; {SOLVED}"), workdir="/desk", user="nobody")
    result = verify(task, container)
    assert (result.reward, result.error) == (0.0, None)


@pytest.mark.only_engine("docker", "namespace")  # it looks at processes of this machine
@pytest.mark.every_engine
def test_processes_that_stop_what_kills_them_are_killed(container: Container, tmp_path: Path) -> None:
    """Root in a container may stop whatever is started in it; the verdict is 0 all the same.

    Docker starts a command by a process inside, which may be stopped or end with the others; the verdict then says why.
    """
    channels = [
        container.open(("bash", "-c", "for i in 1 2; do (while :; do kill -STOP -1; done) & done; sleep 1000")),
        container.open(("sleep", "1000")),
    ]
    deadline = time.monotonic() + 60
    while "T" not in _states_in(container):
        assert time.monotonic() < deadline
    result = verify(task_of(tmp_path), container)
    assert result.reward == 0.0
    assert result.error is None or "the container cannot be prepared for the tests: OCI runtime exec" in result.error
    for channel in channels:
        channel.close()


def test_tests_run_as_their_own_user(container: Container, tmp_path: Path) -> None:
    """They can be read, executed and report, whatever the modes are on the machine that they come from."""
    task = task_of(tmp_path, "id -un; cat /tests/data; echo 1 > /logs/verifier/reward.txt", user="nobody")
    (tmp_path / "tests" / "data").write_text("seen")
    (tmp_path / "tests" / "data").chmod(0o600)
    (tmp_path / "tests").chmod(0o700)
    result = verify(task, container)
    assert (result.reward, result.log) == (1.0, "nobody\nseen")


WRITES = {
    "nothing": ("", "neither reward.json nor reward.txt"),
    "a folder": ("mkdir reward.json; echo 1 > reward.txt", "not a regular file"),
    "a pipe": ("mkfifo reward.txt", "not a regular file"),
    "a link": ("ln -s /dev/zero reward.txt", "not a regular file"),
    "a giant": ("truncate -s 60M reward.json", "larger than|longer than"),
    "a long number": ("head -c 3M /dev/zero | tr '\\\\0' 1 > reward.txt", "longer than"),
    "a crowd": ("echo 1 > reward.txt; head -c 20M /dev/zero > other.log; truncate -s 2M reward.json", "reward.json"),
}


@pytest.mark.parametrize("case", WRITES)
def test_what_tests_write_instead_of_a_reward_is_an_error(container: Container, tmp_path: Path, case: str) -> None:
    """It is read in bounded time and memory, without following or opening what is no file."""
    script, error = WRITES[case]
    result = verify(task_of(tmp_path, f"echo I tried; cd /logs/verifier; {script}"), container)
    assert result.reward == 0.0
    assert result.error is not None
    assert any(part in result.error for part in error.split("|"))
    assert result.log == "I tried\n"


def test_a_reward_beside_large_files_is_read(container: Container, tmp_path: Path) -> None:
    """Recordings and logs of the tests do not stand in its way; a log that is too long is not shown."""
    script = "echo 0.5 > /logs/verifier/reward.txt; head -c 20M /dev/zero > /logs/verifier/video; head -c 18M /dev/zero"
    result = verify(task_of(tmp_path, script), container)
    assert (result.reward, result.error) == (0.5, None)
    assert "cannot be shown" in result.log


def test_tests_that_take_too_long_are_ended(container: Container, tmp_path: Path) -> None:
    """There is no reward, though one was written, and what they printed is kept."""
    task = task_of(tmp_path, "echo 1 > /logs/verifier/reward.txt; echo begun; sleep 100")
    task = replace(task, tests=replace(task.tests, seconds=3.0))
    result = verify(task, container)
    assert (result.reward, result.log) == (0.0, "begun\n")
    assert "longer than 3 seconds" in str(result.error)
    assert all_are_gone(container)


@pytest.mark.parametrize("keep", [True, False])
def test_a_server_is_kept_for_the_tests_if_asked(container: Container, tmp_path: Path, keep: bool) -> None:
    """What the agent has started goes on only then."""
    sh(container, "mkfifo /desk/port; setsid bash -c 'while :; do echo 42 > /desk/port; done' >/dev/null 2>&1 &")
    script = f"read -t {30 if keep else 1} x <> /desk/port; echo $((x == 42)) > /logs/verifier/reward.txt"
    assert verify(task_of(tmp_path, script), container, keep_processes=keep).reward == float(keep)


def test_the_summary_of_the_older_format_is_judged(container: Container, tmp_path: Path) -> None:
    """Terminal-Bench 1: the reward is all or nothing, and the share is there as well."""
    (tmp_path / "run-tests.sh").write_text(
        "printf '== short test summary info ==\\nPASSED a\\nFAILED b - no\\n'; exit 1"
    )
    tests = HowToTest(sources=(tmp_path / "run-tests.sh",), command="bash /tests/run-tests.sh", reward="pytest")
    result = verify(Task("old", "Do it.", Image(name="none"), tests, tmp_path, "terminal-bench"), container)
    assert (result.reward, result.fraction, result.error) == (0.0, 0.5, None)


def test_a_container_that_dies_is_an_error_of_the_engine(container: Container, tmp_path: Path) -> None:
    """It says nothing about the agent's work."""
    container.remove()
    with pytest.raises(EngineError):
        verify(task_of(tmp_path), container)


# In a container of their own.


class WatchedContainer:
    """An engine that remembers what it has started."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.started: list[tuple[Container, ResourceLimits]] = []

    def prepare(self, image: Image, progress: Progress | None = None) -> str:
        return self._engine.prepare(image, progress)

    def start(self, reference: str, limits: ResourceLimits, environment: Any = None) -> Container:
        container = self._engine.start(reference, limits, environment)
        self.started.append((container, limits))
        return container


@pytest.fixture
def watched(engine: Engine) -> Any:
    """The engine, watched."""
    return WatchedContainer(engine)


def separate(folder: Path, small: Image, script: str = SOLVED, *artifacts: str | Artifact, **changes: Any) -> Task:
    """Return a task whose tests run in a container of their own."""
    named = tuple(Artifact(each) if isinstance(each, str) else each for each in artifacts)
    place = SeparateVerifier(small, SMALL_LIMITS, artifacts=named, **changes)
    return task_of(folder, script, separate=place)


def test_only_what_is_declared_reaches_a_verifier_of_its_own(
    container: Container, watched: Any, small: Image, tmp_path: Path
) -> None:
    """Artifacts, and /logs/artifacts, at their paths; nothing else of the agent's, and none of its programs."""
    sh(
        container,
        "cd /desk; echo 42 > answer; echo x > other; mkdir -p /logs/artifacts /app/out/.git; "
        "echo y > /logs/artifacts/n; echo z > /app/out/z; echo g > /app/out/.git/g; chmod 757 /app/out/z; "
        "rm /bin/bash /usr/bin/cat; mkdir /tests; sleep 1000 >/dev/null 2>&1 & disown",
    )
    script = (
        "find /desk /app /logs/artifacts -type f -printf '%p %m\\n' | sort; ls /gone 2>&1; env | grep KIND; pwd; cd; "
        "[ $(cat /desk/answer /app/*/z /logs/artifacts/n | tr -d '\\n') = 42zy ] && echo 1 > /logs/verifier/reward.txt"
    )
    task = separate(
        tmp_path, small, script, "/desk/answer", Artifact("/app/out", (".git",)), "/gone",
        environment={"KIND": "verifier"}, workdir="/tmp",
    )  # fmt: skip
    result = verify(task, container, watched)
    assert (result.reward, result.error) == (1.0, None)
    assert result.log == (
        "/app/out/z 757\n/desk/answer 644\n/logs/artifacts/n 644\nls: cannot access '/gone': No such file or "
        "directory\nKIND=verifier\n/tmp\n"
    )
    assert container.survivors() == 0
    ((verifier, limits),) = watched.started
    assert limits == SMALL_LIMITS
    with pytest.raises(EngineError):
        verifier.run(("true",), seconds=30.0)


LEADS_OUT = {
    "to the tests": "ln -s /tests/expected /desk/answer",
    "over a folder": "mkdir -p /desk/d; ln -s / /desk/d/up; ln -s d/up/tests/expected /desk/answer",
    "with dots": "ln -s ../tests/expected /desk/answer",
    "by a hard link": "ln /etc/passwd /desk/answer",
    "as a pipe": "mkfifo /desk/answer",
}


@pytest.mark.parametrize("case", LEADS_OUT)
def test_no_link_leads_a_verifier_to_its_own_files(
    container: Container, watched: Any, small: Image, tmp_path: Path, case: str
) -> None:
    """An answer that is a link to the expected one is no answer."""
    sh(container, f"mkdir -p /tests; echo 42 > /tests/expected; {LEADS_OUT[case]}")
    task = separate(tmp_path, small, "mkdir -p /desk; " + SOLVED, "/desk")
    (tmp_path / "tests" / "expected").write_text("42\n")
    result = verify(task, container, watched)
    assert (result.reward, result.error) == (0.0, None)


def test_no_artifact_brings_tests_or_a_reward(container: Container, watched: Any, small: Image, tmp_path: Path) -> None:
    """Not even one that is declared so widely that they lie in it."""
    sh(container, "mkdir -p /logs/verifier; echo 1 | tee /logs/verifier/reward.json /logs/seen")
    script = "ls /logs/verifier/reward.json /logs/seen 2>/dev/null; echo 0.5 > /logs/verifier/reward.txt"
    result = verify(separate(tmp_path, small, script, "/logs"), container, watched)
    assert (result.reward, result.log) == (0.5, "/logs/seen\n")


def test_what_runs_is_written_down_first(container: Container, watched: Any, small: Image, tmp_path: Path) -> None:
    """Commands that collect meet the agent's processes alive, have their user and their time, and may fail."""
    sh(container, "mkfifo -m 666 /desk/port; setsid bash -c 'while :; do echo 42 > /desk/port; done' >/dev/null 2>&1 &")
    hooks = (
        CollectCommand("read x < /desk/port; echo $x > /desk/answer; id -un > /desk/who", user="nobody"),
        CollectCommand("false"),
        CollectCommand("echo late > /desk/late; sleep 1000", seconds=3.0),
    )
    task = separate(tmp_path, small, f"cat /desk/who /desk/late; {SOLVED}", "/desk", collect=hooks)
    result = verify(task, container, watched)
    assert (result.reward, result.log) == (1.0, "nobody\nlate\n")
    assert container.survivors() == 0


def test_artifacts_without_end_are_an_error_of_the_verdict(
    container: Container, watched: Any, small: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent has made them, and no container is started for them."""
    monkeypatch.setattr(verification, "_MOST_CARRIED", 1 << 20)
    sh(container, "truncate -s 600K /desk/a /desk/b")
    result = verify(separate(tmp_path, small, SOLVED, "/desk/a", "/desk/b"), container, watched)
    assert (result.rewards, watched.started) == ({}, [])
    assert "artifacts cannot be copied: /desk/b" in str(result.error)


def test_an_image_may_bring_the_tests(container: Container, engine: Engine, watched: Any, tmp_path: Path) -> None:
    """A Dockerfile among the tests is built, and what it has in /tests is what runs, executable or not."""
    tests = tmp_path / "tests"
    tests.mkdir()
    (tests / "Dockerfile").write_text("FROM debian:bookworm-slim\nCOPY test.sh /tests/test.sh\n")
    (tests / "test.sh").write_text(f"#!/bin/bash\n{SOLVED}\n")
    (tests / "test.sh").chmod(0o644)
    place = SeparateVerifier(Image(folder=tests), SMALL_LIMITS, artifacts=(Artifact("/desk/answer"),))
    task = task_of(tmp_path)
    task = replace(task, tests=replace(task.tests, sources=(), separate=place))
    sh(container, "echo 42 > /desk/answer")
    assert verify(task, container, watched).reward == 1.0


def test_an_episode_ends_in_a_verifier_of_its_own(engine: Engine, tmp_path: Path) -> None:
    """From the folder of a task to its reward: the agent may write to /logs/artifacts, and begins when all is well."""
    for name, content in {
        "task.toml": (
            "artifacts = ['/desk']\n[agent]\nuser = 'nobody'\n[verifier]\nenvironment_mode = 'separate'\n"
            "[environment.healthcheck]\ncommand = 'echo up >> /desk/health; test -s /desk/health'\n"
        ),
        "instruction.md": "Answer.",
        "environment/Dockerfile": "FROM debian:bookworm-slim\nRUN mkdir -m 777 /desk\n",
        "tests/test.sh": (
            "#!/bin/bash\n[ $(cat /desk/health)$(cat /logs/artifacts/answer) = up42 ]\n"
            "echo $((1 - $?)) > /logs/verifier/reward.txt\n"
        ),
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    with TerminalEnv(path=tmp_path, engine=engine, strict=True) as env:
        env.reset(seed=0)
        env.step("<bash>echo 42 > /logs/artifacts/answer</bash>")
        _, reward, terminated, _, info = env.step("<finish/>")
        assert (reward, terminated) == (1.0, True), info


def test_a_verifier_of_its_own_needs_an_engine(container: Container, small: Image, tmp_path: Path) -> None:
    """Tests are not run in the agent's container instead."""
    with pytest.raises(EngineError, match="engine"):
        verify(separate(tmp_path, small), container)


# Before the agent begins.


def test_a_container_is_awaited(container: Container) -> None:
    """Attempts go on until one succeeds; those of the start period do not count."""
    command = "echo x >> /desk/tries; [ $(wc -l < /desk/tries) -ge 4 ]"
    await_health(container, Healthcheck(command, interval=0.0, start_period=600.0, start_interval=0.0, retries=1))
    assert sh(container, "wc -l < /desk/tries") == "4\n"
    await_health(container, Healthcheck(command.replace("-ge 4", "-ge 6"), interval=0.0, retries=2))


@pytest.mark.parametrize(
    ("command", "why"), [("echo not yet; false", "not yet"), ("exec sleep 100", "no end after 0.2")]
)
def test_a_container_that_never_gets_healthy_is_an_error(container: Container, command: str, why: str) -> None:
    """It says how often it was tried, and what it said last."""
    with pytest.raises(EngineError, match=f"2 attempts.*{why}"):
        await_health(
            container, Healthcheck(command, interval=0.0, seconds=0.2 if "sleep" in command else 60, retries=2)
        )


def test_a_process_that_has_ended_is_no_survivor_before_its_parent_buries_it() -> None:
    """A first process that has just begun may bury it late, and an agent's program never; a running one survives."""
    from gem_terminal.engines.processes import others_than

    with subprocess.Popen(["sleep", "60"]) as running, subprocess.Popen(["true"]) as ended:
        try:
            os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
            survivors = others_than(os.getpid())
            assert (running.pid in survivors, ended.pid in survivors) == (True, False)
        finally:
            running.kill()


def _states_in(container: Container) -> str:
    """Return what an engine sees of the states of processes."""
    from gem_terminal.engines.processes import others_than

    pid: int = container._pid  # type: ignore[attr-defined]
    states = ""
    for other in others_than(pid):
        with suppress(OSError):  # it has ended meanwhile
            states += Path(f"/proc/{other}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    return states
