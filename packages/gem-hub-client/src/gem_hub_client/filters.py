"""The filters of a search: what an environment must be, need or lack, whatever the words of the query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gem_hub_client.catalogue import always
from gem_hub_client.lexicon import tag_token
from gem_hub_client.tokenize import tokenize
from gem_hub_client.word_index import Restriction

__all__ = ["NO_FILTERS", "Filters"]


@dataclass(frozen=True)
class Filters:
    """Conditions that one environment of a package must meet, all of them; without any, every package fits."""

    needs: tuple[str, ...] = ()
    """Needs that it must have, such as ``"docker"``."""
    needs_no: tuple[str, ...] = ()
    """Needs that it must not have."""
    modality: tuple[str, ...] = ()
    """What its observations must hold: text, image, audio or video."""
    domain: tuple[str, ...] = ()
    skill: tuple[str, ...] = ()
    namespace: str = ""
    """The part of its id before the colon."""
    turns: str = ""
    """``"single"`` or ``"multi"``."""

    def __bool__(self) -> bool:
        return self != NO_FILTERS

    def admits(self, environment: dict[str, Any]) -> bool:
        """Return whether an environment of the catalogue meets all conditions."""
        tags = {tag.casefold() for tag in environment.get("tags", ())}
        requires = {need.casefold() for need in environment.get("requires", ())}
        wanted = {tag.casefold() for tag in self._tags}
        return (
            requires.issuperset(map(str.casefold, self.needs))
            and requires.isdisjoint(map(str.casefold, self.needs_no))
            and set(environment.get("modality") or ("text",)).issuperset(self.modality)
            and tags.issuperset(wanted)
            and self.namespace.casefold() in ("", environment["id"].partition(":")[0].rpartition("/")[2].casefold())
            and self.turns in ("", environment.get("turns"))
        )

    @property
    def restriction(self) -> Restriction:
        """What the index can tell beforehand: never more than :meth:`admits` demands, often less."""
        words = [tag_token(tag) for tag in self._tags]
        words += [tag_token(f"modality:{kind}") for kind in self.modality if kind != "text"]
        words += [tag_token(f"turns:{self.turns}")] if self.turns else []
        words += [word for need in self.needs for word in tokenize(need)]
        return Restriction(tuple(words), tuple(tokenize(self.namespace)), tuple(always(need) for need in self.needs_no))

    def to_dict(self) -> dict[str, Any]:
        """Return the given conditions as JSON values."""
        values = {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}
        return {name: value for name, value in values.items() if value}

    @property
    def _tags(self) -> list[str]:
        return [*(f"domain:{name}" for name in self.domain), *(f"skill:{name}" for name in self.skill)]


NO_FILTERS = Filters()
