"""A package: its releases, and the effects of its events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from gem_hub.events import Conformance, Deprecate, Event, Lift, Owner, Provenance, Quarantine, Undeprecate, Unyank, Yank
from gem_hub.records import Release

__all__ = ["Status", "WheelPackage"]

Status = Literal["active", "deprecated", "quarantined"]


@dataclass(frozen=True)
class WheelPackage:
    """All records and events of one name. All other properties follow from them in the order of their serials."""

    name: str
    records: tuple[Release, ...]
    events: tuple[Event, ...]

    @classmethod
    def of(cls, name: str, records: Iterable[Release], events: Iterable[Event]) -> WheelPackage:
        """Return a package with sorted records and events."""
        return cls(
            name,
            tuple(sorted(records, key=lambda record: record.serial)),
            tuple(sorted(events, key=lambda event: event.serial)),
        )

    @property
    def serials(self) -> list[int]:
        """The serials of all its changes, ascending."""
        return sorted(change.serial for change in (*self.records, *self.events))

    @property
    def last(self) -> Release | Event:
        """The newest change."""
        return max((*self.records, *self.events), key=lambda change: change.serial)

    def at(self, serial: float, first: int = 0) -> WheelPackage:
        """Return the package as it was after a serial of the hub, without changes before ``first``."""
        return WheelPackage(
            self.name,
            tuple(record for record in self.records if first <= record.serial <= serial),
            tuple(event for event in self.events if first <= event.serial <= serial),
        )

    def after(self, change: Release | Event) -> WheelPackage:
        """Return the package with one more change, the newest."""
        if isinstance(change, Release):
            return WheelPackage(self.name, (*self.records, change), self.events)
        return WheelPackage(self.name, self.records, (*self.events, change))

    @cached_property
    def releases(self) -> list[Release]:
        """Its releases, newest version first."""
        return sorted(self.records, key=lambda record: record.parsed_version, reverse=True)

    @cached_property
    def yanked(self) -> dict[str, str]:
        """Version → reason."""
        reasons: dict[str, str] = {}
        for event in self.events:
            if isinstance(event, Yank):
                reasons[event.version] = event.reason
            elif isinstance(event, Unyank):
                reasons.pop(event.version, None)
        return reasons

    @cached_property
    def flags(self) -> dict[str, str]:
        """The reasons for its deprecation and its quarantine; empty strings without them."""
        deprecated = quarantined = ""
        for event in self.events:
            if isinstance(event, Deprecate):
                deprecated = event.reason
            elif isinstance(event, Undeprecate):
                deprecated = ""
            elif isinstance(event, Quarantine):
                quarantined = event.reason
            elif isinstance(event, Lift):
                quarantined = ""
        return {"deprecated": deprecated, "quarantined": quarantined}

    @property
    def status(self) -> Status:
        """The status of PEP 792; a quarantine hides a deprecation."""
        if self.flags["quarantined"]:
            return "quarantined"
        return "deprecated" if self.flags["deprecated"] else "active"

    @property
    def reason(self) -> str:
        """The reason for its status; empty if it is active."""
        return self.flags["quarantined"] or self.flags["deprecated"]

    @cached_property
    def owners(self) -> list[str]:
        """The accounts that may publish, sorted: the first publisher, changed by later owner events."""
        owners = {self.records[0].publisher} if self.records else set()
        for event in self.events:
            if isinstance(event, Owner):
                (owners.add if event.action == "add" else owners.discard)(event.owner)
        return sorted(owners)

    def conformance(self, version: str) -> list[Conformance]:
        """Return the conformance events of a version, newest last."""
        return [event for event in self.events if isinstance(event, Conformance) and event.version == version]

    def provenance(self, version: str) -> dict[str, Any] | None:
        """Return the provenance object of a version's wheel (PEP 740); None without attestations."""
        found = [event for event in self.events if isinstance(event, Provenance) and event.version == version]
        return found[-1].document if found else None

    def shown_conformance(self, version: str) -> Conformance | None:
        """Return the newest run of the kit by the hub, or else the newest record of the author; None without any."""
        checks = self.conformance(version)
        by_hub = [check for check in checks if check.source == "hub"]
        return next(reversed(by_hub or checks), None)

    @cached_property
    def offered(self) -> Release | None:
        """The release that search shows: the newest one that is not yanked; a pre-release only without any other.

        A quarantined package shows its newest release in any case, because an audit must find it. None if
        every release is yanked.
        """
        sound = [release for release in self.releases if release.version not in self.yanked]
        final = [release for release in sound if not release.parsed_version.is_prerelease]
        last_resort = self.releases if self.status == "quarantined" else []
        return next(iter(final or sound or last_resort), None)

    @cached_property
    def claimed_ids(self) -> list[str]:
        """All environment ids, without variants, that any of its records ever had, sorted."""
        return sorted({environment.base_id for record in self.records for environment in record.environments})
