"""Where an agent works on a task: a container with a shell, a terminal and files. :class:`Workplace`."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gem_terminal.actions import Bash, ReadFile, SendKeys, WriteFile
from gem_terminal.archive import folders
from gem_terminal.engines.base import Container, Engine, Finished
from gem_terminal.healthcheck import await_health
from gem_terminal.output import Cut
from gem_terminal.shell import Command, Shell
from gem_terminal.task import Task
from gem_terminal.verification import Verdict, verify

if TYPE_CHECKING:
    from gem_terminal.screen import Screen

__all__ = ["Outcome", "Workplace"]

_FILE_SECONDS = 30.0
_SCREEN_SECONDS = 5.0
_MOST_SECONDS = 600.0
"""What an agent can ask for a command at most, in a task that says nothing of the time of an episode."""

_NOT_RUN = (126, 127)
"""Exit codes of what could not be run, as where the folder that it should run in has gone."""
_LONGEST_PATH = 4096
"""PATH_MAX of Linux: so many bytes are no path any more."""

# Regular files alone: a pipe or a device might have no end, and what takes too long ends everything in the container.
_REGULAR = """
if [ -e "$1" ] && [ ! -f "$1" ]; then echo "$1: not a regular file"; exit 1; fi
"""
_READ = _REGULAR + 'head -c 67108864 -- "$1"'
_WRITE = _REGULAR + 'head -c "$2" > "$1"'


@dataclass(frozen=True)
class Outcome:
    """What an action brought."""

    text: str
    info: dict[str, Any] = field(default_factory=dict)
    ok: bool = True
    """Whether it did what it was to do; a command does if its exit code is 0."""


class Workplace:
    """The container of one episode, and what is open in it.

    Args:
        task: what is worked on.
        container: a fresh one; it is removed when the workplace is closed.
        engine: where it runs; starts the container of a verifier that has its own.
        output: bytes that an outcome shows at most.
        command_seconds: what a command may take if it does not say.
        seconds: what all of them may take together.

    Raises:
        EngineError: if the container has died, or does not become healthy where the task has a way to tell.
    """

    def __init__(
        self,
        task: Task,
        container: Container,
        *,
        engine: Engine | None = None,
        output: int,
        command_seconds: float,
        seconds: float | None,
    ) -> None:
        self.task = task
        self._container = container
        self._engine = engine
        self._output = output
        self._command_seconds = command_seconds
        self._seconds = seconds
        self._deadline: float | None = None
        self._place: dict[str, Any] = {
            "user": task.user,
            "workdir": task.workdir,
            "environment": task.environment,
        }
        if task.tests.separate is not None:
            container.put(folders("logs/artifacts", "logs/agent"), "/")
        if task.healthcheck is not None:
            await_health(container, task.healthcheck, task.workdir)
        self._shell = Shell(container, output=output, **self._place)
        self._screen: Screen | None = None
        self._process = os.getpid()

    def is_sound(self) -> bool:
        """Whether the shell goes on, which it does not once its container has died; costs microseconds."""
        return self._shell.is_open

    def begin(self) -> None:
        """Start the clock of the episode."""
        self._deadline = None if self._seconds is None else time.monotonic() + self._seconds

    @property
    def seconds_left(self) -> float | None:
        """What is left of the episode's time; None without a limit."""
        return None if self._deadline is None else max(self._deadline - time.monotonic(), 0.0)

    def bash(self, move: Bash) -> Outcome:
        """Run a command in the shell."""
        seconds = self._granted(move.seconds or self._command_seconds)
        done = self._shell.run(move.command, seconds)
        notes = _notes(done, seconds)
        code = "" if done.exit_code is None else f"[exit code {done.exit_code}]"
        text = "\n".join(part for part in (done.output.rstrip("\n"), *notes, code) if part)
        info: dict[str, Any] = {"exit_code": done.exit_code, "timed_out": done.timed_out}
        if done.notices:
            info["notices"] = list(done.notices)
        return Outcome(text, info, done.exit_code == 0)

    def send_keys(self, move: SendKeys) -> Outcome:
        """Type into the terminal, which is opened now if it was not yet."""
        seconds = self._granted(move.seconds or _SCREEN_SECONDS)
        screen = self._screen
        if screen is None or screen.ended:
            screen = self._open_screen(self.task.workdir)
        text = screen.press(move.keys, seconds)
        if screen.ended and not screen.begun:  # the folder that it begins in may have gone
            screen = self._open_screen("/")
            text = screen.press(move.keys, seconds)
        return Outcome(f"{text}\n[the terminal has ended]" if screen.ended else text)

    def read_file(self, move: ReadFile) -> Outcome:
        """Return what is in a file, as the agent's user may read it."""
        done = self._with_file(_READ, move.path)
        kept = Cut(self._output)
        kept.add(done.output or _silence(done, move.path))
        return Outcome(kept.text(), {"exit_code": done.exit_code}, done.exit_code == 0)

    def write_file(self, move: WriteFile) -> Outcome:
        """Write a file, as the agent's user may."""
        content = move.content.encode(errors="replace")
        done = self._with_file(_WRITE, move.path, str(len(content)), stdin=content)
        told = (done.output or _silence(done, move.path)).decode(errors="replace").strip()
        return Outcome(told or f"Written to {move.path}.", {"exit_code": done.exit_code}, done.exit_code == 0)

    def _open_screen(self, workdir: str | None) -> Screen:
        from gem_terminal.screen import Screen  # few tasks need it, and it brings a library

        if self._screen is not None:
            self._screen.close()
        self._screen = Screen(self._container, **{**self._place, "workdir": workdir})
        return self._screen

    def _with_file(self, script: str, path: str, *arguments: str, stdin: bytes = b"") -> Finished:
        """Run a script as the agent's user, where its shell began, or in ``/`` if nothing can be run there any more."""
        if len(path.encode(errors="replace")) >= _LONGEST_PATH:
            return Finished(f"{path[:64]}...: File name too long".encode(errors="replace"), 1)
        command = ("sh", "-c", script, "sh", path.replace("\x00", ""), *arguments)

        def run(workdir: str | None) -> Finished:
            seconds = self._granted(_FILE_SECONDS)
            return self._container.run(command, seconds=seconds, user=self.task.user, workdir=workdir, stdin=stdin)

        done = run(self.task.workdir)
        return run("/") if done.exit_code in _NOT_RUN and path.startswith("/") else done

    def verify(self, *, keep_processes: bool = False) -> Verdict:
        """Run the tests; see :func:`~gem_terminal.verification.verify`."""
        self.let_go()
        return verify(self.task, self._container, self._engine, keep_processes=keep_processes)

    def close(self) -> None:
        """Remove the container, unless a forked child asks, whose parent's it is; calling it again does nothing."""
        self.let_go()
        if self._process == os.getpid():
            self._container.remove()

    def let_go(self) -> None:
        """Close this process's ends of what runs in the container."""
        self._shell.close()
        if self._screen is not None:
            self._screen.close()

    def _granted(self, seconds: float) -> float:
        left = self.seconds_left
        return min(seconds, max(self._command_seconds, _MOST_SECONDS) if left is None else left)


def _notes(done: Command, seconds: float) -> list[str]:
    notes = [f"[{notice}]" for notice in done.notices]
    if done.timed_out:
        notes.append(f"[ended after {seconds:g} seconds]")
    if done.flooded:
        notes.append("[ended, since it wrote without end]")
    if done.shell_ended:
        notes.append("[the shell has ended; the next command runs in a new one]")
    return notes


def _silence(done: Finished, path: str) -> bytes:
    """Return what is said of a command that said nothing: nothing as well, if it succeeded."""
    if done.exit_code == 0:
        return b""
    why = "it took too long" if done.exit_code is None else f"exit code {done.exit_code}"
    return f"{path}: failed, {why}".encode(errors="replace")
