"""Queries of a catalogue's index for packages with certain words, at a limited cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gem_hub_client.catalogue import Catalogue

__all__ = ["ANY", "PROPOSED", "Alternative", "Restriction", "WordIndex"]

PROPOSED = 60
"""The largest number of packages that one query proposes."""
_COMMON = 3000
"""Packages. Ranking more of them than this by BM25 takes longer than a search may."""
_FIELDS = ("names", "ids", "tags", "summary", "descriptions")
_ALL_TEXT = " || ' ' || ".join(f"texts.{field}" for field in _FIELDS)
_AFTER_ALL = "\U0010ffff"

Alternative = str | tuple[tuple[str, ...], ...]
"""A word, or a phrase: for each of its places the words that may stand there."""


class Restriction(NamedTuple):
    """What a package must have in its tags or ids, and must not have in its tags, to be proposed at all."""

    tags: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


ANY = Restriction()


class WordIndex:
    """The questions that search asks. Each answer is a list of rows; :meth:`Catalogue.record_at` reads one."""

    def __init__(self, catalogue: Catalogue, restriction: Restriction = ANY) -> None:
        self.catalogue = catalogue
        self.connection = catalogue.connection
        self.restriction = restriction
        self._counts: dict[tuple[str, bool], int] = {}

    @property
    def packages(self) -> int:
        """The number of packages, about: those that were ever replaced count as well."""
        return int(self.connection.execute("SELECT coalesce(max(id), 0) FROM package").fetchone()[0])

    def named(self, names: Sequence[str]) -> list[int]:
        """Return the packages with one of these names."""
        return self._rows(f"SELECT id FROM package WHERE name IN ({_marks(names)})", names)  # noqa: S608

    def offering(self, environment: str) -> list[int]:
        """Return the packages that offer an environment, by its id without variant, capitals aside."""
        return self._rows("SELECT package FROM environment WHERE id = ?", (environment.casefold(),))

    def beginning(self, letters: str) -> list[int]:
        """Return packages whose short names begin with these letters: what FTS is far too slow for."""
        return self._rows(
            "SELECT id FROM package WHERE short >= ? AND short < ? ORDER BY length(short), short LIMIT ?",
            (letters, letters + _AFTER_ALL, PROPOSED),
        )

    def newest(self) -> list[int]:
        """Return packages that meet the restriction, those that changed last first."""
        if not self.catalogue.has_fts:
            return self._scan([], prefix=False, limit=2 * PROPOSED, order=" ORDER BY rowid DESC")
        question = self._restricted("", [])
        if question:
            return self._rows(
                "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rowid DESC LIMIT ?", (question, 2 * PROPOSED)
            )
        if not self.restriction.without:
            return self._rows("SELECT id FROM package ORDER BY id DESC LIMIT ?", (2 * PROPOSED,))
        # FTS5 has no question that only excludes.
        excluded = " OR ".join(f'tags : "{word}"' for word in self.restriction.without)
        return self._rows(
            "SELECT id FROM package WHERE id NOT IN (SELECT rowid FROM texts WHERE texts MATCH ?) "
            "ORDER BY id DESC LIMIT ?",
            (excluded, 2 * PROPOSED),
        )

    def words_of(self, stems: Iterable[str]) -> dict[str, list[str]]:
        """Return stem → the words of the catalogue that have it, the commonest first."""
        wanted = tuple(dict.fromkeys(stems))
        rows = self.connection.execute(
            f"SELECT stem, word, count FROM word WHERE stem IN ({_marks(wanted)}) AND count > 0 "  # noqa: S608
            "ORDER BY count DESC, word",
            wanted,
        )
        found: dict[str, list[str]] = {}
        for root, word, count in rows:
            self._counts[word, False] = count
            found.setdefault(root, []).append(word)
        return found

    def count(self, word: str, prefix: bool = False) -> int:
        """Return the number of packages with a word; with ``prefix``, any word that begins so, counted per word."""
        key = (word, prefix)
        if key not in self._counts:
            end = word + _AFTER_ALL if prefix else word
            row = self.connection.execute(
                "SELECT total(count) FROM (SELECT count FROM word WHERE word BETWEEN ? AND ? LIMIT 2000)", (word, end)
            ).fetchone()
            self._counts[key] = int(row[0])
        return self._counts[key]

    def having(self, groups: Sequence[Sequence[Alternative]], prefix: bool = False) -> list[int]:
        """Return packages that have an alternative of each group, the best first as far as that is affordable.

        Args:
            groups: words and phrases that stand for one another; with ``prefix``, the first of each group stands for
                all that begin with it, if it has three letters or more.
            prefix: see ``groups``.
        """
        if not self.catalogue.has_fts:
            return self._scan(groups, prefix)
        sized = sorted((sum(self._size(one, prefix and not place) for place, one in enumerate(group)), number)
                       for number, group in enumerate(groups))  # fmt: skip
        if not sized or sized[0][0] == 0:
            return []
        # Those that nearly all packages have tell little and cost much; scoring looks at them again.
        kept = [groups[number] for size, number in sized if size <= 10 * _COMMON or size == sized[0][0]]
        if sized[0][0] <= _COMMON:
            question = self._restricted("", kept, prefix)
            return self._rows("SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?", (question, PROPOSED))
        # Too many to rank: first those that have it in their names, then in the ids, then in the tags, then anywhere.
        found: dict[int, None] = {}
        for columns in ("names :", "ids :", "tags :", ""):
            if len(found) < PROPOSED:
                question = self._restricted(columns, kept, prefix)
                rows = self._rows("SELECT rowid FROM texts WHERE texts MATCH ? LIMIT ?", (question, PROPOSED))
                found.update(dict.fromkeys(rows))
        return list(found)[:PROPOSED]

    def rarest(self, groups: Sequence[Sequence[Alternative]]) -> list[int]:
        """Return packages that have an alternative of any of the rarest groups, as many as can be ranked."""
        sized = sorted((sum(self._size(one, False) for one in group), number) for number, group in enumerate(groups))
        chosen: list[Alternative] = []
        total = 0
        for size, number in sized:
            total += size
            if chosen and total > _COMMON:
                break
            chosen += groups[number] if size else ()
        return self.having([chosen]) if chosen else []

    def _size(self, alternative: Alternative, prefix: bool) -> int:
        if isinstance(alternative, str):
            return self.count(alternative, prefix and len(alternative) > 2)
        return min(sum(self.count(word) for word in words) for words in alternative)

    def _restricted(self, columns: str, groups: Sequence[Sequence[Alternative]], prefix: bool = False) -> str:
        """Return the question of FTS5 for all groups in some columns and the restriction; empty for everything."""
        wanted = [f"{columns} ({' AND '.join(f'({_either(group, prefix)})' for group in groups)})"] if groups else []
        wanted += [f'tags : "{word}"' for word in self.restriction.tags]
        wanted += [f'ids : "{word}"' for word in self.restriction.ids]
        question = " AND ".join(f"({part})" for part in wanted)
        for word in self.restriction.without if question else ():
            question = f'({question}) NOT (tags : "{word}")'
        return question

    def _scan(
        self, groups: Sequence[Sequence[Alternative]], prefix: bool, limit: int = PROPOSED, order: str = ""
    ) -> list[int]:
        """Do what :meth:`having` does where SQLite has no FTS5: read everything."""
        conditions: list[str] = []
        values: list[object] = []

        def has(column: str, patterns: Iterable[str]) -> str:
            some = list(patterns)
            values.extend(some)
            return "(" + " OR ".join([f"{column} LIKE ?"] * len(some)) + ")"

        for group in groups:
            parts = [has("text", [f"% {one}{'' if prefix and not place else ' '}%"])
                     for place, one in enumerate(group) if isinstance(one, str)]  # fmt: skip
            phrases = [one for one in group if not isinstance(one, str)]
            parts += [" AND ".join(has("text", (f"% {word} %" for word in words)) for words in one) for one in phrases]
            conditions.append("(" + " OR ".join(f"({part})" for part in parts) + ")")
        conditions += [has("tagged", [f"% {word} %"]) for word in self.restriction.tags]
        conditions += [has("called", [f"% {word} %"]) for word in self.restriction.ids]
        conditions += ["NOT " + has("tagged", [f"% {word} %"]) for word in self.restriction.without]
        columns = f"rowid, ' ' || {_ALL_TEXT} || ' ' AS text, ' ' || tags || ' ' AS tagged, ' ' || ids || ' ' AS called"
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        question = f"SELECT rowid FROM (SELECT {columns} FROM texts){where}{order} LIMIT ?"  # noqa: S608  # marks
        return self._rows(question, (*values, limit))

    def _rows(self, question: str, values: Sequence[object]) -> list[int]:
        return [row for (row,) in self.connection.execute(question, tuple(values))]


def _either(group: Sequence[Alternative], prefix: bool) -> str:
    # In quotes nothing is an operator; words have no quotes in them.
    parts = []
    for place, one in enumerate(group):
        if isinstance(one, str):
            parts.append(f'"{one}"' + ("*" if prefix and not place and len(one) > 2 else ""))
        else:
            places = (" OR ".join(f'"{word}"' for word in words) for words in one)
            parts.append("(" + " AND ".join(f"({place})" for place in places) + ")")
    return " OR ".join(parts)


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))
