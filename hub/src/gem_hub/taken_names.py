"""The names of packages and the ids of environments that a hub has given away: what a new release is compared with.

Each question costs the same however many packages there are. Nothing is ever given back.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator, Mapping

from gem.ids import parse_id
from gem_hub.reserved import OFFICIAL, PACKAGES
from gem_hub.typosquat import Lookalikes, ultranormalised

__all__ = ["TakenNames"]


class TakenNames:
    """Names and ids. Several threads may ask while one adds.

    Args:
        names: of packages.
        ids: environment id without variant → package.
    """

    def __init__(self, names: Iterable[str] = (), ids: Mapping[str, str] | None = None) -> None:
        self.sorted: list[str] = []
        """The names of the packages, sorted."""
        self.packages: set[str] = set()
        """The same, to look one up."""
        self.ids: dict[str, str] = {}
        """Environment id without variant → package."""
        self._families: dict[str, dict[str, str]] = {}
        self._alike = Lookalikes((*OFFICIAL, *PACKAGES))
        for name in names:
            self.add(name, ())
        for identity, name in (ids or {}).items():
            self._claim(identity, name)

    def add(self, name: str, ids: Iterable[str]) -> None:
        """Add a package, and ids that it claims."""
        if name not in self.packages:
            self.packages.add(name)
            insort(self.sorted, name)
            self._alike.add(name)
        for identity in ids:
            self._claim(identity, name)

    def lookalikes(self, name: str) -> list[str]:
        """Return the packages, the official and reserved ones included, that a name could be taken for."""
        return self._alike.of(name)

    def foreign_ids(self, name: str, ids: Iterable[str]) -> Iterator[tuple[str, str, str]]:
        """Yield each id that another package has, with that package and its id.

        An id belongs to its first package, with its variants, later versions and lookalikes.

        Args:
            name: the package that wants the ids.
            ids: the ids.
        """
        for family, identity in {_family(identity): identity for identity in reversed(list(ids))}.items():
            owners = [item for item in self._families.get(family, {}).items() if item[0] != name]
            if owners:
                yield (identity, *owners[-1])

    def _claim(self, identity: str, name: str) -> None:
        self.ids[identity] = name
        self._families.setdefault(_family(identity), {})[name] = identity


def _family(env_id: str) -> str:
    parsed = parse_id(env_id)
    return f"{ultranormalised(parsed.namespace)}:{ultranormalised(parsed.name)}"
