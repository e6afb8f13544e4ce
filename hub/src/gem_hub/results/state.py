"""The results of a package as its events leave them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from gem_hub.events import Owner, Result, ResultDecision
from gem_hub.package import WheelPackage

__all__ = ["ResultState", "StatedResult", "episodes_path", "results_of"]

ResultState = Literal["admitted", "unreviewed", "withdrawn"]


@dataclass(frozen=True)
class StatedResult:
    """A result, and what was decided on it."""

    event: Result
    state: ResultState
    by: str
    """Who admitted or withdrew it; empty for one that is unreviewed."""
    reason: str
    """Why it was withdrawn."""

    @property
    def id(self) -> str:
        return self.event.id

    @property
    def predicate(self) -> dict[str, Any]:
        """What its payload says."""
        return self.event.predicate

    @property
    def path(self) -> str:
        """Where its event lies in the hub; a package without a release has no events of its own there."""
        return self.event.path if self.event.sha256 else f"results/{self.event.name}/{self.id}.json"

    def entry(self) -> dict[str, Any]:
        """Return what ``envs/NAME.json`` says of it; the rest is in the event's file, which the digest proves."""
        said = {name: self.predicate.get(name) for name in _SHOWN}
        return {
            "id": self.id,
            "path": self.path,
            "sha256": self.event.file_sha256,
            "version": self.event.version,
            **said,
            "episodes": len(self.predicate["episodes"]),
            "state": self.state,
            "by": self.by,
            "reason": self.reason,
            "episodes_path": episodes_path(str(self.predicate["raw_sha256"])) if self.event.hosted else "",
        }


_SHOWN = ("environment", "agent", "model", "harness", "publisher", "created")


def results_of(package: WheelPackage) -> list[StatedResult]:
    """Return the results of a package, oldest first. What an owner publishes needs nobody else's admission."""
    return list(_results(package))


def _results(package: WheelPackage) -> Iterator[StatedResult]:
    decisions: dict[str, ResultDecision] = {}
    owners = {package.records[0].publisher} if package.records else set()
    by_owners: set[str] = set()
    for event in package.events:  # once, in order: a rebuild asks after each change
        if isinstance(event, ResultDecision):
            earlier = decisions.get(event.result)
            if earlier is None or earlier.action != "withdraw":  # a withdrawal is final
                decisions[event.result] = event
        elif isinstance(event, Owner):
            (owners.add if event.action == "add" else owners.discard)(event.owner)
        elif isinstance(event, Result) and event.by in owners:
            by_owners.add(event.id)
    for event in package.events:
        if not isinstance(event, Result):
            continue
        decision = decisions.get(event.id)
        if decision is None:
            is_own = event.id in by_owners
            yield StatedResult(event, "admitted" if is_own else "unreviewed", event.by if is_own else "", "")
        elif decision.action == "admit":
            yield StatedResult(event, "admitted", decision.by, "")
        else:
            yield StatedResult(event, "withdrawn", decision.by, decision.reason)


def episodes_path(sha256: str) -> str:
    """Return where a hub keeps the lines of a result's episodes, packed, by the digest of what is unpacked."""
    return f"episodes/{sha256[:2]}/{sha256}.jsonl.gz"
