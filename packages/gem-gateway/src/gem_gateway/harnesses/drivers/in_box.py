"""Runs an agent program in its box, with the Python of the box, and reports to the process that opened the box.

It first writes a line with the home folder of its user, as JSON. Then it reads a line from its standard input: an
object with ``files`` (path → text and mode), ``command``, ``folder`` (null for its own), ``environment`` (beside its
own), ``stdin`` and ``answer`` (paths of files, or null). When the program has ended, it writes a line with the exit
code (negative for a signal), the ends of the program's output and errors, and what is in the file ``answer``.

Where this machine's namespaces are not to be entered from outside, its arguments are a descriptor, over which it first
sends listening sockets, and their ports.

It kills the program when its standard input is closed, which also happens when the process that opened the box dies.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

_KEPT_OUTPUT, _KEPT_ERRORS = 1 << 20, 1 << 14
_NOT_STARTED = 127
_LAST_WORDS_IN = 1.0
"""Seconds for the last output after the end: what the program has left running may hold it open."""


def main() -> None:
    """Run the program of the request, and report."""
    if len(sys.argv) > 1:
        _listen(int(sys.argv[1]), map(int, sys.argv[2:]))
    _tell({"home": os.environ.get("HOME") or str(Path.home())})
    request = json.loads(sys.stdin.readline())
    output, errors = bytearray(), bytearray()
    try:
        for name, (text, mode) in request["files"].items():
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="replace")
            path.chmod(mode)
        with Path(request["stdin"] or os.devnull).open("rb") as stdin:
            program = subprocess.Popen(  # noqa: S603  # the user's own program
                request["command"],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **request["environment"]},
                cwd=request["folder"],
                start_new_session=True,
            )
    except (OSError, ValueError) as error:
        said = f"{request['command'][0]} cannot be started: {error}"
        _tell({"code": _NOT_STARTED, "output": "", "errors": said, "answer": None})
        return
    threading.Thread(target=_kill_on_request, args=(program,), daemon=True).start()
    readers = [
        threading.Thread(target=_keep, args=ends, daemon=True)
        for ends in ((program.stdout, output, _KEPT_OUTPUT), (program.stderr, errors, _KEPT_ERRORS))
    ]
    for reader in readers:
        reader.start()
    code = program.wait()
    for reader in readers:
        reader.join(_LAST_WORDS_IN)
    _tell({"code": code, "output": _text(output), "errors": _text(errors), "answer": _content(request["answer"])})
    os._exit(0)  # threads wait for input


def _listen(channel: int, ports: Iterable[int]) -> None:
    """Send sockets that listen on ports of 127.0.0.1, and keep none of them."""
    with socket.socket(fileno=channel) as there, ExitStack() as listeners:
        made = [listeners.enter_context(socket.create_server(("127.0.0.1", port), backlog=128)) for port in ports]
        socket.send_fds(there, [b"l"], [listener.fileno() for listener in made])


def _tell(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _text(kept: bytearray) -> str:
    return bytes(kept).decode(errors="replace")


def _keep(stream: IO[bytes], kept: bytearray, most: int) -> None:
    while data := os.read(stream.fileno(), 1 << 16):
        kept += data
        del kept[:-most]


def _kill_on_request(program: subprocess.Popen[bytes]) -> None:
    while os.read(0, 1024):
        pass
    try:
        os.killpg(program.pid, 9)
    finally:
        os._exit(0)


def _content(path: str | None) -> str | None:
    if path is None:
        return None
    try:
        with Path(path).open("rb") as file:
            return file.read(_KEPT_OUTPUT).decode(errors="replace")
    except OSError:
        return None


if __name__ == "__main__":
    main()
