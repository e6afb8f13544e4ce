"""What a worker has for this process: :class:`RemoteContainer`, :class:`RemoteChannel` and :class:`RemoteSnapshot`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from weakref import finalize

from gem_terminal.engines.base import Channel, Container, ContainerSnapshot, ExecResult, FileChanges, ProcessOptions
from gem_terminal.errors import EngineError
from gem_terminal_remote.workers.frames import chunks, decode
from gem_terminal_remote.workers.link import WorkerAnswer, WorkerLink

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["RemoteChannel", "RemoteContainer", "RemoteSnapshot"]

_WAITS = 30.0
"""The longest wait of one request in seconds; longer ones are several."""


class _OnWorker:
    """Something with a number in a session, which the worker closes when this object is forgotten."""

    def __init__(self, link: WorkerLink, epoch: int, closing: dict[str, Any]) -> None:
        self.link, self.epoch, self._closing = link, epoch, closing
        self._forgetting = finalize(self, link.forget, epoch, closing)
        self._forgetting.atexit = False  # the end of the process ends the session

    @property
    def is_open(self) -> bool:
        return self._forgetting.alive

    def call(self, op: str, payload: bytes = b"", **fields: Any) -> WorkerAnswer:
        return self.link.call(op, payload, epoch=self.epoch, **fields)

    def close(self) -> None:
        if self._forgetting.detach() is not None:
            try:
                self.link.call(epoch=self.epoch, **self._closing)
            except EngineError:
                if self.epoch == self.link.epoch:  # or the worker removed it with its session
                    raise


class RemoteChannel(Channel):
    """A process in a container of a worker.

    Args:
        link: the connection.
        epoch: the session.
        number: of the channel on the worker.
    """

    def __init__(self, link: WorkerLink, epoch: int, number: int) -> None:
        self._there = _OnWorker(link, epoch, {"op": "close", "channel": number})
        self._number = number

    def write(self, data: bytes, seconds: float = 10.0) -> bool:
        deadline = time.monotonic() + seconds
        for chunk in chunks(data):
            left = max(deadline - time.monotonic(), 0.0)
            if (
                not self._there.is_open
                or not self._there.call("write", chunk, channel=self._number, seconds=left).result
            ):
                return False
        return True

    def read(self, seconds: float) -> bytes | None:
        for left in _waits(seconds):
            if not self._there.is_open:
                return None
            answer = self._there.call("read", channel=self._number, seconds=left)
            if not answer.result:
                return None
            if answer.payload:
                return answer.payload
        return b""

    def resize(self, columns: int, rows: int) -> None:
        self._there.call("resize", channel=self._number, columns=columns, rows=rows)

    def exit_code(self, seconds: float) -> int | None:
        code: int | None = None
        for left in _waits(seconds):
            code = self._there.call("exit_code", channel=self._number, seconds=left).result
            if code is not None:
                break
        return code

    def close(self) -> None:
        self._there.close()


class RemoteSnapshot(ContainerSnapshot):
    """The files of a container, on its worker.

    Args:
        link: the connection.
        epoch: the session.
        number: of the snapshot on the worker.
        size: in bytes.
    """

    def __init__(self, link: WorkerLink, epoch: int, number: int, size: int) -> None:
        self._there = _OnWorker(link, epoch, {"op": "close_snapshot", "snapshot": number})
        self.number, self.size = number, size

    @property
    def link(self) -> WorkerLink:
        return self._there.link

    @property
    def epoch(self) -> int:
        """The session that it belongs to."""
        return self._there.epoch

    @property
    def is_open(self) -> bool:
        return self._there.is_open and self.epoch == self.link.epoch

    def close(self) -> None:
        self._there.close()


class RemoteContainer(Container):
    """A container of a worker.

    Args:
        link: the connection.
        epoch: the session.
        started: what the worker says of it.
    """

    def __init__(self, link: WorkerLink, epoch: int, started: Mapping[str, Any]) -> None:
        self.number: int = started["container"]
        self._there = _OnWorker(link, epoch, {"op": "remove", "container": self.number})
        self.id = str(started["id"])
        self.kills = int(started["kills"])
        self.snapshots_in_milliseconds = bool(started["cheap_snapshots"])

    @property
    def link(self) -> WorkerLink:
        return self._there.link

    @property
    def epoch(self) -> int:
        """The session that it belongs to."""
        return self._there.epoch

    def open(self, command: Iterable[str], **options: Unpack[ProcessOptions]) -> Channel:
        fields = _process(command, options)
        number = self._call("open", terminal=options.get("terminal", False), **fields).result
        return RemoteChannel(self.link, self.epoch, number)

    def run(
        self, command: Iterable[str], *, seconds: float, stdin: bytes = b"", **options: Unpack[ProcessOptions]
    ) -> ExecResult:
        done = self._call("run", stdin, seconds=seconds, **_process(command, options))
        self.kills = max(self.kills, done.result["kills"])
        return ExecResult(done.payload, done.result["exit_code"])

    def put(self, archive: bytes, folder: str) -> None:
        self._call("put", archive, folder=folder)

    def get(self, path: str, *, most: int = 1 << 30) -> bytes | None:
        answer = self._call("get", path=path, most=most)
        return answer.payload if answer.result else None

    def kill_all(self) -> None:
        self.kills = max(self.kills, self._call("kill_all").result["kills"])

    def survivors(self) -> int:
        return int(self._call("survivors").result)

    def reached_limits(self, suspected: bool = False) -> tuple[str, ...]:
        found = self._call("reached_limits", suspected=suspected).result
        self.kills = max(self.kills, found["kills"])
        return tuple(found["said"])

    def changes(self, folders: Iterable[str], *, most: int = 1 << 30) -> FileChanges:
        head, content = decode(self._call("changes", folders=list(folders), most=most).payload)
        archives, start = [], 0
        for folder, size in head["archives"]:
            archives.append((str(folder), content[start : start + size]))
            start += size
        changed = head["changed"]
        return FileChanges(tuple(archives), tuple(head["removed"]), None if changed is None else frozenset(changed))

    def snapshot(self) -> RemoteSnapshot:
        taken = self._call("snapshot").result
        return RemoteSnapshot(self.link, self.epoch, taken["snapshot"], taken["size"])

    def remove(self) -> None:
        self._there.close()

    def _call(self, op: str, payload: bytes = b"", **fields: Any) -> WorkerAnswer:
        if not self._there.is_open:
            raise EngineError(f"container {self.id} was removed")
        return self._there.call(op, payload, container=self.number, **fields)


def _process(command: Iterable[str], options: ProcessOptions) -> dict[str, Any]:
    variables = options.get("environment")
    return {
        "command": list(command),
        "user": options.get("user"),
        "environment": None if variables is None else dict(variables),
        "workdir": options.get("workdir"),
    }


def _waits(seconds: float) -> Iterable[float]:
    """Yield the seconds to wait in each of several waits, which are ``seconds`` in all; at least one."""
    deadline = time.monotonic() + seconds
    while True:
        left = max(deadline - time.monotonic(), 0.0)
        yield min(left, _WAITS)
        if left <= _WAITS:
            return
