"""Runs an agent program and ends with it everything that it has started. Executed as a script of its own::

    python -I supervisor.py STDIN PROGRAM [ARGUMENT]...

The program reads the file STDIN. The supervisor ends when the program does, with its exit code or by the same signal.
It kills the program when its own standard input is closed, which happens as well when the process that started it dies.
Before it ends, it kills all descendants of the program, whatever sessions or groups they are in (Linux).
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

__all__ = ["NOT_STARTED", "main"]

NOT_STARTED = 127
"""The exit code for a program that cannot be started; shells use the same."""


def main(arguments: list[str]) -> int:
    """Run a program and return its exit code; negative, the signal that ended it."""
    given, command = arguments[0], arguments[1:]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        from gem_processes.linux import adopt_orphans

        adopt_orphans()
    try:
        with Path(given).open("rb") as stdin:
            program = subprocess.Popen(command, stdin=stdin)  # noqa: S603  # the user's own program
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be started: {error.strerror or error}\n")
        return NOT_STARTED
    threading.Thread(target=_kill_on_request, args=(program,), daemon=True).start()
    code = program.wait()
    if sys.platform == "linux":
        from gem_tools.sandbox.inside.restricted_processes import end_all_children

        end_all_children()
    return code


def _kill_on_request(program: subprocess.Popen[bytes]) -> None:
    while os.read(0, 1024):
        pass
    program.kill()


def _end(code: int) -> None:
    """End this process as another one has ended."""
    sys.stdout.flush()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code not in (signal.SIGKILL, signal.SIGSTOP) else None
        os.kill(os.getpid(), -code)
    os._exit(code & 0xFF)  # a thread waits for input


if __name__ == "__main__":
    _end(main(sys.argv[1:]))
