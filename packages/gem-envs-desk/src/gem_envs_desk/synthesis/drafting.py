"""Drafts of tasks on a simulated service, by random walks on its graph of tools: :class:`Draft`.

A goal is a tool that writes, or a value that the user wants to know. From it the walk goes backwards: each key that the
goal takes is that of a record, which the user describes by its properties, by an extreme, or by another record to which
a link leads, in which case the walk goes on from there. The look-ups that an agent needs to follow such a description
are the nodes before the goal. Goals of one draft share nodes, so that the walks merge into one directed acyclic graph,
whose calls are executed in an order of the graph.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gem_envs_desk.domain import RefusedCallError
from gem_envs_desk.synthesis import phrases
from gem_envs_desk.synthesis.draft_calls import CallNode, DraftCalls, DraftError
from gem_envs_desk.synthesis.errors import UnsupportedSchemaError
from gem_envs_desk.synthesis.record_descriptions import DescribedRecord, RecordDescriber
from gem_envs_desk.synthesis.schemas import kind_of
from gem_envs_desk.synthesis.seeding import argument_value
from gem_envs_desk.synthesis.service import Record, SimulatedService
from gem_envs_desk.synthesis.store_spec import (
    CREATE,
    KEY,
    MATCH,
    UPDATE,
    VALUE,
    RecordType,
    StoreOperation,
    StoreSpec,
)
from gem_envs_desk.synthesis.tool_graph import ToolGraph

__all__ = ["Draft", "Goal"]

_DEEPEST = 2
"""Links that a description follows."""
_TRIES = 12
_LINK_SHARE = 0.7
"""The share of optional links that a creation sets."""


@dataclass(frozen=True)
class Goal:
    """One thing that the user wants."""

    wish: str
    """The whole wish, a sentence."""
    vague: str = ""
    """The wish without the values that the user tells when asked; empty if there are none."""
    values: tuple[tuple[str, str], ...] = ()
    """The words by which the agent asks for a value, and the user's answer."""
    fact: tuple[str | float, str] | None = None
    """What the user must be told, and the words before it."""
    source: int = -1
    """The node that writes, or shows the fact."""


@dataclass
class Draft:
    """A task in the making.

    Args:
        spec: the service.
        graph: its graph of tools.
        state: the initial state.
        rng: decides.
    """

    spec: StoreSpec
    graph: ToolGraph
    state: Mapping[str, Sequence[Record]]
    rng: random.Random
    goals: list[Goal] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._service = SimulatedService(self.spec, self.state)
        self._calls = DraftCalls()
        self._records = RecordDescriber(self.spec, self.graph, self.state, self.rng, self._calls)

    def add_goal(self) -> None:
        """Walk to one more goal and execute its call.

        Raises:
            DraftError: if the walk came to a dead end.
        """
        for _ in range(_TRIES):
            operation = self.rng.choice(self._goal_operations())
            try:
                if operation.writes:
                    self._add_write(operation)
                else:
                    self._add_question(operation)
                return
            except (DraftError, RefusedCallError, UnsupportedSchemaError) as error:
                last = error
        raise DraftError(_counted(last))

    @property
    def nodes(self) -> list[CallNode]:
        """The calls and look-ups, each behind those that it needs."""
        return self._calls.nodes

    @property
    def gold(self) -> list[CallNode]:
        """The calls that the task needs, in the order of execution."""
        return [node for node in self.nodes if node.is_gold]

    def _goal_operations(self) -> list[StoreOperation]:
        operations = list(self.spec.operations.values())
        # A question is as likely as a write, however many tools only read.
        reads = [one for one in operations if not one.writes]
        writes = [one for one in operations if one.writes]
        return (writes or reads) if self.rng.random() < 0.7 or not reads else reads

    def _add_write(self, operation: StoreOperation) -> None:
        kind = self.spec.types[operation.type]
        arguments: dict[str, Any] = {}
        after: set[int] = set()
        targets: dict[str, DescribedRecord] = {}
        chosen: DescribedRecord | None = None
        for argument, of in operation.bound(KEY):
            chosen = self._records.chosen(operation.type, _DEEPEST)
            if chosen.record in [one.record for _, one in self._records.created] or not self._records.is_free(
                kind, chosen.record
            ):
                raise DraftError("the record is changed by another goal")
            if of not in chosen.record:
                raise DraftError("the record has no value for an argument")
            arguments[argument] = chosen.record[of]
            chosen.add_node(after)
        changed = None if chosen is None else chosen.record
        for argument, of in operation.bound(MATCH):
            target = self._parent(operation, of, changed)
            targets[argument] = target
            arguments[argument] = target.record[self.spec.types[kind.links[of]].key]
            target.add_node(after)
        said = self._values(operation, kind, changed, arguments, targets, after)
        answer = self._service.call(operation.name, arguments)
        node = self._calls.add(operation.name, arguments, after, is_gold=True)
        words = phrases.of_write(
            operation,
            kind,
            None if chosen is None else chosen.words,
            said,
            {name: of.words for name, of in targets.items()},
        )
        self.goals.append(Goal(words.whole, words.vague, words.values, source=node))
        if operation.kind == CREATE:
            self._records.created.append((kind.name, DescribedRecord(answer, f"the new {kind.noun}", node)))
        elif chosen is not None:
            self._records.touched.add((kind.name, str(chosen.record[kind.key])))

    def _values(
        self,
        operation: StoreOperation,
        kind: RecordType,
        record: Record | None,
        arguments: dict[str, Any],
        targets: dict[str, DescribedRecord],
        after: set[int],
    ) -> list[tuple[str, Any]]:
        """Fill in the arguments that set properties, and return what the user says: property and value."""
        settable = dict(operation.bound(VALUE))
        required = [name for name in settable if name in operation.required]
        optional = [
            name
            for name, field in settable.items()
            if name not in required and field not in kind.links and field in kind.scalars()
        ]
        said: list[tuple[str, Any]] = []
        if operation.kind == UPDATE:
            assert record is not None
            open_now = [name for name in required if settable[name] in kind.scalars()] + optional
            if not open_now and not operation.sets:
                raise DraftError("no property can be changed")
            changes = self.rng.sample(open_now, min(len(open_now), self.rng.choice((1, 1, 2))))
            for name in required:
                if name not in changes:
                    if settable[name] not in record:
                        raise DraftError("a needed value is unknown")
                    arguments[name] = record[settable[name]]
        else:
            links = [name for name, field in settable.items() if name not in required and field in kind.links]
            changes = required + [name for name in links if self.rng.random() < _LINK_SHARE]
            changes += self.rng.sample(optional, min(len(optional), self.rng.choice((0, 1, 2))))
            if not changes and settable:
                changes = [self.rng.choice([*optional, *links] or [*settable])]
        for name in changes:
            field, schema = settable[name], operation.parameters["properties"][name]
            if field in kind.links:
                target = self._records.chosen(kind.links[field], 1)
                targets[name] = target
                arguments[name] = target.record[self.spec.types[kind.links[field]].key]
                target.add_node(after)
                continue
            arguments[name] = self._new_value(name, schema, None if record is None else record.get(field))
            said.append((field, arguments[name]))
        return said

    def _new_value(self, name: str, schema: Mapping[str, Any], old: Any) -> Any:
        for _ in range(_TRIES):
            value = argument_value(name, schema, self.rng)
            if value != old and value not in ("", [], {}):
                return value
        raise DraftError("no new value was found")

    def _parent(self, operation: StoreOperation, link: str, record: Record | None) -> DescribedRecord:
        """Return the record that a parent in a path names."""
        name = self.spec.types[operation.type].links[link]
        if record is None:
            return self._records.chosen(name, 1)
        key = self.spec.types[name].key
        parent = next((one for one in self.state[name] if one[key] == record.get(link)), None)
        if parent is None:
            raise DraftError("the record has no parent")
        return self._records.described(self.spec.types[name], parent, 1)

    def _add_question(self, operation: StoreOperation) -> None:
        kind = self.spec.types[operation.type]
        target = self._records.chosen(operation.type, _DEEPEST)
        if any(one is target for _, one in self._records.created):
            raise DraftError("the record is new")
        open_now = [
            name
            for name in kind.scalars()
            if name in target.record and name not in target.used and kind_of(kind.properties[name]) != "boolean"
        ]
        open_now = [name for name in open_now if phrases.can_be_told(target.record[name]) and self._varies(kind, name)]
        if not open_now or not self._records.is_free(kind, target.record):
            raise DraftError("there is nothing to ask for")
        name = self.rng.choice(open_now)
        after: set[int] = set()
        target.add_node(after)
        arguments = self._records.arguments_showing(operation, kind, target.record)
        answer = self._service.call(operation.name, arguments)
        if target.record not in (answer if isinstance(answer, list) else [answer, *_members(answer)]):
            raise DraftError("the answer does not show the record")
        node = self._calls.add(operation.name, arguments, after, is_gold=True)
        self._records.touched.add((kind.name, str(target.record[kind.key])))
        said = phrases.property_words(name, kind)
        self.goals.append(
            Goal(
                f"Please tell me the {said} of {target.words}.",
                fact=(target.record[name], f"The {said} is"),
                source=node,
            )
        )

    def _varies(self, kind: RecordType, name: str) -> bool:
        """Return whether a property has so many values that a guess seldom hits the right one."""
        return len({json.dumps(one.get(name)) for one in self.state[kind.name]}) >= min(5, len(self.state[kind.name]))


def _members(answer: Any) -> list[Any]:
    return (
        [one for value in answer.values() if isinstance(value, list) for one in value]
        if isinstance(answer, dict)
        else []
    )


def _counted(error: Exception) -> str:
    text = str(error)
    return (
        text if isinstance(error, DraftError) else text.split(":")[0] if isinstance(error, RefusedCallError) else text
    )
