"""What an agent may do to its container, by mistake or not: contained, told, and the next command or episode works."""

from __future__ import annotations

import json
import os
import re
import select
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gem_terminal import TerminalEnv
from gem_terminal.engines import Container, Engine
from gem_terminal.engines.docker.container import DockerContainer
from gem_terminal.engines.namespace.container import NamespaceContainer
from gem_terminal.errors import EngineError
from gem_terminal.task import Image, ResourceLimits

FILES = {
    "task.toml": (
        "[agent]\ntimeout_sec = 600.0\n[environment]\nnetwork_mode = 'no-network'\nmemory_mb = 256\nstorage_mb = 64\n"
    ),
    "instruction.md": "Do no harm.",
    "environment/Dockerfile": "FROM debian:bookworm-slim\nRUN mkdir /desk\nWORKDIR /desk\n",
    "tests/test.sh": "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n",
}


@pytest.fixture
def env(engine: Engine, tmp_path: Path) -> Iterator[TerminalEnv]:
    """A task with 256 MiB of memory and 64 MiB of disk, begun."""
    with _env(engine, tmp_path / "harmless") as made:
        made.reset(seed=0)
        yield made


@pytest.fixture(scope="module")
def shared(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TerminalEnv]:
    """The same, for tests that leave it as it was."""
    with _env(engine, tmp_path_factory.mktemp("attacks") / "harmless") as made:
        made.reset(seed=0)
        yield made


def _env(engine: Engine, folder: Path, *, keep_processes: bool | None = None, **files: str) -> TerminalEnv:
    for name, content in {**FILES, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return TerminalEnv(path=folder, engine=engine, max_turns=1000, keep_processes=keep_processes)


def run(env: TerminalEnv, command: str, seconds: float = 30.0) -> tuple[str, dict[str, Any]]:
    """Run a command as an agent does; return the observation and the info of a step that goes on."""
    arguments = json.dumps({"command": command, "timeout_secs": seconds})
    function = {"name": "bash", "arguments": arguments}
    calls = [{"id": "1", "type": "function", "function": function}]
    observation, _, terminated, truncated, info = env.step({"role": "assistant", "content": None, "tool_calls": calls})
    assert (terminated, truncated) == (False, False), info
    return observation, info


def assert_goes_on(env: TerminalEnv) -> None:
    """The next command runs, forks and is exact; Bash may report between its lines a job that was killed before."""
    observation, _ = run(env, "echo a | tr a b; (exit 3)")
    assert re.search(r"b\n(bash: line \d+: +\d+ Killed .*\n)?\[exit code 3\]$", observation), observation


def assert_works(env: TerminalEnv) -> None:
    """The next command works, and the task can be finished."""
    assert_goes_on(env)
    assert env.step("<finish/>")[1:4] == (1.0, True, False)


FORK_BOMBS = {
    "in the background": "f() { f | f & }; f; sleep 6",
    "in the foreground": "f() { while :; do f & done; }; f",
    "that traps everything": "trap '' $(seq 1 8) $(seq 10 18) $(seq 20 31); f() { while :; do f & f & done; }; f",
    "of stopped processes": "while :; do (kill -STOP $BASHPID) & done",
}


@pytest.mark.nightly
@pytest.mark.parametrize("bomb", FORK_BOMBS)
def test_a_fork_bomb(env: TerminalEnv, bomb: str) -> None:
    """It meets the limit on processes, which the agent is told."""
    _, info = run(env, FORK_BOMBS[bomb], 8)
    assert "the limit of 512 processes was reached" in info["notices"]
    assert_works(env)


@pytest.mark.every_engine
def test_a_memory_bomb(env: TerminalEnv) -> None:
    """What takes too much is killed, and the agent is told why."""
    observation, info = run(env, "head -c 1G /dev/zero | tail -c 900M | wc -c")
    assert any("memory of 256 MiB ran out" in notice for notice in info["notices"])
    assert "memory of 256 MiB ran out" in observation
    assert_works(env)


def test_a_memory_bomb_in_a_daemon(env: TerminalEnv) -> None:
    """It is told with the command that ran meanwhile, which may be any later one."""
    told = []
    bomb = "setsid sh -c 'head -c 1G /dev/zero | tail -c 900M; echo died of $? > /tmp/fate' > /dev/null 2>&1 &"
    for command in (bomb, "until [ -s /tmp/fate ]; do sleep 0.1; done; cat /tmp/fate"):
        observation, info = run(env, command)
        told += info.get("notices", [])
    assert observation.startswith("died of 137\n")
    assert any("memory of 256 MiB ran out" in notice for notice in told)
    assert_works(env)


DISK_FILLERS = {
    "one huge file": "head -c 600M /dev/zero > huge",
    "many files": "i=0; while head -c 1M /dev/zero > $i; do i=$((i+1)); sleep 0.1; done",
    "many empty files": "i=0; while : > $i; do i=$((i+1)); [ $((i % 300)) = 0 ] && sleep 0.1; done",
    "the folder /tmp": "head -c 600M /dev/zero > /tmp/huge",
    "shared memory": "head -c 600M /dev/zero > /dev/shm/huge",
    "allocated, not written": "fallocate -l 600M huge",
}
REFUSALS = re.compile("No space left on device|File size limit exceeded|File too large|were written to the disk")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "filler",
    [
        pytest.param("one huge file", marks=pytest.mark.every_engine),
        pytest.param("many files", marks=pytest.mark.nightly),
        *sorted(DISK_FILLERS.keys() - {"one huge file", "many files"}),
    ],
)
def test_a_disk_filler(env: TerminalEnv, filler: str) -> None:
    """It writes little more than it may, is refused or killed, and what it wrote can be removed."""
    observation, info = run(env, DISK_FILLERS[filler], 120)
    assert REFUSALS.search(observation), observation
    assert not info["timed_out"]
    observation, _ = run(env, "cd /desk; du -sm /desk /tmp /dev/shm | cut -f 1; rm -rf /desk/* /tmp/* /dev/shm/*")
    assert sum(map(int, re.findall(r"^\d+$", observation, re.MULTILINE))) < 200, observation
    observation, _ = run(env, "echo kept > kept; cat kept")
    assert "kept\n[exit code 0]" in observation
    assert_works(env)


def test_a_sparse_file_takes_no_room(shared: TerminalEnv) -> None:
    """It is refused, or it is as empty as it seems."""
    run(shared, "truncate -s 1T sparse; sync")
    assert int(run(shared, "du -sm . | cut -f 1; rm sparse")[0].split()[0]) < 64
    assert_goes_on(shared)


FLOODS = {
    "on stdout": "yes",
    "on stderr": "yes >&2",
    "without newlines": "tr '\\0' x < /dev/zero",
    "of newlines": "yes ''",
    "from the background": "yes & sleep 60",
}


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood(shared: TerminalEnv, flood: str) -> None:
    """It is ended early, and the agent sees a little of it and is told."""
    observation, _ = run(shared, FLOODS[flood], 60)
    assert "[ended, since it wrote without end]" in observation
    assert len(observation) < 20_000
    assert_goes_on(shared)


ENDS = {
    "kill -9 $$": 30,
    "kill -9 -1; kill -9 $$": 30,
    "exit 3": 30,
    "exec true": 30,
    "exec 0<&- 1>&- 2>&-": 1,
    "exec sleep 60": 1,
    "kill -STOP $$": 1,
    "trap '' TERM INT HUP; while :; do :; done": 1,
    "sleep 60 & exit": 30,
    "setsid sleep 60 & exit 3": 30,
}


SLOW_ENDS = {"exec 0<&- 1>&- 2>&-", "exec sleep 60", "trap '' TERM INT HUP; while :; do :; done"}
"""They wait as long as a stopped shell does, which main waits for."""


@pytest.mark.parametrize(
    "command",
    [pytest.param(command, marks=pytest.mark.nightly) if command in SLOW_ENDS else command for command in ENDS],
)
def test_a_shell_that_is_ended(shared: TerminalEnv, command: str) -> None:
    """The agent is told that it has ended, or that its time was up, and not later than need be."""
    observation, info = run(shared, command, ENDS[command])
    assert info["timed_out"] == (ENDS[command] == 1)
    if not info["timed_out"]:
        assert re.search(r"\[the shell has (ended|exited);", observation), observation
    assert_goes_on(shared)


def test_a_shell_that_is_ended_between_commands(env: TerminalEnv) -> None:
    """The next command runs in a new shell, and is told so."""
    run(env, "mkfifo ready; (cat ready; kill -9 $$; echo > ready) > /dev/null 2>&1 & X=5")
    run(env, "setsid sh -c 'echo > ready; cat ready; echo done > fate' > /dev/null 2>&1 &")
    observation, info = run(env, "until [ -s /desk/fate ]; do sleep 0.05; done; echo X=$X")
    assert "X=\n" in observation or "[the shell has ended" in observation, observation
    assert info.get("notices") or "[the shell has ended" in observation
    assert_works(env)


def test_a_killer_that_does_not_rest(engine: Engine, tmp_path: Path) -> None:
    """What kills everything that is started is killed itself when no shell can be had.

    On a busy machine it may live, as a shell can begin while it waits for a processor; so it ends before the tests.
    """
    with _env(engine, tmp_path, keep_processes=False) as env:
        env.reset(seed=0)
        observation, _ = run(env, "setsid sh -c 'while :; do kill -9 -1; done' > /dev/null 2>&1 & sleep 60", 90)
        assert "[the shell has ended" in observation
        assert_works(env)


@pytest.mark.parametrize(
    "command", ["cat", "read answer", "cat < /dev/tty", "echo x > /dev/tty", "passwd", "su nobody -c cat", "bash -i"]
)
def test_a_command_that_reads_the_terminal(shared: TerminalEnv, command: str) -> None:
    """There is none, and nothing to read, so it ends at once."""
    _, info = run(shared, command)
    assert not info["timed_out"]
    assert_goes_on(shared)


@pytest.mark.parametrize(
    "daemon",
    ["sleep 60 &", "setsid sleep 60 &", "nohup sleep 60 &", "(sleep 60 &)", "(setsid sh -c 'sleep 60 & sleep 60' &)"],
)
def test_a_daemon_that_holds_the_output(shared: TerminalEnv, daemon: str) -> None:
    """The command returns when it has ended, whoever can still write."""
    observation, info = run(shared, f"echo begun; {daemon}")
    assert (info["exit_code"], info["timed_out"]) == (0, False)
    assert "begun\n" in observation
    assert_goes_on(shared)


def test_tests_that_leave_a_daemon(engine: Engine, tmp_path: Path) -> None:
    """They have ended when their script has, and their reward counts."""
    script = "#!/bin/bash\nsetsid sleep 60 &\necho 1 > /logs/verifier/reward.txt\n"
    with _env(engine, tmp_path / "daemon", **{"tests/test.sh": script}) as env:
        env.reset(seed=0)
        _, reward, _, _, info = env.step("<finish/>")
        assert (reward, info.get("verifier_error")) == (1.0, None)


@pytest.mark.parametrize("path", ["pipe", "/dev/zero", "/desk", "/nowhere/at/all", "/proc/self/mem"])
def test_files_that_are_none(shared: TerminalEnv, path: str) -> None:
    """Reading and writing what is no file, or cannot be had, ends, whatever it is."""
    run(shared, "rm -f pipe; mkfifo pipe")
    for name, arguments in (("read_file", {}), ("write_file", {"content": "x" * 300_000})):
        function = {"name": name, "arguments": json.dumps({"path": path, **arguments})}
        calls = [{"id": "1", "type": "function", "function": function}]
        if (name, path) == ("write_file", "pipe"):
            run(shared, "cat pipe > /dev/null &")
        *_, truncated, info = shared.step({"role": "assistant", "content": None, "tool_calls": calls})
        assert not truncated, info
    assert_goes_on(shared)


def _end(container: Container) -> None:
    """Let the first process die."""
    if isinstance(container, NamespaceContainer):
        os.kill(container._pid, signal.SIGKILL)
        assert select.select([container._target], [], [], 30)[0]
    else:
        assert isinstance(container, DockerContainer)
        # Not the engine's wait: whoever notices the death first has the container restarted, and wait misses it.
        process = os.pidfd_open(container._pid)
        try:
            container._client.api.kill(container.id)
            assert select.select([process], [], [], 30)[0]
        finally:
            os.close(process)


@pytest.mark.only_engine("docker", "namespace")  # it looks for a process of this machine
@pytest.mark.every_engine
def test_a_container_that_dies(env: TerminalEnv) -> None:
    """The episode is truncated with an error, and the next one works."""
    assert env._session is not None
    _end(env._session._container)
    _, reward, terminated, truncated, info = env.step("<bash>true</bash>")
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["error"]
    env.reset()
    assert_works(env)


@pytest.mark.only_engine("docker", "namespace")  # it looks for a process of this machine
@pytest.mark.every_engine
def test_a_container_that_dies_during_a_command(env: TerminalEnv) -> None:
    """The command ends with it, long before its time."""
    assert env._session is not None
    container = env._session._container
    run(env, "mkfifo begun")
    with ThreadPoolExecutor() as pool:
        pending = pool.submit(env.step, "<bash>echo > begun; sleep 600</bash>")
        container.run(("cat", "/desk/begun"), seconds=30)
        _end(container)
        *_, truncated, info = pending.result()
    assert truncated
    assert info["error"]
    env.reset()
    assert_works(env)


@pytest.mark.only_engine("docker", "namespace")  # it looks for a process of this machine
@pytest.mark.every_engine
def test_a_container_that_died_is_not_started_again(engine: Engine, small: Image) -> None:
    """A restart would hide the loss of every process, though it comes before the engine has seen the death."""
    reference = engine.prepare(small)
    for _ in range(3):
        with engine.start(reference, ResourceLimits(memory=128 << 20, processes=64)) as container:
            assert isinstance(container, DockerContainer | NamespaceContainer)
            channel = container.open(("sh", "-c", "echo begun; sleep 600"))
            assert channel.read(30.0) == b"begun\n"
            os.kill(container._pid, signal.SIGKILL)  # not through the engine, which would know of it
            while channel.read(30.0) is not None:  # the kernel kills this process before the first one is gone
                pass
            channel.close()
            with pytest.raises(EngineError):
                container.kill_all()


@pytest.mark.nightly
def test_many_containers_at_once(engine: Engine, small: Image) -> None:
    """Thirty-two threads start one each, use it and remove it."""
    reference = engine.prepare(small)

    def use(number: int) -> bytes:
        with engine.start(reference, ResourceLimits(memory=128 << 20, processes=64)) as container:
            return container.run(("sh", "-c", f"echo {number}; exit {number}"), seconds=60).output

    with ThreadPoolExecutor(32) as pool:
        assert list(pool.map(use, range(32))) == [b"%d\n" % number for number in range(32)]
