"""The shell of an episode, on every engine: what stays, what is told, and that nothing a command does ends it badly."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from gem_terminal.engines import Container, Engine
from gem_terminal.shells.shell import Shell
from gem_terminal.task import Image, ResourceLimits

PATIENT = 60.0
"""Seconds for what ends by itself."""


@pytest.fixture(scope="module")
def container(engine: Engine, small: Image) -> Iterator[Container]:
    """A container that the tests of this file share."""
    with engine.start(engine.prepare(small), ResourceLimits(processes=64, memory=256 << 20)) as made:
        yield made


@pytest.fixture
def shell(container: Container) -> Iterator[Shell]:
    """A fresh shell in it."""
    container.kill_all()
    made = Shell(container, output=4096)
    yield made
    made.close()


@pytest.mark.every_engine
def test_state_stays(shell: Shell) -> None:
    """Working directory, variables, functions and background jobs live from one command to the next."""
    shell.run("cd /tmp; X=5; f() { echo f$X; }; sleep 60 &", PATIENT)
    assert shell.run("pwd; f; jobs | wc -l", PATIENT).output == "/tmp\nf5\n1\n"


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
    assert shell.run(command, PATIENT).exit_code == code
    assert shell.run("echo on", PATIENT).output == "on\n"


@pytest.mark.parametrize("text", ["it's", 'a "b" $HOME `id` \\', "two\nlines", "ünï\N{SNOWMAN}", "%s%d\\n", "-n"])
def test_any_text_gets_through(shell: Shell, text: str) -> None:
    """What a command says comes back as it was said, whatever is in it."""
    quoted = "'" + text.replace("'", "'\\''") + "'"
    assert shell.run(f"printf %s {quoted}", PATIENT).output == text


def test_input_is_empty(shell: Shell) -> None:
    """A command that reads its input, or the terminal, finds nothing there and does not hang."""
    assert shell.run("cat; read line; echo code $?", PATIENT).output == "code 1\n"
    assert shell.run("cat < /dev/tty", PATIENT).exit_code == 1


@pytest.mark.parametrize(
    "command",
    [
        "sleep 60",
        pytest.param("trap '' TERM INT HUP QUIT; while :; do :; done", marks=pytest.mark.every_engine),
        "(trap '' TERM; sleep 60) | cat",
        "bash -c 'sleep 60 & wait'",
    ],
)
def test_a_command_that_takes_too_long_is_killed(shell: Shell, command: str) -> None:
    """Whatever it traps or starts in the foreground is gone, the shell has kept its state, and it is told."""
    shell.run("X=kept", PATIENT)
    done = shell.run(command, 0.5)
    assert done.timed_out
    assert done.exit_code is None
    # What was killed is there until its parent has buried it, so the shell counts until it has gone, for a while.
    few = "all=(/proc/[0-9]*/); [ ${#all[@]} -lt 6 ]"
    count = f"echo $X; SECONDS=0; until {few} || [ $SECONDS -ge 30 ]; do :; done; echo ${{#all[@]}}"
    found = shell.run(count, PATIENT).output.split()
    if not done.shell_ended:
        assert found[0] == "kept"
    assert int(found[-1]) < 6


def test_jobs_of_earlier_commands_go_on(shell: Shell) -> None:
    """A command that takes too long, or writes without end, is killed with its own jobs, and with no others."""
    shell.run("sleep 1001 & sleep 1002 | cat & disown; (sleep 1003; true) &", PATIENT)
    shell.run("sleep 1004 &", PATIENT)
    for command in ("sleep 2001 & sleep 2002 | cat", "sleep 2003 & yes"):
        assert not shell.run(command, 1).shell_ended
        dying = time.monotonic() + 30
        while "sleep 2" in (alive := shell.run("cat /proc/[0-9]*/cmdline | tr '\\0' ' '", PATIENT).output):
            assert time.monotonic() < dying, alive
        assert [number for number in range(1001, 1005) if f"sleep {number}" in alive] == [1001, 1002, 1003, 1004]


@pytest.mark.parametrize(
    "command",
    [
        "sleep 60; {}",
        "sleep 60 || {}",
        "if ! sleep 60; then {}; fi",
        "while :; do :; done; {}",
        "f() {{ for i in 1 2 3; do sleep 60; done; }}; f; {}",
        "x=$(sleep 60); {}",
        "(sleep 60; {}); {}",
        "sleep 60 & wait; {}",
        "{{ sleep 60; {}; }} > /dev/null 2>&1",
        "set -e; sleep 60; {}",
    ],
)
def test_after_a_time_limit_the_rest_of_the_command_is_not_run(shell: Shell, command: str) -> None:
    """The next one begins in the same folder, with the same variables, functions, aliases and options."""
    shell.run("rm -f /tmp/after; cd /var/tmp; X=kept; g() { echo g; }; alias a=b; shopt -s extglob; umask 027", PATIENT)
    done = shell.run(command.format("touch /tmp/after", "touch /tmp/after"), 0.3)
    assert (done.timed_out, done.shell_ended) == (True, False)
    asked = "[ -e /tmp/after ] && echo late; pwd; echo $X; g; alias; shopt extglob; umask"
    assert shell.run(asked, PATIENT).output == "/var/tmp\nkept\ng\nalias a='b'\nextglob        \ton\n0027\n"


@pytest.mark.parametrize(
    "name", ["printf", "echo", "read", "local", "declare", "kill", "trap", "exit", "eval", "command"]
)
def test_a_function_may_have_any_name(shell: Shell, name: str) -> None:
    """The shell's own words are builtins."""
    assert shell.run(f"{name}() {{ :; }}; X=1", PATIENT).exit_code == 0
    done = shell.run("/bin/echo $X", 1.0)
    assert (done.output, done.exit_code) == ("1\n", 0)
    assert shell.run("sleep 60", 0.3).shell_ended is False
    assert shell.run("/bin/echo $X", PATIENT).output == "1\n"


def test_whoever_waits_for_a_job_is_killed_with_it(shell: Shell) -> None:
    """The shell itself would not answer otherwise; it keeps its state."""
    shell.run("X=kept; sleep 1000 &", PATIENT)
    done = shell.run("wait", 0.5)
    assert (done.timed_out, done.shell_ended) == (True, False)
    assert shell.run("echo $X; jobs -r", PATIENT).output == "kept\n"


@pytest.mark.parametrize(
    "options",
    [
        "set -eu",
        "set -u; unset IFS",
        "IFS=0123456789",
        "set -o posix -C",
        "trap 'echo x >&2' DEBUG RETURN",
        "PS4=+; set -xv",
        "_gem_told() { :; }",
        'unset -f _gem_told; alias printf=true; printf() { builtin printf "$@"; }',
    ],
)
def test_options_of_the_shell_do_not_hide_the_end_of_a_command(shell: Shell, options: str) -> None:
    """Whatever the agent sets for its own commands, they end, with their code."""
    assert not shell.run(options, PATIENT).shell_ended
    done = shell.run("(exit 3) || (exit 0); sleep 1000 &", PATIENT)
    assert (done.exit_code, done.shell_ended) == (0, False)
    shown = shell.run("! true || echo on", PATIENT).output
    assert "on\n" in shown
    assert "children" not in shown
    assert "read -r" not in shown
    assert len(shell._jobs.split()) == 1


@pytest.mark.parametrize(
    "command",
    [
        "exit 3",
        "kill -9 $$",
        "exec true",
        pytest.param("exec 1>&- 2>&-; sleep 60", marks=pytest.mark.every_engine),
        "set -e; false",
    ],
)
def test_a_shell_that_is_ended_is_replaced(shell: Shell, command: str) -> None:
    """The command is told to have ended it, and the next one meets a new shell."""
    assert shell.run(command, 1).shell_ended
    assert shell.run("echo new", PATIENT).output == "new\n"


@pytest.mark.every_engine
def test_a_flood_is_cut(shell: Shell) -> None:
    """Endless output ends the command early; what is shown is its beginning and its end, with a note between."""
    done = shell.run("echo first; yes", PATIENT)
    assert done.flooded
    assert done.output.startswith("first\ny\n")
    assert "bytes left out" in done.output
    assert len(done.output) < 5000
    assert shell.run("echo on", PATIENT).output == "on\n"


def test_a_long_output_is_cut_in_the_middle(shell: Shell) -> None:
    """The note says how many bytes are missing, so that all of them are accounted for."""
    done = shell.run("seq 100000", PATIENT)
    assert (done.exit_code, done.flooded) == (0, False)
    head, _, tail = done.output.partition("\n[... ")
    missing = int(tail.split()[0])
    assert head.startswith("1\n2\n")
    assert tail.endswith("100000\n")
    assert len(head) + missing + len(tail.partition("...]\n")[2]) == sum(len(str(n)) + 1 for n in range(1, 100001))


@pytest.mark.every_engine
def test_a_fork_bomb_is_bounded(shell: Shell, container: Container) -> None:
    """It ends at the limit on processes, is killed, and the container goes on."""
    bomb = shell.run("f() { f | f & }; f", 2)
    container.kill_all()
    done = shell.run("echo alive", PATIENT)
    assert done.output == "alive\n"
    assert bomb.shell_ended or "the shell had been ended, so this ran in a new one" in done.notices


@pytest.mark.every_engine
def test_a_memory_bomb_is_bounded(shell: Shell) -> None:
    """It is killed alone; the shell goes on."""
    done = shell.run("head -c 2G /dev/zero | tail -c 1G | wc -c", PATIENT)
    assert done.output.strip() != str(1 << 30)
    assert shell.run("echo alive", PATIENT).output == "alive\n"


@pytest.mark.every_engine
def test_nothing_reaches_outside(shell: Shell) -> None:
    """No network, no devices, no mounts, no new privileges."""
    assert shell.run("mount -t tmpfs none /mnt", PATIENT).exit_code != 0
    assert shell.run("mknod /disk b 8 0", PATIENT).exit_code != 0
    assert shell.run("exec 3<>/dev/tcp/127.0.0.1/22", PATIENT).exit_code != 0
    assert shell.run("ls /sys/class/net 2>/dev/null; cat /proc/net/route | wc -l", PATIENT).output.split()[-1] == "1"
    assert "NoNewPrivs:\t1" in shell.run("cat /proc/self/status", PATIENT).output


@pytest.mark.every_engine
@pytest.mark.parametrize(
    ("command", "code"), [("exit 3", 3), ("set -e; false", 1), ("set -u; echo $MISSING", 1), ("exit", 0)]
)
def test_a_shell_that_exits_goes_on_where_it_was(shell: Shell, command: str, code: int) -> None:
    """The exit code is told; folder, variables, arrays and functions are those of the shell that has exited."""
    shell.run("cd /tmp; export A='it'\\''s'; B=$'two\nlines'; L=(1 'x y'); f() { echo f$A; }; readonly R=r", PATIENT)
    done = shell.run(command, PATIENT)
    assert (done.exit_code, done.shell_ended, done.state_kept) == (code, True, True)
    done = shell.run('pwd; printenv A; echo "$B"; echo "${L[1]}"; f; echo $R $-', PATIENT)
    assert done.output == "/tmp\nit's\ntwo\nlines\nx y\nfit's\nr hBs\n"
    assert not done.shell_ended


@pytest.mark.parametrize("command", ["kill -9 $$", "trap - EXIT; exit 3", "exec true"])
def test_a_shell_that_is_lost_says_so(shell: Shell, command: str) -> None:
    """A shell that was killed, or that no longer tells, takes its variables with it."""
    shell.run("A=5", PATIENT)
    done = shell.run(command, PATIENT)
    assert (done.shell_ended, done.state_kept) == (True, False)
    assert shell.run("echo $A-", PATIENT).output == "-\n"


def test_a_state_without_measure_is_lost_and_nothing_else(shell: Shell) -> None:
    """The output of the command is kept, and none of the state is shown."""
    done = shell.run("A=$(head -c 3000000 /dev/zero | tr '\\0' x); echo hi; exit 4", PATIENT)
    assert (done.output, done.exit_code, done.state_kept) == ("hi\n", 4, False)
    assert shell.run("echo on", PATIENT).output == "on\n"


def test_an_exit_in_a_subshell_ends_no_shell(shell: Shell) -> None:
    """Only the shell of the episode tells its state, and a trace of it is not shown."""
    assert shell.run("(exit 3); echo $?; $(exit 4); echo $?", PATIENT).output == "3\n4\n"
    done = shell.run("set -x; exit 5", PATIENT)
    assert (done.output.lstrip("+"), done.exit_code) == (" exit 5\n", 5)
