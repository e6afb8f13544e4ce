"""The subjects of databases: tables, columns, references, and the words that tasks have for them.

Every domain has the same shape. Rows of ``main`` belong to a row of ``owner``; ``event`` rows name a row of ``main``
and one of ``other``; ``note`` rows name a row of ``main``.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DOMAINS", "Column", "Domain", "SqlTable"]


class Column(NamedTuple):
    """A column with values that a question can ask about."""

    name: str
    kind: str
    """``word``: one of ``values``; ``place``: one of some invented names; ``number``; ``date``, as ISO text."""
    values: tuple[str, ...] = ()
    lowest: int = 0
    highest: int = 0
    may_be_null: bool = False

    @property
    def phrase(self) -> str:
        """Its name within a sentence."""
        return self.name.replace("_", " ")


class SqlTable(NamedTuple):
    """A table; its primary key is ``id``, and a reference to the table ``t`` is the column ``t_id``."""

    name: str
    plural: str
    label: str | None
    """The column with the unique name of a row; None for a table of events."""
    columns: tuple[Column, ...]
    references: tuple[str, ...] = ()

    @property
    def noun(self) -> str:
        """A row of it within a sentence."""
        return self.name.replace("_", " ")

    def column(self, name: str) -> Column:
        """Return a column by its name."""
        return next(column for column in self.columns if column.name == name)


class Domain(NamedTuple):
    """The tables of a subject."""

    subject: str
    owner: SqlTable
    main: SqlTable
    other: SqlTable
    event: SqlTable
    note: SqlTable

    @property
    def tables(self) -> tuple[SqlTable, ...]:
        """All tables, each after those to which it refers."""
        return self.owner, self.main, self.other, self.event, self.note


def _word(name: str, *values: str) -> Column:
    return Column(name, "word", values)


def _number(name: str, lowest: int, highest: int, may_be_null: bool = False) -> Column:
    return Column(name, "number", (), lowest, highest, may_be_null)


def _place(name: str) -> Column:
    return Column(name, "place")


_DAY = Column("day", "date")


def _domain(subject: str, *tables: tuple[str, str, str | None, tuple[Column, ...]]) -> Domain:
    owner, main, other, event, note = tables
    return Domain(
        subject,
        SqlTable(*owner),
        SqlTable(*main, references=(owner[0],)),
        SqlTable(*other),
        SqlTable(*event, references=(main[0], other[0])),
        SqlTable(*note, references=(main[0],)),
    )


DOMAINS = (
    _domain(
        "an online shop",
        ("supplier", "suppliers", "name", (_place("country"), _number("rating", 1, 100))),
        ("product", "products", "name",
         (_word("category", "tools", "toys", "garden", "kitchen", "sports"), _number("price", 5, 900),
          _number("stock", 0, 400))),
        ("customer", "customers", "name", (_place("city"), _word("tier", "basic", "silver", "gold"),
                                           _number("credit_limit", 100, 9000))),
        ("sale", "sales", None,
         (_number("quantity", 1, 40), _DAY, _word("channel", "web", "phone", "store", "app"),
          _number("discount", 1, 50, True))),
        ("review", "reviews", None, (_number("score", 1, 100), _DAY, _word("language", "en", "fr", "es", "sw"))),
    ),
    _domain(
        "a public library",
        ("author", "authors", "name", (_place("country"), _number("birth_year", 1900, 1995))),
        ("book", "books", "title",
         (_word("genre", "poetry", "crime", "history", "science", "travel"), _number("page_count", 60, 1100),
          _number("copy_count", 1, 30))),
        ("member", "members", "name", (_place("town"), _word("membership", "junior", "adult", "senior"),
                                       _number("age", 8, 95))),
        ("loan", "loans", None,
         (_number("duration", 1, 60), _DAY, _word("condition", "good", "worn", "damaged", "lost"),
          _number("fine", 1, 40, True))),
        ("reservation", "reservations", None,
         (_number("waiting_time", 1, 90), _DAY, _word("status", "open", "fulfilled", "expired", "cancelled"))),
    ),
    _domain(
        "a hospital",
        ("department", "departments", "name", (_word("building", "north", "south", "east", "west"),
                                               _number("bed_count", 8, 120))),
        ("doctor", "doctors", "name",
         (_word("specialty", "surgery", "cardiology", "neurology", "oncology", "paediatrics"),
          _number("salary", 4000, 19000), _number("experience", 1, 40))),
        ("patient", "patients", "name", (_place("city"), _word("insurance", "public", "private", "none"),
                                         _number("birth_year", 1930, 2020))),
        ("visit", "visits", None,
         (_number("fee", 20, 900), _DAY, _word("reason", "checkup", "injury", "infection", "surgery"),
          _number("follow_up_delay", 2, 60, True))),
        ("shift", "shifts", None, (_number("length", 3, 14), _DAY, _word("period", "day", "evening", "night"))),
    ),
    _domain(
        "a university",
        ("faculty", "faculties", "name", (_word("campus", "city", "lake", "hill", "harbour"),
                                          _number("budget", 100, 9900))),
        ("course", "courses", "title",
         (_word("level", "introductory", "intermediate", "advanced", "doctoral"), _number("credit_value", 2, 30),
          _number("capacity", 10, 300))),
        ("student", "students", "name", (_place("home_town"), _word("program", "bachelor", "master", "exchange"),
                                         _number("entry_year", 2005, 2024))),
        ("enrolment", "enrolments", None,
         (_number("grade", 0, 100), _DAY, _word("mode", "lecture", "seminar", "online", "evening"),
          _number("attendance", 10, 100, True))),
        ("exam", "exams", None, (_number("length", 20, 240), _DAY, _word("room", "A1", "B2", "C3", "D4"))),
    ),
    _domain(
        "an airport authority",
        ("carrier", "carriers", "name", (_place("country"), _number("fleet_size", 3, 300))),
        ("aircraft", "aircraft", "name",
         (_word("model", "Kestrel 2", "Heron 7", "Swift 4", "Condor 9"), _number("seat_count", 20, 420),
          _number("build_year", 1980, 2023))),
        ("destination", "destinations", "name", (_place("region"), _word("zone", "inner", "middle", "outer"),
                                                 _number("distance", 150, 9500))),
        ("flight", "flights", None,
         (_number("passenger_count", 5, 420), _DAY, _word("weather", "clear", "rain", "fog", "storm"),
          _number("delay", 1, 300, True))),
        ("inspection", "inspections", None,
         (_number("length", 1, 48), _DAY, _word("result", "passed", "repaired", "grounded"))),
    ),
    _domain(
        "a museum",
        ("artist", "artists", "name", (_place("country"), _number("birth_year", 1600, 1990))),
        ("painting", "paintings", "title",
         (_word("style", "baroque", "cubist", "romantic", "abstract", "realist"), _number("insured_value", 10, 9900),
          _number("year", 1620, 2020))),
        ("gallery", "galleries", "name", (_place("city"), _word("size", "small", "medium", "large"),
                                          _number("room_count", 2, 80))),
        ("showing", "showings", None,
         (_number("visitor_count", 50, 9000), _DAY, _word("season", "spring", "summer", "autumn", "winter"),
          _number("ticket_price", 3, 40, True))),
        ("restoration", "restorations", None,
         (_number("cost", 100, 9000), _DAY, _word("method", "cleaning", "relining", "retouching", "framing"))),
    ),
    _domain(
        "a farming cooperative",
        ("farm", "farms", "name", (_place("region"), _number("area", 20, 2000))),
        ("field", "fields", "name",
         (_word("soil", "clay", "sand", "loam", "peat", "chalk"), _number("size", 1, 90),
          _number("slope", 0, 30))),
        ("crop", "crops", "name", (_place("origin"), _word("family", "cereal", "root", "legume", "fruit"),
                                   _number("growing_time", 40, 260))),
        ("harvest", "harvests", None,
         (_number("weight", 1, 300), _DAY, _word("quality", "low", "fair", "good", "top"),
          _number("moisture", 5, 40, True))),
        ("treatment", "treatments", None,
         (_number("volume", 5, 600), _DAY, _word("purpose", "weeds", "insects", "fungi", "feeding"))),
    ),
    _domain(
        "a football league",
        ("club", "clubs", "name", (_place("city"), _number("founding_year", 1870, 2010))),
        ("player", "players", "name",
         (_word("position", "keeper", "defender", "midfielder", "forward"), _number("age", 16, 41),
          _number("market_value", 10, 9000))),
        ("stadium", "stadiums", "name", (_place("county"), _word("surface", "grass", "hybrid", "artificial"),
                                         _number("seat_count", 900, 80000))),
        ("appearance", "appearances", None,
         (_number("playing_time", 1, 120), _DAY, _word("weather", "dry", "rain", "snow", "wind"),
          _number("rating", 10, 100, True))),
        ("injury", "injuries", None,
         (_number("recovery_time", 2, 200), _DAY, _word("body_part", "knee", "ankle", "shoulder", "head"))),
    ),
    _domain(
        "a travel agency",
        ("operator", "operators", "name", (_place("country"), _number("founding_year", 1950, 2020))),
        ("tour", "tours", "title",
         (_word("theme", "hiking", "sailing", "food", "wildlife", "art"), _number("length", 1, 28),
          _number("group_size", 4, 40))),
        ("traveller", "travellers", "name", (_place("home_town"), _word("status", "new", "regular", "vip"),
                                             _number("birth_year", 1935, 2010))),
        ("booking", "bookings", None,
         (_number("amount", 90, 9000), _DAY, _word("payment", "card", "transfer", "voucher", "cash"),
          _number("refund", 10, 900, True))),
        ("complaint", "complaints", None,
         (_number("response_time", 1, 60), _DAY, _word("topic", "hotel", "food", "guide", "delay"))),
    ),
    _domain(
        "a software company",
        ("team", "teams", "name", (_word("office", "Lisbon", "Nairobi", "Lima", "Osaka"), _number("budget", 50, 5000))),
        ("service", "services", "name",
         (_word("language", "Go", "Rust", "Java", "Python", "Elixir"), _number("code_size", 1, 900),
          _number("server_count", 1, 120))),
        ("engineer", "engineers", "name", (_place("town"), _word("grade", "junior", "senior", "principal"),
                                           _number("start_year", 2004, 2024))),
        ("deployment", "deployments", None,
         (_number("change_count", 1, 90), _DAY, _word("stage", "test", "canary", "production"),
          _number("rollback_time", 1, 90, True))),
        ("incident", "incidents", None,
         (_number("downtime", 1, 600), _DAY, _word("severity", "minor", "major", "critical"))),
    ),
)  # fmt: skip
