"""Searching one hub's catalogue for packages and the environments in them.

The index proposes packages in steps from exact to lenient: a name or an id, all words, their stems and synonyms,
beginnings of all words, corrected words, the rarest of the words. One function then scores every proposal, field by
field, so that the order does not depend on how the index found a package. Of equal ones, the better tested comes first,
then the newer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gem_hub_client.catalogue import Catalogue, searchable, tag_words
from gem_hub_client.errors import HubError
from gem_hub_client.filters import NO_FILTERS, Filters
from gem_hub_client.ids import base_id, parse_id
from gem_hub_client.names import PREFIX, is_name, normalized_name, short_name
from gem_hub_client.query_terms import MOST_TEXT, MOST_WORDS, QueryTerm, query_terms, understand
from gem_hub_client.sanitize import sanitize_values
from gem_hub_client.tokenize import tokenize
from gem_hub_client.typo import corrections, nearest
from gem_hub_client.word_index import WordIndex

__all__ = ["Answer", "Hit", "nearest_word", "search", "untested"]

_CANDIDATES = 120
"""The largest number of scored packages."""
_FEW = 5
"""Hits up to which corrections are added to what fits as it was typed."""
_ENOUGH = 12
"""Hits up to which packages that have only some of the words are added."""
_NAMES, _IDS, _TAGS, _SUMMARY, _DESCRIPTION = 10.0, 8.0, 4.0, 2.0, 1.0
"""The weight of a word in each field."""
_ONE_ENVIRONMENT = 0.7
"""The share of a score that one environment must earn with all words: a description is of one, not of a package."""


@dataclass(frozen=True)
class Hit:
    """A found package. Its texts are safe for a terminal."""

    record: dict[str, Any]
    environments: tuple[dict[str, Any], ...]
    """Those that the query is about, best first; all of them where it is not about any one."""
    told_apart: bool
    """Whether the query is about these environments rather than the whole package."""
    score: float


@dataclass(frozen=True)
class Answer:
    """The results of a search, best first."""

    hits: tuple[Hit, ...]
    corrected: dict[str, str]
    """Typed word → the word that was taken instead, for the words that nothing has."""


def search(catalogue: Catalogue, query: str, limit: int = 20, filters: Filters = NO_FILTERS) -> Answer:
    """Search for any text. Queries have no syntax, and the function never raises.

    Args:
        catalogue: of one hub.
        query: words, a package's name or an environment's id, mistyped or not; with filters it may be empty.
        limit: hits at most.
        filters: what environments must meet. A hit has those that do.
    """
    text = query[:MOST_TEXT]
    terms = query_terms(text)
    if not terms and not filters:
        return Answer((), {})
    index = WordIndex(catalogue, filters.restriction)
    understand(terms, text, index)
    name, identity = normalized_name(text.strip()), _identity(text)
    rows = _proposed(index, name, identity, terms) if terms else dict.fromkeys(index.newest())
    hits = []
    for row in list(rows)[:_CANDIDATES]:
        hit = _scored(catalogue.record_at(row), name, identity, terms, filters)
        if hit is not None:
            hits.append(hit)
    hits.sort(key=lambda hit: hit.record["name"])
    hits.sort(key=lambda hit: str(hit.record.get("published")), reverse=True)
    hits.sort(key=lambda hit: (-round(hit.score, 3), untested(hit.record["conformance"])))
    return Answer(tuple(map(_for_a_terminal, hits[:limit])), _taken_instead(hits, terms))


def _for_a_terminal(hit: Hit) -> Hit:
    """Return a hit that is shown: of the many that are scored, only these need safe texts."""
    shown = tuple(sanitize_values(list(hit.environments)))
    return replace(hit, record=sanitize_values(hit.record), environments=shown)


def nearest_word(catalogue: Catalogue, query: str) -> str | None:
    """Return the word of the catalogue that is closest to a word of a query which nothing fits, or None."""
    for word in tokenize(query[:MOST_TEXT])[:MOST_WORDS]:
        rows = catalogue.connection.execute(
            "SELECT word FROM word WHERE count > 0 AND word BETWEEN ? AND ? LIMIT 3000",
            (word[:2], word[:2] + "\U0010ffff"),
        )
        hint = nearest(word, (found for (found,) in rows if found != word))
        if hint is not None:
            return hint
    return None


def _identity(text: str) -> str:
    """Return the environment that a query names whole, without owner and variant; empty if it names none."""
    try:
        return base_id(text.strip())
    except HubError:
        return ""


def _proposed(index: WordIndex, name: str, identity: str, terms: list[QueryTerm]) -> dict[int, None]:
    """Return the rows to score, the likeliest first."""
    typed = [[term.word] for term in terms]
    rows = dict.fromkeys(index.named((name, PREFIX + name)) if is_name(name) else ())
    if identity:
        rows |= dict.fromkeys(index.offering(identity))
    rows |= dict.fromkeys(index.having(typed))
    if len(terms) > 1:
        rows |= dict.fromkeys(index.having([["".join(term.word for term in terms)]]))
    elif len(terms[0].word) < 3:
        rows |= dict.fromkeys(index.beginning(terms[0].word))
    if any(term.fits or term.phrases for term in terms):
        rows |= dict.fromkeys(index.having([term.alternatives for term in terms]))
    if len(rows) < _CANDIDATES and any(len(term.word) > 2 for term in terms):
        rows |= dict.fromkeys(index.having(typed, prefix=True))
    if len(rows) < _FEW:
        _correct(index, terms, nothing=not rows)
        rows |= dict.fromkeys(index.having([[term.word, *term.corrections] for term in terms], prefix=True))
    if len(rows) < _ENOUGH and len(terms) > 1:
        rows |= dict.fromkeys(index.rarest([term.alternatives for term in terms]))
    return rows


def _correct(index: WordIndex, terms: list[QueryTerm], nothing: bool) -> None:
    """Note what may have been meant by the words that nothing has; by every word, if ``nothing`` fits them all."""
    for term in terms:
        if nothing or not (index.count(term.word) or term.fits or term.phrases):
            term.correct([(found.word, found.distance) for found in corrections(index.connection, term.word)])


def untested(conformance: dict[str, Any] | None) -> int:
    """Return the place of a package among equals: 0 if the hub has tested it and found it in order, 1 if its author
    has, 2 if nobody has, 3 if a clause is violated.
    """
    if not conformance or conformance.get("violated"):
        return 3 if conformance else 2
    return 0 if conformance.get("source") == "hub" else 1


def _scored(record: dict[str, Any], name: str, identity: str, terms: list[QueryTerm], filters: Filters) -> Hit | None:
    """Return the hit that a package is, or None if it has none of the words, or no environment that is admitted."""
    if not searchable(record):
        return None
    admitted = [environment for environment in record["environments"] if filters.admits(environment)]
    if filters and not admitted:
        return None
    if not terms:
        return Hit(record, tuple(admitted), len(admitted) < len(record["environments"]), 0.0)
    own = short_name(record["name"])
    names = tokenize(own)
    fields = [
        (_NAMES * (1 + 1 / len(names)), {*names, "".join(names)}),
        (_TAGS, {word for tag in record["tags"] for word in tokenize(tag.rpartition(":")[2])}),
        (_SUMMARY, set(tokenize(record["summary"]))),
    ]
    whole = [max(weight * term.fit(candidates) for weight, candidates in fields) for term in terms]
    environments = [(_fits(environment, terms), environment) for environment in admitted]
    joined = QueryTerm("".join(term.word for term in terms))
    as_one_word = max(
        [fields[0][0] * joined.fit(fields[0][1]), *(_IDS * joined.fit(_id_words(e)) for _, e in environments)]
    )
    best = [max(values) for values in zip(whole, *(fits for fits, _ in environments), strict=True)]
    together = [_told([*map(max, whole, fits)], terms) for fits, _ in environments]
    score = (1 - _ONE_ENVIRONMENT) * _told(best, terms) + _ONE_ENVIRONMENT * max(together, default=_told(whole, terms))
    score = max(score, as_one_word * len(terms))
    if record["name"] in (name, PREFIX + name):
        score += 100
    if identity and any(environment["id"].casefold() == identity.casefold() for _, environment in environments):
        score += 80
    if score == 0:
        return None
    if record["status"] not in ("", "active"):
        score *= 0.5
    if (record["conformance"] or {}).get("violated"):
        score *= 0.9
    most = max((sum(value > 0 for value in fits) for fits, _ in environments), default=0)
    about = [(sum(fits), e) for fits, e in environments if most and sum(value > 0 for value in fits) == most]
    about.sort(key=lambda pair: -pair[0])
    shown = [e for _, e in about] or admitted
    told_apart = bool(about) or len(admitted) < len(record["environments"])
    return Hit(record, tuple(shown), told_apart, score)


def _told(values: Sequence[float], terms: list[QueryTerm]) -> float:
    """Return what fits of the words count together; less if some words have none."""
    told = sum(term.weight for term, value in zip(terms, values, strict=True) if value > 0)
    return sum(t.weight * v for t, v in zip(terms, values, strict=True)) * told / sum(term.weight for term in terms)


def _fits(environment: dict[str, Any], terms: list[QueryTerm]) -> list[float]:
    """Return what each word of the query counts for one environment."""
    fields = (
        (_IDS, _id_words(environment)),
        (_TAGS, set(tag_words(environment))),
        (_DESCRIPTION, set(tokenize(environment["description"]))),
    )
    return [max(weight * term.fit(candidates) for weight, candidates in fields) for term in terms]


def _id_words(environment: dict[str, Any]) -> set[str]:
    identity = environment["id"]
    return {*tokenize(" ".join([identity, *environment["variants"]])), "".join(tokenize(parse_id(identity).name))}


def _taken_instead(hits: list[Hit], terms: list[QueryTerm]) -> dict[str, str]:
    """Return the corrections that contributed to the best hit."""
    if not hits:
        return {}
    record = hits[0].record
    name, environments = tokenize(short_name(record["name"])), record["environments"]
    texts = [*record["tags"], record["summary"], *(environment["description"] for environment in environments)]
    texts += [text for environment in environments for text in (*environment["tags"], *environment["requires"])]
    # As they are weighed: a word of the name is likelier to be what was meant than one of a description.
    fields = [{*name, "".join(name)}, *map(_id_words, environments), set(tokenize(" ".join(texts)))]
    taken = {}
    for term in terms:
        meant = [word for field in fields for word in term.corrections if word in field]
        if meant and not any(word.startswith(term.word) for field in fields for word in field):
            taken[term.word] = meant[0]
    return taken
