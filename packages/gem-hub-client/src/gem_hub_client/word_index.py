"""Queries of a catalogue's index for packages with certain words, at a limited cost."""

from __future__ import annotations

from collections.abc import Sequence

from gem_hub_client.catalogue import Catalogue

__all__ = ["PROPOSED", "WordIndex"]

PROPOSED = 60
"""The largest number of packages that one query proposes."""
_COMMON = 3000
"""Packages. Ranking more of them than this by BM25 takes longer than a search may."""
_FIELDS = ("names", "ids", "tags", "summary", "descriptions")
_ALL_TEXT = " || ' ' || ".join(f"texts.{field}" for field in _FIELDS)
_AFTER_ALL = "\U0010ffff"


class WordIndex:
    """The questions that search asks. Each answer is a list of rows; :meth:`Catalogue.record_at` reads one."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.connection = catalogue.connection
        self._counts: dict[tuple[str, bool], int] = {}

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

    def having(self, groups: Sequence[Sequence[str]], prefix: bool = False) -> list[int]:
        """Return packages that have a word of each group, the best first as far as that is affordable.

        Args:
            groups: words that stand for one another; with ``prefix``, the first of each group stands for all that
                begin with it, if it has three letters or more.
            prefix: see ``groups``.
        """
        if not self.catalogue.has_fts:
            return self._scan(groups, prefix)
        sized = sorted((sum(self._size(word, prefix and not place) for place, word in enumerate(group)), number)
                       for number, group in enumerate(groups))  # fmt: skip
        if not sized or sized[0][0] == 0:
            return []
        # Those that nearly all packages have tell little and cost much; scoring looks at them again.
        kept = [groups[number] for size, number in sized if size <= 10 * _COMMON or size == sized[0][0]]
        question = " AND ".join(f"({_either(group, prefix)})" for group in kept)
        if sized[0][0] <= _COMMON:
            return self._rows("SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?", (question, PROPOSED))
        # Too many to rank: first those that have it in their names, then in the ids, then in the tags, then anywhere.
        found: dict[int, None] = {}
        for columns in ("names :", "ids :", "tags :", ""):
            if len(found) < PROPOSED:
                rows = self._rows(
                    "SELECT rowid FROM texts WHERE texts MATCH ? LIMIT ?", (f"{columns} ({question})", PROPOSED)
                )
                found.update(dict.fromkeys(rows))
        return list(found)[:PROPOSED]

    def _size(self, word: str, prefix: bool) -> int:
        return self.count(word, prefix and len(word) > 2)

    def _scan(self, groups: Sequence[Sequence[str]], prefix: bool) -> list[int]:
        """Do what :meth:`having` does where SQLite has no FTS5: read everything."""
        conditions, values = [], []
        for group in groups:
            conditions.append("(" + " OR ".join(["text LIKE ?"] * len(group)) + ")")
            values += [f"% {word}{'' if prefix and not place else ' '}%" for place, word in enumerate(group)]
        question = f"SELECT rowid FROM (SELECT rowid, ' ' || {_ALL_TEXT} || ' ' AS text FROM texts) WHERE "  # noqa: S608
        return self._rows(f"{question}{' AND '.join(conditions)} LIMIT ?", (*values, PROPOSED)) if groups else []

    def _rows(self, question: str, values: Sequence[object]) -> list[int]:
        return [row for (row,) in self.connection.execute(question, tuple(values))]


def _either(group: Sequence[str], prefix: bool) -> str:
    # In quotes nothing is an operator; words have no quotes in them.
    star = "*" if prefix and len(group[0]) > 2 else ""
    return " OR ".join(f'"{word}"{"" if place else star}' for place, word in enumerate(group))


def _marks(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))
