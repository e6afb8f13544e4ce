"""The tools on a graph: the variables of an episode, and the calls that make them."""

from __future__ import annotations

from collections.abc import Sequence

from gem.counts import counted
from gem_envs_data.graph.schema import RELATIONS, TYPES
from gem_envs_data.graph.store import TripleStore

__all__ = ["TOOLS", "CallError", "GraphTools", "Variable"]

TOOLS = {
    "get_relations": (("variable",), "List the relations that lead from an entity or from the entities of a variable."),
    "get_neighbors": (
        ("variable", "relation"),
        "Make a variable of all entities that the relation leads to. get_relations must have listed the relation.",
    ),
    "intersection": (
        ("variable1", "variable2"),
        "Make a variable of the entities that two variables of the same type have in common.",
    ),
    "get_attributes": (("variable",), "List the numerical attributes of the entities of a variable."),
    "argmax": (
        ("variable", "attribute"),
        "Make a variable of the entity with the largest number. get_attributes must have listed the attribute.",
    ),
    "argmin": (("variable", "attribute"), "The same with the smallest number."),
    "count": (("variable",), "Make a variable that is the number of entities of a variable."),
}
"""Tool → its parameters and its description."""

_NUMBER = "number"
_MOST_VARIABLES = 1000


class CallError(Exception):
    """A call that cannot be carried out; the message tells the agent why."""


class Variable:
    """A set of entities of one kind, or a number, under the name by which calls refer to it."""

    __slots__ = ("kind", "value")

    def __init__(self, kind: str, value: frozenset[str] | int) -> None:
        self.kind, self.value = kind, value


class GraphTools:
    """The variables and look-ups of an episode.

    Args:
        store: the graph.
        entities: those that the question names; no other entity can be an argument.
        look_first: ``get_neighbors`` takes only relations that ``get_relations`` has listed for the same variable, and
            ``argmax`` and ``argmin`` only attributes that ``get_attributes`` has listed, as in AgentBench.
    """

    def __init__(self, store: TripleStore, entities: Sequence[str], look_first: bool) -> None:
        self.variables: list[Variable] = []
        self._store, self._look_first = store, look_first
        self._entities = {name: Variable(store.kinds[name], frozenset((name,))) for name in entities}
        self._listed: dict[str, list[str]] = {}

    def call(self, tool: str, arguments: Sequence[str]) -> str:
        """Carry out a call and return the text for the agent.

        Raises:
            CallError: if there is no such tool, or the arguments do not fit.
        """
        if tool not in TOOLS:
            raise CallError(f"There is no tool {tool[:40]!r}; the tools are {', '.join(TOOLS)}.")
        parameters = TOOLS[tool][0]
        if len(arguments) != len(parameters):
            raise CallError(f"{tool} takes {counted(len(parameters), 'argument')}: {', '.join(parameters)}.")
        variable = self._variable(arguments[0])
        if variable.kind == _NUMBER:
            raise CallError(f"{arguments[0]} is a number; {tool} takes entities.")
        entities = variable.value
        assert isinstance(entities, frozenset)
        if tool == "get_relations":
            listed = self._listed[f"relations of {arguments[0]}"] = self._store.relations(entities)
            return f"[{', '.join(listed)}]"
        if tool == "get_attributes":
            listed = self._listed[f"attributes of {arguments[0]}"] = self._store.attribute_names(entities)
            return f"[{', '.join(listed)}]"
        if tool == "count":
            return self._new(_NUMBER, len(entities))
        if tool == "get_neighbors":
            relation = self._known(arguments[0], arguments[1], "relations")
            return self._new(RELATIONS[relation].object, self._store.neighbors(entities, relation))
        if tool == "intersection":
            other = self._variable(arguments[1])
            if other.kind != variable.kind:
                raise CallError("The two variables are not of the same type.")
            assert isinstance(other.value, frozenset)
            return self._new(variable.kind, entities & other.value)
        attribute = self._known(arguments[0], arguments[1], "attributes")
        return self._new(variable.kind, self._store.extreme(entities, attribute, tool == "argmax"))

    def variable(self, name: str) -> Variable:
        """Return a variable that a call has made.

        Raises:
            CallError: if there is none of that name.
        """
        number = name.removeprefix("#")
        if name[:1] != "#" or not (number.isascii() and number.isdecimal() and len(number) < 6):
            raise CallError(f"{name[:40]!r} is not a variable such as #0.")
        if int(number) >= len(self.variables):
            last = f"the last one is #{len(self.variables) - 1}" if self.variables else "no call has made one yet"
            raise CallError(f"There is no variable #{int(number)}; {last}.")
        return self.variables[int(number)]

    def _variable(self, name: str) -> Variable:
        entity = self._entities.get(name)
        if entity is not None:
            return entity
        if name[:1] != "#":
            raise CallError(f"{name[:40]!r} is neither a variable such as #0 nor an entity of the question.")
        return self.variable(name)

    def _known(self, variable: str, name: str, what: str) -> str:
        """Return the name of a relation or an attribute, if the look-up has listed it."""
        tool = f"get_{what}"
        listed = self._listed.get(f"{what} of {variable}")
        if listed is None:
            if self._look_first:
                raise CallError(f"Call {tool}({variable}) first.")
            entities = self._variable(variable).value
            assert isinstance(entities, frozenset)
            listed = (self._store.relations if what == "relations" else self._store.attribute_names)(entities)
        if name not in listed:
            raise CallError(f"{name[:80]!r} is not among the {what} of {variable}.")
        return name

    def _new(self, kind: str, value: frozenset[str] | int) -> str:
        if len(self.variables) == _MOST_VARIABLES:
            raise CallError(f"There are {_MOST_VARIABLES} variables already.")
        self.variables.append(Variable(kind, value))
        name = f"variable #{len(self.variables) - 1}"
        return f"{name}, which is a number" if kind == _NUMBER else f"{name}, which are instances of {TYPES[kind]}"
