"""A shell that lives through an episode: :class:`Shell`.

One ``bash`` reads commands from a pipe. Working directory, variables, functions and background jobs stay from one
command to the next. A command is told from the next by a line with a number that nobody in the container knows
before it is printed.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gem_terminal.bounded_output import BoundedOutput
from gem_terminal.engines.base import Channel, Container
from gem_terminal.errors import EngineError

__all__ = ["CommandResult", "Shell"]

_STATUS = re.compile(rb":(\d{1,3}):([\d ]*)\n")
"""What follows the number that tells a command from the next: its exit code, and the shell's children that go on."""
_MOST_JOBS = 900
"""Characters of the children's numbers, few enough that the line is always written at once."""

# A function, since bash reads what is piped to it byte by byte. Where the kernel lists no children, the last job is all
# that is known of them. What fails here, and what `set -x` shows of it, is not told.
_TOLD = (
    '_gem_told() { { local code=$? jobs=${!-}; read -r jobs <"/proc/$$/task/$$/children" || :; '
    f'printf \'\\n%s%s:%d:%s\\n\' "$1" "$2" "$code" "${{jobs:0:{_MOST_JOBS}}}"; }} 2>&-; }}\n'
    "readonly -f _gem_told\n"
)

_BASH = ("bash", "--noprofile", "--norc")
_MOST_OUTPUT = 64 << 20
"""Bytes of one command that are read at all; one that writes more is ended, as one that takes too long is."""

_PATIENCE = 2.0
"""Seconds that a shell has to answer once what it ran was killed."""

_BEGINS_IN = 30.0
"""Seconds that a new shell has to answer."""

_KILLS_IN = 30.0
"""Seconds in which a command is killed, or everything is."""
_MOST_EARLY = 1 << 20
"""Bytes that background jobs wrote between two commands, of which more are left for later."""

_SUSPECT = frozenset((None, 137, 153, 254))
"""Exit codes that tell of a limit: of a process that was killed, of a file too large, of a shell that cannot fork."""
_SUSPICIOUS = ("fork: ", "Killed", "Resource temporarily unavailable", "Cannot allocate memory", "File size limit")

# The shell's descendants, killed by another process, with builtins alone: small images have no pkill. Children come
# after their parents here, so a parent is stopped before its children are looked for. The second argument has those
# that are spared, with all that they have started.
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
    """What came of a command."""

    output: str
    """stdout and stderr as they came, cut in the middle if it was too much."""
    exit_code: int | None
    """None where the command was ended, or ended the shell."""
    timed_out: bool = False
    flooded: bool = False
    """It was ended because it wrote without end."""
    shell_ended: bool = False
    """It ended the shell; the next command meets a new one."""
    notices: tuple[str, ...] = ()
    """What befell the container meanwhile, in words."""


class Shell:
    """Runs commands in one shell of a container.

    Args:
        container: where.
        user, workdir, environment: whose shell it is, where it begins, and what it is told.
        output: bytes of a command's output that are kept.
    """

    def __init__(
        self,
        container: Container,
        *,
        user: str | None = None,
        workdir: str | None = None,
        environment: Mapping[str, str] | None = None,
        output: int = 16 << 10,
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
        self._begun = False
        if why := self._open():
            raise EngineError(f"container {container.id[:12]} gives no shell: {why}")
        self._begun = True

    def run(self, command: str, seconds: float) -> CommandResult:
        """Run a command, which may have several lines.

        Args:
            command: what ``bash`` is to evaluate. It reads from ``/dev/null``.
            seconds: after so many, what it has started is killed. What earlier commands left in the background goes
                on, unless the shell still does not answer, since it waits for that.

        Raises:
            EngineError: if the container or the engine has died.
        """
        early = []
        if not self.is_open:
            if self._pid:
                early.append("the shell had been ended, so this ran in a new one")
                self._abandon()
            if why := self._open():  # the container lives, so it is for the agent to mend, or to answer for
                notices = (*early, f"no new shell can be started: {why}", *self._container.troubles(True))
                return CommandResult("", None, notices=notices)
        done = self._evaluate(command, seconds)
        suspected = done.exit_code in _SUSPECT or any(word in done.output for word in _SUSPICIOUS)
        notices = (*early, *self._container.troubles(suspected))
        # Whatever was killed for it may have been the shell.
        if notices and not done.shell_ended and not self.is_open:
            self._abandon()
            done = replace(done, shell_ended=True)
        return replace(done, notices=notices)

    def _evaluate(self, command: str, seconds: float) -> CommandResult:
        assert self._channel is not None
        nonce = secrets.token_hex(16)
        marker = f"\n{nonce}".encode()
        kept, tail, deadline, killed, spared = BoundedOutput(self._output), b"", time.monotonic() + seconds, "", ""
        kept.add(self._early)
        self._early, most = b"", kept.total + _MOST_OUTPUT
        # Halves of the number, so that a command that is echoed cannot end itself.
        half, other = nonce[:16], nonce[16:]
        line = f"eval {_quoted(command)} </dev/null 2>&1; _gem_told {half} {other}\n"
        if not self._channel.write(line.encode(errors="replace"), max(seconds, _PATIENCE)):
            killed = "timed out" if self.is_open else ""
            self._abandon()
            return _ended(kept, self._early, killed, shell_ended=True)
        while True:
            left = deadline - time.monotonic()
            flooded = kept.total > most
            if left <= 0 or flooded:
                if killed and not spared:
                    self._abandon()
                    return _ended(kept, tail, killed, shell_ended=True)
                spared = "" if killed else self._jobs
                killed = killed or ("flooded" if flooded and left > 0 else "timed out")
                self._kill_children(spared)
                deadline, most = time.monotonic() + _PATIENCE, max(most, kept.total) + _MOST_OUTPUT
                continue
            data = self._channel.read(left)
            if data is None:
                self._abandon()
                return _ended(kept, tail, killed, shell_ended=True)
            tail += data
            found = tail.find(marker)
            status = _STATUS.match(tail, found + len(marker)) if found >= 0 else None
            if status is not None:
                kept.add(tail[:found])
                code = None if killed else int(status[1])
                self._early = tail[status.end() :]
                self._jobs = status[2][: status[2].rfind(b" ") if len(status[2]) == _MOST_JOBS else None].decode()
                return CommandResult(kept.text(), code, timed_out=killed == "timed out", flooded=killed == "flooded")
            # What could be the beginning of the marker waits for the rest.
            held = found if found >= 0 else max(len(tail) - len(marker), 0)
            kept.add(tail[:held])
            tail = tail[held:]

    @property
    def is_open(self) -> bool:
        """Whether the shell that waits for a command goes on, as far as can be told at once."""
        if self._container.kills != self._kills:
            return False
        while self._channel is not None and len(self._early) < _MOST_EARLY:
            data = self._channel.read(0.0)
            if data is None:
                return False
            if not data:
                break
            self._early += data  # of what runs in the background; it is shown with the next command
        return self._channel is not None

    def close(self) -> None:
        """End the shell; calling it again does nothing."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _open(self) -> str:
        """Start the shell; return why it does not begin, or nothing."""
        # An agent may have taken away the folder, but a task that begins in one that it does not have is wrong.
        places = (self._workdir, "/") if self._begun else (self._workdir,)
        why = ""
        for _ in range(2):
            for place in places:
                self._channel = self._container.open(
                    _BASH, user=self._user, workdir=place, environment=self._environment
                )
                self._pid, self._jobs, self._early, self._kills = "", "", b"", self._container.kills
                self._channel.write(_TOLD.encode(), _BEGINS_IN)
                started = self._evaluate("echo $$", _BEGINS_IN)
                if started.exit_code == 0:
                    self._pid = started.output.strip()
                    return ""
                self.close()
                why = started.output[-200:].strip() or "it does not answer"
            self._container.kill_all()  # something that runs there may have killed it
        return why

    def _kill_children(self, spared: str = "", itself: bool = False) -> None:
        if not self._pid:
            return
        script = _KILL_CHILDREN + ('kill -9 "$1" 2>/dev/null\n' if itself else "") + "exit 0"
        command = ("sh", "-c", script, "sh", self._pid, spared)
        done = self._container.run(command, seconds=_KILLS_IN, user="root", workdir="/")
        if done.exit_code:  # killed itself, by something that kills whatever is started
            self._container.kill_all()

    def _abandon(self) -> None:
        self.close()
        self._kill_children(itself=True)
        self._pid = ""


def _ended(kept: BoundedOutput, tail: bytes, killed: str, shell_ended: bool) -> CommandResult:
    kept.add(tail)
    return CommandResult(kept.text(), None, killed == "timed out", killed == "flooded", shell_ended)


def _quoted(command: str) -> str:
    return "'" + command.replace("\x00", "").replace("'", "'\\''") + "'"
