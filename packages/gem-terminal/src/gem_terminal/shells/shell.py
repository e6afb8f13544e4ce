"""A shell that lives through an episode: :class:`Shell`.

One ``bash`` reads commands from a pipe. Working directory, variables, functions and background jobs stay from one
command to the next. A line with a random number marks the end of each command; no process in the container knows the
number before it is printed.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gem_terminal.bounded_output import BoundedOutput
from gem_terminal.engines.base import Channel, Container
from gem_terminal.errors import EngineError

__all__ = ["CommandResult", "Shell"]

_STATUS = re.compile(rb":(\d{1,3}):([\d ]*)\n")
"""The text after the random number: the exit code, and the process ids of the shell's running children."""
_MOST_JOBS = 900
"""Characters of the process ids, few enough that the line is always written in one piece."""

# A function, because bash reads piped input byte by byte. If the kernel does not list children, only the last job is
# known. Errors and the trace of `set -x` are hidden.
# The agent may define functions of any name, so builtins are called as such.
_TOLD = (
    '_gem_told() { { \\builtin local code=$? jobs=${!-}; \\builtin read -r jobs <"/proc/$$/task/$$/children" || :; '
    f'\\builtin printf \'\\n%s%s:%d:%s\\n\' "$1" "$2" "$code" "${{jobs:0:{_MOST_JOBS}}}"; }} 2>&-; }}\n'
    "readonly -f _gem_told\n"
)

_STOPS = 39
"""The signal at which a shell exits before its next command: one of real time, which nothing else sends."""
# A shell that exits tells its folder, variables and functions, so that the next one continues with them. $1 marks the
# beginning, $2 the end. The options are told at a time limit alone: a new shell with `set -e` would exit as easily.
_TELLS_AT_EXIT = (
    "trap '{ _gem_state=$(\\builtin declare -p; \\builtin declare -f; "
    "[[ -z ${_gem_stopped-} ]] || { \\builtin alias -p; \\builtin umask -p; \\builtin shopt -p; \\builtin set +o; }); "
    '\\builtin printf "\\n%s:%s\\0%s\\0%s\\n" $1 "$PWD" "$_gem_state" $2; } 2>/dev/null\' EXIT\n'
    f"trap '_gem_stopped=1; \\builtin exit 143' {_STOPS}\n"
)
# The state of a shell that continues elsewhere, with its options. $1 marks the beginning and the end.
_TELLS_STATE = "; ".join(
    f"\\builtin {told}" for told in ("declare -p", "declare -f", "alias -p", "umask -p", "shopt -p", "set +o", ":")
)
_TELL = f'\\builtin printf "\\n%s:%s\\0%s\\0%s\\n" $1 "$PWD" "$({_TELLS_STATE})" $1'
_STATE = re.compile(rb":([^\0]*)\0([^\0]*)\0")
"""The text after the mark of an exit: the folder, and declarations of variables and functions."""
_NOT_TOLD = re.compile(
    r"^declare -\S+ (?:BASH\w*|DIRSTACK|EUID|FUNCNAME|GROUPS|PIPESTATUS|PPID|SHELLOPTS|UID|_gem_\w+)(?:=[^\n]*)?\n"
    r"|^_gem_told \(\) *\n\{.*?^\}$",
    re.MULTILINE | re.DOTALL,
)
"""What every shell has of its own: an assignment to one of these arrays would end the whole script."""
_MOST_STATE = 1 << 20
"""Bytes of the state of a shell that exits; a larger one is lost."""

_BASH = ("bash", "--noprofile", "--norc")
_MOST_OUTPUT = 64 << 20
"""The output limit of a command in bytes; a command that writes more is killed, as at its time limit."""

_PATIENCE = 2.0
"""Seconds that a shell has to answer after its command was killed."""

_BEGINS_IN = 30.0
"""Seconds that a new shell has to answer."""

_KILLS_IN = 30.0
"""Seconds within which a command is killed; after that, all processes are killed."""
_MOST_EARLY = 1 << 20
"""Bytes of background output that are read between two commands."""

_SUSPECT = frozenset((None, 137, 153, 254))
"""Exit codes that suggest a limit: a killed process, a file too large, a shell that cannot fork."""
_SUSPICIOUS = ("fork: ", "Killed", "Resource temporarily unavailable", "Cannot allocate memory", "File size limit")

# Kills the shell's descendants with builtins only, because small images have no pkill. A parent is stopped before the
# search for its children. The second argument lists processes that are spared with their descendants.
_KILL_CHILDREN = r"""
found="$1"; again=1
while [ $again = 1 ]; do
  again=0
  for stat in /proc/[0-9]*/stat; do
    read -r line < "$stat" || continue
    pid=${line%% *}; rest=${line##*) }; rest=${rest#* }; parent=${rest%% *}
    case " $found $2 " in *" $pid "*) continue ;; esac
    case " $found " in *" $parent "*) kill -STOP "$pid" && found="$found $pid" && again=1 ;; esac
  done
done 2>/dev/null
for pid in $found; do [ "$pid" = "$1" ] || kill -9 "$pid"; done 2>/dev/null
"""


@dataclass(frozen=True)
class CommandResult:
    """The result of a shell command."""

    output: str
    """stdout and stderr in order; the middle of a long output is cut out."""
    exit_code: int | None
    """None if the command was killed, or killed the shell; the code of ``exit`` if it ended the shell."""
    timed_out: bool = False
    flooded: bool = False
    """Whether the command was killed because its output reached the limit."""
    shell_ended: bool = False
    """Whether the command ended the shell; the next command starts a new shell."""
    state_kept: bool = False
    """Whether the new shell begins in the same folder, with the same variables and functions."""
    notices: tuple[str, ...] = ()
    """The limits that the container reached meanwhile, in words."""


class Shell:
    """Runs commands in one shell of a container.

    Args:
        container: the container.
        user: the user of the shell.
        workdir: its first folder.
        environment: its variables.
        output: the bytes of a command's output that are kept.
        state: the state of another shell, from :meth:`state`, with which this one begins.
    """

    def __init__(
        self,
        container: Container,
        *,
        user: str | None = None,
        workdir: str | None = None,
        environment: Mapping[str, str] | None = None,
        output: int = 16 << 10,
        state: tuple[str, str] | None = None,
    ) -> None:
        self._container = container
        self._user = user
        self._workdir = workdir
        self._environment = environment
        self._output = output
        self._channel: Channel | None = None
        self._pid = ""
        self._jobs = ""
        self._early = b""
        self._kills = 0
        self._exit_marks = ("", "")
        self._state = state
        """The folder and the declarations of a shell that has exited."""
        self._begun = False
        if why := self._open():
            raise EngineError(f"container {container.id[:12]} gives no shell: {why}")
        self._begun = True

    def run(self, command: str, seconds: float, heard: Callable[[bytes], Any] | None = None) -> CommandResult:
        """Run a command of one or more lines.

        Args:
            command: evaluated by ``bash``, with ``/dev/null`` as its input.
            seconds: the time limit, after which the processes of the command are killed and the rest of it is not run.
                Background jobs of earlier commands continue, unless the shell still waits for one; a new shell has the
                folder, variables, functions and options of this one, and no job table.
            heard: called with each piece of the output as it arrives.

        Raises:
            EngineError: if the container or the engine died.
        """
        early = []
        if not self.is_open:
            if self._pid:
                early.append("the shell had been ended, so this ran in a new one")
                self._abandon()
            if why := self._open():  # the container lives, so the agent caused this
                notices = (*early, f"no new shell can be started: {why}", *self._container.reached_limits(True))
                return CommandResult("", None, notices=notices)
        done = self._evaluate(command, seconds, heard=heard)
        suspected = done.exit_code in _SUSPECT or any(word in done.output for word in _SUSPICIOUS)
        notices = (*early, *self._container.reached_limits(suspected))
        # The engine may have killed the shell.
        if notices and not done.shell_ended and self._pid and not self.is_open:
            self._abandon()
            done = replace(done, shell_ended=True)
        return replace(done, notices=notices)

    def state(self) -> tuple[str, str] | None:
        """Return the folder of the shell, and a script that declares its variables, functions, aliases and options.

        Jobs and traps are no part of it. Returns None if the shell is busy, hostile or gone, or its state is too large.

        Raises:
            EngineError: if the container or the engine died.
        """
        if not self.is_open:
            return self._state
        early, self._early = self._early, b""
        mark = secrets.token_hex(16)
        told = self._evaluate(_TELL.replace("$1", mark), _BEGINS_IN, _MOST_STATE).output
        self._early = early + self._early
        if "\N{REPLACEMENT CHARACTER}" in told or len(told) >= _MOST_STATE:
            return None
        return _state_of(told.partition(f"\n{mark}")[2].encode(), mark)

    def _evaluate(
        self,
        command: str,
        seconds: float,
        output: int | None = None,
        heard: Callable[[bytes], Any] | None = None,
    ) -> CommandResult:
        assert self._channel is not None
        nonce = secrets.token_hex(16)
        marker = f"\n{nonce}".encode()
        kept, tail, killed, spared = BoundedOutput(output or self._output, heard), b"", "", ""
        deadline = time.monotonic() + seconds
        kept.add(self._early)
        self._early, most = b"", kept.total + _MOST_OUTPUT
        # The number is split, so that an echoed command does not contain it.
        half, other = nonce[:16], nonce[16:]
        line = f"\\builtin eval {_quoted(command)} </dev/null 2>&1; _gem_told {half} {other}\n"
        if not self._channel.write(line.encode(errors="replace"), max(seconds, _PATIENCE)):
            killed = "timed out" if self.is_open else ""
            self._abandon()
            return _ended(kept, self._early, killed, shell_ended=True)
        ending: bytes | None = None
        exit_marker = f"\n{self._exit_marks[0]}".encode()
        while True:
            left = deadline - time.monotonic()
            flooded = kept.total > most
            if left <= 0 or flooded:
                if killed and not spared:
                    self._abandon()
                    return _ended(kept, tail, killed, shell_ended=True)
                spared = "" if killed else self._jobs
                killed = killed or ("flooded" if flooded and left > 0 else "timed out")
                self._kill_children(spared, stops=True)
                deadline, most = time.monotonic() + _PATIENCE, max(most, kept.total) + _MOST_OUTPUT
                continue
            data = self._channel.read(left)
            if data is None:
                self._state = _state_of(ending, self._exit_marks[1])
                code = None if killed else self._channel.exit_code(_PATIENCE)
                self._abandon()
                ended = _ended(kept, tail, killed, shell_ended=not killed or self._state is None)
                if code is None or code > 128:  # a signal
                    return ended
                return replace(ended, exit_code=code, state_kept=self._state is not None)
            if ending is not None:
                ending += data if len(ending) < _MOST_STATE else b""
                continue
            tail += data
            found = tail.find(exit_marker)
            if found >= 0:
                kept.add(tail[:found].partition(marker)[0])
                ending, tail = tail[found + len(exit_marker) :], b""
                continue
            found = tail.find(marker)
            status = _STATUS.match(tail, found + len(marker)) if found >= 0 else None
            if status is not None and not killed:  # at the time limit, the shell exits in any case
                kept.add(tail[:found])
                self._early = tail[status.end() :]
                self._jobs = status[2][: status[2].rfind(b" ") if len(status[2]) == _MOST_JOBS else None].decode()
                return CommandResult(kept.text(), int(status[1]))
            # The last bytes may be the beginning of the marker.
            held = found if found >= 0 else max(len(tail) - len(marker), 0)
            kept.add(tail[:held])
            tail = tail[held:]

    @property
    def is_open(self) -> bool:
        """Whether the shell is alive, as far as is known without waiting."""
        if self._container.kills != self._kills:
            return False
        while self._channel is not None and len(self._early) < _MOST_EARLY:
            data = self._channel.read(0.0)
            if data is None:
                return False
            if not data:
                break
            self._early += data  # of background jobs; the next command shows it
        return self._channel is not None

    def close(self) -> None:
        """End the shell. A second call does nothing."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _open(self) -> str:
        """Start the shell; return the reason of a failure, or an empty text."""
        # An agent may have removed the folder; a task whose first folder is missing is an error.
        places = (self._workdir, "/") if self._begun else (self._workdir,)
        state, self._state = self._state, None
        if state is not None:
            places = (state[0], *places)
        why = ""
        for _ in range(2):
            for place in places:
                self._channel = self._container.open(
                    _BASH, user=self._user, workdir=place, environment=self._environment
                )
                self._pid, self._jobs, self._early, self._kills = "", "", b"", self._container.kills
                first, last = self._exit_marks = (secrets.token_hex(16), secrets.token_hex(16))
                tells = _TELLS_AT_EXIT.replace("$1", first).replace("$2", last)
                self._channel.write((_TOLD + tells).encode(), _BEGINS_IN)
                started = self._evaluate("echo $$", _BEGINS_IN)
                if started.exit_code == 0:
                    self._pid = started.output.strip()
                    if state is not None:
                        self._evaluate(f"{{ {state[1]}\n}} >/dev/null 2>&1", _BEGINS_IN)
                    return ""
                self.close()
                why = started.output[-200:].strip() or "it does not answer"
            self._container.kill_all()  # a process of the container may have killed the shell
        return why

    def _kill_children(self, spared: str = "", itself: bool = False, stops: bool = False) -> None:
        if not self._pid:
            return
        # Stopped meanwhile, so that it begins nothing new; the process in which it tells its state is not found either.
        halt, leave = "", ""
        if stops:
            halt = 'kill -STOP "$1" 2>/dev/null\n'
            leave = f'kill -{_STOPS} "$1" 2>/dev/null\nkill -CONT "$1" 2>/dev/null\n'
        script = halt + _KILL_CHILDREN + leave + ('kill -9 "$1" 2>/dev/null\n' if itself else "") + "exit 0"
        command = ("sh", "-c", script, "sh", self._pid, spared)
        done = self._container.run(command, seconds=_KILLS_IN, user="root", workdir="/")
        if done.exit_code:  # killed by a process that kills every new process
            self._container.kill_all()

    def _abandon(self) -> None:
        self.close()
        self._kill_children(itself=True)
        self._pid = ""


def _ended(kept: BoundedOutput, tail: bytes, killed: str, shell_ended: bool) -> CommandResult:
    kept.add(tail)
    return CommandResult(kept.text(), None, killed == "timed out", killed == "flooded", shell_ended)


def _state_of(ending: bytes | None, last: str) -> tuple[str, str] | None:
    """Return the folder and the declarations that an exiting shell has told; None unless all arrived unmixed."""
    found = _STATE.match(ending or b"")
    if found is None or not (ending or b"").startswith(last.encode(), found.end()):
        return None
    try:
        return found[1].decode(), _NOT_TOLD.sub("", found[2].decode())
    except UnicodeDecodeError:
        return None


def _quoted(command: str) -> str:
    return "'" + command.replace("\x00", "").replace("'", "'\\''") + "'"
