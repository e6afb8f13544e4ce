"""A container of a fleet: :class:`FleetContainer`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from weakref import finalize

from gem_terminal.engines.base import Channel, Container, ContainerSnapshot, ExecResult, FileChanges
from gem_terminal_remote.fleet.members import FleetMember

__all__ = ["FleetContainer", "FleetSnapshot"]


class FleetSnapshot(ContainerSnapshot):
    """A snapshot of a member's container, with which only containers of that member can begin."""

    def __init__(self, snapshot: ContainerSnapshot, member: FleetMember) -> None:
        self.snapshot, self.member, self.size = snapshot, member, snapshot.size

    @property
    def is_open(self) -> bool:
        return self.snapshot.is_open

    def close(self) -> None:
        self.snapshot.close()


class FleetContainer(Container):
    """A container of a member, whose lease ends with it, at the latest when it is forgotten.

    Args:
        container: the member's.
        member: the member.
        release: ends the lease.
    """

    def __init__(self, container: Container, member: FleetMember, release: Callable[[FleetMember], None]) -> None:
        self.container = container
        self.member = member
        self.id = container.id
        self.snapshots_in_milliseconds = container.snapshots_in_milliseconds
        self._lease = finalize(self, release, member)
        self._lease.atexit = False

    @property
    def kills(self) -> int:  # type: ignore[override]  # counted by the member's container
        """See :class:`~gem_terminal.engines.base.Container`."""
        return self.container.kills

    def open(self, command: Iterable[str], **options: Any) -> Channel:
        return self.container.open(command, **options)

    def run(self, command: Iterable[str], **options: Any) -> ExecResult:
        return self.container.run(command, **options)

    def put(self, archive: bytes, folder: str) -> None:
        self.container.put(archive, folder)

    def get(self, path: str, *, most: int = 1 << 30) -> bytes | None:
        return self.container.get(path, most=most)

    def kill_all(self) -> None:
        self.container.kill_all()

    def survivors(self) -> int:
        return self.container.survivors()

    def reached_limits(self, suspected: bool = False) -> tuple[str, ...]:
        return self.container.reached_limits(suspected)

    def changes(self, folders: Iterable[str], *, most: int = 1 << 30) -> FileChanges:
        return self.container.changes(folders, most=most)

    def snapshot(self) -> FleetSnapshot:
        return FleetSnapshot(self.container.snapshot(), self.member)

    def remove(self) -> None:
        try:
            self.container.remove()
        finally:
            self._lease()
