"""The reference policy of Growth: Bayes' rule over the genes of each plant, and crosses that bring the goal nearer.

Genes are inherited independently, so each trait is inferred on its own. For a trait, the policy holds the weights of
what hides what, and for each plant the probabilities of 0, 1 and 2 copies of the wanted form.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations_with_replacement

from gem.core import Info
from gem.policies import Policy

__all__ = ["GrowthPolicy"]

_PLANT = re.compile(r"^(\d+): (.+)$", re.MULTILINE)
_PARENTS = re.compile(r"From plants? (\d+) (?:and (\d+)|alone) grow")
_LOOK = r"[a-z-]+ [a-z]+"
_GOAL = re.compile(rf"(?:with|has) ((?:{_LOOK}, )*{_LOOK} and {_LOOK})")
_SURE = 0.999
_KEPT = 12
"""Plants of the highest value that are considered as parents."""

Distribution = tuple[float, float, float]
"""The probabilities of 0, 1 and 2 copies of the wanted form."""


class GrowthPolicy(Policy[str, str]):
    """Crosses the plants whose best offspring promises most, and hands one in when it is sure."""

    def reset(self, observation: str, info: Info) -> None:
        goal = _GOAL.search(observation, observation.index("\n1: "))
        assert goal is not None, observation
        pure = "The first plants breed true" in observation
        wanted = (part.split(" ") for part in re.split(", | and ", goal[1]))
        self._traits = {organ: _Inheritance(look, pure) for look, organ in wanted}
        self._count = 0
        self._tried: Counter[tuple[int, int]] = Counter()

    def act(self, observation: str, info: Info) -> str:
        """Return the next cross, or the plant to hand in."""
        plants = {int(number): self._looks(text) for number, text in _PLANT.findall(observation)}
        parents = _PARENTS.search(observation)
        if parents is None:
            for number, looks in plants.items():
                for organ, trait in self._traits.items():
                    trait.found(number, looks[organ])
        else:
            mother = int(parents[1])
            father = int(parents[2] or mother)
            for organ, trait in self._traits.items():
                trait.grown(mother, father, {number: looks[organ] for number, looks in plants.items()})
        self._count = max(self._count, *plants)
        return self._next()

    def _looks(self, text: str) -> dict[str, str]:
        return {organ: look for look, organ in (part.split(" ") for part in text.split(", "))}

    def _next(self) -> str:
        chances = {number: self._chance(number) for number in range(1, self._count + 1)}
        best = max(chances, key=lambda number: chances[number])
        if chances[best] >= _SURE:
            return f"hand in {best}"
        if chances[best] > 0.2:
            # It looks right: its own offspring prove whether it breeds true, and some of them may be better.
            return f"cross {best} with {best}"
        for trait in self._traits.values():
            if not trait.seen:
                # It must be hidden in one of the plants: the likeliest one's own offspring may show it.
                carrier = max(chances, key=lambda number: (trait.copies(number)[1], -number))
                return f"cross {carrier} with {carrier}"
        # Of plants that are alike as far as is known, one stands for all.
        alike = {self._profile(number): number for number in chances}
        kept = set(sorted(alike.values(), key=self._value)[-_KEPT:])
        # No form that is wanted may get lost: its likeliest carrier stays.
        for trait in self._traits.values():
            kept.add(
                max(alike.values(), key=lambda number: (round(1 - trait.copies(number)[0], 2), self._value(number)))
            )
        pairs = list(combinations_with_replacement(sorted(kept), 2))
        mother, father = max(pairs, key=lambda pair: self._promise(*pair) / (1 + self._tried[pair]))
        self._tried[mother, father] += 1
        return f"cross {mother} with {father}"

    def _profile(self, number: int) -> tuple[float, ...]:
        return tuple(round(share, 2) for trait in self._traits.values() for share in trait.copies(number))

    def _chance(self, number: int) -> float:
        """Return the probability that a plant is what is wanted."""
        chance = 1.0
        for trait in self._traits.values():
            chance *= trait.copies(number)[2]
        return chance

    def _value(self, number: int) -> float:
        """Return the expected number of copies of wanted forms."""
        return sum(copies[1] + 2 * copies[2] for copies in (trait.copies(number) for trait in self._traits.values()))

    def _promise(self, mother: int, father: int) -> float:
        """Return the mean over offspring of a product that rewards each gene for one copy and more for two."""
        promise = 1.0
        for trait in self._traits.values():
            _, one, two = _child(trait.copies(mother), trait.copies(father))
            promise *= 0.003 + 0.3 * one + two
        return promise


_ROLES = {
    "wanted hides": ("other", "wanted", "wanted"),
    "other hides": ("other", "other", "wanted"),
    "third between": ("other", "third", "wanted"),
    "other between": ("third", "other", "wanted"),
}
"""Hypothesis → the looks for 0, 1 and 2 copies of the wanted form.

Of the looks that are not wanted, "other" is the one that was seen first.
"""


class _Inheritance:
    """What is known on one trait: the weight of each hypothesis, and under each the genes of all plants.

    Evidence on a plant comes from its look, its parents and its offspring. Belief propagation (Pearl, 1988) joins them:
    what all offspring say on their parents, from the youngest cross to the oldest, then what parents say on offspring.
    For two parents it takes what is known on one as independent of what is known on the other.
    """

    def __init__(self, wanted: str, pure: bool) -> None:
        self.seen = False
        """Whether a plant has had the wanted look."""
        self._roles = {wanted: "wanted"}
        self._prior: Distribution = (0.5, 0.0, 0.5) if pure else (1 / 3, 1 / 3, 1 / 3)
        self._weights = dict.fromkeys(_ROLES, 1.0)
        self._first: list[int] = []
        self._shown: dict[int, str] = {}
        self._crosses: list[tuple[int, int, list[int]]] = []
        self._beliefs: dict[str, dict[int, Distribution]] = {name: {} for name in _ROLES}
        self._total: dict[int, Distribution] = {}

    def copies(self, number: int) -> Distribution:
        """Return the probabilities of the copies of a plant over all hypotheses."""
        return self._total[number]

    def found(self, number: int, look: str) -> None:
        """Note one of the first plants."""
        self._first.append(number)
        self._show(number, look)
        for name in self._weights:
            self._weights[name] *= sum(_times(self._prior, self._look(name, number)))
        self._infer()

    def grown(self, mother: int, father: int, looks: dict[int, str]) -> None:
        """Note the offspring of two plants."""
        for number, look in looks.items():
            self._show(number, look)
        self._crosses.append((mother, father, list(looks)))
        for name, beliefs in self._beliefs.items():
            if self._weights[name]:
                said = {number: self._look(name, number) for number in looks}
                self._weights[name] *= sum(
                    beliefs[mother][one] * (beliefs[father][other] if father != mother else 1.0) * likelihood
                    for (one, other), likelihood in _likelihoods(self._crosses[-1], said).items()
                )
        largest = max(self._weights.values())
        self._weights = {name: weight / largest for name, weight in self._weights.items()}
        self._infer()

    def _show(self, number: int, look: str) -> None:
        self._shown[number] = self._roles.setdefault(look, "third" if len(self._roles) > 1 else "other")
        self.seen = self.seen or self._shown[number] == "wanted"

    def _look(self, name: str, number: int) -> Distribution:
        """Return for 0, 1 and 2 copies whether the look of a plant is possible."""
        zero, one, two = (float(self._shown[number] == role) for role in _ROLES[name])
        return zero, one, two

    def _infer(self) -> None:
        """Compute all beliefs anew."""
        for name, weight in self._weights.items():
            if weight:
                self._beliefs[name] = self._propagated(name, self._beliefs[name])
        alive = {name: weight for name, weight in self._weights.items() if weight}
        total = sum(alive.values())
        self._total = {}
        for number in self._shown:
            zero = one = two = 0.0
            for name, weight in alive.items():
                known = self._beliefs[name][number]
                zero, one, two = zero + weight * known[0], one + weight * known[1], two + weight * known[2]
            self._total[number] = zero / total, one / total, two / total

    def _propagated(self, name: str, before: dict[int, Distribution]) -> dict[int, Distribution]:
        said = {number: self._look(name, number) for number in self._shown}
        tables = []
        for cross in reversed(self._crosses):
            mother, father, _ = cross
            table = _likelihoods(cross, said)
            tables.append(table)
            for parent, side in ((mother, 0), (father, 1)) if mother != father else ((mother, 0),):
                partner = before[father if side == 0 else mother]
                message = [0.0, 0.0, 0.0]
                for pair, likelihood in table.items():
                    message[pair[side]] += likelihood * (partner[pair[1 - side]] if mother != father else 1.0)
                said[parent] = _scaled(_times(said[parent], message))
        beliefs = {number: _scaled(_times(self._prior, said[number])) for number in self._first}
        for (mother, father, children), table in zip(self._crosses, reversed(tables), strict=True):
            joint = {
                (one, other): beliefs[mother][one] * (beliefs[father][other] if mother != father else 1.0)
                for (one, other), likelihood in table.items()
                if likelihood
            }
            for child in children:
                known = [0.0, 0.0, 0.0]
                for pair, share in joint.items():
                    if share:
                        for copies, chance in enumerate(_scaled(_times(_CHILDREN[pair], said[child]))):
                            known[copies] += share * chance
                beliefs[child] = _scaled((known[0], known[1], known[2]))
        return beliefs


def _likelihoods(cross: tuple[int, int, list[int]], said: dict[int, Distribution]) -> dict[tuple[int, int], float]:
    """Return the probability of what is said on the offspring, for each pair of copies of the parents."""
    mother, father, children = cross
    table = {}
    for pair, (zero, one, two) in _CHILDREN.items():
        if mother == father and pair[0] != pair[1]:
            continue
        likelihood = 1.0
        for child in children:
            known = said[child]
            likelihood *= zero * known[0] + one * known[1] + two * known[2]
        table[pair] = likelihood
    return table


def _child(one: Distribution, other: Distribution) -> Distribution:
    """Return the probabilities of the copies of an offspring."""
    first, second = one[1] / 2 + one[2], other[1] / 2 + other[2]
    return (1 - first) * (1 - second), first * (1 - second) + second * (1 - first), first * second


_SURELY: tuple[Distribution, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_CHILDREN = {(one, other): _child(_SURELY[one], _SURELY[other]) for one in range(3) for other in range(3)}
"""The copies of both parents → the probabilities of those of an offspring."""


def _times(one: Sequence[float], other: Sequence[float]) -> Distribution:
    return one[0] * other[0], one[1] * other[1], one[2] * other[2]


def _scaled(values: Distribution) -> Distribution:
    """Return values whose sum is 1; zeros stay as they are."""
    total = sum(values) or 1.0
    return values[0] / total, values[1] / total, values[2] / total
