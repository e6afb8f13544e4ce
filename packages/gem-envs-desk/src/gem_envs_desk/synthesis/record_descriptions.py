"""Words for the records of a draft, and the look-ups that an agent needs to follow them: :class:`RecordDescriber`.

The user describes a record by its properties, by an extreme, or by another record to which a link leads, which is
described in turn.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gem_envs_desk.synthesis import phrases
from gem_envs_desk.synthesis.draft_calls import DraftCalls, DraftError
from gem_envs_desk.synthesis.schemas import kind_of
from gem_envs_desk.synthesis.service import Record
from gem_envs_desk.synthesis.store_spec import FILTER, KEY, MATCH, RecordType, StoreOperation, StoreSpec
from gem_envs_desk.synthesis.tool_graph import ToolGraph

__all__ = ["DescribedRecord", "RecordDescriber"]

_KEY_SHARE = 0.15
"""The share of records that the user names by their key although there are other words."""


@dataclass
class DescribedRecord:
    """A record that a walk has chosen, with the words for it and the node after which its key is known."""

    record: Record
    words: str
    node: int | None = None
    used: frozenset[str] = frozenset()
    """The properties in the words."""

    def add_node(self, after: set[int]) -> None:
        """Add the node after which the key is known to those that a call needs."""
        if self.node is not None:
            after.add(self.node)


class RecordDescriber:
    """Chooses and describes the records of a draft.

    Args:
        spec: the service.
        graph: its graph of tools.
        state: the initial state.
        rng: decides.
        calls: get the look-ups.
    """

    def __init__(
        self,
        spec: StoreSpec,
        graph: ToolGraph,
        state: Mapping[str, Sequence[Record]],
        rng: random.Random,
        calls: DraftCalls,
    ) -> None:
        self._spec, self._graph, self._state, self._rng, self._calls = spec, graph, state, rng, calls
        self.created: list[tuple[str, DescribedRecord]] = []
        """The records that the draft has made, with their types."""
        self.touched: set[tuple[str, str]] = set()
        """Type and key of the records that a goal changes or asks for."""
        self._describing: list[Record] = []

    def arguments_showing(self, operation: StoreOperation, kind: RecordType, record: Record) -> dict[str, Any]:
        """Return arguments with which a reading operation shows a record."""
        arguments: dict[str, Any] = {}
        for role in (KEY, MATCH, FILTER):
            for argument, of in operation.bound(role):
                needed = role != FILTER or argument in operation.required
                if needed and of not in record:
                    raise DraftError("the record has no value for an argument")
                if needed:
                    value = record[of]
                    listed = kind_of(operation.parameters["properties"][argument]) == "array"
                    arguments[argument] = [value] if listed and not isinstance(value, list) else value
        for argument in operation.required:
            if argument not in arguments:
                raise DraftError("an argument has no meaning for the record")
        return arguments

    def chosen(self, name: str, depth: int) -> DescribedRecord:
        """Choose a record of a type and describe it."""
        made = [target for of, target in self.created if of == name]
        if made and self._rng.random() < 0.6:
            return self._rng.choice(made)
        if not self._state.get(name):
            raise DraftError("there is no record")
        return self.described(self._spec.types[name], self._rng.choice(list(self._state[name])), depth)

    def described(self, kind: RecordType, record: Record, depth: int) -> DescribedRecord:
        """Return a record with words that no other record of the initial state fits."""
        if not self.is_free(kind, record):
            raise DraftError("the record is changed by another goal")
        if any(one is record for one in self._describing):
            raise DraftError("the words for the record need the record")
        ways = [self._by_properties, self._by_extreme, *[self._by_link, self._by_other] * (depth > 0)]
        self._rng.shuffle(ways)
        if self._rng.random() < _KEY_SHARE:
            ways = []
        self._describing.append(record)
        try:
            for way in [*ways, self._by_key]:
                found = way(kind, record, depth)
                if found is not None:
                    return found
        finally:
            self._describing.pop()
        raise DraftError("no words tell the record from others")

    def _by_key(self, kind: RecordType, record: Record, depth: int) -> DescribedRecord | None:
        return DescribedRecord(
            record, f"the {kind.noun} {phrases.value_words(record[kind.key])}", None, frozenset([kind.key])
        )

    def _by_properties(self, kind: RecordType, record: Record, depth: int) -> DescribedRecord | None:
        node = self._found_by_list(kind, record, None)
        open_now = [name for name in kind.scalars() if name in record and phrases.can_be_said(record[name])]
        if node is None or not open_now:
            return None
        for count in (1, 1, 2):
            used = self._rng.sample(open_now, min(count, len(open_now)))
            fitting = [one for one in self._state[kind.name] if all(one.get(name) == record[name] for name in used)]
            if len(fitting) == 1:
                words = phrases.whose(kind, record, used)
                return DescribedRecord(record, f"the {kind.noun} {words}", node(), frozenset(used))
        return None

    def _by_extreme(self, kind: RecordType, record: Record, depth: int) -> DescribedRecord | None:
        node = self._found_by_list(kind, record, None)
        numeric = [name for name in kind.scalars() if kind_of(kind.properties[name]) in ("integer", "number")]
        if node is None or not numeric:
            return None
        name = self._rng.choice(numeric)
        values = sorted(one[name] for one in self._state[kind.name] if name in one)
        if name not in record or len(values) < 3:
            return None
        for word, ordered in (("highest", values[::-1]), ("lowest", values)):
            if record[name] == ordered[0] != ordered[1]:
                words = f"the {kind.noun} with the {word} {phrases.property_words(name, kind)}"
                return DescribedRecord(record, words, node(), frozenset([name]))
        return None

    def _by_link(self, kind: RecordType, record: Record, depth: int) -> DescribedRecord | None:
        """Describe a record by the one that it links to: the order for the pet whose name is …"""
        links = [(field, name) for field, name in kind.links.items() if field in record]
        if not links:
            return None
        field, name = self._rng.choice(links)
        if sum(one.get(field) == record[field] for one in self._state[kind.name]) != 1:
            return None
        target = self._spec.types[name]
        parent = next(one for one in self._state[name] if one[target.key] == record[field])
        described = self.described(target, parent, depth - 1)
        node = self._found_by_list(kind, record, field, described)
        if node is None:
            return None
        return DescribedRecord(
            record, f"the {kind.noun} {phrases.linked(field, kind)} {described.words}", node(), frozenset([field])
        )

    def _by_other(self, kind: RecordType, record: Record, depth: int) -> DescribedRecord | None:
        """Describe a record by one that links to it: the pet of the order 17."""
        others = [
            (other, field, one)
            for other in self._spec.types.values()
            for field, name in other.links.items()
            if name == kind.name
            for one in self._state[other.name]
            if one.get(field) == record[kind.key]
        ]
        if not others:
            return None
        other, link, one = self._rng.choice(others)
        shown = self._graph.showing(other.name)
        described = self.described(other, one, depth - 1)
        if described.node is None and not shown:
            return None
        node = described.node
        if node is None:
            operation = self._rng.choice(shown)
            node = self._calls.add(operation.name, self.arguments_showing(operation, other, one), set(), is_gold=False)
        words = f"the {phrases.link_noun(link, kind)} of {described.words}"
        return DescribedRecord(record, words, node, frozenset())

    def _found_by_list(
        self, kind: RecordType, record: Record, field: str | None, parent: DescribedRecord | None = None
    ) -> Callable[[], int] | None:
        """Return a function that adds the node of a list that shows the record; None if an agent could not call it."""
        for operation in self._rng.sample(finders := self._graph.finders(kind.name), len(finders)):
            try:
                arguments = self.arguments_showing(operation, kind, record)
            except DraftError:
                continue
            bound = [operation.bindings[name] for name in arguments]
            parents = [one.field for one in bound if one.field in kind.links]
            enumerable = all(
                one.field in parents
                or "enum" in kind.properties[one.field]
                or kind_of(kind.properties[one.field]) == "boolean"
                for one in bound
            )
            if not enumerable or any(one != field for one in parents):
                continue
            if field is not None and not parents:
                filters = [name for name, of in operation.bound(FILTER) if of == field]
                arguments |= dict.fromkeys(filters[:1], record[field])
            after: set[int] = set()
            if parent is not None and parent.node is not None:
                after.add(parent.node)
            return lambda: self._calls.add(operation.name, arguments, after, is_gold=False)
        return None

    def is_free(self, kind: RecordType, record: Record) -> bool:
        return (kind.name, str(record[kind.key])) not in self.touched
