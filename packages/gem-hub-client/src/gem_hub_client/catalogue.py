"""The catalogue of a hub in SQLite: one record for each package, and the indexes for the search.

The database is a cache: it is built from a hub's files, never transferred itself, and deleted when
:data:`SCHEMA` or what it derives changes.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from gem_hub_client.ids import base_id, parse_id
from gem_hub_client.lexicon import controlled_words, tag_token
from gem_hub_client.names import short_name
from gem_hub_client.stem import stem
from gem_hub_client.tokenize import LONGEST, tokenize
from gem_hub_client.typo import DELETES, file_words

__all__ = ["SCHEMA", "Catalogue", "Fields", "always", "fields_of", "searchable", "tag_words"]

SCHEMA = 4
"""Goes up with every change of the tables, of :func:`fields_of`, of :func:`gem_hub_client.tokenize.tokenize`
or of :func:`gem_hub_client.stem.stem`."""

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE package (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, short TEXT NOT NULL, record BLOB NOT NULL);
CREATE INDEX package_short ON package (short);
CREATE TABLE environment (id TEXT NOT NULL, package INTEGER NOT NULL, PRIMARY KEY (id, package)) WITHOUT ROWID;
CREATE TABLE word (id INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE, count INTEGER NOT NULL, stem TEXT NOT NULL);
CREATE INDEX word_stem ON word (stem);
"""
# Without detail=full bm25 would be 0 for every row. The words were folded before they came here.
_WITH_FTS = """
CREATE VIRTUAL TABLE texts USING fts5 (
  names, ids, tags, summary, descriptions,
  content='', detail=full, prefix='3', tokenize='unicode61 remove_diacritics 0'
);
INSERT INTO texts (texts, rank) VALUES ('rank', 'bm25(10.0, 8.0, 4.0, 2.0, 1.0)');
"""
_WITHOUT_FTS = "CREATE TABLE texts (rowid INTEGER PRIMARY KEY, names, ids, tags, summary, descriptions);"

_FIELDS = "names, ids, tags, summary, descriptions"

_BUSY = 10.0
"""The time limit in seconds for waiting on another writing process."""
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_LARGEST = 4 << 30
"""The size limit of the database in bytes, so that a hub cannot fill the disk."""


class Fields(NamedTuple):
    """The words of a package, most important first; each field is a text with words separated by spaces."""

    names: str
    ids: str
    tags: str
    summary: str
    descriptions: str


class Catalogue:
    """The packages of one hub. Close it, or use it as a context manager."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.has_fts: bool = self._meta("fts") == 1

    @classmethod
    def create(cls, path: Path | None, fts: bool | None = None) -> Catalogue:
        """Return an empty catalogue in a new file, or in memory.

        Args:
            path: the file, which must not exist; None for memory.
            fts: whether to use FTS5; None for: if this SQLite has it.
        """
        connection = sqlite3.connect(path or ":memory:", isolation_level=None, timeout=_BUSY)
        # A file that is not finished is thrown away whole, so nothing needs to be undone in it.
        connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")
        if fts is None:
            fts = _has_fts(connection)
        connection.executescript(_TABLES + DELETES + (_WITH_FTS if fts else _WITHOUT_FTS))
        connection.executemany("INSERT INTO meta VALUES (?, ?)", [("serial", -1), ("fts", int(fts))])
        return cls(connection)

    @classmethod
    def open(cls, path: Path) -> Catalogue:
        """Return the catalogue in a file; ``sqlite3.Error`` if it is none."""
        if not path.is_file():  # SQLite would make an empty one
            raise sqlite3.OperationalError(f"{path}: there is no such file")
        connection = sqlite3.connect(path, isolation_level=None, timeout=_BUSY)
        try:
            return cls(connection)
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Catalogue:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def serial(self) -> int:
        """The hub's serial as of which this is complete; -1 before anything was applied."""
        return int(self._meta("serial"))

    def __len__(self) -> int:
        return int(self.connection.execute("SELECT count(*) FROM package").fetchone()[0])

    def record(self, name: str) -> dict[str, Any] | None:
        """Return the catalogue's line on a package, quarantined and removed ones included; None if it has none."""
        row = self.connection.execute("SELECT record FROM package WHERE name = ?", (name,)).fetchone()
        return None if row is None else _read(row[0])

    def records(self) -> Iterator[dict[str, Any]]:
        """Return all lines, sorted by name, quarantined and removed packages included."""
        for (record,) in self.connection.execute("SELECT record FROM package ORDER BY name"):
            yield _read(record)

    def record_at(self, row: int) -> dict[str, Any]:
        """Return the line in a row that a search has found."""
        return _read(self.connection.execute("SELECT record FROM package WHERE id = ?", (row,)).fetchone()[0])

    def providers(self, environment: str) -> list[str]:
        """Return the packages that offer an environment, by its id without variant, capitals aside."""
        rows = self.connection.execute(
            "SELECT name FROM environment JOIN package ON package.id = package WHERE environment.id = ? ORDER BY name",
            (environment.casefold(),),
        )
        return [name for (name,) in rows]

    def apply(self, lines: Iterable[dict[str, Any]], serial: int) -> int:
        """Put lines in place of those of the same packages, all or none, and be at ``serial``. Returns how many."""
        number = 0
        counts: Counter[str] = Counter()
        with self._transaction():
            for line in lines:
                if not self._add(line, counts):
                    self._remove(line["name"], counts)
                    self._add(line, counts)
                number += 1
            self._count_words(counts)
            self.connection.execute("UPDATE meta SET value = ? WHERE key = 'serial'", (serial,))
        return number

    def _add(self, line: dict[str, Any], counts: Counter[str]) -> bool:
        """Add a line, and return whether there was none of its package."""
        name = line["name"]
        record = _encode(line).encode("utf-8", "replace")
        execute = self.connection.execute
        inserted = execute(
            "INSERT OR IGNORE INTO package (name, short, record) VALUES (?, ?, ?)", (name, short_name(name), record)
        )
        if not inserted.rowcount:
            return False
        row = inserted.lastrowid
        if not searchable(line):
            return True
        fields = fields_of(line)
        execute(f"INSERT INTO texts (rowid, {_FIELDS}) VALUES (?, ?, ?, ?, ?, ?)", (row, *fields))  # noqa: S608
        self.connection.executemany(
            "INSERT OR IGNORE INTO environment VALUES (?, ?)", [(identity, row) for identity in _ids_of(line)]
        )
        counts.update(_vocabulary(fields))
        return True

    def _remove(self, name: str, counts: Counter[str]) -> None:
        execute = self.connection.execute
        found = execute("SELECT id, record FROM package WHERE name = ?", (name,)).fetchone()
        if found is None:
            return
        row, line = found[0], _read(found[1])
        execute("DELETE FROM package WHERE id = ?", (row,))
        if not searchable(line):
            return
        fields = fields_of(line)
        if self.has_fts:
            # A contentless table deletes a row only if it receives the row's original values.
            question = f"INSERT INTO texts (texts, rowid, {_FIELDS}) VALUES ('delete', ?, ?, ?, ?, ?, ?)"  # noqa: S608
            execute(question, (row, *fields))
        else:
            execute("DELETE FROM texts WHERE rowid = ?", (row,))
        self.connection.executemany(
            "DELETE FROM environment WHERE id = ? AND package = ?", [(identity, row) for identity in _ids_of(line)]
        )
        counts.subtract(_vocabulary(fields))

    def _count_words(self, counts: Counter[str]) -> None:
        """Add to the number of packages that have each word, and file new words under their deletes."""
        execute = self.connection.execute
        (last,) = execute("SELECT coalesce(max(id), 0) FROM word").fetchone()
        new: list[str] = []
        for word, change in sorted(counts.items()):
            if change == 0:
                continue
            if not (last and execute("UPDATE word SET count = count + ? WHERE word = ?", (change, word)).rowcount):
                new.append(word)
        numbered = list(enumerate(new, last + 1))
        self.connection.executemany(
            "INSERT INTO word (id, word, count, stem) VALUES (?, ?, ?, ?)",
            ((identity, word, counts[word], stem(word)) for identity, word in numbered),
        )
        file_words(self.connection, numbered)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        # Pages that do not fit into the cache are written early, and lock readers out from then on.
        page = self.connection.execute("PRAGMA page_size").fetchone()[0]
        self.connection.executescript(f"PRAGMA cache_size = -64000; PRAGMA max_page_count = {_LARGEST // page};")
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def _meta(self, key: str) -> Any:
        row = self.connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise sqlite3.DatabaseError(f"the table 'meta' has no {key!r}")
        return row[0]


def searchable(line: dict[str, Any]) -> bool:
    """Return whether a package may be shown and installed; others only serve ``gem hub audit``."""
    return line.get("status") != "quarantined" and not line.get("removed")


def fields_of(line: dict[str, Any]) -> Fields:
    """Return the words of a package by field. The index forgets a package only if this still gives the same."""
    name = tokenize(short_name(line["name"]))
    environments = line.get("environments", ())
    ids: dict[str, None] = {}
    tags = dict.fromkeys(word for tag in line.get("tags", ()) for word in _words_of_tag(tag))
    descriptions: dict[str, None] = {}
    for environment in environments:
        # The name also in one word, as it may be typed: guessthenumber.
        whole = [environment["id"], *environment.get("variants", ())]
        ids.update(dict.fromkeys([*tokenize(" ".join(whole)), *_joined(tokenize(parse_id(environment["id"]).name))]))
        tags.update(dict.fromkeys(tag_words(environment)))
        descriptions.update(dict.fromkeys(tokenize(environment.get("description", ""))))
    tags.update(dict.fromkeys(always(need) for need in _needs_of_all(environments)))
    return Fields(
        " ".join([*name, *_joined(name)]),
        " ".join(ids),
        " ".join(tags),
        " ".join(tokenize(line.get("summary", ""))),
        " ".join(descriptions),
    )


def tag_words(environment: dict[str, Any]) -> Iterator[str]:
    """Yield the words of an environment's tags and needs, and those that stand for its controlled tags."""
    tags = environment.get("tags", ())
    for tag in (*tags, *environment.get("requires", ())):
        yield from _words_of_tag(tag)
    yield from controlled_words(tags, environment.get("modality") or ("text",), environment.get("turns") or "")


def always(need: str) -> str:
    """Return the word under which a package is indexed all of whose environments have a need."""
    return tag_token(f"always:{need}")


@lru_cache(maxsize=4096)
def _words_of_tag(tag: str) -> tuple[str, ...]:
    return tuple(tokenize(tag.rpartition(":")[2]))


def _needs_of_all(environments: Iterable[dict[str, Any]]) -> list[str]:
    needs = [set(environment.get("requires", ())) for environment in environments]
    return sorted(set.intersection(*needs)) if needs and all(needs) else []


def _joined(parts: list[str]) -> list[str]:
    return ["".join(parts)[:LONGEST]] if len(parts) > 1 else []


def _ids_of(line: dict[str, Any]) -> set[str]:
    return {base_id(environment["id"]).casefold() for environment in line.get("environments", ())}


def _vocabulary(fields: Fields) -> set[str]:
    return set(" ".join(fields).split())


def _read(record: bytes) -> dict[str, Any]:
    line: dict[str, Any] = json.loads(record)
    return line


def _has_fts(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("CREATE VIRTUAL TABLE temp.probe USING fts5 (text)")
        connection.execute("DROP TABLE temp.probe")
    except sqlite3.OperationalError:
        return False
    return True
