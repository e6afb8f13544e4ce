"""An agent program in a box, at the other end of a channel: :class:`BoxedProgram`."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any, Protocol

from gem_gateway.harnesses.errors import HarnessError
from gem_gateway.harnesses.place import RunningProgram

__all__ = ["BoxChannel", "BoxedProgram"]

_BEGINS_IN = 120.0
"""Seconds for the first message, on a machine that is busy."""
_LOOKS = 0.25
"""Seconds between two looks whether the channel is still wanted."""
_LONGEST = 16 << 20
"""Bytes of all messages: a program may write in the place of the script that reports on it."""
_KILLED = -9


class BoxChannel(Protocol):
    """The input and output of a process in a box, such as :class:`gem_terminal.engines.base.Channel`."""

    def write(self, data: bytes, seconds: float = ...) -> bool:
        """Write all data; False if the process has ended or does not read."""

    def read(self, seconds: float) -> bytes | None:
        """Return the available output after at most ``seconds``; None after the end of the process."""

    def close(self) -> None:
        """Close it, which kills the program."""


class BoxedProgram(RunningProgram):
    """The program that ``drivers/in_box.py`` runs at the other end of a channel.

    A thread reads the channel and closes it. Everything that is read may come from the program itself; it decides
    about nothing but the program's own end and answer.
    """

    def __init__(self, channel: BoxChannel) -> None:
        self.output, self.errors, self.answer = bytearray(), bytearray(), ""
        self._channel = channel
        self._code: int | None = None
        self._loop = asyncio.get_running_loop()
        self._first: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        self._exited = asyncio.Event()
        self._request: str | None = None
        self._asked, self._unwanted = threading.Event(), threading.Event()
        threading.Thread(target=self._talk, name="gem harness in its box", daemon=True).start()

    async def begin(self) -> dict[str, Any]:
        """Return the first message.

        Raises:
            HarnessError: if there is none, because the box cannot run our script.
        """
        try:
            return await asyncio.wait_for(asyncio.shield(self._first), _BEGINS_IN)
        except asyncio.TimeoutError:
            await self.stop()
            raise HarnessError(f"the box has not answered in {_BEGINS_IN:g} seconds") from None

    def run(self, request: str) -> None:
        """Have the program started."""
        self._request = request
        self._asked.set()

    @property
    def returncode(self) -> int | None:
        return self._code

    async def wait(self) -> None:
        await self._exited.wait()

    async def stop(self) -> None:
        self._unwanted.set()
        self._asked.set()
        await self._exited.wait()

    def _talk(self) -> None:
        """Read the messages and send the request, in a thread of its own."""
        said, read = b"", 0
        try:
            while not self._unwanted.is_set() and read < _LONGEST:
                data = self._channel.read(_LOOKS)
                if data is None:
                    break
                read += len(data)
                said += data
                if not self._asked.is_set() and b"\n" in said:
                    line, _, said = said.partition(b"\n")
                    self._loop.call_soon_threadsafe(self._hear, line)
                    self._asked.wait()
                    if self._request is not None and not self._channel.write(f"{self._request}\n".encode(), _BEGINS_IN):
                        break
        except Exception as error:  # of an engine that has gone
            said += f"\n{error}".encode()
        finally:
            self._channel.close()
            self._loop.call_soon_threadsafe(self._end, said)

    def _hear(self, line: bytes) -> None:
        message = _message(line)
        if message is None:
            said = line.decode(errors="replace")[-500:]
            self._first.set_exception(HarnessError(f"the Python of the box does not run there: {said}"))
        else:
            self._first.set_result(message)

    def _end(self, said: bytes) -> None:
        """Note the end of the program, from the last message or from what was said in its place."""
        report = _message(said)
        if report is None:
            self._code = _KILLED
            self.errors += said[-1000:]
        else:
            code, answer = report.get("code"), report.get("answer")
            self._code = code if isinstance(code, int) and -64 <= code <= 255 else _KILLED
            self.output += str(report.get("output", "")).encode(errors="replace")
            self.errors += str(report.get("errors", "")).encode(errors="replace")
            self.answer = answer if isinstance(answer, str) else ""
        if not self._first.done():
            self._first.set_exception(HarnessError(f"the Python of the box does not run there{self.last_words()}"))
            self._first.exception()  # after a stop, nobody waits for it
        self._exited.set()


def _message(line: bytes) -> dict[str, Any] | None:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None
