"""The inside of a session: consecutive calls in one ``__main__``."""

from __future__ import annotations

import os
import socket

from gem_tools.sandbox.inside import script, wire

__all__ = ["serve_calls"]

_NO_ROOM = b"OSError: too many open files; this call was not executed\n"
"""A program may have taken all numbers of descriptors, or allowed itself fewer."""


def serve_calls(channel: socket.socket) -> int:
    """Execute calls until the channel closes; return the exit code of the process.

    Between calls, the other side stops all processes of the execution.

    Each message carries two descriptors, the program and its standard input. A call reports its end itself and
    could forge the report, since it runs in the same process; only the session's own user reads it.
    """
    main = script.new_main()
    number = 0
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, 1, 2)
        if len(descriptors) != 2:
            if not message:  # the channel has been closed
                return 0
            os.write(2, _NO_ROOM)
            return 1
        number += 1
        program, stdin = map(_apart, descriptors)
        os.dup2(stdin, 0)
        os.close(stdin)
        script.connect_streams()
        prelude, code = script.read_program(program)
        exit_code = script.execute(main, prelude, code, "<python>" if number == 1 else f"<python {number}>")
        failed = script.flush()
        channel.send(wire.pack_call(exit_code or failed))


def _apart(descriptor: int) -> int:
    """Return a descriptor under a number that is none of the standard streams, which a program may have closed."""
    import fcntl  # not on Windows

    if descriptor > 2:
        return descriptor
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return moved
