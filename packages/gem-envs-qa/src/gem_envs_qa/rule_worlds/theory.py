"""Facts, rules, and what follows from them.

A theory is a logic program without recursion: the predicates have an order, and every rule concludes a later one
from earlier ones. So negation as failure is simple: once all earlier predicates are decided, an atom that the rules for
its predicate do not imply is false (the closed world of Clark, "Negation as Failure", 1978).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

__all__ = ["ANYONE", "Atom", "Literal", "Model", "Rule", "bound"]

ANYONE = "?"
"""The subject of an atom in a rule that holds for every entity."""


class Atom(NamedTuple):
    """The claim that an entity has an attribute (no object), or a relation to an entity."""

    predicate: str
    subject: str
    object: str | None = None


class Literal(NamedTuple):
    """A condition of a rule: that an atom is true, or that it is not."""

    atom: Atom
    holds: bool = True


class Rule(NamedTuple):
    """Conditions, and the conclusion from all of them together."""

    body: tuple[Literal, ...]
    head: Atom


class Model:
    """The atoms that are true in a theory, and the depth of each.

    The depth of a fact is 0. The depth of any other true atom is one more than that of the deepest condition of the
    rule that proves it; of several proofs the shallowest counts. An atom that no rule concludes is false at depth 0.
    The depth of any other false atom is one more than the depth at which every rule that concludes it fails: of a
    rule's failing conditions the shallowest counts, of the rules the deepest.

    Args:
        facts: ground atoms.
        rules: rules whose predicates have the order ``ranks``.
        ranks: predicate → its place in the order.
        entities: all entities.
    """

    def __init__(
        self, facts: Iterable[Atom], rules: Sequence[Rule], ranks: dict[str, int], entities: Sequence[str]
    ) -> None:
        self._facts = frozenset(facts)
        self._instances: dict[Atom, list[tuple[Literal, ...]]] = {}
        self._depths: dict[Atom, int] = {}
        true = set(self._facts)
        for rule in sorted(rules, key=lambda rule: ranks[rule.head.predicate]):
            for entity in entities if rule.head.subject == ANYONE else ("",):
                body = tuple(Literal(bound(atom, entity), holds) for atom, holds in rule.body)
                head = bound(rule.head, entity)
                self._instances.setdefault(head, []).append(body)
                if all((atom in true) == holds for atom, holds in body):
                    true.add(head)
        self._true = true

    def __contains__(self, atom: object) -> bool:
        return atom in self._true

    def depth(self, atom: Atom) -> int:
        """Return the depth at which an atom is true or false."""
        known = self._depths.get(atom)
        if known is None:
            known = self._depths[atom] = self._depth(atom)
        return known

    def _depth(self, atom: Atom) -> int:
        if atom in self._facts or atom not in self._instances:
            return 0
        bodies = self._instances[atom]
        if atom in self._true:
            proofs = [body for body in bodies if all((one in self._true) == holds for one, holds in body)]
            return 1 + min(max(self.depth(one) for one, _ in body) for body in proofs)
        return 1 + max(min(self.depth(one) for one, holds in body if (one in self._true) != holds) for body in bodies)


def bound(atom: Atom, entity: str) -> Atom:
    """Return the atom with ``entity`` in place of anyone."""
    return atom._replace(subject=entity) if atom.subject == ANYONE else atom
