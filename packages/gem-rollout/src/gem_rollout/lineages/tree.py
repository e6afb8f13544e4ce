"""The calls of one episode: :class:`LineageTree`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gem.errors import TrajectoryError
from gem_rollout.lineages.call import RecordedCall, chained_line
from gem_rollout.trajectory.record import Trajectory

__all__ = ["LineageTree", "lineages_in", "lineages_of", "recorded_lineages"]

_PLACE = "lineages"
"""The key of a trajectory's metadata."""


@dataclass
class LineageTree:
    """The calls of an episode in the order in which their answers left, each with the one that it continues.

    A chain of calls that continue each other is a lineage. A program that plays straight on has one; subagents,
    titles and compacted histories begin further ones; retries and edits of the history branch off. What two branches
    have in common is held once.
    """

    calls: list[RecordedCall] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    """Of each call as it was recorded, chained."""
    sealed: str | None = None
    """The digest of the last call, as the record of an episode has it; None of a journal, which may go on."""

    def add(self, call: RecordedCall) -> str:
        """Append a call; return its record with the chained digest, as the line of JSON that a journal keeps.

        Raises:
            TrajectoryError: if JSON cannot hold a value of it, or its parent is no earlier call.
        """
        _check_parent(call, len(self.calls))
        digest, line = chained_line(self.digests[-1] if self.digests else "", call.to_dict())
        self.calls.append(call)
        self.digests.append(digest)
        return line

    def path(self, index: int) -> list[int]:
        """Return the indices from the first call of a lineage to this one."""
        found = [index]
        while (parent := self.calls[found[-1]].parent) is not None:
            found.append(parent)
        return found[::-1]

    def roots(self) -> list[int]:
        """Return for each call the first call of its lineage."""
        found: list[int] = []
        for index, call in enumerate(self.calls):
            found.append(index if call.parent is None else found[call.parent])
        return found

    def messages(self, index: int) -> list[dict[str, Any]]:
        """Return the whole conversation that a call showed the model."""
        shown: list[dict[str, Any]] = []
        for step in self.path(index):
            call = self.calls[step]
            shown += call.messages
            if step != index and call.answer is not None:
                shown.append(call.answer)
        return shown

    def prompt_ids(self, index: int) -> list[int] | None:
        """Return the ids of a call's whole prompt; None if they are not known.

        Raises:
            TrajectoryError: if it says that it continues a call whose ids are not known.
        """
        pieces: list[list[int]] = []
        call = self.calls[index]
        if call.added_ids is None:
            return None
        pieces.append(call.added_ids)
        while call.exact:
            if call.parent is None:
                raise TrajectoryError(f"call {index} continues the ids of no other call")
            call = self.calls[call.parent]
            if call.added_ids is None or call.token_ids is None:
                raise TrajectoryError(f"call {index} continues ids that are not recorded")
            pieces += [call.token_ids, call.added_ids]
        ids: list[int] = []
        for piece in reversed(pieces):
            ids += piece
        return ids

    def leaves(self) -> list[int]:
        """Return the answered calls that no other answered one continues."""
        answered = [index for index, call in enumerate(self.calls) if call.answer is not None]
        continued = {self.calls[index].parent for index in answered}
        return [index for index in answered if index not in continued]

    def side_lineages(self) -> set[int]:
        """Return the first calls of lineages that only served the program itself, such as those for a title.

        These are the ones in which no tool was ever offered, where the program offered tools in another one.
        """
        offered: dict[int, bool] = {}
        for root, call in zip(self.roots(), self.calls, strict=True):
            offered[root] = offered.get(root, False) or bool(call.tools)
        return {root for root, tools in offered.items() if not tools} if any(offered.values()) else set()

    def to_dict(self) -> dict[str, Any]:
        """Return the records of all calls with their digests, and the last digest, so that no call is lost unseen."""
        records = [{**call.to_dict(), "digest": digest} for call, digest in zip(self.calls, self.digests, strict=True)]
        return {"calls": records, "sealed": self.digests[-1] if self.digests else ""}

    @classmethod
    def from_dict(cls, record: Any) -> LineageTree:
        """Undo :meth:`to_dict`.

        Raises:
            TrajectoryError: if it is no such record.
        """
        if not isinstance(record, dict) or record.keys() != {"calls", "sealed"}:
            raise TrajectoryError("lineages must be an object with 'calls' and 'sealed'")
        tree = cls.from_list(record["calls"])
        tree.sealed = str(record["sealed"])
        return tree

    @classmethod
    def from_list(cls, records: Any) -> LineageTree:
        """Return the tree of records as :meth:`add` makes them.

        Digests are taken as they are; :mod:`gem_rollout.lineages.certificate` checks them.

        Raises:
            TrajectoryError: if these are no such records; the message says which one, counted from 0.
        """
        if not isinstance(records, list):
            raise TrajectoryError(f"lineages must be a list of calls, got {type(records).__name__}")
        tree = cls()
        for index, record in enumerate(records):
            try:
                call = RecordedCall.from_dict(record)
                _check_parent(call, index)
            except TrajectoryError as error:
                raise TrajectoryError(f"call {index}: {error}") from error
            tree.calls.append(call)
            tree.digests.append(str(record.get("digest", "")))
        return tree


def _check_parent(call: RecordedCall, index: int) -> None:
    if call.parent is not None and call.parent >= index:
        raise TrajectoryError(f"its parent {call.parent} is no earlier call")
    if call.exact and call.parent is None:
        raise TrajectoryError("it continues the ids of no other call")


def recorded_lineages(tree: LineageTree) -> dict[str, Any]:
    """Return the calls of a program as metadata of the episode that it played; empty if it made none."""
    return {_PLACE: tree.to_dict()} if tree.calls else {}


def lineages_of(trajectory: Trajectory) -> LineageTree | None:
    """Return the calls of the program that played an episode; None if the agent was no program behind a gateway.

    Raises:
        TrajectoryError: if the record of them is malformed.
    """
    return lineages_in(trajectory.metadata)


def lineages_in(metadata: Any) -> LineageTree | None:
    """Return the same from the metadata of an episode's record.

    Raises:
        TrajectoryError: if the record of the calls is malformed.
    """
    record = metadata.get(_PLACE) if isinstance(metadata, dict) else None
    return None if record is None else LineageTree.from_dict(record)
