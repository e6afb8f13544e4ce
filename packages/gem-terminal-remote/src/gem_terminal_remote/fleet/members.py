"""The members of a fleet: how many containers each has, and which can be reached. :class:`FleetMembers`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Condition
from typing import TypeVar

from gem_terminal.engines.base import Engine
from gem_terminal.errors import EngineError, EngineFullError

__all__ = ["FleetMember", "FleetMembers"]

_T = TypeVar("_T")
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
"""Seconds after which an unreachable member is tried again; each failure doubles them."""
_LOOKS = 0.5
"""Seconds between two looks at a full member that other processes use too."""


@dataclass(eq=False)
class FleetMember:
    """An engine of a fleet."""

    engine: Engine
    capacity: int
    """Containers at a time."""
    leases: int = 0
    """Containers that exist or are being started."""
    pause: float = 0.0
    tried_again_at: float = 0.0
    problem: str = ""
    served: int = field(default=0)
    """Containers so far, which decides between members of equal load."""

    @property
    def room(self) -> tuple[int, int]:
        """The containers that the member has, with those of other processes as it told last, and the most."""
        told = self.engine.load()
        return (
            (self.leases, self.capacity) if told is None else (self.leases + told.others, min(self.capacity, told.most))
        )

    @property
    def load(self) -> tuple[float, int]:
        """What is compared between members."""
        has, most = self.room
        return (has / most, self.served)


class FleetMembers:
    """Chooses members, the least loaded first, and remembers which cannot be reached.

    Args:
        members: at least one.
        seconds: how long a start waits for a lease if all members have as many containers as they may.
        clock: seconds that only grow.
    """

    def __init__(
        self, members: Sequence[FleetMember], seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.all = tuple(members)
        self._seconds = seconds
        self._clock = clock
        self._changed = Condition()

    def reset_locks(self) -> None:
        """Forget locks and leases of a parent, in a forked child."""
        self._changed = Condition()
        for member in self.all:
            member.leases = 0

    def reachable(self) -> list[FleetMember]:
        """Return the members that are not known to be unreachable, the least loaded first."""
        with self._changed:
            now = self._clock()
            return sorted((each for each in self.all if each.tried_again_at <= now), key=lambda each: each.load)

    def first(self, call: Callable[[Engine], _T]) -> _T:
        """Return what a call gives on the first member that can be reached.

        Raises:
            EngineError: what the call raised on a member that works, or that no member can be reached.
        """
        for member in self.reachable():
            for result in self.attempt(member, call):
                return result
        raise self._nobody()

    def leased(self, call: Callable[[Engine], _T]) -> tuple[FleetMember, _T]:
        """Return what a call gives on the least loaded member, and that member, which :meth:`release` frees later.

        Raises:
            EngineError: as in :meth:`first`, or if no member has room for another container in time.
        """
        failed: set[FleetMember] = set()
        full: set[FleetMember] = set()
        deadline = self._clock() + self._seconds
        while True:
            member = self._lease(failed, full, deadline)
            try:
                for result in self.attempt(member, call):
                    return member, result
                failed.add(member)
            except EngineFullError:  # another process was quicker, which the member had not told yet
                full.add(member)
            except BaseException:
                self.release(member)
                raise
            self.release(member)

    def take(self, member: FleetMember) -> None:
        """Begin a lease of a member whatever its load, for a container that no other member can have."""
        with self._changed:
            member.leases += 1
            member.served += 1

    def release(self, member: FleetMember) -> None:
        """End a lease."""
        with self._changed:
            member.leases -= 1
            self._changed.notify_all()

    def attempt(self, member: FleetMember, call: Callable[[Engine], _T]) -> list[_T]:
        """Return what a call gives, or an empty list if the member cannot be reached; that one rests for a while.

        Raises:
            EngineError: what the call raised on a member that works.
        """
        try:
            result = call(member.engine)
        except EngineFullError:
            raise
        except (EngineError, OSError) as error:
            try:
                member.engine.about()
            except (EngineError, OSError) as reason:
                self._rest(member, str(reason))
                return []
            raise error
        with self._changed:
            member.pause, member.problem = 0.0, ""
        return [result]

    def _rest(self, member: FleetMember, problem: str) -> None:
        with self._changed:
            member.pause = min(max(2 * member.pause, _FIRST_PAUSE), _LONGEST_PAUSE)
            member.tried_again_at = self._clock() + member.pause
            member.problem = problem
            self._changed.notify_all()

    def _lease(self, failed: set[FleetMember], full: set[FleetMember], deadline: float) -> FleetMember:
        with self._changed:
            while True:
                now = self._clock()
                usable = [each for each in self.all if each.tried_again_at <= now and each not in failed]
                if not usable:
                    raise self._nobody()
                free = [each for each in usable if each not in full and each.room[0] < each.room[1]]
                if free:
                    member = min(free, key=lambda each: each.load)
                    member.leases += 1
                    member.served += 1
                    return member
                if now >= deadline:
                    total = sum(each.room[1] for each in usable)
                    raise EngineError(
                        f"the fleet has room for {total} containers, and none ended in {self._seconds:g} seconds; "
                        "add members, raise their capacity, or run fewer environments"
                    )
                others = any(each.engine.load() is not None for each in usable)  # whose ends nobody tells here
                self._changed.wait(min(deadline - now, _LOOKS) if others else deadline - now)
                full.clear()

    def _nobody(self) -> EngineError:
        problems = "; ".join(f"member {number}: {each.problem}" for number, each in enumerate(self.all) if each.problem)
        return EngineError(f"no member of the fleet can be reached. {problems}")
