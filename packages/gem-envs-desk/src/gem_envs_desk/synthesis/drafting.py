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
from gem_envs_desk.synthesis.errors import UnsupportedSchemaError
from gem_envs_desk.synthesis.schemas import kind_of
from gem_envs_desk.synthesis.seeding import argument_value
from gem_envs_desk.synthesis.service import Record, SimulatedService
from gem_envs_desk.synthesis.store_spec import (
    CREATE,
    FILTER,
    KEY,
    MATCH,
    UPDATE,
    VALUE,
    RecordType,
    StoreOperation,
    StoreSpec,
)
from gem_envs_desk.synthesis.tool_graph import ToolGraph

__all__ = ["CallNode", "Draft", "DraftError", "Goal"]

_DEEPEST = 2
"""Links that a description follows."""
_TRIES = 12
_KEY_SHARE = 0.15
"""The share of records that the user names by their key although there are other words."""
_LINK_SHARE = 0.7
"""The share of optional links that a creation sets."""


class DraftError(Exception):
    """A walk has come to a dead end; the message is a phrase that is counted."""


@dataclass(frozen=True)
class CallNode:
    """A call in the graph of a draft."""

    tool: str
    arguments: Mapping[str, Any]
    after: frozenset[int]
    """The nodes whose answers it needs."""
    is_gold: bool
    """Whether the task needs it: it writes, or its answer shows what the user wants to know."""


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
class _Target:
    """A record that a walk has chosen, with the words for it and the node after which its key is known."""

    record: Record
    words: str
    node: int | None = None
    used: frozenset[str] = frozenset()
    """The properties in the words."""


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
    nodes: list[CallNode] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._service = SimulatedService(self.spec, self.state)
        self._created: list[tuple[str, _Target]] = []
        self._describing: list[Record] = []
        self._touched: set[tuple[str, str]] = set()

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
        targets: dict[str, _Target] = {}
        chosen: _Target | None = None
        for argument, of in operation.bound(KEY):
            chosen = self._target(operation.type, _DEEPEST)
            if chosen.record in [one.record for _, one in self._created] or not self._is_free(kind, chosen.record):
                raise DraftError("the record is changed by another goal")
            if of not in chosen.record:
                raise DraftError("the record has no value for an argument")
            arguments[argument] = chosen.record[of]
            _add_node(after, chosen)
        changed = None if chosen is None else chosen.record
        for argument, of in operation.bound(MATCH):
            target = self._parent(operation, of, changed)
            targets[argument] = target
            arguments[argument] = target.record[self.spec.types[kind.links[of]].key]
            _add_node(after, target)
        said = self._values(operation, kind, changed, arguments, targets, after)
        answer = self._service.call(operation.name, arguments)
        node = self._node(operation.name, arguments, after, is_gold=True)
        words = phrases.of_write(
            operation, kind, None if chosen is None else chosen.words, said, targets_words(targets)
        )
        self.goals.append(Goal(words.whole, words.vague, words.values, source=node))
        if operation.kind == CREATE:
            self._created.append((kind.name, _Target(answer, f"the new {kind.noun}", node)))
        elif chosen is not None:
            self._touched.add((kind.name, str(chosen.record[kind.key])))

    def _values(
        self,
        operation: StoreOperation,
        kind: RecordType,
        record: Record | None,
        arguments: dict[str, Any],
        targets: dict[str, _Target],
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
                target = self._target(kind.links[field], 1)
                targets[name] = target
                arguments[name] = target.record[self.spec.types[kind.links[field]].key]
                _add_node(after, target)
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

    def _parent(self, operation: StoreOperation, link: str, record: Record | None) -> _Target:
        """Return the record that a parent in a path names."""
        name = self.spec.types[operation.type].links[link]
        if record is None:
            return self._target(name, 1)
        key = self.spec.types[name].key
        parent = next((one for one in self.state[name] if one[key] == record.get(link)), None)
        if parent is None:
            raise DraftError("the record has no parent")
        return self._described(self.spec.types[name], parent, 1)

    def _add_question(self, operation: StoreOperation) -> None:
        kind = self.spec.types[operation.type]
        target = self._target(operation.type, _DEEPEST)
        if any(one is target for _, one in self._created):
            raise DraftError("the record is new")
        open_now = [
            name
            for name in kind.scalars()
            if name in target.record and name not in target.used and kind_of(kind.properties[name]) != "boolean"
        ]
        open_now = [name for name in open_now if phrases.can_be_told(target.record[name]) and self._varies(kind, name)]
        if not open_now or not self._is_free(kind, target.record):
            raise DraftError("there is nothing to ask for")
        name = self.rng.choice(open_now)
        after: set[int] = set()
        _add_node(after, target)
        arguments = self._shown_by(operation, kind, target.record)
        answer = self._service.call(operation.name, arguments)
        if target.record not in (answer if isinstance(answer, list) else [answer, *_members(answer)]):
            raise DraftError("the answer does not show the record")
        node = self._node(operation.name, arguments, after, is_gold=True)
        self._touched.add((kind.name, str(target.record[kind.key])))
        said = phrases.property_words(name, kind)
        self.goals.append(
            Goal(
                f"Please tell me the {said} of {target.words}.",
                fact=(target.record[name], f"The {said} is"),
                source=node,
            )
        )

    def _shown_by(self, operation: StoreOperation, kind: RecordType, record: Record) -> dict[str, Any]:
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

    def _target(self, name: str, depth: int) -> _Target:
        """Choose a record of a type and describe it."""
        made = [target for of, target in self._created if of == name]
        if made and self.rng.random() < 0.6:
            return self.rng.choice(made)
        if not self.state.get(name):
            raise DraftError("there is no record")
        return self._described(self.spec.types[name], self.rng.choice(list(self.state[name])), depth)

    def _described(self, kind: RecordType, record: Record, depth: int) -> _Target:
        """Return a record with words that no other record of the initial state fits."""
        if not self._is_free(kind, record):
            raise DraftError("the record is changed by another goal")
        if any(one is record for one in self._describing):
            raise DraftError("the words for the record need the record")
        ways = [self._by_properties, self._by_extreme, *[self._by_link, self._by_other] * (depth > 0)]
        self.rng.shuffle(ways)
        if self.rng.random() < _KEY_SHARE:
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

    def _by_key(self, kind: RecordType, record: Record, depth: int) -> _Target | None:
        return _Target(record, f"the {kind.noun} {phrases.value_words(record[kind.key])}", None, frozenset([kind.key]))

    def _by_properties(self, kind: RecordType, record: Record, depth: int) -> _Target | None:
        node = self._found_by_list(kind, record, None)
        open_now = [name for name in kind.scalars() if name in record and phrases.can_be_said(record[name])]
        if node is None or not open_now:
            return None
        for count in (1, 1, 2):
            used = self.rng.sample(open_now, min(count, len(open_now)))
            fitting = [one for one in self.state[kind.name] if all(one.get(name) == record[name] for name in used)]
            if len(fitting) == 1:
                words = phrases.whose(kind, record, used)
                return _Target(record, f"the {kind.noun} {words}", node(), frozenset(used))
        return None

    def _by_extreme(self, kind: RecordType, record: Record, depth: int) -> _Target | None:
        node = self._found_by_list(kind, record, None)
        numeric = [name for name in kind.scalars() if kind_of(kind.properties[name]) in ("integer", "number")]
        if node is None or not numeric:
            return None
        name = self.rng.choice(numeric)
        values = sorted(one[name] for one in self.state[kind.name] if name in one)
        if name not in record or len(values) < 3:
            return None
        for word, ordered in (("highest", values[::-1]), ("lowest", values)):
            if record[name] == ordered[0] != ordered[1]:
                words = f"the {kind.noun} with the {word} {phrases.property_words(name, kind)}"
                return _Target(record, words, node(), frozenset([name]))
        return None

    def _by_link(self, kind: RecordType, record: Record, depth: int) -> _Target | None:
        """Describe a record by the one that it links to: the order for the pet whose name is …"""
        links = [(field, name) for field, name in kind.links.items() if field in record]
        if not links:
            return None
        field, name = self.rng.choice(links)
        if sum(one.get(field) == record[field] for one in self.state[kind.name]) != 1:
            return None
        target = self.spec.types[name]
        parent = next(one for one in self.state[name] if one[target.key] == record[field])
        described = self._described(target, parent, depth - 1)
        node = self._found_by_list(kind, record, field, described)
        if node is None:
            return None
        return _Target(
            record, f"the {kind.noun} {phrases.linked(field, kind)} {described.words}", node(), frozenset([field])
        )

    def _by_other(self, kind: RecordType, record: Record, depth: int) -> _Target | None:
        """Describe a record by one that links to it: the pet of the order 17."""
        others = [
            (other, field, one)
            for other in self.spec.types.values()
            for field, name in other.links.items()
            if name == kind.name
            for one in self.state[other.name]
            if one.get(field) == record[kind.key]
        ]
        if not others:
            return None
        other, link, one = self.rng.choice(others)
        shown = self.graph.showing(other.name)
        described = self._described(other, one, depth - 1)
        if described.node is None and not shown:
            return None
        node = described.node
        if node is None:
            operation = self.rng.choice(shown)
            node = self._node(operation.name, self._shown_by(operation, other, one), set(), is_gold=False)
        words = f"the {phrases.link_noun(link, kind)} of {described.words}"
        return _Target(record, words, node, frozenset())

    def _found_by_list(self, kind: RecordType, record: Record, field: str | None, parent: _Target | None = None) -> Any:
        """Return a function that adds the node of a list that shows the record; None if an agent could not call it."""
        for operation in self.rng.sample(finders := self.graph.finders(kind.name), len(finders)):
            try:
                arguments = self._shown_by(operation, kind, record)
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
            return lambda: self._node(operation.name, arguments, after, is_gold=False)
        return None

    def _node(self, tool: str, arguments: Mapping[str, Any], after: set[int], *, is_gold: bool) -> int:
        """Return the node of a call: that of an earlier walk if it is the same look-up, or a new one."""
        for number, node in enumerate(self.nodes):
            if not is_gold and not node.is_gold and (node.tool, node.arguments) == (tool, dict(arguments)):
                return number
        self.nodes.append(CallNode(tool, json.loads(json.dumps(dict(arguments))), frozenset(after), is_gold))
        return len(self.nodes) - 1

    def _is_free(self, kind: RecordType, record: Record) -> bool:
        return (kind.name, str(record[kind.key])) not in self._touched

    def _varies(self, kind: RecordType, name: str) -> bool:
        """Return whether a property has so many values that a guess seldom hits the right one."""
        return len({json.dumps(one.get(name)) for one in self.state[kind.name]}) >= min(5, len(self.state[kind.name]))


def targets_words(targets: Mapping[str, _Target]) -> dict[str, str]:
    """Return the words for the records that arguments name."""
    return {argument: target.words for argument, target in targets.items()}


def _add_node(after: set[int], target: _Target) -> None:
    if target.node is not None:
        after.add(target.node)


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
