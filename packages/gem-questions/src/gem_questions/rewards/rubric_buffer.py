"""Rubric items of one task that change with the samples of a policy: :class:`RubricBuffer`.

"DR Tulu: Reinforcement Learning with Evolving Rubrics for Deep Research" (Shao et al., arXiv 2511.19399, 2025) keeps a
buffer of items for each prompt. After each group of samples, items are added that these samples show: positive ones for
what good samples have, negative ones for how they game the reward. Those that tell the samples of the group apart, by
the standard deviation of what they pay, stay active; those that pay all samples alike do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import pstdev
from typing import TYPE_CHECKING, Any, Protocol

from gem.arguments import boolean, check_names, integer, string

if TYPE_CHECKING:
    from gem_rollout.trajectory import Trajectory

__all__ = ["RubricBuffer", "RubricItem", "RubricProgram", "rubric_value"]

_UNMEASURED = 0.5
"""The rank of an item that no group was scored by: as high as a deviation of shares can be, so that it is tried."""


@dataclass(frozen=True)
class RubricItem:
    """One thing that a sample of a task has or does."""

    name: str
    description: str = ""
    positive: bool = True
    """False for what must not be there."""
    check: Mapping[str, Any] | None = None
    """What the program that proposed it checks, as JSON values; None for an item that a judge reads."""

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {**vars(self), "check": None if self.check is None else dict(self.check)}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> RubricItem:
        """Undo :meth:`to_dict`.

        Raises:
            ArgumentError, ArgumentTypeError: if ``record`` is not such a dict.
        """
        check_names("a rubric item", record, ("name", "description", "positive", "check"))
        check = record.get("check")
        return cls(
            string("name", record.get("name")),
            str(record.get("description", "")),
            boolean("positive", record.get("positive", True)),
            None if check is None else dict(check),
        )


class RubricProgram(Protocol):
    """Items that a program proposes and checks, without a judge."""

    def propose(self, samples: Sequence[tuple[Trajectory, float]]) -> list[RubricItem]:
        """Return items that the samples of a task, each with its environment's reward, show."""
        ...

    def share(self, item: RubricItem, sample: Trajectory) -> float:
        """Return how far a sample has what an item describes, 0.0 to 1.0."""
        ...


def rubric_value(items: Sequence[RubricItem], shares: Mapping[str, float], own: float, own_weight: float) -> float:
    """Return what a sample is worth, 0.0 to 1.0.

    The environment's reward and the positive items make a weighted mean, of which each negative item takes its share
    away, or half of it where a judge alone says so. The paper subtracts instead; but then a report that is filled with
    everything is paid for each item that it happens to meet. Silence, which does nothing wrong, earns nothing.

    Args:
        items: those that score.
        shares: name of an item → share.
        own: the environment's reward, 0.0 to 1.0.
        own_weight: its weight, where each positive item has 1.
    """
    positive = [shares[item.name] for item in items if item.positive]
    total = own_weight + len(positive)
    value = (own_weight * own + sum(positive)) / total if total else 0.0
    for item in items:
        if not item.positive:
            value *= 1.0 - shares[item.name] * (0.5 if item.check is None else 1.0)
    return min(1.0, max(0.0, value))


class RubricBuffer:
    """The items of a task, and which of them score now.

    Args:
        most: active items of either kind, positive and negative, at most.
    """

    def __init__(self, most: int) -> None:
        self.most = integer("most", most, minimum=1)
        self.active: tuple[RubricItem, ...] = ()
        self.retired: dict[str, RubricItem] = {}
        """Items that told a group's samples no longer apart, or less than others; by name."""
        self.generation = 0
        """The number of groups that the active items follow from."""

    def evolve(self, shares: Sequence[Mapping[str, float]], proposed: Sequence[RubricItem]) -> None:
        """Choose the active items anew, after a group of samples.

        Items that discriminate most stay or come in, and those with the same share for all samples retire. An item
        without shares has not been tried, and comes before those that discriminate less than any can.

        Args:
            shares: of each sample, name of an item → share.
            proposed: new items, the best first; one whose name is active changes nothing.
        """
        items = {item.name: item for item in proposed} | {item.name: item for item in self.active}
        ranked: dict[str, float] = {}
        for name in items:
            measured = [sample[name] for sample in shares if name in sample]
            ranked[name] = pstdev(measured) if measured else _UNMEASURED
        # By rank, and the earlier one of equals: what was active before comes first.
        order = [*(item.name for item in self.active), *(name for name in items if not self._is_active(name))]
        telling = sorted((name for name in order if ranked[name] > 0), key=lambda name: -ranked[name])
        good = [name for name in telling if items[name].positive][: self.most]
        kept = good + [name for name in telling if not items[name].positive][: self.most]
        self.retired.update({item.name: item for item in self.active if item.name not in kept})
        for name in kept:
            self.retired.pop(name, None)
        self.active = tuple(items[name] for name in kept)
        self.generation += 1

    def _is_active(self, name: str) -> bool:
        return any(item.name == name for item in self.active)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-serialisable dict."""
        return {
            "generation": self.generation,
            "active": [item.to_dict() for item in self.active],
            "retired": [item.to_dict() for item in self.retired.values()],
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any], most: int) -> RubricBuffer:
        """Undo :meth:`to_dict`."""
        buffer = cls(most)
        buffer.generation = integer("generation", record["generation"], minimum=0)
        buffer.active = tuple(map(RubricItem.from_dict, record["active"]))
        buffer.retired = {item.name: item for item in map(RubricItem.from_dict, record["retired"])}
        return buffer
