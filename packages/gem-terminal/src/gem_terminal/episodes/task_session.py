"""The session of an agent with a task: a container with a shell, a terminal and files. :class:`TaskSession`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gem_terminal.actions import Bash, CallMcpTool, ReadFile, SendKeys, WriteFile
from gem_terminal.archive import archive_of, folders
from gem_terminal.bounded_output import BoundedOutput
from gem_terminal.engines.base import Channel, Container, ContainerSnapshot, Engine, ExecResult
from gem_terminal.episodes.agent_box import AgentBox
from gem_terminal.episodes.healthcheck import await_health
from gem_terminal.episodes.side_cars import SideCarGroup
from gem_terminal.errors import EngineError
from gem_terminal.network.mcp_servers import TaskMcpServers, mcp_client_is_installed
from gem_terminal.recording import EpisodeRecording
from gem_terminal.shells.shell import CommandResult, Shell
from gem_terminal.task import Task
from gem_terminal.verdicts.verification import VerifierResult, verify

if TYPE_CHECKING:
    from gem_terminal.shells.screen import Screen

__all__ = ["ActionResult", "SessionSnapshot", "TaskSession"]

_FILE_SECONDS = 30.0
_SETUP_SECONDS = 600.0
"""The time limit of a step's ``setup.sh``; Harbor has none."""
_SCREEN_SECONDS = 5.0
_MOST_SECONDS = 600.0
"""The longest time limit of a command, in seconds, where the episode has no time limit."""

_NOT_RUN = (126, 127)
"""Exit codes of commands that could not start, for example because their folder is gone."""
_LONGEST_PATH = 4096
"""PATH_MAX of Linux, in bytes: a path must be shorter."""

# Regular files only: a pipe or a device may have no end, and a timeout kills all processes of the container.
_REGULAR = """
if [ -e "$1" ] && [ ! -f "$1" ]; then echo "$1: not a regular file"; exit 1; fi
"""
# As in the shell of the same agent; a file that is named ~ has the path ./~.
_AT_HOME = r"""case "$1" in
"~" | "~/"*) path="$HOME${1#"~"}"; shift; set -- "$path" "$@" ;;
"~"*)
  user=${1%%/*}
  while IFS=: read -r name _ _ _ _ home _; do
    if [ "~$name" = "$user" ]; then path="$home${1#"$user"}"; shift; set -- "$path" "$@"; break; fi
  done 2>/dev/null < /etc/passwd ;;
esac
"""
_READ = _REGULAR + 'head -c 67108864 -- "$1"'
# $2: the number of the first byte, $3: how many bytes. The size is the last line.
_READ_FROM = _REGULAR + 'tail -c "+$2" -- "$1" | head -c "$3" && echo && wc -c < "$1"'
_WRITE = _REGULAR + 'mkdir -p -- "$(dirname -- "$1")" && head -c "$2" > "$1"'
# Between two steps: what the agent logged, and what the tests of the step before left.
_TIDY = 'rm -rf -- "$@" && if [ -d /logs/agent ]; then find /logs/agent -mindepth 1 -delete; fi'
_OF_TESTS = ("/tests", "/logs/verifier")


@dataclass(frozen=True)
class ActionResult:
    """The result of one action."""

    text: str
    info: dict[str, Any] = field(default_factory=dict)
    ok: bool = True
    """Whether the action succeeded. A command succeeds if its exit code is 0."""


@dataclass(frozen=True)
class SessionSnapshot:
    """The files and the shell of a session at one moment."""

    files: ContainerSnapshot
    shell: tuple[str, str] | None
    """See :meth:`~gem_terminal.shells.shell.Shell.state`."""
    processes: int
    """Processes of the agent, other than its shell, that are no part of it."""
    step: int = 0
    """The step of a task that has several."""


class TaskSession:
    """The container of one episode, with its shell and terminal.

    Args:
        task: the task; one with several steps begins with the first, or with that of ``restored``.
        container: a fresh container; closing the session removes it.
        engine: starts the container of a separate verifier.
        side_cars: the other containers of the task; closing the session removes them too.
        output: the number of bytes of output that a result shows.
        command_seconds: the time limit of a command that names none, in seconds.
        seconds: the time limit of the episode, in seconds; None for no limit.
        restored: the snapshot of another session, with whose files the container began.

    Raises:
        EngineError: if the container died, failed the set-up or the health check of the task, or its first step cannot
            begin.
    """

    def __init__(
        self,
        task: Task,
        container: Container,
        *,
        engine: Engine | None = None,
        side_cars: SideCarGroup | None = None,
        output: int,
        command_seconds: float,
        seconds: float | None,
        restored: SessionSnapshot | None = None,
    ) -> None:
        self.step = 0 if restored is None else restored.step
        """The number of the step, for a task that has several."""
        self._whole = task
        self.task = task.at_step(self.step)
        """The task, as it is in this step."""
        task = self.task
        self._container = container
        self._engine = engine
        self._side_cars = side_cars
        self._output = output
        self._command_seconds = command_seconds
        self._seconds = seconds
        self._deadline: float | None = None
        self._place: dict[str, Any] = {
            "user": task.user,
            "workdir": task.workdir,
            "environment": task.environment,
        }
        if restored is None:
            if task.tests.separate is not None:
                container.put(folders("logs/artifacts", "logs/agent"), "/")
            if task.setup:
                self._set_up(*task.setup)
            if task.healthcheck is not None:
                await_health(container, task.healthcheck, task.workdir)
            if problem := self._prepare_step():
                raise EngineError(f"the task {task.name} cannot begin: {problem}")
        self._shell = Shell(container, output=output, state=None if restored is None else restored.shell, **self._place)
        self._screen: Screen | None = None
        self.mcp: TaskMcpServers | None = None
        """The tools of the task's MCP servers, if it brings any and this process has a client."""
        if task.mcp_servers and mcp_client_is_installed():
            self.mcp = TaskMcpServers(task.mcp_servers, self._opened, seconds=max(command_seconds, 1.0), most=output)
            if restored is None:
                self.mcp.description()  # ahead of the episode, since servers take a while to answer
        self._process = os.getpid()
        self.recording: EpisodeRecording | None = None
        """Where the episode is recorded, if it is."""

    def is_sound(self) -> bool:
        """Whether the shell and its container are alive; takes microseconds."""
        return self._shell.is_open

    def begin(self) -> None:
        """Start the clock of the episode."""
        self._deadline = None if self._seconds is None else time.monotonic() + self._seconds

    @property
    def seconds_left(self) -> float | None:
        """Seconds left of the episode's time; None without a limit."""
        return None if self._deadline is None else max(self._deadline - time.monotonic(), 0.0)

    def bash(self, action: Bash) -> ActionResult:
        """Run a command in the shell."""
        seconds = self._granted(action.seconds or self._command_seconds)
        done = self._shell.run(action.command, seconds, None if self.recording is None else self.recording.heard)
        notes = _notes(done, seconds)
        code = "" if done.exit_code is None else f"[exit code {done.exit_code}]"
        text = "\n".join(part for part in (done.output.rstrip("\n"), *notes, code) if part)
        info: dict[str, Any] = {"exit_code": done.exit_code, "timed_out": done.timed_out}
        if done.notices:
            info["notices"] = list(done.notices)
        return ActionResult(text, info, done.exit_code == 0)

    def send_keys(self, action: SendKeys) -> ActionResult:
        """Type into the terminal, which opens on first use; the result is its screen and what it scrolled off."""
        wait = self._granted(action.wait or 0.0)
        seconds = self._granted(max(action.seconds or _SCREEN_SECONDS, wait))
        from gem_terminal.shells.screen import bytes_of  # few tasks need it, and it brings a library

        screen = self._screen
        if screen is None or screen.ended:
            screen = self._open_screen(self.task.workdir)
        if self.recording is not None:
            self.recording.keys(bytes_of(action.keys), screen.shown())
        text = screen.press(action.keys, seconds, wait)
        if screen.ended and not screen.begun:  # its first folder may be gone
            screen = self._open_screen("/")
            text = screen.press(action.keys, seconds, wait)
        kept = BoundedOutput(self._output)
        kept.add(text.encode(errors="replace"))
        text = kept.text()
        return ActionResult(f"{text}\n[the terminal has ended]" if screen.ended else text)

    def read_file(self, action: ReadFile) -> ActionResult:
        """Return the content of a file, read with the rights of the agent's user.

        The middle of a long file is cut out, unless the action has an offset: then the file is shown from there on.
        """
        if action.offset is not None:
            return self._read_from(action.path, action.offset)
        done = self.run_script(_READ, action.path)
        kept = BoundedOutput(self._output)
        kept.add(done.output or _silence(done, action.path))
        return ActionResult(kept.text(), {"exit_code": done.exit_code}, done.exit_code == 0)

    def _read_from(self, path: str, offset: int) -> ActionResult:
        done = self.run_script(_READ_FROM, path, str(offset + 1), str(self._output))
        content, _, size = done.output.rstrip(b"\n").rpartition(b"\n")
        if done.exit_code != 0 or not size.strip().isdigit():
            told = (done.output or _silence(done, path)).decode(errors="replace")
            return ActionResult(told, {"exit_code": done.exit_code}, ok=False)
        total, end = int(size), min(offset + self._output, int(size))
        note = f"[bytes {offset} to {end} of {total}]" if offset < total else f"[the file ends at byte {total}]"
        text = f"{content.decode(errors='replace')}\n{note}" if content else note
        return ActionResult(text, {"exit_code": 0})

    def write_file(self, action: WriteFile) -> ActionResult:
        """Write a file, and the folders that it is in, with the rights of the agent's user."""
        return self.write_bytes(action.path, action.content.encode(errors="replace"))

    def write_bytes(self, path: str, content: bytes) -> ActionResult:
        """Write a file like :meth:`write_file`; one that exists keeps its mode and its owner."""
        done = self.run_script(_WRITE, path, str(len(content)), stdin=content)
        told = (done.output or _silence(done, path)).decode(errors="replace").strip()
        return ActionResult(told or f"Written to {path}.", {"exit_code": done.exit_code}, done.exit_code == 0)

    def call_mcp_tool(self, action: CallMcpTool) -> ActionResult:
        """Call a tool of an MCP server of the task."""
        if self.mcp is None:
            why = "there is no client (pip install gem-terminal[mcp])" if self.task.mcp_servers else "it brings none"
            return ActionResult(f"The MCP servers of this task cannot be called: {why}.", ok=False)
        result = self.mcp.call(action.tool, action.arguments)
        return ActionResult(result.text, ok=result.ok)

    def agent_box(self) -> AgentBox:
        """Return the container as the box of an agent program."""
        return AgentBox(self._container, self._place, lambda: self.seconds_left)

    def _opened(self, command: tuple[str, ...]) -> Channel:
        return self._container.open(command, **self._place)

    @property
    def has_cheap_snapshots(self) -> bool:
        """Whether a snapshot takes milliseconds."""
        return self._side_cars is None and self._container.snapshots_in_milliseconds

    def processes(self) -> int:
        """Return the number of the agent's processes other than its shell."""
        return max(self._container.survivors() - self._shell.is_open, 0)

    def snapshot(self) -> SessionSnapshot:
        """Return a snapshot of the files and the shell.

        Raises:
            EngineError: if the task has side-cars, whose state would be missing; see also
                :meth:`Container.snapshot <gem_terminal.engines.base.Container.snapshot>`.
        """
        if self._side_cars is not None:
            raise EngineError(f"the task {self.task.name} has several containers, of which no snapshot can be taken")
        shell = self._shell.state()
        return SessionSnapshot(self._container.snapshot(), shell, self.processes(), self.step)

    def _open_screen(self, workdir: str | None) -> Screen:
        from gem_terminal.shells.screen import Screen

        if self._screen is not None:
            self._screen.close()
        heard = None if self.recording is None else self.recording.heard
        self._screen = Screen(self._container, **{**self._place, "workdir": workdir}, heard=heard)
        return self._screen

    def run_script(self, script: str, path: str, *arguments: str, stdin: bytes = b"") -> ExecResult:
        """Run a script of ``sh`` on a path as the agent's user, in the first folder of its shell.

        If nothing can run there and the path is absolute, it runs in ``/``.

        Args:
            script: the script; ``$1`` is the path, in which ``~`` at the beginning is a user's home.
            path: the path, as the agent wrote it.
            arguments: ``$2`` and so on.
            stdin: what the script reads; it must stop by itself.
        """
        if len(path.encode(errors="replace")) >= _LONGEST_PATH:
            return ExecResult(f"{path[:64]}...: File name too long".encode(errors="replace"), 1)
        command = ("sh", "-c", _AT_HOME + script, "sh", path.replace("\x00", ""), *arguments)

        def run(workdir: str | None) -> ExecResult:
            seconds = self._granted(_FILE_SECONDS)
            return self._container.run(command, seconds=seconds, user=self.task.user, workdir=workdir, stdin=stdin)

        done = run(self.task.workdir)
        return run("/") if done.exit_code in _NOT_RUN and path.startswith("/") else done

    def verify(self, verifier: Callable[[Task, Container, Engine | None], VerifierResult] = verify) -> VerifierResult:
        """Run the tests.

        Args:
            verifier: runs them; by default :func:`~gem_terminal.verdicts.verification.verify`.
        """
        self.let_go()
        return verifier(self.task, self._container, self._engine)

    def next_step(self, *, restarts_clock: bool) -> str | None:
        """Begin the next step, after the tests of this one, in a new shell.

        Args:
            restarts_clock: whether the step has the time that the task gives it; otherwise the clock goes on.

        Returns:
            None, or the reason why the step cannot begin, which the agent or the task may have caused.

        Raises:
            EngineError: if the container died.
        """
        was = self.task
        self.step += 1
        self.task = self._whole.at_step(self.step)
        self._place["user"] = self.task.user
        self._screen = None
        in_container = was.tests.separate is None and not was.pristine
        tidied = self._container.run(
            ("/bin/sh", "-c", _TIDY, "sh", *(_OF_TESTS if in_container else ())), seconds=_FILE_SECONDS, user="root",
            workdir="/",
        )  # fmt: skip
        if tidied.exit_code != 0:
            return f"the container cannot be prepared: {tidied.output[-200:].decode(errors='replace').strip()}"
        if problem := self._prepare_step():
            return problem
        self._shell = Shell(self._container, output=self._output, **self._place)
        if restarts_clock:
            self._seconds = self.task.seconds
            self.begin()
        return None

    def _set_up(self, script: str, *arguments: str) -> None:
        done = self._container.run(("sh", "-c", script, "sh", *arguments), seconds=_SETUP_SECONDS, **self._place)
        if done.exit_code != 0:
            said = done.output[-500:].decode(errors="replace").strip()
            raise EngineError(f"the task {self.task.name} cannot be set up: exit code {done.exit_code}: {said}")

    def _prepare_step(self) -> str | None:
        """Copy the files of a step into the working folder, run its ``setup.sh``, and wait until it is healthy."""
        if not self._whole.steps:
            return None
        step, place = self._whole.steps[self.step], self._place
        if step.files is not None:
            where = self._container.run(("pwd",), seconds=_FILE_SECONDS, **place)
            folder = where.output.decode(errors="replace").removesuffix("\n")
            if where.exit_code != 0 or not folder.startswith("/"):
                return f"the working folder of the step {step.name} cannot be found: {folder[-200:]}"
            files = archive_of([step.files], folder.strip("/") or ".", readable=True, existing=True)
            self._container.put(files, "/")
            if (step.files / "setup.sh").is_file():
                script = f"{folder.rstrip('/')}/setup.sh"
                done = self._container.run(("bash", script), seconds=_SETUP_SECONDS, **place)
                if done.exit_code != 0:
                    told = done.output[-500:].decode(errors="replace").strip()
                    return f"setup.sh of the step {step.name} failed with exit code {done.exit_code}: {told}"
        if step.healthcheck is not None:
            try:
                await_health(self._container, step.healthcheck, self.task.workdir)
            except EngineError as error:
                return f"the step {step.name}: {error}"
        return None

    def close(self) -> None:
        """Remove the container, except in a forked child, whose parent owns it. A second call does nothing."""
        self.let_go()
        if self._process == os.getpid():
            if self.mcp is not None:
                self.mcp.close()
            if self._side_cars is not None:
                self._side_cars.remove()
            self._container.remove()

    def let_go(self) -> None:
        """Close this process's connections to the shell and the terminal."""
        self._shell.close()
        if self._screen is not None:
            self._screen.close()

    def _granted(self, seconds: float) -> float:
        left = self.seconds_left
        return min(seconds, max(self._command_seconds, _MOST_SECONDS) if left is None else left)


def _notes(done: CommandResult, seconds: float) -> list[str]:
    notes = [f"[{notice}]" for notice in done.notices]
    if done.timed_out:
        notes.append(f"[ended after {seconds:g} seconds]")
    if done.flooded:
        notes.append("[ended, since it wrote without end]")
    if done.shell_ended and done.state_kept:
        notes.append("[the shell has exited; the next command runs in a new one with its folder and variables]")
    elif done.shell_ended:
        notes.append("[the shell has ended; the next command runs in a new one]")
    return notes


def _silence(done: ExecResult, path: str) -> bytes:
    """Return the message for a command without output; empty if the command succeeded."""
    if done.exit_code == 0:
        return b""
    why = "it took too long" if done.exit_code is None else f"exit code {done.exit_code}"
    return f"{path}: failed, {why}".encode(errors="replace")
