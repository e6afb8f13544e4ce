"""An engine over several engines: :class:`FleetEngine`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from gem.arguments import integer, real
from gem.errors import ArgumentError
from gem_terminal.engines.base import (
    LIMIT_NAMES,
    Container,
    ContainerSnapshot,
    ContainerSpec,
    Engine,
    EngineInfo,
    ImageProcess,
    Progress,
)
from gem_terminal.errors import EngineError
from gem_terminal.task import Image, ResourceLimits, SideCar
from gem_terminal_remote.fleet.container import FleetContainer, FleetSnapshot
from gem_terminal_remote.fleet.members import FleetMember, FleetMembers

__all__ = ["FleetEngine"]


class FleetEngine(Engine):
    """Starts each container on the member with the least load.

    ::

        FleetEngine([DockerEngine("tcp://one:2375"), DockerEngine("tcp://two:2375"), NamespaceEngine()])

    A container holds a lease of its member until it is removed or forgotten. A member that cannot be reached rests for
    one second, then two, up to a minute, while the others go on; its containers are lost, so their episodes are
    truncated. Containers of one task are started on one member. Each member builds or pulls the images that it needs.

    Args:
        members: engines; the fleet closes them.
        capacity: the most containers of each member at a time; one number for all, or one each.
        seconds: how long a start waits while all members are full.
    """

    name = "fleet"

    def __init__(
        self, members: Sequence[Engine], *, capacity: int | Sequence[int] = 256, seconds: float = 600.0
    ) -> None:
        if not members or not all(isinstance(each, Engine) for each in members):
            raise ArgumentError(f"a fleet needs engines as its members, got {members!r:.200}")
        each = [capacity] * len(members) if isinstance(capacity, int) else list(capacity)
        if len(each) != len(members):
            raise ArgumentError(
                f"capacity must be a number, or one for each of the {len(members)} members, got {capacity}"
            )
        self._members = FleetMembers(
            [FleetMember(one, integer("capacity", most, minimum=1)) for one, most in zip(members, each, strict=True)],
            real("seconds", seconds, minimum=0.0),
        )
        self._images: dict[str, Image] = {}

    @property
    def unenforced(self) -> tuple[str, ...]:  # type: ignore[override]  # depends on the members
        """The limits that some member does not enforce."""
        missing = {name for member in self._members.all for name in member.engine.unenforced}
        return tuple(name for name in LIMIT_NAMES if name in missing)

    def check(self) -> None:
        self._members.first(lambda engine: engine.check())

    def about(self) -> EngineInfo:
        """Return what all members that can be reached have in common."""
        found = [
            about
            for member in self._members.reachable()
            for about in self._members.attempt(member, lambda engine: engine.about())
        ]
        if not found:
            self.check()
        bounds = {name: all(one.bounds.get(name, False) for one in found) for name in LIMIT_NAMES}
        return EngineInfo(
            f"{len(found)} of {len(self._members.all)} members", bounds, found[0].network if found else ""
        )

    def loads(self) -> list[tuple[str, int, int, str]]:
        """Return of each member its engine's name, its leases, its capacity, and why it cannot be reached, if so."""
        return [(each.engine.name, each.leases, each.capacity, each.problem) for each in self._members.all]

    def has_base(self, name: str) -> bool:
        return all(member.engine.has_base(name) for member in self._members.reachable())

    def add_base(self, name: str, archive: Path, progress: Progress | None = None) -> None:
        for member in self._members.reachable():
            member.engine.add_base(name, archive, progress)

    def discard_images(self, keep: Iterable[Image]) -> int:
        kept = list(keep)
        return sum(member.engine.discard_images(kept) for member in self._members.reachable())

    def prepare(self, image: Image, progress: Progress | None = None) -> str:
        """Build or pull an image on one member; the others do so when a container first starts there."""
        reference = self._members.first(lambda engine: engine.prepare(image, progress))
        name = hashlib.sha256(f"{image}\0{reference}".encode()).hexdigest()[:24]
        self._images[name] = image
        return name

    def start(self, reference: str, limits: ResourceLimits, environment: Mapping[str, str] | None = None) -> Container:
        return self._leased(lambda engine: engine.start(self._on(engine, reference), limits, environment))

    def restore(
        self, snapshot: ContainerSnapshot, limits: ResourceLimits, environment: Mapping[str, str] | None = None
    ) -> Container:
        if not isinstance(snapshot, FleetSnapshot) or snapshot.member not in self._members.all:
            raise EngineError("a fleet restores only its own snapshots")
        # The files are there, so the container begins there, whatever the load.
        member, inner = snapshot.member, snapshot.snapshot
        container = member.engine.restore(inner, limits, environment)
        self._members.take(member)
        return FleetContainer(container, member, self._members.release)

    def check_side_cars(self, side_cars: Sequence[SideCar]) -> None:
        for member in self._members.all:
            member.engine.check_side_cars(side_cars)

    def start_first(self, spec: ContainerSpec, names: Sequence[str], beside: Sequence[ContainerSpec] = ()) -> Container:
        def start(engine: Engine) -> Container:
            there = [each._replace(reference=self._on(engine, each.reference)) for each in (spec, *beside)]
            return engine.start_first(there[0], names, there[1:])

        return self._leased(start)

    def start_beside(self, first: Container, spec: ContainerSpec, names: Sequence[str]) -> Container:
        assert isinstance(first, FleetContainer)
        engine = first.member.engine
        there = spec._replace(reference=self._on(engine, spec.reference))
        container = engine.start_beside(first.container, there, names)
        self._members.take(first.member)
        return FleetContainer(container, first.member, self._members.release)

    def image_process(self, reference: str) -> ImageProcess:
        return self._members.first(lambda engine: engine.image_process(self._on(engine, reference)))

    def reap(self) -> int:
        """Remove containers of ended processes from all members that can be reached."""
        return sum(
            count
            for member in self._members.reachable()
            for count in self._members.attempt(member, lambda engine: engine.reap())
        )

    def release_idle(self) -> None:
        for member in self._members.all:
            if not member.leases:
                with suppress(EngineError, OSError):
                    member.engine.release_idle()

    def reset_after_fork(self) -> None:
        self._members.reset_locks()  # the members, engines themselves, have their own hooks

    def close(self) -> None:
        for member in self._members.all:
            with suppress(EngineError, OSError):
                member.engine.close()

    def _on(self, engine: Engine, reference: str) -> str:
        """Return a member's own reference of an image, which it may build now."""
        return engine.prepare(self._images[reference])

    def _leased(self, call: Callable[[Engine], Any]) -> FleetContainer:
        member, container = self._members.leased(call)
        return FleetContainer(container, member, self._members.release)
