"""The kinds of entities of a graph, their relations and attributes, and the words that questions have for them."""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "ATTRIBUTES",
    "FORWARD",
    "INVERSE",
    "NOUNS",
    "RELATIONS",
    "RELATIONS_FROM",
    "TYPES",
    "Attribute",
    "GraphRelation",
]

TYPES = {
    "country": "location.country",
    "city": "location.city",
    "person": "people.person",
    "university": "education.university",
    "company": "business.company",
    "book": "book.book",
    "film": "film.film",
    "award": "award.award",
}
"""Kind → the name of the type that the tools show."""

NOUNS = {
    "country": ("country", "countries"),
    "city": ("city", "cities"),
    "person": ("person", "people"),
    "university": ("university", "universities"),
    "company": ("company", "companies"),
    "book": ("book", "books"),
    "film": ("film", "films"),
    "award": ("award", "awards"),
}


class GraphRelation(NamedTuple):
    """A relation, in the direction in which a question follows it."""

    name: str
    subject: str
    object: str
    functional: bool
    """Whether a subject has at most one object."""
    plain: tuple[str, ...]
    """Phrases for its objects that share words with its name; ``{n}`` is their noun, ``{s}`` the subject."""
    veiled: tuple[str, ...]
    """Phrases that share no word with the name, unlike those of a relation with a similar meaning."""


class Attribute(NamedTuple):
    """A number that every entity of a kind has."""

    name: str
    kind: str
    lowest: int
    highest: int
    most: str
    """``{}`` with the largest number, as in "with the {}"."""
    least: str


def _pair(
    subject: str, forward: str, object_: str, backward: str, functional: bool, *phrases: str
) -> tuple[GraphRelation, GraphRelation]:
    """Return a relation and its inverse, from two plain and two veiled phrases for each."""
    there, back = phrases[:4], phrases[4:]
    return (
        GraphRelation(f"{TYPES[subject]}.{forward}", subject, object_, functional, there[:2], there[2:]),
        GraphRelation(f"{TYPES[object_]}.{backward}", object_, subject, False, back[:2], back[2:]),
    )


_PAIRS = (
    _pair(
        "person", "birthplace", "city", "people_born_here", True,
        "{n} that is the birthplace of {s}", "{n} listed as the birthplace of {s}",
        "{n} where {s} came into the world", "{n} at the beginning of the life of {s}",
        "{n} born in {s}", "{n} who were born in {s}",
        "{n} who came into the world in {s}", "{n} native to {s}",
    ),
    _pair(
        "person", "residence", "city", "residents", True,
        "{n} that is the residence of {s}", "{n} of residence of {s}",
        "{n} where {s} lives", "{n} that is home to {s}",
        "{n} who are residents of {s}", "{n} with {s} as their place of residence",
        "{n} living in {s}", "{n} whose home is in {s}",
    ),
    _pair(
        "person", "employer", "company", "employees", True,
        "{n} that is the employer of {s}", "{n} with {s} as an employee",
        "{n} that pays the salary of {s}", "{n} that gave a job to {s}",
        "{n} who are employees of {s}", "{n} whose employer is {s}",
        "{n} on the payroll of {s}", "{n} who work for {s}",
    ),
    _pair(
        "person", "alma_mater", "university", "graduates", True,
        "{n} that is the alma mater of {s}", "{n} of which {s} is a graduate",
        "{n} where {s} took a degree", "{n} that taught {s}",
        "{n} who are graduates of {s}", "{n} who graduated from {s}",
        "{n} with a degree from {s}", "{n} who studied at {s}",
    ),
    _pair(
        "person", "mentor", "person", "proteges", True,
        "{n} who was the mentor of {s}", "{n} named as the mentor of {s}",
        "{n} who guided the early career of {s}", "{n} under whose wing {s} began",
        "{n} mentored by {s}", "{n} who were proteges of {s}",
        "{n} whose early career {s} guided", "{n} taken under the wing of {s}",
    ),
    _pair(
        "film", "director", "person", "films_directed", True,
        "{n} who is the director of {s}", "{n} who directed {s}",
        "{n} who called the shots on the set of {s}", "{n} in charge of the making of {s}",
        "{n} directed by {s}", "{n} with {s} as the director",
        "{n} made under the artistic command of {s}", "{n} on whose set {s} called the shots",
    ),
    _pair(
        "film", "screenwriter", "person", "films_written", True,
        "{n} who is the screenwriter of {s}", "{n} who wrote the screenplay of {s}",
        "{n} behind the script of {s}", "{n} responsible for the dialogue of {s}",
        "{n} written by {s}", "{n} with {s} as the screenwriter",
        "{n} whose script is the work of {s}", "{n} whose dialogue comes from {s}",
    ),
    _pair(
        "film", "cast", "person", "film_appearances", False,
        "{n} in the cast of {s}", "{n} belonging to the cast of {s}",
        "{n} who act in {s}", "{n} playing a part in {s}",
        "{n} with an appearance by {s}", "{n} with a scene for {s}",
        "{n} that give a part to {s}", "{n} with {s} in front of the camera",
    ),
    _pair(
        "film", "studio", "company", "films_produced", True,
        "{n} that is the studio of {s}", "{n} listed as the studio of {s}",
        "{n} that paid for the making of {s}", "{n} under whose roof {s} was made",
        "{n} produced by {s}", "{n} that {s} produced",
        "{n} financed by {s}", "{n} that exist thanks to the money of {s}",
    ),
    _pair(
        "film", "shooting_locations", "city", "films_shot_here", False,
        "{n} that were shooting locations of {s}", "{n} used as shooting locations for {s}",
        "{n} where cameras rolled for {s}", "{n} to be seen on screen in {s}",
        "{n} shot in {s}", "{n} that were shot in {s}",
        "{n} for which cameras rolled in {s}", "{n} that show the streets of {s}",
    ),
    _pair(
        "film", "based_on", "book", "film_versions", True,
        "{n} on which {s} is based", "{n} that is the basis of {s}",
        "{n} adapted for the cinema as {s}", "{n} retold in {s}",
        "{n} that are film versions of {s}", "{n} based on {s}",
        "{n} that bring {s} to the cinema", "{n} that retell {s}",
    ),
    _pair(
        "company", "headquarters", "city", "companies_seated_here", True,
        "{n} with the headquarters of {s}", "{n} that is the headquarters of {s}",
        "{n} from which {s} is run", "{n} that is the meeting place for the board of {s}",
        "{n} seated in {s}", "{n} with a seat in {s}",
        "{n} run from {s}", "{n} whose board meets in {s}",
    ),
    _pair(
        "company", "founders", "person", "companies_founded", False,
        "{n} who are founders of {s}", "{n} who founded {s}",
        "{n} who brought {s} into being", "{n} behind the beginnings of {s}",
        "{n} founded by {s}", "{n} with {s} among the founders",
        "{n} that owe their existence to {s}", "{n} whose story began with {s}",
    ),
    _pair(
        "company", "parent", "company", "subsidiaries", True,
        "{n} that is the parent of {s}", "{n} listed as the parent of {s}",
        "{n} to which {s} belongs", "{n} that owns {s}",
        "{n} that are subsidiaries of {s}", "{n} with {s} as their parent",
        "{n} owned by {s}", "{n} in the hands of {s}",
    ),
    _pair(
        "city", "country", "country", "cities", True,
        "{n} in which {s} lies", "{n} of {s}",
        "{n} on whose soil {s} stands", "{n} with authority over {s}",
        "{n} in {s}", "{n} of {s}",
        "{n} on the soil of {s}", "{n} under the laws of {s}",
    ),
    _pair(
        "university", "city", "city", "universities", True,
        "{n} of {s}", "{n} that is the location of {s}",
        "{n} where the campus of {s} stands", "{n} with streets all around {s}",
        "{n} in {s}", "{n} of {s}",
        "{n} with a campus in {s}", "{n} surrounded by the streets of {s}",
    ),
    _pair(
        "book", "author", "person", "books_written", True,
        "{n} who is the author of {s}", "{n} who wrote {s}",
        "{n} from whose pen {s} comes", "{n} whose name is on the cover of {s}",
        "{n} written by {s}", "{n} with {s} as their author",
        "{n} from the pen of {s}", "{n} with the name of {s} on the cover",
    ),
    _pair(
        "book", "publisher", "company", "books_published", True,
        "{n} that is the publisher of {s}", "{n} that published {s}",
        "{n} that brought {s} to the bookshops", "{n} whose logo is on the spine of {s}",
        "{n} published by {s}", "{n} with {s} as their publisher",
        "{n} brought to the bookshops by {s}", "{n} with the logo of {s} on the spine",
    ),
    _pair(
        "book", "setting", "city", "books_set_here", True,
        "{n} that is the setting of {s}", "{n} serving as the setting of {s}",
        "{n} where the story of {s} takes place", "{n} whose streets are the scene of {s}",
        "{n} set in {s}", "{n} with {s} as their setting",
        "{n} whose story takes place in {s}", "{n} whose heroes walk the streets of {s}",
    ),
    _pair(
        "award", "winners", "person", "awards_won", False,
        "{n} who are winners of {s}", "{n} who won {s}",
        "{n} honoured with {s}", "{n} who have {s} on the shelf",
        "{n} won by {s}", "{n} with {s} among the winners",
        "{n} that honoured {s}", "{n} that stand on the shelf of {s}",
    ),
    _pair(
        "award", "juror", "person", "juries", True,
        "{n} who is the juror of {s}", "{n} in the jury of {s}",
        "{n} who decides on {s}", "{n} with the last word on {s}",
        "{n} with {s} in the jury", "{n} whose juror is {s}",
        "{n} decided by {s}", "{n} on which {s} has the last word",
    ),
)  # fmt: skip

RELATIONS = {relation.name: relation for pair in _PAIRS for relation in pair}

RELATIONS_FROM = {
    kind: tuple(relation for relation in RELATIONS.values() if relation.subject == kind) for kind in TYPES
}

FORWARD = tuple(pair[0] for pair in _PAIRS)
"""One relation of each pair; the generator draws these, and their inverses follow."""

INVERSE = {one.name: other.name for pair in _PAIRS for one, other in (pair, pair[::-1])}

ATTRIBUTES = {
    kind: tuple(
        Attribute(f"{TYPES[kind]}.{name}", kind, lowest, highest, most, least)
        for name, lowest, highest, most, least in rows
    )
    for kind, rows in {
        "country": (
            ("population", 1_000_000, 90_000_000, "largest population", "smallest population"),
            ("area_km2", 9_000, 900_000, "largest area", "smallest area"),
        ),
        "city": (
            ("population", 20_000, 5_000_000, "largest population", "smallest population"),
            ("area_km2", 20, 900, "largest area", "smallest area"),
            ("altitude_m", 1, 2500, "highest altitude", "lowest altitude"),
        ),
        "person": (
            ("birth_year", 1920, 1999, "latest year of birth", "earliest year of birth"),
            ("height_cm", 150, 205, "greatest height", "smallest height"),
        ),
        "university": (
            ("student_count", 900, 60_000, "most students", "fewest students"),
            ("founding_year", 1300, 1990, "latest founding year", "earliest founding year"),
        ),
        "company": (
            ("revenue", 100_000, 90_000_000, "highest revenue", "lowest revenue"),
            ("founding_year", 1850, 2015, "latest founding year", "earliest founding year"),
            ("employee_count", 10, 90_000, "largest staff", "smallest staff"),
        ),
        "book": (
            ("pages", 90, 1200, "most pages", "fewest pages"),
            ("publication_year", 1940, 2020, "latest year of publication", "earliest year of publication"),
            ("copies_sold", 1_000, 9_000_000, "most copies sold", "fewest copies sold"),
        ),
        "film": (
            ("runtime_minutes", 70, 240, "longest running time", "shortest running time"),
            ("budget", 100_000, 200_000_000, "largest budget", "smallest budget"),
            ("release_year", 1950, 2023, "latest year of release", "earliest year of release"),
        ),
        "award": (
            ("prize_money", 500, 900_000, "most prize money", "least prize money"),
            ("first_year", 1900, 2010, "latest first year", "earliest first year"),
        ),
    }.items()
}
"""Kind → its attributes."""
