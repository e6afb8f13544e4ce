"""The shell of an episode, on every engine: what stays, what is told, and that nothing a command does ends it badly."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gem_terminal.engines import Container, Engine
from gem_terminal.shell import Shell
from gem_terminal.task import Image, Limits


@pytest.fixture(scope="module")
def container(engine: Engine, small: Image) -> Iterator[Container]:
    """A container that the tests of this file share."""
    with engine.start(engine.prepare(small), Limits(processes=64, memory=256 << 20)) as made:
        yield made


@pytest.fixture
def shell(container: Container) -> Iterator[Shell]:
    """A fresh shell in it."""
    container.kill_all()
    made = Shell(container, output=4096)
    yield made
    made.close()


def test_state_stays(shell: Shell) -> None:
    """Working directory, variables, functions and background jobs live from one command to the next."""
    shell.run("cd /tmp; X=5; f() { echo f$X; }; sleep 60 &", 5)
    assert shell.run("pwd; f; jobs | wc -l", 5).output == "/tmp\nf5\n1\n"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("true", 0),
        ("false", 1),
        ("(exit 77)", 77),
        ("no-such-command", 127),
        ("kill -9 $BASHPID & wait $!", 137),
        ("'", 2),
    ],
)
def test_exit_codes_are_exact(shell: Shell, command: str, code: int) -> None:
    """The code is that of the command, and the shell goes on."""
    assert shell.run(command, 5).exit_code == code
    assert shell.run("echo on", 5).output == "on\n"


@pytest.mark.parametrize("text", ["it's", 'a "b" $HOME `id` \\', "two\nlines", "ünï\N{SNOWMAN}", "%s%d\\n", "-n"])
def test_any_text_gets_through(shell: Shell, text: str) -> None:
    """What a command says comes back as it was said, whatever is in it."""
    quoted = "'" + text.replace("'", "'\\''") + "'"
    assert shell.run(f"printf %s {quoted}", 5).output == text


def test_input_is_empty(shell: Shell) -> None:
    """A command that reads its input, or the terminal, finds nothing there and does not hang."""
    assert shell.run("cat; read line; echo code $?", 5).output == "code 1\n"
    assert shell.run("cat < /dev/tty", 5).exit_code == 1


@pytest.mark.parametrize(
    "command",
    [
        "sleep 60",
        "trap '' TERM INT HUP QUIT; while :; do :; done",
        "(trap '' TERM; sleep 60) | cat",
        "bash -c 'sleep 60 & wait'",
    ],
)
def test_a_command_that_takes_too_long_is_killed(shell: Shell, command: str) -> None:
    """Whatever it traps or starts in the foreground is gone, the shell has kept its state, and it is told."""
    shell.run("X=kept", 5)
    done = shell.run(command, 0.5)
    assert done.timed_out
    assert done.exit_code is None
    found = shell.run("echo $X; ls -d /proc/[0-9]*/ | wc -l", 5).output.split()
    if not done.shell_ended:
        assert found[0] == "kept"
    assert int(found[-1]) < 8


@pytest.mark.parametrize("command", ["exit 3", "kill -9 $$", "exec true", "exec 1>&- 2>&-; sleep 60", "set -e; false"])
def test_a_shell_that_is_ended_is_replaced(shell: Shell, command: str) -> None:
    """The command is told to have ended it, and the next one meets a new shell."""
    assert shell.run(command, 1).shell_ended
    assert shell.run("echo new", 5).output == "new\n"


def test_a_flood_is_cut(shell: Shell) -> None:
    """Endless output ends the command early; what is shown is its beginning and its end, with a note between."""
    done = shell.run("echo first; yes", 60)
    assert done.flooded
    assert done.output.startswith("first\ny\n")
    assert "bytes left out" in done.output
    assert len(done.output) < 5000
    assert shell.run("echo on", 5).output == "on\n"


def test_a_long_output_is_cut_in_the_middle(shell: Shell) -> None:
    """The note says how many bytes are missing, so that all of them are accounted for."""
    done = shell.run("seq 100000", 10)
    assert (done.exit_code, done.flooded) == (0, False)
    head, _, tail = done.output.partition("\n[... ")
    missing = int(tail.split()[0])
    assert head.startswith("1\n2\n")
    assert tail.endswith("100000\n")
    assert len(head) + missing + len(tail.partition("...]\n")[2]) == sum(len(str(n)) + 1 for n in range(1, 100001))


def test_a_fork_bomb_is_bounded(shell: Shell, container: Container) -> None:
    """It ends at the limit on processes, is killed, and the container goes on."""
    shell.run("f() { f | f & }; f", 2)
    container.kill_all()
    done = shell.run("echo alive", 5)
    assert done.output == "alive\n"
    assert "the shell had been ended, so this ran in a new one" in done.notices


def test_a_memory_bomb_is_bounded(shell: Shell) -> None:
    """It is killed alone; the shell goes on."""
    done = shell.run("head -c 2G /dev/zero | tail -c 1G | wc -c", 30)
    assert done.output.strip() != str(1 << 30)
    assert shell.run("echo alive", 5).output == "alive\n"


def test_nothing_reaches_outside(shell: Shell) -> None:
    """No network, no devices, no mounts, no new privileges."""
    assert shell.run("mount -t tmpfs none /mnt", 5).exit_code != 0
    assert shell.run("mknod /disk b 8 0", 5).exit_code != 0
    assert shell.run("exec 3<>/dev/tcp/127.0.0.1/22", 5).exit_code != 0
    assert shell.run("ls /sys/class/net 2>/dev/null; cat /proc/net/route | wc -l", 5).output.split()[-1] == "1"
    assert "NoNewPrivs:\t1" in shell.run("cat /proc/self/status", 5).output
